//! Results that were written before, as `manx explain` and `manx plot` take them.

use super::Failure;
use manx_core::config::ConfigError;
use manx_core::stats::{RunResult, RunSet};
use manx_lab::json;
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
    let path = if Path::new(path).is_dir() { Path::new(path).join("result.json") } else { PathBuf::from(path) };
    let shown = path.display();
    let text = std::fs::read_to_string(&path).map_err(|error| input(format!("{shown}: cannot read it: {error}")))?;
    let RunSet { mut runs } =
        json::from_json(&text).map_err(|error| input(format!("{shown}: not a result: {error}")))?;
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
