//! The search: which setting is the cheapest that keeps the goals, with few requests.
//!
//! Three things make it short. A run is played in steps, each the beginning of the next, and ends
//! as soon as it is lost ([`super::goal::Judged::is_lost`]): that is certain. Of a *group*, the
//! settings that differ by over-provisioning and buffer alone, the one with the most of both comes
//! first: where that misses, the rest of its group is presumed to miss as well
//! ([`Standing::Presumed`]); the presumed ones nearest below the answer are played all the same.
//! And the settings that may still win are halved by their price: one that keeps the goals rules
//! out all that cost more.
//!
//! Batches have a fixed size, so that the answer does not depend on how many threads play them.

use super::cost::Cost;
use super::goal::{Judged, Measure};
use super::question::{Minimise, Question};
use super::shots::{Shot, Shots, Stop};
use manx_core::config::Scenario;
use manx_core::stats::RunResult;
use manx_core::units::Bytes;
use std::collections::BTreeMap;

/// Settings that are played together.
const BATCH: usize = 4;

/// Presumed settings nearest to the answer that are played, and how often.
const CHECKED: usize = 4;
const CHECKS_MAX: usize = 3;

/// Costlier settings that are played for the front.
const COSTLIER: usize = 4;

/// Further seeds where an interval reaches to both sides of a goal.
pub const SEEDS: u64 = 3;

/// Keys of which more is better for latencies.
const BETTER: [&str; 2] = ["device.op", "drive.buffer"];

/// State of knowledge about a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing, or that its first requests are within the goals.
    Open,
    /// It cannot be run.
    Invalid,
    /// It misses a goal.
    Missed,
    /// Not played: the setting with this number, which has more of everything, misses.
    Presumed(usize),
    /// It keeps all goals.
    Met,
}

/// A setting and what its longest run came to.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The standing.
    pub standing: Standing,
    /// The rung of its longest run.
    pub rung: Option<usize>,
    /// Its result.
    pub result: Option<RunResult>,
    /// The goals, in their order.
    pub judged: Vec<Judged>,
    /// The cost; without a run what is certain of it.
    pub cost: Cost,
    /// The quantity that is to be small; `None` where only a run can tell.
    pub price: Option<f64>,
    /// Results of further seeds beside each goal.
    pub seeds: Vec<Vec<Judged>>,
}

/// A search under way.
pub struct Search<'a, 'b> {
    question: &'a Question,
    shots: &'b mut Shots<'a>,
    tell: &'b dyn Fn(usize, usize, Option<(usize, f64)>),
    rungs: Vec<u64>,
    /// By setting.
    pub seen: Vec<Seen>,
    groups: BTreeMap<(Option<String>, Vec<usize>), Vec<usize>>,
    ranks: Vec<[f64; BETTER.len()]>,
}

impl<'a, 'b> Search<'a, 'b> {
    /// Prepares it: prices, groups, what cannot be run.
    pub fn new(
        question: &'a Question,
        shots: &'b mut Shots<'a>,
        invalid: &[usize],
        tell: &'b dyn Fn(usize, usize, Option<(usize, f64)>),
    ) -> Result<Self, Stop> {
        let plan = &question.plan;
        let (mut seen, mut ranks, mut groups) = (Vec::new(), Vec::new(), BTreeMap::new());
        for setting in 0..plan.settings() {
            let is_bad = invalid.binary_search(&setting).is_ok();
            let mut new = Seen::of(Standing::Open);
            if is_bad {
                new.standing = Standing::Invalid;
            } else {
                let (_, scenario) = plan.point(setting)?;
                new.cost = question.costs.of(&scenario, None);
                new.price = price(question, &scenario, &new.cost, None);
            }
            seen.push(new);
            ranks.push(rank(question, setting));
            if !is_bad {
                let (policy, mut places) = plan.place(setting);
                for (place, axis) in places.iter_mut().zip(plan.axes()) {
                    if BETTER.contains(&axis.key.as_str()) {
                        *place = 0;
                    }
                }
                let key = (policy.map(str::to_string), places);
                groups.entry(key).or_insert_with(Vec::new).push(setting);
            }
        }
        let rungs = shots.rungs();
        Ok(Self { question, shots, tell, rungs, seen, groups, ranks })
    }

    /// Finds the cheapest setting that keeps the goals, if there is one.
    pub fn run(&mut self) -> Result<Option<usize>, Stop> {
        let heads = self.heads();
        let last = self.rungs.len() - 1;
        self.climb(&heads, last.saturating_sub(1))?;
        if self.seen.iter().any(|seen| seen.standing == Standing::Open && seen.price.is_none()) {
            let all: Vec<usize> = self.open().collect();
            self.climb(&all, 0)?;
        }
        // One that keeps the goals rules out most; without any, nothing does.
        let mut alive: Vec<usize> =
            heads.into_iter().filter(|at| self.seen[*at].standing == Standing::Open).collect();
        alive.sort_by(|one, other| self.by_price(*one, *other));
        for batch in alive.chunks(BATCH) {
            if self.best().is_none() {
                self.climb(batch, last)?;
            }
        }
        let mut checks = 0;
        loop {
            self.halve()?;
            let Some(best) = self.best() else { return self.nothing() };
            if self.straddles(best) && self.seen[best].seeds.is_empty() {
                self.more_seeds(best)?;
                continue;
            }
            let near = self.near_below(best);
            if near.is_empty() || checks == CHECKS_MAX {
                self.costlier(best)?;
                return Ok(Some(best));
            }
            checks += 1;
            self.climb(&near, last)?;
        }
    }

    /// Nothing keeps the goals: what was presumed nearest to it is played, and the best of each
    /// group to its end, so that the answer can say by how much.
    fn nothing(&mut self) -> Result<Option<usize>, Stop> {
        let mut heads = self.heads();
        heads.sort_by(|one, other| {
            let used = |setting: usize| worst(&self.seen[setting].judged);
            used(*one).total_cmp(&used(*other)).then(one.cmp(other))
        });
        heads.truncate(COSTLIER);
        let last = self.rungs.len() - 1;
        self.play(&heads, last, true)?;
        Ok(self.best())
    }

    /// Of each group the setting with the most of what is better.
    fn heads(&self) -> Vec<usize> {
        let most = |group: &Vec<usize>| {
            let better = |one: &usize, other: &usize| {
                let (one, other) = (self.ranks[*one], self.ranks[*other]);
                one.iter().zip(&other).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne())
            };
            let by = |a: &&usize, b: &&usize| better(a, b).unwrap_or(std::cmp::Ordering::Equal);
            group.iter().max_by(by).copied()
        };
        self.groups.values().filter_map(most).collect()
    }

    fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.seen.len()).filter(|setting| self.seen[*setting].standing == Standing::Open)
    }

    /// The cheapest that keeps the goals.
    pub fn best(&self) -> Option<usize> {
        let met = (0..self.seen.len()).filter(|at| self.seen[*at].standing == Standing::Met);
        met.min_by(|one, other| self.by_price(*one, *other))
    }

    fn by_price(&self, one: usize, other: usize) -> std::cmp::Ordering {
        let price = |setting: usize| self.seen[setting].price.unwrap_or(0.0);
        price(one)
            .total_cmp(&price(other))
            .then(self.seen[one].cost.total.total_cmp(&self.seen[other].cost.total))
            .then(one.cmp(&other))
    }

    fn is_cheaper(&self, setting: usize, best: Option<usize>) -> bool {
        best.is_none_or(|best| self.by_price(setting, best).is_lt())
    }

    /// Plays settings that may be cheaper than the best until there are none.
    fn halve(&mut self) -> Result<(), Stop> {
        let last = self.rungs.len() - 1;
        loop {
            let best = self.best();
            let mut open: Vec<usize> =
                self.open().filter(|setting| self.is_cheaper(*setting, best)).collect();
            if open.is_empty() {
                return Ok(());
            }
            open.sort_by(|one, other| self.by_price(*one, *other));
            let of = |eighths: usize| open[(open.len() * eighths / 8).min(open.len() - 1)];
            let mut batch: Vec<usize> = match open.len() <= BATCH {
                true => open.clone(),
                false => [1, 3, 5, 7].map(of).to_vec(),
            };
            batch.dedup();
            self.climb(&batch, last)?;
        }
    }

    /// Plays settings in longer and longer runs, up to a rung, while they are not lost.
    fn climb(&mut self, settings: &[usize], top: usize) -> Result<(), Stop> {
        for rung in 0..=top {
            self.play(settings, rung, false)?;
        }
        Ok(())
    }

    /// Plays one rung; `all` also those that are lost.
    fn play(&mut self, settings: &[usize], rung: usize, all: bool) -> Result<(), Stop> {
        let wanted = |seen: &Seen| {
            let is_new = seen.rung.is_none_or(|before| before < rung);
            let may_win = matches!(seen.standing, Standing::Open | Standing::Presumed(_));
            is_new && (may_win || (all && seen.standing == Standing::Missed))
        };
        let settings: Vec<usize> =
            settings.iter().copied().filter(|at| wanted(&self.seen[*at])).collect();
        for batch in settings.chunks(BATCH) {
            // One that was presumed while the batch before was played need not be.
            let shot = |setting: &usize| Shot {
                setting: *setting,
                length: self.rungs[rung],
                seed: 0,
                split: false,
            };
            let shots: Vec<Shot> = batch.iter().map(shot).collect();
            let results = self.shots.play(&shots)?;
            for (setting, result) in batch.iter().zip(results) {
                self.learn(*setting, rung, result)?;
            }
            let decided = self.seen.iter().filter(|seen| seen.standing != Standing::Open).count();
            let best = self.best().map(|best| (best, self.seen[best].price.unwrap_or(0.0)));
            (self.tell)(decided, self.seen.len(), best);
        }
        Ok(())
    }

    fn learn(&mut self, setting: usize, rung: usize, result: RunResult) -> Result<(), Stop> {
        let question = self.question;
        let is_whole = rung + 1 == self.rungs.len();
        let (_, scenario) = question.plan.point(setting)?;
        let whole = |of| match of {
            super::goal::Of::Write => question.load.writes,
            _ => question.load.reads,
        };
        let judge =
            |goal: &super::goal::Goal| goal.judge(&result, (!is_whole).then(|| whole(goal.of)));
        let judged: Vec<Judged> = question.goals.iter().map(judge).collect();
        let seen = &mut self.seen[setting];
        seen.cost = question.costs.of(&scenario, Some(&result));
        seen.price = price(question, &scenario, &seen.cost, Some(&result));
        seen.standing = match is_whole {
            true if judged.iter().all(|judged| judged.meets) => Standing::Met,
            true => Standing::Missed,
            false if judged.iter().any(|judged| judged.is_lost) => Standing::Missed,
            false => seen.standing,
        };
        (seen.judged, seen.rung, seen.result) = (judged, Some(rung), Some(result));
        let misses = seen.standing == Standing::Missed;
        if misses && self.question.goals.iter().all(|goal| goal.measure != Measure::Waf) {
            self.presume(setting);
        }
        Ok(())
    }

    /// Less over-provisioning and less buffer do not mend what misses.
    fn presume(&mut self, missed: usize) {
        let Some(group) = self.groups.values().find(|group| group.contains(&missed)) else {
            return;
        };
        let ranks = self.ranks[missed];
        for setting in group {
            let below = self.ranks[*setting].iter().zip(&ranks).all(|(a, b)| a <= b);
            if below && self.seen[*setting].standing == Standing::Open {
                self.seen[*setting].standing = Standing::Presumed(missed);
            }
        }
    }

    fn straddles(&self, setting: usize) -> bool {
        let seen = &self.seen[setting];
        seen.judged.iter().zip(&self.question.goals).any(|(judged, goal)| judged.straddles(goal))
    }

    /// Plays further seeds of a setting that may or may not keep a goal; their mean decides.
    fn more_seeds(&mut self, setting: usize) -> Result<(), Stop> {
        let length = self.rungs[self.rungs.len() - 1];
        let shots: Vec<Shot> =
            (1..=SEEDS).map(|seed| Shot { setting, length, seed, split: false }).collect();
        let results = self.shots.play(&shots)?;
        let goals = &self.question.goals;
        let judge =
            |result: &RunResult| goals.iter().map(|goal| goal.judge(result, None)).collect();
        self.seen[setting].seeds = results.iter().map(judge).collect();
        let seen = &self.seen[setting];
        let mean = |goal: usize| {
            let all = seen.seeds.iter().map(|seed| seed[goal].used);
            (all.sum::<f64>() + seen.judged[goal].used) / (SEEDS + 1) as f64
        };
        if (0..goals.len()).any(|goal| mean(goal) > 1.0) {
            self.seen[setting].standing = Standing::Missed;
        }
        Ok(())
    }

    /// Settings that were presumed to miss, cheaper than the best, nearest first.
    fn near_below(&self, best: usize) -> Vec<usize> {
        let is_presumed = |at: &usize| matches!(self.seen[*at].standing, Standing::Presumed(_));
        let mut near: Vec<usize> = (0..self.seen.len())
            .filter(is_presumed)
            .filter(|setting| self.is_cheaper(*setting, Some(best)))
            .collect();
        near.sort_by(|one, other| self.by_price(*other, *one));
        near.truncate(CHECKED);
        near
    }

    /// Runs the settings that more money buys: the heads of the groups that are not far off, the
    /// cheapest first.
    fn costlier(&mut self, best: usize) -> Result<(), Stop> {
        let mut heads: Vec<usize> = self
            .heads()
            .into_iter()
            .filter(|at| self.seen[*at].standing == Standing::Open && *at != best)
            .collect();
        heads.sort_by(|one, other| self.by_price(*one, *other));
        heads.truncate(COSTLIER);
        self.climb(&heads, self.rungs.len() - 1)
    }

    /// Requests of the rung.
    pub fn length(&self, rung: usize) -> u64 {
        self.rungs[rung]
    }

    /// True of the rung of whole runs.
    pub fn is_whole(&self, rung: usize) -> bool {
        rung + 1 == self.rungs.len()
    }

    /// Further runs.
    pub fn shots(&mut self) -> &mut Shots<'a> {
        self.shots
    }
}

impl Seen {
    fn of(standing: Standing) -> Self {
        Self {
            standing,
            rung: None,
            result: None,
            judged: Vec::new(),
            cost: Cost::default(),
            price: None,
            seeds: Vec::new(),
        }
    }
}

/// The goal that is farthest off: how much of what it allows is used up.
pub fn worst(judged: &[Judged]) -> f64 {
    judged.iter().map(|judged| judged.used).fold(0.0, f64::max)
}

/// The quantity that is to be small.
fn price(
    question: &Question,
    scenario: &Scenario,
    cost: &Cost,
    result: Option<&RunResult>,
) -> Option<f64> {
    match question.minimise {
        Minimise::Cost => Some(cost.total),
        Minimise::Op => {
            let capacity = scenario.capacity();
            let (raw, user) = (capacity.raw.get() as f64, capacity.user.get() as f64);
            Some(100.0 * (raw - user) / user.max(1.0))
        }
        Minimise::Drives => Some(f64::from(scenario.array.members)),
        Minimise::Waf => result.map(|result| result.flash.waf.unwrap_or(0.0)),
        Minimise::Power => result.map(|_| cost.watts),
    }
}

/// How much a setting has of each key of [`BETTER`].
fn rank(question: &Question, setting: usize) -> [f64; BETTER.len()] {
    let (_, places) = question.plan.place(setting);
    BETTER.map(|key| {
        let mut axes = question.plan.axes().iter().zip(&places);
        let found = axes.find(|(axis, _)| axis.key == key);
        found.map(|(axis, at)| &axis.values[*at]).map_or(0.0, |text| {
            let bytes = text.parse::<Bytes>().map(|size| size.get() as f64);
            text.parse::<f64>().or(bytes.map_err(|_| ())).unwrap_or(0.0)
        })
    })
}
