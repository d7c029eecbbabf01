//! Scrubbing by arithmetic: how often it reads, what a read that meets it waits for, what a rewrite
//! does.

use super::{Bench, OTHER_CHIP, PAGE, SAME_CHIP, start, write_through};
use crate::drive::{CommandId, DriveSpec, Op, ScrubSpec};
use crate::sim::Rng;
use crate::units::{Duration, Instant, Lpn};

fn spec(rate: f64) -> ScrubSpec {
    ScrubSpec { rate, rber: 0.0, ..ScrubSpec::default() }
}

/// The bench with its 512 written pages, scrubbed.
fn scrubbed(drive: DriveSpec, spec: &ScrubSpec) -> Bench {
    let mut bench = Bench::plain(drive);
    bench.drive.scrub(spec, 1);
    bench
}

impl Bench {
    /// When command `id`, which a second sees through, reaches the host.
    fn end_within_a_second(&mut self, id: CommandId, from: Instant) -> Instant {
        self.advance_to(from + Duration::from_s(1));
        self.done.iter().find(|completion| completion.id == id).expect("it completes").at
    }
}

#[test]
fn an_idle_drive_is_scrubbed_at_the_rate_that_was_asked_for() {
    for rate in [100.0, 1_000.0, 20_000.0] {
        let mut bench = scrubbed(DriveSpec::default(), &spec(rate));
        bench.advance_to(start() + Duration::from_s(5));
        let scrub = bench.drive.counters().scrub;
        // One a period, the first after one period; what is due after 5 s is not of them.
        let pages = 5 * rate as u64 - 1;
        assert_eq!(
            (scrub.pages, scrub.reads, scrub.sectors),
            (pages, pages, pages * u64::from(PAGE)),
            "{rate}"
        );
        assert_eq!((scrub.late_reads, scrub.late_max), (0, Duration::ZERO));
        assert_eq!(scrub.passes, (pages - 1) / 512, "512 pages are valid");
        let in_flight = pages - bench.drive.flash().operations().reads;
        assert!(in_flight <= 3, "{in_flight}");
        assert_eq!((scrub.rewrites, scrub.pages_with_errors), (0, 0));
    }
}

/// More than the flash can read: each of the 8 channels has one scrub read after the other.
#[test]
fn a_channel_has_one_scrub_read_at_a_time() {
    let mut bench = scrubbed(DriveSpec::default(), &spec(1e8));
    let time = Duration::from_ms(100);
    bench.advance_to(start() + time);
    let (scrub, read) = (bench.drive.counters().scrub, bench.times().page_read());
    let most = 8 * (time.as_ns() / read.as_ns() + 1);
    assert!(scrub.reads <= most && scrub.reads >= most * 98 / 100, "{} of {most}", scrub.reads);
    assert!(scrub.late_max * 10 > time * 9, "{:?}", scrub.late_max);
}

#[test]
fn an_empty_drive_is_not_scrubbed_and_one_that_is_written_then_is() {
    let gc =
        crate::ftl::GcSpec { soft: 0.0.into(), hard: 0.0.into(), ..crate::ftl::GcSpec::default() };
    let mut bench = Bench::new(super::ttflash_256g(4), write_through(), gc, |_| {});
    bench.drive.scrub(&spec(1_000.0), 1);
    bench.advance_to(start() + Duration::from_s(1));
    assert_eq!(bench.drive.counters().scrub, Default::default());
    bench.write(start() + Duration::from_s(1), 5);
    bench.advance_to(start() + Duration::from_s(2));
    let scrub = bench.drive.counters().scrub;
    assert!((980..=1_000).contains(&scrub.pages) && scrub.passes >= scrub.pages - 1, "{scrub:?}");
}

#[test]
fn a_read_waits_for_the_rest_of_a_scrub_read_that_it_meets() {
    let bench = scrubbed(DriveSpec::default(), &spec(1_000.0));
    let (times, due) = (bench.times(), start() + Duration::from_ms(1));
    let read = times.page_read();
    for after in [0, 1, 50_000, 142_574].map(Duration::from_ns) {
        // Die 0 is first, and page 0 lives there.
        for lpn in [0, SAME_CHIP] {
            let mut copy = bench.clone();
            let id = copy.read(due + after, lpn);
            // At one instant the host comes before the scrubber, which then waits for the read.
            let waits = if after.is_zero() { Duration::ZERO } else { read - after };
            assert_eq!(
                copy.end_within_a_second(id, due).since(due + after),
                waits + read,
                "{after:?}"
            );
            assert_eq!(
                copy.drive.counters().scrub.late_reads,
                0,
                "other channels have work for it"
            );
        }
    }
    // On another chip of the channel only the transfer meets it.
    let after = Duration::from_us(40);
    let mut copy = bench.clone();
    let id = copy.read(due + after, OTHER_CHIP);
    assert_eq!(copy.end_within_a_second(id, due), due + read + times.transfer);
}

#[test]
fn a_read_never_waits_for_more_than_one_scrub_read() {
    let bench = scrubbed(DriveSpec::default(), &spec(1e8));
    let (read, mut rng) = (bench.times().page_read(), Rng::stream(3, "arrivals"));
    let (mut worst, mut met) = (Duration::ZERO, 0);
    for _ in 0..300 {
        let mut copy = bench.clone();
        let at = start() + Duration::from_ns(rng.below(2_000_000));
        let id = copy.read(at, rng.below(512));
        copy.advance_to(at + Duration::from_ms(2));
        let done = copy.done.iter().find(|completion| completion.id == id).expect("it completes");
        let latency = done.at.since(at);
        worst = worst.max(latency);
        met += u32::from(latency > read);
        assert!(latency >= read && latency <= read * 2, "{latency:?} at {at:?}");
    }
    assert!(met > 200 && worst * 2 > read * 3, "{met} {worst:?}");
}

/// Every page that is programmed holds errors, so each that the host wrote is written anew in each
/// pass.
#[test]
fn a_page_with_too_many_errors_is_written_anew_after_its_read() {
    let noisy = ScrubSpec { rate: 1_000.0, rber: 2e-3, rewrite_at: 1, ..ScrubSpec::default() };
    let mut bench = scrubbed(write_through(), &noisy);
    bench.write(start(), 0);
    let (times, before) = (bench.times(), Duration::from_ns(1));
    // Preconditioned pages are clean: only page 0, the last of the first die, needs it. Dies take
    // turns.
    let turn = start() + Duration::from_ms(1 + 64 * 7);
    bench.advance_to(turn);
    let place = |bench: &Bench| bench.drive.ftl().mapping().physical(Lpn(0));
    let written = place(&bench);
    assert!(bench.drive.flash().bit_errors().unwrap().found_in(written).bits > 0);
    let end = turn + times.page_read() + times.page_program();
    bench.advance_to(end);
    assert_eq!((place(&bench), bench.drive.counters().scrub.rewrites), (written, 0), "not yet");
    bench.advance_to(end + before);
    let scrub = bench.drive.counters().scrub;
    assert_eq!((scrub.rewrites, scrub.overtaken_rewrites, scrub.pages_with_errors), (1, 0, 1));
    assert_ne!(place(&bench), written);
    assert_eq!(bench.drive.counters().host_units, 1, "it is not the host's");
    bench.drive.ftl().check_laws();
    // A write that comes while the next rewrite is under way lands behind it, and wins.
    let (rewritten, turn) = (place(&bench), turn + Duration::from_ms(512));
    bench.write(turn + times.page_read() + before, 0);
    bench.advance_to(turn + times.page_read() + times.page_program() + before);
    assert_eq!((place(&bench).0, bench.drive.counters().scrub.rewrites), (rewritten.0 + 1, 2));
    bench.advance_to(turn + times.page_read() + times.page_program() * 2 + before);
    assert_eq!((place(&bench).0, bench.drive.counters().host_units), (rewritten.0 + 2, 2));
    bench.drive.ftl().check_laws();
}

#[test]
fn a_rewrite_waits_for_the_reads_that_came_during_the_scrub_read_and_a_read_for_a_rewrite() {
    let noisy = ScrubSpec { rate: 1_000.0, rber: 2e-3, rewrite_at: 1, ..ScrubSpec::default() };
    let mut bench = scrubbed(write_through(), &noisy);
    bench.write(start(), 0);
    let (times, ns) = (bench.times(), Duration::from_ns(1));
    let (turn, read) = (start() + Duration::from_ms(1 + 64 * 7), times.page_read());
    bench.advance_to(turn);
    let written = bench.drive.ftl().mapping().physical(Lpn(0));
    // One on its die, and one on another die of the channel: its transfer is behind that of the
    // scrub read, and before the other's command.
    let ids = [SAME_CHIP, OTHER_CHIP].map(|lpn| bench.read(turn + ns, lpn));
    let end = turn + read * 2 + times.transfer + times.page_program();
    let late = bench.read(end - times.program, 2 * SAME_CHIP);
    bench.advance_to(end);
    assert_eq!(bench.drive.ftl().mapping().physical(Lpn(0)), written, "not yet");
    bench.advance_to(end + ns);
    assert_ne!(bench.drive.ftl().mapping().physical(Lpn(0)), written);
    bench.advance_to(end + Duration::from_ms(5));
    let end_of =
        |id| bench.done.iter().find(|completion| completion.id == id).expect("it completes").at;
    assert_eq!(ids.map(end_of), [turn + read * 2 + times.transfer, turn + read + times.transfer]);
    assert_eq!(end_of(late), end + read);
}

#[test]
fn rewrites_can_be_switched_off_and_errors_stay() {
    let noisy = ScrubSpec { rate: 2_000.0, rber: 2e-3, rewrite_at: 0, ..ScrubSpec::default() };
    let mut bench = scrubbed(write_through(), &noisy);
    for lpn in 0..8 {
        bench.write(start(), lpn);
    }
    bench.advance_to(start() + Duration::from_s(1));
    let scrub = bench.drive.counters().scrub;
    assert!(scrub.pages_with_errors >= 8 && scrub.rewrites == 0, "{scrub:?}");
}

#[test]
fn a_page_beyond_correction_ends_its_read_with_an_error_and_only_its_codewords_count() {
    use crate::drive::Status;
    // 33 bits in a codeword on average, 40 are corrected: 9 % of the codewords are lost.
    let noisy = ScrubSpec { errors: true, rber: 4e-3, ..ScrubSpec::default() };
    let mut bench = scrubbed(write_through(), &noisy);
    let mut at = start();
    for lpn in 0..256 {
        bench.write(at, lpn);
        at += Duration::from_ms(1);
    }
    let (mut failed, mut codewords, mut bad_codewords) = (0, 0, 0);
    for lpn in 0..256 {
        let page = bench.drive.ftl().mapping().physical(Lpn(lpn));
        for codeword in 0..4 {
            let lost =
                bench.drive.flash().bit_errors().unwrap().found(page, codeword..codeword + 1).worst
                    > 40;
            // One sector of the codeword's two.
            let sector = u64::from(lpn) * 8 + u64::from(codeword) * 2 + u64::from(lpn % 2);
            let id = bench.submit(at, Op::Read, sector, 1, false);
            at += Duration::from_ms(1);
            bench.advance_to(at);
            let status = bench.done.iter().find(|completion| completion.id == id).unwrap().status;
            assert_eq!(status, if lost { Status::UnrecoveredRead } else { Status::Success });
            (failed, codewords) = (failed + u64::from(lost), codewords + 1);
            bad_codewords += u64::from(lost);
        }
    }
    let scrub = bench.drive.counters().scrub;
    assert_eq!((scrub.uncorrectable, scrub.failed_reads, scrub.repaired), (failed, failed, 0));
    assert_eq!(
        scrub.corrected_pages + scrub.uncorrectable,
        codewords,
        "a codeword without an error is rare"
    );
    // P(X > 40) of a Poisson number of mean 32.768 is 0.0897.
    assert!(
        (bad_codewords as f64 / codewords as f64 - 0.0897).abs() < 0.045,
        "{bad_codewords} of {codewords}"
    );
}
