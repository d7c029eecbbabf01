//! The superblock FTL once more: nothing is counted that can be found by looking.

use super::Cost;
use super::models::Model;
use crate::ftl::log::{Compaction, LogSpec};

#[derive(Clone, Default)]
struct Block {
    /// Logical page and number of each page; `None`: passed over.
    written: Vec<Option<(u32, u64)>>,
    /// The logical block whose D-block it is, every page in its place.
    home: Option<u32>,
    /// Written by updates alone.
    by_updates: bool,
    /// When it was opened to updates; 0: it is not.
    opened: u64,
}

#[derive(Clone, Default)]
struct Group {
    own: usize,
    blocks: Vec<Block>,
    drew: u64,
}

pub struct NaiveSuperblock {
    spec: LogSpec,
    pages: u32,
    log: usize,
    groups: Vec<Group>,
    placed: Vec<bool>,
    newest: Vec<u64>,
    updates: Vec<u32>,
    number: u64,
    /// Tables in the cache, the one used least recently first.
    tables: Vec<u32>,
    reads: u64,
    cost: Cost,
}

impl NaiveSuperblock {
    pub fn new(spec: &LogSpec, data: u32, pages: u32) -> Self {
        let lbns: Vec<u32> = (0..data).collect();
        let group = |lbns: &[u32]| Group { own: lbns.len(), ..Group::default() };
        Self {
            spec: spec.clone(),
            pages,
            log: spec.shape(data, pages).unwrap().random as usize,
            groups: lbns.chunks(spec.superblock_blocks as usize).map(group).collect(),
            placed: vec![false; data as usize],
            newest: vec![0; (data * pages) as usize],
            updates: vec![0; (data * pages) as usize],
            number: 0,
            tables: Vec::new(),
            reads: 0,
            cost: Cost::default(),
        }
    }

    fn program(&mut self, page: u32) -> Option<(u32, u64)> {
        self.number += 1;
        self.newest[page as usize] = self.number;
        Some((page, self.number))
    }

    fn valid(&self, block: &Block) -> u32 {
        block
            .written
            .iter()
            .flatten()
            .filter(|entry| self.newest[entry.0 as usize] == entry.1)
            .count() as u32
    }

    /// The logical block whose first pages a block of updates holds in their places.
    fn front(&self, block: &Block) -> Option<u32> {
        let lbn = block.written.first()?.as_ref()?.0 / self.pages;
        let mut pages = block.written.iter().zip(lbn * self.pages..);
        (block.by_updates && pages.all(|(entry, page)| entry.unwrap().0 == page)).then_some(lbn)
    }

    fn drawn(group: &Group) -> usize {
        group.blocks.len().saturating_sub(group.own)
    }

    fn look_up(&mut self, page: u32) {
        let (table, most) = (page / 8, self.spec.superblock_cache as usize);
        if most == 0 {
            return;
        }
        let before = self.tables.len();
        self.tables.retain(|other| *other != table);
        if self.tables.len() == before {
            let pages = table * 8..(table * 8 + 8).min(self.newest.len() as u32);
            self.reads += u64::from(pages.into_iter().any(|page| self.has(page)));
            if before == most {
                self.tables.remove(0);
            }
        }
        self.tables.push(table);
    }

    fn place(&mut self, page: u32) {
        let (lbn, offset) = (page / self.pages, (page % self.pages) as usize);
        let number = (lbn / self.spec.superblock_blocks) as usize;
        let group = &mut self.groups[number];
        if !self.placed[lbn as usize] && group.blocks.len() < group.own {
            self.placed[lbn as usize] = true;
            group.blocks.push(Block { home: Some(lbn), ..Block::default() });
        }
        if let Some(home) = group.blocks.iter().position(|block| block.home == Some(lbn)) {
            let slots = &mut group.blocks[home].written;
            let behind = slots.len() <= offset;
            if behind || (self.spec.out_of_order && slots[offset].is_none()) {
                if behind {
                    slots.resize(offset + 1, None);
                }
                let entry = self.program(page);
                self.groups[number].blocks[home].written[offset] = entry;
                return;
            }
        }
        let pages = self.pages as usize;
        let open =
            group.blocks.iter_mut().filter(|block| block.opened > 0 && block.written.len() < pages);
        if let Some(open) = open.max_by_key(|block| block.opened) {
            self.number += 1;
            self.newest[page as usize] = self.number;
            open.written.push(Some((page, self.number)));
            self.updates[page as usize] = (self.updates[page as usize] + 1).min(255);
            return;
        }
        let total: usize = self.groups.iter().map(Self::drawn).sum();
        let (drawn, most) =
            (Self::drawn(&self.groups[number]), self.spec.superblock_updates as usize);
        let is_own = self.groups[number].blocks.len() < self.groups[number].own;
        if is_own || (drawn < most && total < self.log) {
            self.number += 1;
            let block = Block { by_updates: true, opened: self.number, ..Block::default() };
            self.groups[number].blocks.push(block);
            self.groups[number].drew = self.number;
        } else if drawn == most {
            self.collect(number);
        } else {
            let with_updates =
                (0..self.groups.len()).filter(|group| Self::drawn(&self.groups[*group]) > 0);
            self.collect(with_updates.min_by_key(|group| self.groups[*group].drew).unwrap());
        }
        self.place(page);
    }

    fn collect(&mut self, number: usize) {
        let blocks = self.groups[number].blocks.clone();
        if let Some(dead) =
            blocks.iter().position(|block| !block.written.is_empty() && self.valid(block) == 0)
        {
            let lbn = blocks[dead].home;
            let whole = |block: &Block| {
                lbn.is_some()
                    && self.front(block) == lbn
                    && block.written.len() == self.pages as usize
            };
            if let Some(whole) = blocks.iter().position(whole) {
                self.become_home(number, whole, lbn.unwrap());
                self.cost.switch_merges += 1;
            }
            self.groups[number].blocks.remove(dead);
            self.cost.erases += 1;
            return;
        }
        for (nth, block) in blocks.iter().enumerate() {
            let Some(lbn) = self.front(block) else { continue };
            let Some(home) = blocks.iter().position(|block| block.home == Some(lbn)) else {
                continue;
            };
            self.cost.partial_merges += 1;
            for page in lbn * self.pages + block.written.len() as u32..(lbn + 1) * self.pages {
                if self.has(page) {
                    self.cost.copies += 1;
                    let (entry, offset) = (self.program(page), (page % self.pages) as usize);
                    let into = &mut self.groups[number].blocks[nth].written;
                    into.resize(offset + 1, None);
                    into[offset] = entry;
                }
            }
            self.become_home(number, nth, lbn);
            self.groups[number].blocks.remove(home);
            self.cost.erases += 1;
            return;
        }
        self.compact(number);
    }

    fn become_home(&mut self, number: usize, nth: usize, lbn: u32) {
        let block = &mut self.groups[number].blocks[nth];
        (block.home, block.by_updates, block.opened) = (Some(lbn), false, 0);
    }

    fn compact(&mut self, number: usize) {
        let blocks = std::mem::take(&mut self.groups[number].blocks);
        let mut order: Vec<usize> = (0..blocks.len()).collect();
        order.sort_by_key(|nth| self.valid(&blocks[*nth]));
        let sum =
            |count: usize| order[..count].iter().map(|nth| self.valid(&blocks[*nth])).sum::<u32>();
        let saves = |count: &usize| sum(*count).div_ceil(self.pages) < *count as u32;
        let count = match self.spec.superblock_compaction {
            Compaction::All => blocks.len(),
            Compaction::Least => (1..=blocks.len()).find(saves).unwrap(),
        };
        order.truncate(count);
        let is_hot =
            |updates: u32| self.spec.superblock_hot > 0 && updates >= self.spec.superblock_hot;
        let entries = order.iter().flat_map(|nth| blocks[*nth].written.iter().flatten());
        let valid = entries.filter(|entry| self.newest[entry.0 as usize] == entry.1);
        let cold = valid.filter(|entry| !is_hot(self.updates[entry.0 as usize])).count();
        // Cold pages fill whole blocks; the rest of them is like hot ones.
        let mut apart = cold / self.pages as usize * self.pages as usize;
        // Targets: cold or hot, in the order of their opening.
        let mut targets: Vec<(bool, Block)> = Vec::new();
        for source in &order {
            for (page, entry) in blocks[*source].written.iter().flatten().copied() {
                if self.newest[page as usize] != entry {
                    continue;
                }
                let updates = std::mem::take(&mut self.updates[page as usize]);
                let mut hot = self.spec.superblock_hot > 0 && updates >= self.spec.superblock_hot;
                match apart {
                    0 => hot = true,
                    _ if !hot => apart -= 1,
                    _ => {}
                }
                let room = |target: &(bool, Block)| target.1.written.len() < self.pages as usize;
                let at = targets.iter().position(|target| target.0 == hot && room(target));
                let at = at.unwrap_or_else(|| {
                    targets.push((hot, Block::default()));
                    self.cost.full_merges += 1;
                    targets.len() - 1
                });
                targets[at].1.written.push(self.program(page));
                self.cost.copies += 1;
            }
        }
        for kind in [false, true] {
            let room = |target: &&mut (bool, Block)| {
                target.0 == kind && target.1.written.len() < self.pages as usize
            };
            if let Some(target) = targets.iter_mut().find(room) {
                self.number += 1;
                target.1.opened = self.number;
            }
        }
        self.cost.erases += count as u64;
        let stays = blocks
            .into_iter()
            .enumerate()
            .filter(|(nth, _)| !order.contains(nth))
            .map(|(_, block)| block);
        self.groups[number].blocks =
            stays.chain(targets.into_iter().map(|(_, block)| block)).collect();
    }
}

impl Model for NaiveSuperblock {
    fn write(&mut self, page: u32, _: u32) {
        self.look_up(page);
        self.place(page);
        self.cost.programs += 1;
    }

    fn trim(&mut self, page: u32) {
        self.newest[page as usize] = 0;
    }

    fn has(&self, page: u32) -> bool {
        self.newest[page as usize] > 0
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn reads(&self) -> u64 {
        self.reads
    }
}
