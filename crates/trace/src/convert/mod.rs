//! A trace written in another format: requests in, bytes out, and what the format could not hold,
//! counted.
//!
//! ```text
//! file → survey: About ┐
//! file → Records ──────┴→ Encoder (one file for each target) → bytes; Losses
//! ```
//!
//! Each target is a file: [`manx_csv`], [`msr`], [`fio`], [`mqsim`]; Parquet is written by a crate
//! of its own through the same [`Encoder`]. `records` reads the trace, `names` fits device names to
//! what a target allows.
//!
//! Two passes: a header names the devices, and a column is only written where something stands in
//! it, so the whole trace is surveyed first. A malformed line is therefore an error before anything
//! is written.
//!
//! Nothing is lost in silence. A request that a target cannot hold at all is under
//! [`Losses::dropped`]; one that it holds in part or with a rounded time is under
//! [`Losses::altered`], once for each reason.

pub mod fio;
pub mod manx_csv;
pub mod mqsim;
pub mod msr;
mod names;
mod records;

pub use records::{About, Records};

use super::{Record, Tally};
use manx_base::units::{Op, SECTOR};
use std::io;
use std::path::Path;

/// A format that traces are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Manx's Parquet columns.
    Parquet,
    /// Manx's own csv.
    Manx,
    /// MSR Cambridge csv.
    Msr,
    /// fio iolog, version 3.
    FioV3,
    /// MQSim ascii.
    Mqsim,
}

/// Every target, in the order of a list.
pub const TARGETS: [Target; 5] =
    [Target::Parquet, Target::Manx, Target::Msr, Target::FioV3, Target::Mqsim];

/// Losses: fields and requests that a target could not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Requests that are not in the output, by reason.
    pub dropped: Tally,
    /// Requests that are in the output otherwise than in the trace, by reason.
    pub altered: Tally,
}

/// Writes requests in one format.
pub trait Encoder {
    /// Writes the text before the first request; called once, first.
    fn begin(&mut self, out: &mut Vec<u8>) -> io::Result<()>;

    /// One request, in the order of time. What of it is lost is counted.
    fn encode(&mut self, record: &Record, losses: &mut Losses, out: &mut Vec<u8>)
    -> io::Result<()>;

    /// Writes the text after the last request; called once, last.
    fn end(&mut self, out: &mut Vec<u8>) -> io::Result<()>;
}

/// The writer of a text target; `None` for Parquet, which is another crate's. `fio_file` names the
/// file of an iolog.
pub fn text_encoder(
    target: Target,
    about: &About,
    fio_file: Option<&str>,
) -> Option<Box<dyn Encoder>> {
    Some(match target {
        Target::Parquet => return None,
        Target::Manx => Box::new(manx_csv::ManxCsv::new(about)),
        Target::Msr => Box::new(msr::Msr::new(about)),
        Target::FioV3 => Box::new(fio::Fio::new(about, fio_file)),
        Target::Mqsim => Box::new(mqsim::Mqsim::new(about)),
    })
}

impl Target {
    /// How it is named on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Parquet => "parquet",
            Target::Manx => "manx",
            Target::Msr => "msr",
            Target::FioV3 => "fio-v3",
            Target::Mqsim => "mqsim",
        }
    }

    /// The target of a name.
    pub fn named(name: &str) -> Option<Self> {
        TARGETS.into_iter().find(|target| target.name() == name)
    }

    /// The target that a file's ending tells, below that of a compression.
    pub fn of_file(path: &Path) -> Option<Self> {
        let stem = match ending(path)?.as_str() {
            "gz" | "zst" => path.file_stem().map(Path::new)?,
            _ => path,
        };
        Some(match ending(stem)?.as_str() {
            "parquet" => Target::Parquet,
            "csv" => Target::Manx,
            "fio" | "iolog" => Target::FioV3,
            "trace" | "ascii" => Target::Mqsim,
            _ => return None,
        })
    }
}

fn ending(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

/// Counts, for a target without them, a request's FUA flag and latency.
fn count_missing(record: &Record, holds_latency: bool, losses: &mut Losses) {
    if record.fua {
        losses.altered.add("FUA left out: the format has none");
    }
    if record.latency.is_some() && !holds_latency {
        losses.altered.add("latency left out: the format has none");
    }
}

/// Counts a flush or a trim that a target of reads and writes cannot hold; true if it is one.
fn count_dataless(op: Op, losses: &mut Losses) -> bool {
    match op {
        Op::Read | Op::Write => return false,
        Op::Flush => losses.dropped.add("flush: the format has none"),
        Op::Trim => losses.dropped.add("trim: the format has none"),
    }
    true
}

/// First byte and bytes of a request.
fn bytes_of(record: &Record) -> (u64, u64) {
    (record.lba.0 * SECTOR, u64::from(record.sectors) * SECTOR)
}

#[cfg(test)]
mod tests;
