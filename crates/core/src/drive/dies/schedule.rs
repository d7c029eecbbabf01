//! The scheduler: which waiting operation a free die serves next.
//!
//! Reads, programs and garbage collection wait in lists of their own; this room chooses between the
//! heads. Garbage collection comes first when it has taken the die (its mode blocks) or must go on
//! (at or below the hard mark), and last otherwise.

use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::features::Scheme;
use crate::drive::gc::mode::Rank;
use crate::drive::{Drive, DriveSpec, OpId, Scheduler};
use crate::flash::ChannelTake;
use crate::ftl::Stream;
use crate::units::{Die, Instant, Lane, Pool, Ppn};

/// When operations start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Dispatching {
    /// As soon as their die is free.
    AtOnce,
    /// Likewise, and after all that came before, over the whole drive.
    InOrder,
    /// When their channel is free, too.
    WithSlot,
}

impl Dispatching {
    pub(in crate::drive) fn of(spec: &DriveSpec) -> Self {
        match (spec.channel_take, spec.scheduler) {
            (ChannelTake::WithSlot, _) => Self::WithSlot,
            (ChannelTake::Early, Scheduler::Fifo) => Self::InOrder,
            (ChannelTake::Early, Scheduler::ReadFirst | Scheduler::OutOfOrder) => Self::AtOnce,
        }
    }
}

impl Drive {
    /// Puts an operation on its die's list and starts it if the die is free.
    pub(in crate::drive) fn enqueue(&mut self, now: Instant, op: OpId) {
        let FlashOp { class, owner, lane, .. } = self.ops[op];
        self.enqueue_known(now, op, class, owner, lane);
    }

    /// [`Drive::enqueue`] for a caller that knows the operation. Inlined: callers pass constants,
    /// so the branches fold.
    #[inline(always)]
    pub(in crate::drive) fn enqueue_known(
        &mut self,
        now: Instant,
        op: OpId,
        class: Class,
        owner: Owner,
        lane: Lane,
    ) {
        self.next_sequence += 1;
        self.ops[op].sequence = self.next_sequence;
        let die = self.flash.layout.die_of(lane);
        if class == Class::Gc {
            if let Some(predictable) = &mut self.predictable {
                predictable.gc_came(die);
            }
            if self.may_skip_the_queue(now, die, op) {
                return self.issue(now, die, op);
            }
            self.queues[die.index()].gc.push(&mut self.ops, op);
            return self.look_at(now, die);
        }
        debug_assert!(class.is_of_host(), "scrubbing starts at once or not at all");
        self.book_arrival(now, op, die);
        self.collector.user_arrived(die);
        if let Owner::Request { request, .. }
        | Owner::Rebuild { request, .. }
        | Owner::LookUp { request, .. } = owner
        {
            self.ops[op].gc_before = self.flash.gc_time(die, now);
            self.requests[request].gc_blocked_at_split |= self.flash.is_collecting(die);
            if let Some(holds) = &mut self.holds {
                holds.read_arrived(die);
                self.set_alarm();
            }
            if let Some(predictable) = &mut self.predictable {
                predictable.gc_came(die);
            }
        }
        if self.scheme == Scheme::CachedMap {
            self.ops[op].gc_before = self.flash.gc_time(die, now);
        }
        match self.dispatching {
            Dispatching::AtOnce => {
                if self.is_free_for_host(die) && self.make_startable(now, op) {
                    return self.issue(now, die, op);
                }
            }
            Dispatching::InOrder => {
                self.in_order.push_back(op);
                return self.dispatch(now, die);
            }
            Dispatching::WithSlot => {}
        }
        let queues = &mut self.queues[die.index()];
        match owner {
            _ if class == Class::Read => queues.read.push(&mut self.ops, op),
            // The journal, too: what has no room may wait for an erase that waits for it.
            Owner::Fill { .. }
            | Owner::Update { .. }
            | Owner::MapRead { .. }
            | Owner::Journal
            | Owner::Checkpoint { .. } => queues.fill.push(&mut self.ops, op),
            _ => queues.write.push(&mut self.ops, op),
        }
        self.look_at(now, die);
    }

    /// True when the die is free and a collection's operation would be the next one anyway.
    #[inline]
    fn may_skip_the_queue(&mut self, now: Instant, die: Die, op: OpId) -> bool {
        let queues = &self.queues[die.index()];
        let users = || queues.has_users() || !self.in_order.is_empty();
        self.flash.is_idle(die)
            && queues.gc.front().is_none()
            && self.dispatching != Dispatching::WithSlot
            && (!users() || self.gc_goes_first(op))
            && self.admits_step(now, op)
    }

    /// True when host operations must not start on the die.
    #[inline]
    pub(in crate::drive) fn is_closed(&self, die: Die) -> bool {
        self.queues[die.index()].closed
    }

    /// True when what comes to the die would be the next one anyway.
    #[inline]
    pub(in crate::drive) fn is_free_for_host(&self, die: Die) -> bool {
        self.takes_shortcuts()
            && self.flash.is_idle(die)
            && self.queues[die.index()].is_empty()
            && !self.is_closed(die)
    }

    /// Something joined the die's lists.
    #[inline]
    pub(in crate::drive) fn look_at(&mut self, now: Instant, die: Die) {
        if self.flash.accepts_preload(die) {
            self.preload(now, die);
        }
        if self.may_dispatch(die) {
            self.dispatch(now, die);
        }
    }

    /// False when [`Drive::dispatch`] would find nothing to do: a collection's chain went on, say.
    #[inline]
    pub(in crate::drive) fn may_dispatch(&self, die: Die) -> bool {
        self.may_dispatch_if(self.flash.is_idle(die), die)
    }

    /// The same, where it is known whether the die is idle.
    #[inline(always)]
    pub(in crate::drive) fn may_dispatch_if(&self, is_idle: bool, die: Die) -> bool {
        let queues = &self.queues[die.index()];
        let may = match is_idle {
            true if queues.closed => queues.gc.front().is_some(),
            true => !queues.is_empty(),
            false => self.suspension.is_some(),
        };
        may || self.dispatching == Dispatching::InOrder || !self.takes_shortcuts()
    }

    /// Starts what a die should do next, if it is free.
    pub(in crate::drive) fn dispatch(&mut self, now: Instant, die: Die) {
        match self.dispatching {
            Dispatching::AtOnce => {}
            Dispatching::InOrder => return self.dispatch_fifo(now, die),
            Dispatching::WithSlot => {
                let waits = self.flash.is_idle(die) && !self.queues[die.index()].is_empty();
                if !waits || !self.flash.has_slot(now, die) {
                    return;
                }
            }
        }
        if self.flash.is_idle(die) {
            if let Some(op) = self.pick(now, die) {
                self.issue(now, die, op);
            }
        } else {
            self.give_way(now, die);
        }
    }

    /// Strict FIFO: what goes first on this die, then the host's operations over the whole drive,
    /// then garbage collection.
    fn dispatch_fifo(&mut self, now: Instant, die: Die) {
        let gc = self.next_gc(now, die);
        if let Some(op) = gc.filter(|gc| self.flash.is_idle(die) && self.gc_goes_first(*gc)) {
            self.queues[die.index()].gc.remove(&mut self.ops, op);
            self.issue(now, die, op);
        }
        if self.flash.is_idle(die)
            && !self.is_closed(die)
            && let Some(op) = self.pick_user(now, die)
        {
            self.issue(now, die, op);
        }
        self.dispatch_in_order(now);
        if self.flash.is_idle(die)
            && let Some(op) = self.next_gc(now, die)
        {
            self.queues[die.index()].gc.remove(&mut self.ops, op);
            self.issue(now, die, op);
        }
    }

    /// Strict FIFO: the oldest host operation starts as soon as its die is free, then the next one.
    /// A program whose lane has no room steps aside: it waits for an erase, which may wait for
    /// reads behind it.
    fn dispatch_in_order(&mut self, now: Instant) {
        while let Some(op) = self.in_order.front().copied() {
            let die = self.flash.layout.die_of(self.ops[op].lane);
            let gc_waits = self.next_gc(now, die).is_some_and(|gc| self.gc_goes_first(gc));
            if gc_waits || !self.flash.is_idle(die) || self.is_closed(die) {
                return;
            }
            self.in_order.pop_front();
            if self.make_startable(now, op) {
                self.issue(now, die, op);
            } else {
                self.queues[die.index()].write.push(&mut self.ops, op);
            }
        }
    }

    #[inline(always)]
    fn pick(&mut self, now: Instant, die: Die) -> Option<OpId> {
        let gc = self.next_gc(now, die);
        let has_users = self.queues[die.index()].has_users();
        if let Some(op) = gc.filter(|gc| !has_users || self.gc_goes_first(*gc)) {
            self.take_gc(die, op);
            return gc;
        }
        if has_users
            && !self.is_closed(die)
            && let Some(op) = self.pick_user(now, die)
        {
            return Some(op);
        }
        if let Some(op) = gc {
            self.take_gc(die, op);
        }
        gc
    }

    /// An operation of garbage collection leaves its list, in which it mostly is the first.
    #[inline(always)]
    fn take_gc(&mut self, die: Die, op: OpId) {
        let queue = &mut self.queues[die.index()].gc;
        if queue.front() == Some(op) {
            queue.pop(&self.ops);
        } else {
            queue.remove(&mut self.ops, op);
        }
    }

    /// The operation of garbage collection that goes next on the die, of those that wait.
    #[inline]
    fn next_gc(&mut self, now: Instant, die: Die) -> Option<OpId> {
        let front = self.queues[die.index()].gc.front();
        match self.watches {
            false => front,
            true => front.and_then(|_| self.next_admitted(now, die)),
        }
    }

    #[inline(always)]
    fn gc_goes_first(&self, gc: OpId) -> bool {
        let lane = self.ops[gc].lane;
        self.collector.takes_the_die()
            || self.gc_goes_before(self.ftl.pool_of(lane), self.reads_wait(lane))
    }

    /// True when GC operations of the pool go before the host's that wait for their die;
    /// `reads_wait` there, or not.
    #[inline(always)]
    pub(in crate::drive) fn gc_goes_before(&self, pool: Pool, reads_wait: bool) -> bool {
        match self.collector.lease.rank {
            Rank::First => true,
            Rank::WhenUrgent => {
                self.ftl.is_urgent(pool) && !self.collector.yields_to_reads(reads_wait)
            }
            Rank::WhenWritesWait => self.ftl.is_urgent(pool) || self.writes_wait(pool),
        }
    }

    /// True while programs of the host wait on the pool's channel.
    #[inline(never)]
    fn writes_wait(&self, pool: Pool) -> bool {
        let layout = &self.flash.layout;
        let channel = layout.channel_of(layout.die_of(self.ftl.lanes_of(pool).first()));
        layout.dies_on(channel).any(|die| self.queues[die.index()].write.front().is_some())
    }

    #[inline]
    fn reads_wait(&self, lane: Lane) -> bool {
        self.queues[self.flash.layout.die_of(lane).index()].read.front().is_some()
    }

    /// The waiting host operation that goes next: reads before the others, or the oldest that can
    /// start.
    #[inline(always)]
    pub(in crate::drive) fn pick_user(&mut self, now: Instant, die: Die) -> Option<OpId> {
        let queues = &mut self.queues[die.index()];
        let (read, fill, write) = (queues.read.front(), queues.fill.front(), queues.write.front());
        let reads_first = self.spec.scheduler == Scheduler::ReadFirst;
        if read.is_some() && (reads_first || (fill.is_none() && write.is_none())) {
            return queues.read.pop(&self.ops);
        }
        if read.is_none() && write.is_none() {
            return self.pop_fill(now, die);
        }
        if read.is_none() && fill.is_none() {
            return if self.make_startable(now, write?) {
                self.queues[die.index()].write.pop(&self.ops)
            } else {
                None
            };
        }
        let sequence = |op: Option<OpId>| op.map_or(u64::MAX, |op| self.ops[op].sequence);
        let (read_at, fill_at, write_at) = (sequence(read), sequence(fill), sequence(write));
        if write_at < read_at.min(fill_at) && self.make_startable(now, write?) {
            return self.queues[die.index()].write.pop(&self.ops);
        }
        if read_at < fill_at {
            return self.queues[die.index()].read.pop(&self.ops);
        }
        self.pop_fill(now, die)
    }

    /// Takes what goes next of the die's list of fills, unless it is a page of the journal for
    /// which there is no power.
    fn pop_fill(&mut self, now: Instant, die: Die) -> Option<OpId> {
        let op = self.queues[die.index()].fill.front()?;
        if self.watches && !self.has_power(now, op) {
            return None;
        }
        self.queues[die.index()].fill.pop(&self.ops)
    }

    /// True when the operation may begin: there is power for it, and a program has the row it goes
    /// to.
    #[inline(always)]
    fn make_startable(&mut self, now: Instant, op: OpId) -> bool {
        (!self.watches || self.has_power(now, op)) && self.has_row(op)
    }

    /// Gives a program the row it goes to, unless it has one; false when its lane has no room until
    /// something is reclaimed.
    #[inline(always)]
    pub(super) fn has_row(&mut self, op: OpId) -> bool {
        let FlashOp { owner: Owner::Row { .. }, lane, ppn: Ppn::NONE, data_class, .. } =
            self.ops[op]
        else {
            return true;
        };
        match self.ftl.open_row_of(lane, Stream::Host, data_class.into()) {
            Some(row) => {
                self.ops[op].ppn = row;
                if let Some(planes) = &mut self.collector.planes {
                    planes.fills(&self.ftl, &self.flash.layout, lane);
                }
                true
            }
            None => false,
        }
    }
}
