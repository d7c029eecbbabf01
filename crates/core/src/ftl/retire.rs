//! Bad blocks under page mapping: which blocks are out of service, and what becomes of the groups
//! that lose one.
//!
//! **Groups.** Group block `b` is block number `b` of every lane of its pool. A drive does not give
//! up a group for one bad block: another block of the same lane takes its place. So a number is a
//! place in a group here, not a place on the chip (no time depends on that): of the blocks of a
//! lane that are bad from the start as many numbers at the end of the lane are bad. A pool has as
//! many groups as its worst lane has good blocks; what the other lanes have left over are their
//! *spares*. A block that fails is replaced by a spare of its lane when its group is reclaimed; its
//! number then stands for the spare, with the spare's wear. Without a spare the group is retired,
//! and its good blocks become spares. Pools of one lane have no spares: there group, block and
//! number are one.
//!
//! **A program that fails** closes the group at once: rows that nobody has opened yet are given up,
//! rows under way end. Then the group waits for its collection, which is urgent
//! (`PoolState::presses`), and chosen before any other victim while the reserve is whole. Its
//! failed blocks are not erased.
//!
//! **The reserve.** Copies may fail, too, and each failure takes the rest of a group; a victim
//! whose erase fails gives nothing back for what its copies took. So where operations may fail one
//! group more is reserved for copies. When even that is gone a collection cannot end: it is given
//! up ([`PageMap::give_up`]), its victim stays as it is, and the pool is *dead*: it is written as
//! far as it has rows, and reclaims nothing any more.
//!
//! **How many a pool needs** ([`Needs`]): what validation asks of a new drive; below that the drive
//! turns read-only.

mod table;

pub use table::Needs;

use super::log::Losses;
use super::{PageMap, Stream};
use crate::flash::Block;
use crate::units::{Lane, Pool, Ppn};
use std::collections::VecDeque;

/// The state of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    /// Failed; the spare takes its place when its group is reclaimed.
    Replaced(Block),
    /// Failed, or bad from the start.
    Bad,
}

/// The bad blocks of a drive.
#[derive(Clone, Debug)]
pub(super) struct Retire {
    states: Vec<State>,
    /// By block: rows that are opened and whose program is not done.
    under_way: Vec<u8>,
    /// By block: it closes with the last row under way.
    closes: Vec<bool>,
    /// A block that a lane has not opened and never will, behind the one that it has open: they
    /// close in their order.
    follow: Vec<(Block, Block)>,
    /// By lane: good blocks without a group.
    spares: Vec<Vec<Block>>,
    pools: Vec<Health>,
    needed: u32,
    factory_bad: u32,
    retired: u64,
}

/// The state of a pool.
#[derive(Clone, Debug, Default)]
struct Health {
    /// Groups in service.
    good: u32,
    /// Groups that will be retired when they are reclaimed.
    doomed: Vec<u32>,
    /// Groups that are open and were closed early.
    closing: Vec<u32>,
    /// Closed groups with a failed block whose data is still to be moved.
    failed: VecDeque<u32>,
    dead: bool,
}

/// The table of bad blocks, as a drive keeps it.
#[derive(Clone, Debug)]
pub struct BadBlocks {
    retire: Option<Box<Retire>>,
    of_log: Option<Losses>,
}

impl Retire {
    /// A row of the block is opened.
    #[inline]
    pub fn row_opened(retire: &mut Option<Box<Self>>, block: Block) {
        if let Some(retire) = retire {
            retire.under_way[block.0 as usize] += 1;
        }
    }
}

impl PageMap {
    /// After a power loss: a group with a failed block waits for its collection.
    pub(super) fn found_failed(&mut self, pool: Pool, index: u32) {
        if let Some(retire) = &mut self.retire {
            retire.pools[pool.index()].failed.push_back(index);
        }
        self.refresh_rescue(pool);
    }

    /// The program of a row is done, well or not.
    #[inline]
    pub(super) fn row_ended(&mut self, row: Ppn) {
        let (block, last) =
            (self.layout.block_of(row), self.layout.row_of(row) + 1 == self.layout.rows);
        let Some(retire) = &mut self.retire else { return };
        let number = block.0 as usize;
        retire.under_way[number] -= 1;
        if retire.closes[number] {
            if retire.under_way[number] == 0 {
                retire.closes[number] = false;
                self.fill(block);
            }
        } else if last {
            self.fill(block);
        }
    }

    /// A block takes no more rows, and those that follow it take none.
    fn fill(&mut self, block: Block) {
        self.fill_one(block);
        let next = |retire: &mut Retire| {
            let at = retire.follow.iter().position(|(first, _)| *first == block)?;
            Some(retire.follow.remove(at).1)
        };
        while let Some(follower) = self.retire.as_mut().and_then(|retire| next(retire)) {
            self.fill_one(follower);
        }
    }

    /// A block takes no more rows: its group may be closed with it.
    fn fill_one(&mut self, block: Block) {
        self.block_filled(block);
        let (pool, index) = (self.pool_of(self.layout.lane_of(block)), self.layout.index_of(block));
        if !self.blocks.is_candidate(block) {
            return;
        }
        let failed = self.group(pool, index).any(|block| self.has_failed(block));
        let Some(retire) = &mut self.retire else { return };
        let health = &mut retire.pools[pool.index()];
        health.closing.retain(|closing| *closing != index);
        if failed && !health.dead {
            health.failed.push_back(index);
            self.set_hopeless(pool, false);
        }
        self.refresh_rescue(pool);
    }

    fn refresh_rescue(&mut self, pool: Pool) {
        let Some(retire) = &self.retire else { return };
        let health = &retire.pools[pool.index()];
        self.pools[pool.index()].presses = !health.failed.is_empty() && !health.dead;
    }

    /// True when a program of the block, or its erase, has failed and it is still where it was.
    pub(super) fn has_failed(&self, block: Block) -> bool {
        self.retire.as_ref().is_some_and(|retire| retire.states[block.0 as usize] != State::Good)
    }

    /// True when the copied-out block is not erased: a program of it has failed.
    pub fn is_failed(&self, block: Block) -> bool {
        self.has_failed(block)
    }

    /// True when a spare takes the place of a block that failed.
    pub fn is_replaced(&self, block: Block) -> bool {
        let state = |retire: &Retire| retire.states[block.0 as usize];
        self.retire.as_ref().is_some_and(|retire| matches!(state(retire), State::Replaced(_)))
    }

    /// True when a group that the pool collects holds a block that failed.
    pub fn moves_failed(&self, lane: Lane) -> bool {
        let index = self.layout.index_of(self.victim_block(lane));
        self.group(self.pool_of(lane), index).any(|block| self.has_failed(block))
    }

    /// The program of a row has failed: none of its pages is there. The block closes at once.
    pub fn program_failed(&mut self, row: Ppn) {
        let block = self.layout.block_of(row);
        let (pool, index) = (self.pool_of(self.layout.lane_of(block)), self.layout.index_of(block));
        self.fail(block);
        let Some(retire) = &mut self.retire else { return };
        let closing = &mut retire.pools[pool.index()].closing;
        if !closing.contains(&index) {
            closing.push(index);
            self.close_early(pool, index);
        }
        self.row_ended(row);
    }

    /// A block has failed: a spare of its lane will replace it, or its group is lost.
    fn fail(&mut self, block: Block) {
        let (lane, index) = (self.layout.lane_of(block), self.layout.index_of(block));
        let pool = self.pool_of(lane).index();
        let Some(retire) = &mut self.retire else { return };
        if retire.states[block.0 as usize] != State::Good {
            return;
        }
        let spare = retire.spares[lane.index()].pop();
        retire.states[block.0 as usize] = spare.map_or(State::Bad, State::Replaced);
        let health = &mut retire.pools[pool];
        if spare.is_none() && !health.doomed.contains(&index) {
            health.doomed.push(index);
            health.good -= 1;
        }
    }

    /// Gives up the rows of an open group that no lane has opened yet.
    fn close_early(&mut self, pool: Pool, index: u32) {
        let first = self.layout.block(self.pools[pool.index()].first_lane, index);
        let Some(stream) = self.writes_to(first) else { return };
        // Without classes of data: validation sees to that.
        let log = &mut self.pools[pool.index()].logs[0][stream as usize];
        let at = log.open.iter().take_while(|group| group.index != index).count();
        let number = log.opened_before + at as u64 + 1;
        log.open[at].is_given_up = true;
        for lane in self.lanes_of(pool) {
            self.close_lane_early(lane, index, stream, number);
        }
    }

    /// Gives up the rows of one lane in an open group, which is the one of `number` that the lane
    /// opens.
    fn close_lane_early(&mut self, lane: Lane, index: u32, stream: Stream, number: u64) {
        let (rows, block) = (self.layout.rows, self.layout.block(lane, index));
        let pool = self.pool_of(lane).index();
        let current = self.frontiers[lane.index()][stream as usize];
        let writes = self.writes_to(current.block) == Some(stream);
        let frontier = &mut self.frontiers[lane.index()][stream as usize];
        let Some(retire) = &mut self.retire else { return };
        let is_under_way = |block: Block| retire.under_way[block.0 as usize] > 0;
        let (lost, now) = if frontier.opened == number && frontier.row < rows {
            frontier.row = rows;
            let now = !is_under_way(block);
            retire.closes[block.0 as usize] = !now;
            (rows - current.row, now)
        } else if frontier.opened + 1 == number {
            // It would have been the lane's next. A lane further back fills it when it gets there.
            frontier.opened += 1;
            let waits = current.opened > 0
                && (current.row < rows || (writes && is_under_way(current.block)));
            if waits {
                retire.follow.push((current.block, block));
            }
            (rows, !waits)
        } else {
            return;
        };
        self.pools[pool].free_units -= lost * self.layout.units_per_row;
        if now {
            self.fill(block);
        }
    }

    /// Before a victim is chosen: a group with a failed block goes first while the copies of
    /// another victim would still find room.
    pub(super) fn prefer_failed(&mut self, pool: Pool) {
        let Some(retire) = &self.retire else { return };
        let Some(failed) = retire.pools[pool.index()].failed.front().copied() else { return };
        let state = &mut self.pools[pool.index()];
        let room = state.has_reserve(&self.layout);
        state.wear_victim = room.then_some(failed);
    }

    /// Nothing else would be gained: a group with a failed block, if there is one and room for its
    /// copies.
    pub(super) fn last_resort(&mut self, pool: Pool, avoid_reads: bool) -> Option<u32> {
        let failed = self.retire.as_ref()?.pools[pool.index()].failed.front().copied()?;
        let state = &self.pools[pool.index()];
        let room = if state.shared { state.free_units > 0 } else { !state.free.is_empty() };
        let is_candidate = |block: Block| self.blocks.is_candidate(block);
        let is_read = |block: Block| avoid_reads && self.blocks.is_being_read(block);
        let may =
            room && self.group(pool, failed).all(|block| is_candidate(block) && !is_read(block));
        may.then_some(failed)
    }

    /// The erase of a copied victim's block has failed; true when the whole victim is reclaimed or
    /// retired.
    pub fn erase_failed(&mut self, block: Block) -> bool {
        self.blocks.erased(block);
        self.fail(block);
        self.leaves_victim(block)
    }

    /// A block of a copied victim is erased, or was not because it failed; true when the whole
    /// victim is done.
    pub(super) fn leaves_victim(&mut self, block: Block) -> bool {
        if self.has_failed(block) {
            assert_eq!(self.blocks.valid(block), 0, "{block:?} is retired with valid pages");
        } else {
            self.blocks.erased(block);
        }
        let (pool, index) = (self.pool_of(self.layout.lane_of(block)), self.layout.index_of(block));
        let copied = &mut self.collections[pool.index()].copied;
        let at =
            copied.iter().position(|copied| copied.index == index).expect("a copied victim leaves");
        copied[at].erasing -= 1;
        if copied[at].erasing > 0 {
            return false;
        }
        copied.remove(at);
        if self.group_done(pool, index) {
            let state = &mut self.pools[pool.index()];
            state.free_units += state.lanes * self.layout.units_per_block;
            let erases = self.blocks.erases(block);
            self.pools[pool.index()].free.push(index, erases);
            self.level_wear(pool, erases);
        }
        self.refresh_rescue(pool);
        true
    }

    /// Nothing is left in a group: its failed blocks are replaced, or it is retired; true when it
    /// may be used again.
    pub(super) fn group_done(&mut self, pool: Pool, index: u32) -> bool {
        for member in self.group(pool, index) {
            self.replace(member);
        }
        let Some(retire) = &mut self.retire else { return true };
        let health = &mut retire.pools[pool.index()];
        health.failed.retain(|failed| *failed != index);
        if let Some(at) = health.doomed.iter().position(|doomed| *doomed == index) {
            health.doomed.swap_remove(at);
            for member in self.group(pool, index) {
                self.keep_as_spare(member);
            }
            return false;
        }
        true
    }

    /// A block that failed leaves service; where it has a spare its number stands for that from now
    /// on.
    fn replace(&mut self, block: Block) {
        let Some(retire) = &mut self.retire else { return };
        let state = retire.states[block.0 as usize];
        retire.retired += u64::from(state != State::Good);
        if let State::Replaced(spare) = state {
            retire.states[spare.0 as usize] = State::Bad;
            retire.states[block.0 as usize] = State::Good;
            self.blocks.exchange_erases(block, spare);
        }
    }

    fn keep_as_spare(&mut self, block: Block) {
        let lane = self.layout.lane_of(block).index();
        if let Some(retire) = &mut self.retire
            && retire.states[block.0 as usize] == State::Good
        {
            retire.spares[lane].push(block);
        }
    }

    /// A copy finds no row: the pool reclaims nothing any more.
    pub fn give_up(&mut self, pool: Pool) {
        debug_assert!(
            self.retire.is_some(),
            "without failures the reserve holds a victim's copies"
        );
        let Some(retire) = &mut self.retire else { return };
        retire.pools[pool.index()].dead = true;
        self.pools[pool.index()].wear_victim = None;
        self.refresh_rescue(pool);
    }

    /// True when the pool reclaims nothing any more.
    #[inline]
    pub fn is_dead(&self, pool: Pool) -> bool {
        self.retire.as_ref().is_some_and(|retire| retire.pools[pool.index()].dead)
    }

    /// True when no group is left for the copies of a collection that takes no time.
    pub fn has_lost_reserve(&self, pool: Pool) -> bool {
        let state = &self.pools[pool.index()];
        self.retire.is_some() && !state.shared && state.free.is_empty()
    }

    /// True when data of the pool waits in a group with a failed block.
    pub fn has_failed_groups(&self, pool: Pool) -> bool {
        let Some(retire) = &self.retire else { return false };
        let first = self.pools[pool.index()].first_lane;
        let waits = |index: &u32| self.blocks.is_candidate(self.layout.block(first, *index));
        retire.pools[pool.index()].failed.iter().any(waits)
    }

    /// The chain of `lane` ends because its pool is dead; true when it was the last of the
    /// collection.
    pub fn stop_chain(&mut self, lane: Lane) -> bool {
        self.relocations[lane.index()].stop();
        self.stop_part(self.pool_of(lane))
    }

    /// A lane's part of the copy, or a row of parity, ends in a dead pool, which erases nothing any
    /// more; true when it was the last of the collection.
    pub fn stop_part(&mut self, pool: Pool) -> bool {
        let collection = &mut self.collections[pool.index()];
        collection.copying -= 1;
        collection.copying == 0
    }

    /// Group blocks that the worst pool can still lose; negative when it has fewer than it needs.
    pub fn spare_groups(&self) -> i64 {
        let Some(retire) = &self.retire else {
            return self.log.as_ref().map_or(0, |log| log.spare_blocks().into());
        };
        let left = |health: &Health| i64::from(health.good) - i64::from(retire.needed);
        retire.pools.iter().map(left).min().unwrap_or(0)
    }

    /// Blocks that are bad from the start, and those that were retired since.
    pub fn bad_blocks(&self) -> (u32, u64) {
        let of_log = || self.log.as_ref().map_or((0, 0), |log| log.bad_blocks());
        self.retire.as_ref().map_or_else(of_log, |retire| (retire.factory_bad, retire.retired))
    }

    /// Blocks of a pool that are erased while their victim is not wholly: they count as free.
    pub(super) fn erased_of_victims(&self, pool: Pool) -> u32 {
        match self.retire {
            None => {
                let counts = |index| !self.is_static(index);
                let lanes = self.pools[pool.index()].lanes;
                self.collections[pool.index()].blocks_erased(lanes, counts)
            }
            // Here they count when the whole victim is done.
            Some(_) => 0,
        }
    }

    /// Erases of the least worn block that is in service.
    pub(super) fn least_erases(&self) -> u32 {
        let in_service =
            |(block, erases): (u32, &u32)| (!self.has_failed(Block(block))).then_some(*erases);
        (0..).zip(self.blocks.all_erases()).filter_map(in_service).min().unwrap_or(0)
    }

    /// Asserts what must hold of bad blocks: they hold nothing, and every other block is in a group
    /// or a spare.
    pub(super) fn check_bad_blocks(&self) {
        let Some(retire) = &self.retire else { return };
        for (number, health) in self.each_pool().zip(&retire.pools) {
            let lanes = self.lanes_of(number);
            let mut out = vec![0; lanes.len()];
            for (at, lane) in lanes.clone().enumerate() {
                let blocks = (0..self.layout.blocks).map(|index| self.layout.block(lane, index));
                let is_doomed =
                    |block: &Block| health.doomed.contains(&self.layout.index_of(*block));
                out[at] = blocks
                    .filter(|block| {
                        !is_doomed(block) && retire.states[block.0 as usize] == State::Bad
                    })
                    .inspect(|block| {
                        assert_eq!(self.blocks.valid(*block), 0, "{block:?} is out of service")
                    })
                    .count() as u32
                    + retire.spares[lane.index()].len() as u32;
            }
            let (doomed, total) = (health.doomed.len() as u32, self.layout.blocks);
            // Spares that wait to replace a failed block are of neither kind.
            let waiting = |lane: Lane| {
                let blocks = (0..total)
                    .map(|index| retire.states[self.layout.block(lane, index).0 as usize]);
                blocks.filter(|state| matches!(state, State::Replaced(_))).count() as u32
            };
            for (at, lane) in lanes.enumerate() {
                let accounted = health.good + doomed + out[at] + waiting(lane);
                assert_eq!(accounted, total, "blocks of lane {lane}: {health:?}");
            }
        }
    }
}
