//! A sweep: many points of a scenario's keys, one row each, and the front of those that nobody
//! beats.
//!
//! Reading order: [`axis`] is what `--grid` and `--random` say of one key (`number` reads the
//! ranges), [`plan`] the points in their order, [`run`] plays them by way of a [`crate::campaign`]
//! and writes the files of a folder (`columns`, `csv`, [`value`]: what a row holds; `effects`: keys
//! that change nothing), [`question`] tells whether a folder is of the same sweep, [`pareto`] and
//! [`standing`] are the front, [`knee`] the end of what a drive can serve, [`show`]
//! prints, [`finished`] looks at a folder again.
//!
//! The files: `sweep.toml` (the question), `journal.jsonl` (whole results, of which any column can
//! be made later), `sweep.csv`, `sweep.parquet`, `skipped.txt` where points were left out. The rows
//! are a function of the question and of the columns: the same bytes for any number of threads and
//! interruptions, as long as no column is one of `machine`, which holds CPU times.

pub mod axis;
mod columns;
mod csv;
mod effects;
pub mod finished;
pub mod knee;
mod number;
pub mod pareto;
pub mod plan;
pub mod question;
pub mod run;
mod schema;
pub mod show;
pub mod standing;
pub mod value;

pub use columns::{Quantity, cells, quantities};

use crate::run::RunError;
use std::fmt;

/// Why a sweep did not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepError {
    /// The sweep that was asked for cannot be done; nothing was run.
    Input(String),
    /// A file cannot be written.
    Write(String),
    /// A run could not begin or go on.
    Run(RunError),
    /// It was stopped before the first run.
    Stopped,
}

impl From<RunError> for SweepError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Write(why) => Self::Write(why),
            error => Self::Run(error),
        }
    }
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(why) | Self::Write(why) => f.write_str(why),
            Self::Run(error) => error.fmt(f),
            Self::Stopped => {
                f.write_str("interrupted while the points were checked: nothing was run")
            }
        }
    }
}

impl std::error::Error for SweepError {}
