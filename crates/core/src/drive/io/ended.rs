//! The end of an operation of the host: a read's pages reach the request, a row's pages are on
//! flash and waiting writes may have room.

use crate::drive::buffer::rows::ROWS_WAITING_MAX;
use crate::drive::buffer::slots;
use crate::drive::dies::queues::FlashOp;
use crate::drive::features::Scheme;
use crate::drive::later::Task;
use crate::drive::parity::RebuildId;
use crate::drive::parity::repair::Beyond;
use crate::drive::{CommandId, Drive, OpId, RequestId, SlotId};
use crate::ftl::Stream;
use crate::units::{Instant, Lane, Ppn};

impl Drive {
    /// The end of a read on the direct way: nothing else waits for it but, perhaps, an erase.
    #[inline]
    pub(in crate::drive) fn direct_read_ended(
        &mut self,
        now: Instant,
        op: OpId,
        id: CommandId,
        behind_gc: bool,
    ) {
        let FlashOp { lane, ppn, sectors, gc_met, gc_blocked_at_split, .. } = self.ops[op];
        let die = self.flash.layout.die_of(lane);
        self.book_direct_end(now, die);
        self.direct.under_way -= 1;
        if self.direct.ops.get(die.index()) != Some(&op) {
            self.ops.release(op);
        }
        self.collector.user_read_ended(die);
        self.counters.units_read += 1;
        self.end_of_read(now, ppn);
        let blocked = (behind_gc | gc_met.anywhere(), gc_blocked_at_split);
        let leaves = self.ports.complete_plainly(now, id, sectors, blocked);
        self.book_direct_read(now, (op, die, id), leaves);
        self.collector.user_ended(die);
        self.poll_gc(now, die);
    }

    /// The end of a write that the buffer took at once: it has no request.
    #[inline]
    pub(in crate::drive) fn direct_write_ended(&mut self, now: Instant, id: CommandId) {
        self.direct.under_way -= 1;
        let leaves = self.ports.complete_plainly(now, id, 0, (false, false));
        self.book_direct_write(now, id, leaves);
    }

    /// A host read's flash operation is done.
    pub(in crate::drive) fn read_done(
        &mut self,
        now: Instant,
        op: OpId,
        request: RequestId,
        first: u32,
    ) {
        let FlashOp { ppn, units, gc_met, feeds, .. } = self.ops[op];
        let over = self.ops[op].over();
        self.counters.units_read += u64::from(units);
        if feeds != RebuildId::NIL {
            self.rebuild_gains(now, op, feeds, (ppn, now));
        }
        for at in 0..units {
            let page = Ppn(ppn.0 + at);
            if self.flash.has_content() {
                let version = self.flash.load(page);
                self.requests[request].note_version(
                    first + at,
                    over.map_or(version, |stamp| slots::over(stamp, version)),
                );
            }
            if self.scrub.is_some() {
                self.check_read(now, request, first + at, page, feeds);
            }
            if self.decoding.is_some() {
                self.check_aged(now, request, first + at, page, feeds);
            }
            self.end_of_read(now, page);
        }
        if self.flash.is_slc(self.flash.layout.block_of(ppn)) {
            self.counters.pslc.reads += u64::from(units);
        }
        let r = &mut self.requests[request];
        r.gc_blocked |= gc_met.anywhere();
        self.part_of_read_done(now, request);
    }

    /// Checks a page of a host read whose bit errors of programming were corrected: it decodes, is
    /// computed from its stripe, or the read will end with an error.
    #[inline(never)]
    fn check_aged(
        &mut self,
        now: Instant,
        request: RequestId,
        number: u32,
        page: Ppn,
        feeds: RebuildId,
    ) {
        if self.flash.is_lost(now, page) {
            self.counters.retry.lost_pages += 1;
            self.repair_or_fail(now, (request, number), (page, feeds), Beyond::Age);
        }
    }

    /// Page `number` of a read can be translated now; meanwhile it may have come into the buffer,
    /// or gone.
    pub(in crate::drive) fn looked_up(
        &mut self,
        now: Instant,
        op: OpId,
        request: RequestId,
        number: u32,
    ) {
        self.counters.units_read += 1;
        let (spare, unit) = (self.ops[op].ppn, self.unit(request, number));
        self.end_of_read(now, spare);
        self.requests[request].gc_blocked |= self.ops[op].gc_met.anywhere();
        let slot = self.buffer.find(unit.lpn).map(|slot| self.buffer.slot(slot));
        let over = match slot {
            Some(slot) if slot.mask & unit.mask() == unit.mask() => {
                let version = slot.stamp.version;
                self.counters.buffer.read_hits += 1;
                self.requests[request].note_version(number, version);
                return self.part_of_read_done(now, request);
            }
            slot => slot.map(|slot| slot.stamp),
        };
        if !self.requests[request].failed
            && let Some(op) = self.read_known_unit(now, request, number, unit, over, None)
        {
            self.enqueue(now, op);
        }
        self.part_of_read_done(now, request);
    }

    /// One of the operations that a read waits for is done.
    fn part_of_read_done(&mut self, now: Instant, request: RequestId) {
        let r = &mut self.requests[request];
        r.remaining -= 1;
        if r.remaining == 0 {
            self.read_is_whole(now, request);
        }
    }

    /// All data of a read has left the flash: it is decoded, and the read ends.
    #[inline]
    pub(in crate::drive) fn read_is_whole(&mut self, now: Instant, request: RequestId) {
        let Some(time) = self.decoding else { return self.read_decoded(now, request) };
        self.book_decoding(now, request);
        self.later.put(now + time, Task::Decoded { request });
    }

    /// The data of a read is there.
    #[inline]
    pub(in crate::drive) fn read_decoded(&mut self, now: Instant, request: RequestId) {
        let status = self.read_status(request);
        self.finish_with(now, request, status);
    }

    /// A row of a lane waits no longer.
    #[inline(always)]
    fn row_leaves(&mut self, lane: Lane, units: u32) {
        self.counters.padded_units += u64::from(self.flash.layout.units_per_row - units);
        let waiting = &mut self.writes.rows[lane.index()].waiting;
        *waiting -= 1;
        if *waiting + 1 == ROWS_WAITING_MAX {
            self.ftl.set_taking(lane, true);
        }
        self.writes.leaving -= 1;
    }

    /// A row is on flash, and no optional feature looks.
    #[inline]
    pub(in crate::drive) fn plain_row_done(&mut self, now: Instant, op: OpId, first_slot: SlotId) {
        let FlashOp { lane, ppn: row, units, .. } = self.ops[op];
        let pool = self.ftl.pool_of(lane);
        self.row_leaves(lane, units);
        let block = self.flash.layout.block_of(row);
        let (mut slot, mut ppn) = (first_slot, row);
        while slot != SlotId::NIL {
            let (next, s) = (self.buffer.row_next(slot), self.buffer.slot(slot));
            if !s.dropped {
                self.ftl.commit_in(block, s.lpn, ppn);
            }
            self.slot_done(now, slot);
            (slot, ppn) = (next, Ppn(ppn.0 + 1));
        }
        self.counters.host_units += u64::from(units);
        self.ftl.row_of_block_programmed(block, row);
        self.row_was_written(now, pool);
        self.space_used(now, pool);
        self.revive_pools(now);
        self.take_writes(now);
    }

    pub(in crate::drive) fn row_done(&mut self, now: Instant, op: OpId, first_slot: SlotId) {
        let FlashOp { lane, ppn: row, units, .. } = self.ops[op];
        let (mut parity, mut of_map) = (0, 0);
        self.row_leaves(lane, units);
        self.stripe_row_done(lane, Stream::Host);
        let (mut slot, mut ppn) = (first_slot, row);
        while slot != SlotId::NIL {
            let next = self.buffer.row_next(slot);
            let s = self.buffer.slot(slot);
            self.flash.store(ppn, s.stamp.version);
            self.flash.note(ppn, s.lpn, s.born);
            self.flash.programmed(ppn);
            match self.scheme {
                Scheme::ParityInPlace => parity += u32::from(self.stripe_landed(now, slot, ppn)),
                Scheme::CachedMap => of_map += u32::from(self.landed_with_map(now, slot, ppn, op)),
                Scheme::Page | Scheme::Superblock | Scheme::LogBlocks => {
                    if !s.dropped {
                        self.ftl.commit(s.lpn, ppn);
                    }
                    self.slot_done(now, slot);
                }
            }
            (slot, ppn) = (next, Ppn(ppn.0 + 1));
        }
        self.counters.host_units += u64::from(units - parity - of_map);
        self.counters.rain.parity_units += u64::from(parity);
        self.ftl.row_programmed(row);
        if self.ftl.has_cache() {
            self.row_reached_cache(now, row, units - parity - of_map);
        }
        self.row_was_written(now, self.ftl.pool_of(lane));
        self.space_used(now, self.ftl.pool_of(lane));
        if self.faults.is_some() || self.ftl.has_cache() {
            self.wake_pool(now, lane);
        }
        self.revive_pools(now);
        self.awaited_row(now, lane);
        self.take_writes(now);
    }

    pub(in crate::drive) fn fill_done(&mut self, now: Instant, op: OpId, slot: SlotId) {
        let page = self.ops[op].ppn;
        self.counters.units_read += 1;
        self.writes.leaving -= 1;
        let beneath = self.flash.load(page);
        self.end_of_read(now, page);
        if self.buffer.slot(slot).dropped {
            self.slot_done(now, slot);
        } else {
            self.buffer.filled(slot, beneath);
            self.buffer.make_dirty_first(slot);
            self.evict_awaited(now, slot);
        }
        self.take_writes(now);
    }
}
