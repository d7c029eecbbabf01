//! Waking in time: a sleep ends a margin before it has to, and the rest is polled.
//!
//! A kernel wakes a thread some ten to seventy microseconds late, and later when it is busy. So a
//! wait is a sleep that ends a margin early and then looks, again and again, without waiting. The
//! margin follows how late the sleeps of this machine end.

use std::time::{Duration, Instant};

/// Margins, in nanoseconds of the wall.
const SHORTEST: u64 = 20_000;
const LONGEST: u64 = 250_000;

/// The adaptive margin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    margin_ns: u64,
    /// The sleep under way: when it began and was to end.
    sleep: Option<(Instant, u64)>,
}

impl Pause {
    pub(crate) fn new() -> Self {
        Self { margin_ns: 60_000, sleep: None }
    }

    /// How long to sleep when something is due in `due_ns`; zero: look, and do not wait.
    pub(crate) fn before(&mut self, due_ns: u64) -> Duration {
        let sleep = due_ns.saturating_sub(self.margin_ns);
        self.sleep = (sleep > 0).then(|| (Instant::now(), sleep));
        Duration::from_nanos(sleep)
    }

    /// The wait is over; by its end if `by_time`.
    pub(crate) fn over(&mut self, by_time: bool) {
        let Some((began, asked)) = self.sleep.take().filter(|_| by_time) else { return };
        let slept = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.learn(slept.saturating_sub(asked));
    }

    /// Up at once to what was seen, down by a thousandth of the way.
    fn learn(&mut self, late_ns: u64) {
        let wanted = (late_ns + late_ns / 4).clamp(SHORTEST, LONGEST);
        self.margin_ns = match wanted > self.margin_ns {
            true => wanted,
            false => self.margin_ns - (self.margin_ns - wanted).div_ceil(1024),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::Pause;

    #[test]
    fn the_margin_follows_how_late_sleeps_end() {
        let mut pause = Pause::new();
        pause.learn(100_000);
        assert_eq!(pause.margin_ns, 125_000, "at once, and a quarter more");
        pause.learn(10_000_000);
        assert_eq!(pause.margin_ns, 250_000, "not beyond the longest");
        for _ in 0..20_000 {
            pause.learn(0);
        }
        assert_eq!(pause.margin_ns, 20_000, "slowly down to the shortest");
    }
}
