//! The whole stripe is asked at once and the first k pages count: full-stripe reads as IODA's
//! sections on speculation compare them. Reads cost N times as much, and two busy members are
//! waited for.

use super::Strategy;

/// Asks everybody.
#[derive(Clone, Debug)]
pub(super) struct Proactive;

impl Strategy for Proactive {
    fn asks_all(&self) -> bool {
        true
    }
}
