//! `--requests FILE`: every request of a run as a row of a Parquet file.

use manx_lab::run::Sink;
use std::path::Path;

/// Whether such a file can be asked for.
pub fn check(file: &Path) -> Result<(), String> {
    if cfg!(not(feature = "parquet")) {
        return Err(
            "this manx was built without the cargo feature `parquet`, which writes it".to_string()
        );
    }
    if !file.is_dir()
        && file.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("parquet"))
    {
        return Err("the file is Parquet: name one that ends in .parquet, or a folder".to_string());
    }
    Ok(())
}

/// Likewise, of what has one record and so takes no folder for several.
pub fn check_one(file: &Path) -> Result<(), String> {
    check(file)?;
    match file.is_dir() {
        true => Err("this is a folder: name a file in it that ends in .parquet".to_string()),
        false => Ok(()),
    }
}

/// Writer of the requests of one run.
#[cfg(feature = "parquet")]
pub fn make(path: &Path, with_parts: bool) -> Result<Box<dyn Sink>, String> {
    Ok(Box::new(parquet::RequestsFile::create(path, with_parts)?))
}

/// Never asked for: [`check`] has refused it.
#[cfg(not(feature = "parquet"))]
pub fn make(file: &Path, _with_parts: bool) -> Result<Box<dyn Sink>, String> {
    check(file).map(|()| unreachable!("it was refused"))
}

#[cfg(feature = "parquet")]
mod parquet {
    use manx_core::drive::Status;
    use manx_core::host::{Record, Records};
    use manx_lab::run::Sink;
    use manx_parquet::requests::{Encoder, Row};
    use std::fs::File;
    use std::io::{self, Write};
    use std::path::{Path, PathBuf};

    /// A file that has its name once it is whole: a Parquet file without its end cannot be read.
    pub struct RequestsFile {
        path: PathBuf,
        part: PathBuf,
        file: File,
        encoder: Encoder,
        rows: Vec<Row>,
        bytes: Vec<u8>,
    }

    impl RequestsFile {
        pub fn create(path: &Path, with_parts: bool) -> Result<Self, String> {
            let refused =
                |error: io::Error| format!("{}: cannot make this file: {error}", path.display());
            let part = path.with_added_extension(format!("{}.part", std::process::id()));
            let (file, mut bytes) = (File::create(&part).map_err(refused)?, Vec::new());
            let encoder = Encoder::new(with_parts, &mut bytes).map_err(refused)?;
            Ok(Self { path: path.to_path_buf(), part, file, encoder, rows: Vec::new(), bytes })
        }

        fn write(&mut self) -> io::Result<()> {
            self.file.write_all(&self.bytes)?;
            self.bytes.clear();
            Ok(())
        }

        fn failed(&self, error: &io::Error) -> String {
            format!("{}: cannot write it: {error}", self.path.display())
        }
    }

    impl Sink for RequestsFile {
        fn take(&mut self, records: &Records) -> Result<(), String> {
            self.rows.clear();
            self.rows.extend(records.requests.iter().map(row));
            let encoded = self.encoder.encode(&self.rows, &records.splits, &mut self.bytes);
            encoded.and_then(|()| self.write()).map_err(|error| self.failed(&error))
        }

        fn finish(&mut self) -> Result<(), String> {
            let ended = self.encoder.end(&mut self.bytes).and_then(|()| self.write());
            ended
                .and_then(|()| std::fs::rename(&self.part, &self.path))
                .map_err(|error| self.failed(&error))
        }
    }

    fn row(record: &Record) -> Row {
        let Record { at, latency, op, lba, sectors, job, status, gc_blocked, counted } = *record;
        Row {
            at,
            latency,
            op,
            lba,
            sectors,
            job,
            ok: status == Status::Success,
            gc_blocked,
            counted,
        }
    }

    impl Drop for RequestsFile {
        fn drop(&mut self) {
            // It has another name by now, unless the run failed: half of it helps nobody.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}
