//! One scenario under one policy: from its settings to its result.
//!
//! The steps: open the workload, take the preconditioned state, build the drive, play in chunks
//! (between which a run can be stopped and watched), count up (`totals`). Everything but `machine`
//! is a function of the scenario.
//!
//! Where each device of a trace has a drive of its own (`layout = "separate"`), the drives are
//! played one after the other: they share nothing but their time, so the order does not matter.
//! Each starts from the same state, and what they measured is added up.

mod array;
mod beside;
mod totals;

pub use beside::{Beside, MakeSink, Sink};

use crate::machine::Stopwatch;
use crate::memory::{BACKLOG_STEP, backlog_refusal};
use crate::prepare::About;
use crate::prepare::{Key, Prepared, States, host_sectors, member};
use crate::replay::Replays;
use crate::stamp;
use crate::timeline::TimelineReport;
use beside::Files;
use manx_core::array::Array;
use manx_core::config::Scenario;
use manx_core::drive::{Drive, Storage};
use manx_core::ftl::PageMap;
use manx_core::ftl::timeless::Full;
use manx_core::host::act::{ActError, ActRecorder};
use manx_core::host::generate::{GenerateError, Generator};
use manx_core::host::{Driver, Hinted, Job, JobSpec, Oracle, Pacing, RequestSource};
use manx_core::nvme::{Attributes, Controller, Options};
use manx_core::stats::{MachineReport, Outcome, Percentiles, RunResult, RunTotals};
use manx_core::units::{Bytes, Duration, Instant, SECTOR};
use manx_trace::{Layout, TraceError};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Parts of the time until a power loss, after each of which the run is told.
const CUT_PARTS: u128 = 256;

/// Completions after which the run is told and written; the stop flag is looked at more often.
const CHUNK: u64 = 1 << 16;

/// A member of an array, or its spare, behind NVMe.
fn behind_nvme(scenario: &Scenario, drive: Drive) -> Controller {
    let attributes = Attributes::of(&drive, &scenario.drive, &scenario.gc);
    Controller::new(drive, attributes, Options::default())
}

/// Why a run cannot begin, or go on. All but `Write` are the input's fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A trace cannot be read or does not fit.
    Trace(TraceError),
    /// A job's settings cannot be honoured.
    Generate(GenerateError),
    /// The drive cannot hold what preconditioning writes.
    Full(Full),
    /// The settings of an ACT load cannot be honoured.
    Act(ActError),
    /// The log of an ACT load cannot be made.
    ActLog(String),
    /// A file beside the result cannot be made.
    Beside(String),
    /// What a run wrote as it went cannot be written any more: not the input's fault.
    Write(String),
    /// The machine has not the memory that the run needs.
    Memory(String),
    /// A trace whose devices have a drive each is not the only job, but one of so many.
    NotAlone(usize),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace(error) => error.fmt(f),
            Self::Generate(error) => error.fmt(f),
            Self::Full(error) => error.fmt(f),
            Self::Act(error) => error.fmt(f),
            Self::ActLog(error)
            | Self::Beside(error)
            | Self::Write(error)
            | Self::Memory(error) => f.write_str(error),
            Self::NotAlone(jobs) => write!(
                f,
                "workload.jobs: trace.layout = \"separate\" gives each device of the trace a drive of its own, so the \
                 trace must be the only job, not one of {jobs}; \"concat\" and \"overlay\" share one drive"
            ),
        }
    }
}

impl std::error::Error for RunError {}

impl From<TraceError> for RunError {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

impl From<ActError> for RunError {
    fn from(error: ActError) -> Self {
        Self::Act(error)
    }
}

impl From<GenerateError> for RunError {
    fn from(error: GenerateError) -> Self {
        Self::Generate(error)
    }
}

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Bringing the drive into its starting state; `done` counts map units programmed.
    Preconditioning,
    /// Playing the workload; `done` counts completed requests.
    Running,
    /// Done.
    Finished,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Which run, in the order of the comparison.
    pub run: usize,
    /// Its policy.
    pub policy: &'a str,
    /// What it is doing.
    pub phase: Phase,
    /// How much of it is done.
    pub done: u64,
    /// The share of the run that is done, where its end is known: by its requests or by its time.
    pub part: Option<f64>,
    /// The read p99.9 so far, in microseconds, where the sample bears it.
    pub p99_9_us: Option<f64>,
}

/// Who watches a comparison; it is called from the threads of the runs.
pub type Observer<'a> = &'a (dyn Fn(&Moment<'_>) + Sync);

/// How a run got its starting state. None of it is part of the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Preparation {
    /// CPU time of making the state, or of reading it.
    pub cpu_s: f64,
    /// It was read from the cache.
    pub from_cache: bool,
    /// What was wrong with the cache, if anything.
    pub trouble: Option<String>,
}

/// A run that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// What it tells.
    pub result: RunResult,
    /// How it got its starting state.
    pub preparation: Preparation,
    /// What its timeline holds, where one was written.
    pub timeline: Option<TimelineReport>,
}

/// What the runs of a comparison share.
pub(crate) struct Context<'a> {
    pub(crate) states: &'a States,
    pub(crate) verify: bool,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) observer: Observer<'a>,
}

/// A run under way.
pub(crate) struct Run<'a> {
    pub(crate) number: usize,
    pub(crate) policy: &'a str,
    pub(crate) scenario: &'a Scenario,
    /// The keys of the states that its drives start from.
    pub(crate) keys: &'a [Key],
    /// What is written beside the result, for how many runs.
    pub(crate) beside: (Beside<'a>, usize),
    pub(crate) context: &'a Context<'a>,
}

/// What was played, on all drives.
struct Played {
    totals: RunTotals,
    /// The state that it began from.
    about: About,
    memory: MachineReport,
    /// CPU seconds of the playing alone.
    cpu_s: f64,
    completed: u64,
    flash_ops: u64,
}

/// What is played.
struct Workload {
    /// The jobs of each drive; all but one drive only where each device of a trace has its own.
    drives: Vec<Vec<(Box<dyn RequestSource>, Pacing)>>,
    /// The trace's device that each drive stands for, where they stand for one.
    names: Vec<String>,
    end: End,
}

/// Where a run ends, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct End {
    /// Requests in all.
    requests: Option<u64>,
    /// The time at which the last job stops to issue requests.
    time: Option<Duration>,
}

impl End {
    /// The share that is done: of whichever bound is nearer.
    fn part(self, requests: u64, now: Instant) -> Option<f64> {
        let share = |done: u64, of: u64| (of > 0).then(|| (done as f64 / of as f64).min(1.0));
        let by_requests = self.requests.and_then(|of| share(requests, of));
        let by_time = self.time.and_then(|of| share(now.as_ns(), of.as_ns()));
        [by_requests, by_time].into_iter().flatten().reduce(f64::max)
    }
}

impl Run<'_> {
    /// Runs it.
    pub(crate) fn run(&self) -> Result<Finished, RunError> {
        let (scenario, replays) = (self.scenario, Replays::default());
        let workload = self.workload(&replays)?;
        let (beside, runs) = &self.beside;
        let mut files = Files::create(beside, self.policy, *runs, scenario)?;
        let mut progress = |done| {
            self.tell(Phase::Preconditioning, done, None, None);
            !self.stopped()
        };
        let (result, preparation) = if scenario.array.is_on() {
            self.play_array(workload, &replays, &mut files)?
        } else {
            let prepared = self.context.states.take(&self.keys[0], scenario, &mut progress)?;
            self.play_drives(workload, prepared, &replays, &mut files)?
        };
        self.tell(Phase::Finished, result.requests, Some(1.0), result.read.p99_9_us);
        Ok(Finished { result, preparation, timeline: files.finish()? })
    }

    /// Plays each drive and adds up what they measured.
    fn play_drives(
        &self,
        workload: Workload,
        prepared: Prepared,
        replays: &Replays,
        files: &mut Files,
    ) -> Result<(RunResult, Preparation), RunError> {
        let Prepared { map, about, cpu_s, from_cache, trouble, .. } = prepared;
        let preparation = Preparation { cpu_s, from_cache, trouble };
        let Workload { drives, names, end } = workload;
        let (count, mut map) = (drives.len(), Some(map));
        let mut all: Option<RunTotals> = None;
        let (mut play_cpu_s, mut completed, mut flash_ops) = (0.0, 0, 0);
        let mut memory = MachineReport::default();
        for (number, sources) in drives.into_iter().enumerate() {
            // The last drive takes the state, so that a drive alone needs no copy of it.
            let Some(map) = (if number + 1 == count { map.take() } else { map.clone() }) else {
                break;
            };
            let mut driver = self.driver(sources, map, files)?;
            let watch = Stopwatch::start();
            let outcome = match self.play_until_power_loss(&mut driver, end, completed) {
                true => self.play(&mut driver, end, completed, files)?,
                false => Outcome::Partial,
            };
            play_cpu_s += watch.cpu_s();
            completed += driver.progress().completed;
            flash_ops += driver.drive().flash().operations().total();
            memory = self.with_memory(memory, &driver);
            let mut totals = self.totals(&driver, outcome);
            let name = names.get(number).filter(|_| count > 1);
            totals.act = files.end_drive(&mut driver, outcome, name)?;
            if let Some(name) = name {
                totals.warnings.iter_mut().for_each(|warning| {
                    *warning = format!("the drive of device {name}: {warning}")
                });
            }
            match &mut all {
                Some(all) => all.add_drive(totals),
                None => all = Some(totals),
            }
            if outcome == Outcome::Partial {
                break;
            }
        }
        let totals = all.unwrap_or_default();
        let played = Played { totals, about, memory, cpu_s: play_cpu_s, completed, flash_ops };
        Ok(self.finish(played, preparation, replays))
    }

    /// The result of what was played, once nothing reads its sources any more: they have left their
    /// tallies.
    fn finish(
        &self,
        played: Played,
        preparation: Preparation,
        replays: &Replays,
    ) -> (RunResult, Preparation) {
        let Played { mut totals, about, memory, cpu_s, completed, flash_ops } = played;
        let (trace, trace_warnings) = replays.report();
        totals.state.began = totals::began(&about, self.scenario.precondition.state);
        totals.warnings =
            [self.state_warnings(about, totals.outcome), totals.warnings, trace_warnings].concat();
        let mut result = RunTotals { trace, ..totals }.into_result();
        result.machine = MachineReport {
            peak_rss_bytes: memory.peak_rss_bytes,
            simulated_bytes_per_page: memory.simulated_bytes_per_page,
            precondition_from_cache: preparation.from_cache,
            program: Some(stamp::program()),
            ..MachineReport::timed(preparation.cpu_s, cpu_s, completed).with_flash_ops(flash_ops)
        };
        (result, preparation)
    }

    /// Plays an array of drives, each from a state of its own.
    fn play_array(
        &self,
        workload: Workload,
        replays: &Replays,
        files: &mut Files,
    ) -> Result<(RunResult, Preparation), RunError> {
        let (scenario, verify) = (self.scenario, self.context.verify);
        let mut preparation = Preparation { cpu_s: 0.0, from_cache: true, trouble: None };
        let (mut drives, mut about) = (Vec::new(), About { settled: true, ..About::default() });
        for (number, key) in (0..).zip(self.keys) {
            let scenario = member(scenario, number);
            let mut progress = |done| {
                self.tell(Phase::Preconditioning, done, None, None);
                !self.stopped()
            };
            let prepared = self.context.states.take(key, &scenario, &mut progress)?;
            preparation.cpu_s += prepared.cpu_s;
            preparation.from_cache &= prepared.from_cache;
            preparation.trouble = preparation.trouble.or(prepared.trouble);
            about.settled &= prepared.about.settled;
            (about.waf, about.overwrite) = (prepared.about.waf, prepared.about.overwrite);
            about.passes = about.passes.max(prepared.about.passes);
            drives
                .push(behind_nvme(&scenario, scenario.drive_config().build(prepared.map, verify)));
        }
        let spare = || {
            let scenario = member(scenario, scenario.array.members);
            let config = scenario.drive_config();
            behind_nvme(&scenario, config.build(config.empty_map(), verify))
        };
        let spare = (!scenario.array.replace_after.is_zero()).then(spare);
        let mut array = Array::new(&scenario.array, drives, spare, verify, scenario.seed);
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
        let mut totals = self.totals(&driver, outcome);
        files.end_drive(&mut driver, outcome, None)?;
        let array = driver.storage();
        totals.array = Some(array.counters());
        totals.warnings.extend(array::warnings(array));
        totals.user = Bytes::new(Storage::sectors(array) * SECTOR);
        let drives = (0..array.drives()).map(|number| array.drive(number));
        let flash_ops: u64 = drives.map(|drive| drive.flash().operations().total()).sum();
        let completed = driver.progress().completed;
        let memory = self.with_memory(MachineReport::default(), &driver);
        drop(driver);
        let played = Played { totals, about, memory, cpu_s: play_cpu_s, completed, flash_ops };
        Ok(self.finish(played, preparation, replays))
    }

    /// The sources of each drive, and how many requests they make where that is known.
    fn workload(&self, replays: &Replays) -> Result<Workload, RunError> {
        let specs = &self.scenario.workload.jobs;
        let sectors = host_sectors(self.scenario);
        let is_separate = |job: &JobSpec| {
            job.trace.as_ref().is_some_and(|trace| trace.layout == Layout::Separate)
        };
        if let [JobSpec { trace: Some(trace), .. }] = specs.as_slice()
            && trace.layout == Layout::Separate
        {
            let (sources, names, requests) = replays.each_device(trace, sectors)?;
            let stream = specs[0].stream;
            let drive = |source| vec![(Hinted::wrap(source, stream), Pacing::of(&specs[0]))];
            let drives = sources.into_iter().map(drive).collect();
            return Ok(Workload {
                drives,
                names,
                end: End { requests: Some(requests), time: None },
            });
        }
        if specs.iter().any(is_separate) {
            return Err(RunError::NotAlone(specs.len()));
        }
        let (mut sources, mut total) = (Vec::new(), Some(0u64));
        for (number, spec) in specs.iter().enumerate() {
            let (source, requests) = match &spec.trace {
                Some(trace) => {
                    let (source, requests) = replays.source(trace, sectors)?;
                    (Hinted::wrap(source, spec.stream), requests)
                }
                None => {
                    let source = Generator::new(spec, sectors, self.scenario.seed, number)?;
                    (Box::new(source) as Box<_>, spec.requests)
                }
            };
            total = total.filter(|_| requests > 0).map(|total| total.saturating_add(requests));
            sources.push((source, Pacing::of(spec)));
        }
        let is_timed = specs.iter().all(|spec| !spec.time.is_zero());
        let time = specs.iter().map(|spec| spec.time).max().filter(|_| is_timed);
        Ok(Workload {
            drives: vec![sources],
            names: Vec::new(),
            end: End { requests: total, time },
        })
    }

    fn driver(
        &self,
        sources: Vec<(Box<dyn RequestSource>, Pacing)>,
        map: PageMap,
        files: &Files,
    ) -> Result<Driver, RunError> {
        let Scenario { device, measure, .. } = self.scenario;
        let cut = self.scenario.recovery.cut_at.is_some();
        let verify = self.context.verify || cut;
        let mut drive = self.scenario.drive_config().build(map, verify);
        if let Some(spec) = files.timeline() {
            drive.keep_timeline(spec);
        }
        let mut oracle = verify.then(|| Oracle::new(&drive));
        if let Some(oracle) = oracle.as_mut().filter(|_| cut) {
            oracle.note_promises(&self.scenario.drive);
        }
        let jobs = sources.into_iter().map(|(source, pacing)| Job::new(source, pacing)).collect();
        let driver = Driver::new(drive, jobs, oracle, measure.warmup, measure.warmup_requests);
        let driver =
            if measure.timeout.is_zero() { driver } else { driver.with_timeout(measure.timeout) };
        let driver = if measure.attribution { driver.with_attribution() } else { driver };
        let driver = if files.wants_requests() { driver.with_records() } else { driver };
        let Some(spec) = &self.scenario.workload.act else { return Ok(driver) };
        let user = self.scenario.capacity().user;
        let recorder = ActRecorder::new(spec, user, &device.name)?;
        Ok(driver.with_act(if files.wants_act_log() { recorder.with_log(user) } else { recorder }))
    }

    /// Plays a drive to its end; `before` requests are done already on others.
    fn play<S: Storage>(
        &self,
        driver: &mut Driver<S>,
        end: End,
        before: u64,
        files: &mut Files,
    ) -> Result<Outcome, RunError> {
        let (mut grown_to, mut refused) = (BACKLOG_STEP, None);
        loop {
            if self.stopped() {
                return Ok(Outcome::Partial);
            }
            let mut go_on = |waiting| {
                let may_grow = waiting < grown_to || {
                    grown_to = waiting + BACKLOG_STEP;
                    refused = backlog_refusal(waiting);
                    refused.is_none()
                };
                may_grow && !self.stopped()
            };
            if !driver.play_while(CHUNK, &mut go_on) {
                break;
            }
            if let Some(why) = refused {
                return Err(RunError::Memory(format!("{}: {why}", self.policy)));
            }
            files.write(driver)?;
            let p99_9_us = Percentiles::of(&driver.measured().read.histogram).p99_9.us;
            let done = before + driver.progress().completed;
            self.tell(Phase::Running, done, end.part(done, driver.now()), p99_9_us);
        }
        let lost = driver.progress().issued != driver.progress().completed
            || driver.storage().outstanding() > 0;
        Ok(match (driver.starved(), lost) {
            (Some(_), _) => Outcome::Starved,
            (None, true) => Outcome::Stuck,
            (None, false) => Outcome::Completed,
        })
    }

    /// Plays until the power fails, if it does, and through the recovery; false when the run was
    /// stopped before.
    fn play_until_power_loss(&self, driver: &mut Driver, end: End, before: u64) -> bool {
        let Some(at) = self.scenario.recovery.cut_at.map(|at| at.as_ns()) else { return true };
        for part in 1..=CUT_PARTS {
            let until = Instant::from_ns((u128::from(at) * part / CUT_PARTS) as u64);
            if self.stopped() || !driver.play_before_while(until, &mut |_| !self.stopped()) {
                return false;
            }
            let done = before + driver.progress().completed;
            self.tell(Phase::Running, done, end.part(done, driver.now()), None);
        }
        driver.power_cut(Instant::from_ns(at));
        true
    }

    fn stopped(&self) -> bool {
        self.context.stop.load(Ordering::Relaxed)
    }

    fn tell(&self, phase: Phase, done: u64, part: Option<f64>, p99_9_us: Option<f64>) {
        (self.context.observer)(&Moment {
            run: self.number,
            policy: self.policy,
            phase,
            done,
            part,
            p99_9_us,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_ends_by_its_time_has_a_share_too() {
        let (at, hour) = (|s| Instant::START + Duration::from_s(s), Duration::from_s(3600));
        let by_time = End { requests: None, time: Some(hour) };
        assert_eq!(by_time.part(123_456, at(900)), Some(0.25));
        assert_eq!(by_time.part(123_456, at(3601)), Some(1.0), "the last requests complete later");
        let by_both = End { requests: Some(1000), time: Some(hour) };
        assert_eq!(
            (by_both.part(500, at(900)), by_both.part(100, at(900))),
            (Some(0.5), Some(0.25))
        );
        assert_eq!(End::default().part(5, at(5)), None);
    }
}
