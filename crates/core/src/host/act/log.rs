//! The tool's output, as its own script `analysis/act_latency.py` reads it.
//!
//! The script needs a line `ACT version 6.x`; `report-interval-sec: N` and `microsecond-histograms:
//! no|yes` somewhere after it; blocks that end in an empty line and begin with `ACT-STORAGE
//! CONFIGURATION`, `DERIVED CONFIGURATION` and `HISTOGRAM NAMES`; then for each interval `after N
//! sec:`, and for each histogram its name, its total and its buckets, cumulative since the start.
//! It takes the histogram whose name a line begins with, so no device may be called `reads..`: ours
//! stand below `/dev/`.

use super::recorder::{BUCKETS, CLASSES, Class, Role};
use super::{ActPlan, ActSpec};
use crate::units::{Bytes, Duration};
use std::fmt::Write;

/// A device's name as the tool would know it: no blank, no comma, below `/dev/`.
pub(super) fn device_path(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).take(64).collect();
    format!("/dev/{}", if name.is_empty() { "device" } else { &name })
}

/// Everything before the first report.
pub(super) fn header(spec: &ActSpec, plan: &ActPlan, device: &str, user: Bytes) -> String {
    let mut text = "\nACT version 6.6\nStorage device IO test\nPlayed by Manx, in virtual time\n\n"
        .to_string();
    let said = |yes: bool| if yes { "yes" } else { "no" }.to_string();
    let seconds = |time: Duration| (time.as_ns() / 1_000_000_000).to_string();
    let configuration = [
        ("device-names", device.to_string()),
        ("num-devices", "1".to_string()),
        ("service-threads", spec.service_threads.to_string()),
        ("test-duration-sec", seconds(plan.time)),
        ("report-interval-sec", seconds(spec.report_interval)),
        ("microsecond-histograms", said(spec.microsecond_histograms)),
        ("read-reqs-per-sec", plan.read_reqs.to_string()),
        ("write-reqs-per-sec", plan.write_reqs.to_string()),
        ("record-bytes", spec.record_bytes.to_string()),
        ("record-bytes-range-max", spec.record_bytes_range_max.to_string()),
        ("large-block-op-kbytes", spec.large_block_kbytes.to_string()),
        ("replication-factor", spec.replication_factor.to_string()),
        ("update-pct", spec.update_pct.to_string()),
        ("defrag-lwm-pct", spec.defrag_lwm_pct.to_string()),
        ("no-defrag-reads", said(spec.no_defrag_reads)),
        ("compress-pct", "100".to_string()),
        ("disable-odsync", said(spec.disable_odsync)),
        ("commit-to-device", said(spec.commit_to_device)),
        ("tomb-raider", said(false)),
        ("tomb-raider-sleep-usec", "0".to_string()),
        ("max-lag-sec", format!("{}", spec.max_lag.as_s_f64())),
    ];
    let derived = [
        ("record-stored-bytes", format!("{} ... {}", plan.stored.0, plan.stored.1)),
        ("internal-read-reqs-per-sec", plan.internal_reads.to_string()),
        ("internal-write-reqs-per-sec", plan.internal_writes.to_string()),
        ("large-block-reads-per-sec", format!("{:.2}", plan.large_reads)),
        ("large-block-writes-per-sec", format!("{:.2}", plan.large_writes)),
    ];
    text += "ACT-STORAGE CONFIGURATION\n";
    let lines = |list: &[(&str, String)]| {
        list.iter().map(|(key, value)| format!("{key}: {value}\n")).collect::<String>()
    };
    text += &lines(&configuration);
    text += "\nDERIVED CONFIGURATION\n";
    text += &lines(&derived);
    let (bytes, blocks, unit) = (user.get(), plan.large_blocks, spec.min_op.get());
    let _ = writeln!(
        text,
        "\n{device} size = {bytes} bytes, {blocks} large blocks, minimum IO size = {unit} bytes\n\n\
         HISTOGRAM NAMES"
    );
    text += &names(plan, device).map(|(name, _)| format!("{name}\n")).collect::<String>();
    text.push('\n');
    text
}

/// The histograms that are kept, in order, by name: those of records also for each device, of which
/// there is one.
fn names<'a>(
    plan: &ActPlan,
    device: &'a str,
) -> impl Iterator<Item = (std::borrow::Cow<'a, str>, Class)> {
    let (reads, writes) = (plan.read_reqs > 0, plan.write_reqs > 0);
    let commits = plan.internal_writes > 0;
    let all = [
        (reads, "reads".into(), Class::Reads),
        (reads, format!("{device}-reads").into(), Class::Reads),
        (writes, "large-block-reads".into(), Class::LargeReads),
        (writes, "large-block-writes".into(), Class::LargeWrites),
        (commits, "writes".into(), Class::Writes),
        (commits, format!("{device}-writes").into(), Class::Writes),
    ];
    all.into_iter().filter(|(kept, ..)| *kept).map(|(_, name, class)| (name, class))
}

/// The report `since` the start of the test.
pub(super) fn report(
    text: &mut String,
    plan: &ActPlan,
    device: &str,
    since: Duration,
    histograms: &[[u64; BUCKETS]; CLASSES],
) {
    let _ = writeln!(text, "after {} sec:", since.as_ns() / 1_000_000_000);
    for (name, class) in names(plan, device) {
        let counts = &histograms[class as usize];
        let _ = writeln!(text, "{name} ({} total)", counts.iter().sum::<u64>());
        let some = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let mut printed = 0;
        for (bucket, count) in some {
            let _ = write!(text, " ({bucket:02}: {count:010})");
            printed += 1;
            if printed % 4 == 0 {
                text.push('\n');
            }
        }
        if printed % 4 != 0 {
            text.push('\n');
        }
    }
    text.push('\n');
}

/// Whose thread fell behind, as the tool says it.
pub(super) fn who_lags(role: Role) -> &'static str {
    match role {
        Role::Service => "service thread can't keep up",
        Role::LargeReads => "large block reads can't keep up",
        Role::LargeWrites => "large block writes can't keep up",
    }
}

/// The tool gives up.
pub(super) fn stopped(text: &mut String, role: Role) {
    let advice = match role {
        Role::Service => {
            "ACT can't do requested load - test stopped\ntry configuring more 'service-threads'"
        }
        Role::LargeReads | Role::LargeWrites => "drive(s) can't keep up - test stopped",
    };
    let _ = writeln!(text, "ERROR: {}\n{advice}", who_lags(role));
}
