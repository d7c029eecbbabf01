//! Counts that a server tells at its end: latencies of the model, and how late answers left.

use crate::front::Kind;
use manx_core::stats::{Histogram, OpStats};
use manx_core::units::Duration;

/// Counts of a server.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Reads: latencies in the model's time.
    pub read: OpStats,
    /// Writes, and writes of zeros.
    pub write: OpStats,
    /// Deallocations.
    pub trim: OpStats,
    /// Flushes.
    pub flush: OpStats,
    /// From the instant at which the model completed a request to the moment at which its answer
    /// was given to the socket, in nanoseconds of the wall.
    pub lateness: Histogram,
    /// Requests that the drive ended with an error.
    pub errors: u64,
    /// Requests that were refused before they came to the drive.
    pub refused_requests: u64,
    /// Connections so far, those that were refused, and those that broke the protocol.
    pub connections: u64,
    /// Connections beyond the limit.
    pub refused: u64,
    /// Connections that broke the protocol or said nothing.
    pub faults: u64,
    /// The model's time since the start.
    pub span: Duration,
    /// Wall time since the start, in nanoseconds.
    pub wall_ns: u64,
    /// Wall time of the transport that was taken off.
    pub compensation: std::time::Duration,
}

impl Tally {
    pub(crate) fn count(&mut self, kind: Kind, latency: Duration, bytes: u64) {
        let stats = match kind {
            Kind::Read => &mut self.read,
            Kind::Write | Kind::Zero { .. } => &mut self.write,
            Kind::Trim => &mut self.trim,
            Kind::Flush => &mut self.flush,
        };
        stats.record(latency, bytes);
    }

    /// Requests that were answered.
    pub fn requests(&self) -> u64 {
        self.lateness.count()
    }
}
