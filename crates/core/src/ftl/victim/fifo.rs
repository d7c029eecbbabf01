//! FIFO: the block closed first, as a cyclic log does.

use super::Candidates;

/// The candidate closed first.
pub fn choose(candidates: &Candidates) -> Option<u32> {
    candidates.in_closing_order().next()
}
