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
use crate::drive::observe::critical::{Critical, NO_LINK, Work};
use crate::drive::parity::RebuildId;
use crate::drive::{CommandId, OpId, RequestId, Scheduler};
use crate::flash::{Doing, Keeper, Kept, Waits, add_kept};
use crate::sim::Ring;
use crate::units::Die;
use crate::units::{Cause, Duration, Instant, Split};

/// The story of a command's last flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Story {
    /// The die it went to.
    pub die: Die,
    /// Work of the die when the operation came to it.
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
    /// The story at the die of its last operation.
    pub story: Option<Story>,
}

/// The books of commands under way.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Attribution {
    /// When each command was submitted, fetched and begun, by its identifier.
    pub(super) commands: Vec<[Instant; 3]>,
    pub(super) ops: Vec<OpBooks>,
    /// The operation that is ending, while its owner is told.
    pub(super) ending: Option<OpId>,
    pub(super) critical: Critical,
    /// By command: what a write waited for until it was in the buffer.
    pub(super) taken: Vec<Option<Taken>>,
    /// By computed page: its last member's read, until the page is there.
    pub(super) rebuilds: Vec<Option<Rebuilt>>,
    /// The computed page that ends its request, while that is told.
    pub(super) rebuilt: Option<RebuildId>,
    /// By request: a read whose data is being decoded, or comes from the buffer behind a miss of
    /// the map, from when on.
    pub(super) decoded: Vec<Option<Taken>>,
    /// Waits of the page that a log-block FTL wrote, while those who waited for it are told.
    pub(super) chained: Option<Chained>,
    /// By waiter for an entry of the map: since when it waits for what goes on now, and what it
    /// waited for before.
    pub(super) entries: Vec<(Instant, Split)>,
    /// By waiter for an entry of the map that joined an operation: the books of its die then; and
    /// by operation of a cached map that waited, when it was issued.
    pub(super) kept_at_join: Vec<Kept>,
    pub(super) kept_at_issue: Vec<Kept>,
    /// By waiter for an entry of the map: when it came, and the link that led to it.
    pub(super) came: Vec<(Instant, u64)>,
    /// By operation: when it came, and what its page waited for the map before.
    pub(super) mapped: Vec<(Instant, Split)>,
    /// Of the completions that cross the link, in their order; the first is that of the completion
    /// given out last if `given`.
    pub(super) leaving: Ring<Attributed>,
    given: bool,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct OpBooks {
    pub enqueued: Instant,
    pub issued: Instant,
    /// The books of the die when the operation came; from its issue on, only while it waited.
    pub(super) kept: Kept,
    pub met: Doing,
    /// Garbage collection went before the host when it came, or when it was begun.
    pub forced: bool,
    /// The link that led to its coming.
    pub led_by: u64,
    /// A flush waited when it came: a row of the buffer goes to flash because of it.
    pub by_flush: bool,
}

/// A write's way into the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) begun: Instant,
    pub(super) split: Split,
    pub(super) story: Option<Story>,
}

/// The read of the last member of a page that is computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rebuilt {
    pub(super) books: OpBooks,
    pub(super) waits: Waits,
    pub(super) ended: Instant,
    pub(super) idle: Cause,
    pub(super) die: Die,
    /// The request did not ask for it.
    pub(super) is_extra: bool,
}

impl Rebuilt {
    /// Adds what the request waited for: the wait of an extra member is the stripe's, its own work
    /// takes the place of the page's.
    pub(super) fn add_to(&self, split: &mut Split, now: Instant) {
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
    pub(super) fn none(now: Instant) -> Self {
        let met = Doing { keeper: Keeper::Nobody, block: None, since: now };
        Self {
            enqueued: now,
            issued: now,
            kept: Kept::default(),
            met,
            forced: false,
            led_by: NO_LINK,
            by_flush: false,
        }
    }

    /// The story of a read of the host that ended at `ended`.
    pub(super) fn story(&self, die: Die, ended: Instant) -> Story {
        let Self { enqueued, issued, met, forced, .. } = *self;
        Story { die, met, times: [enqueued, issued, ended], forced, makes_room: false }
    }

    /// Adds what the operation spent from its arrival to its end.
    #[inline]
    pub(super) fn add_to(&self, split: &mut Split, waits: &Waits, ended: Instant, idle: Cause) {
        self.add_all_to(split, waits, ended, idle, Cause::Service);
    }

    /// Adds all of it, with its own work as `own`.
    #[inline]
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
    #[inline]
    pub fn add_work_to(&self, split: &mut Split, waits: &Waits, ended: Instant, own: Cause) {
        split.add(Cause::Channel, waits.channel);
        split.add(Cause::GcCopy, waits.gc);
        split.add(Cause::Program, waits.program);
        split.add(Cause::Reads, waits.reads);
        split.add(Cause::Suspension, waits.suspension);
        split.add(own, ended.since(self.issued) - waits.total());
    }
}

/// Adds what a request spent that flash took no part in.
#[inline]
pub(super) fn add_hit(split: &mut Split, hit: Duration, spent: Duration) {
    let hit = hit.min(spent);
    split.add(Cause::Service, hit);
    split.add(Cause::Buffer, spent - hit);
}

/// Adds what the write `id` spent that completes from the buffer.
#[inline]
pub(super) fn add_taken(
    taken: &mut [Option<Taken>],
    split: &mut Split,
    id: CommandId,
    (begun, now): (Instant, Instant),
    hit: Duration,
) -> Option<Story> {
    let (mut spent, mut story) = (now.since(begun), None);
    if let Some(place) = taken.get_mut(id.index()) {
        if let Some(taken) = place.as_ref().filter(|taken| taken.begun == begun) {
            *split += taken.split;
            (spent, story) = (spent - taken.split.total(), taken.story);
        }
        *place = None;
    }
    add_hit(split, hit, spent);
    story
}

/// A place of a list, which grows with `filler`.
#[inline]
pub(super) fn at<T: Copy>(list: &mut Vec<T>, index: usize, filler: impl FnOnce() -> T) -> &mut T {
    if index >= list.len() {
        grow(list, index, filler());
    }
    &mut list[index]
}

#[cold]
fn grow<T: Copy>(list: &mut Vec<T>, index: usize, filler: T) {
    list.resize(index + 1, filler);
}

impl Attribution {
    /// A command comes; if nothing is in its way it is fetched and begun at once.
    #[inline]
    pub fn submitted(&mut self, now: Instant, id: CommandId) {
        *at(&mut self.commands, id.index(), || [Instant::START; 3]) = [now; 3];
    }

    /// A command that had waited for a place in the queue is fetched.
    pub fn fetched(&mut self, now: Instant, id: CommandId) {
        let [_, fetched, begun] = &mut self.commands[id.index()];
        (*fetched, *begun) = (now, now);
    }

    /// A write was throttled for so long: as if it had waited for a place.
    pub fn held(&mut self, id: CommandId, long: Duration) {
        self.commands[id.index()][1] += long;
    }

    /// A command has crossed the link and the controller.
    pub fn begun(&mut self, now: Instant, id: CommandId) {
        self.commands[id.index()][2] = now;
    }

    /// When a command was begun. Adds what it spent before, of that `hold` in the controller, and
    /// from `now`, when it is done, until its completion `leaves`.
    #[inline]
    pub(super) fn outside(
        [submitted, fetched, begun]: [Instant; 3],
        split: &mut Split,
        (now, leaves): (Instant, Instant),
        hold: Duration,
    ) -> Instant {
        let controller = hold.min(begun.since(fetched));
        split.add(Cause::Queue, fetched.since(submitted));
        split.add(Cause::Service, controller);
        split.add(Cause::Link, begun.since(fetched) - controller + leaves.since(now));
        begun
    }

    /// The split of the completion given out last.
    #[inline]
    pub fn last(&self) -> Option<&Attributed> {
        self.leaving.get(0).filter(|_| self.given)
    }

    /// Of the completion booked last.
    pub fn latest(&self) -> Option<Attributed> {
        self.leaving.back()
    }

    /// Adds what the operation's page waited for the map before it came, and says up to when.
    pub(super) fn add_map(
        &self,
        split: &mut Split,
        op: OpId,
        from: Instant,
        enqueued: Instant,
    ) -> Instant {
        match self.mapped.get(op.index()).filter(|(at, _)| *at == enqueued) {
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
    pub(super) fn serves(&self, request: RequestId) -> bool {
        matches!(self.owner, Owner::Request { request: owner, .. } if owner == request)
    }

    /// A program that waits for an idle die waits for a row to go to: for garbage collection.
    #[inline]
    pub(super) fn waits_on_an_idle_die_for(&self, scheduler: Scheduler) -> Cause {
        match (self.class, self.owner) {
            _ if scheduler == Scheduler::Fifo => Cause::Queue,
            (Class::Write, Owner::Row { .. }) => Cause::Space,
            (Class::Write, _) => Cause::GcCopy,
            (Class::Read, _) => Cause::Queue,
            (Class::Gc | Class::Scrub, _) => Cause::Space,
        }
    }

    pub(super) fn work(&self) -> Work {
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
