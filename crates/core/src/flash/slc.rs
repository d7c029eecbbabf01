//! Blocks that hold one bit a cell (pseudo-SLC): which they are now, and their times.
//!
//! A word line of b bits a cell holds b pages, or one. A block in this mode has one row in b; here
//! these are its last ones, so that a block is full at its last row in either mode. A program that
//! begins an erased block at that row begins it in this mode, which ends with its erase.
//!
//! A row covers the pages of a word line that one program takes (`feature.program_pages`). In this
//! mode these lie on as many word lines, which are programmed one after the other in one operation:
//! their data crosses the channel before the first of them.

use super::{Block, Layout};
use crate::units::{Duration, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The use of a block with one bit a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlcTiming {
    /// Bits of a cell otherwise: in this mode a block holds one page in so many.
    pub bits: u32,
    /// tR.
    pub read: Duration,
    /// tPROG of a word line, over the planes that one program covers.
    pub program: Duration,
}

impl SlcTiming {
    /// Rows of a block in this mode.
    pub fn rows(&self, rows: u32) -> u32 {
        rows / self.bits.max(1)
    }
}

/// The times of this mode, and the blocks that are in it.
#[derive(Clone, Debug)]
pub(super) struct Slc {
    pub read: Duration,
    /// Of a row.
    pub program: Duration,
    first_row: u32,
    /// A bit a block.
    blocks: Vec<u64>,
}

impl Slc {
    pub fn new(times: &SlcTiming, program_pages: u32, layout: &Layout) -> Self {
        Self {
            read: times.read,
            program: times.program * u64::from(program_pages),
            first_row: layout.rows - times.rows(layout.rows),
            blocks: vec![0; layout.total_blocks().div_ceil(64) as usize],
        }
    }

    /// True when `block` holds one bit a cell.
    #[inline]
    pub fn has(&self, block: Block) -> bool {
        self.blocks[block.0 as usize / 64] >> (block.0 % 64) & 1 == 1
    }

    /// The program of `row` is the first one of its erased block: true where it begins the block in
    /// this mode.
    pub fn begins(&mut self, layout: &Layout, row: Ppn) -> bool {
        let begins = layout.row_of(row) == self.first_row;
        if begins {
            let block = layout.block_of(row).0;
            self.blocks[block as usize / 64] |= 1 << (block % 64);
        }
        begins
    }

    /// `block` is erased.
    pub fn erased(&mut self, block: Block) {
        self.blocks[block.0 as usize / 64] &= !(1 << (block.0 % 64));
    }

    /// The blocks that are in this mode, where times change under them.
    pub fn take_blocks(&mut self, from: Self) {
        self.blocks = from.blocks;
    }
}
