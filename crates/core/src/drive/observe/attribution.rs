//! Attribution: each command's time inside the drive, split into its causes to the nanosecond.
//!
//! A read's time is that of its last flash operation: what came before the others' ends did not
//! delay it. That operation's wait for its die is the difference of the die's books
//! ([`crate::flash::Kept`]); inside the die the flash keeps the waits for the channel; the rest of
//! it is its own service. A write that completes in the buffer waits for room there, one that
//! completes on flash for its row, a flush for all rows: their waits are cut along the chain of
//! operations that led to the last ([`crate::drive::observe::critical`]).
//!
//! Kept only where asked for: what is done then stands in functions of its own, so that runs
//! without it are as fast as if it were not there.

use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::gc::merge::Chained;
use crate::drive::observe::critical::{Critical, Ended, NO_LINK, Own, Work};
use crate::drive::{Drive, Op, Scheduler};
use crate::flash::{Doing, Keeper, Kept, Waits, add_kept, kept_between};
use crate::sim::NIL;
use crate::units::{Cause, Duration, Instant, Split};
use std::collections::VecDeque;

/// The story of a command's last flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Story {
    /// The die it went to.
    pub die: u32,
    /// What the die did when the operation came to it.
    pub met: Doing,
    /// When the operation came to its die, was begun, and ended.
    pub times: [Instant; 3],
    /// Garbage collection on the die was at or below its hard mark, so that it went before the
    /// host.
    pub forced: bool,
    /// The operation is that of a row in whose place a write waited for room, and not the command's
    /// own.
    pub makes_room: bool,
}

/// A command's time, split, and its story if flash took part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributed {
    /// Nanoseconds by cause; they add up to the time from submission to completion.
    pub split: Split,
    /// What happened at the die of its last operation.
    pub story: Option<Story>,
}

/// The books of commands under way.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Attribution {
    /// When each command was submitted, fetched and begun, by its identifier.
    commands: Vec<[Instant; 3]>,
    ops: Vec<OpBooks>,
    /// The operation that is ending, while its owner is told.
    ending: Option<u32>,
    critical: Critical,
    /// By request: what a write waited for until it was in the buffer.
    taken: Vec<Option<Taken>>,
    /// By computed page: its last member's read, until the page is there.
    rebuilds: Vec<Option<Rebuilt>>,
    /// The computed page that ends its request, while that is told.
    rebuilt: Option<u32>,
    /// What the page that a log-block FTL wrote waited for, while those who waited for it are told.
    chained: Option<Chained>,
    /// By waiter for an entry of the map: since when it waits for what goes on now, and what it
    /// waited for before.
    entries: Vec<(Instant, Split)>,
    /// By waiter for an entry of the map: when it came, and the link that led to it.
    came: Vec<(Instant, u64)>,
    /// By operation: when it came, and what its page waited for the map before.
    mapped: Vec<(Instant, Split)>,
    /// Of the completions that cross the link, in their order; the first is that of the completion
    /// given out last if `given`.
    leaving: VecDeque<Attributed>,
    given: bool,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct OpBooks {
    pub enqueued: Instant,
    pub issued: Instant,
    /// What the die had been kept by when the operation came; from its issue on, only while it
    /// waited.
    kept: Kept,
    pub met: Doing,
    /// Garbage collection went before the host when it came, or when it was begun.
    pub forced: bool,
    /// The link that led to its coming.
    pub led_by: u64,
}

/// A write's way into the buffer.
#[derive(Clone, Copy, Debug)]
struct Taken {
    begun: Instant,
    split: Split,
    story: Option<Story>,
}

/// The read of the last member of a page that is computed.
#[derive(Clone, Copy, Debug)]
struct Rebuilt {
    books: OpBooks,
    waits: Waits,
    ended: Instant,
    idle: Cause,
    die: u32,
    /// The request did not ask for it.
    is_extra: bool,
}

impl Rebuilt {
    /// Adds what the request waited for: the wait of an extra member is the stripe's, its own work
    /// takes the place of the page's.
    fn add_to(&self, split: &mut Split, now: Instant) {
        let Rebuilt { books, waits, ended, idle, is_extra, .. } = self;
        if *is_extra {
            split.add(Cause::Reconstruct, books.issued.since(books.enqueued) + waits.total());
            split.add(Cause::Service, ended.since(books.issued) - waits.total());
        } else {
            books.add_to(split, waits, *ended, *idle);
        }
        split.add(Cause::Reconstruct, now.since(*ended));
    }
}

impl OpBooks {
    /// Of an operation that none are kept of.
    fn none(now: Instant) -> Self {
        let met = Doing { keeper: Keeper::Nobody, block: None, since: now };
        Self {
            enqueued: now,
            issued: now,
            kept: Kept::default(),
            met,
            forced: false,
            led_by: NO_LINK,
        }
    }

    /// Adds what the operation spent from its arrival to its end.
    fn add_to(&self, split: &mut Split, waits: &Waits, ended: Instant, idle: Cause) {
        self.add_all_to(split, waits, ended, idle, Cause::Service);
    }

    /// Adds all of it, with its own work as `own`.
    pub fn add_all_to(
        &self,
        split: &mut Split,
        waits: &Waits,
        ended: Instant,
        idle: Cause,
        own: Cause,
    ) {
        if self.issued > self.enqueued {
            add_kept(split, &self.kept, idle);
        }
        self.add_work_to(split, waits, ended, own);
    }

    /// Adds what it spent from its issue on.
    pub fn add_work_to(&self, split: &mut Split, waits: &Waits, ended: Instant, own: Cause) {
        split.add(Cause::Channel, waits.channel);
        split.add(Cause::GcCopy, waits.gc);
        split.add(Cause::Program, waits.program);
        split.add(Cause::Reads, waits.reads);
        split.add(Cause::Suspension, waits.suspension);
        split.add(own, ended.since(self.issued) - waits.total());
    }
}

fn at<T: Copy>(list: &mut Vec<T>, index: usize, filler: T) -> &mut T {
    if index >= list.len() {
        list.resize(index + 1, filler);
    }
    &mut list[index]
}

impl Attribution {
    /// A command comes; if nothing is in its way it is fetched and begun at once.
    #[inline]
    pub fn submitted(&mut self, now: Instant, id: u32) {
        *at(&mut self.commands, id as usize, [Instant::START; 3]) = [now; 3];
    }

    /// A command that had waited for a place in the queue is fetched.
    pub fn fetched(&mut self, now: Instant, id: u32) {
        let [_, fetched, begun] = &mut self.commands[id as usize];
        (*fetched, *begun) = (now, now);
    }

    /// A command has crossed the link and the controller.
    pub fn begun(&mut self, now: Instant, id: u32) {
        self.commands[id as usize][2] = now;
    }

    /// The split of the completion given out last.
    #[inline]
    pub fn last(&self) -> Option<&Attributed> {
        self.leaving.front().filter(|_| self.given)
    }

    /// Of the completion booked last.
    pub fn latest(&self) -> Option<Attributed> {
        self.leaving.back().copied()
    }

    /// Adds what the operation's page waited for the map before it came, and says up to when.
    fn add_map(&self, split: &mut Split, op: u32, from: Instant, enqueued: Instant) -> Instant {
        match self.mapped.get(op as usize).filter(|(at, _)| *at == enqueued) {
            Some((_, waited)) => {
                *split += *waited;
                from + waited.total()
            }
            None => from,
        }
    }

    #[inline]
    pub fn completion_leaves(&mut self) {
        if self.given {
            self.leaving.pop_front();
        }
        self.given = true;
    }
}

impl FlashOp {
    /// The operation is the request's own read.
    #[inline]
    fn serves(&self, request: u32) -> bool {
        matches!(self.owner, Owner::Request { request: owner, .. } if owner == request)
    }

    /// A program that waits for an idle die waits for a row to go to: for garbage collection.
    #[inline]
    fn waits_on_an_idle_die_for(&self, scheduler: Scheduler) -> Cause {
        match (self.class, self.owner) {
            _ if scheduler == Scheduler::Fifo => Cause::Queue,
            (Class::Write, Owner::Row { .. }) => Cause::Space,
            (Class::Write, _) => Cause::GcCopy,
            (Class::Read, _) => Cause::Queue,
            (Class::Gc | Class::Scrub, _) => Cause::Space,
        }
    }

    fn work(&self) -> Work {
        match self.owner {
            _ if !self.class.is_of_host() => Work::Other,
            Owner::Row { .. }
            | Owner::LogProgram { .. }
            | Owner::Parity
            | Owner::Journal
            | Owner::Checkpoint { .. } => Work::Program,
            Owner::Fill { .. } | Owner::Update { .. } | Owner::MapRead { .. } => Work::Read,
            _ => Work::Other,
        }
    }
}

impl Drive {
    /// Attributes every command from now on: call it before the first. Books that are kept already
    /// are kept on.
    pub fn attribute(&mut self) {
        if self.attribution.is_none() {
            self.flash.keep_books();
            self.attribution = Some(Box::default());
        }
    }

    /// The split of the completion that [`Drive::advance_before`] returned last; `None` unless
    /// asked for.
    #[inline]
    pub fn attributed(&self) -> Option<&Attributed> {
        self.attribution.as_ref().and_then(|attribution| attribution.last())
    }

    /// An operation comes to its die.
    #[inline]
    pub(in crate::drive) fn book_arrival(&mut self, now: Instant, op: u32, die: u32) {
        if self.attribution.is_some() {
            self.book_arrival_on_demand(now, op, die);
        }
    }

    #[inline(never)]
    fn book_arrival_on_demand(&mut self, now: Instant, op: u32, die: u32) {
        let forced = self.is_urgent_at(die);
        let Some(attribution) = &mut self.attribution else { return };
        let kept = self.flash.kept(now, die);
        let met = self.flash.doing(die).expect("books are kept");
        let led_by = if self.ops[op].work() == Work::Other {
            NO_LINK
        } else {
            attribution.critical.link(&self.flash, now)
        };
        let books = OpBooks { enqueued: now, issued: now, kept, met, forced, led_by };
        *at(&mut attribution.ops, op as usize, books) = books;
    }

    /// Garbage collection works on the die, at or below its hard mark.
    fn is_urgent_at(&self, die: u32) -> bool {
        let lanes = self.flash.layout.lanes_per_die;
        let mut pools = (die * lanes..(die + 1) * lanes).map(|lane| self.ftl.pool_of(lane));
        pools.any(|pool| self.ftl.is_collecting(pool) && self.ftl.is_urgent(pool))
    }

    /// The die begins an operation.
    #[inline]
    pub(in crate::drive) fn book_issue(&mut self, now: Instant, op: u32, die: u32) {
        if self.attribution.is_some() {
            self.book_issue_on_demand(now, op, die);
        }
    }

    #[inline(never)]
    fn book_issue_on_demand(&mut self, now: Instant, op: u32, die: u32) {
        let forced = self.is_urgent_at(die);
        let Some(attribution) = &mut self.attribution else { return };
        let books = &mut attribution.ops[op as usize];
        books.issued = now;
        if now > books.enqueued {
            books.forced |= forced;
            books.kept = kept_between(&books.kept, &self.flash.kept(now, die));
        }
    }

    /// An operation has ended; its owner is about to be told.
    #[inline]
    pub(in crate::drive) fn book_end(&mut self, now: Instant, op: u32, die: u32) {
        if self.attribution.is_some() {
            self.book_end_on_demand(now, op, die);
        }
    }

    #[inline(never)]
    fn book_end_on_demand(&mut self, now: Instant, op: u32, die: u32) {
        let (operation, idle) =
            (&self.ops[op], self.ops[op].waits_on_an_idle_die_for(self.spec.scheduler));
        let work = operation.work();
        let Some(attribution) = &mut self.attribution else { return };
        attribution.ending = operation.class.is_of_host().then_some(op);
        let (books, from) = match work {
            Work::Other => (OpBooks::none(now), Instant::START),
            _ => (attribution.ops[op as usize], attribution.ops[op as usize].enqueued),
        };
        let (waits, led_by, link) = (self.flash.finished_waits(), books.led_by, NO_LINK);
        attribution.critical.ended =
            Some(Ended { at: now, die, work, books, waits, idle, from, led_by, link });
    }

    /// An operation has ended in vain: what follows is led by it.
    pub(in crate::drive) fn book_failure(&mut self, now: Instant, op: u32, die: u32) {
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
    pub(in crate::drive) fn book_waiting(&mut self, request: u32) {
        if let Some(attribution) = &mut self.attribution {
            let begun = attribution.commands[self.requests[request].command.id as usize][2];
            attribution.critical.awaits(request, begun);
            self.book_past();
        }
    }

    /// The first that waits for room in the buffer has changed, or what else waits for flash.
    #[inline(never)]
    pub(in crate::drive) fn book_past(&mut self) {
        let Some(attribution) = &mut self.attribution else { return };
        let waiting = self.writes.waiting.front().map_or(Instant::NEVER, |request| {
            attribution.commands[self.requests[*request].command.id as usize][2]
        });
        let from = attribution.critical.lets_go(waiting);
        self.flash.asks_of_the_past(from);
    }

    /// A write is in the buffer, and completes from there.
    #[inline(never)]
    pub(in crate::drive) fn book_taken(&mut self, now: Instant, request: u32) {
        let Some(attribution) = &mut self.attribution else { return };
        let begun = attribution.commands[self.requests[request].command.id as usize][2];
        let mut split = Split::NONE;
        let link = attribution.critical.link(&self.flash, now);
        let story = attribution.critical.add_wait(
            &self.flash,
            &mut split,
            (begun, now),
            link,
            Own::Nothing,
        );
        *at(&mut attribution.taken, request as usize, None) = Some(Taken { begun, split, story });
        attribution.critical.is_done(request);
        self.book_past();
    }

    /// The link that leads to what a log-block FTL does now.
    pub(in crate::drive) fn book_led(&mut self, now: Instant) -> u64 {
        let Some(attribution) = &mut self.attribution else { return NO_LINK };
        attribution.critical.link(&self.flash, now)
    }

    /// Somebody begins to wait for an entry of the map.
    pub(in crate::drive) fn book_entry(&mut self, now: Instant, waiter: u32) {
        if let Some(attribution) = &mut self.attribution {
            *at(&mut attribution.entries, waiter as usize, (now, Split::NONE)) = (now, Split::NONE);
            let came = (now, attribution.critical.link(&self.flash, now));
            *at(&mut attribution.came, waiter as usize, came) = came;
        }
    }

    /// A write's page goes on that waited for an entry of the map.
    pub(in crate::drive) fn book_write_known(&mut self, now: Instant, waiter: u32) {
        if let Some(attribution) = &mut self.attribution {
            let (from, led_by) = attribution.came[waiter as usize];
            attribution.critical.joined(now, from, led_by);
        }
    }

    /// An operation on a translation page is over, for which somebody waits who waits for an entry.
    /// Who came while it was on its way waited for a read of others.
    pub(in crate::drive) fn book_map_op(&mut self, now: Instant, op: u32, waiter: u32) {
        let Some(attribution) = &mut self.attribution else { return };
        let (books, waits) = (attribution.ops[op as usize], self.flash.finished_waits());
        let idle = self.ops[op].waits_on_an_idle_die_for(self.spec.scheduler);
        let (since, split) = &mut attribution.entries[waiter as usize];
        if books.enqueued >= *since {
            split.add(Cause::Buffer, books.enqueued.since(*since));
            books.add_to(split, &waits, now, idle);
        } else if books.issued >= *since {
            split.add(Cause::Reads, books.issued.since(*since));
            books.add_work_to(split, &waits, now, Cause::Service);
        } else {
            split.add(Cause::Reads, now.since(*since));
        }
        *since = now;
    }

    /// An entry of the map is there, and the page that waited for it is read by `op`, which comes
    /// now.
    pub(in crate::drive) fn book_entry_over(&mut self, now: Instant, waiter: u32, op: Option<u32>) {
        let (Some(attribution), Some(op)) = (&mut self.attribution, op) else { return };
        let (since, mut split) = attribution.entries[waiter as usize];
        split.add(Cause::Buffer, now.since(since));
        *at(&mut attribution.mapped, op as usize, (Instant::START, Split::NONE)) = (now, split);
    }

    /// An operation will not begin: another one may come in its place at this very instant, and
    /// waited for no entry.
    pub(in crate::drive) fn book_withdrawn(&mut self, op: u32) {
        if let Some(attribution) = &mut self.attribution
            && let Some(mapped) = attribution.mapped.get_mut(op as usize)
        {
            *mapped = (Instant::START, Split::NONE);
        }
    }

    /// The last member of a computed page is read.
    pub(in crate::drive) fn book_rebuild(&mut self, now: Instant, op: u32, rebuild: u32) {
        let Some(attribution) = &mut self.attribution else { return };
        let (books, waits) = (attribution.ops[op as usize], self.flash.finished_waits());
        let operation = &self.ops[op];
        let idle = operation.waits_on_an_idle_die_for(self.spec.scheduler);
        let (die, is_extra) = (self.flash.layout.die_of(operation.lane), operation.feeds == NIL);
        let rebuilt = Rebuilt { books, waits, ended: now, idle, die, is_extra };
        *at(&mut attribution.rebuilds, rebuild as usize, None) = Some(rebuilt);
    }

    /// A computed page ends its request, which is about to be told; or it was.
    pub(in crate::drive) fn book_rebuilt(&mut self, rebuild: Option<u32>) {
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
    pub(in crate::drive) fn split_of_program(&self, now: Instant, op: u32) -> Option<Split> {
        let attribution = self.attribution.as_ref()?;
        let (mut split, idle) =
            (Split::NONE, self.ops[op].waits_on_an_idle_die_for(self.spec.scheduler));
        attribution.ops[op as usize].add_to(&mut split, &self.flash.finished_waits(), now, idle);
        Some(split)
    }

    /// A command is done at `now` and its completion reaches the host at `leaves`.
    #[inline]
    pub(in crate::drive) fn book_completion(
        &mut self,
        now: Instant,
        request: u32,
        leaves: Instant,
    ) {
        if self.attribution.is_some() {
            self.split_completion(now, request, leaves);
        }
    }

    #[inline(never)]
    fn split_completion(&mut self, now: Instant, request: u32, leaves: Instant) {
        let Some(attribution) = &self.attribution else { return };
        let command = &self.requests[request].command;
        let [submitted, fetched, begun] = attribution.commands[command.id as usize];
        let mut split = Split::NONE;
        split.add(Cause::Queue, fetched.since(submitted));
        let controller = self.spec.controller.min(begun.since(fetched));
        split.add(Cause::Service, controller);
        split.add(Cause::Link, begun.since(fetched) - controller + leaves.since(now));
        let story = match command.op {
            Op::Read => self.split_read(now, request, begun, &mut split),
            Op::Write | Op::Trim | Op::Flush => self.split_write(now, request, begun, &mut split),
        };
        debug_assert_eq!(split.total(), leaves.since(submitted), "the parts add up to the whole");
        if let Some(attribution) = &mut self.attribution {
            attribution.leaving.push_back(Attributed { split, story });
        }
    }

    /// Adds what a read spent that was begun then and is done now.
    fn split_read(
        &self,
        now: Instant,
        request: u32,
        begun: Instant,
        split: &mut Split,
    ) -> Option<Story> {
        let attribution = self.attribution.as_ref()?;
        let told = |die, books: &OpBooks, ended| {
            let OpBooks { enqueued, issued, met, forced, .. } = *books;
            Some(Story { die, met, times: [enqueued, issued, ended], forced, makes_room: false })
        };
        let rebuilt =
            attribution.rebuilt.and_then(|rebuild| *attribution.rebuilds.get(rebuild as usize)?);
        match attribution.ending {
            _ if let Some(rebuilt) = rebuilt => {
                let Rebuilt { books, ended, die, .. } = &rebuilt;
                // A page that was read in vain first is computed later than the request began.
                split.add(Cause::Reconstruct, books.enqueued.since(begun));
                rebuilt.add_to(split, now);
                return told(*die, books, *ended);
            }
            Some(op) if self.ops[op].serves(request) => {
                let (operation, books) = (&self.ops[op], &attribution.ops[op as usize]);
                let from = attribution.add_map(split, op, begun, books.enqueued);
                split.add(Cause::Buffer, books.enqueued.since(from));
                let idle = operation.waits_on_an_idle_die_for(self.spec.scheduler);
                books.add_to(split, &self.flash.finished_waits(), now, idle);
                return told(self.flash.layout.die_of(operation.lane), books, now);
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
        request: u32,
        begun: Instant,
        split: &mut Split,
    ) -> Option<Story> {
        let is_durable = self.is_durable(request);
        let attribution = self.attribution.as_mut()?;
        let awaits = attribution.critical.is_done(request);
        let taken = attribution.taken.get_mut(request as usize).and_then(Option::take);
        let is_write = self.requests[request].command.op == Op::Write;
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
            _ => {
                let Taken { begun, split: wait, story } = taken
                    .filter(|taken| taken.begun == begun)
                    .unwrap_or(Taken { begun, split: Split::NONE, story: None });
                *split += wait;
                add_hit(split, self.spec.buffer_hit, now.since(begun) - wait.total());
                story
            }
        };
        self.book_past();
        story
    }

    /// A command is aborted before it was fetched.
    pub(in crate::drive) fn book_abort(&mut self, now: Instant, id: u32, leaves: Instant) {
        let Some(attribution) = &mut self.attribution else { return };
        let [submitted, ..] = attribution.commands[id as usize];
        let mut split = Split::NONE;
        split.add(Cause::Queue, now.since(submitted));
        split.add(Cause::Link, leaves.since(now));
        attribution.leaving.push_back(Attributed { split, story: None });
    }
}

/// Adds what a request spent that flash took no part in.
fn add_hit(split: &mut Split, hit: Duration, spent: Duration) {
    let hit = hit.min(spent);
    split.add(Cause::Service, hit);
    split.add(Cause::Buffer, spent - hit);
}
