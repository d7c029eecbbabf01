//! Requests of the block layer's traces find their completions, which gives them a latency: from
//! the event that is replayed (queue or issue) to the completion.
//!
//! It works on records in time order, after the files of all CPUs are merged: a request may
//! complete on another CPU than it was issued on. A completion answers the oldest request of its
//! device, operation and first sector. It need not have the request's length: what was merged
//! before the issue completes several queued requests that follow each other, and what was split,
//! or completes in parts, is answered by its last part. Flushes have no sector and are answered in
//! their order. Requests are given out in their order: at most `HELD` wait, and what is never
//! answered goes without a latency and is counted.

use super::Tally;
use super::reorder::Pending;
use manx_base::units::{Duration, Op};
use std::collections::{BTreeSet, VecDeque};

/// Requests that wait for a completion at most.
const HELD: usize = 4096;

const NO_END: &str = "request without a completion in the trace";
const LATE_END: &str =
    "request not completed while 4096 others came: its completion was not awaited";
const NO_START: &str = "completion without its request in the trace";

/// Holds requests until they are answered.
#[derive(Debug)]
pub(super) struct Pairs {
    /// Nanoseconds in a tick.
    tick: u64,
    waiting: VecDeque<Waiting>,
    /// The number of the first that waits.
    first: u64,
    /// Those without an answer: device, operation, first sector that is not answered yet, number.
    open: BTreeSet<(u32, u8, u64, u64)>,
    completions: u64,
    unpaired: Tally,
}

#[derive(Debug)]
struct Waiting {
    part: usize,
    pending: Pending,
    /// Sectors that no completion has answered.
    left: u32,
    is_answered: bool,
}

impl Pairs {
    pub(super) fn new(tick: u64) -> Self {
        let (waiting, open) = (VecDeque::new(), BTreeSet::new());
        Self { tick, waiting, first: 0, open, completions: 0, unpaired: Tally::default() }
    }

    /// Takes the next event of a part, in the order of time.
    pub(super) fn push(&mut self, part: usize, pending: Pending) {
        if pending.is_completion {
            return self.complete(&pending);
        }
        let waiting = Waiting { part, pending, left: pending.record.sectors, is_answered: false };
        self.open.insert(waiting.key(self.first + self.waiting.len() as u64));
        self.waiting.push_back(waiting);
    }

    fn complete(&mut self, completion: &Pending) {
        self.completions += 1;
        let (node, op) = (completion.node, number(completion.record.op));
        let (mut at, mut count) = (completion.record.lba.0, 0);
        let end = at + u64::from(completion.record.sectors);
        while let Some(key) =
            self.open.range((node, op, at, 0)..=(node, op, at, u64::MAX)).next().copied()
        {
            self.open.remove(&key);
            let waiting = &mut self.waiting[(key.3 - self.first) as usize];
            let answered = u64::from(waiting.left).min(end - at);
            waiting.left -= answered as u32;
            (at, count) = (at + answered, count + 1);
            if waiting.left == 0 {
                waiting.is_answered = true;
                let ticks = completion.ticks.saturating_sub(waiting.pending.ticks);
                waiting.pending.record.latency =
                    ticks.checked_mul(self.tick).map(Duration::from_ns);
            } else {
                self.open.insert((node, op, at, key.3));
            }
            if at >= end {
                break;
            }
        }
        if count == 0 {
            self.unpaired.add(NO_START);
        }
    }

    /// The next request and its part, if nothing more is to be known of it.
    pub(super) fn pop(&mut self, ended: bool) -> Option<(usize, Pending)> {
        let full = self.waiting.len() > HELD;
        let next = self.waiting.pop_front_if(|waiting| waiting.is_answered || full || ended)?;
        if !next.is_answered {
            self.open.remove(&next.key(self.first));
            self.unpaired.add(if ended { NO_END } else { LATE_END });
        }
        self.first += 1;
        Some((next.part, next.pending))
    }

    /// Requests and completions that did not find each other; none where the trace has no
    /// completions at all.
    pub(super) fn unpaired(&self) -> Tally {
        if self.completions == 0 { Tally::default() } else { self.unpaired.clone() }
    }
}

impl Waiting {
    fn key(&self, number_of_it: u64) -> (u32, u8, u64, u64) {
        let record = &self.pending.record;
        let answered = u64::from(record.sectors - self.left);
        (self.pending.node, number(record.op), record.lba.0 + answered, number_of_it)
    }
}

const fn number(op: Op) -> u8 {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Flush => 2,
        Op::Trim => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;
    use manx_base::units::Lba;

    fn event(ticks: u64, op: Op, lba: u64, sectors: u32, is_completion: bool) -> Pending {
        let (at, lba) = (Duration::ZERO, Lba(lba));
        let record = Record { at, op, lba, sectors, fua: false, device: 0, latency: None };
        Pending {
            ticks,
            line: 0,
            record,
            node: 8 << 20,
            is_completion,
            altered: None,
            is_spread: false,
        }
    }

    fn read(ticks: u64, lba: u64, sectors: u32) -> Pending {
        event(ticks, Op::Read, lba, sectors, false)
    }

    fn done(ticks: u64, lba: u64, sectors: u32) -> Pending {
        event(ticks, Op::Read, lba, sectors, true)
    }

    /// Latencies in ticks, and what did not find its other half.
    fn paired(events: &[Pending]) -> (Vec<Option<u64>>, Tally) {
        let mut pairs = Pairs::new(1);
        let mut latencies = Vec::new();
        for event in events {
            pairs.push(0, *event);
            latencies.extend(std::iter::from_fn(|| pairs.pop(false)));
        }
        latencies.extend(std::iter::from_fn(|| pairs.pop(true)));
        let latency = |(_, pending): &(usize, Pending)| pending.record.latency.map(Duration::as_ns);
        (latencies.iter().map(latency).collect(), pairs.unpaired())
    }

    #[test]
    fn the_oldest_request_of_a_range_is_answered_first() {
        let (latencies, unpaired) =
            paired(&[read(1, 8, 8), read(2, 8, 8), done(5, 8, 8), done(9, 8, 8)]);
        assert_eq!((latencies, unpaired), (vec![Some(4), Some(7)], Tally::default()));
    }

    #[test]
    fn merged_requests_complete_together_and_split_ones_with_their_last_part() {
        let (latencies, unpaired) =
            paired(&[read(1, 0, 8), read(2, 8, 8), read(3, 16, 8), done(9, 0, 16)]);
        assert_eq!(latencies, [Some(8), Some(7), None]);
        assert_eq!((unpaired.get(NO_END), unpaired.total()), (1, 1));
        let (latencies, unpaired) =
            paired(&[read(1, 0, 16), done(4, 0, 8), done(9, 8, 8), done(10, 8, 8)]);
        assert_eq!((latencies, unpaired.get(NO_START), unpaired.total()), (vec![Some(8)], 1, 1));
    }

    #[test]
    fn another_operation_device_or_sector_answers_nothing() {
        let write = event(4, Op::Write, 8, 8, true);
        let other = Pending { node: 7, ..done(5, 8, 8) };
        let (latencies, unpaired) =
            paired(&[read(1, 8, 8), write, other, done(6, 9, 8), done(7, 8, 8)]);
        assert_eq!((latencies, unpaired.get(NO_START)), (vec![Some(6)], 3));
    }

    #[test]
    fn a_trace_without_completions_has_nothing_unpaired() {
        let (latencies, unpaired) = paired(&[read(1, 8, 8), read(2, 16, 8)]);
        assert_eq!((latencies, unpaired), (vec![None, None], Tally::default()));
    }
}
