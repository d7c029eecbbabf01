//! Twins: settings that begin alike. The rest of their runs may be alike too, or not: a mark that
//! nothing has come to yet, a policy that had nothing to do. They come last; one of them that was
//! played tells of the others of its kind.

use super::{Beginning, SAME, Search};
use crate::advise::question::Minimise;

impl Search<'_, '_> {
    /// The beginnings of both are the same in every number, and so are their buffers.
    fn is_twin(&self, one: usize, other: usize) -> bool {
        let begun = |at: usize| self.begun.get(&self.begun_beside(at)?);
        let is_measured = |begun: &Beginning| begun.means_us.iter().any(Option::is_some);
        self.families.buffer(one) == self.families.buffer(other)
            && begun(one).is_some_and(is_measured)
            && begun(one) == begun(other)
    }

    /// The axis on which a setting differs from the best: 0 is the policy, then come the keys. Of
    /// several the first.
    pub(super) fn axis(&self, setting: usize, best: usize) -> usize {
        self.axes(setting, best).first().copied().unwrap_or(0)
    }

    fn axes(&self, setting: usize, best: usize) -> Vec<usize> {
        let plan = &self.question.plan;
        let ((policy, places), (other, theirs)) = (plan.place(best), plan.place(setting));
        let keys = places.iter().zip(&theirs).enumerate();
        let keys = keys.filter(|(_, (one, other))| one != other).map(|(key, _)| key + 1);
        (policy != other).then_some(0).into_iter().chain(keys).collect()
    }

    /// On this axis a twin of the best was played to its end: whether it came to the same price.
    fn is_idle(&self, axis: usize, best: usize) -> Option<bool> {
        let price = self.seen[best].price;
        let mut played = (0..self.seen.len())
            .filter(|at| *at != best && self.seen[*at].is_whole() && self.is_twin(*at, best))
            .filter(|at| self.axes(*at, best) == [axis])
            .map(|at| (self.seen[at].price / price - 1.0).abs() < SAME)
            .peekable();
        played.peek()?;
        Some(played.all(|alike| alike))
    }

    /// How little news a setting is: 0 for one that is no twin of the best, or where a twin on such
    /// an axis came to another price; 2 where all such twins came to the same.
    pub(super) fn twin_rank(&self, setting: usize, best: usize) -> usize {
        if !self.is_twin(setting, best) {
            return 0;
        }
        let idle: Vec<Option<bool>> =
            self.axes(setting, best).iter().map(|axis| self.is_idle(*axis, best)).collect();
        match () {
            () if idle.contains(&Some(false)) => 0,
            () if idle.contains(&None) => 1,
            () => 2,
        }
    }

    /// Where WAF is to be small, settings with more buffer than the best: more of it never lets
    /// more through, whatever is guessed.
    pub(super) fn with_more_buffer(&self, settings: &[usize], best: usize) -> Vec<usize> {
        let is_waf = self.question.minimise == Minimise::Waf;
        let is_more = |at: &usize| self.families.buffer(*at) > self.families.buffer(best);
        settings.iter().copied().filter(|at| is_waf && is_more(at)).collect()
    }
}
