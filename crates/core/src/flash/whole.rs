//! A collection's copy of a page as one operation: its read and its program follow one another on a
//! die, and nothing comes between them.
//!
//! **Where nobody else uses the channel** meanwhile the end is known at the start, and a copy is
//! one event, or many are (`train`). What happens inside (the array read ends, the data crosses,
//! the program begins) is worked out only on demand: for the counters when a run ends in the middle
//! of a copy, for a forecast, or when copies are parted for good ([`Flash::split_copy`]). An inner
//! instant is over when it lies before the time that is asked about; at that time itself, when a
//! timer of an equal or later turn was served ([`Timers::is_over`](crate::sim::Timers::is_over)).
//!
//! **Where the host uses the channel** too ([`Flash::set_copyback_on_shared_channel`]) the copy
//! stays in its plane, and the command of its program asks for the channel when its read is done:
//! two events, of which the first is the flash's own.

use super::blame::Whose;
use super::channel::Crossing;
use super::die::Phase;
use super::fired::Fired;
use super::{Flash, OpId, Operation, WATCHED, What};
use crate::units::{Channel, Die, Duration, Instant, Ppn};

/// Everything before this was done. It says how far the flash was asked and is no state of it, so a
/// description, by which tests compare, leaves it out.
#[derive(Clone, Copy)]
pub(super) struct Seen(Instant);

impl Seen {
    pub const NOTHING: Self = Self(Instant::START);
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seen")
    }
}

/// Copies of a die that are over, the first of which went to `to`, the others behind it.
pub(super) struct Copied {
    pub die: Die,
    pub to: Ppn,
    pub count: u32,
}

/// The inner instants of a copy.
#[derive(Clone, Copy, Debug)]
struct Inside {
    /// The command of the read has crossed.
    sent: Instant,
    /// The array read is done: the data begins to cross.
    sensed: Instant,
    /// It has crossed: the read is done and the program begins.
    read: Instant,
}

impl Flash {
    /// True when the flash does nothing beside operations that makes a copy more than its times.
    pub fn may_copy_whole(&self) -> bool {
        let kept = self.blame.is_some()
            || self.activity.is_some()
            || self.errors.is_some()
            || self.spares.is_some()
            || self.order.is_some();
        !kept && !self.watches_loads && !self.cache_read && !self.any_order && !self.suspends_erases
    }

    /// Whole copies send commands only, on channels that the host uses, too. Call it before the
    /// first of them.
    pub fn set_copyback_on_shared_channel(&mut self) {
        self.copies_in_two = true;
    }

    /// Gives an idle die the copy of a page; `sectors` cross the channel each way, in all whole
    /// copies alike. Nobody else uses the channel before the program has its data.
    #[inline]
    pub fn start_whole_copy(
        &mut self,
        now: Instant,
        die: Die,
        token: OpId,
        (from, to): (Ppn, Ppn),
        sectors: u32,
    ) {
        assert!(self.is_written(from), "page {from:?} is erased");
        if self.copies_in_two {
            return self.start_copy_in_two(now, die, token, (from, to));
        }
        let across = self.timing.command + self.timing.transfer(sectors);
        let crossing = across * 2 + self.timing.read(&self.layout, from);
        self.copy_sectors = sectors;
        let d = &mut self.dies[die.index()];
        debug_assert!(d.phase == Phase::Idle, "die {die} is busy");
        d.operation = Operation { what: What::Copy { from, to }, token, gc: true };
        (d.phase, d.started, d.behind_gc) = (Phase::Copying, now, false);
        let loaded = self.channels[d.channel.index()].is_taken_for(now, crossing);
        self.timers.set(die.index(), loaded + self.timing.program(&self.layout, to));
    }

    /// Starts the read of a copy in two events, where the host uses the channel, too.
    #[inline]
    fn start_copy_in_two(&mut self, now: Instant, die: Die, token: OpId, (from, to): (Ppn, Ppn)) {
        let d = &mut self.dies[die.index()];
        debug_assert!(d.phase == Phase::Idle, "die {die} is busy");
        let operation = Operation { what: What::Copy { from, to }, token, gc: true };
        (d.operation, d.phase, d.started, d.behind_gc) =
            (operation, Phase::CopyReading, now, false);
        let at = (die.index(), d.channel);
        let command = self.reserve(now, at, Whose::Current, Crossing::Command, &operation);
        self.timers.set(die.index(), command.end + self.timing.read(&self.layout, from));
    }

    /// The read of a copy is done, and the program begins.
    #[inline(never)]
    pub(super) fn copy_is_read(&mut self, now: Instant, slot: usize) -> Fired {
        let d = &mut self.dies[slot];
        let What::Copy { to, .. } = d.operation.what else { unreachable!("only a copy reads so") };
        let (operation, at, time) = (d.operation, (slot, d.channel), now.since(d.started));
        (d.busy, d.gc_busy, d.started, d.phase) =
            (d.busy + time, d.gc_busy + time, now, Phase::Copying);
        self.take_row::<WATCHED>(to);
        let command = self.reserve(now, at, Whose::Current, Crossing::In(0), &operation);
        self.timers.set(slot, command.end + self.timing.program(&self.layout, to));
        Fired::NOTHING
    }

    /// The die's copy, if it works on one: from where to where.
    #[inline]
    pub fn whole_copy(&self, die: Die) -> Option<(Ppn, Ppn)> {
        match self.dies[die.index()].operation().what {
            What::Copy { from, to } => Some((from, to)),
            _ => None,
        }
    }

    /// The token of the operation that the die works on, or of the last one.
    pub fn token_of(&self, die: Die) -> OpId {
        self.dies[die.index()].operation().token
    }

    /// True when the die copies a page, and has not yet ended.
    pub fn is_copying_whole(&self, die: Die) -> bool {
        matches!(self.dies[die.index()].phase, Phase::Copying | Phase::CopyReading)
    }

    /// True when a fused copy is under way on the die, or is one event on its channel.
    pub fn is_copied_beside(&self, die: Die) -> bool {
        self.is_copying_whole(die) || self.is_copied_whole_on(self.layout.channel_of(die))
    }

    /// True when the channel is kept for a copy of one event, which has not yet ended.
    pub(super) fn is_copied_whole_on(&self, channel: Channel) -> bool {
        !self.copies_in_two && self.layout.dies_on(channel).any(|die| self.is_copying_whole(die))
    }

    /// True when the read of the die's copy is over at `now`, and its program under way.
    pub fn whole_copy_is_read(&self, now: Instant, die: Die) -> bool {
        if self.copies_in_two {
            return self.dies[die.index()].phase == Phase::Copying;
        }
        self.inside(now, die)
            .is_some_and(|inside| self.timers.is_over(now, die.index(), inside.read))
    }

    /// Whole copies of which the read is over and not counted, as far as the flash was brought.
    pub fn whole_copies_read(&self) -> u64 {
        let is_read =
            |die: &Die| self.is_copying_whole(*die) && self.whole_copy_is_read(self.seen.0, *die);
        self.all_copies_over() + self.layout.each_die().filter(is_read).count() as u64
    }

    /// The flash was brought up to there.
    pub fn seen_until(&self) -> Instant {
        self.seen.0
    }

    /// Everything before `limit` was done.
    #[inline]
    pub fn is_seen(&mut self, limit: Instant) {
        self.seen = Seen(limit);
    }

    /// The rest of the die's copy at `now`, or of its read.
    pub(super) fn whole_copy_left(&self, now: Instant, die: Die) -> Duration {
        let end = self.copy_end(now, die).unwrap_or(now);
        match self.inside(now, die) {
            Some(inside)
                if !self.copies_in_two && !self.timers.is_over(now, die.index(), inside.read) =>
            {
                inside.read.since(now)
            }
            _ => end.since(now),
        }
    }

    /// Copies are over: counts them, and what crossed the channel.
    #[inline(always)]
    pub(super) fn end_whole_copies(&mut self, Copied { die, to, count }: Copied) {
        self.counters.reads += u64::from(count);
        self.counters.programs += u64::from(count);
        if self.copies_in_two {
            return;
        }
        (0..count).for_each(|at| self.take_row::<WATCHED>(Ppn(to.0 + at)));
        let across = self.timing.command + self.timing.transfer(self.copy_sectors);
        self.channels[self.dies[die.index()].channel.index()].busy += across * u64::from(2 * count);
    }

    /// Makes the copy that a die works on the operation that it would be at `now` otherwise, a read
    /// or a program; true for a program: its read was done before. No copy follows it, and those
    /// before it were told.
    pub fn split_copy(&mut self, now: Instant, die: Die) -> bool {
        if self.copies_in_two {
            return self.part_copy_in_two(die);
        }
        let (slot, sectors) = (die.index(), self.copy_sectors);
        self.cut_train(die);
        let (Some(inside), Some((from, to))) = (self.inside(now, die), self.whole_copy(die)) else {
            return false;
        };
        let is_over = |at| self.timers.is_over(now, slot, at);
        let (is_sensed, is_read) = (is_over(inside.sensed), is_over(inside.read));
        let (command, across) = (self.timing.command, self.timing.transfer(sectors));
        let d = &mut self.dies[slot];
        let channel = &mut self.channels[d.channel.index()];
        if is_read {
            channel.busy += (command + across) * 2;
            let time = inside.read.since(d.started);
            (d.busy, d.gc_busy, d.started) = (d.busy + time, d.gc_busy + time, inside.read);
            (d.phase, d.operation.what) = (Phase::Programming, What::Program { row: to, sectors });
            self.counters.reads += 1;
            self.take_row::<WATCHED>(to);
            return true;
        }
        d.operation.what = What::Read { page: from, sectors };
        if is_sensed {
            channel.busy += command + across;
            channel.is_free_again(inside.read);
            d.phase = Phase::TransferringOut;
            self.timers.set(slot, inside.read);
        } else {
            channel.busy += command;
            channel.is_free_again(inside.sent);
            d.phase = Phase::sensing(sectors);
            self.timers.set(slot, inside.sensed);
        }
        false
    }

    /// Splits a copy in two events.
    fn part_copy_in_two(&mut self, die: Die) -> bool {
        let Some((from, to)) = self.whole_copy(die) else { return false };
        let d = &mut self.dies[die.index()];
        let is_read = d.phase == Phase::Copying;
        (d.phase, d.operation.what) = match is_read {
            true => (Phase::Programming, What::Program { row: to, sectors: 0 }),
            false => (Phase::SensingInside, What::Read { page: from, sectors: 0 }),
        };
        self.counters.reads += u64::from(is_read);
        is_read
    }

    fn inside(&self, now: Instant, die: Die) -> Option<Inside> {
        let (from, to) = self.whole_copy(die).filter(|_| self.is_copying_whole(die))?;
        let across = self.timing.transfer(self.copy_sectors);
        let loaded = self.copy_end(now, die)? - self.timing.program(&self.layout, to);
        let read = loaded - (self.timing.command + across);
        let sensed = read - across;
        Some(Inside { sent: sensed - self.timing.read(&self.layout, from), sensed, read })
    }
}
