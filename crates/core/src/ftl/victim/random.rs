//! Random: any candidate, uniformly; the plainest wear levelling.

use super::Candidates;
use crate::sim::Rng;

/// Draws that may miss before the candidates are listed: a miss is a free or an open block.
const TRIES: u32 = 64;

/// A candidate drawn uniformly.
pub fn choose(candidates: &Candidates, rng: &mut Rng) -> Option<u32> {
    for _ in 0..TRIES {
        let index = rng.below(u64::from(candidates.count())) as u32;
        if candidates.valid(index).is_some() {
            return Some(index);
        }
    }
    let all: Vec<u32> =
        (0..candidates.count()).filter(|index| candidates.valid(*index).is_some()).collect();
    (!all.is_empty()).then(|| all[rng.below(all.len() as u64) as usize])
}
