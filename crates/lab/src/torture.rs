//! Power losses at random events of many small runs, and whether the drives keep what they
//! promised.
//!
//! A run is a seed: it draws the kind of drive (or takes a scenario), its workload and the events
//! at which the power fails. After each cut the drive recovers, every page is held against the
//! promises ([`manx_core::host::Outage`]), and the run goes on with every read checked; after the
//! last one some more requests are played. So a violation is repeated by its seed alone. A panic of
//! the model, or requests that never complete, are violations, too.
//!
//! Beside that drives are struck ([`strike`]): the power fails again during a recovery, rows that
//! hold nothing that counts become illegible; and in some of them blocks are bad from the start,
//! and programs and erases fail.

mod drawn;

pub use drawn::drawn;

use crate::prepare::{logical_pages, make};
use crate::run::RunError;
use crate::threads::on_threads;
use manx_config::{ConfigError, Scenario};
use manx_core::drive::{CrashImage, Recovered};
use manx_core::host::generate::Generator;
use manx_core::host::{Driver, Job, Oracle, Pacing};
use manx_core::sim::Rng;
use manx_core::units::{Duration, Instant};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Events between two cuts, at most.
const EVENTS: u64 = 400;

/// Requests after the last cut.
const AFTERWARDS: u64 = 500;

/// Virtual time in which the drive must complete something.
const PATIENCE: Duration = Duration::from_s(10);

/// A campaign.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The scenario of a seed.
    pub scenario: &'a (dyn Fn(u64) -> Result<Scenario, ConfigError> + Sync),
    /// The first seed.
    pub seed: u64,
    /// So many seeds.
    pub seeds: u32,
    /// Power losses in each run.
    pub cuts: u32,
    /// Runs side by side; as many as there are cores when `None`.
    pub jobs: Option<NonZero<usize>>,
    /// Set to end the campaign soon.
    pub stop: &'a AtomicBool,
    /// Told after each run how many are done, and of how many violations they are.
    pub progress: &'a (dyn Fn(u32, u32) + Sync),
}

/// A violation found in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The seed that repeats it.
    pub seed: u64,
    /// Its description.
    pub what: String,
}

/// Result of a campaign. It does not change with the number of threads, but for the seconds. any
/// number of threads, but for the seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Runs played.
    pub runs: u32,
    /// Power losses.
    pub cuts: u64,
    /// Rows that were torn by them.
    pub torn_rows: u64,
    /// Blocks that they left illegible.
    pub illegible_blocks: u64,
    /// Power losses during a recovery.
    pub cuts_again: u64,
    /// Rows without anything that counts that were made illegible.
    pub spoilt_rows: u64,
    /// Blocks that were bad from the start, and those that left service.
    pub bad_blocks: u64,
    /// Drives that turned read-only.
    pub read_only: u32,
    /// Checkpoints of the map that came to be whole.
    pub checkpoints: u64,
    /// Recoveries that began with a checkpoint.
    pub from_checkpoint: u64,
    /// Pages that were checked against a promise.
    pub pages_checked: u64,
    /// The longest recovery, in microseconds.
    pub recovery_max_us: u64,
    /// The violations found, by seed.
    pub violations: Vec<Violation>,
    /// Of the wall clock.
    pub seconds: f64,
}

/// Why a campaign cannot be played: the input's fault.
#[derive(Debug)]
pub enum TortureError {
    /// A scenario.
    Config(ConfigError),
    /// A run.
    Run(RunError),
}

impl From<ConfigError> for TortureError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<RunError> for TortureError {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

/// Plays every seed.
pub fn torture(options: &Options<'_>) -> Result<Tally, TortureError> {
    let watch = std::time::Instant::now();
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = options.jobs.map_or_else(cores, NonZero::get).min(options.seeds as usize);
    let (next, done, found) = (AtomicU64::new(0), AtomicU32::new(0), AtomicU32::new(0));
    let all = Mutex::new((Tally::default(), None));
    // A panic of the model is a violation like another one: it is told with its seed.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= u64::from(options.seeds) || options.stop.load(Ordering::Relaxed) {
                return;
            }
            let seed = options.seed + number;
            let outcome = one(options, seed);
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            match outcome {
                Ok(tally) => {
                    found.fetch_add(tally.violations.len() as u32, Ordering::Relaxed);
                    all.0.add(tally);
                }
                Err(error) => {
                    options.stop.store(true, Ordering::Relaxed);
                    all.1 = Some(error);
                }
            }
            (options.progress)(
                done.fetch_add(1, Ordering::Relaxed) + 1,
                found.load(Ordering::Relaxed),
            );
        }
    };
    on_threads(threads, work);
    std::panic::set_hook(hook);
    let (mut tally, error) = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = error {
        return Err(error);
    }
    tally.violations.sort_by_key(|violation| violation.seed);
    Ok(Tally { seconds: watch.elapsed().as_secs_f64(), ..tally })
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.runs += other.runs;
        self.cuts += other.cuts;
        self.torn_rows += other.torn_rows;
        self.illegible_blocks += other.illegible_blocks;
        self.cuts_again += other.cuts_again;
        self.spoilt_rows += other.spoilt_rows;
        self.bad_blocks += other.bad_blocks;
        self.read_only += other.read_only;
        self.checkpoints += other.checkpoints;
        self.from_checkpoint += other.from_checkpoint;
        self.pages_checked += other.pages_checked;
        self.recovery_max_us = self.recovery_max_us.max(other.recovery_max_us);
        self.violations.extend(other.violations);
    }
}

/// Refuses what a campaign cannot be of.
pub fn check(scenario: &Scenario) -> Result<(), ConfigError> {
    let Scenario { array, recovery, host, .. } = scenario;
    if !recovery.keep {
        return Err(ConfigError::new(
            "recovery.keep = false: torture needs a drive that can recover",
        ));
    }
    if array.is_on() {
        let message = "torture needs 1: a power loss of an array is not modelled";
        return Err(ConfigError::new(format!("array.members = {}: {message}", array.members)));
    }
    if let Some(at) = recovery.cut_at {
        let message = "torture needs it absent: it cuts the power at events that each seed draws";
        return Err(ConfigError::new(format!("recovery.cut_at = {at}: {message}")));
    }
    if host.resets() {
        return Err(ConfigError::new("host.on_timeout = \"reset\": torture needs \"end\""));
    }
    Ok(())
}

fn one(options: &Options<'_>, seed: u64) -> Result<Tally, TortureError> {
    let scenario = (options.scenario)(seed)?;
    check(&scenario)?;
    let driver = driver(&scenario)?;
    let mut tally = Tally { runs: 1, ..Tally::default() };
    let played = catch_unwind(AssertUnwindSafe(|| play(driver, seed, options.cuts, &mut tally)));
    let what = match played {
        Ok(Ok(())) => return Ok(tally),
        Ok(Err(what)) => what,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            format!("the model panicked: {}", text.unwrap_or_default().replace('\n', " "))
        }
    };
    tally.violations.push(Violation { seed, what });
    Ok(tally)
}

fn driver(scenario: &Scenario) -> Result<Driver, TortureError> {
    let prepared = make(scenario, &mut |_| true)?;
    let drive = scenario.drive_config().build(prepared.map, true);
    let sectors =
        u64::from(logical_pages(scenario)) * (scenario.device.geometry.map_unit.get() / 512);
    let mut jobs = Vec::new();
    for (number, spec) in scenario.workload.jobs.iter().enumerate() {
        if let Some(trace) = &spec.trace {
            let message =
                format!("workload.trace.file = {:?}: torture runs generated workloads", trace.file);
            return Err(ConfigError::new(message).into());
        }
        let source =
            Generator::new(spec, sectors, scenario.seed, number).map_err(RunError::Generate)?;
        jobs.push(Job::new(Box::new(source), Pacing::of(spec)));
    }
    let mut oracle = Oracle::new(&drive);
    oracle.note_promises(&scenario.drive);
    Ok(Driver::new(drive, jobs, Some(oracle), Duration::ZERO, 0).with_timeout(PATIENCE))
}

/// Plays a run with its cuts; the error is what was violated.
fn play(mut driver: Driver, seed: u64, cuts: u32, tally: &mut Tally) -> Result<(), String> {
    let mut rng = Rng::stream(seed, "power");
    let step = Duration::from_ns(1);
    for cut in 1..=cuts {
        let mut at = driver.next_event_at();
        for _ in 0..rng.below(EVENTS) {
            if at == Instant::NEVER {
                break;
            }
            driver.play_before(at + step);
            at = driver.next_event_at();
        }
        if at == Instant::NEVER {
            break;
        }
        let mut counts = (0, 0);
        let struck = |remains| strike(remains, &mut rng, &mut counts);
        let outage = driver.power_cut_with(at, struck);
        tally.cuts += 1 + counts.0;
        tally.cuts_again += counts.0;
        tally.spoilt_rows += counts.1;
        tally.torn_rows += outage.report.torn_rows;
        tally.illegible_blocks += outage.report.illegible_blocks;
        tally.from_checkpoint += u64::from(outage.report.checkpoint_reads > 0);
        tally.pages_checked += u64::from(driver.drive().ftl().logical());
        tally.recovery_max_us = tally.recovery_max_us.max(outage.report.recovery_us);
        if let Some(first) = outage.broken.first() {
            let (count, ns) = (outage.broken.len(), at.as_ns());
            return Err(format!("cut {cut} at {ns} ns: {count} promises broken; {first}"));
        }
        reads_are_right(&driver)?;
        driver.drive().check_map();
    }
    let goes_on = driver.play(AFTERWARDS);
    let faults = driver.drive().counters().faults;
    tally.bad_blocks += faults.factory_bad + faults.retired;
    tally.checkpoints += driver.drive().counters().checkpoints;
    tally.read_only += u32::from(faults.read_only_at.is_some());
    reads_are_right(&driver)?;
    if let Some(starved) = driver.starved() {
        return Err(format!(
            "after {} cuts a request waited {}: {starved:?}",
            tally.cuts, starved.age
        ));
    }
    let progress = driver.progress();
    if !goes_on && progress.issued != progress.completed {
        return Err(format!("{} requests never completed", progress.issued - progress.completed));
    }
    driver.drive().ftl().check_laws();
    Ok(())
}

/// Further damage to a drive without power: rows without anything that counts become illegible, and
/// the power comes back only to fail again, up to three times, at any time of the recovery or, as
/// often, of its repairs. Counts these cuts, and the rows.
fn strike(mut remains: CrashImage, rng: &mut Rng, (cuts, rows): &mut (u64, u64)) -> CrashImage {
    if rng.below(3) == 0 {
        let most = 1 + rng.below(40) as u32;
        *rows += u64::from(remains.spoil(rng, most));
    }
    while *cuts < 3 && rng.below(3) == 0 {
        let Recovered { ready, report, .. } = remains.clone().recover();
        let whole = ready.since(remains.at()).as_ns();
        let last = if rng.below(2) == 0 { whole } else { (report.repair_us * 1000).min(whole) };
        remains = remains.cut_again(Duration::from_ns(whole - rng.below(last + 1)));
        *cuts += 1;
    }
    remains
}

fn reads_are_right(driver: &Driver) -> Result<(), String> {
    match driver.oracle().and_then(Oracle::first_mismatch) {
        Some(mismatch) => Err(format!("a read brought what it must not: {mismatch}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manx_config::Override;

    fn campaign(
        scenario: &(dyn Fn(u64) -> Result<Scenario, ConfigError> + Sync),
        jobs: usize,
    ) -> Tally {
        let (stop, progress) = (AtomicBool::new(false), |_: u32, _: u32| {});
        let jobs = NonZero::new(jobs);
        let options = Options {
            scenario,
            seed: 1,
            seeds: 40,
            cuts: 5,
            jobs,
            stop: &stop,
            progress: &progress,
        };
        torture(&options).expect("every drawn drive is valid")
    }

    #[test]
    fn drawn_drives_keep_their_promises_whatever_the_threads() {
        let drawn = |seed| drawn(seed, &[]);
        let tally = campaign(&drawn, 2);
        assert_eq!(tally.violations, []);
        assert_eq!((tally.runs, tally.cuts - tally.cuts_again), (40, 200));
        assert!(tally.torn_rows > 50 && tally.illegible_blocks > 5, "{tally:?}");
        assert!(tally.checkpoints > 10 && tally.from_checkpoint > 10, "{tally:?}");
        assert!(
            tally.cuts_again > 20 && tally.spoilt_rows > 50 && tally.bad_blocks > 10,
            "{tally:?}"
        );
        assert_eq!(Tally { seconds: 0.0, ..campaign(&drawn, 1) }, Tally { seconds: 0.0, ..tally });
    }

    /// A block of which a program had failed left service, unlike one that is erased, before the
    /// journal of what had been deallocated in it: an older version came back.
    #[test]
    fn a_failed_block_waits_for_the_journal_like_an_erase() {
        let sets = [
            ("device.op", "0.6"),
            ("device.geometry.blocks", "28"),
            ("ftl.kind", "page"),
            ("ftl.allocation", "dynamic"),
            ("ftl.map.cache", "0B"),
            ("gc.mode", "controller"),
            ("gc.unit", "plane-group"),
            ("gc.copyback", "false"),
            ("faults.factory_bad", "0.03"),
            ("faults.program_fail", "0.003"),
            ("faults.erase_fail", "0.01"),
        ];
        let sets = sets.map(|(key, value)| Override::new(key, value, "the test"));
        let (stop, progress) = (AtomicBool::new(false), |_: u32, _: u32| {});
        let scenario: &(dyn Fn(u64) -> Result<Scenario, ConfigError> + Sync) =
            &|seed| drawn(seed, &sets);
        let options = Options {
            scenario,
            seed: 8150,
            seeds: 1,
            cuts: 8,
            jobs: None,
            stop: &stop,
            progress: &progress,
        };
        assert_eq!(torture(&options).expect("a valid drive").violations, []);
    }
}
