//! Settings, the rules of flash, and the order of things within a chain.

use super::{Bench, Mix};
use crate::ftl::log::{FullBlock, LogBlocks, LogSpec, LogVictim, Sequential, Shape, Step, Tail};
use crate::units::{Lpn, Ppn};

#[test]
fn the_log_is_divided_as_asked() {
    let shape = LogSpec::faster(10.0).shape(1000, 64).unwrap();
    assert_eq!(shape, Shape { data: 1000, random: 79, sequential: 1, isolation: 20, blocks: 1101 });
    let shape =
        LogSpec { sequential: Sequential::Off, ..LogSpec::fast(3.0) }.shape(2048, 64).unwrap();
    assert_eq!(shape, Shape { data: 2048, random: 61, sequential: 0, isolation: 0, blocks: 2110 });
}

#[test]
fn a_bad_setting_is_answered_with_its_key_and_what_is_allowed() {
    let error = |spec: LogSpec| spec.shape(100, 64).unwrap_err();
    assert_eq!(error(LogSpec::fast(-1.0)), "log_percent = -1: must be from 0 to 1000");
    assert_eq!(error(LogSpec::fast(f64::NAN)), "log_percent = NaN: must be from 0 to 1000");
    let isolation = LogSpec { isolation: 0.95, ..LogSpec::faster(10.0) };
    assert_eq!(error(isolation), "isolation = 0.95: must be from 0 to 0.9");
    let few = error(LogSpec::faster(4.0));
    assert_eq!(
        few,
        "log_percent = 4: 4 log blocks beside 100 data blocks of a lane; at least 5 needed"
    );
    let lane = LogBlocks::new(&LogSpec::fast(10.0), 64, 110, 6400).unwrap_err();
    assert_eq!(lane, "log_percent = 10: a lane needs 111 blocks with it and has 110");
}

#[test]
fn a_mapping_changes_when_its_program_is_done_and_not_before() {
    let mut bench = Bench::filled(&LogSpec::fast(50.0), 8, 4);
    let old = bench.ftl.translate(Lpn(5));
    bench.begin(5);
    let Step::Program { page: Lpn(5), to } = bench.ftl.step() else {
        panic!("nothing is in the way")
    };
    assert_eq!((bench.ftl.translate(Lpn(5)), bench.ftl.holds(to)), (old, None));
    assert!(bench.ftl.is_busy());
    bench.step();
    assert_eq!((bench.ftl.translate(Lpn(5)), bench.ftl.holds(to)), (Some(to), Some(Lpn(5))));
    assert_eq!(bench.ftl.step(), Step::Done);
    assert!(!bench.ftl.is_busy());
}

#[test]
fn a_page_given_back_while_it_is_copied_does_not_come_back() {
    let spec = LogSpec { sequential: Sequential::Off, ..LogSpec::fast(30.0) };
    let mut bench = Bench::filled(&spec, 8, 4);
    let mut mix = Mix::new(3);
    let mut given_back = 0;
    for _ in 0..2000 {
        bench.begin(mix.next(32));
        loop {
            if let Step::Copy { from, .. } = bench.ftl.step() {
                let page = bench.ftl.holds(from).unwrap().0;
                if given_back % 3 == 0 {
                    bench.trim(page);
                }
                given_back += 1;
            }
            if !bench.step() {
                break;
            }
            bench.check_all();
        }
    }
    assert!(given_back > 500);
}

#[test]
fn pages_are_programmed_in_ascending_order_unless_the_classic_way_is_allowed() {
    let out_of_order = |allowed| {
        let spec = LogSpec { out_of_order: allowed, ..LogSpec::fast(50.0) };
        let mut bench = Bench::new(&spec, 8, 4);
        bench.write(3);
        bench.write(1);
        (bench.ftl.translate(Lpn(3)).unwrap(), bench.ftl.translate(Lpn(1)).unwrap())
    };
    let (last, first) = out_of_order(true);
    assert_eq!(Ppn(last.0 - 2), first, "both in their data block");
    let (last, first) = out_of_order(false);
    assert!(first.0 / 4 != last.0 / 4, "the log takes it");
}

#[test]
#[should_panic(expected = "one write at a time")]
fn a_second_write_waits_for_the_first() {
    let mut bench = Bench::new(&LogSpec::fast(50.0), 8, 4);
    bench.begin(0);
    bench.begin(1);
}

/// Each setting moves what it names.
#[test]
fn every_setting_of_faster_shows_in_its_counters() {
    let run = |spec: &LogSpec| {
        let mut bench = Bench::filled(spec, 32, 16);
        let mut mix = Mix::new(5);
        (0..20_000).for_each(|_| bench.write(mix.next(32 * 16)));
        *bench.ftl.counters()
    };
    let spec = LogSpec { sequential: Sequential::Off, isolation: 0.5, ..LogSpec::faster(50.0) };
    let base = run(&spec);
    assert!(base.second_chances > 0 && base.isolations > 0 && base.forced_merges == 0, "{base:?}");
    assert_eq!(base.most_merges, 1, "{base:?}");
    let none = run(&LogSpec { isolation: 0.0, ..spec.clone() });
    assert!(none.isolations == 0 && none.most_merges > 1, "{none:?}");
    let mixed = run(&LogSpec { tail: Tail::Mixed, isolation: 0.0, ..spec.clone() });
    assert!(mixed.second_chances > 0 && mixed.copies != none.copies, "{mixed:?}");
    let sparse = run(&LogSpec { sparse_percent: 50, ..spec.clone() });
    assert!(sparse.second_chances > base.second_chances, "{sparse:?}");
    let late = run(&LogSpec { progressive_threshold: 1.0, ..spec.clone() });
    assert!(
        late.forced_merges > 0,
        "an area that is never emptied in time is emptied by force: {late:?}"
    );
    let sequential = run(&LogSpec { sequential: Sequential::OffsetZero, ..spec.clone() });
    assert!(sequential.partial_merges > 0 && base.partial_merges == 0, "{sequential:?}");
    let renewing = LogSpec { full_block: FullBlock::Renew, ..spec };
    let mut bench = Bench::filled(&renewing, 32, 16);
    (0..32 * 16).for_each(|page| bench.write(page * 17 % 512));
    assert!(
        bench.ftl.counters().renewed_blocks > 0,
        "every page once: blocks expire with all of them valid"
    );
}

#[test]
fn bast_evicts_by_use_or_by_age() {
    // Three log blocks; the first one opened is used again last.
    let evicted = |log_victim| {
        let mut bench = Bench::filled(&LogSpec { log_victim, ..LogSpec::bast(30.0) }, 10, 4);
        [1, 5, 9, 2, 13].iter().for_each(|page| bench.write(*page));
        // The data block that was merged has no page elsewhere: its pages lie side by side.
        let block = |page| bench.ftl.translate(Lpn(page)).unwrap().0 / 4;
        (0..3).find(|lbn| (1..4).all(|offset| block(lbn * 4) == block(lbn * 4 + offset))).unwrap()
    };
    assert_eq!((evicted(LogVictim::Lru), evicted(LogVictim::Fifo)), (1, 0));
}
