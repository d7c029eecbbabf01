//! Errors of a trace. Every error ends the reading, so that no run is played from half a file.

use super::{TimeUnit, TraceFormat};
use manx_base::units::Duration;
use std::fmt;
use std::sync::Arc;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file's name, as the user gave it.
    pub file: Arc<str>,
    /// The line, from 1; 0 is before the first.
    pub line: u64,
    /// It is a binary record, not a line.
    pub is_record: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file),
            line if self.is_record => write!(f, "{}: record {line}", self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// Why a trace cannot be read or played. All of them are the input's fault, not the program's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// The file could not be opened.
    Open {
        /// The file.
        file: Arc<str>,
        /// The system's message.
        reason: String,
    },
    /// Reading failed on the way: a broken disk, or a damaged compressed file.
    Read {
        /// After which line.
        place: Place,
        /// The system's message.
        reason: String,
    },
    /// A line is not what the format has.
    Line {
        /// Where.
        place: Place,
        /// The line, shortened.
        text: String,
        /// The line that the format has.
        expected: &'static str,
    },
    /// The last line has no end and is not whole: the file was cut.
    Truncated {
        /// Where.
        place: Place,
        /// The line, shortened.
        text: String,
        /// The line that the format has.
        expected: &'static str,
    },
    /// Bytes that no text has.
    NotText {
        /// Where.
        place: Place,
        /// The bytes, escaped and shortened.
        text: String,
    },
    /// A file that is plainly something else, with its kind.
    Foreign {
        /// The file.
        file: Arc<str>,
        /// Its kind, and a remedy.
        what: &'static str,
    },
    /// Nothing in the file.
    Empty {
        /// The file.
        file: Arc<str>,
    },
    /// The text that stands for a file in git LFS, in place of the file.
    GitLfsPointer {
        /// The file.
        file: Arc<str>,
    },
    /// No reader knows these lines.
    UnknownFormat {
        /// The file.
        file: Arc<str>,
        /// Its first line, shortened.
        text: String,
    },
    /// The lines fit a format, and are hardly requests.
    Doubtful {
        /// The file.
        file: Arc<str>,
        /// The formats, with what speaks for and against each.
        found: String,
    },
    /// Several formats have such lines.
    Ambiguous {
        /// The file.
        file: Arc<str>,
        /// The formats, each with what speaks for it.
        candidates: String,
    },
    /// The file was read to its end and holds no request.
    NoRequests {
        /// The file.
        file: Arc<str>,
        /// As which format it was read.
        format: TraceFormat,
        /// The lines that it held instead.
        held: String,
    },
    /// The unit of the times is not stated and the assumed one is not believable.
    TimeUnit {
        /// The file.
        file: Arc<str>,
        /// Evidence against nanoseconds.
        why: String,
        /// The other units and what each would mean.
        candidates: String,
        /// The finest of them in which the trace has an ordinary rate, if there is one.
        likely: Option<TimeUnit>,
    },
    /// The unit of addresses and sizes is not stated and the numbers do not decide it.
    LbaUnit {
        /// The file.
        file: Arc<str>,
        /// Evidence that leaves the doubt.
        why: String,
        /// The readings and what each would mean.
        candidates: String,
    },
    /// A unit was given for a format that states its own.
    UnitIsStated {
        /// The file.
        file: Arc<str>,
        /// The format.
        format: TraceFormat,
        /// The option that gave it.
        option: &'static str,
    },
    /// A device was asked for that the trace does not have.
    NoSuchDevice {
        /// The file.
        file: Arc<str>,
        /// Those that it does not have.
        missing: Vec<String>,
        /// Those that it has.
        known: Vec<String>,
    },
    /// A request lies beyond the device and no remapping was asked for.
    Beyond {
        /// Where.
        place: Place,
        /// First sector (after several devices were laid one after the other).
        lba: u64,
        /// Number of sectors.
        sectors: u32,
        /// Sectors the device has.
        capacity: u64,
    },
    /// The file is not in the order of time.
    OutOfOrder {
        /// The first request that comes too late in the file.
        place: Place,
        /// How many do.
        late: u64,
        /// Of how many.
        requests: u64,
        /// How far the farthest one lies behind a request that stands before it.
        farthest: Duration,
    },
    /// A setting of the replay is out of its range.
    Setting {
        /// The file.
        file: Arc<str>,
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// The allowed values.
        allowed: &'static str,
    },
    /// The file was not the same on a later pass.
    Changed {
        /// Where the difference showed.
        place: Place,
    },
}

impl fmt::Display for TraceError {
    /// In one line, whatever is in the file's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(&Said(self).to_string()))
    }
}

/// A text with its control characters as escapes.
pub fn escaped(text: &str) -> String {
    text.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}

/// An error as it is put, with names as they are.
struct Said<'a>(&'a TraceError);

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TraceError::Open { file, reason } => {
                write!(f, "{file}: cannot open the trace: {reason}")
            }
            TraceError::Read { place, reason } => {
                let after = if place.line == 0 { "" } else { " after this line" };
                write!(
                    f,
                    "{place}: reading the trace failed{after}: {reason}; \
                     is the file cut or damaged?"
                )
            }
            TraceError::Line { place, text, expected } => {
                write!(f, "{place}: `{text}` is not {expected}")
            }
            TraceError::Truncated { place, text, expected } => truncated(f, place, text, expected),
            TraceError::NotText { place, text } => not_text(f, place, text),
            TraceError::Foreign { file, what } => write!(f, "{file}: this is no trace but {what}"),
            TraceError::Empty { file } => write!(f, "{file}: the trace is empty"),
            TraceError::GitLfsPointer { file } => write!(
                f,
                "{file}: this is a git LFS pointer, not the trace it stands for; \
                 fetch the file itself with `git lfs pull`"
            ),
            TraceError::UnknownFormat { file, text } => unknown_format(f, file, text),
            TraceError::Doubtful { file, found } => write!(
                f,
                "{file}: not taken for a trace: {found}. \
                 If it is one, name its format with `--format`"
            ),
            TraceError::Ambiguous { file, candidates } => write!(
                f,
                "{file}: several formats have such lines; \
                 choose one with `--format`: {candidates}"
            ),
            TraceError::NoRequests { file, format, held } => {
                write!(f, "{file}: read as {}, the trace holds no request: {held}", format.name())
            }
            TraceError::TimeUnit { file, why, candidates: all, .. } => time_unit(f, file, why, all),
            TraceError::LbaUnit { file, why, candidates } => lba_unit(f, file, why, candidates),
            TraceError::UnitIsStated { file, format, option } => write!(
                f,
                "{file}: {} states its own units; \
                 remove `{option}` (`--rate-scale` replays faster or slower)",
                format.name()
            ),
            TraceError::NoSuchDevice { file, missing, known } => {
                no_such_device(f, file, missing, known)
            }
            TraceError::Beyond { place, lba, sectors, capacity } => write!(
                f,
                "{place}: a request for {sectors} sectors at LBA {lba} lies beyond the device, \
                 which has {capacity} sectors; \
                 choose a larger device or fit the addresses with `--remap modulo|dense|scale`"
            ),
            TraceError::OutOfOrder { place, late, requests, farthest } => {
                out_of_order(f, place, (*late, *requests), *farthest)
            }
            TraceError::Setting { file, key, value, allowed } => {
                write!(f, "{file}: {key} = {value} is not allowed: it must be {allowed}")
            }
            TraceError::Changed { place } => write!(
                f,
                "{place}: the trace is not the same as when it was surveyed; \
                 the replay stopped here"
            ),
        }
    }
}

fn truncated(f: &mut fmt::Formatter<'_>, place: &Place, text: &str, expected: &str) -> fmt::Result {
    write!(
        f,
        "{place}: the file is truncated: \
         its last line `{text}` has no end and is not {expected}"
    )
}

fn out_of_order(
    f: &mut fmt::Formatter<'_>,
    place: &Place,
    (late, requests): (u64, u64),
    farthest: Duration,
) -> fmt::Result {
    write!(
        f,
        "{place}: the trace is not in the order of time: from here on {late} of {requests} \
         requests are earlier than some that stand far before them, by up to {farthest}. Their \
         replay would have bursts that the trace never had; sort its lines by time first"
    )
}

fn not_text(f: &mut fmt::Formatter<'_>, place: &Place, text: &str) -> fmt::Result {
    write!(
        f,
        "{place}: this is not a text trace: it holds binary bytes (`{text}`); \
         if it is a binary trace that is cut or damaged, \
         `--format` names its format to see which record is wrong"
    )
}

fn unknown_format(f: &mut fmt::Formatter<'_>, file: &str, text: &str) -> fmt::Result {
    write!(
        f,
        "{file}: no known trace format has lines like `{text}`; \
         `manx trace formats` lists those that are known. \
         If it is one of them, name it with `--format` to see which line is wrong"
    )
}

fn time_unit(f: &mut fmt::Formatter<'_>, file: &str, why: &str, candidates: &str) -> fmt::Result {
    write!(
        f,
        "{file}: the format does not say in which unit its times are. {why}. \
         Give `--time-unit` (time_unit in a scenario): {candidates}"
    )
}

fn lba_unit(f: &mut fmt::Formatter<'_>, file: &str, why: &str, candidates: &str) -> fmt::Result {
    write!(
        f,
        "{file}: the lines do not say whether their addresses and sizes are bytes or sectors. \
         {why}. Give `--lba-unit` (lba_unit in a scenario): {candidates}"
    )
}

fn no_such_device(
    f: &mut fmt::Formatter<'_>,
    file: &str,
    missing: &[String],
    known: &[String],
) -> fmt::Result {
    const SHOWN: usize = 20;
    let shown = known.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("`, `");
    let more = match known.len().checked_sub(SHOWN) {
        None | Some(0) => String::new(),
        Some(more) => format!(" and {more} more"),
    };
    let missing = missing.join("`, `");
    write!(f, "{file}: the trace has no device `{missing}`; it has `{shown}`{more}")
}

impl std::error::Error for TraceError {}

/// A line as an error shows it: printable, at most 80 characters.
pub(super) fn shorten(line: &[u8]) -> String {
    const SHOWN: usize = 80;
    let head = &line[..line.len().min(SHOWN)];
    let mut text: String = String::from_utf8_lossy(head).chars().flat_map(printable).collect();
    if line.len() > SHOWN {
        text.push_str("...");
    }
    text
}

fn printable(character: char) -> Vec<char> {
    match character {
        '\t' => vec![' '],
        '\0' => vec!['\\', '0'],
        c if c.is_control() => c.escape_default().collect(),
        c => vec![c],
    }
}
