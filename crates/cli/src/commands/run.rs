//! `manx run` and `manx compare`: from arguments to a list of runs; the lab runs them.

use super::execute::execute;
use super::{Failure, outputs, requests_file};
use crate::args::{CompareArgs, RunArgs, SharedArgs};
use crate::say::say_line;
use crate::screen::Screen;
use manx_config::{ConfigError, Overlaid, Override, Scenario};
use manx_core::drive::TimelineSpec;
use manx_lab::ask::comparison;
use manx_lab::load::Request;
use manx_lab::memory::timeline_refusal;
use std::path::PathBuf;

/// Everything that the lab needs to know: what to run, and what to do with the results.
#[derive(Debug)]
pub struct RunRequest {
    /// The runs in the order of the table: the name of the policy and the scenario with it laid
    /// over.
    pub runs: Vec<(String, Scenario)>,
    /// Numbers of the device's table that the scenario lies over, in a line.
    pub overlaid: Option<String>,
    /// The workload that takes the place of the scenario's, as it was named.
    pub workload: Option<String>,
    /// Every column of the table.
    pub wide: bool,
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
    /// Judge steady state by SNIA's PTS.
    pub pts: bool,
}

/// `manx run`: one policy, or the scenario as it is written.
pub fn run(args: &RunArgs, screen: &Screen) -> Result<(), Failure> {
    let request = request(&args.shared)?.with(power_cut(args));
    let run = match &args.policy {
        Some(policy) => (policy.clone(), request.under(policy)?),
        None => ("as-written".to_string(), request.plain()?),
    };
    let overlaid = overlaid(&request, &run.1)?;
    let runs = vec![run];
    let notes = [cost(&runs[0].1).into_iter().collect(), request.notes(&runs)].concat();
    run_all(runs, &notes, overlaid, &args.shared, args.force, screen)
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

/// `manx compare`: several policies, the first being the baseline.
pub fn compare(args: &CompareArgs, screen: &Screen) -> Result<(), Failure> {
    let request = request(&args.shared)?;
    let plain = request.plain()?;
    let runs = comparison(&request, &args.policies)?;
    let overlaid = overlaid(&request, &plain)?;
    let notes = [cost(&plain).into_iter().collect(), request.notes(&runs)].concat();
    run_all(runs, &notes, overlaid, &args.shared, args.force, screen)
}

/// Runs them; what is large, or was said in vain, is told before.
fn run_all(
    runs: Vec<(String, Scenario)>,
    notes: &[String],
    overlaid: Option<String>,
    args: &SharedArgs,
    force: bool,
    screen: &Screen,
) -> Result<(), Failure> {
    let request = run_request(runs, args, force)?;
    notes.iter().for_each(|note| say_line(&format!("note: {note}")));
    execute(RunRequest { overlaid, ..request }, screen)
}

/// From so many pages on a drive is large for a first look, and to so many it is cut then.
const PAGES_LARGE: u64 = 1 << 26;
const PAGES_CUT: u64 = 1 << 24;
/// Bytes of the model for a page of page mapping.
const BYTES_A_PAGE: f64 = 7.4;

/// Cost of a large drive, and how to have less of it.
fn cost(scenario: &Scenario) -> Option<String> {
    let device = &scenario.device;
    let pages = scenario.capacity().raw.get() / device.geometry.map_unit.get()
        * u64::from(scenario.array.members);
    let blocks = device.geometry.blocks;
    let fewer = (u64::from(blocks) * PAGES_CUT / pages.max(1)).clamp(32, blocks.max(32).into());
    (pages >= PAGES_LARGE).then(|| {
        format!(
            "{} is simulated whole: {} million pages, some {:.1} GB of memory for each run \
             under way, and each page is written several times before the run; \
             --set device.geometry.blocks={fewer} is the same drive with {fewer} of the \
             {blocks} blocks in each plane",
            device.name,
            pages / 1_000_000,
            pages as f64 * BYTES_A_PAGE / 1e9
        )
    })
}

/// Keys of the scenario in place of the device's own table: the drive is not the one of that name.
fn overlaid(request: &Request, scenario: &Scenario) -> Result<Option<String>, ConfigError> {
    let told = |Overlaid { key, value, table }: &Overlaid| {
        let table = table.as_deref().unwrap_or("nothing");
        format!("{} = {value} ({table})", key.trim_start_matches("device."))
    };
    let all: Vec<String> = request.overlaid()?.iter().map(told).collect();
    let (name, device) = (&scenario.name, &scenario.device.name);
    Ok((!all.is_empty())
        .then(|| format!("{name} changes {device} (its own in parentheses): {}", all.join(", "))))
}

fn request(args: &SharedArgs) -> Result<Request, Failure> {
    let request = Request::read(&args.scenario, args.overrides()?)?;
    Ok(if args.trace.is_some() { request.with_trace_from_here() } else { request })
}

fn run_request(
    runs: Vec<(String, Scenario)>,
    args: &SharedArgs,
    force: bool,
) -> Result<RunRequest, Failure> {
    let SharedArgs {
        workload,
        wide,
        out,
        act_log,
        timeline,
        requests,
        json,
        verify,
        no_cache,
        jobs,
        pts,
        ..
    } = args;
    if let Some(file) = act_log
        && runs.iter().any(|(_, scenario)| scenario.workload.act.is_none())
    {
        let file = file.display();
        let message =
            format!("--act-log {file}: only a workload with [workload.act] has such a log");
        return Err(ConfigError::new(message).into());
    }
    if let Some(file) = requests {
        requests_file::check(file)
            .map_err(|why| ConfigError::new(format!("--requests {}: {why}", file.display())))?;
    }
    if let (Some(file), Some(why)) = (&timeline.file, timeline_refusal(timeline.limit)) {
        let message = format!("--timeline-limit {} ({}): {why}", timeline.limit, file.display());
        return Err(ConfigError::new(message).into());
    }
    outputs::check(args, force, &runs)?;
    Ok(RunRequest {
        runs,
        overlaid: None,
        workload: workload.clone(),
        wide: *wide,
        out: out.clone(),
        act_log: act_log.clone(),
        requests: requests.clone(),
        timeline: timeline.request(),
        json: *json,
        verify: *verify,
        cache: !no_cache,
        jobs: *jobs,
        pts: *pts,
    })
}
