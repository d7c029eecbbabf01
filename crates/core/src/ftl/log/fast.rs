//! FAST: log blocks that all data blocks share (Lee et al., "A log buffer-based flash translation
//! layer using fully-associative sector translation", ACM TECS 2007); and FASTer, which is FAST
//! with another answer to what becomes of a page whose log block expires (Lim, Lee and Moon,
//! SNAPI/MSST 2010).
//!
//! The log is a queue of blocks. When it is full, the oldest block expires. FAST merges the data
//! block of each page that is still valid there. FASTer copies such a page to the log again, once;
//! when it expires a second time it is cold: it goes to the isolation area (`isolation.rs`), or is
//! merged at once if there is none.
//!
//! Order in a victim: first what is cold, since a merge may make other pages of the victim stale
//! and needs the spare block, which second chances take afterwards. A host write is never marked:
//! its version has its chance before it.
//!
//! Trap: second chances go to blocks of their own unless told otherwise. A block of 64 of them of
//! which half are cold makes 22 to 33 merges in one write: that is why FASTer without isolation
//! fluctuates more than FAST (reference 2.3).

use super::isolation::{Isolation, Oldest};
use super::lane::LaneState;
use super::recovery::DataBlocks;
use super::sequential::{Placing, SequentialLog};
use super::{FullBlock, LogPolicy, LogSpec, Policy, Sequential, Shape, Step, Tail};
use crate::flash::Block;
use crate::ftl::recovery::Role;
use crate::units::Ppn;
use std::collections::VecDeque;

/// FAST and FASTer.
#[derive(Clone, Debug)]
pub(super) struct Fast {
    lane: LaneState,
    /// Log blocks of random writes, the oldest first.
    random: VecDeque<Block>,
    random_max: usize,
    /// Where host writes go, and second chances if they have blocks of their own.
    tail: Option<Block>,
    second_tail: Option<Block>,
    sequential: SequentialLog,
    copies_front: bool,
    second_chance: bool,
    segregated: bool,
    renews: bool,
    sparse_percent: u32,
    isolation: Option<Isolation>,
    phase: Phase,
}

/// How far the host write under way is.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Its page needs a place.
    Place,
    /// The pages of a victim from an offset on; the cold ones of it ...
    Cold { victim: Block, cursor: u32 },
    /// ... and then the others.
    Warm { victim: Block, cursor: u32 },
    /// It is programmed.
    Written,
    /// One isolated page's data block is merged.
    Progressive,
    /// Nothing is left to do.
    Idle,
}

impl Fast {
    pub fn new(spec: &LogSpec, shape: &Shape, lane: LaneState) -> Self {
        let faster = spec.policy == LogPolicy::Faster;
        Self {
            random: VecDeque::with_capacity(shape.random as usize + 2),
            random_max: shape.random as usize,
            tail: None,
            second_tail: None,
            sequential: SequentialLog::new(spec),
            copies_front: spec.sequential == Sequential::Run,
            second_chance: faster,
            segregated: spec.tail == Tail::Segregated,
            renews: faster && spec.full_block == FullBlock::Renew,
            sparse_percent: if faster { spec.sparse_percent } else { 0 },
            isolation: spec.isolates().then(|| Isolation::new(spec, shape, lane.pages)),
            phase: Phase::Idle,
            lane,
        }
    }

    /// The blocks outside of the data blocks, the longest in use first.
    pub(super) fn queues(&self) -> Vec<(Block, Role)> {
        let isolated =
            self.isolation.iter().flat_map(Isolation::blocks).map(|block| (block, Role::Isolation));
        let sequential = self.sequential.open.iter().map(|(block, _)| (*block, Role::Sequential));
        let random = self.random.iter().map(|block| (*block, self.lane.role(*block)));
        isolated.chain(random).chain(sequential).collect()
    }

    fn place(&mut self) {
        let page = self.lane.host;
        if let Some(to) = self.lane.in_place(page) {
            return self.program(to);
        }
        let (lbn, offset) = self.lane.split(page);
        match (self.sequential.place(&self.lane, lbn, offset), self.sequential.open) {
            (Placing::Append(to), _) => self.program(to),
            (Placing::Retire, _) => self.retire(),
            (Placing::Open, _) => {
                let block = self.lane.take(Role::Sequential);
                self.sequential.open = Some((block, lbn));
                if self.copies_front {
                    self.lane.copy_front(lbn, block, offset);
                }
            }
            (Placing::Partial, Some((block, _))) => {
                self.lane.merge_into(lbn, block, true);
                (self.sequential.open, self.phase) = (None, Phase::Written);
            }
            (Placing::Full, Some((block, _))) => {
                self.lane.merge_full(lbn, true, Some(block));
                (self.sequential.open, self.phase) = (None, Phase::Written);
            }
            (Placing::No | Placing::Partial | Placing::Full, _) => self.place_in_log(),
        }
    }

    fn place_in_log(&mut self) {
        match self.tail {
            Some(tail) if self.lane.has_room(self.tail) => self.program(self.lane.append(tail)),
            _ if self.random.len() < self.random_max => self.tail = Some(self.open(Role::Log)),
            _ => self.expire(),
        }
    }

    fn open(&mut self, role: Role) -> Block {
        let block = self.lane.take(role);
        self.random.push_back(block);
        block
    }

    fn program(&mut self, to: Ppn) {
        self.lane.give(Step::Program { page: self.lane.host, to });
        self.phase = Phase::Written;
    }

    /// The oldest log block expires.
    fn expire(&mut self) {
        let victim = self.random.pop_front().expect("the log is full");
        if self.renews && self.lane.is_full_and_unmarked(victim) {
            self.lane.mark_block(victim);
            self.lane.counters.renewed_blocks += 1;
            return self.random.push_back(victim);
        }
        for tail in [&mut self.tail, &mut self.second_tail] {
            if *tail == Some(victim) {
                *tail = None;
            }
        }
        let sparse = self.lane.valid(victim) * 100 < self.lane.pages * self.sparse_percent;
        self.phase = match sparse {
            true => Phase::Warm { victim, cursor: 0 },
            false => Phase::Cold { victim, cursor: 0 },
        };
    }

    fn move_cold(&mut self, victim: Block, first: u32) {
        for cursor in first..self.lane.written(victim) {
            let from = self.lane.page(victim, cursor);
            let Some(page) = self.lane.valid_page(from) else { continue };
            if self.second_chance && !self.lane.is_marked(from) {
                continue;
            }
            let lbn = self.lane.split(page).0;
            let Some(isolation) = &mut self.isolation else {
                // The page is looked at again after the merge: then it is stale.
                self.phase = Phase::Cold { victim, cursor };
                return self.merge(lbn);
            };
            if let Some(to) = isolation.append(&mut self.lane) {
                self.phase = Phase::Cold { victim, cursor: cursor + 1 };
                self.lane.counters.isolations += 1;
                self.lane.give(Step::Copy { from, to });
                return;
            }
            self.phase = Phase::Cold { victim, cursor };
            return self.make_room(lbn);
        }
        self.phase = Phase::Warm { victim, cursor: 0 };
    }

    /// The isolation area is full in the midst of a victim: its oldest block must go, whatever it
    /// costs.
    fn make_room(&mut self, instead: u32) {
        let Some(isolation) = &mut self.isolation else { return };
        let lbn = match isolation.advance(&self.lane) {
            Oldest::Passed(block) => {
                self.lane.give(Step::Erase { block });
                return;
            }
            Oldest::Page(page) => self.lane.split(page).0,
            Oldest::Empty => instead,
        };
        isolation.forced();
        self.lane.counters.forced_merges += 1;
        self.merge(lbn);
    }

    fn move_warm(&mut self, victim: Block, first: u32) {
        for cursor in first..self.lane.written(victim) {
            let from = self.lane.page(victim, cursor);
            if self.lane.valid_page(from).is_none() {
                continue;
            }
            let tail = if self.segregated { self.second_tail } else { self.tail };
            let tail = match tail {
                Some(tail) if self.lane.has_room(Some(tail)) => tail,
                _ => self.open(if self.segregated { Role::SecondChance } else { Role::Log }),
            };
            *if self.segregated { &mut self.second_tail } else { &mut self.tail } = Some(tail);
            let to = self.lane.append(tail);
            self.lane.mark(to);
            self.lane.counters.second_chances += 1;
            self.lane.give(Step::Copy { from, to });
            self.phase = Phase::Warm { victim, cursor: cursor + 1 };
            return;
        }
        self.lane.give(Step::Erase { block: victim });
        self.phase = Phase::Place;
    }

    /// After the host's page: a complete sequential block, if it goes at once; then whether a merge
    /// is due.
    fn written(&mut self) {
        match self.sequential.open {
            Some((block, _)) if self.sequential.at_once && !self.lane.has_room(Some(block)) => {
                self.retire()
            }
            _ => {
                let due = self.isolation.as_mut().is_some_and(Isolation::is_due);
                self.phase = if due { Phase::Progressive } else { Phase::Idle };
            }
        }
    }

    fn merge_isolated(&mut self) {
        let oldest = self
            .isolation
            .as_mut()
            .map_or(Oldest::Empty, |isolation| isolation.advance(&self.lane));
        match oldest {
            Oldest::Passed(block) => {
                self.lane.give(Step::Erase { block });
            }
            Oldest::Page(page) => {
                self.phase = Phase::Idle;
                self.merge(self.lane.split(page).0);
            }
            Oldest::Empty => self.phase = Phase::Idle,
        }
    }

    /// Brings all pages of a logical block together.
    fn merge(&mut self, lbn: u32) {
        match self.sequential.open {
            Some((_, owner)) if owner == lbn => self.retire(),
            _ => self.lane.merge_full(lbn, false, None),
        }
    }

    /// The sequential log block becomes a data block.
    fn retire(&mut self) {
        if let Some((block, owner)) = self.sequential.open.take() {
            self.lane.merge_into(owner, block, false);
        }
    }
}

impl DataBlocks for Fast {
    fn is_in_place(role: Role) -> bool {
        matches!(role, Role::Data | Role::Sequential | Role::Copies)
    }

    fn is_bound(_: Role) -> bool {
        false
    }

    fn requeue(&mut self, blocks: impl Iterator<Item = (Block, Role)>) {
        for (block, role) in blocks {
            self.lane.set_role(block, role);
            match (role, &mut self.isolation) {
                (Role::Isolation, Some(isolation)) => {
                    isolation.found(block, self.lane.written(block))
                }
                (Role::SecondChance, _) => {
                    self.lane.mark_block(block);
                    self.second_tail = Some(block);
                    self.random.push_back(block);
                }
                _ => {
                    self.tail = Some(block);
                    self.random.push_back(block);
                }
            }
        }
    }

    fn bind_again(&mut self, _: u32, _: Block, _: bool) {
        unreachable!("all data blocks share the log")
    }
}

impl Policy for Fast {
    #[inline]
    fn lane(&self) -> &LaneState {
        &self.lane
    }

    #[inline]
    fn lane_mut(&mut self) -> &mut LaneState {
        &mut self.lane
    }

    fn begin(&mut self) {
        self.sequential.begin(self.lane.host);
        self.phase = Phase::Place;
    }

    fn plan(&mut self) -> Option<Step> {
        loop {
            match self.phase {
                Phase::Place => self.place(),
                Phase::Cold { victim, cursor } => self.move_cold(victim, cursor),
                Phase::Warm { victim, cursor } => self.move_warm(victim, cursor),
                Phase::Written => self.written(),
                Phase::Progressive => self.merge_isolated(),
                Phase::Idle => return None,
            }
            // A decision has a step, unless it was only to go on.
            if let Some(step) = self.lane.resume() {
                return Some(step);
            }
        }
    }
}
