//! A flash that executes chains step by step, with the content of every page, and what is tested on
//! it.

mod arithmetic;
mod defects;
mod levelling;
mod models;
mod naive;
mod naive_last;
mod naive_mapping;
mod naive_superblock;
mod newer;
mod reference;
mod rules;
mod table2;

use super::{LogBlocks, LogSpec, Step};
use crate::sim::Rng;
use crate::stats::LogCounters;
use crate::units::Lpn;

/// The cost of one write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cost {
    copies: u64,
    programs: u64,
    erases: u64,
    switch_merges: u64,
    partial_merges: u64,
    full_merges: u64,
}

impl Cost {
    fn of(counters: &LogCounters) -> Self {
        Self {
            copies: counters.copies,
            programs: counters.programs,
            erases: counters.erases,
            switch_merges: counters.switch_merges,
            partial_merges: counters.partial_merges,
            full_merges: counters.full_merges,
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            copies: self.copies - before.copies,
            programs: self.programs - before.programs,
            erases: self.erases - before.erases,
            switch_merges: self.switch_merges - before.switch_merges,
            partial_merges: self.partial_merges - before.partial_merges,
            full_merges: self.full_merges - before.full_merges,
        }
    }

    /// On the paper's chip, in microseconds: a copy is 25 + 200, a program 200, an erase 1500.
    fn micros(self) -> u64 {
        self.copies * 225 + self.programs * 200 + self.erases * 1500
    }
}

/// Flash with content under an FTL.
#[derive(Clone)]
struct Bench {
    ftl: LogBlocks,
    pages: u32,
    /// Logical page and version of each programmed page.
    content: Vec<Option<(u32, u64)>>,
    /// The newest version of each logical page whose program is done; 0: none.
    newest: Vec<u64>,
    version: u64,
    /// The operations that the flash was given, counted here.
    cost: Cost,
    /// Reads of spare areas.
    reads: u64,
}

impl Bench {
    /// A lane that has just the blocks that the FTL needs for `data` data blocks.
    fn new(spec: &LogSpec, data: u32, pages: u32) -> Self {
        let blocks = spec.shape(data, pages).unwrap().blocks;
        Self {
            ftl: LogBlocks::new(spec, pages, blocks, data * pages).unwrap(),
            pages,
            content: vec![None; (blocks * pages) as usize],
            newest: vec![0; (data * pages) as usize],
            version: 0,
            cost: Cost::default(),
            reads: 0,
        }
    }

    /// Writes every page once, in order.
    fn filled(spec: &LogSpec, data: u32, pages: u32) -> Self {
        let mut bench = Self::new(spec, data, pages);
        (0..data * pages).for_each(|page| bench.write(page));
        bench
    }

    fn begin(&mut self, page: u32) {
        self.begin_of(page, 1);
    }

    /// A write that belongs to a request of some pages.
    fn begin_of(&mut self, page: u32, request: u32) {
        self.version += 1;
        self.ftl.write_of(Lpn(page), request);
    }

    /// One step; false when the write is done.
    fn step(&mut self) -> bool {
        let step = self.ftl.step();
        assert_eq!(step, self.ftl.step(), "a step stays until it is done");
        match step {
            Step::Done => return false,
            Step::Copy { from, to } => {
                let content = self.content[from.0 as usize];
                assert!(content.is_some(), "an erased page is copied");
                assert!(self.content[to.0 as usize].is_none(), "a page is programmed twice");
                self.content[to.0 as usize] = content;
                self.cost.copies += 1;
                self.ftl.done();
            }
            Step::Program { page, to } => {
                assert!(self.content[to.0 as usize].is_none(), "a page is programmed twice");
                self.content[to.0 as usize] = Some((page.0, self.version));
                self.cost.programs += 1;
                self.check(page.0);
                self.ftl.done();
                self.newest[page.0 as usize] = self.version;
            }
            Step::Read { page } => {
                assert!(
                    self.content[page.0 as usize].is_some(),
                    "an erased page's spare area is read"
                );
                self.reads += 1;
                self.ftl.done();
            }
            Step::Erase { block } => {
                let pages = (block.0 * self.pages) as usize..((block.0 + 1) * self.pages) as usize;
                self.content[pages].fill(None);
                self.cost.erases += 1;
                self.ftl.done();
            }
        }
        true
    }

    fn write(&mut self, page: u32) {
        self.begin(page);
        while self.step() {}
    }

    fn write_of(&mut self, page: u32, request: u32) {
        self.begin_of(page, request);
        while self.step() {}
    }

    fn trim(&mut self, page: u32) {
        self.ftl.trim(Lpn(page));
        self.newest[page as usize] = 0;
    }

    /// A read of `page` returns the newest version.
    fn check(&self, page: u32) {
        let newest = self.newest[page as usize];
        let read = self.ftl.translate(Lpn(page)).map(|at| self.content[at.0 as usize]);
        let expected = (newest > 0).then_some(Some((page, newest)));
        assert_eq!(
            read,
            expected,
            "page {page}: translated to {:?}",
            self.ftl.translate(Lpn(page))
        );
    }

    fn check_all(&self) {
        (0..self.newest.len() as u32).for_each(|page| self.check(page));
    }
}

/// Writes of changing kinds: uniform, hot, runs, again the last ones.
struct Mix {
    rng: Rng,
    at: u32,
    left: u32,
}

impl Mix {
    fn new(seed: u64) -> Self {
        Self { rng: Rng::stream(seed, "mix"), at: 0, left: 0 }
    }

    fn next(&mut self, pages: u32) -> u32 {
        if self.left > 0 {
            self.left -= 1;
            self.at = (self.at + 1) % pages;
            return self.at;
        }
        match self.rng.below(16) {
            0 => {
                self.left = self.rng.below(24) as u32;
                self.at = self.rng.below(u64::from(pages)) as u32;
            }
            1 => {
                self.left = self.rng.below(24) as u32;
                self.at = self.rng.below(u64::from(pages)) as u32 / 4 * 4;
            }
            2..6 => self.at = self.rng.below(u64::from(pages)) as u32,
            _ => self.at = self.rng.below(u64::from(pages.div_ceil(8))) as u32 * 7 % pages,
        }
        self.at
    }
}
