//! Several runs side by side: one thread a run, results in the order of the runs, whatever the
//! threads do.

use crate::cache::Cache;
use crate::memory::{Need, refusal, side_by_side};
use crate::prepare::{Key, Keys, States};
use crate::run::{Beside, Context, Counted, Finished, Limits, Observer, Run, RunError};
use crate::threads::on_threads;
use manx_config::Scenario;
use manx_core::stats::{Outcome, RunResult};
use std::cell::RefCell;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// How a comparison is run. None of it changes a result; [`Options::limits`] ends it.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Runs side by side; as many as there are cores when `None`.
    pub jobs: Option<NonZero<usize>>,
    /// Check every completed read against what was written.
    pub verify: bool,
    /// Where preconditioned states are kept between processes.
    pub cache: Option<&'a Cache>,
    /// Files that the runs write beside their results.
    pub beside: Beside<'a>,
    /// Set to end all runs soon: they are then partial.
    pub stop: &'a AtomicBool,
    /// Callback for the progress of the runs.
    pub observer: Observer<'a>,
    /// Callback for each run that ended, by its number, from the threads of the runs.
    pub finished: Option<Ended<'a>>,
    /// Limits beyond which a run is given up: it is then partial, and the same whenever it is run.
    pub limits: Option<&'a Limits>,
}

impl<'a> Options<'a> {
    /// Runs with nothing beside them, to their end or until `stop`.
    pub fn plain(cache: Option<&'a Cache>, stop: &'a AtomicBool) -> Self {
        Self {
            jobs: None,
            verify: false,
            cache,
            beside: Beside::default(),
            stop,
            observer: &|_| {},
            finished: None,
            limits: None,
        }
    }
}

/// Why a result shows a defect of the model, in words; `None` where it shows none.
pub fn defect(result: &RunResult) -> Option<String> {
    let RunResult { policy, verify, outcome, power_loss, .. } = result;
    let broken = power_loss.map_or(0, |loss| loss.broken_promises);
    let wrong = verify.as_ref().filter(|verify| verify.mismatches > 0);
    match (broken, wrong) {
        (1.., _) => Some(format!(
            "{policy}: after the power loss {broken} pages did not hold what was promised"
        )),
        (0, Some(verify)) => Some(format!(
            "{policy}: {} pages of {} checked reads were not what was written last",
            verify.mismatches, verify.reads_checked
        )),
        (0, None) => (*outcome == Outcome::Stuck)
            .then(|| format!("{policy}: requests were left that the drive never completed")),
    }
}

/// Callback for a run that ended.
pub type Ended<'a> = &'a (dyn Fn(usize, &Finished) + Sync);

/// Runs every scenario; each comes with the name of the policy that is already laid over it.
///
/// Memory: each run under way holds a drive of its own, and a state that is still wanted is held
/// once more. A run that the machine has no room for is refused before the first one begins; no
/// more are run side by side than fit.
pub fn compare(
    runs: &[(String, Scenario)],
    options: &Options<'_>,
) -> Result<Vec<Finished>, RunError> {
    let needs = runs.iter().map(|(policy, scenario)| (policy, Need::of(scenario, options.verify)));
    let needs: Vec<_> = needs.collect();
    if let Some((policy, why)) =
        needs.iter().find_map(|(policy, need)| Some((policy, refusal(need)?)))
    {
        return Err(RunError::Memory(format!("{policy}: {why}")));
    }
    let largest = needs.iter().map(|(_, need)| need.bytes).max().unwrap_or(0);
    let mut keys = Keys::default();
    let keys = runs
        .iter()
        .map(|(_, scenario)| keys.of_drives(scenario))
        .collect::<Result<Vec<Vec<Key>>, _>>()?;
    let states = States::new(&keys.concat(), options.cache.cloned());
    let context = Context {
        states: &states,
        verify: options.verify,
        stop: options.stop,
        observer: options.observer,
        limits: options.limits,
    };
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads =
        options.jobs.map_or_else(cores, NonZero::get).min(runs.len()).min(side_by_side(largest));

    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let ended: Vec<Mutex<Option<Result<Finished, RunError>>>> =
        runs.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some((policy, scenario)) =
                runs.get(number).filter(|_| !failed.load(Ordering::Relaxed))
            else {
                return;
            };
            let beside = (options.beside, runs.len());
            let (keys, counted) = (&keys[number], RefCell::<Counted>::default());
            let run = Run { number, policy, scenario, keys, beside, context: &context, counted };
            let outcome = run.run();
            failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
            if let (Some(tell), Ok(finished)) = (options.finished, &outcome) {
                tell(number, finished);
            }
            *ended[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        }
    };
    // The calling thread only waits: each run reads the CPU clock of its own thread.
    on_threads(threads, work);
    // Runs are taken in order, so what was not begun lies behind an error.
    ended
        .into_iter()
        .filter_map(|run| run.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}
