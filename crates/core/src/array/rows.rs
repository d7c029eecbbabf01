//! Rows under way: what is written to them, what is known of them, and who reads them whole.
//!
//! A row has one update at a time. What is written meanwhile gathers for the next one. A read that
//! computes a page from the others must see a row either before or after an update: an update waits
//! with its writes until such reads are done, and such reads wait while it waits. From its first
//! write on, the pages of the update are taken from here.

use super::link::Matter;
use super::piece::RebuildId;
use super::under_way::RequestId;
use crate::drive::Stamp;

/// Where the update of a row is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// No update; a read of the whole row is under way.
    #[default]
    Idle,
    /// Pages gather.
    Gathering,
    /// The old pages that parity needs are being read.
    Reading,
    /// Everything is known; reads of the whole row must end first.
    Ready,
    /// The members are being written.
    Writing,
}

crate::id! {
    /// A row under way, by its slot: rows have numbers of their own.
    pub(super) RowId
}

/// Pages that the host wrote to a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    /// Data pages written whole, a bit each.
    pub full: u32,
    /// Data pages written in part.
    pub partial: u32,
    /// Their content, where the run carries any.
    pub stamps: Vec<Stamp>,
    /// Requests that complete with the update.
    pub waiters: Vec<RequestId>,
}

impl Pages {
    pub fn dirty(&self) -> u32 {
        self.full | self.partial
    }

    fn clear(&mut self) {
        (self.full, self.partial) = (0, 0);
        self.stamps.clear();
        self.waiters.clear();
    }

    /// A page is written, whole or in part, with `stamp` where the run carries content.
    pub fn put<M: Matter>(
        &mut self,
        matter: &mut M,
        index: u32,
        whole: bool,
        stamp: Option<Stamp>,
        data: u32,
    ) {
        let bit = 1 << index;
        if let Some(stamp) = stamp {
            self.stamps.resize(data as usize, Stamp::default());
            let dirty = self.dirty() & bit != 0;
            let kept = &mut self.stamps[index as usize];
            *kept = match dirty {
                // A part over what has gathered: as one write with the older one's expectation.
                true if !whole => {
                    Stamp { version: matter.over(stamp, kept.version), beneath: kept.beneath }
                }
                _ => stamp,
            };
        }
        if whole {
            self.full |= bit;
            self.partial &= !bit;
        } else if self.full & bit == 0 {
            self.partial |= bit;
        }
    }

    /// Takes over pages of `other`, a bit each, that were written later.
    pub fn put_all<M: Matter>(&mut self, matter: &mut M, other: &Self, pages: u32, data: u32) {
        for index in (0..data).filter(|index| pages >> index & 1 == 1) {
            self.put(
                matter,
                index,
                other.full >> index & 1 == 1,
                other.stamps.get(index as usize).copied(),
                data,
            );
        }
    }
}

/// A row under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub row: u32,
    pub phase: Phase,
    /// Reads of the whole row under way.
    pub readers: u32,
    /// Reads of the whole row that wait for the update's writes to begin.
    pub blocked: Vec<RebuildId>,
    /// The update under way, or gathering.
    pub now: Pages,
    /// Pages that gather for the next update.
    pub next: Pages,
    /// Acknowledged pages that no member took: they stay here.
    pub kept: Pages,
    /// Pages of a new member that the update restores.
    pub restore: u32,
    /// Old pages that are known, and that are being read.
    pub known: u32,
    pub asked: u32,
    pub old: Vec<u32>,
    /// Pages whose member failed a read fast, and from which nanosecond on it is free.
    pub refused: u32,
    pub refusals: Vec<(u32, u64)>,
    /// Content of the row once the update is written, where the run carries content.
    pub new: Vec<u32>,
    /// Writes under way, and pages whose member has taken them.
    pub pending: u32,
    pub landed: u32,
    /// Pages whose member could not read them.
    pub unread: u32,
    /// Dirty pages that cannot be written: nobody knows what lies beneath their parts.
    pub baseless: u32,
    /// Tells reads of this update from those of one before.
    pub ticket: u32,
    /// It waits for its turn to be written out.
    pub queued: bool,
}

impl Row {
    /// The update is over, its place may be used for the next.
    pub fn turn_over(&mut self) {
        std::mem::swap(&mut self.now, &mut self.next);
        self.next.clear();
        (self.known, self.asked, self.refused, self.restore, self.pending) = (0, 0, 0, 0, 0);
        (self.landed, self.unread, self.baseless) = (0, 0, 0);
        self.old.clear();
        self.new.clear();
        self.refusals.clear();
        self.ticket = self.ticket.wrapping_add(1);
        self.phase = if self.now.dirty() == 0 { Phase::Idle } else { Phase::Gathering };
    }

    /// Newer data that a reader of page `index` lays over its member's page, oldest first: a stamp,
    /// and whether of the whole page.
    pub fn overlays(&self, index: u32) -> impl Iterator<Item = (Stamp, bool)> + '_ {
        let of = move |pages: &Pages| {
            let bit = 1 << index;
            let stamp = pages.stamps.get(index as usize).copied().unwrap_or_default();
            (pages.dirty() & bit != 0).then_some((stamp, pages.full & bit != 0))
        };
        // A page that is written whole hides everything before it.
        let hidden = |by: u32| by >> index & 1 == 1;
        let kept = of(&self.kept).filter(|_| !hidden(self.now.full | self.next.full));
        let before = of(&self.now).filter(|_| !hidden(self.next.full));
        [kept, before, of(&self.next)].into_iter().flatten()
    }

    /// True when page `index` is here whole.
    pub fn has_whole(&self, index: u32) -> bool {
        (self.kept.full | self.now.full | self.next.full) >> index & 1 == 1
    }

    pub fn is_unused(&self) -> bool {
        let is_empty = self.readers == 0 && self.blocked.is_empty() && self.kept.dirty() == 0;
        self.phase == Phase::Idle && is_empty && !self.queued
    }
}

/// The rows under way.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// By row, 64 to a word: something is under way in it. Small enough for a cache; the slots of
    /// all rows are not.
    in_use: Vec<u64>,
    /// By row: the number of its slot, where something is under way; zeros, which take no memory
    /// before they are written.
    slot_of: Vec<u32>,
    /// By row: how often its writing has begun or ended, to tell what was read before, meanwhile
    /// and after: a read that a member serves meanwhile may bring the page of before.
    turns: Vec<u32>,
    slots: Vec<Row>,
    free: Vec<RowId>,
}

impl Rows {
    pub fn new(rows: u32) -> Self {
        let (slot_of, turns) = (vec![0; rows as usize], vec![0; rows as usize]);
        let in_use = vec![0; rows.div_ceil(64) as usize];
        Self { in_use, slot_of, turns, slots: Vec::new(), free: Vec::new() }
    }

    /// The row, if anything is under way in it.
    #[inline]
    pub fn find(&self, row: u32) -> Option<RowId> {
        let in_use = self.in_use[row as usize / 64] >> (row % 64) & 1 == 1;
        in_use.then(|| RowId(self.slot_of[row as usize]))
    }

    /// The row's slot, now if not before.
    pub fn enter(&mut self, row: u32) -> RowId {
        if let Some(slot) = self.find(row) {
            return slot;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Row::default());
            RowId(self.slots.len() as u32 - 1)
        });
        self.slots[slot.index()].row = row;
        self.slot_of[row as usize] = slot.0;
        self.in_use[row as usize / 64] |= 1 << (row % 64);
        slot
    }

    /// Gives the slot back when nothing is under way in it. It may have been given back before: an
    /// update that writes nothing is over at once.
    pub fn leave(&mut self, slot: RowId) {
        let row = &self.slots[slot.index()];
        if row.is_unused() && self.find(row.row) == Some(slot) {
            self.in_use[row.row as usize / 64] &= !(1 << (row.row % 64));
            self.free.push(slot);
        }
    }

    /// The row's writing begins, or ends.
    pub fn writing_turns(&mut self, row: u32) {
        let turns = &mut self.turns[row as usize];
        *turns = turns.wrapping_add(1);
    }

    /// Changes when the writing of any of these rows begins or ends.
    pub fn age(&self, rows: std::ops::Range<u32>) -> u32 {
        self.turns[rows.start as usize..rows.end as usize]
            .iter()
            .fold(0, |sum, turns| sum.wrapping_add(*turns))
    }

    /// Tells each stamp that a row holds.
    pub fn each_stamp(&self, tell: &mut dyn FnMut(u32)) {
        for row in &self.slots {
            let written = [&row.now, &row.next, &row.kept].into_iter().flat_map(|set| &set.stamps);
            written.for_each(|stamp| tell(stamp.version));
            row.old.iter().chain(&row.new).for_each(|stamp| tell(*stamp));
        }
    }

    /// The rows in which something is under way.
    pub fn under_way(&self) -> impl Iterator<Item = &Row> {
        self.slots.iter().filter(|row| !row.is_unused())
    }

    /// Rows under way.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl std::ops::Index<RowId> for Rows {
    type Output = Row;
    fn index(&self, slot: RowId) -> &Row {
        &self.slots[slot.index()]
    }
}

impl std::ops::IndexMut<RowId> for Rows {
    fn index_mut(&mut self, slot: RowId) -> &mut Row {
        &mut self.slots[slot.index()]
    }
}
