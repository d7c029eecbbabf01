//! The scan: the winner of each logical page, from spare areas and the checkpoint.

use super::{Evidence, Role};
use crate::flash::{Block, Spare};
use crate::ftl::{Checkpoint, Reads};
use crate::units::Ppn;

/// The winner of each logical page, and another page with the same content.
pub(in crate::ftl) struct Found {
    pub winner: Vec<Ppn>,
    pub other: Vec<Ppn>,
    pub legible: Vec<bool>,
    pub newest: u64,
    pub torn_rows: u32,
    pub illegible: u32,
    pub reads: Option<Reads>,
    sequences: Vec<u64>,
}

impl Evidence<'_> {
    pub(super) fn pages(&self, block: Block) -> impl Iterator<Item = Ppn> + use<> {
        let first = self.flash.layout.first_page(block).0;
        (first..first + self.rows(block) * self.flash.layout.units_per_row).map(Ppn)
    }

    pub(super) fn rows(&self, block: Block) -> u32 {
        if self.out[block.0 as usize] { 0 } else { self.flash.rows_written(block) }
    }

    /// When the block was opened and what for, as its pages say.
    pub(in crate::ftl) fn header(&self, block: Block) -> Option<(u64, Role)> {
        let intact =
            |page: Ppn| matches!(self.flash.spare(page), Spare::Padding | Spare::Data { .. });
        let order = self.headers.orders[block.0 as usize];
        self.pages(block).any(intact).then_some((order, self.headers.roles[block.0 as usize]))
    }

    pub(super) fn scan(&self, logical: u32) -> Found {
        let layout = &self.flash.layout;
        let none = || vec![Ppn::NONE; logical as usize];
        let mut found = Found {
            winner: none(),
            other: none(),
            legible: vec![false; layout.total_blocks() as usize],
            newest: self.trims.values().copied().max().unwrap_or(0),
            torn_rows: 0,
            illegible: 0,
            reads: self.checkpoint.map(|_| Reads::default()),
            sequences: vec![0; logical as usize],
        };
        let vouched: Vec<u32> =
            (0..layout.total_blocks()).map(|block| self.vouched(Block(block))).collect();
        let mut blocks: Vec<(u64, Block)> = Vec::new();
        for block in
            (0..layout.total_blocks()).map(Block).filter(|block| !self.out[block.0 as usize])
        {
            let (rows, vouched) = (self.rows(block), vouched[block.0 as usize]);
            if let Some(reads) = &mut found.reads {
                reads.look_at(self.flash, block, rows, vouched);
            }
            match self.header(block) {
                Some((order, _)) => blocks.push((order, block)),
                None => found.illegible += u32::from(rows > 0),
            }
            let is_torn =
                |row: &u32| self.flash.spare(layout.row_start(block, *row)) == Spare::Torn;
            let torn = (vouched..rows).filter(is_torn).count() as u32;
            found.torn_rows += if torn == layout.rows { 0 } else { torn };
        }
        blocks.sort_unstable();
        for (_, block) in blocks {
            found.legible[block.0 as usize] = true;
            let vouched = vouched[block.0 as usize] * layout.units_per_row;
            for page in self.pages(block).skip(vouched as usize) {
                let Spare::Data { lpn, sequence } = self.flash.spare(page) else { continue };
                let at = lpn.0 as usize;
                found.newest = found.newest.max(sequence);
                if found.winner[at] == Ppn::NONE || sequence > found.sequences[at] {
                    (found.winner[at], found.other[at], found.sequences[at]) =
                        (page, Ppn::NONE, sequence);
                } else if sequence == found.sequences[at] {
                    found.other[at] = page;
                }
            }
        }
        let mut trims = self.trims.clone();
        if let Some(checkpoint) = self.checkpoint {
            self.add_listed(checkpoint, &vouched, &mut found);
            // The journal up to it is not read.
            trims.retain(|_, number| *number > checkpoint.number);
            for (lpn, number) in &checkpoint.trims {
                trims.entry(*lpn).or_insert(*number);
            }
        }
        for (lpn, trimmed) in trims {
            if trimmed > found.sequences[lpn as usize] {
                (found.winner[lpn as usize], found.other[lpn as usize]) = (Ppn::NONE, Ppn::NONE);
            }
        }
        found
    }

    /// Rows of a block that the checkpoint vouches for.
    fn vouched(&self, block: Block) -> u32 {
        // A block that is out of service says nothing: nobody looks.
        let opened = || self.header(block).map(|(order, _)| order);
        self.checkpoint.map_or(0, |checkpoint| checkpoint.vouched(block, opened()))
    }

    /// Adds the pages that the checkpoint lists and still vouches for to those scanned.
    fn add_listed(&self, checkpoint: &Checkpoint, vouched: &[u32], found: &mut Found) {
        let layout = &self.flash.layout;
        found.newest = found.newest.max(checkpoint.number);
        let order = |page: Ppn| self.headers.orders[layout.block_of(page).0 as usize];
        for (lpn, page) in checkpoint.places() {
            let (block, at) = (layout.block_of(page), lpn.0 as usize);
            if layout.row_of(page) >= vouched[block.0 as usize] {
                continue;
            }
            let scanned = found.winner[at];
            if scanned == Ppn::NONE {
                // Its number is not known; no deallocation that is read is older than the
                // checkpoint.
                (found.winner[at], found.sequences[at]) = (page, checkpoint.number);
            } else if found.sequences[at] <= checkpoint.number {
                found.reads.as_mut().expect("there is a checkpoint").compare(layout, page);
                // An illegible one counts no more.
                let Spare::Data { sequence, .. } = self.flash.spare(page) else { continue };
                if sequence > found.sequences[at] {
                    (found.winner[at], found.other[at], found.sequences[at]) =
                        (page, Ppn::NONE, sequence);
                } else if sequence == found.sequences[at] {
                    let mut places = [scanned, found.other[at], page];
                    places.sort_unstable_by_key(|place| {
                        if place.is_some() { order(*place) } else { u64::MAX }
                    });
                    let last = if places[2].is_some() { places[2] } else { places[1] };
                    (found.winner[at], found.other[at]) = (places[0], last);
                }
            }
        }
        if let Some(Reads { listed, .. }) = &mut found.reads {
            listed.sort_unstable();
            listed.dedup();
        }
    }
}
