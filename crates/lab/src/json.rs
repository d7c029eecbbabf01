//! Results as JSON: one stable document, its schema, and the part of it that must not depend on the
//! machine.

use manx_core::stats::RunSet;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The document `{"runs": [..]}`, indented, ending in a newline. Fields keep the order of
/// [`RunResult`], so that the same results are the same bytes.
pub fn to_json(set: &RunSet) -> String {
    // A result holds only numbers, text and maps keyed by text, none of which serde_json can
    // refuse.
    let value = serde_json::to_value(set).expect("a result is plain data");
    indented(&value)
}

/// A document as it is written everywhere here: indented by two, a list of numbers on one line, a
/// newline at the end.
pub fn indented(value: &Value) -> String {
    let mut text = String::new();
    write_indented(value, 0, &mut text);
    text + "\n"
}

fn write_indented(value: &Value, depth: usize, text: &mut String) {
    let next = |text: &mut String, first: bool, depth: usize| {
        text.push_str(if first { "\n" } else { ",\n" });
        (0..depth).for_each(|_| text.push_str("  "));
    };
    let is_short = |item: &Value| matches!(item, Value::Number(_) | Value::Null | Value::Bool(_));
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            text.push('{');
            for (number, (name, value)) in fields.iter().enumerate() {
                next(text, number == 0, depth + 1);
                *text += &Value::from(name.as_str()).to_string();
                text.push_str(": ");
                write_indented(value, depth + 1, text);
            }
            next(text, true, depth);
            text.push('}');
        }
        Value::Array(items) if !items.is_empty() && !items.iter().all(is_short) => {
            text.push('[');
            for (number, value) in items.iter().enumerate() {
                next(text, number == 0, depth + 1);
                write_indented(value, depth + 1, text);
            }
            next(text, true, depth);
            text.push(']');
        }
        other => *text += &other.to_string(),
    }
}

/// Reads such a document back.
pub fn from_json(text: &str) -> Result<RunSet, serde_json::Error> {
    serde_json::from_str(text)
}

/// JSON from a file that may hold anything. Every reader of a result goes through text: one from
/// bytes would compile the reading of each field a second time.
pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_str(str::from_utf8(bytes).ok()?).ok()
}

/// The document without what depends on the machine: every `machine` of every result in it is taken
/// out. Two runs of one scenario and seed must then be equal byte for byte, wherever they ran.
pub fn strip_machine(document: &str) -> Result<String, serde_json::Error> {
    let mut value: Value = serde_json::from_str(document)?;
    strip_machine_value(&mut value);
    Ok(indented(&value))
}

/// Strips a parsed document: a result, a set of them, or a larger document (`lab run`) that holds
/// sets.
pub fn strip_machine_value(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // `remove` would swap the last field into the gap; the order is part of the bytes.
            fields.shift_remove("machine");
            fields.values_mut().for_each(strip_machine_value);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_machine_value),
        _ => {}
    }
}

/// The JSON Schema of [`to_json`]'s document, ending in a newline.
pub fn schema_result() -> String {
    let schema = schemars::schema_for!(RunSet);
    serde_json::to_string_pretty(&schema).expect("a schema is plain data") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::example;
    use manx_core::stats::{MachineReport, RunTotals};

    fn nothing() -> RunSet {
        RunSet { runs: vec![RunTotals::default().into_result()] }
    }

    #[test]
    fn a_result_reads_back_as_it_was_written() {
        for set in [example::three_policies(), nothing(), RunSet::default()] {
            let text = to_json(&set);
            let back = from_json(&text).unwrap();
            assert_eq!(back, set);
            assert_eq!(to_json(&back), text);
        }
    }

    #[test]
    fn the_fields_of_a_result_are_those_of_the_design_in_its_order_and_machine_is_last() {
        let value: Value = serde_json::from_str(&to_json(&nothing())).unwrap();
        let keys = |value: &Value| {
            value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
        };
        let run = &value["runs"][0];
        assert_eq!(
            keys(run),
            "scenario policy path axes title seed outcome requests read write trim flush state gc \
             flash stress buffer capacity trace verify act over_time attribution virtual_s \
             warmup_excluded warnings machine"
        );
        assert_eq!(
            keys(&run["read"]),
            "count bytes iops mean_us stddev_us p50_us p90_us p95_us p99_us p99_9_us p99_99_us \
             p99_999_us max_us percentiles curve"
        );
        assert_eq!(keys(&run["read"]["percentiles"]), "p50 p90 p95 p99 p99_9 p99_99 p99_999");
        assert_eq!(keys(&run["read"]["percentiles"]["p50"]), "us n_beyond low_us high_us");
        assert_eq!(
            keys(&run["gc"]),
            "blocked_reads_percent blocked_at_split_percent runs pages_copied forced free_reclaims \
             copying_max_us free_min_percent"
        );
        assert_eq!(
            keys(&run["flash"]),
            "host_pages_written pages_programmed pages_padded pages_read erases waf \
             suspensions suspensions_per_erase_max aborted_pulse_us extra_ramps \
             program_suspensions suspensions_per_program_max aborted_phase_us erases_held \
             erase_hold_mean_us erase_hold_max_us wear"
        );
        assert_eq!(
            keys(&run["machine"]),
            "precondition_cpu_s cpu_s requests_per_cpu_s flash_ops_per_cpu_s peak_rss_bytes \
             simulated_bytes_per_page precondition_from_cache program"
        );
    }

    #[test]
    fn lists_of_numbers_stand_on_one_line_and_all_else_is_indented() {
        let value = serde_json::json!({
            "a": [1, null, 2.5], "b": ["x\ny"], "c": {}, "d": [], "e": {"f": [[1, 2], [3]]}
        });
        let lines = [
            "{",
            "  \"a\": [1,null,2.5],",
            "  \"b\": [",
            "    \"x\\ny\"",
            "  ],",
            "  \"c\": {},",
            "  \"d\": [],",
            "  \"e\": {",
            "    \"f\": [",
            "      [1,2],",
            "      [3]",
            "    ]",
            "  }",
            "}",
        ];
        let text = lines.join("\n") + "\n";
        assert_eq!(indented(&value), text);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn what_cannot_be_known_is_null_and_never_a_nan() {
        let value: Value = serde_json::from_str(&to_json(&nothing())).unwrap();
        let run = &value["runs"][0];
        let unknown =
            [&run["read"]["p50_us"], &run["read"]["max_us"], &run["flash"]["waf"], &run["trace"]];
        assert!(unknown.iter().all(|value| value.is_null()), "{unknown:?}");
        assert_eq!(
            (&run["read"]["iops"], &run["outcome"]),
            (&Value::from(0.0), &Value::from("completed"))
        );
    }

    #[test]
    fn two_machines_write_the_same_document_once_machine_is_stripped() {
        let slow = example::three_policies();
        let mut fast = slow.clone();
        fast.runs.iter_mut().for_each(|run| run.machine = MachineReport::timed(0.1, 0.2, 1_000));
        assert_ne!(to_json(&slow), to_json(&fast));
        let stripped = strip_machine(&to_json(&slow)).unwrap();
        assert_eq!(stripped, strip_machine(&to_json(&fast)).unwrap());
        assert!(!stripped.contains("cpu_s") && stripped.contains("\"warnings\""));
    }

    #[test]
    fn stripping_reaches_into_larger_documents_and_keeps_the_order_of_the_rest() {
        let lab = r#"{"experiment": "x",
            "runs": [{"policy": "base", "machine": {"cpu_s": 1.5}, "seed": 1}]}"#;
        let compact: String = strip_machine(lab).unwrap().split_whitespace().collect();
        assert_eq!(compact, r#"{"experiment":"x","runs":[{"policy":"base","seed":1}]}"#);
        assert!(strip_machine("{").is_err());
    }

    #[test]
    fn every_number_of_the_schema_says_its_unit() {
        let schema: Value = serde_json::from_str(&schema_result()).unwrap();
        assert_eq!((&schema["title"], &schema["required"][0]), (&"RunSet".into(), &"runs".into()));
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            for (field, property) in definition["properties"].as_object().into_iter().flatten() {
                let description = property["description"].as_str().unwrap_or_default();
                let kind = property["type"].to_string();
                let number =
                    (kind.contains("integer") || kind.contains("number")) && field != "seed";
                assert!(!description.is_empty(), "{name}.{field} has no description");
                assert!(
                    !number || description.contains('('),
                    "{name}.{field} has no unit: {description}"
                );
            }
        }
    }
}
