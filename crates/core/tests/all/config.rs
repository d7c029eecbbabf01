//! Scenarios, device tables and policies as a user meets them: what loads, and what each mistake is
//! answered with.

use manx_core::config::{
    self, Axis, ConfigError, Input, Override, POLICIES, Source, builtin_device, builtin_scenario,
    device_names, load, load_device, resolve_policy, scenario_names,
};
use manx_core::drive::{CostRule, EraseMode, ProgramMode, Reconstruct, Update};
use manx_core::flash::{Capacity, Device, Features};
use manx_core::ftl::{Allocation, GcMode, GcWhen, Rotate, VictimUnit};
use manx_core::host::Arrival;
use manx_core::units::{Bytes, Duration};

/// A scenario in which everything is right; the tests break one thing each.
const GOOD: &str = r#"name = "good"
[device]
name = "femu"
[gc]
soft = 0.08
[workload]
requests = 1000
"#;

fn source(text: &str) -> Source {
    Source { file: "scenarios/x.toml".to_string(), text: text.to_string() }
}

fn load_with(text: &str, sets: &[&str]) -> Result<config::Scenario, ConfigError> {
    let overrides: Vec<Override> =
        sets.iter().map(|set| Override::from_set(set).unwrap()).collect();
    load(&Input { scenario: &source(text), device: None, policy: None, overrides: &overrides })
}

/// The one line that a scenario is refused with.
fn refusal(text: &str) -> String {
    let message = load_with(text, &[]).expect_err(&format!("this was taken:\n{text}")).to_string();
    assert!(!message.contains('\n'), "more than one line: {message}");
    message
}

#[track_caller]
fn assert_says(message: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(message.contains(piece), "`{piece}` is not in: {message}");
    }
}

#[test]
fn every_device_table_loads_under_the_default_gc_and_has_a_source_for_each_number() {
    for name in device_names() {
        let device = load_device(&builtin_device(name).unwrap()).unwrap();
        assert_eq!(device.name, name);
        load_with(GOOD, &[&format!("device.name={name}"), "gc.soft=0.05"]).unwrap();
        assert_every_number_has_a_source(&device);
    }
}

fn assert_every_number_has_a_source(device: &Device) {
    let table = toml::Value::try_from(device).unwrap();
    let mut keys = vec!["op".to_string()];
    for part in ["geometry", "feature", "timing", "channel"] {
        keys.extend(table[part].as_table().unwrap().keys().map(|key| format!("{part}.{key}")));
    }
    for key in keys {
        let sourced = device
            .source
            .keys()
            .any(|source| key == *source || key.starts_with(&format!("{source}.")));
        let plainest = key.starts_with("feature.") && device.feature == Features::default();
        assert!(sourced || plainest, "{}: {key} has no source", device.name);
    }
    for source in device.source.keys() {
        let (part, key) = source.split_once('.').unwrap_or((source, ""));
        assert!(
            table.get(part).is_some_and(|v| key.is_empty() || v.get(key).is_some()),
            "{source} is no key"
        );
    }
}

#[test]
fn the_ttflash_drive_is_the_paper_s() {
    let device = load_device(&builtin_device("ttflash-256g").unwrap()).unwrap();
    assert_eq!(
        Capacity::of(&device).to_string(),
        "raw 256 GiB, user 230.4 GiB, OP 11.1 % of user (10.0 % of raw)"
    );
    let read = device.channel.command + device.timing.read[0] + device.channel.rate.time_for(4096);
    assert_eq!(read, Duration::from_ns(142_575));
    assert_eq!(
        device.timing.erase_step * u64::from(device.timing.erase_steps),
        Duration::from_ms(2)
    );
}

#[test]
fn user_capacity_is_whole_stripe_rounds_of_what_the_share_leaves() {
    for name in device_names() {
        let device = load_device(&builtin_device(name).unwrap()).unwrap();
        let (capacity, g) = (Capacity::of(&device), &device.geometry);
        let planes =
            [g.channels, g.ways, g.dies, g.planes].iter().map(|n| u64::from(*n)).product::<u64>();
        let raw = planes * u64::from(g.blocks) * u64::from(g.pages) * g.page.get();
        let round = planes * g.page.get() * u64::from(device.feature.program_pages);
        assert_eq!(capacity.raw, Bytes::new(raw), "{name}");
        assert!(capacity.user.get().is_multiple_of(round), "{name}");
        let lost = raw as f64 * (1.0 - device.op) - capacity.user.get() as f64;
        assert!((-1.0..round as f64 + 1.0).contains(&lost), "{name}: {lost} B of rounding");
    }
}

#[test]
fn every_built_in_scenario_loads_under_each_of_its_policies() {
    for name in scenario_names() {
        let scenario = builtin_scenario(name).unwrap();
        let plain =
            load(&Input { scenario: &scenario, device: None, policy: None, overrides: &[] })
                .unwrap();
        assert_eq!(plain.name, name);
        for policy in &plain.policies {
            load(&Input {
                scenario: &scenario,
                device: None,
                policy: Some(policy),
                overrides: &[],
            })
            .unwrap();
        }
    }
}

#[test]
fn every_policy_says_what_it_is_and_changes_only_known_keys() {
    for policy in POLICIES {
        assert!(!policy.summary.is_empty() && !policy.source.is_empty());
        let scenario = source(
            &[GOOD, if policy.axis == Axis::Array { "[array]\nmembers = 4\n" } else { "" }]
                .concat(),
        );
        load(&Input {
            scenario: &scenario,
            device: None,
            policy: Some(policy.name),
            overrides: &[],
        })
        .unwrap();
    }
    assert_eq!(resolve_policy("semi-preemptive").unwrap()[0].policy.name, "preemptive");
}

#[test]
fn an_unknown_policy_is_answered_with_the_list_and_the_nearest() {
    let said = |name: &str| resolve_policy(name).unwrap_err().to_string();
    assert_says(&said("preemtive"), &["preemtive", "nogc", "did you mean preemptive"]);
    assert_says(&said("base/nogc"), &["base/nogc", "gc", "at most one part"]);
    assert_says(&said(""), &["``"]);
    let message = refusal(&format!("policies = [\"bas\"]\n{GOOD}"));
    assert_says(&message, &["scenarios/x.toml:1:", "`bas`", "did you mean base"]);
}

#[test]
fn layers_lie_over_each_other_device_scenario_policy_set() {
    let scenario = source(&format!("{GOOD}[device.geometry]\nblocks = 128\n"));
    let sets = [
        Override::from_set("gc.soft=0.1").unwrap(),
        Override::from_set("device.geometry.pages=128").unwrap(),
    ];
    let input =
        Input { scenario: &scenario, device: None, policy: Some("preemptive"), overrides: &sets };
    let loaded = load(&input).unwrap();
    assert_eq!(
        (loaded.gc.mode, loaded.gc.when, loaded.gc.soft),
        (GcMode::Preemptive, GcWhen::Background, 0.1)
    );
    let geometry = &loaded.device.geometry;
    assert_eq!((geometry.blocks, geometry.pages, geometry.channels), (128, 128, 8));
    assert_eq!(loaded.device.name, "femu");
}

#[test]
fn a_set_value_needs_no_quotes_and_a_job_takes_the_workload_s_defaults() {
    let jobs = "queue_depth = 4\n[[workload.jobs]]\nread_percent = 100\n[[workload.jobs]]\nthink = \"1ms\"\n";
    let sets = ["device.timing.erase_step=2ms", "workload.jobs.1.queue_depth=9"];
    let loaded = load_with(&format!("{GOOD}{jobs}"), &sets).unwrap();
    assert_eq!(loaded.device.timing.erase_step, Duration::from_ms(2));
    let jobs = &loaded.workload.jobs;
    assert_eq!((jobs[0].queue_depth, jobs[1].queue_depth), (4, 9));
    assert_eq!((jobs[0].read_percent, jobs[1].think), (100.0, Duration::from_ms(1)));
    assert_eq!((jobs[0].requests, jobs[1].requests), (1000, 1000));
    assert_eq!(
        load_with(GOOD, &["workload.jobs.0.queue_depth=3"]).unwrap().workload.jobs[0].queue_depth,
        3
    );
    assert_eq!(
        load_with(GOOD, &["device.timing.read.0=3us"]).unwrap().device.timing.read[0],
        Duration::from_us(3)
    );
    assert_eq!(
        load_with(GOOD, &["name=[1\n2"]).unwrap().name,
        "[1\n2",
        "what is not TOML is a string"
    );
}

#[test]
fn a_trace_is_replayed_at_its_own_times_unless_said_otherwise() {
    let arrival = |sets: &[&str]| load_with(GOOD, sets).unwrap().workload.jobs[0].arrival;
    assert_eq!(arrival(&["workload.trace.file=a.csv"]), Arrival::Trace);
    assert_eq!(arrival(&["workload.trace.file=a.csv", "workload.arrival=closed"]), Arrival::Closed);
}

#[test]
fn a_device_may_come_from_a_file_and_keeps_its_own_name() {
    let mut mine = builtin_device("femu").unwrap();
    mine.file = "my.toml".to_string();
    mine.text = mine.text.replace("name = \"femu\"", "name = \"mine\"");
    let scenario = source(&GOOD.replace("\"femu\"", "\"./my.toml\""));
    assert_eq!(config::device_name(&scenario, &[]).unwrap().as_deref(), Some("./my.toml"));
    let loaded =
        load(&Input { scenario: &scenario, device: Some(&mine), policy: None, overrides: &[] })
            .unwrap();
    assert_eq!(loaded.device.name, "mine");
    mine.text = mine.text.replace("\"200us\"", "\"0us\"");
    let error =
        load(&Input { scenario: &scenario, device: Some(&mine), policy: None, overrides: &[] })
            .unwrap_err();
    assert_says(
        &error.to_string(),
        &["my.toml:18:", "device.timing.program.0 = 0s", "longer than 0"],
    );
}

/// Each mistake: what replaces a part of the good scenario, and the pieces of the answer.
type Mistake<'a> = (&'a str, &'a str, &'a [&'a str]);

#[track_caller]
fn assert_refused(mistakes: &[Mistake<'_>]) {
    for (good, bad, pieces) in mistakes {
        let message = refusal(&GOOD.replacen(good, bad, 1));
        assert_says(&message, pieces);
        assert!(message.starts_with("scenarios/x.toml"), "no file in: {message}");
    }
}

#[test]
fn a_mistake_about_gc_and_drive_is_answered_with_file_line_key_value_and_what_is_allowed() {
    assert_refused(&[
        ("soft = 0.08", "sofft = 0.08", &[":5:", "unknown key gc.sofft", "did you mean gc.soft?"]),
        ("soft = 0.08", "soft = 1.5", &[":5:", "gc.soft = 1.5", "above 0 and below 1"]),
        ("soft = 0.08", "soft = nan", &[":5:", "gc.soft = NaN", "above 0"]),
        ("soft = 0.08", "soft = \"much\"", &[":5:", "gc.soft = \"much\"", "a number"]),
        ("soft = 0.08", "mode = \"fast\"", &[":5:", "gc.mode = \"fast\"", "`nogc`, `base`"]),
        ("soft = 0.08", "hard = 0.2", &[":5:", "gc.hard = 0.2", "below gc.soft = 0.05"]),
        ("soft = 0.08", "copyback = 1", &[":5:", "gc.copyback = 1", "true or false"]),
        ("soft = 0.08", "window = 0", &[":5:", "gc.window = 0", "at least 1"]),
        (
            "soft = 0.08",
            "soft = 0.245",
            &[":5:", "gc.soft = 0.245", "can reach", "65536", "device.op"],
        ),
        ("soft = 0.08", "soft 0.08", &[":5:6:", "not TOML"]),
        ("name = \"good\"\n", "gc = 5\n", &[":4:", "not TOML"]),
        ("[gc]\nsoft", "[gc]\nunit = 5\nsoft", &[":5:", "gc.unit = 5"]),
        (
            "[gc]",
            "[ftl]\norder = [\"die\", \"die\", \"way\", \"plane\"]\n[gc]",
            &[":5:", "ftl.order", "exactly once"],
        ),
        ("[gc]", "[ftl]\norder = [\"die\", \"way\"]\n[gc]", &[":5:", "ftl.order", "length"]),
        (
            "[gc]",
            "[gc]\nunit = \"superblock\"",
            &[":5:", "gc.unit = \"superblock\"", "dynamic", "pile up"],
        ),
        (
            "[gc]",
            "[gc]\nmode = \"preemptive\"\nwhen = \"foreground\"",
            &[":6:", "gc.when = \"foreground\""],
        ),
        (
            "[gc]",
            "[drive]\nbuffer = \"64KiB\"\n[gc]",
            &[":5:", "drive.buffer = 64KiB", "524288B", "64 lanes"],
        ),
        ("[gc]", "[drive]\nflush_above = 2\n[gc]", &[":5:", "drive.flush_above = 2", "0 to 1"]),
        (
            "[gc]",
            "[precondition]\nratio = 1.0\n[gc]",
            &[":5:", "precondition.ratio = 1", "below 1"],
        ),
        (
            "[gc]",
            "[precondition]\nstate = \"aged\"\nratio = 0.999\n[gc]",
            &[":6:", "ratio = 0.999", "3 are needed"],
        ),
        (
            "[gc]",
            "[measure]\nwarmup_requests = 1000\n[gc]",
            &[":5:", "warmup_requests = 1000", "nothing is measured"],
        ),
        ("[gc]", "[gcc]\n[gc]", &[":4:", "unknown key gcc", "did you mean gc?"]),
        ("[gc]", "[gc]\n[gc]", &[":5:", "not TOML", "duplicate"]),
    ]);
}

#[test]
fn a_mistake_about_the_workload_is_answered_with_file_line_key_value_and_what_is_allowed() {
    const R: &str = "requests = 1000";
    let sizes = "block_sizes = [[\"100B\", 1]]\nrequests = 9";
    assert_refused(&[
        (R, "requests = -1", &[":7:", "workload.requests = -1", "whole number"]),
        (R, "time = \"-3s\"", &[":7:", "workload.time = \"-3s\"", "not negative", "ms"]),
        (R, "think = \"3 parsecs\"", &[":7:", "\"3 parsecs\"", "a time"]),
        (R, "think = 3", &[":7:", "workload.think = 3", "a time"]),
        (R, "", &["scenarios/x.toml: workload.requests = 0", "a bound"]),
        (
            R,
            "arrival = \"poisson\"\nrequests = 9",
            &["x.toml: workload.rate = 0", "requests per second"],
        ),
        (R, "queue_depth = 0\nrequests = 9", &[":7:", "workload.queue_depth = 0", "from 1"]),
        (R, "read_percent = 130\nrequests = 9", &[":7:", "workload.read_percent = 130", "100"]),
        (R, "block_sizes = []\nrequests = 9", &[":7:", "block_sizes = []", "at least one"]),
        (R, sizes, &[":7:", "block_sizes.0.0 = 100B", "512"]),
        (
            R,
            "block_sizes = [[\"4KiB\", 0]]\nrequests = 9",
            &[":7:", "block_sizes.0.1 = 0", "weight"],
        ),
        (R, "block_sizes = [\"4KiB\"]\nrequests = 9", &[":7:", "block_sizes.0", "weight"]),
        (R, "offset = \"1TiB\"\nrequests = 9", &[":7:", "workload.offset = 1TiB", "host sees"]),
        (R, "size = \"1TiB\"\nrequests = 9", &[":7:", "workload.size = 1TiB", "at most"]),
        (R, "arrival = \"trace\"", &[":7:", "workload.arrival = \"trace\"", "workload.trace"]),
        (
            R,
            "trim_percent = 40\nrequests = 9",
            &[":7:", "workload.trim_percent = 40", "read_percent"],
        ),
        (
            R,
            "trace = { file = \"a\", remap = \"wrap\" }",
            &[":7:", "workload.trace.remap = \"wrap\"", "`modulo`"],
        ),
        (R, "trace = { format = \"msr\" }", &[":7:", "workload.trace.file is missing"]),
        (R, "jobs = 3", &[":7:", "workload.jobs = 3", "a list"]),
        (
            "[workload]",
            "[[workload.jobs]]\nrate = -1\narrival = \"fixed\"",
            &[":7:", "workload.jobs.0.rate = -1", "1e9"],
        ),
    ]);
}

#[test]
fn a_mistake_about_the_device_is_answered_with_file_line_key_value_and_what_is_allowed() {
    const N: &str = "name = \"femu\"";
    let with = |line: &str| format!("{N}\n{line}");
    assert_refused(&[
        ("\"femu\"", "\"femu2\"", &[":3:", "`femu2`", "ttflash-256g", "did you mean femu?"]),
        (N, "", &["device.name is missing", "device list"]),
        (N, &with("geometry = 5"), &[":4:", "device.geometry = 5", "table"]),
        (N, &with("geometry.planes = 0"), &[":4:", "device.geometry.planes = 0", "at least 1"]),
        (
            N,
            &with("geometry.planes = -1"),
            &[":4:", "device.geometry.planes = -1", "a whole number from 0"],
        ),
        (N, &with("op = 1.0"), &[":4:", "device.op = 1", "below 1"]),
        (
            N,
            &with("op = 0.02"),
            &[":4:", "device.op = 0.02", "host sees 64", "of 65536", "5.12 blocks", "gc needs"],
        ),
        (N, &with("timing.read = []"), &[":4:", "device.timing.read", "from 1 to 16"]),
        (N, &with("timing.read = \"40us\""), &[":4:", "device.timing.read = \"40us\"", "a list"]),
        (N, &with("timing.erase_steps = 65"), &[":4:", "erase_steps = 65", "64"]),
        (N, &with("timing.erase_step = \"1 year\""), &[":4:", "erase_step = \"1 year\"", "a time"]),
        (N, &with("channel.rate = \"0MB/s\""), &[":4:", "channel.rate = \"0MB/s\"", "above zero"]),
        (
            N,
            &with("channel.rate = \"1KB/s\""),
            &[":4:", "channel.rate = 1000B/s", "at least 1MB/s"],
        ),
        (N, &with("geometry.page = \"4us\""), &[":4:", "geometry.page = \"4us\"", "a size"]),
        (N, &with("geometry.map_unit = \"3KiB\""), &[":4:", "map_unit = 3KiB", "power of two"]),
        (N, &with("geometry.map_unit = \"8KiB\""), &[":4:", "map_unit = 8KiB", "planes"]),
        (
            N,
            &with("geometry.blocks = 4000000000"),
            &[":4:", "geometry.blocks = 4000000000", "mapping units"],
        ),
        (N, &with("geometry.channels = 1000"), &[":4:", "channels = 1000", "4096 lanes"]),
    ]);
}

#[test]
fn a_mistake_in_an_override_is_answered_with_the_override() {
    let mistakes: &[(&str, &[&str])] = &[
        ("gc.sofft=0.1", &["--set gc.sofft=0.1:", "unknown key gc.sofft", "did you mean gc.soft?"]),
        ("soft=0.1", &["--set soft=0.1:", "unknown key soft", "did you mean gc.soft?"]),
        ("gc.soft=2", &["--set gc.soft=2:", "gc.soft = 2", "below 1"]),
        ("gc.soft.x=2", &["--set gc.soft.x=2:", "unknown key gc.soft.x"]),
        ("gc=2", &["--set gc=2:", "gc = 2", "table"]),
        ("workload.jobs.5.rate=1", &["workload.jobs.5.rate", "element"]),
        ("workload.think=-2ms", &["--set workload.think=-2ms:", "\"-2ms\"", "not negative"]),
        ("device.op=0.02", &["--set device.op=0.02:", "gc needs"]),
        ("device.geometry.page=0B", &["--set device.geometry.page=0B:", "page = 0B"]),
        ("device.name=fmu", &["`fmu`", "did you mean femu?"]),
        ("seed=1.5", &["--set seed=1.5:", "seed = 1.5", "whole number"]),
        ("a..b=1", &["unknown key a..b"]),
    ];
    for (set, pieces) in mistakes {
        assert_says(&load_with(GOOD, &[set]).expect_err(set).to_string(), pieces);
    }
    assert!(Override::from_set("gc.soft").unwrap_err().to_string().contains("key=value"));
    assert!(Override::from_set("=3").is_err());
}

#[test]
fn a_mistake_in_a_device_table_is_answered_with_its_line() {
    let broken = |from: &str, to: &str| {
        let mut table = builtin_device("tlc-enterprise").unwrap();
        table.text = table.text.replacen(from, to, 1);
        load_device(&table).unwrap_err().to_string()
    };
    let said = broken("program = [\"1228.8us\"]", "program = [\"1ms\", \"2ms\"]");
    assert_says(
        &said,
        &["devices/tlc-enterprise.toml:", "device.timing.program", "one time", "one shot"],
    );
    assert_says(
        &broken("pages = 1944", "pages = 1945"),
        &["device.geometry.pages = 1945", "multiple of", "= 3"],
    );
    assert_says(&broken("pages = 1944", "pages = 3000"), &["pages = 3000", "32767", "48000"]);
    assert_says(&broken("planes = 4", "planes = 6"), &["device.geometry.planes = 6", "multiple"]);
    assert_says(&broken("pages = 1944\n", "\n"), &["device.geometry.pages is missing"]);
    assert_says(
        &broken("geometry", "geometri"),
        &["unknown key device.geometri", "did you mean device.geometry?"],
    );
}

#[test]
fn no_cut_text_and_no_absurd_value_makes_it_panic() {
    let text = builtin_scenario("oltp").unwrap().text;
    for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)).step_by(7) {
        let _ = load_with(&text[..cut], &[]);
    }
    let huge = [
        "geometry.planes",
        "geometry.dies",
        "geometry.pages",
        "feature.program_planes",
        "feature.program_pages",
    ];
    let huge = huge.map(|key| format!("device.{key}=4294967295"));
    let mut sets: Vec<&str> = huge.iter().map(String::as_str).collect();
    sets.push("device.geometry.page=16777215TiB");
    for skipped in 0..sets.len() {
        let sets: Vec<&str> =
            (0..sets.len()).filter(|set| *set != skipped).map(|set| sets[set]).collect();
        load_with(GOOD, &sets).unwrap_err();
    }
    load_with(GOOD, &sets).unwrap_err();
    let keys = [
        "device.geometry",
        "device.op",
        "workload.block_sizes",
        "gc.soft",
        "workload.jobs",
        "policies",
        "name",
    ];
    for key in keys {
        for value in [
            "0",
            "-1",
            "1e300",
            "inf",
            "[]",
            "{}",
            "[[]]",
            "1979-05-27",
            "''",
            "99999999999999999999",
        ] {
            let _ = load_with(GOOD, &[&format!("{key}={value}")]);
        }
    }
}

#[test]
fn the_page_about_scenarios_names_every_key() {
    let page = include_str!("../../../../docs/scenario.md");
    let loaded =
        load_with(GOOD, &["workload.trace={file=\"a\", format=\"msr\", time_unit=\"us\"}"])
            .unwrap();
    let mut keys = Vec::new();
    collect_keys(&toml::Value::try_from(&loaded).unwrap(), "", &mut keys);
    assert!(keys.len() > 70, "{keys:?}");
    for key in keys {
        let key = key.replace("workload.jobs.0.", "workload.");
        assert!(page.contains(&format!("`{key}`")), "docs/scenario.md does not mention {key}");
    }
}

/// The dotted keys of everything that is no table; of lists, only those of the jobs are gone into.
fn collect_keys(value: &toml::Value, path: &str, keys: &mut Vec<String>) {
    let under = |key: &str| if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
    match value {
        toml::Value::Table(table) if path != "device.source" => {
            table.iter().for_each(|(key, value)| collect_keys(value, &under(key), keys));
        }
        toml::Value::Array(jobs) if path == "workload.jobs" => {
            collect_keys(&jobs[0], &under("0"), keys)
        }
        _ => keys.push(path.to_string()),
    }
}

#[test]
fn a_policy_may_have_a_time_in_parentheses_and_erases_presume_a_collection() {
    let under = |policy: &str| {
        load(&Input { scenario: &source(GOOD), device: None, policy: Some(policy), overrides: &[] })
            .unwrap()
    };
    let alone = under("t-es(16ms)");
    assert_eq!((alone.erase.mode, alone.erase.timeout), (EraseMode::TEs, Duration::from_ms(16)));
    assert_eq!((alone.gc.mode, alone.gc.reads_first), (GcMode::Preemptive, true));
    assert_eq!(under("t-es").erase.timeout, Duration::from_ms(64));
    let path = under("preemptive/t-es( 1.5us )");
    assert_eq!((path.gc.mode, path.gc.reads_first), (GcMode::Preemptive, false));
    assert_eq!(path.erase.timeout, Duration::from_ns(1500));
    assert_eq!(
        (under("base/d-es").gc.mode, under("base/d-es").erase.mode),
        (GcMode::Base, EraseMode::DEs)
    );
    assert_eq!(
        (under("baseline").gc.reads_first, under("baseline").erase.mode),
        (true, EraseMode::None)
    );

    let said = |name: &str| resolve_policy(name).unwrap_err().to_string();
    assert_says(&said("t-es(soon)"), &["t-es(soon)", "timeout", "`soon`", "us, ms"]);
    assert_says(&said("t-es("), &["no policy `t-es(`"]);
    assert_says(&said("d-es(1ms)"), &["d-es has no parameter"]);
    assert_says(&said("es/t-es(1ms)"), &["es and t-es(1ms) both decide erase"]);
    assert_says(&said("t-se(1ms)"), &["did you mean t-es"]);
}

#[test]
fn erases_give_way_only_where_reads_go_first() {
    let scenario = source(&format!("{GOOD}[drive]\nscheduler = \"fifo\"\n"));
    let refused = |policy| {
        load(&Input { scenario: &scenario, device: None, policy: Some(policy), overrides: &[] })
            .unwrap_err()
            .to_string()
    };
    assert_says(&refused("t-es"), &["erase.mode", "\"t-es\"", "read-first"]);
    let refuse = |lines: &str| refusal(&format!("{GOOD}{lines}"));
    let based = load_with(GOOD, &["gc.mode=base", "gc.reads_first=true"]).unwrap_err().to_string();
    assert_says(&based, &["gc.reads_first", "preemptive"]);
    assert_says(&refuse("[erase]\nsafe_points = 0\n"), &["erase.safe_points", "from 1 to 1000"]);
    assert_says(&refuse("[erase]\nverify = \"2min\"\n"), &["erase.verify", "at most 60s"]);
    assert_says(&refuse("[erase]\nmode = \"tes\"\n"), &["erase.mode", "tes", "t-es"]);
}

#[test]
fn bad_blocks_are_shares_and_the_drive_must_be_able_to_begin() {
    let faults = |sets: &[&str]| load_with(GOOD, sets).map(|scenario| scenario.faults);
    assert!(!faults(&["faults.growth_per_1000=5"]).unwrap().is_on());
    assert!(faults(&["faults.factory_bad=0.01", "faults.erase_fail=1e-4"]).unwrap().fails());
    let says =
        |set: &str, parts: &[&str]| assert_says(&faults(&[set]).unwrap_err().to_string(), parts);
    says("faults.program_fail=0.6", &["faults.program_fail = 0.6", "from 0 to 0.5"]);
    says("faults.growth_per_1000=-1", &["faults.growth_per_1000", "from 0 to 1000000"]);
    says("faults.factory_bad=0.5", &["faults.factory_bad = 0.5", "bad from the start"]);
}

#[test]
fn scrubbing_is_off_until_it_is_asked_for_and_its_code_must_fit() {
    let scrub = |sets: &[&str]| load_with(GOOD, sets).map(|scenario| scenario.scrub);
    assert!(!scrub(&[]).unwrap().is_on());
    assert!(
        scrub(&["scrub.rate=100"]).unwrap().is_on()
            && scrub(&["scrub.errors=true"]).unwrap().is_on()
    );
    assert_eq!(scrub(&["scrub.rate=100.5", "scrub.rewrite_at=7"]).unwrap().rate, 100.5);
    let refused = |sets: &[&str]| scrub(sets).unwrap_err().to_string();
    assert_says(&refused(&["scrub.rber=0.2"]), &["scrub.rber = 0.2", "from 0 to 0.1"]);
    assert_says(&refused(&["scrub.rber=-1e-9"]), &["scrub.rber", "from 0 to 0.1"]);
    assert_says(&refused(&["scrub.rber=nan"]), &["scrub.rber"]);
    // 8192 bits: 81.9 of them are wrong.
    assert_says(
        &refused(&["scrub.rber=0.01", "scrub.errors=true"]),
        &["scrub.rber = 0.01", "81.9", "correctable = 40"],
    );
    assert!(scrub(&["scrub.rber=0.01"]).is_ok(), "it is off");
    assert!(scrub(&["scrub.rber=0.01", "scrub.errors=true", "scrub.correctable=100"]).is_ok());
    assert_says(
        &refused(&["scrub.correctable=255"]),
        &["scrub.correctable = 255", "from 1 to 254"],
    );
    assert_says(&refused(&["scrub.rate=-1"]), &["scrub.rate", "pages per second"]);
    assert_says(&refused(&["scrub.rate=1e9"]), &["scrub.rate", "pages per second"]);
    assert_says(
        &refused(&["scrub.rewrite_at=41"]),
        &["scrub.rewrite_at = 41", "scrub.correctable = 40"],
    );
    for codeword in ["1000B", "3KiB", "64KiB", "0B"] {
        let sets = [&format!("scrub.codeword={codeword}"), "scrub.errors=true"];
        assert_says(&refused(&sets), &["scrub.codeword", "divisor of device.geometry.map_unit"]);
    }
    assert_says(&refused(&["scrub.period=1s"]), &["scrub.period"]);
}

#[test]
fn parity_takes_its_share_of_the_capacity_and_fits_the_channels_or_is_refused() {
    let scenario = source(GOOD);
    let under = |policy| {
        load(&Input { scenario: &scenario, device: None, policy, overrides: &[] }).unwrap()
    };
    let (plain, guarded) = (under(Some("base")), under(Some("base/rain")));
    assert_eq!((plain.rain.width, guarded.rain.width), (0, 8));
    assert_eq!(guarded.gc.mode, GcMode::Base);
    assert_eq!(guarded.capacity().user.get() * 8, plain.capacity().user.get() * 7);
    assert_eq!(plain.capacity(), Capacity::of(&plain.device));
    let refuse = |lines: &str| refusal(&format!("{GOOD}{lines}"));
    assert_says(&refuse("[rain]\nwidth = 3\n"), &["rain.width = 3", "channels = 8", "divisor"]);
    assert_says(&refuse("[rain]\nwidth = 1\n"), &["rain.width = 1", "from 2 to 64"]);
    assert_says(&refuse("[rain]\nwidth = 16\n"), &["rain.width = 16", "channels = 8"]);
    assert_says(&refuse("[rain]\nxor = \"2min\"\n"), &["rain.xor", "at most 60s"]);
    assert_says(&refuse("[rain]\nreconstruct = \"perhaps\"\n"), &["rain.reconstruct", "`never`"]);
    assert_says(
        &refuse("[rain]\ncost_rule = \"guess\"\n"),
        &["rain.cost_rule", "`estimate`", "`rotation`"],
    );
    assert_says(
        &refuse("[rain]\nupdate_reads = \"skip\"\n"),
        &["rain.update_reads", "`wait`", "`reconstruct`"],
    );
    let tolerant = under(Some("preemptive/gtr"));
    assert_eq!((tolerant.rain.width, tolerant.rain.reconstruct), (8, Reconstruct::Cost));
    assert_eq!(
        (tolerant.gc.mode, tolerant.rain.cost_rule),
        (GcMode::Preemptive, CostRule::Estimate)
    );
    // A comparison sets it over policies with parity and without.
    assert!(load_with(GOOD, &["rain.reconstruct=always"]).is_ok());
    assert_says(&refuse("[rain]\nevict = \"chip\"\n"), &["rain.evict", "`stripe`"]);
    let dynamic =
        load_with(GOOD, &["rain.width=4", "ftl.allocation=dynamic"]).unwrap_err().to_string();
    assert_says(&dynamic, &["rain.width", "ftl.allocation = \"static\""]);
    // Data and parity need the same room as data alone did.
    let full = load_with(GOOD, &["rain.width=8", "gc.soft=0.245"]).unwrap_err().to_string();
    assert_says(&full, &["gc.soft = 0.245", "65536", "data and parity take"]);
    let offset = format!("workload.offset={}B", guarded.capacity().user.get());
    assert!(load_with(GOOD, &[&offset]).is_ok());
    let offset = load_with(GOOD, &["rain.width=8", &offset]).unwrap_err().to_string();
    assert_says(&offset, &["workload.offset", "that the host sees"]);
}

#[test]
fn parity_over_superblocks_takes_the_same_share_and_needs_superblocks() {
    let scenario = source(GOOD);
    let under = |policy| {
        load(&Input { scenario: &scenario, device: None, policy: Some(policy), overrides: &[] })
    };
    let (place, superblock) = (under("base/rain").unwrap(), under("base/rain-superblock").unwrap());
    assert_eq!((superblock.rain.width, superblock.rain.update), (8, Update::Superblock));
    assert_eq!(
        (superblock.gc.unit, superblock.ftl.allocation),
        (VictimUnit::Superblock, Allocation::Dynamic)
    );
    assert_eq!(superblock.capacity(), place.capacity());
    assert_eq!(under("preemptive/rain-superblock").unwrap().gc.mode, GcMode::Preemptive);
    let refused = |policy| under(policy).unwrap_err().to_string();
    assert_says(&refused("pb/rain-superblock"), &["gc.copyback", "gc.unit = \"block\""]);
    assert_says(&refused("base/rain/rain-superblock"), &["both decide rain"]);
    let with = |more: &[&str]| {
        let all = [
            &[
                "rain.width=8",
                "rain.update=superblock",
                "gc.unit=superblock",
                "ftl.allocation=dynamic",
            ],
            more,
        ];
        load_with(GOOD, &all.concat())
    };
    assert!(with(&[]).is_ok() && with(&["rain.reconstruct=cost", "rain.width=4"]).is_ok());
    let says =
        |more: &[&str], parts: &[&str]| assert_says(&with(more).unwrap_err().to_string(), parts);
    says(&["gc.unit=block"], &["rain.update", "gc.unit = \"superblock\"", "erased together"]);
    says(&["gc.unit=plane-group"], &["rain.update", "gc.unit = \"superblock\""]);
    says(&["ftl.allocation=static"], &["gc.unit", "ftl.allocation = \"dynamic\""]);
    says(&["ftl.allocation=round-robin"], &["gc.unit", "ftl.allocation = \"dynamic\""]);
    says(&["ftl.frontiers=shared"], &["ftl.frontiers", "\"separate\""]);
    says(&["rain.evict=page"], &["rain.evict", "\"stripe\""]);
    says(&["rain.update_reads=reconstruct"], &["rain.update_reads", "\"wait\""]);
    says(&["rain.cost_rule=rotation"], &["rain.cost_rule", "\"estimate\""]);
    says(&["precondition.state=aged"], &["precondition.state", "\"aged\"", "\"steady\""]);
    says(&["rain.width=3"], &["rain.width", "divisor"]);
    says(&["scrub.rate=100"], &["scrub.rate = 100", "leave its stripe"]);
    says(&["scrub.errors=true"], &["scrub.errors = true", "not modelled"]);
    says(&["faults.program_fail=1e-4"], &["faults.program_fail = 0.0001", "leave its stripe"]);
    // It is of no account without parity.
    assert!(load_with(GOOD, &["rain.update=superblock"]).is_ok());
    assert_says(
        &refusal(&format!("{GOOD}[rain]\nupdate = \"row\"\n")),
        &["rain.update", "`superblock`"],
    );
}

#[test]
fn pes_suspends_programs_and_erases_over_any_collection() {
    let under = |policy: &str| {
        load(&Input { scenario: &source(GOOD), device: None, policy: Some(policy), overrides: &[] })
            .unwrap()
    };
    let modes = |policy: &str| {
        let loaded = under(policy);
        (loaded.gc.mode, loaded.gc.reads_first, loaded.erase.mode, loaded.program.mode)
    };
    assert_eq!(modes("pes"), (GcMode::Preemptive, true, EraseMode::Es, ProgramMode::Ips));
    assert_eq!(modes("pes(ips)"), modes("pes"));
    assert_eq!(modes("pes(ipc)"), (GcMode::Preemptive, true, EraseMode::Es, ProgramMode::Ipc));
    assert_eq!(
        modes("preemptive/pes"),
        (GcMode::Preemptive, false, EraseMode::Es, ProgramMode::Ips)
    );
    assert_eq!(modes("base/pes( ipc )"), (GcMode::Base, false, EraseMode::Es, ProgramMode::Ipc));
    assert_eq!(modes("es").3, ProgramMode::None);
    let mixed = load_with(GOOD, &["program.mode=ipc", "erase.mode=d-es"]).unwrap();
    assert_eq!((mixed.erase.mode, mixed.program.mode), (EraseMode::DEs, ProgramMode::Ipc));
    let said = |name: &str| resolve_policy(name).unwrap_err().to_string();
    assert_says(&said("pes(1ms)"), &["pes(1ms)", "`1ms`", "mode", "ips, ipc"]);
    assert_says(&said("pes(none)"), &["`none`", "ips, ipc"]);
    assert_says(&said("pes()"), &["``", "ips, ipc"]);
    assert_says(&said("es/pes"), &["es and pes both decide erase"]);
}

#[test]
fn a_program_is_cut_into_phases_that_a_chip_could_have() {
    let refuse = |lines: &str| refusal(&format!("{GOOD}[program]\n{lines}\n"));
    assert_says(&refuse("mode = \"ipz\""), &["program.mode", "ipz", "ips"]);
    assert_says(&refuse("loops = 0"), &["program.loops = 0", "from 1 to 1000"]);
    assert_says(&refuse("loops = 1001"), &["program.loops = 1001", "from 1 to 1000"]);
    assert_says(&refuse("verify_percent = 0"), &["program.verify_percent = 0", "from 1 to 99"]);
    assert_says(&refuse("verify_percent = 100"), &["program.verify_percent = 100", "from 1 to 99"]);
    assert_says(&refuse("suspend = \"2min\""), &["program.suspend", "at most 60s"]);
    assert_says(&refuse("resume = \"2min\""), &["program.resume", "at most 60s"]);
    // 2 % of a loop of a thousandth of 49999 ns are less than a nanosecond.
    let short = |ns: u32| {
        let time = format!("device.timing.program=[\"{ns}ns\"]");
        let cut = ["program.loops=1000", "program.verify_percent=98"];
        load_with(GOOD, &[&time, cut[0], cut[1]]).unwrap();
        load_with(GOOD, &[&time, cut[0], cut[1], "program.mode=ips"])
    };
    assert_says(&short(49_999).unwrap_err().to_string(), &["program.loops", "a nanosecond"]);
    short(50_000).unwrap();
    let fifo =
        load_with(GOOD, &["program.mode=ips", "drive.scheduler=fifo"]).unwrap_err().to_string();
    assert_says(&fifo, &["program.mode", "\"ips\"", "read-first"]);
}

#[test]
fn planes_collect_alone_and_in_turn_where_that_fits_together() {
    let scenario = source(GOOD);
    let under = |policy| {
        load(&Input { scenario: &scenario, device: None, policy: Some(policy), overrides: &[] })
    };
    let modes = |policy| {
        let loaded = under(policy).unwrap();
        (loaded.gc.mode, loaded.gc.copyback, loaded.gc.rotate, loaded.rain.width)
    };
    let pb = GcMode::PlaneBlocking;
    assert_eq!(modes("pb"), (pb, true, Rotate::Off, 0));
    assert_eq!(modes("pb/rain"), (pb, true, Rotate::Off, 8));
    assert_eq!(modes("pb+rain"), modes("pb/rain"));
    assert_eq!(modes("pb+rain+rgc"), (pb, true, Rotate::Dynamic, 8));
    assert_eq!(modes("rgc(static)"), (pb, true, Rotate::Static, 0));
    assert_eq!(modes("rgc/t-es").0, pb);
    assert_eq!(modes("base+rain"), (GcMode::Base, false, Rotate::Off, 8));
    assert_eq!(modes("nogc+rain").0, GcMode::Nogc);
    let tiny = under("ttflash").unwrap();
    assert_eq!(tiny, under("pb+gtr+rgc+gtf").unwrap());
    assert_eq!(modes("ttflash"), (pb, true, Rotate::Dynamic, 8));
    assert_eq!(
        (tiny.rain.reconstruct, tiny.rain.cost_rule),
        (Reconstruct::Cost, CostRule::Rotation)
    );
    assert_eq!(under("pb+gtr").unwrap().rain.cost_rule, CostRule::Estimate);
    let suspended = under("ttflash/t-es(16ms)").unwrap();
    assert_eq!((suspended.erase.mode, suspended.gc.mode), (EraseMode::TEs, pb));
    let said = |policy| under(policy).unwrap_err().to_string();
    assert_says(&said("ttflash/base"), &["pb (part of ttflash) and base both decide gc"]);
    assert_says(&said("base+rgc"), &["gc.rotate = \"dynamic\"", "plane-blocking"]);
    assert_says(&said("pb+base"), &["pb and base both decide gc"]);
    assert_says(&said("rgc(fast)"), &["`fast`", "dynamic, static"]);
    let refuse = |sets: &[&str]| load_with(GOOD, sets).unwrap_err().to_string();
    assert_says(&refuse(&["gc.mode=plane-blocking"]), &["gc.copyback = false", "plane-blocking"]);
    let pb = ["gc.mode=plane-blocking", "gc.copyback=true"];
    let refuse = |set: &str| refuse(&[pb[0], pb[1], "gc.rotate=dynamic", set]);
    assert_says(&refuse("gc.rotate_urgent=true"), &["gc.rotate_urgent = true", "dynamic"]);
    assert_says(&refuse("gc.rotate_window=0s"), &["gc.rotate_window", "above 0"]);
    assert_says(&refuse("gc.rotate_window=2min"), &["gc.rotate_window", "at most 60s"]);
    assert_says(&refuse("gc.rotate_hysteresis=1"), &["gc.rotate_hysteresis = 1", "below 1"]);
    assert_says(&refuse("gc.rotate=always"), &["gc.rotate", "`static`"]);
    assert_says(&refuse("gc.unit=superblock"), &["gc.unit"]);
    assert!(load_with(GOOD, &[pb[0], pb[1], "gc.rotate=static", "gc.rotate_urgent=true"]).is_ok());
}
