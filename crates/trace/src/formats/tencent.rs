//! Tencent CBS: `Timestamp,Offset,Size,IOType,VolumeID` (Zhang et al.: OSCA, USENIX ATC 2020; SNIA
//! IOTTA trace 27917).
//!
//! Offset and size are SECTORS of 512 bytes (users have taken them for bytes); 0 is a READ and 1 a
//! WRITE, the opposite of the ascii formats of the simulators. The clock has whole Unix seconds
//! only, so the requests of a second are spread over it unless told otherwise. Volumes are
//! interleaved.

use super::columns::{HEADER, cell, guess_by_header, is_header};
use crate::decode::{Decoder, DeviceName, Entry, Line, ZERO_LENGTH};
use crate::fields::whole;
use crate::sniff::{Guess, Head, Look};
use crate::{MAX_SECTOR, TraceFormat};
use manx_base::units::Op;

/// Form of a line.
const EXPECTED: &str = "a Tencent line: \
                        `Unix seconds,offset in sectors,size in sectors,0|1,volume`, in whole \
                        numbers, 0 for a read and 1 for a write, sectors below 2^47";

/// The header that some copies have.
const NAMES: [&str; 5] = ["timestamp", "offset", "size", "iotype", "volumeid"];

/// A second, in ticks.
const SECOND: u64 = 1_000_000_000;

/// Unix seconds of the years 2001 to 2096: in five columns of whole numbers, only such a time tells
/// the format.
const UNIX_SECONDS: std::ops::Range<u64> = 1_000_000_000 * SECOND..4_000_000_000 * SECOND;

/// Reads Tencent's block traces.
pub struct Tencent;

impl Decoder for Tencent {
    fn granularity(&self) -> u64 {
        SECOND
    }

    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        parse(piece).or_else(|| is_header(piece, &NAMES).then_some(Line::Skip(HEADER)))
    }

    fn expected(&self) -> &'static str {
        EXPECTED
    }
}

/// Knows the format by its header, or its lines with Unix seconds.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    match head.lines.first() {
        Some(first) if is_header(first, &NAMES) => Some(guess_by_header(TraceFormat::Tencent)),
        _ => head.by_lines(TraceFormat::Tencent, &mut Tencent, Look::Sectors, |entry| {
            UNIX_SECONDS.contains(&entry.ticks)
        }),
    }
}

fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut rest = Some(line);
    let ticks = whole(cell(&mut rest)?)?.checked_mul(SECOND)?;
    let lba = whole(cell(&mut rest)?).filter(|lba| *lba < MAX_SECTOR)?;
    let sectors = u32::try_from(whole(cell(&mut rest)?)?).ok()?;
    let op = match cell(&mut rest)? {
        b"0" => Op::Read,
        b"1" => Op::Write,
        _ => return None,
    };
    let device = DeviceName::Number(whole(cell(&mut rest)?)?);
    if rest.is_some() {
        return None;
    }
    match sectors {
        0 => Some(Line::Drop(ZERO_LENGTH)),
        _ => Some(Line::Request(Entry::new(ticks, op, lba, sectors).on(device))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spread;
    use crate::tests::{opener, read, records, short, spec};
    use crate::{Reading, TraceError, sniff, survey};

    const TENCENT: &str = "\
1538323200,12910952,128,0,1063
1538323200,6338688,8,1,1627
1538323200,3,0,1,1627
1538323200,1904106400,2,0,1277
1538323200,8,1,0,1063
1538323201,16,8,1,1063
";

    #[test]
    fn sectors_seconds_and_zero_for_a_read() {
        let records = read(TENCENT).unwrap();
        assert_eq!(
            records.iter().map(short).collect::<Vec<_>>(),
            [
                (0, 12_910_952, 128, 0),
                // The four requests of the first second are spread over it.
                (250_000_000, 6_338_688, 8, 1),
                (500_000_000, 1_904_106_400, 2, 2),
                (750_000_000, 8, 1, 0),
                (1_000_000_000, 16, 8, 0),
            ]
        );
        let ops = [Op::Read, Op::Write, Op::Read, Op::Read, Op::Write];
        assert_eq!(records.iter().map(|r| r.op).collect::<Vec<_>>(), ops);
        let summary = survey(&spec(), &mut opener(TENCENT)).unwrap();
        assert_eq!(
            (summary.dropped.get(ZERO_LENGTH), summary.altered.total(), summary.devices.len()),
            (1, 3, 3)
        );
    }

    #[test]
    fn times_stay_whole_seconds_where_no_spread_is_asked_for() {
        let reading = Reading { spread: Spread::None, ..Reading::default() };
        let records = records(TENCENT, TraceFormat::Tencent, reading).unwrap();
        let seconds: Vec<_> = records.iter().map(|r| r.at.as_ns()).collect();
        assert_eq!(seconds, [0, 0, 0, 0, SECOND]);
    }

    #[test]
    fn it_is_known_by_its_seconds_or_its_header() {
        let format =
            |text: &str| sniff::sniff(&spec(), &mut opener(text)).map(|sniffed| sniffed.format);
        assert_eq!(format(TENCENT), Ok(TraceFormat::Tencent));
        assert_eq!(
            format("Timestamp,Offset,Size,IOType,VolumeID\n5,0,8,0,1\n"),
            Ok(TraceFormat::Tencent)
        );
        assert!(matches!(format("5,0,8,0,1\n6,0,8,0,1\n"), Err(TraceError::UnknownFormat { .. })));
    }

    #[test]
    fn what_another_format_could_be_by_its_columns_alone_is_told_by_its_numbers() {
        let format =
            |text: &str| sniff::sniff(&spec(), &mut opener(text)).map(|sniffed| sniffed.format);
        // Writes of one sector; UCARE's log would be reads of one byte at 1063.
        assert_eq!(
            format("1538323200,12910952,1,1,1063\n1538323201,16,1,1,1063\n"),
            Ok(TraceFormat::Tencent)
        );
        // Temperature, humidity, a door, a number: neither.
        let error = read("1538323200,21,43,1,7\n1538323201,22,43,1,7\n").unwrap_err().to_string();
        for part in ["t.trace", "not taken for a trace", "tencent", "--format"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for wrong in [
            "1538323200,0,8,2,1",
            "1538323200,0,8,0",
            "1538323200,0,8,0,1,2",
            "1538323200.5,0,8,0,1",
            "99999999999,0,8,0,1",
            "1538323200,140737488355328,8,0,1",
            "1538323200,0,4294967296,0,1",
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
