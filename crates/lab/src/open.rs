//! Opens trace files: the one place where a trace meets the file system.
//!
//! Compressed files are read in place. The container is told by its first bytes, not by the file's name: downloaded
//! traces lose their endings, and some that end in `.gz` were unpacked on the way.

use manx_core::host::TraceSpec;
use manx_core::host::trace::{self, Opener, Part, Stream, TraceError, TraceSource, TraceSummary};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Large enough that a call into the system or a decompressor is rare; small enough for the cache.
const BUFFER: usize = 128 << 10;

/// Opens a Parquet file as the byte stream `manx-records`.
pub type ParquetOpener = fn(&Path) -> io::Result<Stream>;

static PARQUET: OnceLock<ParquetOpener> = OnceLock::new();

/// Says how Parquet is read. The lab does not know it itself: it is a feature of the program that uses the lab, which
/// calls this once, at its start; a second call changes nothing.
pub fn set_parquet_opener(opener: ParquetOpener) {
    let _ = PARQUET.set(opener);
}

/// What a file is wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Plain,
    Gzip,
    Zstd,
    Xz,
    Bzip2,
    Parquet,
}

/// Opens a trace for reading as text: plain, gzip, zstd, xz or bzip2, decompressed as it is read.
pub fn open_trace(path: &Path) -> Result<Stream, TraceError> {
    open(path).map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::NotFound => "there is no such file".to_string(),
            ErrorKind::PermissionDenied => "permission denied".to_string(),
            _ => error.to_string(),
        };
        TraceError::Open { file: name(path), reason }
    })
}

/// An opener of a file, for the passes of a survey and a replay.
pub fn opener(path: impl Into<PathBuf>) -> Opener {
    let path = path.into();
    Box::new(move || Ok(vec![Part { file: name(&path), stream: open_trace(&path)? }]))
}

/// The trace of `spec`, ready to be played on a device of `capacity_sectors`, and what it holds.
pub fn trace_source(spec: &TraceSpec, capacity_sectors: u64) -> Result<(TraceSource, TraceSummary), TraceError> {
    TraceSource::new(spec, capacity_sectors, opener(&spec.file))
}

/// What the trace of `spec` holds; no device is needed.
pub fn trace_summary(spec: &TraceSpec) -> Result<TraceSummary, TraceError> {
    trace::survey(spec, &mut opener(&spec.file))
}

fn open(path: &Path) -> io::Result<Stream> {
    if std::fs::metadata(path)?.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory; name a file in it"));
    }
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other(
            "it is a pipe or a device; a trace is read more than once, so save it to a file first",
        ));
    }
    let mut file = BufReader::with_capacity(BUFFER, File::open(path)?);
    Ok(match container(file.fill_buf()?) {
        Container::Plain => Box::new(file),
        // Members, frames and streams may follow one another in one file: logs are appended and rotated so.
        Container::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        Container::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(file)?;
            // Archives of large traces are made with `--long`; the decoder refuses them unless told.
            decoder.window_log_max(31)?;
            Box::new(decoder)
        }
        Container::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(file)),
        Container::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(file)),
        Container::Parquet => match PARQUET.get() {
            Some(opener) => opener(path)?,
            None => {
                return Err(io::Error::other(
                    "it is a Parquet file, which this program was built without: it needs the cargo feature `parquet`",
                ));
            }
        },
    })
}

fn container(head: &[u8]) -> Container {
    match head {
        [0x1f, 0x8b, ..] => Container::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Container::Zstd,
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Container::Xz,
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => Container::Bzip2,
        [b'P', b'A', b'R', b'1', ..] => Container::Parquet,
        _ => Container::Plain,
    }
}

fn name(path: &Path) -> Arc<str> {
    path.to_string_lossy().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    const TEXT: &[u8] = b"0 0 80 8 1\n1000 0 160 16 0\n";

    fn packed() -> Vec<(&'static str, Vec<u8>)> {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(TEXT).unwrap();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(TEXT).unwrap();
        let mut bz = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bz.write_all(TEXT).unwrap();
        vec![
            ("plain", TEXT.to_vec()),
            ("gz", gz.finish().unwrap()),
            ("zst", zstd::encode_all(TEXT, 1).unwrap()),
            ("xz", xz.finish().unwrap()),
            ("bz2", bz.finish().unwrap()),
        ]
    }

    fn scratch(name: &str, bytes: &[u8]) -> PathBuf {
        let path = std::env::temp_dir().join(format!("manx-open-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn a_container_is_told_by_its_bytes_and_read_to_its_end() {
        for (kind, bytes) in packed() {
            // Twice the file, one after the other, is one trace.
            let twice: Vec<u8> = bytes.iter().chain(&bytes).copied().collect();
            let path = scratch(&format!("{kind}.misleading.gz"), &twice);
            let mut text = Vec::new();
            open_trace(&path).unwrap().read_to_end(&mut text).unwrap();
            std::fs::remove_file(&path).unwrap();
            assert_eq!(text, [TEXT, TEXT].concat(), "{kind}");
        }
    }

    #[test]
    fn a_damaged_container_is_an_error_and_not_a_shorter_trace() {
        for (kind, bytes) in packed().into_iter().skip(1) {
            let path = scratch(&format!("cut-{kind}"), &bytes[..bytes.len() - 6]);
            let spec: TraceSpec = serde_json::from_value(serde_json::json!({ "file": path })).unwrap();
            let error = trace_summary(&spec).unwrap_err();
            std::fs::remove_file(&path).unwrap();
            assert!(matches!(error, TraceError::Read { .. }), "{kind}: {error}");
        }
    }

    #[test]
    fn a_parquet_file_is_opened_by_whoever_knows_it() {
        let path = scratch("t.parquet", b"PAR1....PAR1");
        let without = open_trace(&path).err().unwrap().to_string();
        assert!(without.contains("cargo feature `parquet`"), "{without}");
        set_parquet_opener(|path| Ok(Box::new(io::Cursor::new(path.to_string_lossy().into_owned()))));
        let mut stream = String::new();
        open_trace(&path).unwrap().read_to_string(&mut stream).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(Path::new(&stream), path);
    }

    #[test]
    fn an_error_of_the_system_names_the_path() {
        let missing = open_trace(Path::new("/nowhere/trace.csv")).err().unwrap().to_string();
        assert!(missing.contains("/nowhere/trace.csv") && missing.contains("no such file"), "{missing}");
        let directory = open_trace(&std::env::temp_dir()).err().unwrap().to_string();
        assert!(directory.contains("directory"), "{directory}");
    }
}
