//! The marks at which pools begin to collect, and at which they must; and whether they do now.

use super::PageMap;
use crate::ftl::GcSpec;
use crate::ftl::pool::{PoolState, Stream};
use crate::units::Pool;

impl PageMap {
    /// Takes the marks of `gc`; where GC is `paused`, the soft marks lie at the hard ones.
    pub fn set_marks(&mut self, gc: &GcSpec, paused: bool) {
        let (rows, lanes) = (f64::from(self.layout.rows), self.pools[0].lanes);
        let units = self.layout.units_per_lane() * lanes;
        let hard_rows = gc.last_block_hard.min(gc.last_block_soft);
        let mut soft_units = gc.soft.units(units);
        self.hard_units = gc.hard.units(units);
        self.soft_blocks = gc.soft.blocks().unwrap_or(0);
        self.hard_blocks = gc.hard.blocks().map_or(0, |blocks| blocks + 1);
        self.last_rows_soft = (gc.last_block_soft * rows) as u32;
        self.last_rows_hard = (hard_rows * rows) as u32;
        if paused {
            soft_units = self.hard_units + 1;
            self.soft_blocks = self.hard_blocks;
            self.last_rows_soft = self.last_rows_hard;
        }
        self.pools.iter_mut().for_each(|pool| pool.soft_units = soft_units);
    }

    /// True when the pool should reclaim: free space (with what only waits for its erase) below the
    /// soft mark, only the reserve left, wear to be levelled, or a cache to be folded.
    #[inline]
    pub fn wants_collection(&self, pool: Pool) -> bool {
        self.wants_space(pool) || self.pools[pool.index()].folds
    }

    /// [`PageMap::wants_collection`], but for what only folds a cache.
    #[inline]
    pub(super) fn wants_space(&self, pool: Pool) -> bool {
        let state = &self.pools[pool.index()];
        let low = || {
            state.free_units < state.soft_units
                && state.free_units + self.units_to_erase(pool) < state.soft_units
        };
        let lacks_blocks = || {
            let (free, to_erase) = (state.free.len() as u32, &self.collections[pool.index()]);
            let victims = || to_erase.victims_to_erase_of(|index| !self.is_static(index));
            free < self.soft_blocks && free + victims() < self.soft_blocks
        };
        low()
            || lacks_blocks()
            || (state.presses && self.pslc.is_none())
            || self.is_last_block_used(pool, self.last_rows_soft)
            || state.wear_victim.is_some()
    }

    /// The least free space that a pool has had in this run, in mapping units.
    pub fn least_free(&self) -> u32 {
        self.least_free
    }

    /// A pool had as little as `units` free before the power failed: the run is still the one run.
    pub fn has_had_free(&mut self, units: u32) {
        self.least_free = self.least_free.min(units);
    }

    /// The least free space that a pool has had in this run, in millionths of its raw pages.
    pub fn least_free_millionths(&self) -> u64 {
        let pool = u64::from(self.layout.units_per_lane()) * u64::from(self.pools[0].lanes);
        u64::from(self.least_free) * 1_000_000 / pool
    }

    /// True at or below the hard mark: reclaiming goes before the host's requests.
    #[inline(always)]
    pub fn is_urgent(&self, pool: Pool) -> bool {
        let state = &self.pools[pool.index()];
        state.free_units <= self.hard_units
            || (state.free.len() as u32) < self.hard_blocks
            || state.presses
            || self.is_last_block_used(pool, self.last_rows_hard)
    }

    /// True at or below the hard mark if one map unit more were taken.
    pub fn would_be_urgent(&self, pool: Pool) -> bool {
        self.pools[pool.index()].free_units <= self.hard_units + 1
    }

    /// True when only the reserve is left and an open block of the host has at most `rows` left.
    #[inline(always)]
    fn is_last_block_used(&self, pool: Pool, rows: u32) -> bool {
        let state = &self.pools[pool.index()];
        (state.shared || state.free.len() <= state.reserve as usize)
            && self.are_last_rows_used(state, rows)
    }

    #[inline(never)]
    fn are_last_rows_used(&self, state: &PoolState, rows: u32) -> bool {
        if state.shared {
            return state.units_above_reserve(&self.layout) <= rows * self.layout.units_per_row;
        }
        let rows_left =
            |at: usize| self.layout.rows - self.frontiers[at][Stream::Host as usize].row;
        let is_used = |class| rows_left(self.frontier_at(state.first_lane, class)) <= rows;
        is_used(self.main_class()) || (1..self.host_classes).any(is_used)
    }

    /// Map units that can be programmed in the pool before anything is reclaimed.
    pub fn free_units(&self, pool: Pool) -> u32 {
        self.pools[pool.index()].free_units
    }
}
