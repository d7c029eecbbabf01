//! What can be said on the command line.

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;
use manx_core::config::Override;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  manx compare                                           the built-in OLTP-like scenario under three policies
  manx compare quick --set gc.soft=0.1 --seed 7          a small one, one key changed, another seed
  manx run oltp --policy preemptive --device femu --json   one policy, another device, JSON on stdout";

/// Manx: an exact, deterministic simulator of flash storage and of what was published against its tail latency
#[derive(Debug, Parser)]
#[command(name = "manx", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The families of commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario under one policy
    Run(RunArgs),
    /// Run a scenario under several policies and hold them against the first
    Compare(CompareArgs),
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
}

/// `manx run`.
#[derive(Debug, ClapArgs)]
pub struct RunArgs {
    /// The policy [default: the scenario as it is written]
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    #[command(flatten)]
    pub shared: SharedArgs,
}

/// `manx compare`.
#[derive(Debug, ClapArgs)]
pub struct CompareArgs {
    /// The policies, the first being what the others are held against [default: the scenario's]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub policies: Vec<String>,
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
    /// The root seed of every random stream
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,
    /// Another device: a name of `manx device list` or the path of a table
    #[arg(long, value_name = "NAME|FILE")]
    pub device: Option<String>,
    /// Replay this trace instead of the scenario's workload (.gz, .zst, .xz, .bz2 are read in place)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// The trace's format: msr, mqsim, ssdsim, blkparse [default: found by looking at it]
    #[arg(long, value_name = "FORMAT", requires = "trace")]
    pub format: Option<String>,
    /// The unit of the trace's times: ns, us, ms, s
    #[arg(long, value_name = "UNIT", requires = "trace")]
    pub time_unit: Option<String>,
    /// What to do with addresses beyond the device: none, modulo, dense, scale
    #[arg(long, value_name = "HOW", requires = "trace")]
    pub remap: Option<String>,
    /// Write the results into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// One JSON document on stdout; tables and progress go to stderr
    #[arg(long)]
    pub json: bool,
    /// Check every completed read against what was written
    #[arg(long)]
    pub verify: bool,
    /// Precondition the drive anew instead of taking its state from the cache
    #[arg(long)]
    pub no_cache: bool,
    /// Runs side by side [default: one for each core]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
}

impl SharedArgs {
    /// Every option that changes a scenario, as overrides: the named options first, `--set` over them.
    pub fn overrides(&self) -> Result<Vec<Override>, manx_core::config::ConfigError> {
        let mut overrides = Vec::new();
        if let Some(trace) = &self.trace {
            overrides.extend(trace_overrides(&trace.to_string_lossy()));
        }
        let named = [
            ("--format", "workload.trace.format", self.format.clone()),
            ("--time-unit", "workload.trace.time_unit", self.time_unit.clone()),
            ("--remap", "workload.trace.remap", self.remap.clone()),
            ("--device", "device.name", self.device.clone()),
        ];
        for (option, key, value) in named {
            if let Some(value) = value {
                overrides.push(Override::new(key, quoted(&value), format!("{option} {value}")));
            }
        }
        if let Some(seed) = self.seed {
            overrides.push(Override::new("seed", seed.to_string(), format!("--seed {seed}")));
        }
        for set in &self.sets {
            overrides.push(Override::from_set(set)?);
        }
        Ok(overrides)
    }
}

/// A seed as a scenario file can hold it: TOML ends at 2^63 - 1.
fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse().ok().filter(|seed| *seed <= i64::MAX as u64);
    seed.ok_or_else(|| format!("a whole number from 0 to {}", i64::MAX))
}

/// A trace takes the place of the whole workload: of its jobs, its bounds, its part of the device and its warm-up.
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

/// A TOML string, so that a name such as `1` stays one.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// `manx device`.
#[derive(Debug, Subcommand)]
pub enum DeviceCommand {
    /// List the built-in devices
    List,
    /// Show a device: capacities, numbers, and where each number is from
    Show {
        /// A name of `manx device list` or the path of a table
        name: String,
    },
}

/// `manx policy`.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// List the policies
    List,
    /// Show a policy: what it does, where it is from, what it changes
    Show {
        /// A name of `manx policy list`, or a path of names
        name: String,
    },
}

/// What a schema can be of.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaOf {
    /// A scenario file
    Scenario,
    /// A result
    Result,
}
