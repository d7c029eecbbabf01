//! The physics of a block: its rows are programmed once and in order, until an erase.

use super::{Block, Flash, WATCHED};
use crate::units::Ppn;

impl Flash {
    /// Rows programmed in `block`.
    pub fn rows_written(&self, block: Block) -> u32 {
        let pages = self.ends[block.0 as usize].0 - self.layout.first_page(block).0;
        pages / self.layout.units_per_row
    }

    /// `block` holds `rows` programmed rows.
    pub(super) fn set_rows_written(&mut self, block: Block, rows: u32) {
        self.ends[block.0 as usize] = self.layout.row_start(block, rows);
    }

    /// True when the page is programmed, or about to be.
    #[inline(always)]
    pub(super) fn is_written(&self, page: Ppn) -> bool {
        page < self.ends[self.layout.block_of(page).0 as usize]
    }

    /// The row is about to be programmed: next in its block, unless any order is allowed.
    #[inline(always)]
    pub(super) fn take_row<const WAY: u8>(&mut self, row: Ppn) {
        if WAY == WATCHED
            && let Some(spares) = &mut self.spares
        {
            spares.begins(row);
        }
        let block = self.layout.block_of(row);
        if WAY == WATCHED
            && self.ends[block.0 as usize] == self.layout.first_page(block)
            && let Some(slc) = self.timing.slc_mut()
            && slc.begins(&self.layout, row)
        {
            self.ends[block.0 as usize] = row;
        }
        let (end, behind) = (&mut self.ends[block.0 as usize], row.0 + self.layout.units_per_row);
        if self.any_order {
            *end = (*end).max(Ppn(behind));
            return;
        }
        assert!(
            *end == row,
            "{block:?} is programmed in order: the row at {row:?} is not at {end:?}"
        );
        *end = Ppn(behind);
    }

    /// Rows of a block may be programmed in any order (SLC parts of the classic FTLs), or passed
    /// over.
    pub fn allow_any_order(&mut self) {
        self.any_order = true;
    }
}
