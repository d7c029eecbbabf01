//! The state of each block: valid pages, wear, last change, reads under way.

use crate::flash::Block;
use crate::sim::prefetch;

/// Set in a block's counter while it is no candidate for reclaiming (free, open, or being
/// reclaimed): a minimum over the bare counters then finds the best candidate without looking at
/// anything else.
const NOT_A_CANDIDATE: u16 = 1 << 15;

/// Counters of every block of the drive.
#[derive(Clone, Debug)]
pub struct Blocks {
    valid: Vec<u16>,
    erases: Vec<u32>,
    /// The write clock at the last invalidation; kept only where a policy asks for ages.
    changed: Vec<u64>,
    reads_under_way: Vec<u32>,
}

impl Blocks {
    /// `count` free blocks.
    pub fn new(count: u32, keep_ages: bool) -> Self {
        let count = count as usize;
        Self {
            valid: vec![NOT_A_CANDIDATE; count],
            erases: vec![0; count],
            changed: if keep_ages { vec![0; count] } else { Vec::new() },
            reads_under_way: vec![0; count],
        }
    }

    /// Valid pages of a block.
    #[inline]
    pub fn valid(&self, block: Block) -> u32 {
        u32::from(self.valid[block.0 as usize] & !NOT_A_CANDIDATE)
    }

    /// True when the block may be reclaimed.
    #[inline]
    pub fn is_candidate(&self, block: Block) -> bool {
        self.valid[block.0 as usize] & NOT_A_CANDIDATE == 0
    }

    /// The raw counters of blocks `first..first + count`: below 2^15 exactly for candidates.
    pub fn candidates(&self, first: Block, count: u32) -> &[u16] {
        &self.valid[first.0 as usize..(first.0 + count) as usize]
    }

    /// Makes the block a candidate, or not.
    pub fn set_candidate(&mut self, block: Block, candidate: bool) {
        let counter = &mut self.valid[block.0 as usize];
        *counter = if candidate { *counter & !NOT_A_CANDIDATE } else { *counter | NOT_A_CANDIDATE };
    }

    /// One more valid page.
    #[inline]
    pub fn add_valid(&mut self, block: Block) {
        self.valid[block.0 as usize] += 1;
    }

    /// One valid page less, at write clock `clock`.
    #[inline]
    pub fn remove_valid(&mut self, block: Block, clock: u64) {
        let counter = &mut self.valid[block.0 as usize];
        debug_assert!(*counter & !NOT_A_CANDIDATE > 0, "block {block:?} has no valid page to lose");
        *counter -= 1;
        if let Some(changed) = self.changed.get_mut(block.0 as usize) {
            *changed = clock;
        }
    }

    /// So many valid pages of one block were copied to another; where ages are not kept.
    #[inline]
    pub fn move_valid(&mut self, from: Block, to: Block, count: u32) {
        debug_assert!(
            !self.keeps_ages() && self.valid(from) >= count,
            "block {from:?} loses {count} valid pages"
        );
        self.valid[from.0 as usize] -= count as u16;
        self.valid[to.0 as usize] += count as u16;
    }

    /// True when the write clock matters.
    pub fn keeps_ages(&self) -> bool {
        !self.changed.is_empty()
    }

    /// The write clock at the block's last change (0 where ages are not kept).
    pub fn changed(&self, block: Block) -> u64 {
        self.changed.get(block.0 as usize).copied().unwrap_or(0)
    }

    /// Notes that the block changed at `clock` (it was closed).
    pub fn touch(&mut self, block: Block, clock: u64) {
        if let Some(changed) = self.changed.get_mut(block.0 as usize) {
            *changed = clock;
        }
    }

    /// Erases of a block.
    pub fn erases(&self, block: Block) -> u32 {
        self.erases[block.0 as usize]
    }

    /// Erases of every block, for wear statistics and snapshots.
    pub fn all_erases(&self) -> &[u32] {
        &self.erases
    }

    /// Sets the wear of every block (from a snapshot).
    pub fn restore_erases(&mut self, erases: Vec<u32>) {
        assert_eq!(erases.len(), self.erases.len());
        self.erases = erases;
    }

    /// Two blocks take each other's number.
    pub fn exchange_erases(&mut self, one: Block, other: Block) {
        self.erases.swap(one.0 as usize, other.0 as usize);
    }

    /// The block was erased: it has no valid page, and asserts that.
    pub fn erased(&mut self, block: Block) {
        assert_eq!(self.valid(block), 0, "block {block:?} is erased with valid pages");
        self.erases[block.0 as usize] += 1;
    }

    /// A read of the block is under way: it is not erased before [`Blocks::read_ended`].
    #[inline]
    pub fn read_started(&mut self, block: Block) {
        self.reads_under_way[block.0 as usize] += 1;
    }

    /// A read of the block is done; true when it was the last one under way.
    #[inline]
    pub fn read_ended(&mut self, block: Block) -> bool {
        let reads = &mut self.reads_under_way[block.0 as usize];
        *reads -= 1;
        *reads == 0
    }

    /// True when a read of the block is under way.
    #[inline]
    pub fn is_being_read(&self, block: Block) -> bool {
        self.reads_under_way[block.0 as usize] > 0
    }

    /// Hints that the block's counter is needed soon.
    #[inline]
    pub fn prefetch(&self, block: Block) {
        prefetch(&self.valid, block.0 as usize);
    }

    /// Bytes of the counters.
    pub fn bytes(&self) -> usize {
        2 * self.valid.len()
            + 4 * self.erases.len()
            + 8 * self.changed.len()
            + 4 * self.reads_under_way.len()
    }
}
