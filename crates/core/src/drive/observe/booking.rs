//! Attribution books an operation when it comes to its die, is begun and ends, and a command when
//! it completes.

use crate::drive::dies::queues::Class;
use crate::drive::features::Scheme;
use crate::drive::gc::merge::Chained;
use crate::drive::io::write::Incoming;
use crate::drive::map_cache::misses::WaiterId;
use crate::drive::observe::attribution::{
    Attributed, Attribution, OpBooks, Rebuilt, Story, Taken, add_hit, add_taken, at,
};
use crate::drive::observe::critical::{Ended, NO_LINK, Own, Work};
use crate::drive::parity::RebuildId;
use crate::drive::{CommandId, Drive, Op, OpId, RequestId};
use crate::flash::{Kept, add_kept, kept_between};
use crate::units::{Cause, Die, Instant, Lane, Pool, Split};

impl Drive {
    /// Attributes every command from now on: call it before the first. Books that are kept already
    /// are kept on.
    pub fn attribute(&mut self) {
        let flash = &mut self.flash;
        self.attribution.get_or_insert_with(|| {
            flash.keep_books();
            Box::default()
        });
    }

    /// The split of the completion that [`Drive::advance_before`] returned last; `None` unless
    /// asked for.
    #[inline]
    pub fn attributed(&self) -> Option<&Attributed> {
        self.attribution.as_ref().and_then(|attribution| attribution.last())
    }

    /// Keeps books, where commands are attributed.
    #[inline(always)]
    pub(in crate::drive) fn if_booked(&mut self, keeps: impl FnOnce(&mut Self)) {
        if self.attribution.is_some() {
            keeps(self);
        }
    }

    /// An operation comes to its die.
    #[inline]
    pub(in crate::drive) fn book_arrival(&mut self, now: Instant, op: OpId, die: Die) {
        self.if_booked(|drive| drive.book_arrival_on_demand(now, op, die));
    }

    #[inline(never)]
    fn book_arrival_on_demand(&mut self, now: Instant, op: OpId, die: Die) {
        let forced = self.is_urgent_at(die);
        let work = self.ops[op].work();
        let by_flush = work == Work::Program && !self.writes.is_flushed();
        let Some(attribution) = &mut self.attribution else { return };
        if self.ops[op].class != Class::Read {
            self.flash.sent_by_flush(op, by_flush);
        }
        let kept = self.flash.kept(now, die);
        let met = self.flash.doing(die).expect("books are kept");
        let led_by =
            if work == Work::Other { NO_LINK } else { attribution.critical.link(&self.flash, now) };
        let books = OpBooks { enqueued: now, issued: now, kept, met, forced, led_by, by_flush };
        *at(&mut attribution.ops, op.index(), || OpBooks::none(now)) = books;
    }

    /// Garbage collection works on the die, at or below its hard mark.
    #[inline]
    pub(super) fn is_urgent_at(&self, die: Die) -> bool {
        match self.flash.layout.lanes_per_die {
            1 => self.is_collecting_urgently(self.ftl.pool_of(Lane(die.0))),
            _ => self.is_urgent_on_any_plane(die),
        }
    }

    #[inline]
    fn is_collecting_urgently(&self, pool: Pool) -> bool {
        self.ftl.is_collecting(pool) && self.ftl.is_urgent(pool)
    }

    #[inline(never)]
    fn is_urgent_on_any_plane(&self, die: Die) -> bool {
        self.ftl.pools_on(die).any(|pool| self.is_collecting_urgently(pool))
    }

    /// The die begins an operation. One that has not waited was booked when it came.
    #[inline]
    pub(in crate::drive) fn book_issue(&mut self, now: Instant, op: OpId, die: Die) {
        let Some(attribution) = &self.attribution else { return };
        let came_now = |books: &OpBooks| books.enqueued == now && books.issued == now;
        if !attribution.ops.get(op.index()).is_some_and(came_now) {
            self.book_issue_on_demand(now, op, die);
        }
    }

    #[inline(never)]
    fn book_issue_on_demand(&mut self, now: Instant, op: OpId, die: Die) {
        if !self.ops[op].class.is_of_host() {
            return;
        }
        let waited = |books: &OpBooks| now > books.enqueued && !books.forced;
        let books = self.attribution.as_ref().map(|attribution| &attribution.ops[op.index()]);
        let forced = books.is_some_and(waited) && self.is_urgent_at(die);
        let Some(attribution) = &mut self.attribution else { return };
        let books = &mut attribution.ops[op.index()];
        books.issued = now;
        if now > books.enqueued {
            books.forced |= forced;
            let kept = self.flash.kept(now, die);
            books.kept = kept_between(&books.kept, &kept);
            if self.scheme == Scheme::CachedMap {
                *at(&mut attribution.kept_at_issue, op.index(), Kept::default) = kept;
            }
        }
    }

    /// An operation has ended; its owner is about to be told.
    #[inline]
    pub(in crate::drive) fn book_end(&mut self, now: Instant, op: OpId, die: Die) {
        self.if_booked(|drive| drive.book_end_on_demand(now, op, die));
    }

    #[inline(never)]
    fn book_end_on_demand(&mut self, now: Instant, op: OpId, die: Die) {
        let (operation, idle) =
            (&self.ops[op], self.ops[op].waits_on_an_idle_die_for(self.spec.scheduler));
        let work = operation.work();
        let Some(attribution) = &mut self.attribution else { return };
        attribution.ending = operation.class.is_of_host().then_some(op);
        if work == Work::Other {
            return attribution.critical.ended.without_books(now, die, idle);
        }
        let books = attribution.ops[op.index()];
        let (from, led_by, link) = (books.enqueued, books.led_by, NO_LINK);
        let waits = self.flash.finished_waits();
        attribution.critical.ended =
            Ended { at: now, die, work, books, waits, idle, from, led_by, link };
    }

    /// An operation of a copy has ended, and its chain goes on.
    #[inline]
    pub(in crate::drive) fn book_copy_end(&mut self, now: Instant, op: OpId, die: Die) {
        let Some(attribution) = &mut self.attribution else { return };
        let idle = self.ops[op].waits_on_an_idle_die_for(self.spec.scheduler);
        attribution.critical.ended.without_books(now, die, idle);
    }

    /// An operation has ended in vain: what follows is led by it.
    pub(in crate::drive) fn book_failure(&mut self, now: Instant, op: OpId, die: Die) {
        self.book_end(now, op, die);
        self.book_told();
    }

    /// The owner of the ended operation was told.
    #[inline]
    pub(in crate::drive) fn book_told(&mut self) {
        if let Some(attribution) = &mut self.attribution {
            attribution.ending = None;
        }
    }

    /// A write, a deallocation or a flush waits for flash itself from now on.
    pub(in crate::drive) fn book_waiting(&mut self, request: RequestId) {
        if let Some(attribution) = &mut self.attribution {
            let begun = attribution.commands[self.requests[request].command.id.index()][2];
            attribution.critical.awaits(request, begun);
            self.book_past();
        }
    }

    /// The first that waits for room in the buffer has changed, or what else waits for flash.
    #[inline(never)]
    pub(in crate::drive) fn book_past(&mut self) {
        let Some(attribution) = &mut self.attribution else { return };
        let first = self.writes.waiting.front().map(|write| match write {
            Incoming::Request(request) => self.requests[request].command.id,
            Incoming::Direct { id, .. } => id,
        });
        let waiting = first.map_or(Instant::NEVER, |id| attribution.commands[id.index()][2]);
        let from = attribution.critical.lets_go(waiting);
        self.flash.asks_of_the_past(from);
    }

    /// A write is in the buffer, and completes from there.
    #[inline]
    pub(in crate::drive) fn book_taken(&mut self, now: Instant, request: RequestId) {
        if let Some(attribution) = &mut self.attribution {
            attribution.critical.is_done(request);
            self.book_taken_on_demand(now, self.requests[request].command.id);
        }
    }

    /// Likewise, of the direct way.
    #[inline]
    pub(in crate::drive) fn book_taken_directly(&mut self, now: Instant, id: CommandId) {
        self.if_booked(|drive| drive.book_taken_on_demand(now, id));
    }

    #[inline(never)]
    fn book_taken_on_demand(&mut self, now: Instant, id: CommandId) {
        let Some(attribution) = &mut self.attribution else { return };
        let begun = attribution.commands[id.index()][2];
        let mut split = Split::NONE;
        let link = attribution.critical.link(&self.flash, now);
        let story = attribution.critical.add_wait(
            &self.flash,
            &mut split,
            (begun, now),
            link,
            Own::Nothing,
        );
        *at(&mut attribution.taken, id.index(), || None) = Some(Taken { begun, split, story });
        if attribution.critical.lets_go_now() || self.writes.waiting.is_empty() {
            self.book_past();
        }
    }

    /// The link that leads to what a log-block FTL does now.
    pub(in crate::drive) fn book_led(&mut self, now: Instant) -> u64 {
        let Some(attribution) = &mut self.attribution else { return NO_LINK };
        attribution.critical.link(&self.flash, now)
    }

    /// A waiter for an entry of the map arrives.
    pub(in crate::drive) fn book_entry(&mut self, now: Instant, waiter: WaiterId) {
        if let Some(attribution) = &mut self.attribution {
            let none = (now, Split::NONE);
            *at(&mut attribution.entries, waiter.index(), || none) = none;
            let came = (now, attribution.critical.link(&self.flash, now));
            *at(&mut attribution.came, waiter.index(), || came) = came;
        }
    }

    /// A waiter for an entry of the map joins an operation on `die`, which may be under way.
    pub(in crate::drive) fn book_joined(&mut self, now: Instant, waiter: WaiterId, die: Die) {
        let Some(attribution) = &mut self.attribution else { return };
        let (since, split) = &mut attribution.entries[waiter.index()];
        split.add(Cause::Buffer, now.since(*since));
        *since = now;
        let kept = self.flash.kept(now, die);
        *at(&mut attribution.kept_at_join, waiter.index(), Kept::default) = kept;
    }

    /// A write's page goes on that waited for an entry of the map.
    pub(in crate::drive) fn book_write_known(&mut self, now: Instant, waiter: WaiterId) {
        if let Some(attribution) = &mut self.attribution {
            let (from, led_by) = attribution.came[waiter.index()];
            attribution.critical.joined(now, from, led_by);
        }
    }

    /// A translation-page operation completed that an entry of the map waited for. A waiter that
    /// joined it before its issue waited for its die from then on; one that joined it later, for
    /// its work, which is charged to `Reads` but for what was behind garbage collection.
    pub(in crate::drive) fn book_map_op(&mut self, now: Instant, op: OpId, waiter: WaiterId) {
        let Some(attribution) = &mut self.attribution else { return };
        let (books, waits) = (attribution.ops[op.index()], self.flash.finished_waits());
        let idle = self.ops[op].waits_on_an_idle_die_for(self.spec.scheduler);
        let (since, split) = &mut attribution.entries[waiter.index()];
        if books.enqueued >= *since {
            split.add(Cause::Buffer, books.enqueued.since(*since));
            books.add_to(split, &waits, now, idle);
        } else if books.issued >= *since {
            let (join, issue) = (&attribution.kept_at_join, &attribution.kept_at_issue);
            let kept = kept_between(&join[waiter.index()], &issue[op.index()]);
            add_kept(split, &kept, idle);
            books.add_work_to(split, &waits, now, Cause::Service);
        } else {
            let behind_gc = waits.gc.min(now.since(*since));
            split.add(Cause::GcCopy, behind_gc);
            split.add(Cause::Reads, now.since(*since) - behind_gc);
        }
        *since = now;
    }

    /// An entry of the map is there, and the page that waited for it is read by `op`, which comes
    /// now.
    pub(in crate::drive) fn book_entry_over(
        &mut self,
        now: Instant,
        waiter: WaiterId,
        op: Option<OpId>,
    ) {
        let (Some(attribution), Some(op)) = (&mut self.attribution, op) else { return };
        let (since, mut split) = attribution.entries[waiter.index()];
        split.add(Cause::Buffer, now.since(since));
        let none = || (Instant::START, Split::NONE);
        *at(&mut attribution.mapped, op.index(), none) = (now, split);
    }

    /// An entry of the map is there, and the pages that the read waited for are in the buffer by
    /// now.
    pub(in crate::drive) fn book_entry_of_hit(
        &mut self,
        now: Instant,
        waiter: WaiterId,
        request: RequestId,
    ) {
        let Some(attribution) = &mut self.attribution else { return };
        let [_, _, begun] = attribution.commands[self.requests[request].command.id.index()];
        let (_, mut split) = attribution.entries[waiter.index()];
        split.add(Cause::Buffer, now.since(begun) - split.total());
        let known = Taken { begun: now, split, story: None };
        *at(&mut attribution.decoded, request.index(), || None) = Some(known);
    }

    /// An operation will not begin: another one may come in its place at this very instant, and
    /// waited for no entry.
    pub(in crate::drive) fn book_withdrawn(&mut self, op: OpId) {
        if let Some(attribution) = &mut self.attribution
            && let Some(mapped) = attribution.mapped.get_mut(op.index())
        {
            *mapped = (Instant::START, Split::NONE);
        }
    }

    /// The data of a read has left the flash, and is decoded from now on.
    pub(in crate::drive) fn book_decoding(&mut self, now: Instant, request: RequestId) {
        let Some(attribution) = &self.attribution else { return };
        // It has completed, and another command may have its number.
        if self.requests[request].failed {
            return;
        }
        let [_, _, begun] = attribution.commands[self.requests[request].command.id.index()];
        let mut split = Split::NONE;
        let story = self.split_read(now, request, begun, &mut split);
        if let Some(attribution) = &mut self.attribution {
            let decoded = Taken { begun: now, split, story };
            *at(&mut attribution.decoded, request.index(), || None) = Some(decoded);
        }
    }

    /// The last member of a computed page is read.
    pub(in crate::drive) fn book_rebuild(&mut self, now: Instant, op: OpId, rebuild: RebuildId) {
        let Some(attribution) = &mut self.attribution else { return };
        let (books, waits) = (attribution.ops[op.index()], self.flash.finished_waits());
        let operation = &self.ops[op];
        let idle = operation.waits_on_an_idle_die_for(self.spec.scheduler);
        let (die, is_extra) =
            (self.flash.layout.die_of(operation.lane), operation.feeds == RebuildId::NIL);
        let rebuilt = Rebuilt { books, waits, ended: now, idle, die, is_extra };
        *at(&mut attribution.rebuilds, rebuild.index(), || None) = Some(rebuilt);
    }

    /// A computed page ends its request, which is about to be told; or it was.
    pub(in crate::drive) fn book_rebuilt(&mut self, rebuild: Option<RebuildId>) {
        if let Some(attribution) = &mut self.attribution {
            attribution.rebuilt = rebuild;
        }
    }

    /// A log-block FTL's page is done, and those who wait for it are about to be told; or they
    /// were.
    pub(in crate::drive) fn book_chained(&mut self, chained: Option<Chained>) {
        if let Some(attribution) = &mut self.attribution {
            attribution.chained = chained;
        }
    }

    /// Where the time of a program that is done went, from its arrival on; `None` unless asked for.
    pub(in crate::drive) fn split_of_program(&self, now: Instant, op: OpId) -> Option<Split> {
        let attribution = self.attribution.as_ref()?;
        let (mut split, idle) =
            (Split::NONE, self.ops[op].waits_on_an_idle_die_for(self.spec.scheduler));
        attribution.ops[op.index()].add_to(&mut split, &self.flash.finished_waits(), now, idle);
        Some(split)
    }

    /// A command is done at `now` and its completion reaches the host at `leaves`.
    #[inline]
    pub(in crate::drive) fn book_completion(
        &mut self,
        now: Instant,
        request: RequestId,
        leaves: Instant,
    ) {
        self.if_booked(|drive| drive.split_completion(now, request, leaves));
    }

    #[inline(never)]
    fn split_completion(&mut self, now: Instant, request: RequestId, leaves: Instant) {
        let Some(attribution) = &self.attribution else { return };
        let command = &self.requests[request].command;
        let submitted = attribution.commands[command.id.index()][0];
        let work = self.ports.core_work(command.op, command.lba, command.sectors);
        let hold = self.spec.controller + work;
        let mut split = Split::NONE;
        let times = attribution.commands[command.id.index()];
        let begun = Attribution::outside(times, &mut split, (now, leaves), hold);
        let story = match command.op {
            // That of a read before this one may have been left, where a reset ended it.
            Op::Read => match self.take_decoded(request).filter(|known| known.begun >= begun) {
                Some(Taken { begun: whole, split: before, story }) => {
                    split += before;
                    split.add(Cause::Service, now.since(whole));
                    story
                }
                None => self.split_read(now, request, begun, &mut split),
            },
            Op::Write | Op::Trim | Op::Flush => self.split_write(now, request, begun, &mut split),
        };
        debug_assert_eq!(split.total(), leaves.since(submitted), "the parts add up to the whole");
        if let Some(attribution) = &mut self.attribution {
            attribution.leaving.push_back(Attributed { split, story });
        }
    }

    fn take_decoded(&mut self, request: RequestId) -> Option<Taken> {
        self.attribution.as_mut()?.decoded.get_mut(request.index())?.take()
    }

    /// Adds what a read spent that was begun then and is done now.
    fn split_read(
        &self,
        now: Instant,
        request: RequestId,
        begun: Instant,
        split: &mut Split,
    ) -> Option<Story> {
        let attribution = self.attribution.as_ref()?;
        let rebuilt =
            attribution.rebuilt.and_then(|rebuild| *attribution.rebuilds.get(rebuild.index())?);
        match attribution.ending {
            _ if let Some(rebuilt) = rebuilt => {
                let Rebuilt { books, ended, die, .. } = &rebuilt;
                // A page that was read in vain first is computed later than the request began.
                split.add(Cause::Reconstruct, books.enqueued.since(begun));
                rebuilt.add_to(split, now);
                return Some(books.story(*die, *ended));
            }
            Some(op) if self.ops[op].serves(request) => {
                let (operation, books) = (&self.ops[op], &attribution.ops[op.index()]);
                let from = attribution.add_map(split, op, begun, books.enqueued);
                split.add(Cause::Buffer, books.enqueued.since(from));
                let idle = operation.waits_on_an_idle_die_for(self.spec.scheduler);
                books.add_to(split, &self.flash.finished_waits(), now, idle);
                return Some(books.story(self.flash.layout.die_of(operation.lane), now));
            }
            Some(_) => split.add(Cause::Buffer, now.since(begun)),
            // A read that was failed fast had waited behind other operations.
            None if self.requests[request].failed => split.add(Cause::Queue, now.since(begun)),
            None => add_hit(split, self.spec.buffer_hit, now.since(begun)),
        }
        None
    }

    /// Adds what a write, a deallocation or a flush spent that was begun then and is done now.
    fn split_write(
        &mut self,
        now: Instant,
        request: RequestId,
        begun: Instant,
        split: &mut Split,
    ) -> Option<Story> {
        let is_durable = self.requests[request].is_durable(&self.spec);
        let attribution = self.attribution.as_mut()?;
        let awaits = attribution.critical.is_done(request);
        let (id, op) = (self.requests[request].command.id, self.requests[request].command.op);
        let is_write = op == Op::Write;
        let story = match attribution.chained {
            Some(Chained { began, split: chain, led_by }) if is_write && began >= begun => {
                let own = if is_durable { Own::Reads } else { Own::Nothing };
                let wait = (begun, began);
                let story = attribution.critical.add_wait(&self.flash, split, wait, led_by, own);
                *split += chain;
                story
            }
            _ if awaits || attribution.ending.is_some() => {
                let link = attribution.critical.link(&self.flash, now);
                let own = if is_write && is_durable { Own::Program } else { Own::Nothing };
                attribution.critical.add_wait(&self.flash, split, (begun, now), link, own)
            }
            _ => add_taken(&mut attribution.taken, split, id, (begun, now), self.spec.buffer_hit),
        };
        if op == Op::Flush {
            // The rows that it sent are its own: to itself they are programs.
            split.recharge(Cause::Flush, Cause::Program);
        }
        if awaits {
            self.book_past();
        }
        story
    }

    /// A command is aborted before it was fetched.
    pub(in crate::drive) fn book_abort(&mut self, now: Instant, id: CommandId, leaves: Instant) {
        let Some(attribution) = &mut self.attribution else { return };
        let [submitted, ..] = attribution.commands[id.index()];
        let mut split = Split::NONE;
        split.add(Cause::Queue, now.since(submitted));
        split.add(Cause::Link, leaves.since(now));
        attribution.leaving.push_back(Attributed { split, story: None });
    }
}
