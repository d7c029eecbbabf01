//! Scenarios, device tables and policies as a user meets them: what loads, and what each mistake is
//! answered with.

mod mistakes;
mod sections;

use manx_config::{
    Axis, ConfigError, Input, Override, POLICIES, Scenario, Source, builtin_device,
    builtin_scenario, device_name, device_names, load, load_device, resolve_policy, scenario_names,
};
use manx_core::flash::{Capacity, Device, Features};
use manx_core::ftl::{GcMode, GcWhen};
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

fn load_with(text: &str, sets: &[&str]) -> Result<Scenario, ConfigError> {
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
fn the_low_latency_drive_erases_in_five_steps_of_a_millisecond() {
    let device = load_device(&builtin_device("znand-like").unwrap()).unwrap();
    assert_eq!(device.timing.erase_steps, 5);
    assert_eq!(device.timing.erase_step, Duration::from_ms(1));
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
        (GcMode::Preemptive, GcWhen::Background, 0.1.into())
    );
    let geometry = &loaded.device.geometry;
    assert_eq!((geometry.blocks, geometry.pages, geometry.channels), (128, 128, 8));
    assert_eq!(loaded.device.name, "femu");
}

#[test]
fn a_set_value_needs_no_quotes_and_a_job_takes_the_workload_s_defaults() {
    let jobs = "queue_depth = 4\n[[workload.jobs]]\nread_percent = 100\n[[workload.jobs]]\n\
                think = \"1ms\"\n";
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
    assert_eq!(device_name(&scenario, &[]).unwrap().as_deref(), Some("./my.toml"));
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
