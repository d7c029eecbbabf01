//! d-choices: the fewest valid pages among d candidates drawn at random (Van Houdt, SIGMETRICS
//! 2013): close to greedy from about d = 10, without a scan.

use super::{Candidates, random};
use crate::sim::Rng;

/// The best of `choices` random candidates.
pub fn choose(candidates: &Candidates, choices: u32, rng: &mut Rng) -> Option<u32> {
    let drawn = (0..choices).filter_map(|_| random::choose(candidates, rng));
    drawn.min_by_key(|index| (candidates.valid(*index), *index))
}
