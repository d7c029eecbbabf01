//! Wall time as the model's time, at a speed.

use manx_core::units::{Duration, Instant};
use std::time;

/// Nanoseconds of the model for each nanosecond of the wall, as a fraction of 2^32.
const ONE: u128 = 1 << 32;

/// How fast the model's time passes: 1 is real time, 0.1 a drive ten times slower than it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed(u64);

impl Speed {
    /// Real time.
    pub const REAL: Self = Self(ONE as u64);

    /// A speed from 0.0001 to 100; `None` beyond.
    pub fn new(speed: f64) -> Option<Self> {
        (0.0001..=100.0).contains(&speed).then_some(Self((speed * ONE as f64) as u64))
    }

    /// Nanoseconds of the wall in which so many of the model's pass.
    pub fn wall_ns(self, model_ns: u64) -> u64 {
        u64::try_from(u128::from(model_ns) * ONE / u128::from(self.0)).unwrap_or(u64::MAX)
    }

    /// Nanoseconds of the model that pass in so many of the wall.
    pub fn model_ns(self, wall_ns: u64) -> u64 {
        u64::try_from(u128::from(wall_ns) * u128::from(self.0) / ONE).unwrap_or(u64::MAX)
    }

    /// The factor, 1 for real time.
    pub fn factor(self) -> f64 {
        self.0 as f64 / ONE as f64
    }
}

/// The wall clock, read as the model's time since the clock was started.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: time::Instant,
    speed: Speed,
}

impl Clock {
    /// A clock that starts now.
    pub fn start(speed: Speed) -> Self {
        Self { start: time::Instant::now(), speed }
    }

    /// The model's time.
    pub fn now(&self) -> Instant {
        let wall = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Instant::START + Duration::from_ns(self.speed.model_ns(wall))
    }

    /// Nanoseconds of the wall from `now` until `at`; 0 if that is past, `None` for never.
    pub fn wall_until(&self, now: Instant, at: Instant) -> Option<u64> {
        match at {
            Instant::NEVER => None,
            at if at <= now => Some(0),
            at => Some(self.speed.wall_ns(at.since(now).as_ns())),
        }
    }

    /// How fast it goes.
    pub fn speed(&self) -> Speed {
        self.speed
    }
}

#[cfg(test)]
mod tests {
    use super::Speed;

    #[test]
    fn a_speed_of_a_tenth_makes_a_drive_ten_times_slower() {
        let tenth = Speed::new(0.1).unwrap();
        assert_eq!(tenth.model_ns(1_000_000), 99_999);
        assert!(tenth.wall_ns(80_000).abs_diff(800_000) <= 1);
        assert_eq!(Speed::REAL.wall_ns(80_000), 80_000);
        assert_eq!(Speed::REAL.model_ns(u64::MAX), u64::MAX);
    }

    #[test]
    fn speeds_beyond_the_range_are_none() {
        for wrong in [0.0, -1.0, 1000.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Speed::new(wrong), None, "{wrong}");
        }
    }
}
