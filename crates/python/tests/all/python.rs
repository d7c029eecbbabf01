//! The package as its users have it: laid out in a folder from the module that cargo built and the
//! files beside it, and tried by pytest, mypy and a notebook's kernel.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The interpreter, and the folder that has `manx`; `None`, and why, where they are not there.
fn python() -> Option<&'static (PathBuf, PathBuf)> {
    static FOUND: OnceLock<Option<(PathBuf, PathBuf)>> = OnceLock::new();
    FOUND.get_or_init(laid_out).as_ref()
}

fn laid_out() -> Option<(PathBuf, PathBuf)> {
    let python = root().join("target/test-venv/bin/python");
    let modules = "import numpy, polars, pytest";
    let has_all = Command::new(&python).args(["-c", modules]).output();
    if !has_all.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED target/test-venv has no Python with numpy, polars, pytest: make deps");
        return None;
    }
    // Beside the executable of these tests, whatever the profile and the folder of the target.
    let own = std::env::current_exe().unwrap();
    let deps = own.parent().unwrap();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("python");
    let package = folder.join("manx");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&package).unwrap();
    let module = deps.join("lib_manx.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/manx");
    for file in std::fs::read_dir(source).unwrap().map(|file| file.unwrap().path()) {
        if file.is_file() {
            std::fs::copy(&file, package.join(file.file_name().unwrap())).unwrap();
        }
    }
    std::fs::copy(&module, package.join("_manx.abi3.so"))
        .unwrap_or_else(|error| panic!("{}: {error}", module.display()));
    Some((python, folder))
}

/// Runs the interpreter; its output is shown where it fails.
fn run(arguments: &[&str]) {
    let Some((python, folder)) = python() else { return };
    // Beside the folder of these tests, whatever the profile: cargo built it with them.
    let own = std::env::current_exe().unwrap();
    let program = own.parent().unwrap().with_file_name("manx");
    let output = Command::new(python)
        .args(arguments)
        .current_dir(root())
        .env("PYTHONPATH", folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("MANX_CACHE", folder.join("cache"))
        .env("MANX_PROGRAM", program)
        .output()
        .unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    println!("{text}");
    assert!(output.status.success(), "{arguments:?}\n{text}");
}

#[test]
fn what_is_promised_of_the_package_holds() {
    run(&["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "crates/python/tests/python"]);
}

#[test]
fn every_example_in_a_docstring_says_what_comes_out() {
    run(&["crates/python/tests/doctests.py"]);
}

#[test]
fn stubs_are_what_the_schema_says_and_strict_types_hold() {
    run(&["crates/python/stubs.py"]);
    run(&["crates/python/tests/typed.py"]);
}

#[test]
fn every_public_name_says_what_it_is() {
    run(&["crates/python/tests/documented.py"]);
}

#[test]
fn notebooks_run_from_first_to_last_cell() {
    run(&["crates/python/tests/notebooks.py"]);
}

#[test]
fn blocks_of_the_page_run_one_after_the_other() {
    run(&["crates/python/tests/page.py", "docs/python.md"]);
}
