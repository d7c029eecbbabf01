//! Arrays by arithmetic: drives with the table of `ttflash-256g` cut to a few blocks, each of which
//! collects one victim or none, exact to the nanosecond.

mod causes;
mod late_binding;
mod shares;

use super::{Array, ArraySpec, RaidLevel, ReadStrategy};
use crate::drive::{Command, Drive, DriveSpec, Op, PredictableLatency, Status, Storage};
use crate::flash::Layout;
use crate::flash::tests::ttflash_256g;
use crate::ftl::{FtlSpec, GcMode, GcSpec, PageMap, Stream};
use crate::nvme::{Attributes, Controller, Options};
use crate::stats::ArrayCounters;
use crate::units::{Bytes, Duration, Instant, Lba, Lpn, Member};

const PAGE: u32 = 8;
/// Pages are striped over the channels, then over the chips: page 1 is on the next channel, page 8
/// on the next chip.
const LANES: u32 = 64;
const BLOCKS: u32 = 6;
const PAGES: u32 = 256;
/// Free pages of chip 0 before the write that makes it collect.
const FREE: u32 = 4 * PAGES;
/// A row on the channel that collects, and one on the chip itself that is not on the victim. Both
/// are in stripes whose data pages 0, 1, .. are on members 0, 1, .. of four.
const OTHER_CHIP: u32 = 8;
const SAME_CHIP: u32 = 64 * LANES;

/// The times that the expectations are sums of.
#[derive(Clone, Copy)]
struct Times {
    page_read: Duration,
    page_program: Duration,
    erase_command: Duration,
    erase: Duration,
}

fn times() -> Times {
    let device = ttflash_256g(BLOCKS);
    let (command, transfer) =
        (device.channel.command, device.channel.rate.time_for(device.geometry.page.get()));
    Times {
        page_read: command + device.timing.read[0] + transfer,
        page_program: command + transfer + device.timing.program[0],
        erase_command: device.channel.erase_command,
        erase: device.timing.erase_step * u64::from(device.timing.erase_steps),
    }
}

/// A drive that collects a victim of `valid` pages on its first chip from one program's time on,
/// and holds the channel for that; or never, without. Every page that the tests use is on flash.
fn drive(valid: Option<u32>) -> Controller {
    drive_with(valid, Duration::ZERO)
}

/// The same, whose controller takes so long for each command.
fn drive_with(valid: Option<u32>, controller: Duration) -> Controller {
    let device = ttflash_256g(BLOCKS);
    let soft = (f64::from(FREE) + 0.5) / f64::from(BLOCKS * PAGES);
    let soft = if valid.is_some() { soft } else { 0.0 };
    let gc =
        GcSpec { mode: GcMode::Base, soft: soft.into(), hard: 0.0.into(), ..GcSpec::default() };
    let spec = DriveSpec {
        write_through: true,
        buffer: Bytes::kib(1024),
        controller,
        ..DriveSpec::default()
    };
    let mut map =
        PageMap::new(&device, &FtlSpec::default(), &gc, Layout::new(&device).total_units() / 2, 1);
    let mut write = |lpn: u32| {
        let row = map.open_row(map.striped_lane(Lpn(lpn)), Stream::Host).expect("there is room");
        map.commit(Lpn(lpn), row);
        map.row_programmed(row);
    };
    let again = valid.unwrap_or(0);
    (0..PAGES).chain(again..PAGES).chain(PAGES..PAGES + again).for_each(|k| write(k * LANES));
    (1..LANES).for_each(&mut write);
    let mut drive = Drive::new(&device, &spec, &gc, map, false);
    drive.attribute();
    if valid.is_some() {
        let (op, lba) = (Op::Write, Lba(u64::from(600 * LANES * PAGE)));
        drive.submit(Instant::START, Command { op, lba, ..command(0, 0, 1) });
        let begins = begins() + controller;
        let written = drive.advance_before(begins + NS).expect("it is written");
        assert_eq!(written.at, begins);
        assert!(drive.advance_before(begins + NS).is_none());
    }
    let attributes = Attributes::of(&drive, &spec, &gc);
    Controller::new(drive, attributes, Options::default())
}

const NS: Duration = Duration::from_ns(1);

/// When the collections begin.
fn begins() -> Instant {
    Instant::START + times().page_program
}

/// When the copy of `valid` pages is done: each crosses the channel twice.
fn released(valid: u32) -> Instant {
    begins() + (times().page_read + times().page_program) * u64::from(valid)
}

/// A read of `pages` pages of the array.
fn command(id: u32, page: u64, pages: u32) -> Command {
    let (lba, sectors) = (Lba(page * u64::from(PAGE)), pages * PAGE);
    let predictable = PredictableLatency::Off;
    Command {
        id: id.into(),
        op: Op::Read,
        lba,
        sectors,
        fua: false,
        predictable,
        stream: 0,
        queue: 0,
        payload: None,
    }
}

const XOR: Duration = Duration::from_ns(777);

fn array(level: RaidLevel, strategy: ReadStrategy, valid: &[Option<u32>]) -> Array {
    let members = valid.len() as u32;
    let spec = ArraySpec { members, level, strategy, xor: XOR, ..ArraySpec::default() };
    Array::new(&spec, valid.iter().map(|valid| drive(*valid)).collect(), None, false, 1)
}

/// When each of the commands completed that are submitted at `at`, by their number.
fn ends(array: &mut Array, at: Instant, commands: Vec<Command>) -> Vec<Instant> {
    let mut ends = vec![Instant::NEVER; commands.len()];
    assert!(array.advance_before(at).is_none());
    commands.into_iter().for_each(|command| array.submit(at, command));
    while let Some(done) = array.advance_before(Instant::NEVER) {
        assert_eq!(done.status, Status::Success);
        ends[done.id.index()] = done.at;
    }
    assert_eq!(array.rows_under_way(), 0);
    ends
}

/// When a read of the row's first page, which is member 0's, is done, and what the array counted.
fn read(
    strategy: ReadStrategy,
    valid: &[Option<u32>],
    at: Instant,
    row: u32,
) -> (Instant, ArrayCounters) {
    let mut array = array(RaidLevel::Raid5, strategy, valid);
    let page = array.layout.page(row, 0);
    assert_eq!(array.layout.member(row, 0), Member(0));
    let end = ends(&mut array, at, vec![command(0, page, 1)])[0];
    (end, array.counters())
}

/// From when on a member that collects `valid` pages reads: after its copy the channel carries the
/// erase command first; the chip itself is erased.
fn free(row: u32, valid: u32) -> Instant {
    let erase = if row == SAME_CHIP { times().erase } else { Duration::ZERO };
    released(valid) + times().erase_command + erase
}

/// Latency of a read that no member, one, or several fail fast, at instants from the begin of the
/// GC runs to the last nanosecond before their end.
#[test]
fn each_further_fast_fail_costs_the_wait_for_who_is_free_first() {
    let Times { page_read, .. } = times();
    for row in [OTHER_CHIP, SAME_CHIP] {
        for at in [begins() + NS, begins() + Duration::from_us(777), released(3) - NS] {
            let read = |valid: [u32; 4]| {
                let valid = valid.map(|valid| (valid > 0).then_some(valid));
                let (end, counted) = read(ReadStrategy::Iod2, &valid, at, row);
                (
                    end,
                    [
                        counted.fast_fails,
                        counted.double_fails,
                        counted.must_waits,
                        counted.drive_reads,
                    ],
                )
            };
            // Nobody: its own read. Another member: nobody asks it. One: the three others at once,
            // and the sum.
            assert_eq!(read([0, 0, 0, 0]), (at + page_read, [0, 0, 0, 1]));
            assert_eq!(read([0, 3, 9, 4]), (at + page_read, [0, 0, 0, 1]));
            assert_eq!(read([9, 0, 0, 0]), (at + page_read + XOR, [1, 0, 0, 4]));
            // Two: the one that takes longer is computed, the other waited for, as long as that
            // takes.
            for (own, other) in [(9, 3), (7, 6), (5, 5)] {
                let expected = (free(row, other) + page_read + XOR, [2, 1, 1, 5]);
                assert_eq!(read([own, other, 0, 0]), expected, "{own} {other} at {at:?}");
                assert_eq!(read([own, 0, 0, other]), expected, "{own} {other} at {at:?}: parity");
            }
            for (own, other) in [(3, 9), (6, 7)] {
                let expected = (free(row, own) + page_read, [2, 1, 1, 5]);
                assert_eq!(read([own, other, 0, 0]), expected, "{own} {other} at {at:?}");
            }
            // Three: both others, or itself. Answers come one by one, and who seems free sooner is
            // asked at once: member 1, even where member 2 then decides for the own member.
            assert_eq!(read([9, 3, 5, 0]), (free(row, 5) + page_read + XOR, [3, 2, 2, 6]));
            assert_eq!(read([4, 3, 5, 0]), (free(row, 4) + page_read, [3, 2, 2, 6]));
            assert_eq!(read([4, 5, 3, 0]), (free(row, 4) + page_read, [3, 1, 1, 5]));
            // All.
            assert_eq!(read([9, 3, 5, 8]), (free(row, 8) + page_read + XOR, [4, 3, 3, 7]));
            assert_eq!(read([6, 3, 5, 8]), (free(row, 6) + page_read, [4, 3, 3, 7]));
        }
    }
}

/// A draw takes no account of the times: the read waits for either member, and as long as that one
/// takes.
#[test]
fn iod1_waits_for_one_of_both() {
    let (at, Times { page_read, .. }) = (begins() + NS, times());
    let (own, other) = (free(OTHER_CHIP, 9) + page_read, free(OTHER_CHIP, 3) + page_read + XOR);
    let mut seen = [0, 0];
    for seed in 0..20 {
        let spec = ArraySpec {
            members: 4,
            strategy: ReadStrategy::Iod1,
            xor: XOR,
            ..ArraySpec::default()
        };
        let drives = [Some(9), Some(3), None, None].map(drive).into_iter().collect();
        let mut array = Array::new(&spec, drives, None, false, seed);
        let page = array.layout.page(OTHER_CHIP, 0);
        let end = ends(&mut array, at, vec![command(0, page, 1)])[0];
        seen[usize::from(end == other)] += 1;
        assert!(end == own || end == other, "{end:?}");
    }
    assert!(seen.iter().all(|seen| *seen > 3), "{seen:?}");
}

/// Two requests, whose members both collect, meet at the one that is free first: its chip reads the
/// page twice.
#[test]
fn reads_that_wait_for_the_same_member_queue_there() {
    let (at, Times { page_read, .. }) = (begins() + NS, times());
    let mut array = array(RaidLevel::Raid5, ReadStrategy::Iod2, &[Some(9), Some(3), None, None]);
    let page = array.layout.page(OTHER_CHIP, 0);
    let next = array.layout.page(OTHER_CHIP, 1);
    let ends = ends(&mut array, at, vec![command(0, page, 1), command(1, next, 1)]);
    let first = free(OTHER_CHIP, 3) + page_read;
    // The second one is stuck first: member 0 answers it before member 1 answers the other, members
    // going by number.
    assert_eq!(ends, [first + page_read + XOR, first]);
    assert_eq!((array.counters().double_fails, array.counters().must_waits), (2, 2));
}

/// RAID-6 bears two failures, and pays for the third.
#[test]
fn two_fast_fails_cost_a_double_parity_nothing_but_reads() {
    let (at, Times { page_read, .. }) = (begins() + NS, times());
    let read = |valid: [u32; 5]| {
        let valid = valid.map(|valid| (valid > 0).then_some(valid));
        let mut array = array(RaidLevel::Raid6, ReadStrategy::Iod2, &valid);
        let (k, own) = (array.layout.data, array.layout.member(OTHER_CHIP, 0));
        assert_eq!(
            (k, own),
            (3, Member(3)),
            "row 8's data are on members 3, 4 and 0, its parities on 1 and 2"
        );
        let page = array.layout.page(OTHER_CHIP, 0);
        let end = ends(&mut array, at, vec![command(0, page, 1)])[0];
        let counted = array.counters();
        (end, [counted.fast_fails, counted.double_fails, counted.must_waits, counted.drive_reads])
    };
    assert_eq!(read([0, 0, 0, 9, 0]), (at + page_read + XOR, [1, 0, 0, 4]));
    assert_eq!(read([0, 0, 0, 9, 3]), (at + page_read + XOR, [2, 0, 0, 5]));
    assert_eq!(read([5, 0, 0, 9, 3]), (free(OTHER_CHIP, 3) + page_read + XOR, [3, 1, 1, 6]));
}

/// A write of so many pages from the row's page `first` on, on an idle array: when it is done, and
/// the members' reads, writes, read-modify-writes, reconstruct-writes and whole rows. `sectors` is
/// that of the last page.
fn write(
    level: RaidLevel,
    members: u32,
    first: u32,
    pages: u32,
    sectors: u32,
) -> (Duration, [u64; 5]) {
    let mut array = array(level, ReadStrategy::Direct, &vec![None; members as usize]);
    let page = array.layout.page(OTHER_CHIP, first);
    assert_eq!(array.layout.place(page).row, OTHER_CHIP);
    let at = Instant::from_ns(1_000_000);
    let write =
        Command { op: Op::Write, sectors: (pages - 1) * PAGE + sectors, ..command(0, page, pages) };
    let end = ends(&mut array, at, vec![write])[0];
    let c = array.counters();
    let updates = [c.read_modify_writes, c.reconstruct_writes, c.full_rows];
    (end.since(at), [c.drive_reads, c.drive_writes, updates[0], updates[1], updates[2]])
}

/// Reads run side by side on different members, and so do writes: a small write takes a read and a
/// program, whatever the width; a row that is written whole takes a program alone.
#[test]
fn a_small_write_takes_a_read_and_a_program_and_as_many_commands_as_md_sends() {
    let Times { page_read, page_program, .. } = times();
    let both = page_read + page_program;
    let one = |level, members| write(level, members, 0, 1, PAGE);
    // RAID-5, one page of k = N - 1: the old page and the old parity, or the N - 2 others where
    // those are not more.
    assert_eq!(one(RaidLevel::Raid5, 3), (both, [1, 2, 0, 1, 0]));
    assert_eq!(one(RaidLevel::Raid5, 4), (both, [2, 2, 0, 1, 0]));
    assert_eq!(one(RaidLevel::Raid5, 5), (both, [2, 2, 1, 0, 0]));
    assert_eq!(one(RaidLevel::Raid5, 9), (both, [2, 2, 1, 0, 0]));
    // RAID-6: both parities besides the page, three of each; the others while they are k - 1 <= 3.
    assert_eq!(one(RaidLevel::Raid6, 4), (both, [1, 3, 0, 1, 0]));
    assert_eq!(one(RaidLevel::Raid6, 6), (both, [3, 3, 0, 1, 0]));
    assert_eq!(one(RaidLevel::Raid6, 7), (both, [3, 3, 1, 0, 0]));
    assert_eq!(one(RaidLevel::Raid6, 10), (both, [3, 3, 1, 0, 0]));
    // Several pages of N = 9's eight: w + 1 against 8 - w, then all.
    assert_eq!(write(RaidLevel::Raid5, 9, 0, 3, PAGE), (both, [4, 4, 1, 0, 0]));
    assert_eq!(write(RaidLevel::Raid5, 9, 1, 4, PAGE), (both, [4, 5, 0, 1, 0]));
    assert_eq!(write(RaidLevel::Raid5, 9, 0, 7, PAGE), (both, [1, 8, 0, 1, 0]));
    assert_eq!(write(RaidLevel::Raid5, 9, 0, 8, PAGE), (page_program, [0, 9, 0, 0, 1]));
    assert_eq!(write(RaidLevel::Raid6, 8, 0, 6, PAGE), (page_program, [0, 8, 0, 0, 1]));
    // A page in part: with the others it is read itself. Of three pages of N = 4 the last in part:
    // only that.
    assert_eq!(write(RaidLevel::Raid5, 5, 0, 1, 1), (both, [2, 2, 1, 0, 0]));
    assert_eq!(write(RaidLevel::Raid5, 4, 0, 1, 3), (both, [2, 2, 1, 0, 0]));
    assert_eq!(write(RaidLevel::Raid5, 4, 0, 3, 3), (both, [1, 4, 0, 1, 0]));
    // Copies and no redundancy: nothing to read for a whole page.
    assert_eq!(write(RaidLevel::Raid1, 3, 0, 1, PAGE), (page_program, [0, 3, 0, 0, 1]));
    assert_eq!(write(RaidLevel::Raid0, 3, 0, 1, PAGE), (page_program, [0, 1, 0, 0, 1]));
    assert_eq!(write(RaidLevel::Raid0, 3, 0, 1, 1), (both, [1, 1, 0, 0, 1]));
}

/// An old page whose member fails the read fast: the other way to the parity costs no wait.
#[test]
fn a_small_write_goes_round_a_member_that_collects() {
    let (at, Times { page_read, page_program, .. }) = (begins() + NS, times());
    let both = page_read + page_program;
    let write = |valid: &[Option<u32>]| {
        let mut array = array(RaidLevel::Raid5, ReadStrategy::Iod2, valid);
        let first = (0..array.layout.data)
            .find(|index| array.layout.member(OTHER_CHIP, *index) == Member(0))
            .unwrap();
        let page = array.layout.page(OTHER_CHIP, first);
        let end = ends(&mut array, at, vec![Command { op: Op::Write, ..command(0, page, 1) }])[0];
        let c = array.counters();
        (
            end,
            [
                c.drive_reads,
                c.drive_writes,
                c.read_modify_writes,
                c.reconstruct_writes,
                c.must_waits,
            ],
        )
    };
    // Four members, reconstruct-write, and one of the two others collects: its channel takes no
    // write, and it is none of those that are written. The old page and the old parity instead.
    let collects =
        |member: usize, of: usize| (0..of).map(|m| (m == member).then_some(3)).collect::<Vec<_>>();
    assert_eq!(write(&collects(1, 4)), (at + both, [4, 2, 1, 0, 0]));
    // Nobody: for comparison.
    assert_eq!(write(&[None; 4]), (at + both, [2, 2, 0, 1, 0]));
    // The member that is written itself: its write waits for the channel, whatever is read.
    let written = free(OTHER_CHIP, 3) + page_program;
    assert_eq!(write(&collects(0, 4)).0, written);
}
