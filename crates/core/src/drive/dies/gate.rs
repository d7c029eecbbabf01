//! The busy window of a drive: which GC operations it admits, by their longest time.
//!
//! IODA (SOSP '21) lets a drive collect in its own window only; its artefact tests when a
//! collection of a whole line *starts*. Here a collection is a chain of steps, each one flash
//! operation (an array read, the program of a row, an erase) that nothing stops once it runs; each
//! begins only if its predicted **end** lies inside the window, less the guard. A step that does
//! not fit waits in its die's list and blocks no read: `base`, `controller` and `plane-blocking`
//! give back what they closed (the collection is *paused*, half copied), and drain and hold anew in
//! the next window. The prediction is an upper bound: the longest tR and tPROG of the table, what
//! has the channel now, and one row's transfer of every other die of the channel where data of
//! copies crosses it among the host's. So no step crosses the window's end, but an erase or a
//! program that reads suspend.
//!
//! **Forced.** At or below the hard mark, or with only the reserve left (`is_urgent`), steps go
//! whatever the window says, as they do without windows: writes are never stuck. A forced step that
//! does not lie inside a window is a violation of the contract
//! ([`PredictableCounters`](crate::stats::PredictableCounters)).

use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::gc::windows::{WindowSchedule, Windows};
use crate::drive::{Drive, OpId};
use crate::units::{Die, Duration, Instant, Pool};

/// GC runs and operations that wait for a window.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Gate {
    pub(in crate::drive) windows: Windows,
    /// The next window in which something that waits may start.
    pub(in crate::drive) wakes_at: Instant,
    /// By pool: its collection gave back what it held, half copied.
    pub(in crate::drive) paused: Vec<bool>,
    /// Pools of which a step was refused during this event.
    pub(in crate::drive) refused: Vec<Pool>,
    /// `plane-blocking`: planes of the channel that is looked at whose window lets them begin.
    admitted: Vec<Pool>,
    /// By operation: the step under way.
    steps: Vec<Step>,
    /// When the window ended in which the last step began.
    last_end: Instant,
}

/// A step under way.
#[derive(Clone, Copy, Debug)]
struct Step {
    began: Instant,
    /// It should end before.
    end: Instant,
    /// It is forced outside of the window.
    violates: bool,
}

impl Gate {
    /// A gate that is open, for so many pools.
    pub fn new(pools: u32) -> Self {
        Self {
            windows: Windows::Off,
            wakes_at: Instant::NEVER,
            paused: vec![false; pools as usize],
            refused: Vec::new(),
            admitted: Vec::new(),
            steps: Vec::new(),
            last_end: Instant::START,
        }
    }

    /// True when a step of this length may begin now without being forced.
    pub fn lets(&self, now: Instant, length: Duration) -> bool {
        match &self.windows {
            Windows::Off | Windows::NonDeterministic => true,
            Windows::Deterministic => false,
            Windows::Scheduled(schedule) => schedule.holds(now, length),
        }
    }

    /// True when the pool's collection is half copied and holds nothing.
    pub fn is_paused(&self, pool: Pool) -> bool {
        self.paused[pool.index()]
    }

    /// Clears the set of admitted planes.
    pub fn forget_admitted(&mut self) {
        self.admitted.clear();
    }

    /// Adds the plane to the set of admitted ones.
    pub fn admit(&mut self, pool: Pool) {
        self.admitted.push(pool);
    }

    /// True when the plane is admitted.
    pub fn has_admitted(&self, pool: Pool) -> bool {
        self.admitted.contains(&pool)
    }

    /// Something that takes `length` waits for the next window, if it fits into one.
    pub fn waits(&mut self, now: Instant, length: Duration) {
        if let Windows::Scheduled(schedule) = &self.windows
            && length + schedule.guard <= schedule.length
        {
            self.wakes_at = self.wakes_at.min(schedule.next_busy(now + Duration::from_ns(1)));
        }
    }
}

impl Drive {
    pub(in crate::drive) fn schedule(&self) -> Option<&WindowSchedule> {
        match &self.gate.as_ref()?.windows {
            Windows::Scheduled(schedule) => Some(schedule),
            _ => None,
        }
    }

    /// The pool for which an operation of a collection works, if windows are for it.
    fn pool_of_step(&self, op: OpId) -> Option<Pool> {
        if matches!(self.ops[op].owner, Owner::MergeRun { .. }) {
            None
        } else {
            self.chain_pool(op)
        }
    }

    pub(in crate::drive) fn is_forced(&self, pool: Pool) -> bool {
        self.ftl.is_urgent(pool) || self.ftl.is_dead(pool)
    }

    /// True when the pool's collection is half copied and holds nothing.
    #[inline]
    pub(in crate::drive) fn is_paused(&self, pool: Pool) -> bool {
        self.gate.as_ref().is_some_and(|gate| gate.is_paused(pool))
    }

    /// True when an operation of a collection may begin now.
    pub(in crate::drive) fn may_step(&self, now: Instant, op: OpId) -> bool {
        let (Some(gate), Some(pool)) = (&self.gate, self.pool_of_step(op)) else { return true };
        !(gate.paused[pool.index()] && self.is_copy(op))
            && (gate.lets(now, self.step_length(now, op)) || self.is_forced(pool))
    }

    /// It copies: what closes dies has to do so first.
    fn is_copy(&self, op: OpId) -> bool {
        !matches!(self.ops[op].owner, Owner::ChainErase { .. })
    }

    /// True when an operation of a GC run may begin now; else it waits for its window, or for a
    /// share of the power budget.
    #[inline]
    pub(in crate::drive) fn admits_step(&mut self, now: Instant, op: OpId) -> bool {
        !self.watches || (self.window_admits(now, op) && self.has_power(now, op))
    }

    #[inline(never)]
    fn window_admits(&mut self, now: Instant, op: OpId) -> bool {
        let admits = self.may_step(now, op);
        if !admits && let Some(pool) = self.pool_of_step(op) {
            let (length, copies) =
                (self.bare_length(op) + self.others_transfers(op), self.is_copy(op));
            if let Some(gate) = &mut self.gate {
                gate.waits(now, length);
                if copies && !gate.paused[pool.index()] && !gate.refused.contains(&pool) {
                    gate.refused.push(pool);
                }
            }
            self.set_alarm();
        }
        admits
    }

    /// The first of the operations that wait on a die for garbage collection that may begin now.
    #[inline(never)]
    pub(in crate::drive) fn next_admitted(&mut self, now: Instant, die: Die) -> Option<OpId> {
        let mut next = self.queues[die.index()].gc.front();
        while let Some(op) = next.filter(|op| !self.admits_step(now, *op)) {
            next = self.ops[op].next();
        }
        next
    }

    /// The longest that an operation takes if the channel is its own.
    fn bare_length(&self, op: OpId) -> Duration {
        let (timing, sectors) = (self.flash.timing(), self.ops[op].sectors);
        match self.ops[op].owner {
            Owner::ChainErase { .. } => self.flash.longest_erase(),
            Owner::ChainRead { .. } => {
                timing.command + timing.longest_read() + timing.transfer(sectors)
            }
            _ => timing.command + timing.transfer(sectors) + timing.longest_program(),
        }
    }

    /// The longest that an operation takes if it begins now.
    fn step_length(&self, now: Instant, op: OpId) -> Duration {
        let die = self.flash.layout.die_of(self.ops[op].lane);
        self.flash.channel_busy_for(now, die) + self.bare_length(op) + self.others_transfers(op)
    }

    /// Transfers that may come before the data of an array read: of each other die of the channel
    /// one that is under way, and one from each cache register. None where the channel is held for
    /// this chain alone.
    fn others_transfers(&self, op: OpId) -> Duration {
        let FlashOp { owner, sectors, .. } = self.ops[op];
        let is_read = matches!(owner, Owner::ChainRead { .. });
        let is_alone = self.pool_of_step(op).is_some_and(|pool| self.ftl.lanes_of(pool).len() == 1);
        let holds = self.collector.lease.holds_channels() && is_alone;
        if !is_read || sectors == 0 || holds {
            return Duration::ZERO;
        }
        self.others_transfers_of_group()
    }

    /// Transfers that may come before the data of an array read of a victim of several lanes.
    pub(in crate::drive) fn others_transfers_of_group(&self) -> Duration {
        let (timing, layout) = (self.flash.timing(), &self.flash.layout);
        let registers = u64::from(self.flash.cache_registers());
        let row = timing.command + timing.transfer(layout.units_per_row * layout.unit_sectors);
        row * ((1 + registers) * u64::from(layout.dies_per_channel() - 1) + registers)
    }

    /// A step of a collection begins.
    pub(in crate::drive) fn gc_begins(&mut self, now: Instant, die: Die, op: OpId) {
        if let Some(predictable) = &mut self.predictable {
            predictable.gc_came(die);
        }
        if self.gate.as_ref().and(self.pool_of_step(op)).is_none() {
            return;
        }
        let length = self.step_length(now, op);
        let end = self.schedule().map(|schedule| schedule.slot_end(now));
        let Some(gate) = &mut self.gate else { return };
        let violates = !gate.lets(now, length);
        let counters = &mut self.counters.predictable;
        counters.violations += u64::from(violates);
        if !violates && gate.windows != Windows::Off {
            counters.steps_in_window += 1;
            if let Some(end) = end {
                counters.windows += u64::from(end > gate.last_end);
                gate.last_end = end;
            }
        }
        let nothing = Step { began: Instant::START, end: Instant::NEVER, violates: false };
        if op.index() >= gate.steps.len() {
            gate.steps.resize(op.index() + 1, nothing);
        }
        let end = end.filter(|_| !violates).unwrap_or(Instant::NEVER);
        gate.steps[op.index()] = Step { began: now, end, violates };
    }

    /// An operation is done.
    #[inline]
    pub(in crate::drive) fn step_ended(&mut self, now: Instant, op: OpId) {
        if self.watches {
            self.frees_power(op);
            self.count_step(now, op);
        }
    }

    #[inline(never)]
    fn count_step(&mut self, now: Instant, op: OpId) {
        let Some(gate) = &self.gate else { return };
        if op.index() >= gate.steps.len() || self.pool_of_step(op).is_none() {
            return;
        }
        let Some(step) = self.gate.as_ref().and_then(|gate| gate.steps.get(op.index()).copied())
        else {
            return;
        };
        let counters = &mut self.counters.predictable;
        counters.overruns += u64::from(now > step.end);
        if step.violates {
            counters.violation_time += now.since(step.began);
        }
        if let Some(gate) = &mut self.gate {
            gate.steps[op.index()].end = Instant::NEVER;
        }
    }

    pub(in crate::drive) fn chain_pool(&self, op: OpId) -> Option<Pool> {
        match self.ops[op].owner {
            Owner::ChainRead { lane }
            | Owner::ChainProgram { lane }
            | Owner::ChainCopy { lane }
            | Owner::ChainErase { lane } => Some(self.ftl.pool_of(lane)),
            Owner::Parity if self.ops[op].class == Class::Gc => {
                Some(self.ftl.pool_of(self.ops[op].lane))
            }
            _ => None,
        }
    }

    /// The windows that the drive keeps to.
    pub fn windows(&self) -> Windows {
        self.gate.as_ref().map_or(Windows::Off, |gate| gate.windows)
    }

    /// Time left of the window for the GC runs that keep `die`, if they end with it.
    pub(in crate::drive) fn window_left(&self, now: Instant, die: Die) -> Option<Duration> {
        let schedule = self.schedule()?;
        let mut pools = self.ftl.pools_on(die);
        let keeper = self.collector.keeper_of(die).map(|(pool, _)| pool);
        let forced = pools.any(|pool| self.is_forced(pool))
            || keeper.is_some_and(|pool| self.is_forced(pool));
        if forced || !schedule.is_busy(now) {
            return None;
        }
        Some(schedule.slot_end(now).since(now))
    }
}
