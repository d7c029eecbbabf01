//! Reads that are computed: instead of a page itself, the other members of its stripe and the
//! parity are read.
//!
//! ttFlash (Yan et al., FAST '17), section 4.2. It is decided when a request is split, stripe by
//! stripe ([`Drive::target_in`]), and never revisited. At most one page of a stripe is computed;
//! its fellows that the request asks for are read anyway, and once. The others and the parity are
//! extra reads: host reads on their dies like any other, whose data cross the controller's DRAM
//! where that is limited. The page is there `rain.xor` after the last of them, later where the
//! engines are busy (`xor`), and it is what they held: no result is assumed.
//!
//! **The rules** (`rain.reconstruct`). `full` looks at stripes that a request asks for as a whole:
//! of the pages whose dies garbage collection keeps, the one kept longest is computed from the
//! others and the parity, N - 1 reads as before; not so where the parity is kept as long or longer.
//! `cost` also looks at parts of stripes, and computes where (extra reads) x T_read + XOR + (the
//! longest time that one of their dies is kept) < (how long the page is kept); where all engines
//! are busy for longer than the reads take, that time stands in place of the reads'. With
//! `rain.cost_rule = "rotation"`, which presumes that no two members of a stripe are collected at
//! once, a page is computed whenever its victim is still copied, and during the erase where reads x
//! T_read + XOR < what is left of it; while turns are switched off the rule is that of estimates.
//! `"rotation-as-coded"` is the same with the authors' forecast, for comparisons with their code.
//! T_read is a read of the page alone. How long a die is kept is forecast (`forecast`).
//!
//! All members are looked up at one instant outside updates of the stripe (`rain`), so they belong
//! together. The time from the ends of extra reads' own work, and the XOR, is
//! [`Cause::Reconstruct`](crate::units::Cause) in the attribution.

use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::face::request::Unit;
use crate::drive::gc::forecast::Forecast;
use crate::drive::parity::RebuildId;
use crate::drive::parity::repair::Repair;
use crate::drive::{CostRule, Drive, Reconstruct, RequestId, Stamp};
use crate::ftl::{Stripes, Translation};
use crate::units::{Duration, Instant, Lpn};
use std::ops::Range;

/// A page that is computed.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Rebuild {
    pub(super) request: RequestId,
    /// Which page of the request.
    pub(super) number: u32,
    pub(super) lpn: Lpn,
    /// Members still to come.
    pub(super) left: u32,
    /// XOR of those that came.
    pub(super) value: u32,
    pub(super) over: Option<Stamp>,
    /// All that came are in the controller's memory.
    pub(super) ready: Instant,
    pub(super) repair: Repair,
}

/// The verdict on a stripe of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing of it is computed: no garbage collection is in the way, or the rule does not look at
    /// it.
    Read,
    /// A page of it waits for garbage collection: to compute it would take longer.
    Refuse,
    /// This member is computed.
    Compute(u32),
}

/// Extra reads that a reconstruction would cost.
#[derive(Clone, Copy, Debug, Default)]
struct Needed {
    reads: u32,
    /// For so long garbage collection keeps the last of them.
    kept: Duration,
}

impl Drive {
    /// Splits a read in which pages may be computed; false when none is, and nothing was done.
    pub(in crate::drive) fn begin_reconstruct(&mut self, now: Instant, request: RequestId) -> bool {
        let units = self.units(request);
        let Some(rain) = &mut self.rain else { return false };
        if rain.spec.reconstruct == Reconstruct::Never {
            return false;
        }
        let mut targets = std::mem::take(&mut rain.targets);
        targets.clear();
        for number in 0..units {
            if let Some((stripe, asked)) = self.stripe_begins(request, number, units) {
                let is_whole = asked.len() as u32 == self.ftl.stripes().map_or(0, Stripes::data);
                match self.target_in(now, request, stripe, asked) {
                    Verdict::Read => {}
                    Verdict::Refuse => self.counters.rain.refused_stripes += 1,
                    Verdict::Compute(target) => {
                        self.counters.rain.whole_stripes += u64::from(is_whole);
                        targets.push((stripe, target));
                    }
                }
            }
        }
        let any = !targets.is_empty();
        if any {
            let mut next = targets.iter().peekable();
            for number in 0..units {
                if let Some((stripe, asked)) = self.stripe_begins(request, number, units) {
                    let target =
                        next.next_if(|(with, _)| *with == stripe).map(|(_, target)| *target);
                    self.read_stripe(now, request, stripe, asked, target);
                }
            }
        }
        if let Some(rain) = &mut self.rain {
            rain.targets = targets;
        }
        any
    }

    /// If page `number` of the request is the first of its stripe there: the stripe, and the
    /// members asked for.
    fn stripe_begins(
        &self,
        request: RequestId,
        number: u32,
        units: u32,
    ) -> Option<(u32, Range<u32>)> {
        let stripes = self.ftl.stripes()?;
        let first = self.unit(request, 0).lpn.0;
        let (stripe, member) = stripes.member_of(Lpn(first + number));
        if member > 0 && stripes.member(stripe, member - 1).0 >= first {
            return None;
        }
        let asked = |member: &u32| stripes.member(stripe, *member).0 < first + units;
        Some((stripe, member..(member..stripes.data()).take_while(asked).last()? + 1))
    }

    /// The rule: which of the members `asked` of a stripe is computed and not read, if any. It is
    /// asked once for each stripe of a request, before anything of the request is read.
    fn target_in(
        &self,
        now: Instant,
        request: RequestId,
        stripe: u32,
        asked: Range<u32>,
    ) -> Verdict {
        let (Some(rain), Some(stripes)) = (&self.rain, self.ftl.stripes()) else {
            return Verdict::Read;
        };
        let is_whole = asked.len() as u32 == stripes.data();
        let judges = match rain.spec.reconstruct {
            Reconstruct::Never => false,
            Reconstruct::Full => is_whole,
            Reconstruct::Cost | Reconstruct::Always => true,
        };
        if !judges {
            return Verdict::Read;
        }
        let mut candidates =
            asked.clone().filter(|member| self.reads_flash(request, stripe, *member));
        if rain.spec.reconstruct == Reconstruct::Always && !rain.is_updating(stripe) {
            return candidates.next().map_or(Verdict::Read, Verdict::Compute);
        }
        let coded = rain.spec.cost_rule == CostRule::RotationAsCoded
            && self.rule_of_reads() == CostRule::RotationAsCoded;
        let forecast = |member| {
            let lpn = stripes.member(stripe, member);
            let forecast =
                if coded { self.coded_forecast_of(now, lpn) } else { self.forecast_of(now, lpn) };
            (forecast, member)
        };
        // Of pages kept equally long, the first.
        let first_longest =
            |a: (Forecast, u32), b: (Forecast, u32)| if b.0.left > a.0.left { b } else { a };
        let Some((kept, target)) = candidates.map(forecast).reduce(first_longest) else {
            return Verdict::Read;
        };
        // A look-up in a big table: only where there is something to compute.
        if kept.left.is_zero() || rain.is_updating(stripe) {
            return Verdict::Read;
        }
        let needed = self.needed_for(now, request, stripe, asked);
        let by_time = self.rule_of_reads() == CostRule::Estimate;
        let worth = match is_whole {
            true => !by_time || needed.kept < kept.left,
            false if !by_time && kept.copying => true,
            false => {
                let page = self
                    .unit(request, stripes.member(stripe, target).0 - self.unit(request, 0).lpn.0);
                let reads = self.read_alone(page.sectors) * u64::from(needed.reads);
                let cost = rain.engines.time_with(now, reads);
                cost + if by_time { needed.kept } else { Duration::ZERO } < kept.left
            }
        };
        if worth { Verdict::Compute(target) } else { Verdict::Refuse }
    }

    /// The rule by which a stripe is judged now: while turns are off, that of estimates.
    fn rule_of_reads(&self) -> CostRule {
        let turns_are_off =
            self.collector.planes.as_ref().is_some_and(|planes| planes.turns_are_off());
        match &self.rain {
            Some(rain) if !turns_are_off => rain.spec.cost_rule,
            _ => CostRule::Estimate,
        }
    }

    /// True when every page of a read that garbage collection keeps would be computed from pages
    /// that it does not keep.
    pub(in crate::drive) fn is_computed_in_time(&self, now: Instant, request: RequestId) -> bool {
        let (Some(rain), Some(stripes)) = (&self.rain, self.ftl.stripes()) else { return false };
        if rain.spec.reconstruct == Reconstruct::Never {
            return false;
        }
        let is_kept = |lpn| self.keeps(now, self.flash.layout.die_of(self.ftl.striped_lane(lpn)));
        let units = self.units(request);
        let mut begins = (0..units).filter_map(|number| self.stripe_begins(request, number, units));
        begins.all(|(stripe, asked)| {
            let is_read =
                |member: u32| asked.contains(&member) && self.reads_flash(request, stripe, member);
            let target = match self.target_in(now, request, stripe, asked.clone()) {
                Verdict::Compute(target) => Some(target),
                Verdict::Read | Verdict::Refuse => None,
            };
            let members = (0..stripes.data()).filter(|member| Some(*member) != target);
            let needed = members.filter(|member| is_read(*member) || target.is_some());
            let pages = needed.map(|member| stripes.member(stripe, member));
            let parity = target.map(|_| stripes.parity(stripe));
            pages.chain(parity).all(|lpn| self.ftl.member_at(lpn).is_none() || !is_kept(lpn))
        })
    }

    /// The members, and the parity, that would be read only to compute one of those that the
    /// request reads.
    fn needed_for(
        &self,
        now: Instant,
        request: RequestId,
        stripe: u32,
        asked: Range<u32>,
    ) -> Needed {
        let Some(stripes) = self.ftl.stripes() else { return Needed::default() };
        let is_read = |member| asked.contains(&member) && self.reads_flash(request, stripe, member);
        let members = (0..stripes.data()).filter(|member| !is_read(*member));
        let pages =
            members.map(|member| stripes.member(stripe, member)).chain([stripes.parity(stripe)]);
        pages.filter(|lpn| self.ftl.member_at(*lpn).is_some()).fold(
            Needed::default(),
            |needed, lpn| Needed {
                reads: needed.reads + 1,
                kept: needed.kept.max(self.forecast_of(now, lpn).left),
            },
        )
    }

    /// True when the request needs the member's page on flash.
    fn reads_flash(&self, request: RequestId, stripe: u32, member: u32) -> bool {
        let Some(stripes) = self.ftl.stripes() else { return false };
        let lpn = stripes.member(stripe, member);
        let unit = self.unit(request, lpn.0 - self.unit(request, 0).lpn.0);
        let covered = |slot| self.buffer.slot(slot).mask & unit.mask() == unit.mask();
        self.ftl.translate(lpn) != Translation::Unwritten
            && !self.buffer.find(lpn).is_some_and(covered)
    }

    /// Reads the members `asked` of a stripe; `target`, if any, by way of the others.
    fn read_stripe(
        &mut self,
        now: Instant,
        request: RequestId,
        stripe: u32,
        asked: Range<u32>,
        target: Option<u32>,
    ) {
        let page = |drive: &Self, member| {
            drive.ftl.stripes().map(|stripes| stripes.member(stripe, member))
        };
        let first = self.unit(request, 0).lpn.0;
        let rebuild =
            target.and_then(|target| page(self, target)).map(|lpn| self.open_rebuild(request, lpn));
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

    pub(super) fn open_rebuild(&mut self, request: RequestId, lpn: Lpn) -> (RebuildId, Unit) {
        let number = lpn.0 - self.unit(request, 0).lpn.0;
        let over = self.buffer.find(lpn).map(|slot| self.buffer.slot(slot).stamp);
        let unit = self.unit(request, number);
        self.requests[request].remaining += 1;
        self.counters.rain.reconstructed_pages += 1;
        let ready = Instant::START;
        let (left, value, repair) = (0, 0, Repair::default());
        let rebuild = Rebuild { request, number, lpn, left, value, over, ready, repair };
        (self.rain.as_mut().map_or(RebuildId::NIL, |rain| rain.rebuilds.insert(rebuild)), unit)
    }

    fn count_member(&mut self, rebuild: RebuildId) {
        if let Some(rain) = &mut self.rain {
            rain.rebuilds[rebuild].left += 1;
        }
    }

    /// Reads a member that the request did not ask for, or the parity; one never written holds
    /// nothing.
    pub(super) fn read_extra(
        &mut self,
        now: Instant,
        request: RequestId,
        rebuild: RebuildId,
        lpn: Lpn,
        sectors: u32,
    ) {
        let Some(ppn) = self.ftl.member_at(lpn) else { return };
        self.counters.rain.extra_reads += 1;
        self.count_member(rebuild);
        self.ftl.read_started(ppn);
        let lane = self.flash.layout.lane_of(self.flash.layout.block_of(ppn));
        let op =
            FlashOp::new(Owner::Rebuild { request, rebuild }, Class::Read, lane, ppn, 1, sectors);
        let op = self.ops.insert(op);
        self.enqueue(now, op);
    }
}
