//! Calibration: one knob is solved so that a published number of the baseline comes out, before
//! anything else runs. Every other number of the experiment is then a prediction.
//!
//! Bisection over the logarithm of the knob, whose values have four digits: so the solved knob is
//! the one that was played. Each trial is a run of the campaign's journal.

use super::expression::Expression;
use super::load::{Asked, Experiment, Knob};
use crate::campaign::{Campaign, Done};
use crate::compare::Options;
use crate::quantity::Quantities;
use crate::run::RunError;
use manx_config::{ConfigError, Source};

/// Trials between the two ends. Each halves the interval: twenty are a millionth of it.
const TRIALS_MAX: usize = 20;

/// A knob and the published number that it is solved for.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Its name.
    pub id: String,
    /// The key of the scenario that is solved.
    pub knob: String,
    /// Unit behind its number.
    pub unit: String,
    /// The ends between which it is looked for.
    pub between: [f64; 2],
    /// The runs that get the solved value.
    pub runs: Vec<String>,
    /// The observed quantity, as it is written.
    pub quantity: String,
    /// Target of the quantity.
    pub to: f64,
    /// Share of the target by which the quantity may be off.
    pub within: f64,
    /// The statement that publishes the target.
    pub statement: Option<String>,
    /// Paper and figure.
    pub source: String,
    /// The runs that are played for each trial.
    pub(super) observed: Vec<String>,
    /// The runs of which the quantity asks for a result or a setting.
    pub(super) looks_at: Vec<String>,
    pub(super) expression: Expression,
}

/// A calibration that was solved.
#[derive(Clone, Debug, PartialEq)]
pub struct Solved {
    /// The calibration.
    pub id: String,
    /// The key of the scenario.
    pub knob: String,
    /// The value with its unit.
    pub value: String,
    /// The observed quantity, as it is written.
    pub quantity: String,
    /// Target of the quantity.
    pub to: f64,
    /// The quantity with that value.
    pub measured: f64,
    /// Is it as near as asked?
    pub is_met: bool,
    /// Trials, those at the ends among them.
    pub trials: usize,
}

/// The end of a calibration.
#[derive(Debug)]
pub enum Calibrated {
    /// The experiment with its knobs set.
    Ready(Box<Experiment>, Vec<Solved>),
    /// It was stopped.
    Stopped(Done),
}

/// A search under way.
struct Open<'a> {
    calibration: &'a Calibration,
    search: Search,
    trials: usize,
}

impl Experiment {
    /// Solves the calibrations of the experiment as it was published, and sets their knobs in the
    /// experiment as it was asked for. Those that do not look at each other's runs are solved
    /// together, a trial of each at a time.
    pub fn calibrate(
        &self,
        campaign: &mut Campaign,
        options: &Options<'_>,
    ) -> Result<Calibrated, RunError> {
        let mut asked = Asked { sets: Vec::new(), claims_only: false, ..self.asked.clone() };
        let mut solved = Vec::new();
        let mut left = &self.calibrations[..];
        while !left.is_empty() {
            let (together, after) = left.split_at(together(left));
            left = after;
            match self.solve(together, &asked, campaign, options)? {
                Ok(some) => {
                    let knobs = together.iter().zip(&some);
                    let knobs = knobs.flat_map(|(calibration, one)| calibration.knobs(&one.value));
                    asked.solved.extend(knobs);
                    solved.extend(some);
                }
                Err(done) => return Ok(Calibrated::Stopped(done)),
            }
        }
        let asked = Asked { solved: asked.solved, ..self.asked.clone() };
        Ok(Calibrated::Ready(Box::new(self.again(asked)?), solved))
    }

    /// Finds the values of knobs that do not depend on each other; the campaign so far where it was
    /// stopped.
    fn solve(
        &self,
        calibrations: &[Calibration],
        asked: &Asked,
        campaign: &mut Campaign,
        options: &Options<'_>,
    ) -> Result<Result<Vec<Solved>, Done>, RunError> {
        let mut searches: Vec<Open<'_>> = calibrations.iter().map(Open::new).collect();
        loop {
            let mut tried: Vec<(&mut Open<'_>, f64, Experiment)> = Vec::new();
            for open in &mut searches {
                if let Some(knob) = open.next() {
                    let trial = self.trial(open.calibration, knob, asked)?;
                    tried.push((open, knob, trial));
                }
            }
            if tried.is_empty() {
                return Ok(Ok(searches.iter().map(Open::solved).collect()));
            }
            let points: Vec<_> = tried.iter().flat_map(|(.., trial)| trial.points()).collect();
            let done = campaign.run(&points, options, &mut |_, _| Ok(()))?;
            let Some(results) = done.results.iter().cloned().collect::<Option<Vec<_>>>() else {
                return Ok(Err(done));
            };
            let mut results = results.iter();
            for (open, knob, trial) in tried {
                let numbers: Vec<Quantities> =
                    results.by_ref().take(trial.points().len()).map(Quantities::of).collect();
                let measured = self.measured(open.calibration, knob, &trial, &numbers)?;
                open.search.learn(knob, measured);
                if let Some(why) = open.search.hopeless() {
                    let text = format!("{}: calibrate.{}: {why}", self.place, open.calibration.id);
                    return Err(ConfigError::new(text).into());
                }
            }
        }
    }

    /// The runs that `calibration` observes, with its knob at a value.
    fn trial(
        &self,
        calibration: &Calibration,
        knob: f64,
        asked: &Asked,
    ) -> Result<Self, ConfigError> {
        let mut asked = asked.clone();
        asked.solved.extend(calibration.knobs(&calibration.value(knob)));
        let mut trial = self.again(asked)?;
        trial.runs.retain(|run| calibration.observed.contains(&run.name));
        Ok(trial)
    }

    /// The observed quantity of a trial, its mean over the seeds.
    fn measured(
        &self,
        calibration: &Calibration,
        knob: f64,
        trial: &Self,
        numbers: &[Quantities],
    ) -> Result<f64, RunError> {
        let values = trial.values(&calibration.expression, numbers, None).map_err(|why| {
            let (id, value) = (&calibration.id, calibration.value(knob));
            let text = format!("{}: calibrate.{id}: at {value}: {why}", self.place);
            RunError::from(ConfigError::new(text))
        })?;
        Ok(values.iter().sum::<f64>() / values.len() as f64)
    }

    /// This experiment read again, asked for in another way.
    fn again(&self, asked: Asked) -> Result<Self, ConfigError> {
        Self::load(Source { file: self.place.clone(), text: self.text.clone() }, asked)
    }
}

/// How many of the first calibrations are solved together: those whose quantities look at no run
/// that another of them sets or observes.
pub(super) fn together(calibrations: &[Calibration]) -> usize {
    let touches = |a: &Calibration, b: &Calibration| {
        a.looks_at.iter().any(|run| b.runs.contains(run) || b.looks_at.contains(run))
    };
    let first = (1..calibrations.len()).find(|&next| {
        let new = &calibrations[next];
        calibrations[..next].iter().any(|old| touches(new, old) || touches(old, new))
    });
    first.unwrap_or(calibrations.len())
}

impl<'a> Open<'a> {
    fn new(calibration: &'a Calibration) -> Self {
        let [low, high] = calibration.between;
        Self { calibration, search: Search::new(calibration.to, low, high), trials: 0 }
    }

    /// The knob of the next trial, if there is one.
    fn next(&mut self) -> Option<f64> {
        if self.trials == TRIALS_MAX + 2 {
            return None;
        }
        let knob = self.search.next(self.calibration.within)?;
        self.trials += 1;
        Some(knob)
    }

    fn solved(&self) -> Solved {
        let calibration = self.calibration;
        let (knob, measured) = self.search.nearest();
        Solved {
            id: calibration.id.clone(),
            knob: calibration.knob.clone(),
            value: calibration.value(knob),
            quantity: calibration.quantity.clone(),
            to: calibration.to,
            measured,
            is_met: is_near(measured, calibration.to, calibration.within),
            trials: self.trials,
        }
    }
}

impl Calibration {
    fn value(&self, knob: f64) -> String {
        format!("{knob}{}", self.unit)
    }

    fn knobs(&self, value: &str) -> impl Iterator<Item = Knob> {
        self.runs.iter().map(move |run| Knob {
            calibration: self.id.clone(),
            run: run.clone(),
            key: self.knob.clone(),
            value: value.to_string(),
        })
    }
}

/// Bisection between two ends, over the logarithm.
struct Search {
    to: f64,
    low: (f64, Option<f64>),
    high: (f64, Option<f64>),
    nearest: Option<(f64, f64)>,
}

impl Search {
    fn new(to: f64, low: f64, high: f64) -> Self {
        let (low, high) = (four_digits(low), four_digits(high));
        Self { to, low: (low, None), high: (high, None), nearest: None }
    }

    /// The knob to try next; `None` when it is solved, or when no number is left between.
    fn next(&self, within: f64) -> Option<f64> {
        if self.nearest.is_some_and(|(_, measured)| is_near(measured, self.to, within)) {
            return None;
        }
        match (self.low, self.high) {
            ((low, None), _) => Some(low),
            (_, (high, None)) => Some(high),
            ((low, _), (high, _)) => {
                let middle = four_digits((low * high).sqrt());
                (middle > low && middle < high).then_some(middle)
            }
        }
    }

    fn learn(&mut self, knob: f64, measured: f64) {
        let is_nearer = |(_, old): (f64, f64)| (measured - self.to).abs() < (old - self.to).abs();
        if self.nearest.is_none_or(is_nearer) {
            self.nearest = Some((knob, measured));
        }
        match (self.low.1, self.high.1) {
            (None, _) => self.low.1 = Some(measured),
            (_, None) => self.high.1 = Some(measured),
            (Some(at_low), _) if (at_low < self.to) == (measured < self.to) => {
                self.low = (knob, Some(measured));
            }
            _ => self.high = (knob, Some(measured)),
        }
    }

    /// Why no value between the ends can do.
    fn hopeless(&self) -> Option<String> {
        let ((low, Some(at_low)), (high, Some(at_high))) = (self.low, self.high) else {
            return None;
        };
        let is_between = (at_low - self.to) * (at_high - self.to) <= 0.0;
        let why = || {
            format!(
                "the quantity is {at_low} at {low} and {at_high} at {high}; {} is not between",
                self.to
            )
        };
        (!is_between).then(why)
    }

    fn nearest(&self) -> (f64, f64) {
        self.nearest.expect("a search tries a value at least")
    }
}

fn is_near(measured: f64, to: f64, within: f64) -> bool {
    (measured - to).abs() <= within * to.abs()
}

/// The nearest number of four significant digits.
fn four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number that was printed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solve(to: f64, between: [f64; 2], of: impl Fn(f64) -> f64) -> (f64, f64, usize) {
        let mut search = Search::new(to, between[0], between[1]);
        let mut trials = 0;
        while let Some(knob) = search.next(0.01) {
            search.learn(knob, of(knob));
            trials += 1;
            assert!(search.hopeless().is_none() && trials < 40, "{knob}");
        }
        let (knob, measured) = search.nearest();
        (knob, measured, trials)
    }

    #[test]
    fn a_knob_is_found_whether_the_quantity_rises_or_falls_with_it() {
        for of in [|x: f64| x * x, |x: f64| 1e6 / x] {
            let to = of(321.0);
            let (knob, measured, trials) = solve(to, [1.0, 10_000.0], of);
            assert!((knob / 321.0 - 1.0).abs() < 0.011 && is_near(measured, to, 0.01), "{knob}");
            assert!(trials <= 12, "{trials}");
        }
        assert_eq!(solve(4.0, [2.0, 9.0], |x| x * x).2, 1, "an end that fits is taken");
    }

    #[test]
    fn a_target_that_no_value_reaches_is_told_with_both_ends() {
        let mut search = Search::new(50.0, 1.0, 4.0);
        search.learn(1.0, 3.0);
        search.learn(4.0, 12.0);
        let why = search.hopeless().unwrap();
        assert_eq!(why, "the quantity is 3 at 1 and 12 at 4; 50 is not between");
    }

    #[test]
    fn a_step_that_jumps_over_the_target_ends_with_the_nearest() {
        let of = |x: f64| if x < 7.0 { 1.0 } else { 3.0 };
        let (_, measured, trials) = solve(2.2, [1.0, 10.0], of);
        assert!(measured == 3.0 && trials > 8, "{measured} {trials}");
    }
}
