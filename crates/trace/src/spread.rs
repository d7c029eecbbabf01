//! Requests of a clock that stands still for a second, spread over it.
//!
//! The rule: of the n requests that the file puts into one second, in the file's order, request i
//! comes i / n into it. What it cannot give back is the burstiness within the second, so such a
//! trace says little about short queues.

use super::reorder::Pending;
use std::collections::VecDeque;

/// Requests of one second that are held at most; what is beyond stands at the second's end. One
/// more is held for a moment, which must not double the memory.
const HELD: usize = (1 << 20) - 1;

/// Why a time is not the file's.
pub(super) const SPREAD: &str = "its clock has whole seconds: spread evenly over its second";

/// Spreads requests over the span in which the file's clock stands still.
#[derive(Debug)]
pub(super) struct Spreading {
    granularity: u64,
    /// Requests of one span; those already spread are at the front.
    held: VecDeque<Pending>,
    spread: usize,
    ended: bool,
}

impl Spreading {
    pub(super) fn new(granularity: u64) -> Self {
        Self { granularity, held: VecDeque::new(), spread: 0, ended: false }
    }

    /// It needs to see more before it can give one.
    pub(super) fn wants(&self) -> bool {
        self.spread == 0 && !self.ended
    }

    /// Takes the file's next request, or its end.
    pub(super) fn push(&mut self, next: Option<Pending>) {
        let over = match (&next, self.held.front()) {
            (Some(next), Some(first)) => next.ticks != first.ticks || self.held.len() >= HELD,
            (Some(_), None) => false,
            (None, _) => true,
        };
        if over {
            let count = self.held.len() as u64;
            for (place, pending) in self.held.iter_mut().enumerate().skip(1) {
                pending.ticks =
                    pending.ticks.saturating_add(part(self.granularity, place as u64, count));
                pending.is_spread = true;
            }
            self.spread = self.held.len();
        }
        self.ended |= next.is_none();
        self.held.extend(next);
    }

    /// The next request, spread.
    pub(super) fn pop(&mut self) -> Option<Pending> {
        self.spread = self.spread.saturating_sub(1);
        self.held.pop_front()
    }
}

/// Where one of `count` requests lies in the span.
fn part(span: u64, place: u64, count: u64) -> u64 {
    (u128::from(span) * u128::from(place) / u128::from(count)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;
    use manx_base::units::Op;
    use manx_base::units::{Duration, Lba};

    #[test]
    fn a_second_is_shared_evenly_in_the_order_of_the_file() {
        let second = 1_000_000_000;
        let mut spreading = Spreading::new(second);
        let file = [5, 5, 5, 5, 6, 9, 9].map(|s| s * second);
        let mut input = file.iter().map(|ticks| {
            let (at, lba) = (Duration::ZERO, Lba(0));
            let record =
                Record { at, op: Op::Read, lba, sectors: 1, fua: false, device: 0, latency: None };
            Pending {
                ticks: *ticks,
                line: 0,
                record,
                node: 0,
                is_completion: false,
                altered: None,
                is_spread: false,
            }
        });
        let (mut out, mut altered) = (Vec::new(), 0);
        loop {
            while spreading.wants() {
                spreading.push(input.next());
            }
            let Some(pending) = spreading.pop() else { break };
            out.push(pending.ticks / 1_000_000);
            altered += usize::from(pending.is_spread);
        }
        assert_eq!(out, [5000, 5250, 5500, 5750, 6000, 9000, 9500]);
        assert_eq!(altered, 4);
    }
}
