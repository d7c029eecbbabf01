//! One scenario under one policy: from its settings to its result.
//!
//! The steps, each a file: open the [`workload`], take the preconditioned state, build the drives
//! ([`drives`], or an [`array`] of them), [`play`] in chunks between which a run can be stopped and
//! watched ([`handed`]: a client plays) or given up ([`limits`]), write files [`beside`] the
//! result, count up ([`totals`]).
//! [`error`] says why a run ends without a result. Everything but `machine` is a function of the
//! scenario.

mod array;
mod beside;
mod drives;
mod error;
mod handed;
mod limits;
mod play;
mod totals;
mod words;
mod workload;

pub use beside::{Beside, MakeSink, Played as PlayedStorage, Sink, Watcher};
pub use error::RunError;
pub use handed::{Back, ClientRun, Handed};
pub use limits::{Counted, Ended, Limit, Limits};

use crate::prepare::{About, Key, Prepared, States};
use crate::replay::Replays;
use crate::stamp;
use crate::timeline::TimelineReport;
use beside::Files;
use manx_config::Scenario;
use manx_core::stats::{MachineReport, RunResult, RunTotals};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The phase that a run is in.
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
    /// Its phase.
    pub phase: Phase,
    /// How much of it is done.
    pub done: u64,
    /// The share of the run that is done, where its end is known: by its requests or by its time.
    pub part: Option<f64>,
    /// The read p99.9 so far, in microseconds, where the sample bears it.
    pub p99_9_us: Option<f64>,
}

/// A callback for the progress of a comparison, called from the threads of the runs.
pub type Observer<'a> = &'a (dyn Fn(&Moment<'_>) + Sync);

/// How a run got its starting state. None of it is part of the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Preparation {
    /// CPU time of making the state, or of reading it.
    pub cpu_s: f64,
    /// It was read from the cache.
    pub from_cache: bool,
    /// Trouble with the cache, if any.
    pub trouble: Option<String>,
}

impl Preparation {
    /// The state of one more drive.
    fn add(&mut self, prepared: &Prepared) {
        self.cpu_s += prepared.cpu_s;
        self.from_cache &= prepared.from_cache;
        if self.trouble.is_none() {
            self.trouble.clone_from(&prepared.trouble);
        }
    }
}

/// A run that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Its result.
    pub result: RunResult,
    /// How it got its starting state.
    pub preparation: Preparation,
    /// Counts of its timeline, where one was written.
    pub timeline: Option<TimelineReport>,
    /// Counts beside its limits, where it has any.
    pub counted: Option<Counted>,
}

/// Settings that the runs of a comparison share.
pub(crate) struct Context<'a> {
    pub(crate) states: &'a States,
    pub(crate) verify: bool,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) observer: Observer<'a>,
    pub(crate) limits: Option<&'a Limits>,
}

/// A run under way.
pub(crate) struct Run<'a> {
    pub(crate) number: usize,
    pub(crate) policy: &'a str,
    pub(crate) scenario: &'a Scenario,
    /// The keys of the states that its drives start from.
    pub(crate) keys: &'a [Key],
    /// Files to write beside the result, and the number of runs that write them.
    pub(crate) beside: (Beside<'a>, usize),
    pub(crate) context: &'a Context<'a>,
    pub(crate) counted: RefCell<Counted>,
}

/// Totals of the play, over all drives.
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

impl Run<'_> {
    /// Runs it.
    pub(crate) fn run(&self) -> Result<Finished, RunError> {
        let (scenario, replays) = (self.scenario, Replays::default());
        let workload = self.workload(&replays)?;
        let (beside, runs) = &self.beside;
        let mut files = Files::create(beside, (self.number, self.policy), *runs, scenario)?;
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
        let counted = self.context.limits.map(|_| self.counted.take());
        Ok(Finished { result, preparation, timeline: files.finish()?, counted })
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
