//! Bounds of any setting: a drive whose garbage collection costs nothing, with the most
//! over-provisioning and buffer of the question; then one with a buffer for everything; then with
//! more dies. Where the first misses a goal no policy keeps it on these dies, and the answer says
//! what takes the time instead.

use super::causes::{self, Share};
use super::goal::{Goal, Judged, Measure, Of, void};
use super::question::{Load, Question};
use super::shots::{Played, Shots, Stop, Until, shape};
use crate::campaign::Point;
use crate::open::opener;
use crate::plan::tw::Flash;
use crate::table::cell;
use manx_config::{ConfigError, Override, Scenario};
use manx_core::drive::Op;
use manx_core::ftl::GcMode;
use manx_core::stats::{RunResult, SlowRequest};
use manx_core::units::Bytes;
use manx_trace::survey_each;
use serde::Serialize;

/// A write buffer that holds whatever comes.
const ENOUGH: &str = "1GiB";

/// Requests that come within this time of another are of one burst (seconds).
const BURST_S: f64 = 0.01;

/// A drive that nobody can buy, and what it keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bound {
    /// Description.
    pub name: String,
    /// The goals, in their order.
    pub judged: Vec<Judged>,
    /// It keeps all of them.
    pub meets: bool,
    /// It has the dies and the buffers of the question: no setting is better, but for what
    /// `unbounded` names.
    pub holds: bool,
    /// Causes of the tail that is too long, the largest first; empty where it is not.
    pub causes: Vec<Share>,
    /// Cause of the bound, in a sentence; empty where it keeps the goals.
    pub set_by: String,
    /// Why it bounds nothing: it refused writes, or nothing was measured. Empty where it is one.
    pub void: String,
    /// The command that plays it.
    pub command: String,
}

impl Bound {
    /// It misses a goal. One that wrote nothing to flash leaves a goal on WAF open.
    pub fn misses(&self) -> bool {
        self.judged.iter().any(|judged| !judged.meets && !judged.unmeasured)
    }

    /// Its verdict in words.
    pub fn verdict(&self) -> &'static str {
        match (self.meets, self.misses()) {
            (true, _) => "keeps the goals",
            (_, true) => "misses",
            _ => "says nothing of WAF, as it wrote nothing to flash",
        }
    }
}

/// One of the drives.
struct Kind {
    name: String,
    policy: &'static str,
    keys: Vec<(&'static str, String)>,
    holds: bool,
}

/// Keys that change nothing for a drive whose GC costs nothing, or of which it has the most.
const BOUNDED: [&str; 3] = ["device.op", "drive.buffer", "drive.power_loss_protection"];

/// A write buffer that outlives a power loss, as `gtf` has it.
const PROTECTED: [(&str, &str); 3] = [
    ("drive.power_loss_protection", "true"),
    ("drive.background_flush", "true"),
    ("drive.write_through", "false"),
];

/// Of what the question has the bounds say nothing: policies that place pages, or read an array, in
/// another way, and keys of other hardware.
pub fn unbounded(question: &Question) -> Vec<String> {
    let base = &question.base;
    let elsewhere = |policy: &&String| {
        question.plan.request().under(policy).is_ok_and(|scenario| {
            scenario.ftl.allocation != base.ftl.allocation
                || scenario.rain.width != base.rain.width
                || scenario.array.strategy != base.array.strategy
        })
    };
    let policies = question.plan.asked().policies.iter().filter(elsewhere).cloned();
    let keys = question.plan.axes().iter().map(|axis| axis.key.clone());
    let is_bounded = |key: &String| {
        let starts = ["gc.", "erase."].iter().any(|start| key.starts_with(start));
        starts || BOUNDED.contains(&key.as_str())
    };
    policies.chain(keys.filter(|key| !is_bounded(key))).collect()
}

/// The run of the first bound, and its scenario.
pub type First = Option<(Played, Point)>;

/// Plays the first of them alone; none where `nogc` does not go with the scenario.
pub fn first(question: &Question, shots: &mut Shots<'_>) -> Result<First, Stop> {
    let kinds = kinds(question);
    let Some(point) = kinds.iter().find_map(|kind| point(question, kind)) else { return Ok(None) };
    let played = shots.play_points(std::slice::from_ref(&point), Until::End)?.remove(0);
    Ok(Some((played, point)))
}

fn point(question: &Question, kind: &Kind) -> Option<Point> {
    let keys = kind
        .keys
        .iter()
        .map(|(key, value)| Override::new(*key, value.clone(), format!("--set {key}={value}")));
    let mut scenario = question.plan.request().with(keys).under(kind.policy).ok()?;
    shape(&mut scenario, &question.load, 0);
    Some((kind.policy.to_string(), scenario))
}

/// Plays them until one misses none of the goals.
/// `known` is the run of the first, where it was played before.
pub fn bounds(
    question: &Question,
    shots: &mut Shots<'_>,
    mut known: First,
) -> Result<(Vec<Bound>, First), Stop> {
    let (mut all, mut first) = (Vec::new(), None);
    for kind in kinds(question) {
        let Some(point) = point(question, &kind) else { continue };
        let points = [point];
        let again = known.take().map(|(played, _)| Ok(vec![played]));
        let mut played = match again.unwrap_or_else(|| shots.play_points(&points, Until::End)) {
            // A drive of four times the dies may be more than memory holds: then it is not told.
            Err(Stop::Run(_)) if !all.is_empty() => break,
            played => played?,
        };
        let played = played.remove(0);
        let bound = judged(question, &kind, &points[0].1, &played.result);
        let [point] = points;
        first = first.or(Some((played, point)));
        let misses = bound.misses();
        all.push(bound);
        if !misses {
            break;
        }
    }
    Ok((all, first))
}

fn kinds(question: &Question) -> Vec<Kind> {
    let most = |key: &str| {
        let axis = question.plan.axes().iter().find(|axis| axis.key == key)?;
        let size = |text: &String| {
            let bytes = text.parse::<Bytes>().map(|size| size.get() as f64);
            text.parse().or(bytes).unwrap_or(0.0)
        };
        axis.values.iter().max_by(|one, other| size(one).total_cmp(&size(other))).cloned()
    };
    let base = &question.base.device.geometry;
    let mut keys = Vec::new();
    if let Some(op) = most("device.op") {
        keys.push(("device.op", op));
    }
    let mut with_buffer = keys.clone();
    if let Some(buffer) = most("drive.buffer") {
        keys.push(("drive.buffer", buffer));
    }
    with_buffer.push(("drive.buffer", ENOUGH.to_string()));
    if may_be_protected(question) {
        for key in PROTECTED {
            keys.push((key.0, key.1.to_string()));
            with_buffer.push((key.0, key.1.to_string()));
        }
    }
    let mut kinds = vec![
        Kind { name: "GC at no cost".to_string(), policy: "nogc", keys: keys.clone(), holds: true },
        Kind {
            name: "GC at no cost, reads suspend programs".to_string(),
            policy: "nogc/pes(ipc)",
            keys,
            holds: true,
        },
        Kind {
            name: format!("and a write buffer of {ENOUGH}"),
            policy: "nogc/pes(ipc)",
            keys: with_buffer.clone(),
            holds: false,
        },
    ];
    for (times, words) in [(2, "twice"), (4, "four times")] {
        let blocks = base.blocks / times;
        if blocks < 16 || question.plan.axes().iter().any(|axis| axis.key == "device.name") {
            break;
        }
        let mut keys = with_buffer.clone();
        keys.push(("device.geometry.ways", (base.ways * times).to_string()));
        keys.push(("device.geometry.blocks", blocks.to_string()));
        let name = format!("and {words} the dies, {}", dies(question) * u64::from(times));
        kinds.push(Kind { name, policy: "nogc/pes(ipc)", keys, holds: false });
    }
    kinds
}

/// A setting or a policy of the question protects the write buffer, and the scenario does not:
/// then the bound does.
fn may_be_protected(question: &Question) -> bool {
    let plan = &question.plan;
    let is_key = |key: &str| key == PROTECTED[0].0;
    let says = |value: &String| value.parse() == Ok(true);
    let mut axes = plan.axes().iter().filter(|axis| is_key(&axis.key));
    let by_axis = axes.any(|axis| axis.values.iter().any(says));
    let is_protected = |policy: &String| {
        let scenario = plan.request().under(policy);
        scenario.is_ok_and(|scenario| scenario.drive.power_loss_protection)
    };
    by_axis
        || (!question.base.drive.power_loss_protection
            && plan.asked().policies.iter().any(is_protected))
}

/// Dies of the question's drive.
pub fn dies(question: &Question) -> u64 {
    let geometry = &question.base.device.geometry;
    u64::from(geometry.channels) * u64::from(geometry.ways) * u64::from(geometry.dies)
}

fn judged(question: &Question, kind: &Kind, scenario: &Scenario, result: &RunResult) -> Bound {
    let judged: Vec<Judged> = question.goals.iter().map(|goal| goal.judge(result)).collect();
    let meets = judged.iter().all(|judged| judged.meets);
    let missed = judged.iter().position(|judged| !judged.meets && !judged.unmeasured);
    let (causes, set_by) = match missed {
        None => (Vec::new(), String::new()),
        Some(at) => {
            let goal = &question.goals[at];
            let causes = causes::of(goal, result);
            let set_by = by_itself(&question.load, goal)
                .unwrap_or_else(|| set_by(question, goal.of, scenario, result, &causes));
            (causes, set_by)
        }
    };
    let sets = kind.keys.iter().flat_map(|(key, value)| {
        ["--set".to_string(), super::question::shell(&format!("{key}={value}"))]
    });
    let policy = ["--policy".to_string(), kind.policy.to_string()];
    let words: Vec<String> = question.command.iter().cloned().chain(policy).chain(sets).collect();
    let void = void(result);
    let holds = kind.holds && void.is_none();
    let (name, command, void) = (kind.name.clone(), words.join(" "), void.unwrap_or_default());
    Bound { name, judged, meets, holds, causes, set_by, void, command }
}

/// The limit of what no latency explains: a WAF, and a rate that the load does not ask for.
fn by_itself(load: &Load, goal: &Goal) -> Option<String> {
    let count = if goal.of == Of::Write { load.writes } else { load.reads };
    let kind = if goal.of == Of::Write { "writes" } else { "reads" };
    match goal.measure {
        Measure::Waf => {
            Some("so much of what the host writes reaches the flash, without any copy".to_string())
        }
        Measure::Iops => {
            let share = count as f64 / (load.reads + load.writes).max(1) as f64;
            let asked = load.rate_per_s? * share;
            (goal.limit > asked).then(|| format!("the load asks for {asked:.0} {kind}/s"))
        }
        _ => None,
    }
}

/// The limit in a sentence: what the load asks for beside what the dies can do.
fn set_by(
    question: &Question,
    of: Of,
    scenario: &Scenario,
    result: &RunResult,
    causes: &[Share],
) -> String {
    if let Some(text) = void(result) {
        return text;
    }
    if let Some(text) = write_rate(&question.load, scenario) {
        return text;
    }
    let Some(attribution) = &result.attribution else { return String::new() };
    let slowest = match of {
        Of::Write => &attribution.slowest_writes,
        _ => &attribution.slowest_reads,
    };
    let cause = causes
        .first()
        .map_or(String::new(), |cause| format!("{:.0} % of it is {}", cause.percent, cause.name));
    let burst = slowest.first().map(|slow| burst(scenario, slow)).unwrap_or_default();
    let parts: Vec<String> = [burst, cause].into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("; ")
}

/// Writes come faster than the dies can program.
pub fn write_rate(load: &Load, scenario: &Scenario) -> Option<String> {
    let rate = load.write_bytes_s?;
    let flash = Flash::of(&scenario.device, false);
    let most = flash.write_rate() * f64::from(scenario.array.members);
    (rate > most).then(|| {
        format!(
            "the load writes {:.1} MB/s, and the flash programs {:.1} MB/s at most, at a WAF of 1: \
             {} dies x {} / {}",
            rate / 1e6,
            most / 1e6,
            flash.dies,
            flash.page,
            flash.program
        )
    })
}

/// The trace touches more than any point holds.
pub fn footprint(question: &Question) -> Option<String> {
    let touched = question.load.footprint_bytes?;
    let user = question.base.array.user_bytes(question.base.capacity().user).get();
    let most = question
        .plan
        .axes()
        .iter()
        .find(|axis| axis.key == "device.op")
        .map_or(question.base.device.op, |axis| {
            axis.values.iter().filter_map(|v| v.parse::<f64>().ok()).fold(1.0, f64::min)
        });
    let raw = question.base.capacity().raw.get() as f64;
    let user = user.max((raw * (1.0 - most)) as u64);
    (touched > user).then(|| {
        format!(
            "the trace touches {}, and the drive holds {} at the least over-provisioning",
            Bytes::new(touched),
            Bytes::new(user)
        )
    })
}

/// The burst in which the slowest request came.
fn burst(scenario: &Scenario, slow: &SlowRequest) -> String {
    let took = cell::latency(slow.latency_us);
    let Some(trace) = scenario.workload.jobs.first().and_then(|job| job.trace.as_ref()) else {
        return format!("the slowest came at {:.3} s and took {took}", slow.at_s);
    };
    let (mut span, mut count, mut bytes, mut times) = (0.0f64, 0u64, 0u64, Vec::new());
    let once = manx_trace::TraceSpec { repeat: 1, ..trace.clone() };
    let scale = once.rate_scale;
    let surveyed = survey_each(&once, &mut opener(&once.file), &mut |record| {
        let at = record.at.as_s_f64() / scale;
        span = span.max(at);
        if matches!(record.op, Op::Read | Op::Write) {
            times.push((at, u64::from(record.sectors) * 512));
        }
    });
    if surveyed.is_err() {
        return format!("the slowest came at {:.3} s and took {took}", slow.at_s);
    }
    // Of a trace that is played several times, the time within a pass.
    let at = if span > 0.0 && slow.at_s > span { slow.at_s % span } else { slow.at_s };
    for (when, size) in times {
        // Instants of a result are whole nanoseconds.
        if when <= at + 1e-9 && when > at - BURST_S {
            (count, bytes) = (count + 1, bytes + size);
        }
    }
    if count <= 1 {
        return format!(
            "the slowest came at {at:.3} s, none within 10 ms before it, and took {took}"
        );
    }
    format!(
        "the burst at {at:.3} s: {count} requests of {} together come within 10 ms, and the \
         slowest of them takes {took}",
        Bytes::new(bytes)
    )
}

/// How the asker said that GC costs nothing: by a value of an axis, a policy, or a key over it.
fn costless(question: &Question) -> Option<String> {
    let (plan, is_mode) = (&question.plan, |key: &str| key == "gc.mode");
    let is_nogc = |value: &String| value.trim_matches('"') == "nogc";
    let axes = plan.axes().iter().filter(|axis| is_mode(&axis.key));
    if axes.flat_map(|axis| &axis.values).any(is_nogc) {
        return Some("--over gc.mode=nogc".to_string());
    }
    let is_costless = |policy: &&String| {
        let scenario = plan.request().under(policy);
        scenario.is_ok_and(|scenario| scenario.gc.mode == GcMode::Nogc)
    };
    let policy = plan.asked().policies.iter().find(is_costless)?;
    let set = plan.asked().overrides.iter().find(|set| is_mode(set.key()));
    Some(set.map_or_else(|| format!("--policies {policy}"), |set| set.said().to_string()))
}

/// Refuses a policy that no drive can have, and a trace that no setting can hold, unless the asker
/// said how it is folded.
pub fn refuse(question: &Question) -> Result<(), ConfigError> {
    if let Some(said) = costless(question) {
        return Err(ConfigError::new(format!(
            "{said}: its GC costs nothing, which no drive can have; advise runs such a drive \
             anyway, as the bound of what is possible"
        )));
    }
    let mut overrides = question.plan.asked().overrides.iter();
    if overrides.any(|set| set.key() == "workload.trace.remap") {
        return Ok(());
    }
    match footprint(question) {
        Some(why) => Err(ConfigError::new(format!(
            "{why}: no policy can serve it as it is; a larger drive (--set \
             device.geometry.blocks=N), or --remap modulo to fold it"
        ))),
        None => Ok(()),
    }
}
