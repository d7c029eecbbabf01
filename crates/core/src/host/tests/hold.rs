//! Erases held back on whole drives: what a burst of reads gains, and who may never wait for it.

use super::{Setup, small};
use crate::drive::{EraseMode, EraseSpec};
use crate::ftl::GcMode;
use crate::host::{Arrival, Driver, JobSpec};
use crate::units::{Bytes, Cause, Duration};

/// Bursts of reads and silence beside a steady writer, with room for a backlog between the marks.
fn bursts(mode: EraseMode, hold: Duration) -> Setup {
    let mut setup = small();
    setup.device.geometry.blocks = 64;
    (setup.gc.mode, setup.gc.reads_first, setup.gc.soft, setup.gc.hard) =
        (GcMode::Preemptive, true, 0.2.into(), 0.05.into());
    setup.drive.write_through = true;
    // Nothing but reads, erases and short programs.
    setup.device.timing.program = vec![Duration::from_us(100)];
    setup.erase = EraseSpec {
        mode,
        hold,
        hold_max: Duration::from_ms(200),
        hold_victims: 8,
        ..EraseSpec::default()
    };
    let time = Duration::from_s(2);
    let job = JobSpec {
        requests: 0,
        time,
        block_sizes: vec![(Bytes::kib(4), 1.0)],
        ..setup.jobs[0].clone()
    };
    let reads = JobSpec {
        read_percent: 100.0,
        arrival: Arrival::Bursty,
        rate: 1_000.0,
        peak_to_mean: 4.0,
        burst: Duration::from_ms(20),
        ..job.clone()
    };
    let writes =
        JobSpec { read_percent: 0.0, queue_depth: 1, think: Duration::from_us(500), ..job };
    setup.jobs = vec![reads, writes];
    setup
}

fn played(setup: &Setup) -> Driver {
    let mut driver = setup.driver().with_attribution().with_timeout(Duration::from_s(1));
    driver.play_to_the_end();
    assert_eq!((driver.oracle().unwrap().mismatches(), driver.starved()), (0, None));
    driver.drive().ftl().check_laws();
    driver
}

#[test]
fn bursts_of_reads_wait_less_for_erases_that_are_held_back_and_writes_no_longer() {
    for mode in [EraseMode::None, EraseMode::DEs, EraseMode::Es, EraseMode::IEs, EraseMode::TEs] {
        // In a burst a die is read 2500 times a second: hardly ever does it rest for 3 ms.
        let [at_once, held] = [Duration::ZERO, Duration::from_ms(3)].map(|hold| {
            let mut setup = bursts(mode, hold);
            setup.jobs[0].peak_to_mean = 10.0;
            played(&setup)
        });
        let behind = |driver: &Driver| {
            let causes = driver.measured().causes.as_ref().unwrap().read.total().1;
            causes.get(Cause::Erase) + causes.get(Cause::Suspension)
        };
        let (before, now) = (behind(&at_once), behind(&held));
        assert!(now * 2 < before, "{mode:?}: reads waited {before} for erases, and now {now}");
        let of = |driver: &Driver| driver.drive().counters();
        assert!(
            of(&held).erases_held > 10 && of(&at_once).erases_held == 0,
            "{mode:?}: {:?}",
            of(&held)
        );
        if mode != EraseMode::None {
            assert!(
                of(&held).suspended.suspensions * 2 < of(&at_once).suspended.suspensions,
                "{mode:?}"
            );
        }
        // It collects no earlier and no more than without.
        let (one, other) = (of(&at_once), of(&held));
        assert!(
            other.copied_units.abs_diff(one.copied_units) * 5 < one.copied_units.max(400),
            "{one:?} {other:?}"
        );
        let mean = |driver: &Driver| driver.measured().write.histogram.mean().unwrap();
        assert!(
            mean(&held) * 10 < mean(&at_once) * 11,
            "{mode:?}: {} and {}",
            mean(&held),
            mean(&at_once)
        );
    }
}

/// The longer an erase may be held, the fewer reads meet one; with no time at all none is.
#[test]
fn the_longest_hold_moves_what_it_should() {
    let of = |hold_max: Duration| {
        let mut setup = bursts(EraseMode::DEs, Duration::from_ms(2));
        setup.erase.hold_max = hold_max;
        let driver = played(&setup);
        let causes = driver.measured().causes.as_ref().unwrap().read.total().1;
        (causes.get(Cause::Erase), driver.drive().counters().erases_held_max)
    };
    let [none, short, long] = [0, 4, 200].map(|ms| of(Duration::from_ms(ms)));
    assert!(none.0 > short.0 && short.0 > long.0, "{none:?} {short:?} {long:?}");
    assert_eq!((none.1, short.1), (Duration::ZERO, Duration::from_ms(4)));
    assert!(long.1 > Duration::from_ms(10) && long.1 <= Duration::from_ms(200));
}

/// A writer that fills the drive while reads never rest: erases are let go as soon as space is
/// urgent, though they may be held for a minute, and the writes do not wait for that.
#[test]
fn writes_never_wait_for_a_hold() {
    let mut setup = bursts(EraseMode::DEs, Duration::from_s(60));
    setup.erase.hold_max = Duration::from_s(60);
    setup.jobs[1].think = Duration::ZERO;
    let driver = played(&setup);
    let counters = driver.drive().counters();
    assert!(counters.erases_held > 100 && counters.collections > 200, "{counters:?}");
    assert!(driver.measured().write.histogram.max().unwrap() < Duration::from_ms(100));
}
