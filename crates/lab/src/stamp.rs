//! Which program this is: its version, the commit that it was built from, the version of the schema
//! of its results.
//!
//! The commit is known to who builds the program (`crates/cli/build.rs`): a binary tells it here
//! when it begins.

use manx_core::stats::{Program, SCHEMA_VERSION};
use std::sync::OnceLock;

static COMMIT: OnceLock<&'static str> = OnceLock::new();

/// Tells the commit; an empty one is unknown. The first to tell it is believed.
pub fn set_commit(commit: &'static str) {
    if !commit.is_empty() {
        let _ = COMMIT.set(commit);
    }
}

/// This program.
pub fn program() -> Program {
    let commit = COMMIT.get().map(|commit| commit.to_string());
    Program { version: env!("CARGO_PKG_VERSION").to_string(), commit, schema: SCHEMA_VERSION }
}
