//! A folder of results: `result.json`, and the scenario of each run as it was run.

use crate::json::to_json;
use manx_core::config::Scenario;
use manx_core::stats::RunSet;
use std::io;
use std::path::{Path, PathBuf};

/// Folders that were not there before, innermost first.
#[derive(Debug, Default)]
#[must_use]
pub struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Takes them away again: nothing came to lie in them.
    pub fn remove(&self) {
        // One that cannot be removed is in use by now, and so are those around it.
        let _ = self.0.iter().try_for_each(std::fs::remove_dir);
    }
}

/// Makes `folder` if it is not there yet; the error says what is in the way.
pub fn make_folder(folder: &Path) -> Result<MadeFolders, String> {
    let name = folder.display();
    match std::fs::metadata(folder) {
        Ok(about) if about.is_dir() => Ok(MadeFolders::default()),
        Ok(_) => Err(format!("{name}: this is a file; the results need a folder")),
        Err(_) => {
            let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
            let made = folder.ancestors().take_while(missing).map(Path::to_path_buf).collect();
            let error = |error| format!("{name}: cannot make this folder: {error}");
            std::fs::create_dir_all(folder).map_err(error)?;
            Ok(MadeFolders(made))
        }
    }
}

/// The names of the files of these runs: what [`save`] writes, and the report.
pub fn result_files(runs: &[(String, Scenario)]) -> Vec<String> {
    let scenarios = runs.iter().map(|(policy, _)| scenario_file(policy, runs.len()));
    ["result.json", "report.html"].map(str::to_string).into_iter().chain(scenarios).collect()
}

fn scenario_file(policy: &str, runs: usize) -> String {
    if runs == 1 { "scenario.toml".to_string() } else { format!("scenario.{}.toml", file_name(policy)) }
}

/// Writes `result.json`, and `scenario.toml` or, for several runs, `scenario.POLICY.toml` each.
pub fn save(folder: &Path, set: &RunSet, runs: &[(String, Scenario)]) -> Result<(), String> {
    write(&folder.join("result.json"), to_json(set))?;
    for (policy, scenario) in runs {
        write(&folder.join(scenario_file(policy, runs.len())), as_run(scenario)?)?;
    }
    Ok(())
}

/// The scenario as a file that runs again from anywhere: policy merged in, traces by their full paths.
pub fn as_run(scenario: &Scenario) -> Result<String, String> {
    let mut scenario = scenario.clone();
    for trace in scenario.workload.jobs.iter_mut().filter_map(|job| job.trace.as_mut()) {
        if let Ok(path) = std::path::absolute(&trace.file) {
            trace.file = path.to_string_lossy().into_owned();
        }
    }
    if scenario.workload.act.is_some() {
        // They are made again when the file is read, and may not stand beside it.
        scenario.workload.jobs.clear();
    }
    toml::to_string(&scenario).map_err(|error| format!("the scenario cannot be written as TOML: {error}"))
}

/// A policy's name without what a file system might not like.
pub(crate) fn file_name(policy: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    policy.chars().map(plain).collect()
}

/// Writes the whole file or none: under another name first.
pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), String> {
    // Two processes may write the same file: the last one's is there, and no mixture.
    let beside = path.with_added_extension(format!("{}.part", std::process::id()));
    let written: io::Result<()> = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // Half a file helps nobody; that it cannot be removed either changes nothing.
        let _ = std::fs::remove_file(&beside);
    }
    written.map_err(|error| format!("{}: cannot write it: {error}", path.display()))
}
