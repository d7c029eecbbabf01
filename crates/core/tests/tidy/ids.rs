//! Numbers that are types: a die, a lane, an operation, a request or a slot of the buffer is no
//! bare `u32` where the data path hands it on or keeps it, alone, in a tuple or in a list.

use super::{Source, blank_tests, sources, word};

/// A number, the type that it has, and the layers where that name means it: a member of a stripe is
/// none of an array.
const IDS: [(&str, &str, &[&str]); 18] = [
    ("die", "Die", &["flash", "ftl", "drive", "array"]),
    ("channel", "Channel", &["flash", "ftl", "drive", "array"]),
    ("lane", "Lane", &["flash", "ftl", "drive", "array"]),
    ("pool", "Pool", &["flash", "ftl", "drive", "array"]),
    ("member", "Member", &["array"]),
    ("token", "OpId", &["flash"]),
    ("op", "OpId", &["drive"]),
    ("request", "RequestId", &["ftl", "drive", "array"]),
    ("id", "CommandId", &["drive", "array"]),
    ("io", "CommandId", &["array"]),
    ("slot", "SlotId", &["drive"]),
    ("slot", "RowId", &["array"]),
    ("entry", "EntryId", &["ftl", "drive"]),
    ("miss", "MissId", &["ftl", "drive"]),
    ("waiter", "WaiterId", &["drive"]),
    ("update", "UpdateId", &["drive"]),
    ("rebuild", "RebuildId", &["drive", "array"]),
    ("piece", "PieceId", &["array"]),
];

/// Counts (`lanes_per_die`) and numbers of settings, which are read as numbers.
const NUMBERS: [&str; 5] =
    ["lanes_per_die", "units_per_die", "units_per_lane", "per_channel", "fail_member"];

#[test]
fn numbers_of_things_are_types() {
    let mut complaints = Vec::new();
    let sources = sources();
    for (id, name, layers) in IDS {
        let is_there = |source: &&Source| {
            let layer = source.in_core().and_then(|path| path.split('/').next());
            !source.is_test() && layer.is_some_and(|layer| layers.contains(&layer))
        };
        let of = |source| bare(source, id, name);
        complaints.extend(sources.iter().filter(is_there).flat_map(of));
    }
    super::none(&complaints);
}

/// Parameters and fields called `id` or `.._id` that are a bare `u32`, and lists of them (`ids`).
fn bare(source: &Source, id: &str, name: &str) -> Vec<String> {
    let code = blank_tests(&source.code);
    let mut complaints = Vec::new();
    for (number, line) in code.lines().enumerate() {
        for (called, kind) in line.match_indices(": ").flat_map(|(at, _)| declared(line, at)) {
            let kind = kind.trim_start_matches(['&', '*']);
            let kind = kind.strip_prefix("Option<").unwrap_or(kind);
            let lists = ["VecDeque<", "Vec<", "["];
            let (called_so, kind) = match lists.iter().find_map(|list| kind.strip_prefix(list)) {
                Some(kind) => (format!("{id}s"), kind),
                None => (id.to_owned(), kind),
            };
            let is_id = called == called_so || called.ends_with(&format!("_{called_so}"));
            if is_id && !NUMBERS.contains(&called) && word(kind) == "u32" {
                let rule = format!("`{called}` is a `{name}`, not a `u32`");
                complaints.push(source.complain(number + 1, &rule));
            }
        }
    }
    complaints
}

/// The names in front of the colon at `at`, each with the type behind it: several where a tuple is
/// taken apart.
fn declared(line: &str, at: usize) -> Vec<(&str, &str)> {
    let (before, kind) = (&line[..at], line[at + 2..].trim_start());
    let tuple = before.strip_suffix(')').and_then(|before| before.rsplit_once('('));
    match (tuple, kind.strip_prefix('(')) {
        (Some((_, names)), Some(kinds)) => names.split(", ").zip(kinds.split(", ")).collect(),
        _ => {
            let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_');
            vec![(&before[start.map_or(0, |before| before + 1)..], kind)]
        }
    }
}

#[test]
fn a_bare_number_is_seen_in_parameters_and_fields_and_counts_are_left_alone() {
    let text = "struct A {\n    pub next_lane: Option<u32>,\n    lanes: u32,\n}\n\
                fn f(&self, lane: u32, lanes_per_die: u32, other: Lane) {}\n\
                fn g((lane, size): (u32, u32), free_lanes: &[u32], per: Vec<u32>) {}\n\
                // lane: u32\n#[cfg(test)]\nmod tests {\n    fn f(lane: u32) {}\n}\n";
    let source = Source::new("crates/core/src/ftl/x.rs", text);
    assert_eq!(
        bare(&source, "lane", "Lane"),
        [
            "crates/core/src/ftl/x.rs:2: `next_lane` is a `Lane`, not a `u32`",
            "crates/core/src/ftl/x.rs:5: `lane` is a `Lane`, not a `u32`",
            "crates/core/src/ftl/x.rs:6: `lane` is a `Lane`, not a `u32`",
            "crates/core/src/ftl/x.rs:6: `free_lanes` is a `Lane`, not a `u32`",
        ]
    );
    assert!(bare(&source, "die", "Die").is_empty());
}
