//! Bit errors: what reads found, what copies carried on unseen, and what scrubbing did and cost.

use super::ratio;
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of bit errors; pages are mapping units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubCounters {
    /// Pages that the scrubber read.
    pub pages: u64,
    /// Array reads that brought them.
    pub reads: u64,
    /// Bytes that crossed channels for scrubbing.
    pub channel_bytes: u64,
    /// Whole passes over the drive.
    pub passes: u64,
    /// Scrub reads that started late.
    pub late_reads: u64,
    /// Nanoseconds by which one was late, at most.
    pub late_max_ns: u64,
    /// Scrubbed pages that held errors.
    pub pages_with_errors: u64,
    /// Pages written anew.
    pub rewrites: u64,
    /// Of those, pages that were overtaken.
    pub overtaken_rewrites: u64,
    /// Rewrites without room.
    pub deferred_rewrites: u64,
    /// Pages of user reads that were corrected.
    pub corrected_pages: u64,
    /// Bits corrected in them.
    pub corrected_bits: u64,
    /// Pages of user reads beyond correction.
    pub uncorrectable: u64,
    /// Of those, pages computed from their stripe.
    pub repaired: u64,
    /// User reads that ended with an error.
    pub failed_reads: u64,
    /// Scrubbed pages beyond correction.
    pub uncorrectable_scrubbed: u64,
    /// Pages beyond correction that the drive read for itself.
    pub uncorrectable_internal: u64,
    /// Pages copied without error correction.
    pub unchecked_copies: u64,
    /// Of those, pages that held an error.
    pub undetected_copies: u64,
    /// The most errors that a codeword held.
    pub worst_errors: u64,
    /// The most copies in a row without error correction.
    pub unchecked_chain_max: u64,
}

/// Bit errors, and the scrubbing that looks for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScrubReport {
    /// Pages that the scrubber read (pages, in mapping units).
    pub pages_scrubbed: u64,
    /// The same over time; the scenario asks for `scrub.rate` (pages per second).
    pub pages_scrubbed_per_s: f64,
    /// Array reads that brought them (array reads).
    pub scrub_reads: u64,
    /// The same over time (array reads per second).
    pub scrub_reads_per_s: f64,
    /// What crossed the channels for scrub reads and rewrites (bytes).
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
    /// User reads that ended with an error (requests).
    pub failed_reads: u64,
    /// Pages beyond correction that the scrubber met; it leaves them as they are (pages, in mapping units).
    pub uncorrectable_scrubbed: u64,
    /// Pages beyond correction that the drive read for itself: for partial pages, for parity, for copies over the
    /// channel (pages, in mapping units).
    pub uncorrectable_internal: u64,
    /// Pages copied without error correction (pages, in mapping units).
    pub unchecked_copies: u64,
    /// Of those, pages that held an error, which went with them (pages, in mapping units).
    pub undetected_copies: u64,
    /// The most errors that a codeword held at any time of the run; 255 is 255 or more (bits per codeword).
    pub worst_errors: u64,
    /// The most copies in a row that a page went through without error correction; 255 is 255 or more (copies).
    pub unchecked_chain_max: u64,
}

impl ScrubCounters {
    /// Adds those of another drive.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            pages: self.pages + other.pages,
            reads: self.reads + other.reads,
            channel_bytes: self.channel_bytes + other.channel_bytes,
            passes: self.passes + other.passes,
            late_reads: self.late_reads + other.late_reads,
            late_max_ns: self.late_max_ns.max(other.late_max_ns),
            pages_with_errors: self.pages_with_errors + other.pages_with_errors,
            rewrites: self.rewrites + other.rewrites,
            overtaken_rewrites: self.overtaken_rewrites + other.overtaken_rewrites,
            deferred_rewrites: self.deferred_rewrites + other.deferred_rewrites,
            corrected_pages: self.corrected_pages + other.corrected_pages,
            corrected_bits: self.corrected_bits + other.corrected_bits,
            uncorrectable: self.uncorrectable + other.uncorrectable,
            repaired: self.repaired + other.repaired,
            failed_reads: self.failed_reads + other.failed_reads,
            uncorrectable_scrubbed: self.uncorrectable_scrubbed + other.uncorrectable_scrubbed,
            uncorrectable_internal: self.uncorrectable_internal + other.uncorrectable_internal,
            unchecked_copies: self.unchecked_copies + other.unchecked_copies,
            undetected_copies: self.undetected_copies + other.undetected_copies,
            worst_errors: self.worst_errors.max(other.worst_errors),
            unchecked_chain_max: self.unchecked_chain_max.max(other.unchecked_chain_max),
        }
    }

    pub(super) fn report(&self, span: Duration) -> ScrubReport {
        let per_s = |count: u64| ratio::per_second(count, span.as_ns());
        ScrubReport {
            pages_scrubbed: self.pages,
            pages_scrubbed_per_s: per_s(self.pages),
            scrub_reads: self.reads,
            scrub_reads_per_s: per_s(self.reads),
            channel_bytes: self.channel_bytes,
            passes: self.passes,
            late_reads: self.late_reads,
            late_max_us: self.late_max_ns as f64 / 1e3,
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
            worst_errors: self.worst_errors,
            unchecked_chain_max: self.unchecked_chain_max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_over_the_span_and_maxima_do_not_add_up() {
        let one = ScrubCounters { pages: 30, reads: 10, late_max_ns: 1500, worst_errors: 9, ..Default::default() };
        let two = ScrubCounters { pages: 50, reads: 20, late_max_ns: 500, worst_errors: 12, ..Default::default() };
        let report = one.and(two).report(Duration::from_s(4));
        assert_eq!((report.pages_scrubbed, report.pages_scrubbed_per_s, report.scrub_reads_per_s), (80, 20.0, 7.5));
        assert_eq!((report.late_max_us, report.worst_errors), (1.5, 12));
        assert_eq!(one.report(Duration::ZERO).pages_scrubbed_per_s, 0.0);
    }
}
