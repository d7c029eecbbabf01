//! The limits of a fitted profile's phases and rewrites.

use super::job::Key;
use super::{Check, require, require_percent};
use manx_core::host::{PhasesSpec, RewritesSpec};

/// Phases, and extents: each has a place in memory.
const PHASES_MAX: usize = 4096;
const EXTENTS_MAX: u32 = 1 << 22;
/// Entries of a distribution.
const ENTRIES_MAX: usize = 256;
/// Requests of a phase: each is drawn twice.
const REQUESTS_MAX: f64 = 1e9;

pub(super) fn phases(phases: Option<&PhasesSpec>, key: Key<'_>) -> Check {
    let message = "given with arrival = \"phases\": a table with a `list` (manx workload fit)";
    let Some(spec) = phases else { return require(false, &key("phases"), "absent", message) };
    let count = spec.list.len();
    let message = format!("from 1 to {PHASES_MAX} phases");
    require((1..=PHASES_MAX).contains(&count), &key("phases.list"), count, message)?;
    for (i, [seconds, requests, percents @ ..]) in spec.list.iter().enumerate() {
        let at = |part: usize| key(&format!("phases.list.{i}.{part}"));
        let message = "seconds, from 0 to 1e9";
        require((0.0..=1e9).contains(seconds), &at(0), seconds, message)?;
        let message = format!("requests, from 0 to {REQUESTS_MAX}");
        require((0.0..=REQUESTS_MAX).contains(requests), &at(1), requests, message)?;
        for (part, percent) in percents.iter().enumerate() {
            require_percent(*percent, &at(2 + part))?;
        }
    }
    let seconds: f64 = spec.list.iter().map(|phase| phase[0]).sum();
    let requests: f64 = spec.list.iter().map(|phase| phase[1]).sum();
    let message = "phases of more than 0 s and of at least one request together";
    let shown = format!("{requests} requests in {seconds} s");
    require(seconds > 0.0 && requests >= 1.0, &key("phases.list"), shown, message)?;
    for (name, runs) in [("read_runs", &spec.read_runs), ("write_runs", &spec.write_runs)] {
        let runs: Vec<_> = runs.iter().map(|(run, weight)| (f64::from(*run), *weight)).collect();
        weights(&runs, 1.0, &key(&format!("phases.{name}")))?;
    }
    for (i, gaps) in spec.gaps.iter().enumerate() {
        weights(gaps, 0.0, &key(&format!("phases.gaps.{i}")))?;
    }
    Ok(())
}

/// Pairs of a value that is at least `least` and a weight; none at all is allowed.
fn weights(pairs: &[(f64, f64)], least: f64, key: &str) -> Check {
    let message = format!("at most {ENTRIES_MAX} pairs");
    require(pairs.len() <= ENTRIES_MAX, key, format!("a list of {}", pairs.len()), message)?;
    for (i, (value, weight)) in pairs.iter().enumerate() {
        let message = format!("from {least} to 1e9");
        require((least..=1e9).contains(value), &format!("{key}.{i}.0"), value, message)?;
        let holds = *weight > 0.0 && *weight <= 1e9;
        require(holds, &format!("{key}.{i}.1"), weight, "a weight above 0, at most 1e9")?;
    }
    Ok(())
}

pub(super) fn rewrites(rewrites: Option<&RewritesSpec>, key: Key<'_>) -> Check {
    let Some(spec) = rewrites else { return Ok(()) };
    let key = |name: &str| key(&format!("rewrites.{name}"));
    let message = format!("from 1 to {EXTENTS_MAX}");
    require((1..=EXTENTS_MAX).contains(&spec.extents), &key("extents"), spec.extents, message)?;
    require(spec.span > 0.0, &key("span"), spec.span, "a percentage above 0")?;
    require_percent(spec.span, &key("span"))?;
    require_percent(spec.sequential, &key("sequential"))?;
    for (i, row) in spec.after.iter().enumerate() {
        let holds = row.iter().all(|weight| (0.0..=1e9).contains(weight));
        let message = "three weights from 0 to 1e9, one of them above 0";
        let is_some = row.iter().any(|weight| *weight > 0.0);
        require(holds && is_some, &key(&format!("after.{i}")), format!("{row:?}"), message)?;
    }
    let count = spec.depths.len();
    let message = format!("from 1 to {ENTRIES_MAX} pairs");
    require((1..=ENTRIES_MAX).contains(&count), &key("depths"), count, message)?;
    let depths: Vec<_> = spec.depths.iter().map(|(at, weight)| (f64::from(*at), *weight)).collect();
    weights(&depths, 1.0, &key("depths"))?;
    let rises = spec.depths.is_sorted_by(|a, b| a.0 < b.0);
    require(rises, &key("depths"), format!("{:?}", spec.depths), "depths in rising order")
}
