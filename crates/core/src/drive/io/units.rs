//! The units of a read: answered by the buffer, or read from flash once their entry of the map is
//! known. Neighbours that one array read brings share an operation.

use crate::drive::buffer::slots;
use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::face::request::Unit;
use crate::drive::features::Scheme;
use crate::drive::{Drive, OpId, RequestId, Stamp};
use crate::ftl::Translation;
use crate::units::{Instant, Ppn};

impl Drive {
    /// Answers a unit from the buffer, or adds it to an operation, which it returns: `open` or a
    /// new one. A new one sends the open one on its way.
    #[inline]
    pub(in crate::drive) fn read_unit(
        &mut self,
        now: Instant,
        request: RequestId,
        number: u32,
        unit: Unit,
        open: Option<OpId>,
    ) -> Option<OpId> {
        let slot = self.buffer.find(unit.lpn);
        let over = match slot {
            Some(slot) if self.buffer.slot(slot).mask & unit.mask() == unit.mask() => {
                self.counters.buffer.read_hits += 1;
                if self.writes.by_stripe {
                    self.stripe_used(unit.lpn);
                }
                self.requests[request].note_version(number, self.buffer.slot(slot).stamp.version);
                return None;
            }
            Some(slot) => Some(self.buffer.slot(slot).stamp),
            None => None,
        };
        if self.scheme == Scheme::CachedMap && !self.is_known(now, request, number, unit.lpn) {
            return None;
        }
        if self.scheme == Scheme::LogBlocks
            && let Some(spare) = self.ftl.log_look_up(unit.lpn)
        {
            self.look_up_spare(now, request, number, spare);
            return None;
        }
        self.read_known_unit(now, request, number, unit, over, open)
    }

    /// Adds a unit that is to be read from flash, and whose entry is known, to an operation.
    pub(super) fn read_known_unit(
        &mut self,
        now: Instant,
        request: RequestId,
        number: u32,
        unit: Unit,
        over: Option<Stamp>,
        open: Option<OpId>,
    ) -> Option<OpId> {
        match self.ftl.translate(unit.lpn) {
            Translation::Unwritten => {
                self.counters.unwritten_reads += 1;
                self.requests[request]
                    .note_version(number, over.map_or(0, |stamp| slots::over(stamp, 0)));
                None
            }
            Translation::Ready(ppn) => {
                let ppn = self.settled(now, ppn);
                Some(self.read_page(now, request, number, unit, ppn, over, open))
            }
        }
    }

    /// A part of the page map is not in RAM: it is read from the spare area of a page first.
    fn look_up_spare(&mut self, now: Instant, request: RequestId, number: u32, spare: Ppn) {
        self.ftl.read_started(spare);
        self.requests[request].remaining += 1;
        let lane = self.flash.layout.lane_of(self.flash.layout.block_of(spare));
        let op = FlashOp::new(Owner::LookUp { request, number }, Class::Read, lane, spare, 1, 1);
        let op = self.ops.insert(op);
        self.enqueue(now, op);
    }

    /// Adds a page to the open operation, or closes that and opens another; returns the open one.
    #[expect(
        clippy::too_many_arguments,
        reason = "one step of the loop above, which would be too long with it"
    )]
    fn read_page(
        &mut self,
        now: Instant,
        request: RequestId,
        number: u32,
        unit: Unit,
        ppn: Ppn,
        over: Option<Stamp>,
        open: Option<OpId>,
    ) -> OpId {
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
}
