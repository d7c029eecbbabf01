//! The marks at which pools begin to collect, and at which they must.

use super::PageMap;
use crate::ftl::GcSpec;

impl PageMap {
    /// Takes the marks of `gc`; where GC is `paused`, the soft marks lie at the hard ones.
    pub fn set_marks(&mut self, gc: &GcSpec, paused: bool) {
        let (rows, lanes) = (f64::from(self.layout.rows), self.pools[0].lanes);
        let units = self.layout.units_per_lane() * lanes;
        let hard_rows = gc.last_block_hard.min(gc.last_block_soft);
        let mut soft_units = gc.soft.units(units);
        self.hard_units = gc.hard.units(units);
        self.soft_blocks = gc.soft.blocks().unwrap_or(0);
        self.hard_blocks = gc.hard.blocks().map_or(0, |blocks| blocks + 1);
        self.last_rows_soft = (gc.last_block_soft * rows) as u32;
        self.last_rows_hard = (hard_rows * rows) as u32;
        if paused {
            soft_units = self.hard_units + 1;
            self.soft_blocks = self.hard_blocks;
            self.last_rows_soft = self.last_rows_hard;
        }
        self.pools.iter_mut().for_each(|pool| pool.soft_units = soft_units);
    }
}
