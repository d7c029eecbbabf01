//! The end of an operation on a translation page: entries come, and their waiters go on.

use crate::drive::dies::queues::FlashOp;
use crate::drive::later::Task;
use crate::drive::map_cache::misses::{Miss, Misses, Waiter, WaiterId, Who};
use crate::drive::map_cache::pages::Phase;
use crate::drive::{Drive, OpId, Request, RequestId, SlotId};
use crate::ftl::MissId;
use crate::units::{Instant, Lane, Ppn};

impl Drive {
    /// A translation page is read.
    pub(in crate::drive) fn map_read_done(&mut self, now: Instant, op: OpId, page: u32) {
        let ppn = self.ops[op].ppn;
        self.counters.units_read += 1;
        self.counters.map.page_reads += 1;
        self.end_of_read(now, ppn);
        let Some((p, _)) = self.translation_page_mut(page) else { return };
        p.phase = Phase::Idle;
        let (known, writers, owed) = (std::mem::take(&mut p.readers), p.writers, p.owed);
        self.map_op_over(now, op, known);
        self.map_op_over(now, op, writers);
        if owed > 0 {
            self.stage_page_of_map(now, page);
        }
        self.come(now, known);
        self.take_writes(now);
    }

    /// A slot's page is on flash; true when it is a translation page.
    fn map_page_landed(&mut self, now: Instant, slot: SlotId, ppn: Ppn, op: OpId) -> bool {
        let Some(dftl) = &mut self.dftl else { return false };
        let Some(page) = dftl.pages.of_slot(slot) else { return false };
        self.counters.map.page_programs += 1;
        self.ftl.commit(self.ftl.translation_page(page), ppn);
        let p = &mut dftl.pages.all[page as usize];
        p.phase = Phase::Idle;
        let mut landed = std::mem::take(&mut p.flying);
        let (owed, batch) = (p.owed, dftl.batch);
        self.map_op_over(now, op, landed);
        // DRAM holds it still: the next round needs no read, unless each change pays for itself.
        match owed {
            0 => {}
            _ if batch => self.stage_page_of_map(now, page),
            _ => self.begin_round(now, page),
        }
        let mut known = Misses::default();
        while let Some(miss) = self.dftl.as_ref().and_then(|dftl| landed.pop(&dftl.misses)) {
            let is_here = self
                .dftl
                .as_ref()
                .is_some_and(|dftl| dftl.cmt.page_of(dftl.misses[miss].lpn) == page);
            if (is_here || self.load(now, miss))
                && let Some(dftl) = &mut self.dftl
            {
                known.push(&mut dftl.misses, miss);
            }
        }
        self.come(now, known);
        true
    }

    /// A row's page is on flash: the host's, or a translation page; true for the latter.
    pub(in crate::drive) fn landed_with_map(
        &mut self,
        now: Instant,
        slot: SlotId,
        ppn: Ppn,
        op: OpId,
    ) -> bool {
        if self.map_page_landed(now, slot, ppn, op) {
            return true;
        }
        let (lpn, dropped) = (self.buffer.slot(slot).lpn, self.buffer.slot(slot).dropped);
        if !dropped {
            self.ftl.commit(lpn, ppn);
            self.mapping_changed(now, lpn);
        }
        self.slot_done(now, slot);
        false
    }

    /// Misses have what they waited for: their entries come, and their waiters resume. Then other
    /// misses have room.
    fn come(&mut self, now: Instant, mut known: Misses) {
        while let Some(miss) = self.dftl.as_ref().and_then(|dftl| known.pop(&dftl.misses)) {
            self.take_in(miss);
            self.tell(now, miss);
        }
        while let Some(miss) = self.next_with_room() {
            let Some(dftl) = &mut self.dftl else { return };
            let lpn = dftl.misses[miss].lpn;
            match dftl.cmt.find(lpn) {
                None => {
                    if self.begin_miss(now, miss) {
                        self.take_in(miss);
                        self.tell(now, miss);
                    }
                }
                // Another one brought it, or brings it now.
                Some(entry) => match dftl.cmt.loading(entry) {
                    None => {
                        dftl.cmt.touch(entry);
                        dftl.misses.release(miss);
                        self.tell(now, miss);
                    }
                    Some(other) => self.join(now, miss, other),
                },
            }
        }
        if let Some(op) = self.dftl.as_mut().and_then(|dftl| dftl.open.take()) {
            self.enqueue(now, op);
        }
    }

    /// The waiters of a miss wait with another one for the same entry.
    fn join(&mut self, now: Instant, miss: MissId, other: MissId) {
        let Some(dftl) = &mut self.dftl else { return };
        let Miss { lpn, waiters, .. } = dftl.misses[miss];
        dftl.misses.release(miss);
        let mut at = waiters;
        while at != WaiterId::NIL {
            let Some(dftl) = &mut self.dftl else { return };
            let next = std::mem::replace(&mut dftl.waiters[at].next, WaiterId::NIL);
            dftl.append(other, at);
            self.joins(now, at, other);
            at = next;
        }
        let urgent = self.dftl.as_ref().is_some_and(|dftl| dftl.misses[other].urgent);
        if urgent {
            self.hasten(now, lpn);
        }
    }

    /// A miss that waited for room in the cache, and the cache has some.
    fn next_with_room(&mut self) -> Option<MissId> {
        let dftl = self.dftl.as_mut()?;
        let [reads, writes] = &mut dftl.no_room;
        if (reads.is_empty() && writes.is_empty()) || !dftl.cmt.has_room() {
            return None;
        }
        reads.pop_front().or_else(|| writes.pop_front())
    }

    /// Resumes the waiters of a miss that is over.
    fn tell(&mut self, now: Instant, miss: MissId) {
        let mut at = self.dftl.as_ref().map_or(WaiterId::NIL, |dftl| dftl.misses[miss].waiters);
        while at != WaiterId::NIL {
            let Some(dftl) = &mut self.dftl else { return };
            let Waiter { who, next, .. } = dftl.waiters[at];
            dftl.waiters.release(at);
            match who {
                Who::Read { request, number } => self.read_known(now, at, request, number),
                Who::Write { slot } => {
                    self.book_write_known(now, at);
                    self.write_known(now, slot);
                }
            }
            at = next;
        }
    }

    /// The entry of a page that a read needs is there.
    fn read_known(&mut self, now: Instant, waiter: WaiterId, request: RequestId, number: u32) {
        let Some(dftl) = &mut self.dftl else { return };
        dftl.telling = true;
        let open = dftl.open;
        let unit = self.unit(request, number);
        let failed = self.requests[request].failed;
        let op = if failed { None } else { self.read_unit(now, request, number, unit, open) };
        if let Some(dftl) = &mut self.dftl {
            dftl.telling = false;
            dftl.open = op.or(open);
        }
        self.book_entry_over(now, waiter, op);
        let r: &mut Request = &mut self.requests[request];
        r.remaining -= 1;
        if r.remaining == 0 {
            if !failed {
                self.book_entry_of_hit(now, waiter, request);
            }
            self.later.put(now + self.spec.buffer_hit, Task::Served { request });
        }
    }

    /// The entry of a page that leaves the buffer is there.
    fn write_known(&mut self, now: Instant, slot: SlotId) {
        self.writes.leaving -= 1;
        if self.buffer.slot(slot).dropped {
            return self.slot_done(now, slot);
        }
        self.set_translated(slot, true);
        self.buffer.make_dirty_first(slot);
        self.evict_awaited(now, slot);
    }

    /// An operation is over that these waited for, perhaps behind garbage collection.
    fn map_op_over(&mut self, now: Instant, op: OpId, known: Misses) {
        if self.ops[op].gc_met.anywhere() {
            return self.map_op_waited(now, op, known);
        }
        self.if_booked(|drive| drive.map_op_waited(now, op, known));
    }

    fn map_op_waited(&mut self, now: Instant, op: OpId, known: Misses) {
        let FlashOp { gc_met, gc_before: gc_at_issue, sequence, .. } = self.ops[op];
        let Some(dftl) = self.dftl.take() else { return };
        for waiter in known.iter(&dftl.misses).flat_map(|miss| dftl.waiters_of(miss)) {
            self.book_map_op(now, op, waiter);
            let Waiter { who, since, gc_before, .. } = dftl.waiters[waiter];
            if let Who::Read { request, .. } = who {
                let blocked = if since < sequence {
                    gc_met.anywhere()
                } else {
                    gc_met.in_flash() || gc_at_issue > gc_before
                };
                self.requests[request].gc_blocked |= blocked;
            }
        }
        self.dftl = Some(dftl);
    }

    /// A row of the lane is done: the next one is programmed, if it is awaited and none is on its
    /// way.
    pub(in crate::drive) fn awaited_row(&mut self, now: Instant, lane: Lane) {
        let Some(dftl) = &mut self.dftl else { return };
        if self.writes.rows[lane.index()].waiting == 0
            && std::mem::take(&mut dftl.pages.awaited[lane.index()])
            && !self.writes.rows[lane.index()].is_empty()
        {
            self.seal_row(now, lane.0);
        }
    }
}
