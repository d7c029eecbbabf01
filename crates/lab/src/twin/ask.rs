//! Options of a fit in words.

use super::{HoldOut, Stage};
use std::fmt;
use std::str::FromStr;

/// A name that can be that of a file.
///
/// # Errors
/// It has other characters, or too many.
pub fn named(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !text.is_empty() && text.len() <= 64 && text.chars().all(plain) {
        true => Ok(text.to_string()),
        false => Err("1 to 64 letters, digits, - and _ are allowed".to_string()),
    }
}

impl FromStr for HoldOut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let after = |text: &str| text.parse().ok().filter(|at: &f64| (0.0..=1e6).contains(at));
        match text {
            "each" => Ok(HoldOut::Each),
            "none" => Ok(HoldOut::Nothing),
            other if other.starts_with("name:") => {
                let names = other["name:".len()..].split(',').map(|name| name.trim().to_string());
                let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
                match names.is_empty() {
                    true => {
                        Err("name: needs the name of a run, a file without its ending".to_string())
                    }
                    false => Ok(HoldOut::Named(names)),
                }
            }
            other => {
                other.strip_prefix("after:").and_then(after).map(HoldOut::After).ok_or_else(|| {
                    "each, none, after:CAPACITIES (after:2.5) or name:RUN,RUN is allowed"
                        .to_string()
                })
            }
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Structure => f.write_str("dies and planes"),
            Stage::Together => f.write_str("all parameters"),
            Stage::Doubt => f.write_str("how far each can move"),
            Stage::Without(run) => write!(f, "without run {}", run + 1),
            Stage::Writes => f.write_str("long write"),
        }
    }
}
