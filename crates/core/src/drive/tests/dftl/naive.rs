//! A map that lies on flash against a naive model of the paper.

use super::*;
use crate::drive::Op;
use crate::ftl::{GcMode, GcSpec, MapSpec, Victim};
use crate::sim::Rng;
use crate::stats::MapCounters;
use crate::units::{Bytes, Duration, Lpn};
use std::collections::BTreeSet;

/// The paper's rules with lists that are searched from end to end.
struct Naive {
    entries: usize,
    protected_max: usize,
    span: u32,
    batch: bool,
    lazy: bool,
    /// Pages and whether they are dirty, the newest first.
    probation: Vec<(u32, bool)>,
    protected: Vec<(u32, bool)>,
    /// Translation pages that the collection under way owes.
    owed: Vec<u32>,
    count: MapCounters,
}

impl Naive {
    fn new(spec: &MapSpec) -> Self {
        let entries = spec.entries() as usize;
        Self {
            entries,
            protected_max: (entries as f64 * spec.protected) as usize,
            span: 16,
            batch: spec.batch,
            lazy: spec.lazy,
            probation: Vec::new(),
            protected: Vec::new(),
            owed: Vec::new(),
            count: MapCounters::default(),
        }
    }

    fn look_up(&mut self, lpn: u32) {
        let at = |list: &[(u32, bool)]| list.iter().position(|entry| entry.0 == lpn);
        if let Some(at) = at(&self.protected) {
            let entry = self.protected.remove(at);
            self.protected.insert(0, entry);
        } else if let Some(at) = at(&self.probation) {
            let entry = self.probation.remove(at);
            self.protected.insert(0, entry);
            if self.protected.len() > self.protected_max {
                let entry = self.protected.pop().unwrap();
                self.probation.insert(0, entry);
            }
        } else {
            return self.miss(lpn);
        }
        self.count.hits += 1;
    }

    fn miss(&mut self, lpn: u32) {
        self.count.misses += 1;
        let mut in_dram = None;
        if self.probation.len() + self.protected.len() == self.entries {
            self.count.evictions += 1;
            let (old, dirty) = self.probation.pop().or_else(|| self.protected.pop()).unwrap();
            if dirty {
                self.count.dirty_evictions += 1;
                self.write(old / self.span);
                in_dram = Some(old / self.span);
            }
        }
        self.count.page_reads += u64::from(in_dram != Some(lpn / self.span));
        self.probation.insert(0, (lpn, false));
    }

    /// A read and a program of a translation page; every one was written before the run.
    fn write(&mut self, page: u32) {
        self.count.page_reads += 1;
        self.count.page_programs += 1;
        if self.batch {
            let (span, lists) = (self.span, [&mut self.probation, &mut self.protected]);
            lists
                .into_iter()
                .flatten()
                .filter(|entry| entry.0 / span == page)
                .for_each(|entry| entry.1 = false);
        }
    }

    fn find(&mut self, lpn: u32) -> Option<&mut (u32, bool)> {
        self.probation.iter_mut().chain(&mut self.protected).find(|entry| entry.0 == lpn)
    }

    fn written(&mut self, lpn: u32) {
        self.find(lpn).expect("it was looked up").1 = true;
    }

    fn trimmed(&mut self, lpn: u32) {
        match self.find(lpn) {
            Some(entry) => entry.1 = true,
            None => self.write(lpn / self.span),
        }
    }

    fn moved(&mut self, lpn: u32) {
        let page = lpn / self.span;
        if self.lazy
            && let Some(entry) = self.find(lpn)
        {
            entry.1 = true;
            self.count.lazy_updates += 1;
        } else if !self.owed.contains(&page) {
            self.owed.push(page);
        }
    }

    fn victim_copied(&mut self) {
        for page in std::mem::take(&mut self.owed) {
            self.count.collection_reads += 1;
            self.count.collection_programs += 1;
            self.write(page);
        }
    }
}

/// Plays random requests one by one on a drive of one lane beside the naive model, which is told
/// what collections move.
fn beside_the_naive_model(seed: u64, spec: MapSpec, victim: Victim) -> MapCounters {
    let mut device = crate::flash::tests::device();
    let g = &mut device.geometry;
    (g.channels, g.ways, g.blocks, g.pages) = (1, 1, 24, 16);
    let mode = GcMode::Preemptive;
    let gc = GcSpec {
        soft: 0.3.into(),
        hard: 0.0.into(),
        mode,
        victim,
        last_block_hard: 0.0,
        ..GcSpec::default()
    };
    let (logical, spec) = (200, MapSpec { stored: Bytes::new(256), ..spec });
    let mut bench = with_map(device, gc, &spec, logical, &(0..logical).collect::<Vec<_>>());
    let mut naive = Naive::new(&spec);
    let mut rng = Rng::stream(seed, "naive");
    let places = |bench: &Bench| {
        (0..logical).map(|lpn| bench.drive.ftl().member_at(Lpn(lpn))).collect::<Vec<_>>()
    };
    let (mut before, mut moves) = (places(&bench), BTreeSet::new());
    let (mut collections, mut reads_of_gc) = (0, 0);
    for step in 0..1_500 {
        // Half of what is asked for goes to a quarter of the pages.
        let range = if rng.below(2) == 0 { 50 } else { u64::from(logical) };
        let lpn = rng.below(range) as u32;
        let op = [Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim]
            [rng.below(if step % 3 == 0 { 5 } else { 4 }) as usize];
        let was_mapped = before[lpn as usize].is_some();
        match op {
            Op::Trim if was_mapped => naive.trimmed(lpn),
            Op::Trim | Op::Flush => {}
            Op::Read | Op::Write => naive.look_up(lpn),
        }
        let at = bench.idle();
        bench.submit(at, op, u64::from(lpn) * u64::from(PAGE), PAGE, false);
        let mut pending = (op == Op::Write).then_some(lpn);
        while bench.drive.next_event_at() != crate::units::Instant::NEVER {
            let limit = bench.drive.next_event_at() + Duration::from_ns(1);
            bench.advance_to(limit);
            let now = places(&bench);
            if bench.drive.counters().collections > collections {
                collections = bench.drive.counters().collections;
                naive.victim_copied();
            }
            for page in (0..logical).filter(|page| now[*page as usize] != before[*page as usize]) {
                let landed =
                    pending == Some(page) && bench.drive.counters().host_units > reads_of_gc;
                if landed {
                    (reads_of_gc, pending) = (bench.drive.counters().host_units, None);
                    naive.written(page);
                } else if now[page as usize].is_some() {
                    moves.insert(page);
                    naive.moved(page);
                }
            }
            before = now;
        }
        naive.victim_copied();
        let mut seen = bench.map();
        (seen.page_copies, naive.count.free_updates) = (0, 0);
        assert_eq!(seen, naive.count, "seed {seed}, step {step}: {op:?} {lpn}");
    }
    bench.drive.check_map();
    bench.drive.ftl().check_laws();
    assert!(moves.len() > 20 && bench.map().page_copies > 0, "{} {:?}", moves.len(), bench.map());
    bench.map()
}

#[test]
fn the_drive_does_what_a_naive_model_of_the_paper_does() {
    let mut seed = 0;
    for (batch, lazy) in [(true, true), (true, false), (false, true), (false, false)] {
        for (entries, protected) in [(1, 0.5), (5, 0.0), (24, 0.5), (60, 0.8), (60, 1.0)] {
            for victim in [Victim::Greedy, Victim::CostBenefit] {
                seed += 1;
                beside_the_naive_model(
                    seed,
                    MapSpec { batch, lazy, protected, ..cached(entries) },
                    victim,
                );
            }
        }
    }
}

#[test]
fn psus_collections_keep_a_clean_entry_clean_and_here_it_becomes_dirty() {
    // Nothing ever leaves: what collections move is looked up once at most, and then changes in the
    // cache only. `check_map` asserts that no change is lost.
    let map = beside_the_naive_model(77, cached(200), Victim::Greedy);
    assert!(map.lazy_updates > 100 && map.collection_programs < map.lazy_updates / 2, "{map:?}");
    assert_eq!((map.evictions, map.dirty_evictions), (0, 0));
}

#[test]
fn bjorlings_collections_fill_the_cache_without_bound_and_here_they_write_translation_pages() {
    let map = beside_the_naive_model(78, cached(4), Victim::Greedy);
    assert!(
        map.collection_programs > 100 && map.collection_programs == map.collection_reads,
        "{map:?}"
    );
    assert!(map.misses - map.evictions <= 4, "what came and did not leave fits");
}

#[test]
fn psus_cost_benefit_is_plain_greedy_and_here_it_is_not() {
    let of = |victim| beside_the_naive_model(79, cached(24), victim);
    assert_ne!(of(Victim::Greedy), of(Victim::CostBenefit));
}
