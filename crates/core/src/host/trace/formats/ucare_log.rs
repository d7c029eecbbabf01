//! What the replayer of the UCARE group writes (ttFlash, IODA, Heimdall, FlashNet):
//! `ts_ms,latency_us,type,size,offset[,submit_ms[,bytes_done]]`, without a header.
//!
//! 1 is a READ; size and offset are bytes, the size first. The time is the one that the replayed trace asked for, in
//! milliseconds with a fraction; the replayer's own, later time of submission is passed over. A replay of a trace
//! with whole seconds (Tencent) keeps them: its requests come in one burst a second, and the latency is one in such a
//! burst.

use super::columns::{cell, exactly, guess_by_share, is_number};
use crate::drive::Op;
use crate::host::trace::TraceFormat;
use crate::host::trace::decode::{Decoder, Entry, Line, ZERO_LENGTH, sectors_of};
use crate::host::trace::fields::whole;
use crate::host::trace::sniff::{Guess, Head};

/// What a line must be.
const EXPECTED: &str = "a line of the UCARE replayer's log: `ms,latency in us,type,size in bytes,offset in bytes[,ms \
     of submission[,bytes done]]`, type 1 for a read and 0 for a write, times with whole nanoseconds, offsets below \
     64 PiB, sizes below 2 TiB";

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

/// Knows the format by its lines: numbers, of which the third is 0 or 1.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    guess_by_share(head, TraceFormat::UcareLog, |line| matches!(parse(line), Some(Line::Request(_))))
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
    use crate::host::trace::tests::{opener, read, short, spec};
    use crate::host::trace::{sniff, survey};
    use crate::units::Duration;

    const LOG: &str = "\
1.500,134,1,4096,42242048,0.100,4096
1.500,250,0,8192,512,2.152,-5
2.000001,3672.5,1,1024,1000
3,1,0,0,512,3.0
";

    #[test]
    fn milliseconds_one_for_a_read_and_the_size_first() {
        let records = read(LOG).unwrap();
        assert_eq!(
            records.iter().map(short).collect::<Vec<_>>(),
            [(0, 82_504, 8, 0), (0, 1, 16, 0), (500_001, 1, 3, 0)]
        );
        assert_eq!(records.iter().map(|r| r.op).collect::<Vec<_>>(), [Op::Read, Op::Write, Op::Read]);
        let latencies = [134_000, 250_000, 3_672_500].map(|ns| Some(Duration::from_ns(ns)));
        assert_eq!(records.iter().map(|r| r.latency).collect::<Vec<_>>(), latencies);
        let summary = survey(&spec(), &mut opener(LOG)).unwrap();
        assert_eq!((summary.dropped.get(ZERO_LENGTH), summary.altered.total()), (1, 1));
        assert_eq!(sniff::sniff(&spec(), &mut opener(LOG)).unwrap().format, TraceFormat::UcareLog);
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
