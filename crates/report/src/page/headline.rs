//! The first sentence of the page: what came out.

use super::attribution::told;
use super::escape;
use crate::number::{latency, three_digits};
use crate::style::cause_words;
use manx_core::stats::{AttributionBand, LatencySummary, RunResult};
use manx_lab::table::is_bound;

/// Two latencies closer than this are about the same.
const APART: f64 = 1.02;

/// The p99.9 of the best and of the worst policy that a drive can have, and where the worst one's
/// tail spends its time; nothing where no p99.9 is known.
pub(super) fn sentence(runs: &[RunResult]) -> String {
    let reads = runs.iter().any(|run| run.read.count > 0);
    let of = |run: &RunResult| -> Option<f64> { summary(run, reads).p99_9_us };
    let op = if reads { "read" } else { "write" };
    let mut real: Vec<(&RunResult, f64)> =
        runs.iter().filter(|run| !is_bound(run)).filter_map(|run| Some((run, of(run)?))).collect();
    real.sort_by(|one, two| one.1.total_cmp(&two.1));
    let (Some((best, low)), Some((worst, high))) = (real.first(), real.last()) else {
        return String::new();
    };
    let mut said = match (real.len(), high / low.max(1e-3)) {
        (1, _) => format!("The {op} p99.9 of {} is <b>{}</b>.", name(worst), latency(*high)),
        (_, times) if times < APART => {
            format!(
                "The {op} p99.9 is about the same under every policy: <b>{}</b>.",
                latency(*high)
            )
        }
        (_, times) => format!(
            "The {op} p99.9 is <b>{}</b> with {} and <b>{}</b>, {} times as long, with {}.",
            latency(*low),
            name(best),
            latency(*high),
            three_digits(times),
            name(worst)
        ),
    };
    for (bound, us) in
        runs.iter().filter(|run| is_bound(run)).filter_map(|run| Some((run, of(run)?)))
    {
        said += &format!(
            " With {}, a bound that no drive can have, it is {}.",
            name(bound),
            latency(us)
        );
    }
    said += &cause(worst, reads, op).unwrap_or_default();
    format!("<p class=\"headline\">{said}</p>\n")
}

/// Cause that the slowest requests of a run wait for most.
fn cause(run: &RunResult, reads: bool, op: &str) -> Option<String> {
    let attribution = run.attribution.as_ref()?;
    let bands: &[AttributionBand] = if reads { &attribution.read } else { &attribution.write };
    let parts = told(bands).last()?.mean_us.all();
    let total: f64 = parts.iter().map(|(_, us)| us).sum();
    let (cause, us) =
        parts.into_iter().reduce(|most, next| if next.1 > most.1 { next } else { most })?;
    (total > 0.0).then(|| {
        let percent = three_digits(100.0 * us / total);
        format!(
            " Of the slowest {op}s under {}, {percent}&nbsp;% of the time is {}.",
            name(run),
            cause_words(cause)
        )
    })
}

fn summary(run: &RunResult, reads: bool) -> &LatencySummary {
    if reads { &run.read } else { &run.write }
}

fn name(run: &RunResult) -> String {
    format!("<code>{}</code>", escape(&run.policy))
}
