//! One scenario under one policy: from its settings to its result.
//!
//! The steps: open the workload, take the preconditioned state, build the drive, play in chunks (between which a run
//! can be stopped and watched), count up. Everything but `machine` is a function of the scenario.

use crate::act_log::ActLog;
use crate::machine::{Stopwatch, peak_rss_bytes};
use crate::prepare::{About, Key, Prepared, States, logical_pages};
use crate::replay::Replays;
use manx_core::config::{MeasureSpec, Scenario};
use manx_core::drive::{Counters, Drive, PreconditionState};
use manx_core::flash::Capacity;
use manx_core::ftl::GcMode;
use manx_core::ftl::timeless::Full;
use manx_core::host::act::{ActError, ActRecorder};
use manx_core::host::generate::{GenerateError, Generator};
use manx_core::host::trace::TraceError;
use manx_core::host::{Driver, Job, Measured, Oracle, Pacing};
use manx_core::stats::{
    ActReport, BufferCounters, FlashCounters, GcCounters, MachineReport, Outcome, Percentiles, RunResult, RunTotals,
    VerifyReport, WarmupExcluded, WearCounters,
};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Completions between two looks at the stop flag.
const CHUNK: u64 = 1 << 16;

/// With `--verify`: bytes of the content that stands for a physical page's data, and of what the oracle keeps for a
/// logical page.
const CONTENT_BYTES: u64 = 4;
const ORACLE_BYTES: u64 = 8;

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
    /// What a run wrote as it went cannot be written any more: not the input's fault.
    Write(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace(error) => error.fmt(f),
            Self::Generate(error) => error.fmt(f),
            Self::Full(error) => error.fmt(f),
            Self::Act(error) => error.fmt(f),
            Self::ActLog(error) | Self::Write(error) => f.write_str(error),
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
    /// Of how much, where that is known.
    pub total: Option<u64>,
    /// The read p99.9 so far, in microseconds, where the sample bears it.
    pub p99_9_us: Option<f64>,
}

/// Who watches a comparison; it is called from the threads of the runs.
pub type Observer<'a> = &'a (dyn Fn(&Moment<'_>) + Sync);

/// How a run got its starting state. None of it is part of the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Preparation {
    /// The kind of state.
    pub state: PreconditionState,
    /// WAF of the last window (`steady`), or of everything.
    pub waf: f64,
    /// How often the user capacity was overwritten (`steady`).
    pub passes: f64,
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
    pub(crate) key: &'a Key,
    pub(crate) act_log: Option<PathBuf>,
    pub(crate) context: &'a Context<'a>,
}

impl Run<'_> {
    /// Runs it.
    pub(crate) fn run(&self) -> Result<Finished, RunError> {
        let (scenario, replays) = (self.scenario, Replays::default());
        let (jobs, requests) = self.jobs(&replays)?;
        let mut log = self.act_log.clone().map(ActLog::create).transpose()?;
        let mut progress = |done| {
            self.tell(Phase::Preconditioning, done, None, None);
            !self.stopped()
        };
        let prepared = self.context.states.take(self.key, scenario, &mut progress)?;
        let (mut driver, preparation, about) = self.driver(jobs, prepared);
        if let Some(spec) = &scenario.workload.act {
            let user = Capacity::of(&scenario.device).user;
            let recorder = ActRecorder::new(spec, user, &scenario.device.name)?;
            driver = driver.with_act(if log.is_some() { recorder.with_log(user) } else { recorder });
        }

        let watch = Stopwatch::start();
        let outcome = self.play(&mut driver, requests, &mut log)?;
        let machine = MachineReport::timed(preparation.cpu_s, watch.cpu_s(), driver.progress().completed);
        let machine = self.with_memory(machine, &driver);
        let mut totals = self.totals(&driver, outcome, about);
        totals.act = finish_act(&mut driver, outcome, &mut log)?;
        // The sources leave their tallies when they go.
        drop(driver);
        let (trace, trace_warnings) = replays.report();
        totals.trace = trace;
        totals.warnings.extend(trace_warnings);
        let mut result = totals.into_result();
        result.machine = machine;
        result.machine.precondition_from_cache = preparation.from_cache;
        self.tell(Phase::Finished, result.requests, Some(result.requests), result.read.p99_9_us);
        Ok(Finished { result, preparation })
    }

    /// The jobs, and how many requests they make where that is known.
    fn jobs(&self, replays: &Replays) -> Result<(Vec<Job>, Option<u64>), RunError> {
        let device = &self.scenario.device;
        let sectors = u64::from(logical_pages(self.scenario)) * (device.geometry.map_unit.get() / 512);
        let (mut jobs, mut total) = (Vec::new(), Some(0u64));
        for (number, spec) in self.scenario.workload.jobs.iter().enumerate() {
            let (source, requests) = match &spec.trace {
                Some(trace) => replays.source(trace, sectors)?,
                None => {
                    let source = Generator::new(spec, sectors, self.scenario.seed, number)?;
                    (Box::new(source) as Box<_>, spec.requests)
                }
            };
            total = total.filter(|_| requests > 0).map(|total| total.saturating_add(requests));
            jobs.push(Job::new(source, Pacing::of(spec)));
        }
        Ok((jobs, total))
    }

    fn driver(&self, jobs: Vec<Job>, prepared: Prepared) -> (Driver, Preparation, About) {
        let Scenario { device, ftl, gc, drive, measure, precondition, seed, .. } = self.scenario;
        let Prepared { mut map, about, cpu_s, from_cache, trouble, .. } = prepared;
        map.begin_run(ftl, gc, device, *seed);
        let drive = Drive::new(device, drive, gc, map, self.context.verify);
        let oracle = self.context.verify.then(|| Oracle::new(&drive));
        let driver = Driver::new(drive, jobs, oracle, measure.warmup, measure.warmup_requests);
        let (state, waf, passes) = (precondition.state, about.waf, about.passes);
        (driver, Preparation { state, waf, passes, cpu_s, from_cache, trouble }, about)
    }

    fn play(&self, driver: &mut Driver, requests: Option<u64>, log: &mut Option<ActLog>) -> Result<Outcome, RunError> {
        loop {
            if self.stopped() {
                return Ok(Outcome::Partial);
            }
            if !driver.play(CHUNK) {
                break;
            }
            write_act_log(driver, log)?;
            let p99_9_us = Percentiles::of(&driver.measured().read.histogram).p99_9.us;
            self.tell(Phase::Running, driver.progress().completed, requests, p99_9_us);
        }
        let lost = driver.progress().issued != driver.progress().completed || driver.drive().outstanding() > 0;
        Ok(if lost { Outcome::Starved } else { Outcome::Completed })
    }

    fn totals(&self, driver: &Driver, outcome: Outcome, about: About) -> RunTotals {
        let (scenario, measured) = (self.scenario, driver.measured());
        let (capacity, unit) = (Capacity::of(&scenario.device), scenario.device.geometry.map_unit.get());
        let wear = driver.drive().ftl().wear();
        let blocks = u64::from(driver.drive().flash().layout.total_blocks());
        let counters = Counted { now: driver.drive().counters(), before: counters_before(driver), unit };
        RunTotals {
            scenario: scenario.name.clone(),
            policy: self.policy.to_string(),
            seed: scenario.seed,
            outcome,
            span: measured.until.max(measured.since).since(measured.since),
            read: measured.read.clone(),
            write: measured.write.clone(),
            trim: measured.trim.clone(),
            flush: measured.flush.clone(),
            gc: counters.gc(measured),
            flash: counters.flash(),
            wear: WearCounters {
                blocks,
                erases_total: (wear.mean * blocks as f64).round() as u64,
                erases_min: wear.min.into(),
                erases_max: wear.max.into(),
            },
            buffer: counters.buffer(),
            raw: capacity.raw,
            user: capacity.user,
            trace: None,
            act: None,
            verify: driver
                .oracle()
                .map(|oracle| VerifyReport { reads_checked: oracle.reads_checked(), mismatches: oracle.mismatches() }),
            warmup_excluded: WarmupExcluded {
                rule: warmup_rule(&scenario.measure),
                requests: measured.warmup_requests,
            },
            warnings: self.warnings(driver, outcome, about),
        }
    }

    /// What a simulated page costs: the maps, and with `--verify` its content and what the oracle knows of it.
    fn with_memory(&self, machine: MachineReport, driver: &Driver) -> MachineReport {
        let (ftl, pages) = (driver.drive().ftl(), Capacity::of(&self.scenario.device));
        let pages = pages.raw.get() / self.scenario.device.geometry.map_unit.get();
        let verified =
            if self.context.verify { CONTENT_BYTES * pages + ORACLE_BYTES * u64::from(ftl.logical()) } else { 0 };
        machine.with_memory(peak_rss_bytes(), ftl.bytes() as u64 + verified, pages)
    }

    fn warnings(&self, driver: &Driver, outcome: Outcome, about: About) -> Vec<String> {
        let (progress, measured) = (driver.progress(), driver.measured());
        let mut warnings = about.notes;
        if !about.settled && outcome != Outcome::Partial {
            let passes = about.passes;
            let limit = self.scenario.precondition.settled_below * 100.0;
            warnings.push(format!(
                "preconditioning did not settle: after {passes} passes the WAF still changed by {limit} % or more; \
                 precondition.passes_max allows more"
            ));
        }
        if outcome == Outcome::Starved {
            let lost = progress.issued - progress.completed;
            warnings.push(format!("{lost} of {} requests never completed: a defect of the model", progress.issued));
            warnings.push(format!("what the drive waited for then: {}", driver.drive().describe().trim_end()));
        }
        if progress.failed > 0 {
            warnings.push(format!("{} requests completed with an error", progress.failed));
        }
        if progress.issued > 0 && measured.warmup_requests == progress.issued {
            warnings.push("every request belongs to the warm-up: nothing was measured".to_string());
        } else if progress.completed > 0 && measured.read.count() == 0 {
            warnings.push("nothing was read: there are no read latencies".to_string());
        }
        warnings.extend(self.buffer_warning(driver));
        warnings.extend(self.forced_warning(driver));
        if let Some(mismatch) = driver.oracle().and_then(Oracle::first_mismatch) {
            warnings.push(format!("a read returned what it may not: {mismatch}: a defect of the model"));
        }
        warnings
    }

    /// The WAF counts what the host wrote and what was programmed; what is in the buffer at an end is in one of them
    /// only.
    fn buffer_warning(&self, driver: &Driver) -> Option<String> {
        let (before, now) = (u64::from(driver.measured().buffered_before), u64::from(driver.drive().buffered()));
        let written = driver.drive().counters().host_bytes_written - counters_before(driver).host_bytes_written;
        let (pages, kept) = (written / self.scenario.device.geometry.map_unit.get(), now.abs_diff(before));
        (kept * 50 > pages && pages > 0).then(|| {
            format!(
                "the write buffer held {before} pages when counting began and {now} at the end, of {pages} \
                 written: the WAF is off by up to {:.0} %; more writes, a warm-up or a smaller drive.buffer mend that",
                100.0 * kept as f64 / pages as f64
            )
        })
    }

    /// A small drive can make `preemptive` into `base`: a soft threshold of two blocks lies on the hard one.
    fn forced_warning(&self, driver: &Driver) -> Option<String> {
        let Scenario { gc, device, .. } = self.scenario;
        let (now, before) = (driver.drive().counters(), counters_before(driver));
        let runs = now.collections - before.collections;
        let forced = now.forced_collections - before.forced_collections;
        let blocks = |share: f64| share * f64::from(device.geometry.blocks);
        (gc.mode == GcMode::Preemptive && forced * 2 > runs).then(|| {
            format!(
                "{forced} of {runs} collections ran at or below gc.hard, where they go before the host as under base: \
                 gc.soft and gc.hard are {:.1} and {:.1} of a plane's {} blocks; raise gc.soft",
                blocks(gc.soft),
                blocks(gc.hard),
                device.geometry.blocks
            )
        })
    }

    fn stopped(&self) -> bool {
        self.context.stop.load(Ordering::Relaxed)
    }

    fn tell(&self, phase: Phase, done: u64, total: Option<u64>, p99_9_us: Option<f64>) {
        (self.context.observer)(&Moment { run: self.number, policy: self.policy, phase, done, total, p99_9_us });
    }
}

/// Writes what the recorder of an ACT load has to say.
fn write_act_log(driver: &mut Driver, log: &mut Option<ActLog>) -> Result<(), RunError> {
    match (log, driver.act().and_then(ActRecorder::take_log)) {
        (Some(log), Some(text)) => log.append(&text),
        _ => Ok(()),
    }
}

/// The last reports of an ACT load, and its verdicts.
fn finish_act(driver: &mut Driver, outcome: Outcome, log: &mut Option<ActLog>) -> Result<Option<ActReport>, RunError> {
    let (now, partial) = (driver.now(), outcome == Outcome::Partial);
    let report = driver.act().map(|recorder| {
        recorder.finish(now, partial);
        recorder.result(partial)
    });
    write_act_log(driver, log)?;
    Ok(report)
}

/// The counters when the counted part began; those of now if it never did.
fn counters_before(driver: &Driver) -> Counters {
    let measured = driver.measured();
    let never = measured.warmup_requests > 0 && measured.warmup_requests == driver.progress().issued;
    if never { driver.drive().counters() } else { measured.counters_before }
}

fn warmup_rule(measure: &MeasureSpec) -> String {
    match (measure.warmup.is_zero(), measure.warmup_requests) {
        (true, 0) => "every request is counted".to_string(),
        (true, requests) => format!("the first {requests} requests are not counted"),
        (false, 0) => format!("requests that arrive before {} are not counted", measure.warmup),
        (false, requests) => {
            format!("requests that arrive before {}, and the first {requests}, are not counted", measure.warmup)
        }
    }
}

/// What the drive counted in the measured part.
struct Counted {
    now: Counters,
    before: Counters,
    /// Bytes of a map unit.
    unit: u64,
}

impl Counted {
    fn since(&self, counter: fn(&Counters) -> u64) -> u64 {
        counter(&self.now) - counter(&self.before)
    }

    fn gc(&self, measured: &Measured) -> GcCounters {
        GcCounters {
            blocked_reads: measured.gc_blocked_reads,
            blocked_at_split_reads: measured.gc_blocked_at_split_reads,
            runs: self.since(|c| c.collections),
            pages_copied: self.since(|c| c.copied_units),
            forced: self.since(|c| c.forced_collections),
            free_reclaims: self.since(|c| c.free_erases),
        }
    }

    fn flash(&self) -> FlashCounters {
        FlashCounters {
            host_pages_written: (self.since(|c| c.host_bytes_written) + self.unit / 2) / self.unit,
            pages_programmed: self.since(|c| c.host_units + c.copied_units + c.padded_units),
            pages_padded: self.since(|c| c.padded_units),
            pages_read: self.since(|c| c.units_read),
            erases: self.since(|c| c.erases),
            ..FlashCounters::default()
        }
    }

    fn buffer(&self) -> BufferCounters {
        BufferCounters {
            read_hits: self.since(|c| c.buffer_read_hits),
            write_hits: self.since(|c| c.buffer_write_hits),
            stalls: self.since(|c| c.buffer_stalls),
            rmw_reads: self.since(|c| c.fill_reads),
        }
    }
}
