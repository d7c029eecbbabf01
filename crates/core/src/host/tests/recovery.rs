//! The power fails at any event: promises hold, the maps are those that the drive had, and it goes
//! on serving.

use super::{Setup, small};
use crate::drive::{
    CrashImage, Drive, EraseMode, PreconditionState, ProgramMode, Recovered, Scheduler,
};
use crate::flash::{Features, GARBAGE, Spare};
use crate::ftl::log::{Compaction, LogPolicy, LogSpec, LogVictim, Sequential, Tail};
use crate::ftl::{Allocation, FreeBlock, FtlKind, GcMode, Victim, VictimUnit};
use crate::host::{Driver, JobSpec, Oracle, Pattern};
use crate::sim::Rng;
use crate::units::{Bytes, Duration, Instant, Lpn, Ppn};

pub(super) const NS: Duration = Duration::from_ns(1);

/// Log-block FTLs that recover; those whose blocks may leave service first.
pub(super) const RECOVERED: [LogPolicy; 5] =
    [LogPolicy::Bast, LogPolicy::Fast, LogPolicy::Faster, LogPolicy::Superblock, LogPolicy::Last];

pub(super) fn driver(setup: &Setup) -> Driver {
    let mut driver = setup.driver_of(setup.bare_drive_that(setup.recovery.clone()));
    let spec = setup.drive.clone();
    driver.oracle.as_mut().expect("there is one").note_promises(&spec);
    driver
}

/// Unaligned writes, deallocations, flushes and FUA on a small drive.
pub(super) fn mixed(requests: u64) -> Setup {
    let mut setup = small();
    (setup.device.geometry.blocks, setup.device.geometry.pages) = (12, 8);
    setup.device.op = 0.5;
    setup.gc.soft = 0.3.into();
    setup.gc.hard = 0.15.into();
    setup.drive.power_loss_protection = false;
    setup.drive.buffer = Bytes::kib(64);
    setup.jobs[0] = JobSpec {
        requests,
        read_percent: 20.0,
        trim_percent: 6.0,
        fua_percent: 10.0,
        flush_every: 25,
        pattern: Pattern::Zipf,
        block_sizes: [(1536, 1.0), (4096, 6.0), (12_288, 1.0)]
            .map(|(bytes, weight)| (Bytes::new(bytes), weight))
            .to_vec(),
        align: Bytes::new(512),
        ..setup.jobs[0].clone()
    };
    setup
}

pub(super) fn with_log(mut setup: Setup, policy: LogPolicy) -> Setup {
    setup.ftl.kind = FtlKind::LogBlock;
    setup.ftl.log = LogSpec { policy, spare_blocks: 2, ..LogSpec::default() };
    (setup.device.geometry.blocks, setup.device.op) = (20, 0.55);
    setup
}

/// Cuts a copy of the drive at `at` and looks at what comes back.
pub(super) fn look(driver: &Driver, at: Instant, setup: &Setup) -> Recovered {
    let before = driver.drive().clone();
    let pages = before.ftl().logical();
    let recovered = before.clone().power_cut(at).recover();
    let drive = &recovered.drive;
    drive.ftl().check_laws();
    assert!(drive.ftl().least_free() <= before.ftl().least_free(), "it was as little before");
    let broken =
        driver.oracle().expect("there is one").broken_promises(|lpn| drive.version_of(lpn));
    let seed = setup.seed;
    assert!(
        broken.is_empty(),
        "{:?} of {} broken at {at:?}, seed {seed} in {setup:?}",
        broken[0],
        broken.len()
    );
    for lpn in (0..pages).map(Lpn) {
        let after = drive.version_of(lpn);
        // The maps of a run of merges' copies are ahead of its content, which nobody can read yet.
        if before.left_after_power_loss(lpn) == GARBAGE {
            continue;
        }
        if setup.drive.power_loss_protection {
            assert_eq!(after, before.version_of(lpn), "{lpn:?} at {at:?} in {setup:?}");
        } else {
            // Flash holds the version last committed, but for deallocations in DRAM.
            let held = before.left_after_power_loss(lpn);
            assert!(
                after == held || held == 0,
                "{lpn:?} held {held}, holds {after} at {at:?} in {setup:?}"
            );
        }
    }
    // Of each translation page it is the newest version that the directory finds.
    for lpn in (0..before.ftl().translation_pages()).map(|page| before.ftl().translation_page(page))
    {
        let found = |drive: &Drive| drive.ftl().member_at(lpn).map(|ppn| drive.flash().spare(ppn));
        assert_eq!(found(drive), found(&before), "{lpn:?} at {at:?} in {setup:?}");
    }
    recovered
}

/// Looks at every instant at which something happens, a nanosecond before and after; how many there
/// were.
pub(super) fn cut_everywhere(setup: &Setup) -> u32 {
    let mut driver = driver(setup);
    let (mut cuts, mut last) = (0, Instant::START);
    loop {
        let at = driver.next_event_at();
        if at == Instant::NEVER {
            return cuts;
        }
        for cut in [last + NS, at] {
            look(&driver, cut.min(at), setup);
            cuts += 1;
        }
        driver.play_before(at + NS);
        last = at;
    }
}

/// One die on a channel of its own, written sequentially, and the sums of a recovery.
#[test]
fn the_time_of_a_recovery_is_the_sum_of_its_operations() {
    let mut setup = mixed(0);
    let geometry = &mut setup.device.geometry;
    (geometry.channels, geometry.ways, geometry.blocks, geometry.pages) = (1, 1, 6, 8);
    setup.precondition.state = PreconditionState::Empty;
    setup.drive.power_loss_protection = true;
    setup.jobs[0] = JobSpec {
        requests: 12,
        read_percent: 0.0,
        pattern: Pattern::Sequential,
        fua_percent: 0.0,
        trim_percent: 0.0,
        flush_every: 0,
        queue_depth: 1,
        ..small().jobs[0].clone()
    };
    setup.drive.write_through = true;
    let mut driver = driver(&setup);
    driver.play_to_the_end();
    // A channel of 40 MB/s carries 512 B in 12.8 us and 4 KiB in 102.4 us; a command takes 175 ns
    // and tR 40 us.
    let read = Duration::from_ns(175 + 40_000 + 12_800);
    let write = Duration::from_ns(175 + 102_400 + 800_000);
    // Twelve rows: eight of a full block, four and an erased one of the next, an erased one of each
    // of the other four.
    let at = driver.now() + NS;
    let Recovered { ready, report, .. } = look(&driver, at, &setup);
    assert_eq!(
        (report.reads, report.blocks_scanned, report.torn_rows, report.erases),
        (8 + 5 + 4, 2, 0, 0)
    );
    assert_eq!(ready.since(at), read * 17);
    // A write in the midst of its program: its row is torn, and read; the capacitor's page is read
    // back, whole.
    let mut driver = super::recovery::driver(&setup);
    let half = Instant::START + write * 3 + Duration::from_us(500);
    driver.play_before(half);
    let Recovered { ready, report, .. } = look(&driver, half, &setup);
    assert_eq!((report.reads, report.torn_rows, report.pages_saved), (4 + 1 + 5, 1, 1));
    assert_eq!(ready.since(half), read * 10 + Duration::from_ns(175 + 40_000 + 102_400));
    // Its data still crosses the channel: nothing of it is on flash.
    let mut driver = super::recovery::driver(&setup);
    let early = Instant::START + write * 3 + Duration::from_us(100);
    driver.play_before(early);
    let Recovered { report, .. } = look(&driver, early, &setup);
    assert_eq!((report.reads, report.torn_rows, report.pages_saved), (3 + 1 + 5, 0, 1));
    // The first and the last instant of the program itself.
    for (after, torn) in [(102_575, 0), (102_576, 1), (902_575, 1)] {
        let mut driver = super::recovery::driver(&setup);
        let at = Instant::START + write * 3 + Duration::from_ns(after);
        driver.play_before(at);
        assert_eq!(look(&driver, at, &setup).report.torn_rows, torn, "{after} ns");
    }
}

#[test]
fn an_erase_that_was_cut_is_done_again_and_takes_its_time() {
    let mut setup = mixed(400);
    setup.gc.mode = GcMode::Preemptive;
    let mut driver = driver(&setup);
    let mut seen = 0;
    loop {
        let at = driver.next_event_at();
        if at == Instant::NEVER {
            break;
        }
        let report = look(&driver, at, &setup).report;
        // Blocks are erased side by side, each on its die: a command and five steps of 400 us.
        if report.illegible_blocks == 1 && report.erases == 1 {
            assert_eq!(report.repair_us, 2_001, "125 ns and 2 ms, rounded up");
            seen += 1;
        }
        driver.play_before(at + NS);
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn a_run_of_copies_that_was_cut_leaves_what_copies_one_by_one_leave() {
    let mut setup = with_log(mixed(150), LogPolicy::Fast);
    (setup.gc.mode, setup.device.geometry.ways) = (GcMode::Base, 1);
    setup.drive.write_through = true;
    let (mut runs, mut singly) = (driver(&setup), driver(&setup));
    assert!(runs.drive().flash().may_run_copies());
    singly.storage.attribute();
    assert!(!singly.drive().flash().may_run_copies());
    let (mut torn, mut last) = (0, Instant::START);
    loop {
        // The events of the copies one by one lie within a run.
        let at = singly.next_event_at();
        if at == Instant::NEVER {
            break;
        }
        for cut in [last + NS, at] {
            runs.play_before(cut);
            let [a, b] = [&runs, &singly].map(|driver| driver.drive().clone().power_cut(cut));
            let pages = a.flash().layout.total_units();
            for page in (0..pages).map(Ppn) {
                let of = |remains: &CrashImage| {
                    (remains.flash().spare(page), remains.flash().load(page))
                };
                assert_eq!(of(&a), of(&b), "{page:?} at {cut:?}");
                torn += u32::from(a.flash().spare(page) == Spare::Torn);
            }
        }
        singly.play_before(at + NS);
        last = at;
    }
    assert!(torn > 1_000, "{torn}");
}

#[test]
fn page_mapping_survives_a_cut_at_every_event() {
    for (mode, protected) in [
        (GcMode::Base, false),
        (GcMode::Preemptive, false),
        (GcMode::Controller, true),
        (GcMode::PlaneBlocking, false),
        (GcMode::Nogc, false),
    ] {
        let mut setup = mixed(150);
        setup.gc.mode = mode;
        setup.gc.copyback = mode == GcMode::PlaneBlocking;
        setup.drive.power_loss_protection = protected;
        let cuts = cut_everywhere(&setup);
        assert!(cuts > 500, "{mode:?}: {cuts}");
    }
}

#[test]
fn log_blocks_survive_a_cut_at_every_event() {
    for policy in RECOVERED {
        for (mode, ways) in [(GcMode::Base, 1), (GcMode::Preemptive, 2)] {
            let mut setup = with_log(mixed(120), policy);
            (setup.gc.mode, setup.device.geometry.ways) = (mode, ways);
            let cuts = cut_everywhere(&setup);
            assert!(cuts > 500, "{policy:?}: {cuts}");
        }
    }
}

pub(super) fn any(seed: u64) -> Setup {
    let mut rng = Rng::stream(seed, "cuts");
    let mut one_of = |count: u64| rng.below(count) as usize;
    let mut setup = mixed(400);
    setup.seed = seed;
    let log = one_of(3) == 0;
    if log {
        setup = with_log(setup, RECOVERED[one_of(RECOVERED.len() as u64)]);
        let moves = setup.ftl.log.policy != LogPolicy::Superblock;
        setup.ftl.static_wear_gap = if moves { seed as u32 % 3 } else { 0 };
        let log = &mut setup.ftl.log;
        log.write_waits = one_of(2) == 0;
        log.out_of_order = one_of(2) == 0;
        log.sequential = [Sequential::Off, Sequential::OffsetZero, Sequential::Run][one_of(3)];
        log.isolation = [0.0, 0.2, 0.5][one_of(3)];
        log.tail = [Tail::Segregated, Tail::Mixed][one_of(2)];
        log.log_victim = [LogVictim::Lru, LogVictim::Fifo][one_of(2)];
        log.superblock_blocks = [1, 2, 4][one_of(3)];
        log.superblock_updates = [1, 2, 8][one_of(3)];
        log.superblock_compaction = [Compaction::Least, Compaction::All][one_of(2)];
        log.superblock_cache = [0, 2][one_of(2)];
        log.last_sequential_pages = [1, 2][one_of(2)];
        log.last_sequential_share = [0.0, 0.3, 0.5][one_of(3)];
        log.last_hot_share = [0.0, 0.5][one_of(2)];
        setup.gc.mode =
            [GcMode::Nogc, GcMode::Base, GcMode::Controller, GcMode::Preemptive][one_of(4)];
        setup.gc.copyback = one_of(2) == 0;
    } else {
        let geometry = &mut setup.device.geometry;
        geometry.planes = [1, 2][one_of(2)];
        let wide = one_of(3) == 0;
        setup.device.feature = Features {
            program_planes: if wide { geometry.planes } else { 1 },
            program_pages: [1, 2][one_of(2)],
            cache_read: one_of(3) == 0,
            cache_program: one_of(3) == 0,
            independent_planes: one_of(2) == 0,
            ..Features::default()
        };
        setup.drive.buffer = Bytes::kib(256);
        setup.gc.mode = [
            GcMode::Nogc,
            GcMode::Base,
            GcMode::Controller,
            GcMode::Preemptive,
            GcMode::PlaneBlocking,
        ][one_of(5)];
        if setup.gc.mode == GcMode::PlaneBlocking {
            setup.gc.copyback = true;
        } else if one_of(3) == 0 {
            setup.ftl.allocation = Allocation::Dynamic;
            setup.gc.unit =
                [VictimUnit::Block, VictimUnit::PlaneGroup, VictimUnit::Superblock][one_of(3)];
        }
        setup.gc.victim = [Victim::Greedy, Victim::Fifo, Victim::CostBenefit][one_of(3)];
        setup.ftl.free_block = [FreeBlock::LeastWorn, FreeBlock::Fifo][one_of(2)];
    }
    setup.drive.power_loss_protection = one_of(3) == 0;
    setup.drive.write_through = one_of(4) == 0;
    setup.drive.scheduler =
        [Scheduler::ReadFirst, Scheduler::OutOfOrder, Scheduler::Fifo][one_of(3)];
    if setup.drive.scheduler == Scheduler::ReadFirst {
        setup.erase.mode =
            [EraseMode::None, EraseMode::Es, EraseMode::DEs, EraseMode::TEs][one_of(4)];
        setup.erase.timeout = Duration::from_ms(1);
        setup.program.mode = [ProgramMode::None, ProgramMode::Ipc, ProgramMode::Ips][one_of(3)];
    }
    setup.precondition.state = [PreconditionState::Empty, PreconditionState::Steady][one_of(2)];
    setup
}

fn campaign(seed: u64, cuts: u32) -> u32 {
    campaign_of(&any(seed), seed, cuts).1
}

/// Plays fewer events than `most`; when the next one is.
pub(super) fn play_some(driver: &mut Driver, rng: &mut Rng, most: u64) -> Instant {
    let mut at = driver.next_event_at();
    for _ in 0..rng.below(most) {
        if at == Instant::NEVER {
            break;
        }
        driver.play_before(at + NS);
        at = driver.next_event_at();
    }
    at
}

/// Cuts one run several times, at random instants, and plays it to its end; how often.
pub(super) fn campaign_of(setup: &Setup, seed: u64, cuts: u32) -> (Driver, u32) {
    let mut driver = driver(setup);
    let mut rng = Rng::stream(seed, "instants");
    let mut done = 0;
    while done < cuts {
        // Some events on, or in the midst of a recovered drive's first work.
        let at = play_some(&mut driver, &mut rng, 200);
        if at == Instant::NEVER {
            break;
        }
        look(&driver, at, setup);
        let outage = driver.power_cut(at);
        assert!(outage.broken.is_empty());
        driver.drive().check_map();
        done += 1;
    }
    driver.play_to_the_end();
    let progress = driver.progress();
    let stuck = || format!("{}\n{setup:?}", driver.drive().describe());
    assert_eq!(
        progress.issued,
        progress.completed,
        "seed {seed}: every request completes: {}",
        stuck()
    );
    let oracle: &Oracle = driver.oracle().expect("there is one");
    assert_eq!(oracle.mismatches(), 0, "seed {seed}: {:?} in {setup:?}", oracle.first_mismatch());
    driver.drive().ftl().check_laws();
    driver.drive().check_map();
    (driver, done)
}

#[test]
fn drives_of_many_kinds_survive_random_cuts_and_go_on() {
    let cuts: u32 = (0..60).map(|seed| campaign(seed, 6)).sum();
    assert!(cuts >= 300, "{cuts}");
}

/// Seeds that found something: erases that went ahead of the journal (22: it stood behind rows
/// without room), FUA writes told of a deallocation in DRAM (1028), a program that went ahead
/// behind a page of the journal (2644).
#[test]
fn seeds_that_found_something_find_nothing() {
    [22, 1028, 2644].into_iter().for_each(|seed| assert!(campaign(seed, 8) > 0));
}
