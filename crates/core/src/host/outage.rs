//! The driver when the power fails: commands under way are lost, the drive recovers, the jobs go
//! on.
//!
//! A lost command counts as failed and ends when the drive is ready again, so a closed loop goes on
//! from there; a request whose time came meanwhile is issued then, and its latency counts from its
//! own time.

use super::{Broken, Driver};
use crate::drive::{CrashImage, Recovered, Storage};
use crate::stats::PowerLossReport;
use crate::units::Instant;

/// How a power loss went.
#[derive(Clone, Debug)]
pub struct Outage {
    /// The recovery, and what was lost.
    pub report: PowerLossReport,
    /// Promises that were broken; empty without an oracle.
    pub broken: Vec<Broken>,
    /// When the drive took commands again.
    pub ready: Instant,
}

impl Driver {
    /// Does everything that is due before `limit`.
    pub fn play_before(&mut self, limit: Instant) {
        self.play_before_while(limit, &mut |_| true);
    }

    /// The same, until `go_on` says no, as of [`Driver::play_while`]; false if it did. No request
    /// is too old meanwhile.
    pub fn play_before_while(
        &mut self,
        limit: Instant,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> bool {
        loop {
            let (job, at) = self.next_due();
            if let Some(completion) = self.storage.advance_before(at.min(limit).min(self.look_at)) {
                let id = completion.id;
                self.complete(completion);
                self.free.push(id);
            } else if self.look_at < at.min(limit) {
                self.look_later(at);
                if !go_on(self.progress().issued - self.progress().completed) {
                    return false;
                }
            } else if at < limit {
                self.issue(job, at);
            } else {
                self.look_at = self.look_at.min(self.patience.due);
                return true;
            }
        }
    }

    /// When something happens next, the host's part included.
    pub fn next_event_at(&self) -> Instant {
        self.next_due().1.min(self.storage.next_event_at())
    }

    /// The power fails at `at` and comes back at once: everything before `at` is done, the drive
    /// recovers, and promises are checked.
    pub fn power_cut(&mut self, at: Instant) -> Outage {
        self.power_cut_with(at, |image| image)
    }

    /// As [`Driver::power_cut`], with `strike` on the crash image before the drive recovers from
    /// it.
    pub fn power_cut_with(
        &mut self,
        at: Instant,
        strike: impl FnOnce(CrashImage) -> CrashImage,
    ) -> Outage {
        self.play_before(at);
        let Recovered { mut drive, ready, mut report } =
            strike(self.storage.clone().power_cut(at)).recover();
        let mut broken = Vec::new();
        if let Some(oracle) = &mut self.oracle {
            broken = oracle.broken_promises(|lpn| drive.version_of(lpn));
            oracle.power_came_back(|lpn| drive.version_of(lpn));
        }
        drive.power_up(ready);
        self.storage = drive;
        (report.commands_lost, report.broken_promises) =
            (self.lose_commands(ready), broken.len() as u64);
        let outage = Outage { report, broken, ready };
        self.outages.push(outage.clone());
        outage
    }
}

impl<S: Storage> Driver<S> {
    /// The power losses so far.
    pub fn outages(&self) -> &[Outage] {
        &self.outages
    }
}
