//! Room for a page that is written anew where nobody asked for it: the rewrite of a page that held
//! too many bit errors.
//!
//! A rewrite takes a row of the host's stream, never one of the collector's reserve, and none that
//! a row of the host, placed already, counts on. It leaves the drive as a host's write of the same
//! page would have left it. With classes of data (`classes`) it stays in its class, or goes to the
//! host's last one if the host does not write its class.

use super::{PageMap, Stream};
use crate::flash::Block;
use crate::units::Lane;

impl PageMap {
    /// The class of a page of `block` that is written anew.
    pub fn class_of_rewrite(&self, block: Block) -> u32 {
        self.classes.as_ref().map_or(0, |classes| classes.of_rewrite(block))
    }

    /// True when `lane` has a row of the host's stream and `class` to spare, with `waiting` rows on
    /// their way there and one that gathers. Lanes that are reclaimed together open their blocks
    /// together: there it must be one of the open block.
    pub fn has_row_to_spare(&self, lane: Lane, class: u32, waiting: u32) -> bool {
        let class = if self.pslc.is_some() { self.main_class() } else { class };
        let (pool, layout) = (&self.pools[self.pool_of(lane).index()], &self.layout);
        let rows = if pool.shared {
            pool.units_above_reserve(layout) / layout.units_per_row
        } else {
            let frontier = &self.frontiers[self.frontier_at(lane, class)][Stream::Host as usize];
            let blocks =
                if pool.lanes == 1 { pool.host_blocks_left(class, frontier.opened) } else { 0 };
            layout.rows - frontier.row + blocks * layout.rows
        };
        rows >= waiting + 2
    }
}
