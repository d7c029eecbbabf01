//! Texts for users: every link leads somewhere, the words are those of docs/glossary.md, and they
//! are spelt right.

use crate::documents::{Document, all_documents, document, prose, root, user_documents};
use crate::support::{manx, python, stderr, stdout};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// Words of a paper that the dictionary would correct: Wu & He's "intra phase cancelation".
const SPELT_SO: &str = "cancelation";

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let mut anchors = BTreeMap::new();
    let mut complaints = Vec::new();
    for document in all_documents() {
        for (line, target) in links(&document) {
            if target.starts_with("https://") {
                continue;
            }
            let (path, anchor) = target
                .split_once('#')
                .map_or((target.as_str(), None), |(path, at)| (path, Some(at)));
            let file =
                if path.is_empty() { document.name.clone() } else { beside(&document.name, path) };
            let place = format!("{}:{line}: {target}", document.name);
            if !root().join(&file).exists() {
                complaints.push(format!("{place}: there is no {file}"));
            } else if let Some(anchor) = anchor {
                let there = anchors.entry(file.clone()).or_insert_with(|| headings(&file));
                if !there.contains(anchor) {
                    complaints.push(format!("{place}: no such heading, of {there:?}"));
                }
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn a_page_that_is_named_in_code_or_in_a_message_is_there() {
    let mut complaints = Vec::new();
    let named = |text: &str| -> Vec<String> {
        let pieces = text.split("docs/").skip(1);
        let name = |piece: &str| {
            piece
                .split(|c: char| !(c.is_ascii_alphanumeric() || "-_/.".contains(c)))
                .next()
                .map(str::to_string)
        };
        pieces.filter_map(name).filter(|name| name.ends_with(".md")).collect()
    };
    for folder in ["crates", "experiments", "scenarios", "workloads", "devices"] {
        for file in files(&root().join(folder)) {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            for name in
                named(&text).into_iter().filter(|name| !root().join("docs").join(name).exists())
            {
                complaints.push(format!("{}: docs/{name}", file.display()));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn the_summary_of_the_book_has_every_page_once() {
    let summary = document("docs/SUMMARY.md");
    let listed: Vec<String> =
        links(&summary).into_iter().map(|(_, target)| format!("docs/{target}")).collect();
    let there: BTreeSet<String> = files(&root().join("docs"))
        .into_iter()
        .map(|file| file.strip_prefix(root()).unwrap().display().to_string())
        .filter(|name| name.ends_with(".md") && !name.ends_with("SUMMARY.md"))
        .collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), there);
    assert_eq!(listed.len(), there.len(), "a page is listed twice");
}

#[test]
fn the_documents_use_the_words_of_the_glossary() {
    let refused = refused_words();
    let mut complaints = Vec::new();
    for document in user_documents() {
        // The glossary has the refused words in code spans.
        let mut text = String::new();
        let mut lines = Vec::new();
        for (line, prose) in prose(&document.text) {
            lines.push((text.len(), line));
            text += &without_code(prose);
            text.push(' ');
        }
        for (at, word) in found(&text, &refused) {
            let line = lines.iter().rev().find(|(begin, _)| *begin <= at).unwrap().1;
            complaints.push(format!("{}:{line}: `{word}`", document.name));
        }
    }
    assert!(complaints.is_empty(), "see docs/glossary.md\n{}", complaints.join("\n"));
}

#[test]
fn help_lists_and_schemas_use_the_words_of_the_glossary() {
    let refused = refused_words();
    let mut complaints = Vec::new();
    for (command, text) in screens() {
        let text = without_code(&text.split_whitespace().collect::<Vec<_>>().join(" "));
        for (at, word) in found(&text, &refused) {
            let around = &text[text.floor_char_boundary(at.saturating_sub(50))..];
            let around: String = around.chars().take(110).collect();
            complaints.push(format!("manx {command}: `{word}` in ..{around}.."));
        }
    }
    assert!(complaints.is_empty(), "see docs/glossary.md\n{}", complaints.join("\n"));
}

/// Errors, warnings, the table and the report are texts of the source; so are assertions.
#[test]
fn the_texts_of_the_program_use_the_words_of_the_glossary() {
    let refused = refused_words();
    let mut complaints = Vec::new();
    for file in files(&root().join("crates")) {
        let name = file.strip_prefix(root()).unwrap().display().to_string();
        if !name.ends_with(".rs") || !name.contains("/src/") || name.contains("tests") {
            continue;
        }
        let source = std::fs::read_to_string(&file).unwrap();
        let source = source.split("#[cfg(test)]\nmod").next().unwrap();
        for (at, text) in texts(source) {
            for (_, word) in found(&without_code(&text), &refused) {
                let line = source[..at].lines().count().max(1);
                complaints.push(format!("{name}:{line}: `{word}` in {text}"));
            }
        }
    }
    assert!(complaints.is_empty(), "see docs/glossary.md\n{}", complaints.join("\n"));
}

#[test]
fn what_users_read_is_spelt_right() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("spelling");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for (command, text) in screens() {
        std::fs::write(folder.join(command.replace([' ', '/'], "_") + ".txt"), text).unwrap();
    }
    let read = [
        "README.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
        "docs",
        "traces/README.md",
        "devices",
        "workloads",
    ];
    let output = Command::new(python())
        .args(["-m", "codespell_lib", "-L", SPELT_SO, "scenarios", "experiments"])
        .args(read)
        .arg(&folder)
        .current_dir(root())
        .output();
    let output =
        output.unwrap_or_else(|error| panic!("{}: {error}: `make deps` makes it", python()));
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
}

/// Texts of the program itself: the help of each command, the lists, the schemas.
fn screens() -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut left = vec![String::new()];
    while let Some(command) = left.pop() {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        // `manx plot` may not be built.
        let Some(help) = Some(manx(&words))
            .filter(|output| output.status.success())
            .map(|output| stdout(&output))
        else {
            continue;
        };
        // The commands stand under headings of their own, before the options.
        let commands = help.split("\nOptions:\n").next().unwrap_or_default();
        if help.contains("<COMMAND>") {
            let lines = commands.lines();
            let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
            let names = names
                .filter_map(|line| line.split_whitespace().next())
                .filter(|name| *name != "help");
            left.extend(names.map(|name| format!("{command} {name}").trim().to_string()));
        }
        all.push((format!("{command} --help").trim().to_string(), help));
    }
    for list in [
        "policy list",
        "device list",
        "workload list",
        "trace formats",
        "lab list",
        "schema scenario",
        "schema result",
    ] {
        all.push((list.to_string(), stdout(&manx(&list.split(' ').collect::<Vec<_>>()))));
    }
    assert!(all.len() > 20, "{:?}", all.iter().map(|(command, _)| command).collect::<Vec<_>>());
    all
}

/// The first cells of the last table of the glossary: words in code spans.
fn refused_words() -> Vec<String> {
    let glossary = document("docs/glossary.md").text;
    let table = glossary.split("## Words that are not used").nth(1).unwrap().to_string();
    let cells = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(" | ").next().map(str::to_string));
    let words =
        cells.flat_map(|cell| cell.split('`').step_by(2).map(str::to_string).collect::<Vec<_>>());
    let words: Vec<String> = words.filter(|word| word.chars().any(char::is_alphabetic)).collect();
    assert!(words.len() > 20, "{words:?}");
    words
}

/// Where a text has a refused word, whole: `garbage collection` is none, nor is a part of a name
/// with `-`, `_` or `.`, nor a name in quotes or braces.
fn found(text: &str, refused: &[String]) -> Vec<(usize, String)> {
    let lower = text.to_ascii_lowercase();
    let part = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte))
    };
    let mut all = Vec::new();
    for word in refused {
        for (at, _) in lower.match_indices(word.as_str()) {
            let before = &lower.as_bytes()[..at];
            let whole = !part(before.last()) && !part(lower.as_bytes().get(at + word.len()));
            let name = before.ends_with(b"{")
                || before.ends_with(b"/")
                || before.ends_with(b".")
                    && before.len() > 1
                    && before[before.len() - 2].is_ascii_alphanumeric();
            let quoted =
                before.ends_with(b"\"") && lower.as_bytes().get(at + word.len()) == Some(&b'"');
            if whole && !name && !quoted && !before.ends_with(b"garbage ") {
                all.push((at, word.clone()));
            }
        }
    }
    all
}

/// A line without its code spans and the targets of its links.
fn without_code(line: &str) -> String {
    let outside: Vec<&str> = line.split('`').step_by(2).collect();
    let mut text = String::new();
    for (number, piece) in outside.join("x").split("](").enumerate() {
        text +=
            if number == 0 { piece } else { piece.split_once(')').map_or("", |(_, rest)| rest) };
    }
    text
}

/// The string literals of a source that hold a sentence, and where they begin; comments are passed
/// over.
fn texts(source: &str) -> Vec<(usize, String)> {
    let bytes = source.as_bytes();
    let mut all = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if source[at..].starts_with("//") {
            at += source[at..].find('\n').unwrap_or(source.len() - at);
        } else if bytes[at] == b'\'' {
            // A character; else a lifetime, which ends nowhere.
            let end = if bytes.get(at + 1) == Some(&b'\\') { at + 3 } else { at + 2 };
            at = if bytes.get(end) == Some(&b'\'') { end + 1 } else { at + 1 };
        } else if bytes[at] == b'"' {
            let mut end = at + 1;
            while bytes[end] != b'"' {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            let text = source[at + 1..end].replace("\\\n", " ");
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if text.contains(' ') {
                all.push((at, text));
            }
            at = end + 1;
        } else {
            at += source[at..].chars().next().unwrap().len_utf8();
        }
    }
    all
}

/// The targets of the links of a document, and their lines.
fn links(document: &Document) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    for (line, text) in prose(&document.text) {
        let text = text.split('`').step_by(2).collect::<Vec<_>>().join("x");
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        all.extend(targets.map(|(target, _)| (line, target.to_string())));
    }
    all
}

/// The anchors of a document's headings, as GitHub and mdBook make them.
fn headings(name: &str) -> BTreeSet<String> {
    let document = document(name);
    let lines = prose(&document.text).into_iter().map(|(_, line)| line);
    let headings =
        lines.filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    headings
        .map(|line| line.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-"))
        .collect()
}

/// `path` as a document of this name means it, from the root.
fn beside(name: &str, path: &str) -> String {
    let mut parts = Vec::new();
    for part in Path::new(name).parent().unwrap().join(path).components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            part => parts.push(part.as_os_str().to_str().unwrap().to_string()),
        }
    }
    parts.join("/")
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.push(path);
        }
    }
    all.sort();
    all
}
