//! Rows of pages that leave the buffer: they gather by lane and class of data, and their program is
//! queued. Only `io` and the map decide which page leaves.

use crate::drive::Drive;
use crate::drive::buffer::slot::{SlotId, State};
use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::features::Scheme;
use crate::units::{Instant, Lane, Ppn};

/// Rows that may wait on a lane before dynamic allocation passes it over: enough to keep the die
/// busy, few enough to choose late.
pub(in crate::drive) const ROWS_WAITING_MAX: u32 = 2;

/// Pages of one lane and class of data that gather.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Row {
    pub(in crate::drive) first: SlotId,
    pub(in crate::drive) last: SlotId,
    pub(in crate::drive) units: u32,
    pub(in crate::drive) listed: bool,
    pub(in crate::drive) lane: Lane,
    pub(in crate::drive) class: u8,
    /// Rows of this lane that wait for their die, of any class; kept in the lane's first row.
    pub(in crate::drive) waiting: u32,
}

impl Row {
    /// True when nothing gathers.
    pub fn is_empty(&self) -> bool {
        self.units == 0
    }
}

impl Drive {
    /// Adds a page to the row that gathers for `lane` and its class of data.
    #[inline(always)]
    pub(in crate::drive) fn stage(&mut self, now: Instant, slot: SlotId, lane: Lane, class: u32) {
        self.ftl.note_write(self.buffer.slot(slot).lpn);
        let at = class * self.flash.layout.lanes + lane.0;
        let row = &mut self.writes.rows[at as usize];
        self.buffer.link_row(row.last, slot);
        if row.units == 0 {
            row.first = slot;
        }
        row.last = slot;
        row.units += 1;
        self.writes.seal_wanted |= self.buffer.slot(slot).has_waiters();
        if row.units == self.flash.layout.units_per_row {
            self.seal_row(now, at);
        } else if !row.listed {
            row.listed = true;
            self.writes.open_rows.push(at);
        }
    }

    /// Queues the program of every row that holds something, with padding.
    pub(in crate::drive) fn seal_rows(&mut self, now: Instant) {
        while let Some(at) = self.writes.open_rows.pop() {
            self.writes.rows[at as usize].listed = false;
            if self.writes.rows[at as usize].units > 0 {
                self.seal_row(now, at);
            }
        }
    }

    pub(in crate::drive) fn seal_row(&mut self, now: Instant, at: u32) {
        let layout = &self.flash.layout;
        let row = &mut self.writes.rows[at as usize];
        let Row { first: first_slot, units, lane, class, .. } = *row;
        (row.first, row.last, row.units) = (SlotId::NIL, SlotId::NIL, 0);
        let waiting = &mut self.writes.rows[lane.index()].waiting;
        *waiting += 1;
        if *waiting == ROWS_WAITING_MAX {
            self.ftl.set_taking(lane, false);
        }
        self.writes.leaving += 1;
        if units < layout.units_per_row {
            self.ftl.row_closed_early(lane, class.into());
        }
        let sectors = layout.units_per_row * layout.unit_sectors;
        let owner = Owner::Row { first_slot };
        let mut op = FlashOp::new(owner, Class::Write, lane, Ppn::NONE, units, sectors);
        op.data_class = class;
        let op = self.ops.insert(op);
        if self.scheme == Scheme::Superblock {
            return self.enqueue_in_stripe(now, op, first_slot);
        }
        self.enqueue_known(now, op, Class::Write, owner, lane);
    }

    /// Rows of `lane` that wait for their die.
    pub(in crate::drive) fn rows_waiting(&self, lane: Lane) -> u32 {
        self.writes.rows[lane.index()].waiting
    }

    /// True when the row that gathers for `lane` and the first class of data holds `slot`.
    pub(in crate::drive) fn row_holds(&self, lane: Lane, slot: SlotId) -> bool {
        let row = &self.writes.rows[lane.index()];
        let slots =
            std::iter::successors(Some(row.first), |slot| Some(self.buffer.row_next(*slot)));
        slots.take(row.units as usize).any(|held| held == slot)
    }

    /// A page leaves the buffer: a write may be the reason, and wait for it.
    #[inline(always)]
    pub(in crate::drive) fn leaves(&mut self, slot: SlotId, state: State) {
        self.buffer.leave_dirty(slot, state);
        if let Some(request) = self.writes.leaves_for {
            self.buffer.add_waiter(slot, request);
            self.requests[request].remaining += 1;
            self.book_waiting(request);
        }
    }

    /// A group of several lanes may have closed early: rows may wait for a new one, which any lane
    /// may make possible.
    pub(in crate::drive) fn wake_pool(&mut self, now: Instant, lane: Lane) {
        let lanes = self.ftl.lanes_of(self.ftl.pool_of(lane));
        if lanes.len() == 1 {
            return;
        }
        for lane in
            lanes.filter(|lane| self.writes.rows[lane.index()].waiting > 0).collect::<Vec<_>>()
        {
            self.dispatch(now, self.flash.layout.die_of(lane));
        }
    }
}
