//! Why the tail is there, from the command line: `--attribution`, `manx explain`, `--requests`.

mod support;

use std::process::Command;
use support::{assert_refused, file, manx, python, stderr, stdout};

fn path(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"))
}

const QUICK: [&str; 4] = ["compare", "quick", "--no-cache", "--policies"];

#[test]
fn a_result_explains_its_tail_in_words() {
    let folder = path("explained");
    let output = manx(&[&QUICK[..], &["base,preemptive", "--attribution", "--out", &folder]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    // The table is followed by a line a policy.
    let shown = stdout(&output);
    let line = |policy: &str| {
        let begins = format!("{policy} ");
        shown.lines().find(|line| line.starts_with(&begins) && line.contains(" reads beyond p99.9")).map(str::to_string)
    };
    assert!(line("base").unwrap().contains("% behind GC copies"), "{shown}");
    assert!(line("preemptive").is_some());

    let text = stdout(&manx(&["explain", &folder]));
    let stories: Vec<&str> = text.lines().filter(|line| line.contains(" of LPN ")).collect();
    assert_eq!(stories.len(), 40, "{text}");
    assert!(stories[0].trim().starts_with("1. read of LPN ") || stories[0].trim().starts_with("1. write of LPN "));
    assert!(text.contains("behind garbage collection"), "{text}");
    let one = stdout(&manx(&["explain", &folder, "--policy", "base", "--top", "3"]));
    assert_eq!(one.lines().filter(|line| line.contains(" of LPN ")).count(), 3);
    assert!(one.starts_with("quick under base, seed 1\n  all "), "{one}");

    assert_refused(&["explain", &folder, "--policy", "bas"], &["--policy bas", "base, preemptive"]);
    assert_refused(&["explain", &path("nothing")], &["nothing", "cannot read"]);
    assert_refused(&["explain", &file("no-result.json", b"{}")], &["no-result.json", "not a result"]);
    let plain = path("unexplained");
    assert!(
        manx(&[&QUICK[..], &["base", "--out", &plain, "--set", "measure.attribution=false"]].concat()).status.success()
    );
    assert_refused(&["explain", &plain], &["base", "--attribution"]);
}

#[test]
fn attribution_changes_nothing_but_what_it_adds() {
    let run = |more: &[&str]| {
        let output = manx(&[&QUICK[..], &["base", "--json"], more].concat());
        let mut value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let run = value["runs"][0].as_object_mut().unwrap();
        run.remove("machine");
        (run.remove("attribution").unwrap(), value)
    };
    let (none, plain) = run(&["--set", "measure.attribution=false"]);
    let (parts, attributed) = run(&["--attribution"]);
    assert!(none.is_null());
    assert_eq!(plain, attributed);
    let bands = |op: &str| parts[op].as_array().unwrap().clone();
    let all = &bands("read")[0];
    assert_eq!(all["count"], plain["runs"][0]["read"]["count"]);
    // The parts of the mean add up to the mean, but for the rounding of thirteen numbers to a nanosecond.
    let sum: f64 = all["mean_us"].as_object().unwrap().values().map(|us| us.as_f64().unwrap()).sum();
    assert!((sum - plain["runs"][0]["read"]["mean_us"].as_f64().unwrap()).abs() < 0.014, "{sum}");
    assert_eq!(parts["slowest"].as_array().unwrap().len(), 20);
    let slowest = parts["slowest"][0]["latency_us"].as_f64();
    let max = |op: &str| plain["runs"][0][op]["max_us"].as_f64().unwrap();
    assert_eq!(slowest, Some(max("read").max(max("write"))));
}

#[test]
fn every_request_is_a_row_that_duckdb_reads() {
    let (requests, folder) = (path("requests.parquet"), path("requested"));
    let args = ["run", "quick", "--policy", "base", "--attribution", "--no-cache", "--out", &folder];
    let output = manx(&[&args[..], &["--requests", &requests]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let result: serde_json::Value =
        serde_json::from_slice(&std::fs::read(format!("{folder}/result.json")).unwrap()).unwrap();
    let read = &result["runs"][0]["read"];
    let python = python();
    if !Command::new(&python).args(["-c", "import duckdb"]).output().is_ok_and(|output| output.status.success()) {
        return println!("SKIPPED: {python} has no package duckdb; `make deps` makes one that has");
    }
    let script = r#"
import duckdb, sys
parts = "service_ns + erase_ns + program_ns + gc_copy_ns + reads_ns + channel_ns + link_ns + queue_ns + buffer_ns" \
    " + suspension_ns + reconstruct_ns + retry_ns + stripe_ns"
print(*duckdb.sql(f"""
    select count(*), count(*) filter (counted and op = 'R'), max(latency_us) filter (counted and op = 'R'),
        count(*) filter ({parts} != round(latency_us * 1000)), count(*) filter (not ok),
        sum(gc_blocked::int) filter (counted and op = 'R')
    from '{sys.argv[1]}'""").fetchone())
"#;
    let output = Command::new(&python).args(["-c", script, &requests]).output().unwrap();
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    let numbers: Vec<f64> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let blocked = result["runs"][0]["gc"]["blocked_reads_percent"].as_f64().unwrap() / 100.0;
    let count = read["count"].as_f64().unwrap();
    assert_eq!(numbers[0], 50_000.0);
    assert_eq!((numbers[1], numbers[2]), (count, read["max_us"].as_f64().unwrap()));
    assert_eq!((numbers[3], numbers[4]), (0.0, 0.0), "every sum is its latency, and every request went well");
    assert!((numbers[5] / count - blocked).abs() < 1e-6);
}

#[test]
fn a_file_of_requests_is_refused_before_the_run() {
    assert_refused(&["run", "quick", "--requests", "r.csv"], &["--requests r.csv", ".parquet"]);
    let nowhere = path("no-such-folder/r.parquet");
    assert_refused(&["run", "quick", "--no-cache", "--requests", &nowhere], &["--requests", &nowhere]);
    assert_refused(
        &["sweep", "quick", "--grid", "gc.soft=0.1,0.2", "--out", &path("s"), "--requests", "r.parquet"],
        &["--requests r.parquet", "manx run"],
    );
}
