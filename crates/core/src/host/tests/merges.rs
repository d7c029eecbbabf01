//! Drives with log-block FTLs: the oracle over many of them, arithmetic of a merge, runs of copies
//! as one operation.

use super::{Setup, small};
use crate::drive::{EraseMode, PreconditionState, ProgramMode, Scheduler};
use crate::ftl::log::{LogPolicy, LogSpec, Sequential, Tail};
use crate::ftl::{FtlKind, GcMode};
use crate::host::{JobSpec, Record};
use crate::sim::Rng;
use crate::units::{Bandwidth, Bytes, Duration, Instant};

const POLICIES: [LogPolicy; 6] = [
    LogPolicy::Bast,
    LogPolicy::Fast,
    LogPolicy::Faster,
    LogPolicy::PageMapping,
    LogPolicy::Superblock,
    LogPolicy::Last,
];

fn with_log(policy: LogPolicy) -> Setup {
    let mut setup = small();
    setup.ftl.kind = FtlKind::LogBlock;
    setup.ftl.log = LogSpec { policy, ..LogSpec::default() };
    setup
}

pub(super) fn any(rng: &mut Rng, seed: u64) -> Setup {
    let mut one_of = |count: u64| rng.below(count) as usize;
    let mut setup = with_log(POLICIES[one_of(6)]);
    setup.seed = seed;
    let geometry = &mut setup.device.geometry;
    (geometry.channels, geometry.ways, geometry.planes) =
        (1 + one_of(2) as u32, 1 + one_of(2) as u32, 1 + one_of(2) as u32);
    setup.device.feature.independent_planes = one_of(2) == 1;
    setup.device.feature.cache_read = one_of(4) == 0;
    setup.device.feature.cache_program = one_of(4) == 0;
    let log = &mut setup.ftl.log;
    log.write_waits = one_of(2) == 0;
    log.out_of_order = one_of(2) == 0;
    log.sequential = [Sequential::Off, Sequential::OffsetZero, Sequential::Run][one_of(3)];
    log.isolation = [0.0, 0.2, 0.5][one_of(3)];
    log.superblock_blocks = [1, 4, 8][one_of(3)];
    log.superblock_cache = [0, 1, 20][one_of(3)];
    log.last_sequential_share = [0.0, 0.5][one_of(2)];
    log.tail = [Tail::Segregated, Tail::Mixed][one_of(2)];
    setup.gc.mode = [GcMode::Nogc, GcMode::Base, GcMode::Controller, GcMode::Preemptive][one_of(4)];
    setup.gc.copyback = one_of(2) == 0;
    setup.drive.write_through = one_of(3) == 0;
    setup.drive.scheduler =
        [Scheduler::ReadFirst, Scheduler::OutOfOrder, Scheduler::Fifo][one_of(3)];
    if setup.drive.scheduler == Scheduler::ReadFirst {
        let erases =
            [EraseMode::None, EraseMode::Ideal, EraseMode::Es, EraseMode::DEs, EraseMode::TEs];
        setup.erase.mode = erases[one_of(5)];
        setup.erase.timeout = Duration::from_ms(4);
        setup.program.mode = [ProgramMode::None, ProgramMode::Ideal, ProgramMode::Ips][one_of(3)];
    }
    setup.precondition.state =
        [PreconditionState::Empty, PreconditionState::Fill, PreconditionState::Steady][one_of(3)];
    if one_of(2) == 0 {
        setup.jobs[0] = JobSpec {
            block_sizes: [(512, 2.0), (4096, 4.0), (6144, 2.0), (40_960, 1.0)]
                .map(|(bytes, weight)| (Bytes::new(bytes), weight))
                .to_vec(),
            align: Bytes::new(512),
            trim_percent: 5.0,
            fua_percent: 10.0,
            flush_every: 40,
            ..setup.jobs[0].clone()
        };
    }
    let moves = !matches!(setup.ftl.log.policy, LogPolicy::Superblock | LogPolicy::PageMapping);
    setup.ftl.static_wear_gap = if moves { seed as u32 % 3 } else { 0 };
    setup.jobs[0].requests = 1_500;
    setup
}

#[test]
fn the_oracle_finds_nothing_on_drives_with_log_blocks() {
    let mut rng = Rng::stream(11, "merges");
    let (mut merges, mut waited, mut levelled) = (0, 0, 0);
    for seed in 0..120 {
        let setup = any(&mut rng, seed);
        let driver = setup.play();
        let counters = driver.drive().counters();
        merges += counters.log.merges();
        levelled += counters.log.levelled_blocks;
        waited += u64::from(setup.ftl.log.write_waits);
        let under_way = counters.log.writes - counters.log.programs;
        let lanes = driver.drive().flash().layout.lanes;
        assert!(
            under_way <= u64::from(lanes),
            "each write programs its page once: {under_way} {setup:?}"
        );
        if setup.gc.mode != GcMode::Nogc {
            let copies = driver.drive().counters().copied_units;
            assert_eq!(counters.free_copies, 0);
            let begun = counters.log.copies - copies;
            let merge = u64::from(lanes * setup.device.geometry.pages);
            assert!(begun <= merge, "those of preconditioning are not the run's: {begun}");
        }
    }
    assert!(levelled > 100, "{levelled}");
    assert!(merges > 10_000 && waited > 20, "{merges} merges, {waited} drives whose writes waited");
}

/// Every request of a run with its times, and what the drive did.
fn records(setup: &Setup, attributed: bool) -> (Vec<Record>, String) {
    let drive = if attributed { setup.drive() } else { setup.bare_drive() };
    let mut driver = setup.driver_of(drive).with_records();
    driver.play_to_the_end();
    let records = driver.take_records().expect("they were asked for");
    // The rest of a merge is done, too.
    let mut drive = driver.drive().clone();
    while drive.advance_before(Instant::NEVER).is_some() {}
    let (counters, operations) = (drive.counters(), drive.flash().operations());
    (records.requests, format!("{counters:?} {operations:?} {:?}", drive.flash().busy()))
}

#[test]
fn a_run_of_copies_as_one_operation_changes_nothing() {
    for policy in POLICIES {
        for (copyback, mode) in [(true, GcMode::Base), (false, GcMode::Controller)] {
            let mut setup = with_log(policy);
            (setup.device.geometry.ways, setup.device.geometry.channels) = (1, 2);
            setup.device.geometry.dies = 1;
            (setup.gc.copyback, setup.gc.mode) = (copyback, mode);
            let bare = setup.bare_drive();
            assert!(bare.flash().may_run_copies());
            assert!(!setup.drive().flash().may_run_copies(), "books are kept of each copy");
            let (runs, singly) = (records(&setup, false), records(&setup, true));
            for (number, (a, b)) in runs.0.iter().zip(&singly.0).enumerate() {
                assert_eq!(a, b, "{policy:?}, copyback {copyback}, request {number}");
            }
            assert_eq!(runs.1, singly.1, "{policy:?}");
        }
    }
}

/// Counters in the middle of a run of copies, when the whole program ends there say, have the
/// copies that are over.
#[test]
fn a_run_of_copies_counts_what_is_over_of_it_at_every_instant() {
    let mut within = 0;
    for (policy, copyback) in POLICIES.into_iter().zip([true, false].into_iter().cycle()) {
        let mut setup = with_log(policy);
        (setup.device.geometry.ways, setup.device.geometry.channels, setup.device.geometry.dies) =
            (1, 2, 1);
        (setup.gc.copyback, setup.gc.mode) = (copyback, GcMode::Base);
        setup.jobs[0].requests = 1_500;
        let [mut runs, mut singly] =
            [setup.bare_drive(), setup.drive()].map(|drive| setup.driver_of(drive));
        while runs.play(1) && singly.play(1) {
            let counted = |drive: &crate::drive::Drive| {
                format!("{:?} {:?}", drive.counters(), drive.flash().operations())
            };
            assert_eq!(
                counted(runs.drive()),
                counted(singly.drive()),
                "{policy:?} at {:?}",
                runs.now()
            );
            within += u32::from(runs.drive().flash().runs_over() != (0, 0));
        }
    }
    assert!(within > 1_000, "{within} looks met a run");
}

/// One page at a time on one die whose channel takes no time, as the papers count.
fn paper(policy: LogPolicy) -> Setup {
    let mut setup = with_log(policy);
    let device = &mut setup.device;
    (device.geometry.channels, device.geometry.ways, device.geometry.dies) = (1, 1, 1);
    (device.geometry.blocks, device.geometry.pages, device.op) = (48, 64, 0.375);
    device.timing.read = vec![Duration::from_us(25)];
    device.timing.program = vec![Duration::from_us(200)];
    (device.timing.erase_step, device.timing.erase_steps) = (Duration::from_us(300), 5);
    (device.channel.command, device.channel.erase_command) = (Duration::ZERO, Duration::ZERO);
    device.channel.rate = Bandwidth::default();
    setup.ftl.log.write_waits = true;
    (setup.ftl.log.sequential, setup.ftl.log.log_percent) = (Sequential::Off, 10.0);
    (setup.gc.mode, setup.gc.copyback) = (GcMode::Base, true);
    setup.drive.write_through = true;
    (setup.drive.controller, setup.drive.buffer_hit) = (Duration::ZERO, Duration::ZERO);
    setup.drive.link = Bandwidth::default();
    setup.jobs[0] = JobSpec { read_percent: 0.0, requests: 3_000, ..setup.jobs[0].clone() };
    setup.jobs[0].queue_depth = 1;
    setup
}

#[test]
fn a_write_of_fast_takes_its_program_and_whole_merges_of_sixty_four_copies() {
    let (merge, program) = (Duration::from_us(15_900), Duration::from_us(200));
    let mut driver = paper(LogPolicy::Fast).driver().with_records();
    driver.play_to_the_end();
    let records = driver.take_records().expect("they were asked for");
    let mut merges = 0;
    for record in &records.requests {
        let extra = (record.latency - program).as_ns();
        // A log block that was merged is erased: 1.5 ms more.
        let erase = if extra > 0 { 1_500_000 } else { 0 };
        assert_eq!((extra - erase) % merge.as_ns(), 0, "{record:?}");
        merges += (extra - erase) / merge.as_ns();
    }
    assert_eq!(merges, driver.drive().counters().log.full_merges);
    assert!(merges > 300, "{merges}");
}
