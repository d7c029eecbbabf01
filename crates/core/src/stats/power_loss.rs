//! A power loss in the result of a run.

use super::result::is_zero;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The cost of a power loss, and whether the drive kept its promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PowerLossReport {
    /// When the power failed (nanoseconds of virtual time).
    pub cut_ns: u64,
    /// From the power's return to the first command (microseconds, rounded up); of several drives
    /// the longest, and its parts.
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

impl PowerLossReport {
    /// The loss of two drives at once: what each lost and did, and the times of the one that was
    /// back later.
    pub fn and(&self, other: &Self) -> Self {
        let later = if other.recovery_us > self.recovery_us { other } else { self };
        Self {
            blocks_scanned: self.blocks_scanned + other.blocks_scanned,
            reads: self.reads + other.reads,
            checkpoint_reads: self.checkpoint_reads + other.checkpoint_reads,
            map_reads: self.map_reads + other.map_reads,
            map_stale: self.map_stale + other.map_stale,
            torn_rows: self.torn_rows + other.torn_rows,
            illegible_blocks: self.illegible_blocks + other.illegible_blocks,
            erases: self.erases + other.erases,
            merges: self.merges + other.merges,
            copies: self.copies + other.copies,
            pages_lost: self.pages_lost + other.pages_lost,
            trims_lost: self.trims_lost + other.trims_lost,
            pages_saved: self.pages_saved + other.pages_saved,
            commands_lost: self.commands_lost + other.commands_lost,
            broken_promises: self.broken_promises + other.broken_promises,
            ..*later
        }
    }
}
