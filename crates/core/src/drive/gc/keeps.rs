//! The dies and channels that garbage collection keeps from a read that comes now.

use crate::drive::Drive;
use crate::drive::dies::queues::Owner;
use crate::flash::Suspendable;
use crate::units::Die;
use crate::units::Instant;

impl Drive {
    /// True when garbage collection keeps a read that comes to `die` now: it has the die, or the
    /// channel.
    pub fn gc_keeps(&self, now: Instant, die: Die) -> bool {
        self.gc_keeps_die(now, die) || !self.flash.gc_keeps_channel_for(now, die).is_zero()
    }

    /// True when garbage collection keeps the die alone: it is closed, or collects, or collects
    /// before it serves reads.
    pub fn gc_keeps_die(&self, now: Instant, die: Die) -> bool {
        self.collector.is_closed(die)
            || self.flash.gc_operation(now, die).is_some_and(|op| !self.gives_way_now(op))
            || self.queues[die.index()].gc.iter(&self.ops).any(|op| self.goes_before_reads(now, op))
    }

    /// True when a collection's operation that waits goes before the reads that wait for its die.
    pub(in crate::drive) fn goes_before_reads(&self, now: Instant, op: u32) -> bool {
        self.gc_goes_before(self.ftl.pool_of(self.ops[op].lane), true)
            && !self.gives_way_now(op)
            && self.may_step(now, op)
    }

    /// True when a read would suspend a collection's operation: one that was suspended as often as
    /// it may be keeps its die.
    pub(in crate::drive) fn gives_way_now(&self, op: u32) -> bool {
        let Some(suspension) = &self.suspension else { return false };
        if self.flash.stops_no_more(self.flash.layout.die_of(self.ops[op].lane), op) {
            return false;
        }
        match self.ops[op].owner {
            Owner::ChainErase { .. } => suspension.gives_way(Suspendable::Erase),
            Owner::ChainProgram { .. } | Owner::Parity => {
                suspension.gives_way(Suspendable::Program)
            }
            _ => false,
        }
    }
}
