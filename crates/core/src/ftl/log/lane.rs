//! The blocks of one lane under a log-block FTL: what is where, what is programmed, merges under
//! way, counters.
//!
//! One table says where the newest version of each logical page is, in a data block or in the log.
//! A real FTL has a block map and a page map of the log that together say the same; here neither a
//! read nor a merge ever searches. The table changes when a program is done
//! ([`LaneState::commit`]), so it is right between any two steps of any chain.

mod merge;

pub(super) use merge::Merge;

use super::Step;
use super::kin::Kin;
use super::levelling::Levelling;
use super::ranks::Ranks;
use crate::flash::Block;
use crate::ftl::recovery::Role;
use crate::sim::Divisor;
use crate::stats::LogCounters;
use crate::units::{Lpn, Ppn};
use merge::Gathering;
use std::collections::VecDeque;

const NO_BLOCK: Block = Block(u32::MAX);
const NO_PAGE: Lpn = Lpn(u32::MAX);

/// The state of a lane's blocks.
#[derive(Clone, Debug)]
pub(super) struct LaneState {
    /// Pages of a block.
    pub pages: u32,
    by_block: Divisor,
    /// Logical pages that the host has.
    logical: u32,
    /// The newest version of each logical page.
    location: Vec<Ppn>,
    /// The logical page whose newest version a physical page holds.
    holds: Vec<Lpn>,
    valid: Vec<u32>,
    /// One more than the last programmed offset of each block.
    written: Vec<u32>,
    programmed: Vec<u64>,
    /// Pages that had their second chance; an erase clears them.
    marks: Vec<u64>,
    erases: Vec<u32>,
    /// The data block of each logical block.
    data: Vec<Block>,
    /// The role that each block was opened for last.
    roles: Vec<Role>,
    pub(super) free: VecDeque<Block>,
    /// Which free block is opened, and which data block is moved.
    pub(super) levelling: Levelling,
    ranks: Option<Box<Ranks>>,
    /// LAST: how many logical blocks the pages of each log block belong to.
    pub kin: Option<Box<Kin>>,
    out_of_order: bool,
    gathering: Option<Gathering>,
    /// Blocks without valid pages whose erase is next.
    dead: [Block; 2],
    /// The page of the host write under way.
    pub host: Lpn,
    /// Pages of the request that it belongs to.
    pub request_pages: u32,
    /// The erase given out has failed: its block is not free then.
    loses: bool,
    /// The step that was given out and is not done.
    pending: Option<Step>,
    busy: bool,
    chain: u64,
    merges: u64,
    pub counters: LogCounters,
}

impl LaneState {
    /// Erased blocks, all free.
    pub fn new(pages: u32, logical: u32, blocks: u32, out_of_order: bool) -> Self {
        let data = logical.div_ceil(pages);
        let total = (blocks * pages) as usize;
        Self {
            pages,
            by_block: Divisor::new(pages),
            logical,
            location: vec![Ppn::NONE; (data * pages) as usize],
            holds: vec![NO_PAGE; total],
            valid: vec![0; blocks as usize],
            written: vec![0; blocks as usize],
            programmed: vec![0; total.div_ceil(64)],
            marks: vec![0; total.div_ceil(64)],
            erases: vec![0; blocks as usize],
            data: vec![NO_BLOCK; data as usize],
            roles: vec![Role::Data; blocks as usize],
            free: (0..blocks).map(Block).collect(),
            levelling: Levelling::default(),
            ranks: None,
            kin: None,
            out_of_order,
            gathering: None,
            dead: [NO_BLOCK; 2],
            host: NO_PAGE,
            request_pages: 1,
            loses: false,
            pending: None,
            busy: false,
            chain: 0,
            merges: 0,
            counters: LogCounters::default(),
        }
    }

    /// Where the newest version of a page is.
    #[inline]
    pub fn translate(&self, page: Lpn) -> Option<Ppn> {
        let at = self.location[page.0 as usize];
        at.is_some().then_some(at)
    }

    /// The logical block of a page and its offset there.
    #[inline]
    pub fn split(&self, page: Lpn) -> (u32, u32) {
        self.by_block.split(page.0)
    }

    #[inline]
    pub fn block_of(&self, page: Ppn) -> Block {
        Block(self.by_block.quotient(page.0))
    }

    #[inline]
    pub fn page(&self, block: Block, offset: u32) -> Ppn {
        Ppn(block.0 * self.pages + offset)
    }

    /// The logical page whose newest version lies there.
    #[inline]
    pub fn valid_page(&self, at: Ppn) -> Option<Lpn> {
        let page = self.holds[at.0 as usize];
        (page != NO_PAGE).then_some(page)
    }

    pub fn valid(&self, block: Block) -> u32 {
        self.valid[block.0 as usize]
    }

    pub fn written(&self, block: Block) -> u32 {
        self.written[block.0 as usize]
    }

    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    pub fn bytes(&self) -> usize {
        4 * (self.location.len() + self.holds.len() + 3 * self.valid.len() + self.data.len())
            + 8 * (self.programmed.len() + self.marks.len())
            + self.kin.as_ref().map_or(0, |kin| kin.bytes())
    }

    pub fn is_busy(&self) -> bool {
        self.busy
    }

    /// A host write begins.
    pub fn begin(&mut self, page: Lpn) {
        assert!(!self.busy, "a lane takes one write at a time");
        assert!(page.0 < self.logical, "page {} is not one of the lane's {}", page.0, self.logical);
        (self.host, self.busy, self.chain, self.merges) = (page, true, 0, 0);
        self.counters.writes += 1;
    }

    /// The host gives a page back: nothing is to be read there any more.
    pub fn trim(&mut self, page: Lpn) {
        let at = std::mem::replace(&mut self.location[page.0 as usize], Ppn::NONE);
        if at.is_some() {
            self.holds[at.0 as usize] = NO_PAGE;
            let block = self.block_of(at);
            self.valid[block.0 as usize] -= 1;
            if let Some(ranks) = &mut self.ranks {
                ranks.lost_one(block, self.counters.writes);
            }
            if let Some(kin) = &mut self.kin {
                kin.lost(at, block);
            }
        }
    }

    /// Takes a free block.
    pub fn take(&mut self, role: Role) -> Block {
        let block = self
            .next_free()
            .and_then(|at| self.free.remove(at))
            .expect("data, log and spare never need more blocks than `Shape` counts");
        self.opened(block, role)
    }

    #[inline]
    pub(super) fn opened(&mut self, block: Block, role: Role) -> Block {
        self.roles[block.0 as usize] = role;
        block
    }

    /// Logical blocks of the lane.
    pub(super) fn logical_blocks(&self) -> u32 {
        self.data.len() as u32
    }

    /// True where every page that the logical block has is in this block.
    pub(super) fn holds_all_of(&self, lbn: u32, block: Block) -> bool {
        let pages = (lbn * self.pages) as usize..((lbn + 1) * self.pages) as usize;
        let mut written = self.location[pages].iter().filter(|at| at.is_some());
        written.all(|at| self.block_of(*at) == block)
    }

    pub fn role(&self, block: Block) -> Role {
        self.roles[block.0 as usize]
    }

    /// Takes a free block out of service.
    pub fn withdraw(&mut self, block: Block) {
        self.free.retain(|free| *free != block);
    }

    /// The erase that was given out has failed: its block is out of service with
    /// [`LaneState::commit`].
    pub fn lose(&mut self) {
        self.loses = true;
    }

    pub fn free_blocks(&self) -> usize {
        self.free.len()
    }

    /// Closed blocks are ranked by their valid pages from now on.
    pub fn keep_ranks(&mut self) {
        self.ranks = Some(Box::new(Ranks::new(self.valid.len() as u32, self.pages)));
    }

    /// A block is closed: it may be a victim.
    pub fn rank(&mut self, block: Block) {
        let valid = self.valid(block);
        if let Some(ranks) = &mut self.ranks {
            ranks.insert(block, valid, self.counters.writes);
        }
    }

    /// Takes the closed block with the fewest valid pages.
    pub fn least_valid(&mut self) -> Block {
        self.ranks.as_mut().expect("the policy keeps ranks").take_least()
    }

    /// Takes the closed block that cost-benefit values most; the clock is the host's writes.
    pub fn worthiest(&mut self) -> Block {
        self.ranks.as_mut().expect("the policy keeps ranks").take_worthiest(self.counters.writes)
    }

    /// The data block of a logical block, if it has one.
    pub fn data_block(&self, lbn: u32) -> Option<Block> {
        let block = self.data[lbn as usize];
        (block != NO_BLOCK).then_some(block)
    }

    /// A logical block has no data block any more; what pages it has are elsewhere, or about to be.
    pub fn forget_data_block(&mut self, lbn: u32) {
        self.data[lbn as usize] = NO_BLOCK;
    }

    /// Where the host's page may be programmed in its data block, which is made if there is none.
    pub fn in_place(&mut self, page: Lpn) -> Option<Ppn> {
        let (lbn, offset) = self.split(page);
        if self.data[lbn as usize] == NO_BLOCK {
            self.data[lbn as usize] = self.take(Role::Data);
        }
        let at = self.page(self.data[lbn as usize], offset);
        let block = self.data[lbn as usize].0 as usize;
        let allowed =
            self.written[block] <= offset || (self.out_of_order && !is_set(&self.programmed, at));
        allowed.then(|| {
            self.counters.in_place += 1;
            at
        })
    }

    /// The next page of a log block.
    #[inline]
    pub fn append(&self, block: Block) -> Ppn {
        debug_assert!(self.written(block) < self.pages);
        self.page(block, self.written(block))
    }

    /// True when a block has erased pages left.
    #[inline]
    pub fn has_room(&self, block: Option<Block>) -> bool {
        block.is_some_and(|block| self.written(block) < self.pages)
    }

    pub fn mark(&mut self, at: Ppn) {
        self.marks[at.0 as usize / 64] |= 1 << (at.0 % 64);
    }

    #[inline]
    pub fn is_marked(&self, at: Ppn) -> bool {
        is_set(&self.marks, at)
    }

    /// True when all pages of a logical block before an offset have been written.
    pub fn is_written_before(&self, lbn: u32, offset: u32) -> bool {
        let first = (lbn * self.pages) as usize;
        self.location[first..first + offset as usize].iter().all(|at| at.is_some())
    }

    /// Marks every page of a block.
    pub fn mark_block(&mut self, block: Block) {
        (0..self.pages).for_each(|offset| self.mark(self.page(block, offset)));
    }

    /// True when every page of a block is valid and none is marked.
    pub fn is_full_and_unmarked(&self, block: Block) -> bool {
        let marked = |offset| self.is_marked(self.page(block, offset));
        self.valid(block) == self.pages && !(0..self.pages).any(marked)
    }

    /// Gives a step out: it is pending until [`LaneState::commit`].
    #[inline]
    pub fn give(&mut self, step: Step) -> Option<Step> {
        self.pending = Some(step);
        self.pending
    }

    /// The write under way has nothing left to do.
    pub fn end(&mut self) {
        let counters = &mut self.counters;
        counters.longest_chain = counters.longest_chain.max(self.chain);
        counters.most_merges = counters.most_merges.max(self.merges);
        (self.host, self.busy) = (NO_PAGE, false);
    }

    /// The step given out is done on flash: the maps follow.
    #[inline]
    pub fn commit(&mut self) {
        let step = self.pending.take().expect("done without a step");
        self.chain += 1;
        match step {
            Step::Copy { from, to } => {
                self.counters.copies += 1;
                self.program(to);
                // The page may have been given back meanwhile: then the copy is stale on commit.
                if let Some(page) = self.valid_page(from) {
                    self.trim(page);
                    self.put(page, to);
                }
            }
            Step::Program { page, to } => {
                self.counters.programs += 1;
                self.program(to);
                self.trim(page);
                self.put(page, to);
            }
            Step::Erase { block } => self.erase(block),
            Step::Read { .. } => self.counters.map_reads += 1,
            Step::Done => unreachable!("it is never pending"),
        }
    }

    #[inline]
    fn put(&mut self, page: Lpn, at: Ppn) {
        self.location[page.0 as usize] = at;
        self.holds[at.0 as usize] = page;
        let block = self.block_of(at);
        self.valid[block.0 as usize] += 1;
    }

    #[inline]
    fn program(&mut self, at: Ppn) {
        let (block, offset) = self.by_block.split(at.0);
        let written = &mut self.written[block as usize];
        assert!(!is_set(&self.programmed, at), "page {} is programmed twice", at.0);
        assert!(
            offset >= *written || self.out_of_order,
            "page {} is programmed after a later one",
            at.0
        );
        *written = (*written).max(offset + 1);
        self.programmed[at.0 as usize / 64] |= 1 << (at.0 % 64);
    }

    /// Nothing is free, and each block has been erased so often: what a scan finds follows.
    pub fn begin_rebuild(&mut self, erases: &[u32]) {
        self.free.clear();
        self.erases.copy_from_slice(erases);
        erases.iter().for_each(|erases| self.levelling.found(*erases));
    }

    /// A scan found the page programmed, with the newest version of `page` if there is one.
    pub fn found(&mut self, at: Ppn, page: Option<Lpn>) {
        self.program(at);
        if let Some(page) = page {
            self.put(page, at);
        }
    }

    /// A scan found the block erased.
    pub fn freed(&mut self, block: Block) {
        self.free.push_back(block);
    }

    pub fn set_data(&mut self, lbn: u32, block: Block) {
        self.data[lbn as usize] = block;
    }

    pub fn set_role(&mut self, block: Block, role: Role) {
        self.roles[block.0 as usize] = role;
    }

    pub fn is_programmed(&self, at: Ppn) -> bool {
        is_set(&self.programmed, at)
    }

    pub fn erase(&mut self, block: Block) {
        assert_eq!(self.valid(block), 0, "block {} is erased with valid pages", block.0);
        self.counters.erases += 1;
        self.erases[block.0 as usize] += 1;
        self.levelling.erased(self.erases[block.0 as usize]);
        self.written[block.0 as usize] = 0;
        let pages = block.0 * self.pages..(block.0 + 1) * self.pages;
        clear(&mut self.programmed, pages.clone());
        clear(&mut self.marks, pages);
        if !std::mem::take(&mut self.loses) {
            self.free.push_back(block);
        }
    }
}

#[inline]
fn is_set(bits: &[u64], at: Ppn) -> bool {
    bits[at.0 as usize / 64] >> (at.0 % 64) & 1 == 1
}

fn clear(bits: &mut [u64], range: std::ops::Range<u32>) {
    if range.start.is_multiple_of(64) && range.end.is_multiple_of(64) {
        bits[range.start as usize / 64..range.end as usize / 64].fill(0);
    } else {
        range.for_each(|at| bits[at as usize / 64] &= !(1 << (at % 64)));
    }
}
