//! Superblock FTL: N adjacent logical blocks share their data blocks and a few update blocks, and
//! within them a page may be anywhere (Kang, Jo, Kim and Lee, "A superblock-based flash translation
//! layer for NAND flash memory", EMSOFT 2006).
//!
//! A superblock has a D-block for each of its logical blocks and draws U-blocks from a pool that
//! all share. A page that was never written goes to its place in a D-block; an update is appended
//! to the open U-block. When none can be had (M drawn, or the pool is empty), the superblock
//! itself, or else the one whose last U-block was drawn least recently, is collected; the first
//! that applies:
//!
//! 1. a block without valid pages is erased;
//! 2. a U-block that holds a whole logical block in place becomes its D-block: a switch, the erase
//!    of the old one;
//! 3. one that holds the front of a logical block in place gets the rest copied: a partial merge,
//!    one erase;
//! 4. valid pages are copied together, hot ones (updated since they last went through this) apart
//!    from cold ones: whole blocks of cold pages, the cold pages left over with the hot ones, so
//!    that no more blocks are needed than without.
//!
//! The use of blocks is only a number for each superblock: as many as its logical blocks are its
//! own, the others are the pool's. After step 4 a D-block may hold any pages.
//!
//! Step 4 takes the blocks with the fewest valid pages, as many as save one block
//! (`superblock_compaction = "least"`), or all; the paper's own choice is not in what was at hand.
//! A source is erased as soon as it is empty, so two blocks to spare are enough: with `j` sources
//! begun, two open targets hold at most `j` blocks' pages and so number at most `j + 1`, and `j -
//! 1` sources are erased.
//!
//! The page map lies in the spare areas of the pages, a table in each, written with it: that costs
//! nothing. What is not in RAM costs a read of a spare area: tables of [`TABLE_PAGES`] logical
//! pages, in a cache in LRU order. One level is modelled of the paper's three. Collecting asks for
//! no such reads: who copies a page reads its spare area with it.
//!
//! Trap: steps 2 and 3 trust that the D-block has nothing newer than the front. So it is: erased
//! places of a D-block take a page's first write, and one is made before anything goes elsewhere,
//! unless the superblock has all of its own blocks; it has fewer again only after everything was
//! copied together.

use super::lane::{LaneState, Merge};
use super::queue::Queue;
use super::{Compaction, LogSpec, Policy, Shape, Step};
use crate::flash::Block;
use crate::ftl::recovery::Role;
use crate::units::{Lpn, Ppn};

/// Logical pages of a table of the page map.
pub(super) const TABLE_PAGES: u32 = 8;

const NONE: u32 = u32::MAX;

/// The policy.
#[derive(Clone, Debug)]
pub(super) struct Superblock {
    pub(super) lane: LaneState,
    /// Logical blocks of a superblock, and most U-blocks.
    pub(super) size: u32,
    pub(super) updates_max: u32,
    pub(super) groups: Vec<Group>,
    /// Blocks that may still be drawn.
    pub(super) drawable: u32,
    /// Superblocks with U-blocks, the one that drew its last one least recently first.
    order: Queue,
    /// Logical blocks that have, or had, a block with every page in its place.
    pub(super) placed: Vec<bool>,
    /// The logical block of which a block has every page in its place; and of which it has the
    /// front, by updates.
    pub(super) home_of: Vec<u32>,
    front_of: Vec<u32>,
    /// Updates of each page since step 4 last copied it.
    updates: Vec<u8>,
    hot: u8,
    all: bool,
    cache: Option<MapCache>,
    compacting: Compacting,
    phase: Phase,
}

/// A superblock.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Its logical blocks: as many blocks are its own.
    pub(super) own: u32,
    pub(super) blocks: Vec<Block>,
    /// Those that updates go to, the next one last.
    pub(super) open: Vec<Block>,
    /// Blocks drawn from the pool.
    drawn: u32,
}

/// Step 4 under way.
#[derive(Clone, Debug)]
struct Compacting {
    group: u32,
    sources: Vec<(u32, u32, Block)>,
    /// The source and the next of its pages.
    source: usize,
    cursor: u32,
    /// For cold and for hot pages.
    targets: [Option<Block>; 2],
    /// Cold pages that still go to blocks of their own.
    cold: u32,
}

/// How far the host write under way is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    LookUp,
    Place,
    Compact,
    Written,
}

impl Superblock {
    pub fn new(spec: &LogSpec, shape: &Shape, lane: LaneState) -> Self {
        let (size, blocks) = (spec.superblock_blocks, lane.erases().len());
        let group = |first: u32| Group {
            own: size.min(shape.data - first),
            blocks: Vec::new(),
            open: Vec::new(),
            drawn: 0,
        };
        let groups: Vec<Group> = (0..shape.data).step_by(size as usize).map(group).collect();
        let pages = (shape.data * lane.pages) as usize;
        Self {
            size,
            updates_max: spec.superblock_updates,
            drawable: shape.random,
            order: Queue::new(groups.len() as u32),
            groups,
            placed: vec![false; shape.data as usize],
            home_of: vec![NONE; blocks],
            front_of: vec![NONE; blocks],
            updates: vec![0; pages],
            hot: spec.superblock_hot as u8,
            all: spec.superblock_compaction == Compaction::All,
            cache: (spec.superblock_cache > 0)
                .then(|| MapCache::new(pages as u32, spec.superblock_cache)),
            compacting: Compacting {
                group: 0,
                sources: Vec::new(),
                source: 0,
                cursor: 0,
                targets: [None; 2],
                cold: 0,
            },
            phase: Phase::Written,
            lane,
        }
    }

    /// Looks the table of a page up; the page whose spare area must be read for it, if any.
    pub fn look_up(&mut self, page: Lpn) -> Option<Ppn> {
        let cache = self.cache.as_mut()?;
        if !cache.misses(page.0 / TABLE_PAGES) {
            return None;
        }
        // The newest table is beside the page that was programmed last; that one may have been
        // given back.
        let first = page.0 / TABLE_PAGES * TABLE_PAGES;
        let newest = first + u32::from(cache.newest[(page.0 / TABLE_PAGES) as usize]);
        let end = (first + TABLE_PAGES).min(self.updates.len() as u32);
        std::iter::once(newest).chain(first..end).find_map(|page| self.lane.translate(Lpn(page)))
    }

    fn give(&mut self, page: Lpn, step: Step) {
        if let Some(cache) = &mut self.cache {
            cache.newest[(page.0 / TABLE_PAGES) as usize] = (page.0 % TABLE_PAGES) as u8;
        }
        self.lane.give(step);
    }

    fn program(&mut self, to: Ppn) {
        let page = self.lane.host;
        self.give(page, Step::Program { page, to });
        self.phase = Phase::Written;
    }

    fn place(&mut self) {
        let page = self.lane.host;
        let (lbn, offset) = self.lane.split(page);
        let group = &mut self.groups[(lbn / self.size) as usize];
        let makes = !self.placed[lbn as usize] && group.blocks.len() < group.own as usize;
        if (makes || self.lane.data_block(lbn).is_some())
            && let Some(to) = self.lane.in_place(page)
        {
            if let (true, Some(block)) = (makes, self.lane.data_block(lbn)) {
                self.placed[lbn as usize] = true;
                self.home_of[block.0 as usize] = lbn;
                group.blocks.push(block);
            }
            return self.program(to);
        }
        while let Some(open) = group.open.last().copied() {
            if self.lane.has_room(Some(open)) {
                return self.append(page, lbn, offset, open);
            }
            group.open.pop();
        }
        if group.blocks.len() < group.own as usize
            || (group.drawn < self.updates_max && self.drawable > 0)
        {
            return self.draw(lbn / self.size);
        }
        match self.order.first() {
            Some(least_recent) if group.drawn < self.updates_max => self.collect(least_recent),
            _ => self.collect(lbn / self.size),
        }
    }

    /// The blocks that are no D-blocks, of the superblock that drew one least recently first.
    pub(super) fn queues(&self) -> Vec<(Block, Role)> {
        let group = |number: u32| &self.groups[number as usize];
        let numbers = (0..self.groups.len() as u32).filter(|number| group(*number).drawn == 0);
        let groups = numbers.chain(self.order.iter()).map(group);
        let blocks = groups.flat_map(|of| {
            of.blocks.iter().filter(|it| !of.open.contains(it)).chain(&of.open).copied()
        });
        let is_no_home = |block: &Block| self.home_of[block.0 as usize] == NONE;
        blocks.filter(is_no_home).map(|block| (block, Role::Log)).collect()
    }

    fn append(&mut self, page: Lpn, lbn: u32, offset: u32, open: Block) {
        let front = &mut self.front_of[open.0 as usize];
        let next = self.lane.written(open);
        if next == 0 && offset == 0 {
            *front = lbn;
        } else if *front != lbn || offset != next {
            *front = NONE;
        }
        let updates = &mut self.updates[page.0 as usize];
        *updates = updates.saturating_add(1);
        self.program(self.lane.append(open));
    }

    fn draw(&mut self, number: u32) {
        let block = self.lane.take(Role::Log);
        let group = &mut self.groups[number as usize];
        group.blocks.push(block);
        group.open.push(block);
        if group.drawn > 0 {
            self.order.remove(number);
            self.order.push(number);
        }
        self.settle(number);
    }

    /// The pool follows the number of a superblock's blocks.
    pub(super) fn settle(&mut self, number: u32) {
        let group = &mut self.groups[number as usize];
        let drawn = (group.blocks.len() as u32).saturating_sub(group.own);
        let before = std::mem::replace(&mut group.drawn, drawn);
        self.drawable = self.drawable + before - drawn;
        match (before, drawn) {
            (0, 1..) => self.order.push(number),
            (1.., 0) => self.order.remove(number),
            _ => {}
        }
    }

    /// Frees a block of a superblock.
    fn collect(&mut self, number: u32) {
        let (lane, group) = (&self.lane, &self.groups[number as usize]);
        let is_dead = |block: &&Block| lane.valid(**block) == 0 && lane.written(**block) > 0;
        let front = |block: Block, lbn: u32| self.front_of[block.0 as usize] == lbn && lbn != NONE;
        if let Some(dead) = group.blocks.iter().find(is_dead).copied() {
            let lbn = self.home_of[dead.0 as usize];
            let is_whole = |block: &&Block| front(**block, lbn) && !lane.has_room(Some(**block));
            match group.blocks.iter().find(is_whole).copied() {
                Some(whole) => self.replace_home(number, lbn, whole, dead),
                None => {
                    self.detach(number, dead);
                    self.settle(number);
                    self.lane.give(Step::Erase { block: dead });
                }
            }
            return;
        }
        let home = |block: &Block| match self.front_of[block.0 as usize] {
            NONE => None,
            lbn => lane.data_block(lbn).map(|home| (lbn, *block, home)),
        };
        match group.blocks.iter().find_map(home) {
            Some((lbn, front, old)) => self.replace_home(number, lbn, front, old),
            None => self.compact(number),
        }
    }

    /// A block with the front of a logical block becomes its D-block; what is missing is copied
    /// there.
    fn replace_home(&mut self, number: u32, lbn: u32, front: Block, old: Block) {
        if let Some(cache) = &mut self.cache {
            cache.moved(
                lbn * self.lane.pages + self.lane.written(front),
                (lbn + 1) * self.lane.pages,
            );
        }
        self.lane.merge_into(lbn, front, false);
        let group = &mut self.groups[number as usize];
        group.blocks.retain(|block| *block != old);
        group.open.retain(|block| *block != front);
        self.home_of[old.0 as usize] = NONE;
        self.home_of[front.0 as usize] = lbn;
        self.front_of[front.0 as usize] = NONE;
        self.settle(number);
    }

    fn detach(&mut self, number: u32, block: Block) {
        let group = &mut self.groups[number as usize];
        group.blocks.retain(|other| *other != block);
        self.close(number, block);
    }

    /// Nothing is written to a block any more, in place or behind its end.
    pub(super) fn close(&mut self, number: u32, block: Block) {
        self.groups[number as usize].open.retain(|other| *other != block);
        self.front_of[block.0 as usize] = NONE;
        let lbn = std::mem::replace(&mut self.home_of[block.0 as usize], NONE);
        if lbn != NONE {
            self.lane.forget_data_block(lbn);
        }
    }

    /// Chooses what is copied together.
    fn compact(&mut self, number: u32) {
        let compacting = &mut self.compacting;
        compacting.sources.clear();
        let blocks = self.groups[number as usize].blocks.iter().enumerate();
        compacting
            .sources
            .extend(blocks.map(|(nth, block)| (self.lane.valid(*block), nth as u32, *block)));
        compacting.sources.sort_unstable();
        let (mut sum, mut sources) = (0, 0);
        for (valid, ..) in &compacting.sources {
            (sum, sources) = (sum + valid, sources + 1);
            if !self.all && sum <= (sources - 1) * self.lane.pages {
                break;
            }
        }
        compacting.sources.truncate(sources as usize);
        (compacting.group, compacting.source, compacting.cursor) = (number, 0, 0);
        debug_assert!(
            sum.div_ceil(self.lane.pages) < sources,
            "a superblock with U-blocks has a block to save"
        );
        let mut cold = 0;
        for nth in 0..sources as usize {
            let source = self.compacting.sources[nth].2;
            self.close(number, source);
            let valid = |offset| self.lane.valid_page(self.lane.page(source, offset));
            cold += (0..self.lane.written(source))
                .filter_map(valid)
                .filter(|page| !self.is_hot(*page))
                .count() as u32;
        }
        // Room that the cold pages do not fill is left to the hot ones, so that the host's next
        // updates go there too.
        (self.compacting.targets, self.compacting.cold) =
            ([None; 2], cold - cold % self.lane.pages);
        self.phase = Phase::Compact;
    }

    fn copy(&mut self) {
        let number = self.compacting.group;
        let Some((.., source)) = self.compacting.sources.get(self.compacting.source).copied()
        else {
            for target in self.compacting.targets {
                if self.lane.has_room(target) {
                    self.groups[number as usize].open.extend(target);
                }
            }
            self.settle(number);
            self.phase = Phase::Place;
            return;
        };
        for cursor in self.compacting.cursor..self.lane.written(source) {
            let from = self.lane.page(source, cursor);
            let Some(page) = self.lane.valid_page(from) else { continue };
            let target = self.target(self.is_hot(page));
            self.updates[page.0 as usize] = 0;
            self.compacting.cursor = cursor + 1;
            let to = self.lane.append(target);
            return self.give(page, Step::Copy { from, to });
        }
        (self.compacting.source, self.compacting.cursor) = (self.compacting.source + 1, 0);
        self.groups[number as usize].blocks.retain(|block| *block != source);
        self.lane.give(Step::Erase { block: source });
    }

    fn is_hot(&self, page: Lpn) -> bool {
        self.hot > 0 && self.updates[page.0 as usize] >= self.hot
    }

    /// Where the next hot or cold page goes.
    fn target(&mut self, hot: bool) -> Block {
        let compacting = &mut self.compacting;
        let apart = !hot && compacting.cold > 0;
        compacting.cold -= u32::from(apart);
        let target = &mut compacting.targets[usize::from(!apart)];
        match *target {
            Some(open) if self.lane.has_room(Some(open)) => open,
            _ => {
                let block = self.lane.take(Role::Log);
                *target = Some(block);
                self.groups[compacting.group as usize].blocks.push(block);
                self.lane.count(Merge::Full);
                block
            }
        }
    }
}

impl Policy for Superblock {
    #[inline]
    fn lane(&self) -> &LaneState {
        &self.lane
    }

    #[inline]
    fn lane_mut(&mut self) -> &mut LaneState {
        &mut self.lane
    }

    fn begin(&mut self) {
        self.phase = Phase::LookUp;
    }

    fn plan(&mut self) -> Option<Step> {
        loop {
            match self.phase {
                Phase::LookUp => {
                    self.phase = Phase::Place;
                    if let Some(page) = self.look_up(self.lane.host) {
                        return self.lane.give(Step::Read { page });
                    }
                }
                Phase::Place => self.place(),
                Phase::Compact => self.copy(),
                Phase::Written => return None,
            }
            if let Some(step) = self.lane.resume() {
                return Some(step);
            }
        }
    }

    fn bytes(&self) -> usize {
        let cache = self.cache.as_ref().map_or(0, |cache| 10 * cache.newest.len());
        self.updates.len()
            + self.placed.len()
            + 8 * self.home_of.len()
            + 56 * self.groups.len()
            + cache
    }
}

/// Tables of the page map that are in RAM.
#[derive(Clone, Debug)]
struct MapCache {
    most: u32,
    cached: Vec<bool>,
    order: Queue,
    /// Of the pages of each table, the one that was programmed last.
    newest: Vec<u8>,
}

impl MapCache {
    fn new(pages: u32, most: u32) -> Self {
        let tables = pages.div_ceil(TABLE_PAGES);
        Self {
            most,
            cached: vec![false; tables as usize],
            order: Queue::new(tables),
            newest: vec![0; tables as usize],
        }
    }

    /// True when a table was not there; it is now.
    fn misses(&mut self, table: u32) -> bool {
        let hit = std::mem::replace(&mut self.cached[table as usize], true);
        if hit {
            self.order.remove(table);
        } else if self.order.len == self.most
            && let Some(first) = self.order.first()
        {
            self.order.remove(first);
            self.cached[first as usize] = false;
        }
        self.order.push(table);
        !hit
    }

    /// A range of pages is copied in order: of each table, the last one is the newest.
    fn moved(&mut self, first: u32, end: u32) {
        for page in
            (first..end).filter(|page| (page + 1).is_multiple_of(TABLE_PAGES) || page + 1 == end)
        {
            self.newest[(page / TABLE_PAGES) as usize] = (page % TABLE_PAGES) as u8;
        }
    }
}
