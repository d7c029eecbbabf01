//! The binary as a user meets it: what it prints where, and with which exit code.

use crate::support::{assert_refused, file, manx, stderr, stdout};
use std::error::Error;
use std::path::PathBuf;

#[test]
fn without_arguments_it_helps_with_three_examples() {
    let output = manx(&[]);
    assert!(output.status.success());
    let examples = stdout(&output).split("Examples:").nth(1).unwrap_or_default().to_string();
    assert_eq!(
        examples.lines().filter(|line| line.trim_start().starts_with("manx ")).count(),
        3,
        "{examples}"
    );
}

#[test]
fn a_bad_argument_is_one_line_and_exit_code_2() {
    assert_refused(&["compair"], &["compair", "compare"]);
    assert_refused(&["compare", "--sett", "a=b"], &["--sett", "--set"]);
    assert_refused(&["compare", "--seed", "x"], &["--seed", "x"]);
    assert_refused(&["compare", "--jobs", "0"], &["--jobs", "0"]);
    assert_refused(&["compare", "--remap", "dense"], &["--trace"]);
    assert_refused(&["schema", "everything"], &["everything", "scenario"]);
    assert_refused(&["compare", "--set", "gc.soft"], &["--set gc.soft", "key=value"]);
}

#[test]
fn a_bad_scenario_is_one_line_and_exit_code_2() {
    assert_refused(
        &["compare", "otlp"],
        &["there is no scenario `otlp`", "quick", "did you mean oltp?"],
    );
    assert_refused(&["run", "./nowhere.toml"], &["./nowhere.toml", "no such file"]);
    assert_refused(&["run", env!("CARGO_TARGET_TMPDIR")], &["a directory", "scenario"]);
    assert_refused(&["run", &file("empty.toml", b" \n")], &["empty.toml", "empty"]);
    assert_refused(&["run", &file("junk.toml", b"name = \"\xff\xfe\"")], &["junk.toml", "UTF-8"]);
    assert_refused(&["run", &file("nul.toml", b"\0\0\0")], &["nul.toml:1:", "not TOML"]);
    let wrong = file(
        "wrong.toml",
        b"[device]\nname = \"femu\"\n[gc]\nsoft = 1.5\n[workload]\nrequests = 1\n",
    );
    assert_refused(&["run", &wrong], &["wrong.toml:4: gc.soft = 1.5 is not allowed: ", "below 1"]);
}

#[test]
fn a_bad_override_names_the_option_as_it_was_given() {
    assert_refused(
        &["run", "quick", "--set", "gc.sofft=0.1"],
        &["--set gc.sofft=0.1", "did you mean gc.soft?"],
    );
    assert_refused(&["run", "quick", "--policy", "basis"], &["`basis`", "did you mean base"]);
    assert_refused(&["compare", "quick", "--policies", "nogc,bse"], &["`bse`", "base"]);
    assert_refused(&["run", "quick", "--device", "femur"], &["`femur`", "did you mean femu?"]);
    assert_refused(&["run", "quick", "--device", "./no.toml"], &["./no.toml", "no such file"]);
    assert_refused(
        &["run", "--trace", "a", "--remap", "wrap"],
        &["--remap wrap", "workload.trace.remap", "modulo"],
    );
    assert_refused(&["run", "--trace", "a", "--format", "csv"], &["--format csv", "msr"]);
    assert_refused(
        &["run", "--seed", "18446744073709551615"],
        &["18446744073709551615", "--seed", "a whole number from 0 to"],
    );
    assert_refused(&["device", "show", "femur"], &["femu"]);
    assert_refused(&["policy", "show", "bsae"], &["base"]);
}

#[test]
fn a_drive_that_is_truly_full_is_refused_with_the_arithmetic() {
    let pieces =
        ["--set device.op=0.02", "device.op = 0.02", "host sees", "blocks are left", "gc needs"];
    assert_refused(&["compare", "--set", "device.op=0.02"], &pieces);
}

#[test]
fn a_device_is_shown_with_its_capacities_and_the_source_of_each_number() {
    let output = manx(&["device", "show", "ttflash-256g"]);
    let said = stdout(&output);
    assert!(output.status.success());
    assert!(
        said.contains("raw 256 GiB, user 230.4 GiB, OP 11.1 % of user (10.0 % of raw)"),
        "{said}"
    );
    for number in ["op", "geometry.channels", "timing.read", "channel.rate"] {
        let line = said.lines().find(|line| line.starts_with(number)).unwrap_or_default();
        assert!(line.contains("ttFlash FAST '17"), "{number}: {line}");
    }
    assert!(!said.contains("(no source)"), "{said}");
    assert_eq!(
        stdout(&manx(&["device", "list"])).lines().filter(|line| !line.starts_with(' ')).count(),
        12
    );
}

#[test]
fn policies_schema_and_completions_are_printed() {
    assert!(stdout(&manx(&["policy", "list"])).contains("preemptive"));
    assert!(stdout(&manx(&["policy", "show", "preemptive"])).contains("when = \"background\""));
    let schema: serde_json::Value =
        serde_json::from_slice(&manx(&["schema", "scenario"]).stdout).unwrap();
    assert!(schema["$defs"]["WorkloadSpec"]["properties"]["rate"].is_object());
    let schema: serde_json::Value =
        serde_json::from_slice(&manx(&["schema", "result"]).stdout).unwrap();
    assert_eq!(schema["title"], "RunSet");
    assert!(stdout(&manx(&["completions", "bash"])).contains("manx"));
}

#[test]
fn a_device_file_is_found_beside_its_scenario_or_where_an_option_points() {
    let table = manx_config::builtin_device("femu").unwrap().text;
    let device = file("mine-device.toml", table.as_bytes());
    let scenario =
        b"[device]\nname = \"./mine-device.toml\"\n[gc]\nsoft = 1.5\n[workload]\nrequests = 1\n";
    let scenario = file("beside.toml", scenario);
    assert_refused(&["run", &scenario], &["beside.toml:4:", "gc.soft"]);
    assert_refused(
        &["run", "quick", "--device", &device, "--set", "gc.soft=1.5"],
        &["--set gc.soft=1.5"],
    );
}

const SHORT: [&str; 4] = ["--set", "workload.requests=5000", "--no-cache", "--seed=3"];

#[test]
fn json_is_one_document_on_stdout_and_the_table_is_on_stderr() {
    let output = manx(&[&["compare", "quick", "--json", "--verify"], SHORT.as_slice()].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let policies: Vec<_> =
        document["runs"].as_array().unwrap().iter().map(|run| &run["policy"]).collect();
    assert_eq!(policies, ["nogc", "base", "preemptive"]);
    assert_eq!(
        (&document["runs"][1]["seed"], &document["runs"][1]["verify"]["mismatches"]),
        (&3.into(), &0.into())
    );
    assert!(
        stderr(&output).contains("p99.9") && stderr(&output).contains("raw 256 MiB, user 192 MiB")
    );
}

#[test]
fn the_table_is_on_stdout_and_what_depends_on_the_machine_is_not() {
    let output = manx(&[&["compare", "quick"], SHORT.as_slice()].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(
        said.starts_with("drive       femu: raw 256 MiB")
            && said.contains("baseline: nogc, a bound"),
        "{said}"
    );
    let prepared = "\npreconditioning: filled, ";
    assert_eq!(
        (said.matches(prepared).count(), said.contains("CPU s")),
        (1, false),
        "once for all policies: {said}"
    );
}

#[test]
fn the_maps_cost_at_most_12_bytes_a_page_and_24_with_verify() {
    for (option, most) in [("--jobs=1", 12.0), ("--verify", 24.0)] {
        let output = manx(&[&["run", "quick", "--json", option], SHORT.as_slice()].concat());
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let bytes = document["runs"][0]["machine"]["simulated_bytes_per_page"].as_f64().unwrap();
        assert!((most / 2.0..=most).contains(&bytes), "{option}: {bytes}");
    }
}

#[test]
fn a_trace_starts_without_the_warm_up_of_the_scenario_it_replaces() {
    let trace = file(
        "short.csv",
        b"128166372003061629,hm,0,Read,8192,4096,100\n128166372003071629,hm,0,Write,0,512,9\n",
    );
    let output =
        manx(&["run", "oltp", "--trace", &trace, "--set", "precondition.state=empty", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &document["runs"][0];
    assert_eq!((&run["read"]["count"], &run["write"]["count"]), (&1.into(), &1.into()));
}

#[test]
fn a_preemptive_run_that_never_gives_way_is_warned_of() {
    let low = [
        "run",
        "quick",
        "--policy",
        "preemptive",
        "--set",
        "gc.hard=0.02",
        "--set",
        "gc.soft=0.03",
    ];
    let low = manx(&low);
    assert!(stdout(&low).contains("GC runs began at or below gc.hard"), "{}", stdout(&low));
    let apart = manx(&["run", "quick", "--policy", "preemptive", "--set", "workload.rate=500"]);
    assert!(!stdout(&apart).contains("gc.hard"), "{}", stdout(&apart));
}

/// A drive that serves a thousand requests of the warm-up first answers fewer in a second than it
/// can, and a warning says by how much.
#[test]
fn a_rate_that_leaves_out_requests_of_the_warm_up_says_so() -> Result<(), Box<dyn Error>> {
    let run = |depth: &str, warmup: &str| -> Result<(f64, String), Box<dyn Error>> {
        let mut args = vec!["run", "quick", "--policy", "base", "--json"];
        let (depth, warmup) =
            (format!("workload.queue_depth={depth}"), format!("measure.warmup_requests={warmup}"));
        let sets =
            ["workload.arrival=closed", "workload.read_percent=100", "workload.requests=6000"];
        sets.into_iter().chain([&depth[..], &warmup]).for_each(|set| args.extend(["--set", set]));
        let document: serde_json::Value = serde_json::from_str(&stdout(&manx(&args)))?;
        let run = &document["runs"][0];
        let rate = run["read"]["iops"].as_f64().ok_or("no rate")?;
        Ok((rate, run["warnings"].to_string()))
    };
    let (whole, silent) = run("4096", "0")?;
    assert!(!silent.contains("requests per second"), "{silent}");
    let (counted, told) = run("4096", "1000")?;
    assert!(told.contains("requests per second are up to 17 % too few"), "{told}");
    assert!((counted / whole / (5.0 / 6.0) - 1.0).abs() < 1e-6, "{counted} of {whole}");
    let (_, silent) = run("64", "1000")?;
    assert!(!silent.contains("requests per second"), "{silent}");
    Ok(())
}

/// A load that the drive cannot do: its WAF is that of what the drive took, its rates are of the
/// time until the last request ended, with an error too, and a warning says that it stays behind.
#[test]
fn an_overloaded_drive_has_the_waf_of_what_it_took_and_says_that_it_stays_behind()
-> Result<(), Box<dyn Error>> {
    let run = |sets: &[&str]| -> Result<serde_json::Value, serde_json::Error> {
        let mut args = vec!["run", "quick", "--policy", "base", "--json"];
        let writes = ["workload.read_percent=0", "workload.rate=20000"];
        writes.iter().chain(sets).for_each(|set| args.extend(["--set", set]));
        let document: serde_json::Value = serde_json::from_str(&stdout(&manx(&args)))?;
        Ok(document["runs"][0].clone())
    };
    let number = |of: &serde_json::Value| of.as_f64().ok_or_else(|| format!("no number: {of}"));
    let starved = run(&["measure.timeout=500ms"])?;
    assert!(number(&starved["flash"]["waf"])? > 2.0, "{}", starved["flash"]);
    let whole = run(&["measure.timeout=0s"])?;
    assert!(whole["warnings"].to_string().contains("stays behind this load"), "{whole}");
    let late = run(&["measure.timeout=0s", "measure.warmup_requests=15000"])?;
    let (whole, late) = (number(&whole["flash"]["waf"])?, number(&late["flash"]["waf"])?);
    assert!((late / whole - 1.0).abs() < 0.15, "{whole} {late}");
    let reset = run(&[
        "host.on_timeout=reset",
        "measure.timeout=20ms",
        "host.reset=5ms",
        "host.retries=1",
        "measure.warmup_requests=0",
    ])?;
    let (first, ended) = (number(&reset["resets"]["first_at_s"])?, number(&reset["virtual_s"])?);
    assert!(ended > first, "{ended} {first}");
    Ok(())
}

#[test]
fn out_writes_the_result_and_scenarios_that_run_again() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("out/of/many");
    let _ = std::fs::remove_dir_all(&folder);
    let out = folder.display().to_string();
    let output = manx(
        &[&["compare", "quick", "--policies", "base,preemptive", "--out", &out], SHORT.as_slice()]
            .concat(),
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let read = |bytes: &[u8]| {
        let mut document: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        manx_lab::json::strip_machine_value(&mut document);
        document["runs"].clone()
    };
    let results = read(&std::fs::read(folder.join("result.json")).unwrap());
    for (number, policy) in ["base", "preemptive"].into_iter().enumerate() {
        let scenario = folder.join(format!("scenario.{policy}.toml")).display().to_string();
        let output = manx(&["run", &scenario, "--json", "--no-cache"]);
        let mut again = read(&output.stdout)[0].clone();
        again["policy"] = policy.into();
        assert_eq!(again, results[number]);
    }
    assert!(
        std::fs::read_dir(&folder)
            .unwrap()
            .all(|entry| entry.unwrap().path().extension().unwrap() != "part")
    );
}

#[test]
fn a_trace_that_cannot_be_read_is_one_line_and_exit_code_2() {
    assert_refused(
        &["compare", "quick", "--trace", "./nowhere.csv"],
        &["./nowhere.csv", "no such file"],
    );
    assert_refused(&["run", "quick", "--trace", &file("empty.csv", b"")], &["empty.csv", "empty"]);
    assert_refused(&["run", "--trace", env!("CARGO_TARGET_TMPDIR")], &["directory"]);
}

#[test]
fn a_drive_that_starves_a_request_is_a_result_and_no_failure() {
    // Longer than a read that meets nobody, shorter than an erase.
    let set = ["--set", "measure.timeout=1ms", "--set", "drive.write_through=true", "--no-cache"];
    let output = manx(
        &[
            ["compare", "quick", "--policies", "base,preemptive/t-es(2ms)", "--json"].as_slice(),
            &set,
        ]
        .concat(),
    );
    assert!(output.status.success(), "{output:?}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for run in document["runs"].as_array().unwrap() {
        assert_eq!(run["outcome"], "starved", "{run}");
        let warnings = run["warnings"].to_string();
        assert!(
            warnings.contains("starved: the oldest request, a ")
                && warnings.contains("had waited 1ms"),
            "{warnings}"
        );
    }
    let table = stdout(&manx(
        &[["compare", "quick", "--policies", "base", "--set", "seed=3"].as_slice(), &set].concat(),
    ));
    assert!(table.contains("starved"), "{table}");
    let never = manx(&[
        "run",
        "quick",
        "--policy",
        "base",
        "--set",
        "measure.timeout=0s",
        "--no-cache",
        "--json",
    ]);
    let document: serde_json::Value = serde_json::from_slice(&never.stdout).unwrap();
    assert_eq!(document["runs"][0]["outcome"], "completed");
    let shown = stdout(&manx(&["policy", "show", "t-es(16ms)"]));
    assert!(
        shown.contains("reads_first = true") && shown.contains("timeout = \"16ms\""),
        "{shown}"
    );
    assert!(shown.contains("ATC '19, section 2.4"), "{shown}");
}
