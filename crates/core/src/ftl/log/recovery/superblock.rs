//! A lane of the superblock FTL after a power loss.
//!
//! A block belongs to the superblock of any page in it. One that was opened as a D-block is one
//! again if each of its pages is in its place and none of its logical block counts elsewhere whose
//! place is erased: it takes such a page's first write only. All others with room are open. How
//! often a page was updated and which block holds a front are lost, and so are the tables in RAM.
//!
//! Copying together that was cut may leave a block more than the superblock may have. It is done
//! again then, into one block after the other: with `j` sources begun these are `j` at most, and
//! all sources but one are erased, so one free block is enough. One is free at the cut: what counts
//! in the targets was in `j - 1` sources, which are erased, and lies in `j` targets at most; there
//! are two blocks to spare.

use super::{Scanned, carry_out, erase};
use crate::flash::Block;
use crate::ftl::log::superblock::{Group, Superblock};
use crate::ftl::log::{Policy, Step};
use crate::ftl::recovery::{Repair, Role};
use crate::units::Lpn;

impl Superblock {
    /// The lane is fresh: takes over what a scan found, and says what must be done on flash for it,
    /// and how many superblocks were copied together.
    pub(super) fn rebuild(&mut self, scanned: &Scanned) -> (Vec<Repair>, u32) {
        let (mut repairs, mut in_use) = (Vec::new(), Vec::new());
        for (block, header) in scanned.take_over(self.lane_mut()) {
            match header {
                Some((order, role)) if self.lane().valid(block) > 0 => {
                    in_use.push((order, block, role));
                }
                _ => erase(self, block, &mut repairs),
            }
        }
        in_use.sort_unstable_by_key(|(order, ..)| *order);
        let mut drew = Vec::new();
        for (_, block, role) in in_use {
            self.lane_mut().set_role(block, role);
            let Some(number) = self.number(block) else { continue };
            let home = self.home(block).filter(|_| role == Role::Data);
            self.found(number, block, home);
            drew.retain(|other| *other != number);
            drew.push(number);
        }
        self.found_all();
        let mut copied = 0;
        while let Some(number) = self.too_large() {
            copied += 1;
            self.copy_together(number, &mut repairs);
        }
        drew.into_iter().for_each(|number| self.settle(number));
        (repairs, copied)
    }

    /// A block is the superblock's, opened behind those that it has: a D-block of `home`, or one of
    /// any pages.
    fn found(&mut self, number: u32, block: Block, home: Option<u32>) {
        let group = &mut self.groups[number as usize];
        group.blocks.push(block);
        match home {
            Some(lbn) => {
                self.home_of[block.0 as usize] = lbn;
                self.lane.set_data(lbn, block);
            }
            None if self.lane.has_room(Some(block)) => group.open.push(block),
            None => {}
        }
    }

    /// All blocks were found: a logical block with pages that count gets no D-block of its own any
    /// more.
    fn found_all(&mut self) {
        for lbn in 0..self.lane.logical_blocks() {
            let mut pages = (0..self.lane.pages).map(|offset| Lpn(lbn * self.lane.pages + offset));
            self.placed[lbn as usize] = pages.any(|page| self.lane.translate(page).is_some());
        }
    }

    /// The superblock of a logical page.
    fn number_of(&self, page: Lpn) -> u32 {
        self.lane.split(page).0 / self.size
    }

    /// A superblock with more blocks than it may have: more U-blocks than any, or, where all have
    /// drawn more than the pool holds, the one that drew most.
    fn too_large(&self) -> Option<u32> {
        let drawn = |group: &Group| (group.blocks.len() as u32).saturating_sub(group.own);
        let (number, most) =
            (0..).zip(self.groups.iter().map(drawn)).max_by_key(|(_, drawn)| *drawn)?;
        let all: u32 = self.groups.iter().map(drawn).sum();
        (most > self.updates_max || all > self.drawable).then_some(number)
    }

    /// A superblock's blocks are about to be copied and erased; it has none.
    fn give_up_blocks(&mut self, number: u32) -> Vec<Block> {
        let blocks = std::mem::take(&mut self.groups[number as usize].blocks);
        blocks.iter().for_each(|block| self.close(number, *block));
        blocks
    }

    /// The superblock of the pages in a block.
    fn number(&self, block: Block) -> Option<u32> {
        let mut pages = (0..self.lane().pages).map(|offset| self.lane().page(block, offset));
        pages.find_map(|at| self.lane().valid_page(at)).map(|page| self.number_of(page))
    }

    /// The logical block whose D-block this one can be.
    fn home(&self, block: Block) -> Option<u32> {
        let lane = self.lane();
        let pages = || (0..lane.pages).map(|offset| (offset, lane.page(block, offset)));
        let first = pages().find_map(|(_, at)| lane.valid_page(at))?;
        let lbn = lane.split(first).0;
        let fits = |(offset, at)| match lane.valid_page(at) {
            Some(page) => lane.split(page) == (lbn, offset),
            None => {
                let page = Lpn(lbn * lane.pages + offset);
                lane.is_programmed(at) || lane.translate(page).is_none()
            }
        };
        (lane.data_block(lbn).is_none() && pages().all(fits)).then_some(lbn)
    }

    /// Copies all pages of a superblock to free blocks, one after the other.
    fn copy_together(&mut self, number: u32, repairs: &mut Vec<Repair>) {
        let mut target = None;
        for source in self.give_up_blocks(number) {
            for offset in 0..self.lane().written(source) {
                let from = self.lane().page(source, offset);
                if self.lane().valid_page(from).is_none() {
                    continue;
                }
                let open = match target.filter(|open| self.lane().has_room(Some(*open))) {
                    Some(open) => open,
                    None => {
                        let taken = self.lane_mut().take(Role::Log);
                        self.found(number, taken, None);
                        *target.insert(taken)
                    }
                };
                let to = self.lane().append(open);
                self.lane_mut().give(Step::Copy { from, to });
                carry_out(self, repairs);
            }
            erase(self, source, repairs);
        }
    }
}
