//! Whole copies that follow one another on a die whose channel is theirs: a train of them is one
//! event.
//!
//! Where every page is read, and every row programmed, in the same time, and nothing can come
//! between two copies of a collection, the end of the last is known when the first begins. A reader
//! of the state meanwhile is told how many are over ([`Flash::copies_over`]): the changes of a copy
//! outside of its die are not needed earlier.

use super::whole::Copied;
use super::{Flash, What};
use crate::units::{Die, Duration, Instant, Ppn};

/// The copies that a die works on, from the first of which nobody was told the end. A single one is
/// a train, too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Train {
    pub count: u32,
    /// When the first of them ends; known where there are more.
    first_end: Instant,
}

impl Train {
    pub const SINGLE: Self = Self { count: 1, first_end: Instant::START };
}

impl Flash {
    /// True when a copy takes the same time whatever the pages.
    pub fn copies_alike(&self) -> bool {
        !self.copies_in_two && self.timing.is_uniform()
    }

    /// The whole copy that begins on a die is the first of `count`, which follow one another.
    #[inline]
    pub fn add_copies(&mut self, die: Die, count: u32) {
        let Some(first_end) = self.timers.due(die.index()).filter(|_| count > 1) else { return };
        self.trains[die.index()] = Train { count, first_end };
        self.trains_under_way += 1;
        self.timers.set(die.index(), first_end + self.copy_time_alike() * u64::from(count - 1));
    }

    /// The time from the end of one copy of a train to the end of the next.
    fn copy_time_alike(&self) -> Duration {
        let across = self.timing.command + self.timing.transfer(self.copy_sectors);
        let (read, program) = self.timing.means();
        across * 2 + read + program
    }

    /// True when there may be copies that are over and not committed.
    #[inline]
    pub fn has_trains(&self) -> bool {
        self.trains_under_way > 0
    }

    /// True when the die works on a train of more than one copy.
    #[inline]
    pub fn has_train(&self, die: Die) -> bool {
        self.has_trains() && self.trains[die.index()].count > 1
    }

    /// Copies that are over on the die at `now` and of which nobody was told.
    pub fn copies_over(&self, now: Instant, die: Die) -> u32 {
        let Train { count, first_end } = self.trains[die.index()];
        if count == 1 || now < first_end {
            return 0;
        }
        let each = self.copy_time_alike();
        let before = now.since(first_end).as_ns() / each.as_ns();
        let last = first_end + each * before;
        let over = before + u64::from(self.timers.is_over(now, die.index(), last));
        // The last one's end is an event.
        over.min(u64::from(count) - 1) as u32
    }

    /// Copies that are over on all dies, at the instant that the flash was brought to, and of which
    /// nobody was told.
    pub fn all_copies_over(&self) -> u64 {
        if self.trains_under_way == 0 {
            return 0;
        }
        self.layout.each_die().map(|die| u64::from(self.copies_over(self.seen_until(), die))).sum()
    }

    /// When the copy ends that the die works on at `now`.
    pub(super) fn copy_end(&self, now: Instant, die: Die) -> Option<Instant> {
        let Train { count, first_end } = self.trains[die.index()];
        match count {
            1 => self.timers.due(die.index()),
            _ => Some(first_end + self.copy_time_alike() * u64::from(self.copies_over(now, die))),
        }
    }

    /// The first `over` copies of a die's train were told of; the next one is `next`.
    pub fn copies_are_told(&mut self, die: Die, over: u32, next: (Ppn, Ppn)) {
        let Some((_, to)) = self.whole_copy(die) else { return };
        self.end_whole_copies(Copied { die, to, count: over });
        let each = self.copy_time_alike();
        let train = &mut self.trains[die.index()];
        (train.count, train.first_end) =
            (train.count - over, train.first_end + each * u64::from(over));
        self.trains_under_way -= u32::from(train.count == 1);
        self.dies[die.index()].operation.what = What::Copy { from: next.0, to: next.1 };
    }

    /// No copy follows the one that the die works on, of which the ones before were told.
    pub(super) fn cut_train(&mut self, die: Die) {
        let train = std::mem::replace(&mut self.trains[die.index()], Train::SINGLE);
        if train.count > 1 {
            self.trains_under_way -= 1;
            self.timers.set(die.index(), train.first_end);
        }
    }

    /// The train that ended with the die's last event: how many copies it was.
    #[inline]
    pub fn take_train(&mut self, die: Die) -> u32 {
        self.trains_under_way -= 1;
        std::mem::replace(&mut self.trains[die.index()], Train::SINGLE).count
    }
}
