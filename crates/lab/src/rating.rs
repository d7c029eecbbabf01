//! The rating of a drive by ACT: the largest multiplier of the load that it passes, found by
//! doubling and bisection over whole multipliers. Each trial is a run of its own.

use crate::compare::{Options, compare};
use crate::load::Request;
use crate::run::RunError;
use manx_config::{ConfigError, Override, Scenario};
use manx_core::stats::{ActRules, ActVerdict, Outcome};
use serde_json::{Value, json};

/// The key that is searched.
const KEY: &str = "workload.act.multiplier";

/// Rule by which a drive passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The tool's own.
    Act,
    /// The four conditions of the paper on practical erase suspension.
    Paper,
    /// The fourth of them alone.
    PaperStress,
}

impl Rule {
    /// Its name in a result.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Act => "act6.6",
            Self::Paper => "paper",
            Self::PaperStress => "paper-stress",
        }
    }

    const fn of(self, rules: &ActRules) -> ActVerdict {
        match self {
            Self::Act => rules.act,
            Self::Paper => rules.paper,
            Self::PaperStress => rules.paper_stress,
        }
    }
}

/// Search for the largest multiplier that passes: up by doubling, then between the last pass and
/// the first fail. A pass above a fail is not looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    least: u32,
    most: u32,
    passed: Option<u32>,
    failed: Option<u32>,
}

impl Search {
    /// A search from `least` to `most`, both included.
    pub const fn new(least: u32, most: u32) -> Self {
        Self { least, most, passed: None, failed: None }
    }

    /// The multiplier to try next; `None` at the end.
    pub fn next_trial(&self) -> Option<u32> {
        match (self.passed, self.failed) {
            (None, None) => Some(self.least),
            (None, Some(_)) => None,
            (Some(passed), None) if passed == self.most => None,
            (Some(passed), None) => Some(passed.saturating_mul(2).min(self.most)),
            (Some(passed), Some(failed)) => {
                (failed - passed > 1).then_some(passed + (failed - passed) / 2)
            }
        }
    }

    /// Takes the verdict on `multiplier`.
    pub fn learn(&mut self, multiplier: u32, passes: bool) {
        *(if passes { &mut self.passed } else { &mut self.failed }) = Some(multiplier);
    }

    /// The largest multiplier that passed.
    pub const fn passed(&self) -> Option<u32> {
        self.passed
    }

    /// Is the rating an end of the search, so that the drive may pass more?
    pub fn is_open(&self) -> bool {
        self.passed == Some(self.most)
    }
}

/// A trial of a multiplier.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The multiplier.
    pub multiplier: u32,
    /// It passed.
    pub passes: bool,
    /// Reasons against a pass.
    pub why: Vec<String>,
}

/// Rating of one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Rating {
    /// The policy; `as-written` without one.
    pub policy: String,
    /// The largest multiplier that passed; `None` if the least fails.
    pub passed: Option<u32>,
    /// It is the most that was asked for: the drive may pass more.
    pub is_open: bool,
    /// Trials in their order.
    pub trials: Vec<Trial>,
}

/// A question: the drive and load, and where to look.
#[derive(Clone, Debug)]
pub struct Question {
    /// The scenario, whose load is ACT.
    pub request: Request,
    /// The policy, or the scenario as it is written.
    pub policy: Option<String>,
    /// Rule by which a trial passes.
    pub rule: Rule,
    /// The least multiplier.
    pub least: u32,
    /// The most.
    pub most: u32,
}

/// A search that ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Rated {
    /// With a rating.
    Done(Rating),
    /// It was stopped before.
    Stopped,
}

impl Question {
    /// Is everything right with it? The scenario has to have a load of ACT.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.least > self.most {
            let (least, most) = (self.least, self.most);
            return Err(ConfigError::new(format!(
                "--from = {least} is not allowed: at most --to {most}"
            )));
        }
        if self.scenario(&self.request)?.workload.act.is_none() {
            let text = "the scenario has no load of ACT: [workload.act], or --workload 'act(1)'";
            return Err(ConfigError::new(text));
        }
        Ok(())
    }

    fn scenario(&self, request: &Request) -> Result<Scenario, ConfigError> {
        match &self.policy {
            Some(policy) => request.under(policy),
            None => request.plain(),
        }
    }

    /// A rating says nothing where the tool's rule cannot find that a drive does not keep up.
    pub fn warning(&self) -> Option<String> {
        let act = self.scenario(&self.request).ok()?.workload.act?;
        let time = if act.time.is_zero() { act.slice } else { act.time };
        let is_judged = !act.max_lag.is_zero() && time > act.max_lag;
        (self.rule == Rule::Act && !is_judged).then(|| {
            let lag = act.max_lag;
            format!(
                "a drive that does not keep up may pass act6.6 here: no thread of a test of {time} \
                 is ever further behind than workload.act.max_lag = {lag} (0s is no bound); a \
                 longer workload.act.time, or the rule paper, tells"
            )
        })
    }

    /// Plays trials until the rating is found; `tell` hears of each.
    pub fn rate(
        &self,
        options: &Options<'_>,
        tell: &mut dyn FnMut(&str, &Trial),
    ) -> Result<Rated, RunError> {
        self.check()?;
        let name = self.policy.clone().unwrap_or_else(|| "as-written".to_string());
        let (mut search, mut trials) = (Search::new(self.least, self.most), Vec::new());
        while let Some(multiplier) = search.next_trial() {
            let Some(trial) = self.trial(&name, multiplier, options)? else {
                return Ok(Rated::Stopped);
            };
            tell(&name, &trial);
            search.learn(multiplier, trial.passes);
            trials.push(trial);
        }
        let (passed, is_open) = (search.passed(), search.is_open());
        Ok(Rated::Done(Rating { policy: name, passed, is_open, trials }))
    }

    /// One run; `None` if it was stopped.
    fn trial(
        &self,
        name: &str,
        multiplier: u32,
        options: &Options<'_>,
    ) -> Result<Option<Trial>, RunError> {
        let set = Override::new(KEY, multiplier.to_string(), format!("{KEY} = {multiplier}"));
        let request = self.request.with([set]);
        let scenario = self.scenario(&request)?;
        let ended = compare(&[(name.to_string(), scenario)], options)?;
        let result = ended.into_iter().next().map(|finished| finished.result);
        let Some(result) = result.filter(|result| result.outcome != Outcome::Partial) else {
            return Ok(None);
        };
        // A drive that lets requests starve passes nothing, whatever its slices say.
        let Some(act) = result.act else { return Ok(None) };
        let is_whole = result.outcome == Outcome::Completed;
        let passes = is_whole && self.rule.of(&act.rules) == ActVerdict::Pass;
        let mut why = act.why;
        if !is_whole {
            why.insert(0, "a request was never served".to_string());
        }
        Ok(Some(Trial { multiplier, passes, why }))
    }
}

/// The ratings as a document.
pub fn document(rule: Rule, ratings: &[Rating]) -> Value {
    let trial = |trial: &Trial| {
        let Trial { multiplier, passes, why } = trial;
        json!({ "multiplier": multiplier, "passes": passes, "why": why })
    };
    let rating = |rating: &Rating| {
        json!({
            "policy": rating.policy,
            "rating": rating.passed,
            "open": rating.is_open,
            "trials": rating.trials.iter().map(trial).collect::<Vec<_>>(),
        })
    };
    json!({ "rule": rule.name(), "ratings": ratings.iter().map(rating).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(least: u32, most: u32, passes: impl Fn(u32) -> bool) -> (Option<u32>, bool, usize) {
        let (mut search, mut trials) = (Search::new(least, most), 0);
        while let Some(multiplier) = search.next_trial() {
            assert!((least..=most).contains(&multiplier), "{multiplier}");
            search.learn(multiplier, passes(multiplier));
            trials += 1;
            assert!(trials <= 64, "a search ends");
        }
        (search.passed(), search.is_open(), trials)
    }

    #[test]
    fn the_largest_multiplier_that_passes_is_found_wherever_it_lies() {
        for rating in 1..=300 {
            let (passed, is_open, trials) = found(1, 300, |multiplier| multiplier <= rating);
            assert_eq!((passed, is_open), (Some(rating), rating == 300));
            assert!(trials <= 18, "{rating}: {trials} trials");
        }
        assert_eq!(found(16, 32, |multiplier| multiplier <= 22).0, Some(22));
    }

    #[test]
    fn a_drive_that_fails_the_least_has_no_rating_and_one_that_passes_the_most_an_open_one() {
        assert_eq!(found(4, 64, |_| false), (None, false, 1));
        assert_eq!(found(4, 64, |_| true), (Some(64), true, 5));
        assert_eq!(found(7, 7, |_| true), (Some(7), true, 1));
    }
}
