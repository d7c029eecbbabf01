//! Busy windows: when a member of an array may collect garbage.
//!
//! Reference: IODA (SOSP '21), the time-window design; the predicate is that of the authors'
//! artefact (`do_gc`). Time is cut into slots of one length from a common start, and slot `s` is
//! the busy window of member `s mod N`: at any instant exactly one member is busy. In the words of
//! NVMe's Predictable Latency Mode (Base 2.1, 8.1.18) its busy window is the non-deterministic
//! window, and the rest of the cycle the deterministic one.
//!
//! Trap: the artefact tests that a collection *starts* inside the window; what starts late runs
//! over its end. Here the test is on the predicted end of each step.

use crate::drive::Drive;
use crate::units::{Duration, Instant, Pool};

/// The schedule by which the members of an array take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSchedule {
    /// Members that take turns, N; at least 1.
    pub members: u32,
    /// Which of them this drive is, from 0.
    pub index: u32,
    /// Length of one window, TW; not zero.
    pub length: Duration,
    /// When slot 0 begins.
    pub cycle_start: Instant,
    /// No step of a collection may end later than this before its window's end.
    pub guard: Duration,
}

/// The windows that a drive keeps to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Windows {
    /// No windows: it collects whenever its GC mode says.
    #[default]
    Off,
    /// It collects in its own window of the schedule.
    Scheduled(WindowSchedule),
    /// The host says which window it is in (feature 14h): deterministic, no collection starts.
    Deterministic,
    /// The host says which window it is in: non-deterministic, it may collect.
    NonDeterministic,
}

impl WindowSchedule {
    /// The slot that holds `t`; slot 0 before the cycle starts.
    fn slot(&self, t: Instant) -> u64 {
        if t < self.cycle_start {
            0
        } else {
            t.since(self.cycle_start).as_ns() / self.length.as_ns()
        }
    }

    /// When a slot begins.
    fn begin(&self, slot: u64) -> Instant {
        self.cycle_start + self.length * slot
    }

    /// True while this drive is in its busy window. Before the cycle starts nobody is.
    pub fn is_busy(&self, t: Instant) -> bool {
        t >= self.cycle_start && self.slot(t) % u64::from(self.members) == u64::from(self.index)
    }

    /// When the slot that holds `t` ends.
    pub fn slot_end(&self, t: Instant) -> Instant {
        if t < self.cycle_start { self.cycle_start } else { self.begin(self.slot(t) + 1) }
    }

    /// When this drive's next busy window begins, at `t` or later.
    pub fn next_busy(&self, t: Instant) -> Instant {
        let (n, own) = (u64::from(self.members), u64::from(self.index));
        let slot = self.slot(t);
        let ahead = (own + n - slot % n) % n;
        let begin = self.begin(slot + ahead);
        if begin >= t { begin } else { self.begin(slot + ahead + n) }
    }

    /// True when something that begins at `t` and takes `length` lies inside this drive's busy
    /// window, guard included.
    pub fn holds(&self, t: Instant, length: Duration) -> bool {
        self.is_busy(t) && t + length + self.guard <= self.slot_end(t)
    }
}

impl Drive {
    /// True when a collection of the pool may begin, or go on, now: its first step fits once
    /// everything has drained.
    pub(in crate::drive) fn admits_collection(&mut self, now: Instant, pool: Pool) -> bool {
        let Some(gate) = &self.gate else { return true };
        if gate.windows == Windows::Off || self.is_forced(pool) {
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
    pub(in crate::drive) fn goes_on(&mut self, now: Instant, pool: Pool) -> Option<bool> {
        if !self.admits_collection(now, pool) {
            return Some(false);
        }
        let gate = self.gate.as_mut()?;
        if !std::mem::replace(&mut gate.paused[pool.index()], false) {
            return None;
        }
        for die in self.flash.layout.each_die() {
            if self.queues[die.index()].gc.front().is_some() {
                self.dispatch(now, die);
            }
        }
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;

    fn schedule(members: u32, index: u32) -> WindowSchedule {
        let (length, guard) = (Duration::from_us(100), Duration::from_us(5));
        WindowSchedule { members, index, length, cycle_start: Instant::from_ns(1_000), guard }
    }

    /// Over a thousand cycles, at their edges and at random instants, exactly one of N members is
    /// busy.
    #[test]
    fn one_member_is_busy_at_any_instant() {
        let mut rng = Rng::stream(1, "windows");
        for members in 2..=16 {
            let all: Vec<_> = (0..members).map(|index| schedule(members, index)).collect();
            let busy = |t| all.iter().filter(|schedule| schedule.is_busy(t)).count();
            for slot in 0..1_000 * u64::from(members) {
                let begin = 1_000 + slot * 100_000;
                for t in [begin, begin + 1 + rng.below(99_998), begin + 99_999] {
                    let t = Instant::from_ns(t);
                    assert_eq!(busy(t), 1, "{members} members at {t:?}");
                    assert!(all[(slot % u64::from(members)) as usize].is_busy(t));
                    assert_eq!(all[0].slot_end(t).as_ns(), begin + 100_000);
                }
            }
            assert_eq!(busy(Instant::from_ns(999)), 0);
        }
    }

    #[test]
    fn the_next_window_is_the_first_that_begins_at_or_after() {
        let second = schedule(4, 1);
        for (t, begin) in [
            (0, 101_000),
            (101_000, 101_000),
            (101_001, 501_000),
            (501_000, 501_000),
            (400_000, 501_000),
        ] {
            assert_eq!(second.next_busy(Instant::from_ns(t)).as_ns(), begin, "from {t}");
        }
        assert_eq!(schedule(4, 0).next_busy(Instant::START).as_ns(), 1_000);
    }

    #[test]
    fn a_step_must_end_before_the_guard() {
        let second = schedule(4, 1);
        let at = Instant::from_ns(101_000);
        assert!(second.holds(at, Duration::from_us(95)));
        assert!(!second.holds(at, Duration::from_ns(95_001)));
        assert!(!second.holds(Instant::from_ns(100_999), Duration::from_ns(1)));
    }
}
