//! Where a request lies: random, sequential, Zipf or hot and cold.
//!
//! `zipf` and `hot-cold` choose a granule: a slot of the smallest block size (so of `align`, or else of that size
//! itself). A larger request takes the slot of its own that holds the granule's start, or the nearest one inside the
//! range.

use super::error::{GenerateError, Job};
use super::scatter::Scatter;
use super::sizes::{Fit, Range};
use super::zipf::Zipf;
use super::{Chance, stream};
use crate::host::Pattern;
use crate::sim::Rng;
use crate::units::Lba;

/// The addresses of a job's requests.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    chooser: Chooser,
    rng: Rng,
}

#[derive(Clone, Debug)]
enum Chooser {
    Random,
    Sequential { range: Range, next: u64 },
    Zipf { granule: Fit, scatter: Scatter, zipf: Zipf },
    HotCold { granule: Fit, scatter: Scatter, hot: u64, to_hot: Chance },
}

impl Addresses {
    /// The addresses of `job` in `range`; `granule` is its smallest request.
    pub(super) fn new(job: Job, range: Range, granule: Fit, root: u64) -> Result<Self, GenerateError> {
        let scatter = || Scatter::new(granule.slots, &mut stream(root, job.index, "scatter"));
        let chooser = match job.spec.pattern {
            Pattern::Random => Chooser::Random,
            Pattern::Sequential => Chooser::Sequential { range, next: range.start },
            Pattern::Zipf => {
                let theta = job.spec.zipf_theta;
                if !(theta > 0.0 && theta.is_finite()) {
                    return Err(job.error("zipf_theta", theta, "a finite number above 0"));
                }
                Chooser::Zipf { granule, scatter: scatter(), zipf: Zipf::new(granule.slots, theta) }
            }
            Pattern::HotCold => {
                let to_hot = Chance::new(job.percent("hot_requests_percent", job.spec.hot_requests_percent)?);
                Chooser::HotCold { granule, scatter: scatter(), hot: hot_granules(job, granule.slots)?, to_hot }
            }
        };
        Ok(Self { chooser, rng: stream(root, job.index, "address") })
    }

    /// The first sector of the next request, which is of size `fit`.
    #[inline]
    pub(super) fn draw(&mut self, fit: Fit) -> Lba {
        let rng = &mut self.rng;
        Lba(match &mut self.chooser {
            Chooser::Random => (fit.first + rng.below(fit.slots)) * fit.step,
            Chooser::Sequential { range, next } => {
                // Past the last slot, also by the rounding up, it goes on with the first one.
                let slot = div_ceil(*next, fit.step);
                let slot = if slot >= fit.first + fit.slots { fit.first } else { slot };
                let lba = slot * fit.step;
                *next = lba + u64::from(fit.sectors);
                debug_assert!(lba >= range.start && *next <= range.end);
                lba
            }
            Chooser::Zipf { granule, scatter, zipf } => holding(*granule, scatter.place(zipf.draw(rng)), fit),
            Chooser::HotCold { granule, scatter, hot, to_hot } => {
                let index =
                    if to_hot.holds(rng.next_u64()) { rng.below(*hot) } else { *hot + rng.below(granule.slots - *hot) };
                holding(*granule, scatter.place(index), fit)
            }
        })
    }
}

/// The number of hot granules: at least one, and at least one of the others.
fn hot_granules(job: Job, granules: u64) -> Result<u64, GenerateError> {
    let percent = job.percent("hot_space_percent", job.spec.hot_space_percent)?;
    let hot = (granules as f64 * (percent / 100.0) + 0.5).floor() as u64;
    if hot == 0 || hot >= granules {
        let allowed = format!("a percentage that leaves a hot and a cold one of the range's {granules} blocks");
        return Err(job.error("hot_space_percent", percent, allowed));
    }
    Ok(hot)
}

/// The first sector of the request of size `fit` that holds the start of the granule `index`, or is the nearest in
/// the range.
#[inline]
fn holding(granule: Fit, index: u64, fit: Fit) -> u64 {
    let slot = granule.first + index;
    // Without a division where granule and request share their slots (one size, or an alignment of their own).
    let slot = if granule.step == fit.step { slot } else { div(slot * granule.step, fit.step) };
    slot.clamp(fit.first, fit.first + fit.slots - 1) * fit.step
}

/// `a / b`, by a shift where `b` is a power of two: a 64-bit division costs as much as the rest of a request.
#[inline]
fn div(a: u64, b: u64) -> u64 {
    if b.is_power_of_two() { a >> b.trailing_zeros() } else { a / b }
}

/// `a / b` rounded up; `a` is a sector of the device, so adding does not overflow.
#[inline]
fn div_ceil(a: u64, b: u64) -> u64 {
    div(a + (b - 1), b)
}
