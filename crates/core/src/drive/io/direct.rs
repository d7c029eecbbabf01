//! Reads and writes of one mapping unit, without a request: the way of `read` or `write`,
//! `dies/schedule` and `told` in one go.
//!
//! A read of one mapping unit that lies on flash and not in the write buffer is one operation. In a
//! drive without optional features nothing on the way there and back asks about more than that, so
//! this file does what is left. Where its die is idle and has no operation waiting it starts at
//! once, and the die keeps the place of its operation; else it joins the die's list. A write of one
//! unit has no request either, also where it waits for room in the buffer. In all other cases
//! nothing is done here. The ends are in `ended`.

use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::face::request::Unit;
use crate::drive::io::write::Incoming;
use crate::drive::later::Task;
use crate::drive::{Command, CommandId, Drive, Op, OpId, PredictableLatency, Stamp};
use crate::flash::{Operation, What};
use crate::ftl::Translation;
use crate::units::{Die, Instant, Lane, Lba, Lpn, Ppn};

/// Reads on the direct way.
#[derive(Clone, Debug, Default)]
pub(in crate::drive) struct Direct {
    way: Way,
    /// Commands take it as they come: nothing lies before the drive.
    is_at_once: bool,
    /// By die: the operation of the read that works there. Empty where a die may have two.
    pub(super) ops: Vec<OpId>,
    /// How many are under way.
    pub(in crate::drive) under_way: u32,
}

/// Whether reads may take the direct way; found out at the first command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    #[default]
    Unknown,
    Never,
    Possible,
}

impl Direct {
    /// Reads do not take the direct way any more.
    pub fn close(&mut self) {
        (self.way, self.is_at_once) = (Way::Never, false);
    }

    /// True where reads may take the direct way.
    #[inline]
    pub fn is_possible(&self) -> bool {
        self.way == Way::Possible
    }

    /// True where commands take it as they come.
    #[inline]
    pub fn is_at_once(&self) -> bool {
        self.is_at_once
    }
}

impl Drive {
    /// True where no optional feature looks at single operations.
    #[inline]
    pub(in crate::drive) fn is_direct(&mut self) -> bool {
        if self.direct.way == Way::Unknown {
            self.look_for_direct_way();
        }
        self.direct.is_possible()
    }

    #[cold]
    fn look_for_direct_way(&mut self) {
        self.direct.way = if self.is_plain() { Way::Possible } else { Way::Never };
        self.direct.is_at_once = self.direct.is_possible() && self.ports.is_open();
        if self.direct.is_possible() && self.flash.cache_registers() == 0 {
            let Self { direct, ops, flash, .. } = self;
            let op = |die| direct_op(flash.layout.lanes_on(die).first());
            direct.ops = flash.layout.each_die().map(|die| ops.insert(op(die))).collect();
        }
    }

    /// Starts a read, or puts it on the list of its die, or takes a write that the buffer has room
    /// for. False, and nothing was done, where the command needs a request. Inlined down to calls
    /// with numbers, so that such a command never lies in memory.
    #[inline(always)]
    pub(in crate::drive) fn goes_directly(&mut self, now: Instant, command: &Command) -> bool {
        let Command { id, op, lba, sectors, stream, fua, predictable, .. } = *command;
        match op {
            Op::Read if predictable == PredictableLatency::Off => {
                self.starts_directly(now, id, (lba, sectors))
            }
            Op::Write if !fua && command.payload.is_none() => {
                self.is_taken_directly(now, id, (lba, sectors), stream)
            }
            _ => false,
        }
    }

    /// The mapping unit of a range that touches one, and no more.
    #[inline(always)]
    fn only_unit(&self, (lba, sectors): (Lba, u32)) -> Option<Unit> {
        let layout = &self.flash.layout;
        let (page, first) = (lba.0 >> layout.unit_shift, lba.0 as u32 & (layout.unit_sectors - 1));
        let is_one = sectors.wrapping_sub(1) < layout.unit_sectors - first;
        let is_there = page < u64::from(self.ftl.logical());
        (is_one && is_there).then_some(Unit { lpn: Lpn(page as u32), first, sectors })
    }

    /// Takes a write of one mapping unit into the buffer, or puts it behind those that wait for
    /// room. False where it completes on flash, or has other pages leave on its account: then
    /// nothing was done.
    fn is_taken_directly(
        &mut self,
        now: Instant,
        id: CommandId,
        range: (Lba, u32),
        stream: u8,
    ) -> bool {
        let long = self.spec.write_through || self.watches || self.writes.own_room;
        if long || self.is_read_only() {
            return false;
        }
        let Some(unit) = self.only_unit(range) else { return false };
        self.direct.under_way += 1;
        if self.writes.waiting.is_empty()
            && let Some(slot) = self.slot_for(unit, Stamp::default())
        {
            self.buffer.slot_mut(slot).stream = stream;
            self.book_comes_directly(now, id);
            self.book_taken_directly(now, id);
            self.later.put(now + self.spec.buffer_hit, Task::Taken { id });
            self.drain(now);
        } else {
            self.writes.wanted += 1;
            self.book_comes_directly(now, id);
            self.writes.waiting.push_back(Incoming::Direct { id, unit, stream });
            self.take_writes(now);
        }
        true
    }

    /// Starts a read, or puts it on the list of its die. False where it needs more than one
    /// operation of the flash, or none: then nothing was done.
    fn starts_directly(&mut self, now: Instant, id: CommandId, range: (Lba, u32)) -> bool {
        let Some(Unit { lpn, sectors, .. }) = self.only_unit(range) else { return false };
        if self.flash.has_trains() || self.buffer.find(lpn).is_some() {
            return false;
        }
        // No page is held for its stripe or by a log here: what the map says is all.
        let ppn = self.ftl.mapping().physical(lpn);
        debug_assert_eq!(self.ftl.translate(lpn) == Translation::Unwritten, ppn == Ppn::NONE);
        if ppn == Ppn::NONE {
            return false;
        }
        let lane = self.flash.layout.lane_of(self.flash.layout.block_of(ppn));
        let die = self.flash.layout.die_of(lane);
        if !self.is_free_for_host(die) {
            self.book_comes_directly(now, id);
            self.waits_directly(now, die, Owner::Direct { id }, (lane, ppn, sectors));
            return true;
        }
        debug_assert!(!self.flash.is_collecting(die), "die {die} is idle and open");
        self.ftl.read_started(ppn);
        let op = match self.direct.ops.is_empty() {
            false => self.direct.ops[die.index()],
            true => self.new_direct_op(lane),
        };
        let operation = &mut self.ops[op];
        (operation.owner, operation.lane) = (Owner::Direct { id }, lane);
        (operation.ppn, operation.sectors) = (ppn, sectors);
        self.book_direct_start(now, op, (die, id));
        self.next_sequence += 1;
        self.direct.under_way += 1;
        self.collector.direct_read_started(die);
        let what = What::Read { page: ppn, sectors };
        self.flash.start(now, die, Operation { what, token: op, gc: false });
        true
    }

    /// A read on the direct way joins its die's list.
    #[inline(never)]
    fn waits_directly(
        &mut self,
        now: Instant,
        die: Die,
        owner: Owner,
        (lane, ppn, sectors): (Lane, Ppn, u32),
    ) {
        self.ftl.read_started(ppn);
        self.next_sequence += 1;
        self.direct.under_way += 1;
        self.collector.user_arrived(die);
        let mut op = FlashOp::new(owner, Class::Read, lane, ppn, 1, sectors);
        op.sequence = self.next_sequence;
        op.gc_before = self.flash.gc_time(die, now);
        op.gc_blocked_at_split = self.flash.is_collecting(die);
        let op = self.ops.insert(op);
        self.book_arrival(now, op, die);
        self.queues[die.index()].read.push(&mut self.ops, op);
        self.look_at(now, die);
    }

    /// Apart, since an operation is aligned to a line of the cache, and so the stack would be.
    #[inline(never)]
    fn new_direct_op(&mut self, lane: Lane) -> OpId {
        self.ops.insert(direct_op(lane))
    }
}

fn direct_op(lane: Lane) -> FlashOp {
    FlashOp::new(Owner::Direct { id: CommandId::default() }, Class::Read, lane, Ppn::NONE, 1, 0)
}
