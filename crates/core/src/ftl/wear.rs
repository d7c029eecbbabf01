//! Wear: how often blocks were erased, how evenly, and what is done to even it out.
//!
//! *Dynamic* wear levelling opens the least worn of the free blocks (`ftl.free_block =
//! "least-worn"`, in `pool`). It does nothing for blocks under data that nobody writes. *Static*
//! wear levelling (`ftl.static_wear_gap`) moves that: when the least worn candidate of a pool lags
//! behind the pool's most worn block by more than the gap, it is the next victim, whatever the
//! victim policy would say.

use super::PageMap;
use crate::flash::Block;
use crate::units::Pool;

/// How unevenly the blocks are worn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wear {
    /// Erases of the least worn block.
    pub min: u32,
    /// Mean erases.
    pub mean: f64,
    /// Erases of the most worn block.
    pub max: u32,
    /// The standard deviation of erases over the blocks.
    pub deviation: f64,
}

impl PageMap {
    /// Looks, after an erase, whether a block lags so far behind in wear that its data should move.
    pub(super) fn level_wear(&mut self, pool: Pool, erases: u32) {
        let state = &mut self.pools[pool.index()];
        state.erases_max = state.erases_max.max(erases);
        state.erases_unlooked += 1;
        // The least worn candidate is looked for once in sixteen erases: a scan of the pool's
        // blocks.
        if self.static_wear_gap == 0 || state.erases_unlooked < 16 || state.wear_victim.is_some() {
            return;
        }
        state.erases_unlooked = 0;
        let (first, limit) = (self.layout.block(state.first_lane, 0), state.erases_max);
        let least = (0..self.layout.blocks)
            .filter(|index| {
                self.blocks.is_candidate(Block(first.0 + index)) && !self.is_static(*index)
            })
            .min_by_key(|index| (self.blocks.erases(Block(first.0 + index)), *index));
        if let Some(index) = least
            && limit - self.blocks.erases(Block(first.0 + index)) > self.static_wear_gap
        {
            self.pools[pool.index()].wear_victim = Some(index);
        }
    }

    /// The group block of `block` is the next victim of its pool, whatever the victim policy would
    /// say: how many of its pages are valid. `None`: it is no candidate, or another one comes
    /// first.
    pub fn choose_next(&mut self, block: Block) -> Option<u32> {
        let pool = self.pool_of(self.layout.lane_of(block));
        let index = self.layout.index_of(block);
        let first = self.layout.block(self.pools[pool.index()].first_lane, index);
        if self.pools[pool.index()].wear_victim.is_some() || !self.blocks.is_candidate(first) {
            return None;
        }
        self.pools[pool.index()].wear_victim = Some(index);
        Some(self.group(pool, index).map(|block| self.blocks.valid(block)).sum())
    }

    /// How unevenly the blocks are worn.
    pub fn wear(&self) -> Wear {
        let erases = self.blocks.all_erases();
        let sum = |of: fn(u64) -> u64| erases.iter().map(|e| of(u64::from(*e))).sum::<u64>() as f64;
        let blocks = erases.len().max(1) as f64;
        let mean = sum(|e| e) / blocks;
        Wear {
            min: self.least_erases(),
            mean,
            max: erases.iter().copied().max().unwrap_or(0),
            deviation: (sum(|e| e * e) / blocks - mean * mean).max(0.0).sqrt(),
        }
    }

    /// Erases of every block since the device was new.
    pub fn block_erases(&self) -> &[u32] {
        self.blocks.all_erases()
    }
}
