//! Closed blocks in lists by their number of valid pages: the one with the fewest is found without a search.

use crate::flash::Block;

/// The lists; within one, the block that came first is the first.
#[derive(Clone, Debug)]
pub(super) struct Ranks {
    /// Before and after each block; behind the blocks, the ends of each list.
    links: Vec<(u32, u32)>,
    blocks: u32,
    /// The list of each block; `u32::MAX`: none.
    rank: Vec<u32>,
    /// No list below this one has a block.
    least: u32,
}

impl Ranks {
    pub fn new(blocks: u32, pages: u32) -> Self {
        let links = (0..=blocks + pages).map(|at| (at, at)).collect();
        Self { links, blocks, rank: vec![u32::MAX; blocks as usize], least: pages }
    }

    /// A block is closed.
    pub fn insert(&mut self, block: Block, valid: u32) {
        let ends = self.blocks + valid;
        let last = self.links[ends as usize].0;
        self.links[block.0 as usize] = (last, ends);
        self.links[last as usize].1 = block.0;
        self.links[ends as usize].0 = block.0;
        self.rank[block.0 as usize] = valid;
        self.least = self.least.min(valid);
    }

    fn remove(&mut self, block: Block) {
        let (before, after) = self.links[block.0 as usize];
        self.links[before as usize].1 = after;
        self.links[after as usize].0 = before;
        self.rank[block.0 as usize] = u32::MAX;
    }

    /// A block has lost a page; nothing if it is not closed.
    #[inline]
    pub fn lost_one(&mut self, block: Block) {
        let rank = self.rank[block.0 as usize];
        if rank != u32::MAX {
            self.remove(block);
            self.insert(block, rank - 1);
        }
    }

    /// Takes out the block with the fewest valid pages.
    pub fn take_least(&mut self) -> Block {
        loop {
            let ends = self.blocks + self.least;
            let first = self.links[ends as usize].1;
            if first != ends {
                self.remove(Block(first));
                return Block(first);
            }
            self.least += 1;
        }
    }
}
