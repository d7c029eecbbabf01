//! The sweep itself: the folder, its question, its journal, and the rows as they come.
//!
//! Runs are taken in batches, so that what a batch holds (scenarios, results, shared states of
//! drives) stays small however many points there are. A batch ends early where its states would
//! need more than [`STATES_MAX`].

use super::SweepError;
use super::columns::{self, Quantity};
use super::csv;
use super::effects::Effects;
use super::pareto::Objective;
use super::plan::Plan;
use super::question::{self, Question};
use super::standing::{Front, Standings};
use super::value::{Cell, Kind};
use crate::cache::Cache;
use crate::campaign::{Campaign, Elsewhere, Point, lock};
use crate::compare;
use crate::prepare::{Keys, logical_pages};
use crate::run::{Beside, Moment, Phase, RunError};
use crate::save::{make_folder, write};
use manx_config::ConfigError;
use manx_core::stats::{Outcome, RunResult};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The most runs that are begun together.
const BATCH_MAX: usize = 1024;

/// Bytes of drive states that a batch may come to share, each being held until its last run has
/// begun.
const STATES_MAX: u64 = 1 << 30;

/// Bytes of state for each page, as measured (README).
const STATE_BYTES: u64 = 8;

/// A file that takes rows beside the csv: Parquet, which the lab does not know.
pub trait Sink {
    /// Takes a row.
    fn row(&mut self, cells: &[Cell]) -> io::Result<()>;
    /// Writes the end of the file.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// Begins such a file with these columns.
pub type OpenSink<'a> = &'a dyn Fn(File, &[(String, Kind)]) -> io::Result<Box<dyn Sink + Send>>;

/// How far a sweep is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Runs that are done, those of the journal included.
    pub done: usize,
    /// Of so many.
    pub total: usize,
    /// Taken from the journal so far.
    pub from_journal: usize,
    /// The best value of the first quantity of the front among the rows so far, and the point it
    /// belongs to.
    pub best: Option<(usize, f64)>,
}

/// How a sweep is run, and what is kept of it. None of it is part of its question.
pub struct Options<'a> {
    /// Runs side by side; as many as there are cores when `None`.
    pub jobs: Option<NonZero<usize>>,
    /// Machines that the points are run on; this one when `None`.
    pub elsewhere: Option<&'a dyn Elsewhere>,
    /// Where preconditioned states are kept between processes.
    pub cache: Option<&'a Cache>,
    /// The quantities of a row; all short names if there are none.
    pub columns: &'a [String],
    /// Objectives of the Pareto front; without any there is none.
    pub pareto: &'a [Objective],
    /// Points that cannot be run are left out and listed.
    pub skip_invalid: bool,
    /// Another question than the folder's takes its place.
    pub force: bool,
    /// Up to so many rows are handed back.
    pub rows_kept: usize,
    /// Set to end the sweep soon.
    pub stop: &'a AtomicBool,
    /// Told how far it is, from the threads of the runs.
    pub progress: &'a (dyn Fn(&Progress) + Sync),
    /// `sweep.parquet`.
    pub sink: Option<OpenSink<'a>>,
}

/// Result of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Swept {
    /// The columns of the rows.
    pub columns: Vec<(String, Kind)>,
    /// The rows, if they are not more than were to be kept.
    pub rows: Option<Vec<Vec<Cell>>>,
    /// Rows written.
    pub written: usize,
    /// Rows of the whole sweep, invalid ones left out.
    pub total: usize,
    /// Rows that were taken from the journal.
    pub from_journal: usize,
    /// Points that were left out, by number, and why.
    pub skipped: Vec<(usize, String)>,
    /// The front, if one was asked for.
    pub front: Option<Front>,
    /// The first run that shows a defect of the model.
    pub trouble: Option<String>,
    /// Remarks on the journal, and on axes on which nothing changes.
    pub remarks: Vec<String>,
}

/// Runs what is left of a sweep and writes its files into `folder`.
pub fn sweep(plan: &Plan, folder: &Path, options: &Options<'_>) -> Result<Swept, SweepError> {
    let quantities =
        columns::quantities(options.columns, options.pareto, plan.asked().verify).map_err(input)?;
    let made = make_folder(folder).map_err(|why| SweepError::Input(format!("--out {why}")))?;
    let journal = folder.join("journal.jsonl");
    let begun = check(plan, folder, options)
        .and_then(|checked| Ok((checked, lock(&journal).map_err(SweepError::Input)?)));
    let (Checked { skipped, rows, question }, _locked) = begun.inspect_err(|_| made.remove())?;
    if let Some(question) = question {
        let text = question.text().map_err(SweepError::Input)?;
        write(&folder.join(question::FILE), &text).map_err(SweepError::Write)?;
    }
    list_skipped(folder, &skipped)?;
    let mut campaign = Campaign::open(&journal).map_err(SweepError::Input)?;
    let remark = campaign.remark();
    let mut table = Table::create(plan, folder, quantities, options)?;
    let from_journal = play(plan, &rows, &mut campaign, &mut table, options)?;
    let idle = table.effects.idle(plan);
    let remarks = remark.into_iter().chain(idle).collect();
    Ok(Swept { remarks, ..table.finish(rows.len(), from_journal, skipped)? })
}

/// A sweep that can be begun.
struct Checked {
    /// The settings that cannot be run, and why.
    skipped: Vec<(usize, String)>,
    /// The others' rows.
    rows: Vec<usize>,
    /// Question to write into the folder, if it is not there.
    question: Option<Question>,
}

/// Refuses what cannot be begun. Nothing is written.
fn check(plan: &Plan, folder: &Path, options: &Options<'_>) -> Result<Checked, SweepError> {
    let named = |(setting, error)| (setting, format!("{}: {error}", plan.describe(setting)));
    let invalid: Vec<_> =
        plan.invalid(options.skip_invalid, options.stop).into_iter().map(named).collect();
    if options.stop.load(Ordering::Relaxed) {
        return Err(SweepError::Stopped);
    }
    if let Some((_, error)) =
        invalid.first().filter(|_| !options.skip_invalid || invalid.len() == plan.settings())
    {
        let all = if options.skip_invalid { "no point can be run; " } else { "" };
        return Err(SweepError::Input(format!("{all}{error}")));
    }
    let bad: BTreeSet<usize> = invalid.iter().map(|(setting, _)| *setting).collect();
    let rows: Vec<usize> =
        (0..plan.rows()).filter(|row| !bad.contains(&(row / plan.seeds()))).collect();
    let first = plan.point(rows[0]).map_err(input)?.1;
    let question = Question::of(plan, &first);
    let there =
        if options.force { None } else { Question::read(folder).map_err(SweepError::Input)? };
    let difference = there.as_ref().and_then(|there| there.difference(&question));
    if let Some(difference) = difference {
        let folder = folder.display();
        return Err(SweepError::Input(format!(
            "--out {folder}: another sweep lies there: {difference}; \
             take another folder, or --force to ask this one here (runs that both \
             need are not done again)"
        )));
    }
    Ok(Checked { skipped: invalid, rows, question: there.is_none().then_some(question) })
}

/// `skipped.txt`: the points that were left out; no such file without any.
fn list_skipped(folder: &Path, skipped: &[(usize, String)]) -> Result<(), SweepError> {
    let path = folder.join("skipped.txt");
    if skipped.is_empty() {
        // In most folders there is none.
        let _ = std::fs::remove_file(path);
        return Ok(());
    }
    let text: String = skipped.iter().map(|(_, error)| format!("{error}\n")).collect();
    write(&path, &text).map_err(SweepError::Write)
}

/// Runs the batches, and says how many rows the journal gave.
fn play(
    plan: &Plan,
    all: &[usize],
    campaign: &mut Campaign,
    table: &mut Table<'_>,
    options: &Options<'_>,
) -> Result<usize, SweepError> {
    let (mut begun, mut from_journal) = (0, 0);
    let mut keys = Keys::default();
    while begun < all.len() {
        let points = batch(plan, &all[begun..], &mut keys, options)?;
        let rows = &all[begun..begun + points.len()];
        let known =
            campaign.known(&points, plan.asked().verify)?.iter().filter(|known| **known).count();
        from_journal += known;
        let ended = AtomicUsize::new(begun + known);
        let best = Mutex::new(table.best);
        let total = all.len();
        let tell = || {
            let (done, best) = (
                ended.load(Ordering::Relaxed),
                *best.lock().unwrap_or_else(PoisonError::into_inner),
            );
            (options.progress)(&Progress { done, total, from_journal, best });
        };
        tell();
        let observer = |moment: &Moment<'_>| {
            if moment.phase == Phase::Finished && !options.stop.load(Ordering::Relaxed) {
                ended.fetch_add(1, Ordering::Relaxed);
            }
            tell();
        };
        let runs = compare::Options {
            jobs: options.jobs,
            verify: plan.asked().verify,
            cache: options.cache,
            beside: Beside::default(),
            stop: options.stop,
            observer: &observer,
            finished: None,
            limits: None,
        };
        let mut each = |at: usize, result: &RunResult| {
            table.add(rows[at], result)?;
            *best.lock().unwrap_or_else(PoisonError::into_inner) = table.best;
            Ok(())
        };
        let elsewhere = options.elsewhere.map(|at| Told { at, ended: &ended, tell: &tell });
        let elsewhere = elsewhere.as_ref().map(|at| at as &dyn Elsewhere);
        if !campaign.run_at(elsewhere, &points, &runs, &mut each)?.is_complete() {
            break;
        }
        begun += points.len();
    }
    Ok(from_journal)
}

/// Other machines, and the progress of what they do.
struct Told<'a, T> {
    at: &'a dyn Elsewhere,
    ended: &'a AtomicUsize,
    tell: &'a T,
}

impl<T: Fn() + Sync> Elsewhere for Told<'_, T> {
    fn run(
        &self,
        points: &[Point],
        ended: &mut dyn FnMut(usize, RunResult),
    ) -> Result<(), RunError> {
        self.at.run(points, &mut |run, result| {
            ended(run, result);
            self.ended.fetch_add(1, Ordering::Relaxed);
            (self.tell)();
        })
    }
}

/// The next points that are run together.
fn batch(
    plan: &Plan,
    rows: &[usize],
    keys: &mut Keys,
    options: &Options<'_>,
) -> Result<Vec<Point>, SweepError> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let least = 4 * options.jobs.map_or_else(cores, NonZero::get);
    let (mut points, mut states, mut bytes) = (Vec::new(), BTreeSet::new(), 0);
    for row in rows.iter().take(BATCH_MAX) {
        let point = plan.point(*row).map_err(input)?;
        if states.insert(keys.of(&point.1)?) {
            bytes += u64::from(logical_pages(&point.1)) * STATE_BYTES;
        }
        if bytes > STATES_MAX && points.len() >= least && options.elsewhere.is_none() {
            break;
        }
        points.push(point);
    }
    Ok(points)
}

fn input(error: ConfigError) -> SweepError {
    SweepError::Input(error.to_string())
}

/// The rows, as they are written and kept.
struct Table<'a> {
    plan: &'a Plan,
    columns: Vec<(String, Kind)>,
    quantities: Vec<Quantity>,
    csv: File,
    csv_path: PathBuf,
    parquet: Option<(Box<dyn Sink + Send>, PathBuf)>,
    objectives: &'a [Objective],
    standings: Standings,
    kept: Option<Vec<Vec<Cell>>>,
    rows_kept: usize,
    written: usize,
    best: Option<(usize, f64)>,
    trouble: Option<String>,
    effects: Effects,
}

impl<'a> Table<'a> {
    fn create(
        plan: &'a Plan,
        folder: &Path,
        quantities: Vec<Quantity>,
        options: &Options<'a>,
    ) -> Result<Self, RunError> {
        let own = [("seed".to_string(), Kind::Integer), ("outcome".to_string(), Kind::Text)];
        let numbers = quantities.iter().map(|quantity| (quantity.name.clone(), quantity.kind));
        let columns: Vec<_> = plan.columns().into_iter().chain(own).chain(numbers).collect();
        let csv_path = folder.join("sweep.csv");
        let mut csv = File::create(&csv_path).map_err(|error| failed(&csv_path, &error))?;
        let head: Vec<Cell> = columns.iter().map(|(name, _)| Cell::Text(name.clone())).collect();
        csv.write_all(csv::line(&head).as_bytes()).map_err(|error| failed(&csv_path, &error))?;
        let parquet = options.sink.map(|open| {
            let path = folder.join("sweep.parquet");
            let sink = File::create(part(&path)).and_then(|file| open(file, &columns));
            sink.map(|sink| (sink, path.clone())).map_err(|error| failed(&path, &error))
        });
        Ok(Self {
            plan,
            columns,
            quantities,
            csv,
            csv_path,
            parquet: parquet.transpose()?,
            objectives: options.pareto,
            standings: Standings::new(options.pareto.to_vec(), plan.seeds()),
            kept: Some(Vec::new()),
            rows_kept: options.rows_kept,
            written: 0,
            best: None,
            trouble: None,
            effects: Effects::new(plan),
        })
    }

    fn add(&mut self, row: usize, result: &RunResult) -> Result<(), RunError> {
        let setting = row / self.plan.seeds();
        let mut cells = self.plan.cells(setting);
        cells.extend(columns::cells(result, &self.quantities));
        self.csv
            .write_all(csv::line(&cells).as_bytes())
            .map_err(|error| failed(&self.csv_path, &error))?;
        if let Some((sink, path)) = &mut self.parquet {
            sink.row(&cells).map_err(|error| failed(path, &error))?;
        }
        self.written += 1;
        self.judge(setting, result);
        let numbers = &cells[cells.len() - self.quantities.len()..];
        self.effects.add(self.plan, row, result.outcome, numbers);
        let number = |objective: &Objective| {
            self.quantities
                .iter()
                .position(|quantity| quantity.name == objective.name)
                .and_then(|at| numbers[at].number())
        };
        if let Some(objective) = self.objectives.first()
            && let Some(value) = number(objective)
            && self.best.is_none_or(|(_, best)| objective.prefers(value, best))
        {
            self.best = Some((setting + 1, value));
        }
        let completed = result.outcome == Outcome::Completed;
        self.standings.add(setting, completed, self.objectives.iter().map(number));
        if let Some(kept) = &mut self.kept {
            kept.push(cells);
        }
        self.kept = self.kept.take().filter(|kept| kept.len() <= self.rows_kept);
        Ok(())
    }

    /// Remembers the first run that no drive could be like.
    fn judge(&mut self, setting: usize, result: &RunResult) {
        let why = match &result.verify {
            Some(verify) if verify.mismatches > 0 => {
                let (wrong, reads) = (verify.mismatches, verify.reads_checked);
                format!("{wrong} pages of {reads} checked reads were not what was written last")
            }
            _ if result.outcome == Outcome::Stuck => {
                "requests were left that the drive never completed".to_string()
            }
            _ => return,
        };
        self.trouble.get_or_insert_with(|| format!("{}: {why}", self.plan.describe(setting)));
    }

    fn finish(
        self,
        total: usize,
        from_journal: usize,
        skipped: Vec<(usize, String)>,
    ) -> Result<Swept, RunError> {
        self.csv.sync_data().map_err(|error| failed(&self.csv_path, &error))?;
        if let Some((sink, path)) = self.parquet {
            let done = sink.finish().and_then(|()| std::fs::rename(part(&path), &path));
            done.map_err(|error| failed(&path, &error))?;
        }
        let front = (!self.objectives.is_empty()).then(|| {
            let names = self.plan.columns().into_iter().map(|(name, _)| name).collect();
            let kind = |objective: &Objective| {
                self.quantities
                    .iter()
                    .find(|q| q.name == objective.name)
                    .map_or(Kind::Number, |q| q.kind)
            };
            let kinds: Vec<Kind> = self.objectives.iter().map(kind).collect();
            self.standings.front(names, &kinds, |setting| self.plan.cells(setting))
        });
        let (columns, rows, written, trouble) =
            (self.columns, self.kept, self.written, self.trouble);
        Ok(Swept {
            columns,
            rows,
            written,
            total,
            from_journal,
            skipped,
            front,
            trouble,
            remarks: Vec::new(),
        })
    }
}

/// A file under way has another name.
fn part(path: &Path) -> PathBuf {
    path.with_added_extension("part")
}

fn failed(path: &Path, error: &io::Error) -> RunError {
    RunError::Write(format!("{}: cannot write it: {error}", path.display()))
}
