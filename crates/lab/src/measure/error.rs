//! The one error of a measurement that cannot be used.

use std::fmt;

/// Why a measurement cannot be used: its file, the place in it, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasureError {
    file: String,
    place: String,
    message: String,
}

impl MeasureError {
    /// An error at `place` of `file`; an empty place is the file as a whole.
    pub fn new(file: &str, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { file: file.to_string(), place: place.into(), message: message.into() }
    }
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, place, message } = self;
        match place.as_str() {
            "" => write!(f, "{file}: {message}"),
            place => write!(f, "{file}: {place}: {message}"),
        }
    }
}

impl std::error::Error for MeasureError {}
