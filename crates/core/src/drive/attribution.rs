//! Attribution: each command's time inside the drive, split into its causes to the nanosecond.
//!
//! A read's time is that of its last flash operation: what came before the others' ends did not delay it. That
//! operation's wait for its die is the difference of the die's books ([`crate::flash::Kept`]); inside the die the flash
//! keeps the waits for the channel; the rest of it is its own service. A write that completes in the buffer waits for
//! room there; one that completes on flash adds the read that filled up its page, if one had to, and its row's program.
//! Kept only where asked for: what is done then stands in functions of its own, so that runs without it are as fast as
//! if it were not there.

use super::merge::Chained;
use super::queues::{Class, FlashOp, Owner};
use super::{Drive, Op, Scheduler};
use crate::flash::{Doing, Kept, Waits, add_kept, kept_between};
use crate::sim::NIL;
use crate::units::{Cause, Instant, Split};
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
pub(super) struct Attribution {
    /// When each command was submitted, fetched and begun, by its identifier.
    commands: Vec<[Instant; 3]>,
    ops: Vec<OpBooks>,
    /// The operation that is ending, while its owner is told.
    ending: Option<u32>,
    /// By slot of the buffer: the read that filled up its page, until the page is on flash.
    fills: Vec<Option<Fill>>,
    /// The slot whose page is on flash, while those who waited for it are told.
    landing: Option<u32>,
    /// By computed page: its last member's read, until the page is there.
    rebuilds: Vec<Option<Rebuilt>>,
    /// The computed page that ends its request, while that is told.
    rebuilt: Option<u32>,
    /// What the page that a log-block FTL wrote waited for, while those who waited for it are told.
    chained: Option<Chained>,
    /// By waiter for an entry of the map: since when it waits for what goes on now, and what it waited for before.
    entries: Vec<(Instant, Split)>,
    /// By operation: when it came, and what its page waited for the map before.
    mapped: Vec<(Instant, Split)>,
    /// Of the completions that cross the link, in their order; the first is that of the completion given out last if
    /// `given`.
    leaving: VecDeque<Attributed>,
    given: bool,
}

#[derive(Clone, Copy, Debug)]
struct OpBooks {
    enqueued: Instant,
    issued: Instant,
    /// What the die had been kept by when the operation came; from its issue on, only while it waited.
    kept: Kept,
    met: Doing,
}

/// A read of a partial page's other sectors that is over.
#[derive(Clone, Copy, Debug)]
struct Fill {
    books: OpBooks,
    waits: Waits,
    ended: Instant,
    idle: Cause,
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
    /// Adds what the request waited for: the wait of an extra member is the stripe's, its own work takes the place of
    /// the page's.
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
    /// Adds what the operation spent from its arrival to its end.
    fn add_to(&self, split: &mut Split, waits: &Waits, ended: Instant, idle: Cause) {
        if self.issued > self.enqueued {
            add_kept(split, &self.kept, idle);
        }
        self.add_service_to(split, waits, ended);
    }

    /// Adds what it spent from its issue on.
    fn add_service_to(&self, split: &mut Split, waits: &Waits, ended: Instant) {
        split.add(Cause::Channel, waits.channel);
        split.add(Cause::GcCopy, waits.gc);
        split.add(Cause::Program, waits.program);
        split.add(Cause::Reads, waits.reads);
        split.add(Cause::Suspension, waits.suspension);
        split.add(Cause::Service, ended.since(self.issued) - waits.total());
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

    /// Adds what a write that began at `begun` spent on filling up its page, and says up to when; a row took the page
    /// at `enqueued`.
    fn add_fill(&self, split: &mut Split, begun: Instant, enqueued: Instant) -> Instant {
        let fill = self.landing.and_then(|slot| *self.fills.get(slot as usize)?);
        match fill.filter(|fill| fill.books.enqueued >= begun && fill.ended <= enqueued) {
            Some(Fill { books, waits, ended, idle }) => {
                split.add(Cause::Buffer, books.enqueued.since(begun));
                books.add_to(split, &waits, ended, idle);
                ended
            }
            None => begun,
        }
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
    /// The operation is what the request waited for: its own read, or the program of its row.
    #[inline]
    fn serves(&self, request: u32, op: Op) -> bool {
        match (self.owner, op) {
            (Owner::Request { request: owner, .. }, Op::Read) => owner == request,
            (Owner::Row { .. }, Op::Write) => true,
            _ => false,
        }
    }

    /// A program that waits for an idle die waits for a row to go to: for garbage collection.
    #[inline]
    fn waits_on_an_idle_die_for(&self, scheduler: Scheduler) -> Cause {
        if self.class == Class::Write && scheduler != Scheduler::Fifo { Cause::GcCopy } else { Cause::Queue }
    }
}

impl Drive {
    /// Attributes every command from now on: call it before the first. Books that are kept already are kept on.
    pub fn attribute(&mut self) {
        if self.attribution.is_none() {
            self.flash.keep_books();
            self.attribution = Some(Box::default());
        }
    }

    /// The split of the completion that [`Drive::advance_before`] returned last; `None` unless asked for.
    #[inline]
    pub fn attributed(&self) -> Option<&Attributed> {
        self.attribution.as_ref().and_then(|attribution| attribution.last())
    }

    /// An operation comes to its die.
    #[inline]
    pub(super) fn book_arrival(&mut self, now: Instant, op: u32, die: u32) {
        if self.attribution.is_some() {
            self.book_arrival_on_demand(now, op, die);
        }
    }

    #[inline(never)]
    fn book_arrival_on_demand(&mut self, now: Instant, op: u32, die: u32) {
        let Some(attribution) = &mut self.attribution else { return };
        let kept = self.flash.kept(now, die);
        let met = self.flash.doing(die).expect("books are kept");
        let books = OpBooks { enqueued: now, issued: now, kept, met };
        *at(&mut attribution.ops, op as usize, books) = books;
    }

    /// The die begins an operation.
    #[inline]
    pub(super) fn book_issue(&mut self, now: Instant, op: u32, die: u32) {
        if self.attribution.is_some() {
            self.book_issue_on_demand(now, op, die);
        }
    }

    #[inline(never)]
    fn book_issue_on_demand(&mut self, now: Instant, op: u32, die: u32) {
        let Some(attribution) = &mut self.attribution else { return };
        let books = &mut attribution.ops[op as usize];
        books.issued = now;
        if now > books.enqueued {
            books.kept = kept_between(&books.kept, &self.flash.kept(now, die));
        }
    }

    /// An operation has ended; its owner is about to be told.
    #[inline]
    pub(super) fn book_end(&mut self, op: u32) {
        if let Some(attribution) = &mut self.attribution {
            attribution.ending = Some(op);
        }
    }

    /// The owner of the ended operation was told.
    #[inline]
    pub(super) fn book_told(&mut self) {
        if let Some(attribution) = &mut self.attribution {
            attribution.ending = None;
        }
    }

    /// A partial page's other sectors are read.
    pub(super) fn book_fill(&mut self, now: Instant, op: u32, slot: u32) {
        let Some(attribution) = &mut self.attribution else { return };
        let (books, waits) = (attribution.ops[op as usize], self.flash.finished_waits());
        let idle = self.ops[op].waits_on_an_idle_die_for(self.spec.scheduler);
        *at(&mut attribution.fills, slot as usize, None) = Some(Fill { books, waits, ended: now, idle });
    }

    /// Somebody begins to wait for an entry of the map.
    pub(super) fn book_entry(&mut self, now: Instant, waiter: u32) {
        if let Some(attribution) = &mut self.attribution {
            *at(&mut attribution.entries, waiter as usize, (now, Split::NONE)) = (now, Split::NONE);
        }
    }

    /// An operation on a translation page is over, for which somebody waits who waits for an entry. Who came while it
    /// was on its way waited for a read of others.
    pub(super) fn book_map_op(&mut self, now: Instant, op: u32, waiter: u32) {
        let Some(attribution) = &mut self.attribution else { return };
        let (books, waits) = (attribution.ops[op as usize], self.flash.finished_waits());
        let idle = self.ops[op].waits_on_an_idle_die_for(self.spec.scheduler);
        let (since, split) = &mut attribution.entries[waiter as usize];
        if books.enqueued >= *since {
            split.add(Cause::Buffer, books.enqueued.since(*since));
            books.add_to(split, &waits, now, idle);
        } else if books.issued >= *since {
            split.add(Cause::Reads, books.issued.since(*since));
            books.add_service_to(split, &waits, now);
        } else {
            split.add(Cause::Reads, now.since(*since));
        }
        *since = now;
    }

    /// An entry of the map is there, and the page that waited for it is read by `op`, which comes now.
    pub(super) fn book_entry_over(&mut self, now: Instant, waiter: u32, op: Option<u32>) {
        let (Some(attribution), Some(op)) = (&mut self.attribution, op) else { return };
        let (since, mut split) = attribution.entries[waiter as usize];
        split.add(Cause::Buffer, now.since(since));
        *at(&mut attribution.mapped, op as usize, (Instant::START, Split::NONE)) = (now, split);
    }

    /// An operation will not begin: another one may come in its place at this very instant, and waited for no entry.
    pub(super) fn book_withdrawn(&mut self, op: u32) {
        if let Some(attribution) = &mut self.attribution
            && let Some(mapped) = attribution.mapped.get_mut(op as usize)
        {
            *mapped = (Instant::START, Split::NONE);
        }
    }

    /// The last member of a computed page is read.
    pub(super) fn book_rebuild(&mut self, now: Instant, op: u32, rebuild: u32) {
        let Some(attribution) = &mut self.attribution else { return };
        let (books, waits) = (attribution.ops[op as usize], self.flash.finished_waits());
        let operation = &self.ops[op];
        let idle = operation.waits_on_an_idle_die_for(self.spec.scheduler);
        let (die, is_extra) = (self.flash.layout.die_of(operation.lane), operation.feeds == NIL);
        let rebuilt = Rebuilt { books, waits, ended: now, idle, die, is_extra };
        *at(&mut attribution.rebuilds, rebuild as usize, None) = Some(rebuilt);
    }

    /// A computed page ends its request, which is about to be told; or it was.
    pub(super) fn book_rebuilt(&mut self, rebuild: Option<u32>) {
        if let Some(attribution) = &mut self.attribution {
            attribution.rebuilt = rebuild;
        }
    }

    /// A log-block FTL's page is done, and those who wait for it are about to be told; or they were.
    pub(super) fn book_chained(&mut self, chained: Option<Chained>) {
        if let Some(attribution) = &mut self.attribution {
            attribution.chained = chained;
        }
    }

    /// Where the time of a program that is done went, from its arrival on; `None` unless asked for.
    pub(super) fn split_of_program(&self, now: Instant, op: u32) -> Option<Split> {
        let attribution = self.attribution.as_ref()?;
        let (mut split, idle) = (Split::NONE, self.ops[op].waits_on_an_idle_die_for(self.spec.scheduler));
        attribution.ops[op as usize].add_to(&mut split, &self.flash.finished_waits(), now, idle);
        Some(split)
    }

    /// A slot's page is on flash, and those who wait for it are about to be told; or they were, and it is free.
    #[inline]
    pub(super) fn book_landing(&mut self, slot: u32, is_over: bool) {
        let Some(attribution) = &mut self.attribution else { return };
        attribution.landing = (!is_over).then_some(slot);
        if is_over && let Some(fill) = attribution.fills.get_mut(slot as usize) {
            *fill = None;
        }
    }

    /// A command is done at `now` and its completion reaches the host at `leaves`.
    #[inline]
    pub(super) fn book_completion(&mut self, now: Instant, request: u32, leaves: Instant) {
        if self.attribution.is_some() {
            self.split_completion(now, request, leaves);
        }
    }

    #[inline(never)]
    fn split_completion(&mut self, now: Instant, request: u32, leaves: Instant) {
        let Some(attribution) = &mut self.attribution else { return };
        let command = &self.requests[request].command;
        let [submitted, fetched, begun] = attribution.commands[command.id as usize];
        let mut split = Split::NONE;
        split.add(Cause::Queue, fetched.since(submitted));
        let controller = self.spec.controller.min(begun.since(fetched));
        split.add(Cause::Service, controller);
        split.add(Cause::Link, begun.since(fetched) - controller + leaves.since(now));
        let mut story = None;
        let rebuilt = attribution.rebuilt.and_then(|rebuild| *attribution.rebuilds.get(rebuild as usize)?);
        match attribution.ending {
            _ if let Some(Chained { began, split: chain }) = attribution.chained => {
                if command.op != Op::Write || began < begun {
                    split.add(Cause::Buffer, now.since(begun));
                } else {
                    let from = attribution.add_fill(&mut split, begun, began);
                    split.add(Cause::Buffer, began.since(from));
                    split += chain;
                }
            }
            _ if let Some(rebuilt) = rebuilt => {
                let Rebuilt { books, ended, die, .. } = rebuilt;
                // A page that was read in vain first is computed later than the request began.
                split.add(Cause::Reconstruct, books.enqueued.since(begun));
                rebuilt.add_to(&mut split, now);
                story = Some(Story { die, met: books.met, times: [books.enqueued, books.issued, ended] });
            }
            Some(op) if self.ops[op].serves(request, command.op) => {
                let (operation, books) = (&self.ops[op], &attribution.ops[op as usize]);
                let waits = self.flash.finished_waits();
                // A write that joined a row that already waited for its die waited for the buffer's row only.
                if books.issued < begun {
                    split.add(Cause::Buffer, now.since(begun));
                } else {
                    if books.enqueued < begun {
                        split.add(Cause::Buffer, books.issued.since(begun));
                        books.add_service_to(&mut split, &waits, now);
                    } else {
                        let from = attribution.add_fill(&mut split, begun, books.enqueued);
                        let from = attribution.add_map(&mut split, op, from, books.enqueued);
                        split.add(Cause::Buffer, books.enqueued.since(from));
                        let idle = operation.waits_on_an_idle_die_for(self.spec.scheduler);
                        books.add_to(&mut split, &waits, now, idle);
                    }
                    let times = [books.enqueued, books.issued, now];
                    story = Some(Story { die: self.flash.layout.die_of(operation.lane), met: books.met, times });
                }
            }
            // A flush ends with the last row it waited for.
            Some(_) => split.add(Cause::Buffer, now.since(begun)),
            // A read that was failed fast had waited behind other operations.
            None if self.requests[request].failed => split.add(Cause::Queue, now.since(begun)),
            None => {
                let hit = self.spec.buffer_hit.min(now.since(begun));
                split.add(Cause::Service, hit);
                split.add(Cause::Buffer, now.since(begun) - hit);
            }
        }
        debug_assert_eq!(split.total(), leaves.since(submitted), "the parts add up to the whole");
        attribution.leaving.push_back(Attributed { split, story });
    }

    /// A command is aborted before it was fetched.
    pub(super) fn book_abort(&mut self, now: Instant, id: u32, leaves: Instant) {
        let Some(attribution) = &mut self.attribution else { return };
        let [submitted, ..] = attribution.commands[id as usize];
        let mut split = Split::NONE;
        split.add(Cause::Queue, now.since(submitted));
        split.add(Cause::Link, leaves.since(now));
        attribution.leaving.push_back(Attributed { split, story: None });
    }
}
