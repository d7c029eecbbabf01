//! The dies and channels that garbage collection, or other work of the drive, keeps from a read
//! that comes now.

use crate::drive::dies::queues::{Class, Owner};
use crate::drive::{Drive, FastFail, OpId};
use crate::flash::Suspendable;
use crate::units::{Die, Duration, Instant};

impl Drive {
    /// True when a read that may be failed fast fails if it comes to `die` now.
    pub(in crate::drive) fn keeps(&self, now: Instant, die: Die) -> bool {
        self.gc_keeps(now, die) || self.own_work_left(now, die).is_some()
    }

    /// Likewise for the die alone, without its channel.
    pub(crate) fn keeps_die(&self, now: Instant, die: Die) -> bool {
        self.gc_keeps_die(now, die) || self.own_work_left(now, die).is_some()
    }

    /// The rest of an operation on the die that neither garbage collection nor a read of the host
    /// asked for and that does not give way to reads, where such fail a read
    /// ([`FastFail::Internal`]).
    pub(in crate::drive) fn own_work_left(&self, now: Instant, die: Die) -> Option<Duration> {
        if self.spec.fast_fail == FastFail::Gc {
            return None;
        }
        let (op, left) = self.flash.operation_left(now, die)?;
        let is_own = matches!(self.ops[op].class, Class::Write | Class::Scrub);
        (is_own && !self.gives_way_now(op)).then_some(left)
    }

    /// True when garbage collection keeps a read that comes to `die` now: it has the die, or the
    /// channel.
    pub fn gc_keeps(&self, now: Instant, die: Die) -> bool {
        self.gc_keeps_die(now, die) || !self.flash.gc_keeps_channel_for(now, die).is_zero()
    }

    /// True when garbage collection keeps the die alone: it is closed, or collects, or collects
    /// before it serves reads.
    pub fn gc_keeps_die(&self, now: Instant, die: Die) -> bool {
        self.is_closed(die)
            || self.flash.gc_operation(now, die).is_some_and(|op| !self.gives_way_now(op))
            || self.queues[die.index()].gc.iter(&self.ops).any(|op| self.goes_before_reads(now, op))
    }

    /// True when a collection's operation that waits goes before the reads that wait for its die.
    pub(in crate::drive) fn goes_before_reads(&self, now: Instant, op: OpId) -> bool {
        self.gc_goes_before(self.ftl.pool_of(self.ops[op].lane), true)
            && !self.gives_way_now(op)
            && self.may_step(now, op)
    }

    /// True when a read would suspend the operation: one that was suspended as often as it may be
    /// keeps its die.
    pub(in crate::drive) fn gives_way_now(&self, op: OpId) -> bool {
        let Some(suspension) = &self.suspension else { return false };
        if self.flash.stops_no_more(self.flash.layout.die_of(self.ops[op].lane), op) {
            return false;
        }
        match self.ops[op].owner {
            Owner::ChainErase { .. } => suspension.gives_way(Suspendable::Erase),
            Owner::ChainProgram { .. }
            | Owner::Parity
            | Owner::Row { .. }
            | Owner::LogProgram { .. }
            | Owner::Rewrite => suspension.gives_way(Suspendable::Program),
            _ => false,
        }
    }
}
