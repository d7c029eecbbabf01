//! Reclaiming as a chain of steps: read valid pages, program them elsewhere, erase.
//!
//! Each lane of the victim has a chain of its own ([`Relocation`]); the chains of a group block go
//! side by side, and its erases start when all of them are done. A chain asks for one flash
//! operation at a time and is resumed when that is done, so between any two a host write may
//! overtake it: what is no longer valid is not copied.

use super::relocation::{Moving, Relocation};
use super::{PageMap, Stream};
use crate::flash::Block;
use crate::units::{Lane, Pool, Ppn};

/// The next operation of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read `units` map units with one array read at `page`; then [`PageMap::read_done`].
    Read {
        /// The first page.
        page: Ppn,
        /// Valid map units that come out.
        units: u32,
    },
    /// Program a row of `lane` (from [`PageMap::open_copy_row`]) with `units` pages; then
    /// [`PageMap::copied`].
    Program {
        /// Where to.
        lane: Lane,
        /// Pages in the row; the rest is padding.
        units: u32,
    },
    /// Everything valid is out of this lane's block.
    Copied,
}

/// The collection of a pool: one victim is copied at a time. Its erase may be held back; then the
/// next victim may be copied before ([`PageMap::may_collect`]).
#[derive(Clone, Debug)]
pub(super) struct Collection {
    /// Lanes whose copying goes on; none: no victim is being copied.
    pub copying: u32,
    /// Victims that are copied and not yet wholly erased, in the order of their copying.
    pub copied: Vec<Copied>,
}

/// A victim that is copied out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copied {
    /// Its group block.
    pub index: u32,
    /// Lanes whose block is not yet erased.
    pub erasing: u32,
}

impl Collection {
    /// Nothing under way; room for `victims` that wait for their erase.
    pub fn none(victims: u32) -> Self {
        Self { copying: 0, copied: Vec::with_capacity(victims as usize) }
    }

    /// Blocks of copied victims that are not yet erased.
    pub fn blocks_to_erase(&self) -> u32 {
        self.copied.iter().map(|copied| copied.erasing).sum()
    }

    /// [`Collection::blocks_to_erase`], of the victims that count.
    #[inline(never)]
    fn blocks_to_erase_of(&self, counts: impl Fn(u32) -> bool) -> u32 {
        let copied = self.copied.iter().filter(|copied| counts(copied.index));
        copied.map(|copied| copied.erasing).sum()
    }

    /// Copied victims of which a block is not yet erased, of those that count.
    pub fn victims_to_erase_of(&self, counts: impl Fn(u32) -> bool) -> u32 {
        self.copied.iter().filter(|copied| counts(copied.index)).count() as u32
    }

    /// Blocks that are erased while others of their victim are not yet, of the victims that count.
    pub fn blocks_erased(&self, lanes: u32, counts: impl Fn(u32) -> bool) -> u32 {
        let copied = self.copied.iter().filter(|copied| counts(copied.index));
        copied.map(|copied| lanes - copied.erasing).sum()
    }
}

impl PageMap {
    /// True while a collection of the pool is under way, its erases included.
    #[inline]
    pub fn is_collecting(&self, pool: Pool) -> bool {
        let Collection { copying, copied } = &self.collections[pool.index()];
        *copying > 0 || !copied.is_empty()
    }

    /// Lets `victims` of a pool be copied before the first of them is erased; one unless said
    /// otherwise. Call it before the first collection.
    pub fn let_victims_wait(&mut self, victims: u32) {
        self.victims_max = victims;
        self.collections.fill(Collection::none(victims));
    }

    /// True when the pool may choose a victim. While others of it wait for their erases the reserve
    /// must be whole, so that this one's copies fit: no collection begins at or below the hard mark
    /// before those erases are done.
    #[inline(always)]
    pub fn may_collect(&self, pool: Pool) -> bool {
        let Collection { copying, copied } = &self.collections[pool.index()];
        let room = || {
            let whole = self.pools[pool.index()].is_reserve_whole(&self.layout);
            copied.len() < self.victims_max as usize && whole && !self.is_urgent(pool)
        };
        *copying == 0 && (copied.is_empty() || room()) && !self.is_dead(pool)
    }

    /// True when the pool should reclaim, may, and would gain something as far as is known.
    #[inline]
    pub fn would_collect(&self, pool: Pool) -> bool {
        self.wants_collection(pool) && self.may_collect(pool) && !self.is_hopeless(pool)
    }

    /// Map units of copied victims that are not yet erased: they are as good as free.
    #[inline]
    pub fn units_to_erase(&self, pool: Pool) -> u32 {
        let collection = &self.collections[pool.index()];
        let blocks = match self.pslc.is_some() {
            true => collection.blocks_to_erase_of(|index| !self.is_static(index)),
            false => collection.blocks_to_erase(),
        };
        blocks * self.layout.units_per_block
    }

    /// Chooses a victim and starts its chains; false when nothing would be gained. Blocks being
    /// read are passed over when `avoid_reads`.
    pub fn start_collection(&mut self, pool: Pool, avoid_reads: bool) -> bool {
        debug_assert!(
            !self.is_collecting(pool) || self.pools[pool.index()].is_reserve_whole(&self.layout)
        );
        self.prefer_failed(pool);
        let choice =
            self.choose_victim(pool, avoid_reads).or_else(|| self.last_resort(pool, avoid_reads));
        self.set_hopeless(pool, choice.is_none());
        let Some(index) = choice else { return false };
        for block in self.group(pool, index) {
            self.blocks.set_candidate(block, false);
            self.relocations[self.layout.lane_of(block).index()].begin(block, &self.layout);
        }
        if self.classes.is_some() {
            self.classify_victim(pool, index);
        }
        if self.pslc.is_some() {
            self.cache_victim_taken(pool, index);
        }
        let group = self.group(pool, index);
        let state = &mut self.pools[pool.index()];
        if let Some(onset) = &mut self.onset {
            let valid = group.map(|block| self.blocks.valid(block)).sum();
            onset.decide((pool, state), Some(valid), (self.hard_units, self.clock));
        }
        if let Some(at) = state.closed.iter().position(|closed| *closed == index) {
            state.closed.remove(at);
        }
        self.collections[pool.index()].copying = state.lanes;
        true
    }

    /// True while the chain of `lane` copies.
    pub fn is_copying(&self, lane: Lane) -> bool {
        self.collections[self.pool_of(lane).index()].copying > 0
            && !self.relocations[lane.index()].copied
    }

    /// The next operation of the chain of `lane`.
    #[inline]
    pub fn step(&mut self, lane: Lane) -> Step {
        if self.splits_victims {
            return self.step_by_class(lane);
        }
        let row = self.layout.units_per_row as usize;
        loop {
            let chain = &mut self.relocations[lane.index()];
            if chain.staged.len() >= row || (chain.cursor >= chain.end && !chain.staged.is_empty())
            {
                let mapping = &self.mapping;
                chain.staged.retain(|moving| mapping.physical(moving.lpn) == moving.from);
                if chain.staged.len() < row && self.hand_over(lane) {
                    return Step::Copied;
                }
                let chain = &self.relocations[lane.index()];
                if chain.staged.len() >= row
                    || (chain.cursor >= chain.end && !chain.staged.is_empty())
                {
                    self.take_row(lane);
                    return self.program_step(lane);
                }
            } else if let Some(first) = self.mapping.next_valid(chain.cursor, chain.end) {
                return self.read_step(lane, first);
            } else {
                chain.cursor = chain.end;
                if chain.staged.is_empty() {
                    return Step::Copied;
                }
            }
        }
    }

    /// A lane that has read everything gives what does not fill a row to a lane of its pool that
    /// goes on, so that a group victim pads one row and not one a lane.
    fn hand_over(&mut self, lane: Lane) -> bool {
        let lanes = self.lanes_of(self.pool_of(lane));
        if lanes.len() == 1
            || self.relocations[lane.index()].cursor < self.relocations[lane.index()].end
        {
            return false;
        }
        let goes_on = |other: &Lane| *other != lane && !self.relocations[other.index()].copied;
        let Some(other) = lanes.into_iter().find(goes_on) else { return false };
        let staged = std::mem::take(&mut self.relocations[lane.index()].staged);
        self.relocations[other.index()].staged.extend(&staged);
        self.relocations[lane.index()].staged = staged;
        self.relocations[lane.index()].staged.clear();
        true
    }

    #[inline(always)]
    pub(super) fn read_step(&mut self, lane: Lane, first: u32) -> Step {
        let group = self.layout.units_per_read;
        let group_end = if group == 1 { first + 1 } else { (first / group + 1) * group };
        let chain = &mut self.relocations[lane.index()];
        (chain.cursor_before, chain.cursor) = (first, group_end);
        chain.hint(&self.mapping);
        let units = if group == 1 { 1 } else { self.mapping.count_valid(first, group_end) };
        Step::Read { page: Ppn(first), units }
    }

    /// Fills the next row with the pages that were read first.
    #[inline]
    fn take_row(&mut self, lane: Lane) {
        let chain = &mut self.relocations[lane.index()];
        let units = chain.staged.len().min(self.layout.units_per_row as usize);
        if units == chain.staged.len() {
            std::mem::swap(&mut chain.staged, &mut chain.writing);
        } else {
            chain.writing.extend(chain.staged.drain(..units));
        }
    }

    #[inline]
    fn program_step(&mut self, lane: Lane) -> Step {
        let Relocation { class, ref writing, .. } = self.relocations[lane.index()];
        let units = writing.len();
        let number = self.pool_of(lane);
        let pool = &mut self.pools[number.index()];
        let to = if pool.lanes == 1 {
            lane
        } else if self.superstripes.is_some() {
            self.copy_lane(number)
        } else {
            // Copies of a group go round its lanes, so that the open group block fills evenly.
            let to = pool.next_copy_lane[class as usize];
            pool.next_copy_lane[class as usize] = pool.each_lane().after(to);
            to
        };
        Step::Program { lane: to, units: units as u32 }
    }

    /// The row on lane `to` for the last [`Step::Program`] of the chain of `lane`, now taken.
    #[inline(always)]
    pub fn open_copy_row(&mut self, lane: Lane, to: Lane) -> Option<Ppn> {
        self.open_row_of(to, Stream::Copy, self.relocations[lane.index()].class)
    }

    /// The array read of the last [`Step::Read`] is done; `load` gives a page's content.
    #[inline]
    pub fn read_done(&mut self, lane: Lane, load: impl Fn(Ppn) -> u32) {
        let chain = &mut self.relocations[lane.index()];
        let (mut at, end) = (chain.cursor_before, chain.cursor);
        let staged_before = chain.staged.len();
        while let Some(found) = self.mapping.next_valid(at, end) {
            let from = Ppn(found);
            chain.staged.push(Moving {
                from,
                lpn: self.mapping.logical_of(from),
                version: load(from),
                class: 0,
            });
            at = found + 1;
        }
        if self.splits_victims {
            self.classify_copies(lane, staged_before);
        }
    }

    /// The row of the last [`Step::Program`] of the chain of `lane` is programmed at `row`; `store`
    /// keeps a page's content, told where it is from and where to. Returns the pages that had not
    /// been overtaken meanwhile.
    #[inline]
    pub fn copied(&mut self, lane: Lane, row: Ppn, mut store: impl FnMut(Ppn, Ppn, u32)) -> u32 {
        let mut moved = 0;
        for at in 0..self.relocations[lane.index()].writing.len() {
            let Moving { from, lpn, version, .. } = self.relocations[lane.index()].writing[at];
            let to = Ppn(row.0 + at as u32);
            store(from, to, version);
            if self.mapping.physical(lpn) == from {
                self.mapping.invalidate(from);
                self.blocks.remove_valid(self.layout.block_of(from), self.clock);
                self.mapping.put(lpn, to);
                self.blocks.add_valid(self.layout.block_of(to));
                moved += 1;
            }
        }
        self.relocations[lane.index()].writing.clear();
        self.row_programmed(row);
        moved
    }

    /// The chain of `lane` has copied everything; true when all lanes of its pool have, and the
    /// erases may start.
    pub fn lane_copied(&mut self, lane: Lane) -> bool {
        self.relocations[lane.index()].copied = true;
        self.part_copied(self.pool_of(lane))
    }

    /// The row of the last [`Step::Program`] of the chain of `lane`: the content of its pages in
    /// their order.
    pub fn contents_on_their_way(&self, lane: Lane) -> impl Iterator<Item = u32> + '_ {
        self.relocations[lane.index()].writing.iter().map(|moving| moving.version)
    }

    /// Parity of copies is on its way: the collection of its pool ends with it at the earliest.
    pub fn parity_begins(&mut self, pool: Pool) {
        self.collections[pool.index()].copying += 1;
    }

    /// A lane's part of the copy, or a row of parity, is done; true when it was the last that the
    /// erases waited for.
    pub fn part_copied(&mut self, pool: Pool) -> bool {
        let lanes = self.lanes_of(pool);
        let index = self.layout.index_of(self.victim_block(lanes.first()));
        let collection = &mut self.collections[pool.index()];
        collection.copying -= 1;
        if collection.copying == 0 {
            collection.copied.push(Copied { index, erasing: lanes.len() as u32 });
        }
        collection.copying == 0
    }

    /// The victim block of `lane`: the one being copied, or copied last.
    pub fn victim_block(&self, lane: Lane) -> Block {
        self.relocations[lane.index()].block
    }

    /// True when `block` is copied out and only a read under way may keep it from being erased.
    #[inline]
    pub(super) fn erase_waits(&self, block: Block) -> bool {
        let pool = self.pool_of(self.layout.lane_of(block));
        let index = self.layout.index_of(block);
        self.collections[pool.index()].copied.iter().any(|copied| copied.index == index)
    }

    /// A copied victim's block is erased; true when the whole victim is.
    pub fn erased(&mut self, block: Block) -> bool {
        if self.retire.is_some() {
            return self.leaves_victim(block);
        }
        self.blocks.erased(block);
        if let Some(headers) = &mut self.headers {
            headers.close(block);
        }
        let (pool, index) = (self.pool_of(self.layout.lane_of(block)), self.layout.index_of(block));
        let is_static = self.is_static(index);
        self.pools[pool.index()].free_units +=
            if is_static { 0 } else { self.layout.units_per_block };
        let copied = &mut self.collections[pool.index()].copied;
        let at = copied
            .iter()
            .position(|copied| copied.index == index)
            .expect("a copied victim is erased");
        copied[at].erasing -= 1;
        if copied[at].erasing > 0 {
            return false;
        }
        copied.remove(at);
        let erases = self.blocks.erases(block);
        if self.pslc.is_some() && self.cache_block_erased(pool, block, erases) {
            return true;
        }
        self.pools[pool.index()].free.push(index, erases);
        self.level_wear(pool, erases);
        true
    }

    /// The victim has a class: so have its copies.
    fn classify_victim(&mut self, pool: Pool, index: u32) {
        let group = self.group(pool, index);
        let Some(classes) = &mut self.classes else { return };
        let from = classes.of_block(self.layout.block(self.pools[pool.index()].first_lane, index));
        classes.collected(group);
        let class = classes.of_every_copy(from);
        for lane in self.lanes_of(pool) {
            let chain = &mut self.relocations[lane.index()];
            (chain.from_class, chain.class) = (from, class);
        }
    }

    /// Copies of one victim differ in their class: those read now are told theirs.
    fn classify_copies(&mut self, lane: Lane, first: usize) {
        let Some(classes) = &self.classes else { return };
        let chain = &mut self.relocations[lane.index()];
        for moving in &mut chain.staged[first..] {
            moving.class = classes.of_copy(moving.lpn, chain.from_class);
        }
    }

    /// The next step where copies of one victim differ in their class: a row is programmed when one
    /// class fills it. What fills none when everything is read is packed together.
    fn step_by_class(&mut self, lane: Lane) -> Step {
        let row = self.layout.units_per_row as usize;
        loop {
            let chain = &mut self.relocations[lane.index()];
            let is_last = chain.cursor >= chain.end && !chain.staged.is_empty();
            if chain.fullest().1 >= row || is_last {
                let mapping = &self.mapping;
                chain.staged.retain(|moving| mapping.physical(moving.lpn) == moving.from);
                let (class, pages) = chain.fullest();
                if pages >= row || (is_last && pages > 0) {
                    if pages < row && self.hand_over(lane) {
                        return Step::Copied;
                    }
                    self.relocations[lane.index()].take_row_of(class, row);
                    return self.program_step(lane);
                }
            } else if let Some(first) = self.mapping.next_valid(chain.cursor, chain.end) {
                return self.read_step(lane, first);
            } else {
                chain.cursor = chain.end;
                if chain.staged.is_empty() {
                    return Step::Copied;
                }
            }
        }
    }
}
