//! The report of a comparison in a real browser: Debian's Chromium, driven by
//! crates/report/tests/browser.py.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn report(folder: &Path) {
    let run = Command::new(env!("CARGO_BIN_EXE_manx"))
        .args([
            "compare",
            "quick",
            "--policies",
            "nogc,base,controller,preemptive",
            "--no-cache",
            "--out",
        ])
        .arg(folder)
        .args(["--set", "measure.attribution=true"])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn a_comparison_of_four_policies_opens_and_shows_what_was_measured() {
    let shots = root().join("target/report-test");
    std::fs::create_dir_all(&shots).unwrap();
    report(&shots);
    let size = std::fs::metadata(shots.join("report.html")).unwrap().len();
    assert!(size < 400_000, "{size} bytes");
    let python = root().join("target/test-venv/bin/python");
    let Some(chromium) = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path)
            .map(|folder| folder.join("chromium"))
            .find(|file| file.exists())
    }) else {
        println!("SKIPPED: no chromium on the path; `make deps-browser` installs it");
        return;
    };
    let ready = Command::new(&python).args(["-c", "import playwright"]).output();
    if !ready.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: no Playwright in target/test-venv; `make deps` makes it");
        return;
    }
    let run = Command::new(&python)
        .arg(root().join("crates/report/tests/browser.py"))
        .args([shots.join("report.html"), shots.join("result.json"), shots.clone(), chromium])
        .output()
        .unwrap();
    let (out, error) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{out}{error}");
    print!("{out}");
}

#[test]
fn the_page_is_the_same_bytes_but_for_its_machine_section() {
    let folder = |name: &str| {
        let folder = root().join("target/report-test").join(name);
        report(&folder);
        let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
        page.split_once("<section id=\"machine\"").unwrap().0.to_string()
    };
    assert!(folder("once") == folder("again"));
}
