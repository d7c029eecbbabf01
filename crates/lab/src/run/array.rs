//! An array played: its members' states, its driver, and its warnings.

use super::words::why_read_only;
use super::workload::Workload;
use super::{Files, Phase, Played, Preparation, Run, RunError};
use crate::machine::Stopwatch;
use crate::prepare::{About, Prepared};
use crate::replay::Replays;
use crate::storage;
use manx_core::array::{Array, Failure};
use manx_core::drive::Storage;
use manx_core::host::{Driver, Job, Oracle};
use manx_core::stats::{MachineReport, Outcome, RunResult};
use manx_core::units::{Bytes, Instant, SECTOR};

impl Run<'_> {
    /// Plays an array of drives, each from a state of its own.
    pub(super) fn play_array(
        &self,
        workload: Workload,
        replays: &Replays,
        files: &mut Files<'_>,
    ) -> Result<(RunResult, Preparation), RunError> {
        let (scenario, verify) = (self.scenario, self.context.verify);
        let mut preparation = Preparation { cpu_s: 0.0, from_cache: true, trouble: None };
        let mut about = About { settled: true, ..About::default() };
        let mut progress = |done| {
            self.tell(Phase::Preconditioning, done, None, None);
            !self.stopped()
        };
        let mut taken = |prepared: &Prepared| {
            preparation.add(prepared);
            about.add(&prepared.about);
        };
        let states = (self.context.states, verify);
        let mut array = storage::array(scenario, self.keys, states, &mut progress, &mut taken)?;
        if let Some(spec) = files.timeline() {
            array.keep_timeline(spec);
        }
        let oracle = verify.then(|| Oracle::new(&array));
        let sources = workload.drives.into_iter().flatten();
        let jobs = sources.map(|(source, pacing)| Job::new(source, pacing)).collect();
        let measure = &scenario.measure;
        let driver = Driver::new(array, jobs, oracle, measure.warmup, measure.warmup_requests);
        let driver =
            if measure.timeout.is_zero() { driver } else { driver.with_timeout(measure.timeout) };
        let driver = if measure.attribution { driver.with_attribution() } else { driver };
        let mut driver = if files.wants_requests() { driver.with_records() } else { driver };
        let watch = Stopwatch::start();
        let outcome = self.play(&mut driver, workload.end, 0, files)?;
        let play_cpu_s = watch.cpu_s();
        let played = self.count_array(driver, outcome, files)?;
        let played = Played { about, cpu_s: play_cpu_s, ..played };
        Ok(self.finish(played, preparation, replays))
    }

    /// Totals of an array that was played.
    pub(super) fn count_array(
        &self,
        mut driver: Driver<Array>,
        outcome: Outcome,
        files: &mut Files,
    ) -> Result<Played, RunError> {
        let mut totals = self.totals(&driver, outcome)?;
        files.end_drive(&mut driver, outcome, None)?;
        let array = driver.storage();
        totals.array = Some(array.counters());
        totals.warnings.extend(warnings(array));
        totals.user = Bytes::new(Storage::sectors(array) * SECTOR);
        let drives = (0..array.drives()).map(|number| array.drive(number));
        let flash_ops = drives.map(|drive| drive.flash().operations().total()).sum();
        let completed = driver.progress().completed;
        let memory = self.with_memory(MachineReport::default(), &driver);
        let about = About::default();
        Ok(Played { totals, about, memory, cpu_s: 0.0, completed, flash_ops })
    }
}

/// Warnings of an array: every member that failed, refuses writes or turned read-only, and pages
/// that found no member.
fn warnings(array: &Array) -> Vec<String> {
    let mut warnings: Vec<String> = array
        .failures()
        .iter()
        .filter(|failure| failure.refused)
        .map(|failure| failed(array, failure))
        .collect();
    for drive in 0..array.drives() {
        let known = array.failures().iter().any(|failure| failure.drive == drive);
        let faults = &array.drive(drive).counters().faults;
        if let Some(at) = faults.read_only_at.filter(|_| !known) {
            let (why, at) = (why_read_only(faults), seconds(at));
            let member = if drive < array.members() {
                format!("member {drive}")
            } else {
                "the spare".to_string()
            };
            warnings.push(format!(
                "{member} {why} and turned read-only after {at} s; \
                 it has refused no write yet"
            ));
        }
    }
    let counters = array.counters();
    if counters.refused_pages > 0 {
        warnings.push(format!(
            "no member could keep {} pages: their writes ended with an \
             error, and are in no latency",
            counters.refused_pages
        ));
    }
    if counters.lost_reads > 0 {
        warnings.push(format!(
            "too few members were left for {} parts of reads: their requests ended with an error, \
             and are in no latency",
            counters.lost_reads
        ));
    }
    if counters.kept_pages > 0 {
        warnings.push(format!(
            "{} acknowledged pages found no member: they stay in the array's memory \
             (array.cache), and are read there",
            counters.kept_pages
        ));
    }
    warnings
}

fn failed(array: &Array, failure: &Failure) -> String {
    let Failure { member, drive, at, read_only_at, is_read, .. } = *failure;
    let spare = if drive < array.members() { "" } else { ", the spare," };
    let at = seconds(at);
    let (did, why) = match read_only_at.map(seconds) {
        Some(since) => ("refused a write", format!(" (it was read-only from {since} s on)")),
        None => ("could not read what an update needed", String::new()),
    };
    let then = match is_read {
        true => {
            "no other drive has what it holds, so it is read on, and writes to it end with an error"
        }
        false => "the array failed it, and is degraded from then on",
    };
    format!("member {member}{spare} {did} after {at} s{why}: {then}")
}

fn seconds(at: Instant) -> f64 {
    at.since(Instant::START).as_s_f64()
}
