//! A change of files: a unified diff without line numbers, made where its lines stand.
//!
//! A hunk's place is the one where its unchanged and its removed lines follow each other; other
//! changes of the file do not matter to it. A place that is gone, or is not the only one, is an
//! error that names the file and the lines.

use std::collections::BTreeMap;

/// Files by their paths from the root of the repository.
pub type Tree = BTreeMap<String, Vec<u8>>;

/// The changes of one diff.
#[derive(Debug, PartialEq, Eq)]
pub struct Change {
    pub files: Vec<FileChange>,
}

/// The changes of one file.
#[derive(Debug, PartialEq, Eq)]
pub struct FileChange {
    pub path: String,
    pub is_new: bool,
    hunks: Vec<Hunk>,
}

/// Lines, and those that replace them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hunk {
    old: String,
    new: String,
}

impl Change {
    /// Reads a diff. What stands before its first file is not part of it.
    pub fn parse(diff: &str) -> Self {
        let mut files: Vec<FileChange> = Vec::new();
        let mut is_new = false;
        for line in diff.lines() {
            if let Some(path) = line.strip_prefix("--- ") {
                is_new = path == "/dev/null";
            } else if let Some(path) = line.strip_prefix("+++ b/") {
                files.push(FileChange { path: path.to_string(), is_new, hunks: Vec::new() });
            } else if let Some(file) = files.last_mut() {
                file.take(line);
            }
        }
        // An empty line is one of the file, or stands between two files of the diff.
        for file in &mut files {
            file.hunks.iter_mut().for_each(Hunk::trim);
        }
        Self { files }
    }

    /// Makes the change; the error names the file and what does not stand there.
    pub fn apply(&self, tree: &mut Tree) -> Result<(), String> {
        self.files.iter().try_for_each(|file| {
            let (path, there) = (&file.path, tree.get(&file.path));
            let text = match (file.is_new, there) {
                (true, None) => file.hunks.iter().map(|hunk| hunk.new.as_str()).collect(),
                (true, Some(_)) => return Err(format!("{path} is there already")),
                (false, None) => return Err(format!("there is no {path}")),
                (false, Some(text)) => file.edit(&String::from_utf8_lossy(text))?,
            };
            tree.insert(path.clone(), text.into_bytes());
            Ok(())
        })
    }
}

impl FileChange {
    fn take(&mut self, line: &str) {
        if line.starts_with("@@") {
            self.hunks.push(Hunk::default());
            return;
        }
        let Some(hunk) = self.hunks.last_mut() else { return };
        let (kind, rest) = line.split_at(usize::from(!line.is_empty()));
        if kind != "+" {
            hunk.old += &format!("{rest}\n");
        }
        if kind != "-" {
            hunk.new += &format!("{rest}\n");
        }
    }

    fn edit(&self, text: &str) -> Result<String, String> {
        // Lines begin behind a line's end, the first one too.
        let mut text = format!("\n{text}");
        for Hunk { old, new } in &self.hunks {
            let (old, new) = (format!("\n{old}"), format!("\n{new}"));
            let places: Vec<usize> = text.match_indices(&old).map(|(at, _)| at).collect();
            let [at] = places[..] else {
                let (path, count) = (&self.path, places.len());
                return Err(format!("{path} has {count} places with these lines, not one:{old}"));
            };
            text.replace_range(at..at + old.len(), &new);
        }
        Ok(text.split_off(1))
    }
}

impl Hunk {
    fn trim(&mut self) {
        while self.old.ends_with("\n\n") && self.new.ends_with("\n\n") {
            self.old.pop();
            self.new.pop();
        }
        if self.old == "\n" && self.new.ends_with("\n\n") {
            (self.old, _) = (String::new(), self.new.pop());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Tree {
        Tree::from([("a".to_string(), text.into())])
    }

    fn edited(text: &str, hunk: &str) -> Result<String, String> {
        let mut tree = tree(text);
        Change::parse(&format!("Why\n\n--- a/a\n+++ b/a\n@@\n{hunk}\n")).apply(&mut tree)?;
        Ok(String::from_utf8(tree.remove("a").unwrap()).unwrap())
    }

    #[test]
    fn a_hunk_is_made_where_its_lines_stand_whatever_else_has_changed() {
        assert_eq!(
            edited("x\none\ntwo\ny\n", " one\n+more\n two").unwrap(),
            "x\none\nmore\ntwo\ny\n"
        );
        assert_eq!(edited("one\n\ntwo\n", "\n-two\n+2").unwrap(), "one\n\n2\n");
    }

    #[test]
    fn a_place_that_is_gone_or_not_the_only_one_is_named() {
        let gone = edited("one\n", " two\n+three").unwrap_err();
        assert_eq!(gone, "a has 0 places with these lines, not one:\ntwo\n");
        let twice = edited("one\ntwo\none\n", " one\n+more").unwrap_err();
        assert_eq!(twice, "a has 2 places with these lines, not one:\none\n");
    }

    #[test]
    fn a_new_file_is_all_that_is_added_and_must_not_be_there() {
        let change = Change::parse("--- /dev/null\n+++ b/new\n@@\n+one\n+\n+two\n\n");
        let mut tree = tree("");
        change.apply(&mut tree).unwrap();
        assert_eq!(tree["new"], b"one\n\ntwo\n");
        assert_eq!(change.apply(&mut tree), Err("new is there already".to_string()));
    }
}
