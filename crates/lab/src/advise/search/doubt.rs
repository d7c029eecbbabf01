//! Doubts about prices: how far guesses were off, and what may be cheaper for that.

use super::{GUESSED, SAME, Search};
use crate::advise::seen::Standing;
use manx_core::sim::math;

/// Guesses of the first runs say nothing of later ones: these runs bring them to scale.
const SCALING: usize = 2;

/// Guesses of what was not run may be off by this, though those of what was run were not (ratio).
const DOUBT_MIN: f64 = 0.05;

/// Fewer guesses that were checked say little of the others.
const CHECKED_MIN: usize = 3;

impl Search<'_, '_> {
    /// Notes what a run came to beside its guess.
    pub(super) fn check_guess(&mut self, guess: f64, price: f64) {
        if guess > 0.0 && price > 0.0 && price.is_finite() {
            self.misses_of_guesses.push(math::ln(price / guess));
        }
    }

    /// A price may be so much below its guess, as far as the runs tell (ratio); 0 where it is known
    /// before a run.
    pub fn doubt(&self) -> f64 {
        if !self.question.minimise.is_guessed() {
            return 0.0;
        }
        let checked = self.misses_of_guesses.get(SCALING..).unwrap_or_default();
        let most = checked.iter().map(|miss| miss.abs()).fold(0.0, f64::max);
        let most = 1.0 - math::exp(-most);
        most.max(if checked.len() < CHECKED_MIN { GUESSED } else { DOUBT_MIN })
    }

    /// The least that a setting may cost: what needs no run, or its guess less what guesses were
    /// off.
    fn least(&self, setting: usize, doubt: f64) -> f64 {
        let seen = &self.seen[setting];
        seen.floor.max(seen.estimate * (1.0 - doubt))
    }

    /// Settings that were not decided and may be cheaper than the best for what guesses were off.
    pub(super) fn doubtful(&self, best: Option<usize>) -> Vec<usize> {
        let (doubt, price) = (self.doubt(), best.map(|best| self.seen[best].price));
        let may_be =
            |at: &usize| price.is_none_or(|price| self.least(*at, doubt) < price * (1.0 - SAME));
        let is_open = |at: &usize| self.seen[*at].standing == Standing::Open;
        let open = (0..self.seen.len()).filter(is_open);
        open.filter(|at| self.is_cheaper(*at, best) || may_be(at)).collect()
    }

    /// Settings that may be cheaper than the answer and were not decided.
    pub fn undecided(&self) -> usize {
        self.doubtful(self.best()).len()
    }
}
