//! `manx sweep`: interrupted in every way and started again, its rows are those of an uninterrupted
//! one.

use crate::support::{assert_refused, file, manx, stderr, stdout};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A drive so small that a point takes a few milliseconds.
const SMALL: [&str; 13] = [
    "sweep",
    "quick",
    "--no-cache",
    "--set",
    "workload.requests=400",
    "--set",
    "measure.warmup_requests=0",
    "--set",
    "device.geometry.channels=1",
    "--set",
    "gc.hard=0.01",
    "--set",
    "device.geometry.blocks=16",
];

/// 2 x 5 x 20 = 200 points.
const POINTS: [&str; 6] = [
    "--policies",
    "base,preemptive",
    "--grid",
    "device.op=0.25..0.45+0.05",
    "--grid",
    "workload.rate=200..4000+200",
];

/// A folder of this test's own, not there yet.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("sweep-{name}"));
    let _ = fs::remove_dir_all(&path);
    path
}

fn arguments<'a>(more: &[&'a str], out: &'a Path) -> Vec<&'a str> {
    SMALL.iter().chain(more).copied().chain(["--out", out.to_str().unwrap()]).collect()
}

#[track_caller]
fn done(more: &[&str], out: &Path) -> (String, String) {
    let output = manx(&arguments(more, out));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    (stdout(&output), stderr(&output))
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

fn rows(out: &Path) -> Vec<Vec<String>> {
    text(out.join("sweep.csv"))
        .lines()
        .map(|line| line.split(',').map(str::to_string).collect())
        .collect()
}

#[track_caller]
fn assert_same_files(one: &Path, other: &Path) {
    for name in ["sweep.csv", "sweep.parquet"] {
        assert!(
            fs::read(one.join(name)).unwrap() == fs::read(other.join(name)).unwrap(),
            "{name} differs"
        );
    }
}

/// Whole lines of the journal: runs that need not be done again.
fn journalled(out: &Path) -> usize {
    fs::read(out.join("journal.jsonl"))
        .map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count())
}

/// Begins the 200 points, and hands the process over when at least 50 are done and `end` has ended
/// it.
fn half_way(out: &Path, jobs: &str, end: impl Fn(&mut Child)) -> ExitStatus {
    let begin = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manx"));
        command
            .args(arguments(&POINTS, out))
            .args(["--jobs", jobs])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().unwrap()
    };
    // On a busy machine this process may sleep while the other one does all: then it begins anew.
    for _ in 0..20 {
        let mut child = begin();
        while journalled(out) < 50 && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(1));
        }
        end(&mut child);
        let status = child.wait().unwrap();
        if journalled(out) < 200 {
            return status;
        }
        fs::remove_dir_all(out).unwrap();
    }
    panic!("it always ended before it was seen half done")
}

#[test]
fn two_hundred_points_killed_half_way_give_the_rows_of_an_uninterrupted_sweep() {
    let (whole, killed, stopped) = (folder("whole"), folder("killed"), folder("stopped"));
    let (_, said) = done(&[&POINTS[..], &["--jobs", "4"]].concat(), &whole);
    assert!(
        said.starts_with("200 of 200 rows in ") && said.contains(" 0 from the journal"),
        "{said}"
    );
    assert_eq!(rows(&whole).len(), 201);

    half_way(&killed, "1", |child| child.kill().unwrap());
    let known = journalled(&killed);
    assert!((50..200).contains(&known), "{known} runs were done when it was killed");
    // The csv goes along with the journal, line by line.
    let lines = text(killed.join("sweep.csv"));
    assert!(
        lines.lines().count() >= known - 1 && text(whole.join("sweep.csv")).starts_with(&lines)
    );
    assert!(!killed.join("sweep.parquet").exists(), "a file without its end is not there");
    let (_, said) = done(&[&POINTS[..], &["--jobs", "1"]].concat(), &killed);
    assert!(said.contains(&format!(" {known} from the journal")), "{known}: {said}");
    assert_eq!(journalled(&killed), 200, "nothing was done twice");
    assert_same_files(&whole, &killed);

    // Ctrl-C: what is there is whole, in both files.
    let status = half_way(&stopped, "2", |child| {
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    });
    assert_eq!(status.code(), Some(130));
    let written = rows(&stopped).len() - 1;
    assert!((40..200).contains(&written), "{written}");
    assert!(text(whole.join("sweep.csv")).starts_with(&text(stopped.join("sweep.csv"))));
    assert_eq!(parquet_rows(&stopped).len(), written);
    let known = journalled(&stopped);
    let (_, said) = done(&POINTS, &stopped);
    assert!(said.contains(&format!(" {known} from the journal")), "{known}: {said}");
    assert_same_files(&whole, &stopped);
}

/// The rows of the Parquet file as the csv would write them.
fn parquet_rows(out: &Path) -> Vec<Vec<String>> {
    let reader = SerializedFileReader::new(File::open(out.join("sweep.parquet")).unwrap()).unwrap();
    let shown = |field: &Field| match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Long(value) => value.to_string(),
        Field::Double(value) => format!("{value:?}"),
        other => panic!("no column is of the type of {other:?}"),
    };
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    rows.map(|row| row.get_column_iter().map(|(_, field)| shown(field)).collect()).collect()
}

/// 4 points of three keys, each with 3 seeds.
const RANDOM: [&str; 14] = [
    "--random",
    "workload.rate=500..4000:log",
    "--random",
    "gc.window=8..64",
    "--random",
    "drive.buffer=32KiB|64KiB",
    "--points",
    "4",
    "--seeds",
    "3",
    "--seed",
    "5",
    "--columns",
    "p99,write.p99_us,erases,waf",
];

#[test]
fn both_files_hold_the_same_and_draws_and_seeds_repeat() {
    let out = folder("random");
    done(&RANDOM, &out);
    let csv = rows(&out);
    assert_eq!(
        csv[0].join(" "),
        "point policy workload.rate gc.window drive.buffer drive.buffer_bytes seed outcome \
         p99 write.p99_us erases waf"
    );
    assert_eq!(csv[1..].len(), 12);
    assert_eq!(csv[1..], parquet_rows(&out));
    for (number, row) in csv[1..].iter().enumerate() {
        assert_eq!(
            (row[0].as_str(), row[6].as_str()),
            ((number / 3 + 1).to_string().as_str(), ["5", "6", "7"][number % 3])
        );
        assert_eq!(
            row[2..5],
            csv[1 + number / 3 * 3][2..5],
            "a point's seeds differ in nothing else"
        );
        let bytes: u64 = row[5].parse().unwrap();
        assert_eq!(format!("{}KiB", bytes / 1024), row[4]);
    }
    // A row is the run that `manx run` would do.
    let row = &csv[8];
    let set = |key: &str, value: &str| ["--set".to_string(), format!("{key}={value}")];
    let keys = [("workload.rate", 2), ("gc.window", 3), ("drive.buffer", 4), ("seed", 6)];
    let keys = keys.into_iter().flat_map(|(key, at)| set(key, &row[at])).collect::<Vec<_>>();
    let mut single: Vec<&str> = SMALL.to_vec();
    single[0] = "run";
    let output = manx(
        &single
            .into_iter()
            .chain(keys.iter().map(String::as_str))
            .chain(["--json"])
            .collect::<Vec<_>>(),
    );
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(result["runs"][0]["flash"]["waf"].to_string(), row[11]);
    assert_eq!(result["runs"][0]["read"]["p99_us"].to_string().replace("null", ""), row[8]);

    // More points begin with the same ones, and only they are new.
    let more: Vec<&str> =
        RANDOM.iter().map(|word| if *word == "4" { "6" } else { *word }).collect();
    let there = out.to_str().unwrap();
    assert_refused(
        &arguments(&more, &out),
        &[there, "another sweep lies there", "--points was `4` and is `6`", "--force"],
    );
    let (_, said) = done(&[&more[..], &["--force"]].concat(), &out);
    assert!(said.starts_with("18 of 18 rows") && said.contains(" 12 from the journal"), "{said}");
    assert_eq!(rows(&out)[..13], csv);
    // Other columns are no other question.
    let other: Vec<&str> =
        more.iter().map(|word| if word.starts_with("p99,") { "requests" } else { *word }).collect();
    let (_, said) = done(&other, &out);
    assert!(said.contains(" 18 from the journal"), "{said}");
    assert!(rows(&out)[1..].iter().all(|row| row[8] == "400"));
}

#[test]
fn the_front_is_printed_now_and_later_and_as_json() {
    let out = folder("front");
    let more = [
        "--grid",
        "device.op=0.25,0.35,0.45",
        "--grid",
        "workload.rate=500,4000",
        "--pareto",
        "mean,max:iops,waf",
    ];
    let (table, _) = done(&more, &out);
    assert!(
        table.contains("device.op") && table.contains("front: ") && table.contains(" of 6 points"),
        "{table}"
    );
    let there = out.to_str().unwrap();
    let again = manx(&["sweep", "--pareto", "mean,max:iops,waf", "--out", there]);
    assert_eq!(stdout(&again), table, "{}", stderr(&again));

    let (json, _) = done(&[&more[..], &["--json"]].concat(), &out);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let (rows, front) = (json["rows"].as_array().unwrap(), json["front"].as_array().unwrap());
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[3]["workload.rate"], 4000);
    // By the definition: no row is at least as good everywhere and better somewhere.
    let costs = |row: &serde_json::Value| {
        [
            row["mean"].as_f64().unwrap(),
            -row["iops"].as_f64().unwrap(),
            row["waf"].as_f64().unwrap(),
        ]
    };
    let beats = |a: [f64; 3], b: [f64; 3]| a != b && (0..3).all(|at| a[at] <= b[at]);
    let on = |row: &&serde_json::Value| !rows.iter().any(|other| beats(costs(other), costs(row)));
    let mut expected: Vec<_> =
        rows.iter().filter(on).map(|row| row["point"].as_i64().unwrap()).collect();
    let mut found: Vec<_> = front.iter().map(|row| row["point"].as_i64().unwrap()).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    let again = manx(&["sweep", "--pareto", "mean,max:iops,waf", "--out", there, "--json"]);
    let again: serde_json::Value = serde_json::from_str(&stdout(&again)).unwrap();
    assert_eq!(&again["front"], &json["front"]);
    assert_refused(
        &["sweep", "--pareto", "wav", "--out", there],
        &["--pareto", "`wav`", "did you mean `waf`?"],
    );
    assert_refused(&["sweep", "--pareto", "flash.wear.erases_max", "--out", there], &["--columns"]);

    // A folder that holds no sweep, and rows that are none.
    let empty = folder("empty");
    fs::create_dir_all(&empty).unwrap();
    assert_refused(
        &["sweep", "--pareto", "waf", "--out", empty.to_str().unwrap()],
        &["no sweep lies there"],
    );
    fs::write(out.join("sweep.csv"), "a,b\n1,2\n").unwrap();
    assert_refused(&["sweep", "--pareto", "waf", "--out", there], &["not the rows of a sweep"]);
}

#[test]
fn points_that_cannot_be_run_refuse_the_sweep_or_are_left_out_and_listed() {
    let out = folder("invalid");
    let more = ["--grid", "device.op=0.3,-1,0.4", "--grid", "gc.soft=0.05,2"];
    assert_refused(
        &arguments(&more, &out),
        &["point 2 (device.op = 0.3, gc.soft = 2)", "gc.soft = 2"],
    );
    assert!(!out.exists(), "nothing was made");
    let (table, said) = done(&[&more[..], &["--skip-invalid"]].concat(), &out);
    assert!(said.contains("left out: 4 points") && said.contains("2 of 2 rows"), "{said}");
    assert_eq!(table.lines().count(), 4, "{table}");
    let listed = text(out.join("skipped.txt"));
    assert_eq!(listed.lines().count(), 4);
    assert!(listed.contains("point 3 (device.op = -1, gc.soft = 0.05): "), "{listed}");
    assert_eq!(rows(&out)[1..].iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), ["1", "5"]);
    let nothing = ["--skip-invalid", "--grid", "device.op=-1,-2"];
    assert_refused(
        &arguments(&nothing, &folder("nothing")),
        &["no point can be run", "device.op = -1"],
    );
}

fn assert_all_refused(table: &[(&[&str], &[&str])]) {
    let out = folder("refused");
    for (more, pieces) in table {
        assert_refused(&arguments(more, &out), pieces);
        assert!(!out.exists(), "{more:?}: nothing was made");
    }
}

#[test]
fn a_sweep_is_refused_by_option_key_and_value() {
    let grid = "--grid";
    let table: &[(&[&str], &[&str])] = &[
        (&[], &["nothing to sweep", "--grid KEY=V1,V2"]),
        (
            &[grid, "workload.rat=1,2"],
            &["point 1 ", "unknown key workload.rat", "did you mean workload.rate?"],
        ),
        (&[grid, "workload.rate=fast,slow"], &["--grid workload.rate=fast", "expected a number"]),
        (&[grid, "gc.copyback=1,2"], &["gc.copyback = 1", "true or false"]),
        (&[grid, "gc.soft="], &["--grid gc.soft=", "expected KEY=V1,V2"]),
        (&[grid, "gc.soft"], &["expected KEY=V1,V2"]),
        (&[grid, "gc.soft=0.1,,0.2"], &["a value is empty"]),
        (&[grid, "gc.soft=0.2..0.1+0.01"], &["0.2..0.1+0.01", "it is empty"]),
        (&[grid, "gc.soft=0.1..0.2"], &["needs a step"]),
        (&[grid, "workload.think=1ms..2KiB*2"], &["of the same kind"]),
        (&[grid, "gc.soft=0.05", grid, "gc.soft=0.06"], &["the key is swept twice"]),
        (
            &[grid, "gc.soft=0.05", "--random", "gc.soft=0.1..0.2", "--points", "2"],
            &["the key is swept twice"],
        ),
        (
            &[grid, "gc.hard=0.02,0.03"],
            &["--grid gc.hard", "`--set gc.hard=0.01` sets what is swept"],
        ),
        (&[grid, "seed=1,2"], &["--seeds N"]),
        (&[grid, "device.name=femu,nosuch"], &["point 2", "nosuch"]),
    ];
    assert_all_refused(table);
    let table: &[(&[&str], &[&str])] = &[
        (&["--random", "gc.soft=0.05..0.1"], &["--points N"]),
        (&["--random", "gc.soft=0.05..0.1", "--points", "0"], &["--points 0"]),
        (&["--random", "gc.soft=0.05..0.1", "--points", "-1"], &["--points"]),
        (&["--random", "gc.soft=0.05..0.1", "--points", "1000001"], &["1000000"]),
        (&["--random", "gc.soft=0.1..0.05", "--points", "2"], &["it is empty"]),
        (&["--random", "gc.window=0..9:log", "--points", "2"], &["LOW above 0"]),
        (&["--random", "gc.victim=greedy", "--points", "2"], &["expected KEY=LOW..HIGH"]),
        (&["--seeds", "2", "--trace", "nosuch.csv"], &["point 1", "nosuch.csv"]),
        (&["--points", "3", "--seeds", "2"], &["there is no --random"]),
        (&["--seeds", "0"], &["--seeds 0"]),
        (
            &[grid, "gc.soft=0.01..0.1+0.00001", grid, "workload.rate=1..1000+1"],
            &["points are too many", "1000000"],
        ),
        (&["--policies", "base,nosuch"], &["nosuch"]),
        (&["--policies", "base,base"], &["named twice"]),
        (
            &["--policies", "base", "--pareto", "p99_98"],
            &["--pareto", "`p99_98`", "did you mean `p99_9"],
        ),
        (&["--policies", "base", "--pareto", "least:waf"], &["neither min: nor max:"]),
        (&["--policies", "base", "--pareto", "waf,waf"], &["named twice"]),
        (&["--policies", "base", "--columns", "wave"], &["--columns", "did you mean `waf`?"]),
        (&["--policies", "base", "--act-log", "x"], &["--act-log x", "many runs"]),
        (&["--policies", "base", "--format", "msr"], &["it needs --trace"]),
    ];
    assert_all_refused(table);
}

#[test]
fn a_sweep_is_refused_where_its_folder_or_its_scenario_is_none() {
    assert_refused(&["sweep", "--policies", "base"], &["--out DIR is missing"]);
    assert_refused(&["sweep", "nosuch", "--policies", "base", "--out", "x"], &["nosuch"]);
    let taken = file("sweep-taken", b"x");
    assert_refused(&arguments(&["--seeds", "2"], Path::new(&taken)), &["--out", "this is a file"]);
    assert_refused(
        &arguments(&["--seeds", "2"], Path::new("/proc/nowhere")),
        &["--out /proc/nowhere", "cannot make"],
    );
    let odd = folder("odd");
    fs::create_dir_all(&odd).unwrap();
    fs::write(odd.join("sweep.toml"), "x = 1\n").unwrap();
    assert_refused(&arguments(&["--seeds", "2"], &odd), &["sweep.toml", "not what a sweep writes"]);
}
