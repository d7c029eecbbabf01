//! Numbers that are types: a die, a channel, a lane, a pool and a member of an array are no bare
//! `u32` where the data path hands them on or keeps them. The limits only fall: a change that gets
//! below one lowers it.

use super::{Source, blank_tests, sources, word};

/// A number, the type that it has, and the layers where that name means it: a member of a stripe is
/// none of an array.
const IDS: [(&str, &str, &[&str], usize); 5] = [
    ("die", "Die", &["flash", "ftl", "drive", "array"], 0),
    ("channel", "Channel", &["flash", "ftl", "drive", "array"], 0),
    ("lane", "Lane", &["flash", "ftl", "drive", "array"], 0),
    ("pool", "Pool", &["flash", "ftl", "drive", "array"], 0),
    ("member", "Member", &["array"], 0),
];

/// Counts (`lanes_per_die`) and numbers of settings, which are read as numbers.
const NUMBERS: [&str; 5] =
    ["lanes_per_die", "units_per_die", "units_per_lane", "per_channel", "fail_member"];

#[test]
fn numbers_of_things_are_types() {
    let mut complaints = Vec::new();
    let sources = sources();
    for (id, name, layers, limit) in IDS {
        let is_there = |source: &&Source| {
            let layer = source.in_core().and_then(|path| path.split('/').next());
            !source.is_test() && layer.is_some_and(|layer| layers.contains(&layer))
        };
        let found: Vec<String> =
            sources.iter().filter(is_there).flat_map(|source| bare(source, id, name)).collect();
        if found.len() > limit {
            let count = found.len();
            complaints.push(format!("{count} bare numbers of a {id}; {limit} are the most:"));
            complaints.extend(found);
        } else if found.len() < limit {
            complaints.push(format!("{} bare numbers of a {id}: lower the limit", found.len()));
        }
    }
    super::none(&complaints);
}

/// Parameters and fields called `id` or `.._id` that are a bare `u32`.
fn bare(source: &Source, id: &str, name: &str) -> Vec<String> {
    let code = blank_tests(&source.code);
    let mut complaints = Vec::new();
    for (number, line) in code.lines().enumerate() {
        for (at, _) in line.match_indices(": ") {
            let start = line[..at].rfind(|c: char| !c.is_alphanumeric() && c != '_');
            let called = &line[start.map_or(0, |before| before + 1)..at];
            let is_id = called == id || called.ends_with(&format!("_{id}"));
            let kind = line[at + 2..].trim_start_matches(['&', '*']);
            let kind = kind.strip_prefix("Option<").unwrap_or(kind);
            if is_id && !NUMBERS.contains(&called) && word(kind) == "u32" {
                let rule = format!("`{called}` is a `{name}`, not a `u32`");
                complaints.push(source.complain(number + 1, &rule));
            }
        }
    }
    complaints
}

#[test]
fn a_bare_number_is_seen_in_parameters_and_fields_and_counts_are_left_alone() {
    let text = "struct A {\n    pub next_lane: Option<u32>,\n    lanes: u32,\n}\n\
                fn f(&self, lane: u32, lanes_per_die: u32, other: Lane) {}\n\
                // lane: u32\n#[cfg(test)]\nmod tests {\n    fn f(lane: u32) {}\n}\n";
    let source = Source::new("crates/core/src/ftl/x.rs", text);
    assert_eq!(
        bare(&source, "lane", "Lane"),
        [
            "crates/core/src/ftl/x.rs:2: `next_lane` is a `Lane`, not a `u32`",
            "crates/core/src/ftl/x.rs:5: `lane` is a `Lane`, not a `u32`",
        ]
    );
    assert!(bare(&source, "die", "Die").is_empty());
}
