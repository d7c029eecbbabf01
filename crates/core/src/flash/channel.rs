//! A channel: one transfer at a time, in the order of asking, or in another one (`order`).

use super::cut::Pending;
use super::{Flash, Timing};
use crate::units::Channel;
use crate::units::{Duration, Instant};
use std::collections::VecDeque;

/// A FIFO resource is its next free time. A garbage collection that holds the channel makes it a
/// scheduled one: transfers of others wait in `waiting` until the release.
#[derive(Clone, Debug, Default)]
pub(super) struct ChannelState {
    free_at: Instant,
    /// The end of the last transfer of a garbage collection: a transfer requested before it waits
    /// for garbage collection.
    gc_until: Instant,
    /// Held for a garbage collection since then.
    pub held_since: Option<Instant>,
    /// Time held for garbage collection, over all holds that ended.
    held: Duration,
    /// Time with a transfer on the bus.
    pub busy: Duration,
    /// Dies whose read data waits for the release, in order.
    pub waiting: VecDeque<u32>,
    /// Where transfers are cut: the host's that are not over, in order. In another order than of
    /// asking: all that are not over, in that.
    pub pending: VecDeque<Pending>,
}

/// A command or data on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crossing {
    /// The command of a read.
    Command,
    /// The command of an erase.
    EraseCommand,
    /// The command that suspends an erase or a program.
    Suspend,
    /// The command that lets it go on.
    Resume,
    /// So many sectors that were read.
    Out(u32),
    /// The command of a program and so many sectors.
    In(u32),
}

impl Crossing {
    /// The time it takes.
    #[inline(always)]
    pub fn time(self, timing: &Timing) -> Duration {
        match self {
            Crossing::Command => timing.command,
            Crossing::EraseCommand => timing.erase_command,
            Crossing::Suspend | Crossing::Resume => timing.suspend_command,
            Crossing::Out(sectors) => timing.transfer(sectors),
            Crossing::In(sectors) => timing.command + timing.transfer(sectors),
        }
    }
}

/// A transfer's place on the channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reserved {
    pub start: Instant,
    pub end: Instant,
    /// A garbage collection's transfer lay between the asking and the start.
    pub behind_gc: bool,
}

impl ChannelState {
    /// Takes the channel for `time` as soon as those who asked earlier are done.
    #[inline]
    pub fn reserve(&mut self, now: Instant, time: Duration, gc: bool) -> Reserved {
        let start = self.free_at.max(now);
        let behind_gc = self.gc_until > now;
        let end = start + time;
        self.free_at = end;
        self.busy += time;
        if gc {
            self.gc_until = end;
        }
        Reserved { start, end, behind_gc }
    }

    /// Garbage collection takes the channel from `start` to `end`, before others, who go on `delay`
    /// later.
    pub fn goes_first(
        &mut self,
        now: Instant,
        start: Instant,
        end: Instant,
        delay: Duration,
    ) -> Reserved {
        let behind_gc = self.gc_until > now;
        self.gc_until = end;
        self.free_at += delay;
        self.busy += delay;
        Reserved { start, end, behind_gc }
    }

    /// Garbage collection, which has the channel for itself, uses it now and then for `time` from
    /// when it is free on; until when. What crosses in that time is counted later.
    #[inline]
    pub fn is_taken_for(&mut self, now: Instant, time: Duration) -> Instant {
        self.free_at = self.free_at.max(now) + time;
        self.gc_until = self.free_at;
        self.free_at
    }

    /// Keeps, of the line, when the last transfer of garbage collection is over.
    pub fn note_last_of_gc(&mut self) {
        let last = self.pending.iter().rfind(|pending| pending.operation.gc);
        self.gc_until = last.map_or(self.gc_until, |last| last.end);
    }

    /// It is not taken for so long after all.
    pub fn is_free_again(&mut self, at: Instant) {
        (self.free_at, self.gc_until) = (at, at);
    }

    /// When the transfers that have their place are over.
    pub fn free_at(&self) -> Instant {
        self.free_at
    }

    /// When those of garbage collection are.
    pub fn gc_until(&self) -> Instant {
        self.gc_until
    }

    pub fn hold(&mut self, now: Instant) {
        debug_assert!(self.held_since.is_none(), "a channel is held once at a time");
        self.held_since = Some(now);
    }

    pub fn release(&mut self, now: Instant) {
        let since = self.held_since.take().expect("only a held channel is released");
        self.held += now.since(since);
    }

    /// Time held for garbage collection up to `now`.
    #[inline]
    pub fn held_until(&self, now: Instant) -> Duration {
        self.held + self.held_since.map_or(Duration::ZERO, |since| now.since(since))
    }
}

impl Flash {
    /// Holds the channel of `die` for a garbage collection: only its operations start, other
    /// transfers wait.
    pub fn hold_channel(&mut self, now: Instant, channel: Channel) {
        self.channels[channel.index()].hold(now);
    }

    /// Ends the hold; the transfers that waited go in their order. The caller gives the channel's
    /// idle dies their next operations.
    pub fn release_channel(&mut self, now: Instant, channel: Channel) {
        self.channels[channel.index()].release(now);
        while let Some(die) = self.channels[channel.index()].waiting.pop_front() {
            self.dies[die as usize].behind_gc = true;
            if let Some(blame) = &mut self.blame {
                blame.channel_released(now, die as usize);
            }
            self.transfer_out(now, die as usize);
        }
    }
}
