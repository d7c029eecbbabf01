//! `manx lab`: the built-in experiments hold in small, a mechanism that is broken on purpose is
//! found, and an experiment that was interrupted goes on.

use crate::support::{assert_refused, file, manx, stderr, stdout};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// An empty folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Experiments that take more than ten seconds of a core each in small: only `make test-long` and
/// `make test-verdicts` play them.
const LONGEST: [&str; 6] =
    ["ioda-artefact", "ioda-op", "ioda-strategies", "ioda-throughput", "ioda-tw", "ioda-width"];

/// The claims whose verdict is not the recorded one, as `experiment/claim`.
fn changed(document: &Value) -> Vec<String> {
    let several = document["experiments"].as_array().cloned();
    let mut changed = Vec::new();
    for experiment in several.unwrap_or_else(|| vec![document.clone()]) {
        for claim in experiment["claims"].as_array().unwrap() {
            // An experiment skips nothing in small without a reason.
            let skipped = claim["verdict"].is_null()
                && claim["missing"].as_str().is_some_and(|why| !why.is_empty());
            if (claim["verdict"] == "missed") != (claim["recorded"] == "missed") && !skipped {
                let name = |value: &Value| value.as_str().unwrap().to_string();
                changed.push(format!("{}/{}", name(&experiment["experiment"]), name(&claim["id"])));
            }
        }
    }
    changed
}

#[test]
fn every_verdict_is_as_recorded_in_small_and_a_mechanism_broken_on_purpose_changes_its_own() {
    let out = folder("lab-all");
    let out = out.to_str().unwrap();
    let run = |more: &[&str]| {
        let mut args =
            [&["lab", "run", "all", "--quick", "--check", "--json", "--out", out], more].concat();
        // Half of the runs are in no claim; `make test-long` plays them too.
        if std::env::var_os("MANX_LONG").is_none() {
            args.push("--claims-only");
            LONGEST.into_iter().for_each(|name| args.extend(["--skip", name]));
        }
        outcome(&args)
    };
    let (code, document, said) = run(&[]);
    assert_eq!((code, changed(&document)), (Some(0), Vec::new()), "{said}");
    let experiments = document["experiments"].as_array().unwrap();
    assert!(experiments.len() >= 35, "those without traces");
    for experiment in experiments {
        let is_long = LONGEST.into_iter().any(|name| experiment["experiment"] == name);
        assert!(!is_long || std::env::var_os("MANX_LONG").is_some(), "--skip leaves it out");
        assert_eq!(
            (&experiment["quick"], &experiment["what_if"]),
            (&Value::Bool(true), &Value::Array(Vec::new()))
        );
        assert!(experiment["runs"].as_array().unwrap().len() >= 2, "{}", experiment["experiment"]);
        experiment["claims"].as_array().unwrap().iter().for_each(assert_holds_or_is_missing);
    }

    // Each knob breaks one mechanism of one run; everything else comes from the journal.
    for (set, expected) in [
        ("greedy-28:gc.victim=random", "waf-analytic/greedy-28"),
        ("think:workload.think=90us", "engine-laws/response-time-law"),
        ("dtrs-preemptive:gc.mode=base", "gc-modes/dtrs-tail-of-preemptive"),
        ("dtrs-poisson:gc.mode=controller", "gc-modes/dtrs-blocked-model"),
    ] {
        let experiment = expected.split('/').next().unwrap();
        let args = ["--quick", "--check", "--json", "--out", out, "--set", set];
        let (code, document, said) = outcome(&[&["lab", "run", experiment], &args[..]].concat());
        assert_eq!((code, changed(&document)), (Some(1), vec![expected.to_string()]), "{set}");
        assert_eq!(document["what_if"][0], set);
        assert!(said.contains(&format!("what if: --set {set}")), "{said}");
    }
    // The overrides (what if) left no trace in what the experiment itself measured.
    let (code, again, said) = run(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("engine-laws: 12 of 12 runs are in the journal"), "{said}");
    assert_eq!(again, document, "a result from the journal is the result");
}

/// Exit code, document and stderr.
fn outcome(args: &[&str]) -> (Option<i32>, Value, String) {
    // Preconditioned states of this run's own: many experiments begin with the same ones.
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-all").join("cache");
    let output = Command::new(env!("CARGO_BIN_EXE_manx"))
        .args(args)
        .env("MANX_CACHE", cache)
        .output()
        .unwrap();
    let document =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    (output.status.code(), document, stderr(&output))
}

fn assert_holds_or_is_missing(claim: &Value) {
    let Some(measured) = claim["measured"].as_f64() else {
        assert!(claim["missing"].is_string(), "{claim}");
        return;
    };
    let is_in = claim["low"].as_f64().is_none_or(|low| measured >= low)
        && claim["high"].as_f64().is_none_or(|high| measured <= high);
    assert!(is_in || claim["verdict"] == "missed" || claim["origin"] != "ours", "{claim}");
    assert!(claim["why"].is_string() && claim["source"].is_string(), "{claim}");
}

const THREE: &str = r#"
summary = "three runs, the second of them long"
source = "a test"
scenario = "quick"
set = { workload.requests = 2000 }
[[runs]]
name = "first"
policy = "nogc"
[[runs]]
name = "long"
policy = "base"
set = { workload.requests = 1_000_000_000 }
[[runs]]
name = "last"
policy = "base"
[[claims]]
id = "writes"
text = "as many requests as were asked for"
source = "arithmetic"
quantity = "read.count(last) + write.count(last) + param(last, measure.warmup_requests)"
law = 2000
low = 2000
high = 2000
why = "counting is exact"
[[claims]]
id = "wrong"
text = "a claim that cannot hold"
source = "arithmetic"
quantity = "blocked(first)"
low = 1
why = "nogc blocks nothing"
"#;

#[test]
#[cfg(unix)]
fn an_interrupted_experiment_goes_on_where_it_was() {
    let (path, out) = (file("three.toml", THREE.as_bytes()), folder("lab-three"));
    let args = ["lab", "run", &path, "--jobs", "1", "--no-cache", "--out", out.to_str().unwrap()];
    let journal = out.join("three").join("journal.jsonl");
    let child = Command::new(env!("CARGO_BIN_EXE_manx"))
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !std::fs::metadata(&journal).is_ok_and(|about| about.len() > 0) {
        assert!(begun.elapsed() < Duration::from_secs(60), "the first run never ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(130), ""), "{said}");
    assert!(
        said.contains("three: interrupted after 1 of 3 runs; the same command goes on from"),
        "{said}"
    );

    let rest = |more: &[&str]| {
        manx(&[&args[..], &["--set", "long:workload.requests=2000"], more].concat())
    };
    let output = rest(&[]);
    assert!(
        stderr(&output).contains("three: 1 of 3 runs are in the journal"),
        "{}",
        stderr(&output)
    );
    let table = stdout(&output);
    assert_eq!(
        output.status.code(),
        Some(0),
        "a claim that fails is shown, and is no error: {table}"
    );
    assert!(
        table.contains("2000 to 2000  reproduced")
            && table.contains("at least 1    missed (was consistent)"),
        "{table}"
    );
    let output = rest(&["--check"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("3 of 3 runs are in the journal"));
    assert!(stderr(&output).ends_with("three/wrong (missed, was consistent)\n"));
    let output = rest(&["--fresh"]);
    assert!(!stderr(&output).contains("journal"), "{}", stderr(&output));

    let written = out.join("three");
    let claims: Value = serde_json::from_str(&text(&written.join("claims.json"))).unwrap();
    assert_eq!(
        (&claims["claims"][0]["verdict"], &claims["claims"][1]["verdict"]),
        (&"reproduced".into(), &"missed".into())
    );
    let result: Value = serde_json::from_str(&text(&written.join("result.json"))).unwrap();
    assert_eq!(result["runs"][1]["policy"], "long");
    assert!(
        text(&written.join("claims.md"))
            .contains("| writes | 2000 (law) | 2000 | 2000 to 2000 | reproduced |")
    );
    assert!(text(&written.join("scenario.last.toml")).contains("name = \"three/last\""));
}

#[test]
fn experiments_are_listed_and_shown_and_wrong_ones_refused() {
    let list = stdout(&manx(&["lab", "list"]));
    assert!(
        list.lines().count() == 56 && list.contains("engine-laws     12 runs, 20 claims: Queueing"),
        "{list}"
    );
    let shown = stdout(&manx(&["lab", "show", "gc-modes"]));
    assert!(shown.contains("id = \"dtrs-blocked-model\""), "{shown}");
    assert!(
        shown.contains("run pgbench-controller       policy controller, requests 160000"),
        "{shown}"
    );
    assert_refused(
        &["lab", "run", "gc-mods"],
        &["there is no experiment `gc-mods`", "did you mean gc-modes?"],
    );
    assert_refused(
        &["lab", "run", "gc-modes", "--set", "dtrs-bse:gc.soft=0.1"],
        &["did you mean `dtrs-base`?"],
    );
    assert_refused(
        &["lab", "run", "gc-modes", "--set", "gc.sft=0.1"],
        &["unknown key gc.sft; did you mean gc.soft?"],
    );
    assert_refused(
        &["lab", "run", "all", "--skip", "gc-mods"],
        &["--skip gc-mods: there is no such built-in experiment; did you mean gc-modes?"],
    );
    assert_refused(
        &["lab", "run", "gc-modes", "--skip", "gc-modes"],
        &["--skip gc-modes: it leaves an experiment out of `all`, which is not asked for"],
    );
    assert_refused(
        &["lab", "run", "all", "gc-modes", "--skip", "gc-modes"],
        &["--skip gc-modes: it is asked for by name beside `all`"],
    );
    assert_refused(&["lab", "run", "./no.toml"], &["./no.toml: cannot read an experiment here"]);
    let wrong = file("lab-wrong.toml", THREE.replace("blocked(first)", "blockd(first)").as_bytes());
    let expected = [
        "claims.wrong.quantity: column 1: no quantity is called `blockd`; did you mean `blocked`?",
    ];
    assert_refused(&["lab", "show", &wrong], &expected);
}

#[test]
fn the_scoreboard_lists_misses_first_and_refuses_a_paper_that_is_not_there() {
    let text = stdout(&manx(&["lab", "score"]));
    let verdict = |line: &str| line.get(6..16).map(str::trim).map(str::to_string);
    let firsts: Vec<String> = text.lines().filter_map(verdict).collect();
    let at = |word: &str| firsts.iter().position(|verdict| verdict == word).unwrap();
    assert!(at("missed") < at("consistent") && at("consistent") < at("reproduced"), "{text}");
    let output = stdout(&manx(&["lab", "score", "--paper", "ttflash", "--json"]));
    let document: Value = serde_json::from_str(&output).unwrap();
    let statements = document["statements"].as_array().unwrap();
    assert!(statements.len() > 30 && statements.iter().all(|one| one["paper"] == "ttFlash"));
    let missed = stdout(&manx(&["lab", "score", "--verdict", "missed", "--json"]));
    let missed: Value = serde_json::from_str(&missed).unwrap();
    assert!(missed["statements"].as_array().unwrap().iter().all(|one| one["verdict"] == "missed"));
    assert_refused(
        &["lab", "score", "--paper", "x"],
        &["--paper x: there is no such paper", "IODA"],
    );
}
