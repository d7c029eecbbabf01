//! A folder of results: `result.json`, and the scenario of each run as it was run.

use crate::json::to_json;
use crate::load::read_bounded;
use crate::prepare::Key;
use manx_config::Scenario;
use manx_core::stats::RunSet;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The first line of a scenario that was run, up to the SHA-256 of what follows it.
const HEAD: &str = "# Written by manx: the scenario as it was run. SHA-256 of what follows: ";

/// How every result begins, blanks aside.
const RESULT_BEGINS: &str = "{\"runs\":[{\"scenario\":";

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

/// The names of the files of these runs: [`documents`], and the report.
pub fn result_files(runs: &[(String, Scenario)]) -> Vec<String> {
    let scenarios = runs.iter().map(|(policy, _)| scenario_file(policy, runs.len()));
    ["result.json", "report.html"].map(str::to_string).into_iter().chain(scenarios).collect()
}

fn scenario_file(policy: &str, runs: usize) -> String {
    if runs == 1 {
        "scenario.toml".to_string()
    } else {
        format!("scenario.{}.toml", file_name(policy))
    }
}

/// `result.json`, and `scenario.toml` or, for several runs, `scenario.POLICY.toml` each: names and
/// texts.
pub fn documents(
    set: &RunSet,
    runs: &[(String, Scenario)],
) -> Result<Vec<(String, String)>, String> {
    let mut files = vec![("result.json".to_string(), to_json(set))];
    for (policy, scenario) in runs {
        files.push((scenario_file(policy, runs.len()), with_head(&as_run(scenario)?)));
    }
    Ok(files)
}

/// A scenario with a line by which [`is_ours`] knows it as long as nobody edited it.
fn with_head(scenario: &str) -> String {
    format!("{HEAD}{}\n\n{scenario}", Key(Sha256::digest(scenario).into()))
}

/// Whether a file under one of the names of [`result_files`] is what an earlier run left there, and
/// no one's own work.
pub fn is_ours(path: &Path) -> bool {
    let Ok(bytes) = read_bounded(path) else { return false };
    let text = String::from_utf8_lossy(&bytes);
    match path.extension().and_then(OsStr::to_str) {
        Some("json") => {
            let mut begins = text.chars().filter(|c| !c.is_whitespace());
            RESULT_BEGINS.chars().all(|expected| begins.next() == Some(expected))
        }
        Some("html") => text.split("</title>").next().is_some_and(|head| head.ends_with(" · Manx")),
        _ => text.split_once("\n\n").is_some_and(|(_, scenario)| with_head(scenario) == *text),
    }
}

/// True for the text of a scenario that was run, edited since or not: it lists every key.
pub(crate) fn lists_every_key(scenario: &str) -> bool {
    scenario.starts_with(HEAD)
}

/// The scenario as a file that runs again from anywhere: policy merged in, traces by their full
/// paths.
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
    toml::to_string(&scenario)
        .map_err(|error| format!("the scenario cannot be written as TOML: {error}"))
}

/// A policy's name without what a file system might not like.
pub(crate) fn file_name(policy: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.+".contains(c) { c } else { '-' };
    policy.chars().map(plain).collect()
}

/// Writes the whole file or none: under another name first.
pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), String> {
    write_together(&[(path.to_path_buf(), text)])
}

/// Writes files that belong together: every one under another name first, and none takes its place
/// before all are whole.
pub fn write_together(files: &[(PathBuf, impl AsRef<[u8]>)]) -> Result<(), String> {
    // Two processes may write the same file: the last one's is there, and no mixture.
    let part = |path: &Path| path.with_added_extension(format!("{}.part", std::process::id()));
    let failed =
        |path: &Path, error: io::Error| format!("{}: cannot write it: {error}", path.display());
    let whole = || {
        for (path, text) in files {
            if path.is_dir() {
                return Err(failed(path, io::ErrorKind::IsADirectory.into()));
            }
            std::fs::write(part(path), text).map_err(|error| failed(path, error))?;
        }
        files.iter().try_for_each(|(path, _)| {
            std::fs::rename(part(path), path).map_err(|error| failed(path, error))
        })
    };
    whole().inspect_err(|_| {
        // Half a file helps nobody; that it cannot be removed either changes nothing.
        files.iter().for_each(|(path, _)| drop(std::fs::remove_file(part(path))));
    })
}

/// A file that has its name once it is whole. A device or a pipe under that name is written as it
/// is.
#[derive(Debug)]
pub(crate) struct Part {
    path: PathBuf,
    part: Option<PathBuf>,
    file: File,
}

impl Part {
    /// An empty file.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let is_plain = std::fs::metadata(path).map_or(true, |about| about.is_file());
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let part =
            is_plain.then(|| path.with_added_extension(format!("{}.part", std::process::id())));
        let file = File::create(part.as_deref().unwrap_or(path))?;
        Ok(Self { path: path.to_path_buf(), part, file })
    }

    /// Writes it all.
    pub(crate) fn finish(mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        match self.part.take() {
            Some(part) => std::fs::rename(&part, &self.path)
                .inspect_err(|_| drop(std::fs::remove_file(&part))),
            None => Ok(()),
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // The run failed: half of it helps nobody.
        self.part.iter().for_each(|part| drop(std::fs::remove_file(part)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Request;

    #[test]
    fn a_file_that_is_not_finished_leaves_nothing_and_touches_nothing() {
        let folder = std::env::temp_dir().join(format!("manx-part-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("t.pftrace");
        std::fs::write(&path, "older").unwrap();
        drop(Part::create(&path).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "older");
        Part::create(&path).unwrap().finish(b"whole").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "whole");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_is_ours_as_long_as_nobody_edited_it() {
        let folder = std::env::temp_dir().join(format!("manx-ours-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let runs =
            [("base".to_string(), Request::read("quick", Vec::new()).unwrap().plain().unwrap())];
        let set = crate::table::example::three_policies();
        let files = documents(&set, &runs).unwrap();
        assert_eq!(
            files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["result.json", "scenario.toml"]
        );
        for (name, text) in &files {
            let path = folder.join(name);
            write(&path, text).unwrap();
            assert!(is_ours(&path), "{name}");
            write(&path, text.replacen(' ', "  x", 1)).unwrap();
            assert!(!is_ours(&path), "{name} was edited");
        }
        // One that cannot take its place leaves the other as it was.
        std::fs::create_dir(folder.join("b")).unwrap();
        write(&folder.join("a"), "old").unwrap();
        assert!(write_together(&[(folder.join("a"), "new"), (folder.join("b"), "new")]).is_err());
        assert_eq!(std::fs::read_to_string(folder.join("a")).unwrap(), "old");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
