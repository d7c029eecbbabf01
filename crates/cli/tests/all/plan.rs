//! `manx plan` as a user meets it.

use crate::support::{assert_refused, file, manx, stderr, stdout};
use serde_json::Value;

/// The document of a plan.
#[track_caller]
fn plan(args: &[&str]) -> Value {
    let output = manx(&[&["plan", "tw", "--json"], args].concat());
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Value and source of `symbol` in a document.
#[track_caller]
fn symbol<'a>(document: &'a Value, name: &str) -> (&'a Value, &'a str) {
    let found =
        document["symbols"].as_array().unwrap().iter().find(|symbol| symbol["symbol"] == name);
    let found = found.unwrap_or_else(|| panic!("no symbol {name}"));
    (&found["value"], found["source"].as_str().unwrap())
}

/// A time of the document in whole ms.
#[track_caller]
fn ms(value: &Value) -> u64 {
    (value.as_u64().unwrap_or_else(|| panic!("{value} is no time")) + 500_000) / 1_000_000
}

const LINE: [&str; 8] = ["--device", "femu", "--n", "4", "--dwpd", "5", "--gc-unit", "superblock"];

#[test]
fn plan_alone_lists_the_calculators() {
    let output = manx(&["plan"]);
    assert!(output.status.success());
    assert!(stdout(&output).contains("\n  tw  "), "{}", stdout(&output));
}

#[test]
fn a_timeout_keeps_gc_and_n_below_what_writes_may_take() {
    let asked = ["plan", "timeout", "--writes-below", "100ms", "--gc", "35ms"];
    let said = stdout(&manx(&asked));
    assert!(said.contains("t-es(64ms)") && said.contains("99.00ms"), "{said}");
    let output = manx(&[asked.as_slice(), &["--json"]].concat());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["n_ns"], 64_000_000);
    assert_eq!(document["longest_write_ns"], 99_000_000);
    let refused = ["plan", "timeout", "--writes-below", "30ms", "--gc", "35ms"];
    assert_refused(&refused, &["--writes-below = 30ms", "above --gc 35ms"]);
}

#[test]
fn a_plan_prints_every_symbol_with_its_source_and_both_kinds_of_parallel_collection() {
    let output = manx(&[&["plan", "tw"], LINE.as_slice()].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stdout(&output);
    let line = |start: &str| {
        let found = said.lines().find(|line| line.starts_with(start));
        found.unwrap_or_else(|| panic!("no line `{start}`: {said}")).to_string()
    };
    for (name, pieces) in [
        ("N_ssd ", ["4", "--n"]),
        ("S_p ", ["4GiB", "R_p x S_t"]),
        ("S_use ", ["491.52MiB", "assumed: gc.soft 0.05 - gc.hard 0.02"]),
        ("R_v ", ["0.750", "assumed"]),
        ("t_w ", ["200.0us", "device femu: timing.program"]),
        ("B_pcie ", ["unlimited", "assumed"]),
        ("N_dwpd ", ["5.00", "--dwpd"]),
        ("N_gc ", ["64", "--gc-unit superblock"]),
    ] {
        assert!(pieces.iter().all(|piece| line(name).contains(piece)), "{}", line(name));
    }
    for (row, cells) in [
        ("blocks reclaimed", ["8", "64"]),
        ("T_gc", ["48.08ms", "48.08ms"]),
        ("B_gc ", ["43.6MB/s", "349MB/s"]),
        ("  S_p / (N B - B_gc)", ["none", "none"]),
        ("  S_use / ((N - 1) B)", ["76.80s", "76.80s"]),
    ] {
        let line = said.lines().rfind(|line| line.starts_with(row)).unwrap();
        let found: Vec<&str> = line.split_whitespace().rev().take(2).collect();
        assert_eq!(found, [cells[1], cells[0]], "{line}");
    }
    let burst =
        said.split("burst, B = 1311MB/s").nth(1).and_then(|rest| rest.lines().nth(1)).unwrap();
    assert!(
        burst.contains("S_p / (N B - B_gc)")
            && burst.contains("826.1ms")
            && burst.contains("877.6ms"),
        "{burst}"
    );
    assert!(
        said.contains("norm: N B = 8.95MB/s <= B_gc = 349MB/s: no upper bound by IODA's formula"),
        "{said}"
    );
    assert!(said.lines().all(|line| line.chars().count() <= 120), "{said}");
}

#[test]
fn the_document_has_the_same_values_in_ns_and_bytes() {
    let document = plan(&LINE);
    assert_eq!((&document["plan"], &document["device"]), (&"tw".into(), &"femu".into()));
    assert_eq!(symbol(&document, "S_p").0, &Value::from(4u64 << 30));
    assert_eq!(symbol(&document, "N_ssd"), (&4.into(), "--n"));
    assert_eq!(symbol(&document, "B_pcie").0, &Value::Null);
    let drive = &document["drive"];
    assert_eq!(
        (&drive["blocks"], &drive["t_gc_ns"], &drive["tw_min_ns"]),
        (&64.into(), &48_080_000.into(), &48_080_000.into())
    );
    assert_eq!(
        (ms(&drive["burst"]["tw_max_ns"]), ms(&document["formula"]["burst"]["tw_max_ns"])),
        (878, 826)
    );
    assert_eq!(
        (&drive["norm"]["tw_max_ns"], &drive["norm"]["sustainable"]),
        (&Value::Null, &true.into())
    );
    assert_eq!((&drive["raid5"], &document["raid5_writes"]), (&Value::Null, &Value::Null));
}

#[test]
fn reserve_link_and_guard_are_what_the_options_say() {
    let all = [&LINE[..], &["--reserve", "832MiB", "--guard", "50ms"]].concat();
    let document = plan(&all);
    let drive = &document["drive"];
    assert_eq!((ms(&drive["burst"]["tw_max_usable_ns"]), ms(&drive["tw_min_ns"])), (178, 98));
    let linked = plan(&[&all[..], &["--link", "500MB/s"]].concat());
    assert_eq!(ms(&linked["drive"]["burst"]["tw_max_usable_ns"]), 528);
    let short = plan(&[&LINE[..], &["--reserve", "64MiB", "--guard", "50ms"]].concat());
    assert_eq!(short["drive"]["burst"]["fits"], false);
    assert!(short["notes"].to_string().contains("burst: no window fits"), "{}", short["notes"]);
}

#[test]
fn small_writes_to_a_raid_are_two_of_its_drives() {
    let document = plan(&[&LINE[..], &["--raid5-writes", "200MB/s"]].concat());
    // 2 x 200 / 4 drives, of which 349 / 4 = 87 are sustained.
    let load = &document["drive"]["raid5"];
    assert_eq!((&load["b"], &load["sustainable"]), (&100e6.into(), &false.into()));
    // 4 GiB / (400 - 348.943) MB/s.
    assert_eq!(load["tw_max_ns"].as_u64().unwrap() / 1_000_000_000, 84);
    assert!(
        document["notes"]
            .to_string()
            .contains("200MB/s of the user x 2 / 4 drives = 100MB/s a drive")
    );
}

#[test]
fn a_scenario_gives_device_marks_unit_and_link() {
    let text = "[device]\nname = \"femu\"\n[ftl]\nallocation = \"dynamic\"\n\
                [gc]\nmode = \"preemptive\"\n\
                unit = \"superblock\"\nsoft = 0.1\nhard = 0.05\n[drive]\nlink = \"500MB/s\"\n\
                [workload]\nrequests = 1\n";
    let path = file("plan.toml", text.as_bytes());
    let document = plan(&["--scenario", &path]);
    assert_eq!(
        (document["device"].as_str(), &document["drive"]["blocks"]),
        (Some("femu"), &64.into())
    );
    let (reserve, from) = symbol(&document, "S_use");
    let share = reserve.as_f64().unwrap() / f64::from(1u32 << 30) / 16.0;
    assert!(
        (share - 0.05).abs() < 1e-6 && from.contains("gc.soft 0.1") && from.contains("plan.toml"),
        "{reserve} {from}"
    );
    assert_eq!(symbol(&document, "B_burst").0, &Value::from(500e6));
    let changed = plan(&[
        "--scenario",
        &path,
        "--set",
        "gc.soft=0.2",
        "--device",
        "mqsim-default",
        "--op",
        "0.4",
    ]);
    assert_eq!(changed["device"], "mqsim-default");
    assert!(symbol(&changed, "S_use").1.contains("gc.soft 0.2"));
    assert_eq!(symbol(&changed, "S_t").1, format!("scenario {path}: device.geometry"));
    // Base holds a channel for one victim.
    assert_eq!(plan(&["--scenario", "oltp"])["drive"]["blocks"], 8);
}

#[test]
fn a_bad_input_is_named_with_what_is_allowed() {
    let table: &[(&[&str], &[&str])] = &[
        (&[], &["--device NAME|FILE", "--scenario"]),
        (&["--device", "femur"], &["`femur`", "did you mean femu?"]),
        (&["--device", "femu", "--n", "1"], &["--n 1 is not allowed", "from 2 to 1024"]),
        (&["--device", "femu", "--n", "-4"], &["--n", "-4", "whole number"]),
        (&["--device", "femu", "--n", "99999999999"], &["--n", "from 2 to 1024"]),
        (&["--device", "femu", "--dwpd", "0"], &["--dwpd 0", "above 0"]),
        (&["--device", "femu", "--dwpd", "nan"], &["--dwpd", "a number"]),
        (&["--device", "femu", "--op", "1"], &["--op 1", "below 1"]),
        (&["--device", "femu", "--op", "0"], &["--op 0", "no over-provisioned space"]),
        (&["--device", "femu", "--op", "0.99999"], &["--op 0.99999", "see nothing"]),
        (&["--device", "femu", "--op", "0.01"], &["gc.soft", "more than S_p", "--reserve"]),
        (&["--device", "femu", "--valid", "1"], &["--valid 1", "from 0 to below 1"]),
        (&["--device", "femu", "--link", "5"], &["--link", "`5`", "MB/s"]),
        (&["--device", "femu", "--burst", "unlimited"], &["--burst unlimited", "has a limit"]),
        (&["--device", "femu", "--raid5-writes", "unlimited"], &["--raid5-writes unlimited"]),
        (&["--device", "femu", "--reserve", "5GiB"], &["--reserve 5GiB", "at most S_p = 4GiB"]),
        (&["--device", "femu", "--reserve", "0B"], &["--reserve 0B", "above 0B"]),
        (&["--device", "femu", "--gc-unit", "line"], &["line", "superblock"]),
        (&["--device", "femu", "--guard", "-1ms"], &["--guard", "-1ms", "not negative"]),
        (&["--device", "femu", "--guard", "2h"], &["--guard 7200s", "at most 1h"]),
        (&["--device", "femu", "--set", "gc.soft=0.1"], &["--set gc.soft=0.1", "--scenario"]),
        (&["--scenario", "otlp"], &["`otlp`", "did you mean oltp?"]),
        (&["--scenario", "quick", "--set", "gc.sofft=1"], &["gc.sofft", "did you mean gc.soft?"]),
    ];
    for (args, pieces) in table {
        assert_refused(&[&["plan", "tw"], *args].concat(), pieces);
    }
    assert_refused(&["plan", "wt"], &["wt"]);
}

/// The command and the output of the first example in the page.
#[test]
fn the_page_shows_what_the_command_prints() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (command, rest) =
        page.split_once("$ manx ").and_then(|(_, rest)| rest.split_once('\n')).unwrap();
    let shown = rest.split("```").next().unwrap();
    let args: Vec<&str> = command.split_whitespace().collect();
    assert_eq!(stdout(&manx(&args)), shown, "docs/plan.md is not what `manx {command}` prints");
}

#[test]
fn runs_confirm_the_bound_of_a_window_and_the_longest_write_under_n() {
    let told = |args: &[&str]| -> serde_json::Value {
        let output = manx(args);
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    let plan = told(&["plan", "tw", "--device", "femu", "--n", "3", "--check", "--json"]);
    let windows = plan["check"]["windows"].as_array().unwrap();
    assert_eq!(windows[0]["violations"], 0, "half of the bound: {plan}");
    assert!(windows[1]["violations"].as_u64().unwrap() > 0, "twice the bound: {plan}");
    let asked = ["plan", "timeout", "--writes-below", "60ms", "--gc", "35ms"];
    let plan = told(&[&asked[..], &["--check", "--json"]].concat());
    let ns = |key: &str| plan["check"][key].as_u64().unwrap();
    assert_eq!(
        (plan["n_ns"].as_u64(), ns("rule_ns") - ns("gc_ns")),
        (Some(16_000_000), 16_000_000)
    );
    assert!(ns("run_ns").abs_diff(ns("rule_ns")) < ns("rule_ns") / 20, "{plan}");
    assert_eq!(told(&[&asked[..], &["--json"]].concat())["check"], serde_json::Value::Null);
    assert_refused(&["plan", "tw", "--device", "femu", "--guard", "5s", "--check"], &["--guard"]);
    assert_refused(&["plan", "tw", "--device", "znand-like", "--check"], &["covers 16KiB"]);
}
