//! What a log-block FTL did.

use super::ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a log-block FTL did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LogReport {
    /// Pages that the host's data was written to (pages, in mapping units).
    pub writes: u64,
    /// Of those, pages that went to their place in a data block, which was erased there (pages, in mapping units).
    pub in_place: u64,
    /// Log blocks that became data blocks as they were (merges).
    pub switch_merges: u64,
    /// Log blocks that became data blocks after the missing pages were copied (merges).
    pub partial_merges: u64,
    /// Data blocks that were written anew in a free block (merges).
    pub full_merges: u64,
    /// Merges of any kind for each page written (ratio); null without writes.
    pub merges_per_write: Option<f64>,
    /// Pages that expired once and were written to the log again (pages, in mapping units).
    pub second_chances: u64,
    /// Log blocks that were given a second chance as a whole (blocks).
    pub renewed_blocks: u64,
    /// Pages that expired twice and were moved to the isolation area (pages, in mapping units).
    pub isolated_pages: u64,
    /// Merges that a full isolation area forced in the midst of reclaiming (merges).
    pub forced_merges: u64,
    /// Spare areas that were read for what the cache of the page map did not hold (reads of the superblock FTL).
    pub map_reads: u64,
    /// Hot pages that went among the cold ones for want of room (pages of LAST, in mapping units).
    pub hot_overflows: u64,
    /// Log blocks of hot pages that were erased without a merge (blocks of LAST).
    pub dead_hot_blocks: u64,
    /// Most flash operations that one write caused, warm-up and preconditioning included (flash operations).
    pub longest_chain: u64,
    /// Most merges that one write caused, likewise (merges).
    pub most_merges: u64,
}

impl LogReport {
    /// Both added up; of the longest and the most the larger.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            writes: self.writes + other.writes,
            in_place: self.in_place + other.in_place,
            switch_merges: self.switch_merges + other.switch_merges,
            partial_merges: self.partial_merges + other.partial_merges,
            full_merges: self.full_merges + other.full_merges,
            second_chances: self.second_chances + other.second_chances,
            renewed_blocks: self.renewed_blocks + other.renewed_blocks,
            isolated_pages: self.isolated_pages + other.isolated_pages,
            forced_merges: self.forced_merges + other.forced_merges,
            map_reads: self.map_reads + other.map_reads,
            hot_overflows: self.hot_overflows + other.hot_overflows,
            dead_hot_blocks: self.dead_hot_blocks + other.dead_hot_blocks,
            longest_chain: self.longest_chain.max(other.longest_chain),
            most_merges: self.most_merges.max(other.most_merges),
            merges_per_write: None,
        }
    }

    pub(super) fn report(self) -> Self {
        let merges = self.switch_merges + self.partial_merges + self.full_merges;
        Self { merges_per_write: ratio::rounded(merges.into(), self.writes.into(), 6), ..self }
    }
}
