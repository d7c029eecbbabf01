//! Values of a JSON document by their path, each with an error that names it.

use super::MeasureError;
use serde_json::Value;

/// A value, and where in which file it stands.
#[derive(Clone, Debug)]
pub(super) struct At<'a> {
    pub(super) file: &'a str,
    pub(super) path: String,
    pub(super) value: &'a Value,
}

impl<'a> At<'a> {
    /// An error here.
    pub(super) fn error(&self, message: impl Into<String>) -> MeasureError {
        MeasureError::new(self.file, self.path.clone(), message)
    }

    /// The field `name`, if it is there.
    pub(super) fn get(&self, name: &str) -> Option<At<'a>> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        let path =
            if self.path.is_empty() { name.to_string() } else { format!("{}.{name}", self.path) };
        Some(At { file: self.file, path, value })
    }

    /// The field `name`, which must be there.
    pub(super) fn need(&self, name: &str) -> Result<At<'a>, MeasureError> {
        self.get(name).ok_or_else(|| self.error(format!("\"{name}\" is missing")))
    }

    /// A number that is not negative; fio's options are texts.
    pub(super) fn number(&self) -> Result<f64, MeasureError> {
        let number = match self.value {
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_f64(),
        };
        number.filter(|number: &f64| number.is_finite() && *number >= 0.0).ok_or_else(|| {
            self.error(format!("{} is not allowed: a number of 0 or more", self.value))
        })
    }

    /// A number above 0.
    pub(super) fn positive(&self) -> Result<f64, MeasureError> {
        let number = self.number()?;
        if number > 0.0 {
            Ok(number)
        } else {
            Err(self.error("0 is not allowed: nothing was measured"))
        }
    }

    /// A whole number from 1 to `most`.
    pub(super) fn count(&self, most: u32) -> Result<u32, MeasureError> {
        let number = self.number()?;
        let holds = number.fract() == 0.0 && (1.0..=f64::from(most)).contains(&number);
        if holds {
            Ok(number as u32)
        } else {
            let value = self.value;
            Err(self.error(format!("{value} is not allowed: a whole number from 1 to {most}")))
        }
    }
}
