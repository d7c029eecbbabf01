//! Writes that come back: each goes to an extent that was written before, as deep in the order of
//! last writes as the trace's do, to the one that followed it the last time, or to the oldest.
//!
//! The LRU stack model (Mattson et al. 1970; Spirn 1976) with one addition: a write that goes on
//! where the one before it went keeps together in time what was written together. Garbage
//! collection feels both: the age at which pages die, and whether neighbours die together.

use super::alias::AliasTable;
use super::error::{GenerateError, Job};
use super::sizes::{Fit, Range};
use super::stream;
use crate::host::RewritesSpec;
use crate::host::stack::Stack;
use crate::sim::Rng;

/// Where a write was and how large; 0 sectors: of the request that comes to it first.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    lba: u64,
    sectors: u32,
}

/// Target of a write.
#[derive(Clone, Copy, Debug)]
enum Step {
    Oldest,
    Next,
    Jump,
}

/// The writes of a job with `rewrites`.
#[derive(Clone, Debug)]
pub(super) struct Rewrites {
    stack: Stack<Extent>,
    /// Steps that follow each, in the order of `Step`.
    after: [AliasTable; 3],
    last: Step,
    /// Position of the extent that the last write took.
    at: usize,
    depths: AliasTable,
    /// Depth bands: the deepest of each.
    deepest: Box<[u64]>,
    end: u64,
    rng: Rng,
}

impl Rewrites {
    /// The extents of `job` in `range`; `granule` is its smallest request.
    pub(super) fn new(
        job: Job,
        spec: &RewritesSpec,
        range: Range,
        granule: Fit,
        root: u64,
    ) -> Result<Self, GenerateError> {
        let mut rng = stream(root, job, "rewrites");
        let extents = spec.extents as usize;
        if extents == 0 || spec.depths.is_empty() {
            let allowed = "at least one extent, and a depth";
            return Err(job.error("rewrites", format!("{extents} extents"), allowed));
        }
        let mut stack = Stack::new(extents);
        let span = ((range.end - range.start) as f64 * spec.span / 100.0) as u64;
        let first = range.end - span.max(1);
        let place = |tile: u64| {
            let lba = first + (span as f64 * tile as f64 / extents as f64) as u64;
            (lba / granule.step * granule.step)
                .max(range.start.div_ceil(granule.step) * granule.step)
        };
        // Neighbours that were written one after the other, then these runs in any order.
        let goes_on = super::Chance::new(spec.sequential);
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for tile in 0..extents as u64 {
            match runs.last_mut() {
                Some((_, length)) if goes_on.holds(rng.next_u64()) => *length += 1,
                _ => runs.push((tile, 1)),
            }
        }
        for last in (1..runs.len()).rev() {
            runs.swap(last, rng.below(last as u64 + 1) as usize);
        }
        for (tile, length) in runs {
            for tile in tile..tile + length {
                stack.push(Extent { lba: place(tile), sectors: 0 });
            }
        }
        let weights: Vec<f64> = spec.depths.iter().map(|depth| depth.1).collect();
        Ok(Self {
            stack,
            after: spec.after.map(|shares| AliasTable::new(&shares)),
            last: Step::Oldest,
            at: 0,
            depths: AliasTable::new(&weights),
            deepest: spec.depths.iter().map(|depth| u64::from(depth.0)).collect(),
            end: range.end,
            rng,
        })
    }

    /// First sector and length of the next write; `fit` is a size for one that brings its own.
    pub(super) fn draw(&mut self, fit: Fit) -> (u64, u32) {
        let step = match self.after[self.last as usize].pick(self.rng.next_u64()) {
            0 => Step::Oldest,
            1 => Step::Next,
            _ => Step::Jump,
        };
        let newest = self.stack.len() - 1;
        let older = match step {
            Step::Oldest => 0,
            Step::Next => self.stack.older(self.at).min(newest),
            Step::Jump => newest - (self.depth() - 1).min(newest),
        };
        let position = self.stack.position(older);
        let Extent { lba, sectors } = self.stack.remove(position);
        let is_kept = sectors > 0 && !matches!(step, Step::Oldest);
        let sectors = if is_kept { sectors } else { fit.sectors };
        // The last slot where so much still fits.
        let most = self.end.saturating_sub(u64::from(sectors)) / fit.step * fit.step;
        let lba = lba.min(most);
        (self.last, self.at) = (step, position);
        if self.stack.is_full() {
            self.at = self.stack.compact(self.at);
        }
        self.stack.push(Extent { lba, sectors });
        (lba, sectors)
    }

    /// A depth, 1 being the last extent that was written: even within its band.
    fn depth(&mut self) -> usize {
        let band = self.depths.pick(self.rng.next_u64());
        let above = if band == 0 { 0 } else { self.deepest[band - 1] };
        (above + 1 + self.rng.below((self.deepest[band] - above).max(1))) as usize
    }
}
