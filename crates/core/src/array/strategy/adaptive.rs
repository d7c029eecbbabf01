//! IODA with windows that follow the load (our own): long ones while little is written, so that blocks have time to
//! empty and the WAF falls, and short ones in a burst, so that nobody runs out of space before its turn.
//!
//! The formula's bound is TW <= S_p / (N B - B_gc): the burst's rate B asks for `window`, the usual one bears
//! `window_norm`. Rate is measured over each cycle. A burst is a cycle in which more was written than `window` times N
//! would bear in `window_norm` times N: the norm's share of the bound. The schedule changes at the end of a cycle, so
//! that no two members are busy at once.

use super::Strategy;
use super::windowed::schedule;
use crate::array::spec::ArraySpec;
use crate::drive::{PredictableLatency, WindowSchedule, Windows};
use crate::units::{Duration, Instant};

/// Chooses between two lengths of windows at the end of each cycle.
#[derive(Debug)]
pub(super) struct IodaAdaptive {
    spec: ArraySpec,
    norm: Duration,
    length: Duration,
    cycle_start: Instant,
    written: u64,
    /// The largest rate that was seen, in bytes a second: what a burst is held against.
    peak: u64,
}

impl IodaAdaptive {
    pub fn new(spec: &ArraySpec) -> Self {
        let norm = if spec.window_norm.is_zero() { spec.window * 4 } else { spec.window_norm };
        let length = spec.window;
        Self { spec: spec.clone(), norm, length, cycle_start: Instant::START, written: 0, peak: 0 }
    }

    fn cycle(&self) -> Duration {
        self.length * u64::from(self.spec.members)
    }

    fn schedule(&self, member: u32) -> WindowSchedule {
        WindowSchedule { length: self.length, cycle_start: self.cycle_start, ..schedule(&self.spec, member) }
    }
}

impl Strategy for IodaAdaptive {
    fn flag(&self) -> PredictableLatency {
        PredictableLatency::On
    }

    fn wrote(&mut self, bytes: u64) {
        self.written += bytes;
    }

    fn windows(&self, member: u32) -> Windows {
        Windows::Scheduled(self.schedule(member))
    }

    fn next_turn(&self) -> Instant {
        self.cycle_start + self.cycle()
    }

    fn turn(&mut self, now: Instant, change: &mut dyn FnMut(u32, Windows)) {
        let rate = u128::from(self.written) * 1_000_000_000 / u128::from(self.cycle().as_ns());
        let rate = rate as u64;
        self.peak = self.peak.max(rate);
        // What the peak may write in short windows, the norm may in long ones.
        let bears = u128::from(self.peak) * u128::from(self.spec.window.as_ns()) / u128::from(self.norm.as_ns());
        let length = if u128::from(rate) > bears { self.spec.window } else { self.norm };
        (self.cycle_start, self.written) = (now, 0);
        if length != self.length {
            self.length = length;
            (0..self.spec.members).for_each(|member| change(member, Windows::Scheduled(self.schedule(member))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_long_in_peace_and_short_in_a_burst() {
        let ms = Duration::from_ms;
        let spec = ArraySpec { members: 4, window: ms(10), window_norm: ms(50), ..ArraySpec::default() };
        let mut strategy = IodaAdaptive::new(&spec);
        let mut turn = |bytes: u64| {
            strategy.wrote(bytes);
            let (now, mut changed) = (strategy.next_turn(), Vec::new());
            strategy.turn(now, &mut |member, windows| changed.push((member, windows)));
            (changed.len(), strategy.length, now.as_ns() / 1_000_000)
        };
        // 40 ms cycles; 4 MB in the first: 100 MB/s, the peak.
        assert_eq!(turn(4_000_000), (0, ms(10), 40));
        // 19 MB/s is less than a fifth of the peak: long windows.
        assert_eq!(turn(760_000), (4, ms(50), 80));
        // 200 ms at 25 MB/s: more than a fifth.
        assert_eq!(turn(5_000_000), (4, ms(10), 280));
        assert_eq!(turn(4_000_000), (0, ms(10), 320));
    }
}
