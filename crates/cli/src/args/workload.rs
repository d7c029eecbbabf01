//! `manx workload`.

use super::TraceReadingArgs;
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

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
    /// A fio job file as a workload: options that are not taken over are named
    FromFio(FromFioArgs),
}

/// `manx workload from-fio`.
#[derive(Debug, ClapArgs)]
pub struct FromFioArgs {
    /// The job file
    #[arg(value_name = "JOB.fio")]
    pub file: PathBuf,
    /// Write the workload into this file; `-` is standard output, as without it
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite a file that is there
    #[arg(long)]
    pub force: bool,
}

/// `manx workload fit`.
#[derive(Debug, ClapArgs)]
pub struct FitArgs {
    /// The trace (.gz, .zst, .xz, .bz2, a.tar:member are read in place)
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    #[command(flatten)]
    pub reading: TraceReadingArgs,
    /// Keep figures alone: rate, burstiness, heat; no phases and no order of writes
    #[arg(long)]
    pub stationary: bool,
    /// Run trace and profile on three drives that collect garbage, and say whether blocked reads,
    /// WAF and p99 lie within 20 % of each other; the profile has it in its head
    #[arg(long)]
    pub check: bool,
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
