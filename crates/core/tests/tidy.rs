//! What the source must look like, as far as a machine can tell: arrows, sizes, leftovers, paths of
//! one machine. ARCHITECTURE.md and CONTRIBUTING.md say why. Each complaint is one line: file,
//! line, rule.

#[path = "tidy/coupling.rs"]
mod coupling;

use std::fs;
use std::path::{Path, PathBuf};

/// The data path from the bottom up: a layer may use itself and what stands before it.
const LAYERS: [&str; 8] = ["units", "sim", "flash", "ftl", "drive", "nvme", "array", "host"];
/// Beside the data path: counts, and uses only units.
const COUNTS: &str = "stats";
/// Above everything: reads settings into the types of every layer.
const SETTINGS: &str = "config";

/// Layers that may use the crate of the trace readers: those that play them, and those that name
/// them in settings.
const USE_TRACES: [&str; 2] = ["host", "config"];

/// Crates whose code is part of a run: under the same bans (no clock, no thread, no file), in a
/// `clippy.toml` each.
const OF_A_RUN: [&str; 3] = ["base", "trace", "core"];

/// Executables of tests beside their crate's `tests/all`: before everything else, and with an
/// allocator of its own.
const ALONE: [&str; 2] = ["crates/core/tests/tidy.rs", "crates/trace/tests/allocations.rs"];

const FILE_LINES_MAX: usize = 500;
const LINE_CHARS_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 70;
/// How many are beyond these limits. The numbers only fall; the aim is none.
const LONG_FILES: usize = 30;
const WIDE_LINES: usize = 434;
const LONG_FUNCTIONS: usize = 23;

/// Files whose lines may be wider, each with its reason. One that needs it no more is taken off the
/// list.
const WIDE: [(&str, &str); 1] =
    [("crates/lab/src/table/tests.rs", "a golden table is as wide as the terminal that it is for")];

#[test]
fn arrows_between_the_layers_point_down() {
    let mut complaints = Vec::new();
    for source in sources().iter().filter(|source| source.in_core().is_some() && !source.is_test())
    {
        complaints.extend(source.upward_arrows());
    }
    none(&complaints);
}

#[test]
fn files_functions_and_lines_stay_small() {
    let (mut files, mut lines, mut functions) = (Vec::new(), Vec::new(), Vec::new());
    for source in sources() {
        let count = source.text.lines().count();
        if count > FILE_LINES_MAX {
            let text = format!("the file has {count} lines; {FILE_LINES_MAX} are the most");
            files.push(source.complain(1, &text));
        }
        let wide = source.wide_lines();
        match WIDE.iter().find(|(file, _)| *file == source.name) {
            Some(_) if wide.is_empty() => {
                lines.push(source.complain(1, "needs no exemption any more: tidy.rs"))
            }
            Some(_) => {}
            None => lines.extend(wide),
        }
        functions.extend(source.long_functions());
    }
    let mut complaints = Vec::new();
    for (limit, found) in [(LONG_FILES, files), (WIDE_LINES, lines), (LONG_FUNCTIONS, functions)] {
        if found.len() > limit {
            complaints.push(format!("{} of these; tidy.rs allows {limit}", found.len()));
            complaints.extend(found);
        }
    }
    none(&complaints);
}

#[test]
fn a_crate_has_one_executable_of_tests_and_every_module_is_in_it() {
    let root = root();
    let mut complaints = Vec::new();
    for file in files(&root.join("crates")) {
        let name = name_of(&file);
        let Some((folder, below)) =
            name.strip_suffix(".rs").and_then(|name| name.split_once("/tests/"))
        else {
            continue;
        };
        if folder.contains("/src") {
            continue;
        }
        if !below.contains('/') && !ALONE.contains(&name.as_str()) {
            complaints.push(format!(
                "{name}:1: belongs in {folder}/tests/all, with a line in its main.rs"
            ));
        }
        if let Some(module) =
            below.strip_prefix("all/").filter(|module| *module != "main" && !module.contains('/'))
        {
            let main =
                fs::read_to_string(root.join(folder).join("tests/all/main.rs")).unwrap_or_default();
            if !main.lines().any(|line| line == format!("mod {module};")) {
                complaints.push(format!(
                    "{name}:1: no test in it runs: tests/all/main.rs does not name it"
                ));
            }
        }
    }
    none(&complaints);
}

#[test]
fn every_crate_of_a_run_has_the_bans() {
    let bans = |name: &str| {
        fs::read_to_string(root().join(format!("crates/{name}/clippy.toml"))).unwrap_or_default()
    };
    let mut complaints = Vec::new();
    for name in OF_A_RUN {
        if bans(name).is_empty() || bans(name) != bans("core") {
            complaints.push(format!(
                "crates/{name}/clippy.toml:1: not the bans of crates/core/clippy.toml"
            ));
        }
    }
    none(&complaints);
}

#[test]
fn nothing_half_done_is_left_in_the_code() {
    let mut complaints = Vec::new();
    for source in sources() {
        for (number, line) in source.code.lines().enumerate() {
            for leftover in ["todo!(", "unimplemented!(", "dbg!("]
                .into_iter()
                .filter(|macro_| line.contains(macro_))
            {
                complaints.push(
                    source.complain(number + 1, &format!("`{leftover}..)` is for work under way")),
                );
            }
        }
    }
    none(&complaints);
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    // In pieces, so that this file does not match itself.
    let paths = [
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
        concat!("/Us", "ers/"),
        concat!("/wo", "rk/"),
        concat!("/tmp", "/wt"),
    ];
    let mut complaints = Vec::new();
    for file in files(&root()) {
        let name = name_of(&file);
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for (number, line) in text.lines().enumerate() {
            if let Some(path) = paths.iter().find(|path| names_path(line, path)) {
                complaints.push(format!("{name}:{}: `{path}` is on one machine only", number + 1));
            }
        }
    }
    none(&complaints);
}

/// True when `line` has `path` as an absolute path, not as the middle of a relative one or of an
/// address.
fn names_path(line: &str, path: &str) -> bool {
    let inside =
        |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || "._-}*".contains(c));
    line.match_indices(path).any(|(at, _)| !inside(&line[..at]))
}

fn none(complaints: &[String]) {
    assert!(complaints.is_empty(), "{} to tidy up:\n{}", complaints.len(), complaints.join("\n"));
}

/// A source file of the workspace.
struct Source {
    /// Its path from the root of the repository.
    name: String,
    text: String,
    /// The text with comments and the insides of literals blanked, line for line.
    code: String,
}

impl Source {
    fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_string(), text: text.to_string(), code: blank_prose(text) }
    }

    /// The path from the core's `src`, if it lies there.
    fn in_core(&self) -> Option<&str> {
        self.name.strip_prefix("crates/core/src/")
    }

    fn is_test(&self) -> bool {
        self.name.ends_with("/tests.rs") || self.name.contains("/tests/")
    }

    fn complain(&self, line: usize, rule: &str) -> String {
        format!("{}:{line}: {rule}", self.name)
    }

    fn wide_lines(&self) -> Vec<String> {
        let wide = |(number, line): (usize, &str)| {
            let chars = line.chars().count();
            let rule = || format!("the line has {chars} characters; {LINE_CHARS_MAX} are the most");
            (chars > LINE_CHARS_MAX).then(|| self.complain(number + 1, &rule()))
        };
        self.text.lines().enumerate().filter_map(wide).collect()
    }

    fn long_functions(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        for (at, _) in self.code.match_indices("fn ").filter(|(at, _)| starts_word(&self.code, *at))
        {
            let name = word(&self.code[at + 3..]);
            let Some(body) = body_of(&self.code, at).filter(|_| !name.is_empty()) else { continue };
            let lines = self.code[at..body.end].matches('\n').count() + 1;
            if lines > FUNCTION_LINES_MAX {
                let rule =
                    format!("fn {name} has {lines} lines; {FUNCTION_LINES_MAX} are the most");
                complaints.push(self.complain(line_of(&self.code, at), &rule));
            }
        }
        complaints
    }

    /// Paths to a layer that this file's layer may not know. Tests may know everything.
    fn upward_arrows(&self) -> Vec<String> {
        let Some((path, layer)) =
            self.in_core().and_then(|path| Some((path, path.split_once('/')?.0)))
        else {
            return Vec::new(); // lib.rs names every layer.
        };
        let code = blank_tests(&self.code);
        let mut complaints = Vec::new();
        if rank(layer).is_none() && layer != COUNTS && layer != SETTINGS {
            complaints.push(self.complain(
                1,
                &format!("{layer} has no place among the layers: give it one in tidy.rs"),
            ));
        }
        for (at, _) in code.match_indices("crate::").filter(|(at, _)| starts_word(&code, *at)) {
            for target in targets(&code[at + "crate::".len()..]) {
                if !may_use(layer, target) {
                    let order = LAYERS.join(" <- ");
                    let rule =
                        format!("{layer} must not use {target}: {order}; {COUNTS} uses units only");
                    complaints.push(self.complain(line_of(&code, at), &rule));
                }
            }
        }
        for (at, _) in code.match_indices("manx_trace::").filter(|_| !USE_TRACES.contains(&layer)) {
            complaints.push(
                self.complain(
                    line_of(&code, at),
                    &format!("{layer} must not use the trace readers"),
                ),
            );
        }
        // `super` of a file: its folder's module; each more, one up; the last one is the crate,
        // where every layer is.
        let depth = path.split('/').count() - usize::from(path.ends_with("/mod.rs"));
        let to_the_crate = "super::".repeat(depth);
        for (at, _) in code.match_indices(&to_the_crate).filter(|(at, _)| starts_word(&code, *at)) {
            complaints.push(self.complain(
                line_of(&code, at),
                "another layer is named by `crate::`, not by `super::`",
            ));
        }
        complaints
    }
}

fn rank(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|name| *name == layer)
}

fn may_use(layer: &str, target: &str) -> bool {
    if layer == target || layer == SETTINGS {
        return true;
    }
    match (rank(layer), rank(target)) {
        (None, _) => target == "units",
        (Some(_), None) => target == COUNTS,
        (Some(layer), Some(target)) => target < layer,
    }
}

/// The layers that a path names after `crate::`: one, or those of a group in braces. Macros of the
/// crate are no layers.
fn targets(path: &str) -> Vec<&str> {
    let Some(group) = path.strip_prefix('{') else {
        let name = word(path);
        let is_macro = path[name.len()..].starts_with('!');
        return if name.is_empty() || is_macro { Vec::new() } else { vec![name] };
    };
    let (mut names, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(word(group[start..at].trim_start()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn word(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())]
}

fn starts_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The braces of the item that begins at `at`; `None` when a semicolon ends it first.
fn body_of(code: &str, at: usize) -> Option<std::ops::Range<usize>> {
    let (mut round, mut depth, mut start) = (0, 0, 0);
    for (offset, c) in code[at..].char_indices() {
        match c {
            '(' | '[' => round += 1,
            ')' | ']' => round -= 1,
            ';' if round == 0 && depth == 0 => return None,
            '{' => {
                if depth == 0 {
                    start = at + offset;
                }
                depth += 1;
            }
            '}' if depth > 0 => {
                depth -= 1;
                if depth == 0 && round == 0 {
                    return Some(start..at + offset + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Blanks every item under `#[cfg(test)]`.
fn blank_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut left = code.to_string();
    while let Some(at) = left.find(MARK) {
        let item = at + MARK.len();
        let end = match body_of(&left, item) {
            Some(body) => body.end,
            None => left[item..].find(';').map_or(left.len(), |semicolon| item + semicolon + 1),
        };
        let blank = blanks(&left[at..end]);
        left.replace_range(at..end, &blank);
    }
    left
}

fn blanks(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect()
}

/// Blanks comments and literals, so that a brace or a path in prose is none. Lines stay where they
/// are.
fn blank_prose(text: &str) -> String {
    let (mut code, mut rest) = (String::with_capacity(text.len()), text);
    while !rest.is_empty() {
        let after_word = code.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let prose = length_of_prose(rest, after_word);
        if prose > 0 {
            code.push_str(&blanks(&rest[..prose]));
            rest = &rest[prose..];
        } else {
            let first = rest.chars().next().expect("not empty");
            code.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    code
}

/// The length of the comment or literal at the start of `text`; 0 when code is there.
fn length_of_prose(text: &str, after_word: bool) -> usize {
    let until = |from: usize, end: &str| {
        text[from..].find(end).map_or(text.len(), |at| from + at + end.len())
    };
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return until(2, "*/");
    }
    let raw = text.strip_prefix("br").or(text.strip_prefix('r')).filter(|_| !after_word);
    if let Some(raw) = raw {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            return until(
                text.len() - raw.len() + hashes + 1,
                &format!("\"{}", "#".repeat(hashes)),
            );
        }
    }
    match text.as_bytes()[0] {
        b'"' => end_of_quoted(text, '"'),
        // A character, not a lifetime: 'x', or '\..'.
        b'\'' if text[1..].starts_with('\\') || text[1..].chars().nth(1) == Some('\'') => {
            end_of_quoted(text, '\'')
        }
        _ => 0,
    }
}

fn end_of_quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the repository is there")
}

fn name_of(file: &Path) -> String {
    file.strip_prefix(root()).expect("below the root").to_string_lossy().replace('\\', "/")
}

fn sources() -> Vec<Source> {
    let is_rust = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "rs");
    let read = |file: PathBuf| {
        let text =
            fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        Source::new(&name_of(&file), &text)
    };
    files(&root().join("crates")).into_iter().filter(is_rust).map(read).collect()
}

/// Every file below `folder`, in order; without what is built, and without hidden folders other
/// than CI's.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a readable folder").path()).collect();
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let left_out =
            ["target", "out"].contains(&name.as_str()) || (name.starts_with('.') && name != ".ci");
        match entry.is_dir() {
            true if !left_out => found.extend(files(&entry)),
            false if !name.starts_with('.') && name != "Cargo.lock" => found.push(entry),
            _ => {}
        }
    }
    found
}

/// The rules themselves, against what they must see and must not.
mod rules {
    use super::*;

    fn arrows(file: &str, text: &str) -> Vec<String> {
        Source::new(&format!("crates/core/src/{file}"), text).upward_arrows()
    }

    #[test]
    fn an_upward_arrow_is_named_with_its_file_and_line() {
        let found = arrows("ftl/pool.rs", "use crate::units::Lpn;\n\nuse crate::drive::Drive;\n");
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .starts_with("crates/core/src/ftl/pool.rs:3: ftl must not use drive: units <- sim"),
            "{found:?}"
        );
    }

    #[test]
    fn an_upward_arrow_is_seen_in_a_group_in_a_path_and_through_super() {
        assert_eq!(
            arrows("flash/die.rs", "use crate::{units::Ppn, ftl::{Step, PageMap}};").len(),
            1
        );
        assert_eq!(arrows("sim/rng.rs", "fn f() -> crate::host::Job { todo() }").len(), 1);
        assert_eq!(arrows("stats/result.rs", "use crate::drive::Counters;").len(), 1);
        assert_eq!(arrows("flash/mod.rs", "use super::drive::Drive;").len(), 1);
        assert_eq!(arrows("flash/die.rs", "use super::super::drive::Drive;").len(), 1);
        assert_eq!(arrows("drive/mod.rs", "use manx_trace::TraceSpec;").len(), 1);
        assert_eq!(arrows("utils/mod.rs", "").len(), 1);
    }

    #[test]
    fn downward_arrows_tests_and_prose_are_left_alone() {
        assert!(
            arrows("host/job.rs", "use crate::drive::Drive;\nuse crate::stats::OpStats;")
                .is_empty()
        );
        assert!(
            arrows("config/load.rs", "use crate::host::JobSpec;\nuse manx_trace::TraceSpec;")
                .is_empty()
        );
        assert!(arrows("lib.rs", "pub use crate::host::Job;").is_empty());
        assert!(arrows("flash/die.rs", "use super::Flash;\nuse crate::units::Ppn;").is_empty());
        assert!(
            arrows("ftl/pool.rs", "#[cfg(test)]\nmod tests {\n    use crate::drive::Drive;\n}")
                .is_empty()
        );
        assert!(
            arrows("ftl/pool.rs", "/// See [`crate::drive`].\nconst A: &str = \"crate::drive\";")
                .is_empty()
        );
    }

    #[test]
    fn a_long_function_is_found_whatever_stands_in_its_literals() {
        let line = "    let brace = ('}', \"}\", r#\"}\"#); // }\n";
        let long = format!(
            "fn short() {{}}\n\nfn long<'a>(x: [u8; 4]) -> &'a str {{\n{}}}\n",
            line.repeat(69)
        );
        let found = Source::new("crates/core/src/x.rs", &long).long_functions();
        assert_eq!(found, ["crates/core/src/x.rs:3: fn long has 71 lines; 70 are the most"]);
        let fits = long.replacen(line, "", 1);
        assert!(Source::new("crates/core/src/x.rs", &fits).long_functions().is_empty());
    }

    #[test]
    fn a_path_of_one_machine_is_not_the_middle_of_another_path() {
        let path = concat!("/wo", "rk/");
        assert!(names_path(&format!("open {path}x"), path));
        assert!(!names_path(&format!("../frame{path}x"), path));
    }
}
