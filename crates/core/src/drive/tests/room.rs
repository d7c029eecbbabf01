//! Waits for the buffer, by arithmetic: a buffer of a page or two, and one thing at a time in
//! the way of the row that makes room.

use super::collections::{FREE, about_to_collect_with, copy_of_a_page, mark};
use super::{
    Bench, LANES, OTHER_CHANNEL, OTHER_CHIP, PAGE, SAME_CHIP, start, ttflash_256g, write_through,
};
use crate::drive::{CommandId, DriveSpec, Op, Story};
use crate::ftl::{GcMode, GcSpec};
use crate::units::Die;
use crate::units::{Bytes, Cause, Duration, Instant, Split};
use std::collections::BTreeMap;

const NS: Duration = Duration::from_ns(1);
const HIT: Duration = Duration::from_us(1);
const KEPT: u64 = 3 * OTHER_CHANNEL;

/// A buffer of `pages` pages that leave at once.
fn tiny(pages: u64) -> DriveSpec {
    DriveSpec {
        buffer: Bytes::kib(4 * pages),
        flush_above: 0.0,
        buffer_hit: HIT,
        ..DriveSpec::default()
    }
}

fn attributed(spec: DriveSpec) -> Bench {
    let mut bench = Bench::plain(spec);
    bench.drive.attribute();
    bench
}

/// Plays the drive to its end: where the time of each command went, and what is told of it.
fn told(bench: &mut Bench) -> BTreeMap<CommandId, (Split, Option<Story>)> {
    told_before(bench, Instant::NEVER)
}

fn told_before(bench: &mut Bench, limit: Instant) -> BTreeMap<CommandId, (Split, Option<Story>)> {
    let mut told = BTreeMap::new();
    while let Some(completion) = bench.drive.advance_before(limit) {
        let attributed = bench.drive.attributed().expect("the drive attributes");
        told.insert(completion.id, (attributed.split, attributed.story));
    }
    told
}

pub(super) fn splits(bench: &mut Bench) -> BTreeMap<CommandId, Split> {
    told(bench).into_iter().map(|(id, (split, _))| (id, split)).collect()
}

fn split(parts: &[(Cause, Duration)]) -> Split {
    parts.iter().fold(Split::NONE, |mut split, (cause, time)| {
        split.add(*cause, *time);
        split
    })
}

#[test]
fn a_write_without_room_waits_for_the_program_that_makes_it() {
    let mut bench = attributed(tiny(1));
    let program = bench.times().page_program();
    let first = bench.write(start(), 0);
    let second = bench.write(start() + NS, OTHER_CHANNEL);
    let third = bench.write(start() + NS * 2, OTHER_CHANNEL * 2);
    let told = told(&mut bench);
    assert_eq!(told[&first], (split(&[(Cause::Service, HIT)]), None));
    assert_eq!(told[&second].0, split(&[(Cause::Program, program - NS), (Cause::Service, HIT)]));
    let story = told[&second].1.expect("flash took part");
    assert_eq!((story.die, story.makes_room, story.forced), (Die(0), true, false));
    assert_eq!(story.times, [start(), start(), start() + program]);
    // The second's row was sealed when the first had landed: one program follows the other.
    let two = program * 2 - NS * 2;
    assert_eq!(told[&third].0, split(&[(Cause::Program, two), (Cause::Service, HIT)]));
    // Of the two the second is the longer by what the third came later.
    assert_eq!(told[&third].1.map(|story| story.times[0]), Some(start() + program));
}

#[test]
fn a_write_waits_for_the_read_that_the_row_which_makes_room_met() {
    let mut bench = attributed(tiny(1));
    let times = bench.times();
    bench.read(start(), SAME_CHIP);
    bench.write(start() + NS, 0);
    let waits = bench.write(start() + NS * 2, OTHER_CHANNEL);
    let expected = [
        (Cause::Reads, times.page_read() - NS * 2),
        (Cause::Program, times.page_program()),
        (Cause::Service, HIT),
    ];
    assert_eq!(splits(&mut bench)[&waits], split(&expected));
}

#[test]
fn a_write_waits_for_the_transfer_that_the_row_which_makes_room_came_behind() {
    let mut bench = attributed(tiny(2));
    let times = bench.times();
    bench.write(start(), OTHER_CHIP);
    bench.write(start(), 0);
    // The first room is the first program's, the second that of the program whose data crossed
    // behind it.
    bench.write(start() + NS, OTHER_CHANNEL);
    let waits = bench.write(start() + NS * 2, OTHER_CHANNEL * 2);
    let behind = times.command + times.transfer - NS * 2;
    let expected =
        [(Cause::Channel, behind), (Cause::Program, times.page_program()), (Cause::Service, HIT)];
    assert_eq!(splits(&mut bench)[&waits], split(&expected));
}

/// The row that makes room came before, while or after the collection copied: the write has what of
/// each was left.
#[test]
fn a_write_waits_for_the_copies_and_the_erase_before_the_row_that_makes_room() {
    for (valid, forced) in [(0, false), (7, false), (7, true)] {
        let hard = if forced { mark(FREE) } else { 0.0 };
        let gc = GcSpec {
            mode: GcMode::Base,
            soft: mark(FREE).into(),
            hard: hard.into(),
            ..GcSpec::default()
        };
        let mut bench = about_to_collect_with(valid, gc, tiny(1));
        bench.drive.attribute();
        let times = bench.times();
        bench.write(start(), 600 * LANES);
        let begins = start() + times.page_program();
        let released = begins + copy_of_a_page(times, false) * u64::from(valid);
        let erased = released + times.erase_command + times.erase;
        // Its row waits for the whole collection; it is the next write's.
        bench.write(begins + NS, 601 * LANES);
        let mut later = vec![begins + NS * 2, erased - NS, erased + NS];
        if valid > 0 {
            later.extend([released - NS, released + NS]);
        }
        for at in later {
            let mut bench = bench.clone();
            let waits = bench.write(at, KEPT);
            let told = told(&mut bench);
            let left = |end: Instant, from: Instant| end.max(at.max(from)).since(at.max(from));
            let end = erased + times.page_program();
            let expected = [
                (Cause::GcCopy, left(released, at)),
                (Cause::Erase, left(erased, released)),
                (Cause::Program, left(end, erased)),
                (Cause::Service, HIT),
            ];
            assert_eq!(told[&waits].0, split(&expected), "{valid} valid, at {at:?}");
            let story = told[&waits].1.expect("flash took part");
            let met = if valid == 0 { "erase" } else { "gc_copy" };
            assert_eq!((story.die, story.met.keeper.name(), story.forced), (Die(0), met, forced));
            assert_eq!(story.times, [begins + NS, erased, end]);
        }
    }
}

#[test]
fn a_flush_waits_for_what_the_last_row_waited_for_and_a_durable_write_for_its_own_row() {
    let spec = DriveSpec {
        power_loss_protection: false,
        buffer: Bytes::kib(1024),
        ..DriveSpec::default()
    };
    let mut bench = attributed(spec);
    let times = bench.times();
    bench.write(start(), 0);
    bench.read(start(), SAME_CHIP);
    let flush = bench.flush(start() + NS);
    let expected = [(Cause::Reads, times.page_read() - NS), (Cause::Program, times.page_program())];
    assert_eq!(splits(&mut bench)[&flush], split(&expected));

    let mut bench = attributed(write_through());
    bench.read(start(), SAME_CHIP);
    let own = bench.write(start() + NS, 0);
    let expected = [(Cause::Reads, times.page_read() - NS), (Cause::Service, times.page_program())];
    assert_eq!(splits(&mut bench)[&own], split(&expected));
}

/// The page would have stayed in the buffer: who meets its program waits for the flush. To the
/// flush itself it is a program.
#[test]
fn a_read_and_a_durable_write_wait_for_the_row_that_a_flush_sent() {
    let spec = DriveSpec {
        power_loss_protection: false,
        buffer: Bytes::kib(1024),
        ..DriveSpec::default()
    };
    for durable in [false, true] {
        let mut bench = attributed(spec.clone());
        let times = bench.times();
        bench.write(start(), 0);
        let flush = bench.flush(start() + NS);
        let (op, at) = if durable { (Op::Write, NS * 2) } else { (Op::Read, NS * 2) };
        let first = SAME_CHIP * u64::from(PAGE);
        let waits = bench.submit(start() + at, op, first, PAGE, durable);
        let own = if durable { times.page_program() } else { times.page_read() };
        let expected = [(Cause::Flush, times.page_program() - NS), (Cause::Service, own)];
        let told = splits(&mut bench);
        assert_eq!(told[&waits], split(&expected), "durable: {durable}");
        assert_eq!(told[&flush], split(&[(Cause::Program, times.page_program())]));
    }
}

/// A partial page reads its other sectors before its row leaves: the write behind it waits for that
/// read, too.
#[test]
fn a_write_waits_for_the_read_that_fills_up_the_page_before_it() {
    let mut bench = attributed(tiny(1));
    let times = bench.times();
    bench.submit(start(), crate::drive::Op::Write, 0, 1, false);
    let waits = bench.write(start() + NS, OTHER_CHANNEL);
    let expected = [
        (Cause::Reads, times.page_read() - NS),
        (Cause::Program, times.page_program()),
        (Cause::Service, HIT),
    ];
    assert_eq!(splits(&mut bench)[&waits], split(&expected));
}

/// A long backlog: every write waits for all programs from its coming on, one after the other,
/// however many. They come while different ones of them are under way.
#[test]
fn a_backlog_waits_for_one_program_after_the_other() {
    let mut bench = Bench::on(ttflash_256g(4), tiny(1));
    bench.drive.attribute();
    let (program, apart) = (bench.times().page_program(), Duration::from_us(200));
    let (mut answered, mut ids) = (BTreeMap::new(), Vec::new());
    for n in 0..400 {
        let at = start() + apart * n;
        answered.extend(told_before(&mut bench, at));
        ids.push(bench.write(at, n));
    }
    answered.extend(told(&mut bench));
    for (n, id) in (0..).zip(ids) {
        let expected = [(Cause::Program, (program - apart) * n), (Cause::Service, HIT)];
        assert_eq!(answered[&id].0, split(&expected), "write {n}");
    }
}
