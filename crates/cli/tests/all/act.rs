//! The load of the Aerospike Certification Tool from a scenario to its log, its verdicts and its
//! result.

use crate::support::{assert_refused, file, manx, stderr, stdout};
use std::path::PathBuf;

/// A drive of 192 MiB with reads of 40 us under 12 s of ACT.
fn scenario(name: &str, workload: &str) -> String {
    let head = "[device]\nname = \"femu\"\n\
                geometry = { channels = 2, ways = 2, blocks = 64 }\nop = 0.25\n\
                [gc]\nsoft = 0.08\nhard = 0.03\n[drive]\nbuffer = \"256KiB\"\n\
                [precondition]\nstate = \"fill\"\n";
    file(name, format!("{head}{workload}").as_bytes())
}

const ACT: &str = "[workload.act]\nmultiplier = 1\ntime = \"12s\"\nslice = \"5s\"\n";

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    folder
}

/// Of the report `after` so many seconds in a log: the reads, and those below 1 ms.
fn reads(log: &str, after: u64) -> (u64, u64) {
    let report = log.split(&format!("\nafter {after} sec:\nreads (")).nth(1).unwrap();
    let (total, rest) = report.split_once(" total)\n").unwrap();
    let below = rest.strip_prefix(" (00: ").unwrap().split_once(')').unwrap().0;
    (total.parse().unwrap(), below.parse().unwrap())
}

#[test]
fn each_policy_writes_a_log_that_agrees_with_its_result() {
    let (scenario, out) = (scenario("act.toml", ACT), folder("act-out"));
    let (log, out) = (out.join("act.txt").display().to_string(), out.display().to_string());
    let args = [
        "compare",
        &scenario,
        "--policies",
        "nogc,base",
        "--act-log",
        &log,
        "--out",
        &out,
        "--no-cache",
    ];
    let output = manx(&args);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.contains("\nact(1) nogc: act6.6 pass (2 slices of 5 s), paper pass"), "{said}");
    let result = std::fs::read_to_string(format!("{out}/result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    for (number, policy) in ["nogc", "base"].into_iter().enumerate() {
        let act = &result["runs"][number]["act"];
        let log = std::fs::read_to_string(format!("{out}/act.{policy}.txt")).unwrap();
        assert_eq!(log.matches("\nafter ").count(), 12, "{policy}");
        let (first, second) = (reads(&log, 5), reads(&log, 10));
        for (slice, total, below) in
            [(0, first.0, first.1), (1, second.0 - first.0, second.1 - first.1)]
        {
            let slice = &act["slices"][slice];
            assert_eq!(slice["reads"], total, "{policy}");
            let over = 100.0 * (total - below) as f64 / total as f64;
            assert!(
                (slice["over_1ms_percent"].as_f64().unwrap() - over).abs() < 1e-6,
                "{policy}: {slice}"
            );
        }
        assert_eq!(act["multiplier"], 1.0);
        assert_eq!(act["reads"]["count"], 24_000);
        assert_eq!(
            act["large_writes"]["count"], 283,
            "12 x 23.529 = 282.4 after the first, at once"
        );
        // The scenario that a run leaves in its folder runs again.
        let again =
            manx(&["run", &format!("{out}/scenario.{policy}.toml"), "--json", "--no-cache"]);
        let again: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
        assert_eq!(&again["runs"][0]["act"], act, "{policy}");
    }
}

#[test]
fn the_library_s_act_runs_with_its_multiplier_and_its_log() {
    let log = folder("act-library").join("act.txt").display().to_string();
    let sets = ["--set", "workload.act.time=4s", "--set", "workload.act.slice=2s"];
    let run =
        ["run", "quick", "--workload", "act(2)", "--act-log", log.as_str(), "--json", "--no-cache"];
    let output = manx(&[run.as_slice(), &sets].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let act = &result["runs"][0]["act"];
    assert_eq!(
        (act["multiplier"].as_f64(), act["slices"].as_array().map(Vec::len)),
        (Some(2.0), Some(2))
    );
    // 4 s of 4000 reads; 4 x 47.06 = 188.2 large ones after the first.
    assert_eq!(
        (&act["reads"]["count"], &act["large_reads"]["count"]),
        (&16_000.into(), &189.into())
    );
    assert_eq!(std::fs::read_to_string(&log).unwrap().matches("\nafter ").count(), 4);
    assert_refused(
        &[&["run", "quick", "--workload", "act(2)"], ["--set", "workload.rate=5"].as_slice()]
            .concat(),
        &["workload.rate = 5", "makes its own jobs"],
    );
}

#[test]
fn what_cannot_be_an_act_run_is_refused() {
    let good = scenario("act-good.toml", ACT);
    assert_refused(&["run", "quick", "--act-log", "x.txt"], &["--act-log x.txt", "[workload.act]"]);
    assert_refused(
        &["run", &good, "--act-log", "/nowhere/x.txt"],
        &["/nowhere/x.txt", "cannot make this ACT log"],
    );
    let text = std::fs::read(&good).unwrap();
    assert_refused(
        &["run", &good, "--act-log", &good],
        &["--act-log", "act-good.toml", "another name"],
    );
    assert_eq!(std::fs::read(&good).unwrap(), text);
    let bad = |name: &str, more: &str, pieces: &[&str]| {
        let file = scenario(name, &format!("{ACT}{more}"));
        assert_refused(&["run", &file], pieces);
    };
    bad(
        "act-key.toml",
        "record_byte = 1\n",
        &["act-key.toml:", "workload.act.record_byte", "record_bytes"],
    );
    bad(
        "act-pct.toml",
        "update_pct = 101\n",
        &["workload.act.update_pct = 101 is not allowed", "from 0 to 100"],
    );
    bad("act-type.toml", "smooth = 3\n", &["workload.act.smooth = 3", "true or false"]);
    let beside = scenario("act-beside.toml", &format!("[workload]\nread_percent = 5.0\n{ACT}"));
    assert_refused(
        &["run", &beside],
        &["act-beside.toml:", "workload.read_percent = 5", "makes its own jobs"],
    );
    let sets = ["run", good.as_str(), "--set", "workload.act.multiplier=0"];
    assert_refused(&sets, &["--set workload.act.multiplier=0", "above 0"]);
    let large = scenario("act-large.toml", &format!("{ACT}large_block_kbytes = 96\n"));
    assert_refused(
        &["run", &large],
        &["act-large.toml:", "large_block_kbytes = 96", "a power of two"],
    );
}

#[test]
fn paced_jobs_need_threads_and_a_rate() {
    let job = "[workload]\narrival = \"paced\"\nqueue_depth = 4\nrequests = 1000\n";
    let good = scenario("paced.toml", &format!("{job}rate = 2000.0\n"));
    let output = manx(&["run", &good, "--json", "--no-cache"]);
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["runs"][0]["requests"], 1000);
    assert!(result["runs"][0]["act"].is_null());
    // 250 turns of four threads, one each 2 ms: the last at 498 ms.
    let seconds = result["runs"][0]["virtual_s"].as_f64().unwrap();
    assert!((0.498..0.520).contains(&seconds), "{seconds}");
    assert_refused(
        &["run", &scenario("paced-0.toml", job)],
        &["workload.rate = 0", "requests per second"],
    );
    assert_refused(
        &["run", &good, "--set", "workload.queue_depth=0"],
        &["workload.queue_depth=0", "threads"],
    );
}

#[test]
fn a_rating_passes_and_the_next_multiplier_fails() {
    let load = "[workload.act]\nmultiplier = 1\ntime = \"2s\"\nslice = \"2s\"\n";
    let scenario = scenario("rate.toml", load);
    let args = ["act", "rate", &scenario, "--rule", "paper-stress", "--to", "64", "--no-cache"];
    let output = manx(&[args.as_slice(), &["--json", "--policies", "nogc,base"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["rule"], "paper-stress");
    for rating in document["ratings"].as_array().unwrap() {
        let trials = rating["trials"].as_array().unwrap();
        let of = |passes: bool| {
            let passed = trials.iter().filter(move |trial| trial["passes"] == passes);
            passed.map(|trial| trial["multiplier"].as_u64().unwrap())
        };
        let (best, worst) = (of(true).max(), of(false).min());
        assert_eq!(rating["rating"].as_u64(), best, "{rating}");
        assert_eq!(rating["open"], best == Some(64), "{rating}");
        if let (Some(best), Some(worst)) = (best, worst) {
            assert_eq!(worst, best + 1, "{rating}");
        }
    }
    let said = stdout(&manx(&args));
    assert!(said.contains("by the rule paper-stress") && said.contains("as-written"), "{said}");
}

#[test]
fn a_test_in_which_nobody_can_fall_behind_is_warned_of() {
    for (time, lag, rule, is_warned) in [
        ("2s", "10s", "act6.6", true),
        ("2s", "0s", "act6.6", true),
        ("2s", "1s", "act6.6", false),
        ("2s", "10s", "paper", false),
    ] {
        let load =
            format!("[workload.act]\ntime = \"{time}\"\nslice = \"1s\"\nmax_lag = \"{lag}\"\n");
        let scenario = scenario(&format!("lag-{lag}-{rule}.toml"), &load);
        let args = ["act", "rate", &scenario, "--rule", rule, "--from", "1", "--to", "1"];
        let said = stderr(&manx(&args));
        assert_eq!(said.contains("workload.act.max_lag = "), is_warned, "{lag} {rule}: {said}");
    }
}

#[test]
fn a_rating_needs_a_load_of_act_and_ends_in_order() {
    assert_refused(&["act", "rate", "quick"], &["no load of ACT", "--workload 'act(1)'"]);
    let scenario = scenario("rate-ends.toml", ACT);
    let refused = ["act", "rate", &scenario, "--from", "9", "--to", "8"];
    assert_refused(&refused, &["--from = 9 is not allowed: at most --to 8"]);
}
