//! The recipes of CONTRIBUTING, followed: each has an example, a diff in `recipes/`, and all of
//! them are made in one copy of the tree, which must compile, unit tests included.
//!
//! A recipe names every file that its example touches, and every file that it names is there. An
//! example's first line is the recipe's heading and, behind a colon, what NAME stands for.

mod change;

use crate::documents::{document, root};
use change::{Change, Tree};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the examples are.
const FOLDER: &str = "crates/cli/tests/all/recipes";

/// Files and folders that a check of the copy reads, and the documents that recipes name.
const PARTS: [&str; 10] = [
    "Cargo.lock",
    "Cargo.toml",
    "README.md",
    "crates",
    "devices",
    "docs",
    "experiments",
    "scenarios",
    "traces",
    "workloads",
];

/// The crates that the examples change.
const CRATES: [&str; 3] = ["manx-core", "manx-config", "manx-trace"];

/// Recipes that are parts of others, or add no code.
const WITHOUT_EXAMPLE: [&str; 3] = ["Add a named policy", "Add a counter", "Add an experiment"];

/// A recipe, followed once.
struct Example {
    /// The file of the diff.
    file: String,
    /// The heading of the recipe.
    recipe: String,
    /// The name in the place of NAME.
    name: String,
    change: Change,
}

impl Example {
    fn read(path: &Path) -> Self {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let diff = std::fs::read_to_string(path).unwrap();
        let title = diff.lines().next().and_then(|line| line.split_once(": "));
        let (recipe, name) = title.unwrap_or_else(|| panic!("{file}: no `RECIPE: NAME`"));
        let (recipe, name) = (recipe.to_string(), name.to_string());
        Self { recipe, name, change: Change::parse(&diff), file }
    }

    /// Its recipe's text in CONTRIBUTING.
    fn text(&self, contributing: &str) -> String {
        let heading = format!("\n## {}\n", self.recipe);
        let text = contributing.split(&heading).nth(1);
        let text = text.unwrap_or_else(|| panic!("{}: no recipe {:?}", self.file, self.recipe));
        text.split("\n## ").next().unwrap().to_string()
    }

    /// The paths that the recipe names, or ends of them.
    fn named(&self, contributing: &str) -> Vec<String> {
        let text = self.text(contributing).replace("NAME", &self.name);
        let is_path = |span: &&str| {
            span.ends_with('/') || [".rs", ".toml", ".md"].iter().any(|end| span.ends_with(end))
        };
        let spans = text.split('`').skip(1).step_by(2);
        spans.filter(|span| !span.contains(' ')).filter(is_path).map(str::to_string).collect()
    }
}

/// In the order of their files, in which they are made.
fn examples() -> Vec<Example> {
    let files = std::fs::read_dir(root().join(FOLDER)).unwrap().map(|entry| entry.unwrap().path());
    let mut diffs: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "diff")).collect();
    diffs.sort();
    diffs.iter().map(|path| Example::read(path)).collect()
}

/// True when `named` is the path of `file`, the end of it, or a folder that it is in.
fn leads_to(named: &str, file: &str) -> bool {
    let (file, named) = (format!("/{file}"), format!("/{named}"));
    if named.ends_with('/') { file.contains(&named) } else { file.ends_with(&named) }
}

fn add(tree: &mut Tree, path: &Path, name: String) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            add(tree, &entry.path(), name);
        }
    } else {
        tree.insert(name, std::fs::read(path).unwrap());
    }
}

/// The tree with every example in it.
fn followed(examples: &[Example]) -> Tree {
    let mut tree = Tree::new();
    PARTS.iter().for_each(|part| add(&mut tree, &root().join(part), part.to_string()));
    for Example { file, recipe, change, .. } in examples {
        let program = change.files.iter().find(|file| is_program(&file.path));
        assert!(program.is_none(), "{recipe}: {file} touches a test program, which is left out");
        if let Err(error) = change.apply(&mut tree) {
            panic!("{recipe}: its example, {FOLDER}/{file}, cannot be made: {error}");
        }
    }
    tree
}

/// The tree as it lies in the copy: a folder below its manifest. Cargo names what it compiles by a
/// crate's path from the manifest, and a copy in the same places would take and leave the files of
/// the tree itself.
fn moved(tree: Tree) -> Tree {
    let move_one = |(name, bytes): (String, Vec<u8>)| match name.as_str() {
        "Cargo.lock" => (name, bytes),
        "Cargo.toml" => {
            let manifest = String::from_utf8(bytes).unwrap();
            (name, manifest.replace("\"crates/", "\"tree/crates/").into_bytes())
        }
        _ => (format!("tree/{name}"), bytes),
    };
    tree.into_iter().filter(|(name, _)| !is_program(name)).map(move_one).collect()
}

/// True for a file of the test programs of [`CRATES`], which no example touches. Most of them
/// want their crate a second time, without its unit tests: only `MANX_LONG` compiles them.
fn is_program(name: &str) -> bool {
    let is_in = |of: &str| {
        let folder = of.replacen("manx-", "crates/", 1);
        name.strip_prefix(&folder).is_some_and(|rest| rest.starts_with("/tests/"))
    };
    std::env::var_os("MANX_LONG").is_none() && CRATES.into_iter().any(is_in)
}

/// Makes `folder` what `tree` says. A file that is so already is not written: cargo then need not
/// check it anew.
fn write(tree: &Tree, folder: &Path) {
    let mut there = Tree::new();
    for part in ["Cargo.lock", "Cargo.toml", "tree"] {
        if folder.join(part).exists() {
            add(&mut there, &folder.join(part), part.to_string());
        }
    }
    for name in there.keys().filter(|name| !tree.contains_key(*name)) {
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    for (name, bytes) in tree.iter().filter(|(name, bytes)| there.get(*name) != Some(bytes)) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// The profile of this build, whose folder has the macros and the build scripts of others.
fn profile() -> [&'static str; 3] {
    let folder = Path::new(env!("CARGO_BIN_EXE_manx")).parent().and_then(Path::file_name);
    match folder.and_then(|name| name.to_str()) {
        Some("ci") => ["--tests", "--profile", "ci"],
        _ => ["--lib", "--profile", "test"],
    }
}

/// Complaints of cargo about the crates, their tests included; nothing where they are right.
fn complaints(folder: &Path) -> String {
    // The folder of the tests' own build: some of what others wrote is compiled there already.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let mut command = Command::new(cargo);
    command.args(["check", "--offline", "--locked", "--quiet"]).args(profile());
    command.args(CRATES.iter().flat_map(|name| ["-p", name]));
    // The lints are not the recipes' (`.ci/tests`).
    command.env_remove("RUSTC_WORKSPACE_WRAPPER").env("CARGO_TARGET_DIR", target);
    let output = command.current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() && !said.contains("warning: ") { String::new() } else { said }
}

#[test]
fn the_recipes_of_contributing_compile_when_they_are_followed() {
    let (examples, contributing) = (examples(), document("CONTRIBUTING.md").text);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recipes");
    write(&moved(followed(&examples)), &folder);
    let said = complaints(&folder);
    if said.is_empty() {
        return;
    }
    let is_named =
        |example: &&Example| example.change.files.iter().any(|file| said.contains(&file.path));
    let recipes: String = examples
        .iter()
        .filter(is_named)
        .map(|example| {
            format!("\n## {} ({})\n{}", example.recipe, example.file, example.text(&contributing))
        })
        .collect();
    panic!("{said}\nThe recipes whose examples touch what is wrong:\n{recipes}");
}

#[test]
fn a_recipe_names_every_file_that_its_example_touches() {
    let contributing = document("CONTRIBUTING.md").text;
    let mut complaints = Vec::new();
    for example in examples() {
        let named = example.named(&contributing);
        for file in &example.change.files {
            if !named.iter().any(|named| leads_to(named, &file.path)) {
                complaints.push(format!("{}: does not name {}", example.recipe, file.path));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn a_file_that_a_recipe_names_is_there_and_is_the_only_one() {
    let (examples, contributing) = (examples(), document("CONTRIBUTING.md").text);
    let tree = followed(&examples);
    let mut complaints = Vec::new();
    for example in &examples {
        for named in example.named(&contributing) {
            let ends = tree.keys().filter(|file| leads_to(&named, file)).count();
            if !(ends == 1 || ends > 1 && named.ends_with('/') || tree.contains_key(&named)) {
                complaints.push(format!("{}: {named} may be {ends} files", example.recipe));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn every_recipe_that_adds_code_has_an_example() {
    let contributing = document("CONTRIBUTING.md").text;
    let mut recipes: Vec<&str> =
        contributing.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    recipes.retain(|line| line.starts_with("Add ") && !WITHOUT_EXAMPLE.contains(line));
    recipes.sort_unstable();
    let mut followed: Vec<String> = examples().into_iter().map(|example| example.recipe).collect();
    followed.sort();
    assert_eq!(recipes, followed);
}
