//! A naive page mapping beside the real one: maps and lists, every number counted anew.

mod naive;

use super::classes::NaiveClasses;
use super::device;
use crate::flash::{Block, Device};
use crate::ftl::{Allocation, FtlSpec, GcSpec, PageMap, Step, Stream, Victim, VictimUnit};
use crate::sim::Rng;
use crate::units::{Lane, Lpn, Pool, Ppn};
use naive::Naive;
use std::collections::BTreeMap;

/// The real map and the naive one, side by side, and rows that wait to be programmed.
pub(super) struct Pair {
    map: PageMap,
    naive: Naive,
    pub classes: NaiveClasses,
    gc: GcSpec,
    rng: Rng,
    /// Pages gathering for each class and lane: logical page and version.
    rows: BTreeMap<(u32, Lane), Vec<(u32, u32)>>,
    version: u32,
    victims: u32,
    pub overtaken: u32,
}

impl Pair {
    pub fn new(device: &Device, ftl: &FtlSpec, gc: GcSpec, logical: u32, seed: u64) -> Self {
        // Lanes reclaimed together must fill evenly, which only dynamic allocation makes sure of
        // (`validate` of `manx-config`).
        let allocation =
            if gc.unit == VictimUnit::Block { Allocation::Static } else { Allocation::Dynamic };
        let ftl = FtlSpec { allocation, ..ftl.clone() };
        let map = PageMap::new(device, &ftl, &gc, logical, seed);
        let (naive, classes) = (Naive::new(&map), NaiveClasses::new(&ftl, logical));
        let rng = Rng::stream(seed, "pair");
        Self {
            map,
            naive,
            classes,
            gc,
            rng,
            rows: BTreeMap::new(),
            version: 0,
            victims: 0,
            overtaken: 0,
        }
    }

    fn below(&mut self, n: u32) -> u32 {
        self.rng.below(u64::from(n)) as u32
    }

    /// A host write of any page, half of them of a hot quarter; a row is programmed when it is
    /// full.
    fn write(&mut self) {
        let pages = self.map.logical();
        let hot = self.below(2) == 0;
        let lpn = self.below(if hot { pages / 4 } else { pages });
        let stream = self.below(6) as u8;
        let (class, lane) = loop {
            // A collection may have moved the version that this one replaces: the class is asked
            // for again.
            let class = self.map.class_of_write(Lpn(lpn), stream);
            match self.map.place(Lpn(lpn), class, |_| 0) {
                Some(lane) => break (class, lane),
                None => self.collect(Pool(0)),
            }
        };
        assert_eq!(
            class,
            self.classes.of_write(lpn, stream, self.naive.newest.contains_key(&lpn)),
            "page {lpn}"
        );
        self.map.note_write(Lpn(lpn));
        self.classes.written(lpn);
        self.version += 1;
        let row = self.rows.entry((class, lane)).or_default();
        row.push((lpn, self.version));
        if row.len() == self.naive.row as usize {
            self.program(class, lane);
        }
    }

    fn program(&mut self, class: u32, lane: Lane) {
        let row = loop {
            match self.map.open_row_of(lane, Stream::Host, class) {
                Some(row) => break row,
                None => self.collect(self.map.pool_of(lane)),
            }
        };
        self.naive.row_taken(lane, row);
        self.row_of(row, class);
        for (slot, (lpn, version)) in
            self.rows.remove(&(class, lane)).unwrap().into_iter().enumerate()
        {
            let page = Ppn(row.0 + slot as u32);
            self.map.commit(Lpn(lpn), page);
            self.naive.commit(lpn, version, page);
            self.classes.put(lpn, class);
        }
        self.map.row_programmed(row);
        self.naive.row_programmed(row);
    }

    /// A row was taken for a class: its block is of that class.
    fn row_of(&mut self, row: Ppn, class: u32) {
        let block = row.0 / self.naive.units();
        self.classes.row_taken(block, row.0.is_multiple_of(self.naive.units()), class);
        let known = self.map.classes().map_or(0, |classes| classes.of_block(Block(block)));
        assert_eq!(known, class, "the class of block {block}");
    }

    fn trim(&mut self) {
        let lpn = self.below(self.map.logical());
        self.map.trim(Lpn(lpn));
        self.naive.lose(lpn);
    }

    /// Deallocates a page of a victim: perhaps one that is being copied.
    fn trim_in(&mut self, victim: Block) {
        let units = self.naive.units();
        let inside = self.naive.newest.iter().filter(|(_, (_, page))| page / units == victim.0);
        let inside: Vec<u32> = inside.map(|(lpn, _)| *lpn).collect();
        if !inside.is_empty() {
            let lpn = inside[self.below(inside.len() as u32) as usize];
            self.map.trim(Lpn(lpn));
            self.naive.lose(lpn);
        }
    }

    /// A collection; between its steps the host deallocates pages, which overtakes copies.
    fn collect(&mut self, pool: Pool) {
        let cold =
            self.classes.cold_groups(|block| self.naive.group_of(block * self.naive.units()));
        let expected = self.naive.expected_victim(pool, &self.gc, cold.as_ref());
        let gains = self.naive.candidates(pool).into_iter().any(|group| self.naive.gains(group));
        assert_eq!(
            self.map.start_collection(pool, false),
            gains,
            "it starts when something is gained"
        );
        assert!(gains, "the drive is not full");
        let lanes: Vec<Lane> = self.map.lanes_of(pool).collect();
        let victim =
            self.naive.group_of(self.map.layout().first_page(self.map.victim_block(lanes[0])).0);
        assert!(self.naive.candidates(pool).contains(&victim), "{victim:?} is closed");
        assert!(self.naive.gains(victim) || self.gc.victim == Victim::Uniform);
        assert_eq!(victim, expected.unwrap_or(victim), "{:?}", self.gc.victim);
        assert_eq!(self.map.valid_left(pool), self.naive.valid(victim));
        self.victims += 1;
        self.naive.reclaiming.insert(victim);
        let rows_before = self.naive.taken.iter().sum::<u32>();
        let needed = self.naive.valid(victim).div_ceil(self.naive.row);
        self.classes.collected(&self.naive.members(victim));
        for lane in &lanes {
            while self.step(*lane) {
                if self.below(8) == 0 {
                    self.trim();
                }
            }
            self.map.lane_copied(*lane);
        }
        let rows = self.naive.taken.iter().sum::<u32>() - rows_before;
        assert!(rows <= needed, "{rows} rows of copies; without classes {needed} would do");
        for lane in &lanes {
            let block = self.map.victim_block(*lane);
            assert_eq!(self.map.erased(block), lane == lanes.last().unwrap());
            self.naive.erased(block);
        }
        self.naive.reclaiming.remove(&victim);
    }

    /// One step of a lane's chain; false when everything is copied.
    fn step(&mut self, lane: Lane) -> bool {
        match self.map.step(lane) {
            Step::Read { page, units } => {
                assert!(
                    units > 0 && self.naive.content.contains_key(&page.0),
                    "only programmed pages are read"
                );
                let content = &self.naive.content;
                self.map.read_done(lane, |page| content[&page.0].1);
                let end = (page.0 / self.map.layout().units_per_read + 1)
                    * self.map.layout().units_per_read;
                let read =
                    self.naive.newest.iter().filter(|(_, (_, at))| (page.0..end).contains(at));
                let victim = page.0 / self.naive.units();
                read.for_each(|(lpn, _)| self.classes.read(*lpn, victim));
            }
            Step::Program { lane: to, units } => {
                let row =
                    self.map.open_copy_row(lane, to).expect("the reserve holds a victim's copies");
                self.naive.row_taken(to, row);
                if self.below(4) == 0 {
                    self.trim_in(self.map.victim_block(lane));
                }
                let (mut stored, mut pages) = (Vec::new(), Vec::new());
                let moved = self.map.copied(lane, row, |from, page, version| {
                    stored.push((page, version));
                    pages.push(from.0);
                });
                let pages: Vec<u32> = pages.iter().map(|from| self.naive.content[from].0).collect();
                let class = self.classes.of_row(&pages);
                self.row_of(row, class);
                assert_eq!(stored.len() as u32, units, "every page of the row is stored");
                self.overtaken += units - moved;
                for (page, version) in stored {
                    if self.map.mapping().is_valid(page) {
                        let lpn = self.map.mapping().logical_of(page).0;
                        assert_eq!(
                            self.naive.newest[&lpn].0, version,
                            "a copy carries the version of its page"
                        );
                        self.naive.commit(lpn, version, page);
                        self.classes.put(lpn, class);
                    }
                }
                self.naive.row_programmed(row);
            }
            Step::Copied => return false,
        }
        true
    }

    pub fn run(&mut self, operations: u32) {
        for number in 0..operations {
            match self.below(20) {
                0 => self.trim(),
                _ => self.write(),
            }
            for pool in self.map.each_pool() {
                while self.map.wants_collection(pool)
                    && self.naive.candidates(pool).iter().any(|g| self.naive.gains(*g))
                {
                    self.collect(pool);
                }
            }
            if number % 97 == 0 {
                self.naive.agree(&self.map);
            }
        }
        self.naive.agree(&self.map);
        assert!(self.victims > 50, "{} victims", self.victims);
    }
}

/// One lane; two lanes; rows of four pages; two planes reclaimed together.
pub(super) fn devices(blocks: u32) -> Vec<(Device, VictimUnit)> {
    let one = device(blocks, 12);
    let mut two = one.clone();
    two.geometry.channels = 2;
    let mut rows = device(blocks, 24);
    (rows.geometry.planes, rows.feature.program_planes, rows.feature.program_pages) = (2, 2, 2);
    let mut group = two.clone();
    (group.geometry.channels, group.geometry.planes) = (1, 2);
    vec![
        (one, VictimUnit::Block),
        (two, VictimUnit::Block),
        (rows, VictimUnit::Block),
        (group, VictimUnit::PlaneGroup),
    ]
}

fn play(victim: Victim) {
    for (number, (device, unit)) in devices(16).into_iter().enumerate() {
        let gc = GcSpec {
            victim,
            unit,
            soft: 0.15.into(),
            hard: 0.0.into(),
            window: 4,
            choices: 3,
            ..GcSpec::default()
        };
        let raw = crate::flash::Layout::new(&device).total_units();
        let mut pair = Pair::new(&device, &FtlSpec::default(), gc, raw * 65 / 100, number as u64);
        pair.run(2_500);
        assert!(pair.overtaken > 0, "some copies were overtaken");
    }
}

#[test]
fn greedy_takes_what_brute_force_finds_emptiest_and_keeps_every_page() {
    play(Victim::Greedy);
}

#[test]
fn cost_benefit_takes_what_brute_force_finds_most_worth_and_keeps_every_page() {
    play(Victim::CostBenefit);
}

#[test]
fn fifo_takes_the_block_closed_first_and_keeps_every_page() {
    play(Victim::Fifo);
}

#[test]
fn windowed_greedy_takes_the_emptiest_of_the_oldest_and_keeps_every_page() {
    play(Victim::WindowedGreedy);
}

#[test]
fn d_choices_and_random_ones_take_closed_blocks_and_keep_every_page() {
    play(Victim::DChoices);
    play(Victim::Random);
    play(Victim::Uniform);
}
