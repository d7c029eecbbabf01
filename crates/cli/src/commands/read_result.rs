//! Results that were written before, as `manx explain` and `manx plot` take them.

use super::Failure;
use manx_config::ConfigError;
use manx_core::stats::{RunResult, RunSet};
use manx_lab::json;
use manx_lab::load::read_bounded;
use std::path::{Path, PathBuf};

fn input(message: String) -> Failure {
    ConfigError::new(message).into()
}

/// The runs of `PATH` or `NAME=PATH`. A path that is there is a path, whatever it holds.
pub fn read_result(said: &str) -> Result<Vec<RunResult>, Failure> {
    let (name, path) = match said.split_once('=') {
        Some((name, path)) if !name.is_empty() && !Path::new(said).exists() => (Some(name), path),
        _ => (None, said),
    };
    if path.is_empty() {
        return Err(input(format!("{said}: no path behind the name: expected NAME=RESULT")));
    }
    let path = if Path::new(path).is_dir() {
        Path::new(path).join("result.json")
    } else {
        PathBuf::from(path)
    };
    let shown = path.display();
    let bytes =
        read_bounded(&path).map_err(|error| input(format!("{shown}: cannot read it: {error}")))?;
    let not_one = |why: &dyn std::fmt::Display| {
        input(format!(
            "{shown}: not a result that `manx run` or `manx compare` wrote \
             with --out or --json: {why}"
        ))
    };
    let text = String::from_utf8(bytes).map_err(|_| not_one(&"no UTF-8 text"))?;
    if text.trim().is_empty() {
        return Err(not_one(&"it is empty"));
    }
    let RunSet { mut runs } = json::from_json(&text).map_err(|error| not_one(&error))?;
    if runs.is_empty() {
        return Err(input(format!("{shown}: it holds no run")));
    }
    if let Some(name) = name {
        let alone = runs.len() == 1;
        for run in &mut runs {
            run.policy = if alone { name.to_string() } else { format!("{name} {}", run.policy) };
        }
    }
    Ok(runs)
}
