//! The end of an operation of a merge: its chain goes on, and the requests of a page complete.

use crate::drive::dies::queues::Owner;
use crate::drive::{Drive, OpId};
use crate::flash::Block;
use crate::units::{Cause, Instant, Lane, Ppn};

impl Drive {
    /// An operation of a chain is done.
    pub(in crate::drive) fn merge_goes_on(&mut self, now: Instant, op: OpId, owner: Owner) {
        match owner {
            Owner::MergeRead { lane } => self.merge_read_done(now, op, lane),
            Owner::SpareRead { lane } => self.spare_read_done(now, lane),
            Owner::MergeProgram { lane } => self.merge_program_done(now, lane),
            Owner::MergeRun { lane } => self.merge_run_done(now, lane),
            Owner::MergeErase { lane } => self.merge_erase_done(now, op, lane),
            Owner::LogProgram { lane } => self.log_programmed(now, op, lane),
            _ => unreachable!("{owner:?} is no part of a merge"),
        }
    }

    /// A part of the page map is read from a spare area.
    fn spare_read_done(&mut self, now: Instant, lane: Lane) {
        self.counters.units_read += 1;
        self.book_merge(now, lane, Cause::GcCopy);
        self.ftl.log_done(lane);
        self.advance_merge(now, lane);
    }

    fn merge_read_done(&mut self, now: Instant, op: OpId, lane: Lane) {
        let version = self.flash.load(self.ops[op].ppn);
        self.counters.units_read += 1;
        let chain = self.chain(lane);
        chain.version = version;
        let to = chain.run[chain.at].1;
        self.enqueue_merge(now, lane, Owner::MergeProgram { lane }, to);
    }

    fn merge_program_done(&mut self, now: Instant, lane: Lane) {
        self.counters.copied_units += 1;
        let chain = self.chain(lane);
        let ((from, to), version) = (chain.run[chain.at], chain.version);
        chain.at += 1;
        let goes_on = chain.at < chain.run.len();
        self.chain(lane).reclaims(now, Block(0)).copied += 1;
        self.flash.copied(from, to, version);
        if goes_on {
            return self.read_copy(now, lane);
        }
        self.book_merge(now, lane, Cause::GcCopy);
        if !self.copies_in_runs() {
            self.ftl.log_done(lane);
        }
        self.advance_merge(now, lane);
    }

    /// A run that was one operation is done.
    fn merge_run_done(&mut self, now: Instant, lane: Lane) {
        let copies = self.chain(lane).run.len() as u64;
        self.counters.units_read += copies;
        self.counters.copied_units += copies;
        self.advance_merge(now, lane);
    }

    fn merge_erase_done(&mut self, now: Instant, op: OpId, lane: Lane) {
        let block = self.flash.layout.block_of(self.ops[op].ppn);
        self.counters.erases += 1;
        self.book_merge(now, lane, Cause::Erase);
        self.ftl.log_erased(block);
        self.advance_merge(now, lane);
    }

    /// The erase of a merge has failed: the block leaves its lane, or is erased again where the
    /// lane has none to spare.
    pub(in crate::drive) fn merge_erase_failed(&mut self, now: Instant, op: OpId, lane: Lane) {
        self.counters.erases += 1;
        self.count_erase_failure();
        let block = self.flash.layout.block_of(self.ops[op].ppn);
        self.book_merge(now, lane, Cause::Erase);
        if self.ftl.log_erase_failed(block) {
            return self.advance_merge(now, lane);
        }
        self.turn_read_only(now);
        let page = self.ops[op].ppn;
        self.enqueue_merge(now, lane, Owner::MergeErase { lane }, page);
    }

    /// A block is no longer read: an erase may have waited for that.
    #[inline]
    pub(in crate::drive) fn merge_read_ended(&mut self, now: Instant, page: Ppn) {
        let block = self.flash.layout.block_of(page);
        let lane = self.flash.layout.lane_of(block);
        if self.chain(lane).erase == Some(block) && !self.ftl.is_being_read(block) {
            self.chain(lane).erase = None;
            self.book_merge(now, lane, Cause::Reads);
            self.advance_merge(now, lane);
        }
    }

    /// The host's page is on flash.
    fn log_programmed(&mut self, now: Instant, op: OpId, lane: Lane) {
        let (to, slot) = (self.ops[op].ppn, self.chain(lane).slot);
        let (lpn, version, dropped, born) = {
            let s = self.buffer.slot(slot);
            (s.lpn, s.stamp.version, s.dropped, s.born)
        };
        self.flash.store(to, version);
        self.flash.note(to, lpn, born);
        self.counters.host_units += 1;
        self.writes.leaving -= 1;
        self.ftl.log_done(lane);
        if dropped {
            self.ftl.trim(lpn);
        }
        self.book_log_program(now, op, lane);
        let waits = self.merges.as_ref().is_some_and(|merges| merges.write_waits);
        self.chain(lane).landed = true;
        if !waits {
            self.tell_page(now, lane, slot);
        }
        self.advance_merge(now, lane);
        self.take_writes(now);
    }

    /// The page's own program is done: its waits are in the books of the operation.
    fn book_log_program(&mut self, now: Instant, op: OpId, lane: Lane) {
        if let Some(split) = self.split_of_program(now, op) {
            let chain = self.chain(lane);
            debug_assert_eq!(
                split.total(),
                now.since(chain.booked),
                "the program follows the last step"
            );
            chain.split += split;
            chain.booked = now;
        }
    }
}
