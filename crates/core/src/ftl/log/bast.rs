//! BAST: each log block belongs to one data block (Kim et al., "A space-efficient flash translation
//! layer for CompactFlash systems", IEEE TCE 2002).
//!
//! A page that is written again goes to the next page of its data block's log block; without a free
//! log block, one of another data block is merged. Random writes over more data blocks than there
//! are log blocks merge nearly every time.
//!
//! Trap: a log block is in order only if its `k` pages are the first `k` of the data block, each
//! once; the count of valid pages says nothing of that, nor where the next page is.

use super::lane::LaneState;
use super::queue::Queue;
use super::recovery::DataBlocks;
use super::{LogSpec, LogVictim, Policy, Shape, Step};
use crate::flash::Block;
use crate::ftl::recovery::Role;
use crate::units::Lpn;

/// The policy.
#[derive(Clone, Debug)]
pub(super) struct Bast {
    lane: LaneState,
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
    pub fn new(spec: &LogSpec, shape: &Shape, lane: LaneState) -> Self {
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

    /// The log blocks, the one that is merged next first.
    pub(super) fn queues(&self) -> Vec<(Block, Role)> {
        self.logs.iter().map(|log| (Block(log), Role::Log)).collect()
    }

    /// Merges a logical block with its log block, which is no log block from now on.
    fn merge(&mut self, lbn: u32, log: Block) {
        let (_, in_order) = self.owner[log.0 as usize];
        self.log_of[lbn as usize] = None;
        self.logs.remove(log.0);
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
        self.logs.push(log.0);
        log
    }

    fn append(&mut self, page: Lpn, offset: u32, log: Block) -> Option<Step> {
        let to = self.lane.append(log);
        self.owner[log.0 as usize].1 &= self.lane.written(log) == offset;
        if self.victim == LogVictim::Lru {
            self.logs.remove(log.0);
            self.logs.push(log.0);
        }
        self.placed = true;
        self.lane.give(Step::Program { page, to })
    }
}

impl DataBlocks for Bast {
    fn is_bound(role: Role) -> bool {
        role == Role::Log
    }

    fn requeue(&mut self, blocks: impl Iterator<Item = (Block, Role)>) {
        let kept = blocks.count();
        debug_assert_eq!(kept, 0, "each log block belongs to one data block");
    }

    fn bind_again(&mut self, lbn: u32, log: Block, in_order: bool) {
        self.lane.set_role(log, Role::Log);
        self.log_of[lbn as usize] = Some(log);
        self.owner[log.0 as usize] = (lbn, in_order);
        self.logs.push(log.0);
    }
}

impl Policy for Bast {
    #[inline]
    fn lane(&self) -> &LaneState {
        &self.lane
    }

    #[inline]
    fn lane_mut(&mut self) -> &mut LaneState {
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
                Some(log) if self.lane.has_room(Some(log)) => {
                    return self.append(page, offset, log);
                }
                Some(log) => Some((lbn, log)),
                None if self.logs.len < self.logs_max => {
                    let log = self.open(lbn);
                    return self.append(page, offset, log);
                }
                None => self.logs.first().map(|log| (self.owner[log as usize].0, Block(log))),
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
