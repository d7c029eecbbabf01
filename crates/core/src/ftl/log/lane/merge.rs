//! Merges of a lane, as steps: pages are gathered in their places, then the blocks that they left
//! are erased.

use super::{LaneState, NO_BLOCK};
use crate::flash::Block;
use crate::ftl::log::Step;
use crate::ftl::recovery::Role;
use crate::units::Ppn;

/// The kinds of merges that make a data block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ftl::log) enum Merge {
    /// The log block holds every page in its place: it becomes the data block.
    Switch,
    /// The log block holds the first pages in their places; the others are copied there.
    Partial,
    /// All pages are copied to a free block.
    Full,
}

/// Copying of a range of a data block's pages to their own places in another block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gathering {
    lbn: u32,
    into: Block,
    /// Offsets from here to the end are still to be looked at.
    cursor: u32,
    end: u32,
    /// This offset is programmed with the host's page, not copied.
    host: Option<u32>,
    /// At the end `into` becomes the data block and the old one is erased.
    becomes_data: bool,
}

impl LaneState {
    /// A full merge of `lbn`, with the host's page in place of its old version when `host`. `log`
    /// is erased at the end, if given.
    pub fn merge_full(&mut self, lbn: u32, host: bool, log: Option<Block>) {
        let into = self.take(Role::Data);
        self.count(Merge::Full);
        self.gather(lbn, into, 0, self.pages, host, true);
        if let Some(log) = log {
            self.bury(log);
        }
    }

    /// All pages of `lbn` move to `into`, which becomes its data block; no merge of the log.
    pub fn move_data_block(&mut self, lbn: u32, into: Block) {
        self.gather(lbn, into, 0, self.pages, false, true);
    }

    /// A log block that holds the first pages of `lbn` in their places becomes its data block.
    pub fn merge_into(&mut self, lbn: u32, log: Block, host: bool) {
        let from = self.written(log);
        self.count(if from == self.pages { Merge::Switch } else { Merge::Partial });
        self.gather(lbn, log, from, self.pages, host, true);
    }

    /// Copies the pages of `lbn` before `end` to a log block; no merge.
    pub fn copy_front(&mut self, lbn: u32, log: Block, end: u32) {
        self.gather(lbn, log, 0, end, false, false);
    }

    fn gather(
        &mut self,
        lbn: u32,
        into: Block,
        cursor: u32,
        end: u32,
        host: bool,
        becomes_data: bool,
    ) {
        debug_assert!(self.gathering.is_none(), "one merge at a time");
        let host = host.then(|| self.split(self.host).1);
        self.gathering = Some(Gathering { lbn, into, cursor, end, host, becomes_data });
    }

    pub fn count(&mut self, kind: Merge) {
        let counters = &mut self.counters;
        match kind {
            Merge::Switch => counters.switch_merges += 1,
            Merge::Partial => counters.partial_merges += 1,
            Merge::Full => counters.full_merges += 1,
        }
        self.merges += 1;
    }

    /// A block without valid pages, erased after the merge under way.
    fn bury(&mut self, block: Block) {
        let place = self
            .dead
            .iter_mut()
            .find(|dead| **dead == NO_BLOCK)
            .expect("a merge leaves two dead blocks at most");
        *place = block;
    }

    /// The step given out and not done, or the next one of the merge under way.
    #[inline]
    pub fn resume(&mut self) -> Option<Step> {
        if self.pending.is_some() {
            return self.pending;
        }
        if let Some(gathering) = &mut self.gathering {
            let first = gathering.lbn * self.pages;
            while gathering.cursor < gathering.end {
                let offset = gathering.cursor;
                gathering.cursor += 1;
                let to = Ppn(gathering.into.0 * self.pages + offset);
                if gathering.host == Some(offset) {
                    return self.give(Step::Program { page: self.host, to });
                }
                let from = self.location[(first + offset) as usize];
                if from.is_some() {
                    debug_assert!(
                        self.by_block.quotient(from.0) != gathering.into.0,
                        "already in its place"
                    );
                    return self.give(Step::Copy { from, to });
                }
            }
            let Gathering { lbn, into, becomes_data, .. } = *gathering;
            self.gathering = None;
            if becomes_data {
                let old = std::mem::replace(&mut self.data[lbn as usize], into);
                if old != NO_BLOCK {
                    self.bury(old);
                }
            }
        }
        let dead = self.dead.iter_mut().find(|dead| **dead != NO_BLOCK)?;
        let block = std::mem::replace(dead, NO_BLOCK);
        self.give(Step::Erase { block })
    }
}
