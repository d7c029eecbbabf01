//! Which program this is: its version, the commit that it was built from, the version of the schema
//! of its results.
//!
//! The commit is known to who builds the program (`crates/cli/build.rs`): a binary tells it here
//! when it begins.

use manx_core::stats::{Program, SCHEMA_VERSION};
use std::path::PathBuf;
use std::sync::OnceLock;

static COMMIT: OnceLock<&'static str> = OnceLock::new();

/// Tells the commit; an empty one is unknown. The first to tell it is believed.
pub fn set_commit(commit: &'static str) {
    if !commit.is_empty() {
        let _ = COMMIT.set(commit);
    }
}

static FILE: OnceLock<PathBuf> = OnceLock::new();

/// Tells which file on the disk this program is, where it is not the executable of the process: a
/// library that another program has loaded. The first to tell it is believed.
pub fn set_file(file: PathBuf) {
    let _ = FILE.set(file);
}

/// The file that this program is: its content tells it from every other one.
pub(crate) fn file() -> Option<PathBuf> {
    FILE.get().cloned().or_else(|| std::env::current_exe().ok())
}

/// This program.
pub fn program() -> Program {
    let commit = COMMIT.get().map(|commit| commit.to_string());
    Program { version: env!("CARGO_PKG_VERSION").to_string(), commit, schema: SCHEMA_VERSION }
}
