//! The ends of ranges, walked to: beyond its range a parameter is moved, the others give way, and
//! where that explains the runs as well, the range goes on.
//!
//! Slopes at one point tell of ranges as if every law were a straight line and no bound were near.
//! The map's look-up and the thread's work for a page do the same to large reads: where the fit put
//! all of it into one of them, slopes alone left the truth outside the ranges of both.

use super::Stage;
use super::TwinError;
use super::reads::Fit;
use super::structures::Ranked;

/// Steps beyond the end of a range at most, and how much farther each goes than the one before.
const STEPS: usize = 6;
const FARTHER: f64 = 1.5;
/// A first step is no shorter than this, of the whole way between the bounds.
const SHORTEST: f64 = 0.02;
/// Points for each step: the second begins with the errors of the first.
const TRIES: usize = 2;

impl Fit<'_> {
    /// Walks along each parameter both ways, from where `of` ended, up to a cost of `most`. The
    /// points are among those that were seen.
    pub(super) fn walk(&mut self, of: &Ranked, most: f64, all: &[usize]) -> Result<(), TwinError> {
        let Some(slopes) = &of.ended.slopes else { return Ok(()) };
        let start = Step::new(of.ended.point.clone(), self, of, all)?;
        for (number, range) in of.ended.ranges.iter().enumerate() {
            let x = start.point[number];
            for (way, sign) in [(x - range.low, -1.0), (range.high - x, 1.0)] {
                let (mut here, mut way) = (start.clone(), way.max(SHORTEST));
                for _ in 0..STEPS {
                    let to = (x + sign * way).clamp(0.0, 1.0);
                    here = self.step(of, here, most, all, &|here| {
                        slopes.beside(&here.point, &here.errors, number, to)
                    })?;
                    if here.cost > most || to <= 0.0 || to >= 1.0 || self.stopped() {
                        break;
                    }
                    way *= FARTHER;
                }
            }
        }
        Ok(())
    }

    /// The next point of a walk: the first that explains the runs as well, or the last try.
    fn step(
        &mut self,
        of: &Ranked,
        mut here: Step,
        most: f64,
        all: &[usize],
        next: &dyn Fn(&Step) -> Vec<f64>,
    ) -> Result<Step, TwinError> {
        for _ in 0..TRIES {
            here = Step::new(next(&here), self, of, all)?;
            if here.cost <= most {
                break;
            }
        }
        Ok(here)
    }
}

/// A point of a walk.
#[derive(Clone)]
pub(super) struct Step {
    pub(super) point: Vec<f64>,
    pub(super) errors: Vec<f64>,
    pub(super) cost: f64,
}

impl Step {
    pub(super) fn new(
        point: Vec<f64>,
        fit: &mut Fit<'_>,
        of: &Ranked,
        all: &[usize],
    ) -> Result<Self, TwinError> {
        let requests = fit.settings.requests;
        let figures = fit.simulated(Stage::Doubt, of.structure, &point, all, requests)?;
        let (errors, cost) = (fit.logarithms(all, &figures), fit.mean(all, &figures));
        Ok(Self { point, errors, cost })
    }
}
