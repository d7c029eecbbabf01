//! `manx why`.

use super::{KeyArgs, TraceReadingArgs, TraceReplayArgs};
use clap::{Args as ClapArgs, value_parser};
use manx_config::{ConfigError, Override};
use manx_lab::ask::{quoted, said, trace_overrides};

const EXAMPLES: &str = "Examples:
  manx why traces/pgbench.csv.zst
  manx why traces/pgbench.csv.zst --scenario quick --policies base,preemptive --json";

/// `manx why`.
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub struct WhyArgs {
    /// The trace (.gz, .zst, .xz, .bz2, a.tar:member are read in place)
    #[arg(value_name = "TRACE")]
    pub trace: String,
    /// The scenario whose drive the model replays it on
    #[arg(long, value_name = "NAME|FILE", default_value = "oltp")]
    pub scenario: String,
    /// Another device, whole: a name of `manx device list` or the path of a table
    #[arg(long, value_name = "NAME|FILE")]
    pub device: Option<String>,
    /// The model's policies [default: base, nogc, preemptive, preemptive/t-es(16ms), ttflash]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub policies: Vec<String>,
    #[command(flatten)]
    pub keys: KeyArgs,
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
    /// Precondition the drives anew instead of taking their states from the cache
    #[arg(long)]
    pub no_cache: bool,
    /// Runs side by side [default: one for each core]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    #[command(flatten)]
    pub reading: TraceReadingArgs,
    #[command(flatten)]
    pub replay: TraceReplayArgs,
}

impl WhyArgs {
    /// The options, as overrides of the scenario.
    pub fn overrides(&self) -> Result<Vec<Override>, ConfigError> {
        let mut overrides = trace_overrides(&self.trace);
        let mut named = vec![("--device", "device.name", self.device.as_deref().map(quoted))];
        named.extend(self.reading.keys().into_iter().chain(self.replay.keys()));
        overrides.extend(said(named));
        overrides.extend(self.keys.overrides()?);
        Ok(overrides)
    }
}
