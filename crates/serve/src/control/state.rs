//! The state of a server at work, as one JSON document.

use crate::engine::Engine;
use crate::tally::Tally;
use manx_core::stats::{Histogram, OpStats, Percentiles};
use manx_core::units::{Duration, Instant};
use serde_json::{Value, json};

/// A server's state, for those who ask.
pub(crate) struct Seen<'a, E: Engine> {
    pub engines: &'a [E],
    pub now: Instant,
    pub speed: f64,
    pub wall_s: f64,
    pub tally: &'a Tally,
    /// Of the last whole second of wall time.
    pub second: &'a Tally,
    pub connections: usize,
    pub is_paused: bool,
    /// Settings that may change, with their values.
    pub settings: Value,
}

/// The document.
pub(crate) fn told<E: Engine>(seen: &Seen<'_, E>) -> Value {
    let Tally { errors, refused_requests, .. } = seen.tally;
    let drives = seen.engines.iter().flat_map(|engine| {
        (0..engine.drives()).filter_map(|number| engine.drive(number)).map(|drive| {
            let (glance, counters) = (drive.glance(seen.now), drive.counters());
            let channels = glance.dies.iter().map(|(channel, _)| channel.0 + 1).max();
            let dies = glance.dies.iter().map(|(channel, act)| (channel.0, format!("{act:?}")));
            json!({
                "channels": channels,
                "dies": dies.collect::<Vec<_>>(),
                "free": glance.free_units as f64 / glance.raw_units as f64,
                "outstanding": glance.outstanding,
                "buffered": drive.buffered(),
                "may_collect": glance.may_collect,
                "waf": ratio(counters.units_programmed(), counters.host_units),
                "collections": counters.collections,
                "forced": counters.forced_collections,
                "erases": counters.erases,
                "fast_fails": counters.predictable.fast_fails,
                "violations": drive.violations(),
            })
        })
    });
    json!({
        "schema": "manx-serve-state-1",
        "model_s": seen.now.since(Instant::START).as_s_f64(),
        "wall_s": seen.wall_s,
        "speed": seen.speed,
        "paused": seen.is_paused,
        "bytes": seen.engines.iter().map(Engine::size).sum::<u64>(),
        "connections": seen.connections,
        "under_way": seen.engines.iter().map(Engine::under_way).sum::<usize>(),
        "requests": seen.tally.requests(),
        "errors": errors,
        "refused_requests": refused_requests,
        "content_bytes": seen.engines.iter().map(Engine::content_bytes).sum::<u64>(),
        "run": latencies(seen.tally),
        "second": latencies(seen.second),
        "drives": drives.collect::<Vec<_>>(),
        "array": seen.engines.iter().find_map(Engine::array_counters),
        "settings": seen.settings,
    })
}

fn latencies(tally: &Tally) -> Value {
    json!({
        "read": of(&tally.read),
        "write": of(&tally.write),
        "trim": tally.trim.histogram.count(),
        "flush": tally.flush.histogram.count(),
        "lateness_us": percentiles(&tally.lateness),
    })
}

fn of(stats: &OpStats) -> Value {
    let mut told = percentiles(&stats.histogram);
    told["bytes"] = stats.bytes.into();
    told
}

fn percentiles(histogram: &Histogram) -> Value {
    let Percentiles { p50, p99, p99_9, .. } = Percentiles::of(histogram);
    let max = histogram.max().map(Duration::as_us_f64);
    let count = histogram.count();
    json!({ "count": count, "p50": p50.us, "p99": p99.us, "p99_9": p99_9.us, "max": max })
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
