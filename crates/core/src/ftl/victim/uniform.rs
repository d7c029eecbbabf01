//! Uniform: any candidate, whatever it holds, as the closed form of random victims has it (Van
//! Houdt, SIGMETRICS 2013, d-choices with d = 1): a victim is as full as the average block, so
//! that one without stale pages is copied whole and frees nothing. `random` replaces such a one.
//!
//! A collector that only drew full blocks would never end, so where no block frees anything none is
//! chosen, after [`FRUITLESS`] in a row greedy's is, and so it is where the copies of a full one
//! would find no room.

use super::{Candidates, greedy, random};
use crate::sim::Rng;

/// Victims in a row that free nothing. Where one block in eleven is full, as at 15 % of spare
/// space, so many come once in 10^66 victims: the bound is no part of the law.
const FRUITLESS: u32 = 64;

/// A candidate drawn uniformly.
pub fn choose(candidates: &Candidates, rng: &mut Rng, fruitless: &mut u32) -> Option<u32> {
    let drawn = random::choose(candidates, rng)?;
    if candidates.gains(drawn) {
        *fruitless = 0;
        return Some(drawn);
    }
    let best = greedy::choose(candidates).filter(|best| candidates.gains(*best))?;
    if *fruitless == FRUITLESS || !candidates.has_room() {
        *fruitless = 0;
        return Some(best);
    }
    *fruitless += 1;
    Some(drawn)
}
