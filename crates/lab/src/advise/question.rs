//! The question: what is played, on which drives, what it must keep, what is to be small.
//!
//! A trace comes alone, so the drive is made for it: as many blocks as hold the pages that it
//! touches, packed (`--remap dense`) where its addresses lie beyond them, and as many passes as its
//! goals need samples. A device or a geometry that is named is kept.

use super::cost::Costs;
use super::goal::{Goal, Of};
use crate::ask::Assumed;
use crate::load::read_device;
use crate::sweep::plan::{Asked as Swept, Plan};
use crate::trace_info::{TraceInfo, trace_info};
use manx_config::{ConfigError, MeasureSpec, Override, Scenario};
use manx_core::host::{Arrival, JobSpec};
use manx_core::units::Bytes;
use manx_trace::{Layout, TraceError, TraceSpec};
use serde::Serialize;
use std::str::FromStr;

/// Policies that are tried where none are named: of the axes `gc` and `erase`, and the whole
/// techniques made of them.
pub const POLICIES: [&str; 8] = [
    "base",
    "preemptive",
    "preemptive/i-es",
    "preemptive/t-es(16ms)",
    "preemptive/t-es(64ms)",
    "modern",
    "pb",
    "ttflash",
];

/// Keys that are tried where nothing is said of them, the cheapest value first.
pub const AXES: [(&str, &str); 3] = [
    ("device.op", "0.07,0.1,0.15,0.2,0.28,0.4"),
    ("drive.buffer", "4MiB,16MiB,64MiB"),
    ("gc.soft", "0.03,0.05,0.1"),
];

/// The largest drive that is made for a trace.
const RAW_MAX: u64 = 64 << 30;

/// Passes of a trace at most.
const PASSES_MAX: u64 = 64;

/// A load that writes nothing has no WAF.
const NO_WRITES: &str = "no writes that are measured, so it has no WAF (workload.read_percent; \
                         measure.warmup, measure.warmup_requests)";

/// The price to keep small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Minimise {
    /// Money for a usable TB, by the cost model.
    #[default]
    Cost,
    /// Over-provisioning.
    Op,
    /// Write amplification.
    Waf,
    /// Watts for a usable TB.
    Power,
    /// Drives of the array.
    Drives,
}

impl Minimise {
    /// It is not known before a run has ended.
    pub fn is_guessed(self) -> bool {
        matches!(self, Self::Cost | Self::Waf | Self::Power)
    }
}

/// The question as it was asked.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// A built-in scenario or the path of one.
    pub scenario: String,
    /// Overrides at every point, those of a trace first.
    pub overrides: Vec<Override>,
    /// The trace's path, where it is an option's.
    pub trace: Option<String>,
    /// `--slo`.
    pub goals: Vec<String>,
    /// `--minimise`.
    pub minimise: Minimise,
    /// `--over`.
    pub over: Vec<String>,
    /// `--policies`.
    pub policies: Vec<String>,
    /// `--cost`.
    pub costs: Vec<String>,
    /// Every setting is played to its end.
    pub exhaustive: bool,
}

/// The load, as far as it is known before a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Load {
    /// The trace or the scenario.
    pub name: String,
    /// Requests of the whole run.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Passes of the trace.
    pub passes: u64,
    /// Requests a second; null of a load that waits for its answers.
    pub rate_per_s: Option<f64>,
    /// Bytes written a second, likewise.
    pub write_bytes_s: Option<f64>,
    /// Bytes of the pages that the trace touches; null of a generated load.
    pub footprint_bytes: Option<u64>,
    /// Variance over mean of the arrivals in 10 ms: 1 for Poisson; null of a generated load.
    pub idc_10ms: Option<f64>,
}

/// The question, ready to be answered.
pub struct Question {
    /// Points.
    pub plan: Plan,
    /// The goals.
    pub goals: Vec<Goal>,
    /// The price to keep small.
    pub minimise: Minimise,
    /// The cost model.
    pub costs: Costs,
    /// The load.
    pub load: Load,
    /// The scenario, before points and policies.
    pub base: Scenario,
    /// Remarks on what was chosen for the asker.
    pub remarks: Vec<String>,
    /// `manx run` and what all its commands share.
    pub command: Vec<String>,
    /// Every setting is played to its end.
    pub exhaustive: bool,
    /// Requests come when earlier ones are done.
    pub is_closed_loop: bool,
}

impl Question {
    /// Reads everything, and refuses what cannot be answered.
    pub fn new(asked: Asked) -> Result<Self, ConfigError> {
        let goals = Goal::parse_all(&asked.goals)?;
        let costs = Costs::with(&asked.costs)?;
        let mut swept = Swept {
            command: String::new(),
            scenario: asked.scenario.clone(),
            overrides: asked.overrides.clone(),
            trace_from_here: asked.trace.is_some(),
            policies: match asked.policies.is_empty() {
                true => POLICIES.map(str::to_string).to_vec(),
                false => asked.policies.clone(),
            },
            grid: axes(&asked.over)?,
            ..Swept::default()
        };
        let over =
            |error: ConfigError| ConfigError::new(error.to_string().replace("--grid ", "--over "));
        let first = Plan::new(Swept { policies: Vec::new(), ..swept.clone() });
        let first = first.map_err(over)?.base()?;
        let mut remarks = Vec::new();
        let job = only_job(&first)?;
        refuse_several_drives(&first, job)?;
        let load = match &job.trace {
            None => generated(&first, job)?,
            Some(trace) => {
                let (info, assumed) = figures(trace)?;
                if let Some(Assumed { set, remark, .. }) = assumed {
                    swept.overrides.push(set);
                    remarks.push(remark);
                }
                let added = fit(&first, &info, &swept, &mut remarks)?;
                swept.overrides.extend(added);
                let said = |key: &str| said(&swept.overrides, key);
                let passes = match said("workload.trace.repeat") {
                    true => u64::from(trace.repeat),
                    false => passes(&goals, &info, first.measure.warmup_requests)?,
                };
                let again = (passes > 1 && !said("workload.trace.repeat")).then(|| {
                    remarks.push(format!(
                        "the trace is replayed {passes} times in a row, so that the goals have the \
                         samples that they need"
                    ));
                    keyed("workload.trace.repeat", &passes.to_string(), "--loop", passes)
                });
                swept.overrides.extend(again);
                let has_rate = job.arrival != Arrival::Closed;
                let load = of_trace(trace, &info, passes, has_rate);
                let span_s = info.summary.span_ns as f64 / 1e9 / trace.rate_scale;
                measured(load, &first.measure, has_rate.then_some(span_s * passes as f64))
            }
        };
        kinds_are_there(&goals, asked.minimise, &load)?;
        let plan = Plan::new(swept).map_err(over)?;
        let base = plan.base()?;
        let command = command(plan.asked());
        let minimise = asked.minimise;
        let exhaustive = asked.exhaustive;
        Ok(Self {
            plan,
            goals,
            minimise,
            costs,
            load,
            base,
            remarks,
            command,
            exhaustive,
            is_closed_loop: job.arrival == Arrival::Closed,
        })
    }

    /// A closed loop asks a faster drive for more, which wear and power are paid for.
    pub fn is_priced_by_speed(&self) -> bool {
        self.is_closed_loop && matches!(self.minimise, Minimise::Cost | Minimise::Power)
    }
}

/// The figures of a trace, and what had to be assumed of it.
fn figures(trace: &TraceSpec) -> Result<(TraceInfo, Option<Assumed>), ConfigError> {
    let refused = |error: TraceError| ConfigError::new(error.to_string());
    let assumed = match trace_info(trace, &mut |_| {}) {
        Ok(info) => return Ok((info, None)),
        Err(error) => Assumed::of(&error).ok_or_else(|| refused(error))?,
    };
    let known = TraceSpec { time_unit: Some(assumed.unit), ..trace.clone() };
    Ok((trace_info(&known, &mut |_| {}).map_err(refused)?, Some(assumed)))
}

/// The axes: those that are said, over those of the same key.
fn axes(over: &[String]) -> Result<Vec<String>, ConfigError> {
    let key = |text: &str| text.split_once('=').map(|(key, _)| key.trim().to_string());
    let mut grid: Vec<String> = AXES.map(|(key, values)| format!("{key}={values}")).to_vec();
    for (at, text) in over.iter().enumerate() {
        let Some(said) = key(text).filter(|key| !key.is_empty()) else {
            return Err(ConfigError::new(format!("--over {text}: expected KEY=V1,V2,..")));
        };
        if over[..at].iter().any(|other| key(other).as_deref() == Some(&said)) {
            return Err(ConfigError::new(format!("--over {text}: {said} is said twice")));
        }
        match grid.iter_mut().find(|axis| key(axis).as_deref() == Some(&said)) {
            Some(axis) => axis.clone_from(text),
            None => grid.push(text.clone()),
        }
    }
    Ok(grid)
}

fn only_job(scenario: &Scenario) -> Result<&JobSpec, ConfigError> {
    match scenario.workload.jobs.as_slice() {
        [job] if scenario.workload.act.is_none() => Ok(job),
        _ => Err(ConfigError::new(format!(
            "{}: advise takes one job or one trace, and this scenario has {} jobs{}",
            scenario.name,
            scenario.workload.jobs.len(),
            if scenario.workload.act.is_some() { " of an ACT load (manx act rate)" } else { "" }
        ))),
    }
}

/// A run is looked at after equal parts of it: it is one run of one storage.
fn refuse_several_drives(scenario: &Scenario, job: &JobSpec) -> Result<(), ConfigError> {
    if job.trace.as_ref().is_some_and(|trace| trace.layout == Layout::Separate) {
        return Err(ConfigError::new(
            "advise runs one drive or one array, and layout = \"separate\" gives each device of \
             the trace a drive of its own: choose one (--devices), or --layout concat",
        ));
    }
    match scenario.recovery.cut_at {
        None => Ok(()),
        Some(cut) => Err(ConfigError::new(format!(
            "recovery.cut_at = {cut}: advise has no answer for a run that loses power, as what is \
             lost is in no latency"
        ))),
    }
}

fn generated(scenario: &Scenario, job: &JobSpec) -> Result<Load, ConfigError> {
    if job.requests == 0 {
        return Err(ConfigError::new(format!(
            "{}: advise needs workload.requests: short runs come first, and a run that ends by its \
             time alone has no length to begin with",
            scenario.name
        )));
    }
    let requests = job.requests as f64;
    let reads = (requests * job.read_percent / 100.0) as u64;
    let writes = (requests * (100.0 - job.read_percent - job.trim_percent) / 100.0) as u64;
    let sizes = match job.write_block_sizes.is_empty() {
        true => &job.block_sizes,
        false => &job.write_block_sizes,
    };
    let weights: f64 = sizes.iter().map(|(_, weight)| weight).sum();
    let mean: f64 = sizes.iter().map(|(size, weight)| size.get() as f64 * weight).sum::<f64>();
    let rate = (job.rate > 0.0 && job.arrival != Arrival::Closed).then_some(job.rate);
    let load = Load {
        name: scenario.name.clone(),
        requests: job.requests,
        reads,
        writes,
        passes: 1,
        rate_per_s: rate,
        write_bytes_s: rate
            .map(|rate| rate * writes as f64 / requests.max(1.0) * mean / weights.max(1e-9)),
        footprint_bytes: None,
        idc_10ms: None,
    };
    Ok(measured(load, &scenario.measure, rate.map(|rate| requests / rate)))
}

fn of_trace(trace: &TraceSpec, info: &TraceInfo, passes: u64, has_rate: bool) -> Load {
    let (summary, file) = (&info.summary, &trace.file);
    let seconds = summary.span_ns as f64 / 1e9 / trace.rate_scale;
    let per_s = |count: u64| (has_rate && seconds > 0.0).then(|| count as f64 / seconds);
    Load {
        name: file.rsplit(['/', '\\']).next().unwrap_or(file).to_string(),
        requests: summary.requests * passes,
        reads: summary.reads * passes,
        writes: summary.writes * passes,
        passes,
        rate_per_s: per_s(summary.requests),
        write_bytes_s: per_s(summary.write_bytes),
        footprint_bytes: Some(info.statistics.footprint.pages * 4096),
        idc_10ms: info.statistics.arrivals.idc_10ms,
    }
}

/// Without the requests of the warm-up, which are in no percentile. `span_s` is how long the load
/// comes, where it has a rate. How many come in a part of it nobody knows before a run: only a
/// warm-up of all of it leaves nothing for certain.
fn measured(load: Load, measure: &MeasureSpec, span_s: Option<f64>) -> Load {
    let by_count = measure.warmup_requests as f64 / load.requests.max(1) as f64;
    let is_all = span_s.is_some_and(|span| measure.warmup.as_s_f64() > WHOLE * span);
    let left = if is_all { 0.0 } else { 1.0 - by_count.min(1.0) };
    let counted = |count: u64| (count as f64 * left).round() as u64;
    Load { reads: counted(load.reads), writes: counted(load.writes), ..load }
}

/// A warm-up that is longer than the load by so much has all of it, though arrivals are random
/// (ratio).
const WHOLE: f64 = 1.1;

/// Passes that give every goal its samples, beside those of the warm-up.
fn passes(goals: &[Goal], info: &TraceInfo, warmup: u64) -> Result<u64, ConfigError> {
    let mut passes = 1;
    for goal in goals {
        let count = match goal.of {
            Of::Write => info.summary.writes,
            _ => info.summary.reads,
        };
        let wanted = (goal.least() + warmup).div_ceil(count.max(1));
        if count > 0 && wanted > PASSES_MAX {
            return Err(ConfigError::new(format!(
                "--slo '{}': it needs {} requests, and the trace has {count}: {wanted} passes \
                 would repeat the same few; take a percentile that it can tell",
                goal.text,
                goal.least()
            )));
        }
        passes = passes.max(wanted);
    }
    Ok(passes)
}

fn kinds_are_there(goals: &[Goal], least: Minimise, load: &Load) -> Result<(), ConfigError> {
    if least == Minimise::Waf && load.writes == 0 {
        let name = &load.name;
        return Err(ConfigError::new(format!("--minimise waf: {name} has {NO_WRITES}")));
    }
    for goal in goals {
        let (kind, count) = match goal.of {
            Of::Read => ("reads", load.reads),
            Of::Write => ("writes", load.writes),
            Of::Drive => ("writes", load.writes),
        };
        if count == 0 && goal.of == Of::Drive {
            let (said, name) = (&goal.text, &load.name);
            return Err(ConfigError::new(format!("--slo '{said}': {name} has {NO_WRITES}")));
        }
        if count == 0 {
            return Err(ConfigError::new(format!(
                "--slo '{}': {} has no {kind} that are measured (measure.warmup, \
                 measure.warmup_requests)",
                goal.text, load.name
            )));
        }
        if goal.is_latency() && load.passes == 1 && count < goal.least() {
            return Err(ConfigError::new(format!(
                "--slo '{}': it needs {} {kind}, and {} has {count} beyond its warm-up: more \
                 requests (workload.requests, of a trace --loop), or a percentile that it can tell",
                goal.text,
                goal.least(),
                load.name
            )));
        }
    }
    Ok(())
}

fn said(overrides: &[Override], key: &str) -> bool {
    overrides.iter().any(|set| set.key() == key)
}

fn keyed(key: &str, value: &str, option: &str, text: impl ToString) -> Override {
    Override::new(key, value, format!("{option} {}", text.to_string()))
}

/// A drive that holds the pages of the trace: its blocks, and how addresses come onto it.
fn fit(
    base: &Scenario,
    info: &TraceInfo,
    swept: &Swept,
    remarks: &mut Vec<String>,
) -> Result<Vec<Override>, ConfigError> {
    remarks.extend(info.summary.doubts());
    let mut added = Vec::new();
    let geometry = &base.device.geometry;
    let all = |key: &str| said(&swept.overrides, key) || over(&swept.grid, key).is_some();
    let of_device = |axis: &String| axis.starts_with("device.") && !axis.starts_with("device.op=");
    let named = swept.overrides.iter().any(|set| set.key().starts_with("device."))
        || swept.grid.iter().any(of_device);
    let footprint = info.statistics.footprint.pages * 4096;
    let op = over(&swept.grid, "device.op").and_then(most).unwrap_or(base.device.op);
    // Parity of eight may take its part, and rounds of stripes are whole.
    let usable = (1.0 - op) * 0.875 * 0.98;
    let raw = base.capacity().raw.get();
    let row = (raw / u64::from(geometry.blocks)) as f64;
    let blocks = (footprint as f64 / usable / row).ceil();
    // A table that is a file has no name to be found by: it is as large as it says.
    let table = read_device(&base.device.name).map_or(0, |table| table.geometry.blocks);
    let most = f64::from(table.max(geometry.blocks)).min((RAW_MAX as f64 / row).floor());
    let mut held = raw;
    if !named && blocks > f64::from(geometry.blocks) {
        let blocks = (blocks / 16.0).ceil() * 16.0;
        let blocks = blocks.min(most.max(f64::from(geometry.blocks))) as u32;
        held = (row * f64::from(blocks)) as u64;
        let text = format!("device.geometry.blocks={blocks}");
        added.push(keyed("device.geometry.blocks", &blocks.to_string(), "--set", text));
        remarks.push(format!(
            "the drive is a cut of {}: {blocks} blocks in each plane ({}), which hold the {} that \
             the trace touches at every over-provisioning; its dies keep their speed",
            base.device.name,
            Bytes::new(held),
            Bytes::new(footprint),
        ));
    }
    let span = info.statistics.locality.lba_span_bytes;
    let least = held as f64 * usable;
    if !all("workload.trace.remap") && span as f64 > least && (footprint as f64) <= least {
        added.push(keyed("workload.trace.remap", "\"dense\"", "--remap", "dense"));
        remarks.push(format!(
            "addresses span {}: the touched extents are packed (--remap dense)",
            Bytes::new(span)
        ));
    }
    Ok(added)
}

/// The values of an axis of the grid.
fn over<'a>(grid: &'a [String], key: &str) -> Option<&'a str> {
    let mut axes = grid.iter().filter_map(|axis| axis.split_once('='));
    axes.find_map(|(name, values)| (name.trim() == key).then_some(values))
}

fn most(values: &str) -> Option<f64> {
    values.split(',').filter_map(|value| f64::from_str(value.trim()).ok()).reduce(f64::max)
}

/// The command that plays a point, up to its policy and keys; each word as a shell takes it.
fn command(asked: &Swept) -> Vec<String> {
    let mut words = vec!["manx".to_string(), "run".to_string(), shell(&asked.scenario)];
    let mut said: Vec<&str> = Vec::new();
    for set in &asked.overrides {
        if said.contains(&set.said()) {
            continue;
        }
        said.push(set.said());
        match set.said().split_once(' ') {
            Some((option, value)) => words.extend([option.to_string(), shell(value)]),
            None => words.push(set.said().to_string()),
        }
    }
    words
}

/// A word as a shell takes it.
pub fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,=:/+%@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
