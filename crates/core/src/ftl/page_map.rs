//! Page mapping: every map unit anywhere, written in logs, reclaimed by copying.

mod build;
mod laws;
mod marks;

use super::collection::Collection;
use super::log::LogLanes;
use super::onset::Brought;
use super::placement::Placement;
use super::pool::{PoolState, Stream};
use super::pslc::{CACHE, MAIN, Pslc};
use super::recovery::{Headers, Role};
use super::relocation::Relocation;
use super::retire::Retire;
use super::victim::{Candidates, Region, VictimPolicy};
use super::{Blocks, Classes, Mapping, Superstripes};
use crate::flash::{Block, Layout};
use crate::sim::Divisor;
use crate::units::{Die, Lane, Lanes, Lpn, Pool, Ppn};

/// Where a logical page is, as far as the translation layer knows now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translation {
    /// On flash, there.
    Ready(Ppn),
    /// Never written, or deallocated.
    Unwritten,
}

/// Where a lane's stream is written next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frontier {
    pub block: Block,
    pub row: u32,
    /// Group blocks that this lane has opened for this stream and class.
    pub opened: u64,
}

/// A page-mapped translation layer.
#[derive(Clone, Debug)]
pub struct PageMap {
    pub(super) layout: Layout,
    pub(super) mapping: Mapping,
    pub(super) blocks: Blocks,
    pub(super) pools: Vec<PoolState>,
    /// By stream: of every lane for class 0, then of every lane for class 1, and so on.
    pub(super) frontiers: Vec<[Frontier; 2]>,
    /// Data placement, if it has more than one class.
    pub(super) classes: Option<Box<Classes>>,
    /// Of the classes, those that the host writes.
    pub(super) host_classes: u32,
    /// Copies of one victim may belong to several classes.
    pub(super) splits_victims: bool,
    pub(super) placement: Placement,
    pub(super) collections: Vec<Collection>,
    pub(super) relocations: Vec<Relocation>,
    /// Victims of a pool that may be copied before the first of them is erased.
    pub(super) victims_max: u32,
    victim: VictimPolicy,
    pub(super) keeps_order: bool,
    pub(super) by_pool: Divisor,
    /// When pools collect, by a rule of the program's own.
    pub(super) onset: Option<Box<Brought>>,
    pub(super) hard_units: u32,
    /// Below so many erased group blocks it collects, or goes first; none where shares count.
    pub(super) soft_blocks: u32,
    pub(super) hard_blocks: u32,
    last_rows_soft: u32,
    last_rows_hard: u32,
    pub(super) static_wear_gap: u32,
    /// Copied blocks whose erase waits for reads: none at nearly every read's end.
    erases_waiting: u32,
    /// Pools that have nothing to reclaim, how many they are, and those that may have something
    /// again.
    hopeless: Vec<bool>,
    hopeless_pools: u32,
    revived: Vec<Pool>,
    /// The least free map units that a pool ever had in this run.
    pub(super) least_free: u32,
    /// Map units programmed so far: the clock of ages.
    pub(super) clock: u64,
    /// Map units that the host sees; with parity there are more.
    pub(super) user: u32,
    /// With parity: pages that the host gave back and that their stripe still holds, a bit each,
    /// and how many.
    pub(super) trimmed: Vec<u64>,
    pub(super) trimmed_pages: u32,
    /// Parity over superblocks, if there is any.
    pub(super) superstripes: Option<Box<Superstripes>>,
    /// Log blocks in place of page mapping, where that is asked for.
    pub(super) log: Option<Box<LogLanes>>,
    /// The headers of blocks, where the power may fail.
    pub(super) headers: Option<Box<Headers>>,
    /// Bad blocks, where there are any.
    pub(super) retire: Option<Box<Retire>>,
    /// The cache of blocks with one bit a cell, where there is one.
    pub(super) pslc: Option<Box<Pslc>>,
}

impl PageMap {
    /// The geometry.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The maps (read only).
    #[inline]
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Bytes of the maps and the counters of blocks: what a simulated page costs.
    pub fn bytes(&self) -> usize {
        let log = self.log.as_ref().map_or(0, |log| log.bytes());
        let classes = self.classes.as_ref().map_or(0, |classes| classes.bytes());
        log + classes + self.mapping.bytes() + self.blocks.bytes() + 8 * self.trimmed.len()
    }

    /// Map units of all rows opened so far.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Logical pages that the host sees.
    pub fn logical(&self) -> u32 {
        self.user
    }

    /// Where `lpn` is.
    #[inline]
    pub fn translate(&self, lpn: Lpn) -> Translation {
        if let Some(log) = &self.log {
            return self.translate_in_log(log, lpn);
        }
        match self.mapping.physical(lpn) {
            Ppn::NONE => Translation::Unwritten,
            _ if self.is_trimmed(lpn) => Translation::Unwritten,
            ppn => Translation::Ready(ppn),
        }
    }

    /// The next row of a lane for a stream of class 0, now taken; `None` when the lane has no room
    /// for that stream.
    #[inline]
    pub fn open_row(&mut self, lane: Lane, stream: Stream) -> Option<Ppn> {
        self.open_row_of(lane, stream, 0)
    }

    /// The next row of a lane for a stream of `class`, now taken; `None` when the lane has no room
    /// for it.
    #[inline(always)]
    pub fn open_row_of(&mut self, lane: Lane, stream: Stream, class: u32) -> Option<Ppn> {
        let number = self.pool_of(lane);
        let pool = &mut self.pools[number.index()];
        if pool.shared && stream == Stream::Host && pool.units_above_reserve(&self.layout) == 0 {
            return None;
        }
        let (stream, at) = (pool.frontier_of(stream), class * self.layout.lanes + lane.0);
        let mut frontier = &mut self.frontiers[at as usize][stream as usize];
        if frontier.row == self.layout.rows {
            if self.pslc.is_some() && class == CACHE {
                return self.open_row_past_cache(lane);
            }
            self.open_block(lane, stream, class)?;
            frontier = &mut self.frontiers[at as usize][stream as usize];
        }
        let row = self.layout.row_start(frontier.block, frontier.row);
        frontier.row += 1;
        Retire::row_opened(&mut self.retire, frontier.block);
        let free = &mut self.pools[number.index()].free_units;
        *free -= self.layout.units_per_row;
        self.least_free = self.least_free.min(*free);
        self.clock += u64::from(self.layout.units_per_row);
        Some(row)
    }

    /// The cache's open block of a lane is full, if it had one: a row of its next block, or past
    /// the cache.
    #[inline(never)]
    fn open_row_past_cache(&mut self, lane: Lane) -> Option<Ppn> {
        let pool = self.pool_of(lane);
        if self.open_cache_block(pool, lane) {
            self.open_row_of(lane, Stream::Host, CACHE)
        } else if self.row_waits() {
            None
        } else {
            self.open_row_of(lane, Stream::Host, MAIN)
        }
    }

    /// The open block of a lane is full: the next one, if the lane has room for the stream.
    #[inline(never)]
    fn open_block(&mut self, lane: Lane, stream: Stream, class: u32) -> Option<()> {
        let pool = self.pool_of(lane).index();
        let at = self.frontier_at(lane, class);
        let frontier = &mut self.frontiers[at][stream as usize];
        let index = self.pools[pool].open_next(class, stream, frontier.opened)?;
        *frontier =
            Frontier { block: self.layout.block(lane, index), row: 0, opened: frontier.opened + 1 };
        if let Some(headers) = &mut self.headers {
            headers.open(
                frontier.block,
                if stream == Stream::Host { Role::Data } else { Role::Copies },
            );
        }
        if let Some(classes) = &mut self.classes {
            classes.opened(frontier.block, class);
        }
        Some(())
    }

    /// The program of a row is done; call after its pages were committed.
    #[inline(always)]
    pub fn row_programmed(&mut self, row: Ppn) {
        self.row_of_block_programmed(self.layout.block_of(row), row);
    }

    /// Likewise, for callers that know the block.
    #[inline(always)]
    pub(crate) fn row_of_block_programmed(&mut self, block: Block, row: Ppn) {
        if self.retire.is_some() {
            self.row_ended(row);
        } else if self.layout.is_last_row(block, row) {
            self.block_filled(block);
        }
    }

    pub(super) fn block_filled(&mut self, block: Block) {
        let (index, pool) = (self.layout.index_of(block), self.pool_of(self.layout.lane_of(block)));
        if !self.pools[pool.index()].lane_done(index) {
            return;
        }
        for member in self.group(pool, index) {
            self.blocks.set_candidate(member, true);
            self.blocks.touch(member, self.clock);
        }
        if self.keeps_order {
            self.pools[pool.index()].closed.push_back(index);
        }
        if self.pslc.is_some() {
            self.cache_block_closed(pool, block);
        }
    }

    /// The host's newest version of `lpn` is on flash at `ppn`.
    #[inline(always)]
    pub fn commit(&mut self, lpn: Lpn, ppn: Ppn) {
        self.commit_in(self.layout.block_of(ppn), lpn, ppn);
    }

    /// Likewise, for callers that know the block of `ppn`.
    #[inline(always)]
    pub(crate) fn commit_in(&mut self, block: Block, lpn: Lpn, ppn: Ppn) {
        debug_assert_eq!(block, self.layout.block_of(ppn));
        self.invalidate(lpn);
        self.mapping.put(lpn, ppn);
        self.blocks.add_valid(block);
    }

    /// `lpn` is deallocated: it reads as never written.
    pub fn trim(&mut self, lpn: Lpn) {
        if self.log.is_some() {
            return self.trim_in_log(lpn);
        }
        self.invalidate(lpn);
        self.mapping.forget(lpn);
    }

    #[inline(always)]
    pub(super) fn invalidate(&mut self, lpn: Lpn) {
        let old = self.mapping.physical(lpn);
        if old.is_some() {
            let block = self.layout.block_of(old);
            self.mapping.invalidate(old);
            self.blocks.remove_valid(block, self.clock);
            self.revive(block);
        }
    }

    /// Notes whether the pool's last choice of a victim found nothing to gain: then it is not asked
    /// again before a page of it becomes invalid or a read of it ends.
    pub(super) fn set_hopeless(&mut self, pool: Pool, hopeless: bool) {
        let before = std::mem::replace(&mut self.hopeless[pool.index()], hopeless);
        self.hopeless_pools = self.hopeless_pools - u32::from(before) + u32::from(hopeless);
    }

    /// True while the pool has nothing to reclaim.
    pub fn is_hopeless(&self, pool: Pool) -> bool {
        self.hopeless[pool.index()]
    }

    #[inline]
    fn revive(&mut self, block: Block) {
        if self.hopeless_pools > 0 {
            self.revive_hopeless(block);
        }
    }

    #[inline(never)]
    fn revive_hopeless(&mut self, block: Block) {
        let pool = self.pool_of(self.layout.lane_of(block));
        if self.is_hopeless(pool) {
            self.set_hopeless(pool, false);
            self.revived.push(pool);
        }
    }

    /// True when there is a pool that had nothing to reclaim and may have something now.
    #[inline]
    pub fn has_revived(&self) -> bool {
        !self.revived.is_empty()
    }

    /// A pool that had nothing to reclaim and may have something now.
    #[inline]
    pub fn take_revived(&mut self) -> Option<Pool> {
        self.revived.pop()
    }

    /// A read of the page's block starts: the block is not erased before it ended.
    #[inline]
    pub fn read_started(&mut self, ppn: Ppn) {
        self.blocks.read_started(self.layout.block_of(ppn));
    }

    /// A read of the page's block ended; true when an erase of that block may have waited for it.
    #[inline(always)]
    pub fn read_ended(&mut self, ppn: Ppn) -> bool {
        let block = self.layout.block_of(ppn);
        if !self.blocks.read_ended(block) {
            return false;
        }
        self.revive(block);
        self.erases_waiting > 0 && self.erase_waited(block)
    }

    #[inline(never)]
    fn erase_waited(&mut self, block: Block) -> bool {
        let waited = self.erase_waits(block);
        self.erases_waiting -= u32::from(waited);
        waited
    }

    /// `block` of a victim is copied out: true when it may be erased now, false when that waits for
    /// the last read under way ([`PageMap::read_ended`]).
    pub fn may_erase_now(&mut self, block: Block) -> bool {
        let waits = self.blocks.is_being_read(block);
        self.erases_waiting += u32::from(waits);
        !waits
    }

    /// The reclaim pool of a lane.
    #[inline]
    pub fn pool_of(&self, lane: Lane) -> Pool {
        Pool(self.by_pool.quotient(lane.0))
    }

    /// Reclaim pools.
    pub fn pools(&self) -> u32 {
        self.pools.len() as u32
    }

    /// Every reclaim pool.
    #[inline]
    pub fn each_pool(&self) -> impl DoubleEndedIterator<Item = Pool> + use<> {
        (0..self.pools()).map(Pool)
    }

    /// The lanes of a pool.
    pub fn lanes_of(&self, pool: Pool) -> Lanes {
        self.pools[pool.index()].each_lane()
    }

    /// The pools to which the lanes of a server belong.
    #[inline]
    pub fn pools_on(&self, die: Die) -> impl Iterator<Item = Pool> + use<> {
        let lanes = self.layout.lanes_on(die);
        let (first, last) = (self.pool_of(lanes.first()), self.pool_of(lanes.last_lane()));
        (first.0..last.0 + 1).map(Pool)
    }

    /// The blocks of a group block.
    pub(super) fn group(&self, pool: Pool, index: u32) -> impl Iterator<Item = Block> + use<> {
        let (first, stride) =
            (self.layout.block(self.pools[pool.index()].first_lane, index).0, self.layout.blocks);
        (0..self.pools[pool.index()].lanes).map(move |lane| Block(first + lane * stride))
    }

    /// The victim of the pool's next collection, if anything would be gained; blocks being read are
    /// passed over when `avoid_reads` (a reclaim that takes no time cannot wait for them).
    pub(super) fn choose_victim(&mut self, pool: Pool, avoid_reads: bool) -> Option<u32> {
        if let Some(index) = self.pools[pool.index()].wear_victim.take()
            && self
                .blocks
                .is_candidate(self.layout.block(self.pools[pool.index()].first_lane, index))
            && !(avoid_reads
                && self.group(pool, index).any(|block| self.blocks.is_being_read(block)))
        {
            return Some(index);
        }
        let mut passed_over = Vec::new();
        let choice = loop {
            let candidates = Candidates {
                layout: &self.layout,
                blocks: &self.blocks,
                pool: &self.pools[pool.index()],
                clock: self.clock,
                data_rows: self.data_rows(pool),
                apart: self.classes.as_ref().and_then(|classes| classes.apart()),
                region: Region::All,
                cache: self.cache_victims(pool, || self.wants_space(pool)),
            };
            let Some(index) = self.victim.choose(&candidates) else { break None };
            if !avoid_reads
                || !self.group(pool, index).any(|block| self.blocks.is_being_read(block))
            {
                break Some(index);
            }
            self.group(pool, index).for_each(|block| self.blocks.set_candidate(block, false));
            passed_over.push(index);
        };
        for index in passed_over {
            self.group(pool, index).for_each(|block| self.blocks.set_candidate(block, true));
        }
        choice
    }

    /// Hints that `lpn` is asked for soon.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.mapping.prefetch(lpn);
    }

    /// Hints that `lpn` is written soon; call a little after [`PageMap::prefetch`].
    #[inline]
    pub fn prefetch_old(&self, lpn: Lpn) {
        let old = self.mapping.physical(lpn);
        if old.is_some() {
            self.mapping.prefetch_valid(old);
            self.blocks.prefetch(self.layout.block_of(old));
        }
    }

    /// Units in group blocks that some lanes have opened and others not yet.
    pub(super) fn units_not_yet_opened(&self, pool: &PoolState, class: u32, stream: Stream) -> u32 {
        let log = &pool.logs[class as usize][stream as usize];
        let opened_by_pool = log.opened_before + log.open.len() as u64;
        let opened = |lane| self.frontiers[self.frontier_at(lane, class)][stream as usize].opened;
        let missing = pool.each_lane().map(|lane| opened_by_pool - opened(lane));
        missing.sum::<u64>() as u32 * self.units_of_class(class)
    }
}
