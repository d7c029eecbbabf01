//! The commit for `--version` and results. `MANX_COMMIT` says it where there is no git, as in a
//! package; a debug build does not ask, so that a commit compiles nothing anew. No time of building
//! is in a binary: the same source is the same bytes.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=MANX_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let said = env::var("MANX_COMMIT").ok().filter(|said| !said.trim().is_empty());
    let commit = said.or_else(packaged).or_else(checked_out).unwrap_or_default();
    let (hash, date) = commit.split_once(' ').unwrap_or((&commit, ""));
    let shown = match (hash, date) {
        ("", _) => "not recorded".to_string(),
        (hash, "") => hash.to_string(),
        (hash, date) => format!("{hash} of {date}"),
    };
    let parquet = if env::var_os("CARGO_FEATURE_PARQUET").is_some() { "parquet" } else { "none" };
    println!("cargo::rustc-env=MANX_COMMIT_HASH={hash}");
    println!("cargo::rustc-env=MANX_COMMIT_SHOWN={shown}");
    println!("cargo::rustc-env=MANX_FEATURES={parquet}");
}

/// Commit that `cargo package` writes into a crate.
fn packaged() -> Option<String> {
    let about = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let hash = about.split("\"sha1\": \"").nth(1)?.get(..12)?.to_string();
    Some(if about.contains("\"dirty\": true") { hash + "-dirty" } else { hash })
}

/// The commit of the working tree that this crate lies in, and its date.
fn checked_out() -> Option<String> {
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug")
        || git(&["rev-parse", "--show-prefix"])? != "crates/cli/"
    {
        return None;
    }
    for path in ["logs/HEAD", "HEAD", "index"].map(|name| git(&["rev-parse", "--git-path", name])) {
        // A file that is not there would run this every time.
        if let Some(path) = path.filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    for source in [
        "..",
        "../../Cargo.toml",
        "../../Cargo.lock",
        "../../scenarios",
        "../../devices",
        "../../experiments",
    ] {
        println!("cargo::rerun-if-changed={source}");
    }
    let commit = git(&["log", "-1", "--abbrev=12", "--format=%h %cs"])?;
    let dirty = git(&["status", "--porcelain", "--untracked-files=no"])
        .is_some_and(|changed| !changed.is_empty());
    Some(if dirty { commit.replacen(' ', "-dirty ", 1) } else { commit })
}

fn git(args: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim_end().to_string())
}
