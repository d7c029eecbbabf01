//! Drives whose reads do not decode at once: the data and the order of things stay right whatever
//! runs beside, what is off changes nothing, and the knobs move what they should.

use super::{Setup, digest, drawn, one_of, small};
use crate::drive::{RainSpec, Reconstruct, Scheduler, Status, Update};
use crate::flash::{AgeingSpec, ChannelOrder, RetryMode, RetrySpec, RetryStart};
use crate::ftl::log::LogPolicy;
use crate::ftl::{Allocation, FtlKind, GcMode, VictimUnit};
use crate::host::{Arrival, Driver, JobSpec, Pattern};
use crate::sim::Rng;
use crate::stats::RetryCounters;
use crate::units::{Bytes, Duration, Instant};

/// A drive of 1,000 P/E cycles whose data was stored for 90 days: 1 to 4 retries a read.
fn old() -> Setup {
    let mut setup = small();
    setup.retry.mode = RetryMode::Plain;
    setup.ageing =
        AgeingSpec { pe_cycles: 1_000, retention: Duration::from_s(90 * 86_400), ..setup.ageing };
    setup
}

pub(super) fn play(setup: &Setup) -> Driver {
    let mut driver = setup.driver().with_timeout(Duration::from_s(120));
    driver.play_to_the_end();
    let (progress, oracle) = (driver.progress(), driver.oracle().unwrap());
    assert_eq!(driver.starved(), None, "{}\n{setup:?}", driver.drive().describe());
    assert_eq!(progress.issued, progress.completed, "{setup:?}");
    assert_eq!(oracle.mismatches(), 0, "{:?} in {setup:?}", oracle.first_mismatch());
    assert_eq!(driver.drive().outstanding(), 0);
    driver.drive().ftl().check_laws();
    driver.drive().check_nobody_reads();
    driver.drive().check_parity();
    driver
}

fn retries(setup: &Setup) -> RetryCounters {
    play(setup).drive().counters().retry
}

fn read_mean(setup: &Setup) -> f64 {
    play(setup).measured().read.histogram.mean().expect("there are reads").as_us_f64()
}

/// Reads alone, one after the other.
fn reads_alone(mut setup: Setup) -> Setup {
    let job =
        JobSpec { queue_depth: 1, read_percent: 100.0, requests: 2_000, ..JobSpec::default() };
    setup.jobs = vec![job];
    setup
}

/// Any age and any way of retrying on a drive that may have anything else.
pub(super) fn aged(mut setup: Setup) -> Setup {
    let mut rng = Rng::stream(setup.seed, "aged");
    let modes = [RetryMode::Plain, RetryMode::Pipelined, RetryMode::OnDie];
    let cuts = setup.gc.mode == GcMode::PlaneBlocking && setup.gc.cut_transfers;
    let mode = one_of(&mut rng, &modes);
    setup.retry = RetrySpec {
        mode: if cuts && mode == RetryMode::Pipelined { RetryMode::Plain } else { mode },
        start: one_of(&mut rng, &[RetryStart::Default, RetryStart::Block]),
        entries: one_of(&mut rng, &[1, 5, 40]),
        decode: one_of(&mut rng, &[0, 1, 20].map(Duration::from_us)),
        soft_reads: one_of(&mut rng, &[0, 1, 6]),
        shorten: one_of(&mut rng, &[0.0, 0.25]),
        refresh_at: one_of(&mut rng, &[0, 0, 1]),
        ..RetrySpec::default()
    };
    if setup.retry.mode == RetryMode::Pipelined {
        setup.device.feature.cache_read = true;
        setup.drive.channel_order = ChannelOrder::FirstCome;
    }
    if setup.ftl.kind == FtlKind::LogBlock {
        setup.retry.refresh_at = 0;
    }
    setup.ageing = AgeingSpec {
        pe_cycles: one_of(&mut rng, &[0, 1_000, 5_000]),
        retention: Duration::from_s(86_400 * one_of(&mut rng, &[0, 30, 365])),
        disturb: one_of(&mut rng, &[1.0, 10_000.0]),
        spread: one_of(&mut rng, &[0.0, 0.5]),
        page_types: vec![1.0, one_of(&mut rng, &[1.0, 1.5, 4.0])],
        ..AgeingSpec::default()
    };
    setup
}

#[test]
fn drawn_drives_of_any_age_keep_their_data_and_end() {
    let mut seen = RetryCounters::default();
    for seed in 0..60 {
        seen.add(&retries(&aged(drawn(seed))));
    }
    assert!(seen.retries > 10_000 && seen.soft_decodes > 100, "{seen:?}");
    assert!(seen.shortened > 1_000 && seen.refreshed_blocks > 50, "{seen:?}");
}

/// Old drives with parity of either kind: what is computed is right, and what fails is counted.
#[test]
fn drawn_drives_with_parity_compute_what_is_lost_or_fail_the_read() {
    let mut seen = [RetryCounters::default(); 2];
    for seed in 0..60 {
        for (seen, of) in seen
            .iter_mut()
            .zip([super::rain::drawn_with_parity, super::superblock::drawn_with_parity])
        {
            let mut setup = aged(of(seed));
            (setup.retry.soft_reads, setup.retry.entries) = (0, 5);
            (setup.ageing.spread, setup.jobs[0].read_percent) = (1.0, 60.0);
            let driver = play(&setup);
            let counted = driver.drive().counters().retry;
            assert_eq!(counted.failed_reads, driver.progress().failed, "{counted:?} {setup:?}");
            seen.add(&counted);
        }
    }
    assert!(seen.iter().all(|seen| seen.repaired > 100 && seen.failed_reads > 100), "{seen:?}");
}

/// Operations of reads that failed fast end later, their pages lost or not.
#[test]
fn reads_that_fail_fast_beside_lost_pages_end_once_and_lose_no_data() {
    let (mut fails, mut lost) = (0, 0);
    for seed in 0..40 {
        for of in [super::rain::drawn_with_parity, super::superblock::drawn_with_parity] {
            let mut setup = super::predictable::requests(aged(of(seed)), 600);
            (setup.retry.soft_reads, setup.retry.entries) = (0, 5);
            (setup.ageing.spread, setup.jobs[0].read_percent) = (1.0, 60.0);
            let played = super::predictable::Game::new(&setup).play();
            fails += played.counters.fast_fails_late;
            let unread = |end: &&(u32, Instant, Status, u64)| end.2 == Status::UnrecoveredRead;
            lost += played.log.iter().filter(unread).count();
        }
    }
    assert!(fails > 20 && lost > 20, "{fails} {lost}");
}

#[test]
fn log_blocks_are_retried_too() {
    for policy in [LogPolicy::Fast, LogPolicy::Superblock] {
        for mode in [GcMode::Base, GcMode::Preemptive] {
            let mut setup = aged(Setup { seed: 3, ..small() });
            (setup.ftl.kind, setup.ftl.log.policy, setup.gc.mode) =
                (FtlKind::LogBlock, policy, mode);
            setup.retry = RetrySpec { mode: RetryMode::Plain, ..RetrySpec::default() };
            setup.ageing = old().ageing;
            assert!(retries(&setup).retries > 100, "{policy:?} {mode:?}");
        }
    }
}

#[test]
fn a_mode_of_none_leaves_every_byte_as_it_was_whatever_the_age() {
    let mut setup = old();
    setup.retry.mode = RetryMode::None;
    assert_eq!(digest(&play(&setup)), digest(&play(&small())));
    assert_eq!(retries(&setup), RetryCounters::default());
}

#[test]
fn a_young_drive_takes_a_decoding_more_and_nothing_else() {
    let alone = read_mean(&reads_alone(small()));
    let mut young = reads_alone(small());
    young.retry.mode = RetryMode::Plain;
    assert!((read_mean(&young) - alone - 20.0).abs() < 0.001, "{alone}");
}

#[test]
fn no_observer_moves_a_byte() {
    for seed in 0..12 {
        let setup = aged(Setup { seed, ..small() });
        let mut bare = setup.driver_of(setup.bare_drive());
        bare.play_to_the_end();
        assert_eq!(digest(&bare), digest(&play(&setup)), "{setup:?}");
    }
}

#[test]
fn each_knob_moves_the_mean_of_reads_its_way() {
    type Change = fn(&mut Setup);
    let knobs: [(&str, Change, Change); 10] = [
        ("retention", |s| s.ageing.retention = Duration::ZERO, |_| {}),
        ("pe_cycles", |s| s.ageing.pe_cycles = 0, |s| s.ageing.pe_cycles = 3_000),
        ("reads", |s| s.ageing.reads = 0, |s| s.ageing.reads = 300_000),
        ("page_types", |_| {}, |s| s.ageing.page_types = vec![1.0, 2.0]),
        ("shorten", |s| s.retry.shorten = 0.25, |_| {}),
        ("decode", |s| s.retry.decode = Duration::ZERO, |_| {}),
        ("start", |s| s.retry.start = RetryStart::Block, |_| {}),
        ("correctable", |_| {}, |s| s.retry.correctable = 40),
        ("pipelined", |s| s.retry.mode = RetryMode::Pipelined, |_| {}),
        ("on-die", |s| s.retry.mode = RetryMode::OnDie, |s| s.retry.mode = RetryMode::Pipelined),
    ];
    for (name, less, more) in knobs {
        let mean = |change: Change| {
            let mut setup = reads_alone(old());
            setup.device.feature.cache_read = true;
            setup.device.channel.rate = crate::units::Bandwidth::bytes_per_second(400_000_000);
            change(&mut setup);
            read_mean(&setup)
        };
        let (less, more) = (mean(less), mean(more));
        assert!(less < more, "{name}: {less} of {more}");
    }
}

/// Two in three pages of the hot blocks are read until they are disturbed; and all the old data is
/// moved once, by reads of the host or of the scrubber.
#[test]
fn refresh_makes_old_data_young_and_its_copies_count() {
    let mut setup = reads_alone(old());
    setup.gc.mode = GcMode::Preemptive;
    setup.jobs[0].requests = 12_000;
    let without = play(&setup);
    setup.retry.refresh_at = 1;
    let with = play(&setup);
    let (before, after) = (without.drive().counters(), with.drive().counters());
    assert_eq!((before.retry.refreshed_blocks, before.copied_units), (0, 0));
    assert!(after.retry.refreshed_blocks > 20, "{:?}", after.retry);
    assert!(after.copied_units >= after.retry.refreshed_units * 9 / 10, "{after:?}");
    assert!(after.retry.retries * 3 < before.retry.retries, "{:?}", after.retry);
}

#[test]
fn the_scrubber_finds_old_blocks_that_nobody_reads() {
    let mut setup = old();
    setup.gc.mode = GcMode::Preemptive;
    setup.retry.refresh_at = 1;
    let job =
        JobSpec { arrival: Arrival::Poisson, rate: 300.0, requests: 600, ..JobSpec::default() };
    setup.jobs = vec![JobSpec { read_percent: 0.0, align: Bytes::kib(4), ..job }];
    let quiet = retries(&setup);
    setup.scrub.rate = 2_000.0;
    let patrolled = retries(&setup);
    assert!(patrolled.refreshed_blocks > quiet.refreshed_blocks + 10, "{quiet:?} {patrolled:?}");
}

#[test]
fn a_page_that_no_decoder_brings_back_is_computed_or_the_read_fails() {
    let mut setup = small();
    (setup.device.geometry.channels, setup.gc.mode) = (4, GcMode::Preemptive);
    setup.retry = RetrySpec { mode: RetryMode::Plain, soft_reads: 0, entries: 2, ..setup.retry };
    // One page in four is beyond the hard decoder, and there is no soft one.
    setup.ageing.page_types = vec![1.0, 1.0, 1.0, 10.0];
    let driver = play(&setup);
    let counted = driver.drive().counters().retry;
    assert!(counted.lost_pages > 500 && counted.repaired == 0, "{counted:?}");
    assert_eq!(counted.failed_reads, driver.progress().failed);
    for update in [Update::InPlace, Update::Superblock] {
        with_parity(&mut setup, update);
        let counted = retries(&setup);
        // The pages of a superblock's stripe are all of one type, and lost together.
        let (most, least) = if update == Update::InPlace { (1.0, 0.1) } else { (0.05, 0.0) };
        let share = counted.repaired as f64 / counted.lost_pages as f64;
        assert!(share < most && share >= least, "{update:?} {counted:?}");
    }
    // Blocks that differ: a page in six is lost, its fellows seldom are.
    setup.ageing.page_types = AgeingSpec::default().page_types;
    (setup.ageing.pe_cycles, setup.ageing.spread) = (2_000, 1.0);
    (setup.ageing.retention, setup.retry.entries) = (Duration::from_s(365 * 86_400), 12);
    for update in [Update::InPlace, Update::Superblock] {
        with_parity(&mut setup, update);
        let counted = retries(&setup);
        assert!(counted.repaired > 30, "{update:?} {counted:?}");
        assert!(counted.repaired < counted.lost_pages, "members are lost, too: {counted:?}");
    }
}

/// Stripes of four; over superblocks with what these need.
fn with_parity(setup: &mut Setup, update: Update) {
    setup.rain = RainSpec { width: 4, update, ..RainSpec::default() };
    (setup.ftl.allocation, setup.gc.unit) = match update {
        Update::InPlace => (small().ftl.allocation, VictimUnit::Block),
        Update::Superblock => (Allocation::Dynamic, VictimUnit::Superblock),
    };
}

/// Every page, parity too, is beyond every decoder.
#[test]
fn a_page_is_not_computed_from_members_that_are_lost_and_every_lost_page_counts() {
    let mut setup = small();
    (setup.device.geometry.channels, setup.gc.mode) = (4, GcMode::Preemptive);
    setup.retry = RetrySpec { mode: RetryMode::Plain, soft_reads: 0, entries: 2, ..setup.retry };
    setup.ageing.page_types = vec![10.0];
    let page = setup.device.geometry.map_unit;
    let job = &mut setup.jobs[0];
    (job.requests, job.read_percent) = (2_000, 100.0);
    job.block_sizes = vec![(Bytes::new(page.get() * 3), 1.0)];
    let count = |setup: &Setup| {
        let driver = play(setup);
        (driver.drive().counters().retry, driver.progress().failed)
    };
    let (bare, failed) = count(&setup);
    assert!(failed == 2_000 && bare.failed_reads == failed, "{bare:?}");
    assert!(bare.lost_pages >= 6_000, "three pages a read: {bare:?}");
    for update in [Update::InPlace, Update::Superblock] {
        for reconstruct in [Reconstruct::Never, Reconstruct::Always] {
            with_parity(&mut setup, update);
            setup.rain.reconstruct = reconstruct;
            let (counted, failed) = count(&setup);
            assert_eq!((counted.repaired, failed), (0, 2_000), "{update:?} {counted:?}");
            assert_eq!(counted.failed_reads, failed, "{update:?} {counted:?}");
        }
    }
}

#[test]
fn a_sequential_reader_of_a_pipelined_drive_ends_beside_collections_that_drain() {
    for mode in GcMode::ALL {
        let mut setup = old();
        setup.gc.mode = mode;
        (setup.gc.copyback, setup.gc.cut_transfers) = (mode == GcMode::PlaneBlocking, false);
        setup.device.feature.cache_read = true;
        setup.drive.scheduler = Scheduler::ReadFirst;
        setup.retry.mode = RetryMode::Pipelined;
        setup.jobs[0].pattern = Pattern::Sequential;
        assert!(retries(&setup).retries > 1_000, "{mode:?}");
    }
}
