//! Reads that fail before other work of the drive's own, too: flushes, the journal, parity.

use super::{Game, errors_over, plain, requests, schedule};
use crate::drive::{BusyRemaining, FastFail, ProgramMode, Scheduler, Windows};
use crate::ftl::{GcMode, VictimUnit};
use crate::host::tests::drawn;
use crate::units::Duration;

fn internal(seed: u64, requests_of_job: u64) -> super::Setup {
    let mut setup = requests(drawn(seed), requests_of_job);
    (setup.drive.fast_fail, setup.drive.scheduler) = (FastFail::Internal, Scheduler::ReadFirst);
    setup
}

/// Every GC mode, FTL option and feature that can be combined.
#[test]
fn a_read_that_may_fail_waits_for_no_program_of_the_drive() {
    let (mut fails, mut others, mut spared) = (0, 0, 0);
    for seed in 0..160 {
        let setup = internal(seed, 800);
        for spacing in [60, 600] {
            let mut game = Game { spacing: Duration::from_us(spacing), ..Game::new(&setup) };
            let counters = game.play().counters;
            assert!(counters.fast_fails_other <= counters.fast_fails, "{counters:?}");
            fails += counters.fast_fails;
            others += counters.fast_fails_other;
            let ideal = setup.program.mode == ProgramMode::Ideal;
            spared += u64::from(ideal && counters.fast_fails_other == 0);
        }
    }
    println!("{fails} failed, {others} of them before other work; {spared} drives spared");
    assert!(others > 5_000 && fails > others, "{fails} {others}");
}

/// With perfect foresight the busy remaining time is what happens, as for garbage collection.
#[test]
fn a_busy_remaining_time_behind_other_work_is_exactly_what_happens() {
    let mut all = 0;
    for seed in 0..60 {
        for windows in [Windows::Off, schedule(3, 1, Duration::from_ms(25))] {
            let mut setup = internal(seed, 300);
            setup.jobs[0].read_percent = 50.0;
            (setup.drive.brt, setup.drive.controller) = (BusyRemaining::Exact, Duration::ZERO);
            (setup.drive.link, setup.drive.queue_depth) = (crate::units::Bandwidth::default(), 0);
            setup.drive.firmware = crate::drive::FirmwareSpec::default();
            let errors = errors_over(std::iter::once(setup), windows);
            assert_eq!(errors.exact, errors.all, "seed {seed} {windows:?}: {errors:?}");
            all += errors.all;
        }
    }
    assert!(all > 1_000, "{all}");
}

/// A forecast knows what is left of a program that was suspended as often as it may be: without
/// garbage collection and with nothing else on the channel it is what happens.
#[test]
fn a_forecast_of_a_resumed_program_is_what_is_left_of_it() {
    let (mut all, mut exact) = (0, 0);
    for mode in [ProgramMode::Ips, ProgramMode::Ipc, ProgramMode::Ideal] {
        for seed in 0..10 {
            let mut setup = plain(seed, GcMode::Nogc, VictimUnit::Block);
            setup.device.channel.rate = crate::units::Bandwidth::default();
            setup.device.feature.cache_program = false;
            setup.drive.fast_fail = FastFail::Internal;
            (setup.program.mode, setup.program.max_suspensions) = (mode, 1);
            let errors = errors_over(std::iter::once(setup), Windows::Off);
            (all, exact) = (all + errors.all, exact + errors.exact);
        }
    }
    println!("{exact} of {all}");
    assert!(all > 50 && exact == all, "{exact} of {all}");
}
