//! Which format a trace has, judged by its head, and whether its times are believable.
//!
//! The verdict is always reported with its reason, and a unit of time is never guessed in silence: the same records go
//! round in ns, us and ms under one name, and published runs have replayed them a thousand times too fast.

use super::error::shorten;
use super::lines::is_binary;
use super::{Line, Opener, Place, TimeUnit, TraceError, TraceFormat, ascii, blkparse, msr};
use super::{format_name, unit_is_open, unit_name, unit_ns};
use crate::units::SECTOR;
use std::io::Read;
use std::sync::Arc;

/// How much of a file is looked at.
const HEAD: u64 = 64 << 10;

/// More requests per second than this, no device of these traces served.
const PLAUSIBLE_RATE: u128 = 5_000_000;

/// More bytes per second than this no device of these traces moved: the link of a PCIe 4.0 x4 drive.
const PLAUSIBLE_BANDWIDTH: u128 = 8_000_000_000;

/// Fewer requests than this say nothing about a rate.
const ENOUGH: u64 = 100;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sniffed {
    /// The format.
    pub format: TraceFormat,
    /// A sentence that says why.
    pub why: String,
    /// The unit of the times: given, assumed, or [`TimeUnit::Ns`] where the format states its own.
    pub unit: TimeUnit,
    /// What speaks for the unit, where the format leaves it open.
    pub time_why: Option<String>,
}

/// Looks at the head of a trace. A `format` or `unit` that is given is taken as it is; what is left open is found, or
/// refused with the candidates.
pub fn sniff(
    file: &str,
    format: Option<TraceFormat>,
    unit: Option<TimeUnit>,
    open: &mut Opener,
) -> Result<Sniffed, TraceError> {
    let file: Arc<str> = file.into();
    let mut head = Vec::new();
    if let Err(error) = open()?.take(HEAD).read_to_end(&mut head) {
        return Err(TraceError::Read { place: Place { file, line: 0 }, reason: error.to_string() });
    }
    if head.trim_ascii().is_empty() {
        return Err(TraceError::Empty { file });
    }
    if head.starts_with(b"version https://git-lfs.github.com/spec/") {
        return Err(TraceError::GitLfsPointer { file });
    }
    let lines = whole_lines(&head);
    let (format, why) = match format {
        Some(format) => (format, "as given".to_string()),
        None => recognise(&file, &lines)?,
    };
    if !unit_is_open(format) {
        return match unit {
            Some(_) => Err(TraceError::UnitIsStated { file, format }),
            None => Ok(Sniffed { format, why, unit: TimeUnit::Ns, time_why: None }),
        };
    }
    let (unit, time_why) = match unit {
        Some(unit) => (unit, format!("{}, as given", unit_name(unit))),
        None => (TimeUnit::Ns, Pace::of(&lines).judge(&file)?),
    };
    Ok(Sniffed { format, why, unit, time_why: Some(time_why) })
}

/// The lines of the head that are not blank; the last one is left out where the head cut it.
fn whole_lines(head: &[u8]) -> Vec<&[u8]> {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let cut = head.len() as u64 + 3 >= HEAD;
    let end = if cut { head.iter().rposition(|b| *b == b'\n').unwrap_or(head.len()) } else { head.len() };
    head[..end].split(|b| *b == b'\n').map(<[u8]>::trim_ascii_end).filter(|line| !line.is_empty()).collect()
}

/// The format that reads half of the lines or more. One wrong line does not hide it: the reader will name that line.
fn recognise(file: &Arc<str>, lines: &[&[u8]]) -> Result<(TraceFormat, String), TraceError> {
    let count = |reads: &dyn Fn(&[u8]) -> bool| lines.iter().filter(|line| reads(line)).count();
    let counts = [
        (TraceFormat::Msr, count(&|line| msr::parse(line).is_some())),
        (TraceFormat::Ssdsim, count(&|line| ascii::columns(line).is_some())),
        (TraceFormat::Blkparse, count(&|line| matches!(blkparse::parse(line), Some(Line::Request(_) | Line::Drop(_))))),
    ];
    let all = lines.len();
    let shape = |format| match format {
        TraceFormat::Msr => "`ticks,host,disk,Read|Write,offset,size,response`",
        TraceFormat::Mqsim | TraceFormat::Ssdsim => "`time device sector sectors type` with type 0 or 1",
        TraceFormat::Blkparse => "blkparse events with action D",
    };
    if let Some((format, read)) = counts.into_iter().find(|(_, read)| *read > 0 && *read * 2 >= all) {
        return Ok((format, format!("{read} of the first {all} lines are {}", shape(format))));
    }
    // In blkparse text, events of one action are few among the others; a headless tail of messages may come first.
    let events = count(&|line| matches!(blkparse::parse(line), Some(Line::Skip(kind)) if kind != blkparse::NO_EVENT));
    let issued = counts[2].1;
    if (events + issued) * 2 > all {
        let why =
            format!("{} of the first {all} lines are blkparse events, {issued} of them with action D", events + issued);
        return Ok((TraceFormat::Blkparse, why));
    }
    let foreign =
        |line: &&&[u8]| msr::parse(line).is_none() && ascii::columns(line).is_none() && blkparse::parse(line).is_none();
    let text = shorten(lines.iter().find(foreign).or(lines.first()).copied().unwrap_or_default());
    match lines.iter().position(|line| is_binary(line)) {
        Some(line) => {
            let place = Place { file: file.clone(), line: line as u64 + 1 };
            Err(TraceError::NotText { place, text: shorten(lines[line]) })
        }
        None => Err(TraceError::UnknownFormat { file: file.clone(), text }),
    }
}

/// How fast the head of an ascii trace runs, in a unit that is not known.
struct Pace {
    requests: u64,
    bytes: u64,
    devices: u64,
    /// From the first to the last time, in the unknown unit.
    span: u64,
    /// Some time has a decimal fraction.
    has_fraction: bool,
    /// Every address and size is a multiple of 512.
    looks_like_bytes: bool,
}

impl Pace {
    fn of(lines: &[&[u8]]) -> Self {
        let mut pace = Pace { requests: 0, bytes: 0, devices: 0, span: 0, has_fraction: false, looks_like_bytes: true };
        let (mut first, mut last) = (u64::MAX, 0);
        let mut devices = std::collections::BTreeSet::new();
        for columns in lines.iter().filter_map(|line| ascii::columns(line)) {
            pace.requests += 1;
            pace.bytes = pace.bytes.saturating_add(columns.sectors.saturating_mul(SECTOR));
            pace.looks_like_bytes &= (columns.lba | columns.sectors).is_multiple_of(512);
            pace.has_fraction |= !columns.fraction.is_empty();
            (first, last) = (first.min(columns.time), last.max(columns.time));
            devices.insert(columns.device);
        }
        pace.devices = devices.len().max(1) as u64;
        pace.span = last.saturating_sub(first);
        pace
    }

    /// Why nanoseconds are believable, or the error that asks for a unit.
    fn judge(&self, file: &Arc<str>) -> Result<String, TraceError> {
        if self.has_fraction {
            let why = "They have a decimal fraction, so they are not nanoseconds".to_string();
            return Err(self.ask(file, why, &[TimeUnit::Us, TimeUnit::Ms, TimeUnit::S]));
        }
        let warning = self.warning();
        if self.requests < ENOUGH || self.span == 0 {
            return Ok(format!("not stated: assumed ns (too few requests to judge by the rate){warning}"));
        }
        let rate = self.rate_text(TimeUnit::Ns);
        if !self.is_plausible(TimeUnit::Ns) {
            let megabytes = self.bandwidth(TimeUnit::Ns) / 1_000_000;
            let devices =
                if self.devices == 1 { "one device".to_string() } else { format!("{} devices", self.devices) };
            let why =
                format!("As ns this trace runs at {rate} requests/s and {megabytes} MB/s on {devices}: implausible");
            return Err(self.ask(file, why, &[TimeUnit::Us, TimeUnit::Ms, TimeUnit::S, TimeUnit::Ns]));
        }
        let us = self.rate_text(TimeUnit::Us);
        Ok(format!(
            "not stated: assumed ns, plausible: the head runs at {rate} requests/s (us would be {us}/s){warning}"
        ))
    }

    fn ask(&self, file: &Arc<str>, why: String, units: &[TimeUnit]) -> TraceError {
        let candidate = |unit: &TimeUnit| {
            let verdict = if self.is_plausible(*unit) { "" } else { ", implausible" };
            format!("{} would be {}/s{verdict}", unit_name(*unit), self.rate_text(*unit))
        };
        let candidates: Vec<String> = units.iter().map(candidate).collect();
        TraceError::TimeUnit { file: file.clone(), why: why + self.warning(), candidates: candidates.join("; ") }
    }

    /// Replayers of the same look count in bytes; read as sectors, such a trace would be 512 times too large.
    fn warning(&self) -> &'static str {
        match self.looks_like_bytes && self.requests >= ENOUGH {
            true => ". Every address and size is a multiple of 512: are they bytes? This format has sectors",
            false => "",
        }
    }

    fn is_plausible(&self, unit: TimeUnit) -> bool {
        let devices = u128::from(self.devices);
        self.rate(unit) <= PLAUSIBLE_RATE * devices && self.bandwidth(unit) <= PLAUSIBLE_BANDWIDTH * devices
    }

    fn rate(&self, unit: TimeUnit) -> u128 {
        self.rate_milli(unit) / 1000
    }

    /// The rate to print, with decimals where it is small.
    fn rate_text(&self, unit: TimeUnit) -> String {
        match self.rate_milli(unit) {
            milli @ 0..100_000 => format!("{}.{:03}", milli / 1000, milli % 1000),
            milli => (milli / 1000).to_string(),
        }
    }

    /// Requests in a thousand seconds.
    fn rate_milli(&self, unit: TimeUnit) -> u128 {
        u128::from(self.requests) * 1_000_000_000_000 / self.span_ns(unit)
    }

    fn bandwidth(&self, unit: TimeUnit) -> u128 {
        u128::from(self.bytes) * 1_000_000_000 / self.span_ns(unit)
    }

    fn span_ns(&self, unit: TimeUnit) -> u128 {
        (u128::from(self.span) * u128::from(unit_ns(unit))).max(1)
    }
}

impl std::fmt::Display for Sniffed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", format_name(self.format), self.why)?;
        match &self.time_why {
            Some(why) => write!(f, "; time unit {why}"),
            None => Ok(()),
        }
    }
}
