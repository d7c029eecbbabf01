//! The log of the Aerospike Certification Tool's load, written as the run goes.

use crate::run::RunError;
use crate::save::file_name;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The log of one run.
#[derive(Debug)]
pub(crate) struct ActLog {
    path: PathBuf,
    file: File,
}

/// Where the run of `policy` writes its log, `base` being what the user said: a file, which several
/// runs share by the policy's name before its ending, or a folder.
pub fn path_of(base: &Path, policy: &str, runs: usize) -> PathBuf {
    path_for(base, policy, runs, ("act", "txt"))
}

/// [`path_of`] for any file: `named` is its name in a folder, before and after the policy's.
pub fn path_for(base: &Path, policy: &str, runs: usize, named: (&str, &str)) -> PathBuf {
    let policy = file_name(policy);
    if base.is_dir() {
        return base.join(format!("{}.{policy}.{}", named.0, named.1));
    }
    if runs == 1 {
        return base.to_path_buf();
    }
    let stem = base.file_stem().unwrap_or_default().to_string_lossy();
    let ending =
        base.extension().map_or(String::new(), |ending| format!(".{}", ending.to_string_lossy()));
    base.with_file_name(format!("{stem}.{policy}{ending}"))
}

impl ActLog {
    /// An empty log.
    pub(crate) fn create(path: PathBuf) -> Result<Self, RunError> {
        match File::create(&path) {
            Ok(file) => Ok(Self { path, file }),
            Err(error) => Err(RunError::ActLog(format!(
                "{}: cannot make this ACT log: {error}",
                path.display()
            ))),
        }
    }

    /// More of it.
    pub(crate) fn append(&mut self, text: &str) -> Result<(), RunError> {
        let failed =
            |error| RunError::Write(format!("{}: cannot write it: {error}", self.path.display()));
        self.file.write_all(text.as_bytes()).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_runs_have_a_log_each() {
        let path = |base: &str, runs| {
            path_of(Path::new(base), "base+x", runs).to_string_lossy().into_owned()
        };
        assert_eq!(path("logs/act.txt", 1), "logs/act.txt");
        assert_eq!(path("logs/act.txt", 2), "logs/act.base+x.txt");
        assert_eq!(path("act", 2), "act.base+x");
        let folder = std::env::temp_dir();
        assert_eq!(path_of(&folder, "nogc", 1), folder.join("act.nogc.txt"));
    }
}
