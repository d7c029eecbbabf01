//! The screens around the numbers: the table's columns and colours, progress, the lists of
//! scenarios and workloads.

use crate::support::{self, assert_refused, manx, stderr, stdout};
use std::process::{Command, Output};

const SHORT: [&str; 4] = ["--set", "workload.requests=5000", "--no-cache", "--jobs=1"];

/// `manx compare quick`, short, with these arguments, in an environment of nothing but `env`.
fn compare(args: &[&str], env: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manx"));
    command.args(["compare", "quick"]).args(SHORT).args(args).env_clear().envs(env.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    output
}

/// The cells of a policy's row.
fn cells(text: &str, policy: &str) -> usize {
    let row = text
        .lines()
        .find(|line| line.split_whitespace().next() == Some(policy))
        .unwrap_or_default();
    row.split_whitespace().count()
}

#[test]
fn the_table_has_at_most_nine_columns_and_the_wide_one_has_them_all() {
    // Enough reads for a p99.9.
    let enough = ["--set", "workload.requests=20000"];
    let narrow = stdout(&compare(&enough, &[]));
    let wide = stdout(&compare(&[&enough[..], &["--wide"]].concat(), &[]));
    assert!((4..=9).contains(&cells(&narrow, "base")), "{narrow}");
    assert!(narrow.contains("not shown (--wide): ") && !narrow.contains("erases "), "{narrow}");
    assert!(cells(&wide, "base") > 12 && wide.contains("95 % CI of"), "{wide}");
    assert!(!wide.contains("not shown"), "{wide}");
}

#[test]
fn the_head_names_drive_and_workload_and_a_trace_in_place_of_the_scenario() {
    let said = stdout(&compare(&[], &[]));
    let mut lines = said.lines();
    assert!(lines.next().unwrap().starts_with("drive       femu: raw 256 MiB"), "{said}");
    assert_eq!(
        lines.next().unwrap(),
        "workload    quick: 70 % reads, Poisson arrivals at 4000/s, 5,000 requests"
    );
    let named =
        stdout(&compare(&["--workload", "ycsb-a", "--set", "precondition.state=fill"], &[]));
    assert!(named.contains("\nworkload    ycsb-a: "), "{named}");
    let trace = support::file("head.csv", b"128166372003061629,hm,0,Read,8192,4096,100\n");
    let replayed =
        stdout(&manx(&["run", "quick", "--trace", &trace, "--set", "precondition.state=fill"]));
    assert!(replayed.contains("\nworkload    trace head.csv\n"), "{replayed}");
}

#[test]
fn a_pipe_has_colour_only_where_it_is_asked_for() {
    let has = |args: &[&str], env: &[(&str, &str)]| stdout(&compare(args, env)).contains("\x1b[3");
    assert!(!has(&[], &[]) && !has(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(
        has(&["--color", "always"], &[("NO_COLOR", "1")]) && has(&[], &[("CLICOLOR_FORCE", "1")])
    );
    assert!(!has(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    let plain = stdout(&compare(&[], &[]));
    let painted = stdout(&compare(&["--color=always"], &[]));
    let bare = ["\x1b[31m", "\x1b[32m", "\x1b[2m", "\x1b[0m"]
        .iter()
        .fold(painted, |text, code| text.replace(code, ""));
    assert_eq!(bare, plain);
    assert_refused(&["compare", "--color", "sometimes"], &["--color", "sometimes", "always"]);
}

#[test]
fn a_locale_of_ascii_gets_ascii() {
    let ascii = stdout(&compare(&[], &[("LANG", "C")]));
    assert!(ascii.is_ascii() && ascii.contains("###"), "{ascii}");
    assert!(stdout(&compare(&[], &[("LANG", "C.UTF-8")])).contains('█'));
}

#[test]
fn progress_is_written_in_a_pipe_too_and_never_on_stdout() {
    // Requests are told in portions of 65,536.
    let every = ["--progress-every", "0s", "--json", "--set", "workload.requests=140000"];
    let output = compare(&every, &[]);
    let lines: Vec<String> = stderr(&output)
        .lines()
        .filter_map(|line| line.strip_prefix("progress: "))
        .map(String::from)
        .collect();
    assert!(
        lines.iter().any(|line| line.contains("base: ") && line.contains(" of 3 runs done; ")),
        "{lines:?}"
    );
    assert!(lines.iter().any(|line| line.contains("preconditioning, ")), "{lines:?}");
    let _: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // A run is shorter than ten seconds.
    let quiet = [vec![], vec!["--progress-every", "0s", "--quiet"]]
        .map(|args| stderr(&compare(&args, &[])));
    for said in quiet {
        assert!(!said.contains("progress: "), "{said}");
    }
    assert_refused(
        &["compare", "--progress-every", "often"],
        &["--progress-every", "often", "a time"],
    );
}

#[test]
fn progress_of_sweeps_experiments_torture_and_conversions_is_written_too() {
    let trace = support::file("progress.csv", b"128166372003061629,hm,0,Read,8192,4096,100\n");
    let to = support::file("progress-out.csv", b"");
    let out = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("progress-sweep");
    let _ = std::fs::remove_dir_all(&out);
    let out = out.display().to_string();
    let commands: [&[&str]; 3] = [
        &[
            "sweep",
            "quick",
            "--grid",
            "gc.soft=0.1,0.12",
            "--set",
            "workload.requests=3000",
            "--out",
            &out,
        ],
        &["torture", "--seeds", "2", "--cuts", "1"],
        &["trace", "convert", &trace, "-o", &to, "--as", "manx", "--force"],
    ];
    for command in commands {
        let output = manx(&[command, &["--progress-every", "0s"]].concat());
        let said = stderr(&output);
        assert!(output.status.success() && said.contains("progress: "), "{command:?}: {said}");
    }
}

#[test]
fn a_run_that_ends_by_its_time_has_a_percentage() {
    let timed =
        ["--set", "workload.requests=0", "--set", "workload.time=40s", "--progress-every", "0s"];
    let said = stderr(&compare(&timed, &[]));
    let percent = |line: &str| line.split("base: ").nth(1)?.split(" %").next()?.parse::<u32>().ok();
    let seen: Vec<u32> =
        said.lines().filter_map(percent).filter(|percent| (1..100).contains(percent)).collect();
    assert!(!seen.is_empty(), "{said}");
}

#[test]
fn scenarios_are_listed_with_drive_load_and_policies_and_shown_as_they_are_written() {
    let list = stdout(&manx(&["scenario", "list"]));
    for name in manx_config::scenario_names() {
        let source = manx_config::builtin_scenario(name).unwrap().text;
        let summary = source
            .lines()
            .find_map(|line| line.strip_prefix("summary = "))
            .unwrap()
            .trim_matches('"');
        assert!(
            list.lines().any(|line| line.starts_with(name) && line.ends_with(summary)),
            "{name}: {list}"
        );
        assert_eq!(stdout(&manx(&["scenario", "show", name])).trim_end(), source.trim_end());
    }
    assert!(
        list.contains("drive     ttflash-256g: raw 8 GiB")
            && list.contains("policies  nogc, base, preemptive"),
        "{list}"
    );
    let document: serde_json::Value =
        serde_json::from_slice(&manx(&["scenario", "list", "--json"]).stdout).unwrap();
    assert_eq!(document["scenarios"][1]["name"], "quick");
    let resolved = stdout(&manx(&["scenario", "show", "quick", "--resolved"]));
    let file = support::file("resolved.toml", resolved.as_bytes());
    assert!(resolved.contains("[device.geometry]") && resolved.contains("read = "), "{resolved}");
    let again = stdout(&manx(&["scenario", "show", &file, "--resolved"]));
    assert_eq!(again, resolved, "what is resolved runs again");
    assert_refused(&["scenario", "show", "qiuck"], &["no scenario `qiuck`", "did you mean quick?"]);
    assert_refused(&["scenario", "show", "./no.toml"], &["./no.toml", "no such file"]);
    let wrong = support::file("shown.toml", b"[device]\nname = \"femu\"\n[gc]\nsoft = 1.5\n");
    assert_refused(&["scenario", "show", &wrong], &["shown.toml:4", "gc.soft"]);
}

#[test]
fn an_unknown_policy_is_told_the_nearest_few_and_where_the_list_is() {
    let output = manx(&["run", "quick", "--policy", "preemtive"]);
    let said = stderr(&output);
    assert!(said.len() < 160 && said.contains("did you mean preemptive"), "{said}");
    assert!(said.contains("`manx policy list`"), "{said}");
}

#[test]
fn completions_know_what_there_is() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&manx(&["completions", shell]));
        // Those of fish offer values of options only.
        let of_arguments = if shell == "fish" { [].as_slice() } else { &["erase-70-30", "znand"] };
        for name in ["ttflash-256g", "ycsb-a", "preemptive"].iter().chain(of_arguments) {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
}
