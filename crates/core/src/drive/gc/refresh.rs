//! Refresh: a block whose reads take too many retries is collected, whatever the victim policy
//! would say, so that its data is young again.
//!
//! Age, wear and disturbance all show in the number of retries, so that one limit
//! (`retry.refresh_at`) finds blocks that are old and blocks that are read too often. A read finds
//! them: the host's, a collection's, or the scrubber's, which finds blocks that nobody else reads
//! (`scrub.rate`). The copies are a GC run like any other: the GC mode says what it blocks, the WAF
//! counts it. A pool refreshes one block at a time, and not while it is urgent; a block that must
//! wait is found again by its next read.

use crate::drive::Drive;
use crate::flash::Block;
use crate::units::Instant;

impl Drive {
    /// The reads of `block` take too many retries: its pool collects it next, if it may.
    #[inline(never)]
    pub(in crate::drive) fn refresh(&mut self, now: Instant, block: Block) {
        let pool = self.ftl.pool_of(self.flash.layout.lane_of(block));
        if self.ftl.is_urgent(pool) || self.ftl.is_collecting(pool) {
            return;
        }
        if let Some(units) = self.ftl.choose_next(block) {
            self.counters.retry.refreshed_blocks += 1;
            self.counters.retry.refreshed_units += u64::from(units);
            self.space_used(now, pool);
        }
    }
}
