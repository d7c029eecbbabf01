//! `manx advise`.

use super::{KeyArgs, TraceReadingArgs, TraceReplayArgs};
use clap::{Args as ClapArgs, ValueEnum, value_parser};
use manx_config::{ConfigError, scenario_names};
use manx_lab::advise::question::{Asked, Minimise};
use manx_lab::ask::{quoted, said, trace_overrides};
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  manx advise traces/pgbench.csv.zst --slo 'read.p99_9 < 5ms'
  manx advise quick --slo 'read.p99 < 2ms' --slo 'write.p99 < 5ms' --minimise op
  manx advise quick --slo 'read.p99 < 2ms' --over device.op=0.2,0.3,0.4 \
--policies base,preemptive --out advice";

/// `manx advise`.
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub struct AdviseArgs {
    /// A trace (.gz, .zst, .xz, .bz2, a.tar:member are read in place), a built-in scenario or the
    /// path of a scenario file
    #[arg(value_name = "TRACE|SCENARIO")]
    pub target: String,
    /// A goal: 'read.p99_99 < 2ms', 'write.p99 < 5ms', 'read.mean < 200us', 'read.iops > 5000',
    /// 'waf < 3' (repeatable)
    #[arg(long = "slo", value_name = "GOAL", allow_hyphen_values = true)]
    pub goals: Vec<String>,
    /// The price to keep small: cost (money for a usable TB, by a model), op, waf, power, drives
    #[arg(long, value_name = "WHAT", default_value = "cost", hide_possible_values = true)]
    pub minimise: Least,
    /// A key and the values that are tried, in place of the built-in ones of that key (repeatable)
    #[arg(long, value_name = "KEY=V1,V2,..")]
    pub over: Vec<String>,
    /// The policies that are tried [default: base, preemptive, with i-es and t-es, modern, pb,
    /// ttflash]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub policies: Vec<String>,
    /// A number of the cost model: money.flash_gb=0.08 (repeatable)
    #[arg(long = "cost", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    pub costs: Vec<String>,
    /// The scenario whose drive a trace is replayed on
    #[arg(long, value_name = "NAME|FILE", default_value = "oltp")]
    pub scenario: String,
    /// Another device, whole: a name of `manx device list` or the path of a table
    #[arg(long, value_name = "NAME|FILE")]
    pub device: Option<String>,
    #[command(flatten)]
    pub keys: KeyArgs,
    /// Write advise.json, advise.html and the journal, by which a stopped search goes on, into this
    /// folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Run every setting to its end: the grid that the search saves, and what it is measured by
    #[arg(long)]
    pub exhaustive: bool,
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

/// The price to keep small.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Least {
    /// Money for a usable TB
    Cost,
    /// Over-provisioning
    Op,
    /// Write amplification
    Waf,
    /// Watts for a usable TB
    Power,
    /// Drives
    Drives,
}

impl AdviseArgs {
    /// The options, as the lab asks for them.
    pub fn asked(&self) -> Result<Asked, ConfigError> {
        let is_scenario =
            scenario_names().any(|name| name == self.target) || self.target.ends_with(".toml");
        let mut overrides = Vec::new();
        let keys = || self.reading.keys().into_iter().chain(self.replay.keys());
        let mut named = vec![("--device", "device.name", self.device.as_deref().map(quoted))];
        if !is_scenario {
            overrides.extend(trace_overrides(&self.target));
            named.extend(keys());
        } else if let Some((option, ..)) = keys().find(|(_, _, value)| value.is_some()) {
            return Err(ConfigError::new(format!(
                "{option} says how a trace is read or replayed, and {} is a scenario",
                self.target
            )));
        } else if self.scenario != "oltp" {
            return Err(ConfigError::new(format!(
                "--scenario {} names the drive of a trace, and {} is a scenario itself",
                self.scenario, self.target
            )));
        }
        overrides.extend(said(named));
        overrides.extend(self.keys.overrides()?);
        Ok(Asked {
            scenario: if is_scenario { self.target.clone() } else { self.scenario.clone() },
            overrides,
            trace: (!is_scenario).then(|| self.target.clone()),
            goals: self.goals.clone(),
            minimise: match self.minimise {
                Least::Cost => Minimise::Cost,
                Least::Op => Minimise::Op,
                Least::Waf => Minimise::Waf,
                Least::Power => Minimise::Power,
                Least::Drives => Minimise::Drives,
            },
            over: self.over.clone(),
            policies: self.policies.clone(),
            costs: self.costs.clone(),
            exhaustive: self.exhaustive,
        })
    }
}
