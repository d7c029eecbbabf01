//! Traces: what real hosts asked of real devices, read from the files in which that was kept.
//!
//! ```text
//! open stream → lines → one reader per format → Record → treatment → Request
//!      (head: sniff)         (survey: TraceSummary)          (TraceSource)
//! ```
//!
//! Reading order:
//! * [`decode`]: what a format's reader is. [`format`]: the table of them. [`formats`]: one file
//!   for each.
//! * `pieces`: a stream cut into lines or records. `fields`, `rwbs`: what their fields say.
//! * [`TraceReader`]: any format as a stream of [`Record`]s in time order (`spread`, `reorder`,
//!   `pairs`, `devices`), with everything dropped or altered counted.
//! * [`sniff`]: which format a file has, and whether its units are believable.
//! * `select`: which requests are played. `survey`, [`TraceSummary`]: what they are.
//!   [`statistics`]: more of it.
//! * `treat`, `dense`: addresses fitted to a device.
//! * [`TraceSource`]: the requests of a trace, as a workload plays them.
//! * [`convert`]: the requests of a trace, written in another format.
//!
//! No file I/O here: the caller gives an [`Opener`] that can open the stream again for each pass. A
//! trace is surveyed once, whole, before it is played; so a malformed line is an error before the
//! run, not in it.
//!
//! Not done here: sorting records that are far out of order (`reorder` has a window; beyond it a
//! time that goes back is clamped and counted), or imposing a trace's own latencies on the drive:
//! they stand beside its own.

pub mod convert;
pub mod decode;
mod dense;
mod devices;
mod doubts;
mod error;
pub mod fields;
pub mod format;
pub mod formats;
mod pairs;
mod pieces;
mod reader;
mod reorder;
pub mod rwbs;
mod select;
pub mod sniff;
mod source;
mod spec;
mod spread;
pub mod statistics;
mod summary;
mod survey;
mod treat;

pub use decode::Reading;
pub use error::{Place, TraceError, escaped};
pub use reader::TraceReader;
pub use source::TraceSource;
pub use spec::{
    Layout, LbaUnit, Remap, Spread, TimeUnit, TraceEvent, TraceFormat, TraceOp, TraceSpec,
};
pub use statistics::{StatisticsReport, TraceStatistics};
pub use summary::{DeviceSummary, Recorded, Tally, TraceSummary};
pub use survey::{survey, survey_each};

use manx_base::units::{Duration, Lba, Op};
use std::io::Read;
use std::sync::Arc;

/// Bytes of a trace, decompressed.
pub type Stream = Box<dyn Read + Send>;

/// One of the files that make a trace.
pub struct Part {
    /// Its name in errors.
    pub file: Arc<str>,
    /// Its bytes.
    pub stream: Stream,
}

/// Opens the trace from its start, each of its parts; called once for each pass over it. Several
/// parts are merged by time.
pub type Opener = Box<dyn FnMut() -> Result<Vec<Part>, TraceError> + Send>;

/// One request of a trace, as the file states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time since the trace's first record; it never decreases from one record to the next.
    pub at: Duration,
    /// Its kind.
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

impl TraceEvent {
    /// How it is named on the command line and in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            TraceEvent::Queue => "queue",
            TraceEvent::Issue => "issue",
            TraceEvent::Complete => "complete",
        }
    }
}

#[cfg(test)]
mod tests;
