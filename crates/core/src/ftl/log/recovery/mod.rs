//! A lane after a power loss ([`crate::ftl::recovery`]): its blocks sorted by what they were opened
//! for.
//!
//! `with_data_blocks` has BAST, FAST, FASTer and LAST, whose data blocks hold each page in its
//! place; `superblock` has the superblock FTL.

mod superblock;
mod with_data_blocks;

pub(super) use with_data_blocks::DataBlocks;

use super::lane::LaneState;
use super::{Either, LogBlocks, LogLanes, Policy, Step};
use crate::flash::{Block, Spare};
use crate::ftl::PageMap;
use crate::ftl::recovery::{Evidence, Found, Repair, Role};
use crate::units::{Lane, Lpn, Ppn};

/// A page of a lane as a scan leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Erased,
    /// It counts no more, and was this page, if it was any.
    Stale(Option<Lpn>),
    Counts(Lpn),
}

/// A lane as a scan finds it, in its own numbers.
pub(super) struct Scanned {
    cells: Vec<Cell>,
    headers: Vec<Option<(u64, Role)>>,
    erases: Vec<u32>,
    bad: Vec<Block>,
}

impl Scanned {
    /// The pages of a block.
    fn cells_of(&self, block: Block, pages: u32) -> &[Cell] {
        &self.cells[(block.0 * pages) as usize..((block.0 + 1) * pages) as usize]
    }

    /// Brings a fresh lane to what was found; returns the blocks in use with the number and the
    /// role of their opening, if it is legible.
    fn take_over(&self, lane: &mut LaneState) -> Vec<(Block, Option<(u64, Role)>)> {
        lane.begin_rebuild(&self.erases);
        for (at, cell) in (0..).map(Ppn).zip(&self.cells) {
            match cell {
                Cell::Erased => {}
                Cell::Stale(_) => lane.found(at, None),
                Cell::Counts(page) => lane.found(at, Some(*page)),
            }
        }
        let mut in_use = Vec::new();
        for (block, header) in (0..).map(Block).zip(&self.headers) {
            if self.bad.contains(&block) {
            } else if lane.written(block) == 0 {
                lane.freed(block);
            } else {
                in_use.push((block, *header));
            }
        }
        in_use
    }
}

impl Cell {
    /// The page that it is or was, if that is legible.
    fn page(&self) -> Option<Lpn> {
        match self {
            Cell::Counts(page) | Cell::Stale(Some(page)) => Some(*page),
            Cell::Erased | Cell::Stale(None) => None,
        }
    }
}

impl LogLanes {
    /// Blocks of a lane that are in use, the longest in use first.
    pub(in crate::ftl) fn opened(&self, lane: Lane) -> Vec<(Block, Role)> {
        self.lanes[lane.index()].opened()
    }

    /// True when the page is programmed.
    pub(in crate::ftl) fn is_programmed(&self, ppn: Ppn) -> bool {
        let lane = Lane(ppn.0 / self.units_per_lane);
        self.lanes[lane.index()].lane().is_programmed(Ppn(ppn.0 % self.units_per_lane))
    }
}

impl PageMap {
    /// Rebuilds each lane; says how many logical blocks were merged.
    pub(in crate::ftl) fn rebuild_lanes(
        &mut self,
        evidence: &Evidence<'_>,
        found: &Found,
        repairs: &mut Vec<Repair>,
    ) -> u32 {
        let layout = self.layout().clone();
        let (units, mut merges) = (layout.units_per_lane(), 0);
        for lane in layout.each_lane() {
            let cell = |at: u32| {
                let page = Ppn(lane.0 * units + at);
                match evidence.flash.spare(page) {
                    Spare::Erased => Cell::Erased,
                    Spare::Torn | Spare::Padding => Cell::Stale(None),
                    Spare::Data { lpn, .. } if found.winner[lpn.0 as usize] == page => {
                        Cell::Counts(Lpn(lpn.0 / layout.lanes))
                    }
                    Spare::Data { lpn, .. } => Cell::Stale(Some(Lpn(lpn.0 / layout.lanes))),
                }
            };
            let blocks = || (0..layout.blocks).map(|index| layout.block(lane, index));
            let mut scanned = Scanned {
                bad: Vec::new(),
                cells: (0..units).map(cell).collect(),
                headers: blocks().map(|block| evidence.header(block)).collect(),
                erases: blocks().map(|block| evidence.erases[block.0 as usize]).collect(),
            };
            let log = self.log.as_mut().expect("the caller saw it");
            scanned.bad =
                (0..layout.blocks).map(Block).filter(|block| log.is_bad(lane, *block)).collect();
            let (own, merged) = log.lanes[lane.index()].rebuild(&scanned);
            merges += merged;
            repairs.extend(own.into_iter().map(|repair| match repair {
                Repair::Copy { from, to } => Repair::Copy {
                    from: Ppn(lane.0 * units + from.0),
                    to: Ppn(lane.0 * units + to.0),
                },
                Repair::Erase { block } => Repair::Erase { block: layout.block(lane, block.0) },
                Repair::Replace { .. } => unreachable!("lanes have no groups"),
            }));
        }
        merges
    }
}

impl LogBlocks {
    /// Data blocks first; the others in the order in which they were opened.
    fn opened(&self) -> Vec<(Block, Role)> {
        let lane = self.lane();
        let in_use = |block: &Block| lane.written(*block) > 0;
        let mut others = match &self.policy {
            Either::Bast(bast) => bast.queues(),
            Either::Fast(fast) => fast.queues(),
            Either::Last(last) => last.queues(),
            Either::Superblock(superblock) => superblock.queues(),
            _ => Vec::new(),
        };
        others.retain(|(block, _)| in_use(block));
        let data = (0..lane.erases().len() as u32).map(Block).filter(in_use);
        let data = data.filter(|block| others.iter().all(|(queued, _)| queued != block));
        data.map(|block| (block, Role::Data)).chain(others.iter().copied()).collect()
    }

    fn rebuild(&mut self, scanned: &Scanned) -> (Vec<Repair>, u32) {
        let rebuilt = match &mut self.policy {
            Either::Bast(bast) => with_data_blocks::rebuild(bast, scanned),
            Either::Fast(fast) => with_data_blocks::rebuild(fast, scanned),
            Either::Last(last) => with_data_blocks::rebuild(&mut **last, scanned),
            Either::Superblock(superblock) => superblock.rebuild(scanned),
            _ => unreachable!("refused where recovery is asked for"),
        };
        self.lane_mut().counters = Default::default();
        rebuilt
    }
}

/// The steps of what is under way in a lane without a host write, as repairs.
fn carry_out(policy: &mut impl Policy, repairs: &mut Vec<Repair>) {
    while let Some(step) = policy.lane_mut().resume() {
        match step {
            Step::Copy { from, to } => repairs.push(Repair::Copy { from, to }),
            Step::Erase { block } => repairs.push(Repair::Erase { block }),
            Step::Program { .. } | Step::Read { .. } | Step::Done => {
                unreachable!("no host write is under way")
            }
        }
        policy.lane_mut().commit();
    }
}

fn erase(policy: &mut impl Policy, block: Block, repairs: &mut Vec<Repair>) {
    policy.lane_mut().erase(block);
    repairs.push(Repair::Erase { block });
}
