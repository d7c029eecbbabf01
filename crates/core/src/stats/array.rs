//! Counters of an array of drives.

use super::counters::counters;
use super::seconds;
use crate::units::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

counters! {
    /// Counters of an array of drives, warm-up included.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    #[schemars(rename = "ArrayReport")]
    pub struct ArrayCounters {
        /// Drives that it began with (drives).
        level members: u64,
        /// Parts of reads that lay together on one drive (pieces).
        sum pieces: u64,
        /// Of those, answered from the array's memory (pieces).
        sum from_memory: u64,
        /// Reads that drives failed fast (commands).
        sum fast_fails: u64,
        /// Of those, before operations that are none of garbage collection: `drive.fast_fail`
        /// (commands).
        sum fast_fails_other: u64,
        /// Pieces and old pages that were computed from the rest of their rows (pieces and pages).
        sum reconstructs: u64,
        /// Times that more drives failed a row's pages fast than it has parities (times).
        sum double_fails: u64,
        /// Reads that were submitted again and had to wait (commands).
        sum must_waits: u64,
        /// Busy remaining times of those that waited for their own drive, from the second
        /// submission (nanoseconds).
        sum brt_promised_ns: u64,
        /// By how much they completed after these times, their own read included (nanoseconds).
        sum brt_late_ns: u64,
        /// Pieces not read from their own drive because it had better not be (pieces).
        sum avoided: u64,
        /// Reads that asked for the rest of their row after a while (pieces).
        sum hedges: u64,
        /// Reads that the rest of their row answered before their own drive did (pieces).
        sum hedges_won: u64,
        /// Reads submitted to drives (commands).
        sum drive_reads: u64,
        /// Writes submitted to drives (commands).
        sum drive_writes: u64,
        /// Rows written whole, without a read (rows).
        sum full_rows: u64,
        /// Rows whose parity came from old pages and old parity (rows).
        sum read_modify_writes: u64,
        /// Rows whose parity came from the pages that were not written (rows).
        sum reconstruct_writes: u64,
        /// Steps of GC runs forced outside of a drive's window, or that ended after it (steps).
        sum contract_violations: u64,
        /// Rows restored on a new drive (rows).
        sum restored_rows: u64,
        /// When the last row of a new drive was restored (seconds); null where none was.
        #[serde(rename = "restored_at_s", with = "seconds")]
        #[schemars(with = "Option<f64>")]
        max restored_at: Option<Instant>,
        /// Drives that failed (drives).
        sum failed_members: u64,
        /// Of those, the ones that the array failed: they refused a write, or could not read what
        /// an update needed (drives).
        sum refusing_members: u64,
        /// Pages whose write ended with an error because no drive could keep them (pages).
        sum refused_pages: u64,
        /// Parts of reads that found too few members left: their requests ended with an error, and
        /// are in no latency (parts).
        sum lost_reads: u64,
        /// Acknowledged pages that no drive took; they stay in the array's memory (pages).
        level kept_pages: u64,
    }
}
