//! Work is not lost: not to an option that writes, a terminal that closes, a signal, a machine
//! without memory.

mod signals;

use crate::support::{assert_refused, file, manx, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SCENARIO: &str = "name = \"tiny\"\n[device]\nname = \"femu\"\n\
                        geometry = { channels = 2, ways = 2, blocks = 64 }\nop = 0.25\n\
                        [drive]\nbuffer = \"256KiB\"\n[workload]\nrequests = 200\n";

const TRACE: &str = "128166372003061629,hm,0,Read,8192,4096,100\n";

/// A folder of this test's own, not there yet.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("robust-{name}"));
    let _ = fs::remove_dir_all(&path);
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn document(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path.join("result.json")).unwrap()).unwrap()
}

#[test]
fn out_never_takes_the_place_of_what_the_run_reads() {
    let out = folder("inputs");
    fs::create_dir_all(&out).unwrap();
    let put = |name: &str, text: &str| fs::write(out.join(name), text).unwrap();
    put("scenario.toml", SCENARIO);
    put("report.html", TRACE);
    put("sweep.toml", SCENARIO);
    let (scenario, trace, sweep) =
        (out.join("scenario.toml"), out.join("report.html"), out.join("sweep.toml"));
    let own = file("robust-own.toml", SCENARIO.as_bytes());
    let roundabout = format!("{}/./", text(&out));
    let reads = |name| ["--out", "the run reads ", name, "choose another folder"];
    assert_refused(&["run", text(&scenario), "--out", text(&out)], &reads("scenario.toml"));
    assert_refused(
        &["run", text(&scenario), "--out", &roundabout, "--force"],
        &reads("scenario.toml"),
    );
    assert_refused(
        &["run", &own, "--trace", text(&trace), "--format", "msr", "--out", text(&out)],
        &reads("report.html"),
    );
    assert_refused(&["run", &own, "--device", text(&scenario), "--out", text(&out)], &[]);
    let axis = ["--grid", "gc.soft=0.1,0.2", "--out", text(&out)];
    assert_refused(&[["sweep", text(&sweep)].as_slice(), &axis].concat(), &reads("sweep.toml"));
    #[cfg(unix)]
    {
        let (soft, hard) = (folder("soft"), folder("hard"));
        [&soft, &hard].into_iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
        std::os::unix::fs::symlink(&own, soft.join("scenario.toml")).unwrap();
        fs::hard_link(&own, hard.join("scenario.toml")).unwrap();
        for folder in [&soft, &hard] {
            assert_refused(&["run", &own, "--out", text(folder)], &reads("scenario.toml"));
        }
    }
    // An experiment reads its own file only; the folder of its results has its name.
    let experiment = folder("experiment").join("engine-laws");
    fs::create_dir_all(&experiment).unwrap();
    let shown = stdout(&manx(&["lab", "show", "engine-laws"]));
    let (written, runs) = shown.split_once("\n\nwhat follows:\n").unwrap();
    let run = runs.split_whitespace().nth(1).unwrap();
    let path = experiment.join(format!("scenario.{run}.toml"));
    fs::write(&path, format!("name = \"engine-laws\"\n{written}")).unwrap();
    let refused = ["--out", "the run reads ", &format!("scenario.{run}.toml")];
    assert_refused(
        &["lab", "run", text(&path), "--out", text(experiment.parent().unwrap())],
        &refused,
    );
    assert_eq!(fs::read_to_string(&scenario).unwrap(), SCENARIO);
    assert_eq!(fs::read_to_string(&trace).unwrap(), TRACE);
}

#[test]
fn a_foreign_file_in_the_folder_is_replaced_only_by_force_and_an_own_result_always() {
    let out = folder("foreign");
    let own = file("robust-foreign.toml", SCENARIO.as_bytes());
    let args = ["run", &own, "--no-cache", "--out", text(&out)];
    for _ in 0..2 {
        let output = manx(&args);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    for name in ["result.json", "report.html", "scenario.toml"] {
        let path = out.join(name);
        let before = fs::read_to_string(&path).unwrap();
        let edited = if name == "scenario.toml" {
            before.replacen("200", "300", 1)
        } else {
            "notes".to_string()
        };
        fs::write(&path, &edited).unwrap();
        assert_refused(&args, &["--out", name, "not as a run of manx left it", "--force"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), edited);
        assert!(manx(&[args.as_slice(), &["--force"]].concat()).status.success());
        assert_ne!(fs::read_to_string(&path).unwrap(), edited);
    }
    // The natural way to run again: told what to do, and nothing is lost.
    let again = out.join("scenario.toml");
    let before = fs::read(&again).unwrap();
    assert_refused(
        &["run", text(&again), "--out", text(&out)],
        &["--out", "scenario.toml", "copy scenario.toml"],
    );
    assert_eq!(fs::read(&again).unwrap(), before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_stderr_that_cannot_be_written_costs_no_result_and_no_exit_code() {
    let out = folder("full");
    let own = file("robust-full.toml", SCENARIO.as_bytes());
    let run = |args: &[&str], stdout: Stdio| {
        let full = || Stdio::from(fs::File::options().write(true).open("/dev/full").unwrap());
        Command::new(env!("CARGO_BIN_EXE_manx"))
            .args(args)
            .stdout(stdout)
            .stderr(full())
            .output()
            .unwrap()
    };
    let args = ["compare", &own, "--policies", "nogc,base", "--no-cache", "--out", text(&out)];
    let output = run(&args, Stdio::piped());
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("nogc") && out.join("report.html").exists());
    assert_eq!(document(&out)["runs"].as_array().unwrap().len(), 2);
    assert_eq!(run(&["run", "nosuch"], Stdio::piped()).status.code(), Some(2));
    assert_eq!(run(&["run", "--nosuch"], Stdio::piped()).status.code(), Some(2));
    // Nor does a stdout that cannot be written.
    let out = folder("full-stdout");
    let full = Stdio::from(fs::File::options().write(true).open("/dev/full").unwrap());
    let output = run(&["run", &own, "--no-cache", "--out", text(&out)], full);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(document(&out)["runs"][0]["requests"], 200);
}

#[test]
fn a_trace_with_a_gap_of_centuries_takes_no_longer_than_its_requests() {
    let gap =
        "t_us,op,offset,bytes\n0,R,0,4096\n9000000000000000,W,0,4096\n9000000000000009,R,0,4096\n";
    let gap = file("robust-centuries.csv", gap.as_bytes());
    let output =
        manx(&["run", "quick", "--no-cache", "--trace", &gap, "--remap", "modulo", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&document["runs"][0]["outcome"], &document["runs"][0]["requests"]),
        (&"completed".into(), &3.into())
    );
}

#[cfg(target_os = "linux")]
#[test]
fn what_does_not_fit_into_memory_is_refused_with_the_keys_that_would_make_it_fit() {
    let limited = |kib: u64, args: &str| {
        let script = format!("ulimit -v {kib}; exec {} {args}", env!("CARGO_BIN_EXE_manx"));
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        (output.status.code(), stderr(&output), output.stdout)
    };
    let table: &[(u64, &str, &[&str])] = &[
        (
            4 << 20,
            "--set array.members=24 --set device.geometry.blocks=262144 --set \
             'precondition.state=\"empty\"'",
            &["24 drives (array.members)", "device.geometry", "available (ulimit -v)"],
        ),
        (
            2 << 20,
            "--set recovery.keep=true --set device.geometry.blocks=1048576",
            &["recovery.keep", "ulimit -v"],
        ),
        (
            2 << 20,
            "--set 'workload.arrival=\"closed\"' --set workload.queue_depth=1048576 \
             --set array.members=2000",
            &["array.members"],
        ),
        (
            1 << 20,
            "--timeline t.pftrace --timeline-limit 9223372036854775807",
            &["--timeline-limit 9223372036854775807", "hold", "records"],
        ),
    ];
    for (kib, args, pieces) in table {
        let (code, said, printed) = limited(*kib, &format!("run quick --no-cache {args}"));
        assert_eq!((code, printed.len()), (Some(2), 0), "{args}: {said}");
        let lines = said.lines().filter(|line| !line.starts_with("note: "));
        assert_eq!(lines.count(), 1, "{args}: {said}");
        pieces
            .iter()
            .for_each(|piece| assert!(said.contains(piece), "{args}: `{piece}` is not in: {said}"));
    }
    // Nobody can know before how long the queue becomes.
    let overload = "--set workload.rate=10000000 --set workload.requests=100000000";
    let (code, said, _) =
        limited(1_500_000, &format!("run quick --no-cache --policy base {overload}"));
    assert_eq!(code, Some(2), "{said}");
    let last = said.lines().last().unwrap();
    assert!(
        last.starts_with("error: base: out of memory: ")
            && last.contains("requests wait for the drive"),
        "{said}"
    );
}

#[test]
fn a_comparison_keeps_the_policies_that_are_done_when_a_later_one_fails() {
    let (out, own) = (folder("later"), file("robust-later.toml", SCENARIO.as_bytes()));
    // A folder where the second policy's timeline should be.
    let timeline = folder("later-timeline").join("t.pftrace");
    fs::create_dir_all(timeline.with_file_name("t.base.pftrace")).unwrap();
    let policies = ["--policies", "nogc,base", "--jobs", "1", "--timeline", text(&timeline)];
    let output = manx(
        &[["compare", &own, "--no-cache", "--out", text(&out)].as_slice(), &policies].concat(),
    );
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).lines().last().unwrap().contains("t.base.pftrace"),
        "{}",
        stderr(&output)
    );
    let runs = document(&out)["runs"].as_array().unwrap().clone();
    assert_eq!((runs.len(), &runs[0]["policy"]), (1, &"nogc".into()));
    assert!(stdout(&output).contains("nogc"), "{}", stdout(&output));
}

#[test]
fn a_journal_that_was_altered_is_told_and_its_run_done_again() {
    let (out, own) = (folder("journal"), file("robust-journal.toml", SCENARIO.as_bytes()));
    let args = [
        "sweep",
        &own,
        "--no-cache",
        "--grid",
        "device.op=0.25,0.3,0.35",
        "--columns",
        "mean",
        "--out",
        text(&out),
    ];
    assert!(manx(&args).status.success());
    let rows = fs::read(out.join("sweep.csv")).unwrap();
    let journal = fs::read_to_string(out.join("journal.jsonl")).unwrap();
    let mut lines: Vec<String> = journal.lines().map(|line| format!("{line}\n")).collect();
    let at = lines[1].find("\"mean_us\":").unwrap() + "\"mean_us\":".len();
    lines[1].replace_range(at..at + 1, "9");
    fs::write(out.join("journal.jsonl"), lines.concat()).unwrap();
    let output = manx(&args);
    assert!(
        stderr(&output).contains("line 2 was altered since it was written"),
        "{}",
        stderr(&output)
    );
    assert!(stderr(&output).contains("2 from the journal"), "{}", stderr(&output));
    assert_eq!(fs::read(out.join("sweep.csv")).unwrap(), rows);
}

#[test]
fn keys_that_would_run_for_hours_are_refused_with_their_bound() {
    let blocks = 64 * 2 * 2;
    let own = file("robust-choices.toml", SCENARIO.as_bytes());
    let drawn = ["run", &own, "--set", "gc.victim=d-choices", "--set"];
    let refused = &["gc.choices = 4294967295", &format!("from 1 to the {blocks} blocks"), "greedy"];
    assert_refused(&[drawn.as_slice(), &["gc.choices=4294967295"]].concat(), refused);
    assert!(
        manx(&[drawn.as_slice(), &[&format!("gc.choices={blocks}")]].concat()).status.success()
    );
}

#[test]
fn what_is_said_in_vain_is_told_in_one_line() {
    let own = file("robust-vain.toml", SCENARIO.as_bytes());
    let trace = file("robust-vain.csv", TRACE.as_bytes());
    let table: &[(&[&str], &[&str])] = &[
        (
            &[
                "--set",
                "workload.arrival=poisson",
                "--set",
                "workload.rate=1000",
                "--set",
                "workload.queue_depth=64",
            ],
            &["workload.queue_depth=64", "workload.arrival = \"poisson\""],
        ),
        (&["--set", "erase.timeout=1ms"], &["erase.timeout=1ms", "erase.mode = \"none\""]),
        (&["--set", "gc.choices=5"], &["gc.choices=5", "gc.victim = \"greedy\""]),
        (
            &["--trace", &trace, "--set", "workload.requests=5"],
            &["workload.requests=5", "a trace brings its own"],
        ),
        (
            &["--set", "name=a", "--set", "name=b"],
            &["--set name=a", "--set name=b", "name is set twice"],
        ),
        (
            // The device's own planes, and a buffer that fits them.
            &["--device", "femu", "--set", "device.name=femu", "--set", "drive.buffer=1MiB"],
            &["--device femu", "device.name is set twice"],
        ),
        (
            &["--power-cut-at", "1ms", "--set", "recovery.cut_at=nan"],
            &["recovery.cut_at=nan", "--power-cut-at 1ms"],
        ),
    ];
    for (args, pieces) in table {
        let output = manx(&[["run", &own, "--no-cache"].as_slice(), args].concat());
        let said = stderr(&output);
        assert!(output.status.success(), "{args:?}: {said}");
        let notes: Vec<&str> = said.lines().filter(|line| line.starts_with("note: ")).collect();
        assert_eq!(notes.len(), 1, "{args:?}: {said}");
        pieces.iter().for_each(|piece| {
            assert!(notes[0].contains(piece), "{args:?}: `{piece}` is not in: {said}")
        });
    }
    let plain = stderr(&manx(&["run", &own, "--no-cache", "--set", "gc.soft=0.1", "--seed", "3"]));
    assert!(!plain.contains("note: "), "{plain}");
    // A section is not taken away for a table that says less.
    assert_refused(&["run", &own, "--set", "drive={}"], &["--set drive={}", "drive.buffer away"]);
}

#[test]
fn an_axis_of_a_sweep_on_which_nothing_changes_is_told() {
    let own = file("robust-idle.toml", SCENARIO.as_bytes());
    let args = |out| {
        let poisson = ["--set", "workload.arrival=poisson", "--set", "workload.rate=1000"];
        let axes = ["--grid", "workload.queue_depth=1,4", "--grid", "device.op=0.25,0.35"];
        [
            ["sweep", &own, "--no-cache", "--columns", "mean,waf", "--out", out].as_slice(),
            &poisson,
            &axes,
        ]
        .concat()
    };
    let output = manx(&args(text(&folder("idle"))));
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains(
            "--grid workload.queue_depth: every column is the same for all of its values"
        ),
        "{said}"
    );
    assert!(!said.contains("device.op: every"), "{said}");
}

#[test]
fn messages_speak_of_scenarios_and_not_of_the_program() {
    let own = file("robust-words.toml", SCENARIO.as_bytes());
    let table: &[(&[&str], &[&str])] = &[
        (
            &["--set", "array.strategy=plm-rotation"],
            &["array.strategy = \"plm-rotation\" is not allowed"],
        ),
        (
            &["--set", "workload.stream=256"],
            &["workload.stream = 256", "a whole number from 0 to 255"],
        ),
        (&["--set", "gc.mode=0"], &["gc.mode = 0", "expected a word in quotes"]),
        (&["--policy", "base//t-es"], &["policy `base//t-es`: a part of the path is empty"]),
        (&["--policy", "ttflash/gtf"], &["gtf (part of ttflash) and gtf both decide"]),
        (
            &[
                "--policy",
                "faster",
                "--set",
                "recovery.keep=true",
                "--set",
                "recovery.checkpoint_every=1MiB",
            ],
            &["recovery.checkpoint_every = \"1MiB\" is not allowed"],
        ),
    ];
    for (args, pieces) in table {
        assert_refused(&[["run", &own].as_slice(), args].concat(), pieces);
    }
    let output = manx(&["run", &own, "--no-cache", "--power-cut-at", "9000s", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let warnings = document["runs"][0]["warnings"].to_string();
    assert!(warnings.contains("the power failed at 9000s: recovery took "), "{warnings}");
}

#[cfg(unix)]
#[test]
fn arguments_that_nobody_can_read_are_named() {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.toml");
    let output = Command::new(env!("CARGO_BIN_EXE_manx")).arg("run").arg(name).output().unwrap();
    let said = stderr(&output);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("caf\u{fffd}.toml") && said.contains("not UTF-8"), "{said}");
    for args in [["run", "--power-cut-at", "-1s"], ["torture", "--policy", "base"]] {
        let said = stderr(&manx(&args));
        assert!(said.contains(args[1]) && !said.contains("'-- "), "{args:?}: {said}");
    }
}

#[test]
fn no_name_can_move_the_cursor_of_a_terminal() {
    let name = SCENARIO.replace("\"tiny\"", "\"ti\\u001b[31mny\"");
    let output = manx(&["run", &file("robust-escape.toml", name.as_bytes()), "--no-cache"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!stdout(&output).contains('\u{1b}') && !stderr(&output).contains('\u{1b}'));
}

#[test]
fn a_home_that_is_not_there_is_not_made() {
    let home = folder("no-home");
    let own = file("robust-home.toml", SCENARIO.as_bytes());
    let mut command = Command::new(env!("CARGO_BIN_EXE_manx"));
    let command = command
        .args(["run", &own])
        .env("HOME", &home)
        .env_remove("MANX_CACHE")
        .env_remove("XDG_CACHE_HOME");
    assert!(command.output().unwrap().status.success());
    assert!(!home.exists());
}

#[cfg(unix)]
#[test]
fn two_experiments_cannot_write_into_one_folder_at_a_time() {
    let out = folder("lab-locked");
    fs::create_dir_all(out.join("engine-laws")).unwrap();
    let journal = fs::File::options()
        .create(true)
        .append(true)
        .open(out.join("engine-laws/journal.jsonl"))
        .unwrap();
    journal.lock().unwrap();
    let args = ["lab", "run", "engine-laws", "--quick", "--out", text(&out)];
    assert_refused(&args, &["journal.jsonl: another run of manx is at work in this folder"]);
}
