//! Page mapping once more: blocks are lists of what was written, and a victim is searched among
//! all.

use super::Cost;
use super::models::Model;
use crate::ftl::log::{Frontiers, LogSpec, Victim};

#[derive(Clone, Default)]
struct Block {
    /// Logical page and number of each program.
    written: Vec<(u32, u64)>,
    /// When it was closed or last lost a page: by the host's writes, and by the order of all such
    /// events.
    changed: (u64, u64),
}

pub struct NaiveMapping {
    victim: Victim,
    shared: bool,
    pages: usize,
    free: u32,
    open: Option<Block>,
    copies: Option<Block>,
    closed: Vec<Block>,
    /// The number of each page's newest version; 0: none.
    newest: Vec<u64>,
    number: u64,
    events: u64,
    writes: u64,
    cost: Cost,
}

impl NaiveMapping {
    pub fn new(spec: &LogSpec, data: u32, pages: u32) -> Self {
        Self {
            victim: spec.victim,
            shared: spec.frontiers == Frontiers::Shared,
            pages: pages as usize,
            free: spec.shape(data, pages).unwrap().blocks,
            open: None,
            copies: None,
            closed: Vec::new(),
            newest: vec![0; (data * pages) as usize],
            number: 0,
            events: 0,
            writes: 0,
            cost: Cost::default(),
        }
    }

    fn valid(&self, block: &Block) -> u64 {
        block.written.iter().filter(|entry| self.newest[entry.0 as usize] == entry.1).count() as u64
    }

    fn lose(&mut self, page: u32) {
        let old = self.newest[page as usize];
        if let Some(block) =
            self.closed.iter_mut().find(|block| block.written.contains(&(page, old)))
        {
            self.events += 1;
            block.changed = (self.writes, self.events);
        }
        self.newest[page as usize] = 0;
    }

    /// The block with erased pages after the given one, which is closed if it is full.
    fn with_room(&mut self, open: Option<Block>) -> Block {
        match open {
            Some(open) if open.written.len() < self.pages => open,
            full => {
                self.closed_now(full);
                self.free -= 1;
                Block::default()
            }
        }
    }

    fn closed_now(&mut self, block: Option<Block>) {
        if let Some(mut block) = block {
            self.events += 1;
            block.changed = (self.writes, self.events);
            self.closed.push(block);
        }
    }

    fn put(&mut self, block: &mut Block, page: u32) {
        self.lose(page);
        self.number += 1;
        self.newest[page as usize] = self.number;
        block.written.push((page, self.number));
    }

    fn take_victim(&mut self) -> Block {
        let (mut best, pages) = (0, self.pages as u64);
        for nth in 1..self.closed.len() {
            let [a, b] = [&self.closed[nth], &self.closed[best]];
            let (va, vb) = (self.valid(a), self.valid(b));
            let (wa, wb) = (
                (self.writes - a.changed.0) * (pages - va),
                (self.writes - b.changed.0) * (pages - vb),
            );
            let equal = (va, a.changed.1) < (vb, b.changed.1);
            let better = match self.victim {
                Victim::CostBenefit if va > 0 && vb > 0 => match (wa * vb).cmp(&(wb * va)) {
                    std::cmp::Ordering::Greater => true,
                    std::cmp::Ordering::Equal => equal,
                    std::cmp::Ordering::Less => false,
                },
                _ => equal,
            };
            if better {
                best = nth;
            }
        }
        self.closed.remove(best)
    }

    fn collect(&mut self) {
        let victim = self.take_victim();
        for (page, number) in victim.written {
            if self.newest[page as usize] == number {
                let target = if self.shared { self.open.take() } else { self.copies.take() };
                let mut target = self.with_room(target);
                self.put(&mut target, page);
                *if self.shared { &mut self.open } else { &mut self.copies } = Some(target);
                self.cost.copies += 1;
            }
        }
        self.cost.erases += 1;
        self.free += 1;
    }
}

impl Model for NaiveMapping {
    fn write(&mut self, page: u32, _: u32) {
        self.writes += 1;
        let mut collected = false;
        loop {
            let room = self.open.as_ref().is_some_and(|open| open.written.len() < self.pages);
            let due = match self.shared {
                true => !room && self.free == 1,
                false => (!collected && self.free <= 2) || (!room && self.free <= 1),
            };
            if !due {
                break;
            }
            if self.shared {
                let full = self.open.take();
                self.closed_now(full);
            }
            collected = true;
            self.collect();
        }
        let open = self.open.take();
        let mut open = self.with_room(open);
        self.put(&mut open, page);
        self.open = Some(open);
        self.cost.programs += 1;
    }

    fn trim(&mut self, page: u32) {
        self.lose(page);
    }

    fn has(&self, page: u32) -> bool {
        self.newest[page as usize] > 0
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}
