//! Endurance on whole drives: how much a host can write until the rated cycles are used, which
//! erase fails, and the oracle over drives that are written to their end.

use super::faults::{play, rest, worn};
use super::recovery::{RECOVERED, campaign_of, mixed, with_log};
use super::timeline::EVERYTHING;
use super::{Setup, one_of, small};
use crate::drive::PreconditionState;
use crate::flash::{FaultSpec, Layout};
use crate::ftl::log::LogPolicy;
use crate::ftl::{Allocation, FtlKind, GcMode, Victim, VictimUnit};
use crate::host::{Driver, JobSpec, Pattern};
use crate::sim::Rng;
use crate::units::Duration;

const WEARS_OUT: FaultSpec = FaultSpec {
    factory_bad: 0.0,
    program_fail: 0.0,
    erase_fail: 0.0,
    growth_per_1000: 0.0,
    wear_out: true,
};

/// One lane of 64 blocks of 16 pages, half of them spare, rated for 50 cycles and only written.
fn rated(pattern: Pattern) -> Setup {
    let mut setup = small();
    let device = &mut setup.device;
    (device.geometry.channels, device.geometry.ways, device.geometry.dies) = (1, 1, 1);
    (device.geometry.blocks, device.op, device.endurance) = (64, 0.5, 50);
    (setup.precondition.state, setup.faults) = (PreconditionState::Empty, WEARS_OUT);
    // Blocks take turns, whatever they hold, so that all wear alike.
    setup.gc.victim = Victim::Fifo;
    setup.jobs[0] =
        JobSpec { read_percent: 0.0, requests: 70_000, pattern, ..setup.jobs[0].clone() };
    setup
}

/// Pages that the host wrote to flash, and the WAF of that.
fn written(driver: &Driver) -> (f64, f64) {
    let counters = driver.drive().counters();
    let host = counters.host_units as f64;
    (host, counters.units_programmed() as f64 / host)
}

#[test]
fn a_drive_takes_its_rated_cycles_times_its_capacity_over_the_waf() {
    for (pattern, cycles_before) in
        [(Pattern::Sequential, 0), (Pattern::Random, 0), (Pattern::Random, 20)]
    {
        let mut setup = rated(pattern);
        setup.ageing.pe_cycles = cycles_before;
        let driver = play(&setup);
        let (host, waf) = written(&driver);
        let faults = driver.drive().counters().faults;
        assert!(faults.read_only_at.is_some() && faults.refused > 0, "{pattern:?} {faults:?}");
        let spare = setup.drive().counters().faults.spare_least;
        // The first block that it cannot spare ends it; where collections copy, blocks that fail
        // one after the other give nothing back for that, and the reserve is gone before.
        let (least, most) = (if pattern == Pattern::Sequential { spare + 1 } else { 1 }, spare + 1);
        assert!((least..=most).contains(&(faults.worn_out as i64)), "{spare} {faults:?}");
        assert_eq!((faults.erase_failures, faults.retired), (faults.worn_out, faults.worn_out));
        // A block that comes erased is programmed once more often than it is erased; at the end
        // some blocks are a cycle behind, and what is open or free is programmed in part.
        let (bears, raw) = (f64::from(50 - cycles_before), 64.0 * 16.0);
        let took = host * waf;
        assert!(took > (bears - 1.0) * raw && took <= (bears + 1.0) * raw, "{pattern:?}: {took}");
        assert_eq!(waf == 1.0, pattern == Pattern::Sequential, "{waf}");
        let used = driver.drive().wear().percentage_used().unwrap();
        let erases: u32 = driver.drive().ftl().block_erases().iter().sum();
        let mean = f64::from(erases) / 64.0 + f64::from(cycles_before);
        assert!((used - 100.0 * mean / 50.0).abs() < 1e-5 && (92.0..=102.0).contains(&used));
    }
}

#[test]
fn a_block_bears_exactly_its_rated_erases_and_the_next_one_takes_it_out_of_service() {
    let mut setup = rated(Pattern::Random);
    let mut driver = setup.driver();
    while driver.drive().counters().faults.worn_out == 0 {
        assert!(driver.drive().ftl().block_erases().iter().all(|erases| *erases <= 50));
        driver.play_before(driver.next_event_at() + Duration::from_ns(1));
    }
    let erases = |driver: &Driver, of| {
        driver.drive().ftl().block_erases().iter().filter(|erases| **erases == of).count()
    };
    assert_eq!((erases(&driver, 51), erases(&driver, 52)), (1, 0), "50 erases, and the failed one");
    let worn = driver.drive().ftl().block_erases().iter().position(|erases| *erases == 51).unwrap();
    let block = Layout::new(&setup.device).block(crate::units::Lane(0), worn as u32);
    let rows = driver.drive().flash().rows_written(block);
    driver.play_to_the_end();
    assert_eq!(driver.drive().flash().rows_written(block), rows, "it is never written again");
    assert_eq!(driver.drive().ftl().block_erases()[worn], 51);
    // Cycles of before count like those of the run: with all 50 the very first erase fails.
    setup.ageing.pe_cycles = 50;
    let driver = play(&setup);
    let counters = driver.drive().counters();
    assert!(counters.faults.worn_out > 0 && counters.faults.worn_out <= counters.erases);
    assert!(written(&driver).0 < 2.0 * 64.0 * 16.0, "nothing is written a second time");
    // Preconditioning wears blocks, and takes none out of service.
    setup.precondition.state = PreconditionState::Steady;
    let faults = setup.drive().counters().faults;
    assert_eq!((faults.worn_out, faults.retired, faults.read_only_at), (0, 0, None));
}

#[test]
fn an_endurance_without_wear_out_changes_nothing_and_one_that_is_never_reached_neither() {
    let digest = |setup: &Setup| {
        let driver = play(setup);
        let mut counters = driver.drive().counters();
        counters.faults = Default::default();
        format!("{:?} {counters:?} {:?}", driver.measured().read, driver.now())
    };
    let mut setup = worn();
    let off = digest(&setup);
    setup.device.endurance = 1;
    assert_eq!(digest(&setup), off);
    // Where operations may fail one group more is kept: as with a probability that never strikes.
    setup.faults.erase_fail = 1e-300;
    let reserved = digest(&setup);
    (setup.faults, setup.device.endurance) = (WEARS_OUT, 10_000_000);
    assert_eq!(digest(&setup), reserved);
}

#[test]
fn a_higher_endurance_lets_the_host_write_more() {
    let lasts = |endurance: u32| {
        let mut setup = rated(Pattern::Random);
        setup.device.endurance = endurance;
        written(&play(&setup)).0
    };
    let (few, many) = (lasts(10), lasts(30));
    assert!(many > 2.5 * few && many < 3.5 * few, "{few} {many}");
}

#[test]
fn drives_written_to_their_end_lose_nothing_in_every_mode_and_unit() {
    let (mut ended, mut worn_out) = (0, 0);
    for seed in 0..72 {
        let mut rng = Rng::stream(seed, "worn out");
        let mut setup = Setup { seed, ..worn() };
        setup.gc.mode = GcMode::ALL[seed as usize % GcMode::ALL.len()];
        setup.gc.copyback = setup.gc.mode == GcMode::PlaneBlocking;
        let wide = [VictimUnit::Block, VictimUnit::PlaneGroup, VictimUnit::Superblock];
        setup.gc.unit = one_of(&mut rng, &wide);
        if setup.gc.mode == GcMode::PlaneBlocking {
            setup.gc.unit = VictimUnit::Block;
        }
        setup.ftl.allocation = Allocation::Dynamic;
        setup.ftl.static_wear_gap = one_of(&mut rng, &[0, 2]);
        setup.precondition.state =
            one_of(&mut rng, &[PreconditionState::Fill, PreconditionState::Steady]);
        setup.ageing.pe_cycles = one_of(&mut rng, &[0, 3]);
        setup.device.endurance = one_of(&mut rng, &[2, 5, 8]);
        setup.jobs[0].requests = 30_000;
        let fails = one_of(&mut rng, &[0.0, 0.0, 1e-3]);
        setup.faults = FaultSpec { program_fail: fails, erase_fail: fails, ..WEARS_OUT };
        let driver = play(&setup);
        let faults = driver.drive().counters().faults;
        assert!(faults.worn_out <= faults.erase_failures, "{faults:?}");
        assert!(setup.gc.mode != GcMode::Nogc || faults.worn_out == 0, "its erases take no time");
        let has_ended = faults.read_only_at.is_some();
        (ended, worn_out) = (ended + u32::from(has_ended), worn_out + faults.worn_out);
        rest(&driver);
    }
    assert!(ended > 30 && worn_out > 1_000, "{ended} ended, {worn_out} blocks");
}

#[test]
fn log_blocks_wear_out_once_the_drive_ends_and_all_is_written() {
    let policies = [LogPolicy::Bast, LogPolicy::Fast, LogPolicy::Faster, LogPolicy::PageMapping];
    let mut ended = 0;
    for seed in 0..32 {
        let mut setup = Setup { seed, ..small() };
        setup.ftl.kind = FtlKind::LogBlock;
        setup.ftl.log.policy = policies[seed as usize % 4];
        (setup.ftl.log.log_percent, setup.device.geometry.blocks) = (40.0, 40);
        setup.gc.mode = [GcMode::Base, GcMode::Preemptive][seed as usize / 4 % 2];
        setup.drive.write_through = seed % 3 == 0;
        (setup.device.endurance, setup.faults) = (6, WEARS_OUT);
        setup.jobs[0] = JobSpec { read_percent: 20.0, requests: 12_000, ..setup.jobs[0].clone() };
        let driver = play(&setup);
        let faults = driver.drive().counters().faults;
        assert_eq!(faults.worn_out, faults.erase_failures);
        // The lane that had none to spare erased its block once more, and that was the last.
        let has_ended = u64::from(faults.read_only_at.is_some());
        assert_eq!(faults.worn_out, faults.retired + has_ended, "{:?}", setup.ftl.log.policy);
        ended += has_ended;
        assert!(has_ended == 0 || rest(&driver).buffered() == 0, "all is written");
    }
    assert!(ended > 24, "{ended}");
}

#[test]
fn worn_blocks_stay_out_of_service_behind_a_cut() {
    let (mut cuts, mut worn_out, mut ended) = (0, 0, 0);
    for seed in 0..32 {
        let mut setup = match seed % 4 {
            0 | 1 => with_log(mixed(900), RECOVERED[seed as usize / 2 % 3]),
            _ => mixed(900),
        };
        (setup.seed, setup.device.geometry.blocks, setup.device.op) = (seed, 34, 0.6);
        setup.ftl.log.log_percent = 60.0;
        setup.gc.mode = [GcMode::Base, GcMode::Preemptive][seed as usize / 4 % 2];
        (setup.device.endurance, setup.faults) = (1 + seed as u32 % 3, WEARS_OUT);
        let (driver, done) = campaign_of(&setup, seed, 6);
        let faults = driver.drive().counters().faults;
        (cuts, worn_out) = (cuts + done, worn_out + faults.worn_out);
        ended += u32::from(faults.read_only_at.is_some());
    }
    assert!(cuts > 150 && worn_out > 100, "{cuts} cuts, {worn_out} worn out, {ended} ended");
}

#[test]
fn who_watches_a_drive_to_its_end_changes_nothing() {
    let setup = rated(Pattern::Random);
    let end = |mut driver: Driver| {
        driver.play_to_the_end();
        format!("{:?} {:?}", driver.drive().counters(), driver.now())
    };
    let watched = setup.driver();
    let mut timed = setup.bare_drive();
    timed.keep_timeline(&EVERYTHING);
    let alone = end(setup.driver_of(setup.bare_drive()));
    assert_eq!(end(watched), alone);
    assert_eq!(end(setup.driver_of(timed)), alone);
}
