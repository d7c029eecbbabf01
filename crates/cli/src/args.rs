//! The command line: commands and their options, a file for each family.

mod act;
mod advise;
mod fit;
mod keys;
mod lab;
mod library;
mod linux;
mod plan;
mod plot;
mod serve;
mod sheets;
mod sweep;
mod timeline;
mod torture;
mod trace;
mod twin;
mod why;
mod workload;

pub use act::{ActCommand, RateArgs};
pub use advise::AdviseArgs;
pub use fit::TwinArgs;
pub use keys::KeyArgs;
pub use lab::{LabCommand, LabRunArgs, LabScoreArgs};
pub use library::{DeviceCommand, PolicyCommand, ScenarioCommand};
pub use linux::{CostOf, Cuts, Defect, LinuxArgs};
pub use plan::PlanCommand;
pub use plot::PlotArgs;
pub use serve::{
    Compensation, CtlArgs, CtlOrder, LogLevel, Protocol, ServeArgs, StoreCommand, TlsMode,
};
pub use sheets::SheetArgs;
pub use sweep::SweepArgs;
pub use timeline::TimelineArgs;
pub use torture::TortureArgs;
pub use trace::{
    TraceCommand, TraceConvertArgs, TraceGetArgs, TraceInfoArgs, TraceReadingArgs, TraceReplayArgs,
};
pub use twin::{TwinCommand, TwinReportArgs};
pub use why::WhyArgs;
pub use workload::{FitArgs, FromFioArgs, WorkloadCommand};

use crate::screen::Screen;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;
use manx_config::{ConfigError, Override};
use manx_core::units::{Duration, QuantityError};
use manx_lab::ask::Named;
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
#[command(name = "manx", version, long_version = VERSION, arg_required_else_help = true)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The command.
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
    /// Which drive and settings keep goals, at least cost
    Advise(Box<AdviseArgs>),
    /// Why a trace's tail is there: its own latencies beside the model's
    Why(Box<WhyArgs>),
    /// Draw results for a paper: SVG, PDF or PNG
    Plot(PlotArgs),
    /// Where the tail's time went, in words, request by request
    Explain(ExplainArgs),
    /// Run at many values of keys: CSV, Parquet, the Pareto front
    Sweep(Box<SweepArgs>),
    /// Cut the power in many small runs, and check every page
    Torture(TortureArgs),
    /// The model as a block device that programs use: NBD, on the wall clock
    Serve(Box<ServeArgs>),
    /// Orders to a drive that is served: state, pause, resume, set, stop
    Ctl(CtlArgs),
    /// Run a command in a Linux whose disks are the model, in exact virtual time
    Linux(Box<LinuxArgs>),
    /// The folder in which a served drive outlives its server
    #[command(subcommand)]
    Store(StoreCommand),
    /// A device fitted to measurements of a real drive, its error stated
    Fit(Box<TwinArgs>),
    /// Twins of real drives: how near they are
    #[command(subcommand)]
    Twin(TwinCommand),
    /// Papers' claims, and the runs that check them
    #[command(subcommand)]
    Lab(LabCommand),
    /// The rating of a drive by the Aerospike Certification Tool
    #[command(subcommand)]
    Act(ActCommand),
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
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = time,
        conflicts_with_all = ["file", "requests", "act_log", "attribution"])]
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

/// Options of both `run` and `compare`.
#[derive(Debug, ClapArgs)]
pub struct SharedArgs {
    /// A built-in scenario or the path of a scenario file
    #[arg(default_value = "oltp", value_name = "SCENARIO")]
    pub scenario: String,
    #[command(flatten)]
    pub keys: KeyArgs,
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
    /// Say whether the drive was steady as SNIA's PTS judges: of the last five of up to 25 rounds
    /// the spread and the slope
    #[arg(long)]
    pub pts: bool,
    /// Check every completed read against what was written
    #[arg(long)]
    pub verify: bool,
    /// Precondition the drive anew instead of taking its state from the cache
    #[arg(long)]
    pub no_cache: bool,
    /// Runs side by side [default: one for each core]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    // Groups with a heading come last: whatever follows one is shown under it.
    #[command(flatten)]
    pub timeline: TimelineArgs,
    #[command(flatten)]
    pub reading: TraceReadingArgs,
    #[command(flatten)]
    pub replay: TraceReplayArgs,
}

pub(crate) fn time(text: &str) -> Result<Duration, String> {
    text.parse().map_err(|error: QuantityError| error.to_string())
}

impl SharedArgs {
    /// Every option that changes a scenario, as overrides: the named options first, `--set` over
    /// them.
    pub fn overrides(&self) -> Result<Vec<Override>, ConfigError> {
        let trace = self.trace.as_ref().map(|trace| trace.to_string_lossy());
        let replay = self.reading.keys().into_iter().chain(self.replay.keys()).collect();
        let named = Named {
            device: self.device.as_deref(),
            workload: self.workload.as_deref(),
            trace: trace.as_deref(),
            replay,
            attribution: self.attribution,
        };
        named.overrides(self.keys.overrides()?)
    }
}

/// A number as a scenario file can hold it: TOML ends at 2^63 - 1.
fn whole(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number <= i64::MAX as u64);
    number.ok_or_else(|| format!("a whole number from 0 to {}", i64::MAX))
}

/// Kinds of schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaOf {
    /// A scenario file
    Scenario,
    /// A result
    Result,
}
