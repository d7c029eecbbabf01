//! Opens trace files: the one place where a trace meets the file system.
//!
//! Names that a user may give: a file; `archive.tar:path/in/archive`, a member of a tar archive;
//! `sda` for the files of all CPUs that blktrace wrote, `sda.blktrace.0` and so on. Each of them,
//! and an archive's members too, may be compressed (gzip, zstd, xz, bzip2). All is read in place.
//!
//! Reading order: [`opener`], `container`, `archive`, `per_cpu`.

mod archive;
mod container;
mod per_cpu;

use container::{BUFFER, Container, container, unwrap};
use manx_trace::{Opener, Part, Stream, TraceError, TraceSource, TraceSpec, TraceSummary};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Opens a Parquet file as the byte stream `manx-records`.
pub type ParquetOpener = fn(&Path) -> io::Result<Stream>;

static PARQUET: OnceLock<ParquetOpener> = OnceLock::new();

/// Says how Parquet is read. The lab does not know it itself: it is a feature of the program that
/// uses the lab, which calls this once, at its start; a second call changes nothing.
pub fn set_parquet_opener(opener: ParquetOpener) {
    let _ = PARQUET.set(opener);
}

/// An opener of what a user names, for the passes of a survey and a replay.
pub fn opener(path: impl Into<PathBuf>) -> Opener {
    let (path, mut found) = (path.into(), None);
    Box::new(move || {
        // The name is resolved once: walking a compressed archive takes as long as reading it.
        let sources = match &found {
            Some(sources) => sources,
            None => found.insert(resolve(&path)?),
        };
        sources.iter().map(Source::part).collect()
    })
}

/// The trace of `spec`, ready to be played on a device of `capacity_sectors`, and what it holds.
pub fn trace_source(
    spec: &TraceSpec,
    capacity_sectors: u64,
) -> Result<(TraceSource, TraceSummary), TraceError> {
    TraceSource::new(spec, capacity_sectors, opener(&spec.file))
}

/// Summary of the trace of `spec`; no device is needed.
pub fn trace_summary(spec: &TraceSpec) -> Result<TraceSummary, TraceError> {
    manx_trace::survey(spec, &mut opener(&spec.file))
}

/// The files on the disk in which a trace lies.
pub fn files_of(path: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let mut files: Vec<PathBuf> = resolve(path)?.into_iter().map(|source| source.file).collect();
    files.dedup();
    Ok(files)
}

/// Note on the file named, beside what is in it.
pub fn note(path: &Path) -> Option<String> {
    per_cpu::note(path)
}

/// A part of a trace: a file, or a member of an archive.
struct Source {
    file: PathBuf,
    member: Option<archive::Member>,
}

impl Source {
    fn part(&self) -> Result<Part, TraceError> {
        let (file, opened) = match &self.member {
            Some(member) => {
                let name = format!("{}:{}", self.file.display(), member.name);
                (name.into(), archive::open(&self.file, member))
            }
            None => (name(&self.file), open(&self.file)),
        };
        let stream = opened.map_err(|error| refused(file.clone(), &error))?;
        Ok(Part { file, stream })
    }
}

/// Sources that the user's name stands for.
fn resolve(path: &Path) -> Result<Vec<Source>, TraceError> {
    let error = match check(path) {
        Ok(()) => return whole(path),
        Err(error) => error,
    };
    let text = path.to_string_lossy();
    // A colon is part of many names, so the first one before which there is a file counts.
    let mut cuts =
        text.match_indices(':').map(|(colon, _)| (Path::new(&text[..colon]), &text[colon + 1..]));
    if let Some((file, member)) = cuts.find(|(file, _)| file.is_file()) {
        let refuse = |reason| TraceError::Open { file: name(path), reason };
        return match archive::is_tar(file) {
            Ok(true) => {
                archive::find(file, member).map(|members| in_archive(file, members)).map_err(refuse)
            }
            Ok(false) => Err(refuse(format!(
                "{} is no tar archive, so it has no member `{member}`",
                file.display()
            ))),
            Err(error) => Err(refused(name(path), &error)),
        };
    }
    let files = if error.kind() == ErrorKind::NotFound { per_cpu::files(path) } else { Vec::new() };
    match files.is_empty() {
        true => Err(refused(name(path), &error)),
        false => Ok(files.into_iter().map(|file| Source { file, member: None }).collect()),
    }
}

/// A file without a member named: itself, or what its archive holds.
fn whole(path: &Path) -> Result<Vec<Source>, TraceError> {
    let itself = || vec![Source { file: path.into(), member: None }];
    if !archive::is_tar(path).map_err(|error| refused(name(path), &error))? {
        return Ok(itself());
    }
    let members =
        archive::only(path).map_err(|reason| TraceError::Open { file: name(path), reason })?;
    Ok(members.map_or_else(itself, |members| in_archive(path, members)))
}

fn in_archive(file: &Path, members: Vec<archive::Member>) -> Vec<Source> {
    members.into_iter().map(|member| Source { file: file.into(), member: Some(member) }).collect()
}

fn check(path: &Path) -> io::Result<()> {
    let about = std::fs::metadata(path)?;
    if about.is_dir() {
        return Err(io::Error::new(
            ErrorKind::IsADirectory,
            "it is a directory; name a file in it",
        ));
    }
    if !about.is_file() {
        return Err(io::Error::other(
            "it is a pipe or a device; a trace is read more than once, so save it to a file first",
        ));
    }
    Ok(())
}

fn open(path: &Path) -> io::Result<Stream> {
    check(path)?;
    let mut file = BufReader::with_capacity(BUFFER, File::open(path)?);
    if container(file.fill_buf()?) != Container::Parquet {
        return unwrap(file);
    }
    match PARQUET.get() {
        Some(opener) => opener(path),
        None => Err(io::Error::other(
            "it is a Parquet file, which this program was built without: \
             it needs the cargo feature `parquet`",
        )),
    }
}

fn refused(file: Arc<str>, error: &io::Error) -> TraceError {
    let reason = match error.kind() {
        ErrorKind::NotFound if file.contains(char::REPLACEMENT_CHARACTER) => {
            "there is no such file; if its name is not UTF-8, a link to it needs one that is"
                .to_string()
        }
        ErrorKind::NotFound => "there is no such file".to_string(),
        ErrorKind::PermissionDenied => "permission denied".to_string(),
        _ => error.to_string(),
    };
    TraceError::Open { file, reason }
}

fn name(path: &Path) -> Arc<str> {
    path.to_string_lossy().into()
}

#[cfg(test)]
mod tests;
