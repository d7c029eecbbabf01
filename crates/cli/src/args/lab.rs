//! `manx lab`.

use clap::{Args as ClapArgs, Subcommand, value_parser};
use std::path::PathBuf;

/// `manx lab`.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// List the built-in experiments
    List,
    /// Show an experiment: its text with the reason of every band, and its runs
    Show {
        /// A name of `manx lab list`, or the path of an experiment
        name: String,
    },
    /// Run experiments and compare what they measure with what was published
    Run(LabRunArgs),
    /// Show every statement of the papers, misses first: reproduced, consistent or missed
    Score(LabScoreArgs),
}

/// `manx lab score`.
#[derive(Debug, ClapArgs)]
pub struct LabScoreArgs {
    /// The statements of one paper alone: ttFlash, IODA, ..
    #[arg(long, value_name = "PAPER")]
    pub paper: Option<String>,
    /// Statements of one verdict alone
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub verdict: Option<VerdictArg>,
    /// One JSON document: each statement with its claims, tests and what is missing
    #[arg(long)]
    pub json: bool,
}

/// A verdict on the command line.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum VerdictArg {
    /// Outside of the band, or nothing there
    Missed,
    /// Inside the band that an experiment states
    Consistent,
    /// Inside the range that the paper prints
    Reproduced,
}

impl VerdictArg {
    /// As a table says it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Missed => "missed",
            Self::Consistent => "consistent",
            Self::Reproduced => "reproduced",
        }
    }
}

/// `manx lab run`.
#[derive(Debug, ClapArgs)]
pub struct LabRunArgs {
    /// Names of `manx lab list`, all, or paths of experiments
    #[arg(required = true, value_name = "NAME|all")]
    pub names: Vec<String>,
    /// Leave this experiment out of all (repeatable)
    #[arg(long, value_name = "NAME")]
    pub skip: Vec<String>,
    /// Exit with 1 when a claim has another verdict than recorded, or cannot fail
    #[arg(long)]
    pub check: bool,
    /// The small version of each experiment
    #[arg(long)]
    pub quick: bool,
    /// Leave out the runs that no claim asks for: those are for tables and pictures
    #[arg(long)]
    pub claims_only: bool,
    /// Override a key of all runs, or of one: gc.soft=0.1, base:gc.mode=nogc (repeatable).
    /// Claims stay
    #[arg(long = "set", value_name = "[RUN:]KEY=VALUE")]
    pub sets: Vec<String>,
    /// Write results and claims into DIR/NAME, and keep the journal there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The folder of the traces that some experiments replay [default: $MANX_TRACES, else traces]
    #[arg(long, value_name = "DIR")]
    pub traces: Option<PathBuf>,
    /// One JSON document on stdout; tables and progress go to stderr
    #[arg(long)]
    pub json: bool,
    /// Run everything anew, whatever the journal has
    #[arg(long)]
    pub fresh: bool,
    /// Neither drives nor journals of the user's cache
    #[arg(long)]
    pub no_cache: bool,
    /// Runs side by side [default: one for each core]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
}
