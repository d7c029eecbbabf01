//! Virtual time: integer nanoseconds since the start of a run (584 years fit).

use super::quantity::{self, QuantityError, text_quantity};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A point in virtual time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A span of virtual time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// The start of every run.
    pub const START: Instant = Instant(0);
    /// Later than every event: "nothing is pending".
    pub const NEVER: Instant = Instant(u64::MAX);

    /// The instant `ns` nanoseconds after the start.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the start.
    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// The span since `earlier`; the clock of a run never goes back, so a negative span is a
    /// defect.
    #[inline]
    pub fn since(self, earlier: Instant) -> Duration {
        debug_assert!(earlier <= self, "{earlier:?} is later than {self:?}");
        Duration(self.0 - earlier.0)
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// The longest span.
    pub const MAX: Duration = Duration(u64::MAX);

    /// A span of `ns` nanoseconds.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// A span of `us` microseconds.
    #[inline]
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// A span of `ms` milliseconds.
    #[inline]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// A span of `s` seconds.
    #[inline]
    pub const fn from_s(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// Nanoseconds.
    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Microseconds as a number to print; never part of the state.
    #[inline]
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Seconds as a number to print; never part of the state.
    #[inline]
    pub fn as_s_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// True for no time at all.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    fn parse(text: &str) -> Result<Self, QuantityError> {
        const UNITS: &[(&str, u64)] = &[
            ("ns", 1),
            ("us", 1_000),
            ("µs", 1_000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
            ("min", 60_000_000_000),
            ("h", 3_600_000_000_000),
            ("d", 86_400_000_000_000),
        ];
        let expected = "a time: a number that is not negative and a unit ns, us, ms, s, min, h or \
                        d, in whole nanoseconds (\"40us\")";
        quantity::parse(text, UNITS, expected).map(Self)
    }
}

text_quantity!(Duration, "a time such as \"40us\" (ns, us, ms, s, min, h, d)", "40us");

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0 => return f.write_str("0s"),
            ns if ns < 1_000 => (1, "ns"),
            ns if ns < 1_000_000 => (1_000, "us"),
            ns if ns < 1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let (whole, rest) = (self.0 / value, self.0 % value);
        if rest == 0 {
            return write!(f, "{whole}{unit}");
        }
        let digits = value.ilog10() as usize;
        let fraction = format!("{rest:0digits$}");
        write!(f, "{whole}.{}{unit}", fraction.trim_end_matches('0'))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    #[inline]
    fn add(self, span: Duration) -> Instant {
        Instant(self.0 + span.0)
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    #[inline]
    fn sub(self, span: Duration) -> Instant {
        Instant(self.0 - span.0)
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        self.0 += span.0;
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, other: Duration) -> Duration {
        Duration(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Duration) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Duration;
    #[inline]
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0 - other.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn mul(self, times: u64) -> Duration {
        Duration(self.0 * times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_reads_back_as_it_is_shown() {
        for ns in [0, 1, 999, 1_000, 142_575, 2_000_000, 1_045_150, 60_000_000_000, 1_000_000_001] {
            let shown = Duration::from_ns(ns).to_string();
            assert_eq!(shown.parse::<Duration>().unwrap(), Duration::from_ns(ns), "{shown}");
        }
    }
}
