//! What a log-block FTL has done.

/// Counts since the lane was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounters {
    /// Host writes.
    pub writes: u64,
    /// Host writes that went to their place in an erased page of the data block.
    pub in_place: u64,
    /// Pages programmed with the host's data.
    pub programs: u64,
    /// Pages copied.
    pub copies: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Log blocks that became data blocks as they were.
    pub switch_merges: u64,
    /// Log blocks that became data blocks after copies.
    pub partial_merges: u64,
    /// Data blocks that were written anew in a free block.
    pub full_merges: u64,
    /// Pages that were given a second chance.
    pub second_chances: u64,
    /// Log blocks that were given a second chance as a whole.
    pub renewed_blocks: u64,
    /// Pages moved to the isolation area.
    pub isolations: u64,
    /// Merges that a full isolation area forced in the midst of reclaiming.
    pub forced_merges: u64,
    /// Reads of a spare area for what the cache of the page map did not hold (superblock FTL).
    pub map_reads: u64,
    /// Hot pages that went among the cold ones for want of room (LAST).
    pub hot_overflows: u64,
    /// Log blocks of hot pages that were erased without a merge (LAST).
    pub dead_hot_blocks: u64,
    /// Most flash operations of one write.
    pub longest_chain: u64,
    /// Most merges of one write.
    pub most_merges: u64,
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
