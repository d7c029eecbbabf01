//! Read retry, and the refresh of blocks whose reads took too many of them.

use super::counters::counters;
use super::ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

counters! {
    /// Counters of read retry.
    pub struct RetryCounters {
        /// Array reads whose data met the ECC.
        sum reads: u64,
        /// Of those, reads that did not decode at once.
        sum retried_reads: u64,
        /// Senses from the retry table.
        sum retries: u64,
        /// Of those, senses for a shorter tR.
        sum shortened: u64,
        /// The most that one read took.
        max retries_max: u32,
        /// Reads that came to the soft decoder.
        sum soft_decodes: u64,
        /// Pages of the host's reads that no decoder brought back.
        sum lost_pages: u64,
        /// Of those, pages computed from their stripe.
        sum repaired: u64,
        /// Host reads that ended with an error for a lost page.
        sum failed_reads: u64,
        /// Group blocks that were refreshed.
        sum refreshed_blocks: u64,
        /// Mapping units that were valid in them.
        sum refreshed_units: u64,
    }
}

/// Read retry, and refreshed blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetryReport {
    /// Array reads whose data met the error correction, for whatever reason (array reads).
    pub reads: u64,
    /// Of those, reads that did not decode at once (array reads).
    pub retried_reads: u64,
    /// Senses from the retry table (array reads).
    pub retries: u64,
    /// Senses from the retry table for each array read, mean (array reads).
    pub retries_mean: f64,
    /// The most that one array read took, in the whole run (array reads).
    pub retries_max: u64,
    /// Senses for a shorter tR (array reads).
    pub shortened: u64,
    /// Reads that came to the soft decoder (array reads).
    pub soft_decodes: u64,
    /// Pages of user reads that no decoder brought back (pages, in mapping units).
    pub lost_pages: u64,
    /// Of those, pages that were computed from their stripe (pages, in mapping units).
    pub repaired: u64,
    /// Reads that a drive ended with an error for a lost page, which an array may compute
    /// (requests).
    pub failed_reads: u64,
    /// Victims that were collected for the retries of their reads (victims).
    pub refreshed_blocks: u64,
    /// Pages that were valid in them when that was decided; the WAF counts their copies (pages, in
    /// mapping units).
    pub refreshed_pages: u64,
}

impl From<RetryCounters> for RetryReport {
    fn from(counters: RetryCounters) -> Self {
        let RetryCounters { reads, retries, .. } = counters;
        Self {
            reads,
            retried_reads: counters.retried_reads,
            retries,
            retries_mean: ratio::rounded(retries.into(), reads.into(), 6).unwrap_or(0.0),
            retries_max: counters.retries_max.into(),
            shortened: counters.shortened,
            soft_decodes: counters.soft_decodes,
            lost_pages: counters.lost_pages,
            repaired: counters.repaired,
            failed_reads: counters.failed_reads,
            refreshed_blocks: counters.refreshed_blocks,
            refreshed_pages: counters.refreshed_units,
        }
    }
}
