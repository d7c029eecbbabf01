//! The controller's XOR engines: a page that is computed takes one of them once its members are in
//! the controller.
//!
//! ttFlash leans on a controller that is fast enough (Yan et al., FAST '17, poster and summary of
//! the slides): this is what it costs where it is not. Each page takes an engine for `rain.xor`, in
//! the order in which their last members came; the engine that is free first has it. With
//! `rain.xor_engines = 0` there are as many as pages. The parity of what is written takes none: it
//! is summed while the data cross to the flash.

use crate::drive::RainSpec;
use crate::units::{Duration, Instant};

/// The engines, and how long one works on a page.
#[derive(Clone, Debug)]
pub(in crate::drive) struct XorEngines {
    xor: Duration,
    /// By engine, when it is free; none where there are as many as pages.
    free_at: Box<[Instant]>,
}

impl XorEngines {
    pub fn new(spec: &RainSpec) -> Self {
        let free_at = vec![Instant::START; spec.xor_engines as usize].into_boxed_slice();
        Self { xor: spec.xor, free_at }
    }

    /// A page whose members are all there at `ready` takes an engine; returns when it is computed.
    pub fn take(&mut self, ready: Instant) -> Instant {
        match self.free_at.iter_mut().min() {
            Some(first) => {
                *first = ready.max(*first) + self.xor;
                *first
            }
            None => ready + self.xor,
        }
    }

    /// How long a page takes from `now` on whose members are read within `reads`: an engine may be
    /// busy for longer than that.
    pub fn time_with(&self, now: Instant, reads: Duration) -> Duration {
        let first = self.free_at.iter().min().copied().unwrap_or(now);
        reads.max(first.since(now.min(first))) + self.xor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engines(count: u32) -> XorEngines {
        let spec =
            RainSpec { xor: Duration::from_us(10), xor_engines: count, ..RainSpec::default() };
        XorEngines::new(&spec)
    }

    fn us(us: u64) -> Instant {
        Instant::START + Duration::from_us(us)
    }

    #[test]
    fn pages_take_the_engine_that_is_free_first() {
        let ready = [0, 0, 3, 25, 26, 26];
        for (count, ends) in [
            (0, [10, 10, 13, 35, 36, 36]),
            (1, [10, 20, 30, 40, 50, 60]),
            (2, [10, 10, 20, 35, 36, 45]),
            (3, [10, 10, 13, 35, 36, 36]),
        ] {
            let mut all = engines(count);
            assert_eq!(ready.map(|at| all.take(us(at))), ends.map(us), "{count} engines");
        }
    }

    #[test]
    fn a_forecast_waits_for_the_reads_or_for_an_engine() {
        let reads = Duration::from_us(7);
        for (count, longest) in [(0, 17), (1, 30), (2, 20)] {
            let mut all = engines(count);
            all.take(us(100));
            all.take(us(100));
            assert_eq!(all.time_with(us(100), reads), Duration::from_us(longest), "{count}");
            assert_eq!(all.time_with(us(500), reads), Duration::from_us(17), "{count}");
        }
    }
}
