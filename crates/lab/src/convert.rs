//! A trace written in another format: the files around the core's converter.
//!
//! The output is written beside its place under another name and renamed when it is whole, so that
//! nothing half-written is ever found there. An ending `.gz` or `.zst` compresses a text.

use crate::open::opener;
use manx_trace::TraceSpec;
use manx_trace::convert::{About, Encoder, Losses, Records};
use manx_trace::{Opener, Record, TraceError, TraceSummary};
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes that are gathered before they are written.
const CHUNK: usize = 256 << 10;

/// Requests between two looks at the clock's side of things: progress, and whether to stop.
const STRIDE: u64 = 1 << 14;

/// A trace to convert, and its target.
pub struct Conversion<'a> {
    /// The trace and what of it.
    pub spec: &'a TraceSpec,
    /// The file to write; `-` is standard output.
    pub out: &'a Path,
    /// Overwrite a file that is there.
    pub force: bool,
    /// Makes the writer once the trace is surveyed.
    pub encoder: &'a dyn Fn(&About) -> Box<dyn Encoder>,
    /// Told how many requests are written, of how many; 0 while they are still surveyed.
    pub progress: &'a dyn Fn(u64, u64),
    /// Set to stop early.
    pub stop: &'a AtomicBool,
}

/// Outcome of a conversion.
#[derive(Debug)]
pub struct Converted {
    /// Summary of the trace that was read.
    pub summary: TraceSummary,
    /// Losses: the parts of the trace that the target does not hold.
    pub losses: Losses,
    /// Requests written.
    pub written: u64,
}

/// Why a trace was not converted.
#[derive(Debug)]
pub enum ConvertError {
    /// The trace cannot be read.
    Trace(Box<TraceError>),
    /// The output has no such place: where, and why. It is the user's to choose.
    Output(String),
    /// Writing failed on the way.
    Write(String),
    /// Standard output is closed: its reader has seen enough.
    Closed,
    /// It was asked to stop.
    Stopped,
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConvertError::Trace(error) => error.fmt(f),
            ConvertError::Output(why) | ConvertError::Write(why) => f.write_str(why),
            ConvertError::Closed => f.write_str("standard output was closed"),
            ConvertError::Stopped => f.write_str("interrupted; nothing was written"),
        }
    }
}

impl From<TraceError> for ConvertError {
    fn from(error: TraceError) -> Self {
        ConvertError::Trace(Box::new(error))
    }
}

/// Converts a trace.
pub fn convert(conversion: &Conversion<'_>) -> Result<Converted, ConvertError> {
    let Conversion { spec, out, .. } = *conversion;
    check_place(out, Path::new(&spec.file), conversion.force)?;
    let mut open: Opener = opener(&spec.file);
    (conversion.progress)(0, 0);
    let (about, summary) = About::survey(spec, &mut open)?;
    let mut records = Records::open(spec, &about, &mut open)?;
    let mut encoder = (conversion.encoder)(&about);
    // Told before: from here on there is something to remove.
    (conversion.progress)(0, about.requests);
    let mut place = Place::open(out)?;
    let failed = |error: io::Error| match (error.kind(), out == Path::new("-")) {
        (io::ErrorKind::BrokenPipe, true) => ConvertError::Closed,
        (_, true) => ConvertError::Write(format!("cannot write to standard output: {error}")),
        _ => ConvertError::Write(format!("{}: cannot write it: {error}", out.display())),
    };
    let (mut buffer, mut losses, mut count) = (Vec::with_capacity(2 * CHUNK), Losses::default(), 0);
    encoder.begin(&mut buffer).map_err(failed)?;
    while let Some(record) = next(&mut records, conversion, count, about.requests)? {
        encoder.encode(&record, &mut losses, &mut buffer).map_err(failed)?;
        count += 1;
        if buffer.len() >= CHUNK {
            place.sink.write_all(&buffer).map_err(failed)?;
            buffer.clear();
        }
    }
    encoder.end(&mut buffer).map_err(failed)?;
    place.sink.write_all(&buffer).map_err(failed)?;
    place.keep().map_err(failed)?;
    let written = count - losses.dropped.total();
    Ok(Converted { summary, losses, written })
}

fn next(
    records: &mut Records,
    conversion: &Conversion<'_>,
    count: u64,
    total: u64,
) -> Result<Option<Record>, ConvertError> {
    if count.is_multiple_of(STRIDE) {
        (conversion.progress)(count, total);
        if conversion.stop.load(Ordering::Relaxed) {
            return Err(ConvertError::Stopped);
        }
    }
    Ok(records.next_record()?)
}

/// Writes `text` as the output of something that was made of the trace `input`, under the rules of
/// a conversion: never in the trace's own place, in that of another file only by `force`, and never
/// by half. `make` is called once the place is known to be free.
pub fn write_output(
    out: &Path,
    input: &Path,
    force: bool,
    make: impl FnOnce() -> Result<String, TraceError>,
) -> Result<(), ConvertError> {
    check_place(out, input, force)?;
    let text = make()?;
    let failed = |error: io::Error| {
        ConvertError::Write(format!("{}: cannot write it: {error}", out.display()))
    };
    let mut place = Place::open(out)?;
    place.sink.write_all(text.as_bytes()).map_err(failed)?;
    place.keep().map_err(failed)
}

/// Refuses an output in whose place something is, before the trace is read.
fn check_place(out: &Path, input: &Path, force: bool) -> Result<(), ConvertError> {
    let name = out.display();
    if out == Path::new("-") {
        return Ok(());
    }
    let refuse = |why: &str| Err(ConvertError::Output(format!("{name}: {why}")));
    if out.file_name().is_none() {
        return refuse("this is no name of a file");
    }
    let Ok(about) = std::fs::metadata(out) else { return Ok(()) };
    if about.is_dir() {
        return refuse("this is a directory; name a file in it");
    }
    let is_input = match (std::fs::canonicalize(out), std::fs::canonicalize(input)) {
        (Ok(out), Ok(input)) => out == input,
        _ => false,
    };
    match (is_input, about.is_file(), force) {
        (true, ..) => refuse("this is the trace itself; the output needs another name"),
        (_, false, _) => refuse("this is a pipe or a device; `-` writes to standard output"),
        (_, true, false) => refuse("there is a file of that name; --force overwrites it"),
        (_, true, true) => Ok(()),
    }
}

/// Where the output goes until it is whole.
struct Place {
    sink: Sink,
    /// The name that it has meanwhile, and the one that it gets.
    names: Option<(PathBuf, PathBuf)>,
}

impl Place {
    fn open(out: &Path) -> Result<Self, ConvertError> {
        if out == Path::new("-") {
            return Ok(Self { sink: Sink::Plain(Box::new(io::stdout())), names: None });
        }
        // The process's number: two conversions to one place do not write into one another.
        let beside = out.with_added_extension(format!("{}.part", std::process::id()));
        let failed =
            |error| ConvertError::Output(format!("{}: cannot write it: {error}", out.display()));
        let file = File::create(&beside).map_err(failed)?;
        let names = Some((beside, out.to_path_buf()));
        let is_ending =
            |ending: &str| out.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending));
        let sink = match () {
            () if is_ending("gz") => {
                Sink::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
            }
            () if is_ending("zst") => Sink::Zstd(zstd::Encoder::new(file, 3).map_err(failed)?),
            () => Sink::Plain(Box::new(file)),
        };
        Ok(Self { sink, names })
    }

    /// The output is whole: it gets its name.
    fn keep(mut self) -> io::Result<()> {
        std::mem::replace(&mut self.sink, Sink::Plain(Box::new(io::sink()))).finish()?;
        if let Some((beside, out)) = &self.names {
            std::fs::rename(beside, out)?;
        }
        self.names = None;
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((beside, _)) = &self.names {
            // Half a file helps nobody; that it cannot be removed either changes nothing.
            let _ = std::fs::remove_file(beside);
        }
    }
}

enum Sink {
    Plain(Box<dyn Write>),
    Gzip(flate2::write::GzEncoder<File>),
    Zstd(zstd::Encoder<'static, File>),
}

impl Sink {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Sink::Plain(sink) => sink.write_all(bytes),
            Sink::Gzip(sink) => sink.write_all(bytes),
            Sink::Zstd(sink) => sink.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Sink::Plain(mut sink) => sink.flush(),
            Sink::Gzip(sink) => sink.finish().map(|_| ()),
            Sink::Zstd(sink) => sink.finish().map(|_| ()),
        }
    }
}
