//! SNIA's Microsoft traces (Exchange, TPC-C, TPC-E, DevTools release, live maps, MSN, display ads):
//! Event Tracing for Windows as `xperf` prints it, csv with `BeginHeader` .. `EndHeader`
//! (Kavalanekar et al.: Characterization of Storage Workload Traces from Production Windows
//! Servers, IISWC 2008; the sets' README).
//!
//! * Each event has columns of its own, which the header names; they are found by name (newer
//!   versions have more).
//! * DiskRead and DiskWrite are logged at their COMPLETION: the issue is TimeStamp - ElapsedTime,
//!   so records leave the file in another order than they came, and one of before the trace's start
//!   is issued at 0. The Init events, logged at the issue, do not say what was asked, and are
//!   skipped.
//! * Times are in microseconds; ByteOffset and IOSize are HEX bytes; each DiskNum is a device.
//! * Process and file names hold commas, quotes and padding. So cells are counted from the left up
//!   to the process, whose end is the `(PID)` after it, and from there on; the file name comes last
//!   and is never reached.

use super::columns::{HEADER, Row, cell, guess_by_header, hexadecimal, is_named};
use crate::TraceFormat;
use crate::decode::{Decoder, DeviceName, Entry, Line, WIDENED, ZERO_LENGTH, sectors_of};
use crate::fields::{find, is_binary, whole};
use crate::sniff::{Guess, Head, Look};
use manx_base::units::Op;

/// Form of a line.
const EXPECTED: &str = "an event of a Windows trace: \
                        `DiskRead|DiskWrite,TimeStamp,process (PID),thread,IRP,ByteOffset,IOSize,\
                        ElapsedTime,DiskNum,...` or `DiskFlush` without offset and size, in the \
                        order of the header's columns, offset and size in hex with `0x`, below 64 \
                        PiB and 2 TiB, times in whole microseconds";

/// The request was under way when the trace began.
const EARLIER: &str = "issued before the trace's start: replayed at its start";

/// Both at once.
const EARLIER_AND_WIDENED: &str = "issued before the trace's start: replayed at its start; \
     not on 512-byte sectors: widened to whole ones";

/// Lines between the header and the events.
const NO_EVENT: &str = "text that is no event";

/// The columns of an event where no header names them: as the sets' README documents them.
const DOCUMENTED: [(Op, &[u8]); 3] = [
    (
        Op::Read,
        b"DiskRead,TimeStamp,Process Name ( \
          PID),ThreadID,IrpPtr,ByteOffset,IOSize,ElapsedTime,DiskNum",
    ),
    (
        Op::Write,
        b"DiskWrite,TimeStamp,Process Name ( \
          PID),ThreadID,IrpPtr,ByteOffset,IOSize,ElapsedTime,DiskNum",
    ),
    (Op::Flush, b"DiskFlush,TimeStamp,Process Name ( PID),ThreadID,IrpPtr,ElapsedTime,DiskNum"),
];

/// Reads Microsoft's traces.
pub struct Etw {
    in_header: bool,
    /// Of DiskRead, DiskWrite and DiskFlush.
    layouts: [Option<Layout>; 3],
}

/// Where the columns of an event stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    op: Op,
    /// From the line's start.
    time: usize,
    /// From the line's start; the others are counted from the process's end.
    process: usize,
    elapsed: usize,
    disk: usize,
    /// Offset and size; a flush has none.
    range: Option<(usize, usize)>,
}

impl Etw {
    /// A reader of the documented columns, until a header names others.
    pub fn new() -> Self {
        Self { in_header: false, layouts: DOCUMENTED.map(|(op, header)| Layout::of(op, header)) }
    }
}

impl Default for Etw {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder for Etw {
    fn tick(&self) -> u64 {
        1_000
    }

    fn window(&self) -> usize {
        // Completions are as far from the order of issues as requests pass others: a deep queue of
        // many disks.
        16384
    }

    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        let name = piece[..find(piece, b',').unwrap_or(piece.len())].trim_ascii();
        let disk_event = match name {
            b"DiskRead" => Some((0, Op::Read)),
            b"DiskWrite" => Some((1, Op::Write)),
            b"DiskFlush" => Some((2, Op::Flush)),
            _ => None,
        };
        match (disk_event, name) {
            (_, b"") => None,
            (_, b"BeginHeader") => {
                self.in_header = true;
                Some(Line::Skip(HEADER))
            }
            (_, b"EndHeader") => {
                self.in_header = false;
                Some(Line::Skip(HEADER))
            }
            (Some((place, op)), _) if self.in_header => {
                self.layouts[place] = Some(Layout::of(op, piece)?);
                Some(Line::Skip(HEADER))
            }
            (Some((place, _)), _) => self.layouts[place]?.parse(piece),
            (None, _) if self.in_header => (!is_binary(piece)).then_some(Line::Skip(HEADER)),
            (None, name) => other_event(name, piece),
        }
    }

    fn expected(&self) -> &'static str {
        EXPECTED
    }
}

/// Knows the format by the header's beginning, or its lines.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    match head.lines.first()?.trim_ascii() {
        b"BeginHeader" => Some(guess_by_header(TraceFormat::Etw)),
        _ => head.by_lines(TraceFormat::Etw, &mut Etw::new(), Look::Unmistakable, |_| true),
    }
}

/// The kind of an event that is no request.
fn other_event<'a>(name: &[u8], line: &[u8]) -> Option<Line<'a>> {
    if !name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/')) {
        // A wrong guess of the format must not swallow a binary file as text that is no event.
        return (!is_binary(line)).then_some(Line::Skip(NO_EVENT));
    }
    Some(Line::Skip(match name {
        b"DiskReadInit" | b"DiskWriteInit" | b"DiskFlushInit" => {
            "Init event (its completion is the record)"
        }
        _ if name.starts_with(b"FileIo") => "FileIo event",
        _ if name.starts_with(b"T-") || matches!(name, b"CSwitch" | b"ReadyThread") => {
            "thread event"
        }
        _ if name.starts_with(b"P-") => "process event",
        _ => "event of another kind",
    }))
}

impl Layout {
    /// From the line of a header; `None` if a column is missing or stands where it cannot be found.
    fn of(op: Op, header: &[u8]) -> Option<Self> {
        let row = Row::cut(header, b',')?;
        let process =
            row.cells().iter().position(|cell| is_named(&cell[..cell.len().min(7)], "process"))?;
        let time = row.place_of("TimeStamp").filter(|time| *time < process)?;
        let file = row.place_of("FileName").unwrap_or(row.count());
        let after =
            |name| row.place_of(name).filter(|place| *place < file)?.checked_sub(process + 1);
        let range = match op {
            Op::Flush => None,
            _ => Some((after("ByteOffset")?, after("IOSize")?)),
        };
        Some(Self {
            op,
            time,
            process,
            elapsed: after("ElapsedTime")?,
            disk: after("DiskNum")?,
            range,
        })
    }

    fn parse<'a>(&self, line: &'a [u8]) -> Option<Line<'a>> {
        let (mut rest, mut time) = (Some(line), None);
        for place in 0..self.process {
            let cell = cell(&mut rest)?;
            if place == self.time {
                time = Some(whole(cell)?);
            }
        }
        let (time, text) = (time?, rest?);
        let mut first = None;
        for comma in memchr::memchr_iter(b',', text) {
            first = first.or(Some(comma));
            if ends_in_pid(&text[..comma])
                && let Some(found) = self.after_process(time, &text[comma + 1..])
            {
                return Some(found);
            }
        }
        // A process without its id.
        self.after_process(time, &text[first? + 1..])
    }

    /// The part of an event after its process.
    fn after_process<'a>(&self, time: u64, text: &'a [u8]) -> Option<Line<'a>> {
        let (mut offset, mut size, mut elapsed, mut disk) = (0, 0, 0, 0);
        let (at_offset, at_size) = self.range.unwrap_or((usize::MAX, usize::MAX));
        let last = self
            .elapsed
            .max(self.disk)
            .max(self.range.map_or(0, |(offset, size)| offset.max(size)));
        let mut rest = Some(text);
        for place in 0..=last {
            let cell = cell(&mut rest)?;
            match place {
                _ if place == self.elapsed => elapsed = whole(cell)?,
                _ if place == self.disk => disk = whole(cell)?,
                _ if place == at_offset => offset = hexadecimal(cell)?,
                _ if place == at_size => size = hexadecimal(cell)?,
                _ => {}
            }
        }
        let earlier = (elapsed > time).then_some(EARLIER);
        let ticks = time.saturating_sub(elapsed);
        let latency = Some(elapsed.saturating_mul(1_000));
        let entry =
            Entry { latency, altered: earlier, ..Entry::flush(ticks).on(DeviceName::Number(disk)) };
        if self.op == Op::Flush {
            return Some(Line::Request(entry));
        }
        if size == 0 {
            return Some(Line::Drop(ZERO_LENGTH));
        }
        let (lba, sectors, widened) = sectors_of(offset, size)?;
        let altered = match (earlier, widened) {
            (Some(_), Some(_)) => Some(EARLIER_AND_WIDENED),
            (Some(reason), None) => Some(reason),
            (None, Some(_)) => Some(WIDENED),
            (None, None) => None,
        };
        Some(Line::Request(Entry { op: self.op, lba, sectors, altered, ..entry }))
    }
}

/// True if the text ends as a process does: `name ( 1234)`, or `Unknown (  -1)`.
fn ends_in_pid(text: &[u8]) -> bool {
    let Some(text) = text.trim_ascii_end().strip_suffix(b")") else { return false };
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let before = &text[..text.len() - digits];
    let before = before.strip_suffix(b"-").unwrap_or(before).trim_ascii_end();
    digits > 0 && before.ends_with(b"(")
}

#[cfg(test)]
#[path = "etw_tests.rs"]
mod tests;
