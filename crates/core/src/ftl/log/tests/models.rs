//! The newer FTLs beside their naive models: what every write costs, and every read between any two
//! steps.

use super::naive_last::NaiveLast;
use super::naive_mapping::NaiveMapping;
use super::naive_superblock::NaiveSuperblock;
use super::{Bench, Cost, Mix};
use crate::ftl::log::{Compaction, Frontiers, LogPolicy, LogSpec, Victim};
use crate::sim::Rng;

/// An FTL, each write at one stroke, by lists that are searched.
pub trait Model {
    fn write(&mut self, page: u32, request: u32);
    fn trim(&mut self, page: u32);
    /// True when the page was written and not given back.
    fn has(&self, page: u32) -> bool;
    fn cost(&self) -> Cost;
    /// Reads of spare areas.
    fn reads(&self) -> u64 {
        0
    }
}

fn model(spec: &LogSpec, data: u32, pages: u32) -> Box<dyn Model> {
    match spec.policy {
        LogPolicy::PageMapping => Box::new(NaiveMapping::new(spec, data, pages)),
        LogPolicy::Superblock => Box::new(NaiveSuperblock::new(spec, data, pages)),
        LogPolicy::Last => Box::new(NaiveLast::new(spec, data, pages)),
        _ => panic!("their model is in naive.rs"),
    }
}

/// Random writes and trims; after each step every page is read, after each write its cost is
/// compared.
pub fn compare(spec: &LogSpec, data: u32, pages: u32, writes: u32, seed: u64) -> Bench {
    let (mut bench, mut naive) = (Bench::new(spec, data, pages), model(spec, data, pages));
    let (mut mix, mut rng) = (Mix::new(seed), Rng::stream(seed, "trims"));
    for nth in 0..writes {
        let page = mix.next(data * pages);
        let request = if mix.left > 0 { 8 } else { rng.below(4) as u32 };
        bench.begin_of(page, request);
        while bench.step() {
            bench.check_all();
        }
        naive.write(page, request);
        let Cost { copies, programs, erases, .. } = naive.cost();
        let flash = Cost { copies, programs, erases, ..bench.cost };
        assert_eq!(
            (bench.cost, bench.reads),
            (flash, naive.reads()),
            "write {nth}, page {page} of {spec:?}"
        );
        let counted = (Cost::of(bench.ftl.counters()), bench.ftl.counters().map_reads);
        assert_eq!(counted, (naive.cost(), naive.reads()), "write {nth}, page {page} of {spec:?}");
        if rng.below(40) == 0 {
            let page = rng.below(u64::from(data * pages)) as u32;
            bench.trim(page);
            naive.trim(page);
        }
        (0..data * pages).for_each(|page| {
            assert_eq!(naive.has(page), bench.ftl.translate(crate::units::Lpn(page)).is_some())
        });
    }
    bench
}

/// Settings, on several shapes of a small lane, with several seeds; the counters of all runs.
fn compare_all(specs: &[LogSpec], logs: &[f64]) -> Cost {
    let mut total = Cost::default();
    for spec in specs {
        for (data, pages) in [(8, 4), (5, 8), (12, 3)] {
            for (seed, log) in (1..).zip(logs) {
                for out_of_order in [true, false] {
                    let spec = LogSpec { log_percent: *log, out_of_order, ..spec.clone() };
                    if spec.shape(data, pages).is_ok() {
                        let cost = Cost::of(compare(&spec, data, pages, 1500, seed).ftl.counters());
                        total.switch_merges += cost.switch_merges;
                        total.partial_merges += cost.partial_merges;
                        total.full_merges += cost.full_merges;
                        total.copies += cost.copies;
                    }
                }
            }
        }
    }
    total
}

#[test]
fn page_mapping_does_what_the_naive_one_does() {
    let mut specs = Vec::new();
    for victim in [Victim::Greedy, Victim::CostBenefit] {
        for frontiers in [Frontiers::Separate, Frontiers::Shared] {
            specs.push(LogSpec { victim, frontiers, ..LogSpec::page_mapping(50.0) });
        }
    }
    for spec in &specs {
        let total = compare_all(std::slice::from_ref(spec), &[20.0, 42.0, 65.0, 110.0]);
        assert!(total.copies > 2000, "{total:?} of {spec:?}");
    }
}

#[test]
fn the_superblock_ftl_does_what_the_naive_one_does() {
    for superblock_compaction in [Compaction::Least, Compaction::All] {
        let mut total = Cost::default();
        for (superblock_blocks, superblock_updates) in
            [(1, 1), (1, 4), (2, 1), (4, 3), (8, 8), (100, 8)]
        {
            for (superblock_hot, superblock_cache) in [(0, 0), (1, 2), (2, 3)] {
                let spec = LogSpec {
                    superblock_blocks,
                    superblock_updates,
                    superblock_hot,
                    superblock_cache,
                    superblock_compaction,
                    ..LogSpec::superblock(50.0)
                };
                let cost = compare_all(&[spec], &[13.0, 50.0, 130.0]);
                total.switch_merges += cost.switch_merges;
                total.partial_merges += cost.partial_merges;
                total.full_merges += cost.full_merges;
            }
        }
        let Cost { switch_merges, partial_merges, full_merges, .. } = total;
        assert!(switch_merges > 100 && partial_merges > 100 && full_merges > 10_000, "{total:?}");
    }
}

#[test]
fn last_does_what_the_naive_last_does() {
    let last = LogSpec::last(100.0);
    let mut total = Cost::default();
    for last_sequential_share in [0.0, 0.3, 0.5] {
        for last_hot_share in [0.0, 0.4, 1.0] {
            for (last_hot_age, last_old, last_epoch, last_adapts) in
                [(0, 0, 0, false), (0, 9, 7, true), (12, 5, 0, true)]
            {
                let spec = LogSpec {
                    last_sequential_share,
                    last_hot_share,
                    last_hot_age,
                    last_old,
                    ..last.clone()
                };
                let cost = compare_all(
                    &[LogSpec { last_epoch, last_adapts, ..spec }],
                    &[90.0, 130.0, 200.0],
                );
                total.switch_merges += cost.switch_merges;
                total.partial_merges += cost.partial_merges;
                total.full_merges += cost.full_merges;
            }
        }
    }
    let Cost { switch_merges, partial_merges, full_merges, .. } = total;
    assert!(switch_merges > 100 && partial_merges > 1000 && full_merges > 10_000, "{total:?}");
}

/// The random operations reach the rare cases: otherwise the comparison could pass over nothing.
#[test]
fn the_random_operations_reach_the_rare_cases_of_last() {
    let spec =
        LogSpec { last_old: 6, last_adapts: false, last_hot_share: 0.2, ..LogSpec::last(200.0) };
    let counters = *compare(&spec, 12, 4, 6000, 7).ftl.counters();
    assert!(counters.dead_hot_blocks > 100 && counters.hot_overflows > 100, "{counters:?}");
}
