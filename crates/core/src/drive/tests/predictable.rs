//! Reads that fail fast, by arithmetic: one victim of V valid pages on one chip, and reads at
//! chosen instants.

use super::collections::{FREE, collecting, mark};
use super::{Bench, LANES, OTHER_CHANNEL, OTHER_CHIP, PAGE, start};
use crate::drive::{
    Command, CommandId, Completion, DriveSpec, EraseMode, EraseSpec, FastFail, Op,
    PredictableLatency, Status, WindowSchedule, Windows,
};
use crate::ftl::{GcMode, GcSpec};
use crate::units::{Duration, Instant, Lba};

const NS: Duration = Duration::from_ns(1);
/// A page of the collecting chip that is not on the victim.
const SAME_CHIP: u64 = 255 * LANES;

fn gc(mode: GcMode) -> GcSpec {
    GcSpec {
        mode,
        soft: mark(FREE).into(),
        hard: 0.0.into(),
        copyback: mode == GcMode::PlaneBlocking,
        ..GcSpec::default()
    }
}

/// The answer to a read of some pages at `at`, on a copy of the drive.
fn answer(
    bench: &Bench,
    at: Instant,
    predictable: PredictableLatency,
    lpn: u64,
    pages: u32,
) -> Completion {
    let mut copy = bench.clone();
    copy.advance_to(at);
    let (id, sectors) = (CommandId(copy.next_id), pages * PAGE);
    let lba = Lba(lpn * u64::from(PAGE));
    let command = Command {
        id,
        op: Op::Read,
        lba,
        sectors,
        fua: false,
        predictable,
        stream: 0,
        queue: 0,
        payload: None,
    };
    copy.drive.submit(at, command);
    let operations = copy.drive.flash().operations().reads;
    let done = copy.completion(id).clone();
    copy.drive.check_no_request_is_left();
    if done.status == Status::PredictableLatencyNotMet {
        let copied = copy.drive.counters().copied_units - bench.drive.counters().copied_units;
        let reads = copy.drive.flash().operations().reads - operations;
        assert!(reads <= copied + 1, "nothing of it was read: {reads}, {copied} copies");
        let late = copy.drive.counters().predictable.fast_fails_late;
        assert_eq!(late, u64::from(done.at > at), "it fails as it begins, or it had begun");
        assert!(done.dnr && done.payload.is_none());
    } else {
        assert_eq!((done.status, done.result64, done.dnr), (Status::Success, 0, false));
    }
    done
}

/// The busy remaining time, of a read that fails at once.
fn busy(bench: &Bench, at: Instant, lpn: u64) -> Option<Duration> {
    let done = answer(bench, at, PredictableLatency::On, lpn, 1);
    if done.status == Status::Success {
        return None;
    }
    assert_eq!(done.at, at, "it fails when the controller begins it");
    Some(Duration::from_ns(done.result64))
}

#[test]
fn a_read_fails_for_as_long_as_its_channel_is_held_or_its_chip_erases() {
    for valid in [1, 7, 86] {
        let (bench, begins) = collecting(valid, gc(GcMode::Base), &EraseSpec::default());
        let times = bench.times();
        let copy = (times.command * 2 + times.read + times.program + times.transfer * 2)
            * u64::from(valid);
        let (released, erase) = (begins + copy, times.erase_command + times.erase);
        for at in [begins + NS, begins + Duration::from_us(321), released - NS] {
            assert_eq!(
                busy(&bench, at, OTHER_CHIP),
                Some(released.since(at)),
                "{valid} pages, at {at:?}"
            );
            assert_eq!(
                busy(&bench, at, SAME_CHIP),
                Some((released + erase).since(at)),
                "{valid} pages, at {at:?}"
            );
            assert_eq!(busy(&bench, at, OTHER_CHANNEL), None);
            // Both of two pages: the longer one. The next page lies on the next channel.
            let both = answer(&bench, at, PredictableLatency::On, SAME_CHIP, 2);
            assert_eq!(both.result64, (released + erase).since(at).as_ns());
            for flag in [PredictableLatency::Off, PredictableLatency::MustWait] {
                let waited = answer(&bench, at, flag, SAME_CHIP, 1);
                assert_eq!(waited.at, released + erase + times.page_read());
                assert!(waited.gc_blocked);
            }
        }
        let erases = released + times.erase_command;
        assert_eq!(busy(&bench, erases, SAME_CHIP), Some(times.erase));
        assert_eq!(busy(&bench, released + erase - NS, SAME_CHIP), Some(NS));
        assert_eq!(busy(&bench, erases, OTHER_CHIP), None, "the erase leaves the channel alone");
        assert_eq!(busy(&bench, released + erase, SAME_CHIP), None);
    }
}

#[test]
fn a_plane_s_collection_fails_the_reads_of_its_chip_only() {
    let valid = 5;
    let (bench, begins) = collecting(valid, gc(GcMode::PlaneBlocking), &EraseSpec::default());
    let times = bench.times();
    let copy = (times.command * 2 + times.read + times.program) * u64::from(valid);
    let ends = begins + copy + times.erase_command + times.erase;
    let at = begins + Duration::from_us(500);
    assert_eq!(busy(&bench, at, SAME_CHIP), Some(ends.since(at)));
    assert_eq!(busy(&bench, at, OTHER_CHIP), None);
}

/// The erase lets reads in where it may be suspended.
#[test]
fn what_gives_way_to_reads_fails_none() {
    let erase = EraseSpec { mode: EraseMode::Es, ..EraseSpec::default() };
    let (bench, begins) = collecting(3, gc(GcMode::Base), &erase);
    let times = bench.times();
    let released =
        begins + (times.command * 2 + times.read + times.program + times.transfer * 2) * 3;
    let at = begins + Duration::from_us(100);
    assert_eq!(busy(&bench, at, SAME_CHIP), Some(released.since(at)), "the copy");
    assert_eq!(busy(&bench, released + Duration::from_us(100), SAME_CHIP), None, "not the erase");
}

#[test]
fn nogc_fails_no_read_and_a_preemptive_collection_fails_one_for_the_operation_under_way() {
    let (bench, begins) = collecting(86, gc(GcMode::Nogc), &EraseSpec::default());
    assert_eq!(busy(&bench, begins + NS, SAME_CHIP), None);
    let (bench, begins) = collecting(12, gc(GcMode::Preemptive), &EraseSpec::default());
    let times = bench.times();
    let read = times.page_read();
    for (at, left) in [
        (begins + NS, read - NS),
        (begins + read + Duration::from_us(200), times.page_program() - Duration::from_us(200)),
        (begins + read + times.page_program() + NS, read - NS),
    ] {
        assert_eq!(busy(&bench, at, SAME_CHIP), Some(left), "at {at:?}");
    }
}

/// A write to the same chip is under way: a flush, and no garbage collection.
#[test]
fn a_flush_fails_a_read_for_the_rest_of_its_program_where_all_that_is_internal_does() {
    for fast_fail in [FastFail::Gc, FastFail::Internal] {
        let mut bench = Bench::plain(DriveSpec { fast_fail, ..super::write_through() });
        let times = bench.times();
        bench.write(start(), 0);
        let at = start() + Duration::from_us(100);
        let left = (start() + times.page_program()).since(at);
        let expected = (fast_fail == FastFail::Internal).then_some(left);
        assert_eq!(busy(&bench, at, super::SAME_CHIP), expected);
        assert_eq!(busy(&bench, at, OTHER_CHIP), None);
        let off = answer(&bench, at, PredictableLatency::MustWait, super::SAME_CHIP, 1);
        assert_eq!(off.at, at + left + times.page_read());
        let behind = at + left + NS;
        assert_eq!(busy(&bench, behind, super::SAME_CHIP), None, "its program is over");
    }
}

/// A copy's data is on the channel of another chip: the read that comes then fails as it begins,
/// and not once its command has found the channel taken.
#[test]
fn a_read_that_the_channel_alone_keeps_is_not_begun() {
    let (bench, begins) = collecting(12, gc(GcMode::Preemptive), &EraseSpec::default());
    let times = bench.times();
    let crosses = begins + times.command + times.read;
    for (at, left) in [
        (crosses + NS, Some(times.transfer - NS)),
        (crosses + times.transfer + NS, Some(times.command + times.transfer - NS)),
        (crosses + times.transfer * 2 + times.command, None),
    ] {
        assert_eq!(busy(&bench, at, OTHER_CHIP), left, "at {at:?}");
    }
}

/// A window that ends amid the copy: the collection pauses where the next operation does not fit,
/// and goes on in the next window at once.
#[test]
fn a_collection_pauses_at_the_end_of_its_window_and_keeps_nobody() {
    let valid = 7;
    let (mut bench, begins) = collecting(valid, gc(GcMode::Base), &EraseSpec::default());
    let times = bench.times();
    let one = times.command * 2 + times.read + times.program + times.transfer * 2;
    // Two copies and a half fit; then three windows of others.
    let length = one * 2 + times.page_read() * 2;
    let schedule =
        WindowSchedule { members: 4, index: 0, length, cycle_start: begins, guard: Duration::ZERO };
    bench.drive.set_windows(begins + NS, Windows::Scheduled(schedule));
    assert_eq!(bench.drive.windows(), Windows::Scheduled(schedule));
    // The third page's read would have fitted, its program does not: an operation that fits is not
    // held back.
    let paused = begins + one * 2 + times.page_read();
    assert!(paused < begins + length && paused + times.page_program() > begins + length);
    assert!(busy(&bench, paused - NS, OTHER_CHIP).is_some());
    assert_eq!(busy(&bench, paused + NS, OTHER_CHIP), None);
    assert_eq!(busy(&bench, paused + NS, SAME_CHIP), None);
    // The next window begins with the program that waited.
    let next = begins + length * 4;
    assert_eq!(busy(&bench, next - NS, SAME_CHIP), None);
    assert!(busy(&bench, next + NS, SAME_CHIP).is_some());
    bench.run();
    let counters = bench.drive.counters();
    assert_eq!(
        (counters.copied_units, counters.erases, counters.collections),
        (u64::from(valid), 1, 1)
    );
    let counted = counters.predictable;
    assert_eq!(
        (counted.violations, counted.overruns, counted.violation_time),
        (0, 0, Duration::ZERO)
    );
    assert!(counted.windows >= 3, "{counted:?}");
    assert_eq!(bench.drive.next_event_at(), Instant::NEVER, "nothing waits: there is no timer");
    assert!(bench.drive.flash().busy().0 > Duration::ZERO && begins > start());
}

/// Reads that suspend the erase push its end past the window: the contract is broken, and told.
#[test]
fn an_erase_that_reads_push_past_its_window_is_an_overrun() {
    for reads in [0_u64, 10] {
        let erase = EraseSpec { mode: EraseMode::Es, ..EraseSpec::default() };
        let (mut bench, begins) = collecting(1, gc(GcMode::Base), &erase);
        let times = bench.times();
        let copy = times.command * 2 + times.read + times.program + times.transfer * 2;
        let erases = begins + copy + times.erase_command;
        let length = copy + times.erase_command + times.erase + Duration::from_us(100);
        let guard = Duration::ZERO;
        let schedule = WindowSchedule { members: 4, index: 0, length, cycle_start: begins, guard };
        bench.drive.set_windows(begins + NS, Windows::Scheduled(schedule));
        for number in 0..reads {
            bench.read(erases + Duration::from_us(150) * (number + 1), SAME_CHIP);
        }
        bench.run();
        let counted = bench.drive.counters().predictable;
        assert_eq!(bench.drive.counters().erases, 1);
        assert_eq!((counted.violations, counted.overruns), (0, u64::from(reads > 0)), "{reads}");
        assert_eq!(bench.drive.violations(), u64::from(reads > 0));
    }
}
