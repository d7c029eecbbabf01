//! Which format a trace has, judged by its head, and whether its times are believable.
//!
//! The verdict is always reported with its reason, and a unit of time is never guessed in silence:
//! the same records go round in ns, us and ms under one name, and published runs have replayed them
//! a thousand times too fast. Nor is a format: what fits a format's columns and is hardly block I/O
//! (`evidence`) is refused. [`family`] judges the formats that look alike, by the [`pace`] that
//! each reading would mean.

mod evidence;
mod family;
pub(super) mod pace;

pub use evidence::Look;

use super::decode::{Decoder, Entry, Line, Reading};
use super::error::shorten;
use super::fields::is_binary;
use super::format::Open;
use super::formats;
use super::formats::msr;
use super::{Opener, Place, TraceError, TraceFormat, unit_name};
use crate::{Spread, TraceEvent, TraceSpec};
use evidence::Evidence;
use std::io::Read;
use std::sync::Arc;

/// How much of a file is looked at.
const HEAD: u64 = 64 << 10;

/// The strength of a guess by a magic number or by a header that no other format has.
pub const HEADER: u32 = 1000;

/// Format and units that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sniffed {
    /// The format.
    pub format: TraceFormat,
    /// A sentence that says why.
    pub why: String,
    /// How it is to be read: units given or found; those that the format states are `None`.
    pub reading: Reading,
    /// Evidence for the units, where the format leaves them open.
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

/// Judgement of a recogniser on a head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The format.
    pub format: TraceFormat,
    /// Lines that are of this format, of a hundred; [`HEADER`] for a magic number or a header that
    /// no other format has.
    pub strength: u32,
    /// A sentence that says why.
    pub why: String,
    /// Why the file is hardly of this format all the same.
    pub doubt: Option<String>,
}

/// Those who know a format by its head. Two guesses that are equally strong are an error, not a
/// choice.
const RECOGNISERS: [fn(&Head<'_>) -> Option<Guess>; 21] = [
    recognise_msr,
    family::recognise,
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
    formats::fio_lat::recognise,
    formats::ftrace::recognise,
    formats::blkreplay::recognise,
    formats::fiu::recognise,
    formats::vscsi::recognise,
    formats::oracle::recognise,
    formats::manx_records::recognise,
];

/// Looks at the head of a trace. What `spec` gives is taken as it is; what is left open is found,
/// or refused with the candidates.
pub fn sniff(spec: &TraceSpec, open: &mut Opener) -> Result<Sniffed, TraceError> {
    let (file, bytes) = first_head(spec, open)?;
    if bytes.starts_with(b"version https://git-lfs.github.com/spec/") {
        return Err(TraceError::GitLfsPointer { file });
    }
    let head = Head::of(file, &bytes);
    let (format, why) = match spec.format {
        Some(format) => (format, "as given".to_string()),
        None => recognise(&head, spec.time_unit.is_some() || spec.lba_unit.is_some())?,
    };
    // An archive that is cut is not opened as one. Only FIU's traces are found so, with remains of
    // it among the lines.
    if spec.format.is_none() && format != TraceFormat::Fiu && is_tar(head.bytes) {
        return Err(TraceError::Foreign { file: head.file, what: CUT_TAR });
    }
    let reading = Reading {
        time: spec.time_unit,
        lba: spec.lba_unit,
        event: spec.event,
        spread: spec.spread,
    };
    refuse_in_vain(&head, format, reading)?;
    let sniffed = Sniffed { format, why, reading, units_why: None };
    if family::has(format) {
        family::settle(&head, sniffed, spec.format)
    } else {
        settle(&head, sniffed)
    }
}

/// An event, or a way to spread requests over a second, of a format that has neither.
fn refuse_in_vain(
    head: &Head<'_>,
    format: TraceFormat,
    reading: Reading,
) -> Result<(), TraceError> {
    let refused = |key, value: &str, allowed| {
        let (file, value) = (head.file.clone(), value.to_string());
        Err(TraceError::Setting { file, key, value, allowed })
    };
    let info = format.info();
    if reading.event != TraceEvent::default() && !info.has_events {
        return refused("event", reading.event.name(), EVENT_ALLOWED);
    }
    let has_seconds = || (info.decoder)(head.bytes, reading).granularity() > 0;
    if reading.spread == Spread::None && !has_seconds() {
        return refused("spread", "none", SPREAD_ALLOWED);
    }
    Ok(())
}

const EVENT_ALLOWED: &str = "issue, the default: each line is one request, and only blktrace, \
                             blkparse and ftrace have events of which one kind is replayed";

const SPREAD_ALLOWED: &str = "even, the default: the times of this format are finer than seconds, \
                              and only a clock of whole seconds (tencent, libcachesim, \
                              oracle-general) leaves anything to spread";

/// The head of the first part that holds anything: blktrace leaves an empty file for a CPU that was
/// idle.
fn first_head(spec: &TraceSpec, open: &mut Opener) -> Result<(Arc<str>, Vec<u8>), TraceError> {
    let mut empty = None;
    for part in open()? {
        let (file, mut bytes) = (part.file, Vec::new());
        if let Err(error) = part.stream.take(HEAD).read_to_end(&mut bytes) {
            let place = Place { file, line: 0, is_record: false };
            return Err(TraceError::Read { place, reason: error.to_string() });
        }
        if !bytes.trim_ascii().is_empty() {
            return Ok((file, bytes));
        }
        empty.get_or_insert(file);
    }
    Err(TraceError::Empty { file: empty.unwrap_or_else(|| spec.file.as_str().into()) })
}

const CUT_TAR: &str = "a tar archive that is cut or damaged";

fn is_tar(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

/// Files that people take for a trace by mistake, by the first bytes of a head that no format
/// knows. The outermost compression is gone already, and so are whole archives.
fn foreign(head: &[u8]) -> Option<&'static str> {
    Some(match head {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            "UTF-16 text; `iconv -f UTF-16 -t UTF-8` makes it readable"
        }
        [0x1f, 0x8b, 8, ..] => "compressed once more (gzip); decompress it",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "compressed once more (zstd); decompress it",
        [0xfd, b'7', b'z', b'X', b'Z', ..] => {
            "compressed once more (xz), or its beginning is cut; decompress it"
        }
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => {
            "compressed once more (bzip2), or its beginning is cut; decompress it"
        }
        [b'P', b'K', 3, 4, ..] => "a zip archive; unpack it",
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => "a 7-Zip archive; unpack it",
        [b'R', b'a', b'r', b'!', ..] => "a RAR archive; unpack it",
        [b'%', b'P', b'D', b'F', ..] => "a PDF document",
        _ if is_tar(head) => CUT_TAR,
        _ if head.len() > 1 && head.iter().all(|byte| *byte == 0) => {
            "zeros: an empty tar archive, or a file whose content was never written"
        }
        _ => return None,
    })
}

impl<'a> Head<'a> {
    fn of(file: Arc<str>, bytes: &'a [u8]) -> Self {
        let is_whole = (bytes.len() as u64) < HEAD;
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let end = if is_whole {
            text.len()
        } else {
            text.iter().rposition(|b| *b == b'\n').unwrap_or(text.len())
        };
        let lines = text[..end]
            .split(|b| *b == b'\n')
            .map(<[u8]>::trim_ascii_end)
            .filter(|line| !line.is_empty());
        Self { file, bytes, lines: lines.collect(), is_whole }
    }

    /// The guess that follows from how many of the lines a decoder reads as requests that `accept`
    /// takes; `None` below half of them, of those that the decoder does not know as something else.
    pub fn by_lines(
        &self,
        format: TraceFormat,
        decoder: &mut dyn Decoder,
        look: Look,
        accept: fn(&Entry<'_>) -> bool,
    ) -> Option<Guess> {
        let (mut read, mut skipped, mut evidence) = (0, 0, Evidence::default());
        for line in &self.lines {
            match decoder.decode(line) {
                Some(Line::Request(entry)) if accept(&entry) => {
                    read += 1;
                    evidence.add_entry(&entry);
                }
                Some(Line::Skip(_) | Line::Completion(..)) => skipped += 1,
                Some(Line::Request(_) | Line::Held | Line::Drop(_)) | None => {}
            }
        }
        let all = self.lines.len() - skipped;
        let why = format!("{read} of the first {all} lines are {}", format.info().shape);
        let doubt = evidence.doubt(look);
        (read > 0 && read * 2 >= all).then(|| Guess {
            format,
            strength: (read * 100 / all) as u32,
            why,
            doubt,
        })
    }
}

impl Guess {
    /// The guess that follows from how many of the head's binary records a format would hold;
    /// `None` below nine of ten.
    pub(super) fn by_records(format: TraceFormat, of_it: usize, all: usize) -> Option<Self> {
        let why = format!("{of_it} of the first {all} records are {}", format.info().shape);
        let strength = (of_it * 100 / all.max(1)) as u32;
        (of_it > 0 && of_it * 10 >= all * 9).then_some(Guess { format, strength, why, doubt: None })
    }

    /// The same, of which there is a doubt if it is not `sure`.
    pub(super) fn only_if(self, sure: bool, doubt: &str) -> Self {
        if sure { self } else { Self { doubt: Some(doubt.to_string()), ..self } }
    }
}

/// The strongest guess of which there is no doubt; where `units_are_given`, the user knows it for a
/// look-alike. One wrong line does not hide a format: the reader will name that line.
fn recognise(head: &Head<'_>, units_are_given: bool) -> Result<(TraceFormat, String), TraceError> {
    let all = RECOGNISERS.iter().filter_map(|recognise| recognise(head));
    let is_sure =
        |guess: &Guess| guess.doubt.is_none() || units_are_given && family::has(guess.format);
    let (mut guesses, doubted): (Vec<Guess>, Vec<Guess>) = all.partition(is_sure);
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
            return Ok((
                first.format,
                format!("{} (less likely {})", first.why, candidate(second)),
            ));
        }
        [first, ..] => return Ok((first.format, first.why.clone())),
    }
    if let Some(what) = foreign(head.bytes).or_else(|| formats::fio_lat::other_log(head)) {
        return Err(TraceError::Foreign { file: head.file.clone(), what });
    }
    if !doubted.is_empty() {
        let doubted = doubted.iter().filter_map(|guess| Some((guess, guess.doubt.as_ref()?)));
        let found = doubted
            .map(|(guess, doubt)| format!("{}: {}, but {doubt}", guess.format.name(), guess.why));
        return Err(TraceError::Doubtful {
            file: head.file.clone(),
            found: found.collect::<Vec<_>>().join("; "),
        });
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
    head.by_lines(TraceFormat::Msr, &mut msr::Msr, Look::Bytes, |_| true)
}

/// Settles the units that the format leaves open.
fn settle(head: &Head<'_>, mut sniffed: Sniffed) -> Result<Sniffed, TraceError> {
    let (file, info) = (&head.file, sniffed.format.info());
    if info.time.is_none() && sniffed.reading.time.is_some() {
        return Err(TraceError::UnitIsStated {
            file: file.clone(),
            format: sniffed.format,
            option: "--time-unit",
        });
    }
    if info.lba.is_none() && sniffed.reading.lba.is_some() {
        return Err(TraceError::UnitIsStated {
            file: file.clone(),
            format: sniffed.format,
            option: "--lba-unit",
        });
    }
    let mut why = Vec::new();
    match (sniffed.reading.time, info.time) {
        (Some(unit), _) => why.push(format!("time unit {}, as given", unit_name(unit))),
        (None, Some(Open::Default(unit) | Open::Judged(unit))) => {
            why.push(format!("time unit {}, which the format has by default", unit_name(unit)));
        }
        (None, None) => {}
    }
    match (sniffed.reading.lba, info.lba) {
        (Some(unit), _) => why.push(format!("addresses in {}, as given", unit.name())),
        (None, Some(Open::Default(unit) | Open::Judged(unit))) => {
            why.push(format!("addresses in {}, which the format has by default", unit.name()));
        }
        (None, None) => {}
    }
    sniffed.reading.time = sniffed.reading.time.or(info.time.map(Open::first));
    sniffed.reading.lba = sniffed.reading.lba.or(info.lba.map(Open::first));
    sniffed.units_why = (!why.is_empty()).then(|| why.join("; "));
    Ok(sniffed)
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
