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
    /// What happened since `earlier`; the longest and the most stay those of all time.
    pub fn since(&self, earlier: &Self) -> Self {
        Self { longest_chain: self.longest_chain, most_merges: self.most_merges, ..self.with(earlier, |a, b| a - b) }
    }

    /// Both added up; of the longest and the most the larger.
    pub fn plus(&self, other: &Self) -> Self {
        let longest_chain = self.longest_chain.max(other.longest_chain);
        let most_merges = self.most_merges.max(other.most_merges);
        Self { longest_chain, most_merges, ..self.with(other, |a, b| a + b) }
    }

    fn with(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            writes: of(self.writes, other.writes),
            in_place: of(self.in_place, other.in_place),
            programs: of(self.programs, other.programs),
            copies: of(self.copies, other.copies),
            erases: of(self.erases, other.erases),
            switch_merges: of(self.switch_merges, other.switch_merges),
            partial_merges: of(self.partial_merges, other.partial_merges),
            full_merges: of(self.full_merges, other.full_merges),
            second_chances: of(self.second_chances, other.second_chances),
            renewed_blocks: of(self.renewed_blocks, other.renewed_blocks),
            isolations: of(self.isolations, other.isolations),
            forced_merges: of(self.forced_merges, other.forced_merges),
            map_reads: of(self.map_reads, other.map_reads),
            hot_overflows: of(self.hot_overflows, other.hot_overflows),
            dead_hot_blocks: of(self.dead_hot_blocks, other.dead_hot_blocks),
            ..Self::default()
        }
    }

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
