//! Shares of computations that other pieces of the request read anyway, while the row is written.

use super::{BLOCKS, LANES, NS, PAGE, XOR, command, times, ttflash_256g};
use crate::array::piece::PieceId;
use crate::array::under_way::Owner;
use crate::array::{Array, ArraySpec, RaidLevel, ReadStrategy};
use crate::drive::{Command, Drive, DriveSpec, Op, PredictableLatency, Stamp, Status, Storage};
use crate::flash::Layout;
use crate::ftl::{FtlSpec, GcSpec, PageMap, Stream};
use crate::nvme::{Attributes, Controller, Options};
use crate::units::{Bytes, Duration, Instant, Lba, Lpn, Member};

const HEDGE: Duration = Duration::from_us(500);

/// Rows of one chip of each member.
const ROWS: u32 = 9;

/// Row number `k` of these. Its data pages 0, 1, .. are on members 0, 1, .. of four.
fn row(k: u32) -> u32 {
    k * 4 * LANES
}

/// Pages of a buffer that the tests fill.
const BUFFER: u32 = 16;

/// A drive with content, whose buffer keeps what is written. Of row number `k` it has version `k`.
fn drive(buffer: Bytes) -> Controller {
    let (device, ftl) = (ttflash_256g(BLOCKS), FtlSpec::default());
    let gc = GcSpec { soft: 0.0.into(), hard: 0.0.into(), ..GcSpec::default() };
    let spec = DriveSpec { background_flush: false, buffer, ..DriveSpec::default() };
    let logical = Layout::new(&device).total_units() / 2;
    let mut map = PageMap::new(&device, &ftl, &gc, logical, 1);
    for lpn in (0..ROWS).map(row).map(Lpn) {
        let page = map.open_row(map.striped_lane(lpn), Stream::Host).expect("there is room");
        map.commit(lpn, page);
        map.row_programmed(page);
    }
    let mut drive = Drive::new(&device, &spec, &gc, map, true);
    (0..ROWS).for_each(|k| drive.put_content(row(k), k));
    let attributes = Attributes::of(&drive, &spec, &gc);
    Controller::new(drive, attributes, Options::default())
}

/// Four members that hedge. A chunk is a page.
fn spec(hedge_after: Duration, xor: Duration) -> ArraySpec {
    ArraySpec {
        members: 4,
        level: RaidLevel::Raid5,
        strategy: ReadStrategy::Hedged,
        hedge_after,
        chunk: Bytes::new(u64::from(PAGE) * crate::units::SECTOR),
        xor,
        ..ArraySpec::default()
    }
}

fn array(spec: &ArraySpec, buffer: Bytes) -> Array {
    Array::new(spec, (0..4).map(|_| drive(buffer)).collect(), None, true, 1)
}

/// Reads the chip of row 0 of a member so many times, for nobody: none of these reads is hedged.
fn occupy(array: &mut Array, at: Instant, member: u32, times: u32) {
    let owner = Owner::Direct { piece: PieceId(0), ticket: u32::MAX };
    for _ in 0..times {
        let read = <Array>::read_command(array.layout.lba(row(1)), PAGE, PredictableLatency::Off);
        array.submit_io(at, Member(member), owner, read);
    }
}

/// An array whose members have no room for a write until they have programmed a page, and that has
/// just begun to write row 0: from page `first` on but for that page's first sector, to the end of
/// page `first + 1` but for `left` sectors. As versions 63 and 64, and as command 1. And the time.
fn writing(spec: &ArraySpec, first: u32, left: u32) -> (Array, Instant) {
    let bytes = u64::from(BUFFER * PAGE) * crate::units::SECTOR;
    let mut array = array(spec, Bytes::new(bytes));
    // On other chips: rows are striped over them.
    for other in 1..=BUFFER {
        let write = write_row(0, &array, other, 100);
        array.submit(Instant::START, write);
    }
    let mut at = Instant::START + Duration::from_s(1);
    while array.advance_before(at).is_some() {}
    assert_eq!((array.rows_under_way(), array.drive(0).counters().buffer.stalls), (0, 0));
    let written = array.counters().drive_writes;
    let whole = command(1, array.layout.page(row(0), first), 2);
    let (lba, sectors) = (Lba(whole.lba.0 + 1), whole.sectors - 1 - left);
    let payload = [63, 64].map(|version| Stamp { version, beneath: 0 });
    let payload = Some(payload.into());
    array.submit(at, Command { op: Op::Write, lba, sectors, payload, ..whole });
    while array.counters().drive_writes == written {
        at = array.next_event_at();
        assert!(array.advance_before(at + NS).is_none());
    }
    (array, at + NS)
}

/// The write of a row of three pages, as versions `first` and the two behind it.
fn write_row(id: u32, array: &Array, row: u32, first: u32) -> Command {
    let stamp = |version| Stamp { version, beneath: 0 };
    let payload = (first..first + 3).map(stamp).collect();
    let page = array.layout.page(row, 0);
    Command { op: Op::Write, payload: Some(payload), ..command(id, page, 3) }
}

/// Plays to the end: the answers by number, when each came and what it holds.
fn answers(array: &mut Array, count: usize) -> Vec<(Instant, Vec<u32>)> {
    let mut answers = vec![(Instant::NEVER, Vec::new()); count];
    while let Some(done) = array.advance_before(Instant::NEVER) {
        assert_eq!(done.status, Status::Success);
        answers[done.id.index()] =
            (done.at, done.payload.map_or(Vec::new(), |payload| payload.to_vec()));
    }
    answers
}

/// Pages 0 and 1 of a row are asked for, and both wait behind other reads of their chips. Then the
/// row is written, into the members' buffers at once. When the read is hedged, each page is
/// computed from what the row holds now: the neighbour's read is older than the write, and brings
/// what belongs to the parity before it.
#[test]
fn a_neighbours_read_from_before_a_write_of_the_row_is_no_share_of_a_computation_after_it() {
    for xor in [Duration::ZERO, XOR] {
        let mut array = array(&spec(HEDGE, xor), Bytes::kib(1024));
        let at = Instant::START + Duration::from_s(1);
        // Eight reads of each of both chips, and one more of the second.
        for k in 1..ROWS {
            let page = array.layout.page(row(k), 0);
            array.submit(at, command(k + 1, page, 2));
        }
        let second = array.layout.page(row(1), 1);
        array.submit(at, command(10, second, 1));
        let first = array.layout.page(row(0), 0);
        array.submit(at, command(0, first, 2));
        assert!(array.advance_before(at + NS).is_none());
        let write = write_row(1, &array, row(0), 91);
        array.submit(at + NS, write);
        let answers = answers(&mut array, 11);
        assert!(answers[1].0 < at + HEDGE, "it is written before the reads are hedged");
        let (end, read) = &answers[0];
        assert_eq!(*read, [91, 92], "an XOR of {xor}: {answers:?} {:?}", array.counters());
        let hit = DriveSpec::default().buffer_hit;
        assert_eq!(*end, at + HEDGE + hit + xor);
        assert_eq!(answers[2].1, [1, 1]);
    }
}

/// Pages 0 and 1 of a row are written in part. While the members make room both are asked for: the
/// reads bring what was there before, and wait behind others. They are hedged when the row is
/// written: the neighbour's read began during the writing, and is no share of what the row holds
/// since then. (A sum with it is 63 ^ 64, which is above either version and so not hidden by what
/// the request found in the array's memory.)
#[test]
fn a_neighbours_read_from_the_midst_of_a_write_of_the_row_is_no_share_of_a_computation_after_it() {
    let hedge = times().page_program + Duration::from_us(50);
    for xor in [Duration::ZERO, XOR] {
        let (mut array, at) = writing(&spec(hedge, xor), 0, 1);
        occupy(&mut array, at, 0, 8);
        occupy(&mut array, at, 1, 16);
        let pages = array.layout.page(row(0), 0);
        array.submit(at, command(0, pages, 2));
        let answers = answers(&mut array, 2);
        assert!((at + NS..at + hedge).contains(&answers[1].0), "{at:?} {answers:?}");
        assert!(array.counters().hedges_won > 0, "{:?}", array.counters());
        assert_eq!(answers[0].1, [63, 64], "an XOR of {xor}: {:?}", array.counters());
    }
}

/// Pages 1 and 2 of a row are being written, and pages 0 and 1 are asked for. When they are hedged
/// page 0 follows at once from what the array has in memory: nobody is told any more what its own
/// read brings. Page 1 does not count on that read: member 1 dies, and only the row has the page.
#[test]
fn the_read_of_a_page_that_is_done_is_no_share_of_its_neighbour() {
    let fail_at = Duration::from_s(1) + times().page_read + Duration::from_us(600);
    let fails = ArraySpec { fail_at, fail_member: 1, ..spec(HEDGE, Duration::ZERO) };
    let (mut array, at) = writing(&fails, 1, 0);
    occupy(&mut array, at, 0, 8);
    occupy(&mut array, at, 1, 16);
    let pages = array.layout.page(row(0), 0);
    array.submit(at, command(0, pages, 2));
    let dies = Instant::START + fail_at;
    assert!(at + HEDGE < dies && array.advance_before(dies).is_none());
    assert_eq!((array.counters().hedges, array.counters().hedges_won), (2, 1));
    let answers = answers(&mut array, 2);
    assert_eq!(answers[0].1, [0, 63], "{answers:?} {}", array.describe());
    assert_eq!(array.rows_under_way(), 0, "{}", array.describe());
}
