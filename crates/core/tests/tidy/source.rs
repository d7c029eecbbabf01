//! A source file as the rules see it: its code without comments and literals, its functions, lines
//! and arrows.

use super::{COUNTS, FUNCTION_LINES_MAX, LAYERS, LINE_CHARS_MAX, USES_TRACES};

/// A source file of the workspace.
pub struct Source {
    /// Its path from the root of the repository.
    pub name: String,
    pub text: String,
    /// The text with comments and the insides of literals blanked, line for line.
    pub code: String,
}

impl Source {
    pub fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_string(), text: text.to_string(), code: blank_prose(text) }
    }

    /// The path from the core's `src`, if it lies there.
    pub fn in_core(&self) -> Option<&str> {
        self.name.strip_prefix("crates/core/src/")
    }

    pub fn is_test(&self) -> bool {
        self.name.ends_with("/tests.rs") || self.name.contains("/tests/")
    }

    pub fn complain(&self, line: usize, rule: &str) -> String {
        format!("{}:{line}: {rule}", self.name)
    }

    pub fn wide_lines(&self) -> Vec<String> {
        let wide = |(number, line): (usize, &str)| {
            let chars = line.chars().count();
            let rule = || format!("the line has {chars} characters; {LINE_CHARS_MAX} are the most");
            (chars > LINE_CHARS_MAX).then(|| self.complain(number + 1, &rule()))
        };
        self.text.lines().enumerate().filter_map(wide).collect()
    }

    pub fn long_functions(&self) -> Vec<String> {
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
    pub fn upward_arrows(&self) -> Vec<String> {
        let Some((path, layer)) =
            self.in_core().and_then(|path| Some((path, path.split_once('/')?.0)))
        else {
            return Vec::new(); // lib.rs names every layer.
        };
        let code = blank_tests(&self.code);
        let mut complaints = Vec::new();
        if rank(layer).is_none() && layer != COUNTS {
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
        for (at, _) in code.match_indices("manx_trace::").filter(|_| layer != USES_TRACES) {
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
    if layer == target {
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

pub fn word(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())]
}

pub fn starts_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The braces of the item that begins at `at`; `None` when a semicolon ends it first.
pub fn body_of(code: &str, at: usize) -> Option<std::ops::Range<usize>> {
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
            // The end of what the item stands in: a field has no body.
            '}' => return None,
            _ => {}
        }
    }
    None
}

/// Blanks every item under `#[cfg(test)]`.
pub fn blank_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut left = code.to_string();
    while let Some(at) = left.find(MARK) {
        let item = at + MARK.len();
        let end = match body_of(&left, item) {
            Some(body) => body.end,
            None => left[item..].find([';', '}']).map_or(left.len(), |end| item + end),
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
