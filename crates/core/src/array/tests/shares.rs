//! Shares of computations that other pieces of the request read anyway, while the row is written.

use super::{LANES, NS, PAGE, XOR, command, ttflash};
use crate::array::{Array, ArraySpec, RaidLevel, ReadStrategy};
use crate::drive::{Command, Drive, DriveSpec, Op, Stamp, Status, Storage};
use crate::flash::Layout;
use crate::ftl::{FtlSpec, GcSpec, PageMap, Stream};
use crate::nvme::{Attributes, Controller, Options};
use crate::units::{Bytes, Duration, Instant, Lpn};

const HEDGE: Duration = Duration::from_us(500);

/// Rows of one chip of each member.
const ROWS: u32 = 9;

/// Row number `k` of these. Its data pages 0, 1, .. are on members 0, 1, .. of four.
fn row(k: u32) -> u32 {
    k * 4 * LANES
}

/// A drive with content, whose buffer keeps what is written. Of row number `k` it has version `k`.
fn drive() -> Controller {
    let (device, ftl) = (ttflash(), FtlSpec::default());
    let gc = GcSpec { soft: 0.0.into(), hard: 0.0.into(), ..GcSpec::default() };
    let buffer = Bytes::kib(1024);
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
        answers[done.id as usize] =
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
        let spec = ArraySpec {
            members: 4,
            level: RaidLevel::Raid5,
            strategy: ReadStrategy::Hedged,
            hedge_after: HEDGE,
            chunk: Bytes::new(u64::from(PAGE) * crate::units::SECTOR),
            xor,
            ..ArraySpec::default()
        };
        let drives = (0..4).map(|_| drive()).collect();
        let mut array = Array::new(&spec, drives, None, true, 1);
        // Eight reads of each of both chips, and one more of the second.
        let at = Instant::START + Duration::from_s(1);
        for k in 1..ROWS {
            let page = array.layout.page(row(k), 0);
            array.submit(at, command(k + 1, page, 2));
        }
        let (second, first) = (array.layout.page(row(1), 1), array.layout.page(row(0), 0));
        array.submit(at, command(10, second, 1));
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
