//! The options of `manx act`.

use super::KeyArgs;
use clap::{Args as ClapArgs, Subcommand, ValueEnum, value_parser};
use manx_config::{ConfigError, Override, split_parameter};
use manx_lab::load::read_workload;
use manx_lab::rating::Rule;

/// `manx act`.
#[derive(Debug, Subcommand)]
pub enum ActCommand {
    /// The largest multiplier of the load that a drive passes: trials by doubling, then bisection
    Rate(Box<RateArgs>),
}

/// `manx act rate`.
#[derive(Debug, ClapArgs)]
pub struct RateArgs {
    /// A built-in scenario or the path of a scenario file; its load has to be ACT ([workload.act],
    /// or --workload 'act(1)')
    #[arg(value_name = "SCENARIO")]
    pub scenario: String,
    /// The policies, one after the other [default: the scenario as it is written]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub policies: Vec<String>,
    /// Rule by which a trial passes (docs/act.md)
    #[arg(long, value_name = "RULE", default_value = "paper")]
    pub rule: RuleName,
    /// The least multiplier, which is tried first
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true,
        value_parser = value_parser!(u32).range(1..=250_000))]
    pub from: u32,
    /// The most multiplier
    #[arg(long, value_name = "N", default_value_t = 1024, allow_negative_numbers = true,
        value_parser = value_parser!(u32).range(1..=250_000))]
    pub to: u32,
    /// Another workload: 'act(1)', or the path of a profile
    #[arg(long, value_name = "NAME|FILE")]
    pub workload: Option<String>,
    #[command(flatten)]
    pub keys: KeyArgs,
    /// Precondition the drive anew instead of taking its state from the cache
    #[arg(long)]
    pub no_cache: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// A rule of docs/act.md by its name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum RuleName {
    /// The tool's own
    #[value(name = "act6.6")]
    Act,
    /// The four conditions of the paper on practical erase suspension
    Paper,
    /// The fourth of them alone
    PaperStress,
}

impl RuleName {
    /// The rule.
    pub const fn rule(self) -> Rule {
        match self {
            Self::Act => Rule::Act,
            Self::Paper => Rule::Paper,
            Self::PaperStress => Rule::PaperStress,
        }
    }
}

impl RateArgs {
    /// The options that change the scenario, `--set` over the others.
    pub fn overrides(&self) -> Result<Vec<Override>, ConfigError> {
        let mut overrides = Vec::new();
        if let Some(workload) = &self.workload {
            let (name, parameter) = split_parameter(workload);
            let said = format!("--workload {workload}");
            overrides.push(Override::workload(read_workload(name)?, parameter, said));
        }
        overrides.extend(self.keys.overrides()?);
        Ok(overrides)
    }
}
