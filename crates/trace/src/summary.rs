//! Summary of a trace's contents, for a person and for a program.

use super::error::escaped;
use super::sniff::Sniffed;
use super::{LbaUnit, Record, TimeUnit, TraceFormat};
use crate::{Layout, TraceEvent};
use manx_base::latency::OpStats;
use manx_base::units::{Op, SECTOR};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// How many of each kind, by reason, in alphabetical order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    /// One more for this reason.
    pub fn add(&mut self, reason: &'static str) {
        *self.0.entry(reason).or_default() += 1;
    }

    /// Another tally's counts beside these.
    pub fn merge(&mut self, other: &Tally) {
        for (reason, count) in other.iter() {
            *self.0.entry(reason).or_default() += count;
        }
    }

    /// The count for a reason.
    pub fn get(&self, reason: &str) -> u64 {
        self.0.get(reason).copied().unwrap_or(0)
    }

    /// All counts together.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The reasons and their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().map(|(reason, count)| (*reason, *count))
    }
}

impl fmt::Display for Tally {
    /// In one line: `3 of this, 1 of that`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (reason, count)) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{count} {reason}")?;
        }
        Ok(())
    }
}

/// Summary of a trace's contents. Counts are of the requests that are played; all others are under
/// `dropped`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceSummary {
    /// The file, as the user named it.
    pub file: String,
    /// Its format.
    pub format: TraceFormat,
    /// Why it was read so.
    pub format_why: String,
    /// The unit of its times; `None` where the format states it.
    pub time_unit: Option<TimeUnit>,
    /// The unit of its addresses and sizes; `None` where the format states it.
    pub lba_unit: Option<LbaUnit>,
    /// How believable the units are, where they are not stated.
    pub units_why: Option<String>,
    /// Requests.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Flushes among them.
    pub flushes: u64,
    /// Trims among them.
    pub trims: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Bytes trimmed.
    pub trim_bytes: u64,
    /// The first time, as the file states it, in ticks of `tick_ns` nanoseconds.
    pub first_time: u64,
    /// The last time, likewise.
    pub last_time: u64,
    /// Nanoseconds in a tick of the file's clock: 100 for MSR (since 1601), 1 for the others.
    pub tick_ns: u64,
    /// From the first to the last request.
    pub span_ns: u64,
    /// When the first request arrives; 0 unless `rebase = false` keeps its distance from the start
    /// of the trace.
    pub lead_ns: u64,
    /// The selection ended before the file did: what follows was not read.
    pub is_cut: bool,
    /// The devices, in the order in which they appear.
    pub devices: Vec<DeviceSummary>,
    /// How their address spaces become one, or do not.
    pub layout: Layout,
    /// Devices that were asked for and did not appear before the selection ended.
    pub devices_not_met: Vec<String>,
    /// The lowest sector touched on any device; `None` if none is.
    pub min_lba: Option<u64>,
    /// The highest sector touched on any device.
    pub max_lba: Option<u64>,
    /// Sectors that a device needs to hold the trace as it is, all of the trace's devices one after
    /// the other.
    pub address_space_sectors: u64,
    /// Requests that the file holds out of time order and that were put in order.
    pub reordered: u64,
    /// Requests not played, by reason.
    pub dropped: Tally,
    /// Requests played otherwise than stated, by reason.
    pub altered: Tally,
    /// Lines that are no requests, as the format foresees, by kind.
    pub skipped_lines: Tally,
    /// Requests and completions that did not find each other, by reason; empty where latencies are
    /// not made of events.
    pub unpaired: Tally,
    /// The span of the recorded latencies; `None` where none is recorded.
    pub recorded_span: Option<&'static str>,
    /// The recorded latencies of the requests.
    #[serde(skip)]
    pub recorded: Recorded,
}

/// How long requests took where they were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Those of reads.
    pub read: OpStats,
    /// Those of writes.
    pub write: OpStats,
}

impl Recorded {
    /// Adds another trace's latencies.
    pub fn merge(&mut self, other: &Recorded) {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
    }

    /// How many latencies there are.
    pub fn count(&self) -> u64 {
        self.read.count() + self.write.count()
    }
}

/// The span of a latency in this format, where the event of a request that is replayed is this one.
pub(super) fn recorded_span(format: TraceFormat, event: TraceEvent) -> &'static str {
    match (format.info().has_events, event) {
        (true, TraceEvent::Queue) => "from queue to completion (Q2C)",
        (true, TraceEvent::Issue | TraceEvent::Complete) => "from issue to completion (D2C)",
        (false, _) => "as the trace states it",
    }
}

/// One device of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeviceSummary {
    /// Its name in the trace.
    pub name: String,
    /// Its requests.
    pub requests: u64,
    /// The sector after the last one touched.
    pub end_lba: u64,
    /// Where its address space starts when all are laid one after the other.
    pub base_lba: u64,
}

impl TraceSummary {
    pub(super) fn new(file: &str, sniffed: &Sniffed) -> Self {
        Self {
            file: file.to_string(),
            format: sniffed.format,
            format_why: sniffed.why.clone(),
            time_unit: sniffed.reading.time,
            lba_unit: sniffed.reading.lba,
            units_why: sniffed.units_why.clone(),
            requests: 0,
            reads: 0,
            writes: 0,
            flushes: 0,
            trims: 0,
            read_bytes: 0,
            write_bytes: 0,
            trim_bytes: 0,
            first_time: 0,
            last_time: 0,
            tick_ns: 1,
            span_ns: 0,
            lead_ns: 0,
            is_cut: false,
            devices: Vec::new(),
            layout: Layout::default(),
            devices_not_met: Vec::new(),
            min_lba: None,
            max_lba: None,
            address_space_sectors: 0,
            reordered: 0,
            dropped: Tally::default(),
            altered: Tally::default(),
            skipped_lines: Tally::default(),
            unpaired: Tally::default(),
            recorded_span: None,
            recorded: Recorded::default(),
        }
    }

    pub(super) fn count(&mut self, record: &Record) {
        let bytes = u64::from(record.sectors) * SECTOR;
        if self.requests == 0 {
            self.lead_ns = record.at.as_ns();
        }
        self.requests += 1;
        self.span_ns = record.at.as_ns() - self.lead_ns;
        let (requests, total) = match record.op {
            Op::Read => (&mut self.reads, Some(&mut self.read_bytes)),
            Op::Write => (&mut self.writes, Some(&mut self.write_bytes)),
            Op::Trim => (&mut self.trims, Some(&mut self.trim_bytes)),
            Op::Flush => (&mut self.flushes, None),
        };
        *requests += 1;
        if let Some(total) = total {
            *total = total.saturating_add(bytes);
        }
        match (record.latency, record.op) {
            (Some(latency), Op::Read) => self.recorded.read.record(latency, bytes),
            (Some(latency), Op::Write) => self.recorded.write.record(latency, bytes),
            (Some(_), Op::Flush | Op::Trim) | (None, _) => {}
        }
        let index = record.device as usize;
        if index >= self.devices.len() {
            self.devices.resize_with(index + 1, DeviceSummary::default);
        }
        let device = &mut self.devices[index];
        device.requests += 1;
        if record.sectors > 0 {
            let end = record.lba.0 + u64::from(record.sectors);
            device.end_lba = device.end_lba.max(end);
            self.min_lba = Some(self.min_lba.map_or(record.lba.0, |lba| lba.min(record.lba.0)));
            self.max_lba = Some(self.max_lba.map_or(end - 1, |lba| lba.max(end - 1)));
        }
    }

    /// Reads among reads and writes, percent, to print.
    pub fn read_percent(&self) -> f64 {
        match self.reads + self.writes {
            0 => 0.0,
            both => 100.0 * self.reads as f64 / both as f64,
        }
    }

    /// Requests per second over the span, to print; `None` without a span.
    pub fn mean_rate(&self) -> Option<f64> {
        (self.span_ns > 0).then(|| self.requests as f64 * 1e9 / self.span_ns as f64)
    }
}

impl fmt::Display for TraceSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show_file(f)?;
        self.show_requests(f)?;
        self.show_devices(f)?;
        if self.reordered > 0 {
            writeln!(
                f,
                "reordered   {} requests that the file holds out of time order",
                self.reordered
            )?;
        }
        if let Some(span) = self.recorded_span {
            writeln!(
                f,
                "recorded    {} latencies of reads and writes, {span}",
                self.recorded.count()
            )?;
        }
        self.show_tallies(f)?;
        self.doubts().iter().try_for_each(|doubt| writeln!(f, "doubt       {doubt}"))
    }
}

impl TraceSummary {
    fn show_file(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "trace       {}", escaped(&self.file))?;
        writeln!(f, "format      {}: {}", self.format.name(), self.format_why)?;
        if let Some(why) = &self.units_why {
            writeln!(f, "units       {why}")?;
        }
        Ok(())
    }

    fn show_requests(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gb = |bytes: u64| bytes as f64 / 1e9;
        let tick = match (self.format, self.tick_ns) {
            (TraceFormat::Msr, _) => "x 100 ns since 1601".to_string(),
            (_, 1) => "ns".to_string(),
            (_, tick) => format!("x {tick} ns"),
        };
        writeln!(
            f,
            "requests    {} in {:.3} s{}",
            self.requests,
            self.span_ns as f64 / 1e9,
            rate(self.mean_rate())
        )?;
        writeln!(f, "times       {} to {} {tick}", self.first_time, self.last_time)?;
        writeln!(
            f,
            "reads       {} ({:.1} %), {:.3} GB",
            self.reads,
            self.read_percent(),
            gb(self.read_bytes)
        )?;
        writeln!(f, "writes      {}, {:.3} GB", self.writes, gb(self.write_bytes))?;
        if self.flushes + self.trims > 0 {
            writeln!(
                f,
                "flush, trim {} flushes, {} trims of {:.3} GB",
                self.flushes,
                self.trims,
                gb(self.trim_bytes)
            )?;
        }
        Ok(())
    }

    fn show_devices(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Some(min), Some(max)) = (self.min_lba, self.max_lba) {
            let space = self.address_space_sectors as f64 * SECTOR as f64 / (1u64 << 30) as f64;
            writeln!(
                f,
                "sectors     {min} to {max}; a device of {space:.2} GiB holds the trace as it is"
            )?;
        }
        match self.devices.len() {
            0 | 1 => {}
            many => {
                let how = match self.layout {
                    Layout::Concat => "their address spaces laid one after the other",
                    Layout::Overlay => "their address spaces laid upon each other",
                    Layout::Separate => "each with a drive of its own",
                };
                writeln!(f, "devices     {many}, {how}")?;
            }
        }
        if !self.devices_not_met.is_empty() {
            writeln!(
                f,
                "not met     `{}`, before the selection ended",
                self.devices_not_met.join("`, `")
            )?;
        }
        Ok(())
    }

    fn show_tallies(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tallies = [
            ("unpaired", &self.unpaired),
            ("dropped", &self.dropped),
            ("altered", &self.altered),
            ("skipped", &self.skipped_lines),
        ];
        for (name, tally) in tallies.into_iter().filter(|(_, tally)| !tally.is_empty()) {
            writeln!(f, "{name:<11} {}", tally.total())?;
            for (reason, count) in tally.iter() {
                writeln!(f, "{count:>20}  {reason}")?;
            }
        }
        Ok(())
    }
}

fn rate(rate: Option<f64>) -> String {
    rate.map_or(String::new(), |rate| format!(", {rate:.1}/s on average"))
}
