//! Whole arrays under random load: every read returns what it may, parity is whole at the end,
//! members fail and come back.

use super::{Setup, draw::part, small};
use crate::array::{Array, ArraySpec, RaidLevel, ReadStrategy};
use crate::drive::{Command, Drive, Op, PreconditionState, PredictableLatency, Storage};
use crate::ftl::{GcMode, GcWhen};
use crate::host::generate::Generator;
use crate::host::{Driver, Job, Oracle, Pacing};
use crate::nvme::{Attributes, Controller, Options};
use crate::sim::Rng;
use crate::stats::ArrayCounters;
use crate::units::{Bytes, Duration, Instant, Lba};

/// Drives like those of `setup`, each from a stream of its own.
pub(super) fn with_spare(setup: &Setup, spec: &ArraySpec) -> Array {
    let drive = |number: u32| {
        Setup { seed: setup.seed + 100 * u64::from(number), ..setup.clone() }.bare_drive()
    };
    let empty = || {
        let mut setup = setup.clone();
        setup.precondition.state = PreconditionState::Empty;
        setup.bare_drive()
    };
    let behind = |drive: Drive| {
        let attributes = Attributes::of(&drive, &setup.drive, &setup.gc);
        Controller::new(drive, attributes, Options::default())
    };
    let drives = (0..spec.members).map(|number| behind(drive(number))).collect();
    Array::new(spec, drives, Some(behind(empty())), true, setup.seed)
}

pub(super) fn driver(setup: &Setup, spec: &ArraySpec) -> Driver<Array> {
    let array = with_spare(setup, spec);
    let jobs = setup.jobs.iter().enumerate().map(|(number, spec)| {
        let source =
            Generator::new(spec, array.sectors(), setup.seed, number).expect("a valid job");
        Job::new(Box::new(source), Pacing::of(spec))
    });
    let (jobs, oracle) = (jobs.collect(), Oracle::new(&array));
    Driver::new(array, jobs, Some(oracle), Duration::ZERO, 0).with_timeout(Duration::from_s(20))
}

/// Plays everything and checks what must hold of every run.
fn play(setup: &Setup, spec: &ArraySpec) -> Driver<Array> {
    let mut driver = driver(setup, spec);
    driver.play_to_the_end();
    let (progress, oracle) = (driver.progress(), driver.oracle().unwrap());
    let wanted: u64 = setup.jobs.iter().map(|job| job.requests).sum();
    assert_eq!(
        progress.completed,
        wanted,
        "{spec:?}\nat {:?}\n{}",
        driver.now(),
        driver.storage.describe()
    );
    assert_eq!(progress.failed, 0, "{spec:?}");
    assert_eq!(oracle.first_mismatch(), None, "{spec:?}\n{setup:?}");
    assert!(oracle.reads_checked() > 0);
    driver
}

/// Content of each page of a drive, by reading it.
pub(super) fn content(drive: &Drive, pages: u32) -> Vec<u32> {
    let mut drive = drive.clone();
    while drive.advance_before(Instant::NEVER - Duration::from_ns(1)).is_some() {}
    let (per_page, now) = (Storage::page_sectors(&drive), Instant::from_ns(1 << 60));
    (0..pages)
        .map(|page| {
            let lba = Lba(u64::from(page) * u64::from(per_page));
            let (op, fua, stream) = (Op::Read, false, 0);
            let predictable = PredictableLatency::Off;
            let command = Command {
                id: page.into(),
                op,
                lba,
                sectors: per_page,
                fua,
                predictable,
                stream,
                queue: 0,
                payload: None,
            };
            let now = now + Duration::from_ms(page.into());
            while drive.advance_before(now).is_some() {}
            drive.submit(now, command);
            let completion = drive
                .advance_before(Instant::NEVER - Duration::from_ns(1))
                .expect("a read completes");
            completion.payload.expect("content")[0]
        })
        .collect()
}

/// Every row's parity is that of its data, on the members themselves, once what the array holds is
/// written out.
fn check_rows(driver: &mut Driver<Array>) {
    let array = &mut driver.storage;
    while array.rows_under_way() > 0 {
        let next = array.next_event_at();
        assert!(next < Instant::NEVER, "{} rows wait for nothing", array.rows_under_way());
        assert!(
            array.advance_before(next + Duration::from_ns(1)).is_none(),
            "nobody waits for anything"
        );
    }
    let array = &driver.storage;
    let pages = (array.drive(0).sectors() / u64::from(Storage::page_sectors(array))) as u32;
    let all: Vec<Vec<u32>> =
        (0..array.drives()).map(|number| content(array.drive(number), pages)).collect();
    assert_eq!(
        array.wrong_rows(|member, row| all[member.index()][row as usize]),
        Vec::<u32>::new()
    );
}

pub(super) fn setup(requests: u64) -> Setup {
    let mut setup = small();
    setup.device.geometry.blocks = 16;
    setup.gc.soft = 0.2.into();
    setup.gc.hard = 0.1.into();
    setup.drive.buffer = Bytes::kib(64);
    setup.jobs[0].requests = requests;
    setup.jobs[0].queue_depth = 8;
    setup
}

/// Four RAID levels, chunks of one page and of several, requests in parts of pages and over many,
/// caches and none.
#[test]
fn arrays_return_what_was_written() {
    let levels = [
        (RaidLevel::Raid0, 2),
        (RaidLevel::Raid1, 3),
        (RaidLevel::Raid5, 4),
        (RaidLevel::Raid6, 5),
        (RaidLevel::Ec, 6),
    ];
    for (number, (level, members)) in levels.into_iter().enumerate() {
        for (chunk, cache) in [(4, 0), (16, 0), (4, 256), (64, 1024)] {
            let mut setup = setup(1_500);
            setup.seed = number as u64 + 1;
            setup.jobs[0].block_sizes =
                [(512, 2.0), (4096, 4.0), (8192, 2.0), (65536, 1.0), (3072, 1.0)]
                    .map(|(bytes, weight)| (Bytes::new(bytes), weight))
                    .to_vec();
            setup.jobs[0].align = Bytes::new(512);
            let spec = ArraySpec {
                members,
                level,
                chunk: Bytes::kib(chunk),
                cache: Bytes::kib(cache),
                ..ArraySpec::default()
            };
            let mut driver = play(&setup, &spec);
            check_rows(&mut driver);
        }
    }
}

/// A random array: level, width, chunk, strategy, cache, how its drives collect, who fails when.
pub(super) fn random(seed: u64, strategies: &[ReadStrategy]) -> (Setup, ArraySpec) {
    let mut rng = Rng::stream(seed, "arrays");
    let mut draw = |n: u64| rng.below(n);
    let mut setup = setup(600);
    setup.seed = seed;
    setup.gc.mode = [GcMode::Preemptive, GcMode::Base, GcMode::Controller, GcMode::PlaneBlocking]
        [draw(4) as usize];
    setup.gc.when = if draw(2) == 0 { GcWhen::Foreground } else { GcWhen::Background };
    setup.jobs[0].queue_depth = 1 + draw(24) as u32;
    setup.jobs[0].read_percent = [20.0, 50.0, 80.0][draw(3) as usize];
    setup.jobs[0].block_sizes =
        [(4096, 4.0), (512, draw(2) as f64), (16384, 1.0), (65536, draw(2) as f64)]
            .map(|(bytes, weight)| (Bytes::new(bytes), weight))
            .to_vec();
    setup.jobs[0].align = Bytes::new(if draw(2) == 0 { 512 } else { 4096 });
    let level =
        [RaidLevel::Raid1, RaidLevel::Raid5, RaidLevel::Raid5, RaidLevel::Raid6][draw(4) as usize];
    let (level, parities, extra_reads) = code_of(level, seed);
    let strategy = strategies[draw(strategies.len() as u64) as usize];
    let cache =
        if strategy == ReadStrategy::Rails { 512 } else { [0, 0, 64, 512][draw(4) as usize] };
    let spec = ArraySpec {
        members: level.least_members(parities) + draw(4) as u32,
        level,
        parities,
        extra_reads,
        chunk: Bytes::kib([4, 4, 8, 32][draw(4) as usize]),
        strategy,
        cache: Bytes::kib(cache),
        destage_depth: 1 + draw(40) as u32,
        window: Duration::from_us(500 + draw(20_000)),
        guard: Duration::from_us(draw(300)),
        hedge_after: Duration::from_us([0, 100, 1_000][draw(3) as usize]),
        slo: Duration::from_us(100 + draw(3_000)),
        xor: Duration::from_us(draw(3)),
        fail_member: draw(4) as u32,
        fail_at: Duration::from_us(if draw(3) == 0 { 1 + draw(20_000) } else { 0 }),
        replace_after: Duration::from_us(if draw(2) == 0 { 1 + draw(10_000) } else { 0 }),
        rebuild_depth: 1 + draw(4) as u32,
        ..ArraySpec::default()
    };
    (setup, spec)
}

/// In the place of half of what has two parities an erasure code; reads beyond those that a page
/// needs, with either: from a stream of its own, so that the others stay as they were.
fn code_of(level: RaidLevel, seed: u64) -> (RaidLevel, u32, u32) {
    let mut rng = Rng::stream(seed, "codes");
    let (is_code, parities) = (rng.below(2) == 0, 1 + rng.below(5) as u32);
    match (level, is_code) {
        (RaidLevel::Raid6, true) => (RaidLevel::Ec, parities, rng.below(parities.into()) as u32),
        (RaidLevel::Raid6, false) => (level, parities, rng.below(2) as u32),
        _ => (level, parities, 0),
    }
}

pub(super) const ALL: [ReadStrategy; 12] = [
    ReadStrategy::Direct,
    ReadStrategy::Proactive,
    ReadStrategy::Hedged,
    ReadStrategy::Iod1,
    ReadStrategy::Iod2,
    ReadStrategy::Iod3,
    ReadStrategy::Ioda,
    ReadStrategy::IodaAdaptive,
    ReadStrategy::Harmonia,
    ReadStrategy::Rails,
    ReadStrategy::Mittos,
    ReadStrategy::PlmRotation,
];

#[test]
fn random_arrays_lose_nothing() {
    let mut sum = ArrayCounters::default();
    for seed in 0..part(200) {
        let (setup, spec) = random(seed, &ALL);
        let mut driver = play(&setup, &spec);
        let counters = driver.storage().counters();
        sum.reconstructs += counters.reconstructs;
        sum.restored_rows += counters.restored_rows;
        sum.failed_members += counters.failed_members;
        sum.read_modify_writes += counters.read_modify_writes;
        sum.reconstruct_writes += counters.reconstruct_writes;
        sum.full_rows += counters.full_rows;
        sum.hedges_won += counters.hedges_won;
        sum.avoided += counters.avoided;
        sum.fast_fails += counters.fast_fails;
        sum.double_fails += counters.double_fails;
        sum.must_waits += counters.must_waits;
        if counters.failed_members == 0 {
            check_rows(&mut driver);
        }
    }
    for counted in [
        sum.reconstructs,
        sum.restored_rows,
        sum.failed_members,
        sum.read_modify_writes,
        sum.reconstruct_writes,
        sum.full_rows,
        sum.hedges_won,
        sum.avoided,
        sum.fast_fails,
        sum.double_fails,
        sum.must_waits,
    ] {
        assert!(counted > part(20), "{sum:?}");
    }
}
