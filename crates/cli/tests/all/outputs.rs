//! Files written and read again, by someone who is careless or hostile: options that write, results
//! of other hands.

use crate::support::{assert_refused, file, manx, stderr, stdout};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const SCENARIO: &str = "[device]\nname = \"femu\"\n\
                        geometry = { channels = 2, ways = 2, blocks = 64 }\nop = 0.25\n\
                        [drive]\nbuffer = \"256KiB\"\n[workload]\nrequests = 200\n";

const LINE: &str = "128166372003061629,hm,0,Read,8192,4096,100\n";

fn path(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"))
}

/// A result with attribution, as a document.
fn result() -> serde_json::Value {
    let output =
        manx(&["compare", "quick", "--set", "workload.requests=2000", "--attribution", "--json"]);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn an_option_that_writes_is_refused_before_the_run() {
    let (scenario, trace) =
        (file("w-scenario.toml", SCENARIO.as_bytes()), file("w-trace.csv", LINE.as_bytes()));
    let parquet = file("w-trace.parquet", LINE.as_bytes());
    let (both, out) = (path("w-both.parquet"), path("w-out"));
    let (notes, rows) = (file("w-notes.txt", b"notes"), file("w-rows.parquet", b"t_us,op"));
    let inside = format!("{out}/result.json");
    std::fs::create_dir_all(&out).unwrap();
    let table: &[(&[&str], &[&str])] = &[
        (&["--timeline", &scenario], &["--timeline", "w-scenario.toml", "the run reads this file"]),
        (
            &["--trace", &trace, "--timeline", &trace],
            &["--timeline", "w-trace.csv", "the run reads this file"],
        ),
        (
            &["--trace", &parquet, "--format", "msr", "--requests", &parquet],
            &["--requests", "reads this file"],
        ),
        (
            &["--timeline", &both, "--requests", &both],
            &["--requests", "w-both.parquet", "--timeline writes this"],
        ),
        (
            &["--timeline", &notes],
            &["--timeline", "w-notes.txt", "no .pftrace of manx", "remove it"],
        ),
        (&["--requests", &rows], &["--requests", "w-rows.parquet", "no .parquet of manx"]),
        (
            &["--out", &out, "--timeline", &inside],
            &["--timeline", "result.json", "--out writes this file too"],
        ),
        (
            &["--timeline", "t", "--timeline-slow", "-1ms"],
            &["'-1ms'", "--timeline-slow", "not negative"],
        ),
        (
            &["--timeline", "t", "--timeline-window", "-1s..2s"],
            &["-1s..2s", "--timeline-window", "not negative"],
        ),
        (
            &["--timeline", "t", "--timeline-limit", "-1"],
            &["'-1'", "--timeline-limit", "a whole number from 0"],
        ),
        (
            &["--timeline", "t", "--timeline-limit", "1e3"],
            &["'1e3'", "--timeline-limit", "a whole number from 0"],
        ),
        (&["--timeline-slow", "1ms"], &["--timeline <FILE>"]),
        (&["--requests", "r.csv"], &["--requests r.csv", ".parquet"]),
    ];
    for (options, pieces) in table {
        assert_refused(&[["run", &scenario].as_slice(), options].concat(), pieces);
    }
    assert_eq!(std::fs::read_to_string(&scenario).unwrap(), SCENARIO);
    assert_eq!(std::fs::read_to_string(&trace).unwrap(), LINE);
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "notes");
    let options = ["run", &scenario, "--timeline", &notes, "--requests", &rows];
    let written = [&options[..], &["--force", "--out", &path("w-forced")]];
    assert!(manx(&written.concat()).status.success());
    assert!(manx(&written[..1].concat()).status.success(), "its own files are replaced");
    assert!(!Path::new(&both).exists() && !Path::new(&inside).exists());
    assert_refused(&["compare", &scenario, "--policies", ","], &["no policy ``", "nogc, base"]);
    for option in ["--points", "--seeds"] {
        let sweep =
            ["sweep", &scenario, "--random", "gc.soft=0.05..0.1", "--out", &out, option, "-1"];
        assert_refused(&sweep, &["'-1'", option, "a whole number from 0"]);
    }
}

#[test]
fn what_is_no_result_is_refused_by_its_file_and_reason() {
    let text = serde_json::to_string(&result()).unwrap();
    let edited = |edit: &dyn Fn(&mut serde_json::Value)| {
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        edit(&mut value);
        serde_json::to_string(&value).unwrap()
    };
    let table: &[(&str, String, &str)] = &[
        ("n-empty.json", String::new(), "it is empty"),
        ("n-cut.json", text[..text.len() / 2].to_string(), "EOF"),
        (
            "n-other.json",
            "{\"fio version\": \"fio-3.33\", \"jobs\": []}".to_string(),
            "missing field `runs`",
        ),
        ("n-null.json", "null".to_string(), "invalid type: null"),
        ("n-nan.json", text.replacen("\"mean_us\":", "\"mean_us\":NaN,\"x\":", 1), "column"),
        ("n-runs.json", "{\"runs\": []}".to_string(), "it holds no run"),
        ("n-policy.json", edited(&|all| all["runs"][0]["policy"] = 7.into()), "integer `7`"),
        (
            "n-curve.json",
            edited(&|all| all["runs"][1]["read"]["curve"] = serde_json::Value::Null),
            "struct Curve",
        ),
    ];
    for (name, text, why) in table {
        let path = file(name, text.as_bytes());
        assert_refused(&["explain", &path], &[name, why]);
    }
    assert_refused(
        &["explain", &file("n-binary.json", b"PAR1\xff\xfe")],
        &["n-binary.json", "no UTF-8 text"],
    );
    assert_refused(&["explain", "A="], &["A=: no path", "NAME=RESULT"]);
    let whole = file("n-whole.json", text.as_bytes());
    assert_refused(
        &["explain", &whole, "--policy", "bse"],
        &["--policy bse", "nogc, base", "did you mean base?"],
    );
    for top in ["21", "-1", "x"] {
        assert_refused(&["explain", &whole, "--top", top], &["--top", top]);
    }
    // A file without an end is refused, not read to the end of memory.
    #[cfg(unix)]
    assert_refused(&["explain", "/dev/zero"], &["/dev/zero", "longer than 512 MiB"]);
}

#[test]
fn results_of_other_hands_are_explained_in_whole_lines() {
    let mut value = result();
    value["runs"][0]["policy"] = "<b>\u{1b}[31m\nsecond".into();
    value["runs"][0]["attribution"]["slowest"][0]["op"] = "re\nad".into();
    let text = stdout(&manx(&[
        "explain",
        &file("h-names.json", value.to_string().as_bytes()),
        "--top",
        "1",
    ]));
    assert!(!text.contains('\u{1b}') && text.contains("under <b> [31m second, seed 1\n"), "{text}");
    assert!(text.contains(" re ad of "), "{text}");
    // Most writes take the same microsecond, so that all of them lie at p99: there is no line of
    // those beyond.
    assert_eq!(
        text.split("seed 1\n").nth(1).unwrap().matches(" writes beyond").count(),
        0,
        "{text}"
    );
    // Before attribution there was none.
    value["runs"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .for_each(|run| drop(run.as_object_mut().unwrap().remove("attribution")));
    let old = file("h-old.json", value.to_string().as_bytes());
    assert_refused(
        &["explain", &old],
        &["h-old.json", "were not split into causes", "--attribution"],
    );
}

#[test]
fn results_are_printed_although_their_folder_cannot_hold_them() {
    let out = path("full");
    // A file cannot take the place of a folder with something in it.
    std::fs::create_dir_all(format!("{out}/result.json/in-the-way")).unwrap();
    let output = manx(&[
        "run",
        &file("full.toml", SCENARIO.as_bytes()),
        "--no-cache",
        "--json",
        "--out",
        &out,
    ]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.lines().last().unwrap().starts_with("error: ")
            && said.contains("result.json: cannot write it"),
        "{said}"
    );
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["runs"][0]["requests"], 200);
    assert!(
        std::fs::read_dir(&out).unwrap().all(|entry| entry.unwrap().file_name() == "result.json")
    );
}

/// A signal that comes before the program asked for it ends it without a word.
#[cfg(unix)]
fn wait_until_it_catches_interrupts(process: u32) {
    let catches = || {
        let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) else {
            // No such file on this system: there is only time.
            std::thread::sleep(Duration::from_secs(2));
            return true;
        };
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .expect("a mask of signals");
        u64::from_str_radix(caught.trim(), 16).unwrap() & 2 != 0
    };
    while !catches() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_preparation_leaves_older_results_alone() {
    let out = path("older");
    std::fs::create_dir_all(&out).unwrap();
    let older = "{\"runs\": [{\"scenario\": \"older\"}]}";
    std::fs::write(format!("{out}/result.json"), older).unwrap();
    // It would never settle.
    let long = [
        "--set",
        "precondition.passes_max=1000",
        "--set",
        "precondition.settled_below=0.000000001",
    ];
    let args = [&["run", "oltp", "--no-cache", "--out", &out], long.as_slice()].concat();
    let manx = Command::new(env!("CARGO_BIN_EXE_manx"))
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let manx = manx.unwrap();
    wait_until_it_catches_interrupts(manx.id());
    assert!(
        Command::new("kill").args(["-INT", &manx.id().to_string()]).status().unwrap().success()
    );
    let output = manx.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("error: interrupted; no request was completed"), "{said}");
    assert_eq!(std::fs::read_to_string(format!("{out}/result.json")).unwrap(), older);
}

#[test]
fn every_option_of_help_stands_under_its_own_heading() {
    let help = stdout(&manx(&["run", "--help"]));
    let general = help.split("\nTimeline (").next().unwrap();
    for option in
        ["--out <", "--json", "--verify", "--jobs <", "--attribution", "--requests <", "--no-cache"]
    {
        assert!(general.contains(option), "{option} is not under Options");
    }
}
