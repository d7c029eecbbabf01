//! Each FTL beside its naive model: what every write costs, and every read between any two steps.

use super::naive::Naive;
use super::{Bench, Cost, Mix};
use crate::ftl::log::{FullBlock, LogSpec, LogVictim, Progressive, Sequential, Tail};
use crate::sim::Rng;

/// Random writes and trims; after each step every page is read, after each write its cost is
/// compared.
fn compare(spec: &LogSpec, data: u32, pages: u32, writes: u32, seed: u64) -> Bench {
    let (mut bench, mut naive) = (Bench::new(spec, data, pages), Naive::new(spec, data, pages));
    let (mut mix, mut rng) = (Mix::new(seed), Rng::stream(seed, "trims"));
    for nth in 0..writes {
        let page = mix.next(data * pages);
        bench.begin(page);
        while bench.step() {
            bench.check_all();
        }
        naive.write(page);
        assert_eq!(bench.cost, naive_cost(&naive, bench.cost), "write {nth} of {spec:?}");
        assert_eq!(
            Cost::of(bench.ftl.counters()),
            naive.cost,
            "write {nth}, page {page} of {spec:?}"
        );
        if rng.below(40) == 0 {
            let page = rng.below(u64::from(data * pages)) as u32;
            bench.trim(page);
            naive.trim(page);
        }
    }
    (0..data * pages)
        .for_each(|page| assert_eq!(naive.newest(page) > 0, bench.newest[page as usize] > 0));
    bench
}

/// The flash counts no merges.
fn naive_cost(naive: &Naive, flash: Cost) -> Cost {
    let Cost { copies, programs, erases, .. } = naive.cost;
    Cost { copies, programs, erases, ..flash }
}

/// Settings, on several shapes of a small lane, with several seeds.
fn compare_all(specs: &[LogSpec]) {
    for spec in specs {
        for (data, pages) in [(8, 4), (5, 8), (12, 3)] {
            for (log, seed) in [(50.0, 1), (90.0, 2), (130.0, 3)] {
                for out_of_order in [true, false] {
                    let spec = LogSpec { log_percent: log, out_of_order, ..spec.clone() };
                    if spec.shape(data, pages).is_ok() {
                        compare(&spec, data, pages, 1500, seed);
                    }
                }
            }
        }
    }
}

#[test]
fn bast_does_what_the_naive_bast_does() {
    let lru = LogSpec { sequential_run: 2, ..LogSpec::bast(50.0) };
    compare_all(&[lru.clone(), LogSpec { log_victim: LogVictim::Fifo, ..lru }]);
}

#[test]
fn fast_does_what_the_naive_fast_does() {
    let fast = LogSpec { sequential_run: 2, ..LogSpec::fast(50.0) };
    let at_once = LogSpec { switch_at_once: true, ..fast.clone() };
    compare_all(&[
        fast.clone(),
        LogSpec { sequential: Sequential::Off, ..fast.clone() },
        LogSpec { sequential: Sequential::Run, ..fast },
        LogSpec { sequential: Sequential::Run, ..at_once.clone() },
        at_once,
    ]);
}

#[test]
fn faster_does_what_the_naive_faster_does() {
    let faster = LogSpec { sequential_run: 2, isolation: 0.5, ..LogSpec::faster(50.0) };
    let mut specs = Vec::new();
    for sequential in [Sequential::Off, Sequential::OffsetZero, Sequential::Run] {
        for tail in [Tail::Segregated, Tail::Mixed] {
            for (full_block, sparse_percent) in [(FullBlock::Copy, 0), (FullBlock::Renew, 50)] {
                for (isolation, progressive_threshold) in [(0.0, 0.5), (0.5, 0.5), (0.3, 1.0)] {
                    let spec = faster.clone();
                    specs.push(LogSpec {
                        sequential,
                        tail,
                        full_block,
                        sparse_percent,
                        isolation,
                        progressive_threshold,
                        ..spec
                    });
                }
            }
        }
    }
    compare_all(&specs);
}

#[test]
fn the_firmware_s_interval_is_the_naive_one() {
    let mut merges = 0;
    for progressive_interval in [0, 3] {
        let firmware =
            LogSpec { sequential_run: 3, progressive_interval, ..LogSpec::firmware(100.0) };
        assert_eq!(firmware.progressive, Progressive::Interval);
        for (isolation, sparse_percent) in [(0.2, 50), (0.4, 50), (0.4, 0), (0.7, 0)] {
            let spec = LogSpec { isolation, sparse_percent, ..firmware.clone() };
            compare_all(std::slice::from_ref(&spec));
            for seed in 0..2 {
                let bench = compare(&spec, 16, 8, 4000, seed);
                let counters = bench.ftl.counters();
                assert!(counters.isolations > 0 && counters.second_chances > 0, "{counters:?}");
                merges += counters.full_merges;
            }
        }
    }
    assert!(merges > 500, "{merges}");
}

/// The random operations reach every kind of merge: otherwise the comparison could pass over
/// nothing.
#[test]
fn the_random_operations_reach_every_kind_of_merge() {
    let bench = compare(&LogSpec::bast(50.0), 8, 4, 4000, 7);
    let cost = Cost::of(bench.ftl.counters());
    assert!(
        cost.switch_merges > 10 && cost.partial_merges > 10 && cost.full_merges > 100,
        "{cost:?}"
    );
    let spec = LogSpec { isolation: 0.4, progressive_threshold: 1.0, ..LogSpec::faster(60.0) };
    let bench = compare(&spec, 16, 8, 6000, 7);
    let (cost, counters) = (Cost::of(bench.ftl.counters()), bench.ftl.counters());
    assert!(
        cost.switch_merges > 10 && cost.partial_merges > 10 && cost.full_merges > 30,
        "{cost:?}"
    );
    assert!(
        counters.forced_merges > 0 && counters.second_chances > 100 && counters.isolations > 100,
        "{counters:?}"
    );
}
