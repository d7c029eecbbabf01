//! The end of an operation of parity: an update goes on, a page that is computed gains a part.

use crate::drive::buffer::slots;
use crate::drive::dies::queues::{Class, FlashOp};
use crate::drive::features::Scheme;
use crate::drive::later::Task;
use crate::drive::parity::in_place::{Update, bits, unmixed};
use crate::drive::parity::reconstruct::Rebuild;
use crate::drive::parity::repair::{Beyond, Repair};
use crate::drive::parity::{RebuildId, UpdateId, log_structured_read};
use crate::drive::{Drive, OpId, RequestId, SlotId, Stamp};
use crate::ftl::{Stream, part_of, version_of};
use crate::units::{Instant, Pool, Ppn, SECTOR};

/// The version of a page of which the buffer may have a part.
fn over_version(over: Option<Stamp>, version: u32) -> u32 {
    over.map_or(version, |stamp| slots::over(stamp, version))
}

impl Drive {
    /// An extra read is done.
    pub(in crate::drive) fn extra_read_done(
        &mut self,
        now: Instant,
        op: OpId,
        request: RequestId,
        rebuild: RebuildId,
    ) {
        let FlashOp { ppn, gc_met, sectors, .. } = self.ops[op];
        self.counters.units_read += 1;
        self.requests[request].gc_blocked |= gc_met.anywhere();
        if self.flash.is_lost(now, ppn) {
            self.member_is_beyond(rebuild, Beyond::Age);
        }
        let there = self.ports.cross_dram(now, u64::from(sectors) * SECTOR);
        self.rebuild_gains(now, op, rebuild, (ppn, there));
        self.end_of_read(now, ppn);
    }

    /// A page that is computed has the member at `page`, in the controller's memory at `there`;
    /// with the last one the XOR begins.
    pub(in crate::drive) fn rebuild_gains(
        &mut self,
        now: Instant,
        op: OpId,
        rebuild: RebuildId,
        (page, there): (Ppn, Instant),
    ) {
        if self.scheme == Scheme::Superblock {
            return self.stripe_gains(now, op, rebuild, (page, there));
        }
        let part = self.part_of_parity(page);
        let Some(rain) = &mut self.rain else { return };
        let r = &mut rain.rebuilds[rebuild];
        r.value ^= part;
        r.left -= 1;
        r.ready = r.ready.max(there);
        if r.left == 0 {
            let computed = rain.engines.take(r.ready);
            self.book_rebuild(now, op, rebuild);
            self.later.put(computed, Task::Reconstructed { rebuild });
        }
    }

    fn stripe_gains(
        &mut self,
        now: Instant,
        op: OpId,
        rebuild: RebuildId,
        (page, there): (Ppn, Instant),
    ) {
        let held = self.flash.load(page);
        let part = if self.ftl.is_parity_page(page) { held } else { part_of(page, held) };
        let Some(superblock) = &mut self.superblock else { return };
        let r = &mut superblock.rebuilds[rebuild];
        r.value ^= part;
        r.left -= 1;
        r.ready = r.ready.max(there);
        if r.left == 0 {
            let computed = superblock.engines.take(r.ready);
            self.book_rebuild(now, op, rebuild);
            self.later.put(computed, Task::Reconstructed { rebuild });
        }
    }

    /// A page is computed.
    pub(in crate::drive) fn rebuilt(&mut self, now: Instant, rebuild: RebuildId) {
        if let Some(superblock) = &mut self.superblock {
            let log_structured_read::Rebuild { request, number, page, value, over, repair, .. } =
                superblock.rebuilds[rebuild];
            superblock.rebuilds.release(rebuild);
            let version = over_version(over, version_of(page, value));
            return self.page_is_computed(now, rebuild, (request, number), version, repair);
        }
        let Some(rain) = &mut self.rain else { return };
        let Rebuild { request, number, lpn, value, over, repair, .. } = rain.rebuilds[rebuild];
        rain.rebuilds.release(rebuild);
        let version = over_version(over, unmixed(lpn, value));
        self.page_is_computed(now, rebuild, (request, number), version, repair);
    }

    /// Page `number` of a request is computed and holds `version`, unless a member was beyond
    /// correction.
    fn page_is_computed(
        &mut self,
        now: Instant,
        rebuild: RebuildId,
        (request, number): (RequestId, u32),
        version: u32,
        repair: Repair,
    ) {
        match repair {
            // Nobody waits for it any more.
            _ if self.requests[request].failed => {}
            Repair { fails: Some(beyond), .. } => self.page_is_beyond(request, beyond),
            Repair { of: Some(beyond), .. } => self.count_repaired(beyond),
            Repair { of: None, fails: None } => {}
        }
        let r = &mut self.requests[request];
        r.note_version(number, version);
        r.remaining -= 1;
        if r.remaining == 0 {
            self.book_rebuilt(Some(rebuild));
            self.read_is_whole(now, request);
            self.book_rebuilt(None);
        }
    }

    pub(in crate::drive) fn update_read_done(
        &mut self,
        now: Instant,
        op: OpId,
        update: UpdateId,
        slot: SlotId,
    ) {
        let page = self.ops[op].ppn;
        self.counters.units_read += 1;
        self.writes.leaving -= 1;
        let part = self.part_of_parity(page);
        let Some(rain) = &mut self.rain else { return };
        let u = rain.update_mut(update);
        u.reads_left -= 1;
        // The old copy of a page that leaves is in the parity only where the old parity is.
        if slot == SlotId::NIL || u.subtractive {
            u.parity ^= part;
        }
        let is_last = u.reads_left == 0;
        if slot != SlotId::NIL {
            self.buffer.filled(slot, self.flash.load(page));
            self.stage_member(now, update, slot);
        }
        if is_last {
            self.stage_parity(now, update);
        }
        self.end_of_read(now, page);
        self.take_writes(now);
    }

    /// A page of a row is on flash at `ppn`, data or parity; true for parity.
    pub(in crate::drive) fn stripe_landed(&mut self, now: Instant, slot: SlotId, ppn: Ppn) -> bool {
        let s = self.buffer.slot(slot);
        let (lpn, dropped) = (s.lpn, s.dropped);
        self.ftl.commit(lpn, ppn);
        let is_parity = lpn.0 >= self.ftl.logical();
        let stripe =
            if is_parity { lpn.0 - self.ftl.logical() } else { self.stripe_of(lpn).unwrap_or(0) };
        if !is_parity {
            self.ftl.set_trimmed(lpn, dropped);
            self.slot_done(now, slot);
        }
        let Some(rain) = &mut self.rain else { return is_parity };
        let update = rain.update_of[stripe as usize];
        let u = rain.update_mut(update);
        u.pages_left -= 1;
        if u.pages_left == 0 {
            self.end_update(now, update);
        }
        is_parity
    }

    /// The stripe is whole again: what waited for it may leave.
    fn end_update(&mut self, now: Instant, update: UpdateId) {
        let (Some(rain), Some(stripes)) = (&mut self.rain, self.ftl.stripes()) else { return };
        let Update { stripe, left_out, parked, .. } = rain.updates[update.index()];
        rain.update_of[stripe as usize] = UpdateId::NIL;
        rain.free.push(update);
        if left_out != 0 {
            let stripes = stripes.clone();
            bits(left_out)
                .for_each(|member| self.ftl.release_trimmed(stripes.member(stripe, member)));
        }
        self.ftl.release_empty(stripe);
        let mut slot = parked;
        while slot != SlotId::NIL {
            let next = self.buffer.row_next(slot);
            if self.buffer.slot(slot).dropped {
                self.slot_done(now, slot);
            } else {
                self.buffer.unpark(slot);
            }
            slot = next;
        }
    }

    /// A row of parity is on flash.
    pub(in crate::drive) fn parity_done(&mut self, now: Instant, op: OpId) {
        let FlashOp { lane, ppn: row, units, class, .. } = self.ops[op];
        if let Some(superblock) = &mut self.superblock {
            let sums = superblock.sums.remove(&row).unwrap_or_default();
            let pages = (0..).zip(sums).map(|(at, sum)| (Ppn(row.0 + at), sum));
            pages.for_each(|(page, sum)| self.flash.store(page, sum));
        }
        self.ftl.row_programmed(row);
        let pool = self.ftl.pool_of(lane);
        if class == Class::Gc {
            self.stripe_row_done(lane, Stream::Copy);
            self.counters.rain.copy_parity_units += u64::from(units);
            self.hurry_erases(now, pool);
            self.parity_of_copies_done(now, pool);
            return;
        }
        self.writes.rows[lane.index()].waiting -= 1;
        self.writes.leaving -= 1;
        self.stripe_row_done(lane, Stream::Host);
        self.counters.rain.parity_units += u64::from(units);
        self.counters.rain.full_stripes += u64::from(units);
        self.row_was_written(now, pool);
        self.space_used(now, pool);
        self.take_writes(now);
    }

    /// A row of parity over copies is on flash: the erases wait for it no more.
    fn parity_of_copies_done(&mut self, now: Instant, pool: Pool) {
        if self.ftl.is_dead(pool) {
            if self.ftl.stop_part(pool) {
                self.copying_is_over(now, pool);
            }
        } else if self.ftl.part_copied(pool) {
            self.victim_copied(now, pool);
        }
    }
}
