//! A die: its operation, the phase of that, and the registers between the array and the channel.
//! How an operation runs is in `execute`.

use super::blame::Whose;
use super::channel::Reserved;
use super::{Block, Flash, Layout};
use crate::units::Channel;
use crate::units::Die;
use crate::units::{Duration, Instant, Ppn};

/// The work that a die is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// One array read; then `sectors` cross the channel (0: they stay in the page register, for
    /// copyback).
    Read {
        /// A page of the array read.
        page: Ppn,
        /// Sectors that cross the channel.
        sectors: u32,
    },
    /// `sectors` cross the channel (0: copyback), then the row is programmed.
    Program {
        /// First page of the row.
        row: Ppn,
        /// Sectors that cross the channel.
        sectors: u32,
    },
    /// The block is erased, step by step.
    Erase {
        /// The block.
        block: Block,
    },
    /// `sectors` cross the channel, then a page of the system area is programmed, which is no part
    /// of the geometry.
    System {
        /// Sectors that cross the channel.
        sectors: u32,
    },
    /// A page is read, and programmed elsewhere as a row ([`Flash::start_whole_copy`]).
    #[expect(missing_docs, reason = "from where, and where to")]
    Copy { from: Ppn, to: Ppn },
    /// A run of copies ([`Flash::start_run`]).
    Copies {
        /// How many.
        count: u32,
        /// How long they take together.
        nanoseconds: u32,
    },
}

crate::id! {
    /// An operation of the flash, by the number that the drive has for it.
    pub OpId, or NIL
}

/// An operation for a die, with the caller's token for it.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The operation.
    pub what: What,
    /// Comes back when it is done.
    pub token: OpId,
    /// Done for garbage collection: its waiters are blocked by garbage collection.
    pub gc: bool,
}

impl Operation {
    /// The block that it works on.
    pub(super) fn block(&self, layout: &Layout) -> Block {
        match self.what {
            What::Read { page, .. } => layout.block_of(page),
            What::Program { row, .. } => layout.block_of(row),
            What::Erase { block } => block,
            // No block of the geometry.
            What::System { .. } => Block(u32::MAX),
            What::Copy { .. } | What::Copies { .. } => unreachable!("no books are kept of runs"),
        }
    }

    /// A page of the block that it works on; [`Ppn::NONE`] for none of the geometry.
    #[inline]
    pub(super) fn page(&self, layout: &Layout) -> Ppn {
        match self.what {
            What::Read { page, .. } => page,
            What::Program { row, .. } => row,
            What::Erase { block } => layout.first_page(block),
            What::System { .. } => Ppn::NONE,
            What::Copy { .. } | What::Copies { .. } => unreachable!("no books are kept of runs"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    /// tR runs (after the command).
    Sensing,
    /// Likewise, and the data stays in the plane.
    SensingInside,
    /// The data waits for a held channel.
    WaitingForChannel,
    /// The data waits for the cache register.
    WaitingForRegister,
    /// The data crosses the channel.
    TransferringOut,
    /// A program's data crosses the channel; watched only where the next one may be preloaded
    /// behind it or it may be suspended.
    TransferringIn,
    /// tPROG runs.
    Programming,
    /// The coarse pass of a program runs.
    Foggy,
    /// Its data crosses again, for the fine pass.
    TransferringAgain,
    /// A whole copy is under way; one in two events programs.
    Copying,
    /// The read of a whole copy in two events is under way.
    CopyReading,
    /// An erase step runs; this many remain after it.
    Erasing {
        steps_left: u32,
    },
    /// An erase that can be suspended (`suspend`): its command is on the channel,
    EraseCommand,
    /// or such a program: a part of it runs,
    Pulse,
    /// the voltage recovers,
    Suspending,
    /// it is suspended and nothing else runs,
    Suspended,
    /// the voltage ramps up, a verify runs, or a program's data comes back.
    Resuming,
    /// A part of a read that does not decode at once (`retry`) runs.
    Retrying,
    /// Its data waits for the cache register.
    RetryWaiting,
    /// The data of a retried read leaves; the sense that was begun beside it is stopped then.
    Stopping,
}

/// One die (or one independent plane group).
#[derive(Clone, Debug)]
pub(super) struct DieState {
    pub(super) channel: Channel,
    pub(super) phase: Phase,
    /// A suspended operation waits until nobody reads.
    pub(super) holds_suspended: bool,
    pub(super) operation: Operation,
    pub(super) behind_gc: bool,
    pub(super) started: Instant,
    /// Time spent on garbage collection's operations that ended.
    pub(super) gc_busy: Duration,
    /// Time spent on all operations that ended.
    pub(super) busy: Duration,
    /// Cache read: the operation whose data leaves through the cache register.
    pub(super) leaving: Option<Leaving>,
    /// Cache program: the operation whose data is in the cache register, and since when.
    pub(super) preloaded: Option<(Operation, Reserved)>,
}

impl DieState {
    pub fn new(channel: Channel) -> Self {
        let nothing =
            Operation { what: What::Erase { block: Block(0) }, token: OpId(0), gc: false };
        Self {
            channel,
            phase: Phase::Idle,
            holds_suspended: false,
            operation: nothing,
            behind_gc: false,
            started: Instant::START,
            gc_busy: Duration::ZERO,
            busy: Duration::ZERO,
            leaving: None,
            preloaded: None,
        }
    }

    /// The operation under way, or the last one.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The operation under way, when it was given to the die, and whether it waited behind garbage
    /// collection.
    pub(super) fn issued(&self) -> (Operation, Instant, bool) {
        (self.operation, self.started, self.behind_gc)
    }

    /// Begins to count anew: the die's work was counted up to `now`.
    pub(super) fn restart(&mut self, now: Instant) {
        self.started = now;
    }

    /// A transfer of one of its operations ends `delay` later, and begins later if that is the
    /// `whole` of it, because of garbage collection or not; says which operation it is now.
    pub(super) fn delayed(
        &mut self,
        whose: Whose,
        delay: Duration,
        (whole, gc): (bool, bool),
    ) -> Whose {
        match (whose, &mut self.leaving, &mut self.preloaded) {
            (Whose::Leaving, Some(leaving), _) => leaving.behind_gc |= gc,
            (Whose::Preloaded, _, Some((_, load))) => {
                load.behind_gc |= gc;
                load.end += delay;
                load.start += if whole { delay } else { Duration::ZERO };
            }
            (Whose::Suspension, ..) => {}
            // A preloaded program may have become the one under way.
            _ => {
                self.behind_gc |= gc;
                return Whose::Current;
            }
        }
        whose
    }

    /// The next program's data is in the cache register, or on its way.
    pub(super) fn has_preloaded(&self) -> bool {
        self.preloaded.is_some()
    }

    /// The program whose data is in the cache register, or on its way there.
    pub(super) fn preloaded_operation(&self) -> Option<Operation> {
        self.preloaded.map(|(operation, _)| operation)
    }

    /// Ends the operation under way. Its timer stays until the next operation sets it, or
    /// [`Flash::rest`] clears it: one update instead of two.
    #[inline]
    pub(super) fn free(&mut self, now: Instant) {
        let time = now.since(self.started);
        self.busy += time;
        self.gc_busy += if self.operation.gc { time } else { Duration::ZERO };
        self.phase = if self.holds_suspended { Phase::Suspended } else { Phase::Idle };
    }

    /// A suspended operation goes on.
    pub(super) fn take_back(&mut self, now: Instant, operation: Operation, behind_gc: bool) {
        (self.holds_suspended, self.operation, self.started) = (false, operation, now);
        self.behind_gc = behind_gc;
    }
}

/// A read whose data is in the cache register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub operation: Operation,
    pub behind_gc: bool,
    /// The data has its place on the channel.
    pub transferring: bool,
}

impl Phase {
    /// Of a read of so many sectors while its array read runs.
    #[inline(always)]
    pub fn sensing(sectors: u32) -> Self {
        if sectors == 0 { Phase::SensingInside } else { Phase::Sensing }
    }
}

impl Flash {
    /// True when the die may be given an operation.
    #[inline]
    pub fn is_idle(&self, die: Die) -> bool {
        self.dies[die.index()].phase == Phase::Idle
    }

    /// True when the die's channel is held for garbage collection.
    #[inline]
    pub fn is_held(&self, die: Die) -> bool {
        self.channels[self.dies[die.index()].channel.index()].held_since.is_some()
    }

    /// Nanoseconds of garbage collection that kept the die from others up to `now`: its own and its
    /// channel's holds. The difference over a wait is what garbage collection added to it.
    #[inline]
    pub fn gc_time(&self, die: Die, now: Instant) -> Duration {
        let d = &self.dies[die.index()];
        let under_way = if d.operation.gc && d.phase != Phase::Idle {
            now.since(d.started.min(now))
        } else {
            Duration::ZERO
        };
        d.gc_busy + under_way + self.channels[d.channel.index()].held_until(now)
    }
}
