//! Folds: GC runs that empty the cache of blocks with one bit a cell (`ftl/pslc.rs`).
//!
//! Folds under pressure begin as every GC run does, when a row was written. Those in idle time
//! begin when the drive has had no command for as long as `ftl.pslc.idle` says and works on none;
//! the next command ends that, and a fold that is under way goes on as its mode lets it. A timer
//! waits for it only while the cache holds a block that could be folded.

use crate::drive::Drive;
use crate::drive::later::Task;
use crate::flash::Device;
use crate::ftl::FtlSpec;
use crate::units::{Duration, Instant, Ppn};

/// When the cache is folded in idle time.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Fold {
    idle: Duration,
    /// When the last command came.
    last: Instant,
    /// A timer waits for idle time.
    waits: bool,
}

impl Drive {
    /// Folds the cache that the map has, if it has one. Call it before the first command.
    pub(in crate::drive) fn fold_cache(&mut self, device: &Device, ftl: &FtlSpec) {
        if !self.ftl.has_cache() {
            return;
        }
        self.flash.use_slc(device);
        self.collector.fold_inside(ftl.pslc.copyback);
        let idle = ftl.pslc.idle;
        self.fold = Some(Box::new(Fold { idle, last: Instant::START, waits: false }));
        self.choose_way();
    }

    /// A command comes: the drive is not idle.
    #[inline]
    pub(in crate::drive) fn ends_idle_time(&mut self, now: Instant) {
        if let Some(fold) = &mut self.fold {
            fold.last = now;
            self.ftl.set_idle(false);
            self.awaits_idle_time(now);
        }
    }

    /// A row of the host's is on flash, in the cache or past it.
    #[inline(never)]
    pub(in crate::drive) fn row_reached_cache(&mut self, now: Instant, row: Ppn, units: u32) {
        let pslc = &mut self.counters.pslc;
        match self.flash.is_slc(self.flash.layout.block_of(row)) {
            true => pslc.cached_units += u64::from(units),
            false => pslc.direct_units += u64::from(units),
        }
        self.awaits_idle_time(now);
    }

    /// The timer begins to wait, if there is something to fold.
    fn awaits_idle_time(&mut self, now: Instant) {
        let Some(fold) = self.fold.as_mut().filter(|fold| !fold.waits) else { return };
        if self.ftl.has_folds() {
            fold.waits = true;
            self.later.put(now.max(fold.last + fold.idle), Task::Fold);
        }
    }

    /// Perhaps the drive has been idle for long enough.
    pub(in crate::drive) fn fold_turn(&mut self, now: Instant) {
        let Some(fold) = &mut self.fold else { return };
        fold.waits = false;
        if !self.ftl.has_folds() {
            return;
        }
        let due = fold.last + fold.idle;
        if now < due || !self.requests.is_empty() {
            let at = if now < due { due } else { now + fold.idle };
            let others = self.later.next_at().min(self.ports.next_at()).min(self.wakes_at);
            // The next command sees to it where nothing happens before.
            if now < due || self.flash.next_at().min(others) < Instant::NEVER {
                self.fold.iter_mut().for_each(|fold| fold.waits = true);
                self.later.put(at, Task::Fold);
            }
            return;
        }
        self.ftl.set_idle(true);
        for pool in self.ftl.each_pool() {
            self.space_used(now, pool);
        }
    }
}
