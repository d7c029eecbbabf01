//! Busy windows at work: GC runs begin and go on when a window opens, and give back what they hold
//! when a step was refused. `dies/gate.rs` says which steps a window admits.
//!
//! A drive that has something to do then has a timer at the beginning of its next window; nothing
//! is due at its end. A step too long for any window has none, and waits until it is forced.
//!
//! Not for `nogc`, which takes no time, nor for the merges of log blocks, which a write waits for.

use crate::drive::Drive;
use crate::units::Instant;

impl Drive {
    /// Steps of collections that broke the contract: forced outside of a window, or begun in one
    /// and ended after it.
    pub fn violations(&self) -> u64 {
        self.counters.predictable.violations + self.counters.predictable.overruns
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
    pub(in crate::drive) fn window_opens(&mut self, now: Instant) {
        if let Some(gate) = &mut self.gate {
            gate.wakes_at = Instant::NEVER;
        }
        if self.collector.takes_no_time() {
            return self.set_alarm();
        }
        for pool in self.ftl.each_pool() {
            if self.is_paused(pool) {
                self.requeue(now, pool);
            } else {
                self.space_used(now, pool);
            }
        }
        for die in self.flash.layout.each_die() {
            if self.queues[die.index()].gc.front().is_some() {
                self.dispatch(now, die);
            }
        }
        self.set_alarm();
    }

    /// An event is over: collections of which a step was refused give back what they hold.
    pub(in crate::drive) fn pause_refused(&mut self, now: Instant) {
        while let Some(pool) = self.gate.as_mut().and_then(|gate| gate.refused.pop()) {
            if self.is_paused(pool) || !self.gives_back(pool) {
                continue;
            }
            if let Some(gate) = &mut self.gate {
                gate.paused[pool.index()] = true;
            }
            self.stops_holding(now, pool);
        }
    }
}
