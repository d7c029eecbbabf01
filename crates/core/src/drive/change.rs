//! Settings that may change while a drive works: its windows, times of its flash, the marks of its
//! collections, and whether it collects before it must.
//!
//! Operations that started keep their end; those that start from now on take the new values.
//! Promises that were computed before (Identify, windows, a pace) stay as they were.

use super::{Drive, Gate, Windows};
use crate::flash::Device;
use crate::ftl::GcSpec;
use crate::units::Instant;

impl Drive {
    /// From `now` on, before which everything has been done, operations take the times of `device`,
    /// whose geometry is this one's.
    pub fn set_times(&mut self, now: Instant, device: &Device) {
        self.split_copies(now);
        self.flash.set_times(device);
        self.event_is_over(now);
    }

    /// From `now` on collections begin at the marks of `gc`: at the soft one, or while they are
    /// `paused` at the hard one.
    pub fn set_marks(&mut self, now: Instant, gc: &GcSpec, paused: bool) {
        self.split_copies(now);
        self.ftl.set_marks(gc, paused);
        if !self.collector.takes_no_time() {
            for pool in self.ftl.each_pool() {
                self.space_used(now, pool);
            }
            for die in self.flash.layout.each_die() {
                self.dispatch(now, die);
            }
        }
        self.event_is_over(now);
    }

    /// From `now` on the drive keeps to `windows`. Everything before `now` has been done
    /// ([`Drive::advance_before`]).
    pub fn set_windows(&mut self, now: Instant, windows: Windows) {
        if windows == Windows::Off && self.gate.is_none() {
            return;
        }
        self.split_copies(now);
        let pools = self.ftl.pools();
        self.gate.get_or_insert_with(|| Box::new(Gate::new(pools))).windows = windows;
        self.watches = true;
        self.window_opens(now);
        self.event_is_over(now);
    }

    /// Marks are what its collections begin at: not merges of log blocks, which begin for want of a
    /// block, nor collections at a pace, which keep the mark that they began with.
    pub fn has_marks(&self) -> bool {
        self.ftl.log_blocks().is_none() && self.pace.is_none()
    }
}
