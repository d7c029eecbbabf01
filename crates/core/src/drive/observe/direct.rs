//! Attribution books reads and writes on the direct way, which have no request (`io/direct.rs`).

use crate::drive::Drive;
use crate::drive::observe::attribution::Attributed;
use crate::units::{Cause, Die, Duration, Instant};

impl Drive {
    /// A command comes.
    #[inline]
    pub(in crate::drive) fn book_submitted(&mut self, now: Instant, id: u32) {
        if let Some(attribution) = &mut self.attribution {
            attribution.submitted(now, id);
        }
    }

    /// A read on the direct way is done, and its completion reaches the host at `leaves`.
    #[inline]
    pub(in crate::drive) fn book_direct_read(
        &mut self,
        now: Instant,
        (op, die, id): (u32, Die, u32),
        leaves: Instant,
    ) {
        self.if_booked(|drive| drive.split_direct_read(now, (op, die, id), leaves));
    }

    #[inline(never)]
    fn split_direct_read(&mut self, now: Instant, (op, die, id): (u32, Die, u32), leaves: Instant) {
        let (hold, waits) = (self.spec.controller, self.flash.finished_waits());
        let Some(attribution) = &mut self.attribution else { return };
        let (begun, mut split) = attribution.outside(id, now, leaves, hold);
        let books = &attribution.ops[op as usize];
        split.add(Cause::Buffer, books.enqueued.since(begun));
        books.add_to(&mut split, &waits, now, Cause::Queue);
        debug_assert_eq!(split.total(), leaves.since(attribution.commands[id as usize][0]));
        attribution.leaving.push_back(Attributed { split, story: Some(books.story(die, now)) });
        attribution.ending = None;
    }

    /// A write on the direct way is done, and its completion reaches the host at `leaves`.
    #[inline]
    pub(in crate::drive) fn book_direct_write(&mut self, now: Instant, id: u32, leaves: Instant) {
        self.if_booked(|drive| drive.split_direct_write(now, id, leaves));
    }

    #[inline(never)]
    fn split_direct_write(&mut self, now: Instant, id: u32, leaves: Instant) {
        let (hold, hit): (Duration, Duration) = (self.spec.controller, self.spec.buffer_hit);
        let Some(attribution) = &mut self.attribution else { return };
        let (begun, mut split) = attribution.outside(id, now, leaves, hold);
        let story = attribution.add_taken(&mut split, id, (begun, now), hit);
        debug_assert_eq!(split.total(), leaves.since(attribution.commands[id as usize][0]));
        attribution.leaving.push_back(Attributed { split, story });
    }
}
