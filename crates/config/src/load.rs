//! From text to a valid [`Scenario`]: device table, scenario, policy and overrides are laid over
//! each other.
//!
//! The order, later over earlier: the device table that `device.name` picks, the scenario, the
//! policy, the overrides in the order they were given. Then the keys of `[workload]` become the
//! defaults of its jobs. Every layer remembers its text, so that a complaint about the merged
//! result still points at the line that caused it.

use super::error::{ConfigError, Place};
use super::keys::{Keys, nearest};
use super::layer::Layer;
use super::replaced::{self, Overlaid};
use super::tree::{self, Path, dotted, shown};
use super::validate::{Invalid, validate, validate_device};
use super::workload;
use super::{Scenario, builtin_device, resolve_policy};
use manx_core::flash::Device;
use manx_core::host::WorkloadSpec;
use manx_core::units::Bytes;
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use toml::{Table, Value};

/// A text and what its file is called in messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name for messages.
    pub file: String,
    /// The text.
    pub text: String,
}

/// One `--set key=value`, or another option that stands for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    key: String,
    value: String,
    said: String,
    /// A profile that takes the place of the whole workload; `value` is then its parameter, if it
    /// is not empty.
    profile: Option<Source>,
}

impl Override {
    /// An override from `key=value`, as `--set` takes it.
    pub fn from_set(text: &str) -> Result<Self, ConfigError> {
        let said = format!("--set {text}");
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Self {
                key: key.trim().to_string(),
                value: value.trim().to_string(),
                said,
                profile: None,
            }),
            _ => {
                Err(ConfigError::at(Place::Given(said), "expected key=value, such as gc.soft=0.1"))
            }
        }
    }

    /// An override that another option stands for; `said` is that option as the user gave it.
    pub fn new(key: impl Into<String>, value: impl Into<String>, said: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.into(), said: said.into(), profile: None }
    }

    /// The profile in `source` in place of the scenario's whole workload, with a value for its
    /// parameter if it has one.
    pub fn workload(source: Source, parameter: Option<&str>, said: impl Into<String>) -> Self {
        let value = parameter.unwrap_or_default().to_string();
        Self { key: "workload".to_string(), value, said: said.into(), profile: Some(source) }
    }

    /// It is a profile, and no single key.
    pub fn is_profile(&self) -> bool {
        self.profile.is_some()
    }

    /// The key that it sets; `workload` for a profile.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The text of its value; of a profile the value of its parameter.
    pub fn text(&self) -> &str {
        &self.value
    }

    /// How the user said it.
    pub fn said(&self) -> &str {
        &self.said
    }

    /// The words and the value of a profile's parameter.
    pub(super) fn parameter(&self) -> Option<(String, String)> {
        (!self.value.is_empty()).then(|| (self.said.clone(), self.value.clone()))
    }

    /// The value read as TOML, or as a string where it is none ("2ms").
    fn value(&self) -> Value {
        let parsed = format!("value = {}", self.value).parse::<Table>().ok();
        let single =
            parsed.filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
        single.unwrap_or_else(|| Value::String(self.value.clone()))
    }
}

/// The layers that a scenario is made of.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The scenario file.
    pub scenario: &'a Source,
    /// The device table, where `device.name` is a path and not a name of the library: see
    /// [`device_name`].
    pub device: Option<&'a Source>,
    /// The policy to lay over it, if any.
    pub policy: Option<&'a str>,
    /// The overrides, the last one winning.
    pub overrides: &'a [Override],
}

/// The device that a scenario with these overrides names: a name of the library, or a path that the
/// caller reads.
pub fn device_name(
    scenario: &Source,
    overrides: &[Override],
) -> Result<Option<String>, ConfigError> {
    let file = Layer::file(&scenario.file, &scenario.text, &[])?;
    Ok(named(&file, overrides))
}

/// The device that the file of a scenario and these overrides name.
fn named(file: &Layer, overrides: &[Override]) -> Option<String> {
    let set = overrides.iter().rev().find(|set| set.key == "device.name").map(Override::value);
    let named = set.or_else(|| tree::get(&file.table, &tree::path("device.name")).cloned());
    named.and_then(|name| name.as_str().map(str::to_string))
}

/// Reads a scenario, merges it, checks it. What comes back can be run.
pub fn load(input: &Input<'_>) -> Result<Scenario, ConfigError> {
    let keys = Keys::of_scenario();
    let mut scenario = Layer::file(&input.scenario.file, &input.scenario.text, &[])?;
    keys.check(&Value::Table(scenario.table.clone()), &Path::new(), &scenario)?;
    let device = device_layer(input, &scenario, keys)?;
    replaced::stand_down(&mut scenario, input.overrides);
    let device_name = device.table.get("name").cloned();

    let mut merged = Table::new();
    merged.insert("device".to_string(), Value::Table(device.table.clone()));
    let mut layers = vec![device, scenario];
    tree::merge(&mut merged, &layers[1].table);
    for policy in input.policy.map_or(Ok(Vec::new()), resolve_policy)? {
        let layer = Layer::file("policy", &policy.overlay, &[])?;
        tree::merge(&mut merged, &layer.table);
        layers.push(Layer::given(format!("policy {}", policy.name), layer.table));
    }
    for set in input.overrides {
        if let Some(profile) = &set.profile {
            // Earlier settings of the workload count no more, not even as the place of a complaint.
            for key in ["workload", "measure"] {
                merged.remove(key);
                layers.iter_mut().for_each(|layer| drop(layer.table.remove(key)));
            }
            layers.extend(workload::apply(profile, set, &mut merged, keys)?);
        } else {
            layers.push(apply(set, &mut merged, keys)?);
        }
    }
    if input.overrides.iter().any(|set| set.profile.is_some()) {
        workload::warm_up(&mut merged);
    }

    // The table's own name, also when the scenario picked it by the path of its file.
    if let (Some(name), Some(Value::Table(device))) = (device_name, merged.get_mut("device")) {
        device.insert("name".to_string(), name);
    }
    let stem = input
        .scenario
        .file
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default()
        .trim_end_matches(".toml");
    merged.entry("name").or_insert_with(|| Value::String(stem.to_string()));
    spread_workload(&mut merged);
    replaced::fold_addresses(&mut merged, &layers[1].table, input.overrides);

    let layers = Layers { layers, scenario: 1 };
    alone(&merged, &layers)?;
    let mut scenario: Scenario = read(&merged, &Path::new(), &layers)?;
    if scenario.workload.act.is_some() {
        // The load depends on the capacity, which only a valid device has.
        validate_device(&scenario.device).map_err(|invalid| layers.complain(invalid))?;
        let user = scenario.capacity().user;
        expand(&mut scenario.workload, user).map_err(|invalid| layers.complain(invalid))?;
    }
    validate(&scenario).map_err(|invalid| layers.complain(invalid))?;
    if let Some(error) = scenario.policies.iter().find_map(|policy| resolve_policy(policy).err()) {
        return Err(ConfigError::at(layers.place(&tree::path("policies")).0, error.to_string()));
    }
    Ok(scenario)
}

/// The numbers of its device's table that a scenario lies over with others; none where an override
/// names the device.
pub fn overlaid(input: &Input<'_>) -> Result<Vec<Overlaid>, ConfigError> {
    let mut scenario = Layer::file(&input.scenario.file, &input.scenario.text, &[])?;
    let device = device_layer(input, &scenario, Keys::of_scenario())?;
    replaced::stand_down(&mut scenario, input.overrides);
    Ok(replaced::overlaid(&device.table, &scenario.table))
}

/// Reads a device table by itself and checks it.
pub fn load_device(source: &Source) -> Result<Device, ConfigError> {
    let layer = Layer::file(&source.file, &source.text, &["device"])?;
    let under = tree::path("device");
    Keys::of_scenario().check(&Value::Table(layer.table.clone()), &under, &layer)?;
    let table = layer.table.clone();
    let layers = Layers { layers: vec![layer], scenario: 0 };
    let device: Device = read(&table, &under, &layers)?;
    validate_device(&device).map_err(|invalid| layers.complain(invalid))?;
    Ok(device)
}

/// The table of the device, from the caller's file or from the library.
fn device_layer(input: &Input<'_>, scenario: &Layer, keys: &Keys) -> Result<Layer, ConfigError> {
    let under = tree::path("device");
    let layer = match (input.device, named(scenario, input.overrides)) {
        (Some(source), _) => Layer::file(&source.file, &source.text, &["device"])?,
        (None, Some(name)) => {
            let is_set = input.overrides.iter().any(|set| set.key == "device.name");
            let source = builtin_device(&name).map_err(|error| {
                // Only for the complaint: it reads the text anew.
                let place = match is_set {
                    true => Place::Nowhere,
                    false => scenario.place(&tree::path("device.name")),
                };
                ConfigError::at(place, error.to_string())
            })?;
            Layer::file(&source.file, &source.text, &["device"])?
        }
        (None, None) => {
            let message = "device.name is missing: it picks a table of `manx device list`, or the \
                           path of a file";
            return Err(ConfigError::at(scenario.whole(), message));
        }
    };
    keys.check(&Value::Table(layer.table.clone()), &under, &layer)?;
    Ok(layer)
}

/// Lays one override over the rest.
pub(super) fn apply(set: &Override, merged: &mut Table, keys: &Keys) -> Result<Layer, ConfigError> {
    let (path, value) = (tree::path(&set.key), set.value());
    let mut alone = Table::new();
    // A layer of its own only answers "did it say this?", for which an index counts like a key.
    let nested = path
        .iter()
        .rev()
        .fold(value.clone(), |value, part| Value::Table(Table::from_iter([(part.clone(), value)])));
    if let Value::Table(table) = nested {
        alone = table;
    }
    let layer = Layer::given(set.said.clone(), alone);
    keys.check(&value, &path, &layer)?;
    if let (Value::Table(new), Some(Value::Table(old))) = (&value, tree::get(merged, &path))
        && let Some(lost) = old.keys().find(|name| !new.contains_key(*name))
    {
        let (key, value) = (&set.key, shown(&value));
        let allowed = format!(
            "it would take {key}.{lost} away; set each key by itself, such as {key}.{lost}=.."
        );
        return Err(ConfigError::not_allowed(layer.whole(), key, &value, &allowed));
    }
    tree::set(merged, &path, value)
        .map_err(|why| ConfigError::at(layer.whole(), format!("{}: {why}", set.key)))?;
    Ok(layer)
}

/// A workload that makes its own jobs stands alone: nothing that was said beside it could have an
/// effect.
fn alone(merged: &Table, layers: &Layers) -> Result<(), ConfigError> {
    let Some(Value::Table(workload)) = merged.get("workload") else { return Ok(()) };
    let empty = |value: &Value| matches!(value, Value::Array(jobs) if jobs.is_empty());
    let beside = workload.iter().find(|(key, value)| *key != "act" && !empty(value));
    match beside.filter(|_| workload.contains_key("act")) {
        None => Ok(()),
        Some((key, value)) => {
            let (place, path) = layers.place(&["workload".to_string(), key.clone()]);
            let allowed = "workload.act makes its own jobs, so no other key of [workload] may \
                           stand beside it";
            Err(ConfigError::not_allowed(place, &dotted(&path), &shown(value), allowed))
        }
    }
}

/// The jobs that a workload makes of its own settings for a device of which the host sees `user`.
pub(super) fn expand(workload: &mut WorkloadSpec, user: Bytes) -> Result<(), Invalid> {
    let Some(act) = &workload.act else { return Ok(()) };
    let plan = act.plan(user).map_err(|error| Invalid {
        key: format!("workload.act.{}", error.key),
        value: error.value,
        allowed: error.allowed,
    })?;
    workload.jobs = act.jobs(&plan);
    Ok(())
}

/// The keys of `[workload]` become the defaults of each job; without jobs they are the one job.
pub(super) fn spread_workload(merged: &mut Table) {
    let Value::Table(workload) =
        merged.entry("workload").or_insert_with(|| Value::Table(Table::new()))
    else {
        return;
    };
    if workload.contains_key("act") {
        return;
    }
    let jobs = match workload.remove("jobs") {
        None => Vec::new(),
        Some(Value::Array(jobs)) => jobs,
        // Not a list: left for deserialising to refuse.
        Some(other) => {
            *workload = Table::from_iter([("jobs".to_string(), other)]);
            return;
        }
    };
    let defaults = std::mem::take(workload);
    let jobs = if jobs.is_empty() { vec![Value::Table(Table::new())] } else { jobs };
    let jobs = jobs.into_iter().map(|job| match job {
        Value::Table(job) => {
            let mut whole = defaults.clone();
            tree::merge(&mut whole, &job);
            // A trace has its own times: they are what is meant unless something else was said.
            if whole.contains_key("trace") && !whole.contains_key("arrival") {
                whole.insert("arrival".to_string(), Value::String("trace".to_string()));
            }
            Value::Table(whole)
        }
        other => other,
    });
    let jobs = Value::Array(jobs.collect());
    workload.insert("jobs".to_string(), jobs);
}

/// The layers of one load, lowest first, and which of them is the scenario file.
pub(super) struct Layers {
    pub(super) layers: Vec<Layer>,
    pub(super) scenario: usize,
}

impl Layers {
    /// Where `path` was said last, and under which key: a job's key may have been said as a default
    /// of all jobs.
    fn place(&self, path: &[String]) -> (Place, Path) {
        for path in [path.to_vec()].into_iter().chain(default_of_job(path)) {
            if let Some(layer) = self.layers.iter().rev().find(|layer| layer.says(&path)) {
                return (layer.place(&path), path);
            }
        }
        let path = default_of_job(path).unwrap_or_else(|| path.to_vec());
        // A key that a workload lacks is missing from the file that it is from: the scenario, or a
        // profile in place of its workload.
        let workload = tree::path("workload");
        let from =
            self.layers.iter().find(|layer| path.starts_with(&workload) && layer.says(&workload));
        (from.unwrap_or(&self.layers[self.scenario]).whole(), path)
    }

    pub(super) fn complain(&self, invalid: Invalid) -> ConfigError {
        let (place, path) = self.place(&tree::path(&invalid.key));
        ConfigError::not_allowed(place, &dotted(&path), &invalid.value, &invalid.allowed)
    }
}

/// `workload.jobs.3.rate` may come from `workload.rate`.
fn default_of_job(path: &[String]) -> Option<Path> {
    match path {
        [workload, jobs, _, rest @ ..]
            if workload == "workload" && jobs == "jobs" && !rest.is_empty() =>
        {
            Some([&["workload".to_string()], rest].concat())
        }
        _ => None,
    }
}

/// Deserialises `table`, which stands at `under`; an error names place, key, value and what is
/// allowed.
pub(super) fn read<T: DeserializeOwned>(
    table: &Table,
    under: &[String],
    layers: &Layers,
) -> Result<T, ConfigError> {
    serde_path_to_error::deserialize(Value::Table(table.clone())).map_err(|error| {
        let inside: Path = error.path().iter().filter_map(part).collect();
        let message = error.inner().message().to_string();
        let (place, path) = layers.place(&[under, &inside].concat());
        if let Some(field) = message.strip_prefix("missing field ") {
            let key = dotted(&[path.as_slice(), &[field.trim_matches('`').to_string()]].concat());
            // A key that a device lacks is missing from its own table: the layers above it only
            // change some of its keys.
            let place = if path.first().is_some_and(|part| part == "device") {
                layers.layers[0].whole()
            } else {
                place
            };
            return ConfigError::at(place, format!("{key} is missing"));
        }
        let value = tree::get(table, &inside).map_or("this".to_string(), shown);
        ConfigError::not_allowed(place, &dotted(&path), &value, &allowed(&message))
    })
}

fn part(segment: &Segment) -> Option<String> {
    match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

/// The allowed values that serde's message names, without the words of Rust.
fn allowed(message: &str) -> String {
    let message = message.trim().replace('\n', "; ");
    // "`3 parsecs` is not a time: .." and "invalid type: string, expected u32": the value is
    // already named.
    let expected = message.split_once("` is not ").or_else(|| message.split_once("expected "));
    let Some((_, expected)) = expected else { return message };
    let plain = match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        // TOML's whole numbers end there.
        "u64" => "a whole number from 0 to 9223372036854775807",
        "string only" | "a string" => "a word in quotes",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a tuple of size 2" => "a size and its weight, such as [\"4KiB\", 70]",
        other => other,
    };
    format!("expected {plain}{}", slip(message.as_str(), expected))
}

/// The name that was meant, where one of a list was expected: "unknown variant `moduloo`, expected
/// one of `none`, ..".
fn slip(message: &str, expected: &str) -> String {
    let Some(word) =
        message.strip_prefix("unknown variant `").and_then(|rest| rest.split_once('`'))
    else {
        return String::new();
    };
    // Every second piece between backticks is a name.
    let names = expected.split('`').skip(1).step_by(2);
    nearest(word.0, names).map_or(String::new(), |near| format!("; did you mean {near}?"))
}
