//! Stress of the blocks by erase suspension, so that policies compare by their cost and not by
//! latency alone.
//!
//! Source: Kim et al., Practical Erase Suspension for Modern Low-latency SSDs, USENIX ATC '19,
//! section 2.1: in sub-20nm TLC the raw bit error rate (RBER) rose by 14.4 % with 1000 erase
//! suspensions. Our assumptions: the growth is linear, and what counts as a suspension there is one
//! that costs a voltage ramp (a stop between two pulses costs none). Pulse time that was given up
//! is stress too; no source gives a rate for it, so it is told and not in the factor.
//!
//! Everything here is of the whole run, warm-up included, as stress stays in a block.

use super::counters::counters;
use super::ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

counters! {
    /// Stress of all blocks.
    pub struct StressCounters {
        /// Blocks.
        level blocks: u64,
        /// Erases that ended.
        level erases: u64,
        /// Suspensions, at whatever point.
        level suspensions: u64,
        /// The most of one erase.
        max suspensions_per_erase_max: u64,
        /// Ramps beyond the one of each step.
        level extra_ramps: u64,
        /// The most of one block.
        max extra_ramps_per_block_max: u64,
        /// Nanoseconds of the pulses of erases that ended, without what was given up.
        level pulse_ns: u64,
        /// Nanoseconds of pulses that were given up.
        level aborted_pulse_ns: u64,
        /// The most of one block.
        max aborted_pulse_per_block_max_ns: u64,
    }
}

/// Stress of the blocks by erase suspension, over the whole run, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StressReport {
    /// Erases that ended (erases).
    pub erases: u64,
    /// Times an erase was suspended, at whatever point (suspensions).
    pub suspensions: u64,
    /// Suspensions of an erase on average (suspensions per erase); null without erases.
    pub suspensions_per_erase_mean: Option<f64>,
    /// The most suspensions of one erase (suspensions).
    pub suspensions_per_erase_max: u64,
    /// Voltage ramps beyond the one of each step: resumptions of pulses, those cut short included
    /// (ramps).
    pub extra_ramps: u64,
    /// Extra ramps of an erase on average (ramps per erase); null without erases.
    pub extra_ramps_per_erase_mean: Option<f64>,
    /// Extra ramps of a block on average, over all blocks of the drive (ramps per block).
    pub extra_ramps_per_block_mean: f64,
    /// Extra ramps of the block that had the most (ramps).
    pub extra_ramps_per_block_max: u64,
    /// Pulse time of an erase on average, what was given up included (microseconds per erase); null
    /// without erases.
    pub pulse_per_erase_us: Option<f64>,
    /// Erase pulses given up and repeated (microseconds).
    pub aborted_pulse_us: f64,
    /// Pulse time given up, of an erase on average (microseconds per erase); null without erases.
    pub aborted_pulse_per_erase_us: Option<f64>,
    /// Pulse time given up in the block that had the most (microseconds).
    pub aborted_pulse_per_block_max_us: f64,
    /// Raw bit error rate of a block, relative to one never suspended, on average: 1 +
    /// `erase.rber_per_1000` x extra ramps / 1000 (factor).
    pub rber_factor_mean: f64,
    /// RBER factor of the block with the most extra ramps (factor).
    pub rber_factor_max: f64,
    /// RBER factor of a block after 1000 erases with as many extra ramps each as these on average,
    /// so that runs of any length compare (factor); null without erases.
    pub rber_factor_per_1000_erases: Option<f64>,
}

impl StressCounters {
    /// Its report in a result, where 1000 extra ramps let the error rate grow by `rber_per_1000`.
    pub(super) fn report(&self, rber_per_1000: f64) -> StressReport {
        let per = |count: u64, of: u64| ratio::rounded(u128::from(count), u128::from(of), 6);
        let us_per_erase =
            |ns: u64| ratio::rounded(u128::from(ns), u128::from(self.erases) * 1000, 3);
        // Nine decimals: a single ramp in a run of few erases is 0.000144.
        let factor = |ramps: f64| ((1.0 + rber_per_1000 * ramps / 1000.0) * 1e9).round() / 1e9;
        let per_block = self.extra_ramps as f64 / self.blocks.max(1) as f64;
        let per_1000_erases =
            |erases: u64| factor(self.extra_ramps as f64 / erases as f64 * 1000.0);
        StressReport {
            erases: self.erases,
            suspensions: self.suspensions,
            suspensions_per_erase_mean: per(self.suspensions, self.erases),
            suspensions_per_erase_max: self.suspensions_per_erase_max,
            extra_ramps: self.extra_ramps,
            extra_ramps_per_erase_mean: per(self.extra_ramps, self.erases),
            extra_ramps_per_block_mean: per(self.extra_ramps, self.blocks).unwrap_or(0.0),
            extra_ramps_per_block_max: self.extra_ramps_per_block_max,
            pulse_per_erase_us: us_per_erase(self.pulse_ns + self.aborted_pulse_ns),
            aborted_pulse_us: self.aborted_pulse_ns as f64 / 1e3,
            aborted_pulse_per_erase_us: us_per_erase(self.aborted_pulse_ns),
            aborted_pulse_per_block_max_us: self.aborted_pulse_per_block_max_ns as f64 / 1e3,
            rber_factor_mean: factor(per_block),
            rber_factor_max: factor(self.extra_ramps_per_block_max as f64),
            rber_factor_per_1000_erases: (self.erases > 0).then(|| per_1000_erases(self.erases)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_ramps_raise_the_error_rate_by_what_the_paper_says() {
        let one = StressCounters {
            blocks: 4,
            erases: 8,
            suspensions: 3000,
            suspensions_per_erase_max: 900,
            extra_ramps: 2000,
            extra_ramps_per_block_max: 1000,
            pulse_ns: 16_000_000,
            aborted_pulse_ns: 1_000_000,
            aborted_pulse_per_block_max_ns: 600_000,
        };
        let report = one.report(0.144);
        assert_eq!((report.rber_factor_max, report.rber_factor_mean), (1.144, 1.072));
        // 250 ramps an erase: 250,000 in 1000 erases.
        assert_eq!(report.rber_factor_per_1000_erases, Some(37.0));
        assert_eq!(
            (report.suspensions_per_erase_mean, report.extra_ramps_per_erase_mean),
            (Some(375.0), Some(250.0))
        );
        assert_eq!(report.pulse_per_erase_us, Some(2125.0));
        assert_eq!(
            (report.aborted_pulse_us, report.aborted_pulse_per_erase_us),
            (1000.0, Some(125.0))
        );
        let mut two = one;
        two.add(&StressCounters { blocks: 4, extra_ramps_per_block_max: 1500, ..one });
        let both = two.report(0.144);
        assert_eq!((both.rber_factor_max, both.rber_factor_mean, both.erases), (1.216, 1.072, 16));
        assert_eq!(both.suspensions_per_erase_mean, report.suspensions_per_erase_mean);
    }

    #[test]
    fn without_erases_there_are_no_means() {
        let report = StressCounters { blocks: 4, ..StressCounters::default() }.report(0.144);
        assert_eq!((report.rber_factor_mean, report.rber_factor_max), (1.0, 1.0));
        assert_eq!(
            (report.rber_factor_per_1000_erases, report.suspensions_per_erase_mean),
            (None, None)
        );
    }
}
