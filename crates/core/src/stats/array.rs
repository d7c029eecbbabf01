//! What an array of drives did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an array of drives did, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ArrayReport {
    /// Drives that it began with (drives).
    pub members: u64,
    /// What of reads lay together on one drive (pieces).
    pub pieces: u64,
    /// Of those, answered from the array's memory (pieces).
    pub from_memory: u64,
    /// Reads that drives failed fast (commands).
    pub fast_fails: u64,
    /// Pieces and old pages that were computed from the rest of their rows (pieces and pages).
    pub reconstructs: u64,
    /// Times that more drives failed a row's pages fast than it has parities (times).
    pub double_fails: u64,
    /// Reads that were submitted again and had to wait (commands).
    pub must_waits: u64,
    /// Pieces not read from their own drive because it had better not be (pieces).
    pub avoided: u64,
    /// Reads that asked for the rest of their row after a while (pieces).
    pub hedges: u64,
    /// Reads that the rest of their row answered before their own drive did (pieces).
    pub hedges_won: u64,
    /// Reads submitted to drives (commands).
    pub drive_reads: u64,
    /// Writes submitted to drives (commands).
    pub drive_writes: u64,
    /// Rows written whole, without a read (rows).
    pub full_rows: u64,
    /// Rows whose parity came from old pages and old parity (rows).
    pub read_modify_writes: u64,
    /// Rows whose parity came from the pages that were not written (rows).
    pub reconstruct_writes: u64,
    /// Steps of GC runs that drives had to take outside of their windows (steps).
    pub contract_violations: u64,
    /// Rows restored on a new drive (rows).
    pub restored_rows: u64,
    /// When the last row of a new drive was restored (seconds); null where none was.
    pub restored_at_s: Option<f64>,
    /// Drives that failed (drives).
    pub failed_members: u64,
    /// Of those, the ones that the array failed: they refused a write, or could not read what an update needed
    /// (drives).
    pub refusing_members: u64,
    /// Pages whose write ended with an error because no drive could keep them (pages).
    pub refused_pages: u64,
    /// Acknowledged pages that no drive took; they stay in the array's memory (pages).
    pub kept_pages: u64,
}
