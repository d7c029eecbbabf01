//! Flash operations that wait for their die: first-in-first-out lists for each die, linked through
//! the operations themselves.

use crate::drive::parity::{RebuildId, UpdateId};
use crate::drive::{CommandId, OpId, RequestId, SlotId, Stamp};
use crate::sim::{NIL, Slab};
use crate::units::{Duration, Lane, Ppn};

/// No stamp: no version beneath is so high.
const NO_STAMP: Stamp = Stamp { version: NIL, beneath: NIL };

const _: () = assert!(size_of::<FlashOp>() == 64, "an operation is a line of the cache");

/// Whom an operation serves; the scheduler chooses between these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Class {
    /// A host read.
    Read,
    /// A host write: its program, or the read of a partial page's other sectors.
    Write,
    /// Garbage collection.
    Gc,
    /// Scrubbing: it never waits in a list.
    Scrub,
}

impl Class {
    /// True for what serves the host.
    #[inline]
    pub fn is_of_host(self) -> bool {
        matches!(self, Class::Read | Class::Write)
    }
}

/// The owner of an operation: it is told when the operation is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Owner {
    /// A host read: pages `first..` of the request.
    Request { request: RequestId, first: u32 },
    /// A read of one page on the direct way: the host's command, which has no request.
    Direct { id: CommandId },
    /// A part of the page map is read from a spare area: page `number` of a host read can be
    /// translated then.
    LookUp { request: RequestId, number: u32 },
    /// A partial page of the buffer gets its other sectors.
    Fill { slot: SlotId },
    /// A stripe's update has read a page: that of the buffered page `slot` (`NIL`: another member,
    /// or the parity).
    Update { update: UpdateId, slot: SlotId },
    /// A host read that is computed has another member of its stripe.
    Rebuild { request: RequestId, rebuild: RebuildId },
    /// A row of buffered pages is on flash.
    Row { first_slot: SlotId },
    /// A row of parity in a superblock is on flash: behind host data, or behind copies.
    Parity,
    /// The collection chain of a lane goes on.
    ChainRead { lane: Lane },
    /// The collection chain of a lane goes on.
    ChainProgram { lane: Lane },
    /// The collection chain of a lane goes on: a page is read and programmed elsewhere.
    ChainCopy { lane: Lane },
    /// The victim block of a lane is erased.
    ChainErase { lane: Lane },
    /// The chain of a log-block FTL goes on: a page is read to be copied,
    MergeRead { lane: Lane },
    /// it is programmed elsewhere,
    MergeProgram { lane: Lane },
    /// several were copied,
    MergeRun { lane: Lane },
    /// a block is erased,
    MergeErase { lane: Lane },
    /// a part of the page map is read from a spare area,
    SpareRead { lane: Lane },
    /// or the host's page is on flash.
    LogProgram { lane: Lane },
    /// A page of the journal of deallocations is on flash.
    Journal,
    /// A page of a checkpoint is on flash.
    Checkpoint { page: u32 },
    /// A translation page is read.
    MapRead { page: u32 },
    /// Pages are read to be checked.
    Scrub,
    /// Pages that held too many errors are written anew.
    Rewrite,
}

/// Where garbage collection lay in an operation's way: while it waited for its die, or inside the
/// flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::drive) struct GcMet {
    bits: u8,
}

impl GcMet {
    pub fn in_wait(met: bool) -> Self {
        Self { bits: u8::from(met) }
    }

    pub fn and_in_flash(&mut self, met: bool) {
        self.bits |= u8::from(met) << 1;
    }

    pub fn in_flash(self) -> bool {
        self.bits & 2 != 0
    }

    pub fn anywhere(self) -> bool {
        self.bits != 0
    }
}

/// A flash operation, waiting or under way: a line of the cache, for a backlog holds millions of
/// them.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(in crate::drive) struct FlashOp {
    pub owner: Owner,
    pub class: Class,
    /// The lane it works on.
    pub lane: Lane,
    /// First page of a read, or of the row of a program (set when it starts).
    pub ppn: Ppn,
    /// Map units read or programmed.
    pub units: u32,
    /// Sectors that cross the channel.
    pub sectors: u32,
    /// Arrival order over the whole drive.
    pub sequence: u64,
    /// Garbage collection's time on the die when the operation arrived; of one that asks whether
    /// that lay in its wait, from its issue on, when it was issued.
    pub gc_before: Duration,
    /// Garbage collection lay in its way.
    pub gc_met: GcMet,
    /// A read on the direct way: garbage collection was at its die when it arrived.
    pub gc_blocked_at_split: bool,
    /// A row of the host's: the class of its data.
    pub data_class: u8,
    /// A read under a partial page of the buffer: that page's version and the one it expects
    /// beneath, or `NO_STAMP`.
    over: Stamp,
    /// A read of the request itself that a computed page of the request needs, too: that page, or
    /// `NIL`.
    pub feeds: RebuildId,
    next: OpId,
}

impl FlashOp {
    /// The operation is issued, with so much of garbage collection's time on its die: those who
    /// joined it meanwhile compare with theirs.
    pub fn meets_gc(&mut self, gc_time: Duration) {
        self.gc_met = GcMet::in_wait(gc_time > self.gc_before);
        self.gc_before = gc_time;
    }

    pub fn new(owner: Owner, class: Class, lane: Lane, ppn: Ppn, units: u32, sectors: u32) -> Self {
        let (sequence, gc_before) = (0, Duration::ZERO);
        let (gc_met, over, feeds, next) = (GcMet::default(), NO_STAMP, RebuildId::NIL, OpId::NIL);
        let (gc_blocked_at_split, data_class) = (false, 0);
        Self {
            owner,
            class,
            lane,
            ppn,
            units,
            sectors,
            sequence,
            gc_before,
            gc_met,
            gc_blocked_at_split,
            data_class,
            over,
            feeds,
            next,
        }
    }
}

impl FlashOp {
    /// A read under a partial page of the buffer: that page's version and the one it expects
    /// beneath.
    pub fn over(&self) -> Option<Stamp> {
        (self.over != NO_STAMP).then_some(self.over)
    }

    /// Notes the page of the buffer that the read lies under, if it lies under one.
    pub fn set_over(&mut self, over: Option<Stamp>) {
        self.over = over.unwrap_or(NO_STAMP);
    }

    /// The one behind it in its list, or `None`.
    pub fn next(&self) -> Option<OpId> {
        self.next.some()
    }
}

/// A first-in-first-out list of operations.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Fifo {
    head: OpId,
    tail: OpId,
}

impl Default for Fifo {
    fn default() -> Self {
        Self { head: OpId::NIL, tail: OpId::NIL }
    }
}

impl Fifo {
    #[inline]
    pub fn front(&self) -> Option<OpId> {
        self.head.some()
    }

    #[inline(always)]
    pub fn push(&mut self, ops: &mut Slab<OpId, FlashOp>, op: OpId) {
        ops[op].next = OpId::NIL;
        if self.tail == OpId::NIL {
            self.head = op;
        } else {
            ops[self.tail].next = op;
        }
        self.tail = op;
    }

    #[inline(always)]
    pub fn pop(&mut self, ops: &Slab<OpId, FlashOp>) -> Option<OpId> {
        let op = self.front()?;
        self.head = ops[op].next;
        if self.head == OpId::NIL {
            self.tail = OpId::NIL;
        } else {
            // It is the next to start, and in a long list came long ago.
            ops.prefetch(self.head);
        }
        Some(op)
    }

    /// The operations in their order.
    pub fn iter<'a>(&self, ops: &'a Slab<OpId, FlashOp>) -> impl Iterator<Item = OpId> + use<'a> {
        std::iter::successors(self.head.some(), move |op| ops[*op].next.some())
    }

    /// Takes an operation out, wherever it stands; false when it is not there.
    pub fn remove(&mut self, ops: &mut Slab<OpId, FlashOp>, op: OpId) -> bool {
        let (mut before, mut at) = (OpId::NIL, self.head);
        while at != op {
            if at == OpId::NIL {
                return false;
            }
            (before, at) = (at, ops[at].next);
        }
        let next = ops[op].next;
        match before {
            OpId::NIL => self.head = next,
            before => ops[before].next = next,
        }
        if next == OpId::NIL {
            self.tail = before;
        }
        true
    }
}

/// Operations that wait for one die.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::drive) struct DieQueues {
    pub read: Fifo,
    /// Reads of partial pages, the journal, checkpoints. Not behind the programs: one without room
    /// waits for an erase, which waits for reads, or for the journal.
    pub fill: Fifo,
    pub write: Fifo,
    pub gc: Fifo,
    /// Operations of the host must not start: the die, or its domain, drains or is held.
    pub closed: bool,
}

impl DieQueues {
    /// True when nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let Self { read, fill, write, gc, .. } = self;
        // One test of four.
        read.head.0 & fill.head.0 & write.head.0 & gc.head.0 == OpId::NIL.0
    }

    /// True when an operation of the host waits.
    #[inline]
    pub fn has_users(&self) -> bool {
        self.read.head.0 & self.fill.head.0 & self.write.head.0 != OpId::NIL.0
    }
}
