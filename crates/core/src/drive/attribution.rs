//! Attribution: each command's time inside the drive, split into its causes to the nanosecond.
//!
//! A read's time is that of its last flash operation: what came before the others' ends did not delay it. That
//! operation's wait for its die is the difference of the die's books ([`crate::flash::Kept`]); inside the die the flash
//! keeps the waits for the channel; the rest of it is its own service. A write that completes in the buffer waits for
//! room there; one that completes on flash adds its row's program. Kept only where asked for.

use super::queues::{Class, Owner};
use super::{Drive, Op, Scheduler};
use crate::flash::{Doing, Kept, kept_between, split_of};
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
    /// When each command was submitted and fetched, by its identifier.
    commands: Vec<[Instant; 2]>,
    /// When each request began, by its slot.
    begun: Vec<Instant>,
    ops: Vec<OpBooks>,
    /// The operation that is ending, while its owner is told.
    ending: Option<Ending>,
    /// Of the completions that cross the link, in their order.
    leaving: VecDeque<Attributed>,
    /// Of the completion given out last.
    last: Attributed,
}

#[derive(Clone, Copy, Debug)]
struct OpBooks {
    enqueued: Instant,
    kept: Kept,
    met: Doing,
    issued: Instant,
    waited: Split,
}

#[derive(Clone, Copy, Debug)]
struct Ending {
    owner: Owner,
    enqueued: Instant,
    issued: Instant,
    /// From the enqueueing to the issue.
    before: Split,
    /// From the issue to the end.
    after: Split,
    story: Story,
}

fn at<T: Copy>(list: &mut Vec<T>, index: usize, filler: T) -> &mut T {
    if index >= list.len() {
        list.resize(index + 1, filler);
    }
    &mut list[index]
}

impl Attribution {
    pub fn submitted(&mut self, now: Instant, id: u32) {
        *at(&mut self.commands, id as usize, [Instant::START; 2]) = [now; 2];
    }

    pub fn fetched(&mut self, now: Instant, id: u32) {
        at(&mut self.commands, id as usize, [now; 2])[1] = now;
    }

    pub fn begun(&mut self, now: Instant, request: u32) {
        *at(&mut self.begun, request as usize, now) = now;
    }

    /// The split of the completion given out last.
    pub fn last(&self) -> &Attributed {
        &self.last
    }

    /// Of the completion booked last.
    pub fn latest(&self) -> Option<Attributed> {
        self.leaving.back().copied()
    }

    pub fn completion_leaves(&mut self) {
        self.last = self.leaving.pop_front().unwrap_or_default();
    }
}

impl Drive {
    /// Attributes every command from now on: call it before the first.
    pub fn attribute(&mut self) {
        self.flash.keep_books();
        self.attribution = Some(Box::default());
    }

    /// The split of the completion that [`Drive::advance_before`] returned last; `None` unless asked for.
    #[inline]
    pub fn attributed(&self) -> Option<&Attributed> {
        self.attribution.as_ref().map(|attribution| attribution.last())
    }

    /// An operation comes to its die.
    #[inline]
    pub(super) fn book_arrival(&mut self, now: Instant, op: u32, die: u32) {
        let Some(attribution) = &mut self.attribution else { return };
        let kept = self.flash.kept(now, die);
        let met = self.flash.doing(die).expect("books are kept");
        let waited = Split::NONE;
        let books = OpBooks { enqueued: now, kept, met, issued: now, waited };
        *at(&mut attribution.ops, op as usize, books) = books;
    }

    /// The die begins an operation.
    #[inline]
    pub(super) fn book_issue(&mut self, now: Instant, op: u32, die: u32) {
        let Some(attribution) = &mut self.attribution else { return };
        let books = &mut attribution.ops[op as usize];
        books.issued = now;
        if now > books.enqueued {
            let operation = &self.ops[op];
            // A program that waits for an idle die waits for a row to go to: for garbage collection.
            let idle = match operation.class {
                Class::Write if self.spec.scheduler != Scheduler::Fifo => Cause::GcCopy,
                _ => Cause::Queue,
            };
            books.waited = split_of(&kept_between(&books.kept, &self.flash.kept(now, die)), idle);
        }
    }

    /// An operation has ended; its owner is about to be told.
    #[inline]
    pub(super) fn book_end(&mut self, now: Instant, op: u32) {
        let Some(attribution) = &mut self.attribution else { return };
        let OpBooks { enqueued, issued, waited, met, .. } = attribution.ops[op as usize];
        let mut after = self.flash.finished_waits();
        after.add(Cause::Service, now.since(issued) - after.total());
        let operation = &self.ops[op];
        let die = self.flash.layout.die_of(operation.lane);
        let story = Story { die, met, times: [enqueued, issued, now] };
        let owner = operation.owner;
        attribution.ending = Some(Ending { owner, enqueued, issued, before: waited, after, story });
    }

    /// The owner of the ended operation was told.
    #[inline]
    pub(super) fn book_told(&mut self) {
        if let Some(attribution) = &mut self.attribution {
            attribution.ending = None;
        }
    }

    /// A command is done at `now` and its completion reaches the host at `leaves`.
    pub(super) fn book_completion(&mut self, now: Instant, request: u32, leaves: Instant) {
        let Some(attribution) = &mut self.attribution else { return };
        let command = &self.requests[request].command;
        let [submitted, fetched] = attribution.commands[command.id as usize];
        let begun = attribution.begun[request as usize];
        let mut split = Split::NONE;
        split.add(Cause::Queue, fetched.since(submitted));
        let controller = self.spec.controller.min(begun.since(fetched));
        split.add(Cause::Service, controller);
        split.add(Cause::Link, begun.since(fetched) - controller + leaves.since(now));
        let is_hit = attribution.ending.is_none();
        let ending = attribution.ending.filter(|ending| match (ending.owner, command.op) {
            (Owner::Request { request: owner, .. }, Op::Read) => owner == request,
            (Owner::Row { .. }, Op::Write) => true,
            _ => false,
        });
        let mut story = None;
        match ending {
            Some(ending) if ending.enqueued >= begun => {
                split.add(Cause::Buffer, ending.enqueued.since(begun));
                split += ending.before;
                split += ending.after;
                story = Some(ending.story);
            }
            // The write joined a row that already waited for its die.
            Some(ending) if ending.issued >= begun => {
                split.add(Cause::Buffer, ending.issued.since(begun));
                split += ending.after;
                story = Some(ending.story);
            }
            Some(_) => split.add(Cause::Buffer, now.since(begun)),
            // A flush ends with the last row it waited for.
            None if !is_hit => split.add(Cause::Buffer, now.since(begun)),
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
        let [submitted, _] = attribution.commands[id as usize];
        let mut split = Split::NONE;
        split.add(Cause::Queue, now.since(submitted));
        split.add(Cause::Link, leaves.since(now));
        attribution.leaving.push_back(Attributed { split, story: None });
    }
}
