//! Whole drives under random load, checked by the oracle, Little's law and determinism.

mod array;
mod array_causes;
mod array_reference;
mod causes;
mod checkpoints;
mod codes;
mod cuts;
mod dftl;
mod draw;
mod endurance;
mod faults;
mod firmware;
mod hold;
mod knobs;
mod laws;
mod merges;
mod oracle;
mod pages;
mod planes;
mod power;
mod predictable;
mod program_suspension;
mod pslc;
mod rain;
mod recovery;
mod reset;
mod restarts;
mod retry;
mod scrub;
mod seen;
mod superblock;
mod suspension;
mod switches;
mod timeline;
mod tolerant;
mod witness;

use super::generate::Generator;
use super::{Arrival, Driver, Host, Job, JobSpec, Oracle, Pacing, Pattern};
use crate::drive::precondition::precondition;
use crate::drive::{
    Drive, DriveConfig, DriveSpec, EraseMode, EraseSpec, PreconditionSpec, PreconditionState,
    ProgramMode, ProgramSpec, RainSpec, RecoverySpec, Scheduler, ScrubSpec,
};
use crate::flash::{AgeingSpec, BlockStress, Device, FaultSpec, Features, RetrySpec};
use crate::ftl::{
    Allocation, FtlKind, FtlSpec, GcMode, GcSpec, GcWhen, Pace, Stripe, Victim, VictimUnit,
};
use crate::units::{Bandwidth, Bytes, Duration, Instant};
use draw::{drawn, one_of, part};

/// Everything that determines a small run.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub device: Device,
    pub ftl: FtlSpec,
    pub gc: GcSpec,
    pub erase: EraseSpec,
    pub program: ProgramSpec,
    pub drive: DriveSpec,
    pub rain: RainSpec,
    pub scrub: ScrubSpec,
    pub retry: RetrySpec,
    pub ageing: AgeingSpec,
    pub faults: FaultSpec,
    pub recovery: RecoverySpec,
    pub precondition: PreconditionSpec,
    pub jobs: Vec<JobSpec>,
    pub seed: u64,
}

/// 2 channels x 2 dies x 24 blocks x 16 pages of 4 KiB: 6 MiB, a quarter of it spare.
pub(crate) fn small() -> Setup {
    let mut device = crate::flash::tests::device();
    (device.geometry.blocks, device.geometry.pages, device.op) = (24, 16, 0.35);
    let job = JobSpec { requests: 6_000, read_percent: 50.0, ..JobSpec::default() };
    Setup {
        device,
        ftl: FtlSpec::default(),
        gc: GcSpec { soft: 0.15.into(), hard: 0.08.into(), ..GcSpec::default() },
        erase: EraseSpec::default(),
        program: ProgramSpec::default(),
        drive: DriveSpec { buffer: Bytes::kib(256), ..DriveSpec::default() },
        rain: RainSpec::default(),
        scrub: ScrubSpec::default(),
        retry: RetrySpec::default(),
        ageing: AgeingSpec::default(),
        faults: FaultSpec::default(),
        recovery: RecoverySpec { keep: true, ..RecoverySpec::default() },
        precondition: PreconditionSpec {
            state: PreconditionState::Fill,
            ..PreconditionSpec::default()
        },
        jobs: vec![job],
        seed: 1,
    }
}

impl Setup {
    pub fn drive(&self) -> Drive {
        let mut drive = self.bare_drive();
        drive.attribute();
        drive
    }

    fn config(&self, recovery: RecoverySpec) -> DriveConfig {
        let Self {
            device,
            ftl,
            mut gc,
            mut drive,
            rain,
            erase,
            program,
            scrub,
            retry,
            ageing,
            faults,
            seed,
            ..
        } = self.clone();
        draw::keep_allowed(&mut drive, &gc, &erase, &program);
        // Many tests give a drawn drive another mode.
        if gc.mode != GcMode::Preemptive || ftl.kind != FtlKind::Page {
            gc.pace = Pace::Off;
        }
        if gc.mode == GcMode::Nogc || ftl.kind != FtlKind::Page {
            drive.firmware.throttle = Bandwidth::default();
        }
        DriveConfig {
            device,
            ftl,
            gc,
            drive,
            rain,
            erase,
            program,
            scrub,
            retry,
            ageing,
            faults,
            recovery,
            seed,
        }
    }

    /// The drive without attribution.
    pub fn bare_drive(&self) -> Drive {
        self.bare_drive_that(RecoverySpec::default())
    }

    /// The drive without attribution, with the settings `recovery`.
    pub fn bare_drive_that(&self, recovery: RecoverySpec) -> Drive {
        let config = self.config(recovery);
        let raw = crate::flash::Layout::new(&self.device).total_units();
        let logical = (f64::from(raw) * (1.0 - self.device.op)) as u32;
        let layout = crate::flash::Layout::new(&self.device);
        let round = if self.rain.width == 0 { 1 } else { layout.lanes * layout.units_per_row };
        let logical = logical / round * round;
        let mut map = config.empty_map_of(logical);
        precondition(&mut map, &self.precondition, self.seed, None, &mut |_| true).expect("room");
        let drive = config.build(map, true);
        drive.ftl().check_laws();
        drive.check_parity();
        drive
    }

    pub fn driver(&self) -> Driver {
        self.driver_of(self.drive())
    }

    pub(crate) fn driver_of(&self, drive: Drive) -> Driver {
        let jobs = self.jobs.iter().enumerate().map(|(number, spec)| {
            let source =
                Generator::new(spec, drive.sectors(), self.seed, number).expect("a valid job");
            Job::new(Box::new(source), Pacing::of(spec))
        });
        let (jobs, oracle) = (jobs.collect(), Oracle::new(&drive));
        Driver::new(drive, jobs, Some(oracle), Duration::ZERO, 0)
    }

    /// Plays everything and checks what must hold of every run.
    pub fn play(&self) -> Driver {
        let mut driver = self.driver();
        driver.play_to_the_end();
        let (progress, oracle) = (driver.progress(), driver.oracle().unwrap());
        let stuck = || format!("{}\n{self:?}", driver.drive().describe());
        assert_eq!(progress.issued, progress.completed, "every request completes: {}", stuck());
        assert_eq!(progress.failed, 0);
        assert_eq!(oracle.mismatches(), 0, "{:?} in {self:?}", oracle.first_mismatch());
        assert_eq!(driver.drive().outstanding(), 0);
        driver.drive().ftl().check_laws();
        check_stress(driver.drive());
        driver.drive().check_nobody_reads();
        driver.drive().check_parity();
        driver.drive().check_map();
        driver
    }
}

/// The stress of the blocks adds up to the drive's counters.
fn check_stress(drive: &Drive) {
    let (blocks, suspended) = (drive.flash().stress(), drive.counters().suspended);
    let sum = |of: fn(&BlockStress) -> u64| blocks.iter().map(of).sum::<u64>();
    assert_eq!(sum(|block| block.suspensions.into()), suspended.suspensions);
    assert_eq!(sum(|block| block.extra_ramps.into()), suspended.extra_ramps);
    assert_eq!(sum(|block| block.aborted.as_ns()), suspended.aborted.as_ns());
    assert!(blocks.is_empty() || sum(|block| block.erases.into()) == drive.counters().erases);
}

fn digest(driver: &Driver) -> String {
    let measured = driver.measured();
    format!(
        "{:?} {:?} {:?} {:?}",
        measured.read,
        measured.write,
        driver.drive().counters(),
        driver.now()
    )
}

#[test]
fn every_gc_mode_and_scheduler_returns_the_newest_versions() {
    for mode in GcMode::ALL {
        for scheduler in [Scheduler::ReadFirst, Scheduler::OutOfOrder, Scheduler::Fifo] {
            let mut setup = small();
            setup.gc.mode = mode;
            setup.gc.copyback = mode == GcMode::PlaneBlocking;
            setup.drive.scheduler = scheduler;
            let driver = setup.play();
            assert!(driver.oracle().unwrap().reads_checked() > 2_500);
            let counters = driver.drive().counters();
            assert_eq!(counters.copied_units > 0, mode != GcMode::Nogc, "{mode:?}: {counters:?}");
        }
    }
}

#[test]
fn every_victim_policy_and_unit_keeps_the_data() {
    for victim in [
        Victim::Greedy,
        Victim::CostBenefit,
        Victim::Fifo,
        Victim::WindowedGreedy,
        Victim::DChoices,
        Victim::Random,
        Victim::Uniform,
    ] {
        for unit in [VictimUnit::Block, VictimUnit::PlaneGroup, VictimUnit::Superblock] {
            for mode in [GcMode::Base, GcMode::Preemptive, GcMode::Nogc] {
                let mut setup = small();
                setup.device.geometry.planes = 2;
                setup.ftl.allocation = Allocation::Dynamic;
                (setup.gc.victim, setup.gc.unit, setup.gc.mode) = (victim, unit, mode);
                setup.play();
            }
        }
    }
}

#[test]
fn program_units_of_many_pages_keep_the_data() {
    for (planes, pages, stripe) in
        [(2, 1, Stripe::MapUnit), (4, 1, Stripe::ProgramUnit), (2, 2, Stripe::MapUnit)]
    {
        for allocation in [Allocation::Static, Allocation::Dynamic] {
            let mut setup = small();
            setup.device.geometry.planes = planes;
            setup.device.feature =
                Features { program_planes: planes, program_pages: pages, ..Features::default() };
            (setup.ftl.stripe, setup.ftl.allocation) = (stripe, allocation);
            setup.play();
        }
    }
}

#[test]
fn unaligned_requests_flushes_fua_and_trim_keep_the_data() {
    for protected in [true, false] {
        for write_through in [false, true] {
            for allocation in [Allocation::Static, Allocation::Dynamic] {
                let mut setup = small();
                setup.device.geometry.planes = 2;
                setup.device.feature.program_planes = 2;
                setup.ftl.allocation = allocation;
                setup.drive.power_loss_protection = protected;
                setup.drive.write_through = write_through;
                setup.jobs[0] = JobSpec {
                    block_sizes: [(512, 3.0), (1536, 3.0), (4096, 3.0), (20_480, 1.0)]
                        .map(|(bytes, weight)| (Bytes::new(bytes), weight))
                        .to_vec(),
                    align: Bytes::new(512),
                    fua_percent: 20.0,
                    flush_every: 50,
                    trim_percent: 5.0,
                    pattern: Pattern::Zipf,
                    ..setup.jobs[0].clone()
                };
                setup.play();
            }
        }
    }
}

#[test]
fn cache_and_independent_planes_and_copyback_keep_the_data() {
    for (cache, independent, copyback) in
        [(true, false, false), (false, true, false), (true, true, true), (false, false, true)]
    {
        for mode in [GcMode::Base, GcMode::Preemptive] {
            let mut setup = small();
            setup.device.geometry.planes = 2;
            setup.device.feature.cache_read = cache;
            setup.device.feature.cache_program = cache;
            setup.device.feature.independent_planes = independent;
            (setup.gc.copyback, setup.gc.mode) = (copyback, mode);
            setup.play();
        }
    }
}

#[test]
fn queue_depth_link_and_controller_delay_and_lose_nothing() {
    let mut setup = small();
    setup.drive.queue_depth = 4;
    setup.drive.controller = Duration::from_us(5);
    setup.drive.link = Bandwidth::bytes_per_second(1_000_000_000);
    setup.jobs.push(JobSpec {
        arrival: Arrival::Poisson,
        rate: 500.0,
        requests: 500,
        ..setup.jobs[0].clone()
    });
    setup.gc.when = GcWhen::Foreground;
    setup.play();
}

#[test]
fn a_write_heavy_zipf_load_on_an_aged_drive_keeps_the_data() {
    for state in [PreconditionState::Empty, PreconditionState::Aged, PreconditionState::Steady] {
        let mut setup = small();
        setup.precondition.state = state;
        setup.ftl.static_wear_gap = 4;
        setup.jobs[0].pattern = Pattern::Zipf;
        setup.jobs[0].read_percent = 20.0;
        setup.play();
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let setup = small();
    assert_eq!(digest(&setup.play()), digest(&setup.play()));
    let other = Setup { seed: 2, ..small() };
    assert_ne!(digest(&setup.play()), digest(&other.play()));
}

#[test]
fn littles_law_holds() {
    let driver = small().play();
    let measured = driver.measured();
    let (reads, writes) = (measured.read.histogram.sum_ns(), measured.write.histogram.sum_ns());
    let (l, lambda_w) =
        (driver.mean_outstanding(), (reads + writes) as f64 / driver.now().as_ns() as f64);
    assert!((l / lambda_w - 1.0).abs() < 1e-3, "L = {l}, lambda W = {lambda_w}");
    assert!(l > 15.0 && l <= 16.0, "a closed loop of 16 keeps 16 outstanding: {l}");
    assert!(driver.now() > Instant::START);
}

#[test]
fn drives_drawn_at_random_complete_every_request_and_keep_the_data() {
    let (mut suspended, mut programs, mut held) = ([0; 6], [0; 4], [0; GcMode::ALL.len()]);
    let mut rotation = crate::stats::RotationCounters::default();
    for seed in 0..part(600) {
        let setup = drawn(seed);
        let result = std::panic::catch_unwind(|| setup.play());
        assert!(result.is_ok(), "seed {seed}: {setup:?}");
        let counters = result.map(|driver| driver.drive().counters()).unwrap_or_default();
        suspended[setup.erase.mode as usize] += counters.suspended.suspensions;
        programs[setup.program.mode as usize] += counters.suspended.program_suspensions;
        held[setup.gc.mode as usize] += counters.erases_held;
        rotation.postponed += counters.rotation.postponed;
        rotation.switched_off += counters.rotation.switched_off;
        assert!(counters.erases_held == 0 || !setup.erase.hold.is_zero());
        assert!(counters.erases_held_max <= setup.erase.hold_max);
    }
    assert!(rotation.postponed > part(500) && rotation.switched_off > part(50), "{rotation:?}");
    assert_eq!(programs[ProgramMode::None as usize], 0);
    assert!(programs[1..].iter().all(|suspensions| *suspensions > part(5_000)), "{programs:?}");
    assert_eq!(held[GcMode::Nogc as usize], 0);
    assert!(held[1..].iter().all(|erases| *erases > part(100)), "{held:?}");
    assert_eq!(suspended[EraseMode::None as usize], 0);
    assert!(suspended[1..].iter().all(|suspensions| *suspensions > part(100)), "{suspended:?}");
}

/// Random writes to one page in four, then to another one in four, and so on: whole lanes have
/// nothing stale for long.
struct Residues {
    rng: crate::sim::Rng,
    pages: u64,
    left: u64,
}

impl super::RequestSource for Residues {
    fn next_request(&mut self) -> Option<super::Request> {
        self.left = self.left.checked_sub(1)?;
        let residue = self.left / 1_000 % 4;
        let page = self.rng.below(self.pages / 4) * 4 + residue;
        let lba = crate::units::Lba(page * 8);
        Some(super::Request {
            at: Instant::START,
            op: crate::drive::Op::Write,
            lba,
            sectors: 8,
            fua: false,
            stream: 0,
        })
    }
}

/// A lane that had nothing to reclaim once was never looked at again: with dynamic allocation its
/// pages become invalid by writes to other lanes, and the drive died lane by lane.
#[test]
fn regression_lanes_that_gained_nothing_once_are_asked_again() {
    for mode in [GcMode::Nogc, GcMode::Base, GcMode::Preemptive] {
        let mut setup = small();
        (setup.gc.mode, setup.gc.soft, setup.gc.hard) = (mode, 0.09.into(), 0.05.into());
        (setup.ftl.allocation, setup.device.op) = (Allocation::Dynamic, 0.18);
        let drive = setup.drive();
        let source = Residues {
            rng: crate::sim::Rng::stream(1, "residues"),
            pages: drive.sectors() / 8,
            left: 16_000,
        };
        let (think, host, until) = (Duration::ZERO, Host::default(), Instant::NEVER);
        let start = Instant::START;
        let pacing = Pacing::Closed { depth: 32, think, start, host, until };
        let oracle = Oracle::new(&drive);
        let jobs = vec![Job::new(Box::new(source), pacing)];
        let mut driver = Driver::new(drive, jobs, Some(oracle), Duration::ZERO, 0);
        driver.play_to_the_end();
        assert_eq!(driver.progress().completed, 16_000, "{mode:?}: {}", driver.drive().describe());
    }
}
