//! Why the tail is there, from the command line: `--attribution`, `manx explain`, `--requests`.

use crate::support::{assert_refused, file, manx, python, stderr, stdout};
use std::process::Command;

fn path(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"))
}

const QUICK: [&str; 4] = ["compare", "quick", "--no-cache", "--policies"];

#[test]
fn a_result_explains_its_tail_in_words() {
    let folder = path("explained");
    let output =
        manx(&[&QUICK[..], &["base,preemptive", "--attribution", "--out", &folder]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    // The table is followed by a line a policy.
    let shown = stdout(&output);
    let line = |policy: &str| {
        let begins = format!("{policy} ");
        shown
            .lines()
            .find(|line| line.starts_with(&begins) && line.contains(" reads from p99.9"))
            .map(str::to_string)
    };
    assert!(line("base").unwrap().contains("% behind GC copies"), "{shown}");
    assert!(line("preemptive").is_some());

    let text = stdout(&manx(&["explain", &folder]));
    let stories: Vec<&str> = text.lines().filter(|line| line.contains(" of LPN ")).collect();
    // Reads and writes have lists of their own: twenty of each for each policy.
    assert_eq!(stories.len(), 80, "{text}");
    let of = |kind: &str| {
        stories.iter().filter(|story| story.contains(&format!(". {kind} of LPN "))).count()
    };
    assert_eq!((of("read"), of("write")), (40, 40), "{text}");
    assert!(
        stories[0].trim().starts_with("1. read of LPN ")
            && stories[20].trim().starts_with("1. write of LPN ")
    );
    assert!(text.contains("behind garbage collection"), "{text}");
    // A write's wait is charged to what held up the row that made its room.
    assert!(
        stories[20].contains(" behind ") && stories[20].contains("for room in the write buffer"),
        "{text}"
    );
    let one = stdout(&manx(&["explain", &folder, "--policy", "base", "--top", "3"]));
    assert_eq!(one.lines().filter(|line| line.contains(" of LPN ")).count(), 6);
    for (only, other) in [("--reads", "write"), ("--writes", "read")] {
        let text = stdout(&manx(&["explain", &folder, "--policy", "base", "--top", "3", only]));
        assert_eq!(text.lines().filter(|line| line.contains(" of LPN ")).count(), 3, "{text}");
        assert!(
            !text.contains(&format!("{other} of LPN"))
                && !text.contains(&format!("slowest {other}s")),
            "{text}"
        );
    }
    assert!(one.starts_with("quick under base, seed 1\n  all "), "{one}");

    assert_refused(&["explain", &folder, "--policy", "bas"], &["--policy bas", "base, preemptive"]);
    assert_refused(&["explain", &path("nothing")], &["nothing", "cannot read"]);
    assert_refused(
        &["explain", &file("no-result.json", b"{}")],
        &["no-result.json", "not a result"],
    );
    let plain = path("unexplained");
    assert!(
        manx(
            &[&QUICK[..], &["base", "--out", &plain, "--set", "measure.attribution=false"]]
                .concat()
        )
        .status
        .success()
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
    // The parts of the mean add up to the mean, but for the rounding of fourteen numbers to a
    // nanosecond.
    let sum: f64 =
        all["mean_us"].as_object().unwrap().values().map(|us| us.as_f64().unwrap()).sum();
    assert!((sum - plain["runs"][0]["read"]["mean_us"].as_f64().unwrap()).abs() < 0.014, "{sum}");
    assert_eq!(parts["slowest"].as_array().unwrap().len(), 20);
    let slowest = parts["slowest"][0]["latency_us"].as_f64();
    let max = |op: &str| plain["runs"][0][op]["max_us"].as_f64().unwrap();
    assert_eq!(slowest, Some(max("read").max(max("write"))));
}

/// IODA's array on drives of 24 lines, which collect in turn soon and for long.
const IODA: [&str; 9] = [
    "ioda",
    "--no-cache",
    "--attribution",
    "--set",
    "workload.requests=20000",
    "--set",
    "measure.warmup=0s",
    "--set",
    "device.geometry.blocks=24",
];

fn us(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap()
}

fn band(result: &serde_json::Value, run: usize, op: &str, name: &str) -> serde_json::Value {
    let bands = result["runs"][run]["attribution"][op].as_array().unwrap();
    bands.iter().find(|band| band["band"] == name).unwrap().clone()
}

/// The sum of a band's times.
fn whole(band: &serde_json::Value, times: &str) -> f64 {
    band[times].as_object().unwrap().values().map(us).sum()
}

/// In each of three runs the causes and the stages both add up to the mean.
fn assert_causes_and_stages_add_up(result: &serde_json::Value) {
    for run in 0..3 {
        for op in ["read", "write"] {
            let all = band(result, run, op, "all");
            let mean = us(&result["runs"][run][op]["mean_us"]);
            assert!((whole(&all, "mean_us") - mean).abs() < 0.014, "{all}");
            assert!((whole(&all, "mean_us") - whole(&all, "stages_us")).abs() < 0.014, "{all}");
            assert_eq!(all["stages_us"].as_object().unwrap().len(), 9);
        }
    }
}

#[test]
fn an_array_s_tail_is_told_by_cause_by_stage_and_by_drive() {
    let folder = path("array-explained");
    let run = [
        "compare",
        "--policies",
        "raid,iod2,hedged",
        "--set",
        "drive.controller=3us",
        "--out",
        &folder,
    ];
    let output = manx(&[&run[..1], &IODA, &run[1..]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read(format!("{folder}/result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_causes_and_stages_add_up(&result);
    let band = |run, op, name| band(&result, run, op, name);
    // A plain array's tail is its drives' collections, whose reads nobody goes round.
    let tail = band(0, "read", "p99_9");
    let behind = us(&tail["mean_us"]["gc_copy"]) + us(&tail["mean_us"]["erase"]);
    assert!(behind > 0.9 * whole(&tail, "mean_us"), "{tail}");
    // A fast failure costs a controller's time; a read that nobody answers costs it and the time of
    // the hedge.
    let read = |run: usize, stage: &str| us(&band(run, "read", "all")["stages_us"][stage]);
    assert_eq!((read(0, "retry"), read(0, "reconstruct")), (0.0, 0.0));
    assert!(
        read(1, "retry") > 0.0
            && read(1, "reconstruct") > 0.0
            && read(2, "retry") > read(1, "retry")
    );
    let array = &result["runs"][1]["array"];
    let reads = us(&band(1, "read", "all")["count"]);
    let failed = us(&array["fast_fails"]);
    assert!(
        read(1, "retry") * reads <= 3.0 * failed + 1.0,
        "{} of {failed}",
        read(1, "retry") * reads / 3.0
    );

    let told = stdout(&manx(&["explain", &folder, "--policy", "iod2"]));
    assert!(told.contains("% reading its own drive"), "{told}");
    let stories: Vec<&str> = told.lines().filter(|line| line.contains(" of LPN ")).collect();
    assert_eq!(stories.len(), 40, "{told}");
    let stories = &stories[..20];
    assert!(
        stories.iter().all(|story| story.contains("drive ") && story.contains(" took ")),
        "{told}"
    );
    assert!(told.contains("behind garbage collection"), "{told}");
    let page = std::fs::read_to_string(format!("{folder}/report.html")).unwrap();
    assert!(
        page.contains("the rest of its row ") && page.contains("drive\u{a0}"),
        "stages and drives are on the page"
    );
}

#[test]
fn attribution_and_a_timeline_change_nothing_of_an_array() {
    let file = path("array.pftrace");
    let json = |args: &[&str]| {
        let output = manx(args);
        assert!(output.status.success(), "{}", stderr(&output));
        let mut value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let run = value["runs"][0].as_object_mut().unwrap();
        run.remove("machine");
        (run.remove("attribution").unwrap(), value)
    };
    let run = [&["run", "--policy", "ioda", "--json"], &IODA[..2], &IODA[3..]].concat();
    let (none, plain) = json(&run);
    assert!(none.is_null());
    let timeline = ["--attribution", "--timeline", &file, "--timeline-limit", "1000000"];
    let (parts, attributed) = json(&[&run[..], &timeline].concat());
    assert_eq!((plain, false), (attributed, parts.is_null()));
    let bytes = std::fs::read(&file).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    for name in [
        "drive 0/die 3",
        "drive 3/channel 7 bus",
        "drive 2/slow commands",
        "reads the rest of its row",
    ] {
        assert!(text.contains(name), "{name}");
    }
}

#[test]
fn every_request_is_a_row_that_duckdb_reads() {
    let (requests, folder) = (path("requests.parquet"), path("requested"));
    let args =
        ["run", "quick", "--policy", "base", "--attribution", "--no-cache", "--out", &folder];
    let output = manx(&[&args[..], &["--requests", &requests]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let result: serde_json::Value =
        serde_json::from_slice(&std::fs::read(format!("{folder}/result.json")).unwrap()).unwrap();
    let read = &result["runs"][0]["read"];
    let python = python();
    if !Command::new(&python)
        .args(["-c", "import duckdb"])
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return println!("SKIPPED: {python} has no package duckdb; `make deps` makes one that has");
    }
    let script = r#"
import duckdb, sys
parts = "service_ns + erase_ns + program_ns + gc_copy_ns + reads_ns + channel_ns + link_ns" \
    " + queue_ns + buffer_ns + suspension_ns + reconstruct_ns + retry_ns + stripe_ns + space_ns" \
    " + flush_ns"
print(*duckdb.sql(f"""
    select count(*), count(*) filter (counted and op = 'R'),
        max(latency_us) filter (counted and op = 'R'),
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
    assert_eq!(
        (numbers[3], numbers[4]),
        (0.0, 0.0),
        "every sum is its latency, and every request went well"
    );
    assert!((numbers[5] / count - blocked).abs() < 1e-6);
}

/// A load of five times what the drive serves: rows stand in the order of completion, thousands of
/// them behind later arrivals. The same drive does with them what it did.
#[test]
#[cfg_attr(not(feature = "parquet"), ignore = "built without Parquet")]
fn the_requests_of_an_overloaded_run_replay() {
    let requests = path("overloaded.parquet");
    let load = ["workload.arrival=poisson", "workload.rate=30000", "workload.requests=50000"];
    let run = ["run", "quick", "--no-cache", "--json"];
    let mut args = [&run[..], &["--requests", &requests]].concat();
    load.iter().for_each(|set| args.extend(["--set", set]));
    let output = manx(&args);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = manx(&[&run[..], &["--trace", &requests]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let (run, trace) = (&result["runs"][0], &result["runs"][0]["trace"]);
    let counts = &trace["counts"];
    assert_eq!((&run["requests"], &counts["requests"]), (&50_000.into(), &50_000.into()));
    assert_eq!((&counts["altered"], &counts["dropped"]), (&0.into(), &0.into()));
    assert!(counts["reordered"].as_u64().unwrap() > 20_000, "{counts}");
    for op in ["read", "write"] {
        let [replayed, recorded] = [&run[op], &trace["recorded"][op]];
        for figure in ["count", "bytes", "mean_us", "stddev_us", "p50_us", "p99_us", "max_us"] {
            assert!(recorded[figure].is_number(), "{op} {figure}");
            assert_eq!(replayed[figure], recorded[figure], "{op} {figure}");
        }
    }
    // Milliseconds and seconds: a queue, and reads that passed writes.
    let mean = |op: &str| run[op]["mean_us"].as_f64().unwrap();
    assert!(mean("read") > 5_000.0 && mean("write") > 20.0 * mean("read"));
}

#[test]
fn a_file_of_requests_is_refused_before_the_run() {
    assert_refused(&["run", "quick", "--requests", "r.csv"], &["--requests r.csv", ".parquet"]);
    let nowhere = path("no-such-folder/r.parquet");
    assert_refused(
        &["run", "quick", "--no-cache", "--requests", &nowhere],
        &["--requests", &nowhere],
    );
    assert_refused(
        &[
            "sweep",
            "quick",
            "--grid",
            "gc.soft=0.1,0.2",
            "--out",
            &path("s"),
            "--requests",
            "r.parquet",
        ],
        &["--requests r.parquet", "manx run"],
    );
}
