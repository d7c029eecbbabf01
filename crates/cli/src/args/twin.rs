//! `manx twin`.

use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  manx twin report                          the twins that ship
  manx twin report --html twins.html        the same as a page
  manx twin report my-drive-twin/my-drive-fit.json";

/// Twins of real drives.
#[derive(Debug, Subcommand)]
pub enum TwinCommand {
    /// How near twins are: which drives, fitted on what, tested on what, what error
    Report(TwinReportArgs),
}

/// `manx twin report`.
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub struct TwinReportArgs {
    /// Reports of fits (NAME-fit.json of `manx fit`) [default: those of the twins that ship]
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Write a page that stands alone, too
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Replace a page that is there
    #[arg(long)]
    pub force: bool,
}
