//! The work that a collection has before it, for those who forecast when it ends: it is looked at
//! here, and not changed.

use super::PageMap;
use super::relocation::Relocation;
use crate::units::{Lane, Pool};

/// The work that a chain has before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiesLeft {
    /// Its operation, waiting or under way, is a read and not a program.
    pub reading: bool,
    /// Array reads after that.
    pub reads: u32,
    /// Map units that they bring.
    pub units: u32,
    /// Programs after that.
    pub rows: u32,
}

/// Where a chain is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainLeft {
    /// Pages from here to the end are still to be read.
    pub cursor: u32,
    /// The end of the block.
    pub end: u32,
    /// Read, and not yet on their way.
    pub staged: u32,
    /// Pages that its read, waiting or under way, brings.
    pub brings: u32,
    /// Its operation is a read and not a program.
    pub reading: bool,
}

impl PageMap {
    /// Valid pages that the pool's collection still has to read.
    pub fn valid_left(&self, pool: Pool) -> u32 {
        let left = |lane: Lane| {
            let chain = &self.relocations[lane.index()];
            self.mapping.count_valid(chain.cursor, chain.end)
        };
        self.lanes_of(pool).map(left).sum()
    }

    /// Free map units of a pool at the soft mark, the same of all pools.
    pub fn soft_units(&self) -> u32 {
        self.pools[0].soft_units
    }

    /// Map units below the soft mark within which a victim should be copied: as many as a victim
    /// has, or those above the first level at which collecting is urgent (the hard mark, or what
    /// the reserve and the rest of open blocks can be), a row at least. All pools are alike.
    pub fn units_to_copy_within(&self) -> u32 {
        let (victim, open) = self.victim_and_open();
        let urgent = self.hard_units.max((self.pools[0].reserve + open) * victim);
        self.soft_units().saturating_sub(urgent).min(victim).max(self.layout.units_per_row)
    }

    /// Map units of a victim, and how many open blocks a pool may have.
    fn victim_and_open(&self) -> (u32, u32) {
        let pool = &self.pools[0];
        let open = pool.logs.len() as u32 * if pool.shared { 1 } else { 2 };
        (pool.lanes * self.layout.units_per_block, open)
    }

    /// True while no more than a victim is free above the soft mark, the rest of open blocks apart:
    /// a pool that collects whenever it must stays there.
    pub fn lives_on_victims(&self, pool: Pool) -> bool {
        let (victim, open) = self.victim_and_open();
        let state = &self.pools[pool.index()];
        let soft = state.soft_units.max(self.soft_blocks * victim);
        state.free_units <= soft + (1 + open) * victim
    }

    /// Map units that the next step of the chain of `lane` brings, if that is a read.
    pub fn next_read(&self, lane: Lane) -> Option<u32> {
        let chain = &self.relocations[lane.index()];
        let staged = if self.splits_victims { chain.fullest().1 } else { chain.staged.len() };
        if staged >= self.layout.units_per_row as usize {
            return None;
        }
        let (first, group) =
            (self.mapping.next_valid(chain.cursor, chain.end)?, self.layout.units_per_read);
        Some(self.mapping.count_valid(first, (first / group + 1) * group))
    }

    /// The copies that the chain of `lane` has before it; `None` when it copies nothing.
    pub fn copies_left(&self, lane: Lane) -> Option<CopiesLeft> {
        if !self.is_copying(lane) {
            return None;
        }
        let chain = &self.relocations[lane.index()];
        let (group, row) = (self.layout.units_per_read, self.layout.units_per_row);
        let units = self.mapping.count_valid(chain.cursor, chain.end);
        let has_valid =
            |first: &u32| self.mapping.count_valid(*first, chain.end.min(*first + group)) > 0;
        let reads = match group {
            1 => units,
            _ => (chain.cursor..chain.end).step_by(group as usize).filter(has_valid).count() as u32,
        };
        let reading = chain.writing.is_empty();
        let read =
            if reading { self.mapping.count_valid(chain.cursor_before, chain.cursor) } else { 0 };
        let rows = (chain.staged.len() as u32 + read + units).div_ceil(row);
        Some(CopiesLeft { reading, reads, units, rows })
    }

    /// Where the chain of `lane` is, to play it ahead; `None` when it copies nothing.
    pub fn chain_left(&self, lane: Lane) -> Option<ChainLeft> {
        if !self.is_copying(lane) {
            return None;
        }
        let chain = &self.relocations[lane.index()];
        let Relocation { cursor, cursor_before, end, .. } = *chain;
        let reading = chain.writing.is_empty();
        let brings = if reading { self.mapping.count_valid(cursor_before, cursor) } else { 0 };
        let staged = chain
            .staged
            .iter()
            .filter(|moving| self.mapping.physical(moving.lpn) == moving.from)
            .count();
        Some(ChainLeft { cursor, end, staged: staged as u32, brings, reading })
    }

    /// The first valid page between two of a block.
    pub fn next_to_copy(&self, from: u32, end: u32) -> Option<u32> {
        self.mapping.next_valid(from, end)
    }

    /// Valid pages between two of a block.
    pub fn valid_between(&self, from: u32, end: u32) -> u32 {
        self.mapping.count_valid(from, end)
    }

    /// Where the next row of copies of the pool goes, if copies go round its lanes whatever they
    /// are.
    pub fn next_copy_lane(&self, pool: Pool) -> Option<Lane> {
        let is_round =
            self.superstripes.is_none() && !self.splits_victims && self.classes.is_none();
        is_round.then(|| self.pools[pool.index()].next_copy_lane[0])
    }

    /// The valid pages of the pool's best victim; what a collection that is about to begin will
    /// copy, roughly.
    pub fn fewest_valid(&self, pool: Pool) -> u32 {
        let lane = self.lanes_of(pool).first();
        let of = |index| self.blocks.valid(self.layout.block(lane, index));
        let is_candidate = |index: &u32| self.blocks.is_candidate(self.layout.block(lane, *index));
        (0..self.layout.blocks).filter(is_candidate).map(of).min().unwrap_or(0)
    }

    /// Blocks of the pool that its collections copied, or are copying, and that are not yet erased.
    pub fn erases_left(&self, pool: Pool) -> u32 {
        let collection = &self.collections[pool.index()];
        let copying = if collection.copying > 0 { self.pools[pool.index()].lanes } else { 0 };
        collection.blocks_to_erase() + copying
    }
}
