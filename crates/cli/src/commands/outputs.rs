//! The files that a run writes: none of them may be one that it reads, nor another that it writes.

use crate::args::SharedArgs;
use manx_config::{ConfigError, Scenario};
use manx_lab::act_log::path_for;
use manx_lab::save::{is_ours, result_files};
use manx_lab::sweep::plan::Plan;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The names of what a sweep leaves in its folder.
const SWEEP_FILES: [&str; 5] =
    ["sweep.toml", "journal.jsonl", "sweep.csv", "sweep.parquet", "skipped.txt"];

/// Refuses a run that would write over what it reads, two files under one name, or, unless `force`
/// says so, what is not an earlier run's.
pub fn check(
    args: &SharedArgs,
    force: bool,
    runs: &[(String, Scenario)],
) -> Result<(), ConfigError> {
    let named = [Some(args.scenario.as_str()), args.device.as_deref(), args.workload.as_deref()];
    let beside = [
        ("--act-log", &args.act_log, ("act", "txt")),
        ("--timeline", &args.timeline.file, ("timeline", "pftrace")),
        ("--requests", &args.requests, ("requests", "parquet")),
    ];
    check_files(&named, args.out.as_deref(), &beside, force, runs)
}

/// An option that names a file to write, the file, and the name and ending that it has in a folder.
pub type Named<'a> = (&'a str, &'a Option<PathBuf>, (&'a str, &'a str));

/// As [`check`], of the options that are `named`.
pub fn check_files(
    named: &[Option<&str>],
    out: Option<&Path>,
    beside: &[Named<'_>],
    force: bool,
    runs: &[(String, Scenario)],
) -> Result<(), ConfigError> {
    let named = named.iter().flatten().map(PathBuf::from);
    let read = Read::of(named.chain(traces(runs)));
    let mut written: Vec<(String, PathBuf)> = Vec::new();
    if let Some(folder) = out {
        let names = result_files(runs);
        check_folder(folder, &names, &read)?;
        if let Some(name) = names.iter().find(|name| !force && is_foreign(&folder.join(name))) {
            return Err(ConfigError::new(format!(
                "--out {}: {name} in it is not as a run of manx left it: \
                 choose another folder, or --force to replace it",
                folder.display()
            )));
        }
        written.extend(names.iter().map(|name| ("--out".to_string(), place(&folder.join(name)))));
    }
    for (option, base, named) in beside {
        let Some(base) = base else { continue };
        for (policy, _) in runs {
            let path = path_for(base, policy, runs.len(), *named);
            let refuse =
                |why: String| Err(ConfigError::new(format!("{option} {}: {why}", path.display())));
            // Devices (/dev/null) take anything, any number of times.
            if path.exists() && !path.is_file() {
                continue;
            }
            if read.holds(&path) {
                return refuse(
                    "the run reads this file; what it writes needs another name".to_string(),
                );
            }
            let real = place(&path);
            if let Some((other, _)) = written.iter().find(|(_, other)| *other == real) {
                return refuse(format!(
                    "{other} writes this file too; each needs a name of its own"
                ));
            }
            if !force && is_other(&path, named.1) {
                return refuse(format!(
                    "this file is there and is no .{} of manx: choose another name, or remove it \
                     (--force, with --out, replaces it)",
                    named.1
                ));
            }
            written.push((option.to_string(), real));
        }
    }
    Ok(())
}

/// As [`check`], of a sweep: its folder must not hold what it reads.
pub fn check_sweep(args: &SharedArgs, folder: &Path, plan: &Plan) -> Result<(), ConfigError> {
    // Traces stand in the first point; no axis but their own file could name another.
    let first = plan.point(0).ok();
    let read = Read::of(named(args).into_iter().chain(traces(first.as_slice())));
    check_folder(folder, &SWEEP_FILES.map(str::to_string), &read)
}

/// As [`check`], of an experiment.
pub fn check_experiment(
    name: &str,
    folder: &Path,
    runs: &[(String, Scenario)],
) -> Result<(), ConfigError> {
    let read = Read::of([PathBuf::from(name)].into_iter().chain(traces(runs)));
    let own = ["claims.json", "claims.md", "journal.jsonl"].map(str::to_string);
    let names: Vec<String> = result_files(runs).into_iter().chain(own).collect();
    check_folder(folder, &names, &read)
}

/// No file that is read may be one of `names` in the folder of --out.
fn check_folder(folder: &Path, names: &[String], read: &Read) -> Result<(), ConfigError> {
    match names.iter().find(|name| read.holds(&folder.join(name))) {
        None => Ok(()),
        Some(name) => Err(ConfigError::new(format!(
            "--out {}: the run reads {name} in it and would write over it: \
             choose another folder, or copy {name} to another place and run it from there",
            folder.display()
        ))),
    }
}

/// True for a file that this program did not write, or that was edited. A path that is no file (a
/// device, a folder) holds no work to lose.
fn is_foreign(path: &Path) -> bool {
    path.is_file() && !is_ours(path)
}

/// True for a file with content that no file of this ending has.
fn is_other(path: &Path, ending: &str) -> bool {
    let begins: &[u8] = match ending {
        "pftrace" => b"\x0a",
        "parquet" => b"PAR1",
        _ => return false,
    };
    let mut head = Vec::new();
    let read = std::fs::File::open(path).map(|file| file.take(4).read_to_end(&mut head));
    read.is_ok() && !head.is_empty() && !head.starts_with(begins)
}

/// Files that are read.
struct Read(Vec<PathBuf>);

impl Read {
    /// Those of `paths` that are there.
    fn of(paths: impl Iterator<Item = PathBuf>) -> Self {
        Self(paths.filter_map(|path| std::fs::canonicalize(path).ok()).collect())
    }

    /// `path` is one of them, by whatever name or link.
    fn holds(&self, path: &Path) -> bool {
        let real = place(path);
        self.0.iter().any(|read| *read == real || is_one_file(read, &real))
    }
}

/// Two names of one file.
#[cfg(unix)]
fn is_one_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |path: &Path| std::fs::metadata(path).map(|about| (about.dev(), about.ino())).ok();
    place(one).is_some_and(|at| place(other) == Some(at))
}

#[cfg(not(unix))]
fn is_one_file(_: &Path, _: &Path) -> bool {
    false
}

/// The files that options name. A name of a library is seldom a file; if it is one, it was not
/// read, but it is the user's all the same.
fn named(args: &SharedArgs) -> Vec<PathBuf> {
    let named = [Some(args.scenario.as_str()), args.device.as_deref(), args.workload.as_deref()];
    named.into_iter().flatten().map(PathBuf::from).collect()
}

/// The traces of these runs, and tables beside the scenario that it names.
fn traces(runs: &[(String, Scenario)]) -> impl Iterator<Item = PathBuf> {
    let jobs = runs.iter().flat_map(|(_, scenario)| &scenario.workload.jobs);
    jobs.filter_map(|job| job.trace.as_ref())
        .flat_map(|trace| {
            // Of a member of an archive (a.tar:member) the archive.
            let archive = trace.file.split_once(':').map(|(archive, _)| archive);
            [Some(trace.file.as_str()), archive]
        })
        .flatten()
        .map(PathBuf::from)
}

/// Where a path leads, also if nothing is there yet.
fn place(path: &Path) -> PathBuf {
    let parent =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = || Some(std::fs::canonicalize(parent).ok()?.join(path.file_name()?));
    std::fs::canonicalize(path).ok().or_else(beside).unwrap_or_else(|| path.to_path_buf())
}
