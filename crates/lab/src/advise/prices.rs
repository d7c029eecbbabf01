//! Prices, and what they are guessed to be before a run has ended.
//!
//! The state that a run begins in tells how many copies its preconditioning made for a page. The
//! beginnings of all runs together, beside that of a drive whose GC costs nothing, tell how many of
//! them this load makes: one beginning alone is too short for that. What that drive programs in the
//! whole run is certain.

use super::cost::Cost;
use super::goal::waf;
use super::question::{Minimise, Question};
use manx_config::Scenario;
use manx_core::stats::RunResult;

/// Time in which a closed loop's requests come, alike for all settings: that of the drive whose GC
/// costs nothing. By its own time a slow drive would be cheap, as it wears out later for doing
/// less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Seconds a request.
    seconds: f64,
}

impl Pace {
    /// The pace of this run; none where nothing was measured.
    pub fn of(bound: &RunResult) -> Option<Self> {
        let seconds = bound.virtual_s / bound.requests.max(1) as f64;
        Some(Self { seconds }).filter(|_| bound.requests > 0 && seconds > 0.0)
    }

    /// Requests a second.
    pub fn rate_per_s(self) -> f64 {
        1.0 / self.seconds
    }
}

/// The cost of a setting by its run, at the pace of all settings where there is one.
pub fn cost_of(
    question: &Question,
    scenario: &Scenario,
    result: &RunResult,
    pace: Option<Pace>,
) -> Cost {
    let seconds =
        pace.map_or(result.virtual_s, |pace| pace.seconds * result.requests.max(1) as f64);
    question.costs.within(scenario, Some((result, seconds)))
}

/// How runs are guessed.
#[derive(Debug)]
pub struct Guess<'a> {
    whole: &'a RunResult,
    /// Copies of this load over those of preconditioning (ratio).
    scale: f64,
}

impl<'a> Guess<'a> {
    /// From the whole run and the beginning of a drive whose GC costs nothing, and the beginnings
    /// of all others.
    pub fn of(whole: &'a RunResult, first: &RunResult, begun: &[&RunResult]) -> Self {
        let programmed = |result: &RunResult| result.flash.pages_programmed as f64;
        let beyond = |result: &&RunResult| (programmed(result) - programmed(first)).max(0.0);
        let told: f64 = begun.iter().map(beyond).sum();
        let prepared =
            |result: &&RunResult| copies(result) * result.flash.host_pages_written as f64;
        let expected: f64 = begun.iter().map(prepared).sum();
        Self { whole, scale: if expected > 0.0 { told / expected } else { 0.0 } }
    }

    /// The whole run of which this is the beginning, as far as prices go.
    pub fn whole(&self, begun: &RunResult) -> RunResult {
        let mut flash = self.whole.flash;
        let more = self.scale * copies(begun) * flash.host_pages_written as f64;
        let times = 1.0 + more / (flash.pages_programmed as f64).max(1.0);
        // A buffer that takes all that is written says nothing of one that does not: that all of it
        // passes is as good a guess.
        let passes = |waf: f64| if flash.pages_programmed == 0 { 1.0 } else { waf };
        let host = (flash.host_pages_written as f64).max(1.0);
        flash.waf = flash.waf.map(|waf| passes(waf) + more / host);
        flash.pages_programmed += more as u64;
        flash.pages_read += more as u64;
        flash.erases = (flash.erases as f64 * times) as u64;
        let (write, virtual_s) = (self.whole.write.clone(), self.whole.virtual_s);
        let requests = self.whole.requests;
        RunResult { flash, write, virtual_s, requests, ..RunResult::default() }
    }
}

/// Copies for each page that the host writes, as the preconditioning of the run's state had them.
fn copies(begun: &RunResult) -> f64 {
    begun.state.precondition_waf.map_or(0.0, |waf| (waf - 1.0).max(0.0))
}

/// The quantity that is to be small; without an end where a run has none.
pub fn price(
    question: &Question,
    scenario: &Scenario,
    cost: &Cost,
    result: Option<&RunResult>,
) -> f64 {
    match question.minimise {
        Minimise::Cost => cost.total,
        Minimise::Op => {
            let capacity = scenario.capacity();
            let raw = capacity.raw.get() as f64 * f64::from(scenario.array.members);
            let user = scenario.array.user_bytes(capacity.user).get() as f64;
            100.0 * (raw - user) / user.max(1.0)
        }
        Minimise::Drives => f64::from(scenario.array.members),
        Minimise::Waf => result.map_or(0.0, |result| waf(result).unwrap_or(f64::INFINITY)),
        Minimise::Power => cost.watts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(host: u64, programmed: u64, waf: f64) -> RunResult {
        let mut result = RunResult::default();
        result.flash.host_pages_written = host;
        result.flash.pages_programmed = programmed;
        result.flash.waf = Some(programmed as f64 / host as f64);
        result.state.precondition_waf = Some(waf);
        result
    }

    #[test]
    fn copies_of_the_state_are_brought_to_the_scale_of_what_all_beginnings_have() {
        // Preconditioning copied 1 and 3 pages for each; the beginnings together half of that.
        let (whole, first) = (run(10_000, 9_000, 1.0), run(100, 90, 1.0));
        let (few, many) = (run(100, 160, 2.0), run(100, 220, 4.0));
        let guess = Guess::of(&whole, &first, &[&few, &many]);
        assert_eq!(guess.scale, 0.5);
        let told = guess.whole(&many).flash;
        assert_eq!((told.pages_programmed, told.pages_read), (9_000 + 15_000, 15_000));
        assert!((told.waf.unwrap() - 2.4).abs() < 1e-9);
        // Nothing was copied before: nothing is guessed.
        let empty = run(100, 90, 1.0);
        assert_eq!(
            Guess::of(&whole, &first, &[&empty]).whole(&empty).flash.pages_programmed,
            9_000
        );
    }
}
