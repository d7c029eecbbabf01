//! LAST: log blocks for long requests apart from those for short ones, and hot pages apart from
//! cold ones (Lee et al., "LAST: locality-aware sector translation for NAND flash memory-based
//! storage systems", SPEED 2008 and ACM SIGOPS OSR 42(6)).
//!
//! - A page of a request of more than `last_sequential_pages` goes to the sequential log block of
//!   its data block, as in BAST: the one used least recently is merged when none is free.
//! - Other pages go to the random log, as in FAST, which is two partitions. A page is hot if its
//!   last version is in the random log and fewer than `last_hot_age` pages were written there
//!   since; other pages are cold.
//! - When the random log has no block left, a dead hot block (no valid page) is erased. Otherwise
//!   the cold block whose pages belong to the fewest data blocks is merged; a hot block without an
//!   update for `last_old` log pages is a candidate too (`kin.rs` knows the counts, so nothing is
//!   searched).
//! - The cold partition may have what the hot one does not use. A hot page that finds the hot
//!   partition at its share, with no dead block, goes among the cold ones.
//!
//! The part of the paper that was at hand does not say how it adapts. Here, after `last_epoch` log
//! pages in which hot pages had no room: if half as many hot blocks died as the partition may have,
//! it gets one block more, and the age that is hot an eighth, up to its start; otherwise both lose
//! as much.
//!
//! Trap: what a sequential log block holds may be older than the random log (a page of a long
//! request is written again by a short one), so becoming a data block is no proof that the random
//! log has nothing newer.

use super::kin::Kin;
use super::lane::LaneState;
use super::queue::Queue;
use super::recovery::DataBlocks;
use super::{LogSpec, Policy, Shape, Step};
use crate::flash::Block;
use crate::ftl::recovery::Role;
use crate::units::Ppn;

/// The partitions.
const COLD: usize = 0;
const HOT: usize = 1;
/// Least blocks of the cold partition: the open one and a victim.
const COLD_LEAST: u32 = 2;

/// The policy.
#[derive(Clone, Debug)]
pub(super) struct Last {
    lane: LaneState,
    sequential: Bound,
    sequential_pages: u32,
    random_max: u32,
    hot_max: u32,
    blocks: [u32; 2],
    tails: [Option<Block>; 2],
    /// Full hot blocks, the one without an update for longest first, and when that was.
    hot_order: Queue,
    updated: Vec<u64>,
    /// Pages written to the random log: the clock; and its reading at each page's last write there.
    clock: u64,
    stamp: Vec<u64>,
    hot_age: u64,
    old: u64,
    adapting: Adapting,
    /// The page of the write under way is hot.
    hot: bool,
    phase: Phase,
}

/// Sequential log blocks, each bound to one data block.
#[derive(Clone, Debug)]
struct Bound {
    most: u32,
    of: Vec<Option<Block>>,
    /// The logical block of each, and whether it holds its first pages in order.
    owner: Vec<(u32, bool)>,
    order: Queue,
}

/// State by which the hot partition's share and age adapt.
#[derive(Clone, Debug)]
struct Adapting {
    epoch: u64,
    age_most: u64,
    died: u32,
    overflowed: bool,
}

/// How far the host write under way is.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Place,
    /// A victim's data blocks are merged, from this page on.
    Victim {
        block: Block,
        cursor: u32,
    },
    Written,
}

impl Last {
    pub fn new(spec: &LogSpec, shape: &Shape, mut lane: LaneState) -> Self {
        let blocks = lane.erases().len() as u32;
        lane.kin = Some(Box::new(Kin::new(blocks, lane.pages, shape.data)));
        let window = u64::from(shape.random) * u64::from(lane.pages);
        let or_window = |pages: u32| if pages > 0 { u64::from(pages) } else { window };
        let hot_max = (spec.last_hot_share * f64::from(shape.random)).round() as u32;
        let hot_least = u32::from(spec.last_hot_share > 0.0);
        Self {
            sequential: Bound {
                most: shape.sequential,
                of: vec![None; shape.data as usize],
                owner: vec![(0, false); blocks as usize],
                order: Queue::new(blocks),
            },
            sequential_pages: spec.last_sequential_pages,
            random_max: shape.random,
            hot_max: hot_max.max(hot_least).min(shape.random - COLD_LEAST),
            blocks: [0; 2],
            tails: [None; 2],
            hot_order: Queue::new(blocks),
            updated: vec![0; blocks as usize],
            clock: 0,
            stamp: vec![0; (shape.data * lane.pages) as usize],
            hot_age: or_window(spec.last_hot_age),
            old: or_window(spec.last_old),
            adapting: Adapting {
                // Nothing to adapt without a hot partition.
                epoch: if spec.last_adapts && hot_least > 0 {
                    or_window(spec.last_epoch)
                } else {
                    u64::MAX
                },
                age_most: or_window(spec.last_hot_age),
                died: 0,
                overflowed: false,
            },
            hot: false,
            phase: Phase::Written,
            lane,
        }
    }

    /// The log blocks of short requests and of long ones. Who opened the former in which order is
    /// not kept.
    pub(super) fn queues(&self) -> Vec<(Block, Role)> {
        let blocks = (0..self.updated.len() as u32).map(Block);
        let random = blocks.filter(|block| self.partition(*block).is_some());
        let tails = |block: &Block| self.tails.contains(&Some(*block));
        let (tails, full): (Vec<_>, Vec<_>) = random.partition(tails);
        let sequential = self.sequential.order.iter().map(|log| (Block(log), Role::Sequential));
        let random = full.into_iter().chain(tails).map(|block| (block, Role::Log));
        random.chain(sequential).collect()
    }

    fn kin(&mut self) -> &mut Kin {
        self.lane.kin.as_mut().expect("made with the policy")
    }

    fn partition(&self, block: Block) -> Option<usize> {
        self.lane.kin.as_ref().and_then(|kin| kin.partition(block))
    }

    fn place(&mut self) {
        let page = self.lane.host;
        if let Some(to) = self.lane.in_place(page) {
            self.program(to);
        } else if self.sequential.most > 0 && self.lane.request_pages > self.sequential_pages {
            self.place_sequential();
        } else {
            self.place_random();
        }
    }

    fn place_sequential(&mut self) {
        let (lbn, offset) = self.lane.split(self.lane.host);
        let log = match self.sequential.of[lbn as usize] {
            Some(log) if self.lane.has_room(Some(log)) => log,
            Some(full) => return self.merge_sequential(lbn, full, true),
            None if self.sequential.order.len < self.sequential.most => {
                let log = self.lane.take(Role::Sequential);
                self.sequential.bind(lbn, log);
                log
            }
            None => {
                let Some(first) = self.sequential.order.first() else { return };
                let (victim, _) = self.sequential.owner[first as usize];
                return self.merge_sequential(victim, Block(first), true);
            }
        };
        self.sequential.owner[log.0 as usize].1 &= self.lane.written(log) == offset;
        self.sequential.order.remove(log.0);
        self.sequential.order.push(log.0);
        self.program(self.lane.append(log));
    }

    /// Merges a data block with its sequential log block, which holds its front if it is in order
    /// and may stay.
    fn merge_sequential(&mut self, lbn: u32, log: Block, may_stay: bool) {
        let (_, in_order) = self.sequential.owner[log.0 as usize];
        self.sequential.of[lbn as usize] = None;
        self.sequential.order.remove(log.0);
        if in_order && may_stay {
            self.lane.merge_into(lbn, log, false);
        } else {
            self.lane.merge_full(lbn, false, Some(log));
        }
    }

    fn place_random(&mut self) {
        let partition = if self.hot { HOT } else { COLD };
        if let Some(tail) = self.tails[partition] {
            return self.append(partition, tail);
        }
        let dead = self.kin().dead(HOT);
        if self.hot && self.blocks[HOT] >= self.hot_max && dead.is_none() {
            self.hot = false;
            self.adapting.overflowed = true;
            self.lane.counters.hot_overflows += 1;
        } else if self.blocks[HOT] + self.blocks[COLD] < self.random_max
            && (!self.hot || self.blocks[HOT] < self.hot_max)
        {
            let block = self.lane.take(Role::Log);
            self.blocks[partition] += 1;
            self.tails[partition] = Some(block);
            self.kin().open(partition, block);
        } else {
            self.reclaim(dead);
        }
    }

    /// Erases a dead hot block, or chooses whose pages are merged.
    fn reclaim(&mut self, dead: Option<Block>) {
        if let Some(block) = dead {
            self.leave(HOT, block);
            self.adapting.died += 1;
            self.lane.counters.dead_hot_blocks += 1;
            self.lane.give(Step::Erase { block });
            return;
        }
        let now = self.clock;
        let old = self
            .hot_order
            .first()
            .filter(|block| now - self.updated[*block as usize] > self.old)
            .map(Block);
        let kin = self.kin();
        let (partition, block) = match (kin.fewest(COLD), old) {
            (Some(cold), Some(hot)) if kin.families(hot) < kin.families(cold) => (HOT, hot),
            (Some(cold), _) => (COLD, cold),
            (None, _) => unreachable!(
                "the cold partition has {COLD_LEAST} blocks at least, one of them full"
            ),
        };
        self.leave(partition, block);
        self.phase = Phase::Victim { block, cursor: 0 };
    }

    /// A full block is no longer part of its partition.
    fn leave(&mut self, partition: usize, block: Block) {
        self.kin().forget(block);
        self.blocks[partition] -= 1;
        if partition == HOT {
            self.hot_order.remove(block.0);
        }
    }

    fn append(&mut self, partition: usize, tail: Block) {
        let (page, to) = (self.lane.host, self.lane.append(tail));
        let lbn = self.lane.split(page).0;
        self.kin().add(partition, tail, to, lbn);
        self.program(to);
        self.clock += 1;
        self.stamp[page.0 as usize] = self.clock;
        if self.lane.written(tail) + 1 == self.lane.pages {
            self.tails[partition] = None;
            self.kin().close(tail);
            if partition == HOT {
                self.hot_order.push(tail.0);
                self.updated[tail.0 as usize] = self.clock;
            }
        }
        if self.clock.is_multiple_of(self.adapting.epoch) {
            self.adapt();
        }
    }

    fn program(&mut self, to: Ppn) {
        let page = self.lane.host;
        if let Some(block) = self.lane.translate(page).map(|at| self.lane.block_of(at))
            && self.partition(block) == Some(HOT)
            && self.tails[HOT] != Some(block)
        {
            self.hot_order.remove(block.0);
            self.hot_order.push(block.0);
            self.updated[block.0 as usize] = self.clock;
        }
        self.lane.give(Step::Program { page, to });
        self.phase = Phase::Written;
    }

    fn adapt(&mut self) {
        let Adapting { died, overflowed, age_most, .. } = self.adapting;
        (self.adapting.died, self.adapting.overflowed) = (0, false);
        let eighth = (self.hot_age / 8).max(1);
        if !overflowed {
        } else if 2 * died >= self.hot_max {
            self.hot_max = (self.hot_max + 1).min(self.random_max - COLD_LEAST);
            self.hot_age = (self.hot_age + eighth).min(age_most);
        } else {
            self.hot_max = (self.hot_max - 1).max(1);
            self.hot_age = (self.hot_age - eighth).max(1);
        }
    }

    fn merge_victim(&mut self, block: Block, first: u32) {
        for cursor in first..self.lane.pages {
            let Some(page) = self.lane.valid_page(self.lane.page(block, cursor)) else { continue };
            let (lbn, offset) = self.lane.split(page);
            self.phase = Phase::Victim { block, cursor: cursor + 1 };
            return match self.sequential.of[lbn as usize] {
                // The front stays if the victim's page is not part of it.
                Some(log) => self.merge_sequential(lbn, log, offset >= self.lane.written(log)),
                None => self.lane.merge_full(lbn, false, None),
            };
        }
        self.phase = Phase::Place;
        self.lane.give(Step::Erase { block });
    }
}

impl DataBlocks for Last {
    fn is_bound(role: Role) -> bool {
        role == Role::Sequential
    }

    fn requeue(&mut self, blocks: impl Iterator<Item = (Block, Role)>) {
        // Nothing is hot that was written before.
        self.clock = self.hot_age;
        for (block, role) in blocks {
            self.lane.set_role(block, role);
            self.blocks[COLD] += 1;
            if let Some(before) = self.tails[COLD].replace(block) {
                self.kin().close(before);
            }
            self.kin().open(COLD, block);
            for offset in 0..self.lane.written(block) {
                let at = self.lane.page(block, offset);
                if let Some(page) = self.lane.valid_page(at) {
                    let lbn = self.lane.split(page).0;
                    self.kin().add(COLD, block, at, lbn);
                }
            }
        }
        if let Some(last) = self.tails[COLD].filter(|last| !self.lane.has_room(Some(*last))) {
            self.tails[COLD] = None;
            self.kin().close(last);
        }
    }

    fn bind_again(&mut self, lbn: u32, log: Block, in_order: bool) {
        self.lane.set_role(log, Role::Sequential);
        self.sequential.bind(lbn, log);
        self.sequential.owner[log.0 as usize].1 = in_order;
    }
}

impl Bound {
    fn bind(&mut self, lbn: u32, log: Block) {
        self.of[lbn as usize] = Some(log);
        self.owner[log.0 as usize] = (lbn, true);
        self.order.push(log.0);
    }
}

impl Policy for Last {
    #[inline]
    fn lane(&self) -> &LaneState {
        &self.lane
    }

    #[inline]
    fn lane_mut(&mut self) -> &mut LaneState {
        &mut self.lane
    }

    fn begin(&mut self) {
        let page = self.lane.host;
        let before = self.lane.translate(page).map(|at| self.lane.block_of(at));
        self.hot = before.is_some_and(|block| self.partition(block).is_some())
            && self.clock - self.stamp[page.0 as usize] < self.hot_age;
        self.phase = Phase::Place;
    }

    fn plan(&mut self) -> Option<Step> {
        loop {
            match self.phase {
                Phase::Place => self.place(),
                Phase::Victim { block, cursor } => self.merge_victim(block, cursor),
                Phase::Written => return None,
            }
            if let Some(step) = self.lane.resume() {
                return Some(step);
            }
        }
    }

    fn bytes(&self) -> usize {
        let blocks = self.updated.len();
        8 * (self.stamp.len() + self.sequential.of.len()) + 32 * blocks
    }
}
