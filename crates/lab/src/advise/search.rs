//! The search: which setting is the cheapest that keeps the goals, with few requests.
//!
//! Few requests do, for three reasons.
//!
//! - The beginning of a run tells what a setting writes beside a drive whose GC costs nothing, so
//!   its price is known, but for a little, before the rest is played; and it tells how far from the
//!   goals it may be. The cheapest that looks well comes first, and after each that misses one
//!   twice as far up. One that keeps the goals rules out all that cost more.
//! - A run ends as soon as a goal is lost ([`crate::run::Limits`]): for certain, or by prediction
//!   beside the bound. Once one keeps the goals, a cheaper one must keep them beyond the interval
//!   of a percentile, else it is given up too ([`Standing::Predicted`]).
//! - Of a *family*, the settings that differ by over-provisioning and buffer alone, one that misses
//!   says that those with less of both miss too ([`Standing::Presumed`]). So of each family one
//!   setting is played that has most of both and is still cheaper than the best. The presumed ones
//!   nearest below the answer, and its neighbours, are played all the same.
//!
//! The rest of the budget goes to those that are guessed to cost little more than the answer: a
//! guess may be wrong by that much. So does what more money buys, and where that turns out to be
//! cheaper, it is the answer.
//!
//! It ends before 5 % of the grid is passed, and says how many cheaper settings are undecided.
//! Batches have a fixed size, so that the answer does not depend on how many threads play them.

mod doubt;
mod order;
mod price;
mod twins;

use super::families::Families;
use super::goal::{Judged, Measure};
use super::prices::{Pace, cost_of, price};
use super::question::Question;
use super::seen::{Seen, Standing, worst};
use super::shots::{Played, Shot, Shots, Stop, Until};
use crate::campaign::Point;
use crate::run::Ended;
use manx_core::stats::RunResult;
use std::collections::BTreeMap;

/// Settings that are played together.
const BATCH: usize = 4;

/// Presumed settings nearest to the answer that are played, and how often.
const CHECKED: [usize; 2] = [3, 3];

/// Further seeds where an interval reaches to both sides of a goal, as far as the budget has room
/// for them, and of how many settings.
const SEEDS: u64 = 2;
const SEEDED_MAX: usize = 2;

/// Prices that the beginnings of runs tell differ where they differ by this (ratio).
const SAME: f64 = 0.01;

/// Settings are played where they are guessed to cost so much more than the answer at most (ratio):
/// guesses of two policies are a few percent apart from what they come to.
const GUESSED: f64 = 0.1;

/// A beginning that uses up so much of a goal looks worse than one that uses up less (ratio).
const DOUBTFUL: [f64; 2] = [1.0, 3.0];

/// Less than this beyond a goal is a near miss (ratio).
const NEAR: f64 = 2.0;

/// Requests of the search over those of the grid at most (ratio), and whole runs that it always
/// may take. What is played next counts as whole runs, so that the last batch does not pass it.
const BUDGET: f64 = 0.05;
const RUNS_MIN: f64 = 12.0;

/// Short runs take this share of the room at most, before any whole one (ratio).
const PROBES_MAX: f64 = 0.6;

/// So many misses before what has most of everything is tried, in turn with the others.
const HEADS_FROM: u32 = 3;

/// A question of at most so many settings is run whole.
const SMALL: usize = 16;

/// Figures of the beginning of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Beginning {
    /// How much of a goal it used up (ratio).
    used: f64,
    /// Mean latencies of reads and writes (microseconds).
    means_us: [Option<f64>; 2],
    /// Pages programmed and read, blocks erased.
    flash: [u64; 3],
}

impl Beginning {
    fn of(used: f64, result: &RunResult) -> Self {
        let flash = &result.flash;
        Self {
            used,
            means_us: [result.read.mean_us, result.write.mean_us],
            flash: [flash.pages_programmed, flash.pages_read, flash.erases],
        }
    }
}

/// A search under way.
pub struct Search<'a, 'b> {
    question: &'a Question,
    shots: &'b mut Shots<'a>,
    tell: &'b dyn Fn(usize, usize, Option<(usize, f64)>),
    /// By setting.
    pub seen: Vec<Seen>,
    families: Families,
    /// A drive whose GC costs nothing, and the beginning of its run.
    bound: Option<(Played, Played)>,
    /// The pace of a closed loop.
    pace: Option<Pace>,
    /// Of settings that further seeds decided against: how much of a goal they used up (ratio).
    too_near: f64,
    /// Settings of which the beginning was played, and what it came to.
    begun: BTreeMap<usize, Beginning>,
    /// Runs that missed before any kept the goals, and the last of them.
    misses: u32,
    last: Option<usize>,
    /// Prices of whole runs over what they were guessed to be, in their order (logarithms).
    misses_of_guesses: Vec<f64>,
}

/// All settings that can be run, those but `invalid`, cost less than a search.
pub fn is_small(question: &Question, invalid: &[usize]) -> bool {
    question.plan.settings() - invalid.len() <= SMALL
}

impl<'a, 'b> Search<'a, 'b> {
    /// Prepares it: families, what cannot be run, prices before any run.
    pub fn new(
        question: &'a Question,
        shots: &'b mut Shots<'a>,
        invalid: &[usize],
        pace: Option<Pace>,
        tell: &'b dyn Fn(usize, usize, Option<(usize, f64)>),
    ) -> Result<Self, Stop> {
        let plan = &question.plan;
        let mut seen = Vec::with_capacity(plan.settings());
        for setting in 0..plan.settings() {
            let mut new = Seen::of(Standing::Open);
            match invalid.binary_search(&setting) {
                Ok(_) => new.standing = Standing::Invalid,
                Err(_) => {
                    let (_, scenario) = plan.point(setting)?;
                    new.cost = question.costs.of(&scenario, None);
                    new.price = price(question, &scenario, &new.cost, None);
                    (new.estimate, new.floor) = (new.price, new.price);
                }
            }
            seen.push(new);
        }
        let families = Families::of(plan, invalid);
        let too_near = f64::INFINITY;
        let begun = BTreeMap::new();
        Ok(Self {
            question,
            shots,
            tell,
            seen,
            families,
            bound: None,
            pace,
            too_near,
            begun,
            misses: 0,
            last: None,
            misses_of_guesses: Vec::new(),
        })
    }

    /// Finds the cheapest setting that keeps the goals, if there is one.
    /// `bound` is the run of a drive whose GC costs nothing, and its scenario.
    pub fn run(&mut self, bound: Option<(Played, Point)>) -> Result<Option<usize>, Stop> {
        if self.question.exhaustive {
            return self.play_all();
        }
        let segments = self.probe_segments();
        if let Some((whole, point)) = bound {
            let begun = self.shots.play_points(&[point], Until::Segments(segments))?.remove(0);
            self.bound = Some((whole, begun));
        }
        self.probe(segments)?;
        let (mut checks, mut seeded) = (0, 0);
        loop {
            self.descend()?;
            let Some(best) = self.best() else { return self.nothing() };
            let mut neighbours = self.neighbours(best);
            neighbours.truncate(self.room().saturating_sub(SEEDS as usize));
            if !neighbours.is_empty() {
                self.play_beside(&neighbours, false)?;
                continue;
            }
            let more = SEEDS.min(self.room() as u64);
            let is_seeded = !self.seen[best].seeds.is_empty() || seeded == SEEDED_MAX;
            if self.straddles(best) && !is_seeded && more > 0 {
                seeded += 1;
                self.more_seeds(best, more)?;
                continue;
            }
            let mut near = self.near_below(best);
            near.truncate(self.room());
            if !near.is_empty() && checks < CHECKED[1] {
                checks += 1;
                self.play_beside(&near, true)?;
                continue;
            }
            let mut others = self.guessed_alike(best);
            others.truncate(self.room());
            if !others.is_empty() {
                self.play_beside(&others, false)?;
                continue;
            }
            self.costlier(best)?;
            if self.best() == Some(best) {
                return Ok(Some(best));
            }
        }
    }

    /// Plays every setting to its end, those together that begin in the same state.
    pub fn play_all(&mut self) -> Result<Option<usize>, Stop> {
        let plan = &self.question.plan;
        let is_open = |at: &usize| self.seen[*at].standing == Standing::Open;
        let mut all: Vec<usize> = (0..self.seen.len()).filter(is_open).collect();
        all.sort_by_key(|setting| (plan.place(*setting).1, *setting));
        for batch in all.chunks(8 * BATCH) {
            self.play_together(batch, Until::End)?;
        }
        Ok(self.best())
    }

    /// Nothing can keep the goals: only the beginning of the best of each family is played.
    pub fn glance(&mut self) -> Result<Option<usize>, Stop> {
        let heads = self.families.heads();
        self.play(&heads, Until::Segments(self.shots.probe()))?;
        Ok(None)
    }

    /// Short runs, by which prices are estimated and the families are ordered.
    fn probe(&mut self, segments: usize) -> Result<(), Stop> {
        let plan = &self.question.plan;
        let columns = self.families.columns().into_iter();
        let mut firsts: Vec<usize> = columns.map(|column| column[0]).collect();
        // Those that begin in the same state are neighbours, and all are one campaign.
        firsts.sort_by_key(|setting| (plan.place(*setting).1, *setting));
        self.play_together(&firsts, Until::Segments(segments))?;
        self.estimate()?;
        let begun = firsts.iter().filter_map(|at| {
            let (judged, result) = (&self.seen[*at].judged, self.seen[*at].result()?);
            Some((*at, Beginning::of(worst(judged), result)))
        });
        self.begun = begun.collect();
        let used = |family: usize| {
            let of = self.families.settings(family).iter().map(|at| &self.seen[*at]);
            let played = of.filter(|seen| seen.played.is_some());
            let (sum, count) = played.fold((0.0, 0), |(sum, count), seen| {
                (sum + worst(&seen.judged).min(100.0), count + 1)
            });
            sum / f64::from(count.max(1))
        };
        self.families.order_by(&(0..self.families.count()).map(used).collect::<Vec<f64>>());
        Ok(())
    }

    /// Nothing keeps the goals: what comes nearest is played to its end, so that the answer can
    /// say by how much.
    fn nothing(&mut self) -> Result<Option<usize>, Stop> {
        let used = |setting: &usize| worst(&self.seen[*setting].judged);
        let played = |setting: &usize| self.seen[*setting].played.is_some();
        let heads = self.families.heads().into_iter().filter(played);
        let nearest = heads.min_by(|one, other| used(one).total_cmp(&used(other)));
        let again: Vec<usize> =
            nearest.filter(|head| !self.seen[*head].is_whole()).into_iter().collect();
        self.play(&again, Until::End)?;
        Ok(self.best())
    }

    /// The cheapest that keeps the goals.
    pub fn best(&self) -> Option<usize> {
        let met = (0..self.seen.len()).filter(|at| self.seen[*at].standing == Standing::Met);
        met.min_by(|one, other| self.by_price(*one, *other))
    }

    fn by_price(&self, one: usize, other: usize) -> std::cmp::Ordering {
        let (one_seen, other_seen) = (&self.seen[one], &self.seen[other]);
        one_seen
            .price
            .total_cmp(&other_seen.price)
            .then(one_seen.cost.total.total_cmp(&other_seen.cost.total))
            .then(one.cmp(&other))
    }

    /// Plays settings that may be cheaper than the best until there are none.
    fn descend(&mut self) -> Result<(), Stop> {
        loop {
            let best = self.best();
            let mut next = self.next(best);
            next.truncate(self.room());
            if next.is_empty() {
                return Ok(());
            }
            self.play_beside(&next, best.is_some())?;
        }
    }

    /// Plays settings to their end, or until they are lost beside the bound: what is slow in it the
    /// load makes slow in every run. The best so far is no such reference, as another policy need
    /// not share what its collections make slow.
    fn play_beside(&mut self, settings: &[usize], clearly: bool) -> Result<(), Stop> {
        let reference = self.bound.as_ref().and_then(|(whole, _)| whole.counted.clone());
        self.play(settings, Until::Lost { beside: reference.as_ref(), clearly })
    }

    fn play(&mut self, settings: &[usize], until: Until<'_>) -> Result<(), Stop> {
        settings.chunks(BATCH).try_for_each(|batch| self.play_together(batch, until))
    }

    fn play_together(&mut self, settings: &[usize], until: Until<'_>) -> Result<(), Stop> {
        let shots: Vec<Shot> = settings.iter().map(|at| Shot { setting: *at, seed: 0 }).collect();
        let played = self.shots.play(&shots, until)?;
        let clearly = matches!(until, Until::Lost { clearly: true, .. });
        let is_news = played.iter().any(Played::is_whole);
        for (setting, played) in settings.iter().zip(played) {
            self.learn(*setting, played, clearly)?;
        }
        if is_news && !self.question.exhaustive {
            self.estimate()?;
        }
        let decided = self.seen.iter().filter(|seen| seen.standing != Standing::Open).count();
        let best = self.best().map(|best| (best, self.seen[best].price));
        (self.tell)(decided, self.seen.len(), best);
        Ok(())
    }

    fn learn(&mut self, setting: usize, played: Played, clearly: bool) -> Result<(), Stop> {
        let question = self.question;
        let (_, scenario) = question.plan.point(setting)?;
        let result = &played.result;
        let judged: Vec<Judged> = question.goals.iter().map(|goal| goal.judge(result)).collect();
        let ended = played.counted.as_ref().and_then(|counted| counted.ended);
        let seen = &mut self.seen[setting];
        let cost = cost_of(question, &scenario, result, self.pace);
        let guess = seen.estimate;
        if played.is_whole() {
            seen.cost = cost;
            seen.price = price(question, &scenario, &cost, Some(result));
        }
        let checked = played.is_whole().then_some((guess, seen.price));
        let is_too_near = worst(&judged) >= self.too_near;
        let keeps = judged.iter().all(|judged| judged.meets || judged.unmeasured) && !is_too_near;
        let is_measured = !judged.iter().any(|judged| judged.unmeasured);
        seen.standing = match ended {
            None if keeps && is_measured => Standing::Met,
            None if keeps => Standing::Unmeasured,
            Some(Ended::Passed) if clearly => Standing::Predicted,
            None | Some(Ended::Passed) => Standing::Missed,
            Some(Ended::Predicted) => Standing::Predicted,
            Some(Ended::Short) => seen.standing,
        };
        (seen.judged, seen.played) = (judged, Some(played));
        let misses = matches!(seen.standing, Standing::Missed | Standing::Predicted);
        if let Some((guess, price)) = checked {
            self.check_guess(guess, price);
        }
        if misses && question.goals.iter().all(|goal| goal.measure != Measure::Waf) {
            self.presume(setting);
        }
        Ok(())
    }

    /// Less over-provisioning and less buffer do not mend what misses.
    fn presume(&mut self, missed: usize) {
        for setting in self.families.below(missed) {
            if self.seen[setting].standing == Standing::Open {
                self.seen[setting].standing = Standing::Presumed(missed);
            }
        }
    }

    fn straddles(&self, setting: usize) -> bool {
        let seen = &self.seen[setting];
        seen.judged.iter().zip(&self.question.goals).any(|(judged, goal)| judged.straddles(goal))
    }

    /// Plays further seeds of a setting that may or may not keep a goal; their mean decides.
    fn more_seeds(&mut self, setting: usize, seeds: u64) -> Result<(), Stop> {
        let shots: Vec<Shot> = (1..=seeds).map(|seed| Shot { setting, seed }).collect();
        let played = self.shots.play(&shots, Until::End)?;
        let goals = &self.question.goals;
        let judge = |played: &Played| goals.iter().map(|goal| goal.judge(&played.result)).collect();
        self.seen[setting].seeds = played.iter().map(judge).collect();
        let seen = &self.seen[setting];
        let mean = |goal: usize| {
            let all = seen.seeds.iter().map(|seed| &seed[goal]).filter(|of| !of.unmeasured);
            let (sum, count) = all.fold((0.0, 1.0), |(sum, n), of| (sum + of.used, n + 1.0));
            (sum + seen.judged[goal].used) / count
        };
        if (0..goals.len()).any(|goal| mean(goal) > 1.0) {
            // Settings that use up as much of the goal would fare no better.
            self.too_near = self.too_near.min(worst(&seen.judged));
            for seen in &mut self.seen {
                if seen.standing == Standing::Met && worst(&seen.judged) >= self.too_near {
                    seen.standing = Standing::Missed;
                }
            }
            self.presume(setting);
        }
        Ok(())
    }

    /// Runs what more money buys: the next step up of the same family, and the best of the family
    /// that looks best.
    fn costlier(&mut self, best: usize) -> Result<(), Stop> {
        let is_open = |at: &usize| {
            self.seen[*at].standing == Standing::Open && !self.is_cheaper(*at, Some(best))
        };
        let family = self.families.family_of(best);
        let next = family.and_then(|family| {
            let above = self.families.settings(family).iter().copied().filter(is_open);
            let above = above.filter(|at| self.families.is_more(*at, best));
            above.min_by(|one, other| self.by_price(*one, *other))
        });
        let heads = self.families.order.iter().filter_map(|at| self.families.head(*at));
        let head = heads.filter(is_open).find(|head| Some(*head) != next);
        let mut steps: Vec<usize> = next.into_iter().chain(head).collect();
        steps.truncate(self.room());
        self.play_beside(&steps, false)
    }
}
