//! The maps after a power loss: made from nothing but what is on flash.
//!
//! A scan brings the spare area of every page ([`Spare`]): its logical page and the number of its
//! version. The highest number wins, unless a deallocation that was durable has a higher one.
//! Copies carry the number of what they copy, so a page may be there twice with the same content:
//! then the one in the block opened earlier counts, which is the original. So what a collection or
//! a merge had copied when the power failed is void, its target holds nothing that counts and is
//! erased, and the collection begins again with the room that it had before. Preferring the copies
//! would lose that room, a torn row at a time.
//!
//! With a checkpoint ([`Checkpoint`]) only the heads of blocks are read and what it does not vouch
//! for; the maps come out the same.
//!
//! Each block says when it was opened and what for ([`Headers`]; a few bytes in the spare areas of
//! its pages, legible if one of them is). Blocks that were open go on behind what was programmed; a
//! torn row is passed over. Erase counters are taken to be in the system area, exact. Lost, and
//! begun anew: ages, the order of free blocks that are handed out first in first out, cursors and
//! random streams, reads under way.

mod scan;

pub(super) use scan::Found;

use super::page_map::Frontier;
use super::pool::{OpenGroup, OpenLog};
use super::{Checkpoint, PageMap, Reads, Stream, Translation};
use crate::flash::{Block, Flash, Spare};
use crate::units::{Lane, Lpn, Pool, Ppn};
use std::collections::BTreeMap;

/// The use that a block was opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Host data; with log blocks the data block of a logical block, which holds each page in its
    /// place.
    Data,
    /// Page mapping: copies of garbage collection.
    Copies,
    /// Log blocks: what is written again.
    Log,
    /// Log blocks: second chances.
    SecondChance,
    /// Log blocks: sequential writes, each page in its place.
    Sequential,
    /// Log blocks: cold pages.
    Isolation,
}

/// When each block was opened, and what for.
#[derive(Clone, Debug)]
pub struct Headers {
    /// 0: it is not.
    orders: Vec<u64>,
    roles: Vec<Role>,
    last: u64,
}

impl Headers {
    fn new(blocks: u32) -> Self {
        Self { orders: vec![0; blocks as usize], roles: vec![Role::Data; blocks as usize], last: 0 }
    }

    /// True when something is programmed in the block, or about to be.
    #[inline]
    pub(crate) fn is_open(&self, block: Block) -> bool {
        self.orders[block.0 as usize] != 0
    }

    /// When the block was opened; 0: it is not.
    pub(super) fn order(&self, block: Block) -> u64 {
        self.orders[block.0 as usize]
    }

    pub(crate) fn open(&mut self, block: Block, role: Role) {
        self.last += 1;
        (self.orders[block.0 as usize], self.roles[block.0 as usize]) = (self.last, role);
    }

    /// The block is erased.
    #[inline]
    pub(crate) fn close(&mut self, block: Block) {
        self.orders[block.0 as usize] = 0;
    }
}

/// The evidence that is left after a power loss.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The cells.
    pub flash: &'a Flash,
    /// Headers of legible blocks.
    pub headers: &'a Headers,
    /// Erases of every block.
    pub erases: &'a [u32],
    /// Blocks that are out of service: nobody looks at what they hold.
    pub out: &'a [bool],
    /// Durable deallocations: the logical page and the number of its deallocation.
    pub trims: &'a BTreeMap<u32, u64>,
    /// The newest whole checkpoint.
    pub checkpoint: Option<&'a Checkpoint>,
}

/// A repair that the flash needs before the drive can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// A page is copied.
    Copy {
        /// From here,
        from: Ppn,
        /// to an erased page.
        to: Ppn,
    },
    /// A block is erased.
    Erase {
        /// Which.
        block: Block,
    },
    /// A spare takes the place of a block that failed; it is erased.
    Replace {
        /// Whose place.
        block: Block,
    },
}

/// The maps, and what they took.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    /// The layer.
    pub map: PageMap,
    /// Repairs, in their order; the maps count on them.
    pub repairs: Vec<Repair>,
    /// The highest number of any version.
    pub newest: u64,
    /// Rows that hold a torn page, blocks whose erase was cut aside.
    pub torn_rows: u32,
    /// Blocks of which nothing is legible.
    pub illegible_blocks: u32,
    /// Logical blocks of a log-block FTL that were merged.
    pub merges: u32,
    /// The pages read, where there was a checkpoint; every spare area without one.
    pub reads: Option<Reads>,
}

/// A group block that holds something.
struct Group {
    index: u32,
    order: u64,
    role: Role,
}

impl PageMap {
    /// Notes from now on when and what for blocks are opened.
    pub fn keep_headers(&mut self) {
        let mut headers = Headers::new(self.layout.total_blocks());
        if let Some(log) = &self.log {
            for lane in self.layout.each_lane() {
                for (block, role) in log.opened(lane) {
                    headers.open(self.layout.block(lane, block.0), role);
                }
            }
        } else {
            for pool in self.each_pool() {
                let state = &self.pools[pool.index()];
                let open = |stream: Stream| {
                    state.logs[0][stream as usize].open.iter().map(|group| group.index)
                };
                let copies: Vec<u32> = open(Stream::Copy).collect();
                let later = [open(Stream::Host).collect(), copies.clone()].concat();
                let closed: Vec<u32> = state.closed.iter().copied().collect();
                let others = (0..self.layout.blocks)
                    .filter(|index| !later.contains(index) && !closed.contains(index));
                for index in others.chain(closed.iter().copied()).chain(later.iter().copied()) {
                    for block in
                        self.group(pool, index).filter(|block| self.rows_programmed(*block) > 0)
                    {
                        headers.open(
                            block,
                            if copies.contains(&index) { Role::Copies } else { Role::Data },
                        );
                    }
                }
            }
        }
        self.headers = Some(Box::new(headers));
    }

    /// The headers of blocks: when each was opened and what for, if that is noted.
    pub fn headers(&self) -> Option<&Headers> {
        self.headers.as_deref()
    }

    /// The spare area of each programmed page, as if it had been kept from the start: versions
    /// without a history, all of the same number.
    pub fn spares(&self) -> impl Fn(Ppn) -> Spare + use<'_> {
        let mut owners = vec![u32::MAX; self.layout.total_units() as usize];
        // Translation pages, too.
        let pages = if self.log.is_some() { self.logical() } else { self.mapping.logical() };
        for lpn in 0..pages {
            if let Translation::Ready(ppn) = self.translate(Lpn(lpn)) {
                owners[ppn.0 as usize] = lpn;
            }
        }
        move |ppn| match owners[ppn.0 as usize] {
            u32::MAX if self.log.as_ref().is_some_and(|log| !log.is_programmed(ppn)) => {
                Spare::Erased
            }
            u32::MAX => Spare::Padding,
            lpn => Spare::Data { lpn: Lpn(lpn), sequence: 0 },
        }
    }

    /// Rebuilds this fresh map from the evidence on flash.
    pub fn rebuild(mut self, evidence: &Evidence<'_>) -> Rebuilt {
        let mut found = evidence.scan(self.mapping.logical());
        self.blocks.restore_erases(evidence.erases.to_vec());
        let mut headers = evidence.headers.clone();
        for block in
            (0..self.layout.total_blocks()).map(Block).filter(|block| evidence.rows(*block) == 0)
        {
            headers.close(block);
        }
        let (mut repairs, mut merges) = (Vec::new(), 0);
        if self.log.is_some() {
            merges = self.rebuild_lanes(evidence, &found, &mut repairs);
        } else {
            for pool in self.each_pool() {
                self.rebuild_pool(pool, evidence, &mut found, &mut repairs);
            }
            self.put_winners(&found);
        }
        for repair in &repairs {
            match repair {
                Repair::Erase { block } => {
                    self.blocks.erased(*block);
                    headers.close(*block);
                }
                Repair::Replace { block } => headers.close(*block),
                Repair::Copy { to, .. } if !headers.is_open(self.layout.block_of(*to)) => {
                    headers.open(self.layout.block_of(*to), Role::Data);
                }
                Repair::Copy { .. } => {}
            }
        }
        self.headers = Some(Box::new(headers));
        for pool in self.each_pool() {
            self.count_free_units(pool);
        }
        let Found { newest, torn_rows, illegible, reads, .. } = found;
        Rebuilt {
            map: self,
            repairs,
            newest,
            torn_rows,
            illegible_blocks: illegible,
            merges,
            reads,
        }
    }

    fn put_winners(&mut self, found: &Found) {
        for (lpn, ppn) in (0..).map(Lpn).zip(&found.winner) {
            if ppn.is_some() {
                self.mapping.put(lpn, *ppn);
                self.blocks.add_valid(self.layout.block_of(*ppn));
            }
        }
    }

    fn is_winner(evidence: &Evidence<'_>, found: &Found, page: Ppn) -> Option<Lpn> {
        match evidence.flash.spare(page) {
            Spare::Data { lpn, .. } if found.winner[lpn.0 as usize] == page => Some(lpn),
            _ => None,
        }
    }

    /// Sorts the group blocks of a pool into free, open and closed ones.
    fn rebuild_pool(
        &mut self,
        pool: Pool,
        evidence: &Evidence<'_>,
        found: &mut Found,
        repairs: &mut Vec<Repair>,
    ) {
        while self.pools[pool.index()].free.pop().is_some() {}
        let mut groups: Vec<Group> = Vec::new();
        for index in 0..self.layout.blocks {
            if self.group(pool, index).any(|block| evidence.out[block.0 as usize]) {
                continue;
            }
            let headers = self.group(pool, index).filter_map(|block| evidence.header(block));
            let (order, role) =
                headers.min_by_key(|(order, _)| *order).unwrap_or((u64::MAX, Role::Data));
            groups.push(Group { index, order, role });
        }
        groups.sort_by_key(|group| (group.order, group.index));
        for group in &groups {
            self.evict(pool, group.index, evidence, found);
        }
        let (mut open, mut closed): ([Vec<u32>; 2], Vec<u32>) = (Default::default(), Vec::new());
        for group in &groups {
            let blocks: Vec<Block> = self.group(pool, group.index).collect();
            let is_full = blocks.iter().all(|block| evidence.rows(*block) == self.layout.rows);
            let legible = |block: &Block| found.legible[block.0 as usize];
            let failed = blocks.iter().any(|block| self.has_failed(*block));
            let is_whole =
                !failed && is_full && blocks.iter().all(legible) && group.role == Role::Data;
            let pages = || blocks.iter().flat_map(|block| evidence.pages(*block));
            let is_of_use =
                is_whole || pages().any(|page| Self::is_winner(evidence, found, page).is_some());
            if !is_of_use {
                self.free_group(pool, group.index, evidence, repairs);
            } else if failed {
                closed.push(group.index);
                self.found_failed(pool, group.index);
            } else if is_full {
                closed.push(group.index);
            } else {
                let stream = if group.role == Role::Copies { Stream::Copy } else { Stream::Host };
                open[stream as usize].push(group.index);
            }
        }
        for stream in [Stream::Host, Stream::Copy] {
            self.reopen(
                pool,
                stream,
                std::mem::take(&mut open[stream as usize]),
                evidence,
                &mut closed,
            );
        }
        for index in &closed {
            self.group(pool, *index).for_each(|block| self.blocks.set_candidate(block, true));
        }
        if self.keeps_order {
            self.pools[pool.index()].closed = closed.into();
        }
    }

    /// Nothing in a group counts: it is erased, and free. Blocks that failed are replaced instead,
    /// or it is retired.
    fn free_group(
        &mut self,
        pool: Pool,
        index: u32,
        evidence: &Evidence<'_>,
        repairs: &mut Vec<Repair>,
    ) {
        let blocks: Vec<Block> = self.group(pool, index).collect();
        for block in blocks.iter().copied() {
            if self.is_replaced(block) {
                repairs.push(Repair::Replace { block });
            } else if evidence.rows(block) > 0 && !self.has_failed(block) {
                repairs.push(Repair::Erase { block });
            }
        }
        let erased = u32::from(evidence.rows(blocks[0]) > 0);
        if self.group_done(pool, index) {
            let erases = self.blocks.erases(blocks[0]) + erased;
            self.pools[pool.index()].free.push(index, erases);
        }
    }

    /// A victim of several lanes, some of whose blocks are erased already: all that still counts in
    /// it is there as a copy, too, and the copies count instead.
    fn evict(&self, pool: Pool, index: u32, evidence: &Evidence<'_>, found: &mut Found) {
        let blocks: Vec<Block> = self.group(pool, index).collect();
        if blocks.len() == 1 || blocks.iter().all(|block| found.legible[block.0 as usize]) {
            return;
        }
        let pages = || blocks.iter().flat_map(|block| evidence.pages(*block));
        let winners: Vec<Lpn> =
            pages().filter_map(|page| Self::is_winner(evidence, found, page)).collect();
        let is_elsewhere = |lpn: &Lpn| {
            let other = found.other[lpn.0 as usize];
            other.is_some() && !blocks.contains(&self.layout.block_of(other))
        };
        if winners.iter().all(is_elsewhere) {
            winners
                .iter()
                .for_each(|lpn| found.winner[lpn.0 as usize] = found.other[lpn.0 as usize]);
        }
    }

    /// Group blocks that were being written go on behind their last row. Each lane fills them in
    /// their order; one that does not fit in takes no more, and is reclaimed as it is.
    fn reopen(
        &mut self,
        pool: Pool,
        stream: Stream,
        mut groups: Vec<u32>,
        evidence: &Evidence<'_>,
        closed: &mut Vec<u32>,
    ) {
        let (lanes, rows) = (self.lanes_of(pool), self.layout.rows);
        let of = |lane: Lane, index: u32, layout: &crate::flash::Layout| {
            evidence.rows(layout.block(lane, index))
        };
        let fits = |groups: &[u32]| {
            let in_order = |pair: &[u32]| {
                lanes.clone().all(|lane| {
                    of(lane, pair[1], &self.layout) == 0 || of(lane, pair[0], &self.layout) == rows
                })
            };
            groups.windows(2).all(in_order)
        };
        while !fits(&groups) {
            closed.push(groups.remove(0));
        }
        for lane in lanes.clone() {
            let begun =
                groups.iter().take_while(|index| of(lane, **index, &self.layout) > 0).count();
            let frontier = &mut self.frontiers[lane.index()][stream as usize];
            *frontier = Frontier { block: Block(0), row: rows, opened: begun as u64 };
            if let Some(index) = begun.checked_sub(1).map(|last| groups[last]) {
                frontier.block = self.layout.block(lane, index);
                frontier.row = of(lane, index, &self.layout);
            }
        }
        let lanes_done = |index: u32| {
            lanes.clone().filter(|lane| of(*lane, index, &self.layout) == rows).count() as u32
        };
        let group = |index: &u32| OpenGroup {
            index: *index,
            lanes_done: lanes_done(*index),
            is_given_up: false,
        };
        let open = groups.iter().map(group).collect();
        self.pools[pool.index()].logs[0][stream as usize] = OpenLog { open, opened_before: 0 };
    }

    fn count_free_units(&mut self, number: Pool) {
        let lanes = self.lanes_of(number);
        let pool = &self.pools[number.index()];
        let free = pool.free.len() as u32 * pool.lanes * self.layout.units_per_block;
        let rows = |lane: Lane| {
            self.frontiers[lane.index()].iter().map(|f| self.layout.rows - f.row).sum::<u32>()
        };
        let behind = lanes.clone().map(rows).sum::<u32>() * self.layout.units_per_row;
        let ahead: u32 = [Stream::Host, Stream::Copy]
            .into_iter()
            .map(|s| self.units_not_yet_opened(pool, 0, s))
            .sum();
        let erases = (0..self.layout.blocks).map(|index| self.layout.block(lanes.first(), index));
        let erases_max = erases.map(|block| self.blocks.erases(block)).max().unwrap_or(0);
        let pool = &mut self.pools[number.index()];
        (pool.free_units, pool.erases_max) = (free + behind + ahead, erases_max);
    }
}
