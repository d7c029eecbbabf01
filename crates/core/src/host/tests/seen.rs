//! The host's own time: a delay that requests share, and a thread that serves one after the other.

use super::{Setup, small};
use crate::host::generate::Generator;
use crate::host::{Driver, Job, JobSpec, Pacing};
use crate::units::{Bytes, Duration, Instant};

fn reads(queue_depth: u32, host_delay: Duration, host_busy: Duration) -> Driver {
    let mut setup: Setup = small();
    let job = setup.jobs[0].clone();
    setup.jobs[0] =
        JobSpec { read_percent: 100.0, queue_depth, host_delay, host_busy, requests: 4_000, ..job };
    setup.play()
}

fn mean_us(driver: &Driver) -> f64 {
    driver.measured().read.histogram.mean().expect("there are reads").as_us_f64()
}

#[test]
fn a_read_alone_is_longer_by_the_delay_and_the_threads_work() {
    let bare = mean_us(&reads(1, Duration::ZERO, Duration::ZERO));
    let seen = mean_us(&reads(1, Duration::from_us(5), Duration::from_us(3)));
    assert!((seen - bare - 8.0).abs() < 1e-6, "{bare} and {seen}");
}

#[test]
fn a_busy_thread_bounds_the_rate_and_depth_only_adds_to_the_latency() {
    let busy = Duration::from_us(200);
    let driver = reads(64, Duration::ZERO, busy);
    let elapsed = driver.now().as_ns() as f64 / 1_000.0;
    let rate = 4_000.0 / elapsed;
    assert!((rate * 200.0 - 1.0).abs() < 0.03, "{rate} requests a us");
    // Little's law: 64 requests at one each 200 us.
    assert!((mean_us(&driver) / (64.0 * 200.0) - 1.0).abs() < 0.05, "{}", mean_us(&driver));
}

/// 16 KiB are four pages of 4 KiB: the thread works three times more than for the first.
#[test]
fn a_thread_works_longer_for_each_page_behind_the_first() {
    let mean = |kib: u64, host_page: Duration, queue_depth: u32| {
        let mut setup: Setup = small();
        let job = setup.jobs[0].clone();
        let block_sizes = vec![(Bytes::kib(kib), 1.0)];
        let (read_percent, requests) = (100.0, 4_000);
        setup.jobs[0] =
            JobSpec { read_percent, queue_depth, host_page, block_sizes, requests, ..job };
        mean_us(&setup.play())
    };
    let page = Duration::from_us(7);
    for (kib, pages) in [(4, 0.0), (8, 1.0), (16, 3.0)] {
        let (bare, seen) = (mean(kib, Duration::ZERO, 1), mean(kib, page, 1));
        assert!((seen - bare - 7.0 * pages).abs() < 1e-6, "{kib} KiB: {bare} and {seen}");
    }
    // Little's law: 64 requests at one each 600 us.
    let bound = mean(16, Duration::from_us(200), 64);
    assert!((bound / (64.0 * 600.0) - 1.0).abs() < 0.05, "{bound}");
}

/// Little's law: 16 requests are under way, at the drive or at the host, all the time.
#[test]
fn a_delay_bounds_nothing_but_is_in_every_latency() {
    let driver = reads(16, Duration::from_ms(1), Duration::ZERO);
    let elapsed = driver.now().as_ns() as f64 / 1_000.0;
    let mean = mean_us(&driver);
    assert!(mean > 1_000.0, "{mean}");
    assert!((mean * 4_000.0 / elapsed / 16.0 - 1.0).abs() < 0.03, "{mean} in {elapsed}");
}

/// One after the other from the start: the measured time is the sum of the latencies, to the
/// nanosecond, the host's part of the last request included.
#[test]
fn the_measured_time_ends_when_the_host_has_seen_the_last_request() {
    let driver = reads(1, Duration::from_us(5), Duration::from_us(3));
    let measured = driver.measured();
    assert_eq!(measured.until.since(measured.since).as_us_f64(), mean_us(&driver) * 4_000.0);
    let completed = driver.now();
    assert_eq!(measured.until.since(completed), Duration::from_us(8));
}

/// A job that begins long after the warm-up: the measured time begins with its first request, and
/// without a warm-up with the run.
#[test]
fn the_measured_time_begins_with_what_is_counted_first() {
    let mut setup: Setup = small();
    let start = Duration::from_s(2);
    setup.jobs[0] = JobSpec { start, requests: 1_000, ..setup.jobs[0].clone() };
    for (warmup, since) in [(Duration::ZERO, Duration::ZERO), (Duration::from_s(1), start)] {
        let (spec, sectors) = (&setup.jobs[0], setup.drive().sectors());
        let source = Generator::new(spec, sectors, 1, 0).expect("a valid job");
        let job = Job::new(Box::new(source), Pacing::of(spec));
        let mut driver = Driver::new(setup.drive(), vec![job], None, warmup, 0);
        driver.play_to_the_end();
        let measured = driver.measured();
        assert_eq!(measured.since.since(Instant::START), since);
        assert_eq!(measured.counters_before.is_empty(), warmup.is_zero(), "all is counted");
        assert_eq!(measured.warmup_requests, 0);
    }
}
