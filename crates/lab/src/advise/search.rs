//! The search: which setting is the cheapest that keeps the goals, with few requests.
//!
//! Few requests do, for three reasons.
//!
//! - The beginning of a run tells what a setting writes beside a drive whose GC costs nothing, so
//!   its price is known, but for a little, before the rest is played; and it tells how far from the
//!   goals it may be. The cheapest that looks well comes first, and after each that misses one
//!   twice as far up. One that keeps the goals rules out all that cost more.
//! - A run ends as soon as a goal is lost ([`crate::run::Limits`]): for certain, or by prediction
//!   beside the bound or the best setting so far. Once one keeps the goals, a cheaper one must keep
//!   them beyond the interval of a percentile, else it is given up too ([`Standing::Predicted`]).
//! - Of a *family*, the settings that differ by over-provisioning and buffer alone, one that misses
//!   says that those with less of both miss too ([`Standing::Presumed`]). So of each family one
//!   setting is played that has most of both and is still cheaper than the best. The presumed ones
//!   nearest below the answer, and its neighbours, are played all the same.
//!
//! It ends before 5 % of the grid is passed, and says how many cheaper settings are undecided.
//! Batches have a fixed size, so that the answer does not depend on how many threads play them.

use super::families::Families;
use super::goal::{Judged, Measure};
use super::prices::{Guess, price};
use super::question::Question;
use super::seen::{Seen, Standing, worst};
use super::shots::{Played, Shot, Shots, Stop, Until};
use crate::campaign::Point;
use crate::run::Ended;
use manx_core::stats::RunResult;

/// Settings that are played together.
const BATCH: usize = 4;

/// Presumed settings nearest to the answer that are played, and how often.
const CHECKED: [usize; 2] = [3, 3];

/// Further seeds where an interval reaches to both sides of a goal, and of how many settings.
const SEEDS: u64 = 2;
const SEEDED_MAX: usize = 2;

/// Prices that the beginnings of runs tell differ where they differ by this (ratio).
const SAME: f64 = 0.01;

/// A beginning that uses up so much of a goal looks worse than one that uses up less (ratio).
const DOUBTFUL: [f64; 2] = [1.0, 3.0];

/// Less than this beyond a goal is a near miss (ratio).
const NEAR: f64 = 2.0;

/// Requests of the search over those of the grid at most (ratio), and whole runs that it always
/// may take. What is played next counts as whole runs, so that the last batch does not pass it.
const BUDGET: f64 = 0.05;
const RUNS_MIN: f64 = 14.0;

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
    /// Of settings that further seeds decided against: how much of a goal they used up (ratio).
    too_near: f64,
    /// Settings of which the beginning was played.
    begun: Vec<usize>,
    /// Runs that missed before any kept the goals, and the last of them.
    misses: u32,
    last: Option<usize>,
}

impl<'a, 'b> Search<'a, 'b> {
    /// Prepares it: families, what cannot be run, prices before any run.
    pub fn new(
        question: &'a Question,
        shots: &'b mut Shots<'a>,
        invalid: &[usize],
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
                    new.estimate = new.price;
                }
            }
            seen.push(new);
        }
        let families = Families::of(plan, invalid);
        let too_near = f64::INFINITY;
        let begun = Vec::new();
        Ok(Self {
            question,
            shots,
            tell,
            seen,
            families,
            bound: None,
            too_near,
            begun,
            misses: 0,
            last: None,
        })
    }

    /// Finds the cheapest setting that keeps the goals, if there is one.
    /// `bound` is the run of a drive whose GC costs nothing, and its scenario.
    pub fn run(&mut self, bound: Option<(Played, Point)>) -> Result<Option<usize>, Stop> {
        if self.question.exhaustive {
            return self.play_all();
        }
        if let Some((whole, point)) = bound {
            let until = Until::Segments(self.shots.probe());
            let begun = self.shots.play_points(&[point], until)?.remove(0);
            self.bound = Some((whole, begun));
        }
        self.probe()?;
        let (mut checks, mut seeded) = (0, 0);
        loop {
            self.descend()?;
            let Some(best) = self.best() else { return self.nothing() };
            let neighbours = self.neighbours(best);
            if !neighbours.is_empty() && self.affords(neighbours.len() + SEEDS as usize) {
                self.play_beside(&neighbours, false)?;
                continue;
            }
            if self.straddles(best) && self.seen[best].seeds.is_empty() && seeded < SEEDED_MAX {
                seeded += 1;
                self.more_seeds(best)?;
                continue;
            }
            let near = self.near_below(best);
            if near.is_empty() || checks == CHECKED[1] || !self.affords(near.len()) {
                self.costlier(best)?;
                return Ok(Some(best));
            }
            checks += 1;
            self.play_beside(&near, true)?;
        }
    }

    /// Plays every setting to its end, those together that begin in the same state.
    fn play_all(&mut self) -> Result<Option<usize>, Stop> {
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
    fn probe(&mut self) -> Result<(), Stop> {
        let plan = &self.question.plan;
        let columns = self.families.columns().into_iter();
        let mut firsts: Vec<usize> = columns.map(|column| column[0]).collect();
        // Those that begin in the same state are neighbours, and all are one campaign.
        firsts.sort_by_key(|setting| (plan.place(*setting).1, *setting));
        self.play_together(&firsts, Until::Segments(self.shots.probe()))?;
        self.estimate()?;
        self.begun = firsts;
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

    /// Estimates the prices of all columns whose beginning was played. Where whole runs are known,
    /// they tell the scale of copies, else the beginnings together.
    fn estimate(&mut self) -> Result<(), Stop> {
        let columns = self.families.columns();
        let begun: Vec<(&Vec<usize>, &RunResult)> = columns
            .iter()
            .filter_map(|column| Some((column, self.seen[column[0]].result()?)))
            .collect();
        let bound = self.bound.as_ref();
        let guess = bound.map(|(whole, first)| {
            let (whole, first) = (&whole.result, &first.result);
            let known = self.seen.iter().filter(|seen| seen.is_whole());
            let known: Vec<&RunResult> = known.filter_map(Seen::result).collect();
            match known.is_empty() {
                true => {
                    Guess::of(whole, first, &begun.iter().map(|(_, of)| *of).collect::<Vec<_>>())
                }
                false => Guess::of(whole, whole, &known),
            }
        });
        let mut all = Vec::new();
        for (column, begun) in begun {
            // Without a bound the beginning stands for the whole.
            let result = guess.as_ref().map_or_else(|| begun.clone(), |guess| guess.whole(begun));
            for setting in column {
                let (_, scenario) = self.question.plan.point(*setting)?;
                let cost = self.question.costs.of(&scenario, Some(&result));
                all.push((*setting, cost, price(self.question, &scenario, &cost, Some(&result))));
            }
        }
        for (setting, cost, price) in all {
            let seen = &mut self.seen[setting];
            seen.estimate = price;
            if !seen.is_whole() {
                (seen.cost, seen.price) = (cost, price);
            }
        }
        Ok(())
    }

    /// So many more runs, all of them to their end, are within the budget.
    fn affords(&self, more: usize) -> bool {
        let runs = self.seen.iter().filter(|seen| seen.standing != Standing::Invalid).count();
        let most = (BUDGET * runs as f64).max(RUNS_MIN) - more as f64;
        self.shots.requests as f64 <= most * self.question.load.requests as f64
    }

    /// Settings that may be cheaper than the answer and were not decided.
    pub fn undecided(&self) -> usize {
        let best = self.best();
        let is_open = |at: &usize| self.seen[*at].standing == Standing::Open;
        let open = (0..self.seen.len()).filter(is_open);
        open.filter(|at| self.is_cheaper(*at, best)).count()
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

    fn open_of(&self, family: usize) -> Vec<usize> {
        let is_open = |setting: &usize| self.seen[*setting].standing == Standing::Open;
        self.families.settings(family).iter().copied().filter(is_open).collect()
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

    /// It would be cheaper than the best. Estimates stand beside estimates: what the beginnings of
    /// all runs have in common is in both.
    fn is_cheaper(&self, setting: usize, best: Option<usize>) -> bool {
        let Some(best) = best else { return true };
        let (one, other) = (&self.seen[setting], &self.seen[best]);
        if one.is_whole() {
            return self.by_price(setting, best).is_lt();
        }
        one.estimate < other.estimate * (1.0 - SAME)
    }

    /// Plays settings that may be cheaper than the best until there are none.
    fn descend(&mut self) -> Result<(), Stop> {
        loop {
            let best = self.best();
            let next = self.next(best);
            // Once one keeps the goals, its neighbours are to be played, too.
            let kept = if best.is_some() { BATCH } else { 0 };
            if next.is_empty() || !self.affords(next.len() + kept) {
                return Ok(());
            }
            self.play_beside(&next, best.is_some())?;
        }
    }

    /// The settings that are played next.
    fn next(&mut self, best: Option<usize>) -> Vec<usize> {
        let Some(best) = best else { return self.first().into_iter().collect() };
        let leading = self.families.family_of(best).map(|family| self.cheaper(family, best));
        if let Some(middle) = leading.and_then(|leading| self.families.middle(&leading)) {
            return vec![middle];
        }
        let most = |family: &usize| self.families.most(&self.cheaper(*family, best));
        self.families.order.iter().filter_map(most).take(BATCH).collect()
    }

    /// Before anything keeps the goals: the cheapest of what looks best, after a near miss the next
    /// of its family, after another one twice as far up; then what has most of everything.
    fn first(&mut self) -> Option<usize> {
        let is_open = |setting: &usize| self.seen[*setting].standing == Standing::Open;
        let tier = |setting: usize| {
            let used = worst(&self.seen[setting].judged);
            DOUBTFUL.iter().filter(|limit| used > **limit).count()
        };
        let mut begun: Vec<usize> = self.begun.iter().copied().filter(is_open).collect();
        begun.sort_by(|one, other| tier(*one).cmp(&tier(*other)).then(self.by_price(*one, *other)));
        if begun.is_empty() {
            let open = |family: &usize| self.families.most(&self.open_of(*family));
            return self.families.order.iter().find_map(open);
        }
        let near = self.last.filter(|last| worst(&self.seen[*last].judged) < NEAR);
        let near = near.and_then(|last| self.families.family_of(last));
        let is_next = |at: &usize| near.is_some() && self.families.family_of(*at) == near;
        let next = begun.iter().copied().filter(is_next);
        let next = next.min_by(|one, other| self.by_price(*one, *other));
        let up = (1usize << self.misses.min(20)) - 1;
        self.misses += u32::from(next.is_none());
        self.last = next.or_else(|| begun.get(up.min(begun.len() - 1)).copied());
        self.last
    }

    /// Open settings of a family that would be cheaper than the best, the cheapest first.
    fn cheaper(&self, family: usize, best: usize) -> Vec<usize> {
        let mut all = self.open_of(family);
        all.retain(|setting| self.is_cheaper(*setting, Some(best)));
        all.sort_by(|one, other| self.by_price(*one, *other));
        all
    }

    /// Settings of the same over-provisioning that differ from the best by one key or by the
    /// policy: the beginning of a run does not tell their prices apart.
    fn neighbours(&self, best: usize) -> Vec<usize> {
        let plan = &self.question.plan;
        let (policy, places) = plan.place(best);
        let is_next = |at: &usize| {
            let (other, theirs) = plan.place(*at);
            let keys = places.iter().zip(&theirs).filter(|(one, other)| one != other).count();
            usize::from(other != policy) + keys == 1 && self.families.is_level(*at, best)
        };
        let is_sibling = |at: &usize| self.families.family_of(*at) == self.families.family_of(best);
        let is_open = |at: &usize| match self.seen[*at].standing {
            Standing::Open => true,
            Standing::Presumed(_) => is_sibling(at),
            _ => false,
        };
        let mut all: Vec<usize> = (0..self.seen.len()).filter(is_open).filter(is_next).collect();
        all.sort_by(|one, other| self.by_price(*one, *other));
        all.into_iter().take(BATCH).collect()
    }

    /// Plays settings to their end, or until they are lost beside the best or the bound.
    fn play_beside(&mut self, settings: &[usize], clearly: bool) -> Result<(), Stop> {
        let best = self.best().map(|best| self.seen[best].played.clone());
        let bound = || self.bound.as_ref().map(|(whole, _)| whole.clone());
        let reference = best.flatten().or_else(bound).and_then(|played| played.counted);
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
        let cost = question.costs.of(&scenario, Some(result));
        if played.is_whole() {
            seen.cost = cost;
            seen.price = price(question, &scenario, &cost, Some(result));
        }
        let is_too_near = worst(&judged) >= self.too_near;
        seen.standing = match ended {
            None if judged.iter().all(|judged| judged.meets) && !is_too_near => Standing::Met,
            Some(Ended::Passed) if clearly => Standing::Predicted,
            None | Some(Ended::Passed) => Standing::Missed,
            Some(Ended::Predicted) => Standing::Predicted,
            Some(Ended::Short) => seen.standing,
        };
        (seen.judged, seen.played) = (judged, Some(played));
        let misses = matches!(seen.standing, Standing::Missed | Standing::Predicted);
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
    fn more_seeds(&mut self, setting: usize) -> Result<(), Stop> {
        let shots: Vec<Shot> = (1..=SEEDS).map(|seed| Shot { setting, seed }).collect();
        let played = self.shots.play(&shots, Until::End)?;
        let goals = &self.question.goals;
        let judge = |played: &Played| goals.iter().map(|goal| goal.judge(&played.result)).collect();
        self.seen[setting].seeds = played.iter().map(judge).collect();
        let seen = &self.seen[setting];
        let mean = |goal: usize| {
            let all = seen.seeds.iter().map(|seed| seed[goal].used);
            (all.sum::<f64>() + seen.judged[goal].used) / (SEEDS + 1) as f64
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

    /// Settings that were presumed to miss, cheaper than the best, nearest first.
    fn near_below(&self, best: usize) -> Vec<usize> {
        let is_near = |at: &usize| {
            let is_presumed = matches!(self.seen[*at].standing, Standing::Presumed(_));
            is_presumed && self.is_cheaper(*at, Some(best))
        };
        let mut near: Vec<usize> = (0..self.seen.len()).filter(is_near).collect();
        near.sort_by(|one, other| self.by_price(*other, *one));
        near.truncate(CHECKED[0]);
        near
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
        let steps: Vec<usize> = next.into_iter().chain(head).collect();
        if !self.affords(steps.len()) {
            return Ok(());
        }
        self.play_beside(&steps, false)
    }
}
