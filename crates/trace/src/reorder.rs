//! Puts records that are a little out of time order back in order.
//!
//! blkparse writes the events of each CPU in batches, so a third of its lines go back in time by a
//! few milliseconds; MSR volumes hold a few such lines too. Clamping them would turn a smooth
//! stream into bursts.

use super::Record;
use std::collections::VecDeque;

/// Events in a window, completions among them, for each request that it is made for.
const EVENTS_MAX: usize = 4;

/// A record under way, with its time still in the file's ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) ticks: u64,
    pub(super) line: u64,
    pub(super) record: Record,
    /// The device's number in Linux, where the format has it.
    pub(super) node: u32,
    /// Not a request, but the end of one.
    pub(super) is_completion: bool,
    /// Why it is not exactly what the file states, as its decoder says.
    pub(super) altered: Option<&'static str>,
    /// Its time is spread over a tick of its clock.
    pub(super) is_spread: bool,
}

/// A window of records in time order; those of one time keep the order of the file.
#[derive(Debug)]
pub(super) struct Reorder {
    window: VecDeque<Pending>,
    /// Requests among them.
    requests: usize,
    /// Requests held back. Measured on blkparse output of 4 CPUs, 64 are enough; its batches are of
    /// up to 512 events.
    size: usize,
    /// Requests that were put before others.
    pub(super) moved: u64,
}

impl Reorder {
    /// A window of so many records.
    pub(super) fn new(size: usize) -> Self {
        Self { window: VecDeque::new(), requests: 0, size: size.max(1), moved: 0 }
    }

    pub(super) fn is_full(&self) -> bool {
        self.requests >= self.size || self.window.len() >= EVENTS_MAX * self.size
    }

    pub(super) fn push(&mut self, pending: Pending) {
        self.requests += usize::from(!pending.is_completion);
        if self.window.back().is_none_or(|last| last.ticks <= pending.ticks) {
            self.window.push_back(pending);
            return;
        }
        let place = self.window.partition_point(|other| other.ticks <= pending.ticks);
        let overtakes =
            !pending.is_completion && self.window.range(place..).any(|other| !other.is_completion);
        self.moved += u64::from(overtakes);
        self.window.insert(place, pending);
    }

    pub(super) fn pop(&mut self) -> Option<Pending> {
        let next = self.window.pop_front()?;
        self.requests -= usize::from(!next.is_completion);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manx_base::units::Op;
    use manx_base::units::{Duration, Lba};
    use proptest::prelude::*;

    fn pending(ticks: u64, line: u64) -> Pending {
        let (at, lba) = (Duration::ZERO, Lba(0));
        let record =
            Record { at, op: Op::Read, lba, sectors: 1, fua: false, device: 0, latency: None };
        Pending {
            ticks,
            line,
            record,
            node: 0,
            is_completion: false,
            altered: None,
            is_spread: false,
        }
    }

    const WINDOW: usize = 512;

    proptest! {
        /// Records that are out of order by less than the window come out as a stable sort would
        /// put them.
        #[test]
        fn a_window_sorts_what_is_nearly_in_order(
            late in prop::collection::vec(0..WINDOW as u64 - 1, 1..2000),
        ) {
            // One record a tick, each up to `late` ticks too early: at most as many records are
            // overtaken.
            let due = late.iter().zip(WINDOW as u64..);
            let ticks: Vec<u64> = due.map(|(late, tick)| tick - late).collect();
            let (mut reorder, mut out) = (Reorder::new(WINDOW), Vec::new());
            for (ticks, line) in ticks.iter().zip(1..) {
                if reorder.is_full() {
                    out.extend(reorder.pop());
                }
                reorder.push(pending(*ticks, line));
            }
            out.extend(std::iter::from_fn(|| reorder.pop()));
            let mut sorted: Vec<(u64, u64)> = ticks.into_iter().zip(1..).collect();
            sorted.sort();
            prop_assert_eq!(out.iter().map(|p| (p.ticks, p.line)).collect::<Vec<_>>(), sorted);
        }
    }
}
