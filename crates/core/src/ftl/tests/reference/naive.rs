//! The naive page mapping: what was written, where rows went, and the victims that brute force
//! finds.

use crate::flash::Block;
use crate::ftl::{GcSpec, PageMap, Translation, Victim};
use crate::units::{Lane, Lpn, Pool, Ppn};
use std::collections::{BTreeMap, BTreeSet};

/// The expected state of the translation layer, from what it was asked and where it said that rows
/// go.
pub(super) struct Naive {
    pub rows: u32,
    pub row: u32,
    pub lanes: u32,
    pub blocks: u32,
    /// Version and page of each logical page.
    pub newest: BTreeMap<u32, (u32, u32)>,
    /// Content of each physical page: logical page and version; a page of padding has none.
    pub content: BTreeMap<u32, (u32, u32)>,
    /// Rows programmed and rows taken of each block.
    pub programmed: Vec<u32>,
    pub taken: Vec<u32>,
    /// Group blocks being reclaimed, and those closed in the order of closing: (pool, index).
    pub reclaiming: BTreeSet<(Pool, u32)>,
    pub closed: Vec<(Pool, u32)>,
    /// When a group block last lost a page or was closed, on the clock of map units programmed.
    pub changed: BTreeMap<(Pool, u32), u64>,
    pub clock: u64,
    pub lanes_per_pool: u32,
}

impl Naive {
    pub fn new(map: &PageMap) -> Self {
        let layout = map.layout();
        Self {
            rows: layout.rows,
            row: layout.units_per_row,
            lanes: layout.lanes,
            blocks: layout.blocks,
            newest: BTreeMap::new(),
            content: BTreeMap::new(),
            programmed: vec![0; layout.total_blocks() as usize],
            taken: vec![0; layout.total_blocks() as usize],
            reclaiming: BTreeSet::new(),
            closed: Vec::new(),
            changed: BTreeMap::new(),
            clock: 0,
            lanes_per_pool: layout.lanes / map.pools(),
        }
    }

    pub fn units(&self) -> u32 {
        self.rows * self.row
    }

    pub fn group_of(&self, page: u32) -> (Pool, u32) {
        let block = page / self.units();
        (Pool(block / self.blocks / self.lanes_per_pool), block % self.blocks)
    }

    pub fn members(&self, (pool, index): (Pool, u32)) -> Vec<u32> {
        (0..self.lanes_per_pool)
            .map(|lane| (pool.0 * self.lanes_per_pool + lane) * self.blocks + index)
            .collect()
    }

    /// A row was handed out: it must be the next one of an erased or open block of that lane.
    pub fn row_taken(&mut self, lane: Lane, row: Ppn) {
        let block = row.0 / self.units();
        assert_eq!(block / self.blocks, lane.0, "the row is on the lane that was asked for");
        assert_eq!(row.0 % self.units(), self.taken[block as usize] * self.row, "rows go in order");
        self.taken[block as usize] += 1;
        self.clock += u64::from(self.row);
    }

    pub fn row_programmed(&mut self, row: Ppn) {
        let block = row.0 / self.units();
        self.programmed[block as usize] += 1;
        let group = self.group_of(row.0);
        if self.members(group).iter().all(|block| self.programmed[*block as usize] == self.rows) {
            self.closed.push(group);
            self.changed.insert(group, self.clock);
        }
    }

    pub fn lose(&mut self, lpn: u32) {
        if let Some((_, page)) = self.newest.remove(&lpn) {
            let group = self.group_of(page);
            self.changed.insert(group, self.clock);
        }
    }

    pub fn commit(&mut self, lpn: u32, version: u32, page: Ppn) {
        assert!(!self.content.contains_key(&page.0), "{page:?} is programmed once");
        self.content.insert(page.0, (lpn, version));
        self.lose(lpn);
        self.newest.insert(lpn, (version, page.0));
    }

    pub fn valid(&self, group: (Pool, u32)) -> u32 {
        let pages = self
            .members(group)
            .into_iter()
            .flat_map(|block| self.content.range(block * self.units()..(block + 1) * self.units()));
        let is_newest = |(page, (lpn, version)): &(&u32, &(u32, u32))| {
            self.newest.get(lpn) == Some(&(*version, **page))
        };
        pages.filter(is_newest).count() as u32
    }

    pub fn candidates(&self, pool: Pool) -> Vec<(Pool, u32)> {
        self.closed
            .iter()
            .copied()
            .filter(|group| group.0 == pool && !self.reclaiming.contains(group))
            .collect()
    }

    pub fn gains(&self, group: (Pool, u32)) -> bool {
        self.valid(group).div_ceil(self.row) < self.rows * self.lanes_per_pool
    }

    /// The victim by brute force; `None` where the policy is free to choose (random ones).
    /// Of two regions each has a best one: of `cold` by greedy, of the others by the policy.
    pub fn expected_victim(
        &self,
        pool: Pool,
        gc: &GcSpec,
        cold: Option<&BTreeSet<(Pool, u32)>>,
    ) -> Option<(Pool, u32)> {
        let Some(cold) = cold else { return self.best(self.candidates(pool), gc) };
        let (cold, normal) =
            self.candidates(pool).into_iter().partition(|group| cold.contains(group));
        let normal = match gc.victim {
            Victim::DChoices | Victim::Random | Victim::Uniform => return None,
            _ => self.best(normal, gc).filter(|group| self.gains(*group)),
        };
        let greedy = GcSpec { victim: Victim::Greedy, ..gc.clone() };
        let cold = self.best(cold, &greedy).filter(|group| self.gains(*group));
        match (normal, cold) {
            (Some(normal), Some(cold)) => {
                Some(if self.valid(cold) < self.valid(normal) { cold } else { normal })
            }
            (normal, cold) => normal.or(cold),
        }
    }

    pub fn best(&self, in_order: Vec<(Pool, u32)>, gc: &GcSpec) -> Option<(Pool, u32)> {
        let mut by_number = in_order.clone();
        by_number.sort_unstable();
        let emptiest =
            |of: &[(Pool, u32)]| of.iter().copied().min_by_key(|group| self.valid(*group));
        let greedy = emptiest(&by_number);
        let choice = match gc.victim {
            Victim::Greedy => greedy,
            Victim::Fifo => in_order.first().copied(),
            Victim::WindowedGreedy => emptiest(&in_order[..in_order.len().min(gc.window as usize)]),
            Victim::CostBenefit => self.most_worth(&by_number),
            Victim::DChoices | Victim::Random | Victim::Uniform => return None,
        };
        if choice.is_some_and(|group| self.gains(group)) { choice } else { greedy }
    }

    /// The largest age x (1 - u) / 2u, an empty one before all others; the lowest number breaks
    /// ties.
    pub fn most_worth(&self, by_number: &[(Pool, u32)]) -> Option<(Pool, u32)> {
        let worth = |group: (Pool, u32)| {
            let (valid, all) =
                (f64::from(self.valid(group)), f64::from(self.units() * self.lanes_per_pool));
            (self.clock - self.changed[&group]) as f64 * (all - valid) / (2.0 * valid)
        };
        if let Some(empty) = by_number.iter().find(|group| self.valid(**group) == 0) {
            return Some(*empty);
        }
        by_number
            .iter()
            .copied()
            .reduce(|best, group| if worth(group) > worth(best) { group } else { best })
    }

    pub fn erased(&mut self, block: Block) {
        let (first, units) = (block.0 * self.units(), self.units());
        assert!(
            !self.newest.values().any(|(_, page)| page / units == block.0),
            "{block:?} holds newest data"
        );
        (first..first + units).for_each(|page| {
            self.content.remove(&page);
        });
        (self.programmed[block.0 as usize], self.taken[block.0 as usize]) = (0, 0);
        let group = self.group_of(first);
        self.closed.retain(|closed| *closed != group);
    }

    /// The real map says the same about every page and every block.
    pub fn agree(&self, map: &PageMap) {
        map.check_laws();
        for lpn in 0..map.logical() {
            let expected = match self.newest.get(&lpn) {
                Some((version, page)) => {
                    assert_eq!(self.content[page], (lpn, *version), "the page holds that version");
                    Translation::Ready(Ppn(*page))
                }
                None => Translation::Unwritten,
            };
            assert_eq!(map.translate(Lpn(lpn)), expected, "page {lpn}");
        }
        for block in 0..self.lanes * self.blocks {
            assert_eq!(
                map.rows_programmed(Block(block)),
                self.taken[block as usize],
                "rows of block {block}"
            );
        }
        let (taken, pages) =
            (self.taken.iter().sum::<u32>() * self.row, self.lanes * self.blocks * self.units());
        let free: u32 = map.each_pool().map(|pool| map.free_units(pool)).sum();
        assert_eq!(taken + free, pages, "programmed + free = total");
    }
}
