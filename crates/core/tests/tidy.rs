//! Rules of the source, as far as a machine can check them: arrows, sizes, leftovers, paths of one
//! machine. ARCHITECTURE.md and CONTRIBUTING.md say why. Each complaint is one line: file, line,
//! rule.

#[path = "tidy/coupling.rs"]
mod coupling;
#[path = "tidy/ids.rs"]
mod ids;
#[path = "tidy/source.rs"]
mod source;

use source::{Source, blank_tests, body_of, starts_word, word};
use std::fs;
use std::path::{Path, PathBuf};

/// The data path from the bottom up: a layer may use itself and what stands before it.
const LAYERS: [&str; 8] = ["units", "sim", "flash", "ftl", "drive", "nvme", "array", "host"];
/// Beside the data path: counts, and uses only units.
const COUNTS: &str = "stats";

/// The layer that may use the crate of the trace readers: it plays them.
const USES_TRACES: &str = "host";

/// Crates whose code is part of a run: under the same bans (no clock, no thread, no file), in a
/// `clippy.toml` each.
const OF_A_RUN: [&str; 4] = ["base", "trace", "core", "config"];

/// Executables of tests beside their crate's `tests/all`: before everything else, and with an
/// allocator of its own.
const ALONE: [&str; 2] = ["crates/core/tests/tidy.rs", "crates/trace/tests/allocations.rs"];

const FILE_LINES_MAX: usize = 500;
const LINE_CHARS_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 70;

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
    let mut complaints = Vec::new();
    for source in sources() {
        let count = source.text.lines().count();
        if count > FILE_LINES_MAX {
            let text = format!("the file has {count} lines; {FILE_LINES_MAX} are the most");
            complaints.push(source.complain(1, &text));
        }
        let wide = source.wide_lines();
        match WIDE.iter().find(|(file, _)| *file == source.name) {
            Some(_) if wide.is_empty() => {
                complaints.push(source.complain(1, "needs no exemption any more: tidy.rs"))
            }
            Some(_) => {}
            None => complaints.extend(wide),
        }
        complaints.extend(source.long_functions());
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
        assert!(arrows("host/spec.rs", "use manx_trace::TraceSpec;").is_empty());
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
