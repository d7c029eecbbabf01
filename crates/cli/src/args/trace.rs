//! `manx trace`, and the options that say how a trace is read and replayed, as keys of a scenario.

use super::whole;
use clap::{Args as ClapArgs, Subcommand};
use manx_config::{Override, nearest};
use manx_lab::ask::{NamedKey, quoted, said, trace_overrides};
use manx_trace::convert::{TARGETS, Target};
use std::path::PathBuf;

const GET_EXAMPLES: &str = "Examples:
  manx trace get                                     what there is
  manx compare --trace \"$(manx trace get pgbench)\"
  manx trace get msr-wdev-1 --registry mirror.json   from your own copy";

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
    /// Get public traces by name, or list them: each is downloaded once, verified and kept in the
    /// cache; the path of its file is printed
    Get(TraceGetArgs),
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
        overrides.extend(said(self.reading.keys().into_iter().chain([rate])));
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

/// `manx trace get`.
#[derive(Debug, ClapArgs)]
#[command(after_help = GET_EXAMPLES)]
pub struct TraceGetArgs {
    /// Names of traces; without any, all are listed with their sizes and licences
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Another registry: a JSON file of the form of traces/registry.json, for a mirror (file://) or
    /// traces of your own
    #[arg(long, value_name = "FILE")]
    pub registry: Option<PathBuf>,
    /// The folder to keep them in [default: traces in $MANX_CACHE, else ~/.cache/manx/traces]
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
    /// List them as one JSON document
    #[arg(long, conflicts_with = "names")]
    pub json: bool,
}

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
    /// Start of the window, counted from the trace's first request: 90s, 250ms
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// End of the window (exclusive), counted likewise
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
    /// Treatment of addresses beyond the device: none (refuse), modulo, dense, scale [default:
    /// modulo, unless the scenario says otherwise]
    #[arg(long, value_name = "HOW")]
    pub remap: Option<String>,
}

impl TraceReadingArgs {
    /// The options given, as overrides that make `file` the trace of a scenario.
    pub fn overrides(&self, file: &str) -> Vec<Override> {
        let mut overrides = trace_overrides(file);
        overrides.extend(said(self.keys()));
        overrides
    }

    /// The options given, as keys of a scenario.
    pub fn keys(&self) -> Vec<NamedKey> {
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
    /// The options given, as keys of a scenario.
    pub fn keys(&self) -> Vec<NamedKey> {
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
