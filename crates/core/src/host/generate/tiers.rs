//! Parts of the space of which different shares of the requests are asked: hot and cold; hot, warm
//! and cold.
//!
//! Granules are ranked; the first tier is the first so many ranks, the next one those after it, and
//! what no tier names comes last. The ranks are scattered over the range by a bijection that reads
//! and writes share: a page that is hot to writes is hot to reads as well, as far as both have hot
//! ones.

use super::address::holding;
use super::error::{GenerateError, Job};
use super::scatter::Scatter;
use super::sizes::{Fit, Range, whole_sectors};
use super::{Chance, stream};
use crate::sim::Rng;

/// The tiers of reads and of writes over the same granules.
#[derive(Clone, Debug)]
pub(super) struct Tiers {
    granule: Fit,
    /// Places of the smallest request in a granule, each of so many sectors.
    places: u64,
    place: u64,
    scatter: Scatter,
    reads: Ranks,
    /// `None` where writes have the tiers of reads, and go on where those are in a cycle.
    writes: Option<Ranks>,
    /// The tier of the last request.
    drawn: u8,
}

impl Tiers {
    pub(super) fn new(
        job: Job,
        range: Range,
        smallest: Fit,
        root: u64,
    ) -> Result<Self, GenerateError> {
        let (granule, place) = granule(job, range, smallest)?;
        let reads = Ranks::new(job, "tiers", &job.spec.tiers, granule.slots)?;
        let own = !job.spec.write_tiers.is_empty();
        let writes = own
            .then(|| Ranks::new(job, "write_tiers", &job.spec.write_tiers, granule.slots))
            .transpose()?;
        let scatter = Scatter::new(granule.slots, &mut stream(root, job, "scatter"));
        Ok(Self { granule, places: granule.step / place, place, scatter, reads, writes, drawn: 0 })
    }

    /// The tier of the last request, by number.
    #[inline]
    pub(super) fn drawn(&self) -> u8 {
        self.drawn
    }

    /// The first sector of the next request, which is of size `fit`.
    #[inline]
    pub(super) fn draw(&mut self, rng: &mut Rng, fit: Fit, is_read: bool) -> u64 {
        let ranks =
            if is_read { &mut self.reads } else { self.writes.as_mut().unwrap_or(&mut self.reads) };
        let (rank, tier) = ranks.draw(rng);
        self.drawn = tier;
        // Nothing is drawn where there is but one place, as without a block of its own.
        let inside = if self.places > 1 { rng.below(self.places) * self.place } else { 0 };
        holding(self.granule, self.scatter.place(rank), inside, fit)
    }
}

/// The unit of tiers: slots of the smallest request, or blocks of `tier_block`; and the step of the
/// places in it.
fn granule(job: Job, range: Range, smallest: Fit) -> Result<(Fit, u64), GenerateError> {
    let block = whole_sectors(job, "tier_block", job.spec.tier_block)?;
    if block == 0 {
        return Ok((smallest, smallest.step));
    }
    if !block.is_multiple_of(smallest.step) || u32::try_from(block).is_err() {
        let step = smallest.step * crate::units::SECTOR;
        let allowed = format!("a multiple of {step} B, to which the smallest request is aligned");
        return Err(job.error("tier_block", job.spec.tier_block, allowed));
    }
    let first = range.start.div_ceil(block);
    match (range.end / block).checked_sub(first) {
        Some(slots) if slots > 0 => {
            Ok((Fit { sectors: block as u32, step: block, first, slots }, smallest.step))
        }
        _ => Err(job.error(
            "tier_block",
            job.spec.tier_block,
            "small enough to fit into the job's range",
        )),
    }
}

/// Tiers over ranks 0..n.
#[derive(Clone, Debug)]
struct Ranks {
    tiers: Box<[Tier]>,
    /// So many of the first tiers go round.
    cyclic: usize,
}

#[derive(Clone, Debug)]
struct Tier {
    /// Its ranks.
    first: u64,
    count: u64,
    /// It is taken if the draw is below this and not below that of an earlier one.
    below: Chance,
    /// Where a cycle goes on.
    next: u64,
}

impl Ranks {
    fn new(
        job: Job,
        key: &'static str,
        tiers: &[(f64, f64)],
        n: u64,
    ) -> Result<Self, GenerateError> {
        let shown = || {
            tiers
                .iter()
                .map(|(space, asked)| format!("[{space}, {asked}]"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let error = |allowed: String| job.error(key, format!("[{}]", shown()), allowed);
        let percents = tiers
            .iter()
            .all(|(space, asked)| (0.0..=100.0).contains(space) && (0.0..=100.0).contains(asked));
        if !percents {
            return Err(error("pairs of percentages: of the space, of the requests".to_string()));
        }
        let sum = |pick: fn(&(f64, f64)) -> f64| tiers.iter().map(pick).sum::<f64>();
        let (space, asked) = (sum(|tier| tier.0), sum(|tier| tier.1));
        // A millionth of a percent for the rounding of decimals.
        if space > 100.0 + 1e-6 || asked > 100.0 + 1e-6 {
            return Err(error("pairs of percentages, each with a sum of at most 100".to_string()));
        }
        let rest = (100.0 - space > 1e-6).then_some((100.0 - space, 100.0 - asked));
        if rest.is_none() && asked < 100.0 - 1e-6 {
            return Err(error(format!(
                "of 100 % of the requests ({asked} now), as no space is left for others"
            )));
        }
        let (mut all, mut first, mut space, mut asked) = (Vec::new(), 0, 0.0, 0.0);
        for (share, requests) in tiers.iter().copied().chain(rest) {
            (space, asked) = (space + share, asked + requests);
            let last = all.len() == tiers.len() || (rest.is_none() && all.len() + 1 == tiers.len());
            let end = if last { n } else { (n as f64 * (space / 100.0) + 0.5).floor() as u64 };
            // A share that rounds to nothing gets one, as long as there are any.
            let end = if share > 0.0 { end.max(first + 1) } else { end };
            if end <= first || end > n {
                return Err(error(format!(
                    "above 0 % of the space each, with one of the range's {n} blocks for each"
                )));
            }
            let below = if last { 100.0 } else { asked.min(100.0) };
            all.push(Tier { first, count: end - first, below: Chance::new(below), next: 0 });
            first = end;
        }
        Ok(Self { tiers: all.into(), cyclic: job.spec.cyclic_tiers as usize })
    }

    #[inline]
    fn draw(&mut self, rng: &mut Rng) -> (u64, u8) {
        let random = rng.next_u64();
        let last = self.tiers.len() - 1;
        let index =
            self.tiers[..last].iter().position(|tier| tier.below.holds(random)).unwrap_or(last);
        let tier = &mut self.tiers[index];
        if index < self.cyclic {
            let at = tier.next;
            tier.next = if at + 1 == tier.count { 0 } else { at + 1 };
            return (tier.first + at, index as u8);
        }
        (tier.first + rng.below(tier.count), index as u8)
    }
}
