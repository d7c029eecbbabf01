//! Workload profiles: a file with the `[workload]` of a scenario, and where its figures are from.
//!
//! Beside `[workload]` a profile has `summary`, `source` (what its figures are from; comments say
//! which is which) and perhaps `parameter`, the key that `NAME(X)` sets. It takes the place of the
//! whole workload, not of single keys: otherwise a scenario's `rate` would reach into a profile
//! that has a closed loop.

use super::error::{ConfigError, Place};
use super::keys::{Keys, nearest};
use super::layer::Layer;
use super::load::{
    Layers, Override, Source, apply as apply_override, expand, read, spread_workload,
};
use super::tree::{self, Path, shown};
use super::validate::job::jobs;
use manx_core::host::WorkloadSpec;
use manx_core::units::Bytes;
use toml::{Table, Value};

/// Of the requests of a profile this part, from the start, is played and not counted.
const WARMUP_PART: i64 = 50;

/// A workload and what is said about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// One line: what it stands for.
    pub summary: String,
    /// The source of its figures.
    pub source: String,
    /// The key that `NAME(X)` sets.
    pub parameter: Option<String>,
    /// Its jobs.
    pub workload: WorkloadSpec,
}

/// Cuts `name(X)` into the name and its parameter.
pub fn split_parameter(name: &str) -> (&str, Option<&str>) {
    match name.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')) {
        Some((name, parameter)) if !name.is_empty() && !parameter.trim().is_empty() => {
            (name, Some(parameter.trim()))
        }
        _ => (name, None),
    }
}

/// The device of a profile by itself: large enough for any.
const ROOM: Bytes = Bytes::new(1 << 60);

/// Reads a profile by itself, and checks what does not depend on the device; the load of a scenario
/// checks the rest.
pub fn load_profile(source: &Source, parameter: Option<&str>) -> Result<Profile, ConfigError> {
    let keys = Keys::of_scenario();
    let said = format!("({})", parameter.unwrap_or_default());
    let mut merged = Table::new();
    let layers =
        apply(source, &Override::workload(source.clone(), parameter, said), &mut merged, keys)?;
    let text = |key: &str| {
        layers[0].table.get(key).and_then(Value::as_str).unwrap_or_default().to_string()
    };
    let (summary, about) = (text("summary"), text("source"));
    let named = text("parameter");
    spread_workload(&mut merged);
    let layers = Layers { layers, scenario: 0 };
    let under = tree::path("workload");
    let workload = merged.get("workload").and_then(Value::as_table).cloned().unwrap_or_default();
    let mut workload: WorkloadSpec = read(&workload, &under, &layers)?;
    expand(&mut workload, ROOM)
        .and_then(|()| jobs(&workload.jobs, ROOM))
        .map_err(|invalid| layers.complain(invalid))?;
    Ok(Profile {
        summary,
        source: about,
        parameter: (!named.is_empty()).then_some(named),
        workload,
    })
}

/// Puts the profile's workload into `merged`, and its parameter over it; the layers say who said
/// what.
pub(super) fn apply(
    source: &Source,
    set: &Override,
    merged: &mut Table,
    keys: &Keys,
) -> Result<Vec<Layer>, ConfigError> {
    let layer = Layer::file(&source.file, &source.text, &[])?;
    let parameter = check(&layer, keys)?;
    let workload =
        layer.table.get("workload").cloned().unwrap_or_else(|| Value::Table(Table::new()));
    merged.insert("workload".to_string(), workload);
    let mut layers = vec![layer];
    if let Some((said, value)) = set.parameter() {
        let Some(key) = parameter else {
            let message = format!(
                "{} takes no parameter: it has no `parameter = \"workload.key\"`",
                source.file
            );
            return Err(ConfigError::at(Place::Given(said), message));
        };
        layers.push(apply_override(&Override::new(key, value, said), merged, keys)?);
    }
    Ok(layers)
}

/// Where nothing is said of the warm-up, the first part of the requests of a profile, as it is
/// bounded in the end.
pub(super) fn warm_up(merged: &mut Table) {
    let requests = merged.get("workload").map_or(0, requests);
    if !merged.contains_key("measure") {
        let measure = Table::from_iter([(
            "warmup_requests".to_string(),
            Value::Integer(requests / WARMUP_PART),
        )]);
        merged.insert("measure".to_string(), Value::Table(measure));
    }
}

/// Checks a profile's own keys; gives its parameter.
fn check(layer: &Layer, keys: &Keys) -> Result<Option<String>, ConfigError> {
    const KNOWN: [&str; 4] = ["summary", "source", "parameter", "workload"];
    for (key, value) in &layer.table {
        let path = tree::path(key);
        if !KNOWN.contains(&key.as_str()) {
            let near = nearest(key, KNOWN.iter().copied()).map(str::to_string);
            return Err(ConfigError::unknown_key(layer.place(&path), key.clone(), near));
        }
        if key != "workload" && !value.is_str() {
            return Err(ConfigError::not_allowed(
                layer.place(&path),
                key,
                &shown(value),
                "expected a text",
            ));
        }
    }
    let Some(workload) = layer.table.get("workload") else {
        return Err(ConfigError::at(
            layer.whole(),
            "workload is missing: a profile has a [workload] as a scenario has",
        ));
    };
    keys.check(workload, &tree::path("workload"), layer)?;
    let Some(parameter) = layer.table.get("parameter").and_then(Value::as_str) else {
        return Ok(None);
    };
    let path: Path = tree::path(parameter);
    if path[0] != "workload" || keys.at(&path).is_none() {
        let place = layer.place(&tree::path("parameter"));
        let allowed = "expected a key of the workload, such as \"workload.rate\"";
        return Err(ConfigError::not_allowed(
            place,
            "parameter",
            &format!("\"{parameter}\""),
            allowed,
        ));
    }
    Ok(Some(parameter.to_string()))
}

/// The requests that bound a workload: those of its jobs together; 0 where one is bounded by time
/// alone.
fn requests(workload: &Value) -> i64 {
    let of = |table: &Value| table.get("requests").and_then(Value::as_integer);
    let whole = of(workload).unwrap_or(0);
    let jobs = workload.get("jobs").and_then(Value::as_array).filter(|jobs| !jobs.is_empty());
    let Some(jobs) = jobs else { return whole.max(0) };
    let each = jobs.iter().map(|job| of(job).unwrap_or(whole).max(0));
    if each.clone().any(|requests| requests == 0) { 0 } else { each.fold(0, i64::saturating_add) }
}
