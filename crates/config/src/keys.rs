//! Every key that a scenario file may have, taken from the types themselves by way of their JSON
//! schema.

use super::Scenario;
use super::error::ConfigError;
use super::layer::Layer;
use super::tree::{Path, dotted, shown};
use manx_core::host::JobSpec;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use toml::Value;

/// The values or keys that are allowed under a key.
#[derive(Clone, Debug)]
pub(crate) enum Keys {
    /// These keys and no others.
    Table(BTreeMap<String, Keys>),
    /// Any number of these.
    List(Box<Keys>),
    /// Any keys at all (`device.source`).
    Open,
    /// A plain value.
    Leaf,
}

/// The JSON schema of a scenario file: nothing is required in it, and `[workload]` takes the keys
/// of a job as defaults.
pub fn scenario_schema() -> Json {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    let job = schemars::schema_for!(JobSpec).to_value();
    let defaults = job["properties"].as_object().cloned().unwrap_or_default();
    if let Some(workload) =
        schema.pointer_mut("/$defs/WorkloadSpec/properties").and_then(Json::as_object_mut)
    {
        workload.extend(defaults);
    }
    optional(&mut schema);
    schema
}

/// Takes every "required" out: device table and defaults fill what a file leaves open.
fn optional(schema: &mut Json) {
    match schema {
        Json::Object(object) => {
            if object.get("required").is_some_and(Json::is_array) {
                object.shift_remove("required");
            }
            object.values_mut().for_each(optional);
        }
        Json::Array(array) => array.iter_mut().for_each(optional),
        _ => {}
    }
}

impl Keys {
    /// The keys of a scenario file. They are the same for every load: a sweep loads thousands of
    /// scenarios.
    pub(crate) fn of_scenario() -> &'static Self {
        static KEYS: OnceLock<Keys> = OnceLock::new();
        KEYS.get_or_init(|| {
            let schema = scenario_schema();
            Self::of(&schema, &schema)
        })
    }

    fn of(schema: &Json, root: &Json) -> Self {
        if let Some(reference) = schema["$ref"].as_str() {
            let target = root.pointer(reference.trim_start_matches('#')).unwrap_or(&Json::Null);
            return Self::of(target, root);
        }
        // An optional table is "this or null".
        if let Some(options) = schema["anyOf"].as_array() {
            let table = options.iter().find(|option| option["type"] != json!("null"));
            return table.map_or(Keys::Leaf, |table| Self::of(table, root));
        }
        if let Some(properties) = schema["properties"].as_object() {
            return Self::of_properties(properties, root);
        }
        if schema["additionalProperties"].is_object() {
            return Keys::Open;
        }
        match &schema["items"] {
            items @ Json::Object(_) => Keys::List(Box::new(Self::of(items, root))),
            _ => Keys::Leaf,
        }
    }

    fn of_properties(properties: &Map<String, Json>, root: &Json) -> Self {
        Keys::Table(
            properties.iter().map(|(key, schema)| (key.clone(), Self::of(schema, root))).collect(),
        )
    }

    /// The keys under `part`.
    fn child(&self, part: &str) -> Option<&Keys> {
        match self {
            Keys::Table(keys) => keys.get(part),
            Keys::List(element) => part.parse::<usize>().ok().map(|_| &**element),
            Keys::Open => Some(&Keys::Leaf),
            Keys::Leaf => None,
        }
    }

    /// The keys under `path`.
    pub(crate) fn at(&self, path: &[String]) -> Option<&Keys> {
        path.iter().try_fold(self, |keys, part| keys.child(part))
    }

    /// Checks that every key of `value`, which stands at `path` in `layer`, is known and that
    /// tables are tables.
    pub(crate) fn check(
        &self,
        value: &Value,
        path: &Path,
        layer: &Layer,
    ) -> Result<(), ConfigError> {
        let Some(known) = self.at(path) else {
            return Err(ConfigError::unknown_key(
                layer.place(path),
                dotted(path),
                self.suggest(path),
            ));
        };
        let child = |part: String| [path.as_slice(), &[part]].concat();
        match (known, value) {
            (Keys::Table(_) | Keys::Open, Value::Table(table)) => table
                .iter()
                .try_for_each(|(key, value)| self.check(value, &child(key.clone()), layer)),
            (Keys::List(element), Value::Array(array)) if matches!(**element, Keys::Table(_)) => {
                array
                    .iter()
                    .enumerate()
                    .try_for_each(|(i, value)| self.check(value, &child(i.to_string()), layer))
            }
            (Keys::Table(_) | Keys::Open, value) => {
                let (place, key) = (layer.place(path), dotted(path));
                Err(ConfigError::not_allowed(
                    place,
                    &key,
                    &shown(value),
                    "a table of keys is expected here",
                ))
            }
            _ => Ok(()),
        }
    }

    /// The known key that an unknown one may have meant: a sibling first, then one of that name
    /// elsewhere.
    fn suggest(&self, path: &[String]) -> Option<String> {
        let known = (0..path.len()).rev().find(|depth| self.at(&path[..*depth]).is_some())?;
        let (parent, wrong) = (&path[..known], &path[known]);
        let mut all = Vec::new();
        self.collect(&mut Vec::new(), &mut all);
        let last = path.last()?;
        let same = |near: bool| {
            let alike = |candidate: &&Path| {
                candidate.last() == Some(last) && (candidate[0] == path[0]) == near
            };
            all.iter().find(alike)
        };
        let elsewhere = same(true).or_else(|| same(false)).map(|path| dotted(path));
        // A key without its table is nearer than a table with another name.
        if path.len() == 1 && elsewhere.is_some() {
            return elsewhere;
        }
        if let Some(Keys::Table(siblings)) = self.at(parent)
            && let Some(sibling) = nearest(wrong, siblings.keys().map(String::as_str))
        {
            return Some(dotted(&[parent, &[sibling.to_string()]].concat()));
        }
        elsewhere.or_else(|| {
            let names: Vec<String> = all.iter().map(|path| dotted(path)).collect();
            // A long path shares much with many others: two slips at most, however long it is.
            nearest_within(2, &dotted(path), names.iter().map(String::as_str)).map(str::to_string)
        })
    }

    fn collect(&self, path: &mut Path, all: &mut Vec<Path>) {
        if let Keys::Table(keys) = self {
            for (key, keys) in keys {
                path.push(key.clone());
                all.push(path.clone());
                keys.collect(path, all);
                path.pop();
            }
        }
    }
}

/// The candidate that `word` is nearest to, when it is near enough to be a slip of the finger.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest_within(allowed(word), word, candidates)
}

/// Up to three candidates that `word` is near to, the nearest first, in words: "; did you mean base
/// or bast?".
pub fn nearest_few<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    let mut near = near(allowed(word), word, candidates);
    near.sort_by_key(|(distance, _)| *distance);
    let near: Vec<&str> = near.into_iter().take(3).map(|(_, candidate)| candidate).collect();
    match near.as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [few @ .., last] => format!("; did you mean {} or {last}?", few.join(", ")),
    }
}

/// Edits that a slip of the finger makes in a word.
fn allowed(word: &str) -> usize {
    (word.chars().count() / 3).max(2)
}

fn near<'a>(
    allowed: usize,
    word: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Vec<(usize, &'a str)> {
    candidates
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&word.to_lowercase(), &candidate.to_lowercase()),
                candidate,
            )
        })
        // A two-letter word is two edits from every other two-letter word: something must remain of
        // it.
        .filter(|(distance, candidate)| {
            *distance <= allowed && *distance < candidate.chars().count()
        })
        .collect()
}

fn nearest_within<'a>(
    allowed: usize,
    word: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    near(allowed, word, candidates)
        .into_iter()
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
