//! LAST once more: logical blocks are counted by looking, victims searched among all.

use super::Cost;
use super::models::Model;
use crate::ftl::log::LogSpec;

#[derive(Clone, Default)]
struct Log {
    /// Logical page and number of each program.
    written: Vec<(u32, u64)>,
    /// Of the random log: how many logical blocks it had when that last changed, and when.
    families: usize,
    changed: u64,
    /// The last update of a full hot block: by the clock of the random log, and by the order of
    /// events.
    updated: (u64, u64),
    /// Of the sequential log.
    owner: u32,
}

pub struct NaiveLast {
    spec: LogSpec,
    pages: u32,
    /// The number of each programmed page of each data block; `None`: there is no block.
    data: Vec<Option<Vec<Option<u64>>>>,
    /// The one used least recently first.
    sequential: Vec<Log>,
    sequential_max: usize,
    /// Cold and hot blocks; the last of each may not be full.
    random: [Vec<Log>; 2],
    random_max: usize,
    hot_max: usize,
    hot_age: u64,
    window: u64,
    clock: u64,
    stamp: Vec<u64>,
    died: usize,
    overflowed: bool,
    newest: Vec<u64>,
    number: u64,
    cost: Cost,
}

const COLD: usize = 0;
const HOT: usize = 1;

impl NaiveLast {
    pub fn new(spec: &LogSpec, data: u32, pages: u32) -> Self {
        let shape = spec.shape(data, pages).unwrap();
        let window = u64::from(shape.random * pages);
        let share = (spec.last_hot_share * f64::from(shape.random)).round() as usize;
        let least = usize::from(spec.last_hot_share > 0.0);
        Self {
            spec: spec.clone(),
            pages,
            data: vec![None; data as usize],
            sequential: Vec::new(),
            sequential_max: shape.sequential as usize,
            random: [Vec::new(), Vec::new()],
            random_max: shape.random as usize,
            hot_max: share.max(least).min(shape.random as usize - 2),
            hot_age: if spec.last_hot_age == 0 { window } else { u64::from(spec.last_hot_age) },
            window,
            clock: 0,
            stamp: vec![0; (data * pages) as usize],
            died: 0,
            overflowed: false,
            newest: vec![0; (data * pages) as usize],
            number: 0,
            cost: Cost::default(),
        }
    }

    fn is_full(&self, log: &Log) -> bool {
        log.written.len() == self.pages as usize
    }

    /// Something changed: blocks of the random log that have fewer logical blocks now are last of
    /// their number.
    fn count(&mut self) {
        for kind in [COLD, HOT] {
            for nth in 0..self.random[kind].len() {
                let families = self.families(&self.random[kind][nth]);
                if families != self.random[kind][nth].families {
                    self.number += 1;
                    (self.random[kind][nth].families, self.random[kind][nth].changed) =
                        (families, self.number);
                }
            }
        }
    }

    fn families(&self, log: &Log) -> usize {
        let valid = log.written.iter().filter(|entry| self.newest[entry.0 as usize] == entry.1);
        let mut lbns: Vec<u32> = valid.map(|entry| entry.0 / self.pages).collect();
        lbns.sort_unstable();
        lbns.dedup();
        lbns.len()
    }

    fn program(&mut self, page: u32) -> u64 {
        self.number += 1;
        self.newest[page as usize] = self.number;
        let number = self.number;
        self.count();
        number
    }

    /// A host write: the block that holds the version before, if it is hot and full, was updated
    /// now.
    fn update(&mut self, page: u32) {
        let (before, pages, clock) =
            ((page, self.newest[page as usize]), self.pages as usize, self.clock);
        self.number += 1;
        for log in &mut self.random[HOT] {
            if log.written.len() == pages && log.written.contains(&before) {
                log.updated = (clock, self.number);
            }
        }
        self.cost.programs += 1;
    }

    /// Data block with what it keeps, the rest copied.
    fn gather(&mut self, lbn: u32, mut slots: Vec<Option<u64>>) {
        for page in lbn * self.pages + slots.len() as u32..(lbn + 1) * self.pages {
            let valid = self.newest[page as usize] > 0;
            self.cost.copies += u64::from(valid);
            slots.push(valid.then(|| self.program(page)));
        }
        self.cost.erases += u64::from(self.data[lbn as usize].is_some());
        self.data[lbn as usize] = Some(slots);
    }

    fn merge_sequential(&mut self, nth: usize, may_stay: bool) {
        let log = self.sequential.remove(nth);
        let first = log.owner * self.pages;
        let in_order = log.written.iter().zip(first..).all(|(entry, page)| entry.0 == page);
        if in_order && may_stay {
            match self.is_full(&log) {
                true => self.cost.switch_merges += 1,
                false => self.cost.partial_merges += 1,
            }
            self.gather(log.owner, log.written.iter().map(|entry| Some(entry.1)).collect());
        } else {
            self.cost.full_merges += 1;
            self.gather(log.owner, Vec::new());
            self.cost.erases += 1;
        }
    }

    fn place(&mut self, page: u32, request: u32, hot: bool) {
        let (lbn, offset) = ((page / self.pages) as usize, (page % self.pages) as usize);
        let pages = self.pages as usize;
        let slots = self.data[lbn].get_or_insert_with(|| vec![None; pages]);
        let erased = match self.spec.out_of_order {
            true => slots[offset].is_none(),
            false => slots[offset..].iter().all(Option::is_none),
        };
        if erased {
            self.update(page);
            let number = self.program(page);
            self.data[lbn].as_mut().unwrap()[offset] = Some(number);
        } else if self.sequential_max > 0 && request > self.spec.last_sequential_pages {
            match self.sequential.iter().position(|log| log.owner == lbn as u32) {
                Some(nth) if self.is_full(&self.sequential[nth]) => {
                    self.merge_sequential(nth, true)
                }
                None if self.sequential.len() == self.sequential_max => {
                    self.merge_sequential(0, true)
                }
                nth => {
                    let new = Log { owner: lbn as u32, ..Log::default() };
                    let mut log = nth.map_or(new, |nth| self.sequential.remove(nth));
                    self.update(page);
                    log.written.push((page, self.program(page)));
                    self.sequential.push(log);
                    return;
                }
            }
            self.place(page, request, hot);
        } else {
            self.place_random(page, request, hot);
        }
    }

    fn place_random(&mut self, page: u32, request: u32, hot: bool) {
        let kind = usize::from(hot);
        if self.random[kind].last().is_some_and(|tail| !self.is_full(tail)) {
            return self.append(page, kind);
        }
        let dead = self.random[HOT].iter().filter(|log| self.is_full(log) && log.families == 0);
        let dead = dead.min_by_key(|log| log.changed).map(|log| log.changed);
        let total = self.random[HOT].len() + self.random[COLD].len();
        let crowded = hot && self.random[HOT].len() >= self.hot_max;
        if crowded && dead.is_none() {
            self.overflowed = true;
            return self.place(page, request, false);
        }
        if total < self.random_max && !crowded {
            self.random[kind].push(Log::default());
        } else if let Some(changed) = dead {
            self.random[HOT].retain(|log| {
                !(self.pages as usize == log.written.len() && log.changed == changed)
            });
            self.died += 1;
            self.cost.erases += 1;
        } else {
            self.expire();
        }
        self.place(page, request, hot);
    }

    fn append(&mut self, page: u32, kind: usize) {
        self.update(page);
        let entry = (page, self.number + 1);
        self.random[kind].last_mut().unwrap().written.push(entry);
        self.number += 1;
        let (clock, number) = (self.clock + 1, self.number);
        let pages = self.pages as usize;
        let tail = self.random[kind].last_mut().unwrap();
        if tail.written.len() == pages {
            // As of now it is full; what it lost before does not count.
            (tail.changed, tail.updated, tail.families) = (number, (clock, number), usize::MAX);
        }
        self.newest[page as usize] = number;
        let families = self.families(self.random[kind].last().unwrap());
        self.random[kind].last_mut().unwrap().families = families;
        self.count();
        self.clock = clock;
        self.stamp[page as usize] = clock;
        let epoch =
            if self.spec.last_epoch == 0 { self.window } else { u64::from(self.spec.last_epoch) };
        if self.spec.last_adapts && self.spec.last_hot_share > 0.0 && clock % epoch == 0 {
            self.adapt();
        }
    }

    fn adapt(&mut self) {
        let most = if self.spec.last_hot_age == 0 {
            self.window
        } else {
            u64::from(self.spec.last_hot_age)
        };
        let eighth = (self.hot_age / 8).max(1);
        if self.overflowed && self.died * 2 >= self.hot_max {
            self.hot_max = (self.hot_max + 1).min(self.random_max - 2);
            self.hot_age = (self.hot_age + eighth).min(most);
        } else if self.overflowed {
            self.hot_max = self.hot_max.max(2) - 1;
            self.hot_age = self.hot_age.saturating_sub(eighth).max(1);
        }
        (self.died, self.overflowed) = (0, false);
    }

    fn expire(&mut self) {
        let old = if self.spec.last_old == 0 { self.window } else { u64::from(self.spec.last_old) };
        let full = |kind: usize| {
            let logs = self.random[kind].iter().enumerate();
            logs.filter(|(_, log)| self.is_full(log)).collect::<Vec<_>>()
        };
        let cold =
            full(COLD).into_iter().min_by_key(|(_, log)| (log.families, log.changed)).unwrap().0;
        let hot = full(HOT).into_iter().min_by_key(|(_, log)| log.updated.1);
        let hot = hot.filter(|(_, log)| self.clock - log.updated.0 > old).map(|(nth, _)| nth);
        let victim = match hot {
            Some(hot) if self.random[HOT][hot].families < self.random[COLD][cold].families => {
                self.random[HOT].remove(hot)
            }
            _ => self.random[COLD].remove(cold),
        };
        for (page, number) in victim.written {
            if self.newest[page as usize] != number {
                continue;
            }
            let (lbn, offset) = (page / self.pages, (page % self.pages) as usize);
            match self.sequential.iter().position(|log| log.owner == lbn) {
                Some(nth) => {
                    self.merge_sequential(nth, offset >= self.sequential[nth].written.len())
                }
                None => {
                    self.cost.full_merges += 1;
                    self.gather(lbn, Vec::new());
                }
            }
        }
        self.cost.erases += 1;
    }
}

impl Model for NaiveLast {
    fn write(&mut self, page: u32, request: u32) {
        let before = (page, self.newest[page as usize]);
        let logged = self.random.iter().flatten().any(|log| log.written.contains(&before));
        let hot = logged && self.clock - self.stamp[page as usize] < self.hot_age;
        self.place(page, request, hot);
    }

    fn trim(&mut self, page: u32) {
        self.newest[page as usize] = 0;
        self.count();
    }

    fn has(&self, page: u32) -> bool {
        self.newest[page as usize] > 0
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}
