//! Wear levelling of a lane of log blocks.
//!
//! *Dynamic* (`ftl.free_block = "least-worn"`): of the free blocks the one with the fewest erases
//! is opened, of equals the one that was freed first. *Static* (`ftl.static_wear_gap`): once in
//! sixteen erases of the lane the least worn data block is looked for that holds all that its
//! logical block has. Where it lags behind the most worn block of the lane by more than the gap,
//! its pages are merged into the most worn free block when the host's write is over, as part of the
//! work that this write causes. A logical block of which the log holds a page is passed over: it is
//! merged anyway, and its log block may be half way to becoming its data block.
//!
//! The papers on BAST, FAST, FASTer and LAST have no levelling of their own; this is ours, after
//! the same rule as page mapping's (`ftl/wear.rs`).

use super::lane::LaneState;
use crate::flash::Block;
use crate::ftl::recovery::Role;
use crate::ftl::{FreeBlock, FtlSpec};

/// Erases of a lane between two looks at its blocks.
const LOOK_EVERY: u32 = 16;

/// Rules of a lane, and how many erases ago it looked at its blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Levelling {
    least_worn: bool,
    gap: u32,
    unlooked: u32,
    most: u32,
}

impl Levelling {
    pub fn new(ftl: &FtlSpec) -> Self {
        let least_worn = ftl.free_block == FreeBlock::LeastWorn;
        Self { least_worn, gap: ftl.static_wear_gap, ..Self::default() }
    }

    /// A scan found a block that was erased so often.
    pub fn found(&mut self, erases: u32) {
        self.most = self.most.max(erases);
    }

    /// A block was erased: so often by now.
    #[inline]
    pub fn erased(&mut self, erases: u32) {
        if self.gap > 0 {
            (self.unlooked, self.most) = (self.unlooked + 1, self.most.max(erases));
        }
    }
}

impl LaneState {
    /// Where the free block that is opened next is in the line of the free ones.
    #[inline]
    pub(super) fn next_free(&self) -> Option<usize> {
        let first = self.free.front()?;
        if !self.levelling.least_worn || self.erases()[first.0 as usize] == 0 {
            return Some(0);
        }
        let worn = |block: &Block| self.erases()[block.0 as usize];
        (0..self.free.len()).min_by_key(|at| worn(&self.free[*at]))
    }

    /// The write is over: a data block that lags behind begins to move, if there is one.
    #[inline]
    pub(super) fn levels(&mut self) -> bool {
        self.levelling.unlooked >= LOOK_EVERY && self.looks_for_cold_data()
    }

    #[inline(never)]
    fn looks_for_cold_data(&mut self) -> bool {
        self.levelling.unlooked = 0;
        let worn = |block: Block| self.erases()[block.0 as usize];
        let is_whole =
            |lbn: &u32| self.data_block(*lbn).is_some_and(|block| self.holds_all_of(*lbn, block));
        let logical = 0..self.logical_blocks();
        let least = logical
            .filter_map(|lbn| self.data_block(lbn).map(|block| (worn(block), lbn)))
            .filter(|(erases, _)| self.levelling.most.saturating_sub(*erases) > self.levelling.gap)
            .filter(|(_, lbn)| is_whole(lbn))
            .min();
        let Some((_, lbn)) = least else { return false };
        let most = (0..self.free.len()).max_by_key(|at| (worn(self.free[*at]), usize::MAX - at));
        let Some(into) = most.and_then(|at| self.free.remove(at)) else { return false };
        self.counters.levelled_blocks += 1;
        let into = self.opened(into, Role::Data);
        self.move_data_block(lbn, into);
        true
    }
}
