//! Files that a run writes beside its result, as it goes: the log of an ACT load, a timeline, every
//! request.

use super::RunError;
use crate::act_log::{ActLog, path_for, path_of};
use crate::timeline::{TimelineFile, TimelineReport};
use manx_core::config::Scenario;
use manx_core::drive::Storage;
use manx_core::drive::TimelineSpec;
use manx_core::host::{ActRecorder, Driver, Records};
use manx_core::stats::{ActReport, Outcome};
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
}

/// Makes a [`Sink`] that writes into a file; `true`: with the parts of latencies.
pub type MakeSink = fn(&Path, bool) -> Result<Box<dyn Sink>, String>;

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
pub(crate) struct Files {
    act_log: Option<ActLog>,
    timeline: Option<(TimelineFile, TimelineSpec)>,
    requests: Option<Box<dyn Sink>>,
}

impl Files {
    /// Makes the files of the run of `policy`, one of `runs`.
    pub(super) fn create(
        beside: &Beside<'_>,
        policy: &str,
        runs: usize,
        scenario: &Scenario,
    ) -> Result<Self, RunError> {
        let mut files = Self::default();
        if let Some(cut) = scenario.recovery.cut_at {
            let asked = [
                (beside.timeline.is_some(), "--timeline"),
                (beside.requests.is_some(), "--requests"),
            ];
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
            let sink = make(&path, scenario.measure.attribution);
            files.requests =
                Some(sink.map_err(|why| RunError::Beside(format!("--requests {why}")))?);
        }
        Ok(files)
    }

    /// Settings of the timeline that the drive is to keep.
    pub(super) fn timeline(&self) -> Option<&TimelineSpec> {
        self.timeline.as_ref().map(|(_, spec)| spec)
    }

    pub(super) fn wants_act_log(&self) -> bool {
        self.act_log.is_some()
    }

    pub(super) fn wants_requests(&self) -> bool {
        self.requests.is_some()
    }

    /// Writes what has come since the last time.
    pub(super) fn write<S: Storage>(&mut self, driver: &mut Driver<S>) -> Result<(), RunError> {
        if let (Some(log), Some(text)) =
            (&mut self.act_log, driver.act().and_then(ActRecorder::take_log))
        {
            log.append(&text)?;
        }
        if let (Some(sink), Some(records)) = (&mut self.requests, driver.take_records()) {
            sink.take(&records).map_err(RunError::Write)?;
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
        Ok(report)
    }

    /// Makes the files whole; what the timeline came to.
    pub(super) fn finish(self) -> Result<Option<TimelineReport>, RunError> {
        if let Some(mut sink) = self.requests {
            sink.finish().map_err(RunError::Write)?;
        }
        self.timeline.map(|(timeline, _)| timeline.finish()).transpose().map_err(RunError::Write)
    }
}
