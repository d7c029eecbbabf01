//! Traces: what real hosts asked of real devices, read from the files in which that was kept.
//!
//! ```text
//! open stream → lines → one reader per format → Record → treatment → Request
//!      (head: sniff)         (survey: TraceSummary)          (TraceSource)
//! ```
//!
//! Reading order:
//! * `lines`: lines of a stream with one reused buffer, numbered and bounded; number fields.
//! * [`msr`], [`ascii`], [`blkparse`]: a line of each format, and what is strange about it.
//! * [`TraceReader`]: any of them as a stream of [`Record`]s in time order, with everything dropped or altered counted.
//! * [`sniff`]: which format a file has, and whether its times are believable in the unit assumed.
//! * [`TraceSummary`]: what a trace holds.
//! * `treat`, `dense`: addresses fitted to a device.
//! * [`TraceSource`]: the requests of a trace, as a workload plays them.
//!
//! The core does no file I/O: whoever drives it gives an [`Opener`] that can open the stream again for each pass. A
//! trace is surveyed once, whole, before it is played; so a malformed line is an error before the run, not in it.
//!
//! What this does not do: sort records that are far out of order (`reorder` has a window; beyond it a time that goes
//! back is clamped and counted), match
//! completions to issues, choose devices out of a trace, or replay a trace's own latencies.

pub mod ascii;
pub mod blkparse;
mod dense;
mod error;
mod lines;
pub mod msr;
mod reader;
mod reorder;
pub mod sniff;
mod source;
mod summary;
mod survey;
mod treat;

pub use error::{Place, TraceError};
pub use reader::TraceReader;
pub use source::TraceSource;
pub use summary::{DeviceSummary, Tally, TraceSummary};
pub use survey::survey;

use super::{TimeUnit, TraceFormat};
use crate::drive::Op;
use crate::units::{Duration, Lba};
use std::io::BufRead;

/// An open trace: text, decompressed.
pub type Stream = Box<dyn BufRead + Send>;

/// Opens the trace from its start; called once for each pass over it.
pub type Opener = Box<dyn FnMut() -> Result<Stream, TraceError> + Send>;

/// One request of a trace, as the file states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time since the trace's first record; it never decreases from one record to the next.
    pub at: Duration,
    /// What was asked.
    pub op: Op,
    /// First sector, within the address space of `device`.
    pub lba: Lba,
    /// Number of sectors; 0 for a flush, and only for a flush.
    pub sectors: u32,
    /// Force unit access.
    pub fua: bool,
    /// The device, numbered in the order in which the devices appear in the trace.
    pub device: u32,
    /// How long the request took where it was recorded, if the format has it.
    pub latency: Option<Duration>,
}

/// Sectors lie below this (64 PiB): so sums over all devices of a trace cannot overflow.
pub const MAX_SECTOR: u64 = 1 << 47;

/// More devices than this in one trace is a misread column, not a trace.
pub const MAX_DEVICES: u32 = 1 << 16;

/// A line that holds a request, before its device is numbered and its time counted from the first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Time in the format's own ticks ([`nanoseconds_per_tick`]).
    pub ticks: u64,
    /// What was asked.
    pub op: Op,
    /// First sector.
    pub lba: u64,
    /// Number of sectors.
    pub sectors: u32,
    /// Force unit access.
    pub fua: bool,
    /// The device's name, as the line writes it.
    pub device: &'a [u8],
    /// How long it took, in ticks.
    pub latency: Option<u64>,
    /// Why the request is not exactly what the line says, if so.
    pub altered: Option<&'static str>,
}

/// What one line of a trace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A request.
    Request(Entry<'a>),
    /// A request that is not played, and why.
    Drop(&'static str),
    /// Not a request, as the format foresees: which kind of line.
    Skip(&'static str),
}

/// How a format is named on the command line and in scenarios.
pub const fn format_name(format: TraceFormat) -> &'static str {
    match format {
        TraceFormat::Msr => "msr",
        TraceFormat::Mqsim => "mqsim",
        TraceFormat::Ssdsim => "ssdsim",
        TraceFormat::Blkparse => "blkparse",
    }
}

/// How a time unit is named on the command line and in scenarios.
pub const fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Ns => "ns",
        TimeUnit::Us => "us",
        TimeUnit::Ms => "ms",
        TimeUnit::S => "s",
    }
}

/// Nanoseconds in one of a unit.
pub const fn unit_ns(unit: TimeUnit) -> u64 {
    match unit {
        TimeUnit::Ns => 1,
        TimeUnit::Us => 1_000,
        TimeUnit::Ms => 1_000_000,
        TimeUnit::S => 1_000_000_000,
    }
}

/// True where a format leaves the unit of its times open.
pub const fn unit_is_open(format: TraceFormat) -> bool {
    matches!(format, TraceFormat::Mqsim | TraceFormat::Ssdsim)
}

/// The length of an [`Entry`]'s tick: MSR counts in 100 ns, the other readers convert to nanoseconds.
pub const fn nanoseconds_per_tick(format: TraceFormat) -> u64 {
    match format {
        TraceFormat::Msr => 100,
        TraceFormat::Mqsim | TraceFormat::Ssdsim | TraceFormat::Blkparse => 1,
    }
}

#[cfg(test)]
mod tests;
