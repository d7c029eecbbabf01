//! Bit errors: what reads found, what copies carried on unseen, and what scrubbing did and cost.

use super::counters::counters;
use super::ratio;
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

counters! {
    /// Bit errors that reads found, and the work of the scrubber.
    pub struct ScrubCounters {
        /// Mapping units that the scrubber read.
        sum pages: u64,
        /// Array reads that brought them.
        sum reads: u64,
        /// Sectors that crossed channels for scrubbing, out and in.
        sum sectors: u64,
        /// Whole passes over the drive.
        sum passes: u64,
        /// Scrub reads that started after they were due.
        sum late_reads: u64,
        /// The longest that one was late.
        max late_max: Duration,
        /// Mapping units in which the scrubber found errors.
        sum pages_with_errors: u64,
        /// Mapping units programmed anew.
        sum rewrites: u64,
        /// Of those, units that were overtaken meanwhile, already stale when programmed.
        sum overtaken_rewrites: u64,
        /// Rewrites that found no room and were left to the next pass.
        sum deferred_rewrites: u64,
        /// Pages of user reads that were corrected.
        sum corrected_pages: u64,
        /// Bits corrected in them.
        sum corrected_bits: u64,
        /// Pages of user reads beyond correction.
        sum uncorrectable: u64,
        /// Of those, pages computed from their stripe.
        sum repaired: u64,
        /// User reads that ended with an error.
        sum failed_reads: u64,
        /// Mapping units beyond correction that the scrubber met.
        sum uncorrectable_scrubbed: u64,
        /// Mapping units beyond correction that the drive read for itself: for partial pages,
        /// parity, or copies.
        sum uncorrectable_internal: u64,
        /// Mapping units copied without error correction.
        sum unchecked_copies: u64,
        /// Of those, units that held an error.
        sum undetected_copies: u64,
        /// The most errors that a codeword ever held.
        max worst_errors: u32,
        /// The most copies in a row that the data of one mapping unit went through without error
        /// correction.
        max chain_max: u32,
    }
}

/// Bit errors, and the scrubbing that looks for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScrubReport {
    /// Pages that the scrubber read (pages, in mapping units).
    pub pages_scrubbed: u64,
    /// Pages that the scrubber read per second; the scenario asks for `scrub.rate` (pages per
    /// second).
    pub pages_scrubbed_per_s: f64,
    /// Array reads that brought them (array reads).
    pub scrub_reads: u64,
    /// Array reads of the scrubber per second (array reads per second).
    pub scrub_reads_per_s: f64,
    /// Transfers over the channels for scrub reads and rewrites (bytes).
    pub channel_bytes: u64,
    /// Times that every valid page had been looked at (passes).
    pub passes: u64,
    /// Scrub reads that started after they were due: their dies were busy (array reads).
    pub late_reads: u64,
    /// By how much one was late at most, in the whole run (microseconds).
    pub late_max_us: f64,
    /// Scrubbed pages that held errors (pages, in mapping units).
    pub pages_with_errors: u64,
    /// Pages that the scrubber wrote anew; the WAF counts them (pages, in mapping units).
    pub rewrites: u64,
    /// Of those, pages that a write of the host or a GC run overtook (pages, in mapping units).
    pub overtaken_rewrites: u64,
    /// Rewrites without room, left to the next pass (rewrites).
    pub deferred_rewrites: u64,
    /// Pages of user reads whose errors were corrected (pages, in mapping units).
    pub corrected_pages: u64,
    /// Bits corrected in them (bits).
    pub corrected_bits: u64,
    /// Pages of user reads beyond correction (pages, in mapping units).
    pub uncorrectable: u64,
    /// Of those, pages that were computed from their stripe (pages, in mapping units).
    pub repaired: u64,
    /// Reads that a drive ended with an error, which an array may compute (requests).
    pub failed_reads: u64,
    /// Pages beyond correction that the scrubber met; it leaves them as they are (pages, in mapping
    /// units).
    pub uncorrectable_scrubbed: u64,
    /// Pages beyond correction that the drive read for itself: for partial pages, for parity, to
    /// compute another page, for copies over the channel (pages, in mapping units).
    pub uncorrectable_internal: u64,
    /// Pages copied without error correction (pages, in mapping units).
    pub unchecked_copies: u64,
    /// Of those, pages that held an error, which went with them (pages, in mapping units).
    pub undetected_copies: u64,
    /// The most errors that a codeword held at any time of the run; 255 is 255 or more (bits per
    /// codeword).
    pub worst_errors: u64,
    /// The most copies in a row that a page went through without error correction; 255 is 255 or
    /// more (copies).
    pub unchecked_chain_max: u64,
}

impl ScrubCounters {
    pub(super) fn report(&self, span: Duration) -> ScrubReport {
        let per_s = |count: u64| ratio::per_second(count, span.as_ns());
        ScrubReport {
            pages_scrubbed: self.pages,
            pages_scrubbed_per_s: per_s(self.pages),
            scrub_reads: self.reads,
            scrub_reads_per_s: per_s(self.reads),
            channel_bytes: self.sectors * 512,
            passes: self.passes,
            late_reads: self.late_reads,
            late_max_us: self.late_max.as_us_f64(),
            pages_with_errors: self.pages_with_errors,
            rewrites: self.rewrites,
            overtaken_rewrites: self.overtaken_rewrites,
            deferred_rewrites: self.deferred_rewrites,
            corrected_pages: self.corrected_pages,
            corrected_bits: self.corrected_bits,
            uncorrectable: self.uncorrectable,
            repaired: self.repaired,
            failed_reads: self.failed_reads,
            uncorrectable_scrubbed: self.uncorrectable_scrubbed,
            uncorrectable_internal: self.uncorrectable_internal,
            unchecked_copies: self.unchecked_copies,
            undetected_copies: self.undetected_copies,
            worst_errors: self.worst_errors.into(),
            unchecked_chain_max: self.chain_max.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_over_the_span_and_maxima_do_not_add_up() {
        let ns = Duration::from_ns;
        let mut one = ScrubCounters {
            pages: 30,
            reads: 10,
            late_max: ns(1500),
            worst_errors: 9,
            ..Default::default()
        };
        let two = ScrubCounters {
            pages: 50,
            reads: 20,
            late_max: ns(500),
            worst_errors: 12,
            ..Default::default()
        };
        assert_eq!(one.report(Duration::ZERO).pages_scrubbed_per_s, 0.0);
        one.add(&two);
        let report = one.report(Duration::from_s(4));
        assert_eq!(
            (report.pages_scrubbed, report.pages_scrubbed_per_s, report.scrub_reads_per_s),
            (80, 20.0, 7.5)
        );
        assert_eq!((report.late_max_us, report.worst_errors), (1.5, 12));
    }
}
