//! Type of a key of a scenario or of a field of a result, from the JSON schema of the two.

use manx_config::scenario_schema;
use manx_core::stats::RunResult;
use serde_json::Value;
use std::sync::LazyLock;

/// The type of a key or a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// A time, as text with a unit.
    Time,
    /// A size, as text with a unit.
    Size,
    /// A rate, as text with a unit.
    Rate,
    /// Text, a list, a table.
    Other,
}

static SCENARIO: LazyLock<Value> = LazyLock::new(scenario_schema);
static RESULT: LazyLock<Value> = LazyLock::new(|| schemars::schema_for!(RunResult).to_value());

/// The type of a scenario's key; `None` where there is no such key.
pub fn of_key(key: &str) -> Option<Leaf> {
    leaf(&SCENARIO, key)
}

/// The type of a result's field; `None` where there is no such field.
pub fn of_field(path: &str) -> Option<Leaf> {
    leaf(&RESULT, path)
}

fn leaf(root: &Value, path: &str) -> Option<Leaf> {
    let (at, name) = path
        .split('.')
        .try_fold(plain(root, root), |(at, _), part| Some(plain(child(at, part)?, root)))?;
    Some(match name {
        "Duration" => Leaf::Time,
        "Bytes" => Leaf::Size,
        "Bandwidth" => Leaf::Rate,
        _ => match type_of(at) {
            Some("integer") => Leaf::Integer,
            Some("number") => Leaf::Number,
            Some("boolean") => Leaf::Boolean,
            _ => Leaf::Other,
        },
    })
}

/// The schema itself where it is a reference or "this or null", and the name of what was referred
/// to.
fn plain<'a>(schema: &'a Value, root: &'a Value) -> (&'a Value, &'a str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        let target = root.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null);
        return (target, name);
    }
    let options = schema["anyOf"].as_array();
    let option =
        options.and_then(|options| options.iter().find(|option| type_of(option) != Some("null")));
    option.map_or((schema, ""), |option| plain(option, root))
}

/// A field of an object, any field of a map, an element of a list.
fn child<'a>(schema: &'a Value, part: &str) -> Option<&'a Value> {
    let number = || part.parse::<usize>().ok();
    let found = schema["properties"].get(part).or_else(|| match type_of(schema) {
        Some("object") => Some(&schema["additionalProperties"]),
        Some("array") => {
            number().and_then(|at| schema["prefixItems"].get(at).or_else(|| schema.get("items")))
        }
        _ => None,
    });
    found.filter(|schema| schema.is_object())
}

/// The type; of `["integer", "null"]` the first.
fn type_of(schema: &Value) -> Option<&str> {
    schema["type"].as_str().or_else(|| schema["type"][0].as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::SHORT;

    #[test]
    fn keys_and_fields_have_their_types_and_others_have_none() {
        let keys = [
            ("seed", Some(Leaf::Integer)),
            ("gc.soft", Some(Leaf::Number)),
            ("gc.window", Some(Leaf::Integer)),
            ("gc.copyback", Some(Leaf::Boolean)),
            ("gc.victim", Some(Leaf::Other)),
            ("drive.buffer", Some(Leaf::Size)),
            ("drive.link", Some(Leaf::Rate)),
            ("workload.rate", Some(Leaf::Number)),
            ("workload.think", Some(Leaf::Time)),
            ("workload.jobs.3.requests", Some(Leaf::Integer)),
            ("workload.trace.repeat", Some(Leaf::Integer)),
            ("workload.block_sizes.0.0", Some(Leaf::Size)),
            ("workload.rat", None),
            ("device.geometry.channels", Some(Leaf::Integer)),
        ];
        for (key, expected) in keys {
            assert_eq!(of_key(key), expected, "{key}");
        }
        let fields = [
            ("read.p99_us", Some(Leaf::Number)),
            ("read.count", Some(Leaf::Integer)),
            ("drives", Some(Leaf::Integer)),
            ("scenario", Some(Leaf::Other)),
            ("verify.mismatches", Some(Leaf::Integer)),
            ("machine.cpu_s", Some(Leaf::Number)),
            ("trace.counts.read", Some(Leaf::Integer)),
            ("read.p9_us", None),
        ];
        for (field, expected) in fields {
            assert_eq!(of_field(field), expected, "{field}");
        }
        for (short, path, _) in SHORT {
            assert!(matches!(of_field(path), Some(Leaf::Integer | Leaf::Number)), "{short}");
        }
    }
}
