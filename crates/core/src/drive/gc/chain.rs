//! The chain of a collection on one lane: its steps become flash operations, one at a time.
//! `straight` is the short way of most of them.

use crate::drive::Drive;
use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::ftl::{Step, Stream};
use crate::sim::NIL;
use crate::units::{Instant, Ppn};

impl Drive {
    /// Does the next step of a lane's chain.
    pub(in crate::drive) fn advance_chain(&mut self, now: Instant, lane: u32) {
        if self.faults.is_some() && self.ftl.is_dead(self.ftl.pool_of(lane)) {
            return self.stop_chain(now, lane);
        }
        let step = self.ftl.step(lane);
        self.take_step(now, lane, step);
    }

    /// Does a step that a lane's chain asked for.
    pub(in crate::drive) fn take_step(&mut self, now: Instant, lane: u32, step: Step) {
        let layout = &self.flash.layout;
        let sectors = |units: u32| {
            if self.collector.copies_inside() { 0 } else { units * layout.unit_sectors }
        };
        let (owner, on, ppn, units, sectors) = match step {
            Step::Read { page, units } => {
                (Owner::ChainRead { lane }, lane, page, units, sectors(units))
            }
            Step::Program { lane: to, units } => {
                (Owner::ChainProgram { lane }, to, Ppn::NONE, units, sectors(layout.units_per_row))
            }
            Step::Copied => return self.lane_copied(now, lane),
        };
        let op = self.chain_op(lane);
        let operation = &mut self.ops[op];
        (operation.owner, operation.lane, operation.ppn) = (owner, on, ppn);
        (operation.units, operation.sectors) = (units, sectors);
        if self.superblock.is_some() {
            return self.enqueue_copies(now, op, lane);
        }
        self.enqueue(now, op);
    }

    /// The place of the operations of a lane's chain.
    #[inline]
    fn chain_op(&mut self, lane: u32) -> u32 {
        let mut op = self.collector.chain_ops[lane as usize];
        if op == NIL {
            op = self.ops.insert(FlashOp::new(
                Owner::ChainRead { lane },
                Class::Gc,
                lane,
                Ppn::NONE,
                0,
                0,
            ));
            self.collector.chain_ops[lane as usize] = op;
        }
        op
    }

    pub(in crate::drive) fn chain_read_done(&mut self, now: Instant, op: u32, lane: u32) {
        self.counters.units_read += u64::from(self.ops[op].units);
        let flash = &self.flash;
        self.ftl.read_done(lane, |page| flash.load(page));
        self.advance_chain(now, lane);
    }

    pub(in crate::drive) fn chain_program_done(&mut self, now: Instant, op: u32, lane: u32) {
        let FlashOp { ppn: row, units, lane: to, .. } = self.ops[op];
        if self.superblock.is_some() {
            self.stripe_row_done(to, Stream::Copy);
        }
        self.counters.copied_units += u64::from(units);
        self.counters.padded_units += u64::from(self.flash.layout.units_per_row - units);
        if let Some(timeline) = &mut self.timeline {
            timeline.copied(self.ftl.pool_of(lane), units);
        }
        if self.faults.is_some() {
            self.count_moved(lane, units);
        }
        let flash = &mut self.flash;
        self.ftl.copied(lane, row, |from, to, version| flash.copied(from, to, version));
        if self.dftl.is_some() {
            self.pages_moved(self.ftl.pool_of(lane), row, units);
        }
        if self.holds.is_some() {
            self.hurry_erases(now, self.ftl.pool_of(lane));
        }
        self.advance_chain(now, lane);
    }

    fn lane_copied(&mut self, now: Instant, lane: u32) {
        if self.ftl.lane_copied(lane) {
            self.victim_copied(now, self.ftl.pool_of(lane));
        }
    }
}
