//! `manx plot` hands over to the program beside it; `crates/plot` has what that one does.

use crate::support::{stderr, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with `manx` alone in it.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::hard_link(env!("CARGO_BIN_EXE_manx"), folder.join("manx")).unwrap();
    folder
}

fn plot(folder: &Path) -> std::process::Output {
    Command::new(folder.join("manx"))
        .args(["plot", "plot", "a b.json", "-o", "x.svg"])
        .output()
        .unwrap()
}

#[test]
fn where_the_program_that_plots_is_not_built_it_says_how_to_build_it() {
    let folder = folder("plot-alone");
    let output = plot(&folder);
    let said = stderr(&output);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{said}");
    assert!(said.starts_with("error: manx plot needs ") && said.lines().count() == 1, "{said}");
    assert!(said.contains("manx-plot, which is not built: `cargo build"), "{said}");
}

#[test]
#[cfg(unix)]
fn what_is_said_after_plot_reaches_the_program_that_plots_and_its_exit_code_comes_back() {
    let folder = folder("plot-beside");
    let beside = folder.join("manx-plot");
    std::os::unix::fs::symlink("/bin/echo", &beside).unwrap();
    assert_eq!(stdout(&plot(&folder)), "plot a b.json -o x.svg\n");
    std::fs::remove_file(&beside).unwrap();
    std::os::unix::fs::symlink("/bin/false", &beside).unwrap();
    let output = plot(&folder);
    assert_eq!((output.status.code(), stderr(&output)), (Some(1), String::new()));
}
