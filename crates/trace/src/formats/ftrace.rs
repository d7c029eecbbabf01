//! The block events of ftrace as text, from tracefs' `trace` or `trace-cmd report`: `comm-pid [cpu]
//! flags seconds: event: ...` (include/trace/events/block.h of the kernel).
//!
//! ```text
//! block_bio_queue:   maj,min rwbs sector + sectors [comm]
//! block_rq_issue:    maj,min rwbs bytes (command) sector + sectors [comm]
//! block_rq_complete: maj,min rwbs (command) sector + sectors [error]
//! ```
//!
//! Newer kernels put the priority, `class,level,hint`, before the bracket. Names of processes hold
//! spaces and dashes, so a line is read from `: block_` on, both ways. Completions give requests
//! their latencies.

use super::blkparse::node;
use crate::decode::{Decoder, DeviceName, Entry, Line};
use crate::fields::{decimal, find, is_binary, last_word, whole, word};
use crate::rwbs::{AfterFlush, Flags, PASS_THROUGH, UNKNOWN_KIND};
use crate::sniff::{Guess, Head};
use crate::{TraceEvent, TraceFormat};
use memchr::memmem::Finder;

const QUEUE: &[u8] = b"block_bio_queue";
const ISSUE: &[u8] = b"block_rq_issue";
const COMPLETE: &[u8] = b"block_rq_complete";

/// Name of a block event of which no more is known.
const UNKNOWN: &str = "another block event";

/// Reads block events of ftrace.
pub struct Ftrace {
    event: TraceEvent,
    events: Events,
    after_flush: AfterFlush,
}

impl Ftrace {
    /// A reader that takes one kind of event.
    pub fn new(event: TraceEvent) -> Self {
        Self { event, events: Events::new(), after_flush: AfterFlush::default() }
    }
}

impl Decoder for Ftrace {
    fn has_completions(&self) -> bool {
        self.event != TraceEvent::Complete
    }

    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        let Some((time, name, fields)) = self.events.split(piece) else {
            return other_line(piece).map(Line::Skip);
        };
        let wanted = match self.event {
            TraceEvent::Queue => QUEUE,
            TraceEvent::Issue => ISSUE,
            TraceEvent::Complete => COMPLETE,
        };
        let is_completion = self.has_completions() && name == COMPLETE;
        if name != wanted && !is_completion {
            return Some(Line::Skip(other_event(name)));
        }
        let line = request(nanoseconds(time)?, fields)?;
        match line {
            Line::Request(entry) if is_completion => {
                Some(Line::Completion(entry, other_event(name)))
            }
            _ if is_completion => Some(Line::Skip(other_event(name))),
            line if self.event == TraceEvent::Queue => Some(self.after_flush.split(line)),
            line => Some(line),
        }
    }

    fn held(&mut self) -> Option<Entry<'_>> {
        self.after_flush.held()
    }

    fn expected(&self) -> &'static str {
        "a block event of ftrace: \
         `comm-pid [cpu] flags seconds: block_rq_issue: maj,min rwbs bytes () sector + sectors \
         [comm]` with decimal seconds (a trace_clock of another unit has none) and the sector \
         below 2^47"
    }
}

/// Knows the block events among the lines of ftrace.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    let format = TraceFormat::Ftrace;
    let events = Events::new();
    let (mut block, mut others) = (0, 0);
    for line in &head.lines {
        match events.split(line) {
            Some((time, name, _))
                if nanoseconds(time).is_some() && other_event(name) != UNKNOWN =>
            {
                block += 1
            }
            _ if line.starts_with(b"#") => {}
            _ => others += 1,
        }
    }
    let all = block + others;
    // Other events of the kernel stand between them in most traces.
    let why = format!("{block} of the first {all} lines are block events of ftrace");
    (block > 0).then(|| Guess { format, strength: (block * 100 / all) as u32, why, doubt: None })
}

/// Finds the events' names.
struct Events {
    start: Finder<'static>,
}

impl Events {
    fn new() -> Self {
        Self { start: Finder::new(b": block_") }
    }

    /// The time, the name and the fields of a block event.
    fn split<'a>(&self, line: &'a [u8]) -> Option<(&'a [u8], &'a [u8], &'a [u8])> {
        let place = self.start.find(line)?;
        let (mut head, tail) = (&line[..place], &line[place + 2..]);
        let end = find(tail, b':')?;
        let time = last_word(&mut head);
        // `comm-pid [cpu]` stands before it.
        (find(head, b'[').is_some() && find(head, b'-').is_some()).then_some((
            time,
            &tail[..end],
            &tail[end + 1..],
        ))
    }
}

/// Name of a line that is no block event.
fn other_line(line: &[u8]) -> Option<&'static str> {
    match line {
        [] => None,
        [b'#', ..] => Some("comment"),
        line if is_binary(line) || line.trim_ascii().is_empty() => None,
        line if memchr::memmem::find(line, b"LOST").is_some() => Some("notice of lost events"),
        _ => Some("line of another event"),
    }
}

/// Name of a block event that is not played.
fn other_event(name: &[u8]) -> &'static str {
    match name {
        QUEUE => "block_bio_queue",
        ISSUE => "block_rq_issue",
        COMPLETE => "block_rq_complete",
        b"block_rq_insert" => "block_rq_insert",
        b"block_rq_requeue" => "block_rq_requeue",
        b"block_bio_remap" | b"block_rq_remap" => "block_bio_remap or block_rq_remap",
        b"block_plug" | b"block_unplug" => "block_plug or block_unplug",
        b"block_getrq" => "block_getrq",
        _ => UNKNOWN,
    }
}

/// Seconds in nanoseconds; they must have a fraction.
fn nanoseconds(mut time: &[u8]) -> Option<u64> {
    find(time, b'.')?;
    let value = decimal(&mut time, 9)?;
    time.is_empty().then_some(value)
}

/// The fields of an event that has a range.
fn request(ticks: u64, fields: &[u8]) -> Option<Line<'static>> {
    let mut rest = fields;
    let device = DeviceName::Node(node(word(&mut rest))?);
    let letters = word(&mut rest);
    if letters.is_empty() || !letters.iter().all(u8::is_ascii_alphabetic) {
        return None;
    }
    // The number of bytes stands before the command, and a command need not be there.
    let mut ahead = rest;
    whole(word(&mut ahead));
    for start in [rest.trim_ascii_start(), ahead.trim_ascii_start()] {
        if let [b'(', tail @ ..] = start {
            let end = find(tail, b')')?;
            if end > 0 {
                return Some(Line::Drop(PASS_THROUGH));
            }
            rest = &tail[end + 1..];
            break;
        }
    }
    let lba = whole(word(&mut rest))?;
    if word(&mut rest) != b"+" {
        return None;
    }
    let sectors = u32::try_from(whole(word(&mut rest))?).ok()?;
    find(rest, b'[')?; // without it the line was cut
    let Some(flags) = Flags::read(letters) else { return Some(Line::Drop(UNKNOWN_KIND)) };
    flags.request(ticks, device, lba, sectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{opener, read, records, short, spec};
    use crate::{Reading, Record, TraceError, survey};
    use manx_base::units::Duration;
    use manx_base::units::Op;

    /// tracefs of an older kernel and of a newer one, and trace-cmd's report.
    const TEXT: &str = "\
# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
CPU:1 [LOST 12 EVENTS]
     my - prog-77      [001] d..1.  100.000001: block_bio_queue: 259,0 WS 1024 + 8 [my - prog]
     my - prog-77      [001] d..1.  100.000002: block_rq_insert: 259,0 WS 4096 () \
1024 + 8 [my - prog]
     my - prog-77      [001] d..1.  100.000010: block_rq_issue: 259,0 WS 4096 () \
1024 + 8 [my - prog]
  kworker/1:1H-99      [001] d..1.  100.000020: block_rq_issue: 259,0 FF 0 () 0 + 0 [kworker/1:1H]
  kworker/1:1H-99      [001] d..1.  100.000021: block_rq_issue: 259,0 FF 0 () \
0 + 0 none,0,0 [kworker/1:1H]
            dd-78      [000]   100.000030: block_rq_issue:       8,16 RA 131072 () \
2048 + 256 be,4,0 [dd]
            dd-78      [000]   100.000031: block_rq_issue: 8,16 R 36 (12 00 00 00 24 00) 0 + 0 [dd]
            dd-78      [000]   100.000032: sched_switch: prev_comm=dd
        <idle>-0       [001] d.h1.  100.000040: block_rq_complete: 259,0 FF () 0 + 0 [0]
        <idle>-0       [001] d.h1.  100.000050: block_rq_complete: 8,16 RA () \
2048 + 256 none,0,0 [0]
        <idle>-0       [001] d.h1.  100.000060: block_rq_complete: 259,0 WS () 1024 + 8 [0]
        <idle>-0       [001] d.h1.  100.000090: block_rq_complete: 259,0 FF () \
18446744073709551615 + 0 [0]
            dd-78      [000] d..1.  100.000100: block_rq_issue: 259,0 DS 0 () 4096 + 512 [dd]
            dd-78      [000] d..1.  100.000110: block_rq_issue: 259,0 WFS 512 () 9 + 1 [dd]
        <idle>-0       [001] d.h1.  100.000120: block_rq_complete: 259,0 WFS () 9 + 1 [0]
";

    fn what(records: &[Record]) -> Vec<(Op, u64, u64, u32, Option<u64>)> {
        let latency =
            |record: &Record| record.latency.map(|latency| Duration::as_ns(latency) / 1000);
        let us = |record: &Record| short(record).0 / 1000;
        records.iter().map(|r| (r.op, us(r), r.lba.0, r.device, latency(r))).collect()
    }

    #[test]
    fn issues_find_their_completions() {
        let records = read(TEXT).unwrap();
        assert_eq!(
            what(&records),
            [
                (Op::Write, 0, 1024, 0, Some(50)),
                (Op::Flush, 10, 0, 0, Some(20)),
                (Op::Flush, 11, 0, 0, Some(69)),
                (Op::Read, 20, 2048, 1, Some(20)),
                (Op::Trim, 90, 4096, 0, None),
                (Op::Write, 100, 9, 0, Some(10)),
            ]
        );
        assert_eq!(records.iter().map(|r| r.sectors).collect::<Vec<_>>(), [8, 0, 0, 256, 512, 1]);
        assert!(records[5].fua && !records[0].fua);
    }

    #[test]
    fn what_is_passed_over_is_counted() {
        let summary = survey(&spec(), &mut opener(TEXT)).unwrap();
        assert_eq!((summary.requests, summary.dropped.get(PASS_THROUGH)), (6, 1));
        let kinds = [
            ("comment", 2),
            ("notice of lost events", 1),
            ("block_rq_complete", 5),
            ("block_bio_queue", 1),
        ];
        for (kind, count) in
            kinds.into_iter().chain([("block_rq_insert", 1), ("line of another event", 1)])
        {
            assert_eq!(summary.skipped_lines.get(kind), count, "{kind}");
        }
        assert_eq!(
            (summary.devices[0].name.as_str(), summary.devices[1].name.as_str()),
            ("259,0", "8,16")
        );
    }

    #[test]
    fn another_event_can_be_played() {
        let with = |event| {
            let reading = Reading { event, ..Reading::default() };
            what(&records(TEXT, TraceFormat::Ftrace, reading).unwrap())
        };
        assert_eq!(with(TraceEvent::Queue), [(Op::Write, 0, 1024, 0, Some(59))]);
        let complete: Vec<_> =
            with(TraceEvent::Complete).iter().map(|(op, at, ..)| (*op, *at)).collect();
        let expected =
            [(Op::Flush, 0), (Op::Read, 10), (Op::Write, 20), (Op::Flush, 50), (Op::Write, 80)];
        assert_eq!(complete, expected);
    }

    #[test]
    fn an_issue_without_an_answer_holds_the_others_only_so_long() {
        let line = |at: u64, event: &str, sector: u64| {
            let bytes = if event == "issue" { "512 " } else { "" };
            format!("a-1 [000] d..1. {at}.5: block_rq_{event}: 8,0 R {bytes}() {sector} + 1 [a]\n")
        };
        let mut text = line(1, "issue", 7);
        for at in 2..6000 {
            text += &(line(at, "issue", at + 100) + &line(at + 1, "complete", at + 100));
        }
        text += &line(7000, "complete", 7);
        let records = read(text).unwrap();
        assert_eq!((records.len(), records[0].lba.0, records[0].latency), (5999, 7, None));
        assert!(
            records[1..]
                .iter()
                .all(|record| record.latency == Some(Duration::from_ns(1_000_000_000)))
        );
    }

    #[test]
    fn what_is_no_event_is_named() {
        let (good, bad) = (
            "8,0 R 512 () 8 + 1 [a]",
            ["8,0 R 512 () 8 + 1", "8,0 R 512 () 8 1 [a]", "8 R 8 + 1 [a]"],
        );
        let line = |time: &str, fields: &str| {
            format!("a-1 [000] d..1. {time}: block_rq_issue: {fields}\n")
        };
        let fault = |text: String| survey(&spec(), &mut opener(text)).unwrap_err();
        for bad in bad {
            let error = fault(line("1.5", good) + &line("1.6", bad));
            assert!(matches!(error, TraceError::Line { .. }), "{error}");
        }
        assert!(
            fault(line("1.5", good) + &line("123456", good)).to_string().contains("trace_clock")
        );
    }
}
