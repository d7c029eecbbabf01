//! libCacheSim's csv of VMware vscsi traces: `version,time,op,size,lbn`, usually with this header
//! (CloudPhysics' traces, Waldspurger et al.: Efficient MRC Construction with SHARDS, FAST 2015;
//! libCacheSim, `data/cloudPhysicsIO.csv`).
//!
//! The op is the SCSI command's code in HEX, the size is in bytes, the logical block number counts
//! 512 bytes, and the time has lost all but whole seconds: the requests of a second are spread over
//! it unless told otherwise. The vscsi file of the same trace keeps microseconds.

use super::columns::{HEADER, bare_hexadecimal, cell, guess_by_header, is_header};
use crate::decode::{Decoder, Entry, Line, ZERO_LENGTH, sectors_of};
use crate::fields::whole;
use crate::sniff::{Guess, Head, Look};
use crate::{MAX_SECTOR, TraceFormat};
use manx_base::units::{Op, SECTOR};

/// Form of a line.
const EXPECTED: &str = "a libCacheSim csv line: \
                        `version,seconds,SCSI command in hex,size in bytes,logical \
                        block`, the version below 256, whole seconds, blocks of 512 \
                        bytes below 2^47, sizes below 2 TiB";

/// The header.
const NAMES: [&str; 5] = ["version", "time", "op", "size", "lbn"];

/// A second, in ticks.
const SECOND: u64 = 1_000_000_000;

/// A command that moves no data of a known range.
const OTHER_COMMAND: &str = "SCSI command that is neither a read, a write nor a flush";

/// Reads libCacheSim's csv.
pub struct Libcachesim;

impl Decoder for Libcachesim {
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

/// Knows the format by its header, or lines with known commands.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    match head.lines.first() {
        Some(first) if is_header(first, &NAMES) => Some(guess_by_header(TraceFormat::Libcachesim)),
        _ => head.by_lines(TraceFormat::Libcachesim, &mut Libcachesim, Look::Bytes, |entry| {
            entry.sectors > 0
        }),
    }
}

fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut rest = Some(line);
    whole(cell(&mut rest)?).filter(|version| *version < 256)?;
    let ticks = whole(cell(&mut rest)?)?.checked_mul(SECOND)?;
    let command =
        cell(&mut rest).filter(|command| command.len() <= 2).and_then(bare_hexadecimal)?;
    let size = whole(cell(&mut rest)?)?;
    let lbn = whole(cell(&mut rest)?)?;
    if rest.is_some() {
        return None;
    }
    let op = match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Op::Read, // READ (6), (10), (12), (16)
        0x0a | 0x2a | 0xaa | 0x8a => Op::Write, // WRITE likewise
        // SYNCHRONIZE CACHE (10), (16)
        0x35 | 0x91 => return Some(Line::Request(Entry::flush(ticks))),
        _ => return Some(Line::Drop(OTHER_COMMAND)),
    };
    if size == 0 {
        return Some(Line::Drop(ZERO_LENGTH));
    }
    if lbn >= MAX_SECTOR {
        return None;
    }
    let (lba, sectors, altered) = sectors_of(lbn * SECTOR, size)?;
    Some(Line::Request(Entry { altered, ..Entry::new(ticks, op, lba, sectors) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{opener, read, short, spec};
    use crate::{sniff, survey};

    const CSV: &str = "\
version,time,op,size,lbn
1,7000000,2a,512,1000
1,7000000,28,6656,18446744
1,7000003,35,0,0
1,7000003,12,36,0
1,7000003,8A,513,7
1,7000003,8,512,9
1,7000004,2a,0,9
";

    #[test]
    fn commands_are_in_hex_and_blocks_have_512_bytes() {
        let records = read(CSV).unwrap();
        let third = SECOND / 3;
        assert_eq!(
            records.iter().map(short).collect::<Vec<_>>(),
            [
                (0, 1000, 1, 0),
                (SECOND / 2, 18_446_744, 13, 0),
                (3 * SECOND, 0, 0, 0),
                (3 * SECOND + third, 7, 2, 0),
                (3 * SECOND + 2 * third, 9, 1, 0),
            ]
        );
        let ops = [Op::Write, Op::Read, Op::Flush, Op::Write, Op::Read];
        assert_eq!(records.iter().map(|r| r.op).collect::<Vec<_>>(), ops);
        let summary = survey(&spec(), &mut opener(CSV)).unwrap();
        assert_eq!((summary.dropped.get(ZERO_LENGTH), summary.dropped.get(OTHER_COMMAND)), (1, 1));
    }

    #[test]
    fn it_is_known_with_and_without_its_header() {
        let sniff = |text: &str| sniff::sniff(&spec(), &mut opener(text)).unwrap();
        assert_eq!(sniff(CSV).format, TraceFormat::Libcachesim);
        let (_, headless) = CSV.split_once('\n').unwrap();
        let sniffed = sniff(headless);
        assert_eq!(sniffed.format, TraceFormat::Libcachesim);
        assert!(sniffed.why.starts_with("4 of the first 7 lines are"), "{}", sniffed.why);
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for wrong in [
            "1,7,2a,512",
            "1,7,2a,512,9,9",
            "1,7.5,2a,512,9",
            "1,7,02a,512,9",
            "1,7,zz,512,9",
            "1,7,,512,9",
            "256,7,2a,512,9",
            "1,7,2a,512,140737488355328",
            "1,18446744074,2a,512,9",
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
