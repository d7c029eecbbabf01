//! Which waiting operation goes next, by arithmetic.

use super::{Bench, LANES, OTHER_CHANNEL, SAME_CHIP, start, write_through};
use crate::drive::{DriveSpec, Scheduler};
use crate::units::{Duration, Instant};

/// Two programs for one chip at the start, and a read of `lpn` a microsecond later: when read and
/// second program end.
fn two_programs_and_a_read(scheduler: Scheduler, lpn: u64) -> (Duration, Duration) {
    let mut bench = Bench::plain(DriveSpec { scheduler, ..write_through() });
    bench.write(start(), 0);
    let second = bench.write(start(), SAME_CHIP);
    let read = bench.read(start() + Duration::from_us(1), lpn);
    (bench.end_of(read).since(start()), bench.end_of(second).since(start()))
}

#[test]
fn read_first_lets_a_read_overtake_waiting_programs() {
    let times = Bench::plain(DriveSpec::default()).times();
    let (read, program) = two_programs_and_a_read(Scheduler::ReadFirst, 2 * LANES);
    assert_eq!(read, times.page_program() + times.page_read());
    assert_eq!(program, read + times.page_program());
}

#[test]
fn out_of_order_keeps_each_chips_own_order() {
    let times = Bench::plain(DriveSpec::default()).times();
    let (read, program) = two_programs_and_a_read(Scheduler::OutOfOrder, 2 * LANES);
    assert_eq!(program, times.page_program() * 2);
    assert_eq!(read, program + times.page_read());
}

#[test]
fn out_of_order_lets_other_chips_go_on() {
    let times = Bench::plain(DriveSpec::default()).times();
    for scheduler in [Scheduler::ReadFirst, Scheduler::OutOfOrder] {
        let (read, _) = two_programs_and_a_read(scheduler, OTHER_CHANNEL);
        assert_eq!(read, Duration::from_us(1) + times.page_read(), "{scheduler:?}");
    }
}

#[test]
fn fifo_keeps_an_idle_chip_waiting_for_the_program_before_it() {
    let times = Bench::plain(DriveSpec::default()).times();
    let (read, _) = two_programs_and_a_read(Scheduler::Fifo, OTHER_CHANNEL);
    // It starts when the second program does: when the first one ends.
    assert_eq!(read, times.page_program() + times.page_read());
}

#[test]
fn nothing_happens_before_the_next_event() {
    let mut bench = Bench::plain(write_through());
    let read = bench.read(start(), 0);
    bench.write(start(), 1);
    let (array, times) = (bench.times().command + bench.times().read, bench.times());
    // The end of the array read, the end of its transfer (the completion with it), the end of the
    // program.
    for expected in [array, times.page_read(), times.page_program()] {
        let at = bench.drive.next_event_at();
        assert_eq!(at, start() + expected);
        let before = format!("{:?}", bench.drive);
        assert!(bench.drive.advance_before(at).is_none());
        assert_eq!(format!("{:?}", bench.drive), before, "nothing changed before {at:?}");
        bench.advance_to(at + Duration::from_ns(1));
    }
    assert_eq!(bench.drive.next_event_at(), Instant::NEVER);
    assert_eq!(bench.end_of(read), start() + times.page_read());
}
