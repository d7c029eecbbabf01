//! Laws that hold of every run: Little's, utilisation, and the share of reads that garbage
//! collection blocks.

use super::{Setup, small};
use crate::flash::{ChannelTiming, Features};
use crate::ftl::{GcMode, GcWhen};
use crate::host::generate::Generator;
use crate::host::{Arrival, Driver, Job, JobSpec, Pacing};
use crate::units::{Bandwidth, Bytes, Duration, Instant};

#[test]
fn littles_law_holds_in_an_open_loop() {
    for (arrival, rate) in [(Arrival::Poisson, 1_500.0), (Arrival::Fixed, 800.0)] {
        let mut setup = small();
        setup.jobs[0] = JobSpec { arrival, rate, ..setup.jobs[0].clone() };
        let driver = setup.play();
        let measured = driver.measured();
        let time_in_system = measured.read.histogram.sum_ns() + measured.write.histogram.sum_ns();
        let (l, lambda_w) =
            (driver.mean_outstanding(), time_in_system as f64 / driver.now().as_ns() as f64);
        assert!((l / lambda_w - 1.0).abs() < 1e-3, "{arrival:?}: L = {l}, lambda W = {lambda_w}");
        assert!(l > 0.1, "{arrival:?}: {l}");
    }
}

/// A channel that costs nothing keeps no operation waiting, so a die is busy for its array times
/// and nothing else.
#[test]
fn dies_are_busy_for_the_sum_of_their_operations() {
    for (mode, independent_planes) in
        [(GcMode::Preemptive, false), (GcMode::Base, false), (GcMode::Preemptive, true)]
    {
        let mut setup = small();
        setup.gc.mode = mode;
        setup.device.geometry.planes = 2;
        setup.device.feature = Features { independent_planes, ..Features::default() };
        let free = ChannelTiming {
            rate: Bandwidth::default(),
            command: Duration::ZERO,
            erase_command: Duration::ZERO,
            suspend_command: Duration::ZERO,
        };
        setup.device.channel = free;
        let driver = setup.play();
        let (flash, timing) = (driver.drive().flash(), &setup.device.timing);
        let done = flash.operations();
        assert!(done.reads > 1_000 && done.programs > 1_000 && done.erases > 30, "{done:?}");
        let erase = timing.erase_step * u64::from(timing.erase_steps);
        let sum =
            timing.read[0] * done.reads + timing.program[0] * done.programs + erase * done.erases;
        let (dies, channels) = flash.busy();
        // Base keeps the data of no read waiting either: it lets them out before it holds the
        // channel.
        assert_eq!((dies, channels), (sum, Duration::ZERO), "{mode:?}");
        let dies = u64::from(flash.layout.dies);
        assert!(sum <= driver.now().since(crate::units::Instant::START) * dies + erase * dies);
    }
}

/// An open loop asks for far more than the drive can do: what waits is not written, so that the WAF
/// is that of the writes which the buffer took.
#[test]
fn a_write_that_waits_for_the_buffer_is_not_written_yet() {
    let mut setup = small();
    let (arrival, rate) = (Arrival::Poisson, 50_000.0);
    setup.jobs[0] = JobSpec { arrival, rate, read_percent: 0.0, ..setup.jobs[0].clone() };
    let mut driver = setup.driver();
    while driver.progress().completed < 2_000 {
        driver.play(100);
    }
    let (progress, drive) = (driver.progress(), driver.drive());
    let written = drive.counters().host_bytes_written / 4096;
    assert!(progress.issued > progress.completed + 1_000, "{progress:?}");
    // A page that was taken is not yet answered: the buffer's own time, and its 64 pages at most.
    assert!((progress.completed..=progress.completed + 64).contains(&written), "{written}");
}

#[test]
fn what_is_programmed_is_host_data_copies_and_padding() {
    let mut setup = small();
    setup.device.geometry.planes = 2;
    setup.device.feature.program_planes = 2;
    let driver = setup.play();
    let (counters, flash) = (driver.drive().counters(), driver.drive().flash());
    let programmed = flash.operations().programs * u64::from(flash.layout.units_per_row);
    assert_eq!(programmed, counters.host_units + counters.copied_units + counters.padded_units);
    assert_eq!(
        counters.units_programmed(),
        programmed,
        "what the WAF is made of is what the flash counted"
    );
    assert_eq!(counters.erases, flash.operations().erases);
    assert!(counters.padded_units > 0 && counters.copied_units > 0);
}

/// Latencies over time begin where the measurement does: after a warm-up there is no empty stretch
/// before them.
#[test]
fn curves_over_time_begin_after_the_warm_up() {
    let setup = small();
    let drive = setup.drive();
    let source = Generator::new(&setup.jobs[0], drive.sectors(), 1, 0).unwrap();
    let job = Job::new(Box::new(source), Pacing::of(&setup.jobs[0]));
    let mut driver =
        Driver::new(drive, vec![job], None, Duration::ZERO, setup.jobs[0].requests / 2);
    driver.play_to_the_end();
    let measured = driver.measured();
    let (since, span) = (measured.since, measured.until.since(measured.since));
    assert!(since.as_ns() > span.as_ns() / 2, "the warm-up is half of the run");
    let report = measured.over_time.report(since).unwrap();
    assert_eq!(report.start_s, since.since(Instant::START).as_s_f64());
    for (times, stats) in [(&report.read, &measured.read), (&report.write, &measured.write)] {
        assert_eq!(times.count.iter().sum::<u64>(), stats.count());
        assert!(
            times.count[0] > 0
                && (times.count.len() - 1) as f64 * report.slice_s <= span.as_s_f64(),
            "{span}"
        );
    }
}

/// 4 channels x 4 chips under a light Poisson load with Base collections.
fn light(pages_per_read: u64, seed: u64) -> Setup {
    let mut setup = Setup { seed, ..small() };
    (setup.device.geometry.channels, setup.device.geometry.ways) = (4, 4);
    // Little data in victims: many short collections make a steady mean.
    setup.device.op = 0.5;
    (setup.gc.mode, setup.gc.when) = (GcMode::Base, GcWhen::Background);
    setup.drive.write_through = true;
    let job = JobSpec { arrival: Arrival::Poisson, ..JobSpec::default() };
    let reads = JobSpec {
        read_percent: 100.0,
        rate: 400.0,
        requests: 40_000,
        block_sizes: vec![(Bytes::kib(4 * pages_per_read), 1.0)],
        ..job.clone()
    };
    let writes = JobSpec { read_percent: 0.0, rate: 200.0, requests: 20_000, ..job };
    setup.jobs = vec![reads, writes];
    setup
}

/// The blocked I/O model (reference/ttflash.md, 1.1): a collection holds a channel for its copies
/// and then a chip for the erase, so a page's read finds its way blocked with the chance rho =
/// (copies x their time + erases x tBERS / chips of a channel) / (channels x time), and a read of k
/// pages on k channels with 1 - (1 - rho)^k.
///
/// The band is 12 %: about 1,000 reads are blocked in a run, in clusters of those that meet one
/// collection (3 to 6 % of standard error); reads that queue behind a blocked one count as well,
/// and those that wait while the channel drains.
#[test]
fn the_share_of_blocked_reads_follows_the_blocked_io_model() {
    for pages in [1, 2, 4] {
        let setup = light(pages, pages);
        let driver = setup.play();
        let (counters, g) = (driver.drive().counters(), &setup.device.geometry);
        let timing = driver.drive().flash().timing().clone();
        let transfer = timing.transfer(8).as_ns();
        let copy = 2 * (timing.command.as_ns() + transfer) + 40_000 + 800_000;
        assert_eq!(copy, 1_045_150);
        let erase = timing.erase_command.as_ns()
            + timing.erase_step.as_ns() * u64::from(timing.erase_steps);
        let held = (counters.copied_units * copy) as f64
            + (counters.erases * erase) as f64 / f64::from(g.ways);
        let rho = held / (f64::from(g.channels) * driver.now().as_ns() as f64);
        let expected = 1.0 - (1.0 - rho).powi(pages as i32);
        let measured = driver.measured();
        let share = measured.gc_blocked_reads as f64 / measured.read.count() as f64;
        let at_split = measured.gc_blocked_at_split_reads as f64 / measured.read.count() as f64;
        println!(
            "{pages} pages: rho {rho:.4}, model {expected:.4}, blocked {share:.4}, at the split \
             {at_split:.4}"
        );
        assert!(rho > 0.005 && rho < 0.2, "light, but something to measure: {rho}");
        assert!(
            (share / expected - 1.0).abs() < 0.12,
            "{pages} pages: {share} of the reads, the model says {expected}"
        );
        assert!(
            (at_split / expected - 1.0).abs() < 0.12,
            "{pages} pages at the split: {at_split}, {expected}"
        );
    }
}
