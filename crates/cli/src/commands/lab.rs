//! `manx lab`: experiments, their runs and their claims.
//!
//! stdout carries the claims (or with `--json` one document), stderr what depends on the machine. A
//! journal remembers what was run: in the folder of `--out`, else in the user's cache.

use super::progress::Bar;
use super::{Failure, outputs, print, report};
use crate::args::{LabCommand, LabRunArgs, LabScoreArgs};
use crate::say::{say, say_line};
use crate::screen::Screen;
use crate::signals::{self, STOP};
use manx_config::{ConfigError, nearest_few};
use manx_lab::cache::Cache;
use manx_lab::campaign::{Campaign, Done, lock};
use manx_lab::compare::Options;
use manx_lab::experiment::statements::{self, Paper};
use manx_lab::experiment::{
    Asked, Calibrated, Experiment, Outcome, Solved, experiment_names, render, save, score,
};
use manx_lab::json::indented;
use manx_lab::run::{Beside, Moment, Phase};
use manx_lab::save::make_folder;
use manx_report::page::Claim;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A journal in the cache that grew beyond this is begun anew: most of it is of programs that are
/// no more.
const JOURNAL_BYTES_MAX: u64 = 64 << 20;

/// Does what was asked.
pub fn run(command: &LabCommand, screen: &Screen) -> Result<(), Failure> {
    match command {
        LabCommand::List => list(),
        LabCommand::Show { name } => show(name),
        LabCommand::Run(args) => run_all(args, screen),
        LabCommand::Score(args) => score(args),
    }
}

/// The scoreboard: recorded verdicts, nothing is run.
fn score(args: &LabScoreArgs) -> Result<(), Failure> {
    let book = score::Book::read()?;
    let mut rows = book.rows();
    if let Some(asked) = &args.paper {
        let is_asked = |paper: &Paper| paper.paper.eq_ignore_ascii_case(asked);
        if !statements::papers().iter().any(is_asked) {
            let names: Vec<&str> = statements::papers().iter().map(|one| &*one.paper).collect();
            let names = names.join(", ");
            let why = format!("--paper {asked}: there is no such paper: there are {names}");
            return Err(ConfigError::new(why).into());
        }
        rows.retain(|row| is_asked(row.paper));
    }
    if let Some(verdict) = args.verdict {
        rows.retain(|row| row.verdict.word() == verdict.word());
    }
    match args.json {
        true => print(&indented(&score::json(&rows))),
        false => print(&score::table(&book, &rows)),
    }
}

fn list() -> Result<(), Failure> {
    let mut text = String::new();
    for name in experiment_names() {
        let experiment = Experiment::read(name, Asked::default())?;
        let (runs, claims) = (experiment.points().len(), experiment.claims.len());
        let _ = writeln!(
            text,
            "{name:<14} {runs:>3} runs, {claims:>2} claims: {}",
            experiment.summary.trim()
        );
    }
    print(&text)
}

fn show(name: &str) -> Result<(), Failure> {
    let experiment = Experiment::read(name, Asked::default())?;
    let mut text = format!("{}\n\nwhat follows:\n", experiment.text.trim_end());
    for run in &experiment.runs {
        let policy = run.policy.as_deref().unwrap_or("as written");
        let jobs: Vec<String> =
            run.scenarios[0].workload.jobs.iter().map(|job| job.requests.to_string()).collect();
        let _ =
            writeln!(text, "  run {:<24} policy {policy}, requests {}", run.name, jobs.join(" + "));
    }
    print(&text)
}

fn run_all(args: &LabRunArgs, screen: &Screen) -> Result<(), Failure> {
    let names = names(args)?;
    let (quick, sets, claims_only) = (args.quick, args.sets.clone(), args.claims_only);
    let traces = args.traces.clone();
    let asked = Asked { quick, sets, claims_only, traces, solved: Vec::new() };
    // All of them before the first runs: a mistake in the last should not cost the work of the
    // others.
    signals::listen();
    let mut experiments = Vec::new();
    for name in &names {
        experiments.push(Experiment::read(name, asked.clone())?);
        if STOP.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted("nothing was run"));
        }
    }
    for (at, experiment) in experiments.iter().enumerate() {
        if experiments[..at].iter().any(|earlier| earlier.name == experiment.name) {
            return Err(ConfigError::new(format!(
                "experiment `{}` is named twice",
                experiment.name
            ))
            .into());
        }
    }
    for (said, experiment) in names.iter().zip(&experiments) {
        if let Some(out) = &args.out {
            outputs::check_experiment(said, &out.join(&experiment.name), &experiment.points())?;
        }
    }
    skip_without_traces(&mut experiments, &args.names)?;
    if experiments.is_empty() {
        return Err(ConfigError::new("no experiment is left to run").into());
    }
    let (mut documents, mut findings) = (Vec::new(), Findings::default());
    for (number, experiment) in experiments.iter_mut().enumerate() {
        let outcome = run_one(experiment, args, screen)?;
        if let Some(run) = outcome.stuck() {
            let name = &outcome.experiment.name;
            return Err(Failure::Work(format!(
                "{name}: {run}: requests were left that the drive never completed"
            )));
        }
        let table = format!("{}{}", if number > 0 { "\n" } else { "" }, render::table(&outcome));
        if args.json {
            say(&table);
            documents.push(render::json(&outcome));
        } else {
            print(&table)?;
        }
        findings.add(&outcome);
    }
    if args.json {
        print(&indented(&document(documents, is_all(args))))?;
    } else if experiments.len() > 1 {
        print(&format!("\nall: {}\n", render::counts(findings.counts)))?;
    }
    if args.check { findings.check() } else { Ok(()) }
}

fn is_all(args: &LabRunArgs) -> bool {
    args.names.iter().any(|name| name == "all")
}

/// The experiments that are asked for, without those that `--skip` names.
fn names(args: &LabRunArgs) -> Result<Vec<String>, Failure> {
    let is_all = is_all(args);
    for skipped in &args.skip {
        let why = if !is_all {
            "it leaves an experiment out of `all`, which is not asked for".to_string()
        } else if !experiment_names().any(|name| name == skipped) {
            let hint = nearest_few(skipped, experiment_names());
            format!("there is no such built-in experiment{hint}")
        } else if args.names.contains(skipped) {
            "it is asked for by name beside `all`".to_string()
        } else {
            continue;
        };
        return Err(ConfigError::new(format!("--skip {skipped}: {why}")).into());
    }
    let is_left = |name: &&str| !args.skip.iter().any(|skipped| skipped == name);
    Ok(match is_all {
        true => experiment_names().filter(is_left).map(str::to_string).collect(),
        false => args.names.clone(),
    })
}

/// Of `all`, leaves out what replays traces that are not there, and says so; asked for by name it
/// is an error.
fn skip_without_traces(experiments: &mut Vec<Experiment>, asked: &[String]) -> Result<(), Failure> {
    let mut wrong = None;
    experiments.retain(|experiment| {
        let missing = experiment.missing_traces();
        let Some(first) = missing.first() else { return true };
        let (name, file, count) = (&experiment.name, first.display(), missing.len());
        let why = format!("{name}: {count} traces are not there, {file} first");
        match asked.iter().any(|asked| asked == name) {
            true => wrong = Some(format!("{why}; --traces DIR names their folder")),
            false => say_line(&format!("SKIPPED {why}")),
        }
        false
    });
    wrong.map_or(Ok(()), |wrong| Err(ConfigError::new(wrong).into()))
}

/// Verdicts of all experiments, and what is not as it is recorded.
#[derive(Default)]
struct Findings {
    counts: [usize; 3],
    claims: usize,
    changed: Vec<String>,
    /// Bands that cannot fail, and knobs that were not solved.
    idle: Vec<String>,
    unsolved: Vec<String>,
}

impl Findings {
    fn add(&mut self, outcome: &Outcome<'_>) {
        let experiment = outcome.experiment;
        let name = |id: &str| format!("{}/{id}", experiment.name);
        self.claims += experiment.claims.len();
        self.counts.iter_mut().zip(outcome.count()).for_each(|(sum, count)| *sum += count);
        self.changed.extend(outcome.changed().into_iter().map(|(claim, measured)| {
            format!("{} ({}, was {})", name(&claim.id), measured.word(), claim.recorded.word())
        }));
        self.idle.extend(outcome.cannot_fail().iter().map(|claim| name(&claim.id)));
        let unmet = outcome.solved.iter().filter(|one| !one.is_met && !experiment.asked.quick);
        self.unsolved.extend(unmet.map(|one| name(&one.id)));
    }

    fn check(&self) -> Result<(), Failure> {
        let mut said = Vec::new();
        let mut say = |what: &str, which: &[String]| {
            if !which.is_empty() {
                let (count, of) = (which.len(), self.claims);
                said.push(format!("{count} of {of} claims {what}: {}", which.join(", ")));
            }
        };
        say("have another verdict than recorded", &self.changed);
        say("cannot fail, whichever run takes the place of theirs", &self.idle);
        if !self.unsolved.is_empty() {
            said.push(format!("not solved as near as asked: {}", self.unsolved.join(", ")));
        }
        if said.is_empty() { Ok(()) } else { Err(Failure::Work(said.join("; "))) }
    }
}

/// One experiment is its own document, several are a list in one.
fn document(mut documents: Vec<Value>, is_all: bool) -> Value {
    if documents.len() == 1 && !is_all {
        documents.remove(0)
    } else {
        json!({ "experiments": documents })
    }
}

fn run_one<'a>(
    experiment: &'a mut Experiment,
    args: &LabRunArgs,
    screen: &Screen,
) -> Result<Outcome<'a>, Failure> {
    let folder = args.out.as_ref().map(|out| out.join(&experiment.name));
    if let Some(folder) = &folder {
        let _ = make_folder(folder).map_err(|why| ConfigError::new(format!("--out {why}")))?;
    }
    let journal = Journal::of(experiment, args, folder.as_deref())?;
    let _locked = match &folder {
        Some(_) => lock(&journal.path).map_err(ConfigError::new)?,
        None => None,
    };
    let mut campaign = Campaign::open(&journal.path).map_err(Failure::Work)?;
    campaign.remark().iter().for_each(|remark| say_line(remark));
    let solved = calibrate(experiment, &mut campaign, &journal, args, screen)?;
    let experiment = &*experiment;
    let points = experiment.points();
    let known = campaign.known(&points, false)?.iter().filter(|known| **known).count();
    if known > 0 {
        let (name, of) = (&experiment.name, points.len());
        say_line(&format!("{name}: {known} of {of} runs are in the journal {}", journal.shown()));
    }
    let cache = if args.no_cache { None } else { Cache::of_user() };
    let bar = Bar::new(screen, &experiment.name, "runs");
    let left = points.len() - known;
    let parts = Parts::new(left);
    let observer = |moment: &Moment<'_>| {
        let (done, part) = parts.tell(moment);
        bar.show_part(done, Some(left as u64), Some(part), &format!("now {}", moment.policy));
    };
    let options = options(args, cache.as_ref(), &observer);
    let ended = experiment.run(&mut campaign, &options);
    bar.clear();
    let (done, outcome) = ended?;
    let Some(mut outcome) = outcome else { return Err(journal.interrupted(experiment, &done)) };
    outcome.solved = solved;
    if let Some(folder) = &folder {
        let files = save::documents(&outcome).and_then(|mut files| {
            files.push(page(&outcome)?);
            Ok(files)
        });
        files.and_then(|files| report::save(folder, files)).map_err(Failure::Work)?;
    }
    Ok(outcome)
}

/// Options of an experiment's runs.
fn options<'a>(
    args: &LabRunArgs,
    cache: Option<&'a Cache>,
    observer: &'a (dyn Fn(&Moment<'_>) + Sync),
) -> Options<'a> {
    Options {
        jobs: args.jobs.and_then(|jobs| std::num::NonZero::new(jobs as usize)),
        verify: false,
        cache,
        beside: Beside::default(),
        stop: &STOP,
        observer,
        finished: None,
        limits: None,
    }
}

/// Solves the knobs of an experiment and sets them in it.
fn calibrate(
    experiment: &mut Experiment,
    campaign: &mut Campaign,
    journal: &Journal,
    args: &LabRunArgs,
    screen: &Screen,
) -> Result<Vec<Solved>, Failure> {
    if experiment.calibrations.is_empty() {
        return Ok(Vec::new());
    }
    let cache = if args.no_cache { None } else { Cache::of_user() };
    let bar = Bar::new(screen, &format!("{}: calibrating", experiment.name), "trials");
    let trials = AtomicU64::new(0);
    let observer = |moment: &Moment<'_>| {
        let ended = u64::from(matches!(moment.phase, Phase::Finished));
        let done = trials.fetch_add(ended, Ordering::Relaxed) + ended;
        bar.show_part(done, None, None, &format!("now {}", moment.policy));
    };
    let options = options(args, cache.as_ref(), &observer);
    let ended = experiment.calibrate(campaign, &options);
    bar.clear();
    match ended? {
        Calibrated::Ready(ready, solved) => {
            *experiment = *ready;
            Ok(solved)
        }
        Calibrated::Stopped(done) => Err(journal.interrupted(experiment, &done)),
    }
}

/// `report.html`, with the claims before everything else.
fn page(outcome: &Outcome<'_>) -> Result<(String, String), String> {
    let claims: Vec<Claim> = render::shown(outcome)
        .map(|(claim, found, [printed, measured, band])| Claim {
            id: claim.id.clone(),
            text: claim.text.clone(),
            source: claim.source.clone(),
            printed,
            measured,
            band,
            verdict: found.verdict.map(|verdict| verdict.word().to_string()),
            blame: claim.missed.as_ref().map(|miss| miss.blame.clone()).unwrap_or_default(),
            why: claim.why.clone(),
            conditions: claim.conditions.clone(),
        })
        .collect();
    let title = format!("{}: {}", outcome.experiment.name, outcome.experiment.summary.trim());
    report::page_of(&title, None, &outcome.run_set(), &outcome.experiment.points(), &claims)
}

/// Where it is remembered what was run.
struct Journal {
    path: PathBuf,
    /// It goes when the experiment ends.
    is_temporary: bool,
}

impl Journal {
    fn of(
        experiment: &Experiment,
        args: &LabRunArgs,
        folder: Option<&Path>,
    ) -> Result<Self, Failure> {
        let cache = if args.no_cache { None } else { Cache::of_user() };
        let cached = || cache.map(|cache| cache.folder().join("lab").join(&experiment.name));
        let (folder, is_temporary) = match folder.map(Path::to_path_buf).or_else(cached) {
            Some(folder) => (folder, false),
            None => (std::env::temp_dir().join(format!("manx-lab-{}", std::process::id())), true),
        };
        let path = folder.join("journal.jsonl");
        std::fs::create_dir_all(&folder).map_err(|why| {
            Failure::Work(format!("{}: cannot make this folder: {why}", folder.display()))
        })?;
        let size = std::fs::metadata(&path).map_or(0, |about| about.len());
        if size > 0 && (args.fresh || (args.out.is_none() && size > JOURNAL_BYTES_MAX)) {
            std::fs::remove_file(&path).map_err(|why| {
                Failure::Work(format!("{}: cannot begin it anew: {why}", path.display()))
            })?;
        }
        Ok(Self { path, is_temporary })
    }

    fn shown(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    fn interrupted(&self, experiment: &Experiment, done: &Done) -> Failure {
        let (of, ready) = (done.results.len(), done.results.iter().flatten().count());
        let rest = match self.is_temporary {
            true => "nothing of it is kept (--out DIR keeps it)".to_string(),
            false => format!("the same command goes on from {}", self.shown()),
        };
        Failure::Stopped(format!(
            "{}: interrupted after {ready} of {of} runs; {rest}",
            experiment.name
        ))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.is_temporary {
            // Only this process knew of it; what cannot be removed lies in the system's folder for
            // such things.
            let _ = std::fs::remove_file(&self.path);
            let _ = self.path.parent().map(std::fs::remove_dir);
        }
    }
}

/// How far each run of an experiment is, as a share.
struct Parts(Mutex<Vec<f64>>);

impl Parts {
    fn new(runs: usize) -> Self {
        Self(Mutex::new(vec![0.0; runs]))
    }

    /// Runs that ended, and the share of all of them that is done.
    fn tell(&self, moment: &Moment<'_>) -> (u64, f64) {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = parts.get_mut(moment.run) {
            *part = match moment.phase {
                Phase::Preconditioning => 0.0,
                // All of it is done when the run has ended.
                Phase::Running => 0.999 * moment.part.unwrap_or(0.0),
                Phase::Finished => 1.0,
            };
        }
        let ended = parts.iter().filter(|part| **part == 1.0).count();
        (ended as u64, parts.iter().sum::<f64>() / parts.len().max(1) as f64)
    }
}
