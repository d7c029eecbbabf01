//! Reads that are computed: instead of a page itself, the other members of its stripe and the parity are read.
//!
//! ttFlash (Yan et al., FAST '17), section 4.2. It is decided when a request is split, stripe by stripe
//! ([`Drive::target_in`]), and never revisited. At most one page of a stripe is computed; its fellows that the request
//! asks for are read anyway, and once. The others and the parity are extra reads: host reads on their dies like any
//! other. The page is there `rain.xor` after the last of them, and it is what they held: no result is assumed.
//!
//! All members are looked up at one instant outside updates of the stripe (`rain`), so they belong together. The time
//! from the ends of extra reads' own work, and the XOR, is [`Cause::Reconstruct`](crate::units::Cause) in the
//! attribution.

use super::queues::{Class, FlashOp, Owner};
use super::rain::unmixed;
use super::read::Unit;
use super::{Drive, Reconstruct, Stamp, Status, buffer};
use crate::ftl::Translation;
use crate::sim::NIL;
use crate::units::{Instant, Lpn, Ppn};

/// Marks a computed page among the requests that complete a fixed time later.
pub(super) const REBUILT: u32 = 1 << 31;

/// A page that is computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rebuild {
    request: u32,
    /// Which page of the request.
    number: u32,
    lpn: Lpn,
    /// Members still to come.
    left: u32,
    /// XOR of those that came.
    value: u32,
    over: Option<Stamp>,
}

impl Drive {
    /// Splits a read in which pages may be computed; false when none is, and nothing was done.
    pub(super) fn begin_reconstruct(&mut self, now: Instant, request: u32) -> bool {
        let units = self.units(request);
        let Some(rain) = &mut self.rain else { return false };
        if rain.spec.reconstruct == Reconstruct::Never {
            return false;
        }
        let mut targets = std::mem::take(&mut rain.targets);
        targets.clear();
        for number in 0..units {
            if let Some((stripe, asked)) = self.stripe_begins(request, number, units)
                && let Some(target) = self.target_in(request, stripe, asked.clone())
            {
                targets.push((stripe, target));
            }
        }
        let any = !targets.is_empty();
        if any {
            let mut next = targets.iter().peekable();
            for number in 0..units {
                if let Some((stripe, asked)) = self.stripe_begins(request, number, units) {
                    let target = next.next_if(|(with, _)| *with == stripe).map(|(_, target)| *target);
                    self.read_stripe(now, request, stripe, asked, target);
                }
            }
        }
        if let Some(rain) = &mut self.rain {
            rain.targets = targets;
        }
        any
    }

    /// If page `number` of the request is the first of its stripe there: the stripe, and the members asked for.
    fn stripe_begins(&self, request: u32, number: u32, units: u32) -> Option<(u32, std::ops::Range<u32>)> {
        let stripes = self.ftl.stripes()?;
        let first = self.unit(request, 0).lpn.0;
        let (stripe, member) = stripes.member_of(Lpn(first + number));
        if member > 0 && stripes.member(stripe, member - 1).0 >= first {
            return None;
        }
        let asked = |member: &u32| stripes.member(stripe, *member).0 < first + units;
        Some((stripe, member..(member..stripes.data()).take_while(asked).last()? + 1))
    }

    /// The rule: which of the members `asked` of a stripe is computed and not read, if any. It is asked once for each
    /// stripe of a request, before anything of the request is read.
    fn target_in(&self, request: u32, stripe: u32, asked: std::ops::Range<u32>) -> Option<u32> {
        let rain = self.rain.as_ref().filter(|rain| !rain.is_updating(stripe))?;
        let mut candidates = asked.filter(|member| self.reads_flash(request, stripe, *member));
        match rain.spec.reconstruct {
            Reconstruct::Never => None,
            Reconstruct::Always => candidates.next(),
        }
    }

    /// True when the request needs the member's page on flash.
    fn reads_flash(&self, request: u32, stripe: u32, member: u32) -> bool {
        let Some(stripes) = self.ftl.stripes() else { return false };
        let lpn = stripes.member(stripe, member);
        let unit = self.unit(request, lpn.0 - self.unit(request, 0).lpn.0);
        let covered = |slot| self.buffer.slot(slot).mask & unit.mask() == unit.mask();
        self.ftl.translate(lpn) != Translation::Unwritten && !self.buffer.find(lpn).is_some_and(covered)
    }

    /// Reads the members `asked` of a stripe; `target`, if any, by way of the others.
    fn read_stripe(
        &mut self,
        now: Instant,
        request: u32,
        stripe: u32,
        asked: std::ops::Range<u32>,
        target: Option<u32>,
    ) {
        let page = |drive: &Self, member| drive.ftl.stripes().map(|stripes| stripes.member(stripe, member));
        let first = self.unit(request, 0).lpn.0;
        let rebuild = target.and_then(|target| page(self, target)).map(|lpn| self.open_rebuild(request, lpn));
        // Members that the computed page has or will get: itself, and those that the request reads.
        let mut have = target.map_or(u64::MAX, |target| 1 << target);
        for member in asked.filter(|member| Some(*member) != target) {
            let Some(lpn) = page(self, member) else { return };
            let number = lpn.0 - first;
            let unit = self.unit(request, number);
            let Some(op) = self.read_unit(now, request, number, unit, None) else { continue };
            if let Some((rebuild, target)) = rebuild {
                have |= 1 << member;
                let operation = &mut self.ops[op];
                operation.feeds = rebuild;
                operation.sectors = (unit.mask() | target.mask()).count_ones();
                self.count_member(rebuild);
            }
            self.enqueue(now, op);
        }
        let Some((rebuild, target)) = rebuild else { return };
        let Some(stripes) = self.ftl.stripes() else { return };
        let (data, parity) = (stripes.data(), stripes.parity(stripe));
        for member in (0..data).filter(|member| have >> member & 1 == 0) {
            let Some(lpn) = page(self, member) else { return };
            self.read_extra(now, request, rebuild, lpn, target.sectors);
        }
        self.read_extra(now, request, rebuild, parity, target.sectors);
    }

    fn open_rebuild(&mut self, request: u32, lpn: Lpn) -> (u32, Unit) {
        let number = lpn.0 - self.unit(request, 0).lpn.0;
        let over = self.buffer.find(lpn).map(|slot| self.buffer.slot(slot).stamp);
        let unit = self.unit(request, number);
        self.requests[request].remaining += 1;
        self.counters.rain.reconstructed_pages += 1;
        let rebuild = Rebuild { request, number, lpn, left: 0, value: 0, over };
        (self.rain.as_mut().map_or(NIL, |rain| rain.rebuilds.insert(rebuild)), unit)
    }

    fn count_member(&mut self, rebuild: u32) {
        if let Some(rain) = &mut self.rain {
            rain.rebuilds[rebuild].left += 1;
        }
    }

    /// Reads a member that the request did not ask for, or the parity; one never written holds nothing.
    fn read_extra(&mut self, now: Instant, request: u32, rebuild: u32, lpn: Lpn, sectors: u32) {
        let Some(ppn) = self.ftl.member_at(lpn) else { return };
        self.counters.rain.extra_reads += 1;
        self.count_member(rebuild);
        self.ftl.read_started(ppn);
        let lane = self.flash.layout.lane_of(self.flash.layout.block_of(ppn));
        let op = FlashOp::new(Owner::Rebuild { request, rebuild }, Class::Read, lane, ppn, 1, sectors);
        let op = self.ops.insert(op);
        self.enqueue(now, op);
    }

    /// An extra read is done.
    pub(super) fn extra_read_done(&mut self, now: Instant, op: u32, request: u32, rebuild: u32) {
        let FlashOp { ppn, gc_blocked, .. } = self.ops[op];
        self.counters.units_read += 1;
        self.requests[request].gc_blocked |= gc_blocked;
        self.rebuild_gains(now, op, rebuild, ppn);
        self.end_of_read(now, ppn);
    }

    /// A page that is computed has the member at `page`; with the last one the XOR begins.
    pub(super) fn rebuild_gains(&mut self, now: Instant, op: u32, rebuild: u32, page: Ppn) {
        let part = self.part_of_parity(page);
        let Some(rain) = &mut self.rain else { return };
        let r = &mut rain.rebuilds[rebuild];
        r.value ^= part;
        r.left -= 1;
        if r.left == 0 {
            let there = now + rain.spec.xor;
            self.book_rebuild(now, op, rebuild);
            self.complete_later(there, rebuild | REBUILT);
        }
    }

    /// A page is computed.
    pub(super) fn rebuilt(&mut self, now: Instant, rebuild: u32) {
        let Some(rain) = &mut self.rain else { return };
        let Rebuild { request, number, lpn, value, over, .. } = rain.rebuilds[rebuild];
        rain.rebuilds.release(rebuild);
        let version = unmixed(lpn, value);
        self.note_version(request, number, over.map_or(version, |stamp| buffer::over(stamp, version)));
        let r = &mut self.requests[request];
        r.remaining -= 1;
        if r.remaining == 0 {
            self.book_rebuilt(Some(rebuild));
            self.finish_with(now, request, Status::Success);
            self.book_rebuilt(None);
        }
    }
}
