//! A request as a workload states it, before it becomes a command.

use crate::drive::Op;
use crate::units::{Instant, Lba};

/// One request of a workload. Its address never depends on timing, so requests can be drawn ahead of their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it should arrive (open loop, think-free); closed-loop jobs ignore it.
    pub at: Instant,
    /// What to do.
    pub op: Op,
    /// First sector.
    pub lba: Lba,
    /// Number of sectors; 0 for a flush.
    pub sectors: u32,
    /// Force unit access.
    pub fua: bool,
    /// Write stream (placement hint).
    pub stream: u8,
}

/// Where a job's requests come from: a generator or a trace.
///
/// Contract: `next_request` returns the requests in order of arrival (`at` never decreases) and `None` for ever once it
/// is exhausted. Addresses are inside the device: a source that reads a trace has remapped or dropped what was not.
pub trait RequestSource: Send {
    /// The next request, or `None` at the end.
    fn next_request(&mut self) -> Option<Request>;
}

/// A source whose requests all carry one hint: the replay of a trace, which has none of its own.
pub struct Hinted {
    source: Box<dyn RequestSource>,
    stream: u8,
}

impl std::fmt::Debug for Hinted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hinted").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl Hinted {
    /// `source` with the hint `stream`; the source itself where that is 0.
    pub fn wrap(source: Box<dyn RequestSource>, stream: u8) -> Box<dyn RequestSource> {
        if stream == 0 { source } else { Box::new(Self { source, stream }) }
    }
}

impl RequestSource for Hinted {
    fn next_request(&mut self) -> Option<Request> {
        self.source.next_request().map(|request| Request { stream: self.stream, ..request })
    }
}
