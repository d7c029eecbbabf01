//! One core for the calendar and its guest: only one of them runs at a time, and on a core of its
//! own each would be woken from sleep at every message, which costs three times as much.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// While it lives, this thread, and what it starts, keeps to the core on which it was.
#[derive(Debug)]
pub struct OneCore {
    before: Option<CpuSet>,
}

impl OneCore {
    /// Keeps to this core. Where the system refuses, nothing is slower than without.
    pub fn here() -> Self {
        let (core, mut one) = (sched_getcpu(), CpuSet::new());
        let Some(before) = sched_getaffinity(None).ok().filter(|_| core < CpuSet::MAX_CPU) else {
            return Self { before: None };
        };
        one.set(core);
        let is_kept = sched_setaffinity(None, &one).is_ok();
        Self { before: is_kept.then_some(before) }
    }
}

impl Drop for OneCore {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = sched_setaffinity(None, before);
        }
    }
}
