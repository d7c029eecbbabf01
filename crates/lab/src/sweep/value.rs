//! The values of a table: typed cells, and how they are written.

use serde_json::Value;

/// Kind of value of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// Whole numbers.
    Integer,
    /// Numbers.
    Number,
    /// True or false.
    Boolean,
}

impl Kind {
    /// The kind that holds what both hold.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Integer | Self::Number, Self::Integer | Self::Number) => Self::Number,
            _ => Self::Text,
        }
    }
}

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// True or false.
    Boolean(bool),
    /// Not measured, or not a number.
    Missing,
}

impl Cell {
    /// A value as `--set` takes it: TOML, or text.
    pub fn of_toml(text: &str) -> Self {
        let parsed =
            format!("value = {text}").parse::<toml::Table>().ok().filter(|table| table.len() == 1);
        match parsed.and_then(|mut table| table.remove("value")) {
            Some(toml::Value::Integer(value)) => Self::Integer(value),
            Some(toml::Value::Float(value)) if value.is_finite() => Self::Number(value),
            Some(toml::Value::Boolean(value)) => Self::Boolean(value),
            Some(toml::Value::String(value)) => Self::Text(value),
            _ => Self::Text(text.to_string()),
        }
    }

    /// Value of a field of a result.
    pub fn of_json(value: &Value, kind: Kind) -> Self {
        match (kind, value) {
            (Kind::Integer, value) => value.as_i64().map_or(Self::Missing, Self::Integer),
            (Kind::Number, value) => value.as_f64().map_or(Self::Missing, Self::Number),
            (Kind::Boolean, Value::Bool(value)) => Self::Boolean(*value),
            _ => Self::Missing,
        }
    }

    /// The column that it fits into.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Text(_) | Self::Missing => Kind::Text,
            Self::Integer(_) => Kind::Integer,
            Self::Number(_) => Kind::Number,
            Self::Boolean(_) => Kind::Boolean,
        }
    }

    /// This value in a column of `kind`, where it was written as `text`.
    pub fn into_kind(self, kind: Kind, text: &str) -> Self {
        match (self, kind) {
            (Self::Integer(value), Kind::Number) => Self::Number(value as f64),
            (cell, kind) if cell.kind() == kind => cell,
            _ => Self::Text(text.to_string()),
        }
    }

    /// As a number, where it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Number(value) => Some(*value),
            Self::Boolean(is) => Some(f64::from(u8::from(*is))),
            Self::Text(_) | Self::Missing => None,
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => Value::from(text.as_str()),
            Self::Integer(value) => Value::from(*value),
            Self::Number(value) => Value::from(*value),
            Self::Boolean(value) => Value::from(*value),
            Self::Missing => Value::Null,
        }
    }
}

/// A number as JSON writes it, so that it reads back as itself; text as it is; nothing as nothing.
impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Missing => Ok(()),
            number => number.to_json().fmt(f),
        }
    }
}
