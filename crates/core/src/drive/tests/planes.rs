//! Plane-blocking collection by arithmetic: what a read of the collecting chip waits for, and what
//! a collection and a read of another chip of its channel cost each other, to the nanosecond.

use super::collections::{FREE, collecting, mark};
use super::{Bench, LANES, OTHER_CHANNEL, OTHER_CHIP, Times, start};
use crate::drive::EraseSpec;
use crate::ftl::{GcMode, GcSpec};
use crate::sim::Rng;
use crate::units::Die;
use crate::units::{Duration, Instant};

const NS: Duration = Duration::from_ns(1);
/// A page of the collecting chip that is not on the victim.
const SAME_CHIP: u64 = 255 * LANES;

fn gc(cut_transfers: bool) -> GcSpec {
    let spec =
        GcSpec { mode: GcMode::PlaneBlocking, copyback: true, cut_transfers, ..GcSpec::default() };
    GcSpec { soft: mark(FREE).into(), hard: 0.0.into(), ..spec }
}

/// Reference, 2.6: 2 x 175 ns of commands, 40 us, 800 us for each page, then 125 ns and 2 ms.
fn whole(valid: u32) -> Duration {
    Duration::from_ns(840_350) * valid.into() + Duration::from_ns(2_000_125)
}

#[test]
fn a_read_of_the_collecting_chip_waits_for_the_copies_and_the_erase() {
    for valid in [0, 1, 7, 100] {
        let (bench, begins) = collecting(valid, gc(true), &EraseSpec::default());
        let (end, read) = (begins + whole(valid), bench.times().page_read());
        for at in [begins + NS, begins + Duration::from_us(500), end - NS] {
            assert_eq!(
                at + bench.latency_of_read(at, SAME_CHIP),
                end + read,
                "{valid} pages, at {at:?}"
            );
        }
        assert_eq!(bench.latency_of_read(end, SAME_CHIP), read);
        let mut bench = bench;
        for (lpn, blocked) in [(SAME_CHIP, true), (OTHER_CHIP, false), (OTHER_CHANNEL, false)] {
            let mut copy = bench.clone();
            let id = copy.read(begins + Duration::from_us(10), lpn);
            let done = copy.completion(id);
            assert_eq!(
                (done.gc_blocked, done.gc_blocked_at_split),
                (blocked, blocked),
                "page {lpn}"
            );
        }
        bench.run();
        let counters = bench.drive.counters();
        assert_eq!((counters.copied_units, counters.erases), (u64::from(valid), 1));
        let commands = Duration::from_ns(350) * valid.into() + Duration::from_ns(125);
        let write = bench.times().command + bench.times().transfer;
        assert_eq!(bench.drive.flash().busy().1, write + commands, "350 ns of the channel a page");
    }
}

/// One read of another chip against a collection, from what each asks of the channel in pieces:
/// when the read ends, and when the collection does. A transfer requested before the channel was
/// free goes next, the collection's first; a read that was interrupted goes on with a command.
fn side_by_side(
    times: Times,
    begins: Instant,
    at: Instant,
    valid: u32,
    pieces: u64,
) -> (Instant, Instant) {
    let mut steps: Vec<(Duration, Duration)> = Vec::new();
    for _ in 0..valid {
        steps.push((times.command, times.read));
        steps.push((times.command, times.program));
    }
    steps.push((times.erase_command, times.erase));
    let (mut free, mut gc_asks, mut asks) = (begins, begins, at);
    let (mut step, mut left, mut commanded, mut interrupted) = (0, pieces, false, false);
    let (mut read_ends, mut gc_ends) = (Instant::NEVER, Instant::NEVER);
    while left > 0 || step < steps.len() {
        let gc_at = if step < steps.len() { free.max(gc_asks) } else { Instant::NEVER };
        let read_at = if left > 0 { free.max(asks) } else { Instant::NEVER };
        if gc_at <= read_at {
            let (command, array) = steps[step];
            free = gc_at + command;
            (gc_asks, gc_ends) = (free + array, free + array);
            step += 1;
            interrupted = left > 0 && left < pieces;
        } else if !commanded {
            free = read_at + times.command;
            (asks, commanded) = (free + times.read, true);
        } else if interrupted {
            free = read_at + times.command;
            interrupted = false;
        } else {
            free = read_at + Duration::from_ns(times.transfer.as_ns() / pieces);
            left -= 1;
            read_ends = free;
        }
    }
    (read_ends, gc_ends)
}

#[test]
fn a_read_of_another_chip_and_the_collection_s_commands_make_room_for_each_other() {
    let mut rng = Rng::stream(7, "side by side");
    let valid = 12;
    for (cut, pieces) in [(true, 8), (false, 1)] {
        let (bench, begins) = collecting(valid, gc(cut), &EraseSpec::default());
        let times = bench.times();
        let (mut delayed, mut interrupted, mut worst) = (0, 0, Duration::ZERO);
        for _ in 0..3_000 {
            let at = begins + NS + Duration::from_ns(rng.below(whole(valid).as_ns() - 1_000_000));
            let (read_ends, gc_ends) = side_by_side(times, begins, at, valid, pieces);
            let mut copy = bench.clone();
            let (read, behind) = (copy.read(at, OTHER_CHIP), copy.read(at, SAME_CHIP));
            assert_eq!(copy.end_of(read), read_ends, "cut {cut}: at {at:?}");
            assert_eq!(copy.end_of(behind), gc_ends + times.page_read(), "cut {cut}: at {at:?}");
            let late = read_ends.since(at) - times.page_read();
            assert_eq!(copy.completion(read).gc_blocked, !late.is_zero(), "cut {cut}: at {at:?}");
            delayed += u32::from(gc_ends > begins + whole(valid));
            interrupted += u32::from(late >= times.command * 2);
            worst = worst.max(late);
        }
        println!(
            "cut {cut}: the collection waited {delayed} times, the read twice a command \
             {interrupted} times"
        );
        assert!(worst <= times.command * 6, "cut {cut}: {worst}");
        assert!(delayed > 300, "cut {cut}: {delayed}");
        assert_eq!(interrupted > 300, cut, "{interrupted}");
    }
}

/// Two chips of a channel that collect five pages each after their next write.
fn two_chips(spec: GcSpec) -> Bench {
    Bench::new(super::ttflash_256g(6), super::write_through(), spec, |map| {
        for chip in [0, OTHER_CHIP as u32] {
            let again = (5..256).chain(256..256 + 5);
            (0..256)
                .chain(again)
                .for_each(|k| super::write_before_the_run(map, chip + k * LANES as u32));
        }
    })
}

/// At most one collection of a channel copies; the next one begins with the erase of the first.
#[test]
fn the_next_collection_of_a_channel_begins_when_the_erase_does() {
    for (per_channel, second_waits) in [(1, true), (2, false), (0, false)] {
        let spec = GcSpec { per_channel, ..gc(true) };
        let mut bench = two_chips(spec);
        let times = bench.times();
        bench.write(start(), 600 * LANES);
        bench.write(start(), 600 * LANES + OTHER_CHIP);
        // The second write's data crosses behind the first one's, and both collections wait for its
        // end.
        let begin = start() + times.page_program() + times.command + times.transfer;
        bench.advance_to(begin + NS);
        let copies = |from: Instant| from + Duration::from_ns(840_350) * 5;
        let erase = times.erase_command + times.erase;
        // One after the other, behind the command of the first one's erase; or side by side, always
        // a command apart.
        let second =
            if second_waits { copies(begin) + times.erase_command } else { begin + times.command };
        let at = copies(begin) + Duration::from_ms(1);
        let ends = at + bench.latency_of_read(at, SAME_CHIP + OTHER_CHIP);
        assert_eq!(ends, copies(second) + erase + times.page_read(), "per_channel {per_channel}");
        let ends = at + bench.latency_of_read(at, SAME_CHIP);
        assert_eq!(ends, copies(begin) + erase + times.page_read(), "per_channel {per_channel}");
    }
}

/// The second chip's turn comes when the first one's erase begins; the read under way there is
/// waited for.
#[test]
fn a_chip_that_drains_is_kept_for_a_whole_collection() {
    let spec = GcSpec { when: crate::ftl::GcWhen::Foreground, ..gc(true) };
    let mut bench = two_chips(spec);
    let times = bench.times();
    bench.write(start(), 600 * LANES);
    bench.write(start(), 600 * LANES + OTHER_CHIP);
    bench.advance_to(start() + times.page_program() + times.command + times.transfer + NS);
    assert_eq!(bench.drive.counters().collections, 1, "one of a channel copies");
    let copied = (0..).map(|us| start() + Duration::from_us(us)).find(|at| {
        let mut copy = bench.clone();
        copy.advance_to(*at);
        copy.drive.gc_remaining(*at, Die(0)) <= times.erase
    });
    let before = copied.unwrap() - Duration::from_us(20);
    bench.read(before, SAME_CHIP + OTHER_CHIP);
    let at = before + Duration::from_us(30);
    bench.advance_to(at);
    assert_eq!(bench.drive.counters().collections, 1, "the read is still under way");
    assert_eq!(bench.drive.gc_remaining(at, Die(1)), whole(5));
    let read = bench.latency_of_read(at, SAME_CHIP + OTHER_CHIP);
    assert!(read > whole(5), "{read}");
}

/// The erase of a plane-blocking collection can be suspended like any other.
#[test]
fn reads_suspend_the_erase_but_not_the_copies() {
    let erase = EraseSpec { mode: crate::drive::EraseMode::Ideal, ..EraseSpec::default() };
    let (bench, begins) = collecting(7, gc(true), &erase);
    let copied = begins + Duration::from_ns(840_350) * 7;
    let (times, read) = (bench.times(), bench.times().page_read());
    let at = copied + times.erase_command + Duration::from_ms(1);
    assert_eq!(bench.latency_of_read(at, SAME_CHIP), read);
    let at = copied - Duration::from_ms(1);
    assert_eq!(at + bench.latency_of_read(at, SAME_CHIP), copied + times.erase_command + read);
}

/// Two planes of a die, each of which collects `valid` pages after its next write, one operation
/// after the other, as the host lets them: no pages on other dies.
fn two_planes(valid: u32) -> Bench {
    let mut device = super::ttflash_256g(6);
    (device.geometry.channels, device.geometry.ways, device.geometry.planes) = (1, 1, 2);
    let gc = GcSpec {
        mode: GcMode::Preemptive,
        soft: mark(FREE).into(),
        hard: 0.0.into(),
        ..GcSpec::default()
    };
    Bench::new(device, super::write_through(), gc, |map| {
        assert_eq!((map.layout().dies, map.layout().lanes), (1, 2));
        assert!(map.copies_singly());
        for plane in 0..2 {
            let again = (valid..256).chain(256..256 + valid);
            (0..256).chain(again).for_each(|k| super::write_before_the_run(map, plane + k * 2));
        }
    })
}

/// Each operation of a copy joins the die's list behind the other plane's, which waits there: read,
/// read, program, program. One that went first would copy its whole victim alone.
#[test]
fn planes_of_a_die_that_copy_singly_take_turns_operation_by_operation() {
    let valid = 5;
    let mut bench = two_planes(valid);
    let times = bench.times();
    bench.write(start(), 600 * 2);
    bench.write(start(), 600 * 2 + 1);
    // The host's second program goes before the first collection's read.
    let begins = start() + times.page_program() * 2;
    let pair = (times.page_read() + times.page_program()) * 2;
    let copied = |bench: &Bench| bench.drive.counters().copied_units;
    for page in 0..u64::from(valid) {
        let first = begins + pair * page + times.page_read() * 2 + times.page_program();
        for (number, at) in [(1, first), (2, first + times.page_program())] {
            bench.advance_to(at);
            assert_eq!(copied(&bench), page * 2 + number - 1, "before {at:?}");
            bench.advance_to(at + NS);
            assert_eq!(copied(&bench), page * 2 + number, "at {at:?}");
        }
    }
    // The erases follow in the same order.
    let copied = begins + pair * u64::from(valid);
    for number in [1, 2] {
        let at = copied + (times.erase_command + times.erase) * number;
        bench.advance_to(at);
        assert_eq!(bench.drive.counters().erases, number - 1, "before {at:?}");
        bench.advance_to(at + NS);
        assert_eq!(bench.drive.counters().erases, number, "at {at:?}");
    }
    let counters = bench.drive.counters();
    assert_eq!((counters.collections, counters.copied_units), (2, u64::from(valid) * 2));
}
