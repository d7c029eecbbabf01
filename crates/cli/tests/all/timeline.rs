//! `--timeline` from the command line to a file that Perfetto reads: its
//! trace processor, or at least its published schema.

use crate::support::{assert_refused, manx, python, stderr};
use std::process::Command;

fn path(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn each_policy_writes_its_timeline_and_the_result_stays_the_same() {
    let (file, window) = (path("t.pftrace"), ["--timeline-window", "1s..1.1s"]);
    let plain = ["compare", "quick", "--policies", "nogc,base", "--json", "--no-cache"];
    let output = manx(&[&plain[..], &window, &["--timeline", &file]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let runs = |bytes: &[u8]| {
        let mut result: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        result["runs"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .for_each(|run| run["machine"] = serde_json::Value::Null);
        result["runs"].clone()
    };
    assert_eq!(runs(&output.stdout), runs(&manx(&plain).stdout));
    let read = |policy: &str| std::fs::read(path(&format!("t.{policy}.pftrace"))).unwrap();
    let has = |bytes: &[u8], text: &str| {
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    assert!(has(&read("base"), "copying") && !has(&read("nogc"), "copying"));
}

#[test]
fn perfetto_reads_the_slices() {
    let file = path("perfetto.pftrace");
    let args = [
        "run",
        "quick",
        "--policy",
        "base",
        "--timeline",
        &file,
        "--timeline-limit",
        "5000",
        "--no-cache",
    ];
    let said = stderr(&manx(&args));
    assert!(
        said.contains("timeline of 5000 records") && said.contains("more were left out"),
        "{said}"
    );
    let python = python();
    let import = ["-c", "import perfetto.protos.perfetto.trace.perfetto_trace_pb2"];
    if !Command::new(&python).args(import).output().is_ok_and(|output| output.status.success()) {
        return println!(
            "SKIPPED: {python} has no package perfetto; `make deps` makes one that has"
        );
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/read_timeline.py");
    let output = Command::new(&python).args([script, &file]).output().unwrap();
    let text = crate::support::stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    // The package says on stdout what it downloads.
    let how = text.lines().find(|line| ["TRACE PROCESSOR", "SCHEMA"].contains(line)).unwrap();
    if how == "SCHEMA" {
        println!(
            "checked by Perfetto's schema, as its trace processor could not be had: {}",
            stderr(&output).trim()
        );
    }
    // femu: tR 40 us, tPROG 200 us.
    let times = |name: &str| {
        text.lines().filter(|line| line.starts_with("die ") && line.ends_with(name)).count()
    };
    let exact = |name: &str, ns: &str| {
        text.lines().filter(|line| line.ends_with(&format!("\t{ns}\t{name}"))).count()
    };
    assert!(times("\tread") > 1000, "{text:.2000}");
    assert!(
        text.lines()
            .filter(|l| l.starts_with("die ") && l.ends_with("\tread"))
            .all(|l| l.contains("\t40000\t"))
    );
    assert_eq!(exact("program", "200000"), times("\tprogram"));
}

#[test]
fn what_cannot_be_a_timeline_is_refused_before_the_run() {
    let file = path("refused.pftrace");
    let window = |window: &str, pieces: &[&str]| {
        assert_refused(&["run", "quick", "--timeline", &file, "--timeline-window", window], pieces);
    };
    assert_refused(
        &["run", "quick", "--timeline", "/nowhere/x"],
        &["--timeline /nowhere/x", "cannot make this file"],
    );
    window("2s..1s", &["--timeline-window", "2s..1s", "FROM must be before TO"]);
    window("1..2", &["--timeline-window", "`1` is not a time"]);
    window("5s", &["--timeline-window", "FROM..TO"]);
    assert_refused(
        &["run", "quick", "--timeline", &file, "--timeline-slow", "3"],
        &["--timeline-slow", "is not a time"],
    );
}
