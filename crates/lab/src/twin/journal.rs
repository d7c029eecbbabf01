//! The journal of a fit: what was simulated, by a key that determines it; so a fit that was
//! interrupted repeats nothing, and one that goes on finds the same.
//!
//! A line that is broken (the machine went down) is passed over: its run is done again.

use crate::stamp;
use manx_config::Scenario;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Figures that were found, by key.
#[derive(Debug, Default)]
pub struct Journal {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    known: BTreeMap<String, Vec<f64>>,
    file: Option<File>,
    fresh: usize,
}

#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    got: Vec<f64>,
}

impl Journal {
    /// The journal in a file, which is made if it is not there.
    pub fn open(path: &Path) -> Result<Self, String> {
        let refused = |error| format!("{}: cannot keep the journal here: {error}", path.display());
        let mut file =
            OpenOptions::new().create(true).read(true).append(true).open(path).map_err(refused)?;
        let mut known = BTreeMap::new();
        for line in BufReader::new(&mut file).split(b'\n') {
            let line = line.map_err(refused)?;
            if let Ok(Line { key, got }) = serde_json::from_slice(&line) {
                known.insert(key, got);
            }
        }
        // A line cut short ends here.
        file.write_all(b"\n").map_err(refused)?;
        Ok(Self { inner: Mutex::new(Inner { known, file: Some(file), fresh: 0 }) })
    }

    /// The key of a simulation: the program, the scenario, and what else determines it.
    pub(super) fn key(scenario: &Scenario, also: &str) -> String {
        let program = serde_json::to_string(&stamp::program()).unwrap_or_default();
        let scenario = serde_json::to_string(scenario).unwrap_or_default();
        let mut hash = Sha256::new();
        for part in [program.as_str(), &scenario, also] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    pub(super) fn get(&self, key: &str) -> Option<Vec<f64>> {
        self.lock().known.get(key).cloned()
    }

    pub(super) fn put(&self, key: String, got: &[f64]) {
        let mut inner = self.lock();
        let line = Line { key, got: got.to_vec() };
        if let (Some(file), Ok(text)) = (&mut inner.file, serde_json::to_string(&line)) {
            // A full disk costs the journal, not the fit.
            let _ = file.write_all(format!("{text}\n").as_bytes());
        }
        inner.fresh += 1;
        inner.known.insert(line.key, line.got);
    }

    /// Simulations that were done, and not found here.
    pub fn fresh(&self) -> usize {
        self.lock().fresh
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_there_again_and_a_broken_line_is_not() {
        let folder = std::env::temp_dir().join(format!("manx-journal-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.journal");
        let _ = std::fs::remove_file(&path);
        Journal::open(&path).unwrap().put("a".to_string(), &[1.5, 0.1]);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"key\":\"b\",\"got\":[1").unwrap();
        let again = Journal::open(&path).unwrap();
        again.put("c".to_string(), &[2.0]);
        let third = Journal::open(&path).unwrap();
        let found = ["a", "b", "c"].map(|key| third.get(key));
        assert_eq!(found, [Some(vec![1.5, 0.1]), None, Some(vec![2.0])]);
        assert_eq!((again.fresh(), third.fresh()), (1, 0));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
