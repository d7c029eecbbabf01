//! The schemas that `manx schema` prints are those of the documents that people get.

use crate::support::{file, manx, stderr, stdout};
use serde_json::Value;

/// Where `value` is not what `schema` says, if anywhere. Stricter than JSON Schema: an unknown
/// field is wrong, too.
fn fault(value: &Value, schema: &Value, root: &Value, at: &str) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let definition = root
            .pointer(name.trim_start_matches('#'))
            .unwrap_or_else(|| panic!("{name} is not there"));
        return fault(value, definition, root, at);
    }
    for kinds in ["anyOf", "oneOf"] {
        if let Some(kinds) = schema[kinds].as_array() {
            let faults: Vec<_> = kinds.iter().map(|kind| fault(value, kind, root, at)).collect();
            if faults.iter().all(Option::is_some) {
                return faults.into_iter().flatten().last();
            }
            return None;
        }
    }
    let wrong = |why: &str| {
        Some(format!("{at}: {why}: {}", value.to_string().chars().take(80).collect::<String>()))
    };
    if schema.get("const").is_some_and(|only| only != value) {
        return wrong("not the constant");
    }
    if schema["enum"].as_array().is_some_and(|list| !list.contains(value)) {
        return wrong("not one of the list");
    }
    if !is_of_type(value, &schema["type"], at)
        || schema["minimum"]
            .as_f64()
            .is_some_and(|least| value.as_f64().is_some_and(|value| value < least))
    {
        return wrong(&format!("not of type {}", schema["type"]));
    }
    if let Some(fields) = value.as_object() {
        let missing = schema["required"].as_array().into_iter().flatten();
        if let Some(name) =
            missing.map(|name| name.as_str().unwrap()).find(|name| !fields.contains_key(*name))
        {
            return wrong(&format!("{name} is missing"));
        }
        for (name, value) in fields {
            let (at, extra) = (format!("{at}.{name}"), &schema["additionalProperties"]);
            let found = match schema["properties"].get(name).or(extra.is_object().then_some(extra))
            {
                Some(own) => fault(value, own, root, &at),
                None if *extra == true => None,
                None => Some(format!("{at}: not in the schema")),
            };
            if found.is_some() {
                return found;
            }
        }
    }
    let items = value.as_array().into_iter().flatten().enumerate();
    items
        .filter_map(|(number, item)| {
            fault(item, &schema["items"], root, &format!("{at}[{number}]"))
        })
        .next()
}

fn is_of_type(value: &Value, kind: &Value, at: &str) -> bool {
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{at}: {other} is no type"),
    };
    match kind {
        Value::String(kind) => is(kind),
        Value::Array(kinds) => kinds.iter().any(|kind| is(kind.as_str().unwrap())),
        _ => true,
    }
}

fn schema(of: &str) -> Value {
    serde_json::from_slice(&manx(&["schema", of]).stdout).unwrap()
}

#[test]
fn every_result_is_a_document_of_its_schema() {
    let schema = schema("result");
    let trace = "t_us,op,offset,bytes\n0,R,0,4096\n100,W,0,4096\n300,R,4096,4096\n";
    let trace = file("schema-trace.csv", trace.as_bytes());
    let short = ["--no-cache", "--json", "--set", "workload.requests=2000"];
    let table: &[&[&str]] = &[
        &["compare", "quick", "--attribution", "--verify"],
        &["run", "quick", "--policy", "base/raid", "--set", "array.members=4", "--attribution"],
        &["run", "quick", "--policy", "faster"],
        &[
            "run",
            "quick",
            "--policy",
            "gtr",
            "--set",
            "device.geometry.channels=8",
            "--set",
            "device.op=0.4",
        ],
        &["run", "quick", "--policy", "base/t-es(2ms)", "--set", "faults.program_fail=0.001"],
        &["run", "quick", "--power-cut-at", "50ms"],
        &[
            "run",
            "quick",
            "--policy",
            "base",
            "--set",
            "scrub.rate=100",
            "--set",
            "measure.timeout=100us",
        ],
        &["run", "quick", "--trace", &trace, "--remap", "modulo"],
    ];
    for args in table {
        let sets: &[&str] = if args.contains(&"--trace") { &short[..2] } else { &short };
        let output = manx(&[args, sets].concat());
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(fault(&document, &schema, &schema, "result"), None, "{args:?}");
        // It is a schema that says something.
        let mut broken = document.clone();
        broken["runs"][0]["seed"] = "one".into();
        assert!(
            fault(&broken, &schema, &schema, "result").is_some_and(|fault| fault.contains("seed"))
        );
        broken["runs"][0].as_object_mut().unwrap().remove("seed");
        assert!(
            fault(&broken, &schema, &schema, "result")
                .is_some_and(|fault| fault.contains("seed is missing"))
        );
    }
}

#[test]
fn the_range_of_a_seed_is_that_of_toml_in_the_schema_and_in_the_error() {
    let seed = &schema("scenario")["properties"]["seed"];
    assert_eq!(seed["maximum"].as_u64(), Some(i64::MAX as u64), "{seed}");
    for value in ["9223372036854775808", "18446744073709551615"] {
        let output = manx(&["run", "quick", "--set", &format!("seed={value}")]);
        let said = stderr(&output);
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
        assert!(said.contains(value) && said.contains("from 0 to 9223372036854775807"), "{said}");
    }
}
