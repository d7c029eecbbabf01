//! The write path: into the buffer, out of it in rows, onto flash.
//!
//! A write is taken into the buffer page by page, in arrival order; when there is no room it waits
//! (a stall). The buffer drains while more than a share of it is dirty, the least recently written
//! page first; or, without a flush in the background (`drive.background_flush`; ttFlash, FAST '17,
//! section 4.4: what GC-tolerant flush avoids), only when writes wait for room: then as many pages
//! leave as they want, and they wait for these. A page written in part reads its other sectors on
//! the way out. A write completes when the buffer has it, or, with FUA, write-through and no
//! power-loss protection, when it is on flash.

use crate::drive::buffer::rows::Row;
use crate::drive::buffer::slot::State;
use crate::drive::face::request::Unit;
use crate::drive::features::Scheme;
use crate::drive::later::Task;
use crate::drive::{
    CommandId, Content, Drive, DriveSpec, FullBuffer, Op, RequestId, SlotId, Stamp, Status,
};
use crate::flash::Layout;
use crate::sim::Ring;
use crate::units::{Instant, Lane, SECTOR};
use std::collections::VecDeque;

/// The state of the write path.
#[derive(Clone, Debug)]
pub(in crate::drive) struct WritePath {
    /// Writes and deallocations that are not yet wholly in the buffer, in arrival order.
    pub(in crate::drive) waiting: Ring<Incoming>,
    /// The first of them found no room.
    pub(in crate::drive) is_stalled: bool,
    /// Flushes that wait for pages to be on flash.
    pub(in crate::drive) flushes: VecDeque<Flush>,
    /// Pages gathering into the next row of each lane and class of data; every lane of class 0
    /// first.
    pub(in crate::drive) rows: Vec<Row>,
    /// Of these, those that hold something.
    pub(in crate::drive) open_rows: Vec<u32>,
    /// Dirty pages that stay in the buffer.
    pub(in crate::drive) dirty_max: u32,
    /// Pages that waiting writes still want room for, where they evict for themselves.
    pub(in crate::drive) wanted: u32,
    pub(in crate::drive) background: bool,
    /// A write that finds the buffer full also waits for the pages that leave on its account; on
    /// whose they leave now.
    pub(in crate::drive) own_room: bool,
    pub(in crate::drive) leaves_for: Option<RequestId>,
    /// Stripes leave least recently used first, and not the least recently written page's.
    pub(in crate::drive) by_stripe: bool,
    /// Fills and programs that wait or are under way.
    pub(in crate::drive) leaving: u32,
    /// A gathering row holds a page that someone waits for: it is not kept until it fills.
    pub(in crate::drive) seal_wanted: bool,
}

/// A write or deallocation that is not yet wholly in the buffer.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) enum Incoming {
    /// That of a request.
    Request(RequestId),
    /// The write of one unit on the direct way: the host's command, which has no request.
    Direct { id: CommandId, unit: Unit, stream: u8 },
}

impl Default for Incoming {
    fn default() -> Self {
        Self::Request(RequestId::NIL)
    }
}

impl Incoming {
    /// Its request, if it has one.
    pub fn request(self) -> Option<RequestId> {
        match self {
            Self::Request(request) => Some(request),
            Self::Direct { .. } => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Flush {
    request: RequestId,
    /// It is done when no page that became dirty up to this birth is left in the buffer.
    up_to: u64,
}

impl WritePath {
    pub fn new(spec: &DriveSpec, layout: &Layout, classes: u32, slots: u32) -> Self {
        let row = |at| Row {
            first: SlotId::NIL,
            last: SlotId::NIL,
            units: 0,
            listed: false,
            lane: Lane(at % layout.lanes),
            class: (at / layout.lanes) as u8,
            waiting: 0,
        };
        let gathering: Vec<Row> = (0..layout.lanes * classes).map(row).collect();
        // Room for one row each is always left, or half the buffer where it is small.
        let rows = (gathering.len() as u32 * layout.units_per_row).min(slots / 2);
        let share = (f64::from(slots) * spec.flush_above) as u32;
        Self {
            waiting: Ring::default(),
            is_stalled: false,
            flushes: VecDeque::new(),
            rows: gathering,
            open_rows: Vec::new(),
            dirty_max: if spec.background_flush { share.min(slots - rows) } else { slots },
            wanted: 0,
            background: spec.background_flush,
            own_room: spec.full_buffer == FullBuffer::Own && !spec.background_flush,
            leaves_for: None,
            by_stripe: false,
            leaving: 0,
            seal_wanted: false,
        }
    }
    /// True when no flush waits.
    pub fn is_flushed(&self) -> bool {
        self.flushes.is_empty()
    }
}

impl Drive {
    pub(in crate::drive) fn begin_write(&mut self, now: Instant, request: RequestId) {
        if self.is_read_only() {
            self.count_refused(1);
            return self.finish_with(now, request, Status::NamespaceWriteProtected);
        }
        let command = &self.requests[request].command;
        if command.op == Op::Write {
            self.writes.wanted += self.units(request);
            if self.requests[request].is_durable(&self.spec) {
                self.requests[request].remaining = self.units(request);
                self.book_waiting(request);
            }
        } else {
            self.split_copies(now);
        }
        self.writes.waiting.push_back(Incoming::Request(request));
        self.take_writes(now);
    }

    pub(in crate::drive) fn begin_flush(&mut self, now: Instant, request: RequestId) {
        let up_to = self.buffer.latest_birth();
        if self.spec.power_loss_protection
            || (self.buffer.occupied == 0 && !self.journal_lags(up_to))
        {
            self.later.put(now + self.spec.buffer_hit, Task::Served { request });
            return;
        }
        if self.strands_pages() {
            return self.finish_with(now, request, Status::NamespaceWriteProtected);
        }
        self.writes.flushes.push_back(Flush { request, up_to });
        self.book_waiting(request);
        self.write_journal(now);
        self.drain(now);
    }

    /// Takes waiting writes into the buffer, as far as there is room, and drains it. Asked after
    /// nearly every operation, mostly in vain.
    #[inline(always)]
    pub(in crate::drive) fn take_writes(&mut self, now: Instant) {
        if let Some(write) = self.next_write() {
            self.take_waiting(now, write);
        }
        self.drain(now);
    }

    /// The next write to take, unless it found no room and nothing has made any.
    #[inline]
    fn next_write(&self) -> Option<Incoming> {
        let write = self.writes.waiting.front()?;
        (!self.buffer.is_full() || !self.writes.is_stalled).then_some(write)
    }

    fn take_waiting(&mut self, now: Instant, mut write: Incoming) {
        loop {
            let is_taken = match write {
                Incoming::Request(request) => self.take_write(now, request),
                Incoming::Direct { unit, stream, .. } => self.take_direct(unit, stream),
            };
            if !is_taken {
                if !self.writes.is_stalled {
                    self.writes.is_stalled = true;
                    self.counters.buffer.stalls += 1;
                    self.if_booked(Self::book_past);
                }
                break;
            }
            self.writes.waiting.pop_front();
            self.writes.is_stalled = false;
            match write {
                // Pages that left on its account may still be on their way, where it waits for
                // them.
                Incoming::Request(request) if self.requests[request].remaining > 0 => {}
                Incoming::Request(request) => {
                    self.book_taken(now, request);
                    self.later.put(now + self.spec.buffer_hit, Task::Served { request });
                }
                Incoming::Direct { id, .. } => {
                    self.book_taken_directly(now, id);
                    self.later.put(now + self.spec.buffer_hit, Task::Taken { id });
                }
            }
            let Some(next) = self.next_write() else { break };
            write = next;
        }
    }

    /// Takes the page of a write on the direct way; false when the buffer is full.
    #[inline]
    fn take_direct(&mut self, unit: Unit, stream: u8) -> bool {
        // Most that wait find it full again: they are not worth the call.
        if self.buffer.is_full() && self.buffer.find(unit.lpn).is_none() {
            return false;
        }
        let Some(slot) = self.slot_for(unit, Stamp::default()) else { return false };
        self.buffer.slot_mut(slot).stream = stream;
        self.writes.wanted -= 1;
        true
    }

    /// The drive is read-only: writes and deallocations that wait for room take no more pages.
    /// Those of which no page is on its way to flash end now; says how many were refused.
    pub(in crate::drive) fn refuse_waiting(&mut self, now: Instant) -> u64 {
        let mut refused = 0;
        self.writes.is_stalled = false;
        while let Some(write) = self.writes.waiting.pop_front() {
            // Faults look at single operations: no write is on the direct way.
            let Some(request) = write.request() else {
                unreachable!("a drive whose blocks may fail has requests")
            };
            let (units, durable) =
                (self.units(request), self.requests[request].is_durable(&self.spec));
            let r = &mut self.requests[request];
            let left = units - std::mem::replace(&mut r.next_unit, units);
            if r.command.op == Op::Write {
                self.writes.wanted -= left;
                r.remaining -= if durable { left } else { 0 };
            }
            r.refused = true;
            refused += 1;
            if r.remaining == 0 {
                self.finish_with(now, request, Status::NamespaceWriteProtected);
            }
        }
        self.book_past();
        refused
    }

    /// Flushes end: what they wait for will not be on flash.
    pub(in crate::drive) fn refuse_flushes(&mut self, now: Instant) {
        while let Some(Flush { request, .. }) = self.writes.flushes.pop_front() {
            self.finish_with(now, request, Status::NamespaceWriteProtected);
        }
    }

    /// Takes the pages of one write; false when the buffer is full before its end.
    fn take_write(&mut self, now: Instant, request: RequestId) -> bool {
        let units = self.units(request);
        let durable = self.requests[request].is_durable(&self.spec);
        while self.requests[request].next_unit < units {
            let number = self.requests[request].next_unit;
            if self.requests[request].command.op == Op::Trim {
                self.trim_unit(now, request, number);
            } else if self.take_unit(now, request, number, durable) {
                self.writes.wanted -= 1;
            } else {
                return false;
            }
            self.requests[request].next_unit += 1;
        }
        true
    }

    fn take_unit(&mut self, now: Instant, request: RequestId, number: u32, durable: bool) -> bool {
        let unit = self.unit(request, number);
        let stamp = match self.requests[request].content.as_deref() {
            Some(Content::Written(payload)) => payload[number as usize],
            _ => Stamp::default(),
        };
        let Some(slot) = self.slot_for(unit, stamp) else { return false };
        if self.scheme == Scheme::LogBlocks {
            self.buffer.slot_mut(slot).pages = self.units(request);
        }
        self.buffer.slot_mut(slot).stream = self.requests[request].command.stream;
        if durable {
            self.buffer.add_waiter(slot, request);
            match self.buffer.slot(slot).state {
                // Pages of one stripe leave together: when the request is taken.
                State::Dirty if self.scheme == Scheme::ParityInPlace => {
                    self.buffer.make_urgent(slot)
                }
                State::Dirty => self.evict_awaited(now, slot),
                State::Behind | State::Parked => self.await_update(unit.lpn),
                State::Staged => self.writes.seal_wanted = true,
                _ => {}
            }
        }
        true
    }

    /// Puts a unit that is written into the buffer, from where on the host has written it; `None`
    /// where that has no room.
    #[inline]
    pub(super) fn slot_for(&mut self, unit: Unit, stamp: Stamp) -> Option<SlotId> {
        let slot = match self.buffer.find(unit.lpn) {
            Some(slot) if self.buffer.slot(slot).state != State::Flying => {
                self.buffer.overwrite(slot, unit.mask(), stamp);
                self.counters.buffer.write_hits += 1;
                slot
            }
            _ if self.buffer.is_full() => return None,
            Some(flying) => {
                self.counters.buffer.write_hits += 1;
                self.buffer.insert_behind(flying, unit.mask(), stamp)
            }
            None => self.buffer.insert(unit.lpn, unit.mask(), stamp),
        };
        if self.writes.by_stripe {
            self.stripe_used(unit.lpn);
        }
        self.counters.host_bytes_written += u64::from(unit.sectors) * SECTOR;
        Some(slot)
    }

    /// Deallocates a map unit that the request covers wholly; a part of one keeps its data, as NVMe
    /// allows.
    fn trim_unit(&mut self, now: Instant, request: RequestId, number: u32) {
        let unit = self.unit(request, number);
        if unit.sectors < self.flash.layout.unit_sectors {
            return;
        }
        self.note_trim(now, unit.lpn);
        if let Some(predictable) = &mut self.predictable {
            predictable.replay.get_mut().forget();
        }
        if let Some(slot) = self.buffer.find(unit.lpn) {
            match self.buffer.slot(slot).state {
                State::Dirty => {
                    self.buffer.leave_dirty(slot, State::Staged);
                    self.buffer.forget(slot);
                    // Attribution charges the waiters' completion to the trim, not to the row that
                    // just ended.
                    self.book_told();
                    self.slot_done(now, slot);
                }
                State::Behind => {
                    let flying = self.buffer.behind(slot);
                    self.buffer.slot_mut(flying).dropped = true;
                    self.buffer.forget(slot);
                }
                _ => self.buffer.forget(slot),
            }
        }
        match self.scheme {
            Scheme::ParityInPlace => self.trim_member(unit.lpn),
            Scheme::CachedMap => self.trim_mapped(now, unit.lpn),
            Scheme::Page | Scheme::Superblock | Scheme::LogBlocks => self.ftl.trim(unit.lpn),
        }
        self.revive_pools(now);
    }

    /// Resumes the waiters of a slot whose data is on flash, or deallocated.
    pub(in crate::drive) fn slot_done(&mut self, now: Instant, slot: SlotId) {
        self.set_translated(slot, false);
        while let Some(request) = self.buffer.pop_waiter(slot) {
            self.requests[request].remaining -= 1;
            if self.requests[request].remaining == 0
                && self.requests[request].next_unit == self.units(request)
            {
                self.finish_with(now, request, self.write_status(request));
            }
        }
        let successor = self.buffer.slot(slot).successor;
        self.buffer.release(slot);
        self.finish_flushes(now);
        if successor == SlotId::NIL {
            return;
        }
        if self.buffer.slot(successor).dropped {
            return self.slot_done(now, successor);
        }
        self.buffer.make_dirty(successor);
        if self.buffer.slot(successor).has_waiters() {
            self.evict_awaited(now, successor);
        }
    }

    /// Flushes end in their order: each waits for the oldest pages.
    #[inline(always)]
    pub(in crate::drive) fn finish_flushes(&mut self, now: Instant) {
        if !self.writes.flushes.is_empty() {
            self.finish_each_flush(now);
        }
    }

    #[inline(never)]
    fn finish_each_flush(&mut self, now: Instant) {
        while let Some(Flush { request, up_to }) = self.writes.flushes.front().copied() {
            if self.buffer.oldest_birth().is_some_and(|born| born <= up_to)
                || self.journal_lags(up_to)
            {
                return;
            }
            self.writes.flushes.pop_front();
            self.finish_with(now, request, Status::Success);
        }
    }
}
