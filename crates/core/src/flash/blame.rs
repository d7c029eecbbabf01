//! The blocker of each die and channel, cause by cause, so that every wait can be split exactly.
//!
//! A die is in one state at any instant: a difference of its totals over a wait is that wait,
//! split. A channel that is asked at `now` is busy without a gap until it is free (its reservations
//! follow one another): what of a wait for it is not behind transfers of garbage collection is
//! behind others'. Kept only when asked for: the model runs the same without it.

use super::gc_transfers::{GcTransfers, Transfer};
use super::past::Past;
use super::{Block, Layout, Operation, What};
use crate::units::{Cause, Duration, Instant, Ppn, Split};

/// The work that blocks a die, for operations that wait for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Keeper {
    /// Nothing: who waits now waits for something else.
    #[default]
    Nobody,
    /// Nothing yet, but garbage collection drains or holds its channel.
    Closed,
    /// An erase.
    Erase,
    /// A program of host data.
    Program,
    /// A read or program of garbage collection.
    GcCopy,
    /// A read for the host.
    Read,
    /// An erase or a program that is being suspended or resumed.
    Suspension,
    /// Nothing: it waits for a slot of its channel, where it is not taken before.
    Slot,
    /// A program of host data that a flush had sent to flash.
    Flush,
    /// Nothing: an operation of it waits for a share of the power budget.
    Power,
}

/// How many keepers there are.
pub const KEEPERS: usize = 10;

/// Nanoseconds by keeper.
pub type Kept = [u64; KEEPERS];

impl Keeper {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Keeper::Nobody => "nothing",
            Keeper::Closed => "closed",
            Keeper::Erase => "erase",
            Keeper::Program => "program",
            Keeper::GcCopy => "gc_copy",
            Keeper::Read => "read",
            Keeper::Suspension => "suspension",
            Keeper::Slot => "slot",
            Keeper::Flush => "flush",
            Keeper::Power => "power",
        }
    }

    /// True while the die does nothing.
    fn is_idle(self) -> bool {
        matches!(self, Keeper::Nobody | Keeper::Closed | Keeper::Slot | Keeper::Power)
    }

    pub(super) fn of(operation: &Operation) -> Self {
        match (operation.what, operation.gc) {
            (What::Erase { .. }, _) => Keeper::Erase,
            (_, true) => Keeper::GcCopy,
            (
                What::Program { .. }
                | What::System { .. }
                | What::Copy { .. }
                | What::Copies { .. },
                _,
            ) => Keeper::Program,
            (What::Read { .. }, _) => Keeper::Read,
        }
    }
}

/// The state of a die at some instant, for a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doing {
    /// The work that blocked it.
    pub keeper: Keeper,
    /// The block worked on; `None` when idle.
    pub block: Option<Block>,
    /// Since when.
    pub since: Instant,
}

/// Which of a die's operations waits for the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The one under way.
    Current,
    /// The one whose data is in the cache register.
    Leaving,
    /// The one that is preloaded.
    Preloaded,
    /// The one that can be suspended: a command to stop it or to let it go on. What that waits for
    /// is in the times of the die, as `erase`, `program` or `suspension`.
    Suspension,
}

/// Waits of an operation inside the flash, after its die had begun it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// For other requests' transfers, or for the cache register that they occupy.
    pub channel: Duration,
    /// For transfers of garbage collection, or while it held the channel.
    pub gc: Duration,
    /// A preloaded program: for the program before it.
    pub program: Duration,
    /// A suspended program: while reads of others ran in its place.
    pub reads: Duration,
    /// A suspended program: to stop and to go on, and for what it had to do again.
    pub suspension: Duration,
}

impl Waits {
    /// All of it.
    #[inline]
    pub fn total(&self) -> Duration {
        self.channel + self.gc + self.program + self.reads + self.suspension
    }
}

/// The books of all dies and channels.
#[derive(Clone, Debug)]
pub(super) struct Blame {
    dies: Vec<DieBooks>,
    channels: Vec<GcTransfers>,
    /// The waits of the operation that ended last.
    pub finished: Waits,
    /// Nobody asks for what was before this instant.
    pub past_from: Instant,
    /// By operation: a flush had sent it.
    pub sent_by_flush: Vec<bool>,
}

#[derive(Clone, Debug)]
struct DieBooks {
    keeper: Keeper,
    since: Instant,
    totals: Kept,
    past: Past,
    /// Garbage collection drains or holds its channel.
    closed: bool,
    /// A page of the block worked on; [`Ppn::NONE`] when idle.
    page: Ppn,
    /// Waits of the operations inside the die, after they were given to it.
    current: Waits,
    /// Those of the operation that reads have replaced.
    aside: Waits,
    /// The totals when the array began the program under way, where it can be suspended.
    array_began: Kept,
    leaving: Waits,
    preloaded: Waits,
    /// Of commands of a suspension; nobody asks for them.
    commands: Waits,
    /// Since when data waits inside the die for a held channel or a full register.
    waiting_since: Instant,
}

impl DieBooks {
    #[inline]
    fn turn(&mut self, now: Instant, keeper: Keeper, past_from: Instant) {
        // A turn that took no time is none.
        if now != self.since {
            self.past.ended(self.since, self.keeper, &self.totals, past_from);
            self.totals[self.keeper as usize] += now.since(self.since).as_ns();
        }
        (self.keeper, self.since) = (keeper, now);
    }

    /// The totals up to `at`.
    #[inline]
    fn totals_at(&self, at: Instant) -> Kept {
        if at < self.since {
            return self.past.totals(at, self.since);
        }
        let mut totals = self.totals;
        totals[self.keeper as usize] += at.since(self.since).as_ns();
        totals
    }

    fn waits(&mut self, whose: Whose) -> &mut Waits {
        match whose {
            Whose::Current => &mut self.current,
            Whose::Leaving => &mut self.leaving,
            Whose::Preloaded => &mut self.preloaded,
            Whose::Suspension => &mut self.commands,
        }
    }
}

impl Blame {
    pub fn new(dies: u32, channels: u32) -> Self {
        let books = DieBooks {
            keeper: Keeper::Nobody,
            since: Instant::START,
            totals: [0; KEEPERS],
            past: Past::new(),
            closed: false,
            page: Ppn::NONE,
            current: Waits::default(),
            aside: Waits::default(),
            array_began: [0; KEEPERS],
            leaving: Waits::default(),
            preloaded: Waits::default(),
            commands: Waits::default(),
            waiting_since: Instant::START,
        };
        let channels = vec![GcTransfers::default(); channels as usize];
        let past_from = Instant::NEVER;
        Self {
            dies: vec![books; dies as usize],
            channels,
            finished: Waits::default(),
            past_from,
            sent_by_flush: Vec::new(),
        }
    }

    /// The die begins an operation; `page` is of the block that it works on.
    #[inline(never)]
    pub fn started(&mut self, now: Instant, die: usize, operation: &Operation, page: Ppn) {
        let keeper = self.keeper_of(operation);
        let books = &mut self.dies[die];
        books.turn(now, keeper, self.past_from);
        books.page = page;
        books.current = Waits::default();
    }

    /// The work of an operation, as those see it that wait for its die.
    pub fn keeper_of(&self, operation: &Operation) -> Keeper {
        match Keeper::of(operation) {
            Keeper::Program
                if self.sent_by_flush.get(operation.token.index()).is_some_and(|sent| *sent) =>
            {
                Keeper::Flush
            }
            keeper => keeper,
        }
    }

    /// The die's array is free.
    pub fn freed(&mut self, now: Instant, die: usize) {
        let books = &mut self.dies[die];
        books.turn(now, if books.closed { Keeper::Closed } else { Keeper::Nobody }, self.past_from);
        books.page = Ppn::NONE;
    }

    /// A suspendable operation stops, comes back, or runs its next part.
    pub fn turns(&mut self, now: Instant, die: usize, keeper: Keeper) {
        if self.dies[die].keeper != keeper {
            self.dies[die].turn(now, keeper, self.past_from);
        }
    }

    /// The work that blocks a die now.
    pub fn keeper(&self, die: usize) -> Keeper {
        self.dies[die].keeper
    }

    /// The array begins a program that can be suspended.
    pub fn array_begins(&mut self, now: Instant, die: usize) {
        self.dies[die].array_began = self.totals(now, die);
    }

    /// Reads take the place of the operation under way.
    pub fn steps_aside(&mut self, die: usize) {
        self.dies[die].aside = self.dies[die].current;
    }

    /// The operation that had stepped aside goes on.
    pub fn comes_back(&mut self, now: Instant, die: usize, operation: &Operation, page: Ppn) {
        self.started(now, die, operation, page);
        self.dies[die].current = self.dies[die].aside;
    }

    /// A program of host data that could be suspended ends; alone it would have taken `time`.
    pub fn suspendable_ends(&mut self, now: Instant, die: usize, time: Duration) {
        let spent = kept_between(&self.dies[die].array_began, &self.totals(now, die));
        let [reads, gc] =
            [Keeper::Read, Keeper::GcCopy].map(|keeper| Duration::from_ns(spent[keeper as usize]));
        let waits = &mut self.dies[die].current;
        waits.reads += reads;
        waits.gc += gc;
        waits.suspension += Duration::from_ns(spent.iter().sum()) - reads - gc - time;
    }

    /// Garbage collection closes the die to others, or opens it.
    pub fn close(&mut self, now: Instant, die: usize, closed: bool) {
        let books = &mut self.dies[die];
        books.closed = closed;
        if books.keeper.is_idle() {
            books.turn(now, if closed { Keeper::Closed } else { Keeper::Nobody }, self.past_from);
        }
    }

    /// The totals of a die up to `now`.
    #[inline]
    pub fn totals(&self, now: Instant, die: usize) -> Kept {
        let books = &self.dies[die];
        debug_assert!(now >= books.since, "the past is asked for by `totals_at`");
        books.totals_at(now)
    }

    /// The totals of a die up to an instant of the past that an observer may ask for.
    pub fn totals_at(&self, at: Instant, die: usize) -> Kept {
        self.dies[die].totals_at(at)
    }

    #[inline]
    pub fn doing(&self, die: usize, layout: &Layout) -> Doing {
        let DieBooks { keeper, page, since, .. } = self.dies[die];
        let block = (page != Ppn::NONE).then(|| layout.block_of(page));
        Doing { keeper, block, since }
    }

    /// A transfer of garbage collection has its place on the channel from `start` to `end`.
    #[inline]
    pub fn collector_reserved(
        &mut self,
        now: Instant,
        channel: usize,
        start: Instant,
        end: Instant,
    ) {
        self.channels[channel].add(now, Transfer { start, end });
    }

    /// A transfer waits for those that asked before it.
    pub fn waits_behind(
        &mut self,
        now: Instant,
        (die, whose): (usize, Whose),
        channel: usize,
        wait: Duration,
    ) {
        let behind_gc = self.channels[channel].left(now);
        self.waits_in_line((die, whose), wait, behind_gc);
    }

    /// A transfer that had its place comes later: garbage collection goes first, or another.
    pub fn delayed(&mut self, die: usize, whose: Whose, delay: Duration, gc: bool) {
        let waits = self.dies[die].waits(whose);
        if gc {
            waits.gc += delay;
        } else {
            waits.channel += delay;
        }
    }

    /// A transfer has its place in the line of its channel, after `wait`, of which it is
    /// `behind_gc` behind transfers of garbage collection.
    pub fn waits_in_line(
        &mut self,
        (die, whose): (usize, Whose),
        wait: Duration,
        behind_gc: Duration,
    ) {
        let waits = self.dies[die].waits(whose);
        waits.gc += behind_gc;
        waits.channel += wait - behind_gc;
    }

    /// Data inside the die begins to wait.
    pub fn data_waits(&mut self, now: Instant, die: usize) {
        self.dies[die].waiting_since = now;
    }

    /// The wait of [`Blame::data_waits`] for a cache register is over.
    pub fn register_free(&mut self, now: Instant, die: usize) {
        let books = &mut self.dies[die];
        books.current.channel += now.since(books.waiting_since);
    }

    /// Data of a read begins to wait inside the die for a channel that garbage collection holds:
    /// until its release that keeps the die, too.
    pub fn channel_held(&mut self, now: Instant, die: usize) {
        self.data_waits(now, die);
        self.turns(now, die, Keeper::GcCopy);
    }

    /// The wait of [`Blame::channel_held`] is over.
    pub fn channel_released(&mut self, now: Instant, die: usize) {
        let books = &mut self.dies[die];
        books.current.gc += now.since(books.waiting_since);
        self.turns(now, die, Keeper::Read);
    }

    /// The data of the operation under way moves to the cache register.
    pub fn leaves(&mut self, die: usize) {
        self.dies[die].leaving = self.dies[die].current;
    }

    /// A program is preloaded.
    pub fn preloads(&mut self, die: usize) {
        self.dies[die].preloaded = Waits::default();
    }

    /// The preloaded program becomes the one under way; its data waited for the array since
    /// `loaded`.
    pub fn preloaded_starts(&mut self, now: Instant, die: usize, loaded: Instant) {
        let books = &mut self.dies[die];
        books.current = books.preloaded;
        books.current.program += now.since(loaded.min(now));
    }

    /// The operation under way is over, and the array free.
    #[inline(never)]
    pub fn done(&mut self, now: Instant, die: usize) {
        self.freed(now, die);
        self.finished = self.dies[die].current;
    }

    /// The operation is over.
    pub fn ended(&mut self, die: usize, whose: Whose) {
        self.finished = *self.dies[die].waits(whose);
    }
}

/// The time between two of a die's totals.
#[inline]
pub fn kept_between(before: &Kept, after: &Kept) -> Kept {
    let mut kept = *after;
    for (kept, before) in kept.iter_mut().zip(before) {
        *kept -= before;
    }
    kept
}

/// Adds a wait for a die to `split`; `idle` is what waiting for an idle die means.
pub fn add_kept(split: &mut Split, kept: &Kept, idle: Cause) {
    const CAUSES: [Option<Cause>; KEEPERS] = [
        None,
        Some(Cause::GcCopy),
        Some(Cause::Erase),
        Some(Cause::Program),
        Some(Cause::GcCopy),
        Some(Cause::Reads),
        Some(Cause::Suspension),
        Some(Cause::Channel),
        Some(Cause::Flush),
        Some(Cause::Queue),
    ];
    for (cause, ns) in CAUSES.into_iter().zip(kept) {
        split.add(cause.unwrap_or(idle), Duration::from_ns(*ns));
    }
}
