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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::strategy::direct::Direct;
    use crate::units::{Instant, Member};

    #[test]
    fn the_whole_stripe_is_asked_at_once_and_nobody_is_avoided() {
        assert!(Proactive.asks_all() && !Direct.asks_all());
        assert_eq!(Proactive.avoids(Instant::START, Member(1)), None);
    }
}
