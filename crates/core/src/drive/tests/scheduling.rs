//! Which waiting operation goes next, by arithmetic.

use super::{
    Bench, LANES, OTHER_CHANNEL, OTHER_CHIP, SAME_CHIP, start, ttflash_256g, write_through,
};
use crate::drive::{DriveSpec, Scheduler};
use crate::flash::{ChannelOrder, ChannelTake};
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

/// Two programs meet on a channel, and a read comes to the chip of the second while that waits: it
/// waits for the program that has the die, or goes before it with the first slot.
#[test]
fn a_die_taken_with_its_slot_serves_a_read_that_came_while_a_program_waited() {
    for take in [ChannelTake::Early, ChannelTake::WithSlot] {
        let mut bench = Bench::plain(DriveSpec { channel_take: take, ..write_through() });
        let times = bench.times();
        let slot = start() + times.command + times.transfer;
        let first = bench.write(start(), 0);
        let second = bench.write(start(), OTHER_CHIP);
        let read = bench.read(start() + Duration::from_us(1), OTHER_CHIP + LANES);
        assert_eq!(bench.end_of(first), start() + times.page_program());
        let ends = [read, second].map(|id| bench.end_of(id));
        let expected = match take {
            ChannelTake::Early => {
                let programmed = slot + times.page_program();
                [programmed + times.page_read(), programmed]
            }
            ChannelTake::WithSlot => {
                let is_read = slot + times.page_read();
                [is_read, is_read + times.page_program()]
            }
        };
        assert_eq!(ends, expected, "{take:?}");
    }
}

/// Chips 3, 2 and 0 of a channel are written in this order, then chip 1: the order says which die
/// has the slot next.
#[test]
fn slots_go_to_dies_in_the_order_of_asking_or_in_turn() {
    for (channel_order, order) in
        [(ChannelOrder::FirstCome, [3, 2, 0, 1]), (ChannelOrder::RoundRobin, [3, 0, 1, 2])]
    {
        let mut device = ttflash_256g(4);
        (device.geometry.channels, device.geometry.ways) = (1, 4);
        let channel_take = ChannelTake::WithSlot;
        let spec = DriveSpec { channel_order, channel_take, ..write_through() };
        let mut bench = Bench::on(device, spec);
        let times = bench.times();
        let ids = [3, 2, 0, 1].map(|chip| (chip, bench.write(start(), chip)));
        for (chip, id) in ids {
            let before = order.iter().position(|at| *at == chip).expect("it is there") as u64;
            let slot = start() + (times.command + times.transfer) * before;
            assert_eq!(bench.end_of(id), slot + times.page_program(), "{channel_order:?} {chip}");
        }
    }
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
