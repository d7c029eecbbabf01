//! The files that a run writes: none of them may be one that it reads, nor another that it writes.

use crate::args::SharedArgs;
use manx_core::config::{ConfigError, Scenario};
use manx_lab::act_log::path_for;
use manx_lab::save::result_files;
use std::path::{Path, PathBuf};

/// Refuses a run that would write over what it reads, or two files under one name.
pub fn check(args: &SharedArgs, runs: &[(String, Scenario)]) -> Result<(), ConfigError> {
    let read: Vec<PathBuf> = inputs(args, runs).iter().filter_map(|path| std::fs::canonicalize(path).ok()).collect();
    let mut written: Vec<(String, PathBuf)> = Vec::new();
    if let Some(folder) = &args.out {
        written.extend(result_files(runs).iter().map(|name| ("--out".to_string(), place(&folder.join(name)))));
    }
    let options = [
        ("--act-log", &args.act_log, ("act", "txt")),
        ("--timeline", &args.timeline.file, ("timeline", "pftrace")),
        ("--requests", &args.requests, ("requests", "parquet")),
    ];
    for (option, base, named) in options {
        let Some(base) = base else { continue };
        for (policy, _) in runs {
            let path = path_for(base, policy, runs.len(), named);
            let refuse = |why: String| Err(ConfigError::new(format!("{option} {}: {why}", path.display())));
            // Devices (/dev/null) take anything, any number of times.
            if path.exists() && !path.is_file() {
                continue;
            }
            let real = place(&path);
            if read.contains(&real) {
                return refuse("the run reads this file; what it writes needs another name".to_string());
            }
            if let Some((other, _)) = written.iter().find(|(_, other)| *other == real) {
                return refuse(format!("{other} writes this file too; each needs a name of its own"));
            }
            written.push((option.to_string(), real));
        }
    }
    Ok(())
}

/// What is read, as far as the names tell. A name of a library is seldom a file; if it is one, it was not read, but it
/// is somebody's all the same.
fn inputs(args: &SharedArgs, runs: &[(String, Scenario)]) -> Vec<PathBuf> {
    let named = [Some(args.scenario.as_str()), args.device.as_deref(), args.workload.as_deref()];
    let jobs = runs.iter().flat_map(|(_, scenario)| &scenario.workload.jobs);
    let traces = jobs.filter_map(|job| job.trace.as_ref()).flat_map(|trace| {
        // Of a member of an archive (a.tar:member) the archive.
        let archive = trace.file.split_once(':').map(|(archive, _)| archive);
        [Some(trace.file.as_str()), archive]
    });
    named.into_iter().chain(traces).flatten().map(PathBuf::from).collect()
}

/// Where a path leads, also if nothing is there yet.
fn place(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = || Some(std::fs::canonicalize(parent).ok()?.join(path.file_name()?));
    std::fs::canonicalize(path).ok().or_else(beside).unwrap_or_else(|| path.to_path_buf())
}
