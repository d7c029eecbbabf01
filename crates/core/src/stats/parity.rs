//! Parity in a result, and its counters.

use super::counters::counters;
use super::{Counters, ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

counters! {
    /// Counters of parity: its cost and its use.
    pub struct RainCounters {
        /// Map units of parity programmed, copies not counted.
        sum parity_units: u64,
        /// Map units of parity of copies programmed, over superblocks.
        sum copy_parity_units: u64,
        /// Map units read to compute parity, and for nothing else.
        sum parity_reads: u64,
        /// Updates of all data pages of a stripe.
        sum full_stripes: u64,
        /// Updates of some of them.
        sum partial_stripes: u64,
        /// Of those, by way of the old copies and the old parity.
        sum subtractive_stripes: u64,
        /// Data pages that left in updates.
        sum stripe_pages: u64,
        /// Pages of reads that were computed from their stripe.
        sum reconstructed_pages: u64,
        /// Map units read for them that nobody had asked for.
        sum extra_reads: u64,
        /// Of the computed pages, those of stripes that a request asked for as a whole.
        sum whole_stripes: u64,
        /// Stripes of reads of which a page waited for garbage collection because computing it
        /// would have taken longer.
        sum refused_stripes: u64,
        /// Updates whose parity was made the other way round because of garbage collection.
        sum turned_updates: u64,
    }
}

/// The parity of a drive, as far as its report depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RainKind {
    /// Reads, or parity updates, look at garbage collection.
    pub tolerant: bool,
    /// Parity over superblocks, which is programmed anew for copies.
    pub over_superblocks: bool,
}

/// Parity inside the drive: its cost and its use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RainReport {
    /// Pages of parity programmed with what the host wrote, copies not counted; the WAF counts them
    /// (pages, in mapping units).
    pub parity_programs: u64,
    /// Pages of parity programmed with copies of GC; the WAF counts them (pages, in mapping units);
    /// absent with parity in place, which is copied like data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_parity_programs: Option<u64>,
    /// Pages of data and parity programmed per page of data, copies not counted (ratio); null where
    /// no data was.
    pub parity_factor: Option<f64>,
    /// Pages read to compute parity, and for nothing else (pages, in mapping units).
    pub parity_reads: u64,
    /// Updates of all data pages of a stripe, which read nothing; over superblocks, stripes closed
    /// (stripes).
    pub full_stripes: u64,
    /// Updates of some of them (stripes).
    pub partial_stripes: u64,
    /// Of those, by way of the old copies and the old parity (stripes).
    pub subtractive_stripes: u64,
    /// Data pages that left the write buffer in an update, or for each stripe closed, on average
    /// (pages); null without.
    pub pages_per_update: Option<f64>,
    /// Pages of reads that were computed from the other members of their stripe (pages).
    pub reconstructed_reads: u64,
    /// Pages read for them that no request had asked for (pages, in mapping units).
    pub extra_reads: u64,
    /// Reads and updates with garbage collection in their way; absent where neither looks at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerant: Option<TolerantReport>,
}

/// Reads, and updates of parity, with garbage collection in their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TolerantReport {
    /// Pages computed in stripes that a request asked for as a whole (pages).
    pub of_whole_stripes: u64,
    /// Pages computed in stripes that a request asked for in part (pages).
    pub of_partial_stripes: u64,
    /// Pages read for each reconstructed page that no request had asked for (ratio); null where
    /// none was computed.
    pub extra_reads_per_page: Option<f64>,
    /// Stripes of reads that waited for garbage collection because computing would have taken
    /// longer (stripes).
    pub refused: u64,
    /// Parity updates made the other way round because of garbage collection (stripes).
    pub turned_updates: u64,
}

impl RainReport {
    pub(super) fn new(kind: RainKind, counters: &Counters) -> Self {
        let (rain, data) = (&counters.rain, counters.host_units);
        let updates = u128::from(rain.full_stripes + rain.partial_stripes);
        Self {
            parity_programs: rain.parity_units,
            copy_parity_programs: kind.over_superblocks.then_some(rain.copy_parity_units),
            parity_factor: ratio::rounded(
                u128::from(data + rain.parity_units),
                u128::from(data),
                6,
            ),
            parity_reads: rain.parity_reads,
            full_stripes: rain.full_stripes,
            partial_stripes: rain.partial_stripes,
            subtractive_stripes: rain.subtractive_stripes,
            pages_per_update: ratio::rounded(u128::from(rain.stripe_pages), updates, 6),
            reconstructed_reads: rain.reconstructed_pages,
            extra_reads: rain.extra_reads,
            tolerant: kind.tolerant.then(|| TolerantReport {
                of_whole_stripes: rain.whole_stripes,
                of_partial_stripes: rain.reconstructed_pages - rain.whole_stripes,
                extra_reads_per_page: ratio::rounded(
                    u128::from(rain.extra_reads),
                    u128::from(rain.reconstructed_pages),
                    6,
                ),
                refused: rain.refused_stripes,
                turned_updates: rain.turned_updates,
            }),
        }
    }
}
