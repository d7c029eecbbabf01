//! fio's logs of latencies, as `write_lat_log` makes them (fio's HOWTO, "Log File Formats"; fio
//! 3.33, iolog.c): `ms, latency, direction, bytes, offset, priority`, a file for each job.
//!
//! * 0 is a READ, 1 a write, 2 a trim; the latency is in nanoseconds, offset and size are bytes.
//! * The time is that of the COMPLETION, in whole milliseconds since the job's start (or since
//!   1970): the request came at that time less its latency. In `NAME_clat` the latency counts from
//!   the submission, in `NAME_lat` from the creation of the request, in `NAME_slat` up to the
//!   submission, which says nothing of the device.
//! * The offset is there only with `log_offset=1`; without it a log has no addresses. With
//!   `log_avg_msec` it has no requests. Newer versions add columns after the priority, which are
//!   passed over.
//! * Logs of bandwidth and IOPS have the same columns with other values: only the file's name tells
//!   them apart, so a name that does not is refused.

use super::columns::{cell, hexadecimal, is_number};
use crate::TraceFormat;
use crate::decode::{Decoder, Entry, Line, WIDENED, ZERO_LENGTH, sectors_of};
use crate::fields::whole;
use crate::sniff::{Guess, Head, Look};
use manx_base::units::Op;

/// The shape of a line.
const EXPECTED: &str = "a line of fio's latency log: \
                        `ms, latency in ns, 0|1|2, bytes, offset, priority[, ...]`, 0 for a \
                        read, 1 for a write, 2 for a trim, in whole numbers, offsets below \
                        64 PiB, sizes below 2 TiB";

const NO_OFFSET: &str =
    "line without an offset, so without an address: record the log with `log_offset=1`";

const AVERAGE: &str = "average of several requests: record the log without `log_avg_msec`";

/// The request was under way when the job began, by what the log says.
const EARLIER: &str = "submitted before the log's start: replayed at its start";

const EARLIER_AND_WIDENED: &str = "submitted before the log's start: replayed at its start; \
     not on 512-byte sectors: widened to whole ones";

const MILLISECOND: u64 = 1_000_000;

/// Reads fio's latency logs.
pub struct FioLat;

impl Decoder for FioLat {
    fn window(&self) -> usize {
        // The lines are in the order of completions, as far from that of submissions as requests
        // pass others.
        16384
    }

    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        parse(piece)
    }

    fn expected(&self) -> &'static str {
        EXPECTED
    }
}

/// Knows the lines, where the file's name says that they are latencies.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    let guess = head.by_lines(TraceFormat::FioLat, &mut FioLat, Look::Bytes, |_| true)?;
    match Kind::of(head) {
        Some(Kind::Latency) => Some(guess),
        None => Some(guess.only_if(
            false,
            "fio's logs of bandwidth and IOPS have such lines too, and the name is neither",
        )),
        Some(Kind::Submission | Kind::Other) => None,
    }
}

/// Names a log of fio that is no trace.
pub fn other_log(head: &Head<'_>) -> Option<&'static str> {
    let is = |wanted: fn(&Line<'_>) -> bool| {
        let lines = head.lines.iter().filter(|line| parse(line).as_ref().is_some_and(wanted));
        lines.count() * 2 > head.lines.len()
    };
    let (requests, averages) =
        (is(|line| matches!(line, Line::Request(_))), is(|line| *line == Line::Drop(AVERAGE)));
    match Kind::of(head)? {
        Kind::Latency | Kind::Submission | Kind::Other if averages => Some(
            "a fio log of averages, which has no requests; record it without \
             `log_avg_msec`, with `log_offset=1`",
        ),
        Kind::Submission if requests => Some(
            "a fio log of the time before submissions (slat), not of a device; \
             take the one named _clat or _lat",
        ),
        Kind::Other if requests => Some(
            "a fio log of bandwidth or IOPS; `write_lat_log` with \
             `log_offset=1` writes one of requests",
        ),
        _ if is(|line| *line == Line::Drop(NO_OFFSET)) => Some(
            "a fio log without offsets, so without addresses; \
             record it with `write_lat_log` and `log_offset=1`",
        ),
        _ => None,
    }
}

/// The content of a log by the name that fio gave it.
#[derive(Clone, Copy)]
enum Kind {
    Latency,
    Submission,
    Other,
}

impl Kind {
    fn of(head: &Head<'_>) -> Option<Self> {
        let name = head.file.rsplit(['/', '\\']).next().unwrap_or_default();
        let names =
            [("_clat.", Kind::Latency), ("_lat.", Kind::Latency), ("_slat.", Kind::Submission)];
        let others = [("_bw.", Kind::Other), ("_iops.", Kind::Other)];
        names.into_iter().chain(others).find(|(part, _)| name.contains(part)).map(|(_, kind)| kind)
    }
}

fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut rest = Some(line);
    let at = whole(cell(&mut rest)?)?.checked_mul(MILLISECOND)?;
    let latency = whole(cell(&mut rest)?)?;
    let op = match cell(&mut rest)? {
        b"0" => Op::Read,
        b"1" => Op::Write,
        b"2" => Op::Trim,
        _ => return None,
    };
    let size = whole(cell(&mut rest)?)?;
    let fifth = cell(&mut rest)?;
    if rest.is_none() {
        // The priority alone.
        let is_priority = fifth.len() == 1 && is_number(fifth) || hexadecimal(fifth).is_some();
        return is_priority.then_some(Line::Drop(if size == 0 { AVERAGE } else { NO_OFFSET }));
    }
    let offset = whole(fifth)?;
    while rest.is_some() {
        let more = cell(&mut rest)?;
        if !is_number(more) && hexadecimal(more).is_none() {
            return None;
        }
    }
    if size == 0 {
        return Some(Line::Drop(if offset == 0 { AVERAGE } else { ZERO_LENGTH }));
    }
    let (lba, sectors, widened) = sectors_of(offset, size)?;
    let altered = match (latency > at, widened) {
        (true, Some(_)) => Some(EARLIER_AND_WIDENED),
        (true, None) => Some(EARLIER),
        (false, Some(_)) => Some(WIDENED),
        (false, None) => None,
    };
    let entry = Entry::new(at.saturating_sub(latency), op, lba, sectors);
    Some(Line::Request(Entry { latency: Some(latency), altered, ..entry }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceSpec;
    use crate::tests::{records, short, spec};
    use crate::{Opener, Part, Reading, TraceError, survey};

    /// Lines of fio 3.33 (randrw, `--log_offset=1`), the second with `--log_prio=1`.
    const LOG: &str = "\
2, 309216, 0, 4096, 249856, 0
2, 293899, 1, 8192, 3104768, 0x0000
3, 365003, 2, 8192, 3534848, 0
";

    fn named(name: &str, text: &str) -> Opener {
        let (name, text) = (name.to_string(), text.to_string());
        let part = move || Part {
            file: name.as_str().into(),
            stream: Box::new(std::io::Cursor::new(text.clone())),
        };
        Box::new(move || Ok(vec![part()]))
    }

    fn refused(name: &str, text: &str) -> String {
        let error = survey(&spec(), &mut named(name, text)).unwrap_err();
        assert!(
            matches!(error, TraceError::Foreign { .. } | TraceError::Doubtful { .. }),
            "{error}"
        );
        error.to_string()
    }

    #[test]
    fn a_zero_is_a_read_the_latency_is_in_ns_and_the_time_is_of_the_completion() {
        let records = records(LOG, TraceFormat::FioLat, Reading::default()).unwrap();
        // The first submitted is the one of 309,216 ns before 2 ms.
        let at = |ms: u64, ns: u64| ms * MILLISECOND - ns - (2 * MILLISECOND - 309_216);
        assert_eq!(
            records.iter().map(short).collect::<Vec<_>>(),
            [(0, 488, 8, 0), (at(2, 293_899), 6_064, 16, 0), (at(3, 365_003), 6_904, 16, 0)]
        );
        assert_eq!(
            records.iter().map(|r| r.op).collect::<Vec<_>>(),
            [Op::Read, Op::Write, Op::Trim]
        );
        assert_eq!(records[0].latency.map(|latency| latency.as_ns()), Some(309_216));
        for name in ["j_clat.1.log", "./runs/j_lat.log"] {
            let summary = survey(&spec(), &mut named(name, LOG)).unwrap();
            assert_eq!(
                (summary.format, summary.reads, summary.writes, summary.trims),
                (TraceFormat::FioLat, 1, 1, 1)
            );
        }
    }

    #[test]
    fn a_log_that_cannot_be_replayed_is_refused_with_what_to_do() {
        let without = "0, 182925, 0, 4096, 0\n0, 121008, 1, 8192, 0\n";
        let averages = "25, 152711, 0, 0, 0, 0\n25, 2673, 1, 0, 0, 0\n";
        let bare_averages = "27, 166449, 0, 0, 0\n27, 2775, 1, 0, 0\n";
        assert!(
            refused("j_clat.1.log", without)
                .contains("record it with `write_lat_log` and `log_offset=1`")
        );
        assert!(refused("j_lat.1.log", averages).contains("without `log_avg_msec`"));
        assert!(refused("j_lat.1.log", bare_averages).contains("without `log_avg_msec`"));
        assert!(refused("j_slat.1.log", LOG).contains("take the one named _clat or _lat"));
        assert!(refused("j_bw.1.log", LOG).contains("bandwidth or IOPS"));
        assert!(refused("j_iops.1.log", LOG).contains("bandwidth or IOPS"));
        assert!(
            refused("renamed.csv", LOG).contains("fio-lat")
                && refused("renamed.csv", LOG).contains("--format")
        );
        let named_format = TraceSpec { format: Some(TraceFormat::FioLat), ..spec() };
        let error =
            survey(&named_format, &mut named("renamed.csv", without)).unwrap_err().to_string();
        assert!(error.contains("log_offset=1"), "{error}");
        assert_eq!(survey(&named_format, &mut named("renamed.csv", LOG)).unwrap().requests, 3);
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for wrong in [
            "2, 3, 3, 4096, 0, 0",
            "2, 3, 0, 4096",
            "2.5, 3, 0, 4096, 0, 0",
            "2, 3, 0, 4096, 0, x",
            "2, -3, 0, 1, 0, 0",
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
