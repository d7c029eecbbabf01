//! The traces of SYSTOR '17: `Timestamp,Response,IOType,LUN,Offset,Size`, with a header line (Lee
//! et al.: Understanding Storage Traffic Characteristics on Enterprise Virtual Desktop
//! Infrastructure, SYSTOR 2017; SNIA IOTTA trace 4928).
//!
//! The time is that of the issue, in Unix seconds with nine decimals: a double holds not even the
//! microseconds that are accurate, so it is read as a decimal. The response is in seconds, offset
//! and size in bytes. IOType is R, W or BLANK: what a blank one asked is not known, so it is
//! dropped and counted. One file holds one hour of one LUN.

use super::columns::{HEADER, cell, exactly, guess_by_header, is_header};
use crate::TraceFormat;
use crate::decode::{Decoder, DeviceName, Entry, Line, ZERO_LENGTH, sectors_of};
use crate::fields::whole;
use crate::sniff::{Guess, Head, Look};
use manx_base::units::Op;

/// Form of a line.
const EXPECTED: &str = "a SYSTOR '17 line: \
                        `Unix seconds,response in seconds,R|W|blank,LUN,offset in bytes,size in \
                        bytes`, the seconds with at most 9 decimals, offsets below 64 PiB, sizes \
                        below 2 TiB";

/// The header.
const NAMES: [&str; 6] = ["timestamp", "response", "iotype", "lun", "offset", "size"];

/// A record of which it is not known whether it read or wrote.
const BLANK: &str = "request of an unknown kind (IOType is blank)";

/// Reads the traces of SYSTOR '17.
pub struct Systor;

impl Decoder for Systor {
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
        Some(first) if is_header(first, &NAMES) => Some(guess_by_header(TraceFormat::Systor)),
        _ => head.by_lines(TraceFormat::Systor, &mut Systor, Look::Bytes, |_| true),
    }
}

fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut rest = Some(line);
    let ticks = exactly(cell(&mut rest)?, 9)?;
    let response = cell(&mut rest)?;
    let op = match cell(&mut rest)? {
        b"R" | b"r" => Some(Op::Read),
        b"W" | b"w" => Some(Op::Write),
        b"" => None,
        _ => return None,
    };
    let device = DeviceName::Number(whole(cell(&mut rest)?)?);
    let (offset, size) = (cell(&mut rest)?, cell(&mut rest)?);
    if rest.is_some() {
        return None;
    }
    let Some(op) = op else { return Some(Line::Drop(BLANK)) };
    let latency = Some(exactly(response, 9)?);
    let (offset, size) = (whole(offset)?, whole(size)?);
    if size == 0 {
        return Some(Line::Drop(ZERO_LENGTH));
    }
    let (lba, sectors, altered) = sectors_of(offset, size)?;
    Some(Line::Request(Entry { device, latency, altered, ..Entry::new(ticks, op, lba, sectors) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{opener, read, short, spec};
    use crate::{sniff, survey};
    use manx_base::units::Duration;

    const SYSTOR: &str = "\
Timestamp,Response,IOType,LUN,Offset,Size
1456135200.013118001,0.000806000,R,0,899056122368,131072
1456135200.013119000,0.001,W,4,4096,512
1456135200.013120000,0.000100000,,4,0,0
1456135200.013121000,0.000100000,W,0,8192,0
1456135201.013118002,12.000000001,W,0,8192,4096
";

    #[test]
    fn times_keep_all_their_digits() {
        let records = read(SYSTOR).unwrap();
        assert_eq!(
            records.iter().map(short).collect::<Vec<_>>(),
            [(0, 1_755_968_989, 256, 0), (999, 8, 1, 1), (1_000_000_001, 16, 8, 0)]
        );
        assert_eq!(
            records.iter().map(|r| r.op).collect::<Vec<_>>(),
            [Op::Read, Op::Write, Op::Write]
        );
        let latencies = [806_000, 1_000_000, 12_000_000_001].map(|ns| Some(Duration::from_ns(ns)));
        assert_eq!(records.iter().map(|r| r.latency).collect::<Vec<_>>(), latencies);
    }

    #[test]
    fn a_blank_type_is_dropped_and_counted() {
        let summary = survey(&spec(), &mut opener(SYSTOR)).unwrap();
        assert_eq!((summary.dropped.get(BLANK), summary.dropped.get(ZERO_LENGTH)), (1, 1));
        assert_eq!(summary.devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["0", "4"]);
        assert_eq!(
            (summary.first_time, summary.skipped_lines.get(HEADER)),
            (1_456_135_200_013_118_001, 1)
        );
    }

    #[test]
    fn it_is_known_with_and_without_its_header() {
        let format =
            |text: &str| sniff::sniff(&spec(), &mut opener(text)).map(|sniffed| sniffed.format);
        assert_eq!(format(SYSTOR), Ok(TraceFormat::Systor));
        let (_, headless) = SYSTOR.split_once('\n').unwrap();
        assert_eq!(format(headless), Ok(TraceFormat::Systor));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for wrong in [
            "1.5,0.1,R,0,0",
            "1.5,0.1,R,0,0,512,9",
            "1.5,0.1,X,0,0,512",
            "1.5,,R,0,0,512",
            "1.5e3,0.1,R,0,0,512",
            "1.5,0.1,R,,0,512",
            "1.0000000001,0.1,R,0,0,512",
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
