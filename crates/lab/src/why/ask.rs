//! The model beside the recording: the same requests on a drive of the model under a few policies,
//! each latency split into its causes.

use super::finding::{Findings, Kind, find};
use super::rows::{self, Row};
use crate::advise::causes::{Share, shares};
use crate::ask::Assumed;
use crate::compare::{Options, compare};
use crate::load::Request;
use crate::run::RunError;
use manx_config::{ConfigError, Override, Scenario, resolve_policy};
use manx_core::drive::Op;
use manx_core::stats::{AttributionBand, LatencySummary, RunResult};
use manx_trace::{TraceSpec, TraceSummary};
use serde::Serialize;
use std::sync::atomic::Ordering;

/// The model's policies: what a plain drive does, and what would remove a cause.
pub const POLICIES: [&str; 5] = ["base", "nogc", "preemptive", "preemptive/t-es(16ms)", "ttflash"];

/// A row of the table: the recording, or a policy of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Modelled {
    /// `recorded`, or the policy.
    pub name: String,
    /// Reads: p50, p99, p99.9, longest (microseconds); null where there are too few.
    pub read_us: [Option<f64>; 4],
    /// Writes, likewise.
    pub write_us: [Option<f64>; 4],
    /// Where the time of the slowest thousandth of the reads went.
    pub read_causes: Vec<Share>,
    /// Of the writes, through the write buffer.
    pub write_causes: Vec<Share>,
}

/// A remedy for a cause, as the model tells it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Remedy {
    /// In words.
    pub text: String,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Why {
    /// The trace.
    pub trace: String,
    /// The modelled drive.
    pub drive: String,
    /// Findings in the recorded latencies; null where the trace has none.
    pub recorded: Option<Findings>,
    /// A remedy for each cause of the recording.
    pub remedies: Vec<Remedy>,
    /// Recording and model side by side.
    pub rows: Vec<Modelled>,
    /// Remarks.
    pub remarks: Vec<String>,
}

/// Looks at a trace, and plays it on the model of `request` under each policy that it can have.
pub fn ask(request: &Request, policies: &[String], options: &Options<'_>) -> Result<Why, RunError> {
    let mut spec = trace_of(&request.plain()?)?;
    let (mut remarks, mut known) = (Vec::new(), request.with([]));
    let read = rows::read(&spec).or_else(|error| match Assumed::of(&error) {
        None => Err(error),
        Some(Assumed { unit, set, remark }) => {
            spec.time_unit = Some(unit);
            remarks.push(remark);
            known = request.with([set]);
            rows::read(&spec)
        }
    });
    let (summary, recorded) = read?;
    remarks.extend(summary.doubts());
    if recorded.len() == rows::ROWS_MAX {
        remarks.push(format!("only the first {} requests are looked at", rows::ROWS_MAX));
    }
    let is_stopped = || options.stop.load(Ordering::Relaxed);
    let is_timed = |row: &Row| row.us > 0.0 && row.op != Op::Flush;
    let has_latencies = !is_stopped() && recorded.iter().any(is_timed);
    let names: Vec<String> = summary.devices.iter().map(|device| device.name.clone()).collect();
    let findings = has_latencies.then(|| find(&recorded, &names));
    let mut runs: Vec<(String, Scenario)> = Vec::new();
    let split = Override::new("measure.attribution", "true", "manx why");
    for (at, policy) in policies.iter().enumerate() {
        resolve_policy(policy)?;
        if policies[..at].contains(policy) {
            let why = format!("--policies: `{policy}` is named twice");
            return Err(RunError::Config(ConfigError::new(why)));
        }
        match known.with([split.clone()]).under(policy) {
            Ok(scenario) => runs.push((policy.clone(), scenario)),
            Err(error) => remarks.push(format!("{policy} is left out: {error}")),
        }
    }
    if runs.is_empty() {
        let why = remarks.pop().unwrap_or_else(|| "no policy was named".to_string());
        return Err(RunError::Config(ConfigError::new(why)));
    }
    // Nothing is told of a search that was stopped: no run reads the trace once more for that.
    let finished = if is_stopped() { Vec::new() } else { compare(&runs, options)? };
    let results: Vec<RunResult> = finished.into_iter().map(|run| run.result).collect();
    let trace = results.iter().find_map(|result| result.trace.as_ref());
    let mut table = Vec::new();
    if let Some(recorded) = trace.and_then(|trace| trace.recorded.as_ref()) {
        table.push(Modelled {
            name: "recorded".to_string(),
            read_us: four(&recorded.read),
            write_us: four(&recorded.write),
            ..Modelled::default()
        });
    }
    table.extend(results.iter().map(modelled));
    let remedies = findings.iter().flat_map(|findings| &findings.causes);
    let remedies = remedies.map(|cause| remedy(cause.kind, &table)).collect();
    Ok(Why {
        trace: name_of(&summary),
        drive: crate::about::drives(&runs[..1]).concat(),
        recorded: findings,
        remedies,
        rows: table,
        remarks,
    })
}

fn trace_of(scenario: &Scenario) -> Result<TraceSpec, ConfigError> {
    match scenario.workload.jobs.as_slice() {
        [job] => job.trace.clone(),
        _ => None,
    }
    .ok_or_else(|| ConfigError::new("why asks a trace, and there is none"))
}

fn name_of(summary: &TraceSummary) -> String {
    summary.file.rsplit(['/', '\\']).next().unwrap_or(&summary.file).to_string()
}

fn four(summary: &LatencySummary) -> [Option<f64>; 4] {
    [summary.p50_us, summary.p99_us, summary.p99_9_us, summary.max_us]
}

fn modelled(result: &RunResult) -> Modelled {
    let merges = result.log.is_some();
    let of = |bands: &[AttributionBand]| {
        let band = bands.iter().find(|band| band.band == "p99_9").or(bands.last());
        band.map(|band| shares(band, merges)).unwrap_or_default()
    };
    let attribution = result.attribution.as_ref();
    Modelled {
        name: result.policy.clone(),
        read_us: four(&result.read),
        write_us: four(&result.write),
        read_causes: attribution.map(|parts| of(&parts.read)).unwrap_or_default(),
        write_causes: attribution.map(|parts| of(&parts.write)).unwrap_or_default(),
    }
}

/// A tail that falls by less is as long as before (ratio).
const FALLS: f64 = 0.99;

/// The policy that takes a cause away, with what the model predicts of it.
fn remedy(kind: Kind, table: &[Modelled]) -> Remedy {
    let tail = |name: &str| {
        let row = table.iter().find(|row| row.name == name)?;
        row.read_us[2].or(row.read_us[1])
    };
    let told = |us: f64| crate::table::cell::latency(us);
    let text = match kind {
        Kind::Collection | Kind::Pause => {
            let others =
                table.iter().filter(|row| !matches!(row.name.as_str(), "recorded" | "base"));
            let bought = others.filter(|row| row.name != "nogc");
            let best = bought
                .filter_map(|row| Some((row.read_us[2].or(row.read_us[1])?, &row.name)))
                .min_by(|one, other| one.0.total_cmp(&other.0));
            match (best, tail("base"), tail("nogc")) {
                (Some((us, _)), Some(base), Some(least))
                    if us >= base * FALLS && least < base * FALLS =>
                {
                    format!(
                        "none that was tried: the model's tail of reads stays at {}; with GC at no \
                         cost it is {}, so another policy may (--policies)",
                        told(us),
                        told(least)
                    )
                }
                (Some((us, _)), Some(base), _) if us >= base * FALLS => {
                    "no policy that was tried: the model has no such pauses, its tail of reads is \
                     as long under all of them; the device does something by itself (heat, \
                     refresh, its map)"
                        .to_string()
                }
                (Some((us, name)), Some(base), Some(least)) => format!(
                    "{name}: the model's tail of reads falls from {} (base) to {}; with GC at no \
                     cost it is {}",
                    told(base),
                    told(us),
                    told(least)
                ),
                _ => "a drive whose reads suspend GC runs; no prediction: with base, nogc and \
                      preemptive/t-es(16ms) among --policies there is one"
                    .to_string(),
            }
        }
        Kind::Burst => match tail("nogc") {
            Some(least) => format!(
                "no policy: with GC at no cost the model still has {}; more dies, or a host that \
                 spreads its requests (manx advise says how many dies)",
                told(least)
            ),
            None => "no policy: more dies, or a host that spreads its requests".to_string(),
        },
        Kind::Member => "replace the member, or read around it: an array with hedged or mittos \
                         reads (array.strategy)"
            .to_string(),
        Kind::Flush => "power-loss protection (drive.power_loss_protection) makes flushes cost \
                        nothing"
            .to_string(),
        Kind::Size => "smaller requests, or more dies to spread them over".to_string(),
        Kind::Shift => {
            "no policy: look at what changed then: a rebuild, heat, a full cache".to_string()
        }
    };
    Remedy { text }
}
