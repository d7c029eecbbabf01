//! blkparse's text of a blktrace: the time from D (issued to the driver) to C (completed) of each
//! request, and how many were under way.
//!
//! A line: `8,0 1 123 0.000123456 4567 D R 2048 + 8 [fio]` (device, CPU, number, seconds, process,
//! action, kind, sector + sectors, name). Requests are paired by device and sector; what was issued
//! before the trace or completes behind it has no pair and does not count. The latency is the
//! device's, without the host's part.

use super::MeasureError;
use super::samples::Sample;
use std::collections::BTreeMap;

pub(super) fn is_text(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).take(20);
    lines.any(|line| event(line).is_some())
}

/// A line's device, nanoseconds, action, kind, sector and sectors.
fn event(line: &str) -> Option<(&str, u64, &str, &str, u64, u64)> {
    let cells: Vec<&str> = line.split_whitespace().collect();
    let [device, _, _, time, _, action, kind, sector, "+", sectors, ..] = cells.as_slice() else {
        return None;
    };
    let (major, minor) = device.split_once(',')?;
    let whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !whole(major) || !whole(minor) {
        return None;
    }
    let (seconds, part) = time.split_once('.')?;
    if part.len() != 9 || !whole(part) {
        return None;
    }
    let seconds: u64 = seconds.parse().ok()?;
    let at = seconds.checked_mul(1_000_000_000)?.checked_add(part.parse().ok()?)?;
    Some((device, at, action, kind, sector.parse().ok()?, sectors.parse().ok()?))
}

/// The most requests that were under way at once. One whose completion was lost would be so for
/// ever: those that have both count.
fn most_under_way(all: &[Sample]) -> u32 {
    let mut turns: Vec<(u64, bool)> = all
        .iter()
        .filter(|of| of.latency_ns > 0)
        .flat_map(|of| [(of.at_ns - of.latency_ns, true), (of.at_ns, false)])
        .collect();
    // At one instant, what completes goes before what is issued.
    turns.sort_unstable();
    let (mut now, mut most) = (0u32, 0);
    for (_, is_issued) in turns {
        now = if is_issued { now + 1 } else { now.saturating_sub(1) };
        most = most.max(now);
    }
    most.max(1)
}

/// Reads the requests, and the most that were under way.
pub(super) fn read(file: &str, text: &str) -> Result<(Vec<Sample>, u32), MeasureError> {
    let mut issued: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut samples, mut known) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate() {
        let Some((device, at, action, kind, sector, sectors)) = event(line) else { continue };
        let error =
            |message: String| MeasureError::new(file, format!("line {}", number + 1), message);
        if !matches!(action, "D" | "C") || sectors == 0 || !kind.contains(['R', 'W', 'D']) {
            continue;
        }
        if kind.contains('D') {
            return Err(error(format!("{kind}: a discard; reads or writes alone are read")));
        }
        if known.is_some_and(|known| known != device) {
            let known = known.unwrap_or_default();
            return Err(error(format!("devices {known} and {device}: one a file (blkparse -d)")));
        }
        known = Some(device);
        if action == "D" {
            issued.insert(sector, at);
        } else if let Some(begin) = issued.remove(&sector) {
            let latency_ns = at.checked_sub(begin).ok_or_else(|| {
                error("it completes before it is issued: sort the trace by time".to_string())
            })?;
            let (is_read, bytes) = (kind.contains('R'), sectors * 512);
            let offset = Some(sector * 512);
            samples.push(Sample { is_read, bytes, offset, at_ns: at, latency_ns });
        }
    }
    if samples.is_empty() {
        let message = "no pair of D and C: blkparse's usual text with issue and complete events is \
                       expected (blktrace -a issue -a complete)";
        return Err(MeasureError::new(file, "", message));
    }
    let most = most_under_way(&samples);
    Ok((samples, most))
}
