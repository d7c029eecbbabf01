//! FASTer's isolation area: cold pages wait here, and their data blocks are merged one at a time
//! (progressive merge).
//!
//! Pages are appended; a pointer goes over them from the oldest. A data block of which one page is
//! here is merged with all its pages, wherever they are, so most pages that the pointer reaches
//! later are stale. A block that the pointer has left is erased.
//!
//! Occupied are the pages from the pointer to the end, stale ones among them. The firmware's rule
//! counts blocks and adapts its interval after each eighth of the log: one write more if the area
//! was nearly empty, one less after a forced merge.

use super::lane::LaneState;
use super::{LogSpec, Progressive, Shape};
use crate::flash::Block;
use crate::ftl::recovery::Role;
use crate::units::{Lpn, Ppn};
use std::collections::VecDeque;

/// Blocks below which the firmware merges at every write.
const BLOCKS_FREE_LEAST: usize = 2;

/// The page that the pointer meets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Oldest {
    /// A valid page, now behind the pointer.
    Page(Lpn),
    /// The end of a block, which is no longer part of the area.
    Passed(Block),
    /// Nothing.
    Empty,
}

/// The area.
#[derive(Clone, Debug)]
pub(super) struct Isolation {
    blocks: VecDeque<Block>,
    blocks_max: usize,
    /// The pointer: an offset of the first block.
    cursor: u32,
    pages: u32,
    occupied: u32,
    threshold: u32,
    rule: Progressive,
    interval: Interval,
}

/// The firmware's rule.
#[derive(Clone, Debug)]
struct Interval {
    writes: u32,
    since_merge: u32,
    period: u32,
    since_adapted: u32,
    forced: bool,
}

impl Isolation {
    pub fn new(spec: &LogSpec, shape: &Shape, pages: u32) -> Self {
        let log = shape.random + shape.isolation + shape.sequential;
        let capacity = shape.isolation * pages;
        let writes = if spec.progressive_interval > 0 {
            spec.progressive_interval
        } else {
            (pages / 4).max(1)
        };
        Self {
            blocks: VecDeque::with_capacity(shape.isolation as usize + 1),
            blocks_max: shape.isolation as usize,
            cursor: 0,
            pages,
            occupied: 0,
            threshold: (spec.progressive_threshold * f64::from(capacity)) as u32,
            rule: spec.progressive,
            interval: Interval {
                writes,
                since_merge: 0,
                period: (log * pages / 8).max(1),
                since_adapted: 0,
                forced: false,
            },
        }
    }

    /// Where the next isolated page goes; `None`: the area is full.
    pub fn append(&mut self, lane: &mut LaneState) -> Option<Ppn> {
        if !lane.has_room(self.blocks.back().copied()) {
            if self.blocks.len() == self.blocks_max {
                return None;
            }
            self.blocks.push_back(lane.take(Role::Isolation));
        }
        self.occupied += 1;
        self.blocks.back().map(|open| lane.append(*open))
    }

    /// The blocks of the area, the longest in use first.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        self.blocks.iter().copied()
    }

    /// A scan found a block of the area, with so many pages.
    pub fn found(&mut self, block: Block, pages: u32) {
        self.blocks.push_back(block);
        self.occupied += pages;
    }

    /// Moves the pointer to the next thing that needs work.
    pub fn advance(&mut self, lane: &LaneState) -> Oldest {
        let Some(first) = self.blocks.front().copied() else { return Oldest::Empty };
        while self.cursor < lane.written(first) {
            let at = lane.page(first, self.cursor);
            self.cursor += 1;
            self.occupied -= 1;
            if let Some(page) = lane.valid_page(at) {
                return Oldest::Page(page);
            }
        }
        if self.cursor < self.pages {
            return Oldest::Empty;
        }
        self.cursor = 0;
        self.blocks.pop_front();
        Oldest::Passed(first)
    }

    /// A host write is done: true when one data block should be merged now.
    pub fn is_due(&mut self) -> bool {
        match self.rule {
            Progressive::Threshold => self.occupied > self.threshold,
            Progressive::Interval => self.is_interval_due(),
        }
    }

    /// A merge was forced: the pointer is too slow.
    pub fn forced(&mut self) {
        self.interval.forced = true;
    }

    fn is_interval_due(&mut self) -> bool {
        let free = self.blocks_max - self.blocks.len();
        let interval = &mut self.interval;
        interval.since_merge += 1;
        interval.since_adapted += 1;
        if interval.since_adapted >= interval.period {
            if interval.forced {
                interval.writes = (interval.writes - 1).max(1);
            } else if free + 1 >= self.blocks_max {
                interval.writes += 1;
            }
            (interval.since_adapted, interval.forced) = (0, false);
        }
        // Areas smaller than the firmware's least of 8 blocks: half of them instead of two.
        if free <= BLOCKS_FREE_LEAST.min(self.blocks_max / 4) {
            (interval.since_merge, interval.forced) = (0, true);
            return true;
        }
        let due = free + 1 < self.blocks_max && interval.since_merge >= interval.writes;
        if due {
            interval.since_merge = 0;
        }
        due
    }
}
