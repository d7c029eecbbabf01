//! Drives with a cache of blocks with one bit a cell: the data stays right whatever runs beside,
//! the times are those of the cache, and its settings move what they should.

use super::predictable::{Game, requests};
use super::retry::play;
use super::{Setup, drawn, one_of, small};
use crate::drive::{Drive, Op, PreconditionState, TimelineSpec, WindowSchedule, Windows};
use crate::flash::SlcTiming;
use crate::ftl::{
    Allocation, DataPlacement, FoldWhen, Frontiers, FtlKind, GcMode, GcWhen, PslcSpec, VictimUnit,
    WhenFull,
};
use crate::host::{Arrival, Driver, JobSpec, Pattern};
use crate::sim::Rng;
use crate::stats::PslcCounters;
use crate::units::{Bytes, Duration, Instant};

const SLC: SlcTiming =
    SlcTiming { bits: 2, read: Duration::from_us(15), program: Duration::from_us(120) };

/// Any cache on a drive that may have anything else; `None` where there can be none.
fn cached(mut setup: Setup) -> Option<Setup> {
    if setup.ftl.kind == FtlKind::LogBlock {
        return None;
    }
    let mut rng = Rng::stream(setup.seed, "cached");
    let rows = setup.device.geometry.pages / setup.device.feature.program_pages;
    let bits = one_of(&mut rng, &[2, 3, 4]).min(rows);
    setup.device.slc = Some(SlcTiming { bits, ..SLC });
    setup.ftl.placement = DataPlacement::Pslc;
    setup.ftl.frontiers = Frontiers::Separate;
    let (statics, dynamic) = one_of(&mut rng, &[(1, 0), (3, 0), (0, 4), (2, 6), (1, 1)]);
    let full = one_of(&mut rng, &[WhenFull::Direct, WhenFull::Direct, WhenFull::Wait]);
    let may_wait = statics > 0 && setup.gc.unit == VictimUnit::Block;
    let full = if may_wait { full } else { WhenFull::Direct };
    let fold = one_of(&mut rng, &[FoldWhen::Pressure, FoldWhen::Worth, FoldWhen::Idle]);
    setup.ftl.pslc = PslcSpec {
        static_blocks: statics,
        dynamic_blocks: dynamic,
        full,
        fold: if full == WhenFull::Wait { FoldWhen::Pressure } else { fold },
        idle: one_of(&mut rng, &[1, 300, 20_000].map(Duration::from_us)),
        copyback: setup.gc.unit == VictimUnit::Block && rng.below(2) == 0,
    };
    setup.device.op = if setup.device.op > 0.5 { 0.8 } else { 0.65 };
    let marks = one_of(&mut rng, &[(0.15, 0.05), (0.1, 0.0)]);
    (setup.gc.soft, setup.gc.hard) = (marks.0.into(), marks.1.into());
    Some(setup)
}

#[test]
fn drawn_drives_with_a_cache_keep_their_data_and_end() {
    let (mut seen, mut drives) = (PslcCounters::default(), 0);
    for setup in (0..150).filter_map(|seed| cached(drawn(seed))) {
        seen.add(&play(&setup).drive().counters().pslc);
        drives += 1;
    }
    assert!(drives > 100 && seen.cached_units > 100_000 && seen.direct_units > 10_000, "{seen:?}");
    assert!(seen.folds > 2_000 && seen.idle_folds > 100 && seen.folded_units > 10_000, "{seen:?}");
    assert!(seen.reads > 5_000, "{seen:?}");
}

#[test]
fn windows_and_failed_reads_hold_beside_a_cache() {
    let (mut fails, mut steps) = (0, 0);
    for setup in (0..60).filter_map(|seed| cached(requests(drawn(seed), 500))) {
        let schedule = WindowSchedule {
            members: 3,
            index: 1,
            length: Duration::from_ms(8),
            cycle_start: Instant::START,
            guard: Duration::from_us(50),
        };
        for windows in [Windows::Off, Windows::Scheduled(schedule)] {
            let counters = Game { windows, ..Game::new(&setup) }.play().counters;
            fails += counters.fast_fails;
            steps += counters.steps_in_window;
        }
    }
    assert!(fails > 500 && steps > 500, "{fails} {steps}");
}

#[test]
fn observers_and_short_ways_change_nothing_beside_a_cache() {
    let everything = TimelineSpec {
        from: Instant::START,
        to: Instant::NEVER,
        slow: Some(Duration::ZERO),
        limit: u64::MAX,
    };
    for setup in (0..40).filter_map(|seed| cached(requests(drawn(seed), 400))) {
        let play = |change: &dyn Fn(&mut Drive)| {
            let mut drive = setup.bare_drive();
            change(&mut drive);
            let mut driver = setup.driver_of(drive);
            driver.play_to_the_end();
            super::digest(&driver)
        };
        let bare = play(&|_| ());
        assert_eq!(bare, play(&|drive| drive.attribute()), "seed {}", setup.seed);
        let watched = play(&|drive| drive.keep_timeline(&everything));
        assert_eq!(bare, watched, "seed {}", setup.seed);
        assert_eq!(bare, play(&|drive| drive.take_the_long_way()), "seed {}", setup.seed);
    }
}

/// An empty drive whose cache has three blocks of eight rows on each of four lanes.
fn with_cache() -> Setup {
    let mut setup = small();
    setup.device.slc = Some(SLC);
    setup.device.op = 0.5;
    setup.precondition.state = PreconditionState::Empty;
    setup.gc.mode = GcMode::Preemptive;
    setup.drive.write_through = true;
    setup.ftl.placement = DataPlacement::Pslc;
    setup.ftl.pslc =
        PslcSpec { static_blocks: 3, idle: Duration::from_ms(5), ..PslcSpec::default() };
    setup
}

fn job(setup: &Setup, requests: u64, read_percent: f64) -> JobSpec {
    let job = &setup.jobs[0];
    JobSpec { requests, read_percent, pattern: Pattern::Sequential, queue_depth: 1, ..job.clone() }
}

fn worst(driver: &Driver, op: Op) -> Duration {
    let measured = driver.measured();
    let stats = if op == Op::Read { &measured.read } else { &measured.write };
    stats.histogram.max().expect("there are some")
}

#[test]
fn a_write_takes_the_program_of_the_cache_until_it_is_full_and_then_that_past_it() {
    for (requests, is_past) in [(96, false), (97, true)] {
        let mut setup = with_cache();
        setup.ftl.pslc.fold = FoldWhen::Idle;
        setup.jobs = vec![job(&setup, requests, 0.0)];
        let driver = setup.play();
        let counters = driver.drive().counters().pslc;
        // Three blocks of half of 16 rows on 4 lanes: 96 rows of a page.
        assert_eq!((counters.cached_units, counters.direct_units), (96, requests - 96));
        let (device, timing) = (&setup.device, &setup.device.timing);
        let page = device.channel.rate.time_for(device.geometry.page.get());
        let array = if is_past { timing.program[0] } else { SLC.program };
        let expected = device.channel.command + page + array;
        assert_eq!(worst(&driver, Op::Write), expected, "{requests} writes");
    }
}

#[test]
fn reads_take_the_time_of_the_cache_before_the_fold_and_that_of_other_blocks_after_it() {
    let mut setup = with_cache();
    (setup.ftl.pslc.idle, setup.ftl.pslc.fold) = (Duration::from_ms(200), FoldWhen::Idle);
    // All three blocks of each lane are filled and closed.
    setup.jobs = vec![job(&setup, 96, 0.0)];
    let reads = |at_ms: u64| JobSpec {
        requests: 40,
        start: Duration::from_ms(at_ms),
        ..job(&setup, 40, 100.0)
    };
    let (early, late) = (reads(100), reads(900));
    let page = setup.device.channel.rate.time_for(setup.device.geometry.page.get());
    let across = setup.device.channel.command + page;
    for (reads, array, folds) in [(early, SLC.read, 0), (late, setup.device.timing.read[0], 12)] {
        let mut setup = setup.clone();
        setup.jobs.push(reads);
        let driver = setup.play();
        let counters = driver.drive().counters().pslc;
        assert_eq!(worst(&driver, Op::Read), across + array);
        assert_eq!((counters.idle_folds, counters.folds), (folds, folds));
        assert_eq!(counters.folded_units, if folds > 0 { 96 } else { 0 });
    }
}

#[test]
fn a_row_of_several_pages_programs_as_many_word_lines_in_the_cache() {
    let mut setup = with_cache();
    setup.device.feature.program_pages = 2;
    setup.jobs = vec![job(&setup, 1, 0.0)];
    let driver = setup.play();
    let device = &setup.device;
    let row = device.channel.rate.time_for(2 * device.geometry.page.get());
    let expected = device.channel.command + row + SLC.program * 2;
    assert_eq!(worst(&driver, Op::Write), expected);
}

/// Random overwrites at depth 8, more than the cache takes.
fn overwrites(change: impl Fn(&mut Setup)) -> Driver {
    let mut setup = with_cache();
    setup.device.op = 0.6;
    setup.precondition.state = PreconditionState::Fill;
    setup.jobs =
        vec![JobSpec { pattern: Pattern::Random, queue_depth: 8, ..job(&setup, 6_000, 30.0) }];
    change(&mut setup);
    setup.play()
}

fn a_second(driver: &Driver) -> f64 {
    driver.progress().completed as f64 / driver.now().since(Instant::START).as_s_f64()
}

#[test]
fn each_setting_moves_what_it_should() {
    let pslc = |driver: &Driver| driver.drive().counters().pslc;
    let plain = overwrites(|_| ());
    assert!(pslc(&plain).folds > 100 && pslc(&plain).direct_units > 100);
    let larger = overwrites(|setup| setup.ftl.pslc.static_blocks = 8);
    assert!(pslc(&larger).folded_units < pslc(&plain).folded_units, "more dies in the cache");
    let idle = overwrites(|setup| setup.ftl.pslc.fold = FoldWhen::Idle);
    assert_eq!(pslc(&idle).folds, pslc(&idle).idle_folds);
    let lent = overwrites(|setup| {
        (setup.ftl.pslc.dynamic_blocks, setup.ftl.pslc.fold) = (8, FoldWhen::Idle);
    });
    assert!(pslc(&lent).cached_units > pslc(&idle).cached_units);
    assert!(pslc(&idle).cached_units < pslc(&plain).cached_units);
    let waits = overwrites(|setup| setup.ftl.pslc.full = WhenFull::Wait);
    assert_eq!(pslc(&waits).direct_units, 0);
    // Each page dies in the cache, or none does.
    for (pages, folds) in [(64, true), (0, false)] {
        let worth = overwrites(|setup| {
            setup.ftl.pslc.fold = FoldWhen::Worth;
            let job = &mut setup.jobs[0];
            (job.read_percent, job.queue_depth) = (0.0, 1);
            if pages > 0 {
                job.size = Bytes::kib(4 * pages);
            } else {
                (job.pattern, job.requests) = (Pattern::Sequential, 400);
            }
        });
        let counters = pslc(&worth);
        assert_eq!(counters.folds > counters.idle_folds + 50, folds, "{counters:?}");
        assert!(!folds || counters.folded_units < counters.cached_units / 2, "{counters:?}");
    }
    let across = |copyback| {
        let driver = overwrites(|setup| {
            setup.ftl.pslc.copyback = copyback;
            setup.device.channel.rate = crate::units::Bandwidth::bytes_per_second(10_000_000);
        });
        a_second(&driver)
    };
    assert!(across(true) > across(false), "{} {}", across(true), across(false));
    let soon = overwrites(|setup| {
        let job = &mut setup.jobs[0];
        (job.arrival, job.rate) = (Arrival::Poisson, 200.0);
        setup.ftl.pslc.idle = Duration::from_us(100);
    });
    assert!(pslc(&soon).idle_folds > 100, "{:?}", pslc(&soon));
}

#[test]
fn a_fold_needs_no_space_that_other_collections_need() {
    // Little spare space, and a cache that folds all the time.
    for statics in [1, 2, 5] {
        for unit in [VictimUnit::Block, VictimUnit::Superblock] {
            let driver = overwrites(|setup| {
                setup.device.op = 0.3 + f64::from(statics) / 24.0;
                (setup.gc.soft, setup.gc.hard) = (0.05.into(), 0.0.into());
                (setup.gc.unit, setup.ftl.allocation) = (unit, Allocation::Dynamic);
                setup.ftl.pslc.static_blocks = statics;
                if unit == VictimUnit::Block {
                    setup.ftl.pslc.full = WhenFull::Wait;
                }
                setup.jobs[0].requests = 20_000;
            });
            let counters = driver.drive().counters();
            assert!(counters.pslc.folds > 0 && counters.collections > counters.pslc.folds);
        }
    }
}

/// Two ways in which rows once waited for ever: a GC run that was listed for a fold and found that
/// none was wanted any more, and lanes of a group that nothing woke.
#[test]
fn no_row_waits_for_a_fold_that_does_not_come() {
    let in_turn = |mode, seed| {
        overwrites(|setup| {
            (setup.gc.mode, setup.gc.when, setup.seed) = (mode, GcWhen::Foreground, seed);
            setup.precondition.state = PreconditionState::Empty;
            (setup.ftl.pslc.static_blocks, setup.ftl.pslc.dynamic_blocks) = (1, 4);
            (setup.jobs[0].queue_depth, setup.jobs[0].read_percent) = (1, 0.0);
        });
    };
    let ahead = |mode, unit, (statics, dynamic), depth, kib| {
        overwrites(|setup| {
            setup.device.geometry.planes = 2;
            setup.device.op = 0.7;
            (setup.gc.mode, setup.gc.unit, setup.ftl.allocation) =
                (mode, unit, Allocation::Dynamic);
            (setup.ftl.pslc.static_blocks, setup.ftl.pslc.dynamic_blocks) = (statics, dynamic);
            (setup.jobs[0].queue_depth, setup.jobs[0].read_percent) = (depth, 0.0);
            setup.jobs[0].block_sizes = vec![(Bytes::kib(kib), 1.0)];
        });
    };
    for seed in 0..4 {
        in_turn(GcMode::Base, seed);
        in_turn(GcMode::Controller, seed);
    }
    for mode in [GcMode::Preemptive, GcMode::Base, GcMode::Nogc] {
        for unit in [VictimUnit::PlaneGroup, VictimUnit::Superblock] {
            for (blocks, depth, kib) in [((2, 2), 32, 4), ((1, 0), 8, 4), ((2, 2), 6, 32)] {
                ahead(mode, unit, blocks, depth, kib);
            }
        }
    }
}

#[test]
fn a_drive_without_a_cache_is_the_same_whatever_its_device_could() {
    let mut setup = small();
    setup.device.slc = Some(SLC);
    assert_eq!(super::digest(&setup.play()), super::digest(&small().play()));
}
