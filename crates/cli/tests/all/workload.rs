//! `manx workload` and `--workload` as a user meets them.

use crate::support::{assert_refused, file, manx, stderr, stdout};

const SHORT: [&str; 4] = ["--set", "precondition.state=fill", "--set", "workload.requests=3000"];

#[test]
fn list_names_every_workload_and_those_with_a_parameter() {
    let text = stdout(&manx(&["workload", "list"]));
    assert_eq!(text.lines().count(), 28, "{text}");
    for start in ["t2 ", "skew-90-10 ", "varmail ", "ycsb-f ", "exch(X) ", "kv-cache(X) "] {
        assert!(
            text.lines().any(|line| line.starts_with(start)),
            "`{start}` starts no line of: {text}"
        );
    }
    assert!(text.lines().all(|line| line.split_whitespace().count() > 4), "{text}");
}

#[test]
fn show_tells_the_sources_and_what_follows_from_the_figures() {
    let text = stdout(&manx(&["workload", "show", "msn(100)"]));
    // 74 of 100 requests a second are reads of 8 KiB, 26 writes of 128 KiB.
    let follows =
        ["IODA", "assumed", "mean rate      100.0 requests/s: 74.0 reads/s, 26.0 writes/s"];
    let bytes =
        ["mean bytes     0.606 MB/s read, 3.408 MB/s written", "in a burst     300.0 requests/s"];
    for piece in follows.iter().chain(&bytes) {
        assert!(text.contains(piece), "`{piece}` is not in: {text}");
    }
    let varmail = stdout(&manx(&["workload", "show", "varmail"]));
    // 50,000 requests: for each write there is a read and a flush.
    let piece = "in all         50000 requests: 0.273 GB read, 0.171 GB written";
    assert!(varmail.contains(piece), "{varmail}");
    assert!(varmail.contains("16 outstanding"), "{varmail}");
    // ACT 4x: 8000 small reads, and 4000 / 85 x 2 large reads and as many large writes.
    let act = stdout(&manx(&["workload", "show", "act(4)"]));
    for piece in
        ["job 0", "8000.0 reads/s", "94.1 reads/s, 0.0 writes/s", "0.0 reads/s, 94.1 writes/s"]
    {
        assert!(act.contains(piece), "`{piece}` is not in: {act}");
    }
}

#[test]
fn a_bad_workload_is_one_line_and_exit_code_2() {
    assert_refused(
        &["run", "quick", "--workload", "t3"],
        &["there is no workload `t3`", "did you mean t2?"],
    );
    assert_refused(&["run", "quick", "--workload", "./no.toml"], &["./no.toml", "no such file"]);
    assert_refused(&["run", "quick", "--workload", "t2(3)"], &["--workload t2(3)", "no parameter"]);
    assert_refused(
        &["run", "quick", "--workload", "exch(fast)"],
        &["--workload exch(fast)", "workload.rate", "fast"],
    );
    assert_refused(
        &["run", "quick", "--workload", "exch(-1)"],
        &["--workload exch(-1)", "workload.rate", "0.001"],
    );
    assert_refused(
        &["run", "quick", "--workload", "t2", "--trace", "a"],
        &["--workload", "--trace"],
    );
    assert_refused(&["workload", "show", "cosmo"], &["did you mean cosmos?"]);
    assert_refused(&["workload", "fit", "./nowhere.csv"], &["./nowhere.csv", "no such file"]);
    let trace = file("one.csv", b"128166372003061629,hm,0,Read,8192,4096,100\n");
    assert_refused(&["workload", "fit", &trace, "--format", "csv"], &["--format csv", "msr"]);
    assert_refused(
        &["workload", "fit", &trace, "--format", "spd"],
        &["--format spd", "did you mean spc?"],
    );
    assert_refused(
        &["workload", "fit", &trace, "--from", "2s", "--to", "1s"],
        &["--to 1s", "after trace.from"],
    );
    assert_refused(
        &["workload", "fit", &trace, "--devices", "hm,1"],
        &["no device `hm,1`", "`hm,0`"],
    );
    assert_refused(&["workload", "show", "YCSB-A"], &["did you mean ycsb-a?"]);
    assert_refused(
        &["workload", "show", "exch(-1)"],
        &["(-1)", "workload.rate = -1", "0.001 to 1e9"],
    );
    assert_refused(
        &["workload", "show", "act(0)"],
        &["(0)", "workload.act.multiplier = 0", "at most 250000"],
    );
    assert_refused(&["workload", "show", "act(4"], &["no workload `act(4`"]);
}

#[test]
fn a_workload_takes_the_place_of_the_scenario_s() {
    let run = |workload: &str| {
        let output =
            manx(&[&["run", "quick", "--workload", workload, "--json"], SHORT.as_slice()].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        document["runs"][0].clone()
    };
    // A fiftieth of 3000 requests is warm-up; each write has its flush.
    let varmail = run("varmail");
    assert_eq!(varmail["warmup_excluded"]["requests"], 60);
    let count = |kind: &str| varmail[kind]["count"].as_u64().unwrap();
    assert_eq!(count("read") + count("write") + count("flush"), 2940);
    assert!(count("write").abs_diff(count("flush")) <= 1, "{varmail}");
}

#[test]
fn a_fitted_trace_is_a_workload_without_its_name() {
    let lines = (0..4000u64).fold(String::new(), |text, i| {
        // Every third a read of 16 KiB, the others writes of 4 KiB, one each millisecond, over 1000
        // pages.
        let (op, size) = if i % 3 == 0 { ("Read", 16384) } else { ("Write", 4096) };
        let offset = (i * 7919 % 1000) * 4096 + 8_000_000_000 / 4096 * 4096;
        text + &format!(
            "{},secret,0,{op},{offset},{size},100\n",
            128_166_372_003_061_629 + i * 10_000
        )
    });
    let trace = file("secret-server.csv", lines.as_bytes());
    let profile = file("fitted.toml", b"mine");
    // Neither the trace nor a file that is there is lost.
    let lines = std::fs::read(&trace).unwrap();
    assert_refused(
        &["workload", "fit", &trace, "-o", &trace, "--force"],
        &["secret-server.csv", "the trace itself"],
    );
    assert_refused(&["workload", "fit", &trace, "-o", &profile], &["fitted.toml", "--force"]);
    assert_refused(
        &["workload", "fit", &trace, "-o", "/nowhere/x.toml"],
        &["/nowhere/x.toml", "cannot write it"],
    );
    assert_eq!(
        (std::fs::read(&trace).unwrap(), std::fs::read(&profile).unwrap()),
        (lines, b"mine".to_vec())
    );
    let output = manx(&["workload", "fit", &trace, "-o", &profile, "--force"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read_to_string(&profile).unwrap();
    for piece in [
        "read_percent = 33.35",
        "[[\"16KiB\", 100.0]]",
        "[[\"4KiB\", 100.0]]",
        "arrival = \"phases\"",
        "[workload.rewrites]",
        "Checked against the trace: no",
        "4000",
    ] {
        assert!(text.contains(piece), "`{piece}` is not in: {text}");
    }
    assert!(!text.contains("secret") && !text.contains("8000") && !text.contains("1281"), "{text}");
    let named = stdout(&manx(&["workload", "fit", &trace, "--name", "ours", "-o", "-"]));
    assert!(named.contains("ours"), "{named}");
    let figures = stdout(&manx(&["workload", "fit", &trace, "--stationary"]));
    assert!(figures.contains("arrival = \"fixed\"") && !figures.contains("phases"), "{figures}");
    let run = manx(&[
        "run",
        "quick",
        "--workload",
        &profile,
        "--verify",
        "--set",
        "precondition.state=fill",
    ]);
    assert!(run.status.success(), "{}", stderr(&run));
}
