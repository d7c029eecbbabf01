//! IODA with windows that follow the load (our own): long ones while little is written, so that
//! blocks have time to empty and the WAF falls, and short ones in a burst, so that nobody runs out
//! of space before its turn.
//!
//! A drive takes R bytes between the mark at which it begins to collect and the one at which it
//! must (log 0Ah's DTWIN Writes Typical), and waits for its window for N - 1 windows of the others.
//! Half of R is for peace, half for what comes before a burst is noticed and acted on: long windows
//! are kept while a drive is written at r <= R / 2 / ((N - 1) `window_norm`), and what bursts bring
//! at B fits when N B `window` <= R / 2.
//!
//! The rate is looked at once in each `window`. Above r the short cycle begins at once, with the
//! member that is busy now, so that no two are busy at a time; the long one begins at the end of a
//! short cycle in which every look found less, so that each member had a window to get its reserve
//! back.

use super::Strategy;
use super::windowed::schedule;
use crate::array::spec::ArraySpec;
use crate::drive::{PredictableLatency, WindowSchedule, Windows};
use crate::units::{Duration, Instant, Member};

/// Chooses between two lengths of windows, by what is written.
#[derive(Clone, Debug)]
pub(super) struct IodaAdaptive {
    spec: ArraySpec,
    norm: Duration,
    length: Duration,
    cycle_start: Instant,
    next_look: Instant,
    /// Bytes that all members were given since the last look, and how many they may be in peace.
    written: u64,
    bearable: u64,
    /// Looks in succession that found peace.
    calm: u32,
}

impl IodaAdaptive {
    pub fn new(spec: &ArraySpec) -> Self {
        let norm = if spec.window_norm.is_zero() { spec.window * 4 } else { spec.window_norm };
        Self {
            spec: spec.clone(),
            norm,
            length: spec.window,
            cycle_start: Instant::START,
            next_look: Instant::START + spec.window,
            written: 0,
            bearable: 0,
            calm: 0,
        }
    }

    fn schedule(&self, member: Member) -> WindowSchedule {
        WindowSchedule {
            length: self.length,
            cycle_start: self.cycle_start,
            ..schedule(&self.spec, member)
        }
    }
}

impl Strategy for IodaAdaptive {
    fn flag(&self) -> PredictableLatency {
        PredictableLatency::On
    }

    fn reserve(&mut self, bytes: u64) {
        let (members, looks) =
            (u128::from(self.spec.members), u128::from(self.spec.window.as_ns()));
        let wait = 2 * (members - 1).max(1) * u128::from(self.norm.as_ns());
        self.bearable = (u128::from(bytes) * members * looks / wait) as u64;
    }

    fn wrote(&mut self, bytes: u64) {
        self.written += bytes;
    }

    fn windows(&self, member: Member) -> Windows {
        Windows::Scheduled(self.schedule(member))
    }

    fn next_turn(&self) -> Instant {
        self.next_look
    }

    fn turn(&mut self, now: Instant, change: &mut dyn FnMut(Member, Windows)) {
        let members = self.spec.members;
        let is_calm = std::mem::take(&mut self.written) <= self.bearable;
        self.calm = if is_calm { (self.calm + 1).min(members) } else { 0 };
        self.next_look = now + self.spec.window;
        let turns = (now.since(self.cycle_start).as_ns() / self.length.as_ns()) as u32 % members;
        let (length, start) = match self.length == self.spec.window {
            true if self.calm == members && turns == 0 => (self.norm, now),
            false if !is_calm => (self.spec.window, now - self.spec.window * u64::from(turns)),
            _ => return,
        };
        if length != self.length {
            (self.length, self.cycle_start) = (length, start);
            (0..members)
                .map(Member)
                .for_each(|member| change(member, Windows::Scheduled(self.schedule(member))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_long_in_peace_and_short_in_a_burst() {
        let ms = Duration::from_ms;
        let spec =
            ArraySpec { members: 4, window: ms(10), window_norm: ms(50), ..ArraySpec::default() };
        let mut strategy = IodaAdaptive::new(&spec);
        // Half of 30 MB in 150 ms: 100 MB/s at each drive, 4 MB in 10 ms at all of them.
        strategy.reserve(30_000_000);
        let mut look = |bytes: u64| {
            strategy.wrote(bytes);
            let (now, mut changed) = (strategy.next_turn(), Vec::new());
            strategy.turn(now, &mut |member, windows| changed.push((member, windows)));
            let busy: Vec<u32> =
                (0..4).filter(|member| strategy.schedule(Member(*member)).is_busy(now)).collect();
            (now.as_ns() / 1_000_000, changed.len(), strategy.length, busy)
        };
        // A burst in the first window: the cycle stays short until another one, calm throughout,
        // has ended.
        assert_eq!(look(4_000_001), (10, 0, ms(10), vec![1]));
        for at in 2..8 {
            assert_eq!(look(4_000_000), (10 * at, 0, ms(10), vec![at as u32 % 4]));
        }
        assert_eq!(look(4_000_000), (80, 4, ms(50), vec![0]));
        for at in 9..20 {
            assert_eq!(look(0).1, 0, "at {at}");
        }
        // Member 2 is busy from 180 ms on. A burst: it stays so for a short window, and 3 follows.
        assert_eq!(look(9_000_000), (200, 4, ms(10), vec![2]));
        assert_eq!(look(9_000_000), (210, 0, ms(10), vec![3]));
        assert_eq!(look(9_000_000), (220, 0, ms(10), vec![0]));
    }
}
