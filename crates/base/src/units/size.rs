//! Sizes in bytes and rates in bytes per second.

use super::Duration;
use super::quantity::{self, QuantityError, text_quantity};
use std::fmt;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// A size of `bytes` bytes.
    #[inline]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// A size of `kib` KiB.
    #[inline]
    pub const fn kib(kib: u64) -> Self {
        Self(kib << 10)
    }

    /// The number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    fn parse(text: &str) -> Result<Self, QuantityError> {
        const UNITS: &[(&str, u64)] = &[
            ("B", 1),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
            ("TiB", 1 << 40),
            ("k", 1 << 10),
            ("K", 1 << 10),
            ("KB", 1_000),
            ("kB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("TB", 1_000_000_000_000),
        ];
        let expected = "a size: a number and a unit B, KiB, MiB, GiB, TiB (k is KiB, as in fio), \
                        KB, MB, GB or TB, in whole bytes (\"4KiB\")";
        quantity::parse(text, UNITS, expected).map(Self)
    }
}

text_quantity!(Bytes, "a size such as \"4KiB\" (B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)", "4KiB");

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        match units
            .iter()
            .find(|(shift, _)| self.0 >= 1 << shift && self.0.is_multiple_of(1 << shift))
        {
            Some((shift, unit)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}B", self.0),
        }
    }
}

/// A rate in bytes per second; zero means "takes no time" and is written "unlimited".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(u64);

impl Bandwidth {
    /// A rate of `rate` bytes per second.
    #[inline]
    pub const fn bytes_per_second(rate: u64) -> Self {
        Self(rate)
    }

    /// The rate in bytes per second, 0 for unlimited.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// How long `bytes` take at this rate, rounded up to a whole nanosecond.
    #[inline]
    pub fn time_for(self, bytes: u64) -> Duration {
        match self.0 {
            0 => Duration::ZERO,
            rate => Duration::from_ns(
                (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(rate)) as u64,
            ),
        }
    }

    fn parse(text: &str) -> Result<Self, QuantityError> {
        const UNITS: &[(&str, u64)] = &[
            ("B/s", 1),
            ("KB/s", 1_000),
            ("MB/s", 1_000_000),
            ("GB/s", 1_000_000_000),
            ("KiB/s", 1 << 10),
            ("MiB/s", 1 << 20),
            ("GiB/s", 1 << 30),
            ("MT/s", 1_000_000),
        ];
        if text.trim() == "unlimited" {
            return Ok(Self(0));
        }
        let expected = "a rate: `unlimited`, or a number and a unit B/s, KB/s, MB/s, GB/s, KiB/s, \
                        MiB/s, GiB/s or MT/s (8-bit bus), above zero (\"1200MT/s\")";
        match quantity::parse(text, UNITS, expected)? {
            0 => quantity::parse("0 of any unit", UNITS, expected).map(Self),
            rate => Ok(Self(rate)),
        }
    }
}

text_quantity!(Bandwidth, "a rate such as \"1200MB/s\" or \"unlimited\"", "1200MB/s");

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("unlimited"),
            rate if rate.is_multiple_of(1_000_000_000) => write!(f, "{}GB/s", rate / 1_000_000_000),
            rate if rate.is_multiple_of(1_000_000) => write!(f, "{}MB/s", rate / 1_000_000),
            rate => write!(f, "{rate}B/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_at_40_mb_per_second_takes_25_ns_a_byte() {
        let rate: Bandwidth = "40MB/s".parse().unwrap();
        assert_eq!(rate.time_for(4096), Duration::from_ns(102_400));
    }

    /// MQSim truncates these three to one rate (reference/peers.md, defect 8).
    #[test]
    fn nearby_rates_stay_different() {
        let times = ["667MT/s", "800MT/s", "1000MT/s"]
            .map(|r| r.parse::<Bandwidth>().unwrap().time_for(4096));
        assert!(times[0] > times[1] && times[1] > times[2], "{times:?}");
    }

    #[test]
    fn a_rate_of_zero_is_refused() {
        assert!("0MB/s".parse::<Bandwidth>().is_err());
    }
}
