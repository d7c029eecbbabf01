//! Checkpoints of the map: when one is taken, how it comes to flash, and which one a recovery may
//! trust.
//!
//! One is due when `recovery.checkpoint_every` bytes have been programmed since the last one began,
//! for whatever cause, so what a recovery must scan is bounded; and when the drive is back from a
//! power loss. (UBI's fastmap, too, is written anew when a number of blocks has been used up, not
//! by the clock: Linux `drivers/mtd/ubi/fastmap.c`.) It is taken at one instant and copied aside in
//! DRAM; then its pages, a row each, are programmed into the system area, one on each die at a
//! time, so a command waits for at most one. The last page, programmed when all the others are on
//! flash, says that it is whole.
//!
//! There are two places, written in turn: a power loss in the midst of one leaves the other. A run
//! begins with a whole one, as an orderly shutdown leaves it.

use crate::drive::Drive;
use crate::drive::crash::recovery::Kept;
use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::ftl::Checkpoint;
use crate::units::{Bytes, Die, Instant, Ppn};

/// A checkpoint in its place in the system area.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) checkpoint: Checkpoint,
    /// Sequence number of this checkpoint.
    count: u64,
    /// Of its pages, which are on flash; the last one says that it is whole.
    pub(super) landed: Vec<bool>,
    /// Pages of the journal that were on flash, or on their way, when it was taken.
    journal_pages: u64,
}

impl Place {
    pub(super) fn is_whole(&self) -> bool {
        self.landed.last() == Some(&true)
    }
}

/// The checkpoints of a drive.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Checkpoints {
    every: u64,
    pub(super) places: [Option<Place>; 2],
    /// Which of them is being written.
    pub(super) writing: Option<usize>,
    /// Its next page, and how many are on flash.
    next_page: u32,
    pub(super) pages_done: u32,
    /// The write clock when the last one began.
    clock: u64,
}

impl Checkpoints {
    /// None yet.
    pub fn new(every: Bytes) -> Self {
        let (every, places) = (every.get(), [None, None]);
        Self { every, places, writing: None, next_page: 0, pages_done: 0, clock: 0 }
    }

    /// The power fails: what had not landed of one is erased flash.
    pub fn cut(mut self, row_bytes: u64) -> Self {
        if let Some(place) = self.writing.take().and_then(|at| self.places[at].as_mut()) {
            place.checkpoint.tear(row_bytes, &place.landed);
        }
        self.clock = 0;
        self
    }

    /// The newest whole one, its pages, and the pages of the journal that are older.
    pub fn newest(&self) -> Option<(&Checkpoint, u64, u64)> {
        let place = self
            .places
            .iter()
            .flatten()
            .filter(|place| place.is_whole())
            .max_by_key(|place| place.count)?;
        Some((&place.checkpoint, place.landed.len() as u64, place.journal_pages))
    }

    /// Where the next one goes: over the one that is not the newest whole one.
    fn next_place(&self) -> (usize, u64) {
        let count = |at: usize| {
            self.places[at].as_ref().filter(|place| place.is_whole()).map_or(0, |place| place.count)
        };
        let (a, b) = (count(0), count(1));
        (usize::from(a > b), a.max(b) + 1)
    }
}

impl Drive {
    /// The first one is as an orderly shutdown leaves it.
    pub(in crate::drive) fn begin_with_checkpoint(&mut self) {
        self.take_checkpoint();
        let Some(checkpoints) = self.kept.as_mut().and_then(|kept| kept.checkpoints.as_mut())
        else {
            return;
        };
        if let Some(place) =
            checkpoints.writing.take().and_then(|at| checkpoints.places[at].as_mut())
        {
            place.landed.fill(true);
        }
    }

    /// After an operation: a checkpoint begins when it is due.
    #[inline]
    pub(in crate::drive) fn checkpoint_looks(&mut self, now: Instant) {
        let Some(checkpoints) = self.kept.as_ref().and_then(|kept| kept.checkpoints.as_ref())
        else {
            return;
        };
        let programmed =
            (self.ftl.clock() - checkpoints.clock) * u64::from(self.flash.layout.unit_bytes);
        if checkpoints.writing.is_none() && programmed >= checkpoints.every {
            self.begin_checkpoint(now);
        }
    }

    /// A checkpoint is taken, and begins to be programmed.
    pub(in crate::drive) fn begin_checkpoint(&mut self, now: Instant) {
        self.take_checkpoint();
        for die in self.flash.layout.each_die() {
            self.program_checkpoint(now, die);
        }
    }

    fn take_checkpoint(&mut self) {
        let (row_bytes, number) = (self.checkpoint_page(), self.buffer.latest_birth());
        let Some(Kept { journal, checkpoints: Some(checkpoints), .. }) = self.kept.as_deref_mut()
        else {
            return;
        };
        let checkpoint = self.ftl.checkpoint(&self.flash, number, &journal.all());
        let pages = checkpoint.bytes().div_ceil(row_bytes) + 1;
        let (at, count) = checkpoints.next_place();
        let landed = vec![false; pages as usize];
        checkpoints.places[at] =
            Some(Place { checkpoint, count, landed, journal_pages: journal.pages });
        (checkpoints.writing, checkpoints.next_page, checkpoints.pages_done) = (Some(at), 0, 0);
        checkpoints.clock = self.ftl.clock();
    }

    /// Bytes of a page of a checkpoint: a row.
    fn checkpoint_page(&self) -> u64 {
        u64::from(self.flash.layout.unit_bytes * self.flash.layout.units_per_row)
    }

    /// The next page is programmed on a die, if it may be: the last one only behind all the others.
    pub(super) fn program_checkpoint(&mut self, now: Instant, die: Die) {
        let layout = &self.flash.layout;
        let (lane, units) = (layout.lanes_on(die).first(), layout.units_per_row);
        let sectors = units * layout.unit_sectors;
        let Some(checkpoints) = self.kept.as_mut().and_then(|kept| kept.checkpoints.as_mut())
        else {
            return;
        };
        let Some(place) = checkpoints.writing.and_then(|at| checkpoints.places[at].as_ref()) else {
            return;
        };
        let (page, pages) = (checkpoints.next_page, place.landed.len() as u32);
        if page == pages || (page + 1 == pages && checkpoints.pages_done < page) {
            return;
        }
        checkpoints.next_page += 1;
        let op =
            FlashOp::new(Owner::Checkpoint { page }, Class::Write, lane, Ppn::NONE, units, sectors);
        let op = self.ops.insert(op);
        self.enqueue(now, op);
    }
}
