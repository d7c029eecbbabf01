//! A lane after a power loss ([`crate::ftl::recovery`]): its blocks sorted by what they were opened
//! for.
//!
//! Log blocks of random writes, second chances and cold pages go back to their queues in the order
//! in which they were opened, if anything in them counts. A data block holds each page in its
//! place, and so do the log block of sequential writes and the target of a merge: where a logical
//! block is left with several of these, its pages are brought together in a free block (one of
//! `spare_blocks`) and they are erased. So the log block of sequential writes is closed by a power
//! loss, and a merge that had programmed the host's page is done anew.
//!
//! Second chances are known again by the block that they are in; a mark without a block of its own
//! (`tail = "mixed"`, renewed blocks) is lost, and the page has another chance. The pointer of the
//! isolation area begins at the first.

use super::fast::Fast;
use super::{Either, LogBlocks, LogLanes, Policy, Step};
use crate::flash::{Block, Spare};
use crate::ftl::PageMap;
use crate::ftl::recovery::{Evidence, Found, Repair, Role};
use crate::units::{Lane, Lpn, Ppn};
use std::collections::BTreeMap;

/// A page of a lane as a scan leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Erased,
    /// It counts no more, and was this page, if it was any.
    Stale(Option<Lpn>),
    Counts(Lpn),
}

/// A lane as a scan finds it, in its own numbers.
struct Scanned {
    cells: Vec<Cell>,
    headers: Vec<Option<(u64, Role)>>,
    erases: Vec<u32>,
    bad: Vec<Block>,
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
    fn opened(&self) -> Vec<(Block, Role)> {
        let lane = self.lane();
        let in_use = |block: &Block| lane.written(*block) > 0;
        let mut queues = match &self.policy {
            Either::Fast(fast) => fast.queues(),
            _ => Vec::new(),
        };
        queues.retain(|(block, _)| in_use(block));
        let others = (0..lane.erases().len() as u32).map(Block).filter(in_use);
        let others = others.filter(|block| queues.iter().all(|(queued, _)| queued != block));
        others.map(|block| (block, Role::Data)).chain(queues.iter().copied()).collect()
    }

    fn rebuild(&mut self, scanned: &Scanned) -> (Vec<Repair>, u32) {
        match &mut self.policy {
            Either::Fast(fast) => fast.rebuild(scanned),
            _ => unreachable!("refused where recovery is asked for"),
        }
    }
}

/// Blocks that hold pages in their places: of each logical block, in the order in which they were
/// opened.
type InPlace = BTreeMap<u32, Vec<(u64, Block)>>;

impl Fast {
    /// The lane is fresh: takes over what a scan found, and says what must be done on flash for it.
    fn rebuild(&mut self, scanned: &Scanned) -> (Vec<Repair>, u32) {
        let mut repairs = Vec::new();
        self.lane_mut().begin_rebuild(&scanned.erases);
        for (at, cell) in (0..).map(Ppn).zip(&scanned.cells) {
            match cell {
                Cell::Erased => {}
                Cell::Stale(_) => self.lane_mut().found(at, None),
                Cell::Counts(page) => self.lane_mut().found(at, Some(*page)),
            }
        }
        let (mut places, mut queued, mut dead): (InPlace, Vec<_>, Vec<_>) = Default::default();
        for (block, header) in (0..).map(Block).zip(&scanned.headers) {
            match *header {
                _ if scanned.bad.contains(&block) => {}
                _ if self.lane().written(block) == 0 => self.lane_mut().freed(block),
                Some((order, Role::Data | Role::Sequential | Role::Copies)) => {
                    match self.logical_block(scanned, block) {
                        Some(lbn) => places.entry(lbn).or_default().push((order, block)),
                        None => dead.push(block),
                    }
                }
                Some((order, role)) if self.lane().valid(block) > 0 => {
                    queued.push((order, block, role))
                }
                _ => dead.push(block),
            }
        }
        let mut merges = Vec::new();
        for (lbn, mut blocks) in places {
            blocks.sort_unstable();
            let counts = |block: &Block| self.lane().valid(*block) > 0;
            let (with, without): (Vec<_>, Vec<_>) =
                blocks.iter().map(|(_, block)| *block).partition(counts);
            let Some(first) = with.first().or(without.first()).copied() else { continue };
            self.lane_mut().set_data(lbn, first);
            dead.extend(without.into_iter().filter(|block| *block != first));
            if with.len() > 1 {
                merges.push((lbn, with[1..].to_vec()));
            }
        }
        for block in dead {
            self.lane_mut().erase(block);
            repairs.push(Repair::Erase { block });
        }
        queued.sort_unstable_by_key(|(order, ..)| *order);
        self.requeue(queued.into_iter().map(|(_, block, role)| (block, role)));
        let merged = merges.len() as u32;
        for (lbn, others) in merges {
            self.lane_mut().merge_full(lbn, false, None);
            while let Some(step) = self.lane_mut().resume() {
                match step {
                    Step::Copy { from, to } => repairs.push(Repair::Copy { from, to }),
                    Step::Erase { block } => repairs.push(Repair::Erase { block }),
                    Step::Program { .. } | Step::Read { .. } | Step::Done => {
                        unreachable!("no host write is under way")
                    }
                }
                self.lane_mut().commit();
            }
            for block in others {
                self.lane_mut().erase(block);
                repairs.push(Repair::Erase { block });
            }
        }
        self.lane_mut().counters = Default::default();
        (repairs, merged)
    }

    /// The logical block whose pages a block holds in their places.
    fn logical_block(&self, scanned: &Scanned, block: Block) -> Option<u32> {
        let pages = self.lane().pages;
        let cells = &scanned.cells[(block.0 * pages) as usize..((block.0 + 1) * pages) as usize];
        let page = |cell: &Cell| match cell {
            Cell::Counts(page) | Cell::Stale(Some(page)) => Some(self.lane().split(*page).0),
            Cell::Erased | Cell::Stale(None) => None,
        };
        let lbn = cells.iter().find_map(page);
        let offset = |cell: &Cell| match cell {
            Cell::Counts(page) | Cell::Stale(Some(page)) => Some(self.lane().split(*page)),
            Cell::Erased | Cell::Stale(None) => None,
        };
        let placed = |(at, cell): (usize, &Cell)| {
            offset(cell).is_none_or(|place| Some(place) == lbn.map(|l| (l, at as u32)))
        };
        assert!(
            cells.iter().enumerate().all(placed),
            "block {} holds each page in its place",
            block.0
        );
        lbn
    }
}
