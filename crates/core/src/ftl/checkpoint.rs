//! A checkpoint of the map: what was known when it was taken, and what of it still holds after a
//! power loss.
//!
//! It lists where each logical page lies, and of each block when it was opened and how many of its
//! rows the list vouches for: all of a closed block, those programmed so far of an open one, none
//! of a block that is being collected (what was copied out of it counts again if the power fails,
//! so a recovery looks at it itself) or that failed. A recovery reads the head of every block: one
//! that was opened at another time, or not at all, has been erased since, and what the list says of
//! it is void. What the list does not vouch for is scanned. (UBI's fastmap, Linux
//! `drivers/mtd/ubi/fastmap.c`, attaches in this way: a saved state, and a scan of the blocks that
//! may have been written since.)
//!
//! A place of four bytes has no number. A version that a scan finds with a number up to that of the
//! checkpoint may be older or newer than the listed one (it was in the write buffer then; it is a
//! copy): the spare area of the listed page is read to tell. One with a higher number is newer.
//! Deallocated pages have no place that could tell: their numbers are in the checkpoint, so the
//! journal up to it is not needed any more.
//!
//! Pages of a checkpoint that had not landed when its writing was cut are erased flash
//! ([`Checkpoint::tear`]): it is worthless.

use super::{PageMap, Stream};
use crate::flash::{Block, Flash, Layout, Spare};
use crate::units::{Lpn, Ppn};
use std::collections::BTreeMap;

/// Bytes of a logical page in a checkpoint: its place.
pub const CHECKPOINT_PLACE: u64 = 4;
/// Bytes of a block: when it was opened (8), and the rows that are vouched for (4).
pub const CHECKPOINT_BLOCK: u64 = 12;
/// Bytes of a deallocation: the logical page and its number, as in the journal.
pub const CHECKPOINT_TRIM: u64 = 16;

/// The map as it was, as far as it is on flash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Versions and deallocations up to this number were known.
    pub number: u64,
    /// By logical page.
    places: Vec<Ppn>,
    /// By block: when it was opened (0: it was not), and the rows that are vouched for.
    blocks: Vec<(u64, u32)>,
    /// Logical pages without a place, and the numbers of their deallocations.
    pub trims: BTreeMap<u32, u64>,
}

impl Checkpoint {
    /// Bytes on flash.
    pub fn bytes(&self) -> u64 {
        let lists = [self.places.len(), self.blocks.len(), self.trims.len()];
        [CHECKPOINT_PLACE, CHECKPOINT_BLOCK, CHECKPOINT_TRIM]
            .iter()
            .zip(lists)
            .map(|(each, n)| each * n as u64)
            .sum()
    }

    /// Of its pages of `page` bytes each, those that never landed: what they would hold is not
    /// there.
    pub fn tear(&mut self, page: u64, landed: &[bool]) {
        let is_there = |from: u64, each: u64| {
            landed[(from / page) as usize] && landed[((from + each - 1) / page) as usize]
        };
        let mut at = 0;
        for place in &mut self.places {
            *place = if is_there(at, CHECKPOINT_PLACE) { *place } else { Ppn::NONE };
            at += CHECKPOINT_PLACE;
        }
        for block in &mut self.blocks {
            *block = if is_there(at, CHECKPOINT_BLOCK) { *block } else { (0, 0) };
            at += CHECKPOINT_BLOCK;
        }
        self.trims.retain(|_, _| {
            at += CHECKPOINT_TRIM;
            is_there(at - CHECKPOINT_TRIM, CHECKPOINT_TRIM)
        });
    }

    /// Rows of a block that it vouches for; `opened` is when the block was, as its head says now.
    pub(super) fn vouched(&self, block: Block, opened: Option<u64>) -> u32 {
        match self.blocks[block.0 as usize] {
            (order, rows) if order != 0 && opened == Some(order) => rows,
            _ => 0,
        }
    }

    /// The listed places.
    pub(super) fn places(&self) -> impl Iterator<Item = (Lpn, Ppn)> + use<'_> {
        (0..).map(Lpn).zip(self.places.iter().copied()).filter(|(_, place)| place.is_some())
    }
}

/// The array reads that a recovery with a checkpoint needs, each by its first page, in the order in
/// which it can know of them.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// Rows of each block up to the first that says when the block was opened, or is erased.
    pub heads: Vec<Ppn>,
    /// Rows that the checkpoint does not vouch for, up to the first erased one, that one included.
    pub scan: Vec<Ppn>,
    /// Listed pages, to compare their numbers.
    pub listed: Vec<Ppn>,
    /// Blocks that hold something that the checkpoint does not vouch for.
    pub blocks: u32,
}

impl Reads {
    /// Adds those of a block that holds `rows` rows of which `vouched` need none.
    pub(super) fn look_at(&mut self, flash: &Flash, block: Block, rows: u32, vouched: u32) {
        let layout = &flash.layout;
        let says_nothing = |row: &u32| flash.spare(layout.row_start(block, *row)) == Spare::Torn;
        let heads = (0..layout.rows).take_while(says_nothing).count() as u32 + 1;
        let heads = heads.min(layout.rows);
        self.heads.extend((0..heads).map(|row| layout.row_start(block, row)));
        self.blocks += u32::from(rows > vouched);
        for row in vouched..rows {
            let start = layout.row_start(block, row).0;
            let reads =
                (start..start + layout.units_per_row).step_by(layout.units_per_read as usize);
            self.scan.extend(reads.skip(usize::from(row < heads)).map(Ppn));
        }
        if (heads..layout.rows).contains(&rows) {
            self.scan.push(layout.row_start(block, rows));
        }
    }

    /// Adds that of a listed page.
    pub(super) fn compare(&mut self, layout: &Layout, page: Ppn) {
        self.listed.push(Ppn(page.0 - page.0 % layout.units_per_read));
    }
}

impl PageMap {
    /// The map as it is on flash now. Numbers up to `number` are given; `trims` are all
    /// deallocations, also those that are not on flash.
    pub fn checkpoint(&self, flash: &Flash, number: u64, trims: &BTreeMap<u32, u64>) -> Checkpoint {
        let places: Vec<Ppn> = self.mapping.table().iter().copied().map(Ppn).collect();
        let headers = self.headers().expect("a drive that recovers keeps them");
        let blocks = (0..self.layout.total_blocks()).map(Block);
        let blocks = blocks
            .map(|block| (headers.order(block), self.rows_to_vouch_for(flash, block)))
            .collect();
        let has_none = |lpn: u32| !places[lpn as usize].is_some();
        let trims = trims
            .iter()
            .filter(|(lpn, _)| has_none(**lpn))
            .map(|(lpn, number)| (*lpn, *number))
            .collect();
        Checkpoint { number, places, blocks, trims }
    }

    /// Rows whose pages the map has taken note of.
    fn rows_to_vouch_for(&self, flash: &Flash, block: Block) -> u32 {
        let (lane, index) = (self.layout.lane_of(block), self.layout.index_of(block));
        let logs = &self.pools[self.pool_of(lane).index()].logs[0];
        let is_open = [Stream::Host, Stream::Copy].iter().any(|stream| {
            let open = &logs[*stream as usize].open;
            open.iter().any(|group| group.index == index && !group.is_given_up)
        });
        if !self.blocks.is_candidate(block) && !is_open {
            return 0;
        }
        // The program of a row without a legible page is under way, or has failed.
        let is_under_way = |row: u32| flash.spare(self.layout.row_start(block, row)) == Spare::Torn;
        let mut rows = flash.rows_written(block);
        while rows > 0 && is_under_way(rows - 1) {
            rows -= 1;
        }
        rows
    }
}
