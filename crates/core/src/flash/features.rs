//! Which features look at single operations: asked once, when one comes in, and not on the way.

use super::Flash;

/// Nothing looks at single operations.
pub const LEAN: u8 = 0;
/// Books are kept of their waits (`blame`), and nothing else looks at them.
pub const BOOKED: u8 = 1;
/// Any feature may look at them.
pub const WATCHED: u8 = 2;

impl Flash {
    /// A feature came in, or may have: decides anew which way operations take (`WAY` in `execute`,
    /// one of the above).
    pub(super) fn look_for_features(&mut self) {
        let observed = self.activity.is_some() || self.spares.is_some();
        let watched = self.watches_channels || self.watches_loads || self.reports_waits;
        let other = self.cache_read || self.suspends_erases || self.slots.is_some();
        let senses_again = self.retries.is_some();
        let modes = self.timing.uses_slc();
        self.way = match observed || watched || other || senses_again || modes {
            true => WATCHED,
            false if self.blame.is_some() => BOOKED,
            false => LEAN,
        };
    }
}
