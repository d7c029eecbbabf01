//! BAST: each log block belongs to one data block (Kim et al., "A space-efficient flash translation layer for
//! CompactFlash systems", IEEE TCE 2002).
//!
//! A page that is written again goes to the next page of its data block's log block; without a free log block, one of
//! another data block is merged. Random writes over more data blocks than there are log blocks merge nearly every time.
//!
//! Trap: a log block is in order only if its `k` pages are the first `k` of the data block, each once; the count of
//! valid pages says nothing of that, nor where the next page is.

use super::lane::Lane;
use super::{LogSpec, LogVictim, Policy, Shape, Step};
use crate::flash::Block;
use crate::ftl::recovery::Role;
use crate::units::Lpn;

/// The policy.
#[derive(Clone, Debug)]
pub(super) struct Bast {
    lane: Lane,
    logs_max: u32,
    victim: LogVictim,
    /// The log block of each logical block.
    log_of: Vec<Option<Block>>,
    /// The logical block of each log block, and whether it is in order.
    owner: Vec<(u32, bool)>,
    logs: Queue,
    /// The host's page is programmed, or about to be.
    placed: bool,
}

impl Bast {
    pub fn new(spec: &LogSpec, shape: &Shape, lane: Lane) -> Self {
        let blocks = lane.erases().len();
        Self {
            logs_max: shape.random,
            victim: spec.log_victim,
            log_of: vec![None; shape.data as usize],
            owner: vec![(0, true); blocks],
            logs: Queue::new(blocks as u32),
            placed: false,
            lane,
        }
    }

    /// Merges a logical block with its log block, which is no log block from now on.
    fn merge(&mut self, lbn: u32, log: Block) {
        let (_, in_order) = self.owner[log.0 as usize];
        self.log_of[lbn as usize] = None;
        self.logs.remove(log);
        if in_order {
            self.lane.merge_into(lbn, log, false);
        } else {
            self.lane.merge_full(lbn, false, Some(log));
        }
    }

    fn open(&mut self, lbn: u32) -> Block {
        let log = self.lane.take(Role::Log);
        self.log_of[lbn as usize] = Some(log);
        self.owner[log.0 as usize] = (lbn, true);
        self.logs.push(log);
        log
    }

    fn append(&mut self, page: Lpn, offset: u32, log: Block) -> Option<Step> {
        let to = self.lane.append(log);
        self.owner[log.0 as usize].1 &= self.lane.written(log) == offset;
        if self.victim == LogVictim::Lru {
            self.logs.remove(log);
            self.logs.push(log);
        }
        self.placed = true;
        self.lane.give(Step::Program { page, to })
    }
}

impl Policy for Bast {
    #[inline]
    fn lane(&self) -> &Lane {
        &self.lane
    }

    #[inline]
    fn lane_mut(&mut self) -> &mut Lane {
        &mut self.lane
    }

    fn begin(&mut self) {
        self.placed = false;
    }

    fn plan(&mut self) -> Option<Step> {
        if self.placed {
            return None;
        }
        let page = self.lane.host;
        if let Some(to) = self.lane.in_place(page) {
            self.placed = true;
            return self.lane.give(Step::Program { page, to });
        }
        let (lbn, offset) = self.lane.split(page);
        loop {
            let full = match self.log_of[lbn as usize] {
                Some(log) if self.lane.has_room(Some(log)) => return self.append(page, offset, log),
                Some(log) => Some((lbn, log)),
                None if self.logs.len < self.logs_max => {
                    let log = self.open(lbn);
                    return self.append(page, offset, log);
                }
                None => self.logs.first().map(|log| (self.owner[log.0 as usize].0, log)),
            };
            let (victim, log) = full?;
            self.merge(victim, log);
            // A merge erases at least the old data block, so it always has a step.
            if let Some(step) = self.lane.resume() {
                return Some(step);
            }
        }
    }
}

/// Blocks in an order, linked both ways: any of them leaves, or goes to the end, at once.
#[derive(Clone, Debug)]
struct Queue {
    /// Before and after each block; the last entry is the ends.
    links: Vec<(u32, u32)>,
    len: u32,
}

impl Queue {
    fn new(blocks: u32) -> Self {
        Self { links: vec![(blocks, blocks); blocks as usize + 1], len: 0 }
    }

    fn ends(&self) -> u32 {
        self.links.len() as u32 - 1
    }

    fn first(&self) -> Option<Block> {
        (self.len > 0).then(|| Block(self.links[self.ends() as usize].1))
    }

    fn push(&mut self, block: Block) {
        let ends = self.ends();
        let last = self.links[ends as usize].0;
        self.links[block.0 as usize] = (last, ends);
        self.links[last as usize].1 = block.0;
        self.links[ends as usize].0 = block.0;
        self.len += 1;
    }

    fn remove(&mut self, block: Block) {
        let (before, after) = self.links[block.0 as usize];
        self.links[before as usize].1 = after;
        self.links[after as usize].0 = before;
        self.len -= 1;
    }
}
