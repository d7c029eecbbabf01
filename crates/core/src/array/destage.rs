//! Rows of the array's memory are written out: so many at a time, in the order in which they were
//! gathered.

use super::Array;
use super::link::MemberLink;
use super::rows::{Phase, RowId};
use crate::units::Instant;

impl<M: MemberLink> Array<M> {
    /// A row has gathered something: it is updated at once, or in its turn where there is a cache.
    pub(super) fn wants_update(&mut self, now: Instant, slot: RowId) {
        if self.rows[slot].phase != Phase::Gathering || self.rows[slot].queued {
            return;
        }
        if self.writes.room == 0 {
            return self.begin_update(now, slot);
        }
        self.rows[slot].queued = true;
        self.writes.queue.push_back(slot);
        self.write_out(now);
    }

    /// Begins the rows whose turn it is. One that no member takes ends before this goes on, and its
    /// end calls here: then the loop that began it begins the next one too, for thousands may wait.
    pub(super) fn write_out(&mut self, now: Instant) {
        if std::mem::replace(&mut self.writes.begins, true) {
            return;
        }
        while self.writes.active < self.writes.depth
            && let Some(slot) = self.writes.queue.pop_front()
        {
            self.rows[slot].queued = false;
            self.writes.active += 1;
            self.begin_update(now, slot);
        }
        self.writes.begins = false;
    }
}
