//! Reads that are computed where parity lies over superblocks: the other rows of the stripe are
//! read at the same place.
//!
//! The rules are those of `reconstruct` (`rain.reconstruct`), for stripes of pages that lie
//! together and not of addresses that do: pages of one request are of one stripe by chance, or
//! because they were written together. At most one page of a stripe is computed, of a stripe that
//! is wholly on flash: an open one, or one whose parity is still on its way, is read as it is. All
//! other pages of the stripe are read, also what is stale or padding: the controller keeps no list
//! of these, and they are in the sum.
//!
//! The page is looked up once. Its superblock holds a page of the host then, so no block of it is
//! erased; each block that is read is marked at that instant, and stays until it was read. What
//! becomes of the others does not matter.
//!
//! A collection of a superblock keeps many dies at once, and under `base` all: seldom is the page
//! kept and the rest of its stripe not, so there is less to gain than where each lane collects for
//! itself.

use crate::drive::dies::queues::{Class, FlashOp, Owner};
use crate::drive::parity::RebuildId;
use crate::drive::parity::repair::Repair;
use crate::drive::{Drive, Reconstruct, RequestId, Stamp};
use crate::ftl::Translation;
use crate::sim::NIL;
use crate::units::{Duration, Instant, Ppn};

/// A page that is computed.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Rebuild {
    pub(super) request: RequestId,
    /// Which page of the request.
    pub(super) number: u32,
    pub(super) page: Ppn,
    /// Members still to come.
    pub(super) left: u32,
    /// XOR of those that came.
    pub(super) value: u32,
    pub(super) over: Option<Stamp>,
    /// All that came are in the controller's memory.
    pub(super) ready: Instant,
    pub(super) repair: Repair,
}

/// A page on flash that a read asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::drive) struct Asked {
    /// The first page of its stripe.
    pub(super) stripe: Ppn,
    /// Which page of the request.
    pub(super) number: u32,
    pub(super) page: Ppn,
}

impl Drive {
    /// Splits a read in which pages may be computed; false when none is, and nothing was done.
    pub(in crate::drive) fn begin_rebuild(&mut self, now: Instant, request: RequestId) -> bool {
        let Some(superblock) = &mut self.superblock else { return false };
        if superblock.spec.reconstruct == Reconstruct::Never {
            return false;
        }
        let mut asked = std::mem::take(&mut superblock.asked);
        let mut computed = std::mem::take(&mut superblock.computed);
        asked.clear();
        computed.clear();
        let units = self.units(request);
        asked.extend((0..units).filter_map(|number| self.asks_flash(request, number)));
        // A stripe's pages side by side, the first of the request in front.
        asked.sort_unstable();
        for fellows in asked.chunk_by(|a, b| a.stripe == b.stripe) {
            computed.push(self.judge(now, request, fellows).unwrap_or(NIL));
        }
        let any = computed.iter().any(|number| *number != NIL);
        if any {
            for (fellows, target) in asked.chunk_by(|a, b| a.stripe == b.stripe).zip(&computed) {
                self.read_fellows(now, request, fellows, *target);
            }
            for number in 0..units {
                if self.asks_flash(request, number).is_none() {
                    self.read_unit(now, request, number, self.unit(request, number), None);
                }
            }
        }
        if let Some(superblock) = &mut self.superblock {
            (superblock.asked, superblock.computed) = (asked, computed);
        }
        any
    }

    /// The flash page that page `number` of the request needs, if any.
    fn asks_flash(&self, request: RequestId, number: u32) -> Option<Asked> {
        let unit = self.unit(request, number);
        let covered = |slot| self.buffer.slot(slot).mask & unit.mask() == unit.mask();
        let Translation::Ready(page) = self.ftl.translate(unit.lpn) else { return None };
        if self.buffer.find(unit.lpn).is_some_and(covered) {
            return None;
        }
        let stripe = self.ftl.superstripes()?.stripe_of(page).next()?;
        Some(Asked { stripe, number, page })
    }

    /// The rule: which page of a stripe, of which the request asks for `fellows`, is computed and
    /// not read, if any.
    fn judge(&mut self, now: Instant, request: RequestId, fellows: &[Asked]) -> Option<u32> {
        let (superblock, stripes, first) =
            (self.superblock.as_ref()?, self.ftl.superstripes()?, fellows.first()?);
        let reconstruct = superblock.spec.reconstruct;
        let all_asked = fellows.len() as u32 + 1 == stripes.width();
        if (reconstruct == Reconstruct::Full && !all_asked) || !self.is_whole(first.page) {
            return None;
        }
        if reconstruct == Reconstruct::Always {
            self.counters.rain.whole_stripes += u64::from(all_asked);
            return Some(first.number);
        }
        let kept = |page| self.kept_for(now, page);
        // Of pages kept equally long, the first.
        let target = fellows.iter().rev().max_by_key(|asked| kept(asked.page))?;
        let target_kept = kept(target.page);
        if target_kept.is_zero() {
            return None;
        }
        let others = stripes
            .stripe_of(first.page)
            .filter(|page| !fellows.iter().any(|asked| asked.page == *page));
        let (reads, others_kept) = others.fold((0, Duration::ZERO), |(reads, longest), page| {
            (reads + 1, longest.max(kept(page)))
        });
        let cost = match all_asked {
            true => Duration::ZERO,
            false => {
                let one = self.read_alone(self.unit(request, target.number).sectors);
                superblock.engines.time_with(now, one * reads)
            }
        };
        let (worth, number) = (cost + others_kept < target_kept, target.number);
        self.counters.rain.refused_stripes += u64::from(!worth);
        self.counters.rain.whole_stripes += u64::from(worth && all_asked);
        worth.then_some(number)
    }

    /// For how long garbage collection keeps the die of a page.
    fn kept_for(&self, now: Instant, page: Ppn) -> Duration {
        let layout = &self.flash.layout;
        self.gc_forecast(now, layout.die_of(layout.lane_of(layout.block_of(page)))).left
    }

    /// Reads the pages of a stripe that the request asks for; page `target` of it, if any, by way
    /// of the others.
    fn read_fellows(&mut self, now: Instant, request: RequestId, fellows: &[Asked], target: u32) {
        let computed = fellows.iter().find(|asked| asked.number == target);
        let rebuild =
            computed.map(|asked| (self.open_stripe(request, *asked), self.unit(request, target)));
        for number in fellows.iter().map(|asked| asked.number).filter(|number| *number != target) {
            let unit = self.unit(request, number);
            let Some(op) = self.read_unit(now, request, number, unit, None) else { continue };
            if let Some((rebuild, target)) = rebuild {
                self.ops[op].feeds = rebuild;
                self.ops[op].sectors = (unit.mask() | target.mask()).count_ones();
            }
            self.enqueue(now, op);
        }
        let (Some((rebuild, target)), Some(computed)) = (rebuild, computed) else { return };
        self.read_others(now, (request, rebuild), computed.page, fellows, target.sectors);
    }

    /// Reads the pages of the stripe of `page` that are not among `fellows`.
    pub(super) fn read_others(
        &mut self,
        now: Instant,
        (request, rebuild): (RequestId, RebuildId),
        page: Ppn,
        fellows: &[Asked],
        sectors: u32,
    ) {
        let width = self.ftl.superstripes().map_or(0, |stripes| stripes.width());
        for place in 0..width as usize {
            let other =
                self.ftl.superstripes().and_then(|stripes| stripes.stripe_of(page).nth(place));
            let Some(other) = other.filter(|page| !fellows.iter().any(|asked| asked.page == *page))
            else {
                continue;
            };
            self.counters.rain.extra_reads += 1;
            self.ftl.read_started(other);
            let lane = self.flash.layout.lane_of(self.flash.layout.block_of(other));
            let owner = Owner::Rebuild { request, rebuild };
            let op = self.ops.insert(FlashOp::new(owner, Class::Read, lane, other, 1, sectors));
            self.enqueue(now, op);
        }
    }

    pub(super) fn open_stripe(&mut self, request: RequestId, asked: Asked) -> RebuildId {
        let Asked { number, page, .. } = asked;
        self.counters.rain.reconstructed_pages += 1;
        let lpn = self.unit(request, number).lpn;
        let over = self.buffer.find(lpn).map(|slot| self.buffer.slot(slot).stamp);
        self.requests[request].remaining += 1;
        let left = self.ftl.superstripes().map_or(0, |stripes| stripes.width() - 1);
        let (value, ready, repair) = (0, Instant::START, Repair::default());
        let rebuild = Rebuild { request, number, page, left, value, over, ready, repair };
        self.superblock
            .as_mut()
            .map_or(RebuildId::NIL, |superblock| superblock.rebuilds.insert(rebuild))
    }
}
