//! Busy windows at work: which steps of collections may begin now, and what becomes of those that
//! may not.
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
//!
//! A drive that has something to do then has a timer at the beginning of its next window; nothing
//! is due at its end. A step too long for any window has none, and waits until it is forced.
//!
//! Not for `nogc`, which takes no time, nor for the merges of log blocks, which a write waits for.

use crate::drive::Drive;
use crate::drive::dies::gate::Gate;
use crate::drive::gc::windows::Windows;
use crate::units::Die;
use crate::units::Instant;

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
        for die in (0..self.flash.layout.dies).map(Die) {
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
                gate.paused[pool as usize] = true;
            }
            self.stops_holding(now, pool);
        }
    }
}
