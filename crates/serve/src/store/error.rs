//! Reasons why a folder is no store to be used.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a store is refused.
#[derive(Debug)]
pub enum StoreError {
    /// A file cannot be read or written.
    File(PathBuf, io::Error),
    /// There is no store: the place, and what is there instead.
    Missing(PathBuf, &'static str),
    /// The folder holds something that is no store.
    Occupied(PathBuf),
    /// Another server has it.
    Busy(PathBuf),
    /// It was made for another drive: the key that differs, there and here.
    Other(PathBuf, String, String, String),
    /// It was not closed, and its log is of the drive behind an NVMe controller, or of the drive
    /// alone.
    Protocol(PathBuf, bool),
    /// It is damaged.
    Damaged(PathBuf, String),
}

impl StoreError {
    /// An error of that file.
    pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> Self + Copy + '_ {
        |error| Self::File(path.to_path_buf(), error)
    }

    pub(super) fn damaged(path: &Path, why: impl Into<String>) -> Self {
        Self::Damaged(path.to_path_buf(), why.into())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Missing(path, what) => write!(
                f,
                "{}: {what}: name the folder of a drive that `manx serve --store FOLDER` made",
                path.display()
            ),
            Self::Occupied(path) => {
                write!(
                    f,
                    "{}: the folder holds no store: name an empty or a new one",
                    path.display()
                )
            }
            Self::Busy(folder) => {
                write!(f, "{}: another server has this store open", folder.display())
            }
            Self::Other(folder, key, there, here) => write!(
                f,
                "{}: the store is of another drive: {key} is {there} there and {here} here; \
                 nothing was touched",
                folder.display()
            ),
            Self::Protocol(folder, has_controller) => write!(
                f,
                "{}: the store was not closed, and its log is of {}; nothing was touched",
                folder.display(),
                match has_controller {
                    true => "NVMe hosts: start it once with --protocol nvme-tcp",
                    false => "no NVMe hosts: start it once with --protocol nbd",
                }
            ),
            Self::Damaged(path, why) => {
                write!(f, "{}: the store is damaged: {why}; nothing was touched", path.display())
            }
        }
    }
}

impl std::error::Error for StoreError {}
