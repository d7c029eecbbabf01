//! The cache of blocks with one bit a cell.

use super::counters::counters;
use super::ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

counters! {
    /// Counters of the cache.
    pub struct PslcCounters {
        /// Map units of the host programmed in the cache.
        sum cached_units: u64,
        /// Map units of the host programmed past it.
        sum direct_units: u64,
        /// Folds begun.
        sum folds: u64,
        /// Of those, while the drive was idle.
        sum idle_folds: u64,
        /// Map units that folds programmed.
        sum folded_units: u64,
        /// Pages of the host's read from the cache.
        sum reads: u64,
    }
}

/// The cache of blocks with one bit a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PslcReport {
    /// Pages of the host programmed in the cache (pages, in mapping units).
    pub cached_pages: u64,
    /// Pages of the host programmed past it (pages, in mapping units).
    pub direct_pages: u64,
    /// The share of the host's pages that was programmed in the cache (%); null where there are
    /// none.
    pub cached_percent: Option<f64>,
    /// GC runs that folded a block of the cache (victims).
    pub folds: u64,
    /// Of those, runs that began while the drive was idle (victims).
    pub idle_folds: u64,
    /// Pages that folds copied; the WAF counts them (pages, in mapping units).
    pub folded_pages: u64,
    /// Pages of user reads that came from the cache (pages, in mapping units).
    pub reads: u64,
}

impl From<PslcCounters> for PslcReport {
    fn from(counters: PslcCounters) -> Self {
        let PslcCounters { cached_units, direct_units, .. } = counters;
        Self {
            cached_pages: cached_units,
            direct_pages: direct_units,
            cached_percent: ratio::percent(cached_units, cached_units + direct_units),
            folds: counters.folds,
            idle_folds: counters.idle_folds,
            folded_pages: counters.folded_units,
            reads: counters.reads,
        }
    }
}
