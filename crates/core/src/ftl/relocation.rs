//! The chain of copies of one lane: where it is in its victim's block, what it has read and what is
//! on its way.

use super::{CLASSES_MAX, Mapping};
use crate::flash::{Block, Layout};
use crate::units::{Lpn, Ppn};

/// Pages ahead of a chain whose maps are asked for.
const HINTS: u32 = 24;

/// A page on its way: from where, which, and its content.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving {
    pub from: Ppn,
    pub lpn: Lpn,
    pub version: u32,
    pub class: u32,
}

/// The chain of one lane's victim block.
#[derive(Clone, Debug)]
pub(super) struct Relocation {
    pub block: Block,
    /// Pages before this one are read.
    pub cursor: u32,
    /// Pages before this one have been hinted to the processor.
    hinted: u32,
    pub end: u32,
    /// The array read under way covers `cursor_before..cursor`.
    pub cursor_before: u32,
    /// The class of the victim, and that of the row being programmed.
    pub from_class: u32,
    pub class: u32,
    /// Read, not yet programmed.
    pub staged: Vec<Moving>,
    /// In the row being programmed.
    pub writing: Vec<Moving>,
    /// Everything is copied; the erase waits for the other lanes.
    pub copied: bool,
}

impl Relocation {
    pub fn new(layout: &Layout) -> Self {
        Self {
            block: Block(0),
            cursor: 0,
            hinted: 0,
            end: 0,
            cursor_before: 0,
            from_class: 0,
            class: 0,
            staged: Vec::with_capacity((layout.units_per_row + layout.units_per_read) as usize),
            writing: Vec::with_capacity(layout.units_per_row as usize),
            copied: false,
        }
    }

    pub fn begin(&mut self, block: Block, layout: &Layout) {
        debug_assert!(self.staged.is_empty() && self.writing.is_empty());
        let first = layout.first_page(block).0;
        (self.block, self.cursor, self.hinted, self.copied) = (block, first, first, false);
        self.end = first + layout.units_per_block;
    }

    /// The class that most of what is staged belongs to, the lowest of equals, and how many pages
    /// that are.
    pub fn fullest(&self) -> (u32, usize) {
        let mut pages = [0; CLASSES_MAX];
        self.staged.iter().for_each(|moving| pages[moving.class as usize] += 1);
        let most = pages.iter().copied().max().unwrap_or(0);
        (pages.iter().position(|count| *count == most).unwrap_or(0) as u32, most)
    }

    /// Fills the next row with pages of `class`, in the order in which they were read, and with
    /// others behind them when those do not fill it.
    pub fn take_row_of(&mut self, class: u32, row: usize) {
        self.class = class;
        let Self { staged, writing, .. } = self;
        for others in [false, true] {
            staged.retain(|moving| {
                let goes = writing.len() < row && (others || moving.class == class);
                if goes {
                    writing.push(*moving);
                }
                !goes
            });
        }
    }

    /// The victim.
    pub fn block(&self) -> Block {
        self.block
    }

    /// The page is read next, alone.
    #[inline]
    pub fn reads_page(&mut self, page: u32, mapping: &Mapping) {
        (self.cursor_before, self.cursor) = (page, page + 1);
        self.hint(mapping);
    }

    /// The maps of the pages that come next are asked for now: their entries are scattered over
    /// memory.
    #[inline]
    pub fn hint(&mut self, mapping: &Mapping) {
        let end = self.end.min(self.cursor + HINTS);
        for page in (self.hinted..end).map(Ppn) {
            if mapping.is_valid(page) {
                mapping.prefetch(mapping.logical_of(page));
            }
        }
        self.hinted = self.hinted.max(end);
        mapping.prefetch_logical(Ppn(self.hinted + HINTS));
    }

    /// The chain ends here; what it has read stays where it is.
    pub fn stop(&mut self) {
        self.staged.clear();
        self.writing.clear();
        (self.cursor, self.copied) = (self.end, true);
    }
}
