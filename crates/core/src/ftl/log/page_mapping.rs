//! Page mapping, greedy (after Kawaguchi et al., "A flash-memory based file system", USENIX 1995): what the log-block
//! FTLs are measured against. Here every block is part of the log.
//!
//! Copies have an open block of their own. While at most two blocks are free, each write copies and erases one victim,
//! the block with the fewest valid pages, and never more: that is why Table II's deviation is the cost of one victim
//! (reference, headline 5 and 2.8).
//!
//! Closed blocks hang in lists by their valid pages ([`super::ranks`]), so that no victim is searched for.

use super::lane::Lane;
use super::{Policy, Step};
use crate::flash::Block;
use crate::ftl::recovery::Role;

/// One for the host's next block, one for the copies'.
const FREE_LEAST: usize = 2;

/// The policy.
#[derive(Clone, Debug)]
pub(super) struct PageMapping {
    lane: Lane,
    open: Option<Block>,
    copies: Option<Block>,
    /// The victim and the next of its pages.
    victim: Option<(Block, u32)>,
    collected: bool,
    placed: bool,
}

impl PageMapping {
    pub fn new(mut lane: Lane) -> Self {
        lane.keep_ranks();
        Self { lane, open: None, copies: None, victim: None, collected: false, placed: false }
    }

    /// The next step of the victim's copying; its erase is the last.
    fn relocate(&mut self, victim: Block, first: u32) -> Option<Step> {
        for cursor in first..self.lane.pages {
            let from = self.lane.page(victim, cursor);
            if self.lane.valid_page(from).is_some() {
                self.victim = Some((victim, cursor + 1));
                self.copies = self.with_room(self.copies);
                let to = self.lane.append(self.copies?);
                return self.lane.give(Step::Copy { from, to });
            }
        }
        self.victim = None;
        self.lane.give(Step::Erase { block: victim })
    }

    /// An open block, or the next one if it is full.
    fn with_room(&mut self, open: Option<Block>) -> Option<Block> {
        match open {
            Some(_) if self.lane.has_room(open) => return open,
            Some(full) => self.lane.rank(full),
            None => {}
        }
        Some(self.lane.take(Role::Log))
    }
}

impl Policy for PageMapping {
    #[inline]
    fn lane(&self) -> &Lane {
        &self.lane
    }

    #[inline]
    fn lane_mut(&mut self) -> &mut Lane {
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
        let free = self.lane.free_blocks();
        // The last free block is the copies': the host's waits, should one victim not have been enough.
        if (free <= FREE_LEAST && !self.collected) || (free < FREE_LEAST && !self.lane.has_room(self.open)) {
            self.collected = true;
            let victim = self.lane.least_valid();
            return self.relocate(victim, 0);
        }
        self.open = self.with_room(self.open);
        let (page, to) = (self.lane.host, self.lane.append(self.open?));
        self.placed = true;
        self.lane.give(Step::Program { page, to })
    }
}
