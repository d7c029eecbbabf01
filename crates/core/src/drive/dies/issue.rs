//! An operation starts on its die: the flash gets its command, and the pages of a row are frozen.
//! `schedule` chooses, this file acts.

use crate::drive::dies::queues::{Class, Owner};
use crate::drive::features::Scheme;
use crate::drive::{Drive, OpId, SlotId};
use crate::flash::{Operation, What};
use crate::units::{Die, Instant};

impl Drive {
    pub(in crate::drive) fn issue(&mut self, now: Instant, die: Die, op: OpId) {
        if self.faults.is_some() && self.finds_no_row(now, op) {
            return self.dispatch(now, die);
        }
        let gc = self.ops[op].class == Class::Gc;
        if self.watches {
            self.draws_power(now, op);
            if gc {
                self.gc_begins(now, die, op);
            }
        }
        let what = self.prepare(now, die, op);
        self.flash.start(now, die, Operation { what, token: op, gc });
    }

    /// The flash command of an operation that starts now. Inlined, so that it goes to the die in
    /// registers and not by way of the stack.
    #[inline(always)]
    pub(in crate::drive) fn prepare(&mut self, now: Instant, die: Die, op: OpId) -> What {
        self.book_issue(now, op, die);
        let operation = &mut self.ops[op];
        match operation.owner {
            Owner::Request { .. }
            | Owner::Direct { .. }
            | Owner::Rebuild { .. }
            | Owner::LookUp { .. }
            | Owner::MapRead { .. } => {
                if let Owner::Request { request, .. } = operation.owner {
                    // In a backlog it came long ago.
                    self.requests.prefetch(request);
                }
                operation.meets_gc(self.flash.gc_time(die, now));
                self.collector.user_read_started(die);
                What::Read { page: operation.ppn, sectors: operation.sectors }
            }
            // Nobody asks what they waited for.
            Owner::Fill { .. } | Owner::Update { .. } => {
                self.collector.user_read_started(die);
                What::Read { page: operation.ppn, sectors: operation.sectors }
            }
            Owner::ChainRead { .. }
            | Owner::MergeRead { .. }
            | Owner::SpareRead { .. }
            | Owner::Scrub => What::Read { page: operation.ppn, sectors: operation.sectors },
            Owner::Row { first_slot } => {
                let what = What::Program { row: operation.ppn, sectors: operation.sectors };
                if self.scheme == Scheme::CachedMap {
                    operation.meets_gc(self.flash.gc_time(die, now));
                }
                self.issue_row(first_slot);
                what
            }
            Owner::LogProgram { lane } => {
                let what = What::Program { row: operation.ppn, sectors: operation.sectors };
                if let Some(merges) = &self.merges {
                    self.buffer.freeze(merges.page_of(lane));
                }
                what
            }
            Owner::Parity | Owner::Rewrite | Owner::MergeProgram { .. } => {
                What::Program { row: operation.ppn, sectors: operation.sectors }
            }
            Owner::ChainProgram { .. } if operation.ppn.is_some() => {
                What::Program { row: operation.ppn, sectors: operation.sectors }
            }
            Owner::ChainProgram { lane: chain } => {
                let (lane, sectors) = (operation.lane, operation.sectors);
                let row = self
                    .ftl
                    .open_copy_row(chain, lane)
                    .expect("the reserve holds a victim's copies");
                operation.ppn = row;
                What::Program { row, sectors }
            }
            Owner::ChainErase { .. } | Owner::MergeErase { .. } => {
                let block = self.flash.layout.block_of(operation.ppn);
                What::Erase { block }
            }
            Owner::Journal | Owner::Checkpoint { .. } => {
                What::System { sectors: operation.sectors }
            }
            Owner::ChainCopy { .. } | Owner::MergeRun { .. } => {
                unreachable!("it starts by itself")
            }
        }
    }

    /// The pages of a row are frozen: their data crosses the channel.
    #[inline(always)]
    pub(in crate::drive) fn issue_row(&mut self, first_slot: SlotId) {
        if self.scheme == Scheme::CachedMap {
            self.row_takes_off(first_slot);
        }
        self.buffer.freeze_row(first_slot, &self.ftl);
    }

    #[inline(never)]
    fn row_takes_off(&mut self, first_slot: SlotId) {
        let Self { dftl: Some(dftl), buffer, ftl, kept, counters, .. } = self else { return };
        dftl.row_takes_off(first_slot, buffer, ftl, kept.is_some(), &mut counters.map);
    }

    /// Cache program: the next program goes ahead into the cache register, unless something else
    /// goes first.
    #[inline]
    pub(in crate::drive) fn preload(&mut self, now: Instant, die: Die) {
        if !self.flash.accepts_preload(die) {
            return;
        }
        let queues = &self.queues[die.index()];
        let others = queues.read.front().is_some()
            || queues.fill.front().is_some()
            || queues.gc.front().is_some();
        let Some(op) = queues.write.front() else { return };
        if others || self.is_closed(die) || self.collection_owns(die) {
            return;
        }
        if self.is_power_awaited() || !self.has_row(op) {
            return;
        }
        self.inherits_power(die);
        self.queues[die.index()].write.pop(&self.ops);
        let what = self.prepare(now, die, op);
        self.flash.preload(now, die, Operation { what, token: op, gc: false });
    }

    /// True while a collection on one of the die's lanes goes before the host, even between its
    /// operations.
    fn collection_owns(&self, die: Die) -> bool {
        self.ftl
            .pools_on(die)
            .any(|pool| self.ftl.is_collecting(pool) && self.gc_goes_before(pool, false))
    }
}
