//! The end of an operation of a GC run, and of a read of a block: the chain goes on, a victim is
//! erased or reclaimed.

use crate::drive::dies::queues::FlashOp;
use crate::drive::features::Scheme;
use crate::drive::{Drive, OpId};
use crate::flash::Block;
use crate::ftl::{Step, Stream};
use crate::units::{Die, Instant, Lane, Ppn};

impl Drive {
    pub(in crate::drive) fn chain_read_done(&mut self, now: Instant, op: OpId, lane: Lane) {
        self.counters.units_read += u64::from(self.ops[op].units);
        let flash = &self.flash;
        self.ftl.read_done(lane, |page| flash.load(page));
        self.advance_chain(now, lane);
    }

    pub(in crate::drive) fn chain_program_done(&mut self, now: Instant, op: OpId, lane: Lane) {
        let FlashOp { ppn: row, units, lane: to, .. } = self.ops[op];
        self.stripe_row_done(to, Stream::Copy);
        self.counters.copied_units += u64::from(units);
        self.counters.padded_units += u64::from(self.flash.layout.units_per_row - units);
        if let Some(timeline) = &mut self.timeline {
            timeline.copied(self.ftl.pool_of(lane), units);
        }
        self.count_moved(lane, units);
        if self.ftl.is_folding(lane) {
            self.counters.pslc.folded_units += u64::from(units);
        }
        let flash = &mut self.flash;
        self.ftl.copied(lane, row, |from, to, version| flash.copied(from, to, version));
        if self.scheme == Scheme::CachedMap {
            self.pages_moved(self.ftl.pool_of(lane), row, units);
        }
        self.hurry_erases(now, self.ftl.pool_of(lane));
        self.advance_chain(now, lane);
        if self.pace.is_some() {
            self.space_used(now, self.ftl.pool_of(lane));
        }
    }

    /// The read of a copy ended on `die`, at which nobody looks: what is to be done then.
    #[inline(always)]
    pub(in crate::drive) fn copy_is_read(&mut self, now: Instant, op: OpId, die: Die, lane: Lane) {
        if self.collector.way.is_single {
            return self.single_read_ended(now, op, die, lane);
        }
        self.counters.units_read += u64::from(self.ops[op].units);
        let flash = &self.flash;
        self.ftl.read_done(lane, |page| flash.load(page));
        self.next_step_of_copy(now, op, die, lane);
    }

    /// The program of a copy ended likewise.
    #[inline(always)]
    pub(in crate::drive) fn copy_is_programmed(
        &mut self,
        now: Instant,
        op: OpId,
        die: Die,
        lane: Lane,
    ) {
        if self.collector.way.is_single {
            return self.single_program_ended(now, op, die, lane);
        }
        let FlashOp { ppn: row, units, .. } = self.ops[op];
        self.counters.copied_units += u64::from(units);
        self.counters.padded_units += u64::from(self.flash.layout.units_per_row - units);
        let flash = &mut self.flash;
        self.ftl.copied(lane, row, |from, to, version| flash.copied(from, to, version));
        self.copy_goes_on(now, op, die, lane);
    }

    /// A whole copy ended likewise.
    #[inline(always)]
    pub(in crate::drive) fn whole_copy_goes_on(
        &mut self,
        now: Instant,
        op: OpId,
        die: Die,
        lane: Lane,
    ) {
        self.whole_copy_done(die, lane);
        self.copy_goes_on(now, op, die, lane);
    }

    #[inline(always)]
    fn copy_goes_on(&mut self, now: Instant, op: OpId, die: Die, lane: Lane) {
        if !self.collector.way.is_whole || !self.start_whole_copy(now, op, die, lane) {
            self.next_step_of_copy(now, op, die, lane);
        }
    }

    #[inline(always)]
    fn next_step_of_copy(&mut self, now: Instant, op: OpId, die: Die, lane: Lane) {
        let step = self.ftl.step(lane);
        self.start_next_copy(now, op, die, lane, step);
        self.poll_gc(now, die);
    }

    /// The read of a copy that goes singly ended: its page is programmed next, if it still counts.
    #[inline(never)]
    fn single_read_ended(&mut self, now: Instant, op: OpId, die: Die, lane: Lane) {
        self.counters.units_read += 1;
        let flash = &self.flash;
        if self.ftl.single_read(lane, |page| flash.load(page)) {
            self.start_single_copy(now, op, (die, lane), Step::Program { lane, units: 1 });
        } else {
            self.single_copy_goes_on(now, op, die, lane);
        }
        self.poll_gc(now, die);
    }

    /// The program of a copy that goes singly ended: the next page is read.
    #[inline(never)]
    fn single_program_ended(&mut self, now: Instant, op: OpId, die: Die, lane: Lane) {
        let row = self.ops[op].ppn;
        self.counters.copied_units += 1;
        let flash = &mut self.flash;
        self.ftl.single_copied(lane, row, |from, to, version| flash.copied(from, to, version));
        if !self.collector.way.is_whole || !self.start_whole_copy(now, op, die, lane) {
            self.single_copy_goes_on(now, op, die, lane);
            self.poll_gc(now, die);
        }
    }

    #[inline(always)]
    fn single_copy_goes_on(&mut self, now: Instant, op: OpId, die: Die, lane: Lane) {
        match self.ftl.single_step(lane) {
            Some(page) => {
                self.start_single_copy(now, op, (die, lane), Step::Read { page, units: 1 })
            }
            None => self.take_step(now, lane, Step::Copied),
        }
    }

    pub(in crate::drive) fn chain_erase_done(&mut self, now: Instant, block: Block) {
        self.counters.erases += 1;
        let is_whole = self.ftl.erased(block);
        self.held_erase_done(now, self.flash.layout.die_of(self.flash.layout.lane_of(block)));
        if is_whole {
            self.victim_reclaimed(now, block);
        }
    }

    /// The last block of a victim is erased.
    pub(in crate::drive) fn victim_reclaimed(&mut self, now: Instant, block: Block) {
        let pool = self.ftl.pool_of(self.flash.layout.lane_of(block));
        self.timeline_reclaimed(now, pool, block);
        for lane in self.ftl.lanes_of(pool) {
            self.dispatch(now, self.flash.layout.die_of(lane));
        }
        self.plane_erased(now, pool);
        self.space_used(now, pool);
        // Dynamic allocation may have found no lane with room until now.
        self.take_writes(now);
    }

    /// An erase of the die is done: the next one of its backlog may start.
    pub(in crate::drive) fn held_erase_done(&mut self, now: Instant, die: Die) {
        if let Some(holds) = &mut self.holds {
            holds.erase_done(die);
            self.let_go(now, die);
        }
    }

    #[cold]
    fn room_revives(&mut self, now: Instant) {
        self.revive_pools(now);
        self.take_writes(now);
    }

    /// A read of the page's block ended: an erase may have waited for it.
    #[inline(always)]
    pub(in crate::drive) fn end_of_read(&mut self, now: Instant, page: Ppn) {
        if self.ftl.read_ended(page) {
            self.may_erase(now, self.flash.layout.block_of(page));
        }
        if self.scheme == Scheme::LogBlocks {
            self.merge_read_ended(now, page);
        }
        // `nogc` passes over blocks being read: it may find one now, and waiting writes room.
        if self.ftl.has_revived() {
            self.room_revives(now);
        }
    }
}
