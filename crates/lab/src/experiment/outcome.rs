//! Outcome of an experiment: its results, and what each claim measured.
//!
//! With several seeds a claim is measured under each, all runs with the same seed (so that policies
//! see the same workload), and the mean is held against the band.

use super::calibrate::Solved;
use super::expression::{Expression, Reference};
use super::load::{Claim, Experiment};
use super::verdict::{Origin, Verdict};
use crate::campaign::{Campaign, Done, Point};
use crate::compare::Options;
use crate::quantity::{Missing, Quantities};
use crate::run::RunError;
use manx_core::stats::{Outcome as Ended, RunResult, RunSet};

/// An experiment that was run.
#[derive(Clone, Debug)]
pub struct Outcome<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The results in the order of [`Experiment::points`]; `policy` is the name of the point.
    pub results: Vec<RunResult>,
    /// Measurement of each claim, in the order of the claims.
    pub measured: Vec<Measured>,
    /// The knobs that were solved before.
    pub solved: Vec<Solved>,
}

/// Measurement of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The value, the mean over seeds.
    pub value: Option<f64>,
    /// The smallest and the largest value over seeds, where there are several.
    pub spread: Option<(f64, f64)>,
    /// Judgement; `None` where nothing was measured.
    pub verdict: Option<Verdict>,
    /// The smallest and the largest value with another run in the place of one of the claim's: a
    /// band that holds both cannot fail.
    pub reach: Option<(f64, f64)>,
    /// Why nothing was measured.
    pub missing: Option<String>,
}

impl Measured {
    fn nothing(why: String) -> Self {
        Self { value: None, spread: None, verdict: None, reach: None, missing: Some(why) }
    }

    /// As a table says it.
    pub fn word(&self) -> &'static str {
        self.verdict.map_or("not measured", Verdict::word)
    }
}

impl Experiment {
    /// The points of the campaign: every run with every seed. A point is called like its run, so
    /// that whatever labels results by their policy labels them by run.
    pub fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for run in &self.runs {
            for scenario in &run.scenarios {
                let name = match self.seeds.len() {
                    0 | 1 => run.name.clone(),
                    _ => format!("{}.seed-{}", run.name, scenario.seed),
                };
                points.push((name, scenario.clone()));
            }
        }
        points
    }

    /// Runs what is not in the journal. `None`, and what was done, when it was stopped.
    pub fn run(
        &self,
        campaign: &mut Campaign,
        options: &Options<'_>,
    ) -> Result<(Done, Option<Outcome<'_>>), RunError> {
        let done = campaign.run(&self.points(), options, &mut |_, _| Ok(()))?;
        let results = done.results.iter().cloned().collect::<Option<Vec<_>>>();
        let outcome = results.map(|results| self.judge(results));
        Ok((done, outcome))
    }

    /// Holds the claims against the results of [`Self::points`].
    pub fn judge(&self, results: Vec<RunResult>) -> Outcome<'_> {
        let numbers: Vec<Quantities> = results.iter().map(Quantities::of).collect();
        let measured = self.claims.iter().map(|claim| self.measure(claim, &numbers)).collect();
        Outcome { experiment: self, results, measured, solved: Vec::new() }
    }

    fn measure(&self, claim: &Claim, numbers: &[Quantities]) -> Measured {
        if let Some(why) = &claim.skip {
            return Measured::nothing(why.clone());
        }
        match self.values(&claim.expression, numbers, None) {
            Err(why) => Measured::nothing(why),
            Ok(values) => {
                let (low, high) = ends(&values);
                let mean = mean(&values);
                // In small a source's range says nothing: only the band does.
                let verdict = match claim.is_small {
                    true if claim.band.holds(mean) => Verdict::Consistent,
                    true => Verdict::Missed,
                    false => claim.origin.judge(mean, &claim.band),
                };
                Measured {
                    value: Some(mean),
                    spread: (values.len() > 1).then_some((low, high)),
                    verdict: Some(verdict),
                    reach: self.reach(claim, numbers),
                    missing: None,
                }
            }
        }
    }

    /// The value of an expression under each seed.
    pub(super) fn values(
        &self,
        expression: &Expression,
        numbers: &[Quantities],
        swap: Option<(&str, &str)>,
    ) -> Result<Vec<f64>, String> {
        let seeds = self.seeds.len().max(1);
        let value = |seed| match self.value(expression, seed, numbers, swap)? {
            value if value.is_finite() => Ok(value),
            value => Err(format!(
                "the value is {value}: a division by zero, or beyond what a number holds"
            )),
        };
        (0..seeds).map(value).collect()
    }

    /// The ends of what the claim would measure with another run in the place of one of its own.
    fn reach(&self, claim: &Claim, numbers: &[Quantities]) -> Option<(f64, f64)> {
        let mut asked = std::collections::BTreeSet::new();
        self.ask(&claim.expression, &mut asked);
        let mut reached = Vec::new();
        for run in &asked {
            for other in self.runs.iter().filter(|other| other.name != *run) {
                let swap = Some((run.as_str(), other.name.as_str()));
                if let Ok(values) = self.values(&claim.expression, numbers, swap) {
                    reached.push(mean(&values));
                }
            }
        }
        (!reached.is_empty()).then(|| ends(&reached))
    }

    fn value(
        &self,
        expression: &Expression,
        seed: usize,
        numbers: &[Quantities],
        swap: Option<(&str, &str)>,
    ) -> Result<f64, String> {
        let run = |name: &str| self.runs.iter().position(|run| run.name == name);
        let gone = || "it is not in this experiment".to_string();
        expression.value(&mut |reference| match reference {
            Reference::Quantity { name, run: of } => {
                let of = swap.filter(|(from, _)| from == of).map_or(of.as_str(), |(_, to)| to);
                let at = run(of).ok_or_else(gone)? * self.seeds.len().max(1) + seed;
                let number = numbers.get(at).ok_or_else(gone)?.get(name);
                number.map_err(|missing: Missing| format!("{name}({of}): {missing}"))
            }
            Reference::Param { path, run: of } => run(of)
                .and_then(|at| self.runs[at].param(path))
                .ok_or_else(|| format!("param({of}, {path}): none")),
            Reference::Defined(name) => {
                let definition = self.definitions.get(name).ok_or_else(gone)?;
                self.value(definition, seed, numbers, swap)
            }
        })
    }
}

impl Outcome<'_> {
    /// The claims with what they measured.
    pub fn claims(&self) -> impl Iterator<Item = (&Claim, &Measured)> {
        self.experiment.claims.iter().zip(&self.measured)
    }

    /// The claims whose verdict is not the recorded one, or that were not measured though nothing
    /// said that they would not be.
    pub fn changed(&self) -> Vec<(&Claim, &Measured)> {
        let is_changed = |(claim, measured): &(&Claim, &Measured)| match measured.verdict {
            None => claim.skip.is_none(),
            // A source's range is judged in full runs alone.
            Some(verdict) if self.experiment.asked.quick => {
                (verdict == Verdict::Missed) != (claim.recorded == Verdict::Missed)
            }
            Some(verdict) => verdict != claim.recorded,
        };
        self.claims().filter(is_changed).collect()
    }

    /// How many claims have each verdict, in the order of [`Verdict::ALL`].
    pub fn count(&self) -> [usize; 3] {
        let of = |verdict| self.measured.iter().filter(|one| one.verdict == Some(verdict)).count();
        Verdict::ALL.map(of)
    }

    /// The claims whose band holds all that the experiment reaches with any of its runs in the
    /// place of theirs. A law holds for every run by right, and an exact count is no wide band.
    pub fn cannot_fail(&self) -> Vec<&Claim> {
        let asked = &self.experiment.asked;
        // Small or changed runs reach other values, and without some runs theirs are not there.
        if asked.quick || asked.claims_only || !asked.sets.is_empty() {
            return Vec::new();
        }
        let holds = |(claim, measured): &(&Claim, &Measured)| {
            let Some((low, high)) = measured.reach else { return false };
            let is_exact = claim.band.low == claim.band.high;
            !is_exact
                && !matches!(claim.origin, Origin::Law(_))
                && claim.band.holds(low)
                && claim.band.holds(high)
        };
        self.claims().filter(holds).map(|(claim, _)| claim).collect()
    }

    /// A run that lost requests, which no drive does.
    pub fn stuck(&self) -> Option<&str> {
        self.results
            .iter()
            .find(|result| result.outcome == Ended::Stuck)
            .map(|result| result.policy.as_str())
    }

    /// The results as a comparison, labelled by run: what tables, plots and reports take.
    pub fn run_set(&self) -> RunSet {
        RunSet { runs: self.results.clone() }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn ends(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}
