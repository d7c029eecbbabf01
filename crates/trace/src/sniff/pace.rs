//! How fast the head of a trace runs in a unit of time that is not known, and which units are
//! believable.

use super::super::{TimeUnit, unit_name, unit_ns};
use std::fmt;

/// Fewer requests than this say nothing about a rate.
pub(super) const ENOUGH: u64 = 100;

/// The units in which such times go round, finest first.
pub(super) const UNITS: [TimeUnit; 4] = [TimeUnit::Ns, TimeUnit::Us, TimeUnit::Ms, TimeUnit::S];

/// More requests per second, or bytes per second, than this no device of these traces served: the
/// second is the link of a PCIe 4.0 x4 drive.
const POSSIBLE: (u128, u128) = (5_000_000, 8_000_000_000);

/// Up to this, any device of the time of these formats may have served it: twice what a SATA drive
/// does.
const ORDINARY: (u128, u128) = (200_000, 1_200_000_000);

/// Fewer requests in a thousand seconds than this (one in 100 s) are those of a device that idles
/// for days.
const SLOW_MILLI: u128 = 10;

/// How believable a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// Hardly a request in minutes.
    Slow,
    /// A usual pace of such devices.
    Ordinary,
    /// More than most of them did.
    Fast,
    /// More than any could.
    Implausible,
}

/// Demands of the head, and the time that they come in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) devices: u64,
    /// From the first to the last time, in thousandths of the unknown unit.
    pub(crate) span: u128,
}

impl Pace {
    /// There are enough requests to judge by, and they take time.
    pub(crate) fn is_enough(&self) -> bool {
        self.requests >= ENOUGH && self.span > 0
    }

    /// More than any device could serve.
    pub(crate) fn is_implausible(&self, unit: TimeUnit) -> bool {
        self.verdict(unit) == Verdict::Implausible
    }

    pub(super) fn verdict(&self, unit: TimeUnit) -> Verdict {
        let devices = u128::from(self.devices.max(1));
        let (rate, bandwidth) = (self.rate_milli(unit) / 1000, self.bandwidth(unit));
        let within =
            |bound: (u128, u128)| rate <= bound.0 * devices && bandwidth <= bound.1 * devices;
        match () {
            () if !within(POSSIBLE) => Verdict::Implausible,
            () if !within(ORDINARY) => Verdict::Fast,
            () if self.rate_milli(unit) < SLOW_MILLI => Verdict::Slow,
            () => Verdict::Ordinary,
        }
    }

    /// Meaning of the unit, in a few words.
    pub(super) fn means(&self, unit: TimeUnit) -> String {
        let verdict = match self.verdict(unit) {
            Verdict::Slow => ", hardly any",
            Verdict::Ordinary => "",
            Verdict::Fast => ", more than most devices serve",
            Verdict::Implausible => ", implausible",
        };
        format!(
            "{} would be {}/s and {} MB/s{verdict}",
            unit_name(unit),
            self.rate(unit),
            self.megabytes(unit)
        )
    }

    /// Requests per second, to print.
    pub(crate) fn rate(&self, unit: TimeUnit) -> Thousandths {
        Thousandths(self.rate_milli(unit))
    }

    /// Megabytes per second, to print.
    pub(crate) fn megabytes(&self, unit: TimeUnit) -> Thousandths {
        Thousandths(self.bandwidth(unit) / 1000)
    }

    /// Requests in a thousand seconds.
    fn rate_milli(&self, unit: TimeUnit) -> u128 {
        u128::from(self.requests) * 1_000_000_000_000 / self.span_ns(unit)
    }

    fn bandwidth(&self, unit: TimeUnit) -> u128 {
        u128::from(self.bytes) * 1_000_000_000 / self.span_ns(unit)
    }

    fn span_ns(&self, unit: TimeUnit) -> u128 {
        (self.span.saturating_mul(u128::from(unit_ns(unit))) / 1000).max(1)
    }
}

/// A number to print, with decimals where it is small.
pub(crate) struct Thousandths(u128);

impl fmt::Display for Thousandths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(f, "less than 0.001"),
            milli @ 0..100_000 => write!(f, "{}.{:03}", milli / 1000, milli % 1000),
            milli => write!(f, "{}", milli / 1000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_believed_by_rate_and_bandwidth_of_each_device() {
        // A thousand requests of 4 KiB in a thousand units.
        let pace = Pace { requests: 1000, bytes: 4_096_000, devices: 1, span: 1_000_000 };
        let verdicts = UNITS.map(|unit| pace.verdict(unit));
        assert_eq!(
            verdicts,
            [Verdict::Implausible, Verdict::Fast, Verdict::Ordinary, Verdict::Ordinary]
        );
        // 4 GB/s on four devices is ordinary, as is 1 M/s on eight; a request in 1000 s is not.
        assert_eq!(Pace { devices: 8, ..pace }.verdict(TimeUnit::Us), Verdict::Ordinary);
        assert_eq!(Pace { span: 1_000_000_000, ..pace }.verdict(TimeUnit::S), Verdict::Slow);
        assert_eq!(pace.means(TimeUnit::Ms), "ms would be 1000/s and 4.096 MB/s");
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let pace = Pace {
            requests: u64::MAX,
            bytes: u64::MAX,
            devices: 1,
            span: u128::from(u64::MAX) * 1000,
        };
        UNITS.iter().for_each(|unit| drop(pace.means(*unit)));
        assert_eq!(Pace { span: 0, ..pace }.verdict(TimeUnit::S), Verdict::Implausible);
    }
}
