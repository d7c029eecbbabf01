//! The end of a flash operation: its owner is told, then the rooms that may begin something now.
//! This is where each owner of an operation is told.

use super::dies::queues::{FlashOp, Owner};
use super::gc::mode::Admission;
use super::{Drive, Status};
use crate::drive::parity::RebuildId;
use crate::drive::{OpId, SlotId};
use crate::flash::{BOOKED, Fired, LEAN, WATCHED};
use crate::units::Die;
use crate::units::Instant;

impl Drive {
    /// Does what the flash brings next, and goes on as long as more of it comes before `limit` and
    /// before all else; says when the next event is.
    pub(super) fn fire(&mut self, limit: Instant) -> Instant {
        match self.flash.way() {
            LEAN => self.fire_until::<LEAN>(limit),
            BOOKED => self.fire_booked(limit),
            _ => self.fire_watched(limit),
        }
    }

    /// Of a flash of which books are kept.
    #[inline(never)]
    fn fire_booked(&mut self, limit: Instant) -> Instant {
        self.fire_until::<BOOKED>(limit)
    }

    /// Of a flash of which features look at single operations.
    #[inline(never)]
    fn fire_watched(&mut self, limit: Instant) -> Instant {
        self.fire_until::<WATCHED>(limit)
    }

    #[inline(always)]
    fn fire_until<const WAY: u8>(&mut self, limit: Instant) -> Instant {
        let mut now = self.flash.next_at();
        loop {
            debug_assert!(self.flash.way() <= WAY, "no feature begins to look in between");
            match WAY {
                WATCHED => self.fire_next(now),
                _ => self.fire_as::<WAY>(now),
            }
            if self.watches {
                self.event_is_over(now);
            }
            now = self.flash.next_at();
            if now >= limit || self.others_come_by(now) {
                return now.min(self.next_but_flash_at());
            }
        }
    }

    /// The next event of a flash at which no features look but these.
    #[inline(always)]
    fn fire_as<const WAY: u8>(&mut self, now: Instant) {
        let fired = self.flash.turn_as::<WAY>(now);
        self.tell_fired::<WAY>(now, fired);
        debug_assert!(fired.preload().is_none(), "a feature looks at single operations");
    }

    /// The next event of a flash of which features look at single operations.
    #[inline(always)]
    fn fire_next(&mut self, now: Instant) {
        let fired = self.flash.fire_next();
        self.tell_fired::<WATCHED>(now, fired);
        if let Some(die) = fired.preload() {
            self.preload(now, die);
        }
    }

    /// Tells of an operation that ended and of a die that is free.
    #[inline(always)]
    fn tell_fired<const WAY: u8>(&mut self, now: Instant, fired: Fired) {
        if let Some(op) = fired.done()
            && !self.ends_shortly::<WAY>(now, op, fired)
        {
            self.step_ended(now, op);
            self.op_done(now, op, fired.behind_gc());
        }
        if let Some(die) = fired.free() {
            let is_idle = self.flash.is_idle(die);
            if is_idle || !self.direct.is_possible() {
                self.die_is_free(now, die, is_idle, fired.done().is_none());
            }
        }
    }

    /// The array of a die may take an operation, with one that ended or, `early`, before it did.
    #[inline(always)]
    fn die_is_free(&mut self, now: Instant, die: Die, is_idle: bool, early: bool) {
        if early {
            self.array_is_free(now, die);
        }
        if !early && is_idle && !self.may_dispatch_if(true, die) {
            return self.flash.rest_idle(die);
        }
        if self.may_dispatch(die) {
            self.dispatch(now, die);
        }
        self.flash.rest(die);
    }

    /// The end of an operation at which no optional feature looks; false where one may, and where a
    /// read waits for others: then nothing was done.
    #[inline(always)]
    fn ends_shortly<const WAY: u8>(&mut self, now: Instant, op: OpId, fired: Fired) -> bool {
        match self.ops[op].owner {
            Owner::Direct { id } => {
                self.direct_read_ended(now, op, id, fired.behind_gc());
                true
            }
            Owner::Request { .. } if self.direct.is_possible() => {
                self.ends_directly(now, op, fired.behind_gc())
            }
            Owner::Row { first_slot } if self.direct.is_possible() => {
                self.row_ends_directly::<WAY>(now, op, first_slot);
                true
            }
            Owner::ChainRead { lane } => {
                let die = self.copy_ended::<WAY>(now, op, fired);
                die.map(|die| self.copy_is_read(now, op, die, lane)).is_some()
            }
            Owner::ChainProgram { lane } => {
                let die = self.copy_ended::<WAY>(now, op, fired);
                die.map(|die| self.copy_is_programmed(now, op, die, lane)).is_some()
            }
            Owner::ChainCopy { lane } => {
                let die = self.copy_ended::<WAY>(now, op, fired);
                die.map(|die| self.whole_copy_goes_on(now, op, die, lane)).is_some()
            }
            _ => false,
        }
    }

    /// The die of a copy's operation that ended, if its chain goes on at once.
    #[inline(always)]
    fn copy_ended<const WAY: u8>(&mut self, now: Instant, op: OpId, fired: Fired) -> Option<Die> {
        let straight = self.collector.way.is_straight && !self.watches;
        let die = fired.free().filter(|_| straight)?;
        if WAY != LEAN {
            self.book_copy_end(now, op, die);
        }
        Some(die)
    }

    /// Dies that wait for a share of the power budget have their turn, as far as it goes.
    pub(in crate::drive) fn share_power(&mut self, now: Instant) {
        let Some(power) = &mut self.power else { return };
        power.begin_turns();
        let mut at = 0;
        while let Some(die) = self.power.as_mut().and_then(|power| power.turn(at)) {
            if self.flash.is_idle(die) {
                self.flash.waits_for_power(now, die, false);
                self.dispatch(now, die);
            } else if let Some(power) = &mut self.power {
                power.keeps_turn(die);
            }
            at += usize::from(self.power.as_ref().is_some_and(|power| power.waits(die)));
        }
    }

    /// Ends the program of a row of the host.
    #[inline(always)]
    fn row_ends_directly<const WAY: u8>(&mut self, now: Instant, op: OpId, first_slot: SlotId) {
        let die = self.flash.layout.die_of(self.ops[op].lane);
        if WAY != LEAN {
            self.book_end(now, op, die);
        }
        self.plain_row_done(now, op, first_slot);
        if WAY != LEAN {
            self.book_told();
        }
        self.ops.release(op);
        self.collector.user_ended(die);
        self.poll_gc(now, die);
    }

    /// A flash operation is done.
    #[inline]
    pub(in crate::drive) fn op_done(&mut self, now: Instant, op: OpId, behind_gc: bool) {
        let operation = &mut self.ops[op];
        let FlashOp { owner, lane, class, .. } = *operation;
        operation.gc_met.and_in_flash(behind_gc && class.is_of_host());
        let die = self.flash.layout.die_of(lane);
        if self.op_fails(op) {
            return self.op_failed(now, op);
        }
        self.book_end(now, op, die);
        if let Some(planes) = self.collector.planes.as_mut().filter(|_| !class.is_of_host()) {
            planes.on_gc_op_end(&self.flash.layout, die);
        }
        self.tell_owner(now, op, owner, die);
        self.book_told();
        debug_assert_ne!(op, OpId::NIL);
        match owner {
            // Its chain keeps the place.
            Owner::ChainRead { .. } | Owner::ChainProgram { .. } => {}
            Owner::MergeRead { .. }
            | Owner::MergeProgram { .. }
            | Owner::MergeRun { .. }
            | Owner::MergeErase { .. }
            | Owner::SpareRead { .. } => {}
            _ => {
                self.ops.release(op);
                if class.is_of_host() {
                    self.collector.user_ended(die);
                }
            }
        }
        self.after_op(now, die);
    }

    /// Tells the owner of an operation that it is done.
    #[inline]
    fn tell_owner(&mut self, now: Instant, op: OpId, owner: Owner, die: Die) {
        match owner {
            Owner::Request { request, first } => {
                self.collector.user_read_ended(die);
                self.read_left(now, die);
                self.read_done(now, op, request, first);
            }
            Owner::Direct { .. } => unreachable!("it has an end of its own"),
            Owner::LookUp { request, number } => {
                self.collector.user_read_ended(die);
                self.looked_up(now, op, request, number);
            }
            Owner::Fill { slot } => {
                self.check_own_read(op);
                self.collector.user_read_ended(die);
                self.fill_done(now, op, slot);
            }
            Owner::Rebuild { request, rebuild } => {
                self.check_own_read(op);
                self.collector.user_read_ended(die);
                self.read_left(now, die);
                self.extra_read_done(now, op, request, rebuild);
            }
            Owner::Update { update, slot } => {
                self.check_own_read(op);
                self.collector.user_read_ended(die);
                self.update_read_done(now, op, update, slot);
            }
            Owner::MapRead { page } => {
                self.collector.user_read_ended(die);
                self.map_read_done(now, op, page);
            }
            Owner::Row { first_slot } => self.row_done(now, op, first_slot),
            Owner::Parity => self.parity_done(now, op),
            Owner::ChainRead { lane } => self.chain_read_done(now, op, lane),
            Owner::ChainProgram { lane } => self.chain_program_done(now, op, lane),
            Owner::ChainErase { .. } => {
                let block = self.flash.layout.block_of(self.ops[op].ppn);
                self.chain_erase_done(now, block);
            }
            Owner::Journal => self.journal_written(now),
            Owner::Checkpoint { page } => self.checkpoint_written(now, die, page),
            Owner::Scrub => self.scrub_read_done(now, op),
            Owner::Rewrite => self.rewrite_done(now, op),
            // All others are operations of merges.
            _ => self.merge_goes_on(now, op, owner),
        }
    }

    /// Ends a read that waits for no other operation. False where it is something else that ended.
    #[inline]
    pub(in crate::drive) fn ends_directly(
        &mut self,
        now: Instant,
        op: OpId,
        behind_gc: bool,
    ) -> bool {
        let FlashOp {
            owner: Owner::Request { request, .. },
            lane,
            ppn,
            units: 1,
            feeds: RebuildId::NIL,
            ..
        } = self.ops[op]
        else {
            return false;
        };
        if self.requests[request].remaining != 1 {
            return false;
        }
        let die = self.flash.layout.die_of(lane);
        self.book_end(now, op, die);
        self.collector.user_read_ended(die);
        self.counters.units_read += 1;
        self.end_of_read(now, ppn);
        let r = &mut self.requests[request];
        r.gc_blocked |= behind_gc | self.ops[op].gc_met.anywhere();
        r.remaining = 0;
        self.complete(now, request, Status::Success, 0);
        self.book_told();
        self.requests.release(request);
        self.ops.release(op);
        self.collector.user_ended(die);
        self.poll_gc(now, die);
        true
    }

    /// After an operation on `die`: what may begin now.
    #[inline]
    fn after_op(&mut self, now: Instant, die: Die) {
        self.poll_gc(now, die);
        self.scrub_looks(now);
        self.checkpoint_looks(now);
        if let Some(block) = self.flash.take_worn() {
            self.refresh(now, block);
        }
    }

    /// A die is free whose operation has ended before, or ends later.
    #[inline]
    pub(in crate::drive) fn array_is_free(&mut self, now: Instant, die: Die) {
        if self.collector.lease.admission == Admission::PlaneInTurn {
            self.copy_if_drained(now, die);
        } else if self.decoding.is_some() {
            self.poll_gc(now, die);
        }
    }
}
