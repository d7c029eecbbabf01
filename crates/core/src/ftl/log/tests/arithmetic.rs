//! Numbers that follow from the algorithms alone.

use super::{Bench, Cost};
use crate::ftl::log::{LogSpec, Sequential};
use crate::sim::Rng;

/// The cost of one write.
fn cost_of(bench: &mut Bench, page: u32) -> Cost {
    let before = Cost::of(bench.ftl.counters());
    bench.write(page);
    Cost::of(bench.ftl.counters()).since(before)
}

#[test]
fn a_full_merge_of_64_pages_takes_15_9_ms_on_the_papers_chip() {
    // Two log blocks, each filled with one page over and over: the first to expire holds one valid
    // page at most.
    let spec = LogSpec { sequential: Sequential::Off, ..LogSpec::fast(10.0) };
    let mut bench = Bench::filled(&spec, 20, 64);
    (0..64).for_each(|_| bench.write(3));
    (0..64).for_each(|_| bench.write(64 + 3));
    // Page 3 is valid in the block that expires: one full merge, the victim's erase, the host's
    // program.
    let cost = cost_of(&mut bench, 128);
    assert_eq!(
        cost,
        Cost { copies: 64, programs: 1, erases: 2, full_merges: 1, ..Cost::default() }
    );
    assert_eq!(cost.micros() - 200 - 1500, 64 * (25 + 200) + 1500);
    assert_eq!(cost.micros() - 200 - 1500, 15_900);
}

#[test]
fn bast_switches_for_one_erase_and_merges_partially_for_what_is_missing() {
    let mut bench = Bench::filled(&LogSpec::bast(5.0), 20, 64);
    (0..64).for_each(|page| bench.write(page));
    let switch = cost_of(&mut bench, 64);
    assert_eq!(switch, Cost { programs: 1, erases: 1, switch_merges: 1, ..Cost::default() });
    (65..64 + 40).for_each(|page| bench.write(page));
    let partial = cost_of(&mut bench, 128);
    assert_eq!(
        partial,
        Cost { copies: 24, programs: 1, erases: 1, partial_merges: 1, ..Cost::default() }
    );
    let full = cost_of(&mut bench, 200);
    assert_eq!(full.partial_merges, 1, "a block whose first page alone is written is in order");
    let full = cost_of(&mut bench, 0);
    assert_eq!(
        full,
        Cost { copies: 64, programs: 1, erases: 2, full_merges: 1, ..Cost::default() }
    );
}

/// Reference 3.5: a page that expires takes with it what the log holds of its data block, so each
/// merge cleans 64x + 1 log pages.
#[test]
fn uniform_writes_merge_once_in_64x_plus_1_under_fast() {
    for (log, writes) in [(3.0, 150_000), (10.0, 300_000), (25.0, 600_000)] {
        let spec = LogSpec { sequential: Sequential::Off, ..LogSpec::fast(log) };
        let data = 1024;
        let mut ftl = super::table2::prewritten(&spec, data);
        let mut rng = Rng::stream(1, "uniform");
        let mut write = |writes| {
            let before = ftl.counters().full_merges;
            for _ in 0..writes {
                super::table2::service(&mut ftl, rng.below(u64::from(data) * 64) as u32);
            }
            ftl.counters().full_merges - before
        };
        write(writes);
        let rate = write(writes) as f64 / f64::from(writes);
        let expected = 1.0 / (64.0 * log / 100.0 + 1.0);
        assert!(
            (rate / expected - 1.0).abs() < 0.03,
            "log {log}: {rate:.4} merges a write, not {expected:.4}"
        );
    }
}

#[test]
fn bast_thrashes_where_fast_does_not() {
    // Random writes over many data blocks: nearly every write of BAST merges.
    let merges = |spec: &LogSpec| {
        let mut bench = Bench::filled(spec, 200, 16);
        let mut rng = Rng::stream(1, "thrash");
        (0..20_000).for_each(|_| bench.write(rng.below(200 * 16) as u32));
        (bench.ftl.counters().full_merges + bench.ftl.counters().partial_merges) as f64 / 20_000.0
    };
    assert!(merges(&LogSpec::bast(10.0)) > 0.85);
    assert!(merges(&LogSpec { sequential: Sequential::Off, ..LogSpec::fast(10.0) }) < 0.45);
}
