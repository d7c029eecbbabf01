//! Closed blocks in lists by a number that only falls, as that of their valid pages: the one with
//! the fewest is found without a search.
//!
//! A block goes to the end of a list when it is closed or has lost a page, so a list is also in the
//! order of the last change: the best block for cost-benefit is the first of one of the lists, and
//! no other block is looked at.

use crate::flash::Block;

/// The lists; within one, the block that came first is the first.
#[derive(Clone, Debug)]
pub(super) struct Ranks {
    /// Before and after each block; behind the blocks, the ends of each list.
    links: Vec<(u32, u32)>,
    blocks: u32,
    /// The list of each block; `u32::MAX`: none.
    rank: Vec<u32>,
    /// When each block got there.
    since: Vec<u64>,
    /// No list below this one has a block.
    least: u32,
}

impl Ranks {
    pub fn new(blocks: u32, pages: u32) -> Self {
        let links = (0..=blocks + pages).map(|at| (at, at)).collect();
        Self {
            links,
            blocks,
            rank: vec![u32::MAX; blocks as usize],
            since: vec![0; blocks as usize],
            least: pages,
        }
    }

    fn lists(&self) -> u32 {
        self.links.len() as u32 - self.blocks
    }

    /// A block is closed.
    pub fn insert(&mut self, block: Block, valid: u32, now: u64) {
        let ends = self.blocks + valid;
        let last = self.links[ends as usize].0;
        self.links[block.0 as usize] = (last, ends);
        self.links[last as usize].1 = block.0;
        self.links[ends as usize].0 = block.0;
        self.rank[block.0 as usize] = valid;
        self.since[block.0 as usize] = now;
        self.least = self.least.min(valid);
    }

    /// Takes a block out.
    pub fn remove(&mut self, block: Block) {
        let (before, after) = self.links[block.0 as usize];
        self.links[before as usize].1 = after;
        self.links[after as usize].0 = before;
        self.rank[block.0 as usize] = u32::MAX;
    }

    /// A block has lost a page; nothing if it is not closed.
    #[inline]
    pub fn lost_one(&mut self, block: Block, now: u64) {
        let rank = self.rank[block.0 as usize];
        if rank != u32::MAX {
            self.remove(block);
            self.insert(block, rank - 1, now);
        }
    }

    /// The block that has come down to this number first.
    pub fn first_of(&self, rank: u32) -> Option<Block> {
        let ends = self.blocks + rank;
        let first = self.links[ends as usize].1;
        (first != ends).then_some(Block(first))
    }

    /// The block with the fewest valid pages, and their number.
    pub fn least(&mut self) -> Option<(Block, u32)> {
        while self.least < self.lists() {
            if let Some(first) = self.first_of(self.least) {
                return Some((first, self.least));
            }
            self.least += 1;
        }
        None
    }

    /// Takes out the block with the fewest valid pages.
    pub fn take_least(&mut self) -> Block {
        let (block, _) = self.least().expect("a block is closed");
        self.remove(block);
        block
    }

    /// Takes out the block that is worth most, by age * (1 - u) / 2u with u its share of valid
    /// pages and its age since the last change; of equals the one with fewer valid pages. This goes
    /// over the lists, one for each number of pages, not over the blocks.
    pub fn take_worthiest(&mut self, now: u64) -> Block {
        let pages = self.lists() - 1;
        let mut best: Option<(Block, u128, u128)> = None;
        for valid in 0..=pages {
            let Some(first) = self.first_of(valid) else { continue };
            let age = u128::from(now - self.since[first.0 as usize]);
            // As a fraction; without valid pages nothing is worth more.
            let (worth, cost) = (age * u128::from(pages - valid), 2 * u128::from(valid));
            if cost == 0 {
                best = Some((first, worth, cost));
                break;
            }
            if best.is_none_or(|(_, most, its_cost)| worth * its_cost > most * cost) {
                best = Some((first, worth, cost));
            }
        }
        let (block, ..) = best.expect("a block is closed");
        self.remove(block);
        block
    }
}
