//! Log of the replayer of the UCARE group (ttFlash, IODA, Heimdall, FlashNet):
//! `ts_ms,latency_us,type,size,offset[,submit_ms[,bytes_done]]`, without a header.
//!
//! 1 is a READ; size and offset are bytes, the size first. The time is the one that the replayed
//! trace asked for, in milliseconds with a fraction; the replayer's own, later time of submission
//! is passed over. A replay of a trace with whole seconds (Tencent) keeps them: its requests come
//! in one burst a second, and the latency is one in such a burst.

use super::columns::{cell, exactly, is_number};
use crate::TraceFormat;
use crate::decode::{Decoder, Entry, Line, ZERO_LENGTH, sectors_of};
use crate::fields::whole;
use crate::sniff::{Guess, Head, Look};
use manx_base::units::Op;

/// Form of a line.
const EXPECTED: &str = "a line of the UCARE replayer's log: \
                        `ms,latency in us,type,size in bytes,offset in bytes[,ms of submission[,\
                        bytes \
                        done]]`, type 1 for a read and 0 for a write, times with whole \
                        nanoseconds, offsets below 64 PiB, sizes below 2 TiB";

/// Reads the UCARE replayer's log.
pub struct UcareLog;

impl Decoder for UcareLog {
    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        parse(piece)
    }

    fn expected(&self) -> &'static str {
        EXPECTED
    }
}

/// Knows the format by its two last columns, the time of submission and the bytes done: five
/// columns of numbers are those of other logs too, fio's among them.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    let guess = head.by_lines(TraceFormat::UcareLog, &mut UcareLog, Look::Bytes, |_| true)?;
    let whole = head.lines.iter().filter(|line| is_whole(line)).count();
    let doubt = format!(
        "only {whole} have the two last columns, with as many bytes done as were asked for"
    );
    Some(if guess.doubt.is_some() {
        guess
    } else {
        guess.only_if(whole * 2 >= head.lines.len(), &doubt)
    })
}

/// True for a line of seven columns whose last is its size, or negative as for a request that
/// failed.
fn is_whole(line: &[u8]) -> bool {
    let cells: Vec<&[u8]> = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).collect();
    let [_, _, _, size, _, _, done] = cells.as_slice() else { return false };
    done == size || done.starts_with(b"-")
}

fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut rest = Some(line);
    let ticks = exactly(cell(&mut rest)?, 6)?;
    let latency = Some(exactly(cell(&mut rest)?, 3)?);
    let op = match cell(&mut rest)? {
        b"1" => Op::Read,
        b"0" => Op::Write,
        _ => return None,
    };
    let size = whole(cell(&mut rest)?)?;
    let offset = whole(cell(&mut rest)?)?;
    for _ in 0..2 {
        // Bytes done are negative where the replayed request failed.
        if rest.is_some() && !is_number(cell(&mut rest)?) {
            return None;
        }
    }
    if rest.is_some() {
        return None;
    }
    if size == 0 {
        return Some(Line::Drop(ZERO_LENGTH));
    }
    let (lba, sectors, altered) = sectors_of(offset, size)?;
    Some(Line::Request(Entry { latency, altered, ..Entry::new(ticks, op, lba, sectors) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceSpec;
    use crate::tests::{opener, records, short, spec};
    use crate::{Reading, sniff, survey};
    use manx_base::units::Duration;

    const LOG: &str = "\
1.500,134,1,4096,42242048,0.100,4096
1.500,250,0,8192,512,2.152,-5
2.000001,3672.5,1,1024,1000
3,1,0,0,512,3.0
";

    #[test]
    fn milliseconds_one_for_a_read_and_the_size_first() {
        let records = records(LOG, TraceFormat::UcareLog, Reading::default()).unwrap();
        assert_eq!(
            records.iter().map(short).collect::<Vec<_>>(),
            [(0, 82_504, 8, 0), (0, 1, 16, 0), (500_001, 1, 3, 0)]
        );
        assert_eq!(
            records.iter().map(|r| r.op).collect::<Vec<_>>(),
            [Op::Read, Op::Write, Op::Read]
        );
        let latencies = [134_000, 250_000, 3_672_500].map(|ns| Some(Duration::from_ns(ns)));
        assert_eq!(records.iter().map(|r| r.latency).collect::<Vec<_>>(), latencies);
        let named = TraceSpec { format: Some(TraceFormat::UcareLog), ..spec() };
        let summary = survey(&named, &mut opener(LOG)).unwrap();
        assert_eq!((summary.dropped.get(ZERO_LENGTH), summary.altered.total()), (1, 1));
    }

    #[test]
    fn it_is_known_by_its_two_last_columns_alone() {
        let whole = "1.500,134,1,4096,42242048,0.100,4096\n\
                     1.600,200,0,8192,512,0.2,8192\n1.7,90,0,512,0,1.1,-5\n";
        assert_eq!(
            sniff::sniff(&spec(), &mut opener(whole)).unwrap().format,
            TraceFormat::UcareLog
        );
        // A log of fio, and the same columns of a file that nobody knows.
        for doubtful in [
            "2, 309216, 0, 4096, 249856, 0\n3, 9000, 1, 8192, 512, 0\n",
            "1,2,1,512,1024\n2,3,0,512,512\n",
        ] {
            let error = sniff::sniff(&spec(), &mut opener(doubtful)).unwrap_err().to_string();
            assert!(error.contains("--format"), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for wrong in [
            "1.5,134,1,4096",
            "1.5,134,2,4096,512",
            "1.5,134,1,4096,512,",
            "1.5,134,1,4096,512,x",
            "1.5,134,1,4096,512,0.1,4096,9",
            "1.5000001,134,1,4096,512",
            "1.5,-1,1,4096,512",
            "1.5,134,1,4096,72057594037927936",
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
