//! Alibaba's block traces: `device_id,opcode,offset,length,timestamp` (Li et al.: An In-Depth
//! Analysis of Cloud Block Storage Workloads in Large-Scale Production, IISWC 2020; the README of
//! github.com/alibaba/block-traces).
//!
//! Offset and length are bytes, the time is Unix MICROSECONDS and stands last. A thousand devices
//! are interleaved: the file is streamed, and one device is chosen by the selection.
//! `device_size.csv` beside it is no trace.

use super::columns::{HEADER, cell, guess_by_header, is_header};
use crate::TraceFormat;
use crate::decode::{Decoder, DeviceName, Entry, Line, ZERO_LENGTH, sectors_of};
use crate::fields::whole;
use crate::sniff::{Guess, Head, Look};
use manx_base::units::Op;

/// Form of a line.
const EXPECTED: &str = "an Alibaba line: \
                        `device,R|W,offset in bytes,length in bytes,microseconds`, in whole \
                        numbers, offsets below 64 PiB, lengths below 2 TiB";

/// The header that some copies have.
const NAMES: [&str; 5] = ["device_id", "opcode", "offset", "length", "timestamp"];

/// Reads Alibaba's block traces.
pub struct Alibaba;

impl Decoder for Alibaba {
    fn tick(&self) -> u64 {
        1_000
    }

    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        parse(piece).or_else(|| is_header(piece, &NAMES).then_some(Line::Skip(HEADER)))
    }

    fn expected(&self) -> &'static str {
        EXPECTED
    }
}

/// Knows the format by its header, or its lines.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    match head.lines.first() {
        Some(first) if is_header(first, &NAMES) => Some(guess_by_header(TraceFormat::Alibaba)),
        _ => head.by_lines(TraceFormat::Alibaba, &mut Alibaba, Look::Bytes, |_| true),
    }
}

fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut rest = Some(line);
    let device = DeviceName::Number(whole(cell(&mut rest)?)?);
    let op = match cell(&mut rest)? {
        b"R" | b"r" => Op::Read,
        b"W" | b"w" => Op::Write,
        _ => return None,
    };
    let offset = whole(cell(&mut rest)?)?;
    let length = whole(cell(&mut rest)?)?;
    let ticks = whole(cell(&mut rest)?)?;
    if rest.is_some() {
        return None;
    }
    if length == 0 {
        return Some(Line::Drop(ZERO_LENGTH));
    }
    let (lba, sectors, altered) = sectors_of(offset, length)?;
    Some(Line::Request(Entry { device, altered, ..Entry::new(ticks, op, lba, sectors) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{opener, read, short, spec};
    use crate::{sniff, survey};

    const ALIBABA: &str = "\
419,W,8792731648,16384,1577808144360767
725,R,59110326272,360448,1577808144360813
419,W,8792748032,0,1577808144360900
419,R,1000,24,1577808144361000
";

    #[test]
    fn bytes_and_microseconds() {
        let records = read(ALIBABA).unwrap();
        assert_eq!(
            records.iter().map(short).collect::<Vec<_>>(),
            [(0, 17_173_304, 32, 0), (46_000, 115_449_856, 704, 1), (233_000, 1, 1, 0)]
        );
        assert_eq!(
            records.iter().map(|r| r.op).collect::<Vec<_>>(),
            [Op::Write, Op::Read, Op::Read]
        );
        let summary = survey(&spec(), &mut opener(ALIBABA)).unwrap();
        assert_eq!(
            summary.devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(),
            ["419", "725"]
        );
        assert_eq!((summary.dropped.get(ZERO_LENGTH), summary.altered.total()), (1, 1));
    }

    #[test]
    fn a_header_is_unmistakable() {
        let text = format!("device_id,opcode,offset,length,timestamp\n{ALIBABA}");
        assert_eq!(read(&text).unwrap(), read(ALIBABA).unwrap());
        let why = sniff::sniff(&spec(), &mut opener(text)).unwrap().why;
        assert!(why.contains("header"), "{why}");
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for wrong in [
            "419,X,0,512,1",
            "419,R,0,512",
            "419,R,0,512,1,2",
            "419,R,0,512,1.5",
            "419,R,-1,512,1",
            "419",
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
        assert!(read("device_id,capacity\n419,42949672960\n").is_err());
    }
}
