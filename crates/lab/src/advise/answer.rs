//! The answer: one recommendation with its margin, the front, what the next steps cost, what broke
//! the others, and the command that plays each line.

use super::bounds::{self, Bound};
use super::causes::{self, Share};
use super::cost::Cost;
use super::goal::{Goal, Judged, unread, void};
use super::impossible::{Impossible, is_possible};
use super::prices::Pace;
use super::question::{Load, Minimise, Question, shell};
use super::remarks::{on_speed, remarks};
use super::search::{Search, is_small};
use super::seen::{Seen, Standing, worst};
use super::shots::{Shots, Stop};
use serde::Serialize;

/// Failed settings that are told, one of each policy.
const BROKEN_MAX: usize = 8;

/// Lines of the front at most.
const FRONT_MAX: usize = 12;

/// A key and its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The key of the scenario.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// A number of the cost model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CostKey {
    /// The key of `--cost`.
    pub key: String,
    /// Its unit.
    pub unit: String,
    /// Its value.
    pub value: f64,
    /// Where it is from.
    pub source: String,
}

/// A setting that was played to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Line {
    /// The policy.
    pub policy: String,
    /// Its keys.
    pub settings: Vec<Setting>,
    /// The quantity that is to be small; null of a WAF where nothing was written to flash.
    pub price: f64,
    /// The cost for a usable TB.
    pub cost: Cost,
    /// Over-provisioning (percent of user).
    pub op_percent: Option<f64>,
    /// Write amplification.
    pub waf: Option<f64>,
    /// The goals, in their order.
    pub judged: Vec<Judged>,
    /// Margin to each goal (percent of the limit).
    pub margin_percent: Vec<Option<f64>>,
    /// It keeps all goals.
    pub meets: bool,
    /// Reads that ended with an error, as their page could not be read: a percentile counts them as
    /// slower than any limit (requests).
    pub unread: u64,
    /// How much of the goal that is nearest is used up (ratio); null where a WAF is unmeasured.
    pub used: f64,
    /// Why it does not keep the goals where its latencies do not say so; empty where they do.
    pub why: String,
    /// Results of further seeds, where an interval reached to both sides of a goal.
    pub seeds: Vec<Vec<Judged>>,
    /// The command that plays it.
    pub command: String,
}

/// A policy's best try that failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Broken {
    /// The setting.
    pub line: Line,
    /// The goal that it misses by most.
    pub goal: String,
    /// Requests that were played of it.
    pub requests: u64,
    /// Where the time of its slow requests went, the largest share first.
    pub causes: Vec<Share>,
}

/// Work that the answer took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Effort {
    /// Settings of the question that can be run.
    pub settings: usize,
    /// Settings that were played, at least in part.
    pub played: usize,
    /// Settings that keep the goals. This part and those below, up to `undecided`, make up all
    /// settings.
    pub kept: usize,
    /// Settings that miss a goal by their whole run.
    pub missed: usize,
    /// Settings whose runs were given up because a goal was lost, for certain.
    pub lost: usize,
    /// Settings whose runs were given up because the whole would miss a goal, next to certainly.
    pub predicted: usize,
    /// Settings that were presumed to miss and not played.
    pub presumed: usize,
    /// Settings that keep the other goals and have no WAF, on which there is a goal, as nothing was
    /// written to their flash.
    pub unmeasured: usize,
    /// Settings that were not decided, as they are guessed to be dearer than the recommendation,
    /// or as no setting can keep the goals.
    pub passed_over: usize,
    /// Settings that may be cheaper than the recommendation and were not decided.
    pub undecided: usize,
    /// Prices were found to be off their guess by up to so much: what is guessed to be dearer by
    /// less may be cheaper (percent).
    pub guesses_off_percent: f64,
    /// Runs.
    pub runs: usize,
    /// Requests of all runs, bounds and causes included.
    pub requests: u64,
    /// Requests of an exhaustive grid.
    pub grid_requests: u64,
    /// The share of it (percent).
    pub percent_of_grid: f64,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Answer {
    /// The load.
    pub load: Load,
    /// The drive.
    pub drive: String,
    /// The goals as they were said.
    pub goals: Vec<Goal>,
    /// The price to keep small.
    pub minimise: Minimise,
    /// Why nothing can keep the goals; absent where something does.
    pub impossible: Option<String>,
    /// Every setting was played to its end, so none of the question is better with this seed.
    pub exact: bool,
    /// Drives that nobody can buy; none where few settings were all played and one keeps the goals.
    pub bounds: Vec<Bound>,
    /// The cheapest setting that keeps the goals.
    pub recommendation: Option<Line>,
    /// Settings of which none is beaten in price and in every goal, the cheapest first.
    pub front: Vec<Line>,
    /// Every setting, of an exhaustive answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grid: Vec<Line>,
    /// The best try of each policy that failed.
    pub broken: Vec<Broken>,
    /// The cost model.
    pub costs: Vec<CostKey>,
    /// The years of service for which money is told.
    pub years: f64,
    /// The policies of the search.
    pub policies: Vec<String>,
    /// The axes of the search: key, and values with commas between them.
    pub axes: Vec<Setting>,
    /// Work that it took.
    pub effort: Effort,
    /// Remarks.
    pub remarks: Vec<String>,
}

/// Progress: settings decided, of so many, and the best so far with its price.
pub type Tell<'a> = &'a dyn Fn(usize, usize, Option<(usize, f64)>);

/// Answers the question.
pub fn answer<'a>(
    question: &'a Question,
    mut shots: Shots<'a>,
    invalid: &[(usize, String)],
    tell: Tell<'_>,
) -> Result<Answer, Stop> {
    let bad: Vec<usize> = invalid.iter().map(|(setting, _)| *setting).collect();
    let Found { seen, bounds, best, undecided, doubt, exact, pace } =
        find(question, &mut shots, &bad, tell)?;
    let broken = broken(question, &seen);
    let line = |at: usize| line(question, at, &seen[at]);
    let whole = |at: &usize| seen[*at].is_whole();
    let lines: Vec<Line> = (0..seen.len()).filter(whole).map(line).collect();
    let effort = effort(question, &seen, &shots, (undecided, doubt));
    let mut remarks = remarks(question, &shots, invalid, &seen, best);
    remarks.extend(on_speed(question, pace, exact));
    let (unplayed, unmeasured) = (effort.predicted + effort.presumed, effort.unmeasured);
    let impossible = best.is_none().then(|| Impossible {
        question,
        bounds: &bounds,
        undecided,
        unplayed,
        unmeasured,
        exact,
    });
    let axes = question.plan.axes().iter();
    let axes = axes.map(|axis| Setting { key: axis.key.clone(), value: axis.values.join(",") });
    let costs = question.costs.keys().map(|(key, unit, value)| CostKey {
        key: key.to_string(),
        unit: unit.to_string(),
        value,
        source: question.costs.source(key).to_string(),
    });
    Ok(Answer {
        load: question.load.clone(),
        drive: drive(question),
        goals: question.goals.clone(),
        minimise: question.minimise,
        impossible: impossible.map(|why| why.in_words()),
        exact,
        recommendation: best.map(line),
        grid: if question.exhaustive { lines.clone() } else { Vec::new() },
        front: front(lines),
        broken,
        bounds,
        costs: costs.to_vec(),
        years: question.costs.years(),
        policies: question.plan.asked().policies.clone(),
        axes: axes.collect(),
        effort,
        remarks,
    })
}

/// Knowledge that the answer is made of.
struct Found {
    seen: Vec<Seen>,
    bounds: Vec<Bound>,
    best: Option<usize>,
    undecided: usize,
    doubt: f64,
    exact: bool,
    pace: Option<Pace>,
}

/// Plays what the answer needs: of few settings all, and bounds only where none keeps the goals.
fn find<'a>(
    question: &'a Question,
    shots: &mut Shots<'a>,
    bad: &[usize],
    tell: Tell<'_>,
) -> Result<Found, Stop> {
    let few = !question.exhaustive && is_small(question, bad);
    let (mut bounds, mut first) = (Vec::new(), None);
    if !few {
        (bounds, first) = bounds::bounds(question, shots, None)?;
    }
    let exact = few || question.exhaustive;
    let possible = is_possible(question, &bounds);
    let is_priced_by_speed = question.is_priced_by_speed();
    if is_priced_by_speed && first.is_none() {
        first = bounds::first(question, shots)?;
    }
    let of_first = first.as_ref().filter(|_| is_priced_by_speed);
    let pace = of_first.and_then(|(run, _)| Pace::of(&run.result));
    let mut search = Search::new(question, shots, bad, pace, tell)?;
    let best = match possible {
        _ if exact => search.play_all()?,
        true => search.run(first.take())?,
        false => search.glance()?,
    };
    let searched = possible && !exact;
    let undecided = if searched { search.undecided() } else { 0 };
    let doubt = if searched { search.doubt() } else { 0.0 };
    let seen = std::mem::take(&mut search.seen);
    if few && best.is_none() {
        (bounds, _) = bounds::bounds(question, shots, first)?;
    }
    Ok(Found { seen, bounds, best, undecided, doubt, exact, pace })
}

/// Work that the answer took.
fn effort(
    question: &Question,
    seen: &[Seen],
    shots: &Shots<'_>,
    (undecided, doubt): (usize, f64),
) -> Effort {
    let count = |is: fn(&Seen) -> bool| seen.iter().filter(|seen| is(seen)).count();
    let open = count(|seen| seen.standing == Standing::Open);
    let settings = count(|seen| seen.standing != Standing::Invalid);
    let grid = settings as u64 * question.load.requests;
    Effort {
        settings,
        played: count(|seen| seen.played.is_some()),
        kept: count(|seen| seen.standing == Standing::Met),
        missed: count(|seen| seen.standing == Standing::Missed && seen.is_whole()),
        lost: count(|seen| seen.standing == Standing::Missed && !seen.is_whole()),
        predicted: count(|seen| seen.standing == Standing::Predicted),
        presumed: count(|seen| matches!(seen.standing, Standing::Presumed(_))),
        unmeasured: count(|seen| seen.standing == Standing::Unmeasured),
        passed_over: open - undecided,
        undecided,
        guesses_off_percent: (1000.0 * doubt).round() / 10.0,
        runs: shots.runs,
        requests: shots.requests,
        grid_requests: grid,
        percent_of_grid: 100.0 * shots.requests as f64 / grid.max(1) as f64,
    }
}

fn drive(question: &Question) -> String {
    let (device, array) = (&question.base.device, &question.base.array);
    let of = if array.is_on() { format!("{} x ", array.members) } else { String::new() };
    format!("{of}{}: {} dies, {}", device.name, bounds::dies(question), question.base.capacity())
}

/// The line of a setting.
fn line(question: &Question, at: usize, seen: &Seen) -> Line {
    let plan = &question.plan;
    let (policy, places) = plan.place(at);
    let settings: Vec<Setting> = plan
        .axes()
        .iter()
        .zip(places)
        .map(|(axis, place)| Setting { key: axis.key.clone(), value: axis.values[place].clone() })
        .collect();
    let margin = |(goal, judged): (&Goal, &Judged)| {
        let value = judged.value?;
        let left = 100.0 * (goal.limit - value) / goal.limit;
        Some(if goal.is_latency() || left > 0.0 { left } else { -left })
    };
    let result = seen.result();
    Line {
        policy: policy.unwrap_or("as-written").to_string(),
        command: command(question, policy, &settings),
        settings,
        price: seen.price,
        cost: seen.cost,
        op_percent: result.and_then(|result| result.capacity.op_percent),
        waf: result.and_then(|result| result.flash.waf),
        margin_percent: question.goals.iter().zip(&seen.judged).map(margin).collect(),
        judged: seen.judged.clone(),
        meets: seen.standing == Standing::Met,
        unread: result.map_or(0, unread),
        used: seen.judged.iter().map(|judged| judged.used).fold(0.0, f64::max),
        why: why(seen),
        seeds: seen.seeds.clone(),
    }
}

/// Why a setting does not count whose latencies keep the goals, or say nothing.
fn why(seen: &Seen) -> String {
    let Some(result) = seen.result() else { return String::new() };
    if let Some(why) = void(result).filter(|_| seen.is_whole()) {
        return why;
    }
    let keeps = seen.is_whole() && seen.judged.iter().all(|judged| judged.meets);
    match seen.standing {
        Standing::Unmeasured => {
            "nothing was written to flash, so it has no WAF; more requests (workload.requests, \
             --loop) have one"
                .to_string()
        }
        Standing::Missed if keeps && seen.seeds.is_empty() => {
            "as near to the goal as a setting that further seeds decided against".to_string()
        }
        Standing::Missed if keeps => {
            "further seeds miss the goal, and the mean of all decides".to_string()
        }
        _ => String::new(),
    }
}

fn command(question: &Question, policy: Option<&str>, settings: &[Setting]) -> String {
    let mut words = question.command.clone();
    if let Some(policy) = policy {
        words.extend(["--policy".to_string(), shell(policy)]);
    }
    for Setting { key, value } in settings {
        words.extend(["--set".to_string(), shell(&format!("{key}={value}"))]);
    }
    words.join(" ")
}

/// Lines of which no other is as good in all and better in one.
fn front(mut lines: Vec<Line>) -> Vec<Line> {
    let beats = |one: &Line, other: &Line| {
        let pairs = one.judged.iter().zip(&other.judged).map(|(a, b)| (a.used, b.used));
        let pairs: Vec<(f64, f64)> = pairs.chain([(one.price, other.price)]).collect();
        pairs.iter().all(|(a, b)| a <= b) && pairs.iter().any(|(a, b)| a < b)
    };
    let kept: Vec<bool> =
        lines.iter().map(|line| !lines.iter().any(|other| beats(other, line))).collect();
    let mut kept = kept.into_iter();
    lines.retain(|_| kept.next().unwrap_or(false));
    lines.sort_by(|one, other| one.price.total_cmp(&other.price));
    lines.truncate(FRONT_MAX);
    lines
}

/// The best try of each policy that failed, and what broke it.
fn broken(question: &Question, seen: &[Seen]) -> Vec<Broken> {
    let plan = &question.plan;
    let mut tries: Vec<usize> = Vec::new();
    for policy in &plan.asked().policies {
        let of = |at: &usize| plan.place(*at).0 == Some(policy.as_str());
        let all: Vec<usize> = (0..seen.len()).filter(of).collect();
        let played = |at: &usize| seen[*at].result().map_or(0, |result| result.requests);
        let missed = all.iter().copied().filter(|at| {
            let standing = seen[*at].standing;
            let is_lost = matches!(standing, Standing::Missed | Standing::Predicted);
            is_lost && seen[*at].played.is_some()
        });
        let near = missed.min_by(|one, other| {
            let used = worst(&seen[*one].judged).total_cmp(&worst(&seen[*other].judged));
            used.then(played(other).cmp(&played(one)))
        });
        if !all.iter().any(|at| seen[*at].standing == Standing::Met) {
            tries.extend(near);
        }
    }
    tries.truncate(BROKEN_MAX);
    let told = |at: usize| {
        let seen = &seen[at];
        let (result, judged) = (seen.result()?, &seen.judged);
        let measured = (0..question.goals.len()).filter(|goal| !judged[*goal].unmeasured);
        let missed =
            measured.max_by(|one, other| judged[*one].used.total_cmp(&judged[*other].used));
        let goal = &question.goals[missed?];
        Some(Broken {
            line: Line { used: worst(judged), ..line(question, at, seen) },
            goal: goal.text.clone(),
            requests: result.requests,
            causes: causes::of(goal, result),
        })
    };
    tries.into_iter().filter_map(told).collect()
}
