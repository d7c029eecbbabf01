//! How many logical blocks the valid pages of each log block of LAST belong to: what its merges
//! will cost, and 0 if the block is dead.
//!
//! Nothing is counted anew: the first page of a logical block in a log block counts the valid pages
//! of that logical block there, and each page knows its first. Which one that is, is known while
//! the block is written; only one block of each partition is written at a time, so one table a
//! partition says it.

use super::ranks::Ranks;
use crate::flash::Block;
use crate::units::Ppn;

const NONE: u8 = u8::MAX;

/// The counts of two partitions.
#[derive(Clone, Debug)]
pub(super) struct Kin {
    /// The first page with the same logical block in the same log block, and how many valid ones
    /// there are; the count stands at the first page.
    first: Vec<u32>,
    valid: Vec<u32>,
    /// Logical blocks of each block, and its partition.
    families: Vec<u32>,
    partition: Vec<u8>,
    /// Full blocks, by their logical blocks.
    ranks: [Ranks; 2],
    /// For each logical block: the opening that it was met in, and its first page there.
    met: [Vec<(u32, u32)>; 2],
    openings: [u32; 2],
}

impl Kin {
    pub fn new(blocks: u32, pages: u32, data: u32) -> Self {
        let total = (blocks * pages) as usize;
        let met = vec![(0, 0); data as usize];
        Self {
            first: vec![0; total],
            valid: vec![0; total],
            families: vec![0; blocks as usize],
            partition: vec![NONE; blocks as usize],
            ranks: [Ranks::new(blocks, pages), Ranks::new(blocks, pages)],
            met: [met.clone(), met],
            openings: [0; 2],
        }
    }

    /// A block of a partition is written from now on.
    pub fn open(&mut self, partition: usize, block: Block) {
        self.openings[partition] += 1;
        self.families[block.0 as usize] = 0;
        self.partition[block.0 as usize] = partition as u8;
    }

    /// A page of a logical block is written to the block that was opened last.
    #[inline]
    pub fn add(&mut self, partition: usize, block: Block, at: Ppn, lbn: u32) {
        let met = &mut self.met[partition][lbn as usize];
        if met.0 != self.openings[partition] {
            *met = (self.openings[partition], at.0);
            self.valid[at.0 as usize] = 0;
        }
        let first = met.1;
        self.first[at.0 as usize] = first;
        let valid = &mut self.valid[first as usize];
        *valid += 1;
        if *valid == 1 {
            self.families[block.0 as usize] += 1;
        }
    }

    /// The block is full.
    pub fn close(&mut self, block: Block) {
        let partition = self.partition[block.0 as usize] as usize;
        self.ranks[partition].insert(block, self.families[block.0 as usize], 0);
    }

    /// A page is no longer valid; nothing if its block is no log block.
    #[inline]
    pub fn lost(&mut self, at: Ppn, block: Block) {
        let partition = self.partition[block.0 as usize];
        if partition == NONE {
            return;
        }
        let valid = &mut self.valid[self.first[at.0 as usize] as usize];
        *valid -= 1;
        if *valid == 0 {
            self.families[block.0 as usize] -= 1;
            self.ranks[partition as usize].lost_one(block, 0);
        }
    }

    /// A full block is chosen: what becomes of its pages is counted no more.
    pub fn forget(&mut self, block: Block) {
        let partition = std::mem::replace(&mut self.partition[block.0 as usize], NONE);
        self.ranks[partition as usize].remove(block);
    }

    /// The partition of a log block.
    #[inline]
    pub fn partition(&self, block: Block) -> Option<usize> {
        let partition = self.partition[block.0 as usize];
        (partition != NONE).then_some(partition as usize)
    }

    /// Logical blocks of a log block.
    pub fn families(&self, block: Block) -> u32 {
        self.families[block.0 as usize]
    }

    /// A full block without valid pages.
    pub fn dead(&self, partition: usize) -> Option<Block> {
        self.ranks[partition].first_of(0)
    }

    /// The full block with the fewest logical blocks.
    pub fn fewest(&mut self, partition: usize) -> Option<Block> {
        self.ranks[partition].least().map(|(block, _)| block)
    }

    pub fn bytes(&self) -> usize {
        8 * (self.first.len() + self.met[0].len() + self.met[1].len()) + 37 * self.families.len()
    }
}
