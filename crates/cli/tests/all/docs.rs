//! Counts and lists of the documents are what the program knows.

use crate::documents::{document, root};
use crate::support::{manx, stderr, stdout};
use manx_config::workload_names;
use manx_trace::format::FORMATS;
use serde_json::Value;

fn text(name: &str) -> String {
    document(name).text
}

/// The names in backticks of the first cells of the tables in a section.
fn first_cells(text: &str, section: &str) -> Vec<String> {
    let from = text
        .split(&format!("\n## {section}\n"))
        .nth(1)
        .unwrap_or_else(|| panic!("no section {section}"));
    let section = from.split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split('|').next());
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>())
        .collect()
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[test]
fn the_readme_counts_the_formats_that_there_are() {
    let stated = format!("lists the {} that are read", FORMATS.len());
    assert!(text("README.md").contains(&stated), "README.md does not say `{stated}`");
}

#[test]
fn the_page_of_traces_has_a_row_for_each_format() {
    let there = FORMATS.iter().map(|format| format.name.to_string());
    // A Parquet file is read as these rows; its name on the command line may be either.
    let there = there.chain(["parquet".to_string()]).collect();
    assert_eq!(sorted(first_cells(&text("docs/traces.md"), "The formats")), sorted(there));
}

#[test]
fn the_page_of_workloads_has_a_row_for_each_workload() {
    let there = workload_names().map(str::to_string).collect();
    assert_eq!(sorted(first_cells(&text("docs/workloads.md"), "The library")), sorted(there));
}

/// `MANX_WRITE=1 cargo test -p manx-ssd page_of_fields` writes the page anew.
#[test]
fn the_page_of_fields_has_every_field_of_a_result() {
    let schema: Value = serde_json::from_str(&stdout(&manx(&["schema", "result"]))).unwrap();
    let page = page_of_fields(&schema);
    let file = root().join("docs/result-fields.md");
    if std::env::var_os("MANX_WRITE").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    let how = "MANX_WRITE=1 cargo test -p manx-ssd page_of_fields";
    assert_eq!(there, page, "docs/result-fields.md is not what `manx schema result` says: {how}");
}

/// The definitions of a schema in the order in which they are first needed, a table each.
fn page_of_fields(schema: &Value) -> String {
    let mut page = "# Every field of result.json\n\n\
                    Made from `manx schema result`, which has the same as a JSON schema. \
                    How to read a result: [Read a result](result.md).\n"
        .to_string();
    let title = schema["title"].as_str().unwrap();
    let mut names = vec![title.to_string()];
    let mut next = 0;
    while let Some(name) = names.get(next).cloned() {
        next += 1;
        let definition = if name == title { schema } else { &schema["$defs"][&name] };
        page += &format!("\n## {name}\n\n{}\n", one_line(&definition["description"]));
        if let Some(properties) = definition["properties"].as_object() {
            page += "\n| field | type | meaning |\n|---|---|---|\n";
            for (field, property) in properties {
                let kind = kind(property, &mut names);
                page +=
                    &format!("| `{field}` | {kind} | {} |\n", one_line(&property["description"]));
            }
        }
        let choices = definition["oneOf"].as_array().into_iter().flatten();
        let choices: Vec<String> = choices
            .map(|choice| {
                let value = choice["const"].as_str().unwrap();
                format!("| `{value}` | {} |", one_line(&choice["description"]))
            })
            .collect();
        if !choices.is_empty() {
            page += &format!("\n| value | meaning |\n|---|---|\n{}\n", choices.join("\n"));
        }
    }
    page
}

/// A type in a cell; definitions are links, and join the list.
fn kind(property: &Value, names: &mut Vec<String>) -> String {
    if let Some(reference) = property["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap().to_string();
        let link = format!("[{name}](#{})", name.to_lowercase());
        if !names.contains(&name) {
            names.push(name);
        }
        return link;
    }
    if let Some(choices) = property["anyOf"].as_array() {
        return choices.iter().map(|choice| kind(choice, names)).collect::<Vec<_>>().join(" or ");
    }
    match &property["type"] {
        Value::String(name) if name == "array" => {
            format!("list of {}", kind(&property["items"], names))
        }
        Value::String(name) if name == "object" && property["additionalProperties"].is_object() => {
            format!("map of {}", kind(&property["additionalProperties"], names))
        }
        Value::String(name) => name.clone(),
        Value::Array(choices) => {
            choices.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_string(),
    }
}

fn one_line(text: &Value) -> String {
    text.as_str()
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

/// The columns of a file of requests are those of the page, in their order.
#[test]
fn the_page_of_results_has_a_row_for_each_column_of_a_file_of_requests() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("columns.parquet");
    let name = file.to_str().unwrap();
    let small =
        ["--set", "workload.requests=2000", "--policy", "base", "--attribution", "--no-cache"];
    let output = manx(&[&["run", "quick", "--requests", name], &small[..]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let reader = SerializedFileReader::new(std::fs::File::open(&file).unwrap()).unwrap();
    let columns = reader.metadata().file_metadata().schema_descr().columns().to_vec();
    let columns: Vec<String> = columns.iter().map(|column| column.name().to_string()).collect();
    let page = text("docs/result.md");
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .collect::<Vec<_>>();
    let typed = |rest: &str| {
        ["DOUBLE", "UTF-8", "INT", "BOOLEAN"].iter().any(|kind| rest.starts_with(kind))
    };
    let named: Vec<String> = rows
        .into_iter()
        .filter(|(_, rest)| typed(rest))
        .map(|(name, _)| name.to_string())
        .collect();
    assert_eq!(named, columns);
    assert!(
        page.contains(&format!("all {}", columns.len())),
        "docs/result.md does not say how many columns there are"
    );
}
