//! The physics of a block: its rows are programmed once and in order, until an erase.

use super::Flash;
use crate::units::Ppn;

impl Flash {
    /// The row is about to be programmed: next in its block, unless any order is allowed.
    #[inline(always)]
    pub(super) fn take_row<const LEAN: bool>(&mut self, row: Ppn) {
        if !LEAN && let Some(spares) = &mut self.spares {
            spares.begins(row);
        }
        let (block, row) = (self.layout.block_of(row), self.layout.row_of(row));
        let next = &mut self.rows_written[block.0 as usize];
        if self.any_order {
            *next = (*next).max(row as u16 + 1);
            return;
        }
        assert!(
            u32::from(*next) == row,
            "block {block:?} is programmed in order: row {row} follows {next} rows"
        );
        *next += 1;
    }

    /// Rows of a block may be programmed in any order (SLC parts of the classic FTLs), or passed
    /// over.
    pub fn allow_any_order(&mut self) {
        self.any_order = true;
    }
}
