//! Where a request lies: random, shuffled, sequential, Zipf or tiers of hot and cold, and how far
//! requests run on from there.
//!
//! `zipf`, `shuffle` and `tiers` choose a granule: a slot of the smallest block size (so of
//! `align`, or else of that size itself), or a block of `tier_block`. A larger request takes the
//! slot of its own that holds the granule's start, or the nearest one inside the range; a smaller
//! one lies anywhere in the block.

use super::error::{GenerateError, Job};
use super::scatter::Scatter;
use super::sizes::{Fit, Range, whole_sectors};
use super::stream;
use super::tiers::Tiers;
use super::zipf::Zipf;
use crate::host::Pattern;
use crate::sim::Rng;
use crate::units::Lba;

/// The addresses of a job's requests.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    chooser: Chooser,
    rng: Rng,
    run: Run,
}

/// So many sectors that went beyond the ends of runs are kept in mind.
const BEYOND_MAX: i64 = 1 << 40;

/// Requests that follow one another from where the pattern put the first.
///
/// The part of a run's last request beyond its end is taken from the next run: so runs have their
/// length on average, also where it is no multiple of the requests, as with runs of 1.2 requests.
#[derive(Clone, Debug)]
struct Run {
    /// Sectors of a run; 0 for none.
    sectors: i64,
    /// The rest of the present one, and where it goes on.
    left: i64,
    next: u64,
}

impl Run {
    /// The next request's first sector, if the run goes on and has room for it.
    #[inline]
    fn follow(&mut self, fit: Fit) -> Option<u64> {
        if self.left <= 0 {
            return None;
        }
        let slot = div_ceil(self.next, fit.step);
        let lba = (slot < fit.first + fit.slots).then_some(slot * fit.step)?;
        self.left -= i64::from(fit.sectors);
        self.next = lba + u64::from(fit.sectors);
        Some(lba)
    }

    /// A run starts with the request of size `fit` at `lba`.
    #[inline]
    fn start(&mut self, lba: u64, fit: Fit) {
        // Neither what a run had left at the end of the range counts, nor do runs shorter than a
        // request pile up.
        let beyond = self.left.clamp(-BEYOND_MAX, 0);
        self.left = self.sectors + beyond - i64::from(fit.sectors);
        self.next = lba + u64::from(fit.sectors);
    }
}

#[derive(Clone, Debug)]
enum Chooser {
    Random,
    Sequential {
        range: Range,
        next: u64,
    },
    Shuffle {
        granule: Fit,
        order: Scatter,
        visited: u64,
    },
    Zipf {
        granule: Fit,
        scatter: Scatter,
        zipf: Zipf,
    },
    Tiers(Tiers),
    /// Several files, or devices, of so many sectors each, in turn.
    Files {
        each: Vec<Addresses>,
        turn: usize,
        sectors: u64,
    },
}

impl Addresses {
    /// The addresses of `job`, whose files, if there are several, begin with `first`; `granule` is
    /// its smallest request.
    pub(super) fn new(
        job: Job,
        first: Range,
        granule: Fit,
        root: u64,
    ) -> Result<Self, GenerateError> {
        if job.spec.files == 1 {
            return Self::of_file(job, first, granule, root, "");
        }
        let file = |number| Self::of_file(job, first, granule, root, &format!("/{number}"));
        let each = (0..job.spec.files).map(file).collect::<Result<_, _>>()?;
        let chooser = Chooser::Files { each, turn: 0, sectors: first.end - first.start };
        let run = Run { sectors: 0, left: 0, next: 0 };
        Ok(Self { chooser, rng: stream(root, job, "address"), run })
    }

    /// The addresses in one file, `range`; its random streams end in `file`.
    fn of_file(
        job: Job,
        range: Range,
        granule: Fit,
        root: u64,
        file: &str,
    ) -> Result<Self, GenerateError> {
        let own = |concern: &str| stream(root, job, &format!("{concern}{file}"));
        let scatter = || Scatter::new(granule.slots, &mut own("scatter"));
        let chooser = match job.spec.pattern {
            Pattern::Random => Chooser::Random,
            Pattern::Sequential => Chooser::Sequential { range, next: range.start },
            Pattern::Shuffle => Chooser::Shuffle { granule, order: scatter(), visited: 0 },
            Pattern::Zipf => {
                let theta = job.spec.zipf_theta;
                if !(theta > 0.0 && theta.is_finite()) {
                    return Err(job.error("zipf_theta", theta, "a finite number above 0"));
                }
                Chooser::Zipf { granule, scatter: scatter(), zipf: Zipf::new(granule.slots, theta) }
            }
            Pattern::Tiers => Chooser::Tiers(Tiers::new(job, range, granule, root)?),
        };
        // Below 2^55 sectors, as bytes are 64 bits.
        let sectors = whole_sectors(job, "run", job.spec.run)? as i64;
        let run = Run { sectors, left: 0, next: 0 };
        Ok(Self { chooser, rng: own("address"), run })
    }

    /// The first sector of the next request, which is of size `fit`.
    #[inline]
    pub(super) fn draw(&mut self, fit: Fit, is_read: bool) -> Lba {
        if self.run.sectors == 0 {
            return Lba(self.choose(fit, is_read));
        }
        let lba = self.run.follow(fit).unwrap_or_else(|| {
            let lba = self.choose(fit, is_read);
            self.run.start(lba, fit);
            lba
        });
        Lba(lba)
    }

    /// True when every address is drawn for itself, from all.
    pub(super) fn are_random(&self) -> bool {
        self.run.sectors == 0 && matches!(self.chooser, Chooser::Random)
    }

    /// [`Addresses::draw`] where they are random.
    #[inline]
    pub(super) fn draw_random(&mut self, fit: Fit) -> Lba {
        debug_assert!(self.are_random());
        Lba((fit.first + self.rng.below(fit.slots)) * fit.step)
    }

    /// The tier of the last request; a run keeps that of its start.
    #[inline]
    pub(super) fn tier(&self) -> u8 {
        match &self.chooser {
            Chooser::Tiers(tiers) => tiers.drawn(),
            // That of the file whose turn it was.
            Chooser::Files { each, turn, .. } => each[(turn + each.len() - 1) % each.len()].tier(),
            _ => 0,
        }
    }

    /// Where the pattern puts a request.
    #[inline]
    fn choose(&mut self, fit: Fit, is_read: bool) -> u64 {
        let rng = &mut self.rng;
        match &mut self.chooser {
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
            Chooser::Shuffle { granule, order, visited } => {
                if *visited == granule.slots {
                    // The next pass has an order of its own.
                    (*order, *visited) = (Scatter::new(granule.slots, rng), 0);
                }
                *visited += 1;
                holding(*granule, order.place(*visited - 1), 0, fit)
            }
            Chooser::Zipf { granule, scatter, zipf } => {
                holding(*granule, scatter.place(zipf.draw(rng)), 0, fit)
            }
            Chooser::Tiers(tiers) => tiers.draw(rng, fit, is_read),
            Chooser::Files { each, turn, sectors } => {
                let file = *turn;
                *turn = (file + 1) % each.len();
                each[file].draw(fit, is_read).0 + file as u64 * *sectors
            }
        }
    }
}

/// The first sector of the request of size `fit` that holds the sector `inside` the granule
/// `index`, or is the nearest in the range.
#[inline]
pub(super) fn holding(granule: Fit, index: u64, inside: u64, fit: Fit) -> u64 {
    let slot = granule.first + index;
    // Without a division where granule and request share their slots (one size, or an alignment of
    // their own).
    let slot =
        if granule.step == fit.step { slot } else { div(slot * granule.step + inside, fit.step) };
    slot.clamp(fit.first, fit.first + fit.slots - 1) * fit.step
}

/// `a / b`, by a shift where `b` is a power of two: a 64-bit division costs as much as the rest of
/// a request.
#[inline]
fn div(a: u64, b: u64) -> u64 {
    if b.is_power_of_two() { a >> b.trailing_zeros() } else { a / b }
}

/// `a / b` rounded up; `a` is a sector of the device, so adding does not overflow.
#[inline]
fn div_ceil(a: u64, b: u64) -> u64 {
    div(a + (b - 1), b)
}
