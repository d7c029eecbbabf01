//! Busy windows at work: which steps of collections may begin now, and what becomes of those that
//! may not.
//!
//! IODA (SOSP '21) lets a drive collect in its own window only; its artefact tests when a
//! collection of a whole line *starts*. Here a collection is a chain of steps, each one flash
//! operation (an array read, the program of a row, an erase) that nothing stops once it runs; each
//! is let go only if its predicted **end** lies inside the window, less the guard. What does not
//! fit waits in its die's list and keeps nobody: `base`, `controller` and `plane-blocking` give
//! back what they closed (the collection is *paused*, half copied), and drain and hold anew in the
//! next window. The prediction is an upper bound: the longest tR and tPROG of the table, what has
//! the channel now, and one row's transfer of every other die of the channel where data of copies
//! crosses it among the host's. So no step crosses the window's end, but an erase or a program that
//! reads suspend.
//!
//! **Forced.** At or below the hard mark, or with only the reserve left (`is_urgent`), steps go
//! whatever the window says, as they do without windows: writes are never stuck. A forced step that
//! does not lie inside a window is a violation of the contract
//! ([`PredictableCounters`](crate::stats::PredictableCounters)).
//!
//! A drive that has something to do then has a timer at the beginning of its next window; nothing
//! is due at its end. A step too long for any window has none, and waits until it is forced.
//!
//! Not for `nogc`, which takes no time, nor for the merges of log blocks, which a write waits for.

use crate::drive::Drive;
use crate::drive::dies::queues::{FlashOp, Owner};
use crate::drive::gc::windows::{WindowSchedule, Windows};
use crate::units::{Duration, Instant};

/// What windows keep from starting.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Gate {
    windows: Windows,
    /// The next window in which something that waits may start.
    wakes_at: Instant,
    /// By pool: its collection gave back what it held, half copied.
    paused: Vec<bool>,
    /// Pools of which a step was refused during this event.
    refused: Vec<u32>,
    /// `plane-blocking`: planes of the channel that is looked at whose window lets them begin.
    admitted: Vec<u32>,
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
    /// True when a step of this length may begin now without being forced.
    fn lets(&self, now: Instant, length: Duration) -> bool {
        match &self.windows {
            Windows::Off | Windows::NonDeterministic => true,
            Windows::Deterministic => false,
            Windows::Scheduled(schedule) => schedule.holds(now, length),
        }
    }

    /// True when the pool's collection is half copied and holds nothing.
    pub fn is_paused(&self, pool: u32) -> bool {
        self.paused[pool as usize]
    }

    /// Nobody is let begin.
    pub fn forget_admitted(&mut self) {
        self.admitted.clear();
    }

    /// The plane is let begin.
    pub fn admit(&mut self, pool: u32) {
        self.admitted.push(pool);
    }

    /// True when the plane was let begin.
    pub fn has_admitted(&self, pool: u32) -> bool {
        self.admitted.contains(&pool)
    }

    /// Something that takes `length` waits for the next window, if it fits into one.
    fn waits(&mut self, now: Instant, length: Duration) {
        if let Windows::Scheduled(schedule) = &self.windows
            && length + schedule.guard <= schedule.length
        {
            self.wakes_at = self.wakes_at.min(schedule.next_busy(now + Duration::from_ns(1)));
        }
    }
}

impl Drive {
    /// From `now` on the drive keeps to `windows`. Everything before `now` has been done
    /// ([`Drive::advance_before`]).
    pub fn set_windows(&mut self, now: Instant, windows: Windows) {
        let pools = self.ftl.pools() as usize;
        let fresh = || {
            let (paused, wakes_at, last_end) = (vec![false; pools], Instant::NEVER, Instant::START);
            Box::new(Gate {
                windows,
                wakes_at,
                paused,
                refused: Vec::new(),
                admitted: Vec::new(),
                steps: Vec::new(),
                last_end,
            })
        };
        if windows == Windows::Off && self.gate.is_none() {
            return;
        }
        self.split_copies(now);
        let gate = self.gate.get_or_insert_with(fresh);
        gate.windows = windows;
        self.watches = true;
        self.window_opens(now);
        self.event_is_over(now);
    }

    /// What the drive keeps to.
    pub fn windows(&self) -> Windows {
        self.gate.as_ref().map_or(Windows::Off, |gate| gate.windows)
    }

    /// The earlier of what is looked at: held erases, and what waits for a window.
    pub(in crate::drive) fn set_alarm(&mut self) {
        let window = self.gate.as_ref().map_or(Instant::NEVER, |gate| gate.wakes_at);
        self.wakes_at = window.min(self.next_hold_at());
    }

    /// The alarm.
    pub(in crate::drive) fn wake(&mut self, now: Instant) {
        if self.next_hold_at() == now {
            self.hold_turn(now);
        }
        if self.gate.as_ref().is_some_and(|gate| gate.wakes_at == now) {
            self.window_opens(now);
        }
        self.set_alarm();
    }

    /// Collections that wait may begin or go on.
    fn window_opens(&mut self, now: Instant) {
        if let Some(gate) = &mut self.gate {
            gate.wakes_at = Instant::NEVER;
        }
        if self.collector.takes_no_time() {
            return self.set_alarm();
        }
        for pool in 0..self.ftl.pools() {
            if self.is_paused(pool) {
                self.requeue(now, pool);
            } else {
                self.space_used(now, pool);
            }
        }
        for die in 0..self.flash.layout.dies {
            if self.queues[die as usize].gc.front().is_some() {
                self.dispatch(now, die);
            }
        }
        self.set_alarm();
    }

    /// A pool is, perhaps, urgent now: its steps that wait for a window wait no longer.
    pub(in crate::drive) fn hurry_steps(&mut self, now: Instant, pool: u32) {
        if !self.ftl.is_urgent(pool) || !self.ftl.is_collecting(pool) {
            return;
        }
        if self.is_paused(pool) {
            return self.requeue(now, pool);
        }
        for lane in self.ftl.lanes_of(pool) {
            let die = self.flash.layout.die_of(lane);
            if self.queues[die as usize].gc.front().is_some() {
                self.dispatch(now, die);
            }
        }
    }

    /// True when the pool's collection is half copied and holds nothing.
    #[inline]
    pub(in crate::drive) fn is_paused(&self, pool: u32) -> bool {
        self.gate.as_ref().is_some_and(|gate| gate.is_paused(pool))
    }

    pub(in crate::drive) fn schedule(&self) -> Option<&WindowSchedule> {
        match &self.gate.as_ref()?.windows {
            Windows::Scheduled(schedule) => Some(schedule),
            _ => None,
        }
    }

    /// The pool for which an operation of a collection works, if windows are for it.
    fn pool_of_step(&self, op: u32) -> Option<u32> {
        if matches!(self.ops[op].owner, Owner::MergeRun { .. }) {
            None
        } else {
            self.chain_pool(op)
        }
    }

    pub(in crate::drive) fn is_forced(&self, pool: u32) -> bool {
        self.ftl.is_urgent(pool) || (self.faults.is_some() && self.ftl.is_dead(pool))
    }

    /// True when an operation of a collection may begin now.
    pub(in crate::drive) fn may_step(&self, now: Instant, op: u32) -> bool {
        let (Some(gate), Some(pool)) = (&self.gate, self.pool_of_step(op)) else { return true };
        !(gate.paused[pool as usize] && self.is_copy(op))
            && (gate.lets(now, self.step_length(now, op)) || self.is_forced(pool))
    }

    /// It copies: what closes dies has to do so first.
    fn is_copy(&self, op: u32) -> bool {
        !matches!(self.ops[op].owner, Owner::ChainErase { .. })
    }

    /// The same, and what may not waits for its window.
    #[inline(never)]
    pub(in crate::drive) fn admits_step(&mut self, now: Instant, op: u32) -> bool {
        let admits = self.may_step(now, op);
        if !admits && let Some(pool) = self.pool_of_step(op) {
            let (length, copies) =
                (self.bare_length(op) + self.others_transfers(op), self.is_copy(op));
            if let Some(gate) = &mut self.gate {
                gate.waits(now, length);
                if copies && !gate.paused[pool as usize] && !gate.refused.contains(&pool) {
                    gate.refused.push(pool);
                }
            }
            self.set_alarm();
        }
        admits
    }

    /// The first of the operations that wait on a die for garbage collection that may begin now.
    #[inline(never)]
    pub(in crate::drive) fn next_admitted(&mut self, now: Instant, die: u32) -> Option<u32> {
        let mut next = self.queues[die as usize].gc.front();
        while let Some(op) = next.filter(|op| !self.admits_step(now, *op)) {
            next = self.ops[op].next();
        }
        next
    }

    /// The longest that an operation takes if the channel is its own.
    fn bare_length(&self, op: u32) -> Duration {
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
    fn step_length(&self, now: Instant, op: u32) -> Duration {
        let die = self.flash.layout.die_of(self.ops[op].lane);
        self.flash.channel_busy_for(now, die) + self.bare_length(op) + self.others_transfers(op)
    }

    /// Transfers that may come before the data of an array read: of each other die of the channel
    /// one that is under way, and one from each cache register. None where the channel is held for
    /// this chain alone.
    fn others_transfers(&self, op: u32) -> Duration {
        let FlashOp { owner, sectors, .. } = self.ops[op];
        let is_read = matches!(owner, Owner::ChainRead { .. });
        let is_alone = self.pool_of_step(op).is_some_and(|pool| self.ftl.lanes_of(pool).len() == 1);
        let holds = self.collector.takes_the_die() && self.collector.planes.is_none() && is_alone;
        if !is_read || sectors == 0 || holds {
            return Duration::ZERO;
        }
        self.others_transfers_of_group()
    }

    /// The same for an array read of a victim of several lanes.
    pub(in crate::drive) fn others_transfers_of_group(&self) -> Duration {
        let (timing, layout) = (self.flash.timing(), &self.flash.layout);
        let registers = u64::from(self.flash.cache_registers());
        let row = timing.command + timing.transfer(layout.units_per_row * layout.unit_sectors);
        row * ((1 + registers) * u64::from(layout.dies_per_channel() - 1) + registers)
    }

    /// True when a collection of the pool may begin, or go on, now: its first step fits once
    /// everything has drained.
    pub(in crate::drive) fn admits_collection(&mut self, now: Instant, pool: u32) -> bool {
        if self.gate.is_none() || self.is_forced(pool) {
            return true;
        }
        let (timing, layout) = (self.flash.timing(), &self.flash.layout);
        let row = if self.collector.copies_inside() {
            Duration::ZERO
        } else {
            timing.transfer(layout.units_per_row * layout.unit_sectors)
        };
        let step = timing.command + row + timing.longest_read().max(timing.longest_program());
        let drained = if self.collector.takes_the_die() {
            self.drain_left(now, pool)
        } else {
            Duration::ZERO
        };
        let Some(gate) = &mut self.gate else { return true };
        let admits = gate.lets(now, drained + step);
        if !admits {
            gate.waits(now, step);
            self.set_alarm();
        }
        admits
    }

    /// A collection that could begin now: `Some(false)` when its window forbids it, `Some(true)`
    /// when one that was paused goes on instead.
    pub(in crate::drive) fn goes_on(&mut self, now: Instant, pool: u32) -> Option<bool> {
        if !self.admits_collection(now, pool) {
            return Some(false);
        }
        let gate = self.gate.as_mut()?;
        if !std::mem::replace(&mut gate.paused[pool as usize], false) {
            return None;
        }
        for die in 0..self.flash.layout.dies {
            if self.queues[die as usize].gc.front().is_some() {
                self.dispatch(now, die);
            }
        }
        Some(true)
    }

    /// An event is over: collections of which a step was refused give back what they hold.
    pub(in crate::drive) fn pause_refused(&mut self, now: Instant) {
        while let Some(pool) = self.gate.as_mut().and_then(|gate| gate.refused.pop()) {
            if self.is_paused(pool) || !self.gives_back(pool) {
                continue;
            }
            if let Some(gate) = &mut self.gate {
                gate.paused[pool as usize] = true;
            }
            self.stops_holding(now, pool);
        }
    }

    /// A step of a collection begins.
    pub(in crate::drive) fn gc_begins(&mut self, now: Instant, die: u32, op: u32) {
        if self.predictable.is_some() {
            self.gc_came(die);
        }
        if self.gate.is_none() || self.pool_of_step(op).is_none() {
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
        if op as usize >= gate.steps.len() {
            gate.steps.resize(op as usize + 1, nothing);
        }
        let end = end.filter(|_| !violates).unwrap_or(Instant::NEVER);
        gate.steps[op as usize] = Step { began: now, end, violates };
    }

    /// An operation of garbage collection is done.
    pub(in crate::drive) fn step_ended(&mut self, now: Instant, op: u32) {
        if self.pool_of_step(op).is_none() {
            return;
        }
        let Some(step) = self.gate.as_ref().and_then(|gate| gate.steps.get(op as usize).copied())
        else {
            return;
        };
        let counters = &mut self.counters.predictable;
        counters.overruns += u64::from(now > step.end);
        if step.violates {
            counters.violation_time += now.since(step.began);
        }
        if let Some(gate) = &mut self.gate {
            gate.steps[op as usize].end = Instant::NEVER;
        }
    }

    /// What is left of the window for the collections that keep `die`, if they end with it.
    pub(in crate::drive) fn window_left(&self, now: Instant, die: u32) -> Option<Duration> {
        let schedule = self.schedule()?;
        let lanes = self.flash.layout.lanes_per_die;
        let mut pools = (die * lanes..(die + 1) * lanes).map(|lane| self.ftl.pool_of(lane));
        let keeper = self.collector.keeper_of(die).map(|(pool, _)| pool);
        let forced = pools.any(|pool| self.is_forced(pool))
            || keeper.is_some_and(|pool| self.is_forced(pool));
        if forced || !schedule.is_busy(now) {
            return None;
        }
        Some(schedule.slot_end(now).since(now))
    }
}
