//! A power loss in the result of a run.

use super::result::is_zero;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The cost of a power loss, and whether the drive kept its promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PowerLossReport {
    /// When the power failed (nanoseconds of virtual time).
    pub cut_ns: u64,
    /// From the power's return to the first command (microseconds, rounded up).
    pub recovery_us: u64,
    /// Of that, reading the newest whole checkpoint of the map (microseconds, rounded up).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checkpoint_us: u64,
    /// Of that, reading the journal of deallocations and what the capacitor saved (microseconds,
    /// rounded up).
    pub journal_us: u64,
    /// Of that, scanning spare areas (microseconds, rounded up).
    pub scan_us: u64,
    /// Of that, reading translation pages of a map on flash (microseconds, rounded up).
    pub map_us: u64,
    /// Of that, erases and copies (microseconds, rounded up).
    pub repair_us: u64,
    /// Blocks that held something; with a checkpoint those with something that it does not vouch
    /// for (blocks).
    pub blocks_scanned: u64,
    /// Array reads of the scan (reads).
    pub reads: u64,
    /// Array reads of the newest whole checkpoint, and of what says which one that is (reads).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checkpoint_reads: u64,
    /// Translation pages read (reads).
    pub map_reads: u64,
    /// Stale translation pages, which are programmed anew when the drive is back (pages, in mapping
    /// units).
    pub map_stale: u64,
    /// Rows that were illegible: their program was cut, or had failed (rows).
    pub torn_rows: u64,
    /// Blocks without a legible page: their erase was cut, or their first program (blocks).
    pub illegible_blocks: u64,
    /// Blocks erased by the recovery (blocks).
    pub erases: u64,
    /// Logical blocks merged by the recovery of a log-block FTL (logical blocks).
    pub merges: u64,
    /// Pages copied by the recovery (pages, in mapping units).
    pub copies: u64,
    /// Pages of the write buffer that were lost, none of which had been promised (pages, in mapping
    /// units).
    pub pages_lost: u64,
    /// Deallocated pages whose deallocation was lost, which had not been promised (pages, in
    /// mapping units).
    pub trims_lost: u64,
    /// Pages of the write buffer that the capacitor saved (pages, in mapping units).
    pub pages_saved: u64,
    /// Commands that were under way and lost; they count as failed (commands).
    pub commands_lost: u64,
    /// Pages that no longer held what had been promised: a defect of the model (pages, in mapping
    /// units).
    pub broken_promises: u64,
}
