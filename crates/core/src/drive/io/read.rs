//! The read path: buffer, translation, one flash operation for what one array read brings.

use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::face::request::Unit;
use crate::drive::io::buffer;
use crate::drive::later::Task;
use crate::drive::{Content, Drive, PredictableLatency, Stamp};
use crate::ftl::Translation;
use crate::sim::NIL;
use crate::units::{Instant, Ppn};

impl Drive {
    pub(in crate::drive) fn begin_read(&mut self, now: Instant, request: u32) {
        let units = self.units(request);
        if self.flash.has_content() {
            let versions = vec![0; units as usize].into_boxed_slice();
            self.requests[request].content = Some(Box::new(Content::Read(versions)));
        }
        if self.requests[request].command.predictable == PredictableLatency::On {
            self.split_copies(now);
            if self.fails_fast(now, request) {
                return;
            }
        }
        if (self.rain.is_none() || !self.begin_reconstruct(now, request))
            && (self.superblock.is_none() || !self.begin_rebuild(now, request))
        {
            // The operation that the next unit may join, if the same array read brings it.
            let mut open: Option<u32> = None;
            for number in 0..units {
                let unit = self.unit(request, number);
                if let Some(op) = self.read_unit(now, request, number, unit, open) {
                    open = Some(op);
                }
            }
            if let Some(op) = open {
                self.enqueue(now, op);
            }
        }
        if self.requests[request].remaining == 0 {
            self.later.put(now + self.spec.buffer_hit, Task::Served { request });
        }
    }

    /// Answers a unit from the buffer, or adds it to an operation, which it returns: `open` or a
    /// new one. A new one sends the open one on its way.
    #[inline]
    pub(in crate::drive) fn read_unit(
        &mut self,
        now: Instant,
        request: u32,
        number: u32,
        unit: Unit,
        open: Option<u32>,
    ) -> Option<u32> {
        let slot = self.buffer.find(unit.lpn);
        let over = match slot {
            Some(slot) if self.buffer.slot(slot).mask & unit.mask() == unit.mask() => {
                self.counters.buffer.read_hits += 1;
                self.note_version(request, number, self.buffer.slot(slot).stamp.version);
                return None;
            }
            Some(slot) => Some(self.buffer.slot(slot).stamp),
            None => None,
        };
        if self.dftl.is_some() && !self.is_known(now, request, number, unit.lpn) {
            return None;
        }
        if self.merges.is_some()
            && let Some(spare) = self.ftl.log_look_up(unit.lpn)
        {
            self.look_up_spare(now, request, number, spare);
            return None;
        }
        self.read_known_unit(now, request, number, unit, over, open)
    }

    /// The same for a unit that is to be read from flash and can be translated.
    fn read_known_unit(
        &mut self,
        now: Instant,
        request: u32,
        number: u32,
        unit: Unit,
        over: Option<Stamp>,
        open: Option<u32>,
    ) -> Option<u32> {
        match self.ftl.translate(unit.lpn) {
            Translation::Unwritten => {
                self.counters.unwritten_reads += 1;
                self.note_version(request, number, over.map_or(0, |stamp| buffer::over(stamp, 0)));
                None
            }
            Translation::Ready(ppn) => {
                let ppn = self.settled(now, ppn);
                Some(self.read_page(now, request, number, unit, ppn, over, open))
            }
        }
    }

    /// A part of the page map is not in RAM: it is read from the spare area of a page first.
    fn look_up_spare(&mut self, now: Instant, request: u32, number: u32, spare: Ppn) {
        self.ftl.read_started(spare);
        self.requests[request].remaining += 1;
        let lane = self.flash.layout.lane_of(self.flash.layout.block_of(spare));
        let op = FlashOp::new(Owner::LookUp { request, number }, Class::Read, lane, spare, 1, 1);
        let op = self.ops.insert(op);
        self.enqueue(now, op);
    }

    /// Page `number` of a read can be translated now; meanwhile it may have come into the buffer,
    /// or gone.
    pub(in crate::drive) fn looked_up(&mut self, now: Instant, op: u32, request: u32, number: u32) {
        self.counters.units_read += 1;
        let (spare, unit) = (self.ops[op].ppn, self.unit(request, number));
        self.end_of_read(now, spare);
        self.requests[request].gc_blocked |= self.ops[op].gc_blocked;
        let slot = self.buffer.find(unit.lpn).map(|slot| self.buffer.slot(slot));
        let over = match slot {
            Some(slot) if slot.mask & unit.mask() == unit.mask() => {
                let version = slot.stamp.version;
                self.counters.buffer.read_hits += 1;
                self.note_version(request, number, version);
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
    fn part_of_read_done(&mut self, now: Instant, request: u32) {
        let r = &mut self.requests[request];
        r.remaining -= 1;
        if r.remaining == 0 {
            let status = self.read_status(request);
            self.finish_with(now, request, status);
        }
    }

    /// Adds a page to the open operation, or closes that and opens another; returns the open one.
    #[expect(
        clippy::too_many_arguments,
        reason = "one step of the loop above, which would be too long with it"
    )]
    fn read_page(
        &mut self,
        now: Instant,
        request: u32,
        number: u32,
        unit: Unit,
        ppn: Ppn,
        over: Option<Stamp>,
        open: Option<u32>,
    ) -> u32 {
        if let Some(op) = open {
            let joins = {
                let o = &self.ops[op];
                // The open operation may be another request's: then no number fits.
                o.owner == Owner::Request { request, first: number.wrapping_sub(o.units) }
                    && o.over().is_none()
                    && over.is_none()
                    && Ppn(o.ppn.0 + o.units) == ppn
                    && self.flash.layout.same_read(o.ppn, ppn)
            };
            if joins {
                self.ftl.read_started(ppn);
                self.ops[op].units += 1;
                self.ops[op].sectors += unit.sectors;
                return op;
            }
            self.enqueue(now, op);
        }
        self.ftl.read_started(ppn);
        let lane = self.flash.layout.lane_of(self.flash.layout.block_of(ppn));
        let owner = Owner::Request { request, first: number };
        let mut op = FlashOp::new(owner, Class::Read, lane, ppn, 1, unit.sectors);
        op.set_over(over);
        self.requests[request].remaining += 1;
        self.ops.insert(op)
    }

    /// A host read's flash operation is done.
    pub(in crate::drive) fn read_done(&mut self, now: Instant, op: u32, request: u32, first: u32) {
        let FlashOp { ppn, units, gc_blocked, feeds, .. } = self.ops[op];
        let over = self.ops[op].over();
        self.counters.units_read += u64::from(units);
        if feeds != NIL {
            self.rebuild_gains(now, op, feeds, ppn);
        }
        for at in 0..units {
            let page = Ppn(ppn.0 + at);
            if self.flash.has_content() {
                let version = self.flash.load(page);
                self.note_version(
                    request,
                    first + at,
                    over.map_or(version, |stamp| buffer::over(stamp, version)),
                );
            }
            if self.scrub.is_some() {
                self.check_read(now, request, first + at, page, feeds);
            }
            self.end_of_read(now, page);
        }
        let r = &mut self.requests[request];
        r.gc_blocked |= gc_blocked;
        self.part_of_read_done(now, request);
    }

    /// A read of the page's block ended: an erase may have waited for it.
    #[inline]
    pub(in crate::drive) fn end_of_read(&mut self, now: Instant, page: Ppn) {
        if self.ftl.read_ended(page) {
            self.may_erase(now, self.flash.layout.block_of(page));
        }
        if self.merges.is_some() {
            self.merge_read_ended(now, page);
        }
        // `nogc` passes over blocks being read: it may find one now, and waiting writes room.
        if self.revive_pools(now) {
            self.take_writes(now);
        }
    }

    #[inline]
    pub(in crate::drive) fn note_version(&mut self, request: u32, number: u32, version: u32) {
        if let Some(Content::Read(versions)) = self.requests[request].content.as_deref_mut() {
            versions[number as usize] = version;
        }
    }
}
