//! Errors of the library as exceptions of `manx.errors`, with file, line, key and what is allowed.

use manx_config::ConfigError;
use manx_lab::registry::GetError;
use manx_lab::run::RunError;
use manx_lab::sweep::SweepError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Why something could not be done.
#[derive(Debug)]
pub enum Trouble {
    /// The input is wrong.
    Input(ConfigError),
    /// The input is wrong, and there is no more to say than this.
    Wrong(String),
    /// The work failed.
    Work(String),
}

impl From<ConfigError> for Trouble {
    fn from(error: ConfigError) -> Self {
        Self::Input(error)
    }
}

impl From<RunError> for Trouble {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Config(error) => Self::Input(error),
            RunError::Write(why) | RunError::Elsewhere(why) | RunError::Model(why) => {
                Self::Work(why)
            }
            error => Self::Wrong(error.to_string()),
        }
    }
}

impl From<GetError> for Trouble {
    fn from(error: GetError) -> Self {
        match error {
            GetError::Input(why) => Self::Wrong(why),
            GetError::Work(why) => Self::Work(why),
            GetError::Stopped => Self::Work("nothing was kept".to_string()),
        }
    }
}

impl From<SweepError> for Trouble {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Write(why) => Self::Work(why),
            SweepError::Run(error) => error.into(),
            error => Self::Wrong(error.to_string()),
        }
    }
}

impl From<Trouble> for PyErr {
    fn from(trouble: Trouble) -> Self {
        Python::attach(|py| exception(py, &trouble).unwrap_or_else(|error| error))
    }
}

fn exception(py: Python<'_>, trouble: &Trouble) -> PyResult<PyErr> {
    let about = PyDict::new(py);
    let (class, message) = match trouble {
        Trouble::Work(why) => ("RunError", why.clone()),
        Trouble::Wrong(why) => ("InputError", why.clone()),
        Trouble::Input(error) => {
            if let Some((file, line)) = error.file_and_line() {
                about.set_item("file", file)?;
                about.set_item("line", line)?;
            }
            if let Some((value, allowed)) = error.value_and_allowed() {
                about.set_item("value", value)?;
                about.set_item("allowed", allowed)?;
            }
            about.set_item("key", error.key())?;
            about.set_item("nearest", error.nearest())?;
            ("InputError", error.to_string())
        }
    };
    let class = py.import("manx.errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((as_said(&message),), Some(&about))?))
}

/// The options of the command line as the arguments of a call: `--device x: ..` is `device=x: ..`.
fn as_said(message: &str) -> String {
    let mut said = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find("--") {
        let (before, option) = rest.split_at(at);
        let begins = before.chars().next_back().is_none_or(|c| c == ' ' || c == '(' || c == '`');
        let name: String =
            option[2..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
        said += before;
        if !begins || name.is_empty() || name.starts_with('-') {
            said += "--";
            rest = &option[2..];
            continue;
        }
        let after = &option[2 + name.len()..];
        let has_value = after.starts_with(' ')
            && after[1..].chars().next().is_some_and(|c| c.is_alphanumeric() || "./~".contains(c));
        said += &name.replace('-', "_");
        rest = after;
        if has_value && option.len() < message.len() && before.trim().is_empty() {
            said.push('=');
            rest = &after[1..];
        }
    }
    said + rest
}
