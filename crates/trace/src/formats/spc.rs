//! The Storage Performance Council's trace format, in which UMass keeps Financial1/2 and
//! WebSearch1-3: `ASU,LBA,Size,Opcode,Timestamp[,optional fields]` (SPC Trace File Format
//! Specification, revision 1.0.1).
//!
//! The LBA counts blocks of 512 bytes within its application storage unit (ASU), so each ASU is a
//! device; the size is in BYTES; the opcode's case does not matter; the time is in seconds with a
//! fraction. Optional fields may follow on any line and spaces after any comma. A size of 0 is
//! legal, and is no request here.

use super::columns::{cell, exactly};
use crate::decode::{Decoder, DeviceName, Entry, Line, ZERO_LENGTH, sectors_of};
use crate::fields::whole;
use crate::sniff::{Guess, Head, Look};
use crate::{MAX_SECTOR, TraceFormat};
use manx_base::units::{Op, SECTOR};

/// Form of a line.
const EXPECTED: &str = "an SPC line: `ASU,LBA,size in bytes,r|w,seconds[,optional fields]`, \
                        the LBA in blocks of 512 bytes below 2^47, the size below 2 TiB, the \
                        seconds with at most 9 decimals";

/// Reads the SPC format.
pub struct Spc;

impl Decoder for Spc {
    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        parse(piece)
    }

    fn expected(&self) -> &'static str {
        EXPECTED
    }
}

/// Knows the format by its lines.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    head.by_lines(TraceFormat::Spc, &mut Spc, Look::Bytes, |_| true)
}

fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut rest = Some(line);
    let asu = whole(cell(&mut rest)?)?;
    let lba = whole(cell(&mut rest)?).filter(|lba| *lba < MAX_SECTOR)?;
    let size = whole(cell(&mut rest)?)?;
    let op = match cell(&mut rest)? {
        b"r" | b"R" => Op::Read,
        b"w" | b"W" => Op::Write,
        _ => return None,
    };
    let ticks = exactly(cell(&mut rest)?, 9)?;
    if size == 0 {
        return Some(Line::Drop(ZERO_LENGTH));
    }
    let (lba, sectors, altered) = sectors_of(lba * SECTOR, size)?;
    Some(Line::Request(
        Entry { altered, ..Entry::new(ticks, op, lba, sectors) }.on(DeviceName::Number(asu)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{opener, read, short, spec};
    use crate::{sniff, survey};

    const SPC: &str = "\
0,303567,3584,w,0.000000
1, 55590, 3072, R, 0.026214
0,303574,0,r,0.026682
12,1,1000,W,11.000000001,extra, fields 7
";

    #[test]
    fn the_lba_counts_blocks_and_the_size_bytes() {
        let records = read(SPC).unwrap();
        assert_eq!(
            records.iter().map(short).collect::<Vec<_>>(),
            [(0, 303_567, 7, 0), (26_214_000, 55_590, 6, 1), (11_000_000_001, 1, 2, 2)]
        );
        assert_eq!(
            records.iter().map(|r| r.op).collect::<Vec<_>>(),
            [Op::Write, Op::Read, Op::Write]
        );
    }

    #[test]
    fn an_asu_is_a_device_and_what_is_not_as_stated_is_counted() {
        let summary = survey(&spec(), &mut opener(SPC)).unwrap();
        assert_eq!(
            summary.devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(),
            ["0", "1", "12"]
        );
        assert_eq!((summary.dropped.get(ZERO_LENGTH), summary.altered.total()), (1, 1));
        assert_eq!(sniff::sniff(&spec(), &mut opener(SPC)).unwrap().format, TraceFormat::Spc);
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for wrong in [
            "0,303567,3584,x,0.0",
            "0,303567,3584,w",
            "0,303567,3584,w,",
            "0,303567,3584,w,-0.5",
            "0,140737488355328,512,w,0.0",
            "0,0,2199023255553,w,0.0",
            "0,0,512,w,0.0000000001",
            "0,0,512,w,18446744074.0",
            "a,0,512,w,0.0",
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
