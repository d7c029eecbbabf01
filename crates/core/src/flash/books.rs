//! The books of a flash (`blame`), as the drive keeps them and asks for them; none are kept unless
//! asked for.

use super::blame::{Blame, Doing, KEEPERS, Kept, Waits, Whose};
use super::channel::Reserved;
use super::{Flash, LEAN, OpId};
use crate::units::{Die, Instant};

impl Flash {
    /// Keeps books of every wait from now on.
    pub fn keep_books(&mut self) {
        self.blame = Some(Box::new(Blame::new(self.layout.dies, self.layout.channels)));
        self.look_for_features();
    }

    /// A transfer has its place on the channel. One that begins at once waits for nobody; those of
    /// garbage collection are remembered.
    #[inline(always)]
    pub(super) fn book_transfer(
        &mut self,
        now: Instant,
        at: (usize, Whose),
        channel: usize,
        reserved: &Reserved,
        gc: bool,
    ) {
        if reserved.start > now {
            self.book_wait(now, at, channel, reserved.start);
        }
        if gc && let Some(blame) = &mut self.blame {
            blame.collector_reserved(now, channel, reserved.start, reserved.end);
        }
    }

    #[inline(never)]
    fn book_wait(&mut self, now: Instant, at: (usize, Whose), channel: usize, start: Instant) {
        if let Some(blame) = &mut self.blame {
            blame.waits_behind(now, at, channel, start.since(now));
        }
    }

    /// Blocked time of the die so far, by blocker; zeros without attribution.
    #[inline]
    pub fn kept(&self, now: Instant, die: Die) -> Kept {
        self.blame.as_ref().map_or([0; KEEPERS], |blame| blame.totals(now, die.index()))
    }

    /// The time by keeper up to `at`, which is not before the instant that
    /// [`Flash::asks_of_the_past`] was told; zeros without books.
    pub fn kept_at(&self, at: Instant, die: Die) -> Kept {
        self.blame.as_ref().map_or([0; KEEPERS], |blame| blame.totals_at(at, die.index()))
    }

    /// Books are told that the die's operation is done.
    #[inline(always)]
    pub(super) fn book_done<const WAY: u8>(&mut self, now: Instant, slot: usize) {
        if WAY != LEAN
            && let Some(blame) = &mut self.blame
        {
            blame.done(now, slot);
        }
    }

    /// Observers ask what kept a die from this instant on, and no longer about earlier ones.
    pub fn asks_of_the_past(&mut self, from: Instant) {
        if let Some(blame) = &mut self.blame {
            blame.past_from = from;
        }
    }

    /// Says of the operation with this token whether a flush has sent it to flash.
    pub fn sent_by_flush(&mut self, token: OpId, sent: bool) {
        let Some(blame) = &mut self.blame else { return };
        let at = token.index();
        if at >= blame.sent_by_flush.len() {
            blame.sent_by_flush.resize(at + 1, false);
        }
        blame.sent_by_flush[at] = sent;
    }

    /// True when an observer may ask about this instant.
    pub fn remembers(&self, at: Instant) -> bool {
        self.blame.as_ref().is_some_and(|blame| blame.past_from <= at)
    }

    /// The work of the die now.
    pub fn doing(&self, die: Die) -> Option<Doing> {
        self.blame.as_ref().map(|blame| blame.doing(die.index(), &self.layout))
    }

    /// The waits, inside the flash, of the operation that ended last.
    #[inline]
    pub fn finished_waits(&self) -> Waits {
        self.blame.as_ref().map_or(Waits::default(), |blame| blame.finished)
    }

    /// Garbage collection closes the die to the host, or opens it: who waits for it waits for
    /// garbage collection.
    pub fn close_die(&mut self, now: Instant, die: Die, closed: bool) {
        if let Some(blame) = &mut self.blame {
            blame.close(now, die.index(), closed);
        }
    }
}
