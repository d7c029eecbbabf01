//! An operation on its die: how it starts, what each of its timers brings, and how it ends.

use super::Flash;
use super::activity::Act;
use super::blame::Whose;
use super::channel::{Crossing, Reserved};
use super::die::{OpId, Operation, Phase, What};
use super::fired::Fired;
use super::retry::{Begun, Next};
use super::whole::Copied;
use super::{BOOKED, LEAN, WATCHED};
use crate::units::Channel;
use crate::units::Die;
use crate::units::{Duration, Instant, Ppn};

impl Flash {
    /// Gives an idle die its next operation.
    #[inline(always)]
    pub fn start(&mut self, now: Instant, die: Die, operation: Operation) {
        match self.way {
            LEAN => self.start_as::<LEAN>(now, die, operation),
            BOOKED => self.start_booked(now, die, operation.what, (operation.token, operation.gc)),
            _ => self.start_watched(now, die, operation.what, (operation.token, operation.gc)),
        }
    }

    /// Its arguments go in registers, so that an operation never lies in memory where this is not
    /// called.
    #[inline(never)]
    fn start_booked(&mut self, now: Instant, die: Die, what: What, (token, gc): (OpId, bool)) {
        self.start_as::<BOOKED>(now, die, Operation { what, token, gc });
    }

    /// Likewise.
    #[inline(never)]
    fn start_watched(&mut self, now: Instant, die: Die, what: What, (token, gc): (OpId, bool)) {
        self.start_as::<WATCHED>(now, die, Operation { what, token, gc });
    }

    /// [`Flash::start`], where these features look. Callers pass constants: branches fold.
    #[inline(always)]
    fn start_as<const WAY: u8>(&mut self, now: Instant, die: Die, operation: Operation) {
        debug_assert!(self.way <= WAY, "a feature looks at single operations");
        let slot = die.index();
        if WAY != LEAN
            && let Some(blame) = &mut self.blame
        {
            blame.started(now, slot, &operation, operation.page(&self.layout));
        }
        let d = &mut self.dies[slot];
        debug_assert!(d.phase == Phase::Idle || d.holds_suspended, "die {die} is busy");
        d.operation = operation;
        d.started = now;
        d.behind_gc = false;
        let at = (slot, d.channel);
        let (command, at) = match operation.what {
            What::Read { page, sectors } => {
                d.phase = Phase::sensing(sectors);
                self.assert_readable(die, page);
                let command = self.reserve_first::<WAY>(now, at, Crossing::Command, &operation);
                let sensed = command.end + self.timing.read(&self.layout, page);
                match WAY == WATCHED && self.retries.is_some() {
                    true => (command, sensed + self.plan_read(now, slot, page)),
                    false => (command, sensed),
                }
            }
            What::Program { row, sectors } => {
                let watches_loads = WAY == WATCHED && self.watches_loads;
                d.phase = if watches_loads { Phase::TransferringIn } else { Phase::Programming };
                self.take_row::<WAY>(row);
                let load = self.reserve_first::<WAY>(now, at, Crossing::In(sectors), &operation);
                let array = self.timing.program(&self.layout, row);
                (load, load.end + if watches_loads { Duration::ZERO } else { array })
            }
            What::System { sectors } => {
                d.phase = Phase::Programming;
                let load = self.reserve_first::<WAY>(now, at, Crossing::In(sectors), &operation);
                (load, load.end + self.timing.program(&self.layout, Ppn(0)))
            }
            What::Copy { .. } => unreachable!("a whole copy has a start of its own"),
            What::Copies { nanoseconds, .. } => {
                d.phase = Phase::Programming;
                let at_once = Reserved { start: now, end: now, behind_gc: false };
                (at_once, now + Duration::from_ns(u64::from(nanoseconds)))
            }
            What::Erase { .. } => {
                let command =
                    self.reserve_first::<WAY>(now, at, Crossing::EraseCommand, &operation);
                (command, self.erase_begins(slot, command.end))
            }
        };
        self.timers.set(slot, at);
        if WAY == WATCHED {
            self.log_start(now, slot, (command.start, command.end), at);
        }
    }

    /// Asserts the physics of a read: its page is programmed, and wholly.
    #[inline(always)]
    fn assert_readable(&self, die: Die, page: Ppn) {
        assert!(self.is_written(page), "page {page:?} is erased");
        debug_assert!(!self.is_half_programmed(die, page), "{page:?} is half there");
    }

    /// The command of an erase is through at `begins`; returns when the die's timer fires.
    #[inline(always)]
    fn erase_begins(&mut self, slot: usize, begins: Instant) -> Instant {
        let die = &mut self.dies[slot];
        if self.suspends_erases {
            die.phase = Phase::EraseCommand;
            self.erase_issued(slot, begins);
            begins
        } else {
            die.phase = Phase::Erasing { steps_left: self.timing.erase_steps - 1 };
            begins + self.timing.erase_step
        }
    }

    /// Takes the channel for the first thing that an operation sends, and notes a wait behind
    /// garbage collection.
    #[inline(always)]
    pub(super) fn reserve_first<const WAY: u8>(
        &mut self,
        now: Instant,
        at: (usize, Channel),
        crossing: Crossing,
        operation: &Operation,
    ) -> Reserved {
        let reserved = self.reserve_as::<WAY>(now, at, Whose::Current, crossing, operation);
        if reserved.behind_gc {
            self.waits_behind_gc(at.0);
        }
        reserved
    }

    /// The operation under way on the die waits on the channel for garbage collection.
    #[inline(never)]
    fn waits_behind_gc(&mut self, slot: usize) {
        let die = &mut self.dies[slot];
        die.behind_gc = true;
        let operation = die.operation;
        self.report_wait(&operation);
    }

    /// Takes the channel of the die in `slot` for what crosses it, as soon as those who asked
    /// earlier are done.
    #[inline(always)]
    pub(super) fn reserve(
        &mut self,
        now: Instant,
        at: (usize, Channel),
        whose: Whose,
        crossing: Crossing,
        operation: &Operation,
    ) -> Reserved {
        self.reserve_as::<WATCHED>(now, at, whose, crossing, operation)
    }

    #[inline(always)]
    fn reserve_as<const WAY: u8>(
        &mut self,
        now: Instant,
        (slot, channel): (usize, Channel),
        whose: Whose,
        crossing: Crossing,
        operation: &Operation,
    ) -> Reserved {
        let channel = channel.index();
        if WAY == WATCHED && self.watches_channels {
            if let Some(order) = self.order {
                let crossing = (order, crossing);
                return self.reserve_in_order(now, (slot, whose), channel, crossing, operation);
            }
            // Of garbage collection, and no transfer is under way that could be cut.
            let at_once = operation.gc && self.channels[channel].free_at() <= now;
            if self.blame.is_some() || !at_once {
                return self.reserve_on_demand(now, (slot, whose), channel, crossing, operation);
            }
        }
        debug_assert!(
            !self.is_copied_whole_on(Channel(channel as u32)),
            "the channel is a copy's alone"
        );
        let time = crossing.time(&self.timing);
        let reserved = self.channels[channel].reserve(now, time, operation.gc);
        if WAY != LEAN {
            self.book_transfer(now, (slot, whose), channel, &reserved, operation.gc);
        }
        reserved
    }

    /// Takes the channel where transfers are cut.
    #[inline(never)]
    fn reserve_on_demand(
        &mut self,
        now: Instant,
        (slot, whose): (usize, Whose),
        channel: usize,
        crossing: Crossing,
        operation: &Operation,
    ) -> Reserved {
        let reserved = self.reserve_among_cut(now, (slot, whose), channel, crossing, operation);
        self.book_transfer(now, (slot, whose), channel, &reserved, operation.gc);
        reserved
    }

    /// Does what is due first. The caller asked [`Flash::next_at`] and has brought everything else
    /// up to that time.
    pub fn fire(&mut self) -> (Instant, Fired) {
        (self.next_at(), self.fire_next())
    }

    /// Does what is due first, for a caller that knows the time.
    pub fn fire_next(&mut self) -> Fired {
        let (now, slot) = self.timers.serve().expect("fire is called when something is due");
        if slot >= self.dies.len() {
            return self.other_turn(now, slot);
        }
        match self.dies[slot].phase {
            Phase::Sensing => self.sensed(now, slot),
            Phase::SensingInside | Phase::TransferringOut | Phase::Programming | Phase::Copying => {
                self.finished(now, slot)
            }
            Phase::CopyReading => self.copy_is_read(now, slot),
            _ => self.fire_other(now, slot),
        }
    }

    #[inline(never)]
    pub(super) fn fire_other(&mut self, now: Instant, slot: usize) -> Fired {
        match self.dies[slot].phase {
            Phase::Erasing { steps_left: 0 } => self.finished(now, slot),
            Phase::TransferringIn => self.loaded(now, slot),
            Phase::Foggy => self.loads_again(now, slot),
            Phase::TransferringAgain => self.array_programs(now, slot),
            Phase::Erasing { steps_left } => {
                self.dies[slot].phase = Phase::Erasing { steps_left: steps_left - 1 };
                self.timers.set(slot, now + self.timing.erase_step);
                Fired::NOTHING
            }
            Phase::EraseCommand | Phase::Pulse | Phase::Suspending | Phase::Resuming => {
                self.suspendable_turn(now, slot)
            }
            Phase::Retrying => self.retry_turn(now, slot),
            Phase::Stopping => {
                self.free_array(now, slot);
                Fired::freed(slot)
            }
            _ => unreachable!("die {slot} has a timer while it waits"),
        }
    }

    /// A read begins that may not decode at once: by how much its first sense takes longer than tR.
    #[inline(never)]
    fn plan_read(&mut self, now: Instant, slot: usize, page: Ppn) -> Duration {
        let (at, sense) = (self.page_at(page), self.timing.read(&self.layout, page));
        // One bit a cell decodes at once.
        if self.timing.is_slc(at.block) {
            return Duration::ZERO;
        }
        let die = &mut self.dies[slot];
        let Some(retries) = &mut self.retries else { return Duration::ZERO };
        if matches!(die.operation.what, What::Read { sectors: 0, .. }) {
            retries.sensed_inside(at.block);
            return Duration::ZERO;
        }
        let (goes_on, later) = retries.begins(now, slot, Begun { at, sense });
        if goes_on {
            die.phase = Phase::Retrying;
        }
        later
    }

    /// A part of a read that does not decode at once is over.
    #[inline(never)]
    pub(super) fn retry_turn(&mut self, now: Instant, slot: usize) -> Fired {
        let die = &self.dies[slot];
        let (operation, at) = (die.operation, (slot, die.channel));
        let What::Read { sectors, .. } = operation.what else { unreachable!("a read is retried") };
        if self.cache_read && die.leaving.is_some() {
            self.dies[slot].phase = Phase::RetryWaiting;
            self.timers.clear(slot);
            if let Some(blame) = &mut self.blame {
                blame.data_waits(now, slot);
            }
            return Fired::NOTHING;
        }
        let Some(retries) = &mut self.retries else { unreachable!("it is read as others are") };
        let out = Crossing::Out(sectors);
        let due = match retries.next(slot) {
            Next::Wait(time) => {
                self.log(slot, (now, now + time), Act::Wait, &operation);
                now + time
            }
            Next::Cross => {
                let out = self.reserve_first::<WATCHED>(now, at, out, &operation);
                self.log_data_out(slot, Some((out.start, out.end)), out.start);
                out.end
            }
            Next::CrossAndSense(time) => {
                let out = self.reserve_first::<WATCHED>(now, at, out, &operation);
                self.log_data_out(slot, Some((out.start, out.end)), now);
                self.log(slot, (now, now + time), Act::Read, &operation);
                out.end.max(now + time)
            }
            Next::Sense(time) => self.sense_again(now, slot, time),
            Next::SenseLast(time) => {
                self.dies[slot].phase = Phase::Sensing;
                self.sense_again(now, slot, time)
            }
            Next::CrossLast if operation.gc => {
                self.dies[slot].phase = Phase::Sensing;
                return self.sensed(now, slot);
            }
            Next::CrossLast => {
                self.dies[slot].phase = Phase::Stopping;
                self.timers.clear(slot);
                self.leave(now, slot);
                return Fired::NOTHING;
            }
            Next::End => return self.finished(now, slot),
        };
        self.timers.set(slot, due);
        Fired::NOTHING
    }

    /// The next sense of a read: its command, and so long in the array.
    fn sense_again(&mut self, now: Instant, slot: usize, time: Duration) -> Instant {
        let (operation, channel) = (self.dies[slot].operation, self.dies[slot].channel);
        let command =
            self.reserve_first::<WATCHED>(now, (slot, channel), Crossing::Command, &operation);
        let done = command.end + time;
        self.log_start(now, slot, (command.start, command.end), done);
        done
    }

    pub(super) fn sensed(&mut self, now: Instant, slot: usize) -> Fired {
        self.sensed_as::<WATCHED>(now, slot)
    }

    /// The array read is done: the data goes to the channel, or waits for it.
    #[inline(always)]
    pub(super) fn sensed_as<const WAY: u8>(&mut self, now: Instant, slot: usize) -> Fired {
        let die = &mut self.dies[slot];
        let What::Read { sectors, .. } = die.operation.what else {
            unreachable!("only a read senses")
        };
        if WAY == WATCHED && sectors == 0 {
            return self.finished(now, slot);
        }
        if WAY == WATCHED && self.cache_read && die.leaving.is_some() {
            die.phase = Phase::WaitingForRegister;
            self.timers.clear(slot);
            if let Some(blame) = &mut self.blame {
                blame.data_waits(now, slot);
            }
            return Fired::NOTHING;
        }
        let channel = &mut self.channels[die.channel.index()];
        if channel.held_since.is_some() && !die.operation.gc {
            die.phase = Phase::WaitingForChannel;
            channel.waiting.push_back(slot as u32);
            self.timers.clear(slot);
            if WAY != LEAN
                && let Some(blame) = &mut self.blame
            {
                blame.channel_held(now, slot);
            }
            return Fired::NOTHING;
        }
        self.transfer_out_as::<WAY>(now, slot)
    }

    pub(super) fn transfer_out(&mut self, now: Instant, slot: usize) -> Fired {
        self.transfer_out_as::<WATCHED>(now, slot)
    }

    #[inline(always)]
    fn transfer_out_as<const WAY: u8>(&mut self, now: Instant, slot: usize) -> Fired {
        let die = &mut self.dies[slot];
        // A collection's own reads keep the die: its next step follows at once, and nothing may
        // come between.
        if WAY == WATCHED && self.cache_read && !die.operation.gc {
            // The command of the next read goes ahead of this data, or the array would idle while
            // it crosses: the caller starts that read now, and the data asks for the channel after
            // it, at the same instant.
            self.leave(now, slot);
            self.free_array(now, slot);
            return Fired::freed(slot);
        }
        let What::Read { sectors, .. } = die.operation.what else {
            unreachable!("only a read transfers out")
        };
        let (operation, at) = (die.operation, (slot, die.channel));
        die.phase = Phase::TransferringOut;
        let crossing = Crossing::Out(sectors);
        let reserved = self.reserve_as::<WAY>(now, at, Whose::Current, crossing, &operation);
        self.timers.set(slot, reserved.end);
        if reserved.behind_gc {
            self.waits_behind_gc(slot);
        }
        if WAY == WATCHED {
            self.log_data_out(slot, Some((reserved.start, reserved.end)), reserved.start);
        }
        Fired::NOTHING
    }

    /// A timer of a register, or of a channel.
    #[inline(never)]
    fn other_turn(&mut self, now: Instant, slot: usize) -> Fired {
        match slot.checked_sub(self.channel_timers) {
            Some(channel) => self.channel_turn(now, channel),
            None => self.register_turn(now, slot - self.dies.len()),
        }
    }

    #[inline]
    pub(super) fn free_array(&mut self, now: Instant, slot: usize) {
        if let Some(blame) = &mut self.blame {
            blame.freed(now, slot);
        }
        self.dies[slot].free(now);
    }

    /// [`Flash::rest`] of a die that is known to be idle.
    #[inline]
    pub fn rest_idle(&mut self, die: Die) {
        debug_assert!(self.is_idle(die), "die {die} works");
        self.timers.clear(die.index());
    }

    /// Ends what [`Fired::free`] began: a die that was given nothing has no timer. Call it before
    /// asking for the next event.
    #[inline]
    pub fn rest(&mut self, die: Die) {
        if self.is_idle(die) || self.is_suspended(die) {
            self.timers.clear(die.index());
        }
    }

    #[inline(never)]
    pub(super) fn finished(&mut self, now: Instant, slot: usize) -> Fired {
        self.finish_as::<WATCHED>(now, slot)
    }

    /// The die's operation is done.
    #[inline(always)]
    pub(super) fn finish_as<const WAY: u8>(&mut self, now: Instant, slot: usize) -> Fired {
        let die = &mut self.dies[slot];
        let operation = die.operation;
        let done = Fired::ended(operation.token, die.behind_gc);
        die.free(now);
        self.book_done::<WAY>(now, slot);
        match operation.what {
            What::Read { .. } => self.counters.reads += 1,
            What::Program { row, .. } => {
                self.counters.programs += 1;
                if WAY == WATCHED
                    && let Some(spares) = &mut self.spares
                {
                    spares.ends(row);
                }
                if WAY == WATCHED
                    && self.cache_program
                    && let Some((next, load)) = self.dies[slot].preloaded.take()
                {
                    return done.and_preloads(self.start_preloaded(now, slot, next, load));
                }
            }
            What::System { .. } => self.counters.programs += 1,
            What::Copy { to, .. } => {
                let die = slot as u32;
                if self.has_train(Die(die)) {
                    self.end_whole_copies(Copied {
                        die: Die(die),
                        to,
                        count: self.trains[slot].count,
                    });
                } else {
                    self.end_whole_copies(Copied { die: Die(die), to, count: 1 });
                }
            }
            What::Copies { count, .. } => {
                self.counters.reads += u64::from(count);
                self.counters.programs += u64::from(count);
            }
            What::Erase { block } => {
                self.counters.erases += 1;
                self.set_rows_written(block, 0);
                self.erase_content(block);
            }
        }
        done.and_freed(slot)
    }
}
