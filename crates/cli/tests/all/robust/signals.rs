//! Runs that a signal stops: a terminal that closes, an interrupt, a hang-up that is ignored.
#![cfg(unix)]

use super::{SCENARIO, document, folder, text};
use crate::support::{file, stderr};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A run that would take minutes, once it is under way; its stderr is `stderr`.
fn begun(args: &[&str], stderr: Stdio) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manx"));
    let child = command.args(args).stdout(Stdio::null()).stderr(stderr).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    child
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// Its end; a run that does not heed its signal does not hold up the tests for ever.
#[track_caller]
fn ended(mut child: Child) -> (Option<i32>, String) {
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if since.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("it did not heed the signal");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), stderr(&output))
}

#[test]
fn a_closed_terminal_costs_no_result_of_any_command() {
    let own = file("robust-closed.toml", SCENARIO.as_bytes());
    let endless = ["--no-cache", "--jobs", "1", "--set", "workload.requests=1000000000", "--out"];
    for (command, policies) in
        [("run", ["--policy", "base"]), ("compare", ["--policies", "base,nogc"])]
    {
        let out = folder(&format!("closed-{command}"));
        let args = [[command, &own].as_slice(), &policies, &endless, &[text(&out)]].concat();
        let requests = out.with_extension("requests");
        let _ = fs::remove_dir_all(&requests);
        fs::create_dir_all(&requests).unwrap();
        let mut child =
            begun(&[args.as_slice(), &["--requests", text(&requests)]].concat(), Stdio::piped());
        // Its first requests are written.
        let since = Instant::now();
        let length =
            |entry: std::io::Result<fs::DirEntry>| entry.unwrap().metadata().unwrap().len();
        while !fs::read_dir(&requests).unwrap().map(length).any(|length| length > 1000) {
            assert!(since.elapsed() < Duration::from_secs(120), "{command}: nothing was measured");
            std::thread::sleep(Duration::from_millis(20));
        }
        // Nobody reads what it says any more, and the shell repeats what the terminal said.
        drop(child.stderr.take());
        signal(&child, "-HUP");
        signal(&child, "-HUP");
        assert_eq!(ended(child).0, Some(130), "{command}");
        let runs = document(&out)["runs"].clone();
        assert_eq!(runs[0]["outcome"], "partial", "{command}");
        assert!(
            runs[0]["requests"].as_u64().unwrap() > 0 && out.join("report.html").exists(),
            "{command}"
        );
    }
}

#[test]
fn a_hangup_that_was_ignored_at_the_start_stays_ignored() {
    let args = ["run", "quick", "--no-cache", "--set", "workload.requests=1000000000"].join(" ");
    let script = format!("trap '' HUP; exec {} {args}", env!("CARGO_BIN_EXE_manx"));
    let mut command = Command::new("sh");
    let child =
        command.args(["-c", &script]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    signal(&child, "-HUP");
    // Two more: the first one is heeded, so that the hang-up was not.
    std::thread::sleep(Duration::from_millis(500));
    signal(&child, "-INT");
    let (code, said) = ended(child);
    assert_eq!(
        (code, said.matches("stopping; press again to quit at once").count()),
        (Some(130), 1),
        "{said}"
    );
}

#[test]
fn the_first_signal_ends_a_run_although_no_request_completes() {
    // A year between two requests, in which a scrubber reads.
    let gap = "t_us,op,offset,bytes\n0,R,0,4096\n1,W,0,4096\n31536000000000,R,0,4096\n";
    let gap = file("robust-gap.csv", gap.as_bytes());
    let year = [
        "run",
        "quick",
        "--no-cache",
        "--trace",
        &gap,
        "--remap",
        "modulo",
        "--set",
        "scrub.rate=1000",
    ];
    let child = begun(&year, Stdio::piped());
    signal(&child, "-TERM");
    let (code, said) = ended(child);
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("stopping; press again to quit at once"), "{said}");
}
