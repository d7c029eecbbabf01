//! Where the time of a tail went, as shares.

use super::goal::{Goal, Measure, Of};
use manx_core::stats::{AttributionBand, RunResult};
use manx_core::units::Cause;
use serde::Serialize;

/// Shares below this are not told (percent).
const SMALL: f64 = 1.0;

/// A cause and its share of the time beyond own work.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    /// In words.
    pub name: String,
    /// Of the time of the requests that are too slow (percent).
    pub percent: f64,
}

/// The causes of the requests beyond the goal's percentile, the largest first; none of a WAF, of
/// which no wait is the cause.
pub fn of(goal: &Goal, result: &RunResult) -> Vec<Share> {
    let attribution = result.attribution.as_ref().filter(|_| goal.measure != Measure::Waf);
    let Some(attribution) = attribution else { return Vec::new() };
    let bands = match goal.of {
        Of::Write => &attribution.write,
        _ => &attribution.read,
    };
    let wanted = match goal.measure {
        Measure::Percentile(..=2) | Measure::Mean | Measure::Iops => "all",
        Measure::Percentile(3) => "p99",
        Measure::Percentile(4) => "p99_9",
        _ => "p99_99",
    };
    let band = bands.iter().find(|band| band.band == wanted).or(bands.last());
    band.map(|band| shares(band, result.log.is_some())).unwrap_or_default()
}

/// The shares of a band.
pub fn shares(band: &AttributionBand, merges: bool) -> Vec<Share> {
    let parts = band.mean_us.all();
    let total: f64 = parts.iter().map(|(_, us)| us).sum();
    let mut shares: Vec<Share> = parts
        .iter()
        .map(|(cause, us)| Share {
            name: words(*cause, merges).to_string(),
            percent: ((1000.0 * us / total.max(1e-9)).round()) / 10.0,
        })
        .filter(|share| share.percent >= SMALL)
        .collect();
    shares.sort_by(|one, other| other.percent.total_cmp(&one.percent));
    shares
}

/// A cause in words; where log blocks are merged, collections are merges.
pub fn words(cause: Cause, merges: bool) -> &'static str {
    match cause {
        Cause::Service => "its own work",
        Cause::Erase => "waiting behind erases",
        Cause::Program => "waiting behind programs of host data",
        Cause::GcCopy if merges => "waiting behind merges",
        Cause::GcCopy => "waiting behind GC copies",
        Cause::Reads => "waiting behind other reads of the same die",
        Cause::Channel => "waiting for the channel",
        Cause::Link => "the host link",
        Cause::Queue => "waiting in the drive's queue",
        Cause::Buffer => "waiting for the write buffer",
        Cause::Suspension => "suspending and resuming",
        Cause::Reconstruct => "reading the rest of a stripe",
        Cause::Retry => "commands that brought nothing",
        Cause::Stripe => "waiting for its row of the array",
        Cause::Space => "waiting for a free block",
        Cause::Flush => "waiting behind a flush",
    }
}
