//! The cache register of a die: data that was read leaves through it while the array reads the next
//! page, and the data of the next program goes ahead into it while the array still programs. How a
//! program goes on when its data is in.

use super::activity::Act;
use super::blame::Whose;
use super::channel::Crossing;
use super::channel::Reserved;
use super::die::{Leaving, Phase};
use super::fired::Fired;
use super::{Flash, Operation, WATCHED, What};
use crate::units::Die;
use crate::units::{Duration, Instant};

impl Flash {
    /// True when a program runs whose successor may be preloaded now.
    #[inline]
    pub fn accepts_preload(&self, die: Die) -> bool {
        if !self.cache_program {
            return false;
        }
        let d = &self.dies[die.index()];
        // Behind a page of the system area nothing goes ahead.
        let is_program = matches!(d.operation.what, What::Program { .. });
        d.phase == Phase::Programming && d.preloaded.is_none() && is_program
    }

    /// Sends the data of the next program into the cache register while the array still programs
    /// ([`Fired::preload`]).
    pub fn preload(&mut self, now: Instant, die: Die, operation: Operation) {
        let What::Program { row, sectors } = operation.what else {
            unreachable!("only a program is preloaded")
        };
        let d = &mut self.dies[die.index()];
        debug_assert!(d.phase == Phase::Programming && d.preloaded.is_none());
        self.take_row::<WATCHED>(row);
        if let Some(blame) = &mut self.blame {
            blame.preloads(die.index());
        }
        let at = (die.index(), self.dies[die.index()].channel);
        let load = self.reserve(now, at, Whose::Preloaded, Crossing::In(sectors), &operation);
        self.log(die.index(), (load.start, load.end), Act::DataIn, &operation);
        self.dies[die.index()].preloaded = Some((operation, load));
    }

    /// Starts the program whose data is in the cache register, or on its way there.
    pub(super) fn start_preloaded(
        &mut self,
        now: Instant,
        slot: usize,
        next: Operation,
        load: Reserved,
    ) -> Option<Die> {
        if let Some(blame) = &mut self.blame {
            blame.started(now, slot, &next, next.page(&self.layout));
            blame.preloaded_starts(now, slot, load.end);
        }
        let die = &mut self.dies[slot];
        die.operation = next;
        die.started = now;
        die.behind_gc = load.behind_gc;
        if load.end > now {
            self.log(slot, (now, load.start), Act::Wait, &next);
            let die = &mut self.dies[slot];
            die.phase = Phase::TransferringIn;
            self.timers.set(slot, load.end);
            return None;
        }
        self.loaded(now, slot).preload()
    }

    /// Cache read: the data goes to the cache register, which asks for the channel after what
    /// happens at this instant.
    #[inline(always)]
    pub(super) fn leave(&mut self, now: Instant, slot: usize) {
        let die = &mut self.dies[slot];
        let (operation, behind_gc) = (die.operation, die.behind_gc);
        die.leaving = Some(Leaving { operation, behind_gc, transferring: false });
        if let Some(blame) = &mut self.blame {
            blame.leaves(slot);
        }
        self.timers.set(self.dies.len() + slot, now);
        self.log_data_out(slot, None, now);
    }

    /// Cache read: the register's data asks for the channel, or has crossed.
    pub(super) fn register_turn(&mut self, now: Instant, slot: usize) -> Fired {
        let register = self.dies.len() + slot;
        let die = &mut self.dies[slot];
        let leaving = die.leaving.as_mut().expect("a register timer has an operation");
        if leaving.transferring {
            return self.register_emptied(now, slot);
        }
        let What::Read { sectors, .. } = leaving.operation.what else {
            unreachable!("only a read transfers out")
        };
        let (operation, at) = (leaving.operation, (slot, die.channel));
        let reserved = self.reserve(now, at, Whose::Leaving, Crossing::Out(sectors), &operation);
        self.log(slot, (reserved.start, reserved.end), Act::DataOut, &operation);
        let leaving = self.dies[slot].leaving.as_mut().expect("it is still there");
        (leaving.behind_gc, leaving.transferring) = (leaving.behind_gc | reserved.behind_gc, true);
        self.timers.set(register, reserved.end);
        if self.dies[slot].phase == Phase::Stopping {
            self.stops_later(slot, now, reserved.end);
        }
        if reserved.behind_gc {
            self.report_wait(&operation);
        }
        Fired::NOTHING
    }

    /// A sense that nobody needs is stopped when the data that leaves has crossed and decoded.
    #[inline(never)]
    fn stops_later(&mut self, slot: usize, now: Instant, crossed: Instant) {
        let operation = self.dies[slot].operation;
        let stop = self.retries.as_ref().map_or(Duration::ZERO, |retries| retries.stops_after());
        self.timers.set(slot, crossed + stop);
        self.log(slot, (now, crossed + stop), Act::Wait, &operation);
    }

    /// Cache read: the register's data has crossed; the next page's data may follow.
    fn register_emptied(&mut self, now: Instant, slot: usize) -> Fired {
        self.timers.clear(self.dies.len() + slot);
        let left = self.dies[slot].leaving.take();
        let Leaving { operation, behind_gc, .. } = left.expect("a register timer has an operation");
        self.counters.reads += 1;
        if let Some(blame) = &mut self.blame {
            blame.ended(slot, Whose::Leaving);
        }
        let ended = Fired::ended(operation.token, behind_gc);
        if self.dies[slot].phase == Phase::WaitingForRegister {
            if let Some(blame) = &mut self.blame {
                blame.register_free(now, slot);
            }
            if let Some(die) = self.sensed(now, slot).free() {
                return ended.and_freed(die.index());
            }
        } else if self.dies[slot].phase == Phase::RetryWaiting {
            if let Some(blame) = &mut self.blame {
                blame.register_free(now, slot);
            }
            self.dies[slot].phase = Phase::Retrying;
            self.retry_turn(now, slot);
        }
        ended
    }

    /// The data is in the page register and the array starts; the cache register is free for the
    /// next program.
    pub(super) fn loaded(&mut self, now: Instant, slot: usize) -> Fired {
        let die = &self.dies[slot];
        let What::Program { row, .. } = die.operation.what else {
            unreachable!("only a program loads")
        };
        if self.suspends_programs {
            let time = self.timing.program(&self.layout, row);
            return self.program_begins(now, slot, time);
        }
        if !self.timing.is_one_pass_of(&self.layout, row) {
            let (operation, done) = (die.operation, now + self.timing.foggy);
            self.dies[slot].phase = Phase::Foggy;
            self.timers.set(slot, done);
            self.log(slot, (now, done), Act::Program, &operation);
            return Fired::NOTHING;
        }
        self.array_programs(now, slot)
    }

    /// The coarse pass is done: the data of the row crosses again.
    pub(super) fn loads_again(&mut self, now: Instant, slot: usize) -> Fired {
        let (operation, channel) = (self.dies[slot].operation, self.dies[slot].channel);
        let What::Program { sectors, .. } = operation.what else {
            unreachable!("only a program has passes")
        };
        self.dies[slot].phase = Phase::TransferringAgain;
        let load =
            self.reserve_first::<WATCHED>(now, (slot, channel), Crossing::In(sectors), &operation);
        self.timers.set(slot, load.end);
        self.log(slot, (now, load.start), Act::Wait, &operation);
        self.log(slot, (load.start, load.end), Act::DataIn, &operation);
        Fired::NOTHING
    }

    /// The array begins the only pass of a program, or the last one.
    pub(super) fn array_programs(&mut self, now: Instant, slot: usize) -> Fired {
        let operation = self.dies[slot].operation;
        let What::Program { row, .. } = operation.what else {
            unreachable!("only a program loads")
        };
        let time = self.timing.program(&self.layout, row);
        self.dies[slot].phase = Phase::Programming;
        let done = now + time;
        self.timers.set(slot, done);
        self.log(slot, (now, done), Act::Program, &operation);
        Fired::preloads(slot)
    }
}
