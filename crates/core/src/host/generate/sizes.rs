//! How large a request is, and where a request of that size may lie.

use super::alias::AliasTable;
use super::error::{GenerateError, Job};
use crate::sim::Rng;
use crate::units::{Bytes, SECTOR};

/// The sectors that a job may touch: `start` to `end`, the end not included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Range {
    /// The job's range: what `offset` and `size` say, as far as the device reaches.
    pub(super) fn new(job: Job) -> Result<Self, GenerateError> {
        let (offset, size) = (job.spec.offset, job.spec.size);
        let start = whole_sectors(job, "offset", offset)?;
        let length = whole_sectors(job, "size", size)?;
        if start >= job.capacity {
            let device = Bytes::new(job.capacity.saturating_mul(SECTOR));
            return Err(job.error(
                "offset",
                offset,
                format!("below the capacity of the device, {device}"),
            ));
        }
        let room = job.capacity - start;
        let whole = if length == 0 { room } else { length.min(room) };
        match u64::from(job.spec.files) {
            0 => Err(job.error("files", 0, "at least 1")),
            1 => Ok(Self { start, end: start + whole }),
            // The first of them: whole pages of 4 KiB, of which all begin as it does.
            files => Ok(Self { start, end: start + (whole / files) / 8 * 8 }),
        }
    }
}

/// One request size and the slots for it: it may lie at sector `step * slot` for `slots` slots from
/// `first` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub(super) sectors: u32,
    pub(super) step: u64,
    pub(super) first: u64,
    pub(super) slots: u64,
}

impl Fit {
    pub(super) fn new(
        job: Job,
        key: &'static str,
        size: Bytes,
        range: Range,
    ) -> Result<Self, GenerateError> {
        let whole = whole_sectors(job, key, size)?;
        let sectors =
            u32::try_from(whole).ok().filter(|&sectors| sectors > 0).ok_or_else(|| {
                let most = Bytes::new(u64::from(u32::MAX) * SECTOR);
                job.error(key, size, format!("at least {SECTOR}B and at most {most}"))
            })?;
        let align = whole_sectors(job, "align", job.spec.align)?;
        let step = if align == 0 { whole } else { align };
        let first = range.start.div_ceil(step);
        // Slots that begin in the range and do not end beyond it.
        let beyond = range.end.checked_sub(whole).map_or(0, |last| last / step + 1);
        match beyond.checked_sub(first) {
            Some(slots) if slots > 0 => Ok(Self { sectors, step, first, slots }),
            _ => {
                let (start, end) = (
                    Bytes::new(range.start * SECTOR),
                    Bytes::new(range.end.saturating_mul(SECTOR)),
                );
                let multiple = Bytes::new(step.saturating_mul(SECTOR));
                let allowed = format!(
                    "small enough to fit, at a multiple of {multiple}, between {start} and {end} \
                     (the job's range)"
                );
                Err(job.error(key, size, allowed))
            }
        }
    }
}

/// The sizes of reads and of writes.
///
/// One draw is made for each request, whatever it does, so that the read mix does not change the
/// sizes that follow.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    reads: Mix,
    writes: Mix,
    rng: Rng,
}

impl Sizes {
    pub(super) fn new(job: Job, range: Range, rng: Rng) -> Result<Self, GenerateError> {
        let reads = Mix::new(job, "block_sizes", &job.spec.block_sizes, range)?;
        let writes = if job.spec.write_block_sizes.is_empty() {
            reads.clone()
        } else {
            Mix::new(job, "write_block_sizes", &job.spec.write_block_sizes, range)?
        };
        Ok(Self { reads, writes, rng })
    }

    /// The size of the next request.
    ///
    /// `is_large`: one above the mean size, or one that is not; `None`: any.
    #[inline]
    pub(super) fn draw(&mut self, is_read: bool, is_large: Option<bool>) -> Fit {
        let mix = if is_read { &self.reads } else { &self.writes };
        if let Some(is_large) = is_large {
            return mix.draw_part(is_large, self.rng.next_u64());
        }
        // One size of each needs no draw; the answer does not depend on the read mix.
        let random = if self.are_one() { 0 } else { self.rng.next_u64() };
        mix.fits[mix.table.pick(random)]
    }

    /// True when reads have one size, and writes too.
    pub(super) fn are_one(&self) -> bool {
        self.reads.fits.len().max(self.writes.fits.len()) == 1
    }

    /// The only size of reads, or of writes.
    #[inline]
    pub(super) fn only(&self, is_read: bool) -> Fit {
        if is_read { self.reads.first } else { self.writes.first }
    }

    /// The smallest size that is ever drawn: its slots are the granules of `zipf` and `tiers`.
    pub(super) fn smallest(&self) -> Fit {
        let fits = self.reads.fits.iter().chain(&self.writes.fits);
        *fits.min_by_key(|fit| fit.sectors).expect("a mix holds at least one size")
    }
}

/// Sizes and their weights.
#[derive(Clone, Debug)]
struct Mix {
    table: AliasTable,
    fits: Box<[Fit]>,
    first: Fit,
    /// Those up to the mean size, and those above it; where there are none, all.
    parts: [AliasTable; 2],
}

impl Mix {
    fn new(
        job: Job,
        key: &'static str,
        sizes: &[(Bytes, f64)],
        range: Range,
    ) -> Result<Self, GenerateError> {
        if let Some((size, weight)) =
            sizes.iter().find(|(_, weight)| !(*weight >= 0.0 && weight.is_finite()))
        {
            return Err(job.error(
                key,
                format!("[{size}, {weight}]"),
                "sizes with finite weights that are not negative",
            ));
        }
        let total: f64 = sizes.iter().map(|(_, weight)| weight).sum();
        if !(total > 0.0 && total.is_finite()) {
            let shown: Vec<_> =
                sizes.iter().map(|(size, weight)| format!("[{size}, {weight}]")).collect();
            let allowed = "sizes whose weights have a finite sum above 0";
            return Err(job.error(key, format!("[{}]", shown.join(", ")), allowed));
        }
        // A weight of 0 takes its size out, so that it is not the smallest one either.
        let drawn = sizes.iter().filter(|(_, weight)| *weight > 0.0);
        let fits = drawn
            .clone()
            .map(|&(size, _)| Fit::new(job, key, size, range))
            .collect::<Result<_, _>>()?;
        let weights: Vec<f64> = drawn.clone().map(|(_, weight)| *weight).collect();
        let mean = drawn.clone().map(|(size, weight)| size.get() as f64 * weight).sum::<f64>()
            / weights.iter().sum::<f64>();
        let parts = [false, true].map(|is_large| {
            let part = drawn.clone().map(|(size, weight)| {
                if (size.get() as f64 > mean) == is_large { *weight } else { 0.0 }
            });
            let part: Vec<f64> = part.collect();
            AliasTable::new(if part.iter().any(|weight| *weight > 0.0) { &part } else { &weights })
        });
        let fits: Box<[Fit]> = fits;
        let first = fits[0];
        Ok(Self { table: AliasTable::new(&weights), fits, first, parts })
    }

    /// A size of one part.
    fn draw_part(&self, is_large: bool, random: u64) -> Fit {
        self.fits[self.parts[usize::from(is_large)].pick(random)]
    }
}

/// `bytes` in sectors, if they are whole ones.
pub(super) fn whole_sectors(
    job: Job,
    key: &'static str,
    bytes: Bytes,
) -> Result<u64, GenerateError> {
    if !bytes.get().is_multiple_of(SECTOR) {
        return Err(job.error(key, bytes, format!("a multiple of {SECTOR}B")));
    }
    Ok(bytes.get() / SECTOR)
}
