//! Prices before a run has ended, and the room that is left for runs.

use super::{BUDGET, PROBES_MAX, RUNS_MIN, Search, Stop};
use crate::advise::cost::Cost;
use crate::advise::prices::{Guess, cost_of, price};
use crate::advise::seen::Standing;
use crate::advise::shots::SEGMENTS;
use manx_core::sim::math;
use manx_core::stats::RunResult;
use std::collections::BTreeMap;

impl Search<'_, '_> {
    /// Estimates the prices of all columns whose beginning was played. Where whole runs are known,
    /// they tell the scale of copies, else the beginnings together.
    pub(super) fn estimate(&mut self) -> Result<(), Stop> {
        let columns = self.families.columns();
        let begun: Vec<(&Vec<usize>, &RunResult)> = columns
            .iter()
            .filter_map(|column| Some((column, self.seen[column[0]].result()?)))
            .collect();
        let bound = self.bound.as_ref();
        let guess = bound.map(|(whole, first)| {
            let (whole, first) = (&whole.result, &first.result);
            let known = self.known();
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
                let cost = cost_of(self.question, &scenario, &result, self.pace);
                let price = price(self.question, &scenario, &cost, Some(&result));
                // The bound's buffer took all writes: of what a smaller one lets through nothing
                // is known.
                all.push((*setting, cost, if price.is_finite() { price } else { 1.0 }));
            }
        }
        let factors = self.factors(&all);
        // Of a buffer that no whole run had, those of the others tell more than nothing does.
        let other = match factors.len() {
            0 => 1.0,
            known => factors.values().sum::<f64>() / known as f64,
        };
        let by_buffer = |setting: usize| {
            let factor = factors.get(&self.families.buffer(setting).to_bits());
            factor.copied().unwrap_or(other)
        };
        let by_place = self.by_place(&all, &by_buffer);
        for (setting, cost, price) in all {
            let more: f64 = self.places(setting).iter().filter_map(|at| by_place.get(at)).sum();
            let price = price * by_buffer(setting) * math::exp(more);
            let seen = &mut self.seen[setting];
            seen.estimate = price;
            if !seen.is_whole() {
                (seen.cost, seen.price) = (cost, price);
            }
        }
        Ok(())
    }

    /// Whole runs that tell the scale of copies: those with the bound's buffer, as another one
    /// lets other writes through, unless there are none.
    pub(super) fn known(&self) -> Vec<&RunResult> {
        let is_whole = |at: &usize| self.seen[*at].is_whole();
        let whole: Vec<usize> = (0..self.seen.len()).filter(is_whole).collect();
        let most = self.families.most_buffer();
        let like: Vec<usize> =
            whole.iter().copied().filter(|at| self.families.buffer(*at) == most).collect();
        let all = if like.is_empty() { whole } else { like };
        all.into_iter().filter_map(|at| self.seen[at].result()).collect()
    }

    /// Of each buffer of which whole runs are known, their prices over those of `guessed`, which
    /// have the bound's buffer take the writes (ratio).
    pub(super) fn factors(&self, guessed: &[(usize, Cost, f64)]) -> BTreeMap<u64, f64> {
        let mut sums: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for (setting, _, guess) in guessed {
            let seen = &self.seen[*setting];
            if seen.is_whole() && *guess > 0.0 && seen.price.is_finite() {
                let buffer = self.families.buffer(*setting).to_bits();
                let (sum, count) = sums.entry(buffer).or_default();
                (*sum, *count) = (*sum + seen.price / guess, *count + 1.0);
            }
        }
        sums.into_iter().map(|(buffer, (sum, count))| (buffer, sum / count)).collect()
    }

    /// The policy of a setting, and its place on each axis.
    fn places(&self, setting: usize) -> Vec<(usize, usize)> {
        let (policy, places) = self.question.plan.place(setting);
        let policies = &self.question.plan.asked().policies;
        let number = policies.iter().position(|name| Some(name.as_str()) == policy);
        let keys = places.into_iter().enumerate().map(|(axis, place)| (axis + 1, place));
        keys.chain(number.map(|number| (0, number))).collect()
    }

    /// Beyond the factors of buffers: how much dearer whole runs with each value of each axis are
    /// than guessed (natural logarithms), axis by axis. One run tells half of it.
    fn by_place(
        &self,
        guessed: &[(usize, Cost, f64)],
        by_buffer: &dyn Fn(usize) -> f64,
    ) -> BTreeMap<(usize, usize), f64> {
        let is_price = |price: f64| price > 0.0 && price.is_finite();
        let is_known = |at: usize| self.seen[at].is_whole() && is_price(self.seen[at].price);
        let whole = guessed.iter().filter(|(at, _, guess)| is_known(*at) && *guess > 0.0);
        let mut left: Vec<(Vec<(usize, usize)>, f64)> = whole
            .map(|(at, _, guess)| {
                let ratio = self.seen[*at].price / (guess * by_buffer(*at));
                (self.places(*at), math::ln(ratio))
            })
            .collect();
        let mut all = BTreeMap::new();
        let axes = left.first().map_or(0, |(places, _)| places.len());
        for axis in 0..axes {
            let mut sums: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
            for (places, rest) in &left {
                let (sum, count) = sums.entry(places[axis]).or_default();
                (*sum, *count) = (*sum + rest, *count + 1.0);
            }
            for (places, rest) in &mut left {
                let (sum, count) = sums[&places[axis]];
                *rest -= sum / (count + 1.0);
            }
            all.extend(sums.into_iter().map(|(at, (sum, count))| (at, sum / (count + 1.0))));
        }
        all
    }

    /// Segments of the short runs: with the warm-up where there is room for it, else one, which
    /// tells the state that each begins from and no more.
    pub(super) fn probe_segments(&self) -> usize {
        let (columns, long) = (self.families.columns().len(), self.shots.probe());
        let runs = (columns * long) as f64 / SEGMENTS as f64;
        if runs > PROBES_MAX * self.room() as f64 { 1 } else { long }
    }

    /// So many more runs, all of them to their end, are within the budget.
    pub(super) fn room(&self) -> usize {
        let runs = self.seen.iter().filter(|seen| seen.standing != Standing::Invalid).count();
        let most = (BUDGET * runs as f64).max(RUNS_MIN);
        let played = self.shots.requests as f64 / (self.question.load.requests as f64).max(1.0);
        (most - played).max(0.0) as usize
    }
}
