//! The one error of this boundary: where, which key, which value, what is allowed instead.

use super::Invalid;
use std::fmt;

/// Why a scenario, a device table, a policy or an override cannot be used. Nothing was run.
///
/// Its text is one line without an `error:` in front; the caller that prints it adds that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(Box<Complaint>);

/// The parts of an error, on the heap: every `Result` of a load is as large as its error.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Complaint {
    place: Place,
    problem: Problem,
}

/// Where the offending text stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nowhere in particular: an argument.
    Nowhere,
    /// A file, and its line and column as far as they are known.
    File { file: String, line: Option<usize>, column: Option<usize> },
    /// An override or a policy, in the words the user gave it.
    Given(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    Message(String),
    NotAllowed { key: String, value: String, allowed: String },
    UnknownKey { key: String, nearest: Option<String> },
}

impl ConfigError {
    /// An error that belongs to no file.
    pub fn new(message: impl Into<String>) -> Self {
        Self::at(Place::Nowhere, message)
    }

    /// An error about a file as a whole: it is missing, a directory, empty.
    pub fn file(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self::at(Place::File { file: file.into(), line: None, column: None }, message)
    }

    pub(crate) fn at(place: Place, message: impl Into<String>) -> Self {
        Self::of(place, Problem::Message(message.into()))
    }

    pub(crate) fn not_allowed(place: Place, key: &str, value: &str, allowed: &str) -> Self {
        let (key, value, allowed) = (key.to_string(), short(value), allowed.to_string());
        Self::of(place, Problem::NotAllowed { key, value, allowed })
    }

    pub(crate) fn unknown_key(place: Place, key: String, nearest: Option<String>) -> Self {
        Self::of(place, Problem::UnknownKey { key, nearest })
    }

    /// The file that it is about, if any, and the line (from 1), if that is known.
    pub fn file_and_line(&self) -> Option<(&str, Option<usize>)> {
        match &self.0.place {
            Place::File { file, line, .. } => Some((file, *line)),
            Place::Nowhere | Place::Given(_) => None,
        }
    }

    /// The key that it is about, if any.
    pub fn key(&self) -> Option<&str> {
        match &self.0.problem {
            Problem::Message(_) => None,
            Problem::NotAllowed { key, .. } | Problem::UnknownKey { key, .. } => Some(key),
        }
    }

    /// The value that is not allowed, and what is.
    pub fn value_and_allowed(&self) -> Option<(&str, &str)> {
        match &self.0.problem {
            Problem::NotAllowed { value, allowed, .. } => Some((value, allowed)),
            Problem::Message(_) | Problem::UnknownKey { .. } => None,
        }
    }

    /// The key that may have been meant in place of an unknown one.
    pub fn nearest(&self) -> Option<&str> {
        match &self.0.problem {
            Problem::UnknownKey { nearest, .. } => nearest.as_deref(),
            Problem::Message(_) | Problem::NotAllowed { .. } => None,
        }
    }

    fn of(place: Place, problem: Problem) -> Self {
        Self(Box::new(Complaint { place, problem }))
    }
}

/// A value as text that fits in a line: 1e300 has three hundred digits.
fn short(value: &str) -> String {
    match (value.char_indices().nth(60), value.parse::<f64>()) {
        (None, _) => value.to_string(),
        (Some(_), Ok(number)) => format!("{number:e}"),
        (Some((cut, _)), Err(_)) => format!("{}..", &value[..cut]),
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.place {
            Place::Nowhere => {}
            Place::Given(given) => write!(f, "{given}: ")?,
            Place::File { file, line, column } => {
                f.write_str(file)?;
                for number in [line, column].into_iter().flatten() {
                    write!(f, ":{number}")?;
                }
                f.write_str(": ")?;
            }
        }
        match &self.0.problem {
            Problem::Message(message) => f.write_str(message),
            Problem::NotAllowed { key, value, allowed } => {
                write!(f, "{key} = {value} is not allowed: {allowed}")
            }
            Problem::UnknownKey { key, nearest: Some(nearest) } => {
                write!(f, "unknown key {key}; did you mean {nearest}?")
            }
            Problem::UnknownKey { key, nearest: None } => write!(f, "unknown key {key}"),
        }
    }
}

impl std::error::Error for ConfigError {}

impl From<Invalid> for ConfigError {
    fn from(Invalid { key, value, allowed }: Invalid) -> Self {
        Self::not_allowed(Place::Nowhere, &key, &value, &allowed)
    }
}
