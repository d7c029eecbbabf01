//! `manx fit`: measurements in, a device table, a scenario and a report out.

use super::progress::Bar;
use super::{Failure, print};
use crate::args::TwinArgs;
use crate::say::say;
use crate::screen::Screen;
use crate::signals::{self, STOP};
use manx_config::ConfigError;
use manx_lab::measure::Measurement;
use manx_lab::twin::{
    Files, Journal, Moment, Settings, Stage, Twin, TwinError, capacity_is_allowed, document, files,
    fit, jobs, text,
};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A table that a fit made begins so.
const MADE: &str = "# Made by `manx fit`";
const BESIDE: &str = "# Beside ";
/// A job.
const JOB: &str = "; Made by `manx fit --jobs`";
/// A line of a journal, behind the empty one of its beginning.
const LINE: &str = "{\"key\"";

/// Does what was asked.
pub fn run(args: &TwinArgs, screen: &Screen) -> Result<(), Failure> {
    let measurements: Vec<Measurement> = args
        .files
        .iter()
        .map(|file| Measurement::read(file, args.state))
        .collect::<Result<_, _>>()
        .map_err(TwinError::from)?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}-twin", args.name)));
    let places = Places::new(&out, &args.name);
    places.check(args)?;
    for folder in [Some(&out), args.jobs.as_ref()].into_iter().flatten() {
        std::fs::create_dir_all(folder).map_err(|error| work(folder, &error))?;
    }
    args.capacity.map_or(Ok(()), capacity_is_allowed)?;
    let journal = Journal::open(&places.journal).map_err(Failure::Work)?;
    signals::listen();
    let bar = Bar::new(screen, "fit", "points");
    let best = Mutex::new((Stage::Structure, f64::INFINITY));
    let tell = |moment: &Moment| {
        let mut best = best.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if best.0 != moment.stage {
            *best = (moment.stage, f64::INFINITY);
        }
        best.1 = best.1.min(moment.distance);
        let (stage, percent) = (moment.stage, 100.0 * best.1);
        bar.show(moment.evaluations as u64, None, &format!("{stage}, {percent:.1} % off"));
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let settings = Settings {
        measurements: &measurements,
        name: &args.name,
        base: &args.base,
        seed: args.seed,
        requests: args.requests,
        evaluations: args.evaluations as usize,
        hold_out: &args.hold_out,
        known: &args.known,
        threads: args.threads.map_or(cores, |threads| threads as usize),
        stop: &STOP,
        tell: &tell,
    };
    let twin = fit(&settings, &journal);
    bar.clear();
    let twin = twin?;
    let names: Vec<String> = args.files.iter().map(|file| name_of(file)).collect();
    let files = files(&twin, args.capacity, &names)?;
    places.write(&files, &document(&twin, &measurements))?;
    if let Some(folder) = &args.jobs {
        write_jobs(&twin, folder, args)?;
    }
    print(&match args.json {
        true => document(&twin, &measurements),
        false => text(&twin, &measurements),
    })?;
    say(&format!(
        "wrote {}, {} and {}; the journal beside them keeps what was simulated",
        places.device.display(),
        places.scenario.display(),
        places.report.display()
    ));
    ended(&twin)
}

/// Writes the jobs that would tell more; what no fit made stays.
fn write_jobs(twin: &Twin, folder: &Path, args: &TwinArgs) -> Result<(), Failure> {
    for file in jobs(twin, args.capacity) {
        let path = folder.join(&file.name);
        if is_foreign(&path, JOB) && !args.force {
            say(&format!(
                "{}: no fit made this file, so it stays as it is; --force, or another folder \
                 (--jobs), for the job of this name",
                path.display()
            ));
            continue;
        }
        std::fs::write(&path, file.text).map_err(|error| work(&path, &error))?;
    }
    Ok(())
}

fn ended(twin: &Twin) -> Result<(), Failure> {
    match twin.is_partial {
        true => {
            Err(Failure::Interrupted("the files have the best so far; the same command goes on"))
        }
        false => Ok(()),
    }
}

/// A file's name without its folder.
fn name_of(file: &str) -> String {
    Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The files of a fit.
struct Places {
    device: PathBuf,
    scenario: PathBuf,
    report: PathBuf,
    journal: PathBuf,
}

impl Places {
    fn new(out: &Path, name: &str) -> Self {
        Self {
            device: out.join(format!("{name}.toml")),
            scenario: out.join(format!("{name}-scenario.toml")),
            report: out.join(format!("{name}-fit.json")),
            journal: out.join(format!("{name}.journal")),
        }
    }

    /// Refuses to replace what no fit made, and what it reads.
    fn check(&self, args: &TwinArgs) -> Result<(), Failure> {
        let all = [
            (&self.device, MADE),
            (&self.scenario, BESIDE),
            (&self.report, "{"),
            (&self.journal, LINE),
        ];
        for (path, begin) in all {
            let is_read = Path::new(&args.base) == path
                || args.files.iter().any(|file| Path::new(file) == path);
            let refuse = |why: &str| {
                let message = format!("{}: {why}", path.display());
                Err(Failure::Input(ConfigError::new(message)))
            };
            if is_read {
                return refuse("the fit reads this file; give it another name (--as) or --out");
            }
            let is_foreign = is_foreign(path, begin);
            if is_foreign && begin == LINE {
                // Nothing replaces a journal: lines go behind those that are there.
                return refuse(
                    "no fit made this file, and a journal would go on in it: choose another name \
                     (--as) or another folder (--out)",
                );
            }
            if is_foreign && !args.force {
                return refuse(
                    "no fit made this file: choose another name (--as), another folder (--out), \
                     or --force to replace it",
                );
            }
        }
        Ok(())
    }

    fn write(&self, files: &Files, report: &str) -> Result<(), Failure> {
        let all = [
            (&self.device, files.device.as_str()),
            (&self.scenario, &files.scenario),
            (&self.report, report),
        ];
        all.into_iter().try_for_each(|(path, text)| {
            std::fs::write(path, text).map_err(|error| work(path, &error))
        })
    }
}

/// A file is there that does not begin so.
fn is_foreign(path: &Path, begin: &str) -> bool {
    std::fs::read_to_string(path).map_or(path.exists(), |text| {
        let text = text.trim_start();
        !(text.starts_with(begin) || begin == LINE && text.is_empty())
    })
}

fn work(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Work(format!("{}: cannot write here: {error}", path.display()))
}

impl From<TwinError> for Failure {
    fn from(error: TwinError) -> Self {
        match error {
            TwinError::Config(error) => error.into(),
            TwinError::Run(error) => error.into(),
            error => Failure::Input(ConfigError::new(error.to_string())),
        }
    }
}
