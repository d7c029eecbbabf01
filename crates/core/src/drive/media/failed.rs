//! The end of an operation that failed, and the work that failures leave.

use crate::drive::dies::queues::{FlashOp, Owner};
use crate::drive::{Drive, OpId, Status};
use crate::flash::Block;
use crate::units::{Instant, Ppn};

impl Drive {
    /// The end of an operation that has failed.
    #[inline(never)]
    pub(in crate::drive) fn op_failed(&mut self, now: Instant, op: OpId) {
        let FlashOp { owner, lane, ppn, .. } = self.ops[op];
        let die = self.flash.layout.die_of(lane);
        self.book_failure(now, op, die);
        match owner {
            Owner::ChainErase { .. } => {
                self.erase_failed(now, self.flash.layout.block_of(ppn));
                self.ops.release(op);
            }
            Owner::MergeErase { lane } => self.merge_erase_failed(now, op, lane),
            _ => self.program_failed(now, op),
        }
        self.poll_gc(now, die);
        self.scrub_looks(now);
    }

    fn program_failed(&mut self, now: Instant, op: OpId) {
        let FlashOp { owner, lane, ppn: row, .. } = self.ops[op];
        if let Some(faults) = &mut self.faults {
            faults.counters.program_failures += 1;
            faults.counters.pages_failed += u64::from(self.flash.layout.units_per_row);
        }
        self.flash.spoil(row);
        self.ftl.program_failed(row);
        self.count_spare(now);
        match owner {
            Owner::Rewrite => {
                self.rewrite_failed(now, op);
                self.ops.release(op);
            }
            Owner::ChainProgram { .. } => {
                self.ops[op].ppn = Ppn::NONE;
                self.enqueue(now, op);
            }
            _ => {
                self.ops[op].ppn = Ppn::NONE;
                self.collector.user_ended(self.flash.layout.die_of(lane));
                self.enqueue(now, op);
            }
        }
        self.space_used(now, self.ftl.pool_of(lane));
        self.wake_pool(now, lane);
    }

    fn erase_failed(&mut self, now: Instant, block: Block) {
        self.counters.erases += 1;
        self.count_erase_failure();
        let is_whole = self.ftl.erase_failed(block);
        self.count_spare(now);
        self.held_erase_done(now, self.flash.layout.die_of(self.flash.layout.lane_of(block)));
        if is_whole {
            self.victim_reclaimed(now, block);
        }
    }

    /// An event is over: the chains of GC runs that found no row for their copies end.
    pub(in crate::drive) fn stop_given_up(&mut self, now: Instant) {
        let Some(faults) = &mut self.faults else { return };
        let stopping = std::mem::take(&mut faults.stopping);
        if stopping.is_empty() {
            return;
        }
        stopping.iter().for_each(|lane| self.stop_chain(now, *lane));
        self.scrub_looks(now);
    }

    /// Does what failures left to do.
    pub(in crate::drive) fn settle(&mut self, now: Instant) {
        let Some(faults) = &mut self.faults else { return };
        faults.is_timed = false;
        while let Some(block) = self.faults.as_mut().and_then(|faults| faults.leaving.pop()) {
            if self.ftl.is_replaced(block) {
                self.flash.replace(block);
            }
            if self.ftl.erased(block) {
                self.victim_reclaimed(now, block);
            }
        }
        if self.is_read_only() {
            let mut refused = self.refuse_waiting(now);
            if self.strands_pages() {
                refused += self.tell_of_stranded(now);
            }
            self.count_refused(refused);
            self.drain(now);
        }
    }

    /// Those who wait for pages to be on flash are told that this will not be.
    fn tell_of_stranded(&mut self, now: Instant) -> u64 {
        let mut told = 0;
        for slot in self.buffer.each_slot() {
            while let Some(request) = self.buffer.pop_waiter(slot) {
                let r = &mut self.requests[request];
                told += u64::from(!std::mem::replace(&mut r.refused, true));
                r.remaining -= 1;
                if r.remaining == 0 {
                    self.finish_with(now, request, Status::NamespaceWriteProtected);
                }
            }
        }
        self.refuse_flushes(now);
        told
    }
}
