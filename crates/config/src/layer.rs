//! The layers of a scenario, each with its origin, so that a complaint can point at the text that
//! caused it.

use super::error::{ConfigError, Place};
use super::tree::{self, Path};
use toml::Table;
use toml::de::{DeTable, DeValue};

/// One layer: a file, a policy, an override.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    origin: Origin,
    /// The keys of this layer stand under this one (`device` for a device table, nothing for a
    /// scenario).
    under: Path,
    /// The settings of the layer.
    pub(crate) table: Table,
}

#[derive(Clone, Debug)]
enum Origin {
    File { file: String, text: String },
    Given { said: String },
}

impl Layer {
    /// Parses a file's text; a syntax error names line and column.
    pub(crate) fn file(file: &str, text: &str, under: &[&str]) -> Result<Self, ConfigError> {
        let table = text.parse::<Table>().map_err(|error| {
            let (line, column) = error.span().map(|span| position(text, span.start)).unzip();
            let place = Place::File { file: file.to_string(), line, column };
            ConfigError::at(place, format!("not TOML: {}", syntax(error.message())))
        })?;
        let under = under.iter().map(ToString::to_string).collect();
        Ok(Self {
            origin: Origin::File { file: file.to_string(), text: text.to_string() },
            under,
            table,
        })
    }

    /// A layer that the user gave on the command line, in the words `said`.
    pub(crate) fn given(said: String, table: Table) -> Self {
        Self { origin: Origin::Given { said }, under: Path::new(), table }
    }

    /// Whether this layer says something at `path`.
    pub(crate) fn says(&self, path: &[String]) -> bool {
        self.local(path)
            .is_some_and(|path| path.is_empty() || tree::get(&self.table, path).is_some())
    }

    /// The place of `path` in this layer: its line, or that of the nearest table around it.
    pub(crate) fn place(&self, path: &[String]) -> Place {
        match &self.origin {
            Origin::Given { said } => Place::Given(said.clone()),
            Origin::File { file, text } => {
                let line = self.local(path).and_then(|path| line_of(text, path));
                Place::File { file: file.clone(), line, column: None }
            }
        }
    }

    /// Where a whole-scenario complaint belongs: the file without a line.
    pub(crate) fn whole(&self) -> Place {
        match self.place(&[]) {
            Place::File { file, .. } => Place::File { file, line: None, column: None },
            place => place,
        }
    }

    /// The path seen from inside this layer.
    fn local<'a>(&self, path: &'a [String]) -> Option<&'a [String]> {
        path.strip_prefix(self.under.as_slice())
    }
}

/// The parser's message in one line, without the words of Rust.
fn syntax(message: &str) -> String {
    let too_large =
        message.strip_prefix("invalid type: integer `").and_then(|rest| rest.split_once('`'));
    match too_large {
        Some((number, _)) => {
            format!("the whole number {number} is too large, it must lie below 2^63")
        }
        None => message.replace('\n', "; "),
    }
}

/// The line on which `path` stands in `text`, or the deepest part of it that does.
fn line_of(text: &str, path: &[String]) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let (first, rest) = path.split_first()?;
    let (mut at, mut value) = entry(document.get_ref(), first)?;
    for part in rest {
        let next = match value {
            DeValue::Table(table) => entry(table, part),
            DeValue::Array(array) => {
                let element = part.parse().ok().and_then(|index: usize| array.get(index));
                element.map(|value| (value.span().start, value.get_ref()))
            }
            _ => None,
        };
        let Some(next) = next else { break };
        (at, value) = next;
    }
    Some(position(text, at).0)
}

/// Where the key `name` of `table` starts, and its value.
fn entry<'a, 'i>(table: &'a DeTable<'i>, name: &str) -> Option<(usize, &'a DeValue<'i>)> {
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == name)?;
    Some((key.span().start, value.get_ref()))
}

/// Line and column of a byte offset, both from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}
