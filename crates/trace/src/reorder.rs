//! Puts records that are a little out of time order back in order.
//!
//! blkparse writes the events of each CPU in batches, so a third of its lines go back in time by a
//! few milliseconds; MSR volumes hold a few such lines too. Clamping them would turn a smooth
//! stream into bursts.

use super::Record;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

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
///
/// Events in order cost nothing more; the time for one that comes late hardly grows with the
/// window.
#[derive(Debug)]
pub(super) struct Reorder {
    /// Events that came in the order of time.
    window: VecDeque<Ranked>,
    /// Events that came behind a later one.
    late: BinaryHeap<Reverse<Ranked>>,
    /// How many events came so far.
    count: u64,
    /// Requests among those that are here.
    requests: usize,
    /// Requests held back. Measured on blkparse output of 4 CPUs, 64 are enough; its batches are of
    /// up to 512 events.
    size: usize,
    /// Requests that were put before others.
    pub(super) moved: u64,
}

/// An event with its number in the file.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    pending: Pending,
    number: u64,
}

impl Ranked {
    fn rank(&self) -> (u64, u64) {
        (self.pending.ticks, self.number)
    }

    fn is_request_after(&self, ticks: u64) -> bool {
        self.pending.ticks > ticks && !self.pending.is_completion
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl Reorder {
    /// A window of so many records.
    pub(super) fn new(size: usize) -> Self {
        let (window, late) = (VecDeque::new(), BinaryHeap::new());
        Self { window, late, count: 0, requests: 0, size: size.max(1), moved: 0 }
    }

    pub(super) fn is_full(&self) -> bool {
        self.requests >= self.size || self.window.len() + self.late.len() >= EVENTS_MAX * self.size
    }

    pub(super) fn push(&mut self, pending: Pending) {
        self.requests += usize::from(!pending.is_completion);
        self.count += 1;
        let (ticks, ranked) = (pending.ticks, Ranked { pending, number: self.count });
        if self.window.back().is_none_or(|last| last.pending.ticks <= ticks) {
            self.window.push_back(ranked);
            return;
        }
        let mut later = self.window.iter().rev().take_while(|other| other.pending.ticks > ticks);
        let overtakes = !pending.is_completion
            && (later.any(|other| !other.pending.is_completion)
                || self.late.iter().any(|other| other.0.is_request_after(ticks)));
        self.moved += u64::from(overtakes);
        self.late.push(Reverse(ranked));
    }

    pub(super) fn pop(&mut self) -> Option<Pending> {
        let is_late = match (self.late.peek(), self.window.front()) {
            (Some(Reverse(late)), Some(first)) => late < first,
            (late, _) => late.is_some(),
        };
        let next = if is_late {
            self.late.pop().map(|Reverse(late)| late)
        } else {
            self.window.pop_front()
        };
        let next = next?.pending;
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

        /// Completions among them, and windows that what comes late misses: as one that inserts
        /// each event in its place.
        #[test]
        fn a_window_is_one_list_in_which_each_event_has_its_place(
            events in prop::collection::vec((0..60_u64, prop::bool::ANY), 1..300),
            size in 1..20_usize,
        ) {
            let (mut reorder, mut list) = (Reorder::new(size), Vec::<Pending>::new());
            let mut moved = 0;
            for ((ticks, is_completion), line) in events.into_iter().zip(1..) {
                let event = Pending { is_completion, ..pending(ticks + line / 4, line) };
                if reorder.is_full() {
                    let first = list.remove(0);
                    prop_assert_eq!(reorder.pop().map(|next| next.line), Some(first.line));
                }
                let place = list.partition_point(|other| other.ticks <= event.ticks);
                let overtakes = list[place..].iter().any(|other| !other.is_completion);
                moved += u64::from(!is_completion && overtakes);
                list.insert(place, event);
                reorder.push(event);
                let requests = list.iter().filter(|other| !other.is_completion).count();
                prop_assert_eq!(
                    reorder.is_full(),
                    requests >= size || list.len() >= EVENTS_MAX * size
                );
            }
            let rest: Vec<_> = std::iter::from_fn(|| reorder.pop()).map(|next| next.line).collect();
            prop_assert_eq!(rest, list.iter().map(|event| event.line).collect::<Vec<_>>());
            prop_assert_eq!(reorder.moved, moved);
        }
    }
}
