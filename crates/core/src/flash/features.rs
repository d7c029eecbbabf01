//! Which features look at single operations: asked once, when one comes in, and not on the way.

use super::Flash;

impl Flash {
    /// A feature came in, or may have: decides anew whether operations take the way on which
    /// nothing looks at them (`LEAN` in `execute`).
    pub(super) fn look_for_features(&mut self) {
        let observed = self.blame.is_some() || self.activity.is_some() || self.spares.is_some();
        let watched = self.watches_channels || self.watches_loads || self.reports_waits;
        let other = self.cache_read || self.suspends_erases || self.slots.is_some();
        let senses_again = self.retries.is_some();
        let modes = self.timing.uses_slc();
        self.is_lean = !(observed || watched || other || senses_again || modes);
    }
}
