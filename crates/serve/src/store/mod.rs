//! A folder that outlives the server: `kill -9` is a power loss of the drive.
//!
//! The model is a function of what was asked and when, so the folder needs no copy of it: it holds
//! a *base* (the map of a drive at rest, and a sparse file with the bytes of its pages) and a
//! *log* of every command since, with its instant and the bytes of a write. An answer leaves when
//! the commands that led to it, and the instant up to which the model was done, are in the log.
//!
//! After a kill the log is replayed against the base, so the drive comes to the very state that it
//! was in at the last instant logged; there its power fails, it recovers as it would after any
//! loss, and what it holds then becomes the next base. A clean stop shuts the drive down and makes
//! the base at once. A sum over all completions shows a program that replays otherwise.
//!
//! Reading order: [`head`] names the folder's drive and its generation, [`log`] has the commands,
//! [`base`] the map; [`wake`] replays and recovers, [`inspect`] is for `manx store`.

mod base;
mod error;
mod head;
mod inspect;
mod log;
mod wake;

#[cfg(test)]
mod tests;

pub use error::StoreError;
pub use head::Head;
pub use inspect::{Inspected, inspect};
pub use wake::{Lost, Woken};

use crate::content::{Content, Newest};
use crate::front::Ask;
use base::Base;
use log::{Log, Record};
use manx_core::drive::{Rest, Storage};
use manx_core::nvme::Sqe;
use manx_core::units::Instant;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes of a log at which the running server makes a new base.
pub const LOG_MOST: u64 = 1 << 30;

/// An open store.
pub struct Store {
    folder: PathBuf,
    head: Head,
    /// The drive is behind an NVMe controller from now on.
    has_controller: bool,
    base: Base,
    log: Log,
    data: File,
    /// Held as long as the store is open.
    _lock: File,
    most: u64,
    broken: Option<String>,
    is_told: bool,
}

impl Store {
    /// True where the folder holds a store.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(head::NAME).exists()
    }

    /// A new store in a folder that is empty or missing, of a drive with this map.
    ///
    /// # Errors
    /// The folder holds something else, or cannot be written.
    pub fn create(folder: &Path, head: Head, map: &[u8]) -> Result<Self, StoreError> {
        let base = Base::new(head.pages(), map.to_vec());
        Self::make(folder, head, base, |_, _| Ok(()))
    }

    /// A new store with a drive at rest, and its bytes.
    pub(crate) fn create_with(
        folder: &Path,
        head: Head,
        rest: &Rest,
        content: &Content,
    ) -> Result<Self, String> {
        must_hold(rest, content)?;
        let page_bytes = head.page_bytes as usize;
        let base = Base::new(head.pages(), rest.map.snapshot());
        Self::make(folder, head, base, |base, data| {
            let mut bytes = Vec::with_capacity(page_bytes);
            for (page, version) in (0..).zip(&rest.versions) {
                if *version == 0 || content.newest(page) == Newest::Zeros {
                    continue;
                }
                bytes.clear();
                content.read(page, *version, 0, page_bytes, &mut bytes)?;
                data.write_all_at(&bytes, u64::from(page) * page_bytes as u64)?;
                base.set(page);
            }
            Ok(())
        })
        .map_err(|error| error.to_string())
    }

    fn make(
        folder: &Path,
        head: Head,
        mut base: Base,
        fill: impl FnOnce(&mut Base, &File) -> io::Result<()>,
    ) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(StoreError::at(folder))?;
        // A start makes the lock first: without one, files of these names are of another program.
        let was_begun = folder.join("lock").exists();
        for entry in fs::read_dir(folder).map_err(StoreError::at(folder))? {
            let name = entry.map_err(StoreError::at(folder))?.file_name();
            // A start that was killed leaves what comes before the head.
            let own = ["lock", "data", "base-0", "log-0", head::DRAFT];
            if !was_begun || !own.iter().any(|own| name == *own) {
                return Err(StoreError::Occupied(folder.join(name)));
            }
        }
        let lock = lock(folder)?;
        let path = folder.join("data");
        let data = open(&path)?;
        let sized = data.set_len(0).and_then(|()| data.set_len(head.bytes));
        sized.and_then(|()| fill(&mut base, &data)).map_err(StoreError::at(&path))?;
        base.write(&base_path(folder, 0))?;
        let log = Log::create(&log_path(folder, 0))?;
        head.write(folder)?;
        Ok(Self::of(folder, head, (base, log, data, lock)))
    }

    fn of(folder: &Path, head: Head, (base, log, data, lock): (Base, Log, File, File)) -> Self {
        Self {
            folder: folder.to_path_buf(),
            has_controller: head.has_controller,
            head,
            base,
            log,
            data,
            _lock: lock,
            most: LOG_MOST,
            broken: None,
            is_told: false,
        }
    }

    /// The store of a folder, if it is one of the drive that `head` describes.
    ///
    /// # Errors
    /// It is of another drive or version, in use, or damaged; nothing was touched.
    pub fn open(folder: &Path, head: &Head) -> Result<Self, StoreError> {
        let found = Head::read(folder)?;
        found.must_be(head, folder)?;
        let lock = lock(folder)?;
        // Another server may just have made a new base.
        let found = Head::read(folder)?;
        let base = Base::read(&base_path(folder, found.generation), found.pages())?;
        let path = folder.join("data");
        // One that is missing is not made: nothing is touched.
        let data = OpenOptions::new().read(true).write(true).open(&path);
        let data = data.map_err(StoreError::at(&path))?;
        let length = data.metadata().map_err(StoreError::at(&path))?.len();
        if length != found.bytes {
            let why = format!("it has {length} bytes, not {}", found.bytes);
            return Err(StoreError::Damaged(path, why));
        }
        let log = Log::open(&log_path(folder, found.generation))?;
        let has_controller = head.has_controller;
        Ok(Self { has_controller, ..Self::of(folder, found, (base, log, data, lock)) })
    }

    /// With a log of at most so many bytes.
    pub fn with_log(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Its description.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The map of the base, as the drive wrote it.
    pub fn map(&self) -> &[u8] {
        &self.base.map
    }

    /// The content of a drive made from the base.
    pub(crate) fn content(&self, storage: &impl Storage) -> io::Result<Content> {
        let content =
            Content::new(self.head.pages(), storage.page_sectors(), |page| storage.holds(page));
        Ok(content.over(self.data.try_clone()?, |page| self.base.has_bytes(page)))
    }

    /// Notes a request that comes now.
    pub(crate) fn note(&mut self, now: Instant, ask: &Ask, data: &[u8]) {
        if self.broken.is_none()
            && let Err(error) = self.log.note(now, ask, data)
        {
            self.fail(&error);
        }
    }

    /// Notes an admin command that changes the controller.
    pub(crate) fn note_admin(&mut self, now: Instant, sqe: &Sqe, data: &[u8]) {
        let record = Record::Admin { now, sqe: *sqe, data: data.to_vec() };
        if self.broken.is_none()
            && let Err(error) = self.log.put(&record)
        {
            self.fail(&error);
        }
    }

    /// Notes that everything before `now` is about to be done, and writes all that was noted.
    pub(crate) fn commit(&mut self, now: Instant, sum: u64) {
        if self.broken.is_none()
            && let Err(error) =
                self.log.put(&Record::Until { now, sum }).and_then(|()| self.log.send())
        {
            self.fail(&error);
        }
    }

    /// No more writes: what the store holds stays as it is.
    pub(crate) fn fail(&mut self, error: &io::Error) {
        self.broken.get_or_insert_with(|| {
            format!(
                "the store {} takes no more ({error}): the drive is read-only from now on, and \
                 what was acknowledged is kept",
                self.folder.display()
            )
        });
    }

    /// Why it takes no more, told once.
    pub(crate) fn take_failure(&mut self) -> Option<String> {
        let why = self.broken.clone().filter(|_| !self.is_told)?;
        self.is_told = true;
        Some(why)
    }

    /// True when it takes no more.
    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// True when the log is as long as it may be.
    pub(crate) fn is_full(&self) -> bool {
        self.broken.is_none() && self.log.bytes() >= self.most
    }

    /// The drive shut down at `now` and rests: its bytes and its map become the next base.
    pub(crate) fn stop(
        &mut self,
        now: Instant,
        rest: &Rest,
        content: &Content,
    ) -> Result<(), String> {
        if let Some(why) = &self.broken {
            return Err(why.clone());
        }
        let stopped = self.log.put(&Record::Stop { now }).and_then(|()| self.log.send());
        let next = stopped
            .map_err(|error| format!("{}: {error}", self.folder.display()))
            .and_then(|()| must_hold(rest, content))
            .and_then(|()| self.next(rest, content).map_err(|error| error.to_string()));
        if let Err(why) = &next {
            // The log has its end: nothing may follow.
            self.fail(&io::Error::other(why.clone()));
        }
        next
    }

    /// The next generation: bytes to their places, a new map, an empty log; the head decides.
    fn next(&mut self, rest: &Rest, content: &Content) -> Result<(), StoreError> {
        let path = self.folder.join("data");
        let mut base = Base::new(self.head.pages(), rest.map.snapshot());
        let page_bytes = u64::from(self.head.page_bytes);
        for (page, version) in (0..).zip(&rest.versions) {
            let newest = if *version == 0 { Newest::Zeros } else { content.newest(page) };
            let offset = u64::from(page) * page_bytes;
            match newest {
                Newest::Zeros if self.base.has_bytes(page) => {
                    // A file system without holes keeps the bytes; nothing names them.
                    let flags = rustix::fs::FallocateFlags::PUNCH_HOLE
                        | rustix::fs::FallocateFlags::KEEP_SIZE;
                    let _ = rustix::fs::fallocate(&self.data, flags, offset, page_bytes);
                }
                Newest::Zeros => {}
                Newest::InFile => base.set(page),
                Newest::Bytes(bytes) => {
                    self.data.write_all_at(bytes, offset).map_err(StoreError::at(&path))?;
                    base.set(page);
                }
            }
        }
        let old = self.head.generation;
        let generation = old + 1;
        let files = [base_path, log_path].map(|path| path(&self.folder, generation));
        let has_controller = self.has_controller;
        let head = Head { generation, has_controller, ..self.head.clone() };
        let made = base.write(&files[0]).and_then(|()| Log::create(&files[1]));
        let made = made.and_then(|log| head.write(&self.folder).map(|()| log));
        match made {
            Ok(log) => (self.log, self.base, self.head) = (log, base, head),
            Err(error) => {
                files.iter().for_each(|file| drop(fs::remove_file(file)));
                return Err(error);
            }
        }
        // Old files that stay are no harm.
        let _ = fs::remove_file(base_path(&self.folder, old));
        let _ = fs::remove_file(log_path(&self.folder, old));
        Ok(())
    }
}

/// A drive that shut down holds the newest bytes of each page.
fn must_hold(rest: &Rest, content: &Content) -> Result<(), String> {
    let is_newest = |(page, version): (u32, &u32)| {
        *version == content.version(page) || content.newest(page) == Newest::Zeros
    };
    match (0..).zip(&rest.versions).all(is_newest) {
        true => Ok(()),
        false => Err("a fault of Manx: a drive that shut down does not hold what it took".into()),
    }
}

fn base_path(folder: &Path, generation: u64) -> PathBuf {
    folder.join(format!("base-{generation}"))
}

fn log_path(folder: &Path, generation: u64) -> PathBuf {
    folder.join(format!("log-{generation}"))
}

fn open(path: &Path) -> Result<File, StoreError> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    file.map_err(StoreError::at(path))
}

/// The folder's lock, or who has it says no.
fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join("lock");
    let file = open(&path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(StoreError::Busy(folder.to_path_buf())),
        Err(fs::TryLockError::Error(error)) => Err(StoreError::File(path, error)),
    }
}
