//! Transfers of the host that give way, at sectors, to the commands of garbage collection.
//!
//! ttFlash (Yan et al., FAST '17), section 4.1, as its authors' code (tinyTailFlash, pagemap.c and
//! flash.c) has it: a collection inside planes needs the channel for commands only, and does not
//! wait for a whole page that crosses it. There the host's transfers are cut to what fits before
//! the collection's next command; here the command, when it comes, waits for the sector under way
//! and goes before everything else that the host has on the channel. What was cut goes on after a
//! command of its own (`7 tWC` there, the device's command here).
//!
//! A channel stays a next-free time; beside it the host's transfers that are not over are kept in
//! their order, so that they can be moved. A transfer that moves takes its die's timer along, and
//! its waits. Transfers of garbage collection never move: nothing goes before them, so they are not
//! kept.
//!
//! Where a channel serves in an order of its own (`order`), all transfers are kept, and those that
//! others overtake move likewise.
//!
//! Trap: a timeline keeps a slice by where it lay when it was logged; a cut moves it by a command
//! or two.

use super::activity::Act;
use super::blame::Whose;
use super::channel::{Crossing, Reserved};
use super::{ChannelOrder, Flash, Operation, Timing};
use crate::units::{Duration, Instant};

impl Crossing {
    /// Its command and its sectors.
    fn parts(self, timing: &Timing) -> (Duration, u32) {
        match self {
            Crossing::Command => (timing.command, 0),
            Crossing::EraseCommand => (timing.erase_command, 0),
            Crossing::Suspend | Crossing::Resume => (timing.suspend_command, 0),
            Crossing::Out(sectors) => (Duration::ZERO, sectors),
            Crossing::In(sectors) => (timing.command, sectors),
        }
    }

    /// Its command, before its data.
    pub(super) fn head(self, timing: &Timing) -> Duration {
        self.parts(timing).0
    }

    /// The slices that go with it.
    fn acts(self) -> [Act; 3] {
        match self {
            Crossing::Command => [Act::ReadCommand, Act::Read, Act::Read],
            Crossing::EraseCommand => [Act::EraseCommand, Act::Erase, Act::Erase],
            Crossing::Suspend => [Act::SuspendCommand; 3],
            Crossing::Resume => [Act::ResumeCommand; 3],
            Crossing::Out(_) => [Act::DataOut, Act::DataRest, Act::DataRest],
            Crossing::In(_) => [Act::DataIn, Act::DataRest, Act::Program],
        }
    }
}

/// A transfer of the host that is not over, or the rest of one; in an order of their own, those of
/// garbage collection too.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub die: usize,
    pub whose: Whose,
    pub operation: Operation,
    pub crossing: Crossing,
    pub start: Instant,
    pub end: Instant,
    /// Before its data: a command, which is never cut.
    pub head: Duration,
    /// Sectors that crossed before.
    pub crossed: u32,
    /// Slices logged before are not its own.
    pub logged: usize,
}

impl Pending {
    /// The first instant from `now` on at which it can be cut, and the sectors that have crossed
    /// then.
    fn cut_at(&self, now: Instant, timing: &Timing) -> (Instant, u32) {
        let (_, sectors) = self.crossing.parts(timing);
        let at = |crossed: u32| {
            self.start + self.head + (timing.transfer(crossed) - timing.transfer(self.crossed))
        };
        let ends = (self.crossed..sectors).map(|crossed| (at(crossed), crossed));
        ends.into_iter().find(|(at, _)| *at >= now).unwrap_or((self.end, sectors))
    }
}

impl Flash {
    /// Transfers of the host give way to garbage collection from now on. Call it before the first
    /// operation; garbage collection must send commands only (copyback).
    pub fn cut_transfers(&mut self) {
        (self.cuts, self.watches_channels) = (true, true);
        self.look_for_features();
    }

    /// A transfer's place on the channel, where transfers are cut.
    #[inline]
    pub(super) fn reserve_among_cut(
        &mut self,
        now: Instant,
        (die, whose): (usize, Whose),
        channel: usize,
        crossing: Crossing,
        operation: &Operation,
    ) -> Reserved {
        let (gc, time, logged) = (operation.gc, crossing.time(&self.timing), self.logged());
        let taken = &mut self.channels[channel];
        if taken.free_at() <= now {
            taken.pending.clear();
        } else {
            while taken.pending.pop_front_if(|first| first.end <= now).is_some() {}
        }
        if gc && !taken.pending.is_empty() {
            return self.cut_in(now, channel, time);
        }
        let reserved = taken.reserve(now, time, gc);
        if !gc {
            let (Reserved { start, end, .. }, (head, _)) = (reserved, crossing.parts(&self.timing));
            let place = Pending {
                die,
                whose,
                operation: *operation,
                crossing,
                start,
                end,
                head,
                crossed: 0,
                logged,
            };
            taken.pending.push_back(place);
        }
        reserved
    }

    /// Garbage collection takes the channel for `time` before the host's transfers that are not
    /// over.
    #[inline(never)]
    fn cut_in(&mut self, now: Instant, channel: usize, time: Duration) -> Reserved {
        let pending = &mut self.channels[channel].pending;
        let Some(first) = pending.front() else {
            return self.channels[channel].reserve(now, time, true);
        };
        let (mut start, mut delay, mut others) = (first.start, time, 0);
        if start < now {
            // It is under way: its sector crosses, the rest of it comes later.
            let whole = first.clone();
            let (cut, crossed) = whole.cut_at(now, &self.timing);
            start = cut;
            pending.pop_front();
            if cut < whole.end {
                let resume = self.timing.command;
                delay += resume;
                let rest = Pending {
                    start: cut + time,
                    end: whole.end + delay,
                    head: resume,
                    crossed,
                    ..whole
                };
                self.delay(&rest, delay, false, true);
                self.log_cut(&rest, cut, delay);
                self.channels[channel].pending.push_front(rest);
                others = 1;
            }
        }
        for other in others..self.channels[channel].pending.len() {
            let moved = &mut self.channels[channel].pending[other];
            let before = moved.start;
            (moved.start, moved.end) = (before + delay, moved.end + delay);
            let moved = moved.clone();
            self.delay(&moved, delay, true, true);
            self.log_delay(&moved, before, delay, delay);
        }
        self.channels[channel].goes_first(now, start, start + time, delay)
    }

    /// Delays the die's work behind a moved transfer; the `whole` of it, or a rest. What goes
    /// before it is garbage collection's, or not.
    pub(super) fn delay(&mut self, moved: &Pending, delay: Duration, whole: bool, gc: bool) {
        let (slot, dies) = (moved.die, self.dies.len());
        if gc {
            self.report_wait(&moved.operation);
        }
        let whose = self.dies[slot].delayed(moved.whose, delay, (whole, gc));
        match whose {
            Whose::Current => self.timers.delay(slot, delay),
            Whose::Leaving => self.timers.delay(dies + slot, delay),
            // It has no timer before the program ahead of it is done.
            Whose::Preloaded => {}
            Whose::Suspension => self.suspension_comes_later(slot, moved.crossing, delay),
        }
        if let Some(blame) = &mut self.blame {
            blame.delayed(slot, whose, delay, gc);
        }
    }

    /// A transfer ends at `cut`; the `rest` of it is a slice of its own, and what follows comes
    /// `delay` later.
    fn log_cut(&mut self, rest: &Pending, cut: Instant, delay: Duration) {
        if self.activity.is_some() {
            self.end_slice(&rest.crossing.acts(), rest.die, rest.logged, cut);
            self.log_delay(rest, cut, rest.start.since(cut), delay);
            self.log(rest.die, (rest.start, rest.end), Act::DataRest, &rest.operation);
        }
    }

    /// The slices of a transfer that began at `before` or later come `delay` later, and its die
    /// waits for `wait`.
    pub(super) fn log_delay(
        &mut self,
        moved: &Pending,
        before: Instant,
        wait: Duration,
        delay: Duration,
    ) {
        if self.activity.is_none() {
            return;
        }
        self.move_slices(&moved.crossing.acts(), moved.die, moved.logged, before, delay);
        let keeps_its_die = match moved.whose {
            Whose::Current => true,
            Whose::Leaving | Whose::Suspension => false,
            Whose::Preloaded => !self.dies[moved.die].has_preloaded(),
        };
        if keeps_its_die {
            self.log(moved.die, (before, before + wait), Act::Wait, &moved.operation);
        }
    }
}

impl Flash {
    /// Channels serve in this order from now on. Call it before the first operation; transfers are
    /// not cut.
    pub fn serve_in_order(&mut self, order: ChannelOrder) {
        (self.order, self.watches_channels) = (Some(order), true);
        self.look_for_features();
    }

    /// A transfer's place on the channel, where they are served in an order of their own.
    #[inline(never)]
    pub(super) fn reserve_in_order(
        &mut self,
        now: Instant,
        (die, whose): (usize, Whose),
        channel: usize,
        (order, crossing): (ChannelOrder, Crossing),
        operation: &Operation,
    ) -> Reserved {
        debug_assert!(!self.cuts, "transfers that are cut have an order of their own");
        let (time, logged) = (crossing.time(&self.timing), self.logged());
        let dies = self.layout.dies_per_channel() as usize;
        let taken = &mut self.channels[channel];
        while taken.pending.pop_front_if(|first| first.end <= now).is_some() {}
        let at = order.place(&taken.pending, now, (die, crossing), dies);
        let behind_gc = { taken.pending.iter().take(at).filter(|ahead| ahead.operation.gc) }
            .fold(Duration::ZERO, |sum, ahead| sum + ahead.end.since(ahead.start.max(now)));
        let start = taken.pending.get(at).map(|next| next.start);
        let reserved = taken.reserve(now, time, operation.gc);
        let start = start.unwrap_or(reserved.start);
        let reserved = Reserved { start, end: start + time, behind_gc: !behind_gc.is_zero() };
        let head = crossing.head(&self.timing);
        let operation = *operation;
        let (end, crossed) = (reserved.end, 0);
        let place = Pending { die, whose, operation, crossing, start, end, head, crossed, logged };
        taken.pending.insert(at, place);
        self.come_later(channel, at + 1, time, operation.gc);
        self.channels[channel].note_last_of_gc();
        if let Some(blame) = &mut self.blame {
            blame.waits_in_line((die, whose), start.since(now), behind_gc);
        }
        reserved
    }

    /// The transfers of a channel from the place `from` on come `delay` later, behind one of
    /// garbage collection or of the host.
    fn come_later(&mut self, channel: usize, from: usize, delay: Duration, gc: bool) {
        for other in from..self.channels[channel].pending.len() {
            let moved = &mut self.channels[channel].pending[other];
            let before = moved.start;
            (moved.start, moved.end) = (before + delay, moved.end + delay);
            let moved = moved.clone();
            self.delay(&moved, delay, true, gc);
            self.log_delay(&moved, before, delay, delay);
        }
    }
}
