//! Wear levelling: the data stays right, and blocks are worn as evenly as the gap says.

use super::Bench;
use crate::ftl::log::{LogPolicy, LogSpec};
use crate::ftl::{FreeBlock, FtlSpec};
use crate::sim::Rng;

const POLICIES: [LogPolicy; 4] =
    [LogPolicy::Bast, LogPolicy::Fast, LogPolicy::Faster, LogPolicy::Last];

fn levelled(policy: LogPolicy, free_block: FreeBlock, static_wear_gap: u32) -> Bench {
    let spec = LogSpec { policy, ..LogSpec::faster(40.0) };
    let mut bench = Bench::new(&spec, 32, 16);
    bench.ftl.level(&FtlSpec { free_block, static_wear_gap, ..FtlSpec::default() });
    (0..32 * 16).for_each(|page| bench.write(page));
    bench
}

/// A quarter of the space takes all writes, in short runs; now and then a page is given back.
fn wear_out(bench: &mut Bench, seed: u64, writes: u32) {
    let mut rng = Rng::stream(seed, "levelling");
    let hot = 8 * 16;
    for _ in 0..writes / 4 {
        let first = rng.below(hot - 4) as u32;
        (first..first + 4).for_each(|page| bench.write(page));
        if rng.below(50) == 0 {
            bench.trim(rng.below(32 * 16) as u32);
        }
    }
    bench.check_all();
}

fn spread(bench: &Bench) -> u32 {
    let erases = bench.ftl.erases();
    erases.iter().max().unwrap() - erases.iter().min().unwrap()
}

#[test]
fn a_smaller_gap_bounds_the_wear_of_cold_blocks_tighter() {
    for policy in POLICIES {
        let of = |gap| {
            let mut bench = levelled(policy, FreeBlock::LeastWorn, gap);
            wear_out(&mut bench, 1, 20_000);
            (spread(&bench), bench.ftl.counters().levelled_blocks)
        };
        let [(free, none), (wide, few), (tight, many)] = [0, 16, 4].map(of);
        println!("{policy:?}: {free}, {wide}, {tight} erases apart; {few}, {many} blocks moved");
        assert_eq!(none, 0);
        assert!(few > 0 && many > few, "{policy:?}: {few} {many}");
        assert!(tight < wide && wide < free / 2, "{policy:?}: {free} {wide} {tight}");
        // One look in sixteen erases moves one block.
        assert!(tight <= 4 + 10 && wide <= 16 + 10, "{policy:?}: {wide} {tight}");
    }
}

#[test]
fn levelled_lanes_keep_their_data() {
    for policy in POLICIES {
        for seed in 0..20 {
            let free_block = [FreeBlock::LeastWorn, FreeBlock::Fifo][seed as usize % 2];
            let mut bench = levelled(policy, free_block, 1 + seed as u32 % 3);
            wear_out(&mut bench, seed, 4_000);
            assert!(bench.ftl.counters().levelled_blocks > 5, "{policy:?} {seed}");
        }
    }
}

#[test]
fn the_least_worn_free_block_is_opened_first() {
    let of = |free_block| {
        let mut bench = levelled(LogPolicy::PageMapping, free_block, 0);
        wear_out(&mut bench, 1, 20_000);
        let erases = bench.ftl.erases();
        let mean = f64::from(erases.iter().sum::<u32>()) / erases.len() as f64;
        erases.iter().map(|erases| (f64::from(*erases) - mean).powi(2)).sum::<f64>()
    };
    assert!(of(FreeBlock::LeastWorn) <= of(FreeBlock::Fifo));
}
