//! Helpers of the binary's tests.

use std::collections::BTreeMap;
use std::panic::Location;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Mutex;

/// Runs the binary.
pub fn manx(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_manx")).args(args).output().unwrap()
}

/// Its stdout as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Its stderr as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A bad input: exit code 2, one `error:` line with these pieces, nothing on stdout.
#[track_caller]
pub fn assert_refused(args: &[&str], pieces: &[&str]) {
    let output = manx(args);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
    assert_eq!(stdout(&output), "", "{args:?}");
    assert_eq!(said.trim_end().lines().count(), 1, "{args:?}: {said}");
    assert!(said.starts_with("error: "), "{args:?}: {said}");
    for piece in pieces {
        assert!(said.contains(piece), "{args:?}: `{piece}` is not in: {said}");
    }
}

/// A file of this test's own, and its path as an argument. All tests share one folder and run
/// beside each other: a name that two modules write is refused.
#[track_caller]
pub fn file(name: &str, bytes: &[u8]) -> String {
    static WRITERS: Mutex<BTreeMap<String, &str>> = Mutex::new(BTreeMap::new());
    let module = Location::caller().file();
    let first = *WRITERS.lock().unwrap().entry(name.to_string()).or_insert(module);
    assert_eq!(first, module, "both write {name}");
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// The Python of the tests, which `make deps` makes; it may not be there.
pub fn python() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/test-venv/bin/python").to_string()
}
