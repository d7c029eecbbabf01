//! `manx sweep`: from arguments to the lab's sweep, its progress, and what is printed of it.

use super::dask::Cluster;
use super::progress::Bar;
use super::{Failure, outputs, print};
use crate::args::SweepArgs;
use crate::say::{say, say_line};
use crate::screen::Screen;
use crate::signals::{self, STOP};
use manx_config::ConfigError;
use manx_lab::cache::Cache;
use manx_lab::campaign::Elsewhere;
use manx_lab::load::Request;
use manx_lab::sweep::SweepError;
use manx_lab::sweep::axis::Axis;
use manx_lab::sweep::finished::front_of;
use manx_lab::sweep::knee;
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
    let objectives = objectives(args)?;
    let nothing_varies = args.grid.is_empty()
        && args.random.is_empty()
        && args.policies.is_empty()
        && args.seeds.is_none()
        && args.load.is_none();
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
    let loads = args.load.as_deref().map(|load| loads(load, args)).transpose()?;
    let plan = Plan::new(asked(args, loads.as_ref())?)?;
    outputs::check_sweep(&args.shared, out, &plan)?;
    signals::listen();
    let cache = if args.shared.no_cache { None } else { Cache::of_user() };
    let cluster = cluster(args)?;
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
        elsewhere: cluster.as_ref().map(|cluster| cluster as &dyn Elsewhere),
        cache: cache.as_ref(),
        columns: &columns(args),
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
    if let (Some(loads), Some(rows), false) = (&loads, &swept.rows, args.shared.json) {
        print(&knee::table(&swept.columns, rows, &loads.key, &loads.shares))?;
    }
    show(&swept, out, args)?;
    verdict(&swept)
}

/// The machines of `--dask`.
fn cluster(args: &SweepArgs) -> Result<Option<Cluster>, Failure> {
    let Some(address) = &args.dask else { return Ok(None) };
    if args.shared.jobs.is_some() {
        return Err(input("--jobs: with --dask, its workers say how much runs side by side"));
    }
    Cluster::connect(address, args.shared.verify, !args.shared.no_cache).map(Some)
}

/// Objectives of the front, those that only bound it last.
fn objectives(args: &SweepArgs) -> Result<Vec<Objective>, Failure> {
    let said = |option: &'static str| move |why: String| input(format!("{option}: {why}"));
    let mut all: Vec<Objective> = Vec::new();
    for text in &args.pareto {
        all.push(Objective::parse(text).map_err(said("--pareto"))?);
    }
    if let Some(name) = &args.minimise {
        all.push(Objective::parse(name).map_err(said("--minimise"))?);
    }
    if all.is_empty() && !args.bounds.is_empty() {
        return Err(input("--where: it bounds what --minimise or --pareto asks for: give one"));
    }
    for text in &args.bounds {
        let bound = Objective::bound(text).map_err(said("--where"))?;
        match all.iter_mut().find(|other| other.name == bound.name) {
            Some(other) if other.bound.is_none() && other.maximise == bound.maximise => {
                other.bound = bound.bound;
            }
            Some(_) => {
                return Err(input(format!("--where: `{}` is bounded twice", bound.name)));
            }
            None => all.push(bound),
        }
    }
    Ok(all)
}

/// Refuses files of one run, which have no place in a sweep of many.
fn refuse_for_one_run(args: &SweepArgs) -> Result<(), Failure> {
    let files = [
        ("--act-log", &args.shared.act_log),
        ("--timeline", &args.shared.timeline.file),
        ("--requests", &args.shared.requests),
    ];
    if args.shared.pts {
        return Err(input("--pts: it judges one run; `manx run --pts` does"));
    }
    match files.into_iter().find_map(|(option, file)| Some((option, file.as_ref()?))) {
        Some((option, file)) => Err(input(format!(
            "{option} {}: a sweep has many runs; `manx run` writes it",
            file.display()
        ))),
        None => Ok(()),
    }
}

/// The loads of `--load`: shares of the base rate, and the key that sets them.
struct Loads {
    key: String,
    shares: Vec<String>,
    values: Vec<String>,
}

/// The quantities of the rows; a table of loads needs its own.
fn columns(args: &SweepArgs) -> Vec<String> {
    let named = args.columns.iter().map(|name| name.trim().to_string());
    match args.load {
        None => args.columns.clone(),
        Some(_) => {
            let mut all: Vec<String> = knee::COLUMNS.map(str::to_string).to_vec();
            all.extend(named.filter(|name| !knee::COLUMNS.contains(&name.as_str())));
            all
        }
    }
}

fn loads(load: &str, args: &SweepArgs) -> Result<Loads, Failure> {
    let refused = |why: String| input(format!("--load {load}: {why}"));
    let stepped =
        if load.contains(['+', '*', ',']) { load.to_string() } else { format!("{load}+0.1") };
    let shares = Axis::grid(&format!("load={stepped}"))
        .map_err(|why| refused(why.replace(&format!("--grid load={stepped}: "), "")))?
        .values;
    let base = Request::read(&args.shared.scenario, args.shared.overrides()?)?.plain()?;
    let [job] = base.workload.jobs.as_slice() else {
        return Err(refused(format!("{} has more than one job", base.name)));
    };
    let (key, rate) = match &job.trace {
        Some(trace) => ("workload.trace.rate_scale", trace.rate_scale),
        None if job.rate > 0.0 => ("workload.rate", job.rate),
        None => {
            return Err(refused("the load waits for its answers and has no rate".to_string()));
        }
    };
    let value = |share: &String| {
        let number = share.parse::<f64>().ok().filter(|share| *share > 0.0);
        number
            .map(|share| format!("{:?}", share * rate))
            .ok_or_else(|| refused(format!("`{share}`: expected a share above 0, such as 0.5")))
    };
    let values = shares.iter().map(value).collect::<Result<_, _>>()?;
    Ok(Loads { key: key.to_string(), shares, values })
}

fn asked(args: &SweepArgs, loads: Option<&Loads>) -> Result<Asked, ConfigError> {
    let load = loads.map(|loads| format!("{}={}", loads.key, loads.values.join(",")));
    Ok(Asked {
        command: command(),
        scenario: args.shared.scenario.clone(),
        overrides: args.shared.overrides()?,
        trace_from_here: args.shared.trace.is_some(),
        policies: args.policies.clone(),
        // The load comes last: the rows of one setting lie side by side.
        grid: args.grid.iter().cloned().chain(load).collect(),
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
        0 if front.beyond > 0 => {
            format!("front: all {} points are beyond a bound\n", front.beyond)
        }
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
