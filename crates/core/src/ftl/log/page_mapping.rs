//! Page mapping (after Kawaguchi et al., "A flash-memory based file system", USENIX 1995): what the
//! log-block FTLs are measured against. Here every block is part of the log.
//!
//! `frontiers = "separate"`: copies have an open block of their own. While at most two blocks are
//! free, each write copies and erases one victim, and never more: that is why Table II's deviation
//! is the cost of one victim (reference, headline 5 and 2.8). `"shared"` is the classic form: the
//! open block takes both; when it is full and one block is left, a victim's pages are copied there,
//! it is the open block, and the erased victim the next one to spare.
//!
//! The victim is the block with the fewest valid pages, or the one that cost-benefit values most,
//! its age being that of its last change (a page lost, or the last one written). Closed blocks hang
//! in lists by their valid pages ([`super::ranks`]), so that neither searches the blocks;
//! cost-benefit compares one block for each number of pages.

use super::lane::LaneState;
use super::{Frontiers, LogSpec, Policy, Step, Victim};
use crate::flash::Block;
use crate::ftl::recovery::Role;

/// One for the host's next block, one for the copies'.
const FREE_LEAST: usize = 2;

/// The policy.
#[derive(Clone, Debug)]
pub(super) struct PageMapping {
    lane: LaneState,
    open: Option<Block>,
    copies: Option<Block>,
    /// The victim and the next of its pages.
    victim: Option<(Block, u32)>,
    collected: bool,
    placed: bool,
    rule: Victim,
    shared: bool,
}

impl PageMapping {
    pub fn new(spec: &LogSpec, mut lane: LaneState) -> Self {
        lane.keep_ranks();
        let (rule, shared) = (spec.victim, spec.frontiers == Frontiers::Shared);
        Self {
            lane,
            open: None,
            copies: None,
            victim: None,
            collected: false,
            placed: false,
            rule,
            shared,
        }
    }

    fn take_victim(&mut self) -> Block {
        match self.rule {
            Victim::Greedy => self.lane.least_valid(),
            Victim::CostBenefit => self.lane.worthiest(),
        }
    }

    /// The next step of the victim's copying; its erase is the last.
    fn relocate(&mut self, victim: Block, first: u32) -> Option<Step> {
        for cursor in first..self.lane.pages {
            let from = self.lane.page(victim, cursor);
            if self.lane.valid_page(from).is_some() {
                self.victim = Some((victim, cursor + 1));
                let into = if self.shared { &mut self.open } else { &mut self.copies };
                *into = Self::with_room(&mut self.lane, *into);
                let to = self.lane.append((*into)?);
                return self.lane.give(Step::Copy { from, to });
            }
        }
        self.victim = None;
        self.lane.give(Step::Erase { block: victim })
    }

    /// An open block, or the next one if it is full.
    fn with_room(lane: &mut LaneState, open: Option<Block>) -> Option<Block> {
        match open {
            Some(_) if lane.has_room(open) => return open,
            Some(full) => lane.rank(full),
            None => {}
        }
        Some(lane.take(Role::Log))
    }

    /// One open block: true when the last block to spare must become it, with a victim's pages.
    fn is_at_the_last_spare(&mut self) -> bool {
        if self.lane.has_room(self.open) || self.lane.free_blocks() > 1 {
            return false;
        }
        // Full: it may be the victim itself.
        if let Some(full) = self.open.take() {
            self.lane.rank(full);
        }
        true
    }

    /// Two open blocks: true when a victim is due before the host's page.
    fn is_victim_due(&self) -> bool {
        let free = self.lane.free_blocks();
        // The last free block is the copies': the host's waits, should one victim not have been
        // enough.
        (free <= FREE_LEAST && !self.collected)
            || (free < FREE_LEAST && !self.lane.has_room(self.open))
    }
}

impl Policy for PageMapping {
    #[inline]
    fn lane(&self) -> &LaneState {
        &self.lane
    }

    #[inline]
    fn lane_mut(&mut self) -> &mut LaneState {
        &mut self.lane
    }

    fn begin(&mut self) {
        (self.collected, self.placed) = (false, false);
    }

    fn plan(&mut self) -> Option<Step> {
        if let Some((victim, cursor)) = self.victim {
            return self.relocate(victim, cursor);
        }
        if self.placed {
            return None;
        }
        let due = if self.shared { self.is_at_the_last_spare() } else { self.is_victim_due() };
        if due {
            self.collected = true;
            let victim = self.take_victim();
            return self.relocate(victim, 0);
        }
        self.open = Self::with_room(&mut self.lane, self.open);
        let (page, to) = (self.lane.host, self.lane.append(self.open?));
        self.placed = true;
        self.lane.give(Step::Program { page, to })
    }
}
