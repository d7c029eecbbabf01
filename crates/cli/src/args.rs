//! What can be said on the command line.

mod lab;
mod library;
mod plan;
mod plot;
mod sweep;
mod torture;

pub use lab::{LabCommand, LabRunArgs};
pub use library::{DeviceCommand, PolicyCommand, ScenarioCommand};
pub use plan::PlanCommand;
pub use plot::PlotArgs;
pub use sweep::SweepArgs;
pub use torture::TortureArgs;

use crate::screen::Screen;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;
use manx_core::config::{ConfigError, Override, nearest, split_parameter};
use manx_core::drive::TimelineSpec;
use manx_core::units::{Duration, Instant, QuantityError};
use manx_lab::load::read_workload;
use manx_lab::timeline::TIMELINE_LIMIT;
use manx_trace::convert::{TARGETS, Target};
use std::path::PathBuf;

/// `--version`; `-V` has the first line alone.
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit: ",
    env!("MANX_COMMIT_SHOWN"),
    "\nfeatures: ",
    env!("MANX_FEATURES"),
    "\nschema of result.json: 1"
);

const EXAMPLES: &str = "Examples:
  manx compare                                     the built-in OLTP-like load, three policies
  manx compare quick --set gc.soft=0.1 --seed 7    a small drive, a key changed, another seed
  manx run quick --policy preemptive --json        one policy, JSON on stdout";

/// Manx: an exact, deterministic simulator of flash storage and of what was published against its
/// tail latency
#[derive(Debug, Parser)]
#[command(name = "manx", version, long_version = VERSION, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub screen: Screen,
}

/// The families of commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario under one policy
    Run(RunArgs),
    /// Compare policies; the first is the baseline
    Compare(CompareArgs),
    /// Draw results for a paper: SVG, PDF or PNG
    Plot(PlotArgs),
    /// Where the tail's time went, in words, request by request
    Explain(ExplainArgs),
    /// Run at many values of keys: CSV, Parquet, the Pareto front
    Sweep(Box<SweepArgs>),
    /// Cut the power in many small runs, and check every page
    Torture(TortureArgs),
    /// Papers' claims, and the runs that check them
    #[command(subcommand)]
    Lab(LabCommand),
    /// Block traces: formats, contents, conversion
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Workload profiles: built in, or fitted to a trace
    #[command(subcommand)]
    Workload(WorkloadCommand),
    /// The built-in scenarios
    #[command(subcommand)]
    Scenario(ScenarioCommand),
    /// Calculators that show their formula and inputs
    #[command(subcommand)]
    Plan(PlanCommand),
    /// The device tables
    #[command(subcommand)]
    Device(DeviceCommand),
    /// The policies
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// The JSON schema of a scenario file or of a result
    Schema {
        /// Of what
        of: SchemaOf,
    },
    /// A completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages, one for each command
    Man {
        /// The folder, which is made where it is missing
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// `manx run`.
#[derive(Debug, ClapArgs)]
pub struct RunArgs {
    /// The policy [default: the scenario as it is written]
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// The power fails at this time of the run: the drive recovers, every page is checked against
    /// what was promised, and the run goes on (recovery.cut_at; docs/torture.md)
    #[arg(long, value_name = "TIME", conflicts_with_all = ["file", "requests", "act_log", "attribution"],
        allow_hyphen_values = true, value_parser = time)]
    pub power_cut_at: Option<Duration>,
    /// Replace result.json, report.html or scenario.toml in the folder of --out although no run of
    /// manx left them there
    #[arg(long, requires = "out")]
    pub force: bool,
    #[command(flatten)]
    pub shared: SharedArgs,
}

/// `manx explain`.
#[derive(Debug, ClapArgs)]
pub struct ExplainArgs {
    /// A result.json, or a folder of --out; NAME=RESULT gives its run another name
    #[arg(required = true, value_name = "RESULT")]
    pub results: Vec<String>,
    /// Only this policy's run
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// Only reads
    #[arg(long, conflicts_with = "writes")]
    pub reads: bool,
    /// Only writes
    #[arg(long)]
    pub writes: bool,
    /// So many of the slowest reads of each run, and as many of the slowest writes, from 0 to 20
    #[arg(long, value_name = "N", default_value_t = 20, allow_negative_numbers = true,
        value_parser = value_parser!(u8).range(0..=20))]
    pub top: u8,
}

/// `manx compare`.
#[derive(Debug, ClapArgs)]
pub struct CompareArgs {
    /// The policies, the first being the baseline [default: the scenario's]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub policies: Vec<String>,
    /// Replace result.json, report.html or scenario.toml in the folder of --out although no run of
    /// manx left them there
    #[arg(long, requires = "out")]
    pub force: bool,
    #[command(flatten)]
    pub shared: SharedArgs,
}

/// What `run` and `compare` share.
#[derive(Debug, ClapArgs)]
pub struct SharedArgs {
    /// A built-in scenario or the path of a scenario file
    #[arg(default_value = "oltp", value_name = "SCENARIO")]
    pub scenario: String,
    /// Override a key of the scenario: gc.soft=0.1, workload.jobs.0.rate=500 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// The root seed of every random stream [default: the scenario's]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub seed: Option<u64>,
    /// Another device, whole: a name of `manx device list` or the path of a table; what the
    /// scenario says of its own device's numbers does not count
    #[arg(long, value_name = "NAME|FILE")]
    pub device: Option<String>,
    /// Another workload: a name of `manx workload list`, name(X) to set its parameter, or the path
    /// of a profile
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "trace")]
    pub workload: Option<String>,
    /// Replay this trace instead of the scenario's workload, on a drive that was overwritten at
    /// random (.gz, .zst, .xz, .bz2, a.tar:member are read in place)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Write the results into this folder: result.json, report.html, the scenario of each run
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// One JSON document on stdout; tables and progress go to stderr
    #[arg(long)]
    pub json: bool,
    /// Every column of the table: mean, maximum, confidence interval, erases, ..
    #[arg(long)]
    pub wide: bool,
    /// Write the log of the Aerospike Certification Tool's load (workload.act) into FILE as the run
    /// goes; of several policies, each into FILE with its name before the ending, or into this
    /// folder
    #[arg(long, value_name = "FILE")]
    pub act_log: Option<PathBuf>,
    /// Split every latency into what it was spent on (measure.attribution = true): a run takes 1.4
    /// to 1.9 times as long; `manx explain` tells it in words
    #[arg(long)]
    pub attribution: bool,
    /// Write every request with its latency, and with --attribution its parts, into FILE as
    /// Parquet; of several policies, each into FILE with its name before the ending
    #[arg(long, value_name = "FILE")]
    pub requests: Option<PathBuf>,
    /// Check every completed read against what was written
    #[arg(long)]
    pub verify: bool,
    /// Precondition the drive anew instead of taking its state from the cache
    #[arg(long)]
    pub no_cache: bool,
    /// Runs side by side [default: one for each core]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    // Groups with a heading come last: whatever follows one is shown under it.
    #[command(flatten)]
    pub timeline: TimelineArgs,
    #[command(flatten)]
    pub reading: TraceReadingArgs,
    #[command(flatten)]
    pub replay: TraceReplayArgs,
}

/// What dies, channels, GC runs and slow requests did, for https://ui.perfetto.dev.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Timeline (docs/timeline.md)")]
pub struct TimelineArgs {
    /// Write what every die, channel, GC run and slow request did into FILE, a Perfetto trace
    /// (.pftrace) for https://ui.perfetto.dev; of several policies, each into FILE with its name
    /// before the ending, or into a folder
    #[arg(long = "timeline", value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Keep only what lies in this part of the run: 1s..1.2s, 1s.., ..200ms [default: all of it]
    #[arg(long = "timeline-window", value_name = "FROM..TO", requires = "file", allow_hyphen_values = true,
        value_parser = window)]
    pub window: Option<(Instant, Instant)>,
    /// Show requests of this latency or more [default: 20 times that of a one-page read of an idle
    /// drive]
    #[arg(long = "timeline-slow", value_name = "TIME",
        requires = "file", allow_hyphen_values = true, value_parser = time)]
    pub slow: Option<Duration>,
    /// Stop recording at so many slices, GC runs and requests
    #[arg(long = "timeline-limit", value_name = "N", requires = "file", allow_negative_numbers = true,
        value_parser = whole, default_value_t = TIMELINE_LIMIT)]
    pub limit: u64,
}

impl TimelineArgs {
    /// Where to, and what it holds.
    pub fn request(&self) -> Option<(PathBuf, TimelineSpec)> {
        let (from, to) = self.window.unwrap_or((Instant::START, Instant::NEVER));
        self.file
            .clone()
            .map(|file| (file, TimelineSpec { from, to, slow: self.slow, limit: self.limit }))
    }
}

pub(crate) fn time(text: &str) -> Result<Duration, String> {
    text.parse().map_err(|error: QuantityError| error.to_string())
}

/// A part of a run: 1s..1.2s, either end of which may be left out.
fn window(text: &str) -> Result<(Instant, Instant), String> {
    let (from, to) = text.split_once("..").ok_or("expected FROM..TO: 1s..1.2s, 1s.., ..200ms")?;
    let end = |text: &str, open| match text.trim() {
        "" => Ok(open),
        text => time(text).map(|at| Instant::START + at),
    };
    let (from, to) = (end(from, Instant::START)?, end(to, Instant::NEVER)?);
    if from < to { Ok((from, to)) } else { Err("it is empty: FROM must be before TO".to_string()) }
}

impl SharedArgs {
    /// Every option that changes a scenario, as overrides: the named options first, `--set` over
    /// them.
    pub fn overrides(&self) -> Result<Vec<Override>, ConfigError> {
        let mut overrides = Vec::new();
        if let Some(workload) = &self.workload {
            let (name, parameter) = split_parameter(workload);
            let said = format!("--workload {workload}");
            overrides.push(Override::workload(read_workload(name)?, parameter, said));
        }
        if let Some(trace) = &self.trace {
            overrides.extend(trace_overrides(&trace.to_string_lossy()));
        }
        let mut named = vec![("--device", "device.name", self.device.as_deref().map(quoted))];
        if self.trace.is_some() {
            named.extend(self.reading.keys().into_iter().chain(self.replay.keys()));
        } else if let Some((option, ..)) = self
            .reading
            .keys()
            .into_iter()
            .chain(self.replay.keys())
            .find(|(_, _, value)| value.is_some())
        {
            return Err(ConfigError::new(format!(
                "{option} says how a trace is read or replayed: it needs --trace FILE"
            )));
        }
        overrides.extend(said(named));
        if let Some(seed) = self.seed {
            overrides.push(Override::new("seed", seed.to_string(), format!("--seed {seed}")));
        }
        if self.attribution {
            overrides.push(Override::new("measure.attribution", "true", "--attribution"));
        }
        for set in &self.sets {
            let key = set.split('=').next().unwrap_or_default().trim();
            if let Some(trace) = &self.trace
                && ["workload.trace.file", "workload.jobs.0.trace.file"].contains(&key)
            {
                let trace = trace.display();
                return Err(ConfigError::new(format!(
                    "--trace {trace} and --set {key} both name a trace: give one of them"
                )));
            }
            overrides.push(Override::from_set(set)?);
        }
        Ok(overrides)
    }
}

/// A number as a scenario file can hold it: TOML ends at 2^63 - 1.
fn whole(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number <= i64::MAX as u64);
    number.ok_or_else(|| format!("a whole number from 0 to {}", i64::MAX))
}

fn times(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|times| *times > 0)
        .ok_or_else(|| format!("a whole number from 1 to {}", u32::MAX))
}

/// A number at all; the scenario knows its range.
fn factor(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number
        .ok_or_else(|| "a factor from 0.000001 to 1000000000; 2 replays twice as fast".to_string())
}

/// A trace takes the place of the whole workload: of its jobs, its bounds, its part of the device
/// and its warm-up.
fn trace_overrides(file: &str) -> Vec<Override> {
    let said = format!("--trace {file}");
    let keys = [
        ("workload.jobs", "[]".to_string()),
        ("workload.trace.file", quoted(file)),
        ("workload.arrival", quoted("trace")),
        ("workload.requests", "0".to_string()),
        ("workload.time", quoted("0s")),
        ("workload.offset", quoted("0B")),
        ("workload.size", quoted("0B")),
        ("measure.warmup", quoted("0s")),
        ("measure.warmup_requests", "0".to_string()),
    ];
    keys.into_iter().map(|(key, value)| Override::new(key, value, said.clone())).collect()
}

/// The options that were given, as overrides.
fn said(keys: Vec<TraceKey>) -> impl Iterator<Item = Override> {
    keys.into_iter().filter_map(|(option, key, value)| {
        let value = value?;
        Some(Override::new(key, value.clone(), format!("{option} {}", value.trim_matches('"'))))
    })
}

/// A TOML string, so that a name such as `1` stays one.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An option that is a key of `workload.trace`: the option, the key, its value as TOML.
type TraceKey = (&'static str, &'static str, Option<String>);

/// How a trace is read, and which of its requests are taken.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "How the trace is read")]
pub struct TraceReadingArgs {
    /// Its format, a name of `manx trace formats` [default: found by looking at it]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// The unit of its times, where the format leaves it open: ns, us, ms, s
    #[arg(long, value_name = "UNIT")]
    pub time_unit: Option<String>,
    /// The unit of its addresses and sizes, where the format leaves it open: bytes, sectors
    #[arg(long, value_name = "UNIT")]
    pub lba_unit: Option<String>,
    /// Which event of a request counts in a trace of the block layer: queue, issue, complete
    #[arg(long, value_name = "EVENT")]
    pub event: Option<String>,
    /// Requests within one second, where the clock has whole seconds: even, none
    #[arg(long, value_name = "HOW")]
    pub spread: Option<String>,
    /// Only these of its devices
    #[arg(long, value_name = "NAME;..", value_delimiter = ';')]
    pub devices: Vec<String>,
    /// Without requests of these kinds: read, write, flush, trim, fua
    #[arg(long, value_name = "KIND,..", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Start of the window, in the trace's time: 90s, 250ms
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// End of the window
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub to: Option<String>,
    /// Skip so many requests of the window
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub skip: Option<u64>,
    /// Take at most so many requests; 0 is no bound
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole)]
    pub head: Option<u64>,
}

/// How a trace is fitted to a drive.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "How the trace is replayed")]
pub struct TraceReplayArgs {
    /// Several devices: one after the other (concat), upon each other (overlay), a drive for each
    /// (separate)
    #[arg(long, value_name = "HOW")]
    pub layout: Option<String>,
    /// At this multiple of its own rate
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true, value_parser = factor)]
    pub rate_scale: Option<f64>,
    /// So many times, one after the other
    #[arg(long = "loop", value_name = "TIMES", allow_negative_numbers = true, value_parser = times)]
    pub repeat: Option<u32>,
    /// Widen requests to multiples of this: 4KiB
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub align: Option<String>,
    /// What to do with addresses beyond the device: none (refuse), modulo, dense, scale [default:
    /// modulo, unless the scenario says otherwise]
    #[arg(long, value_name = "HOW")]
    pub remap: Option<String>,
}

impl TraceReadingArgs {
    /// What was said, as overrides that make `file` the trace of a scenario.
    pub fn overrides(&self, file: &str) -> Vec<Override> {
        let mut overrides = trace_overrides(file);
        overrides.extend(said(self.keys()));
        overrides
    }

    /// What was said, as keys of a scenario.
    pub fn keys(&self) -> Vec<TraceKey> {
        let text = |value: &Option<String>| value.as_deref().map(quoted);
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        vec![
            ("--format", "workload.trace.format", text(&self.format)),
            ("--time-unit", "workload.trace.time_unit", text(&self.time_unit)),
            ("--lba-unit", "workload.trace.lba_unit", text(&self.lba_unit)),
            ("--event", "workload.trace.event", text(&self.event)),
            ("--spread", "workload.trace.spread", text(&self.spread)),
            ("--devices", "workload.trace.devices", list(&self.devices)),
            ("--ignore", "workload.trace.ignore", list(&self.ignore)),
            ("--from", "workload.trace.from", text(&self.from)),
            ("--to", "workload.trace.to", text(&self.to)),
            ("--skip", "workload.trace.skip", number(self.skip)),
            ("--head", "workload.trace.head", number(self.head)),
        ]
    }
}

impl TraceReplayArgs {
    /// What was said, as keys of a scenario.
    pub fn keys(&self) -> Vec<TraceKey> {
        let text = |value: &Option<String>| value.as_deref().map(quoted);
        vec![
            ("--layout", "workload.trace.layout", text(&self.layout)),
            (
                "--rate-scale",
                "workload.trace.rate_scale",
                self.rate_scale.map(|factor| format!("{factor:?}")),
            ),
            ("--loop", "workload.trace.repeat", self.repeat.map(|times| times.to_string())),
            ("--align", "workload.trace.align", text(&self.align)),
            ("--remap", "workload.trace.remap", text(&self.remap)),
        ]
    }
}

/// A TOML list of strings; `None` without any.
fn list(items: &[String]) -> Option<String> {
    (!items.is_empty()).then(|| {
        format!("[{}]", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
    })
}

/// `manx trace`.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// List the formats that are read
    Formats,
    /// Say what a trace holds: sizes, rate and bursts, locality, footprint, write intervals,
    /// recorded latencies
    Info(Box<TraceInfoArgs>),
    /// Write a trace in another format
    Convert(Box<TraceConvertArgs>),
}

/// `manx trace info`.
#[derive(Debug, ClapArgs)]
pub struct TraceInfoArgs {
    /// The trace (.gz, .zst, .xz, .bz2, a.tar:member are read in place); of several, one row each
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    #[command(flatten)]
    pub reading: TraceReadingArgs,
    /// One JSON document on stdout: an object, or a list of them for several files
    #[arg(long)]
    pub json: bool,
    /// One row for each file, even for one
    #[arg(long, conflicts_with = "json")]
    pub table: bool,
}

/// `manx trace convert`.
#[derive(Debug, ClapArgs)]
pub struct TraceConvertArgs {
    /// The trace (.gz, .zst, .xz, .bz2 are read in place)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The file to write, compressed where it ends in .gz or .zst; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    pub out: PathBuf,
    /// The format to write: parquet, manx, msr, fio-v3, mqsim [default: by the ending: .parquet,
    /// .csv (manx), .fio and .iolog, .trace and .ascii (mqsim)]
    #[arg(long = "as", value_name = "FORMAT", value_parser = target)]
    pub target: Option<Target>,
    /// Overwrite a file that is there
    #[arg(long)]
    pub force: bool,
    /// fio-v3: the file of the iolog [default: the device's name]; of several devices each has
    /// NAME-DEVICE
    #[arg(long, value_name = "NAME")]
    pub fio_file: Option<String>,
    #[command(flatten)]
    pub reading: TraceReadingArgs,
    /// Requests at this multiple of the trace's own rate
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true, value_parser = factor)]
    pub rate_scale: Option<f64>,
}

impl TraceConvertArgs {
    /// A scenario's keys for the trace, and how each was said.
    pub fn overrides(&self) -> Vec<Override> {
        let mut overrides = trace_overrides(&self.file.to_string_lossy());
        let rate = (
            "--rate-scale",
            "workload.trace.rate_scale",
            self.rate_scale.map(|factor| format!("{factor:?}")),
        );
        overrides.extend(said(self.reading.keys().into_iter().chain([rate]).collect()));
        overrides
    }
}

fn target(name: &str) -> Result<Target, String> {
    let names = || TARGETS.map(Target::name).join(", ");
    Target::named(name).ok_or_else(|| {
        let near = nearest(name, TARGETS.iter().map(|target| target.name()));
        let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        format!("expected one of {}{hint}", names())
    })
}

/// `manx workload`.
#[derive(Debug, Subcommand)]
pub enum WorkloadCommand {
    /// List the built-in workloads
    List,
    /// Show a workload: its text with the source of each figure, and the rates that follow from it
    Show {
        /// A name of `manx workload list`, name(X) to set its parameter, or the path of a profile
        name: String,
    },
    /// Fit a workload to a trace: figures without addresses, so that it can be shared where the
    /// trace cannot
    Fit(Box<FitArgs>),
}

/// `manx workload fit`.
#[derive(Debug, ClapArgs)]
pub struct FitArgs {
    /// The trace (.gz, .zst, .xz, .bz2, a.tar:member are read in place)
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    #[command(flatten)]
    pub reading: TraceReadingArgs,
    /// Write the workload into this file; `-` is standard output, as without it
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite a file that is there
    #[arg(long)]
    pub force: bool,
    /// Name the trace in it so [default: it stays unnamed]
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
}

/// What a schema can be of.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaOf {
    /// A scenario file
    Scenario,
    /// A result
    Result,
}
