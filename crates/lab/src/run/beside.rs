//! Files that a run writes beside its result, as it goes: the log of an ACT load, a timeline, every
//! request.

use super::RunError;
use crate::act_log::{ActLog, path_for, path_of};
use crate::timeline::{TimelineFile, TimelineReport};
use manx_config::Scenario;
use manx_core::drive::Storage;
use manx_core::drive::TimelineSpec;
use manx_core::host::{ActRecorder, BlockRequest, Driver, Measured, Records};
use manx_core::stats::{ActReport, Outcome};
use manx_core::units::Instant;
use std::fmt;
use std::path::Path;

/// Files that the runs of a comparison write beside their results. Of several runs each has a file
/// with its policy's name before the ending ([`path_for`]). None of it changes a result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// The Aerospike Certification Tool's log.
    pub act_log: Option<&'a Path>,
    /// Timelines, and what they hold.
    pub timeline: Option<(&'a Path, TimelineSpec)>,
    /// Every request, and who can write them.
    pub requests: Option<(&'a Path, MakeSink)>,
    /// A taker of everything in memory, without a file.
    pub watcher: Option<&'a dyn Watcher>,
}

/// Makes a [`Sink`] that writes into a file; `true`: with the parts of latencies.
pub type MakeSink = fn(&Path, bool) -> Result<Box<dyn Sink>, String>;

/// Takes what the runs of a comparison leave, by their number, from the threads of the runs. It
/// changes no result.
pub trait Watcher: Sync {
    /// Takes the requests of a run; `true`: with the parts of latencies. `None` where they are not
    /// wanted.
    fn requests(&self, run: usize, with_parts: bool) -> Option<Box<dyn Sink>>;
    /// The contents of a timeline, where one is wanted.
    fn timeline(&self) -> Option<&TimelineSpec>;
    /// A drive of a run has been played, or an array: what was measured, and the storage at its
    /// end. `device` is what the drive stands for where a run has several.
    fn played(&self, run: usize, end: &Played<'_>);
}

/// A drive, or an array, at the end of its run.
pub struct Played<'a> {
    /// It, with its timeline.
    pub storage: &'a dyn Storage,
    /// Its measured part.
    pub measured: &'a Measured,
    /// The end of the run.
    pub now: Instant,
    /// The trace's device that it stands for, where a run has several.
    pub device: Option<&'a str>,
}

impl fmt::Debug for dyn Watcher + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

/// Takes every request of a run. The lab does not know how a file of them is written.
pub trait Sink: Send {
    /// Takes more of them, in the order of their completions.
    fn take(&mut self, records: &Records) -> Result<(), String>;
    /// There are no more: the file is made whole.
    fn finish(&mut self) -> Result<(), String>;
}

impl fmt::Debug for dyn Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sink")
    }
}

/// The files of one run.
#[derive(Debug, Default)]
pub(crate) struct Files<'a> {
    act_log: Option<ActLog>,
    timeline: Option<(TimelineFile, TimelineSpec)>,
    requests: Vec<Box<dyn Sink>>,
    /// The watcher, and the number of the run.
    watcher: Option<(&'a dyn Watcher, usize)>,
}

impl<'a> Files<'a> {
    /// Makes the files of the run `number` of `policy`, one of `runs`.
    pub(super) fn create(
        beside: &Beside<'a>,
        (number, policy): (usize, &str),
        runs: usize,
        scenario: &Scenario,
    ) -> Result<Self, RunError> {
        let watcher = beside.watcher.map(|watcher| (watcher, number));
        let mut files = Self { watcher, ..Self::default() };
        let with_parts = scenario.measure.attribution;
        let watched = beside.watcher.and_then(|watcher| watcher.requests(number, with_parts));
        let timeline = files.timeline().is_some() || beside.timeline.is_some();
        if let Some(cut) = scenario.recovery.cut_at {
            let requests = watched.is_some() || beside.requests.is_some();
            let asked = [(timeline, "--timeline"), (requests, "--requests")];
            if let Some((_, option)) = asked.into_iter().find(|(is_asked, _)| *is_asked) {
                return Err(RunError::Beside(format!(
                    "{option}: recovery.cut_at = {cut} is not allowed with it: what was under way \
                     at the power loss has no end to record"
                )));
            }
        }
        if let Some(base) = beside.act_log {
            files.act_log = Some(ActLog::create(path_of(base, policy, runs))?);
        }
        if let Some((base, spec)) = beside.timeline {
            let path = path_for(base, policy, runs, ("timeline", "pftrace"));
            let title = format!("{policy}, {}", scenario.name);
            files.timeline =
                Some((TimelineFile::create(path, title).map_err(RunError::Beside)?, spec));
        }
        if let Some((base, make)) = beside.requests {
            let path = path_for(base, policy, runs, ("requests", "parquet"));
            let sink = make(&path, with_parts);
            files.requests.push(sink.map_err(|why| RunError::Beside(format!("--requests {why}")))?);
        }
        files.requests.extend(watched);
        Ok(files)
    }

    /// Settings of the timeline that the drive is to keep.
    pub(super) fn timeline(&self) -> Option<&TimelineSpec> {
        let watched = self.watcher.and_then(|(watcher, _)| watcher.timeline());
        self.timeline.as_ref().map(|(_, spec)| spec).or(watched)
    }

    pub(super) fn wants_act_log(&self) -> bool {
        self.act_log.is_some()
    }

    pub(super) fn wants_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Writes what has come since the last time.
    pub(super) fn write<S: Storage>(&mut self, driver: &mut Driver<S>) -> Result<(), RunError> {
        if let (Some(log), Some(text)) =
            (&mut self.act_log, driver.act().and_then(ActRecorder::take_log))
        {
            log.append(&text)?;
        }
        if let Some(records) = driver.take_records() {
            for sink in &mut self.requests {
                sink.take(&records).map_err(RunError::Write)?;
            }
        }
        Ok(())
    }

    /// A drive is done; `device` is what it stands for where a run has several. What the ACT load
    /// came to, if it was one.
    pub(super) fn end_drive<S: Storage>(
        &mut self,
        driver: &mut Driver<S>,
        outcome: Outcome,
        device: Option<&String>,
    ) -> Result<Option<ActReport>, RunError> {
        let (now, partial) = (driver.now(), outcome == Outcome::Partial);
        let report = driver.act().map(|recorder| {
            recorder.finish(now, partial);
            recorder.result(partial)
        });
        self.write(driver)?;
        if let Some((timeline, _)) = &mut self.timeline {
            timeline.add(driver, device);
        }
        if let Some((watcher, number)) = self.watcher {
            let device = device.map(String::as_str);
            let (storage, measured, now) = (driver.storage(), driver.measured(), driver.now());
            watcher.played(number, &Played { storage, measured, now, device });
        }
        Ok(report)
    }

    /// A client's block layer above the drives that are done.
    pub(super) fn end_client(&mut self, asked: &[BlockRequest]) {
        if let Some((timeline, spec)) = &mut self.timeline {
            timeline.add_host(asked, spec);
        }
    }

    /// Makes the files whole; what the timeline came to.
    pub(super) fn finish(self) -> Result<Option<TimelineReport>, RunError> {
        for mut sink in self.requests {
            sink.finish().map_err(RunError::Write)?;
        }
        self.timeline.map(|(timeline, _)| timeline.finish()).transpose().map_err(RunError::Write)
    }
}
