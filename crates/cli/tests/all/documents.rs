//! The Markdown of the repository, as the tests of the documents read it.

use std::path::{Path, PathBuf};

/// A Markdown file.
pub struct Document {
    /// Its path from the root of the repository.
    pub name: String,
    pub text: String,
}

/// A fenced block of one.
pub struct Block {
    /// The line of the fence, from 1.
    pub line: usize,
    /// The words behind the fence: the language, then what the tests are told.
    pub info: String,
    pub lines: Vec<String>,
}

impl Block {
    /// The first word of the info string.
    pub fn language(&self) -> &str {
        self.info.split_whitespace().next().unwrap_or("")
    }

    /// The rest of it: `long: WHY`, `file: NAME`.
    pub fn told(&self, word: &str) -> Option<&str> {
        let rest = self.info.split_once(' ')?.1;
        Some(rest.strip_prefix(word)?.strip_prefix(':')?.trim())
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The file at this path of the repository.
pub fn document(name: &str) -> Document {
    let text = std::fs::read_to_string(root().join(name))
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    Document { name: name.to_string(), text }
}

/// README, docs/ and the page of the sample trace: what a user reads, in the order of their paths.
pub fn user_documents() -> Vec<Document> {
    let mut names = vec!["README.md".to_string(), "traces/README.md".to_string()];
    collect(&root(), "docs", &mut names);
    names.sort();
    names.iter().map(|name| document(name)).collect()
}

/// Those, and what a developer reads.
pub fn all_documents() -> Vec<Document> {
    let mut all = user_documents();
    let names =
        ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "crates/report/vendor/README.md"];
    all.extend(names.into_iter().filter(|name| root().join(name).exists()).map(document));
    all
}

fn collect(root: &Path, folder: &str, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect(root, &name, names);
        } else if name.ends_with(".md") {
            names.push(name);
        }
    }
}

/// The fenced blocks of a document.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut all = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => all.push(block),
            (Some(info), None) => {
                open = Some(Block {
                    line: number + 1,
                    info: info.trim().to_string(),
                    lines: Vec::new(),
                });
            }
            (None, Some(mut block)) => {
                block.lines.push(line.to_string());
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a fence that is not closed");
    all
}

/// The lines outside of fenced blocks, with their numbers from 1.
pub fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut all = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            all.push((number + 1, line));
        }
    }
    all
}

/// The pieces of a line between backticks.
pub fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}
