//! The measured part of a run: what its counted requests, and the counters at its start, say.

use super::{Causes, Driver};
use crate::drive::{Completion, Drive, Op, Storage};
use crate::stats::{Counters, Kind, Moments, OpStats, OverTime, ResetCounters, Written};
use crate::units::{Duration, Instant};

/// The counted part of a run.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Reads.
    pub read: OpStats,
    /// Writes.
    pub write: OpStats,
    /// Deallocations.
    pub trim: OpStats,
    /// Flushes.
    pub flush: OpStats,
    /// Reads and writes by the time when the host has seen their completion, from `since` on.
    pub over_time: OverTime,
    /// Why they took so long, if that is wanted.
    pub causes: Option<Box<Causes>>,
    /// Reads with any nanosecond of garbage collection in their latency.
    pub gc_blocked_reads: u64,
    /// Reads that found garbage collection at a target when they were split.
    pub gc_blocked_at_split_reads: u64,
    /// Requests excluded as warm-up.
    pub warmup_requests: u64,
    /// Requests of the warm-up that were under way when the counted part began.
    pub under_way_before: u64,
    /// When the counted part began.
    pub since: Instant,
    /// The counters of each drive then; none when everything was counted.
    pub counters_before: Vec<Counters>,
    /// Aborts and resets of the host until then.
    pub resets_before: ResetCounters,
    /// Pages in the write buffer of each drive then: written, but not yet programmed.
    pub buffered_before: Vec<u32>,
    /// Map units free on each drive when the run began; none where the FTL has log blocks.
    pub free_before: Vec<Option<u64>>,
    /// Host writes and reclaimed blocks up to moments on the way.
    pub moments: Moments,
    /// When the host had seen the end of the last counted request, with an error or without.
    pub until: Instant,
}

impl Measured {
    /// A counted request ended for the host at `seen`; a slow job may see an earlier end later.
    #[inline]
    pub(super) fn lasts_to(&mut self, seen: Instant) {
        self.until = self.until.max(seen);
    }

    /// Counts a request of `bytes` that the host has `seen` end after `latency`; true when the
    /// moment has come to keep how much has been written.
    #[inline]
    pub(super) fn record(
        &mut self,
        completion: &Completion,
        op: Op,
        (seen, latency): (Instant, Duration),
        bytes: u64,
    ) -> bool {
        self.lasts_to(seen);
        let time = seen.since(self.since);
        match op {
            Op::Read => {
                self.read.record(latency, bytes);
                self.over_time.record(Kind::Read, time, latency);
                self.gc_blocked_reads += u64::from(completion.gc_blocked);
                self.gc_blocked_at_split_reads += u64::from(completion.gc_blocked_at_split);
            }
            Op::Write => {
                self.write.record(latency, bytes);
                self.over_time.record(Kind::Write, time, latency);
                return self.moments.is_due(self.write.count());
            }
            Op::Trim => self.trim.record(latency, bytes),
            Op::Flush => self.flush.record(latency, bytes),
        }
        false
    }
}

/// The part of a drive's counters that moments keep.
pub(super) fn written(counters: &Counters) -> Written {
    Written {
        host_bytes: counters.host_bytes_written,
        reclaimed: counters.erases + counters.free_erases,
    }
}

/// Map units that can be programmed on a drive before anything is reclaimed; none where its room is
/// in a log.
pub(super) fn free_units(drive: &Drive) -> Option<u64> {
    let ftl = drive.ftl();
    let pools = ftl.each_pool().map(|pool| u64::from(ftl.free_units(pool)));
    ftl.log_blocks().is_none().then(|| pools.sum())
}

impl<S: Storage> Driver<S> {
    /// Keeps how much has been written so far.
    #[cold]
    pub(super) fn keep_moment(&mut self) {
        let now = self.written();
        self.measured.moments.keep(now);
    }

    /// Host writes and reclaimed blocks so far, on all drives.
    fn written(&self) -> Written {
        let drives = (0..self.storage.drives()).map(|number| self.storage.drive(number));
        drives
            .map(|drive| written(&drive.counters()))
            .fold(Written::default(), |sum, drive| sum.and(&drive))
    }

    /// Host writes and reclaimed blocks in the two halves of the counted part, by bytes that the
    /// host wrote.
    pub fn halves(&self) -> [Written; 2] {
        let before = self.measured.counters_before.iter().map(written);
        let from = before.fold(Written::default(), |sum, drive| sum.and(&drive));
        self.measured.moments.halves(&from, &self.written())
    }
}
