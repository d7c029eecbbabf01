//! The answer: one recommendation with its margin, the front, what the next steps cost, what broke
//! the others, and the command that plays each line.

use super::bounds::{self, Bound};
use super::causes::{self, Share};
use super::cost::Cost;
use super::goal::{Goal, Judged, refusal, unread};
use super::prices::Pace;
use super::question::{Load, Minimise, Question, shell};
use super::search::{Search, is_small};
use super::seen::{Seen, Standing, worst};
use super::shots::{Shots, Stop};
use manx_core::stats::RunResult;
use serde::Serialize;

/// Failed settings that are told, one of each policy.
const BROKEN_MAX: usize = 8;

/// A run that reclaims less for what it programs has not met its GC (ratio).
const RECLAIMED_MIN: f64 = 0.5;

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
    /// The quantity that is to be small.
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
    /// How much of the goal that is nearest is used up (ratio).
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
    /// Settings whose runs were given up because a goal was lost, for certain.
    pub lost: usize,
    /// Settings whose runs were given up because the whole would miss a goal, next to certainly.
    pub predicted: usize,
    /// Settings that were presumed to miss and not played.
    pub presumed: usize,
    /// Settings that may be cheaper than the recommendation and were not decided.
    pub undecided: usize,
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
    let Found { seen, bounds, best, undecided, exact, pace } =
        find(question, &mut shots, &bad, tell)?;
    let broken = broken(question, &seen);
    let line = |at: usize| line(question, at, &seen[at]);
    let whole = |at: &usize| seen[*at].is_whole();
    let lines: Vec<Line> = (0..seen.len()).filter(whole).map(line).collect();
    let effort = effort(question, &seen, &shots, undecided);
    let mut remarks = remarks(question, &shots, invalid, &seen, best);
    remarks.extend(on_speed(question, pace));
    let impossible =
        best.is_none().then(|| Impossible { question, bounds: &bounds, undecided, exact });
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
        (bounds, first) = bounds::bounds(question, shots)?;
    }
    let exact = few || question.exhaustive;
    let possible = is_possible(question, &bounds);
    let pace = match (question.is_priced_by_speed(), &first) {
        (false, _) => None,
        (true, None) => bounds::first(question, shots)?.map(|(run, _)| Pace::of(&run.result)),
        (true, Some((run, _))) => Some(Pace::of(&run.result)),
    };
    let mut search = Search::new(question, shots, bad, pace, tell)?;
    let best = match possible {
        _ if exact => search.play_all()?,
        true => search.run(first)?,
        false => search.glance()?,
    };
    let undecided = if possible && !exact { search.undecided() } else { 0 };
    let seen = std::mem::take(&mut search.seen);
    if few && best.is_none() {
        (bounds, _) = bounds::bounds(question, shots)?;
    }
    Ok(Found { seen, bounds, best, undecided, exact, pace })
}

/// As far as bounds can tell: a scenario that `nogc` does not go with has none.
fn is_possible(question: &Question, bounds: &[Bound]) -> bool {
    bounds.iter().all(|bound| !bound.holds)
        || missed_by_all(question, bounds).is_empty()
        || !bounds::unbounded(question).is_empty()
}

/// Goals that no bound keeps, each with the bound that comes nearest. A drive that suspends programs
/// is a bound of reads, and one that does not of writes: no one drive need keep all goals.
fn missed_by_all<'a>(question: &Question, bounds: &'a [Bound]) -> Vec<(usize, &'a Bound)> {
    let holding = || bounds.iter().filter(|bound| bound.holds);
    let missed = question.goals.iter().enumerate().filter(|(at, goal)| {
        !holding().any(|bound| bound.judged[*at].meets || bound.judged[*at].straddles(goal))
    });
    let nearest = |at: usize| {
        let used = |bound: &Bound| bound.judged[at].used;
        holding().min_by(|one, other| used(one).total_cmp(&used(other)))
    };
    missed.filter_map(|(at, _)| Some((at, nearest(at)?))).collect()
}

/// A run that lives on free space says little of what GC will cost.
fn lacks_collections(result: &RunResult) -> Option<String> {
    let halves = result.state.reclaimed_per_written?;
    let (waf, reclaimed) = (result.flash.waf?, (halves[0] + halves[1]) / 2.0);
    (reclaimed < RECLAIMED_MIN * waf).then(|| {
        format!(
            "the recommended drive reclaimed {reclaimed:.2} bytes for each byte that was written, \
             and programmed {waf:.2}: it lived on free space, so its WAF, wear, price and tail lack \
             collections that come later; more requests (workload.requests, --loop) have them"
        )
    })
}

/// Remark on a load that asks a faster drive for more.
fn on_speed(question: &Question, pace: Option<Pace>) -> Option<String> {
    let asked = "the load is a closed loop, so a faster drive is asked for more";
    question.is_priced_by_speed().then(|| match pace {
        Some(pace) => format!(
            "{asked}: the prices are those of {:.0} requests/s for every setting, what a drive \
             whose GC costs nothing does. Guesses of prices are poor there, so a cheaper setting \
             may have been passed by (docs/advise.md); --exhaustive runs all",
            pace.rate_per_s()
        ),
        None => format!(
            "{asked}, wears out and is paid for sooner: nogc does not go with this scenario, and \
             without it there is no rate that all settings could be priced by; a cheaper setting \
             may have been passed by"
        ),
    })
}

/// Remarks on the question, the runs, and on what a reader of the recommendation must know.
fn remarks(
    question: &Question,
    shots: &Shots<'_>,
    invalid: &[(usize, String)],
    seen: &[Seen],
    best: Option<usize>,
) -> Vec<String> {
    let mut remarks = question.remarks.clone();
    remarks.extend(shots.remark());
    remarks.extend(left_out(question, invalid));
    let Some(result) = best.and_then(|best| seen[best].result()) else { return remarks };
    let unread = unread(result);
    if unread > 0 {
        remarks.push(format!(
            "{unread} reads of the recommended drive ended with an error, as their page could not \
             be read: a percentile of reads counts them as slower than any limit"
        ));
    }
    remarks.extend(lacks_collections(result));
    remarks.extend(result.warnings.iter().map(|text| format!("the recommended drive: {text}")));
    remarks
}

/// Work that the answer took.
fn effort(question: &Question, seen: &[Seen], shots: &Shots<'_>, undecided: usize) -> Effort {
    let count = |is: fn(&Seen) -> bool| seen.iter().filter(|seen| is(seen)).count();
    let settings = count(|seen| seen.standing != Standing::Invalid);
    let grid = settings as u64 * question.load.requests;
    Effort {
        settings,
        played: count(|seen| seen.played.is_some()),
        lost: count(|seen| seen.standing == Standing::Missed && !seen.is_whole()),
        predicted: count(|seen| seen.standing == Standing::Predicted),
        presumed: count(|seen| matches!(seen.standing, Standing::Presumed(_))),
        undecided,
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

/// Why nothing keeps the goals.
struct Impossible<'a> {
    question: &'a Question,
    bounds: &'a [Bound],
    undecided: usize,
    exact: bool,
}

impl Impossible<'_> {
    fn in_words(&self) -> String {
        let Self { question, bounds, undecided, exact } = *self;
        let all = if exact { ": every one was run to its end" } else { "" };
        if bounds.is_empty() {
            return format!(
                "no setting of this question keeps the goals{all}; no bound is known, as nogc does \
                 not go with this scenario, so other settings may"
            );
        }
        if undecided > 0 {
            return format!(
                "nothing that was tried keeps the goals, and {undecided} settings are undecided: \
                 --exhaustive runs them all"
            );
        }
        if let Some(bound) = bounds.iter().find(|bound| !bound.refusal.is_empty()) {
            return format!(
                "no setting of this question keeps the goals{all}; with GC at no cost too the drive \
                 {}: it runs out of spare blocks (faults), which is no matter of latencies",
                bound.refusal
            );
        }
        let missed = missed_by_all(question, bounds);
        let Some((_, best)) = missed.first() else {
            let each = if question.goals.len() > 1 { " keep each of them" } else { "" };
            return format!(
                "no setting of this question keeps the goals{all}, though a drive whose GC costs \
                 nothing would{each}: other policies, more over-provisioning or other marks may \
                 (--over, --policies)"
            );
        };
        let unbounded = bounds::unbounded(question);
        let set_by = match best.set_by.as_str() {
            "" => String::new(),
            text => format!(": {text}"),
        };
        let more = match bounds.iter().find(|bound| bound.meets) {
            Some(bound) => format!(". What would keep them: GC at no cost, {}", bound.name),
            None => String::new(),
        };
        let missed = self.missed(&missed);
        if !unbounded.is_empty() {
            return format!(
                "no setting of this question keeps the goals{all}; with GC at no cost {missed}\
                 {set_by}, which is no bound of {}{more}",
                unbounded.join(", ")
            );
        }
        let dies = bounds::dies(question);
        format!(
            "no policy can keep the goals on {dies} dies: with GC at no cost {missed}{set_by}{more}"
        )
    }

    /// "read.p99 < 1ms is 2.56ms".
    fn missed(&self, missed: &[(usize, &Bound)]) -> String {
        let told = missed.iter().map(|(at, bound)| {
            let (goal, judged) = (&self.question.goals[*at], &bound.judged[*at]);
            let value = judged.value.map_or("not reported".to_string(), |value| goal.show(value));
            format!("{} is {value}", goal.text)
        });
        told.collect::<Vec<_>>().join(", ")
    }
}

/// How many points cannot be run, and why the first of them.
fn left_out(question: &Question, invalid: &[(usize, String)]) -> Option<String> {
    let (first, why) = invalid.first()?;
    Some(format!(
        "{} of {} settings cannot be run and are left out; the first, {}: {why}",
        invalid.len(),
        question.plan.settings(),
        question.plan.describe(*first)
    ))
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
        used: worst(&seen.judged),
        why: why(seen),
        seeds: seen.seeds.clone(),
    }
}

/// Why a setting does not count whose latencies keep the goals, or say nothing.
fn why(seen: &Seen) -> String {
    let Some(result) = seen.result() else { return String::new() };
    if let Some(refusal) = refusal(result) {
        return refusal;
    }
    if seen.is_whole() && result.requests == 0 {
        return "every request belongs to the warm-up: nothing was measured".to_string();
    }
    let keeps = seen.is_whole() && seen.judged.iter().all(|judged| judged.meets);
    match seen.standing {
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
            matches!(standing, Standing::Missed | Standing::Predicted) && played(at) > 0
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
        let missed = (0..question.goals.len())
            .max_by(|one, other| judged[*one].used.total_cmp(&judged[*other].used));
        let goal = &question.goals[missed?];
        Some(Broken {
            line: line(question, at, seen),
            goal: goal.text.clone(),
            requests: result.requests,
            causes: causes::of(goal, result),
        })
    };
    tries.into_iter().filter_map(told).collect()
}
