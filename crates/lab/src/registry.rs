//! Public traces by name: where each is, under which licence, and what its bytes are.
//!
//! The data are not ours. The machine that asks for a trace downloads it, once, into the user's
//! cache; a file that is not what the registry says is not kept. One small sample is inside the
//! program. How bytes come over a network is the caller's: the command line asks `curl` or `wget`.

use crate::cache::Cache;
use manx_config::nearest;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

const LISTED: &str = include_str!("../../../traces/registry.json");
/// An address that begins so needs no network: the sample that is inside.
const INSIDE: &str = "package:";
const SAMPLE: (&str, &[u8]) =
    ("pgbench.csv.zst", include_bytes!("../../../traces/pgbench.csv.zst"));

/// A public trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// One line: what was traced.
    pub title: String,
    /// Its place: a repository, the commit, the path.
    pub source: String,
    /// The licence of the data as far as it is stated.
    pub licence: String,
    /// The paper to cite.
    #[serde(default)]
    pub cite: Option<String>,
    /// Where it is: `https://`, `http://`, `s3://BUCKET/KEY`, `file://`.
    pub url: String,
    /// Size of the file.
    pub bytes: u64,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Keys of `workload.trace` that say how it is read, where its format leaves that open.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub read: BTreeMap<String, String>,
}

/// Traces by their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Registry(BTreeMap<String, Entry>);

/// Why there is no trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GetError {
    /// The question is wrong.
    Input(String),
    /// It is right, and the work failed. Nothing was kept.
    Work(String),
    /// The user stopped it. Nothing was kept.
    Stopped,
}

/// Brings the bytes of an `http`, `https` or `s3` address into a file.
pub type Download<'a> = dyn FnMut(&str, &Path) -> Result<(), GetError> + 'a;

impl Registry {
    /// The registry that ships.
    pub fn shipped() -> Self {
        Self::of(LISTED, "registry.json").expect("the registry that ships is read by a test")
    }

    /// The registry of a file.
    ///
    /// # Errors
    /// It cannot be read, or is no registry; the message has the line.
    pub fn read(path: &Path) -> Result<Self, GetError> {
        let shown = path.display();
        let text = fs::read_to_string(path)
            .map_err(|error| GetError::Input(format!("{shown}: cannot read it: {error}")))?;
        Self::of(&text, &shown.to_string())
    }

    fn of(text: &str, shown: &str) -> Result<Self, GetError> {
        let of = serde_json::from_str(text).map(Self);
        of.map_err(|error| {
            GetError::Input(format!("{shown}: this is no registry of traces: {error}"))
        })
    }

    /// Names and traces, by name.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.0.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// The trace of that name.
    ///
    /// # Errors
    /// There is none; the message has those that there are.
    pub fn named(&self, name: &str) -> Result<&Entry, GetError> {
        self.0.get(name).ok_or_else(|| {
            let near = nearest(name, self.0.keys().map(String::as_str));
            let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            let all: Vec<_> = self.0.keys().map(String::as_str).collect();
            GetError::Input(format!(
                "no trace is called {name}; there are {}{hint}",
                all.join(", ")
            ))
        })
    }
}

/// The folder of the user's traces; `None` where the environment names none.
pub fn folder() -> Option<PathBuf> {
    Cache::of_user().map(|cache| cache.folder().join("traces"))
}

impl Entry {
    /// The whole, verified file of this trace, called `name`, in `folder`; what is not there is
    /// brought by `download`.
    ///
    /// # Errors
    /// It cannot be had, or is not what the registry says.
    pub fn get(
        &self,
        name: &str,
        folder: &Path,
        download: &mut Download<'_>,
    ) -> Result<PathBuf, GetError> {
        if name.contains(['/', '\\', '\0']) || name.starts_with('.') {
            return Err(GetError::Input(format!("{name:?} is no name of a trace")));
        }
        let sum = &self.sha256;
        if sum.len() != 64 || !sum.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(GetError::Input(format!("{name}: sha256 = {sum:?} is no SHA-256")));
        }
        let kept = folder.join(format!("{}-{name}{}", &sum[..16], self.ending()));
        // A damaged file is brought again.
        if kept.is_file() && self.verified(name, &kept).is_ok() {
            return Ok(kept);
        }
        let failed = |error: io::Error| {
            GetError::Work(format!("{}: cannot keep a trace here: {error}", folder.display()))
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let part = folder.join(format!(".{name}.{}.part", std::process::id()));
        let done = self
            .bring(name, &part, download)
            .and_then(|()| self.verified(name, &part))
            .and_then(|()| fs::rename(&part, &kept).map_err(failed));
        if done.is_err() {
            let _ = fs::remove_file(&part);
        }
        done.map(|()| kept)
    }

    fn bring(&self, name: &str, to: &Path, download: &mut Download<'_>) -> Result<(), GetError> {
        let url = &self.url;
        let cannot = |why: String| GetError::Work(format!("{name}: cannot get {url}: {why}"));
        if let Some(inside) = url.strip_prefix(INSIDE) {
            let sample = (inside == SAMPLE.0).then_some(SAMPLE.1);
            let bytes = sample.ok_or_else(|| cannot("it is not inside".to_string()))?;
            return fs::write(to, bytes).map_err(|error| cannot(error.to_string()));
        }
        if let Some(path) = url.strip_prefix("file://") {
            return fs::copy(path, to).map(drop).map_err(|error| cannot(error.to_string()));
        }
        if ["https://", "http://", "s3://"].iter().any(|scheme| url.starts_with(scheme)) {
            return download(url, to);
        }
        Err(GetError::Input(format!(
            "{name}: {url}: https, http, s3 or file is needed; for another scheme download the \
             file, and name it where a trace is asked for"
        )))
    }

    /// The endings of the file, by which its compression is told.
    fn ending(&self) -> String {
        let file = self.url.rsplit('/').next().unwrap_or_default();
        let file = file.split(['?', '#']).next().unwrap_or_default();
        let endings: Vec<_> = file.split('.').skip(1).collect();
        let last = endings[endings.len().saturating_sub(2)..].iter();
        last.map(|ending| format!(".{ending}")).collect()
    }

    fn verified(&self, name: &str, file: &Path) -> Result<(), GetError> {
        let shown = file.display();
        let unread = |error| GetError::Work(format!("{name}: {shown}: cannot read it: {error}"));
        let mut of = File::open(file).map_err(unread)?;
        let (mut hash, mut chunk) = (Sha256::new(), vec![0; 1 << 20]);
        loop {
            let read = of.read(&mut chunk).map_err(unread)?;
            if read == 0 {
                break;
            }
            hash.update(&chunk[..read]);
        }
        let found: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        if found.eq_ignore_ascii_case(&self.sha256) {
            return Ok(());
        }
        Err(GetError::Work(format!(
            "{name}: {} is not what the registry says: SHA-256 {found}, expected {}; nothing was \
             kept",
            self.url, self.sha256
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_that_ships_is_whole_and_its_sample_is_what_it_says() {
        let registry = Registry::shipped();
        assert!(registry.entries().count() >= 10);
        for (name, entry) in registry.entries() {
            assert_eq!(entry.sha256.len(), 64, "{name}");
            assert!(entry.bytes > 0 && !entry.licence.is_empty(), "{name}");
            let inside = entry.url == format!("{INSIDE}{}", SAMPLE.0);
            assert!(inside || entry.url.starts_with("https://"), "{name}: {}", entry.url);
        }
        let sample = registry.named("pgbench").unwrap();
        assert_eq!(sample.bytes, SAMPLE.1.len() as u64);
        let folder = std::env::temp_dir().join(format!("manx-registry-{}", std::process::id()));
        let mut never = |_: &str, _: &Path| panic!("it is inside");
        let file = sample.get("pgbench", &folder, &mut never).unwrap();
        assert!(file.to_str().unwrap().ends_with("-pgbench.csv.zst"), "{}", file.display());
        // A damaged one is brought again.
        fs::write(&file, b"damaged").unwrap();
        assert_eq!(sample.get("pgbench", &folder, &mut never).unwrap(), file);
        assert_eq!(fs::read(&file).unwrap(), SAMPLE.1);
        let wrong = Entry { sha256: "0".repeat(64), ..sample.clone() };
        let error = wrong.get("pgbench", &folder, &mut never).unwrap_err();
        assert!(matches!(&error, GetError::Work(why) if why.contains("nothing was kept")));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
