//! Which format a trace has, judged by its head, and whether its times are believable.
//!
//! The verdict is always reported with its reason, and a unit of time is never guessed in silence: the same records go
//! round in ns, us and ms under one name, and published runs have replayed them a thousand times too fast.

use super::decode::{Decoder, Line, Reading};
use super::error::shorten;
use super::fields::is_binary;
use super::format::Open;
use super::formats;
use super::formats::{ascii, msr};
use super::{Opener, Place, TimeUnit, TraceError, TraceFormat, unit_name, unit_ns};
use crate::host::TraceSpec;
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

/// The strength of a guess by a magic number or by a header that no other format has.
pub const HEADER: u32 = 1000;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sniffed {
    /// The format.
    pub format: TraceFormat,
    /// A sentence that says why.
    pub why: String,
    /// How it is to be read: units given or found; those that the format states are `None`.
    pub reading: Reading,
    /// What speaks for the units, where the format leaves them open.
    pub units_why: Option<String>,
}

/// The beginning of a file.
#[derive(Debug)]
pub struct Head<'a> {
    /// The file's name.
    pub file: Arc<str>,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Its lines that are not blank; the last one is left out where the head cuts it.
    pub lines: Vec<&'a [u8]>,
    /// The head is the whole file.
    pub is_whole: bool,
}

/// What a recogniser makes of a head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The format.
    pub format: TraceFormat,
    /// Lines that are of this format, of a hundred; [`HEADER`] for a magic number or a header that no other format has.
    pub strength: u32,
    /// A sentence that says why.
    pub why: String,
}

/// Those who know a format by its head. Two guesses that are equally strong are an error, not a choice.
const RECOGNISERS: [fn(&Head<'_>) -> Option<Guess>; 20] = [
    recognise_msr,
    recognise_ascii,
    formats::spc::recognise,
    formats::etw::recognise,
    formats::alibaba::recognise,
    formats::tencent::recognise,
    formats::systor::recognise,
    formats::wpa::recognise,
    formats::libcachesim::recognise,
    formats::ucare_log::recognise,
    formats::manx::recognise,
    formats::blkparse::recognise,
    formats::blktrace::recognise,
    formats::fio::recognise,
    formats::ftrace::recognise,
    formats::blkreplay::recognise,
    formats::fiu::recognise,
    formats::vscsi::recognise,
    formats::oracle::recognise,
    formats::manx_records::recognise,
];

/// Looks at the head of a trace. What `spec` gives is taken as it is; what is left open is found, or refused with the
/// candidates.
pub fn sniff(spec: &TraceSpec, open: &mut Opener) -> Result<Sniffed, TraceError> {
    let mut parts = open()?;
    let Some(part) = parts.first_mut() else { return Err(TraceError::Empty { file: spec.file.as_str().into() }) };
    let file = part.file.clone();
    let mut bytes = Vec::new();
    if let Err(error) = (&mut part.stream).take(HEAD).read_to_end(&mut bytes) {
        let place = Place { file, line: 0, is_record: false };
        return Err(TraceError::Read { place, reason: error.to_string() });
    }
    if bytes.trim_ascii().is_empty() {
        return Err(TraceError::Empty { file });
    }
    if bytes.starts_with(b"version https://git-lfs.github.com/spec/") {
        return Err(TraceError::GitLfsPointer { file });
    }
    let head = Head::of(file, &bytes);
    let (format, why) = match spec.format {
        Some(format) => (format, "as given".to_string()),
        None => recognise(&head)?,
    };
    let reading = Reading { time: spec.time_unit, lba: spec.lba_unit, event: spec.event, spread: spec.spread };
    settle(&head, Sniffed { format, why, reading, units_why: None })
}

impl<'a> Head<'a> {
    fn of(file: Arc<str>, bytes: &'a [u8]) -> Self {
        let is_whole = (bytes.len() as u64) < HEAD;
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let end = if is_whole { text.len() } else { text.iter().rposition(|b| *b == b'\n').unwrap_or(text.len()) };
        let lines = text[..end].split(|b| *b == b'\n').map(<[u8]>::trim_ascii_end).filter(|line| !line.is_empty());
        Self { file, bytes, lines: lines.collect(), is_whole }
    }

    /// The guess that follows from how many of the lines a decoder reads as requests; `None` below half of them, of
    /// those that the decoder does not know as something else.
    pub fn by_lines(&self, format: TraceFormat, decoder: &mut dyn Decoder) -> Option<Guess> {
        let (mut read, mut skipped) = (0, 0);
        for line in &self.lines {
            match decoder.decode(line) {
                Some(Line::Request(_) | Line::Held | Line::Drop(_)) => read += 1,
                Some(Line::Skip(_)) => skipped += 1,
                None => {}
            }
        }
        let all = self.lines.len() - skipped;
        let why = format!("{read} of the first {all} lines are {}", format.info().shape);
        (read > 0 && read * 2 >= all).then(|| Guess { format, strength: (read * 100 / all) as u32, why })
    }
}

impl Guess {
    /// The guess that follows from how many of the head's binary records a format would hold; `None` below nine of ten.
    pub(super) fn by_records(format: TraceFormat, of_it: usize, all: usize) -> Option<Self> {
        let why = format!("{of_it} of the first {all} records are {}", format.info().shape);
        (of_it > 0 && of_it * 10 >= all * 9).then(|| Guess { format, strength: (of_it * 100 / all) as u32, why })
    }
}

/// The strongest guess. One wrong line does not hide a format: the reader will name that line.
fn recognise(head: &Head<'_>) -> Result<(TraceFormat, String), TraceError> {
    let mut guesses: Vec<Guess> = RECOGNISERS.iter().filter_map(|recognise| recognise(head)).collect();
    guesses.sort_by_key(|guess| std::cmp::Reverse(guess.strength));
    let candidate = |guess: &Guess| format!("{}: {}", guess.format.name(), guess.why);
    match guesses.as_slice() {
        [] => {}
        [first, second, ..] if first.strength == second.strength => {
            let equal = guesses.iter().filter(|guess| guess.strength == first.strength);
            let candidates = equal.map(candidate).collect::<Vec<_>>().join("; ");
            return Err(TraceError::Ambiguous { file: head.file.clone(), candidates });
        }
        [first, second, ..] if first.strength < HEADER => {
            return Ok((first.format, format!("{} (less likely {})", first.why, candidate(second))));
        }
        [first, ..] => return Ok((first.format, first.why.clone())),
    }
    let text = shorten(head.lines.first().copied().unwrap_or_default());
    match head.lines.iter().position(|line| is_binary(line)) {
        Some(line) => {
            let place = Place { file: head.file.clone(), line: line as u64 + 1, is_record: false };
            Err(TraceError::NotText { place, text: shorten(head.lines[line]) })
        }
        None => Err(TraceError::UnknownFormat { file: head.file.clone(), text }),
    }
}

fn recognise_msr(head: &Head<'_>) -> Option<Guess> {
    head.by_lines(TraceFormat::Msr, &mut msr::Msr)
}

fn recognise_ascii(head: &Head<'_>) -> Option<Guess> {
    head.by_lines(
        TraceFormat::Ssdsim,
        &mut ascii::Ascii::new(Reading { time: Some(TimeUnit::S), ..Reading::default() }),
    )
}

/// Settles the units that the format leaves open.
fn settle(head: &Head<'_>, mut sniffed: Sniffed) -> Result<Sniffed, TraceError> {
    let (file, info) = (&head.file, sniffed.format.info());
    if info.time.is_none() && sniffed.reading.time.is_some() {
        return Err(TraceError::UnitIsStated { file: file.clone(), format: sniffed.format, option: "--time-unit" });
    }
    if info.lba.is_none() && sniffed.reading.lba.is_some() {
        return Err(TraceError::UnitIsStated { file: file.clone(), format: sniffed.format, option: "--lba-unit" });
    }
    let mut why = Vec::new();
    match (sniffed.reading.time, info.time) {
        (Some(unit), _) => why.push(format!("time unit {}, as given", unit_name(unit))),
        (None, Some(Open::Default(unit))) => {
            why.push(format!("time unit {}, which the format has unless told otherwise", unit_name(unit)));
        }
        (None, Some(Open::Judged(_))) => why.push(format!("time unit {}", Pace::of(&head.lines).judge(file)?)),
        (None, None) => {}
    }
    match (sniffed.reading.lba, info.lba) {
        (Some(unit), _) => why.push(format!("addresses in {}, as given", unit.name())),
        (None, Some(Open::Default(unit) | Open::Judged(unit))) => {
            why.push(format!("addresses in {}, which the format has unless told otherwise", unit.name()));
        }
        (None, None) => {}
    }
    sniffed.reading.time = sniffed.reading.time.or(info.time.map(Open::first));
    sniffed.reading.lba = sniffed.reading.lba.or(info.lba.map(Open::first));
    sniffed.units_why = (!why.is_empty()).then(|| why.join("; "));
    Ok(sniffed)
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
        write!(f, "{}: {}", self.format.name(), self.why)?;
        match &self.units_why {
            Some(why) => write!(f, "; {why}"),
            None => Ok(()),
        }
    }
}
