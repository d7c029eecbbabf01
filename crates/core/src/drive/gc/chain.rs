//! The chain of a GC run on one lane: its steps become flash operations, one at a time. An
//! operation that ended on the die where the next one starts, at the same instant, needs no list
//! (`start_next_copy`).

use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::dies::schedule::Dispatching;
use crate::drive::features::Scheme;
use crate::drive::{Drive, OpId};
use crate::flash::{Operation, What};
use crate::ftl::Step;
use crate::units::{Die, Instant, Lane, Ppn};

impl Drive {
    /// Does the next step of a lane's chain.
    pub(in crate::drive) fn advance_chain(&mut self, now: Instant, lane: Lane) {
        if self.ftl.is_dead(self.ftl.pool_of(lane)) {
            return self.stop_chain(now, lane);
        }
        if let Some(pace) = &mut self.pace
            && pace.waits(&self.ftl, lane, &mut self.counters.pace)
        {
            return;
        }
        let step = self.ftl.step(lane);
        self.take_step(now, lane, step);
    }

    /// Does a step that a lane's chain asked for.
    pub(in crate::drive) fn take_step(&mut self, now: Instant, lane: Lane, step: Step) {
        let layout = &self.flash.layout;
        let inside = self.collector.copies_of_lane_inside(&self.ftl, lane);
        let sectors = |units: u32| if inside { 0 } else { units * layout.unit_sectors };
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
        if self.scheme == Scheme::Superblock {
            return self.enqueue_copies(now, op, lane);
        }
        self.enqueue_known(now, op, Class::Gc, owner, on);
    }

    /// The place of the operations of a lane's chain.
    #[inline]
    fn chain_op(&mut self, lane: Lane) -> OpId {
        let mut op = self.collector.chain_ops[lane.index()];
        if op == OpId::NIL {
            op = self.ops.insert(FlashOp::new(
                Owner::ChainRead { lane },
                Class::Gc,
                lane,
                Ppn::NONE,
                0,
                0,
            ));
            self.collector.chain_ops[lane.index()] = op;
        }
        op
    }

    fn lane_copied(&mut self, now: Instant, lane: Lane) {
        if self.ftl.lane_copied(lane) {
            self.victim_copied(now, self.ftl.pool_of(lane));
        }
    }

    /// The next operation of a chain that copies singly starts on `die`, which is its lane's, where
    /// its last one just ended. Callers pass a step that they know, so the branches fold.
    #[inline(always)]
    pub(in crate::drive) fn start_single_copy(
        &mut self,
        now: Instant,
        op: OpId,
        (die, lane): (Die, Lane),
        step: Step,
    ) {
        let queues = &self.queues[die.index()];
        let is_alone = queues.gc.front().is_none();
        let is_next = is_alone
            && (self.collector.takes_the_die()
                || !queues.has_users()
                || self.gc_goes_before(self.ftl.pool_of(lane), queues.read.front().is_some()));
        let sectors = self.collector.copy_sectors;
        if !is_next {
            let (owner, ppn) = match step {
                Step::Read { page, .. } => (Owner::ChainRead { lane }, page),
                _ => (Owner::ChainProgram { lane }, Ppn::NONE),
            };
            return self.single_copy_waits(now, op, die, (owner, ppn, sectors), is_alone);
        }
        let (owner, ppn, what) = match step {
            Step::Read { page, .. } => {
                (Owner::ChainRead { lane }, page, What::Read { page, sectors })
            }
            Step::Program { .. } => {
                let row = self.ftl.open_copy_row(lane, lane);
                let row = row.expect("the reserve holds a victim's copies");
                (Owner::ChainProgram { lane }, row, What::Program { row, sectors })
            }
            Step::Copied => unreachable!("it is no operation"),
        };
        let operation = &mut self.ops[op];
        (operation.owner, operation.ppn, operation.sectors) = (owner, ppn, sectors);
        self.flash.start(now, die, Operation { what, token: op, gc: true });
    }

    /// The next operation of a chain that copies singly joins its die's list; the die, which is
    /// idle, takes what goes first there: where no other GC operation waits (`is_alone`), one of
    /// the host that may begin, since this one does not go before the host.
    #[inline(never)]
    fn single_copy_waits(
        &mut self,
        now: Instant,
        op: OpId,
        die: Die,
        (owner, ppn, sectors): (Owner, Ppn, u32),
        is_alone: bool,
    ) {
        self.next_sequence += 1;
        let operation = &mut self.ops[op];
        (operation.owner, operation.ppn, operation.sectors) = (owner, ppn, sectors);
        operation.sequence = self.next_sequence;
        self.queues[die.index()].gc.push(&mut self.ops, op);
        debug_assert!(self.dispatching == Dispatching::AtOnce && !self.watches);
        let may_give_way = is_alone && !self.is_closed(die);
        match may_give_way.then(|| self.pick_user(now, die)).flatten() {
            Some(first) => self.issue(now, die, first),
            None => self.dispatch(now, die),
        }
    }

    /// The next operation of a chain starts on `die`, where its last one just ended.
    #[inline]
    pub(in crate::drive) fn start_next_copy(
        &mut self,
        now: Instant,
        op: OpId,
        die: Die,
        lane: Lane,
        step: Step,
    ) {
        let layout = &self.flash.layout;
        let queues = &self.queues[die.index()];
        let first = if self.collector.takes_the_die() {
            queues.gc.front().is_none()
        } else {
            queues.is_empty()
        };
        let inside = self.collector.copies_of_lane_inside(&self.ftl, lane);
        let crossing = |units: u32| if inside { 0 } else { units * layout.unit_sectors };
        let (on, units, owner, what) = match step {
            Step::Read { page, units } if first && layout.die_of(lane) == die => {
                let what = What::Read { page, sectors: crossing(units) };
                (lane, units, Owner::ChainRead { lane }, what)
            }
            Step::Program { lane: to, units } if first && layout.die_of(to) == die => {
                let sectors = crossing(layout.units_per_row);
                let row =
                    self.ftl.open_copy_row(lane, to).expect("the reserve holds a victim's copies");
                (to, units, Owner::ChainProgram { lane }, What::Program { row, sectors })
            }
            step => return self.take_step(now, lane, step),
        };
        let (What::Read { page: ppn, sectors } | What::Program { row: ppn, sectors }) = what else {
            return;
        };
        let operation = &mut self.ops[op];
        (operation.owner, operation.lane, operation.ppn) = (owner, on, ppn);
        (operation.units, operation.sectors) = (units, sectors);
        self.flash.start(now, die, Operation { what, token: op, gc: true });
    }

    /// The chain of `lane` ends: its pool reclaims nothing any more.
    pub(in crate::drive) fn stop_chain(&mut self, now: Instant, lane: Lane) {
        if self.ftl.stop_chain(lane) {
            self.copying_is_over(now, self.ftl.pool_of(lane));
        }
    }
}
