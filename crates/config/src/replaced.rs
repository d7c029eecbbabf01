//! Settings of a part that an override replaced: they were said of the other one and do not count.
//!
//! - Another device (`--device`, `device.name`): a scenario that cuts its own drive to 128 blocks
//!   does not cut another. All of its keys of `[device]` go; those that overrides set remain.
//! - A trace in place of a generated workload (`--trace`, `workload.trace.file`):
//!   `precondition.overwrite = "workload"` was said of the generated one. A trace of minutes writes
//!   few pages of a drive; overwritten with these alone, a drive never has to copy anything and
//!   hides its garbage collection. So the default holds, random overwrites of the whole drive, as
//!   benchmarks condition one. Likewise `workload.trace.remap`: the addresses of a trace seldom fit
//!   the drive of a scenario that was made for another workload, and are folded unless the user
//!   said otherwise.

use super::layer::Layer;
use super::load::Override;
use super::tree::{self, Path, shown};
use toml::{Table, Value};

/// A number of a device table that a scenario lies over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlaid {
    /// The key: `device.geometry.blocks`.
    pub key: String,
    /// The scenario's value, as TOML.
    pub value: String,
    /// The table's value, as TOML; nothing where it leaves the key out.
    pub table: Option<String>,
}

/// Takes out of the scenario what it says of a part that an override replaces.
pub(super) fn stand_down(scenario: &mut Layer, overrides: &[Override]) {
    let says = |path: &[&str]| overrides.iter().any(|set| names(set, path));
    if says(&["device", "name"])
        && let Some(Value::Table(device)) = scenario.table.get_mut("device")
    {
        device.retain(|key, _| key == "name");
    }
    if is_replayed(overrides)
        && !has_trace(&scenario.table)
        && let Some(Value::Table(precondition)) = scenario.table.get_mut("precondition")
    {
        precondition.remove("overwrite");
    }
}

/// A trace that an override brings to a scenario without one is folded onto the drive where nobody
/// says otherwise. The keys of the workload are those of its jobs by now.
pub(super) fn fold_addresses(merged: &mut Table, scenario: &Table, overrides: &[Override]) {
    if !is_replayed(overrides) || has_trace(scenario) {
        return;
    }
    let jobs =
        merged.get_mut("workload").and_then(|workload| workload.get_mut("jobs")?.as_array_mut());
    for trace in jobs.into_iter().flatten().filter_map(|job| job.get_mut("trace")?.as_table_mut()) {
        trace.entry("remap").or_insert_with(|| Value::String("modulo".to_string()));
    }
}

/// The numbers of the table that a scenario lies over with others, in the order of its keys.
pub(super) fn overlaid(device: &Table, scenario: &Table) -> Vec<Overlaid> {
    let mut all = Vec::new();
    if let Some(Value::Table(over)) = scenario.get("device") {
        compare(device, over, &mut tree::path("device"), &mut all);
    }
    all
}

fn compare(table: &Table, over: &Table, path: &mut Path, all: &mut Vec<Overlaid>) {
    for (key, value) in
        over.iter().filter(|(key, _)| !["name", "summary", "source"].contains(&key.as_str()))
    {
        path.push(key.clone());
        match (value, table.get(key)) {
            (Value::Table(over), Some(Value::Table(table))) => compare(table, over, path, all),
            (Value::Table(over), None) => compare(&Table::new(), over, path, all),
            (value, other) if other != Some(value) => {
                all.push(Overlaid {
                    key: tree::dotted(path),
                    value: shown(value),
                    table: other.map(shown),
                });
            }
            _ => {}
        }
        path.pop();
    }
}

/// An override brings a trace.
fn is_replayed(overrides: &[Override]) -> bool {
    overrides.iter().any(|set| {
        let path = tree::path(set.key());
        let inside: Vec<&str> = path.iter().map(String::as_str).collect();
        matches!(inside.as_slice(), ["workload", "trace"] | ["workload", "trace", "file"])
            || matches!(
                inside.as_slice(),
                ["workload", "jobs", _, "trace"] | ["workload", "jobs", _, "trace", "file"]
            )
    })
}

fn names(set: &Override, path: &[&str]) -> bool {
    tree::path(set.key()).iter().map(String::as_str).eq(path.iter().copied())
}

fn has_trace(scenario: &Table) -> bool {
    let Some(Value::Table(workload)) = scenario.get("workload") else { return false };
    let jobs = workload
        .get("jobs")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_table);
    [workload].into_iter().chain(jobs).any(|job| job.contains_key("trace"))
}
