//! `manx fit` that is interrupted and goes on, and `manx twin report`.

use crate::support::{assert_refused, file, manx, stderr, stdout};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// fio's result of reads of 4 KiB at a depth, cut to what is read.
fn fio(depth: u32, iops: u32, us: [u32; 4]) -> String {
    let [p50, p90, p99, p999] = us.map(|us| us * 1_000);
    let total = u64::from(iops) * 10;
    format!(
        r#"{{"fio version": "fio-3.35",
"global options": {{"bs": "4k", "rw": "randread", "iodepth": "{depth}", "ioengine": "spdk",
"direct": "1", "norandommap": "1"}},
"jobs": [{{"jobname": "1", "error": 0, "job options": {{"name": "1"}},
"read": {{"io_bytes": {}, "iops": {iops}, "runtime": 10000, "total_ios": {total},
"clat_ns": {{"mean": {p50}.0, "percentile": {{
"50.000000": {p50}, "90.000000": {p90}, "99.000000": {p99}, "99.900000": {p999}}}}}}}}}]}}"#,
        total * 4096
    )
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn ctrl_c_leaves_the_best_so_far_and_the_same_command_goes_on() {
    let one = file("twins-1.json", fio(1, 16_600, [56, 68, 69, 73]).as_bytes());
    let deep = file("twins-16.json", fio(16, 233_000, [62, 89, 132, 177]).as_bytes());
    let out = folder("twins-fit");
    let shown = out.display().to_string();
    let go = |evaluations: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manx"));
        command.args(["fit", &one, &deep, "--as", "mine", "--out", &shown, "--jobs", &shown]);
        command.args(["--requests", "1000", "--hold-out", "none", "--evaluations", evaluations]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let child = go("1000000").spawn().unwrap();
    let (journal, begin) = (out.join("mine.journal"), Instant::now());
    let lines = || std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
    while lines() < 60 {
        assert!(begin.elapsed() < Duration::from_mins(5), "no points are simulated");
        std::thread::sleep(Duration::from_millis(20));
    }
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("the files have the best so far; the same command goes on"), "{said}");
    assert!(stdout(&output).contains("stopped: the best so far"), "{said}");
    let kept = lines();
    let device = out.join("mine.toml").display().to_string();
    let shows = manx(&["device", "show", &device]);
    assert!(shows.status.success(), "{}", stderr(&shows));
    // It goes on: what is in the journal is not simulated again, and a short rest ends.
    let output = go("2").spawn().unwrap().wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read_to_string(&journal).unwrap();
    let keys: Vec<&str> = text.lines().filter_map(|line| line.split('"').nth(3)).collect();
    let mut once = keys.clone();
    once.sort_unstable();
    once.dedup();
    assert!(keys.len() > kept && once.len() == keys.len(), "{} {}", keys.len(), once.len());
    let jobs = std::fs::read_to_string(out.join("long-write.fio")).unwrap();
    assert!(jobs.contains("IT DESTROYS ALL DATA"), "{jobs}");
    let fit = out.join("mine-fit.json").display().to_string();
    let report = stdout(&manx(&["twin", "report", &fit]));
    assert!(report.contains("fitted on  2 runs of random reads"), "{report}");
}

#[test]
fn a_number_that_is_known_wrongly_is_told_before_anything_is_simulated() {
    let one = file("twins-known.json", fio(1, 16_600, [56, 68, 69, 73]).as_bytes());
    let out = folder("twins-known").display().to_string();
    let refused = |known: &[&str], pieces: &[&str]| {
        let mut args = vec!["fit", &one, "--as", "mine", "--out", &out];
        known.iter().for_each(|known| args.extend(["--known", known]));
        assert_refused(&args, pieces);
    };
    refused(&["gc.soft=1"], &["KEY one of device.geometry.channels, drive.buffer,"]);
    refused(&["device.geometry.channels=8.5"], &["8.5 is no number of channels"]);
    refused(&["device.geometry.channels=0"], &["0 is nothing to know"]);
    refused(
        &["drive.buffer=8MiB"],
        &["drive.buffer and drive.buffer_hit for writes to a fresh drive"],
    );
    refused(&["drive.link"], &["KEY=VALUE or KEY=LOW..HIGH is allowed"]);
    refused(&["drive.link=fast"], &["drive.link", "a rate: "]);
    refused(&["drive.controller=7GB/s"], &["drive.controller", "7GB/s"]);
    refused(&["drive.link=7GB/s..3GB/s"], &["begins above its end"]);
    refused(&["drive.link=unlimited"], &["unlimited is nothing to know"]);
    refused(&["drive.link=7GB/s", "drive.link=6GB/s"], &["drive.link: it is said twice"]);
    refused(&["drive.link=1MB/s"], &["contradicts what was measured, by which it is 66 MB/s at"]);
    for wrong in ["drive.controller=5ms", "drive.controller=1s..2s", "device.channel.rate=1MB/s"] {
        refused(&[wrong], &["contradicts what was measured"]);
    }
    refused(&["drive.firmware.throttle=1GB/s"], &["these measurements have no use for it"]);
}

#[test]
fn the_twins_that_ship_say_on_what_and_how_far_off_also_as_a_page() {
    let page = folder("twins-page.html");
    let _ = std::fs::remove_file(&page);
    let path = page.display().to_string();
    let output = manx(&["twin", "report", "--html", &path]);
    let text = stdout(&output);
    for words in ["samsung-980pro: ", "drive-a: ", "tested on", "in sample", "missed"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(std::fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    assert_refused(&["twin", "report", "--html", &path], &["it is there already", "--force"]);
    assert!(manx(&["twin", "report", "--html", &path, "--force"]).status.success());
    let other = file("twins-other.json", b"{\"name\": 3}");
    assert_refused(&["twin", "report", &other], &["twins-other.json", "no report of a fit"]);
    assert_refused(&["twin", "report", "/nowhere.json"], &["/nowhere.json", "cannot read it"]);
}
