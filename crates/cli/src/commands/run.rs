//! `manx run` and `manx compare`: from arguments to a list of runs; the lab runs them.

use super::execute::execute;
use super::{Failure, outputs, requests_file};
use crate::args::{CompareArgs, RunArgs, SharedArgs};
use manx_core::config::{ConfigError, Override, Scenario};
use manx_core::drive::TimelineSpec;
use manx_lab::load::Request;
use std::path::PathBuf;

/// Everything that the lab needs to know: what to run, and what to do with the results.
#[derive(Debug)]
pub struct RunRequest {
    /// The runs in the order of the table: the name of the policy and the scenario with it laid over.
    pub runs: Vec<(String, Scenario)>,
    /// Write the results into this folder.
    pub out: Option<PathBuf>,
    /// Write the log of an ACT load here.
    pub act_log: Option<PathBuf>,
    /// Write every request here.
    pub requests: Option<PathBuf>,
    /// Write timelines here, and what they hold.
    pub timeline: Option<(PathBuf, TimelineSpec)>,
    /// One JSON document on stdout, everything else on stderr.
    pub json: bool,
    /// Check every completed read against what was written.
    pub verify: bool,
    /// Take the preconditioned state from the cache, and leave it there.
    pub cache: bool,
    /// Runs side by side; as many as there are cores if nothing was said.
    pub jobs: Option<u32>,
}

/// `manx run`: one policy, or the scenario as it is written.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let request = request(&args.shared)?.with(power_cut(args));
    let run = match &args.policy {
        Some(policy) => (policy.clone(), request.under(policy)?),
        None => ("as-written".to_string(), request.plain()?),
    };
    execute(run_request(vec![run], &args.shared)?)
}

/// The option as keys of the scenario.
fn power_cut(args: &RunArgs) -> Vec<Override> {
    let Some(at) = args.power_cut_at else { return Vec::new() };
    let said = format!("--power-cut-at {at}");
    let keys = [
        ("recovery.keep", "true".to_string()),
        ("recovery.cut_at", format!("\"{at}\"")),
        ("measure.warmup", "\"0s\"".to_string()),
        ("measure.warmup_requests", "0".to_string()),
    ];
    keys.into_iter().map(|(key, value)| Override::new(key, value, said.clone())).collect()
}

/// `manx compare`: several policies, the first being what the others are held against.
pub fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let request = request(&args.shared)?;
    let plain = request.plain()?;
    let policies = if args.policies.is_empty() { &plain.policies } else { &args.policies };
    if policies.is_empty() {
        return Err(
            ConfigError::new("no policy to run: name some with --policies, or in the scenario's `policies`").into()
        );
    }
    // An empty name (`--policies base,,nogc`) is told as one, however often it is there.
    if let Some(nameless) = policies.iter().find(|policy| policy.trim().is_empty()) {
        request.under(nameless)?;
    }
    let twice =
        policies.iter().enumerate().find(|(at, policy)| policies[..*at].iter().any(|p| p.trim() == policy.trim()));
    if let Some((_, policy)) = twice {
        let message = format!("policy `{}` is named twice: each can be compared once", policy.trim());
        return Err(ConfigError::new(message).into());
    }
    let runs = policies.iter().map(|policy| Ok((policy.trim().to_string(), request.under(policy.trim())?)));
    let runs = runs.collect::<Result<_, ConfigError>>()?;
    execute(run_request(runs, &args.shared)?)
}

fn request(args: &SharedArgs) -> Result<Request, Failure> {
    let request = Request::read(&args.scenario, args.overrides()?)?;
    Ok(if args.trace.is_some() { request.with_trace_from_here() } else { request })
}

fn run_request(runs: Vec<(String, Scenario)>, args: &SharedArgs) -> Result<RunRequest, Failure> {
    let SharedArgs { out, act_log, timeline, requests, json, verify, no_cache, jobs, .. } = args;
    if let Some(file) = act_log
        && runs.iter().any(|(_, scenario)| scenario.workload.act.is_none())
    {
        let file = file.display();
        let message = format!("--act-log {file}: only a workload with [workload.act] has such a log");
        return Err(ConfigError::new(message).into());
    }
    if let Some(file) = requests {
        requests_file::check(file).map_err(|why| ConfigError::new(format!("--requests {}: {why}", file.display())))?;
    }
    outputs::check(args, &runs)?;
    Ok(RunRequest {
        runs,
        out: out.clone(),
        act_log: act_log.clone(),
        requests: requests.clone(),
        timeline: timeline.request(),
        json: *json,
        verify: *verify,
        cache: !no_cache,
        jobs: *jobs,
    })
}
