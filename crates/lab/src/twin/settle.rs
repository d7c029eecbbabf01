//! The value of a limit that the data leave open: the middle of those that do as well.
//!
//! A limit that binds in no fitted run (a thread's time for a request or for a page, a link, a
//! look-up) is known from one side. The search leaves it near where it began, which is near the
//! most that the measured rates allow: there it binds as soon as more is asked for than was
//! measured, so a prediction was up to twice too slow. Where anything between two values does as
//! well, the middle is off by half of that at most.

use super::TwinError;
use super::doubt::{Doubt, most};
use super::reads::Fit;
use super::ridge::Step;
use super::structures::Ranked;

/// Parts of the way to the middle: the first that does as well is taken.
pub(super) const PARTS: [f64; 3] = [1.0, 0.5, 0.25];
/// Moves of one limit at most: the others follow a step at a time.
const ROUNDS: usize = 3;

impl Fit<'_> {
    /// The point at which limits that are undetermined lie in their middle, as far as that explains
    /// the runs as well as `best`, one after the other.
    pub(super) fn settle(
        &mut self,
        best: &Ranked,
        doubt: &Doubt,
        all: &[usize],
    ) -> Result<Vec<f64>, TwinError> {
        let seen = self.seen.len();
        let mut here = Step::new(best.ended.point.clone(), self, best, all)?;
        let limit = most(here.cost, self.figures_of(all));
        for (number, range) in doubt.ranges.iter().enumerate() {
            let is_open = range.is_flat() && self.space.parameters[number].place.is_limit();
            if !is_open {
                continue;
            }
            let middle = range.middle();
            for _ in 0..ROUNDS {
                let Some(next) = self.nearer(best, &here, (number, middle), limit, all)? else {
                    break;
                };
                here = next;
                if here.point[number] == middle {
                    break;
                }
            }
        }
        // A fit without one run begins at a point that was seen: none that this run has settled.
        self.seen.truncate(seen);
        Ok(here.point)
    }

    /// The first part of the way to the middle that does as well, if one does.
    fn nearer(
        &mut self,
        best: &Ranked,
        here: &Step,
        (number, middle): (usize, f64),
        limit: f64,
        all: &[usize],
    ) -> Result<Option<Step>, TwinError> {
        let from = here.point[number];
        for part in PARTS {
            if self.stopped() {
                break;
            }
            let to = if part == 1.0 { middle } else { from + (middle - from) * part };
            let next = self.moved(best, here, (number, to), limit, all)?;
            if next.cost <= limit {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }

    /// One parameter moves alone, or, where that explains less, while the others give way.
    fn moved(
        &mut self,
        best: &Ranked,
        here: &Step,
        (number, to): (usize, f64),
        limit: f64,
        all: &[usize],
    ) -> Result<Step, TwinError> {
        let mut alone = here.point.clone();
        alone[number] = to;
        let alone = Step::new(alone, self, best, all)?;
        let Some(slopes) = best.ended.slopes.as_ref().filter(|_| alone.cost > limit) else {
            return Ok(alone);
        };
        let beside = slopes.beside(&alone.point, &alone.errors, number, to);
        Step::new(beside, self, best, all)
    }
}
