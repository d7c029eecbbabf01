//! How rooms hang together: calls on `self` between the files of a folder, which imports do not
//! show, guards on optional features, and comments without a subject or beside the field's words.
//! The numbers are limits that only fall: a change that gets below one lowers it.

use super::{Source, blank_tests, body_of, none, sources, starts_word, word};
use std::collections::{BTreeMap, BTreeSet};

/// A folder, its type, and the most files that call each other's methods in a cycle. The aim is 3.
const CYCLES: [(&str, &str, usize); 5] = [
    ("drive", "Drive", 3),
    ("flash", "Flash", 9),
    ("ftl", "PageMap", 8),
    ("array", "Array", 6),
    ("nvme", "Controller", 2),
];

/// The rooms of the drive from the bottom up.
const ROOMS: [&str; 10] =
    ["observe", "face", "dies", "buffer", "map_cache", "media", "crash", "gc", "parity", "io"];
/// Files of the rooms that act on the end of an operation. `told.rs` calls them, and they each
/// other; nothing that begins work does. They may call every room.
const ENDS: [&str; 9] = [
    "crash/ended.rs",
    "gc/ended.rs",
    "gc/merge_ended.rs",
    "gc/overtaken.rs",
    "io/ended.rs",
    "map_cache/ended.rs",
    "media/failed.rs",
    "media/scrubbed.rs",
    "parity/ended.rs",
];
/// Methods that a room of the drive calls in a room above it, to begin work there. The aim is none.
const UPWARD_CALLS: usize = 11;
/// Questions in `drive/` whether an optional feature is there, but for `features.rs`, which asks
/// once for all that the short ways depend on.
const GUARDS: usize = 21;

const FEATURES: [&str; 16] = [
    "suspension",
    "holds",
    "predictable",
    "gate",
    "rain",
    "scrub",
    "faults",
    "superblock",
    "merges",
    "kept",
    "dftl",
    "attribution",
    "timeline",
    "decoding",
    "pace",
    "collector.planes",
];

/// Phrases in lower case that a comment says with a subject, or with the field's word, instead:
/// the waiters, a reader, stale on commit, a dry run, at zero cost.
const FORBIDDEN: [&str; 8] = [
    "manieth",
    "is let ",
    "keeps nobody",
    "dead on arrival",
    "played ahead",
    "whoever",
    "somebody",
    "in no time",
];

#[test]
fn methods_of_one_type_call_each_other_in_no_larger_cycle_of_files() {
    let mut complaints = Vec::new();
    for (folder, name, limit) in CYCLES {
        let calls = Calls::of(folder, name);
        let largest = calls.largest_cycle();
        complaints.extend(above(
            limit,
            largest.len(),
            &format!("a cycle of files of {name}, {largest:?}"),
        ));
    }
    none(&complaints);
}

#[test]
fn rooms_of_the_drive_call_no_more_of_the_rooms_above_them() {
    let calls = Calls::of("drive", "Drive");
    let rank = |file: &str| ROOMS.iter().position(|name| *name == room(file));
    let mut upward = 0;
    for ((from, to), methods) in calls.arrows.iter().filter(|((from, _), _)| !is_end(from)) {
        if let (Some(below), Some(above)) = (rank(from), rank(to))
            && below < above
        {
            upward += methods.len();
        }
    }
    none(&above(UPWARD_CALLS, upward, "methods that a room of drive/ calls above it"));
}

#[test]
fn only_what_ends_calls_what_acts_on_an_end() {
    let calls = Calls::of("drive", "Drive");
    let may = |file: &str| is_end(file) || ["told.rs", "mod.rs"].contains(&file);
    let is_wrong = |from: &str, to: &str| is_end(to) && !may(from);
    let wrong = calls.arrows.iter().filter(|((from, to), _)| is_wrong(from, to));
    none(&wrong.map(|arrow| format!("drive/{arrow:?}: told.rs calls it")).collect::<Vec<_>>());
}

fn is_end(file: &str) -> bool {
    ENDS.contains(&file)
}

#[test]
fn guards_on_features_become_no_more() {
    let mut guards = 0;
    let asks_once = |source: &Source| source.in_core() == Some("drive/features.rs");
    let files = sources();
    for source in files.iter().filter(|source| is_in(source, "drive") && !asks_once(source)) {
        let code = blank_tests(&source.code);
        for feature in FEATURES {
            for question in ["is_some()", "is_none()"] {
                guards += code.matches(&format!("self.{feature}.{question}")).count();
            }
        }
    }
    none(&above(GUARDS, guards, "guards on features in drive/"));
}

#[test]
fn comments_have_a_subject() {
    let mut complaints = Vec::new();
    for source in sources() {
        let mut before = false;
        for (number, line) in source.text.lines().map(str::trim_start).enumerate() {
            let text = ["/// ", "//! ", "// "].iter().find_map(|mark| line.strip_prefix(mark));
            let begins = text.is_some_and(|text| {
                ["What ", "Who ", "The same "].iter().any(|start| text.starts_with(start))
            });
            if begins && !before {
                complaints.push(source.complain(number + 1, "the comment has no subject"));
            }
            before = text.is_some();
        }
    }
    none(&complaints);
}

#[test]
fn comments_use_the_fields_words() {
    let mut complaints = Vec::new();
    for source in sources() {
        let comments: Vec<String> =
            source.text.lines().map(|line| comment(line).to_lowercase()).collect();
        for (number, line) in comments.iter().enumerate() {
            // A phrase may end in the next line.
            let next = comments.get(number + 1).map_or("", |next| next.trim_start());
            let text = format!("{line} {next}");
            for phrase in FORBIDDEN {
                if text.find(phrase).is_some_and(|at| at < line.len()) {
                    let rule = format!("{phrase:?} in a comment: coupling.rs has better words");
                    complaints.push(source.complain(number + 1, &rule));
                }
            }
        }
    }
    none(&complaints);
}

/// The text of the comment on a line; empty where there is none.
fn comment(line: &str) -> &str {
    let parts = line.split_once("//! ").or_else(|| line.split_once("// "));
    parts.map_or("", |(_, text)| text)
}

/// A complaint where a number is above its limit.
fn above(limit: usize, number: usize, of: &str) -> Vec<String> {
    let complaint = || format!("{of}: {number}; tests/tidy/coupling.rs allows {limit}");
    (number > limit).then(complaint).into_iter().collect()
}

fn is_in(source: &Source, folder: &str) -> bool {
    let inside = source
        .in_core()
        .and_then(|path| path.strip_prefix(folder))
        .is_some_and(|path| path.starts_with('/'));
    inside && !source.is_test()
}

/// The folder of a file inside `drive/`, or the file.
fn room(file: &str) -> &str {
    file.split('/').next().unwrap_or(file)
}

/// Calls of a type's methods between the files of a folder: names by caller and callee.
struct Calls {
    files: BTreeSet<String>,
    arrows: BTreeMap<(String, String), BTreeSet<String>>,
}

impl Calls {
    fn of(folder: &str, name: &str) -> Self {
        let mut bodies = BTreeMap::new();
        for source in sources().iter().filter(|source| is_in(source, folder)) {
            let path = source.in_core().map_or("", |path| &path[folder.len() + 1..]);
            bodies.insert(path.to_string(), blocks(&blank_tests(&source.code), name));
        }
        let mut home: BTreeMap<String, String> = BTreeMap::new();
        for (file, body) in &bodies {
            for method in methods(body) {
                home.entry(method).or_insert_with(|| file.clone());
            }
        }
        let mut arrows: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for (file, body) in &bodies {
            for method in calls(body) {
                if let Some(there) = home.get(&method).filter(|there| *there != file) {
                    arrows.entry((file.clone(), there.clone())).or_default().insert(method);
                }
            }
        }
        Self { files: bodies.into_keys().collect(), arrows }
    }

    /// Files that reach each other, the most of them.
    fn largest_cycle(&self) -> Vec<String> {
        let mut reach: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for file in &self.files {
            let (mut seen, mut left) = (BTreeSet::new(), vec![file.as_str()]);
            while let Some(from) = left.pop() {
                for ((_, to), _) in self.arrows.iter().filter(|((start, _), _)| start == from) {
                    if seen.insert(to.as_str()) {
                        left.push(to);
                    }
                }
            }
            reach.insert(file, seen);
        }
        let cycle = |file: &str| -> Vec<String> {
            let all = reach[file].iter().filter(|other| reach[**other].contains(file));
            all.map(|other| other.to_string()).collect()
        };
        self.files.iter().map(|file| cycle(file)).max_by_key(Vec::len).unwrap_or_default()
    }
}

/// The insides of the type's `impl` blocks.
fn blocks(code: &str, name: &str) -> String {
    let mut inside = String::new();
    for (at, _) in code.match_indices("impl").filter(|(at, _)| starts_word(code, *at)) {
        let Some(body) = body_of(code, at) else { continue };
        let head = &code[at..body.start];
        if head.split(|c: char| !c.is_alphanumeric() && c != '_').rfind(|word| !word.is_empty())
            == Some(name)
        {
            inside.push_str(&code[body]);
        }
    }
    inside
}

fn methods(body: &str) -> Vec<String> {
    let starts = body.match_indices("fn ").filter(|(at, _)| starts_word(body, *at));
    starts.map(|(at, _)| word(&body[at + 3..]).to_string()).collect()
}

fn calls(body: &str) -> Vec<String> {
    let mut found = Vec::new();
    // A `twin` is another drive, played from above.
    for object in ["self.", "drive."] {
        for (at, _) in body.match_indices(object).filter(|(at, _)| starts_word(body, *at)) {
            let rest = &body[at + object.len()..];
            let name = word(rest);
            if rest[name.len()..].starts_with('(') {
                found.push(name.to_string());
            }
        }
    }
    found
}

#[test]
fn a_cycle_is_found_through_calls_on_self() {
    let body = blocks(
        "impl Drive { pub fn a(&self) { self.b(); drive.c () } }\nimpl Other { fn d() {} }",
        "Drive",
    );
    assert_eq!(methods(&body), ["a"]);
    assert_eq!(calls(&body), ["b"]);
    let arrow = |from: &str, to: &str| ((from.to_string(), to.to_string()), BTreeSet::new());
    let files = ["a", "b", "c"].map(str::to_string).into_iter().collect();
    let calls = Calls {
        files,
        arrows: [arrow("a", "b"), arrow("b", "a"), arrow("b", "c")].into_iter().collect(),
    };
    assert_eq!(calls.largest_cycle(), ["a", "b"]);
}
