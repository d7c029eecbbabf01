//! Outcome of an experiment: its results, and what each claim measured.
//!
//! With several seeds a claim is measured under each, all runs with the same seed (so that policies
//! see the same workload), and the mean is held against the band.

use super::expression::{Expression, Reference};
use super::load::{Claim, Experiment};
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
}

/// Measurement of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The value, the mean over seeds.
    pub value: Option<f64>,
    /// The smallest and the largest value over seeds, where there are several.
    pub spread: Option<(f64, f64)>,
    /// Does it lie in the band? `None` where nothing was measured.
    pub holds: Option<bool>,
    /// Why nothing was measured.
    pub missing: Option<String>,
}

impl Measured {
    /// As a table says it.
    pub fn verdict(&self) -> &'static str {
        match self.holds {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "not measured",
        }
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
        Outcome { experiment: self, results, measured }
    }

    fn measure(&self, claim: &Claim, numbers: &[Quantities]) -> Measured {
        let nothing =
            |why: String| Measured { value: None, spread: None, holds: None, missing: Some(why) };
        if let Some(why) = &claim.skip {
            return nothing(why.clone());
        }
        let seeds = self.seeds.len().max(1);
        let values = (0..seeds).map(|seed| match self.value(&claim.expression, seed, numbers)? {
            value if value.is_finite() => Ok(value),
            value => Err(format!(
                "the value is {value}: a division by zero, or beyond what a number holds"
            )),
        });
        match values.collect::<Result<Vec<f64>, String>>() {
            Err(why) => nothing(why),
            Ok(values) => {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let low = values.iter().copied().fold(f64::INFINITY, f64::min);
                let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let spread = (values.len() > 1).then_some((low, high));
                Measured {
                    value: Some(mean),
                    spread,
                    holds: Some(claim.band.holds(mean)),
                    missing: None,
                }
            }
        }
    }

    fn value(
        &self,
        expression: &Expression,
        seed: usize,
        numbers: &[Quantities],
    ) -> Result<f64, String> {
        let run = |name: &str| self.runs.iter().position(|run| run.name == name);
        let gone = || "it is not in this experiment".to_string();
        expression.value(&mut |reference| match reference {
            Reference::Quantity { name, run: of } => {
                let at = run(of).ok_or_else(gone)? * self.seeds.len().max(1) + seed;
                let number = numbers.get(at).ok_or_else(gone)?.get(name);
                number.map_err(|missing: Missing| format!("{name}({of}): {missing}"))
            }
            Reference::Param { path, run: of } => run(of)
                .and_then(|at| self.runs[at].param(path))
                .ok_or_else(|| format!("param({of}, {path}): none")),
            Reference::Defined(name) => {
                let definition = self.definitions.get(name).ok_or_else(gone)?;
                self.value(definition, seed, numbers)
            }
        })
    }
}

impl Outcome<'_> {
    /// The claims with what they measured.
    pub fn claims(&self) -> impl Iterator<Item = (&Claim, &Measured)> {
        self.experiment.claims.iter().zip(&self.measured)
    }

    /// The claims that do not stand: out of their band, or not measured though nothing said that
    /// they would not be.
    pub fn failing(&self) -> Vec<&Claim> {
        let stands =
            |claim: &Claim, measured: &Measured| measured.holds.unwrap_or(claim.skip.is_some());
        self.claims()
            .filter(|(claim, measured)| !stands(claim, measured))
            .map(|(claim, _)| claim)
            .collect()
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
