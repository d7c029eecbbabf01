//! Attribution books reads and writes on the direct way, which have no request (`io/direct.rs`).

use crate::drive::observe::attribution::{Attributed, Attribution, OpBooks, add_taken, at};
use crate::drive::observe::critical::NO_LINK;
use crate::drive::{CommandId, Drive, OpId};
use crate::units::{Cause, Die, Duration, Instant, Split};

impl Drive {
    /// A command comes.
    #[inline]
    pub(in crate::drive) fn book_submitted(&mut self, now: Instant, id: CommandId) {
        if let Some(attribution) = &mut self.attribution {
            attribution.submitted(now, id);
        }
    }

    /// A command goes directly. Where nothing lies before the drive it comes now.
    #[inline]
    pub(in crate::drive) fn book_comes_directly(&mut self, now: Instant, id: CommandId) {
        self.if_booked(|drive| drive.book_comes_on_demand(now, id));
    }

    #[inline]
    pub(super) fn book_comes_on_demand(&mut self, now: Instant, id: CommandId) {
        if self.direct.is_at_once() {
            self.book_submitted(now, id);
        }
    }

    /// A read comes to an idle die, which begins it at once.
    #[inline]
    pub(in crate::drive) fn book_direct_start(
        &mut self,
        now: Instant,
        op: OpId,
        at: (Die, CommandId),
    ) {
        self.if_booked(|drive| drive.book_direct_start_on_demand(now, op, at));
    }

    /// As it does not wait, nobody asks for the books of the die before it.
    #[inline(never)]
    fn book_direct_start_on_demand(&mut self, now: Instant, op: OpId, (die, id): (Die, CommandId)) {
        self.book_comes_on_demand(now, id);
        let forced = self.is_urgent_at(die);
        let met = self.flash.doing(die).expect("books are kept");
        let Some(attribution) = &mut self.attribution else { return };
        let books = at(&mut attribution.ops, op.index(), || OpBooks::none(now));
        (books.enqueued, books.issued, books.forced, books.met) = (now, now, forced, met);
        (books.led_by, books.by_flush) = (NO_LINK, false);
    }

    /// The flash has ended a read on the direct way.
    #[inline]
    pub(in crate::drive) fn book_direct_end(&mut self, now: Instant, die: Die) {
        if let Some(attribution) = &mut self.attribution {
            attribution.critical.ended.without_books(now, die, Cause::Queue);
        }
    }

    /// A read on the direct way is done, and its completion reaches the host at `leaves`.
    #[inline]
    pub(in crate::drive) fn book_direct_read(
        &mut self,
        now: Instant,
        (op, die, id): (OpId, Die, CommandId),
        leaves: Instant,
    ) {
        self.if_booked(|drive| drive.split_direct_read(now, (op, die, id), leaves));
    }

    #[inline(never)]
    fn split_direct_read(
        &mut self,
        now: Instant,
        (op, die, id): (OpId, Die, CommandId),
        leaves: Instant,
    ) {
        let (hold, waits) = (self.spec.controller, self.flash.finished_waits());
        let Some(attribution) = &mut self.attribution else { return };
        debug_assert!(attribution.ending.is_none(), "it ends alone");
        let times = attribution.commands[id.index()];
        let Attributed { split, story } = attribution.leaving.push_place();
        *split = Split::NONE;
        let begun = Attribution::outside(times, split, (now, leaves), hold);
        let books = &attribution.ops[op.index()];
        split.add(Cause::Buffer, books.enqueued.since(begun));
        books.add_to(split, &waits, now, Cause::Queue);
        debug_assert_eq!(split.total(), leaves.since(times[0]));
        *story = Some(books.story(die, now));
    }

    /// A write on the direct way is done, and its completion reaches the host at `leaves`.
    #[inline]
    pub(in crate::drive) fn book_direct_write(
        &mut self,
        now: Instant,
        id: CommandId,
        leaves: Instant,
    ) {
        self.if_booked(|drive| drive.split_direct_write(now, id, leaves));
    }

    #[inline(never)]
    fn split_direct_write(&mut self, now: Instant, id: CommandId, leaves: Instant) {
        let (hold, hit): (Duration, Duration) = (self.spec.controller, self.spec.buffer_hit);
        let Some(attribution) = &mut self.attribution else { return };
        let times = attribution.commands[id.index()];
        let Attributed { split, story } = attribution.leaving.push_place();
        *split = Split::NONE;
        let begun = Attribution::outside(times, split, (now, leaves), hold);
        *story = add_taken(&mut attribution.taken, split, id, (begun, now), hit);
        debug_assert_eq!(split.total(), leaves.since(times[0]));
    }
}
