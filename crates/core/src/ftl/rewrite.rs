//! Room for a page that is written anew where nobody asked for it: the rewrite of a page that held too many bit errors.
//!
//! A rewrite takes a row of the host's stream, never one of the collector's reserve, and none that a row of the host,
//! placed already, counts on. It leaves the drive as a host's write of the same page would have left it.

use super::{PageMap, Stream};

impl PageMap {
    /// True when `lane` has a row of the host's stream to spare, with `waiting` rows on their way there and one that
    /// gathers. Lanes that are reclaimed together open their blocks together: there it must be one of the open block.
    pub fn has_row_to_spare(&self, lane: u32, waiting: u32) -> bool {
        let (pool, layout) = (&self.pools[self.by_pool.quotient(lane) as usize], &self.layout);
        let rows = if pool.shared {
            pool.units_above_reserve(layout) / layout.units_per_row
        } else {
            let frontier = &self.frontiers[lane as usize][Stream::Host as usize];
            let blocks = if pool.lanes == 1 { pool.host_blocks_left(frontier.opened) } else { 0 };
            layout.rows - frontier.row + blocks * layout.rows
        };
        rows >= waiting + 2
    }
}
