//! A host that resets its drive: the run goes on, the data stays right, and times are those of
//! arithmetic.

use super::suspension::dense;
use super::{Setup, digest, drawn, one_of};
use crate::drive::{EraseMode, Status, TimelineSpec};
use crate::host::{Driver, HostSpec, OnTimeout, Record, Records, Request};
use crate::sim::Rng;
use crate::stats::ResetCounters;
use crate::units::{Cause, Duration, Instant};

fn spec(abort: bool, reset: Duration, retries: u32) -> HostSpec {
    HostSpec { on_timeout: OnTimeout::Reset, abort, reset, retries }
}

fn resets(driver: &Driver) -> ResetCounters {
    *driver.resets().expect("the host makes some")
}

/// A run whose reads are checked, and whose latencies are split.
fn played(setup: &Setup, timeout: Duration, spec: &HostSpec) -> Driver {
    let driver = setup.driver().with_attribution().with_records();
    let mut driver = driver.with_timeout(timeout).with_resets(spec);
    driver.play_to_the_end();
    let oracle = driver.oracle().expect("reads are checked");
    assert_eq!(oracle.mismatches(), 0, "{:?}", oracle.first_mismatch());
    assert!(driver.starved().is_none());
    assert_eq!(driver.progress().issued, driver.progress().completed);
    assert_eq!(driver.progress().failed, resets(&driver).failed);
    every_request_ends_once(&mut driver);
    driver
}

/// Each request that was issued ends once, as itself; those that fail are told, too.
fn every_request_ends_once(driver: &mut Driver) {
    let failed = resets(driver).failed as usize;
    let records = driver.take_records().expect("they are kept");
    let of = |record: &Record| (record.at, record.job, record.lba, record.op as u8, record.sectors);
    let mut ended: Vec<_> = records.requests.iter().map(of).collect();
    let issues = std::mem::take(&mut driver.issues).into_iter();
    let of =
        |(at, job, issue): (_, _, Request)| (at, job, issue.lba, issue.op as u8, issue.sectors);
    let mut issued: Vec<_> = issues.map(of).collect();
    let aborted = |record: &&Record| record.status == Status::Aborted;
    assert_eq!(records.requests.iter().filter(aborted).count(), failed);
    ended.sort_unstable();
    issued.sort_unstable();
    assert_eq!(ended, issued);
    driver.records = Some(records);
}

#[test]
fn a_starving_write_makes_the_host_reset_its_drive() {
    let (timeout, reset) = (Duration::from_ms(400), Duration::from_ms(50));
    for (abort, timeouts) in [(false, 1), (true, 2)] {
        let mut driver = played(&dense(EraseMode::IEs, timeout), timeout, &spec(abort, reset, 5));
        let counters = resets(&driver);
        // In three seconds, each time a write has waited so long.
        let most = 3_000 / (400 * timeouts);
        assert!((1..=most).contains(&counters.resets), "{counters:?}");
        assert!(counters.sent_again >= counters.resets && counters.failed == 0);
        assert_eq!(counters.aborts >= counters.resets, abort, "{counters:?}");
        // The first one that starved had waited from its issue on.
        let Records { requests, splits } = driver.take_records().expect("they are kept");
        let first = counters.first_at.expect("there was one");
        let due = |record: &&Record| {
            record.at + timeout * timeouts <= first && record.at + record.latency > first
        };
        let starved: Vec<_> = requests.iter().filter(due).collect();
        assert_eq!(starved.iter().map(|one| one.at + timeout * timeouts).min(), Some(first));
        // Nothing ends during a reset; the command that answers was sent when it was over.
        for (record, split) in requests.iter().zip(&splits) {
            let end = record.at + record.latency;
            assert!(end <= first || end >= first + reset, "{record:?}");
            let was_sent_again = record.at <= first && end > first;
            if was_sent_again && counters.resets == 1 {
                let before = (first + reset).since(record.at);
                assert_eq!(split.get(Cause::Retry), before, "{record:?}");
            }
        }
    }
}

#[test]
fn a_reset_lets_writes_go_on_and_costs_reads_its_time() {
    let timeout = Duration::from_ms(100);
    let setup = dense(EraseMode::IEs, timeout);
    let mut starved = setup.driver().with_timeout(timeout);
    starved.play_to_the_end();
    assert!(starved.starved().is_some());
    let reset = Duration::from_ms(50);
    let driver = played(&setup, timeout, &spec(false, reset, 5));
    let writes = |driver: &Driver| driver.measured().write.histogram.count();
    assert!(writes(&driver) > writes(&starved) + resets(&driver).resets);
    let longest = driver.measured().read.histogram.max().expect("there are reads");
    assert!(longest >= reset, "{longest}");
}

#[test]
fn a_host_that_need_not_reset_changes_nothing() {
    for mode in [EraseMode::None, EraseMode::DEs] {
        let mut setup = dense(mode, Duration::from_ms(20));
        setup.jobs.iter_mut().for_each(|job| job.time = Duration::from_ms(300));
        let driver = played(&setup, Duration::from_s(1), &spec(true, Duration::from_ms(500), 5));
        assert_eq!(resets(&driver), ResetCounters::default());
        assert_eq!(digest(&driver), digest(&setup.play()));
    }
}

#[test]
fn a_command_that_was_sent_again_too_often_fails() {
    let timeout = Duration::from_ms(100);
    let mut seen = Vec::new();
    for retries in [0, 1] {
        let setup = dense(EraseMode::IEs, timeout);
        let driver = played(&setup, timeout, &spec(false, Duration::from_us(1), retries));
        let counters = resets(&driver);
        assert!(retries > 0 || counters.sent_again == 0, "{counters:?}");
        assert!(counters.failed > 0, "{counters:?}");
        seen.push(counters.failed);
    }
    assert!(seen[1] < seen[0], "{seen:?}");
}

/// Any drive, whose host has no patience.
#[test]
fn drawn_drives_keep_their_data_through_resets() {
    let mut seen = ResetCounters::default();
    let everything = TimelineSpec {
        from: Instant::START,
        to: Instant::NEVER,
        slow: Some(Duration::ZERO),
        limit: u64::MAX,
    };
    for seed in 0..60 {
        let mut setup = drawn(seed);
        let mut rng = Rng::stream(seed, "impatient");
        setup.jobs.iter_mut().for_each(|job| job.requests = job.requests.min(300));
        let us = Duration::from_us;
        let timeout = us(one_of(&mut rng, &[2_000, 10_000]));
        let reset = us(one_of(&mut rng, &[20, 500, 20_000]));
        let spec = spec(rng.below(2) == 0, reset, one_of(&mut rng, &[0, 1, 5]));
        let play = |change: &dyn Fn(Driver) -> Driver| {
            let driver = change(setup.driver()).with_timeout(timeout).with_resets(&spec);
            let mut driver = driver;
            driver.play_to_the_end();
            driver
        };
        let driver = play(&|driver| driver);
        let (oracle, counters) = (driver.oracle().expect("reads are checked"), resets(&driver));
        assert_eq!(oracle.mismatches(), 0, "seed {seed}: {:?}", oracle.first_mismatch());
        let progress = driver.progress();
        assert_eq!(progress.issued, progress.completed, "seed {seed}");
        assert!(driver.storage().outstanding() <= driver.late(), "seed {seed}");
        let mut attributed = play(&|driver| driver.with_attribution().with_records());
        every_request_ends_once(&mut attributed);
        assert_eq!(digest(&driver), digest(&attributed), "seed {seed}");
        let mut drive = setup.bare_drive();
        drive.keep_timeline(&everything);
        let mut watched = setup.driver_of(drive).with_timeout(timeout).with_resets(&spec);
        watched.play_to_the_end();
        assert_eq!(digest(&driver), digest(&watched), "seed {seed}");
        seen.add(&counters);
    }
    assert!(seen.resets > 300 && seen.sent_again > 2_000, "{seen:?}");
    assert!(seen.failed > 100 && seen.late > 1_000 && seen.aborts > 100, "{seen:?}");
}
