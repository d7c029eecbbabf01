//! BAST, FAST and FASTer once more, each write at one stroke, by lists that are searched: slow and
//! plain.
//!
//! Every program, of the host or of a copy, has a number of its own; the newest version of a page
//! is where the largest number is.

use super::Cost;
use crate::ftl::log::{FullBlock, LogPolicy, LogSpec, LogVictim, Progressive, Sequential, Tail};

/// A log block: the logical page, number and second-chance mark of each programmed page; `None`:
/// passed over.
#[derive(Clone, Default)]
struct Log {
    name: u64,
    /// Of BAST, or of the sequential block: the data block that it belongs to.
    owner: u32,
    written: Vec<Option<(u32, u64, bool)>>,
}

/// The whole lane.
pub struct Naive {
    spec: LogSpec,
    pages: u32,
    /// The number of each programmed page of each data block.
    data: Vec<Vec<Option<u64>>>,
    exists: Vec<bool>,
    random: Vec<Log>,
    random_max: usize,
    isolation: Vec<Log>,
    isolation_max: usize,
    sequential: Option<Log>,
    /// The block whose pages are moved.
    victim: Option<Log>,
    tail: u64,
    second_tail: u64,
    /// Pages of the first isolation block that were looked at.
    looked_at: usize,
    /// Numbers up to this one of a page are gone.
    trimmed: Vec<u64>,
    number: u64,
    last: Option<u32>,
    run: u32,
    interval: Interval,
    pub cost: Cost,
}

/// The firmware's rule of when to merge.
struct Interval {
    writes: u32,
    since_merge: u32,
    since_adapted: u32,
    period: u32,
    forced: bool,
}

impl Naive {
    pub fn new(spec: &LogSpec, data: u32, pages: u32) -> Self {
        let shape = spec.shape(data, pages).unwrap();
        Self {
            spec: spec.clone(),
            pages,
            data: vec![vec![None; pages as usize]; data as usize],
            exists: vec![false; data as usize],
            random: Vec::new(),
            random_max: shape.random as usize,
            isolation: Vec::new(),
            isolation_max: shape.isolation as usize,
            sequential: None,
            victim: None,
            tail: 0,
            second_tail: 0,
            looked_at: 0,
            trimmed: vec![0; (data * pages) as usize],
            number: 0,
            last: None,
            run: 0,
            interval: Interval {
                writes: if spec.progressive_interval == 0 {
                    (pages / 4).max(1)
                } else {
                    spec.progressive_interval
                },
                since_merge: 0,
                since_adapted: 0,
                period: ((shape.blocks - 1 - data) * pages / 8).max(1),
                forced: false,
            },
            cost: Cost::default(),
        }
    }

    fn logs(&self) -> impl Iterator<Item = &Log> {
        self.random.iter().chain(&self.isolation).chain(&self.sequential).chain(&self.victim)
    }

    /// The number of the newest version; 0: none.
    pub fn newest(&self, page: u32) -> u64 {
        let (lbn, offset) = (page / self.pages, page % self.pages);
        let in_data = self.data[lbn as usize][offset as usize].unwrap_or(0);
        let in_logs = self
            .logs()
            .flat_map(|log| log.written.iter().flatten())
            .filter(|entry| entry.0 == page);
        let newest = in_logs.map(|entry| entry.1).max().unwrap_or(0).max(in_data);
        if newest > self.trimmed[page as usize] { newest } else { 0 }
    }

    fn is_valid(&self, entry: &(u32, u64, bool)) -> bool {
        self.newest(entry.0) == entry.1
    }

    pub fn trim(&mut self, page: u32) {
        self.trimmed[page as usize] = self.number;
    }

    fn number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// The number of a new block or of a new program: never 0.
    fn open(&mut self, owner: u32) -> Log {
        Log { name: self.number(), owner, written: Vec::new() }
    }

    fn program(&mut self) -> u64 {
        self.cost.programs += 1;
        self.number()
    }

    fn copy(&mut self) -> u64 {
        self.cost.copies += 1;
        self.number()
    }

    /// Collects the newest versions of a data block's pages; those that `keeps` holds stay there.
    fn gather(&mut self, lbn: u32, mut keeps: Vec<Option<u64>>, host: Option<u32>) {
        for offset in keeps.len() as u32..self.pages {
            let page = lbn * self.pages + offset;
            let number = match () {
                () if host == Some(offset) => Some(self.program()),
                () if self.newest(page) > 0 => Some(self.copy()),
                () => None,
            };
            keeps.push(number);
        }
        self.cost.erases += u64::from(self.exists[lbn as usize]);
        self.data[lbn as usize] = keeps;
        self.exists[lbn as usize] = true;
    }

    fn merge_full(&mut self, lbn: u32, host: Option<u32>) {
        self.cost.full_merges += 1;
        self.gather(lbn, Vec::new(), host);
    }

    /// The log block, in order, becomes the data block.
    fn merge_into(&mut self, log: Log, host: Option<u32>) {
        match log.written.len() as u32 == self.pages {
            true => self.cost.switch_merges += 1,
            false => self.cost.partial_merges += 1,
        }
        self.gather(
            log.owner,
            log.written.iter().map(|entry| entry.map(|entry| entry.1)).collect(),
            host,
        );
    }

    fn retire(&mut self) {
        let log = self.sequential.take().unwrap();
        // It stays in sight while its pages are gathered.
        self.victim_aside(log);
    }

    fn victim_aside(&mut self, log: Log) {
        self.random.push(log.clone());
        self.merge_into(log, None);
        self.random.pop();
    }

    fn merge(&mut self, lbn: u32) {
        match &self.sequential {
            Some(log) if log.owner == lbn => self.retire(),
            _ => self.merge_full(lbn, None),
        }
    }

    pub fn write(&mut self, page: u32) {
        let (lbn, offset) = (page / self.pages, page % self.pages);
        let goes_on = self.last.is_some_and(|last| last + 1 == page);
        self.run = if goes_on { self.run + 1 } else { 1 };
        self.last = Some(page);
        self.place(page, lbn, offset);
        if self.spec.policy == LogPolicy::Bast {
            return;
        }
        if self.spec.switch_at_once
            && self.sequential.as_ref().is_some_and(|log| log.written.len() == self.pages as usize)
        {
            self.retire();
        }
        self.progress();
    }

    /// Whatever had to be merged before, the page is placed anew after it: there may be an erased
    /// page in its place.
    fn place(&mut self, page: u32, lbn: u32, offset: u32) {
        let slots = &self.data[lbn as usize];
        let erased = match self.spec.out_of_order {
            true => slots[offset as usize].is_none(),
            false => slots[offset as usize..].iter().all(Option::is_none),
        };
        if erased {
            let number = self.program();
            self.data[lbn as usize][offset as usize] = Some(number);
            self.exists[lbn as usize] = true;
        } else if self.spec.policy == LogPolicy::Bast {
            self.write_bast(page, lbn, offset);
        } else if !self.write_sequential(page, lbn, offset) {
            self.write_random(page, lbn, offset);
        }
    }

    fn write_bast(&mut self, page: u32, lbn: u32, offset: u32) {
        let at = self.random.iter().position(|log| log.owner == lbn);
        let victim = match at {
            Some(at) if self.random[at].written.len() < self.pages as usize => None,
            Some(at) => Some(at),
            None => (self.random.len() == self.random_max).then_some(0),
        };
        if let Some(victim) = victim {
            let log = self.random[victim].clone();
            let first = log.owner * self.pages;
            let in_place = |(at, entry): (usize, &Option<(u32, u64, bool)>)| {
                entry.unwrap().0 == first + at as u32
            };
            if log.written.iter().enumerate().all(in_place) {
                self.merge_into(log, None);
            } else {
                self.merge_full(log.owner, None);
                self.cost.erases += 1;
            }
            self.random.remove(victim);
            return self.place(page, lbn, offset);
        }
        let number = self.program();
        let mut at = match self.random.iter().position(|log| log.owner == lbn) {
            Some(at) => at,
            None => {
                let log = self.open(lbn);
                self.random.push(log);
                self.random.len() - 1
            }
        };
        if self.spec.log_victim == LogVictim::Lru {
            let log = self.random.remove(at);
            self.random.push(log);
            at = self.random.len() - 1;
        }
        self.random[at].written.push(Some((page, number, false)));
    }

    /// False when it is no sequential write.
    fn write_sequential(&mut self, page: u32, lbn: u32, offset: u32) -> bool {
        if !self.spec.has_sequential() {
            return false;
        }
        let by_offset = self.spec.sequential == Sequential::OffsetZero;
        let before = (lbn * self.pages..page).all(|before| self.newest(before) > 0);
        let starts =
            if by_offset { offset == 0 } else { self.run >= self.spec.sequential_run && before };
        let owned = self.sequential.as_ref().is_some_and(|log| log.owner == lbn);
        if owned {
            let next = self.sequential.as_ref().unwrap().written.len() as u32;
            if next == self.pages || (offset == 0 && by_offset) {
                self.retire();
                self.place(page, lbn, offset);
                return true;
            } else if offset == next {
                let number = self.program();
                self.sequential.as_mut().unwrap().written.push(Some((page, number, false)));
                return true;
            } else if offset < next {
                self.merge_full(lbn, Some(offset));
                self.sequential = None;
                self.cost.erases += 1;
                return true;
            } else {
                let log = self.sequential.take().unwrap();
                self.random.push(log.clone());
                self.merge_into(log, Some(offset));
                self.random.pop();
                return true;
            }
        } else if self.sequential.is_some() && starts {
            self.retire();
            self.place(page, lbn, offset);
            return true;
        }
        if !starts {
            return false;
        }
        let mut log = self.open(lbn);
        for before in lbn * self.pages..page {
            let number = self.copy();
            log.written.push(Some((before, number, false)));
        }
        let number = self.program();
        log.written.push(Some((page, number, false)));
        self.sequential = Some(log);
        true
    }

    fn write_random(&mut self, page: u32, lbn: u32, offset: u32) {
        if let Some(at) = self.with_room(self.tail) {
            let number = self.program();
            self.random[at].written.push(Some((page, number, false)));
            return;
        }
        if self.random.len() < self.random_max {
            self.tail = self.open_random();
        } else {
            self.expire();
        }
        self.place(page, lbn, offset);
    }

    fn with_room(&self, name: u64) -> Option<usize> {
        self.random
            .iter()
            .position(|log| log.name == name && log.written.len() < self.pages as usize)
    }

    fn open_random(&mut self) -> u64 {
        let log = self.open(0);
        let name = log.name;
        self.random.push(log);
        name
    }

    fn expire(&mut self) {
        let victim = self.random.remove(0);
        self.victim = Some(victim.clone());
        let entries: Vec<_> = victim.written.iter().flatten().copied().collect();
        let valid = entries.iter().filter(|entry| self.is_valid(entry)).count() as u32;
        let faster = self.spec.policy == LogPolicy::Faster;
        let unmarked = entries.iter().all(|entry| !entry.2);
        if faster && self.spec.full_block == FullBlock::Renew && valid == self.pages && unmarked {
            let mut renewed = self.victim.take().unwrap();
            renewed.written.iter_mut().flatten().for_each(|entry| entry.2 = true);
            return self.random.push(renewed);
        }
        let sparse = faster && valid * 100 < self.pages * self.spec.sparse_percent;
        for entry in entries.iter().filter(|entry| !sparse && (!faster || entry.2)) {
            if self.is_valid(entry) {
                self.cool(entry);
            }
        }
        for entry in &entries {
            if self.is_valid(entry) {
                let segregated = self.spec.tail == Tail::Segregated;
                let tail = if segregated { self.second_tail } else { self.tail };
                let tail = if self.with_room(tail).is_some() { tail } else { self.open_random() };
                *if segregated { &mut self.second_tail } else { &mut self.tail } = tail;
                let at = self.with_room(tail).unwrap();
                let number = self.copy();
                self.random[at].written.push(Some((entry.0, number, true)));
            }
        }
        self.victim = None;
        self.cost.erases += 1;
    }

    /// A page that is cold: isolated, or merged.
    fn cool(&mut self, entry: &(u32, u64, bool)) {
        if self.isolation_max == 0 {
            return self.merge(entry.0 / self.pages);
        }
        loop {
            if !self.is_valid(entry) {
                return;
            }
            if self.isolation.last().is_none_or(|log| log.written.len() == self.pages as usize) {
                if self.isolation.len() == self.isolation_max {
                    self.take_oldest();
                    continue;
                }
                let log = self.open(0);
                self.isolation.push(log);
            }
            let number = self.copy();
            self.isolation.last_mut().unwrap().written.push(Some((entry.0, number, false)));
            return;
        }
    }

    /// Merges one data block of the isolation area, and erases the blocks that are passed before;
    /// false: nothing there.
    fn take_oldest(&mut self) -> bool {
        while let Some(first) = self.isolation.first() {
            if let Some(entry) = first.written.get(self.looked_at).copied().flatten() {
                self.looked_at += 1;
                if self.is_valid(&entry) {
                    // Within a victim it was for room.
                    self.interval.forced |= self.victim.is_some();
                    self.merge(entry.0 / self.pages);
                    return true;
                }
            } else if self.looked_at == self.pages as usize {
                self.isolation.remove(0);
                self.looked_at = 0;
                self.cost.erases += 1;
                if self.isolation.len() + 1 == self.isolation_max && self.victim.is_some() {
                    return true; // It was for room, and there is room.
                }
            } else {
                return false;
            }
        }
        false
    }

    fn progress(&mut self) {
        if self.isolation_max == 0 {
            return;
        }
        let due = match self.spec.progressive {
            Progressive::Interval => self.is_interval_over(),
            Progressive::Threshold => {
                let occupied = self.isolation.iter().map(|log| log.written.len()).sum::<usize>()
                    - self.looked_at;
                let capacity = self.isolation_max * self.pages as usize;
                occupied as f64 > (self.spec.progressive_threshold * capacity as f64).floor()
            }
        };
        if due {
            self.take_oldest();
        }
    }

    /// Every write while hardly a block of the area is free (two; a quarter of an area of less than
    /// eight), else one write in an interval while two blocks are taken. The interval grows in
    /// every eighth of the log that ends with an area as good as empty, and shrinks where merges
    /// were forced.
    fn is_interval_over(&mut self) -> bool {
        let (most, taken) = (self.isolation_max, self.isolation.len());
        let interval = &mut self.interval;
        interval.since_merge += 1;
        interval.since_adapted += 1;
        if interval.since_adapted >= interval.period {
            interval.since_adapted = 0;
            match (interval.forced, taken) {
                (true, _) => interval.writes = interval.writes.max(2) - 1,
                (false, 0 | 1) => interval.writes += 1,
                (false, _) => {}
            }
            interval.forced = false;
        }
        let crowded = most - taken <= if most < 8 { most / 4 } else { 2 };
        let due = crowded || (taken > 1 && interval.since_merge >= interval.writes);
        interval.forced |= crowded;
        if due {
            interval.since_merge = 0;
        }
        due
    }
}
