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
        for (number, range) in of.ended.ranges.iter().enumerate() {
            for end in [range.low, range.high] {
                self.walk_to(of, (number, end), most, all)?;
            }
        }
        Ok(())
    }

    /// Walks one way, beyond this end of a range.
    fn walk_to(
        &mut self,
        of: &Ranked,
        (number, end): (usize, f64),
        most: f64,
        all: &[usize],
    ) -> Result<(), TwinError> {
        let Some(slopes) = &of.ended.slopes else { return Ok(()) };
        let (mut here, stage) = (of.ended.point.clone(), Stage::Doubt);
        let (from, is_low) = (here[number], end <= here[number]);
        let requests = self.settings.requests;
        let figures = self.simulated(stage, of.structure, &here, all, requests)?;
        let mut errors = self.logarithms(all, &figures);
        let mut way = (end - from).abs().max(SHORTEST);
        for _ in 0..STEPS {
            let to = (if is_low { from - way } else { from + way }).clamp(0.0, 1.0);
            let mut is_as_good = false;
            for _ in 0..TRIES {
                here = slopes.beside(&here, &errors, number, to);
                let figures = self.simulated(stage, of.structure, &here, all, requests)?;
                errors = self.logarithms(all, &figures);
                is_as_good = self.mean(all, &figures) <= most;
                if is_as_good {
                    break;
                }
            }
            if !is_as_good || to <= 0.0 || to >= 1.0 || self.stopped() {
                break;
            }
            way *= FARTHER;
        }
        Ok(())
    }
}
