//! The SCSI commands of a virtual disk, as VMware's vscsiStats kept them and CloudPhysics gave them
//! out (Waldspurger et al.: Efficient MRC Construction with SHARDS, FAST 2015; layouts as in
//! libCacheSim's reader of them).
//!
//! Little endian records without a header, of two versions: `u32 sn, len, nSG; u16 cmd, ver; u64
//! lbn, ts` (32 bytes) and `u16 cmd, ver; u32 sn, len, nSG; u64 lbn, ts, rt` (40 bytes). The
//! version is the high byte of `ver`, which stands elsewhere in each, so two records are looked at
//! in both layouts. `len` is bytes, `lbn` sectors of 512 bytes, `ts` and `rt` microseconds.

use crate::decode::{Decoder, Entry, Framing, Line, WIDENED, ZERO_LENGTH};
use crate::fields::{le16, le32, le64};
use crate::sniff::{Guess, Head};
use crate::{MAX_SECTOR, TraceFormat};
use manx_base::units::{Op, SECTOR};

/// Where a version has its fields.
#[derive(Clone, Copy)]
struct Layout {
    version: u16,
    record: usize,
    length: usize,
    command: usize,
    lbn: usize,
    time: usize,
    response: Option<usize>,
}

const LAYOUTS: [Layout; 2] = [
    Layout { version: 1, record: 32, length: 4, command: 12, lbn: 16, time: 24, response: None },
    Layout { version: 2, record: 40, length: 8, command: 0, lbn: 16, time: 24, response: Some(32) },
];

/// Reads the records of either version.
pub struct Vscsi {
    layout: Layout,
}

impl Vscsi {
    /// A reader of the version that the first records have.
    pub fn new(head: &[u8]) -> Self {
        let of_it = |layout: &&Layout| {
            head.chunks_exact(layout.record).take(2).all(|record| layout.is_of(record))
        };
        let found = LAYOUTS.iter().find(|layout| head.len() >= layout.record && of_it(layout));
        Self { layout: *found.unwrap_or(&LAYOUTS[0]) }
    }
}

impl Layout {
    fn is_of(&self, record: &[u8]) -> bool {
        le16(record, self.command + 2).is_some_and(|version| version >> 8 == self.version)
    }
}

impl Decoder for Vscsi {
    fn framing(&self) -> Framing {
        Framing::Records(self.layout.record)
    }

    fn tick(&self) -> u64 {
        1000
    }

    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        let at = &self.layout;
        if !at.is_of(piece) {
            return None;
        }
        let (lbn, ticks) = (le64(piece, at.lbn)?, le64(piece, at.time)?);
        let latency = at
            .response
            .and_then(|response| le64(piece, response))
            .map(|us| us.saturating_mul(1000));
        let op = match operation(le16(piece, at.command)?) {
            Ok(Op::Flush) => return Some(Line::Request(Entry { latency, ..Entry::flush(ticks) })),
            Ok(op) => op,
            Err(reason) => return Some(Line::Drop(reason)),
        };
        let bytes = u64::from(le32(piece, at.length)?);
        if bytes == 0 {
            return Some(Line::Drop(ZERO_LENGTH));
        }
        if lbn >= MAX_SECTOR {
            return None;
        }
        let altered = (!bytes.is_multiple_of(SECTOR)).then_some(WIDENED);
        let entry = Entry::new(ticks, op, lbn, bytes.div_ceil(SECTOR) as u32);
        Some(Line::Request(Entry { latency, altered, ..entry }))
    }

    fn expected(&self) -> &'static str {
        "a vscsi record: 32 bytes of version 1 or 40 of version 2, the same in the whole file, \
         with its block below 2^47"
    }
}

/// The operation of a SCSI command (SPC and SBC: READ, WRITE and SYNCHRONIZE CACHE of all lengths),
/// or why it is dropped.
fn operation(command: u16) -> Result<Op, &'static str> {
    Ok(match command {
        0x08 | 0x28 | 0x88 | 0xa8 => Op::Read,
        0x0a | 0x2a | 0x8a | 0xaa => Op::Write,
        0x35 | 0x91 => Op::Flush,
        0x42 => return Err("UNMAP: its ranges are not recorded"),
        0x41 | 0x93 => return Err("WRITE SAME: its range is not recorded"),
        _ => return Err("SCSI command that moves no data"),
    })
}

/// A file is of a version if its records say so, move data and go forward in time.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    LAYOUTS.iter().find_map(|layout| {
        let (mut of_it, mut data, mut all, mut last) = (0, 0, 0, 0);
        for record in head.bytes.chunks_exact(layout.record) {
            let time = le64(record, layout.time)?;
            // Commands end out of order by some time; a misread column leaps.
            let forward = time > 0 && time.saturating_add(60_000_000) >= last;
            let known = le16(record, layout.command).is_some_and(|command| command <= 0xff);
            let sane =
                le64(record, layout.lbn)? < MAX_SECTOR && le32(record, layout.length)? <= 1 << 28;
            of_it += usize::from(layout.is_of(record) && forward && known && sane);
            let moves =
                le16(record, layout.command).is_some_and(|command| operation(command).is_ok());
            let bytes = u64::from(le32(record, layout.length)?);
            data += usize::from(moves && bytes.is_multiple_of(SECTOR));
            all += 1;
            last = time;
        }
        let guess = Guess::by_records(TraceFormat::Vscsi, of_it, all)?;
        Some(guess.only_if(data * 2 > all, "most of them are no reads or writes of whole sectors"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{opener, read, records, short, spec};
    use crate::{Reading, survey};

    type Row = (u16, u32, u64, u64);

    const ROWS: [Row; 9] = [
        (0x2a, 512, 63, 5_000_000),
        (0x28, 4096, 64, 5_000_010),
        (0x88, 65536, 1 << 40, 5_000_030),
        (0xaa, 1024, 9, 5_000_020),
        (0x35, 0, 0, 5_000_040),
        (0x42, 24, 0, 5_000_050),
        (0x93, 512, 8, 5_000_060),
        (0x12, 36, 0, 5_000_070),
        (0x28, 0, 5, 5_000_080),
    ];

    fn v1((command, length, lbn, time): Row) -> Vec<u8> {
        let mut record = Vec::new();
        [7, length, 1].iter().for_each(|word: &u32| record.extend(word.to_le_bytes()));
        [command, 0x0100].iter().for_each(|half| record.extend(half.to_le_bytes()));
        [lbn, time].iter().for_each(|number| record.extend(number.to_le_bytes()));
        record
    }

    fn v2((command, length, lbn, time): Row) -> Vec<u8> {
        let mut record = Vec::new();
        [command, 0x0203].iter().for_each(|half| record.extend(half.to_le_bytes()));
        [7, length, 1].iter().for_each(|word: &u32| record.extend(word.to_le_bytes()));
        [lbn, time, 250].iter().for_each(|number| record.extend(number.to_le_bytes()));
        record
    }

    #[test]
    fn both_versions_are_found_and_read() {
        let first = read(ROWS.map(v1).concat()).unwrap();
        let what: Vec<_> = first.iter().map(|r| (r.op, short(r))).collect();
        assert_eq!(
            what,
            [
                (Op::Write, (0, 63, 1, 0)),
                (Op::Read, (10_000, 64, 8, 0)),
                (Op::Write, (20_000, 9, 2, 0)),
                (Op::Read, (30_000, 1 << 40, 128, 0)),
                (Op::Flush, (40_000, 0, 0, 0)),
            ]
        );
        assert_eq!(first[0].latency, None);
        let second = read(ROWS.map(v2).concat()).unwrap();
        assert_eq!(second.iter().map(|r| (r.op, short(r))).collect::<Vec<_>>(), what);
        assert!(second.iter().all(|r| r.latency.unwrap().as_ns() == 250_000));
    }

    #[test]
    fn commands_without_a_range_are_dropped_by_reason() {
        let summary = survey(&spec(), &mut opener(ROWS.map(v1).concat())).unwrap();
        assert_eq!(summary.dropped.total(), 4);
        for reason in ["UNMAP: its ranges are not recorded", "SCSI command that moves no data"] {
            assert_eq!(summary.dropped.get(reason), 1, "{reason}");
        }
    }

    #[test]
    fn a_single_record_is_enough_and_a_change_of_version_is_an_error() {
        assert_eq!(read(v2(ROWS[1])).unwrap().len(), 1);
        let mixed = [v1(ROWS[0]), v1(ROWS[1]), v2(ROWS[2]), v2(ROWS[3])].concat();
        let error = records(mixed, TraceFormat::Vscsi, Reading::default()).unwrap_err().to_string();
        assert!(error.contains("record 3") && error.contains("not a vscsi record"), "{error}");
        let cut = &ROWS.map(v1).concat()[..70];
        assert!(
            records(cut, TraceFormat::Vscsi, Reading::default())
                .unwrap_err()
                .to_string()
                .contains("truncated")
        );
    }
}
