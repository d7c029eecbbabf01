//! A request as a workload states it, before it becomes a command.

use crate::units::{Instant, Lba, Op};

/// One request of a workload. Its address never depends on timing, so requests can be drawn ahead
/// of their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it should arrive (open loop, think-free); closed-loop jobs ignore it.
    pub at: Instant,
    /// The operation.
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
/// Contract: `next_request` returns the requests in order of arrival (`at` never decreases) and
/// `None` for ever once it is exhausted. Addresses are inside the device: a source that reads a
/// trace has remapped or dropped what was not.
pub trait RequestSource: Send {
    /// The next request, or `None` at the end.
    fn next_request(&mut self) -> Option<Request>;

    /// As many of the next requests as fit into `places`; how many they are.
    fn next_requests(&mut self, places: &mut [Request]) -> usize {
        draw_each(self, places)
    }
}

/// Draws the next requests one by one, as many as fit into `places`; how many they are.
#[inline]
pub fn draw_each<S: RequestSource + ?Sized>(source: &mut S, places: &mut [Request]) -> usize {
    for (at, place) in places.iter_mut().enumerate() {
        let Some(request) = source.next_request() else { return at };
        *place = request;
    }
    places.len()
}
