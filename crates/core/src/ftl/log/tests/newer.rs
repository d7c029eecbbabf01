//! Numbers that follow from the superblock FTL, LAST and the forms of page mapping; their settings;
//! FMAX's table.

use super::{Bench, Cost, Mix};
use crate::ftl::log::{Compaction, Frontiers, LogPolicy, LogSpec, Shape, Step, Victim};
use crate::sim::Rng;
use crate::stats::LogCounters;
use crate::units::Lpn;

fn cost_of(bench: &mut Bench, page: u32, request: u32) -> Cost {
    let before = Cost::of(bench.ftl.counters());
    bench.write_of(page, request);
    Cost::of(bench.ftl.counters()).since(before)
}

fn superblock(size: u32, updates: u32, log: f64) -> LogSpec {
    LogSpec { superblock_blocks: size, superblock_updates: updates, ..LogSpec::superblock(log) }
}

fn block_of(bench: &Bench, page: u32) -> u32 {
    bench.ftl.translate(Lpn(page)).unwrap().0 / bench.pages
}

#[test]
fn bad_settings_are_answered_with_their_key_and_what_is_allowed() {
    let error = |spec: LogSpec| spec.shape(100, 64).unwrap_err();
    assert_eq!(error(superblock(0, 8, 10.0)), "superblock_blocks = 0: must be from 1 to 65536");
    assert_eq!(error(superblock(8, 0, 10.0)), "superblock_updates = 0: must be from 1 to 65536");
    let hot = LogSpec { superblock_hot: 256, ..superblock(8, 8, 10.0) };
    assert_eq!(error(hot), "superblock_hot = 256: must be from 0 to 255");
    let share = LogSpec { last_sequential_share: 0.95, ..LogSpec::last(10.0) };
    assert_eq!(error(share), "last_sequential_share = 0.95: must be from 0 to 0.9");
    let share = LogSpec { last_hot_share: -0.5, ..LogSpec::last(10.0) };
    assert_eq!(error(share), "last_hot_share = -0.5: must be from 0 to 1");
    let few = error(LogSpec::last(5.0));
    assert_eq!(
        few,
        "log_percent = 5: 5 log blocks beside 100 data blocks of a lane; at least 6 needed"
    );
}

#[test]
fn the_lane_is_divided_as_asked() {
    let shape = |spec: LogSpec| spec.shape(100, 64).unwrap();
    let both = Shape { data: 100, random: 10, sequential: 0, isolation: 0, blocks: 112 };
    assert_eq!(shape(LogSpec::superblock(10.0)), both);
    let halves = Shape { data: 100, random: 5, sequential: 5, isolation: 0, blocks: 111 };
    assert_eq!(shape(LogSpec::last(10.0)), halves);
    let shared = LogSpec { frontiers: Frontiers::Shared, ..LogSpec::page_mapping(2.0) };
    assert_eq!(
        shape(shared),
        Shape { data: 100, random: 2, sequential: 0, isolation: 0, blocks: 103 }
    );
}

/// With one block in a superblock and one U-block: the figures of a log block of its own (see
/// `arithmetic.rs`).
#[test]
fn a_superblock_of_one_block_is_a_data_block_with_a_log_block() {
    let mut bench = Bench::filled(&superblock(1, 1, 5.0), 20, 64);
    (0..64).for_each(|page| bench.write(page));
    let switch = cost_of(&mut bench, 64, 1);
    assert_eq!(switch, Cost { programs: 1, erases: 1, switch_merges: 1, ..Cost::default() });
    (65..64 + 40).for_each(|page| bench.write(page));
    let partial = cost_of(&mut bench, 200, 1);
    assert_eq!(
        partial,
        Cost { copies: 24, programs: 1, erases: 1, partial_merges: 1, ..Cost::default() }
    );
    let full = cost_of(&mut bench, 0, 1);
    assert_eq!(
        full,
        Cost { copies: 64, programs: 1, erases: 2, full_merges: 1, ..Cost::default() }
    );
    // Its pages lie anywhere now, so what is updated in order again has no D-block to replace.
    (192..256).for_each(|page| bench.write(page));
    let dead = cost_of(&mut bench, 64, 1);
    assert_eq!(dead, Cost { programs: 1, erases: 1, ..Cost::default() });
    bench.check_all();
}

#[test]
fn a_block_without_valid_pages_is_erased_before_anything_is_copied() {
    let mut bench = Bench::filled(&superblock(1, 2, 10.0), 20, 64);
    (0..128).for_each(|_| bench.write(5));
    assert_eq!(cost_of(&mut bench, 5, 1), Cost { programs: 1, erases: 1, ..Cost::default() });
}

#[test]
fn updates_of_a_superblock_share_a_block_and_those_of_others_do_not() {
    let mut bench = Bench::filled(&superblock(4, 8, 50.0), 8, 8);
    [1, 9, 17, 25].iter().for_each(|page| bench.write(*page));
    assert!([9, 17, 25].iter().all(|page| block_of(&bench, *page) == block_of(&bench, 1)));
    bench.write(33);
    assert!(block_of(&bench, 33) != block_of(&bench, 1));
    assert_eq!(bench.cost.copies + bench.cost.erases, 0);
}

#[test]
fn the_superblock_that_drew_least_recently_is_collected() {
    let mut bench = Bench::filled(&superblock(1, 8, 20.0), 10, 4);
    // Two U-blocks: 0's is older, though it was written last.
    [1, 5, 2, 9].iter().for_each(|page| bench.write(*page));
    let together = |lbn: u32| {
        (1..4).all(|offset| block_of(&bench, lbn * 4) == block_of(&bench, lbn * 4 + offset))
    };
    assert_eq!((together(0), together(1)), (true, false));
}

#[test]
fn hot_pages_are_copied_apart() {
    let collected = |superblock_hot| {
        let spec = LogSpec {
            superblock_hot,
            superblock_compaction: Compaction::All,
            ..superblock(2, 1, 100.0)
        };
        let mut bench = Bench::filled(&spec, 2, 8);
        [0, 2, 8, 10, 12].iter().for_each(|page| bench.trim(*page));
        [1, 3, 9, 1, 3, 9, 1, 3, 1].iter().for_each(|page| bench.write(*page));
        // The U-block is the first source, as it has the fewest valid pages.
        assert_eq!((bench.cost.copies, bench.cost.erases), (11, 3));
        bench
    };
    let beside = |bench: &Bench| {
        let hot = block_of(bench, 3);
        let valid = (0..16).filter(|page| bench.ftl.translate(Lpn(*page)).is_some());
        valid.filter(|page| block_of(bench, *page) == hot).collect::<Vec<u32>>()
    };
    assert_eq!(beside(&collected(1)), [1, 3, 9]);
    assert_eq!(beside(&collected(2)), [1, 3, 9], "each was updated twice");
    assert_eq!(
        beside(&collected(4)),
        [3, 4, 5, 6, 7, 9, 11],
        "none four times; 1 is in the open block"
    );
    assert_eq!(beside(&collected(0)), [3, 4, 5, 6, 7, 9, 11]);
}

#[test]
fn a_table_that_is_not_in_the_cache_costs_a_read_of_its_own_spare_area() {
    let reads = |superblock_cache: u32, pages: &[u32]| {
        let mut bench =
            Bench::filled(&LogSpec { superblock_cache, ..superblock(2, 2, 100.0) }, 8, 8);
        let before = bench.reads;
        for page in pages {
            bench.begin(*page);
            if let Step::Read { page: at } = bench.ftl.step() {
                let read = bench.ftl.holds(at).unwrap().0;
                assert_eq!(read / 8, page / 8, "a page of the same table");
            }
            while bench.step() {}
        }
        bench.reads - before
    };
    assert_eq!(reads(0, &[1, 20, 1, 20, 40, 1]), 0);
    assert_eq!(reads(1, &[1, 20, 1, 20, 40, 1]), 6);
    assert_eq!(
        reads(2, &[1, 20, 1, 20, 40, 20, 1]),
        4,
        "1, 20, 40 and, since 40 took its place, 1"
    );
    assert_eq!(reads(1, &[1, 2, 3, 4]), 1, "8 pages to a table");
}

#[test]
fn a_host_read_asks_for_its_table_once() {
    let mut bench =
        Bench::filled(&LogSpec { superblock_cache: 2, ..superblock(2, 2, 100.0) }, 8, 8);
    bench.write(3);
    (0..2).for_each(|_| bench.write(30));
    bench.write(40);
    let newest = bench.ftl.translate(Lpn(3));
    assert_eq!((bench.ftl.look_up(Lpn(5)), bench.ftl.look_up(Lpn(6))), (newest, None));
    bench.trim(3);
    [30, 40].iter().for_each(|page| bench.write(*page));
    let other = bench.ftl.look_up(Lpn(5)).unwrap();
    assert!(
        bench.ftl.holds(other).unwrap().0 < 8,
        "what was written last is given back; another page has it"
    );
    for spec in [
        LogSpec::bast(50.0),
        LogSpec::fast(50.0),
        LogSpec::last(100.0),
        LogSpec::page_mapping(100.0),
    ] {
        assert_eq!(Bench::filled(&spec, 8, 8).ftl.look_up(Lpn(1)), None);
    }
}

/// One series of writes, to be run under two settings.
fn campaign(spec: &LogSpec, data: u32, pages: u32) -> LogCounters {
    let (mut bench, mut mix) = (Bench::filled(spec, data, pages), Mix::new(5));
    for nth in 0..20_000 {
        let request = if mix.left > 0 { 8 } else { 1 + nth % 2 };
        bench.write_of(mix.next(data * pages), request);
    }
    bench.check_all();
    *bench.ftl.counters()
}

#[test]
fn every_setting_of_the_superblock_ftl_shows_in_its_counters() {
    let base = superblock(4, 4, 25.0);
    let run = |spec: &LogSpec| campaign(spec, 32, 16);
    let counters = run(&base);
    assert!(counters.full_merges > 100, "{counters:?}");
    let larger = run(&LogSpec { superblock_blocks: 8, ..base.clone() });
    assert!(
        larger.erases < counters.erases,
        "more pages share a U-block: {larger:?}, {counters:?}"
    );
    let few = run(&LogSpec { superblock_updates: 1, ..base.clone() });
    assert!(few.erases != counters.erases, "{few:?}, {counters:?}");
    let all = run(&LogSpec { superblock_compaction: Compaction::All, ..base.clone() });
    assert!(all.copies > counters.copies, "{all:?}, {counters:?}");
    let mixed = run(&LogSpec { superblock_hot: 0, ..base.clone() });
    assert!(mixed.copies != counters.copies, "{mixed:?}, {counters:?}");
    let [little, much] =
        [4, 60].map(|superblock_cache| run(&LogSpec { superblock_cache, ..base.clone() }));
    assert!(little.map_reads > 2 * much.map_reads && much.map_reads > 0, "{little:?}, {much:?}");
    assert_eq!(
        LogCounters { map_reads: 0, longest_chain: counters.longest_chain, ..little },
        counters
    );
}

/// Pages are given back between any two steps, of the write under way as well.
#[test]
fn reads_are_right_at_every_step_of_a_random_campaign() {
    let benefit = LogSpec { victim: Victim::CostBenefit, ..LogSpec::page_mapping(30.0) };
    let specs = [
        superblock(8, 8, 30.0),
        LogSpec {
            superblock_cache: 5,
            superblock_compaction: Compaction::All,
            ..superblock(4, 2, 40.0)
        },
        superblock(3, 100, 200.0),
        LogSpec::last(40.0),
        LogSpec { last_old: 20, last_epoch: 1, last_hot_age: 40, ..last(60.0) },
        LogSpec { frontiers: Frontiers::Shared, ..benefit.clone() },
        benefit,
    ];
    for (seed, spec) in (0..).zip(&specs) {
        for out_of_order in [true, false] {
            let (data, pages) = (23, 8);
            let mut bench = Bench::new(&LogSpec { out_of_order, ..spec.clone() }, data, pages);
            let (mut mix, mut rng) = (Mix::new(seed), Rng::stream(seed, "campaign"));
            for _ in 0..5000 {
                bench.begin_of(mix.next(data * pages), 1 + rng.below(4) as u32);
                loop {
                    if rng.below(50) == 0 {
                        bench.trim(rng.below(u64::from(data * pages)) as u32);
                    }
                    if !bench.step() {
                        break;
                    }
                    bench.check_all();
                }
            }
            let wear: u32 = bench.ftl.erases().iter().sum();
            assert_eq!(
                (u64::from(wear), bench.ftl.counters().copies),
                (bench.cost.erases, bench.cost.copies)
            );
            assert!(bench.cost.erases > 200, "{:?} of {spec:?}", bench.cost);
        }
    }
}

fn last(log: f64) -> LogSpec {
    LogSpec { last_sequential_share: 0.0, ..LogSpec::last(log) }
}

#[test]
fn hot_pages_that_fit_their_partition_never_merge() {
    // Four blocks of eight for hot pages, of which there are two blocks' worth.
    let mut bench = Bench::filled(&last(50.0), 16, 8);
    assert_eq!(bench.ftl.shape().random, 8);
    (0..4000).for_each(|nth| bench.write(nth % 16 * 5));
    let counters = bench.ftl.counters();
    assert_eq!((counters.merges(), counters.copies, counters.hot_overflows), (0, 0, 0));
    // 16 writes were cold; of the rest all but what is open or valid was erased, eight pages at a
    // time.
    assert_eq!(counters.erases, counters.dead_hot_blocks);
    assert!((3984 / 8 - 4..=3984 / 8).contains(&counters.erases), "{counters:?}");
}

#[test]
fn a_page_written_again_too_late_is_not_hot() {
    for (last_hot_age, hot) in [(16, true), (15, false)] {
        let spec = LogSpec { last_hot_age, last_adapts: false, ..last(50.0) };
        let mut bench = Bench::filled(&spec, 16, 8);
        // Fifteen others are written between two versions of a page.
        (0..2000).for_each(|nth| bench.write(nth % 16 * 5));
        assert_eq!(bench.ftl.counters().dead_hot_blocks > 0, hot, "{last_hot_age}");
    }
}

#[test]
fn the_cold_block_of_the_fewest_data_blocks_is_merged() {
    let mut bench = Bench::filled(&LogSpec { last_hot_share: 0.0, ..last(50.0) }, 8, 4);
    assert_eq!(bench.ftl.shape().random, 4);
    // The second block has pages of one data block.
    [0, 4, 8, 12, 16, 17, 18, 19, 1, 5, 9, 13, 2, 6, 10, 14]
        .iter()
        .for_each(|page| bench.write(*page));
    assert_eq!((bench.cost.copies, bench.cost.erases), (0, 0));
    let cost = cost_of(&mut bench, 28, 1);
    assert_eq!(cost, Cost { copies: 4, programs: 1, erases: 2, full_merges: 1, ..Cost::default() });
}

#[test]
fn long_requests_are_switched_and_short_ones_are_not() {
    for (request, switches) in [(3, 1), (2, 0)] {
        let mut bench = Bench::filled(&LogSpec::last(40.0), 20, 64);
        assert_eq!((bench.ftl.shape().sequential, bench.ftl.shape().random), (4, 4));
        for first in [0, 256, 320, 512] {
            (first..first + 64).for_each(|page| bench.write_of(page, request));
        }
        let cost = cost_of(&mut bench, 1000, request);
        assert_eq!(cost.switch_merges, switches);
        let only = Cost { programs: 1, erases: 1, switch_merges: 1, ..Cost::default() };
        assert!(switches == 0 || cost == only, "{cost:?}");
    }
}

/// Pages that a short request wrote since are newer than the sequential block that becomes the data
/// block.
#[test]
fn a_sequential_block_of_last_may_be_older_than_the_random_log() {
    let mut bench =
        Bench::filled(&LogSpec { last_sequential_share: 0.2, ..LogSpec::last(63.0) }, 8, 4);
    assert_eq!((bench.ftl.shape().sequential, bench.ftl.shape().random), (1, 4));
    (4..8).for_each(|page| bench.write_of(page, 4));
    bench.write(5);
    bench.write_of(8, 4);
    assert_eq!(bench.ftl.counters().switch_merges, 1);
    bench.check_all();
    assert!(block_of(&bench, 5) != block_of(&bench, 4));
}

#[test]
fn every_setting_of_last_shows_in_its_counters() {
    let base = LogSpec { last_adapts: false, ..LogSpec::last(50.0) };
    let run = |spec: &LogSpec| campaign(spec, 32, 16);
    let counters = run(&base);
    assert!(
        counters.merges() > 0 && counters.hot_overflows > 0 && counters.dead_hot_blocks > 0,
        "{counters:?}"
    );
    let settings = [
        LogSpec { last_sequential_share: 0.2, ..base.clone() },
        LogSpec { last_sequential_pages: 1, ..base.clone() },
        LogSpec { last_hot_share: 0.2, ..base.clone() },
        LogSpec { last_hot_age: 20, ..base.clone() },
        LogSpec { last_old: 5, ..base.clone() },
        LogSpec { last_adapts: true, ..base.clone() },
    ];
    for spec in &settings {
        assert!(run(spec) != counters, "{spec:?}");
    }
    let adapting = LogSpec { last_adapts: true, ..base };
    assert!(run(&LogSpec { last_epoch: 16, ..adapting.clone() }) != run(&adapting));
}

#[test]
fn one_open_block_takes_copies_and_host_writes() {
    let spec = LogSpec { frontiers: Frontiers::Shared, ..LogSpec::page_mapping(50.0) };
    let mut bench = Bench::filled(&spec, 4, 4);
    assert_eq!(bench.ftl.shape().blocks, 7);
    // Two more blocks, then one is left: the first of them has no valid page.
    (0..8).for_each(|_| bench.write(0));
    assert_eq!(cost_of(&mut bench, 0, 1), Cost { programs: 1, erases: 1, ..Cost::default() });
    // The next two victims are the blocks of page 0 as well.
    (0..7).for_each(|_| bench.write(0));
    assert_eq!((bench.cost.copies, bench.cost.erases), (0, 2));
    // Every block loses a page: the victim has most of its pages valid, and they begin the open
    // block.
    [4, 8, 12, 5, 9, 13].iter().for_each(|page| bench.write(*page));
    let copies = bench.cost.copies;
    while bench.cost.copies == copies {
        bench.write(1);
    }
    let moved = (bench.cost.copies - copies) as u32;
    assert!((1..4).contains(&moved));
    assert_eq!(
        bench.ftl.translate(Lpn(1)).unwrap().0 % 4,
        moved,
        "the host's page follows the copies"
    );
    bench.check_all();
}

#[test]
fn cost_benefit_leaves_young_blocks_alone() {
    let run = |victim, frontiers| {
        campaign(&LogSpec { victim, frontiers, ..LogSpec::page_mapping(25.0) }, 32, 16)
    };
    for frontiers in [Frontiers::Separate, Frontiers::Shared] {
        let [greedy, benefit] =
            [Victim::Greedy, Victim::CostBenefit].map(|victim| run(victim, frontiers));
        assert!(greedy.copies != benefit.copies, "{greedy:?}, {benefit:?}");
    }
    assert!(run(Victim::Greedy, Frontiers::Separate) != run(Victim::Greedy, Frontiers::Shared));
}

/// FMAX, as far as it is public: a block beside each data block. No log block is ever in another
/// data block's way.
#[test]
fn bast_with_a_log_block_for_each_data_block_merges_full_ones_only() {
    let spec = LogSpec::bast(100.0);
    assert_eq!((spec.policy, spec.shape(8, 4).unwrap().random), (LogPolicy::Bast, 8));
    let mut bench = Bench::filled(&spec, 8, 4);
    for _ in 0..4 {
        (0..8).for_each(|lbn| bench.write(lbn * 4 + 1));
    }
    assert_eq!(bench.ftl.counters().merges(), 0);
    (0..8).for_each(|lbn| bench.write(lbn * 4 + 1));
    assert_eq!(bench.ftl.counters().full_merges, 8);
}
