//! A store as `manx store` tells of it: nothing is changed.

use super::log::{Log, Record};
use super::{Base, Head, Store, StoreError, base_path, lock, log_path};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Its contents in numbers.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// Its description.
    pub head: Head,
    /// Pages whose bytes are in the base.
    pub pages_with_bytes: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Commands of the log.
    pub commands: u64,
    /// It was closed: the next start replays nothing.
    pub is_clean: bool,
    /// Bytes on disk of the file of data.
    pub data_bytes: u64,
}

/// Reads a store to its end.
///
/// # Errors
/// It is none, damaged, or in use.
pub fn inspect(folder: &Path) -> Result<Inspected, StoreError> {
    Head::read(folder)?;
    let _lock = lock(folder)?;
    let head = Head::read(folder)?;
    let base = Base::read(&base_path(folder, head.generation), head.pages())?;
    let path = folder.join("data");
    let data = std::fs::metadata(&path).map_err(StoreError::at(&path))?;
    if data.len() != head.bytes {
        let why = format!("it has {} bytes, not {}", data.len(), head.bytes);
        return Err(StoreError::damaged(&path, why));
    }
    let mut log = Log::open(&log_path(folder, head.generation))?;
    let mut commands = 0;
    log.replay(&mut |record| {
        commands += u64::from(matches!(record, Record::Command { .. }));
        Ok(())
    })?;
    Ok(Inspected {
        pages_with_bytes: base.used(),
        log_bytes: log.bytes(),
        commands,
        is_clean: log.is_empty(),
        data_bytes: data.blocks() * 512,
        head,
    })
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("folder", &self.folder).finish_non_exhaustive()
    }
}
