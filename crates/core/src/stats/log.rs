//! Counters of a log-block FTL.

use super::counters::counters;
use super::ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

counters! {
    /// Counts of a log-block FTL since the run began.
    pub struct LogCounters {
        /// Host writes.
        sum writes: u64,
        /// Host writes that went to their place in an erased page of the data block.
        sum in_place: u64,
        /// Pages programmed with the host's data.
        sum programs: u64,
        /// Pages copied.
        sum copies: u64,
        /// Blocks erased.
        sum erases: u64,
        /// Log blocks that became data blocks as they were.
        sum switch_merges: u64,
        /// Log blocks that became data blocks after copies.
        sum partial_merges: u64,
        /// Data blocks that were written anew in a free block.
        sum full_merges: u64,
        /// Pages that were given a second chance.
        sum second_chances: u64,
        /// Log blocks that were given a second chance as a whole.
        sum renewed_blocks: u64,
        /// Pages moved to the isolation area.
        sum isolations: u64,
        /// Merges that a full isolation area forced in the midst of reclaiming.
        sum forced_merges: u64,
        /// Reads of a spare area for what the cache of the page map did not hold (superblock FTL).
        sum map_reads: u64,
        /// Hot pages that went among the cold ones for want of room (LAST).
        sum hot_overflows: u64,
        /// Log blocks of hot pages that were erased without a merge (LAST).
        sum dead_hot_blocks: u64,
        /// Data blocks that were moved because they lag behind in wear.
        sum levelled_blocks: u64,
        /// Most flash operations of one write.
        max longest_chain: u64,
        /// Most merges of one write.
        max most_merges: u64,
    }
}

impl LogCounters {
    /// Merges of any kind.
    pub fn merges(&self) -> u64 {
        self.switch_merges + self.partial_merges + self.full_merges
    }

    /// Merges of any kind for each host write.
    pub fn merges_per_write(&self) -> f64 {
        self.merges() as f64 / self.writes.max(1) as f64
    }

    /// Pages programmed for each page that the host wrote.
    pub fn write_amplification(&self) -> f64 {
        (self.programs + self.copies) as f64 / self.programs.max(1) as f64
    }
}

/// The report of a log-block FTL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LogReport {
    /// Pages that the host's data was written to (pages, in mapping units).
    pub writes: u64,
    /// Of those, pages that went to their place in a data block, which was erased there (pages, in
    /// mapping units).
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
    /// Spare areas that were read for what the cache of the page map did not hold (reads of the
    /// superblock FTL).
    pub map_reads: u64,
    /// Hot pages that went among the cold ones for want of room (pages of LAST, in mapping units).
    pub hot_overflows: u64,
    /// Log blocks of hot pages that were erased without a merge (blocks of LAST).
    pub dead_hot_blocks: u64,
    /// Data blocks that were moved because they lag behind in wear (blocks).
    pub levelled_blocks: u64,
    /// Most flash operations that one write caused, warm-up and preconditioning included (flash
    /// operations).
    pub longest_chain: u64,
    /// Most merges that one write caused, likewise (merges).
    pub most_merges: u64,
}

impl LogReport {
    pub(super) fn new(log: &LogCounters) -> Self {
        Self {
            writes: log.writes,
            in_place: log.in_place,
            switch_merges: log.switch_merges,
            partial_merges: log.partial_merges,
            full_merges: log.full_merges,
            merges_per_write: ratio::rounded(log.merges().into(), log.writes.into(), 6),
            second_chances: log.second_chances,
            renewed_blocks: log.renewed_blocks,
            isolated_pages: log.isolations,
            forced_merges: log.forced_merges,
            map_reads: log.map_reads,
            hot_overflows: log.hot_overflows,
            dead_hot_blocks: log.dead_hot_blocks,
            levelled_blocks: log.levelled_blocks,
            longest_chain: log.longest_chain,
            most_merges: log.most_merges,
        }
    }
}
