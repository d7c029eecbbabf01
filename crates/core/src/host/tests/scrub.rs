//! Drives whose pages hold bit errors, and that are scrubbed: the same data whatever runs beside,
//! and the knobs move what they should.

use super::causes::reads_behind_gc;
use super::rain::drawn_with_parity;
use super::{Setup, digest, draw::part, drawn, one_of, small};
use crate::drive::{EraseMode, EraseSpec, RainSpec, Scheduler, ScrubSpec};
use crate::ftl::{GcMode, Rotate};
use crate::host::{Arrival, Driver, JobSpec};
use crate::sim::Rng;
use crate::stats::ScrubCounters;
use crate::units::{Bytes, Duration, Instant, Lpn};

/// 4 channels x 2 chips that collect plane by plane, with copies that nobody checks.
fn planes() -> Setup {
    let mut setup = small();
    (setup.device.geometry.channels, setup.device.geometry.ways) = (4, 2);
    (setup.gc.mode, setup.gc.copyback) = (GcMode::PlaneBlocking, true);
    setup.scrub = ScrubSpec { rate: 20_000.0, rber: 1e-4, rewrite_at: 3, ..ScrubSpec::default() };
    setup
}

/// At a load that leaves the dies time.
fn paced(mut setup: Setup, requests: u64) -> Setup {
    let job = setup.jobs[0].clone();
    setup.jobs[0] =
        JobSpec { arrival: Arrival::Poisson, rate: 1_500.0, requests, read_percent: 30.0, ..job };
    setup
}

/// Plays to the end. A drive that scrubs always has something to do, so one that loses a request
/// shows as starved.
fn play(setup: &Setup) -> Driver {
    let mut driver = setup.driver().with_timeout(Duration::from_s(60));
    driver.play_to_the_end();
    let (progress, oracle) = (driver.progress(), driver.oracle().unwrap());
    assert_eq!(driver.starved(), None, "{}\n{setup:?}", driver.drive().describe());
    assert_eq!(progress.issued, progress.completed);
    assert_eq!(oracle.mismatches(), 0, "{:?} in {setup:?}", oracle.first_mismatch());
    assert_eq!(progress.failed, driver.drive().counters().scrub.failed_reads);
    assert_eq!(driver.drive().outstanding(), 0);
    driver.drive().ftl().check_laws();
    driver.drive().check_nobody_reads();
    driver.drive().check_parity();
    driver
}

fn scrub(setup: &Setup) -> ScrubCounters {
    play(setup).drive().counters().scrub
}

#[test]
fn every_gc_mode_keeps_the_data_while_pages_are_rewritten_under_pressure() {
    for mode in GcMode::ALL {
        for scheduler in [Scheduler::ReadFirst, Scheduler::OutOfOrder, Scheduler::Fifo] {
            let mut setup = planes();
            (setup.gc.mode, setup.drive.scheduler) = (mode, scheduler);
            if scheduler == Scheduler::Fifo {
                // At full load an operation waits for its turn at any time, and nothing is
                // scrubbed.
                setup = paced(setup, 6_000);
            }
            let counters = scrub(&setup);
            assert!(
                counters.pages > 300 && counters.rewrites > 20,
                "{mode:?} {scheduler:?}: {counters:?}"
            );
        }
    }
}

/// A scrub read is under way when garbage collection takes its channel: a read of the host behind
/// it waits for garbage collection, and was said to wait for reads.
#[test]
fn regression_who_waits_behind_a_scrub_read_on_a_held_channel_waits_for_garbage_collection() {
    let mut setup = paced(small(), 20_000);
    setup.gc.mode = GcMode::Base;
    setup.scrub = ScrubSpec { rate: 20_000.0, rewrite_at: 0, ..ScrubSpec::default() };
    let [blocked, others] = reads_behind_gc(&setup);
    assert!(blocked > 300 && others > 1_000, "{blocked} {others}");
}

#[test]
fn rotation_parity_and_suspended_erases_keep_the_data_beside_the_scrubber() {
    for (rotate, mode) in [
        (Rotate::Off, EraseMode::TEs),
        (Rotate::Static, EraseMode::None),
        (Rotate::Static, EraseMode::TEs),
    ] {
        let mut setup = planes();
        setup.rain = RainSpec { width: 4, ..RainSpec::default() };
        (setup.gc.rotate, setup.gc.rotate_urgent) = (rotate, rotate == Rotate::Static);
        setup.erase = EraseSpec {
            mode,
            timeout: Duration::from_ms(5),
            hold: Duration::from_us(200),
            ..setup.erase
        };
        let counters = scrub(&setup);
        assert!(
            counters.pages > 400 && counters.rewrites > 20,
            "{rotate:?} {mode:?}: {counters:?}"
        );
    }
}

#[test]
fn errors_alone_change_no_time_and_what_is_off_changes_nothing() {
    let mut setup = planes();
    let latencies = |setup: &Setup| {
        let driver = play(setup);
        let measured = driver.measured();
        format!("{:?} {:?} {:?}", measured.read, measured.write, driver.now())
    };
    setup.scrub = ScrubSpec { errors: true, rate: 0.0, ..setup.scrub };
    let with_errors = latencies(&setup);
    let counters = scrub(&setup);
    assert!(counters.corrected_bits > 1_000 && counters.undetected_copies > 500, "{counters:?}");
    setup.scrub = ScrubSpec { errors: false, rber: 5e-3, ..setup.scrub };
    assert_eq!(latencies(&setup), with_errors);
    assert_eq!(scrub(&setup), ScrubCounters::default());
    assert_eq!(
        digest(&play(&setup)),
        digest(&play(&Setup { scrub: ScrubSpec::default(), ..setup.clone() }))
    );
}

#[test]
fn the_same_seed_gives_the_same_errors_and_another_seed_others() {
    let setup = planes();
    assert_eq!(digest(&play(&setup)), digest(&play(&setup)));
    assert_ne!(scrub(&setup), scrub(&Setup { seed: 2, ..setup.clone() }));
}

#[test]
fn a_higher_error_rate_means_more_undetected_copies_and_worse_pages() {
    let of = |rber: f64| {
        let mut setup = paced(planes(), 12_000);
        setup.scrub = ScrubSpec { errors: true, rate: 0.0, rber, ..setup.scrub };
        scrub(&setup)
    };
    let runs = [0.0, 1e-6, 1e-5, 1e-4, 1e-3].map(of);
    for (less, more) in runs.iter().zip(&runs[1..]) {
        assert_eq!(less.unchecked_copies, more.unchecked_copies, "errors change no copy");
        assert!(less.undetected_copies < more.undetected_copies, "{less:?} {more:?}");
        assert!(less.worst_errors < more.worst_errors, "{less:?} {more:?}");
    }
    assert_eq!((runs[0].undetected_copies, runs[0].worst_errors), (0, 0));
    assert!(runs[0].chain_max >= 5 && runs[0].chain_max == runs[4].chain_max, "{:?}", runs[0]);
}

#[test]
fn scrubbing_under_plane_blocking_keeps_errors_and_undetected_copies_down() {
    let of = |rate: f64, rber: f64, rewrite_at: u32| {
        let mut setup = paced(planes(), 12_000);
        setup.scrub = ScrubSpec { errors: true, rate, rber, rewrite_at, ..setup.scrub };
        scrub(&setup)
    };
    // Mean errors of a codeword after a program: 0.8. Those with 6 and more are written anew.
    let (without, with) = (of(0.0, 1e-4, 6), of(3_000.0, 1e-4, 6));
    assert!(
        with.rewrites > 100 && with.worst_errors < without.worst_errors,
        "{without:?}\n{with:?}"
    );
    // One page in 30 has an error after a program; each that has one is written anew.
    let (without, with) = (of(0.0, 1e-6, 1), of(3_000.0, 1e-6, 1));
    let share = |run: ScrubCounters| run.undetected_copies as f64 / run.unchecked_copies as f64;
    assert!(share(with) < 0.6 * share(without), "{without:?}\n{with:?}");
    assert!(with.undetected_copies < without.undetected_copies, "{without:?}\n{with:?}");
}

/// One array read brings four map units: a quarter of the reads, and pages still come at the rate.
#[test]
fn pages_of_one_array_read_are_scrubbed_together_and_rewritten_in_one_row() {
    let mut setup = planes();
    (setup.device.geometry.page, setup.device.geometry.planes) = (Bytes::kib(16), 2);
    setup.device.feature.program_planes = 2;
    setup.scrub = ScrubSpec { rate: 8_000.0, rber: 0.0, ..setup.scrub };
    let mut drive = setup.drive();
    assert!(drive.advance_before(Instant::from_ns(1_000_000_000)).is_none());
    let counters = drive.counters().scrub;
    // 8 units in each array read, one read in each ms; the first is due after the first page's 125
    // us.
    assert_eq!(
        (counters.pages, counters.reads, counters.late_reads),
        (8_000, 1_000, 0),
        "{counters:?}"
    );
    setup.scrub = ScrubSpec { rate: 1e6, rber: 1e-4, ..setup.scrub };
    let driver = play(&setup);
    let (all, counters) = (driver.drive().counters(), driver.drive().counters().scrub);
    assert!(counters.rewrites > 100 && counters.pages > 3 * counters.reads, "{counters:?}");
    assert!(all.padded_units > 0 && all.units_read >= counters.pages);
}

#[test]
fn copies_over_the_channel_are_checked() {
    let mut setup = paced(planes(), 6_000);
    (setup.gc.mode, setup.gc.copyback) = (GcMode::Base, false);
    setup.scrub = ScrubSpec { errors: true, rate: 0.0, rber: 1e-4, ..setup.scrub };
    let driver = play(&setup);
    let counters = driver.drive().counters().scrub;
    assert!(driver.drive().counters().copied_units > 1_000);
    assert_eq!(
        (counters.unchecked_copies, counters.undetected_copies, counters.chain_max),
        (0, 0, 0)
    );
    // However often a page was copied, it holds the errors of one program: 0.82 a codeword.
    let valid = driver.drive().ftl().mapping();
    let (held, pages) = (
        driver.drive().errors_held(),
        (0..valid.logical()).filter(|l| valid.physical(Lpn(*l)).is_some()).count(),
    );
    assert!(
        held.bits as f64 <= pages as f64 * 32_768.0 * 1e-4 * 1.05 && held.worst < 12,
        "{held:?} in {pages}"
    );
}

#[test]
fn parity_repairs_what_the_error_correction_cannot() {
    // 25 bits in a codeword on average, 40 are corrected: about one page in 100 is beyond it.
    let of = |width: u32| {
        let mut setup = planes();
        (setup.gc.mode, setup.gc.copyback) = (GcMode::Base, false);
        setup.rain = RainSpec { width, ..RainSpec::default() };
        setup.scrub = ScrubSpec { errors: true, rate: 0.0, rber: 3.05e-3, ..setup.scrub };
        scrub(&setup)
    };
    let (bare, guarded) = (of(0), of(4));
    assert!(
        bare.failed_reads > 5 && bare.repaired == 0 && bare.uncorrectable >= bare.failed_reads,
        "{bare:?}"
    );
    assert!(guarded.repaired > 5 && guarded.repaired > 2 * guarded.failed_reads, "{guarded:?}");
}

/// Errors, codes and scrubbers drawn at random, from a stream of their own.
fn with_drawn_scrub(mut setup: Setup) -> Setup {
    let mut rng = Rng::stream(setup.seed, "drawn scrub");
    let unit = setup.device.geometry.map_unit.get();
    let codeword = one_of(&mut rng, &[512, 1024, unit]);
    // Up to what leaves a third of the correction: some pages are lost, most are not.
    let rber = one_of(&mut rng, &[0.0, 1e-6, 1e-4, 25.0 / (8.0 * codeword as f64)]);
    setup.scrub = ScrubSpec {
        errors: true,
        rber,
        codeword: Bytes::new(codeword),
        correctable: 40,
        rate: one_of(&mut rng, &[0.0, 100.0, 10_000.0, 1e6, 1e8]),
        rewrite_at: one_of(&mut rng, &[0, 1, 3, 30]),
    };
    setup
}

#[test]
fn scrubbed_drives_drawn_at_random_complete_every_request_and_keep_the_data() {
    let mut sum = ScrubCounters::default();
    for seed in 0..part(500) {
        let drawn = if seed % 2 == 0 { drawn(seed) } else { drawn_with_parity(seed) };
        let setup = with_drawn_scrub(drawn);
        let result = std::panic::catch_unwind(|| scrub(&setup));
        assert!(result.is_ok(), "seed {seed}: {setup:?}");
        let counters = result.unwrap_or_default();
        sum.pages += counters.pages;
        sum.rewrites += counters.rewrites;
        sum.overtaken_rewrites += counters.overtaken_rewrites;
        sum.deferred_rewrites += counters.deferred_rewrites;
        sum.repaired += counters.repaired;
        sum.failed_reads += counters.failed_reads;
        sum.undetected_copies += counters.undetected_copies;
    }
    assert!(sum.pages > part(500_000) && sum.rewrites > part(20_000), "{sum:?}");
    assert!(sum.overtaken_rewrites > part(5) && sum.deferred_rewrites > part(100), "{sum:?}");
    assert!(sum.repaired > part(100) && sum.failed_reads > part(100), "{sum:?}");
    assert!(sum.undetected_copies > part(1_000), "{sum:?}");
}
