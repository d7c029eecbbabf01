//! The report of a server at its end.

use super::store;
use crate::args::ServeArgs;
use manx_config::Scenario;
use manx_core::stats::{Histogram, Percentiles};
use manx_core::units::Duration;
use manx_serve::{Engine, Tally};
use serde_json::{Value, json};

pub fn report<E: Engine>(
    args: &ServeArgs,
    scenario: &Scenario,
    tally: &Tally,
    engines: &[E],
) -> Value {
    let drives = engines
        .iter()
        .flat_map(|engine| (0..engine.drives()).filter_map(|number| engine.drive(number)));
    let array = engines.iter().find_map(Engine::array_counters);
    let members = args.members.iter().flatten().map(ToString::to_string);
    let operations: u64 = drives.map(|drive| drive.flash().operations().total()).sum();
    json!({
        "schema": "manx-serve-1",
        "scenario": scenario.name,
        "policy": args.policy,
        "device": scenario.device.name,
        "bytes": bytes(engines),
        "speed": args.speed.factor(),
        "compensated_us": tally.compensation.as_nanos() as f64 / 1e3,
        "wall_s": tally.wall_ns as f64 / 1e9,
        "model_s": tally.span.as_s_f64(),
        "requests": tally.requests(),
        "errors": tally.errors,
        "refused_requests": tally.refused_requests,
        "connections": tally.connections,
        "refused_connections": tally.refused,
        "faulty_connections": tally.faults,
        "read": tally.read.summary(tally.span),
        "write": tally.write.summary(tally.span),
        "trim": tally.trim.count_summary(),
        "flush": tally.flush.count_summary(),
        "lateness_us": lateness(&tally.lateness),
        "flash_operations": operations,
        "content_bytes": content_bytes(engines),
        "members": members.collect::<Vec<String>>(),
        "array": array,
        "store": store::report(engines),
    })
}

fn lateness(histogram: &Histogram) -> Value {
    let Percentiles { p50, p99, p99_9, p99_99, .. } = Percentiles::of(histogram);
    let max = histogram.max().map(Duration::as_us_f64);
    json!({ "p50": p50.us, "p99": p99.us, "p99_9": p99_9.us, "p99_99": p99_99.us, "max": max })
}

/// Bytes that are served.
pub fn bytes<E: Engine>(engines: &[E]) -> u64 {
    engines.iter().map(Engine::size).sum()
}

/// Bytes of memory for what clients wrote.
fn content_bytes<E: Engine>(engines: &[E]) -> u64 {
    engines.iter().map(Engine::content_bytes).sum()
}

pub fn in_words<E: Engine>(tally: &Tally, engines: &[E]) -> String {
    let mut text = String::new();
    let shown = |us: Option<f64>| us.map_or("-".to_string(), |us| format!("{us:.1}"));
    let mut line = |name: &str, histogram: &Histogram| {
        let Percentiles { p50, p99, p99_9, .. } = Percentiles::of(histogram);
        let max = histogram.max().map(Duration::as_us_f64);
        let [p50, p99, p99_9, max] = [p50.us, p99.us, p99_9.us, max].map(shown);
        let count = histogram.count();
        text += &format!("{name:<10} {count:>10} {p50:>10} {p99:>10} {p99_9:>10} {max:>10}\n");
    };
    line("reads", &tally.read.histogram);
    line("writes", &tally.write.histogram);
    line("trims", &tally.trim.histogram);
    line("flushes", &tally.flush.histogram);
    line("lateness", &tally.lateness);
    let head = format!(
        "{:<10} {:>10} {:>10} {:>10} {:>10} {:>10}\n",
        "us", "count", "p50", "p99", "p99.9", "max"
    );
    let Tally { connections, refused, faults, errors, refused_requests, span, wall_ns, .. } = tally;
    format!(
        "{head}{text}{} requests, {errors} errors, {refused_requests} refused, \
         {connections} connections ({refused} refused, {faults} faulty), \
         {:.3} s of the model in {:.3} s, {} bytes of content\n\
         lateness: from the model's completion to the socket, in wall time; the others are the \
         model's own time\n",
        tally.requests(),
        span.as_s_f64(),
        *wall_ns as f64 / 1e9,
        content_bytes(engines),
    )
}
