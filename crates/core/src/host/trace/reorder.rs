//! Puts records that are a little out of time order back in order.
//!
//! blkparse writes the events of each CPU in batches, so a third of its lines go back in time by a few milliseconds;
//! MSR volumes hold a few such lines too. Clamping them would turn a smooth stream into bursts.

use super::Record;
use std::collections::VecDeque;

/// Records held back. Measured on blkparse output of 4 CPUs, 64 are enough; its batches are of up to 512 events.
const WINDOW: usize = 512;

/// A record under way, with its time still in the file's ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) ticks: u64,
    pub(super) line: u64,
    pub(super) record: Record,
}

/// A window of records in time order; those of one time keep the order of the file.
#[derive(Debug, Default)]
pub(super) struct Reorder {
    window: VecDeque<Pending>,
    /// Records that were put before others.
    pub(super) moved: u64,
}

impl Reorder {
    pub(super) fn is_full(&self) -> bool {
        self.window.len() >= WINDOW
    }

    pub(super) fn push(&mut self, pending: Pending) {
        if self.window.back().is_none_or(|last| last.ticks <= pending.ticks) {
            self.window.push_back(pending);
            return;
        }
        let place = self.window.partition_point(|other| other.ticks <= pending.ticks);
        self.window.insert(place, pending);
        self.moved += 1;
    }

    pub(super) fn pop(&mut self) -> Option<Pending> {
        self.window.pop_front()
    }
}
