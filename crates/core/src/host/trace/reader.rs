//! Any format as a stream of records: lines are read, devices numbered, times counted from the first record.

use super::error::shorten;
use super::lines::{Lines, is_binary};
use super::reorder::{Pending, Reorder};
use super::{Entry, Line, MAX_DEVICES, Place, Record, Stream, Tally, TraceError, ascii, blkparse, msr};
use super::{TimeUnit, TraceFormat, format_name, nanoseconds_per_tick};
use crate::units::{Duration, Lba};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reads a trace record by record, in constant memory.
///
/// Records come in the order of time: what is a little out of order is sorted within a window, and a time that still
/// goes back is clamped to the one before it and counted, so that [`Record::at`] never decreases.
pub struct TraceReader {
    file: Arc<str>,
    format: TraceFormat,
    unit: TimeUnit,
    lines: Lines,
    devices: Devices,
    clock: Clock,
    counts: ReadCounts,
    reorder: Reorder,
    /// The file is read to its end; the window may still hold records.
    ended: bool,
    /// The line of the record last returned.
    line: u64,
}

/// What to expect of a line whose device is one too many.
const TOO_MANY_DEVICES: &str = "of a trace of at most 65536 devices (is the format right?)";

/// What a reader met besides records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadCounts {
    pub(super) dropped: Tally,
    pub(super) altered: Tally,
    pub(super) skipped_lines: Tally,
}

impl TraceReader {
    /// A reader of `stream`, which errors call `file`. `unit` matters only to formats that leave it open.
    pub fn new(file: &str, format: TraceFormat, unit: TimeUnit, stream: Stream) -> Self {
        Self {
            file: file.into(),
            format,
            unit,
            lines: Lines::new(stream),
            devices: Devices::default(),
            clock: Clock { tick: nanoseconds_per_tick(format), first: None, last: 0, at: Duration::ZERO },
            counts: ReadCounts::default(),
            reorder: Reorder::default(),
            ended: false,
            line: 0,
        }
    }

    /// The next record, or `None` at the end of the file. After an error the reader is of no more use.
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        while !self.ended && !self.reorder.is_full() {
            match self.read()? {
                Some(pending) => self.reorder.push(pending),
                None => self.ended = true,
            }
        }
        let Some(pending) = self.reorder.pop() else {
            return Ok(None);
        };
        self.line = pending.line;
        let Some((at, clamped)) = self.clock.read(pending.ticks) else {
            let (place, text) = (self.place(), pending.ticks.to_string());
            return Err(TraceError::Line { place, text, expected: "a time within 584 years of the trace's first" });
        };
        if clamped {
            self.counts.altered.add("time went back: clamped to the one before");
        }
        Ok(Some(Record { at, ..pending.record }))
    }

    /// The next request of the file, in the file's order.
    fn read(&mut self) -> Result<Option<Pending>, TraceError> {
        loop {
            let before = self.lines.number;
            let line = match self.lines.next() {
                Ok(Some(line)) => line,
                Ok(None) => return Ok(None),
                Err(error) => {
                    let place = Place { file: self.file.clone(), line: before };
                    return Err(TraceError::Read { place, reason: error.to_string() });
                }
            };
            let parsed = match self.format {
                _ if line.too_long => None,
                TraceFormat::Msr => msr::parse(line.text),
                TraceFormat::Mqsim | TraceFormat::Ssdsim => ascii::parse(line.text, self.unit),
                TraceFormat::Blkparse => blkparse::parse(line.text),
            };
            match parsed {
                Some(Line::Request(entry)) => {
                    if let Some(record) = self.devices.record(&entry, nanoseconds_per_tick(self.format)) {
                        if let Some(reason) = entry.altered {
                            self.counts.altered.add(reason);
                        }
                        return Ok(Some(Pending { ticks: entry.ticks, line: before + 1, record }));
                    }
                    let text = line.text.to_vec();
                    return Err(self.malformed(&text, true, Some(TOO_MANY_DEVICES)));
                }
                Some(Line::Drop(reason)) => self.counts.dropped.add(reason),
                // A wrong guess of the format must not swallow a binary file as text that is no event.
                Some(Line::Skip(reason)) if reason != blkparse::NO_EVENT || !is_binary(line.text) => {
                    self.counts.skipped_lines.add(reason)
                }
                None if line.text.trim_ascii().is_empty() => self.counts.skipped_lines.add("blank line"),
                None if self.format == TraceFormat::Msr && before == 0 && msr::is_header(line.text) => {
                    self.counts.skipped_lines.add("header line");
                }
                Some(Line::Skip(_)) | None => {
                    let (text, ended) = (line.text.to_vec(), line.ended || line.too_long);
                    return Err(self.malformed(&text, ended, None));
                }
            }
        }
    }

    /// The number of the line of the record last returned, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The line of the record last returned.
    pub(super) fn place(&self) -> Place {
        Place { file: self.file.clone(), line: self.line }
    }

    /// Records that the file holds out of time order and that were put in order, so far.
    pub fn reordered(&self) -> u64 {
        self.reorder.moved
    }

    /// The names of the devices met so far; a record's `device` is a place in this list.
    pub fn device_names(&self) -> &[String] {
        &self.devices.names
    }

    /// The first and last time met, as the file states them (in the format's own clock).
    pub(super) fn ends(&self) -> (u64, u64) {
        (self.clock.first.unwrap_or(0), self.clock.last)
    }

    pub(super) fn counts(&self) -> &ReadCounts {
        &self.counts
    }

    #[cold]
    fn malformed(&self, line: &[u8], ended: bool, why: Option<&'static str>) -> TraceError {
        let place = Place { file: self.file.clone(), line: self.lines.number };
        let text = shorten(line);
        let expected = why.unwrap_or(match self.format {
            TraceFormat::Msr => msr::EXPECTED,
            TraceFormat::Mqsim | TraceFormat::Ssdsim => ascii::EXPECTED,
            TraceFormat::Blkparse => blkparse::EXPECTED,
        });
        match () {
            () if is_binary(line) => TraceError::NotText { place, text },
            () if !ended => TraceError::Truncated { place, text, expected },
            () => TraceError::Line { place, text, expected },
        }
    }
}

impl std::fmt::Debug for TraceReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TraceReader({} as {}, at line {})", self.file, format_name(self.format), self.lines.number)
    }
}

/// Counts times from the first record.
struct Clock {
    /// Nanoseconds in a tick.
    tick: u64,
    first: Option<u64>,
    last: u64,
    at: Duration,
}

impl Clock {
    /// The time since the first record and whether it had to be clamped; `None` if it does not fit.
    fn read(&mut self, ticks: u64) -> Option<(Duration, bool)> {
        // Subtract before converting: a FILETIME in nanoseconds leaves a signed 64-bit number.
        let first = *self.first.get_or_insert_with(|| {
            self.last = ticks;
            ticks
        });
        if ticks < self.last {
            return Some((self.at, true));
        }
        self.at = Duration::from_ns((ticks - first).checked_mul(self.tick)?);
        self.last = ticks;
        Some((self.at, false))
    }
}

/// The devices of a trace, numbered as they appear.
#[derive(Default)]
struct Devices {
    numbers: BTreeMap<Box<[u8]>, u32>,
    names: Vec<String>,
    /// Most records are of the same device as the one before.
    last_name: Box<[u8]>,
    last: u32,
}

impl Devices {
    /// The entry as a record of a numbered device, its time still open; `None` if there are too many devices.
    fn record(&mut self, entry: &Entry<'_>, tick: u64) -> Option<Record> {
        Some(Record {
            at: Duration::ZERO,
            op: entry.op,
            lba: Lba(entry.lba),
            sectors: entry.sectors,
            fua: entry.fua,
            device: self.number(entry.device)?,
            latency: entry.latency.map(|ticks| Duration::from_ns(ticks.saturating_mul(tick))),
        })
    }

    fn number(&mut self, name: &[u8]) -> Option<u32> {
        if !self.names.is_empty() && *self.last_name == *name {
            return Some(self.last);
        }
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None => {
                let number = u32::try_from(self.names.len()).ok().filter(|n| *n < MAX_DEVICES)?;
                self.numbers.insert(name.into(), number);
                self.names.push(shorten(name));
                number
            }
        };
        if self.last_name.len() == name.len() {
            self.last_name.copy_from_slice(name);
        } else {
            self.last_name = name.into();
        }
        self.last = number;
        Some(number)
    }
}
