//! Windowed greedy: greedy among the `window` blocks closed first (Hu et al., SYSTOR 2009): young
//! blocks are left to go stale.

use super::Candidates;

/// The candidate with the fewest valid pages among the `window` closed first; the one closed
/// earlier breaks ties.
pub fn choose(candidates: &Candidates, window: u32) -> Option<u32> {
    let oldest = candidates.in_closing_order().take(window as usize);
    oldest.min_by_key(|index| candidates.valid(*index).unwrap_or(u32::MAX))
}
