//! Runs beside the two plans that are no sheets: windows below and above their bound, and the
//! longest write under the timeout that was planned.

use super::question::Question;
use super::timeout::Answer;
use super::tw::{Flash, GcUnit, Inputs, VALID, reserve};
use crate::ask::quoted;
use crate::compare::{Options, compare};
use crate::load::{Request, read_device};
use crate::run::RunError;
use crate::table::cell::{count, latency, three_digits};
use manx_config::{ConfigError, Override, Scenario};
use manx_core::units::Duration;
use serde::Serialize;
use std::fmt::Write;

/// The scenario of an array whose drives take turns to collect, where none was asked for.
const ARRAY: &str = "ioda";

/// Blocks in each plane of the drives that are run: a bound in space needs no large ones.
const BLOCKS: u32 = 64;

/// Windows that are run, over the bound (ratio): well on both sides of it, as space comes and goes
/// in whole victims.
const WINDOWS: [f64; 2] = [0.5, 2.0];

/// Cycles of the longest window that a run has.
const CYCLES: f64 = 3.0;

/// Requests of a run at most.
const REQUESTS_MAX: f64 = 4e6;

/// Bytes of a small write.
const WRITE: f64 = 4096.0;

/// A window and its run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Over the bound (ratio).
    pub of_bound: f64,
    /// TW.
    pub window_ns: u64,
    /// Steps of GC runs that were forced outside of their windows.
    pub violations: u64,
}

/// Windows below and above the bound.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Windows {
    /// Drives of the array.
    pub drives: u32,
    /// Writes of each (bytes a second): half of what the formula says that it sustains.
    pub rate: f64,
    /// The bound of the cut drives, S_use / ((N - 1) B).
    pub bound_ns: u64,
    /// The runs.
    pub windows: Vec<Window>,
}

impl Windows {
    /// The shorter windows keep the contract, and the longer ones break it.
    pub fn holds(&self) -> bool {
        self.windows.iter().all(|run| (run.of_bound > 1.0) == (run.violations > 0))
    }

    /// For a person.
    pub fn text(&self) -> String {
        let ns = |ns: u64| latency(Duration::from_ns(ns).as_us_f64());
        let mut text = format!(
            "\n--check: {} drives of {BLOCKS} blocks in a plane, B = {} MB/s of small writes at \
             each, half of what they sustain: S_use / ((N - 1) B) = {}\n",
            self.drives,
            three_digits(self.rate / 1e6),
            ns(self.bound_ns)
        );
        for run in &self.windows {
            let expected = if run.of_bound > 1.0 { "some" } else { "none" };
            let _ = writeln!(
                text,
                "  TW {:>9}, {} of it: {} steps of GC runs outside of their windows, \
                 {expected} expected",
                ns(run.window_ns),
                run.of_bound,
                count(run.violations),
            );
        }
        text + if self.holds() {
            "  the runs confirm the bound\n"
        } else {
            "  the runs do NOT confirm the bound: space comes and goes in whole victims, and few \
             of them between gc.soft and gc.hard are no reserve; or the bound is wrong\n"
        }
    }
}

fn key(name: &str, value: impl ToString) -> Override {
    Override::new(name, value.to_string(), "--check")
}

/// Runs windows on both sides of the bound.
pub fn windows(question: &Question, options: &Options<'_>) -> Result<Windows, RunError> {
    if question.reserve.is_some() || question.guard.is_some() {
        let text = "--check runs the drive as it is: leave out --reserve and --guard";
        return Err(ConfigError::new(text).into());
    }
    let drives = question.drives.unwrap_or(4);
    let base = array_of(question, drives, &[])?;
    let mut inputs = Inputs::of(&base.device, drives, &base.gc);
    // Of R_v only the load depends, which is to be well within what is sustained.
    inputs.valid = VALID;
    let page = inputs.flash.page;
    if page.get() as f64 > WRITE {
        return Err(ConfigError::new(format!(
            "--check runs small writes of 4KiB, and a program of this drive covers {page}, which \
             they would not fill: there is no run to lay beside the formula"
        ))
        .into());
    }
    let rate = inputs.bounds().actual.sustained / 2.0;
    let space = reserve(&base.device, &base.gc).get() as f64;
    let bound_s = space / (f64::from(drives - 1) * rate);
    let lower_s = inputs.bounds().actual.lower.as_s_f64();
    if bound_s * WINDOWS[0] < lower_s {
        return Err(ConfigError::new(format!(
            "--check: at half of what the drives sustain half of the bound is {:.3} s, and a \
             window must have {lower_s:.3} s: there is none to run; more space between gc.soft and \
             gc.hard",
            bound_s * WINDOWS[0]
        ))
        .into());
    }
    // A small write is one of data and one of parity.
    let per_s = rate * f64::from(drives) / 2.0 / WRITE;
    let longest = WINDOWS.iter().copied().fold(0.0, f64::max) * bound_s;
    let requests = (CYCLES * f64::from(drives) * longest * per_s).min(REQUESTS_MAX) as u64;
    let runs = WINDOWS.map(|part| {
        let window = Duration::from_ns((part * bound_s * 1e9) as u64);
        let load = [
            key("array.window", format!("\"{}ns\"", window.as_ns())),
            key("workload.rate", per_s),
            key("workload.requests", requests),
        ];
        Ok((window, (ARRAY.to_string(), array_of(question, drives, &load)?)))
    });
    let runs = runs.into_iter().collect::<Result<Vec<_>, ConfigError>>()?;
    let (times, runs): (Vec<Duration>, Vec<_>) = runs.into_iter().unzip();
    let results = compare(&runs, options)?;
    let violations = results.into_iter().map(|run| run.result.array.unwrap_or_default());
    let windows = times.iter().zip(WINDOWS).zip(violations);
    let windows = windows.map(|((window, of_bound), array)| Window {
        of_bound,
        window_ns: window.as_ns(),
        violations: array.contract_violations,
    });
    let bound_ns = (bound_s * 1e9) as u64;
    Ok(Windows { drives, rate, bound_ns, windows: windows.collect() })
}

/// The array of the question under uniform small writes.
fn array_of(question: &Question, drives: u32, more: &[Override]) -> Result<Scenario, ConfigError> {
    let scenario = question.scenario.as_deref().unwrap_or(ARRAY);
    let mut sets = question.sets.clone();
    sets.push(key("array.members", drives));
    if let Some(name) = &question.device {
        // A page buffer of the scenario may be too small for another drive.
        let flash = Flash::of(&read_device(name)?, false);
        let least = 4 * flash.page.get() * u64::from(flash.lanes);
        sets.push(key("device.name", quoted(name)));
        sets.push(key("drive.buffer", format!("\"{least}B\"")));
    }
    sets.extend(question.op.map(|op| key("device.op", op)));
    match question.unit {
        None => {}
        Some(GcUnit::Channel) => {
            return Err(ConfigError::new(
                "--check: --gc-unit channel is the formula's; drives of the model reclaim by \
                 block, plane-group or superblock",
            ));
        }
        Some(unit) => sets.push(key("gc.unit", format!("\"{}\"", unit.name()))),
    }
    let whole = Request::read(scenario, sets.clone())?.under(ARRAY)?;
    sets.push(key("device.geometry.blocks", whole.device.geometry.blocks.min(BLOCKS)));
    sets.extend([
        key("workload.read_percent", 0.0),
        key("workload.block_sizes", "[[\"4KiB\", 1]]"),
        key("workload.pattern", "\"random\""),
        key("workload.arrival", "\"poisson\""),
        key("measure.warmup", "\"0s\""),
    ]);
    sets.extend(more.iter().cloned());
    Request::read(scenario, sets)?.under(ARRAY)
}

/// The longest writes of a drive under reads that never let an erase rest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Longest {
    /// GC of this drive: the longest write of D-ES, where N is zero.
    pub gc_ns: u64,
    /// By the rule: GC + N.
    pub rule_ns: u64,
    /// The longest write of the run.
    pub run_ns: u64,
}

impl Longest {
    /// For a person.
    pub fn text(&self) -> String {
        let told = |ns: u64| latency(Duration::from_ns(ns).as_us_f64());
        format!(
            "\n--check: a drive (scenario znand) under reads that hold every erase; its GC, the \
             longest write of d-es, is {}\n  GC + N {}, the run {} ({:.3} of it)\n",
            told(self.gc_ns),
            told(self.rule_ns),
            told(self.run_ns),
            self.run_ns as f64 / self.rule_ns.max(1) as f64,
        )
    }
}

/// Longest N of a check: the run has some tens of such waits.
const N_MAX: Duration = Duration::from_ms(1024);

/// Runs the drive of the paper under the N that was planned.
pub fn longest(answer: &Answer, options: &Options<'_>) -> Result<Longest, RunError> {
    if answer.n > N_MAX {
        let text = format!("--check: N = {} is not run: at most {N_MAX}", answer.n);
        return Err(ConfigError::new(text).into());
    }
    let time = (answer.n * 24).max(Duration::from_s(3));
    // Reads on each die every 125 us, and a writer in a closed loop
    // (experiments/erase-timeout.toml).
    let jobs = "[{ read_percent = 100, arrival = \"poisson\", rate = 128_000, pattern = \"tiers\", \
                tiers = [[20, 60]] }, { read_percent = 0, arrival = \"closed\", queue_depth = 4, \
                pattern = \"random\" }]";
    let sets = [
        key("workload.requests", 0),
        key("workload.time", format!("\"{}ns\"", time.as_ns())),
        key("workload.block_sizes", "[[\"8KiB\", 1]]"),
        key("workload.jobs", jobs),
        key("measure.warmup_requests", 0),
    ];
    let policies = ["d-es".to_string(), answer.policy()];
    let request = Request::read("znand", sets.to_vec())?;
    let runs = policies.map(|policy| Ok((policy.clone(), request.under(&policy)?)));
    let runs = runs.into_iter().collect::<Result<Vec<_>, ConfigError>>()?;
    let longest = |result: &manx_core::stats::RunResult| {
        (result.write.max_us.unwrap_or_default() * 1000.0).round() as u64
    };
    let all: Vec<u64> = compare(&runs, options)?.iter().map(|run| longest(&run.result)).collect();
    Ok(Longest { gc_ns: all[0], rule_ns: all[0] + answer.n.as_ns(), run_ns: all[1] })
}
