//! `manx sweep`: from arguments to the lab's sweep, its progress, and what is printed of it.

use super::progress::Bar;
use super::{Failure, outputs, print};
use crate::args::SweepArgs;
use crate::say::{say, say_line};
use crate::screen::Screen;
use crate::signals::{self, STOP};
use manx_core::config::ConfigError;
use manx_lab::cache::Cache;
use manx_lab::sweep::SweepError;
use manx_lab::sweep::finished::front_of;
use manx_lab::sweep::pareto::Objective;
use manx_lab::sweep::plan::{Asked, Plan};
use manx_lab::sweep::run::{OpenSink, Options, Progress, Swept, sweep};
use manx_lab::sweep::show::{front_table, front_to_json, rows_table, to_json};
use manx_lab::sweep::standing::Front;
use std::fmt::Write;
use std::num::NonZero;
use std::path::Path;

/// The most rows that are printed as a table.
const TABLE_ROWS: usize = 50;

/// The most left-out points that are named on the terminal; all are in `skipped.txt`.
const SKIPPED_SHOWN: usize = 10;

/// Does what was asked.
pub fn run(args: &SweepArgs, screen: &Screen) -> Result<(), Failure> {
    let out = args
        .shared
        .out
        .as_deref()
        .ok_or_else(|| input("--out DIR is missing: the rows are written there"))?;
    let objectives = args.pareto.iter().map(|text| Objective::parse(text));
    let objectives = objectives
        .collect::<Result<Vec<_>, _>>()
        .map_err(|why| input(format!("--pareto: {why}")))?;
    let nothing_varies = args.grid.is_empty()
        && args.random.is_empty()
        && args.policies.is_empty()
        && args.seeds.is_none();
    if nothing_varies && args.points.is_none() {
        return match objectives.is_empty() {
            true => Err(input(
                "nothing to sweep: --grid KEY=V1,V2, --random KEY=LOW..HIGH, \
                 --policies A,B or --seeds N",
            )),
            false => front_alone(out, &objectives, args.shared.json),
        };
    }
    refuse_for_one_run(args)?;
    let plan = Plan::new(asked(args)?)?;
    outputs::check_sweep(&args.shared, out, &plan)?;
    signals::listen();
    let cache = if args.shared.no_cache { None } else { Cache::of_user() };
    let bar = Bar::new(screen, "sweep", "points");
    let progress = |&Progress { done, total, best, .. }: &Progress| {
        let best =
            objectives.first().zip(best).map_or(String::new(), |(objective, (point, value))| {
                format!("best {} {value} at point {point}", objective.name)
            });
        bar.show(done as u64, Some(total as u64), &best);
    };
    let options = Options {
        jobs: args.shared.jobs.and_then(|jobs| NonZero::new(jobs as usize)),
        cache: cache.as_ref(),
        columns: &args.columns,
        pareto: &objectives,
        skip_invalid: args.skip_invalid,
        force: args.force,
        rows_kept: if args.shared.json { usize::MAX } else { TABLE_ROWS },
        stop: &STOP,
        progress: &progress,
        sink: parquet(),
    };
    let swept = sweep(&plan, out, &options);
    bar.clear();
    let swept = swept?;
    show(&swept, out, args)?;
    verdict(&swept)
}

/// Refuses files of one run, which have no place in a sweep of many.
fn refuse_for_one_run(args: &SweepArgs) -> Result<(), Failure> {
    let files = [
        ("--act-log", &args.shared.act_log),
        ("--timeline", &args.shared.timeline.file),
        ("--requests", &args.shared.requests),
    ];
    match files.into_iter().find_map(|(option, file)| Some((option, file.as_ref()?))) {
        Some((option, file)) => Err(input(format!(
            "{option} {}: a sweep has many runs; `manx run` writes it",
            file.display()
        ))),
        None => Ok(()),
    }
}

fn asked(args: &SweepArgs) -> Result<Asked, ConfigError> {
    Ok(Asked {
        command: command(),
        scenario: args.shared.scenario.clone(),
        overrides: args.shared.overrides()?,
        trace_from_here: args.shared.trace.is_some(),
        policies: args.policies.clone(),
        grid: args.grid.clone(),
        random: args.random.clone(),
        points: args.points,
        seeds: args.seeds,
        verify: args.shared.verify,
    })
}

/// The command as a shell would take it again.
fn command() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,=:/+%@".contains(c);
    let quoted = |text: String| match !text.is_empty() && text.chars().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    };
    let words = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    ["manx".to_string()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// The front of a folder, without a run.
fn front_alone(out: &Path, objectives: &[Objective], json: bool) -> Result<(), Failure> {
    let (front, rows, of) = front_of(out, objectives)?;
    if (rows as u64) < of {
        say_line(&format!("{}: {rows} of {of} rows: the sweep is not finished", out.display()));
    }
    print(&if json { front_to_json(&front) } else { front_text(&front) })
}

fn front_text(front: &Front) -> String {
    match front.compared {
        0 => "front: no point has all of the quantities\n".to_string(),
        _ => front_table(front),
    }
}

/// The rows or the front on stdout; how they came about on stderr.
fn show(swept: &Swept, out: &Path, args: &SweepArgs) -> Result<(), Failure> {
    let Swept { written, total, from_journal, skipped, .. } = swept;
    let mut about: String = swept.remarks.iter().map(|remark| format!("{remark}\n")).collect();
    if !skipped.is_empty() {
        let points = skipped.len();
        let _ = writeln!(
            about,
            "left out: {points} points that cannot be run, listed in {}",
            out.join("skipped.txt").display()
        );
        for (_, why) in skipped.iter().take(SKIPPED_SHOWN) {
            let _ = writeln!(about, "  {why}");
        }
        if points > SKIPPED_SHOWN {
            let _ = writeln!(about, "  and {} more", points - SKIPPED_SHOWN);
        }
    }
    let csv = out.join("sweep.csv");
    let files = if cfg!(feature = "parquet") {
        "sweep.parquet beside it"
    } else {
        "this manx has no Parquet"
    };
    let _ = writeln!(
        about,
        "{written} of {total} rows in {} ({files}), {from_journal} from the journal",
        csv.display()
    );
    say(&about.replace(|c: char| c.is_control() && c != '\n', " "));
    if args.shared.json {
        return print(&to_json(swept));
    }
    match (&swept.front, &swept.rows) {
        (Some(front), _) => print(&front_text(front)),
        (None, Some(rows)) if !rows.is_empty() => {
            print(&rows_table(&swept.columns, rows, !args.columns.is_empty() || args.shared.wide))
        }
        _ => Ok(()),
    }
}

/// The exit code of a sweep.
fn verdict(swept: &Swept) -> Result<(), Failure> {
    match &swept.trouble {
        Some(trouble) => Err(Failure::Work(trouble.clone())),
        None if swept.written < swept.total => Err(Failure::Stopped(format!(
            "interrupted: {} of {} rows are written; the same command does the rest",
            swept.written, swept.total
        ))),
        None => Ok(()),
    }
}

fn input(message: impl Into<String>) -> Failure {
    ConfigError::new(message).into()
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Input(why) => input(why),
            SweepError::Write(why) => Failure::Work(why),
            SweepError::Run(error) => error.into(),
            stopped @ SweepError::Stopped => Failure::Stopped(stopped.to_string()),
        }
    }
}

#[cfg(not(feature = "parquet"))]
fn parquet() -> Option<OpenSink<'static>> {
    None
}

#[cfg(feature = "parquet")]
fn parquet() -> Option<OpenSink<'static>> {
    use manx_lab::sweep::run::Sink;
    use manx_lab::sweep::value::{Cell, Kind};
    use manx_parquet::table::{self, Value, Writer};
    use std::fs::File;
    use std::io::{self, BufWriter};

    struct Rows(Writer<BufWriter<File>>);

    impl Sink for Rows {
        fn row(&mut self, cells: &[Cell]) -> io::Result<()> {
            let value = |cell| match cell {
                &Cell::Integer(value) => Value::Integer(value),
                &Cell::Number(value) => Value::Number(value),
                &Cell::Boolean(value) => Value::Boolean(value),
                Cell::Text(text) => Value::Text(text),
                Cell::Missing => Value::Null,
            };
            self.0.row(&cells.iter().map(value).collect::<Vec<_>>())
        }

        fn finish(self: Box<Self>) -> io::Result<()> {
            self.0.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()
        }
    }

    Some(&|file, columns| {
        let kind = |kind| match kind {
            Kind::Text => table::Kind::Text,
            Kind::Integer => table::Kind::Integer,
            Kind::Number => table::Kind::Number,
            Kind::Boolean => table::Kind::Boolean,
        };
        let columns: Vec<_> = columns.iter().map(|(name, of)| (name.as_str(), kind(*of))).collect();
        Ok(Box::new(Rows(Writer::new(BufWriter::new(file), "sweep", &columns)?)))
    })
}
