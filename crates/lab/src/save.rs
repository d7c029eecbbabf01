//! A folder of results: `result.json`, and the scenario of each run as it was run.

use crate::json::to_json;
use manx_core::config::Scenario;
use manx_core::stats::RunSet;
use std::io;
use std::path::Path;

/// Makes `folder` if it is not there yet; the error says what is in the way.
pub fn make_folder(folder: &Path) -> Result<(), String> {
    let name = folder.display();
    match std::fs::metadata(folder) {
        Ok(about) if about.is_dir() => Ok(()),
        Ok(_) => Err(format!("{name}: this is a file; the results need a folder")),
        Err(_) => std::fs::create_dir_all(folder).map_err(|error| format!("{name}: cannot make this folder: {error}")),
    }
}

/// Writes `result.json`, and `scenario.toml` or, for several runs, `scenario.POLICY.toml` each.
pub fn save(folder: &Path, set: &RunSet, runs: &[(String, Scenario)]) -> Result<(), String> {
    write(&folder.join("result.json"), &to_json(set))?;
    for (policy, scenario) in runs {
        let name = match runs.len() {
            1 => "scenario.toml".to_string(),
            _ => format!("scenario.{}.toml", file_name(policy)),
        };
        write(&folder.join(name), &as_run(scenario)?)?;
    }
    Ok(())
}

/// The scenario as a file that runs again from anywhere: policy merged in, traces by their full paths.
fn as_run(scenario: &Scenario) -> Result<String, String> {
    let mut scenario = scenario.clone();
    for trace in scenario.workload.jobs.iter_mut().filter_map(|job| job.trace.as_mut()) {
        if let Ok(path) = std::path::absolute(&trace.file) {
            trace.file = path.to_string_lossy().into_owned();
        }
    }
    toml::to_string(&scenario).map_err(|error| format!("the scenario cannot be written as TOML: {error}"))
}

/// A policy's name without what a file system might not like.
fn file_name(policy: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    policy.chars().map(plain).collect()
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let written: io::Result<()> = std::fs::write(path, text);
    written.map_err(|error| format!("{}: cannot write it: {error}", path.display()))
}
