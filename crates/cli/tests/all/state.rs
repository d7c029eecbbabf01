//! Remarks on the drive before its numbers: its state, what was collected, which drive it is, and
//! on which path each run is.

use crate::support::{manx, stderr, stdout};
use serde_json::Value;
use std::path::Path;

fn trace() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/pgbench.csv.zst").display().to_string()
}

fn json(args: &[&str]) -> (Value, String) {
    let output = manx(&[args, &["--json", "--no-cache"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    (serde_json::from_slice(&output.stdout).unwrap(), stderr(&output))
}

fn said(args: &[&str]) -> String {
    let output = manx(&[args, &["--no-cache"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

/// It was 1.2 with nothing but the trace said: the drive had been overwritten with the trace's own
/// few pages only.
#[test]
fn a_trace_alone_shows_what_garbage_collection_costs_it() {
    let (document, text) = json(&["compare", "--trace", &trace(), "--policies", "nogc,base"]);
    let [nogc, base] = [0, 1].map(|number| &document["runs"][number]);
    let tail = |run: &Value| run["read"]["p99_9_us"].as_f64().unwrap();
    assert!(tail(base) > 10.0 * tail(nogc), "{} against {}", tail(base), tail(nogc));
    for run in [nogc, base] {
        assert_eq!(run["state"]["began"], "steady");
        assert_eq!(run["state"]["overwritten_by"], "random");
        assert!(run["state"]["reclaimed_blocks"].as_u64().unwrap() > 100, "{}", run["state"]);
        assert_eq!(run["title"], "pgbench.csv.zst on ttflash-256g");
    }
    assert!(
        text.contains("\npreconditioning: filled, ")
            && text.contains(" full random overwrites, WAF "),
        "{text}"
    );
    assert!(
        text.contains("blocks reclaimed while measured: nogc ")
            && text.contains(" at no cost, base "),
        "{text}"
    );
}

#[test]
fn where_nothing_was_collected_the_first_line_says_so() {
    let text = said(&[
        "compare",
        "quick",
        "--set",
        "workload.requests=3000",
        "--set",
        "precondition.state=empty",
    ]);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("No garbage collection happened: the drive wrote "), "{text}");
    assert!(first.ends_with(" of free space; every policy looks alike"), "{text}");
    assert!(text.contains("\npreconditioning: empty: nothing was ever written"), "{text}");
    let reads = ["--set", "workload.requests=3000", "--set", "workload.read_percent=100"];
    let text = said(&[&["run", "quick"], reads.as_slice()].concat());
    assert!(
        text.starts_with("No garbage collection happened in as-written: nothing was written\n"),
        "{text}"
    );
    let held = ["workload.requests=1000", "measure.warmup_requests=0", "drive.buffer=64MiB"];
    let held = held.map(|set| ["--set", set]).concat();
    let text = said(&[&["run", "quick"], held.as_slice()].concat());
    let first = text.lines().next().unwrap();
    assert!(first.contains("nothing reached flash, for the write buffer took all of "), "{text}");
}

#[test]
fn a_trace_whose_own_writes_leave_nothing_to_copy_is_told_of() {
    let by_itself = ["--set", "precondition.overwrite=workload", "--policies", "base"];
    let text = said(&[&["compare", "--trace", &trace()], by_itself.as_slice()].concat());
    let first = text.lines().next().unwrap();
    let none = first.starts_with("No garbage collection happened in base: ");
    let empty = first.starts_with("Garbage collection had next to nothing to copy in base: ");
    assert!(none || empty && first.contains("precondition.overwrite = \"random\""), "{text}");
}

#[test]
fn another_device_is_told_with_its_own_capacity_and_the_changes_to_the_scenario_s_own() {
    let short = ["--set", "workload.requests=2000", "--set", "precondition.state=fill"];
    let text = said(&[&["run", "oltp", "--device", "femu"], short.as_slice()].concat());
    assert!(
        text.contains("femu: raw 16 GiB, user 12 GiB, OP 33.3 % of user (25.0 % of raw)"),
        "{text}"
    );
    assert!(!text.contains("changes femu"), "{text}");
    let text = said(&[&["run", "oltp"], short.as_slice()].concat());
    let changes = "\noltp changes ttflash-256g (its own in parentheses): \
                   geometry.blocks = 128 (4096), op = 0.25 (0.1)\n";
    assert!(text.contains(changes), "{text}");
}

#[test]
fn a_comparison_of_more_than_one_thing_says_so_and_has_the_paths() {
    let args = [
        "compare",
        "quick",
        "--set",
        "workload.requests=3000",
        "--policies",
        "nogc,base,sepbit,t-es",
    ];
    let (document, text) = json(&args);
    let paths: Vec<&Value> =
        document["runs"].as_array().unwrap().iter().map(|run| &run["path"]).collect();
    assert_eq!(paths, ["nogc", "base", "base/sepbit", "reads-first/t-es(64ms)"]);
    assert_eq!(document["runs"][2]["policy"], "sepbit");
    assert_eq!(document["runs"][3]["axes"]["gc"], "reads-first");
    let expected = "\nnot one thing compared: the policies differ in erase, ftl and gc: \
                    base, sepbit is base/sepbit, t-es is reads-first/t-es(64ms)\n";
    assert!(text.contains(expected), "{text}");
}
