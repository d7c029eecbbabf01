//! What the documents count and list is what the program knows.

use manx_core::config::workload_names;
use manx_core::host::trace::format::FORMATS;
use std::path::Path;

fn text(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

/// The names in backticks of the first cells of the tables in a section.
fn first_cells(text: &str, section: &str) -> Vec<String> {
    let from = text.split(&format!("\n## {section}\n")).nth(1).unwrap_or_else(|| panic!("no section {section}"));
    let section = from.split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split('|').next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>()).collect()
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
