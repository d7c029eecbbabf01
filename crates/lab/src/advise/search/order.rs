//! Order of the search: which settings are played next.

use super::{BATCH, CHECKED, DOUBTFUL, GUESSED, HEADS_FROM, NEAR, SAME, Search};
use crate::advise::seen::{Standing, worst};
use manx_core::sim::math;
use std::collections::BTreeMap;

impl Search<'_, '_> {
    pub(super) fn open_of(&self, family: usize) -> Vec<usize> {
        let is_open = |setting: &usize| self.seen[*setting].standing == Standing::Open;
        self.families.settings(family).iter().copied().filter(is_open).collect()
    }

    /// It would be cheaper than the best. Estimates stand beside estimates: what the beginnings of
    /// all runs have in common is in both.
    pub(super) fn is_cheaper(&self, setting: usize, best: Option<usize>) -> bool {
        let Some(best) = best else { return true };
        let (one, other) = (&self.seen[setting], &self.seen[best]);
        if one.is_whole() {
            return self.by_price(setting, best).is_lt();
        }
        one.estimate < other.estimate * (1.0 - SAME)
    }

    /// The settings that are played next.
    pub(super) fn next(&mut self, best: Option<usize>) -> Vec<usize> {
        let Some(best) = best else { return self.first().into_iter().collect() };
        let leading = self.families.family_of(best).map(|family| self.cheaper(family, best));
        if let Some(middle) = leading.and_then(|leading| self.families.middle(&leading)) {
            return vec![middle];
        }
        let most = |family: &usize| self.families.most(&self.cheaper(*family, best));
        let mut heads: Vec<usize> = self.families.order.iter().filter_map(most).collect();
        heads.sort_by(|one, other| {
            self.tier(*one).cmp(&self.tier(*other)).then(self.by_price(*one, *other))
        });
        heads.truncate(BATCH);
        heads
    }

    /// The setting with the least buffer beside this one: its beginning was played.
    pub(super) fn begun_beside(&self, setting: usize) -> Option<usize> {
        self.begun.keys().copied().find(|begun| {
            self.families.family_of(*begun) == self.families.family_of(setting)
                && self.families.is_level(*begun, setting)
        })
    }

    /// How much of a goal the beginning beside a setting used up (ratio).
    fn used(&self, setting: usize) -> f64 {
        let begun = self.begun_beside(setting).and_then(|begun| self.begun.get(&begun));
        begun.map_or_else(|| worst(&self.seen[setting].judged), |begun| begun.used)
    }

    /// How bad the beginning beside a setting looks.
    fn tier(&self, setting: usize) -> usize {
        let used = self.used(setting);
        DOUBTFUL.iter().filter(|limit| used > **limit).count()
    }

    /// Before anything keeps the goals: the cheapest of what looks best, after a near miss the next
    /// of its family, after another one twice as far up; then what has most of everything.
    pub(super) fn first(&mut self) -> Option<usize> {
        let is_open = |setting: &usize| self.seen[*setting].standing == Standing::Open;
        let mut begun: Vec<usize> = self.begun.keys().copied().filter(is_open).collect();
        begun.sort_by(|one, other| {
            self.tier(*one).cmp(&self.tier(*other)).then(self.by_price(*one, *other))
        });
        let open = |family: &usize| self.families.most(&self.open_of(*family));
        let head = self.families.order.iter().find_map(open);
        if begun.is_empty() {
            return head;
        }
        // One that keeps the goals is an end of the search from above; one that misses presumes
        // all of its family.
        if self.misses >= HEADS_FROM && self.misses % 2 == 1 {
            (self.misses, self.last) = (self.misses + 1, None);
            return head;
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
    pub(super) fn cheaper(&self, family: usize, best: usize) -> Vec<usize> {
        let mut all = self.open_of(family);
        all.retain(|setting| self.is_cheaper(*setting, Some(best)));
        all.sort_by(|one, other| self.by_price(*one, *other));
        all
    }

    /// Settings of the same over-provisioning that differ from the best by one key or by the
    /// policy, and may cost as little: the beginning of a run does not tell such prices apart.
    pub(super) fn neighbours(&self, best: usize) -> Vec<usize> {
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
        let all = (0..self.seen.len()).filter(is_open).filter(is_next);
        let all: Vec<usize> = all.filter(|at| self.twin_rank(*at, best) == 0).collect();
        let larger = self.with_more_buffer(&all, best);
        let all = self.promising(all.into_iter(), best, &larger);
        // Each axis in turn: the policy, then the keys.
        let mut rounds: BTreeMap<usize, usize> = BTreeMap::new();
        let mut all: Vec<(usize, usize)> = all
            .into_iter()
            .map(|at| {
                let round = rounds.entry(self.axis(at, best)).or_default();
                *round += 1;
                (*round, at)
            })
            .collect();
        all.sort_by_key(|(round, _)| *round);
        all.into_iter().map(|(_, at)| at).take(BATCH).collect()
    }

    /// Open settings that are guessed to cost as little, whatever they differ by, or may for what
    /// guesses were off; twins last, as the rest of their runs may differ where their beginnings
    /// do not.
    pub(super) fn guessed_alike(&self, best: usize) -> Vec<usize> {
        let is_open = |at: &usize| self.seen[*at].standing == Standing::Open;
        let doubtful = self.doubtful(Some(best));
        let mut all = self.promising((0..self.seen.len()).filter(is_open), best, &doubtful);
        all.truncate(BATCH);
        all
    }

    /// Those of the settings that may cost as little as the best, the `doubtful` ones among them:
    /// the first ones to be played.
    fn promising(
        &self,
        settings: impl Iterator<Item = usize>,
        best: usize,
        doubtful: &[usize],
    ) -> Vec<usize> {
        let apart = if self.question.minimise.is_guessed() { GUESSED } else { SAME };
        let dear = self.seen[best].estimate * (1.0 + apart);
        let is_doubtful = |at: &usize| doubtful.binary_search(at).is_ok();
        let is_near = |at: &usize| self.seen[*at].estimate < dear || is_doubtful(at);
        let mut all: Vec<usize> = settings.filter(is_near).collect();
        // Of what is guessed to cost alike, the one whose beginning is farther from the goals.
        let step = |at: usize| (math::ln(self.seen[at].estimate.max(1e-9)) / SAME).round() as i64;
        let order = |at: usize| (self.tier(at), self.twin_rank(at, best), step(at));
        all.sort_by(|one, other| {
            let used = self.used(*one).total_cmp(&self.used(*other));
            order(*one).cmp(&order(*other)).then(used).then(self.by_price(*one, *other))
        });
        all
    }

    /// Settings that were presumed to miss, cheaper than the best, nearest first.
    pub(super) fn near_below(&self, best: usize) -> Vec<usize> {
        let is_near = |at: &usize| {
            let is_presumed = matches!(self.seen[*at].standing, Standing::Presumed(_));
            is_presumed && self.is_cheaper(*at, Some(best))
        };
        let mut near: Vec<usize> = (0..self.seen.len()).filter(is_near).collect();
        near.sort_by(|one, other| self.by_price(*other, *one));
        near.truncate(CHECKED[0]);
        near
    }
}
