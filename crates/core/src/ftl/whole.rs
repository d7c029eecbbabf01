//! A collection's copy of a page in one step, where nothing can come between its read and its
//! program: pages of the victim stay valid meanwhile, and the pool's free space and the write clock
//! show no difference.

use super::pool::Stream;
use super::relocation::Moving;
use super::{Allocation, PageMap};
use crate::units::{Lane, Ppn};

impl PageMap {
    /// True when an array read brings one page, a row takes one, and copies stay in their lane.
    pub fn copies_singly(&self) -> bool {
        let (layout, narrow) = (&self.layout, self.pools.iter().all(|pool| pool.lanes == 1));
        layout.units_per_row == 1 && layout.units_per_read == 1 && narrow && !self.splits_victims
    }

    /// Where copies go singly: [`PageMap::read_done`] and [`PageMap::step`] for a page that is
    /// still valid; its program is next. False, and nothing was done, where it is not.
    #[inline(always)]
    pub fn single_read(&mut self, lane: Lane, load: impl Fn(Ppn) -> u32) -> bool {
        let chain = &mut self.relocations[lane.index()];
        let from = Ppn(chain.cursor_before);
        if !self.mapping.is_valid(from) {
            return false;
        }
        let lpn = self.mapping.logical_of(from);
        debug_assert!(
            self.mapping.physical(lpn) == from
                && chain.staged.is_empty()
                && chain.writing.is_empty()
        );
        chain.writing.push(Moving { from, lpn, version: load(from), class: 0 });
        true
    }

    /// Where copies go singly: [`PageMap::step`] of a chain of which nothing is on its way: the
    /// page to read next; `None`: everything valid is out of the lane's block.
    #[inline(always)]
    pub fn single_step(&mut self, lane: Lane) -> Option<Ppn> {
        let chain = &mut self.relocations[lane.index()];
        debug_assert!(chain.staged.is_empty() && chain.writing.is_empty());
        let Some(page) = self.mapping.next_valid(chain.cursor, chain.end) else {
            chain.cursor = chain.end;
            return None;
        };
        chain.reads_page(page, &self.mapping);
        Some(Ppn(page))
    }

    /// Where copies go singly: [`PageMap::copied`].
    #[inline(always)]
    pub fn single_copied(&mut self, lane: Lane, to: Ppn, store: impl FnOnce(Ppn, Ppn, u32)) {
        let chain = &mut self.relocations[lane.index()];
        let Some(Moving { from, lpn, version, .. }) = chain.writing.pop() else {
            unreachable!("a page is on its way")
        };
        let (victim, block) = (chain.block(), self.layout.block_of(to));
        debug_assert!(chain.writing.is_empty() && self.layout.block_of(from) == victim);
        store(from, to, version);
        if self.mapping.physical(lpn) == from {
            self.mapping.invalidate(from);
            self.blocks.remove_valid(victim, self.clock);
            self.mapping.put(lpn, to);
            self.blocks.add_valid(block);
        }
        self.row_of_block_programmed(block, to);
    }

    /// True when a page's address decides its lane, a row is one page, and what a copy changes
    /// before its end is looked at by nobody: so only a deallocation can make a page of a victim
    /// stale while its die copies.
    pub fn may_copy_whole(&self) -> bool {
        let watched = self.classes.is_some() || self.headers.is_some() || self.retire.is_some();
        let wide = self.superstripes.is_some() || self.log.is_some() || self.blocks.keeps_ages();
        let shared = self.pools.iter().any(|pool| pool.shared);
        let static_lanes = self.placement.allocation() == Allocation::Static;
        self.copies_singly() && static_lanes && !shared && !watched && !wide
    }

    /// The next copy of a lane's chain, from where to where; then [`PageMap::copied_whole`]. `None`
    /// when it takes its steps one by one: at the end of the victim, where a block is opened, and
    /// where the pool's free space becomes less than it ever was.
    #[inline]
    pub fn next_copy(&mut self, lane: Lane) -> Option<(Ppn, Ppn)> {
        let (chain, frontier) =
            (&self.relocations[lane.index()], &self.frontiers[lane.index()][Stream::Copy as usize]);
        let pool = &self.pools[lane.index()];
        debug_assert!(chain.staged.is_empty() && chain.writing.is_empty());
        if frontier.row == self.layout.rows || pool.free_units <= self.least_free {
            return None;
        }
        let to = self.layout.row_start(frontier.block, frontier.row);
        let from = self.mapping.next_valid(chain.cursor, chain.end)?;
        self.read_step(lane, from);
        Some((Ppn(from), to))
    }

    /// How many copies follow for certain after [`PageMap::next_copy`], and that one, if nothing
    /// makes pages of the victim stale: as often as it will not be `None`.
    #[inline]
    pub fn copies_at_once(&self, lane: Lane) -> u32 {
        let chain = &self.relocations[lane.index()];
        let frontier = &self.frontiers[lane.index()][Stream::Copy as usize];
        let room = (self.pools[lane.index()].free_units - self.least_free)
            .min(self.layout.rows - frontier.row);
        room.min(1 + self.mapping.count_valid(chain.cursor, chain.end))
    }

    /// Copies of the chain of `lane` are on flash: `count` of them from `first` on, the one that
    /// was told last, each in the row behind the one before. `store` keeps a page's content. If
    /// another one `follows`, it is told now.
    #[inline(always)]
    pub fn copied_whole(
        &mut self,
        lane: Lane,
        first: (Ppn, Ppn),
        count: u32,
        follows: bool,
        mut store: impl FnMut(Ppn, Ppn),
    ) -> (Ppn, Ppn) {
        let (mut from, mut to) = first;
        let (chain, pool) = (&mut self.relocations[lane.index()], &mut self.pools[lane.index()]);
        let frontier = &mut self.frontiers[lane.index()][Stream::Copy as usize];
        debug_assert_eq!(
            to,
            self.layout.row_start(frontier.block, frontier.row),
            "the row that was reported"
        );
        frontier.row += count;
        pool.free_units -= count;
        self.clock += u64::from(count);
        self.blocks.move_valid(chain.block(), frontier.block, count);
        let is_full = frontier.row == self.layout.rows;
        for at in 1..=count {
            store(from, to);
            self.mapping.move_page(from, to);
            if at < count || follows {
                let next = self
                    .mapping
                    .next_valid(chain.cursor, chain.end)
                    .expect("it was known to follow");
                chain.reads_page(next, &self.mapping);
                (from, to) = (Ppn(next), Ppn(to.0 + 1));
            }
        }
        if is_full {
            self.row_programmed(to);
        }
        (from, to)
    }
}
