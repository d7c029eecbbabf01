//! Preconditioned states on disk, so that the same drive is not filled and aged twice.
//!
//! A state is named by the SHA-256 of everything that determines it, the program itself included: a
//! stale one cannot be found. Its file ends in the SHA-256 of all before it; a file that is cut,
//! damaged or from another program is passed over and replaced. Nothing here is needed for a run:
//! whatever goes wrong with the folder is a remark, not an error.
//!
//! ```text
//! magic (16) | key (32) | length of About (4) | About (JSON) | PageMap::snapshot |
//!     SHA-256 of all before (32)
//! ```

use crate::json::from_bytes;
use crate::prepare::{About, Key};
use crate::stamp;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

const MAGIC: &[u8; 16] = b"manx state v1\n\0\0";
const HASH: usize = 32;
/// All files together; the oldest go first.
const LIMIT_BYTES: u64 = 4 << 30;
/// Least CPU time of a state that is worth a file.
const WORTH_KEEPING_CPU_S: f64 = 0.2;
/// CPU time of reading a state back, for each byte (measured: 5 to 10 ns, most of it in first
/// touching the memory).
const READING_CPU_S_PER_BYTE: f64 = 10e-9;
/// A temporary file this old was left behind by a run that was killed.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// A folder of preconditioned states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
    limit_bytes: u64,
    keeps_all: bool,
}

impl Cache {
    /// The user's: `$MANX_CACHE`, or `$XDG_CACHE_HOME/manx`, or `~/.cache/manx`; `None` where none
    /// of them is set.
    pub fn of_user() -> Option<Self> {
        let set =
            |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = set("MANX_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("manx")))
            // A home that is not there is not made.
            .or_else(|| {
                set("HOME")
                    .filter(|home| home.is_dir())
                    .map(|home| home.join(".cache").join("manx"))
            })?;
        Some(Self::at(folder))
    }

    /// In `folder`, which is made when something is kept there.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), limit_bytes: LIMIT_BYTES, keeps_all: false }
    }

    /// This cache with another bound on the size of all files together.
    pub fn with_limit(self, limit_bytes: u64) -> Self {
        Self { limit_bytes, ..self }
    }

    /// The same, keeping also what is made faster than read: for tests.
    pub fn keeping_all(self) -> Self {
        Self { keeps_all: true, ..self }
    }

    /// Is a state of about `bytes` that took so long to make worth a file?
    pub(crate) fn is_worth(&self, cpu_s: f64, bytes: u64) -> bool {
        self.keeps_all
            || cpu_s > (1.5 * READING_CPU_S_PER_BYTE * bytes as f64).max(WORTH_KEEPING_CPU_S)
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{key}.state"))
    }

    /// The state under `key`: its maker's account of it, and the snapshot. `None` for whatever is
    /// not exactly that.
    pub(crate) fn load(&self, key: &Key) -> Option<(About, Vec<u8>)> {
        let path = self.path(key);
        // Whatever else stands there (a pipe would be waited for) is no state.
        let mut bytes = fs::metadata(&path)
            .ok()
            .filter(fs::Metadata::is_file)
            .and_then(|_| fs::read(&path).ok())?;
        let (content, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH)?)?;
        if Sha256::digest(content)[..] != *hash {
            return None;
        }
        let rest = content.strip_prefix(MAGIC)?.strip_prefix(&key.0)?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (about, snapshot) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let about = from_bytes(about)?;
        let (start, end) = (bytes.len() - HASH - snapshot.len(), bytes.len() - HASH);
        bytes.truncate(end);
        bytes.drain(..start);
        Some((about, bytes))
    }

    /// Keeps a state under `key`, and makes room for it.
    pub(crate) fn store(&self, key: &Key, about: &About, snapshot: &[u8]) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut about = serde_json::to_value(about)?;
        // For people; the key has the hash of the program.
        about["program"] = serde_json::to_value(stamp::program())?;
        let about = serde_json::to_vec(&about)?;
        let length = (about.len() as u32).to_le_bytes();
        let parts: [&[u8]; 5] = [MAGIC, &key.0, &length, &about, snapshot];
        let size = (parts.iter().map(|part| part.len()).sum::<usize>() + HASH) as u64;
        if size > self.limit_bytes {
            return Ok(());
        }
        fs::create_dir_all(&self.folder)?;
        self.make_room(size);
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let temporary = self.folder.join(format!("{key}.{process}.{number}.tmp"));
        // Renamed when it is whole: another run sees the old file, or none, or all of this one.
        let written =
            write_all(&temporary, &parts).and_then(|()| fs::rename(&temporary, self.path(key)));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Removes the oldest states until `size` more bytes are within the limit, and what killed runs
    /// left behind.
    fn make_room(&self, size: u64) {
        let Ok(folder) = fs::read_dir(&self.folder) else { return };
        let mut states: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in folder.flatten() {
            let (path, Ok(about)) = (entry.path(), entry.metadata()) else { continue };
            let made = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            match path.extension().and_then(OsStr::to_str) {
                Some("state") => states.push((made, about.len(), path)),
                Some("tmp") if made.elapsed().is_ok_and(|age| age > ABANDONED) => {
                    drop(fs::remove_file(path))
                }
                _ => {}
            }
        }
        states.sort();
        let mut total = size + states.iter().map(|(_, size, _)| size).sum::<u64>();
        for (_, size, path) in states {
            if total <= self.limit_bytes {
                return;
            }
            if fs::remove_file(path).is_ok() {
                total -= size;
            }
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

fn write_all(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let mut hash = Sha256::new();
    let mut file = fs::File::create(path)?;
    for part in parts {
        hash.update(part);
        file.write_all(part)?;
    }
    file.write_all(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> Cache {
        let folder = std::env::temp_dir().join(format!("manx-cache-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Cache::at(folder)
    }

    fn about() -> About {
        let notes = vec!["a note".to_string()];
        About { waf: 2.5, passes: 1.25, settled: true, notes, ..About::default() }
    }

    #[test]
    fn what_was_kept_is_found_and_nothing_else() {
        let cache = scratch("kept");
        let (key, other) = (Key([1; 32]), Key([2; 32]));
        cache.store(&key, &about(), b"snapshot").unwrap();
        assert_eq!(cache.load(&key), Some((about(), b"snapshot".to_vec())));
        assert_eq!(cache.load(&other), None);
        fs::copy(cache.path(&key), cache.path(&other)).unwrap();
        assert_eq!(cache.load(&other), None, "a file under another name is another state");
        fs::remove_dir_all(cache.folder()).unwrap();
    }

    #[test]
    fn no_damaged_or_cut_file_is_trusted() {
        let (cache, key) = (scratch("damaged"), Key([3; 32]));
        cache.store(&key, &about(), b"a longer snapshot").unwrap();
        let whole = fs::read(cache.path(&key)).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(cache.path(&key), &damaged).unwrap();
            assert_eq!(cache.load(&key), None, "byte {at}");
            fs::write(cache.path(&key), &whole[..at]).unwrap();
            assert_eq!(cache.load(&key), None, "cut to {at}");
        }
        cache.store(&key, &about(), b"a longer snapshot").unwrap();
        assert!(cache.load(&key).is_some(), "it is replaced");
        fs::remove_dir_all(cache.folder()).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_place_of_a_state_is_not_waited_for() {
        let (cache, key) = (scratch("pipe"), Key([7; 32]));
        fs::create_dir_all(cache.folder()).unwrap();
        assert!(
            std::process::Command::new("mkfifo").arg(cache.path(&key)).status().unwrap().success()
        );
        assert_eq!(cache.load(&key), None);
        cache.store(&key, &about(), b"state").unwrap();
        assert!(cache.load(&key).is_some(), "it is replaced");
        fs::remove_dir_all(cache.folder()).unwrap();
    }

    #[test]
    fn the_oldest_states_make_room() {
        let one = scratch("bound-one");
        one.store(&Key([0; 32]), &about(), &[0; 1_000]).unwrap();
        let size = fs::metadata(one.path(&Key([0; 32]))).unwrap().len();
        fs::remove_dir_all(one.folder()).unwrap();
        let cache = scratch("bound").with_limit(3 * size + size / 2);
        let keys: Vec<Key> = (0..5).map(|n| Key([n; 32])).collect();
        for (age, key) in keys.iter().enumerate() {
            cache.store(key, &about(), &[0; 1_000]).unwrap();
            let made = SystemTime::now() - Duration::from_secs(100 - age as u64);
            fs::File::options()
                .append(true)
                .open(cache.path(key))
                .unwrap()
                .set_modified(made)
                .unwrap();
        }
        let kept: Vec<bool> = keys.iter().map(|key| cache.load(key).is_some()).collect();
        assert_eq!(kept, [false, false, true, true, true], "three are within three and a half");
        cache.store(&Key([9; 32]), &about(), &[0; 10_000]).unwrap();
        assert!(
            cache.load(&keys[4]).is_some(),
            "what is larger than the bound is not kept and drives nothing out"
        );
        fs::remove_dir_all(cache.folder()).unwrap();
    }
}
