//! Defects of the public code of these FTLs (reference 2.1 to 2.3), one test each.

use super::{Bench, Cost, Mix};
use crate::ftl::log::{LogSpec, Progressive, Sequential, Step, Tail};
use crate::units::Lpn;

fn fast(log: f64) -> LogSpec {
    LogSpec { sequential_run: 2, ..LogSpec::fast(log) }
}

fn random_only(log: f64) -> LogSpec {
    LogSpec { sequential: Sequential::Off, ..fast(log) }
}

/// FlashSim's BAST takes the count of valid pages for the write pointer: it falls when a page in
/// the log is replaced.
#[test]
fn bast_appends_behind_replaced_pages() {
    let mut bench = Bench::filled(&LogSpec { sequential_run: 2, ..LogSpec::bast(50.0) }, 8, 8);
    let slots: Vec<u32> = [1, 1, 2, 1, 2]
        .map(|page| {
            bench.write(page);
            bench.ftl.translate(Lpn(page)).unwrap().0 % 8
        })
        .to_vec();
    assert_eq!(slots, [0, 1, 2, 3, 4]);
    bench.check_all();
}

/// FlashSim's `is_sequential` ignores how far the log block is written: here 0, 1, 2 are in place
/// and 2 came twice.
#[test]
fn bast_takes_a_log_block_with_a_replaced_page_for_out_of_order() {
    let mut bench = Bench::filled(&LogSpec { sequential_run: 2, ..LogSpec::bast(13.0) }, 8, 4);
    assert_eq!(bench.ftl.shape().random, 1);
    [0, 1, 2, 2, 4].iter().for_each(|page| bench.write(*page));
    let counters = bench.ftl.counters();
    assert_eq!((counters.switch_merges, counters.partial_merges, counters.full_merges), (0, 0, 1));
    bench.check_all();
}

/// FlashSim's BAST has no partial merge.
#[test]
fn bast_merges_a_front_in_order_partially() {
    let mut bench = Bench::filled(&LogSpec { sequential_run: 2, ..LogSpec::bast(13.0) }, 8, 4);
    [0, 1, 4].iter().for_each(|page| bench.write(*page));
    assert_eq!(bench.ftl.counters().partial_merges, 1);
    assert_eq!(bench.cost.copies, 2);
}

/// FlashSim's BAST reads page 0 for one that is not valid.
#[test]
fn a_page_never_written_is_nowhere() {
    for spec in [LogSpec { sequential_run: 2, ..LogSpec::bast(50.0) }, fast(50.0)] {
        let mut bench = Bench::new(&spec, 8, 4);
        bench.write(5);
        assert!(
            (0..32).filter(|page| *page != 5).all(|page| bench.ftl.translate(Lpn(page)).is_none())
        );
    }
}

/// FlashSim's BAST draws its victim at random, from an index that can be -1.
#[test]
fn bast_s_victim_is_the_same_in_every_run() {
    let run = || {
        let mut bench = Bench::filled(&LogSpec { sequential_run: 2, ..LogSpec::bast(50.0) }, 16, 4);
        let mut mix = Mix::new(9);
        (0..2000).for_each(|_| bench.write(mix.next(64)));
        (0..64).map(|page| bench.ftl.translate(Lpn(page))).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

/// The PSU code's partial merge looks a page up without asking whether the entry is stale.
#[test]
fn a_partial_merge_copies_the_newest_version_from_the_log() {
    let mut bench = Bench::filled(&fast(50.0), 8, 4);
    // Page 7 is in the log three times, then the sequential block of 4..8 is merged.
    [7, 7, 7, 4, 5, 8].iter().for_each(|page| bench.write(*page));
    assert_eq!(bench.ftl.counters().partial_merges, 1);
    bench.check_all();
}

/// Bjorling's FAST, (a): the loop over a log block ends before page 0, whose data is lost.
#[test]
fn the_first_page_of_a_log_block_is_merged_too() {
    let mut bench = Bench::filled(&random_only(13.0), 8, 4);
    assert_eq!(bench.ftl.shape().random, 1);
    [1, 5, 9, 13, 17].iter().for_each(|page| bench.write(*page));
    assert_eq!(bench.ftl.counters().full_merges, 4);
    bench.check_all();
}

/// Bjorling's FAST, (b): the oldest version in the log is found first.
#[test]
fn of_several_versions_in_the_log_the_newest_is_read() {
    let mut bench = Bench::filled(&random_only(100.0), 8, 4);
    for _ in 0..9 {
        bench.write(6);
        bench.check_all();
    }
}

/// Bjorling's FAST, (c): the random log is searched before the sequential one.
#[test]
fn a_newer_version_in_the_sequential_block_hides_the_one_in_the_random_log() {
    let mut bench = Bench::filled(&fast(50.0), 8, 4);
    [5, 4, 5].iter().for_each(|page| bench.write(*page));
    let block = |page| bench.ftl.translate(Lpn(page)).unwrap().0 / 4;
    assert_eq!(block(5), block(4));
    bench.check_all();
}

/// Bjorling's FAST, (d): a write that passes pages over is put where the sequential block happens
/// to end.
#[test]
fn a_page_ahead_of_the_sequential_block_is_merged_into_its_own_place() {
    let mut bench = Bench::filled(&fast(50.0), 8, 4);
    [4, 6].iter().for_each(|page| bench.write(*page));
    assert_eq!(bench.ftl.translate(Lpn(6)).unwrap().0 % 4, 2);
    let counters = bench.ftl.counters();
    assert_eq!((counters.partial_merges, counters.full_merges, counters.copies), (1, 0, 2));
    bench.check_all();
}

/// And one of a page that the sequential block holds: a full merge of both.
#[test]
fn a_page_behind_the_end_of_the_sequential_block_is_merged_with_both_blocks() {
    let mut bench = Bench::filled(&fast(50.0), 8, 4);
    [4, 5, 5].iter().for_each(|page| bench.write(*page));
    let cost = Cost { copies: 3, programs: 35, erases: 2, full_merges: 1, ..Cost::default() };
    assert_eq!(Cost::of(bench.ftl.counters()), cost);
    bench.check_all();
}

/// Bjorling's FAST, (e): a data block that does not exist is read at index -1.
#[test]
fn merges_pass_over_pages_that_were_never_written() {
    let mut bench = Bench::new(&random_only(13.0), 8, 4);
    [2, 2, 6, 6, 2, 6, 10, 10, 2].iter().for_each(|page| bench.write(*page));
    assert_eq!(bench.cost.copies, bench.ftl.counters().full_merges, "one page each");
    assert!(bench.cost.copies > 0);
    bench.check_all();
}

/// Bjorling's FAST, (f): blocks in use are counted as free. A free block is erased, and no block is
/// used twice.
#[test]
fn only_erased_blocks_are_taken() {
    // `Bench::step` asserts it of each program; a lane without a block to spare would be the first
    // to fail.
    for spec in
        [random_only(13.0), fast(30.0), LogSpec { sequential_run: 2, ..LogSpec::faster(80.0) }]
    {
        let (mut bench, mut mix) = (Bench::filled(&spec, 8, 4), Mix::new(2));
        (0..5000).for_each(|_| bench.write(mix.next(32)));
        bench.check_all();
    }
}

/// sssl's fast.py merges the data block of "page -1" for stale pages.
#[test]
fn stale_pages_of_a_victim_merge_nothing() {
    let mut bench = Bench::filled(&random_only(13.0), 8, 4);
    (0..20).for_each(|_| bench.write(9));
    // Each victim holds three stale versions and the newest; the write that needs its room makes
    // the one merge.
    let counters = bench.ftl.counters();
    assert_eq!((counters.full_merges, counters.copies), (4, 16));
}

/// sssl's fast.py closes the sequential block at any other write.
#[test]
fn the_sequential_block_stays_open_while_others_write() {
    let mut bench = Bench::filled(&fast(50.0), 8, 4);
    [4, 9, 5, 13, 6, 17, 7, 8].iter().for_each(|page| bench.write(*page));
    let counters = bench.ftl.counters();
    assert_eq!((counters.switch_merges, counters.partial_merges, counters.full_merges), (1, 0, 0));
}

fn faster(log: f64) -> LogSpec {
    LogSpec { sequential: Sequential::Off, sequential_run: 2, ..LogSpec::faster(log) }
}

/// Jasmine, (1): marks of a victim without valid pages stay, and new pages there have lost their
/// second chance. Here marks are kept beside the FTL: what is isolated was copied to the log
/// before, since its block was erased last.
#[test]
fn a_page_in_a_block_that_held_second_chances_has_its_own() {
    for tail in [Tail::Mixed, Tail::Segregated] {
        let (data, pages) = (12, 8);
        let spec = LogSpec { isolation: 0.3, tail, ..faster(100.0) };
        let mut bench = Bench::filled(&spec, data, pages);
        let mut had_its_chance = vec![false; bench.content.len()];
        // Blocks that were erased with such a page in them, no page of which had been copied since
        // they expired.
        let (mut copied_from, mut emptied) = (u32::MAX, 0);
        let mut mix = Mix::new(5);
        for nth in 0..20_000_u32 {
            // Every other while: eight pages, then three others for longer than the log is. The
            // eight get their second chance in a block of their own, and are written again before
            // that expires.
            let page = match (nth / 400 % 2, nth % 84) {
                (0, turn @ 0..8) => 40 + turn,
                (0, turn) => turn % 3,
                _ => mix.next(data * pages),
            };
            bench.begin(page);
            loop {
                // Whether it isolates or gives a chance is counted when a step is planned.
                let before = *bench.ftl.counters();
                let step = bench.ftl.step();
                if !bench.step() {
                    break;
                }
                let after = bench.ftl.counters();
                match step {
                    Step::Copy { from, to } => {
                        let isolated = after.isolations > before.isolations;
                        assert!(
                            !isolated || had_its_chance[from.0 as usize],
                            "write {nth}: isolated at once"
                        );
                        had_its_chance[to.0 as usize] =
                            !isolated && after.second_chances > before.second_chances;
                        copied_from = from.0 / pages;
                    }
                    Step::Erase { block } => {
                        let marks =
                            &mut had_its_chance[(block.0 * pages) as usize..][..pages as usize];
                        emptied += u32::from(marks.contains(&true) && copied_from != block.0);
                        marks.fill(false);
                    }
                    _ => {}
                }
            }
        }
        let counters = bench.ftl.counters();
        assert!(
            counters.isolations > 500 && counters.second_chances > 500 && emptied > 20,
            "{emptied}, {counters:?}"
        );
        bench.check_all();
    }
}

/// Jasmine, (2): the merge of an isolated page that turns out to be a partial merge returns before
/// the isolation block is reclaimed; blocks are lost until none is left.
#[test]
fn isolation_blocks_come_back_also_after_partial_merges() {
    let spec = LogSpec { sequential: Sequential::OffsetZero, isolation: 0.3, ..faster(100.0) };
    let (data, pages) = (12, 8);
    let spec = LogSpec { sequential_run: 2, ..spec };
    let mut bench = Bench::filled(&spec, data, pages);
    let mut mix = Mix::new(4);
    (0..40_000).for_each(|_| bench.write(mix.next(data * pages)));
    let counters = *bench.ftl.counters();
    // Far more isolated pages than the area holds, and partial merges among the merges: nothing
    // leaked.
    assert!(
        counters.isolations > 20 * u64::from(bench.ftl.shape().isolation * pages),
        "{counters:?}"
    );
    assert!(counters.partial_merges > 100, "{counters:?}");
    bench.check_all();
}

/// Jasmine, (3): `interval + bank << 1` shifts the sum. The first merge comes an interval after it
/// may.
#[test]
fn the_interval_between_merges_is_what_was_asked_for() {
    let spec =
        LogSpec { progressive: Progressive::Interval, progressive_interval: 10, ..faster(100.0) };
    let mut bench = Bench::filled(&LogSpec { isolation: 0.5, ..spec }, 32, 8);
    let mut merged_at = Vec::new();
    let mut mix = Mix::new(6);
    for nth in 0..900_i32 {
        let before = bench.ftl.counters().full_merges;
        bench.write(mix.next(256));
        if bench.ftl.counters().full_merges > before {
            merged_at.push(nth);
        }
    }
    assert!(merged_at.len() > 3, "{merged_at:?}");
    // It grew by one for each eighth of the log's 256 pages while nothing was isolated, from the
    // first write on.
    let interval = 10 + (256 + merged_at[0]) / 32;
    assert!((merged_at[1] - merged_at[0] - interval).abs() <= 1, "{merged_at:?}");
}

/// Jasmine, (5): one write can isolate more than the area holds. It is emptied by force instead.
#[test]
fn a_full_isolation_area_is_emptied_before_more_is_isolated() {
    let spec = LogSpec { isolation: 0.1, progressive_threshold: 1.0, ..faster(100.0) };
    let mut bench = Bench::filled(&spec, 16, 8);
    let mut mix = Mix::new(8);
    for _ in 0..20_000 {
        bench.begin(mix.next(128));
        while bench.ftl.step() != Step::Done {
            bench.step();
        }
        bench.step();
    }
    assert!(bench.ftl.counters().forced_merges > 0, "{:?}", bench.ftl.counters());
    bench.check_all();
}
