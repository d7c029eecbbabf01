//! Transfers of garbage collection that have their place on a channel: what of a wait for the
//! channel is behind them.

use crate::units::{Duration, Instant};

/// From when to when one crosses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub start: Instant,
    pub end: Instant,
}

/// Those of a channel that may still be under way or wait, by when they end.
#[derive(Clone, Debug)]
pub(super) struct GcTransfers {
    /// The last, with those that it follows without a gap.
    last: Transfer,
    before: Vec<Transfer>,
}

impl Default for GcTransfers {
    fn default() -> Self {
        let last = Transfer { start: Instant::START, end: Instant::START };
        Self { last, before: Vec::new() }
    }
}

impl GcTransfers {
    /// One more has its place behind the others. They are let go at once where all are over by
    /// `now`, the rest when the list is full.
    #[inline]
    pub fn add(&mut self, now: Instant, transfer: Transfer) {
        if transfer.start == self.last.end {
            self.last.end = transfer.end;
        } else if self.last.end <= now {
            self.before.clear();
            self.last = transfer;
        } else {
            self.add_after_a_gap(now, transfer);
        }
    }

    #[inline(never)]
    fn add_after_a_gap(&mut self, now: Instant, transfer: Transfer) {
        if self.before.len() == self.before.capacity() {
            self.before.retain(|transfer| transfer.end > now);
        }
        self.before.push(self.last);
        self.last = transfer;
    }

    /// How long those keep the channel from `now` on that have their place.
    pub fn left(&self, now: Instant) -> Duration {
        let left = |r: &Transfer| r.end.max(now).since(r.start.max(now));
        self.before.iter().fold(left(&self.last), |sum, transfer| sum + left(transfer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Rng;

    /// Against the plain list of all that ever crossed: at every instant the rest is the same, with
    /// gaps on the channel and without, and the list stays short.
    #[test]
    fn what_is_left_is_that_of_all_transfers_however_many_are_over() {
        let (mut rng, mut kept, mut all) = (Rng::stream(1, "gc"), GcTransfers::default(), vec![]);
        let (mut now, mut free) = (0, 0);
        for step in 0..20_000u64 {
            now += rng.below(if step / 2_000 % 2 == 0 { 6 } else { 12 });
            let (start, time) = (free.max(now), rng.below(9));
            free = start + time;
            if rng.below(3) > 0 {
                let [start, end] = [start, free].map(Instant::from_ns);
                kept.add(Instant::from_ns(now), Transfer { start, end });
                all.push((start, end));
            }
            let at = Instant::from_ns(now);
            let rest = all.iter().rev().take(5_000);
            let left: u64 = rest.map(|(s, e)| (*e).max(at).since((*s).max(at)).as_ns()).sum();
            assert_eq!(kept.left(at), Duration::from_ns(left), "step {step}");
        }
        assert!(kept.before.capacity() < 8_192);
    }
}
