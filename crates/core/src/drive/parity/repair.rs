//! A page that no error correction brings back is computed from its stripe, where each of the
//! others can be read: else the read fails.
//!
//! The reads are those of a reconstruction (`reconstruct`, `log_structured_read`). A member that is
//! beyond correction itself leaves nothing to compute from, whatever the page is computed for: the
//! page is not read in place of that.

use crate::drive::features::Scheme;
use crate::drive::parity::RebuildId;
use crate::drive::parity::log_structured_read::Asked;
use crate::drive::{Drive, RequestId};
use crate::units::{Instant, Ppn};

/// The error correction that a page is beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Beyond {
    /// That of bit errors (`scrub.errors`).
    BitErrors,
    /// That of pages that have aged (`retry`).
    Age,
}

/// The part of errors in the computation of a page.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::drive) struct Repair {
    /// The page is computed because it is beyond this.
    pub of: Option<Beyond>,
    /// A member is beyond this, and the page cannot be computed.
    pub fails: Option<Beyond>,
}

impl Drive {
    /// A page that the request has read at `page` in vain is computed from its stripe, or the read
    /// will end with an error. A page from which another one is computed (`feeds`) takes that one
    /// with it, and nobody waits for a read that has failed fast.
    pub(in crate::drive) fn repair_or_fail(
        &mut self,
        now: Instant,
        (request, number): (RequestId, u32),
        (page, feeds): (Ppn, RebuildId),
        beyond: Beyond,
    ) {
        if self.requests[request].failed {
            return;
        }
        let may = feeds == RebuildId::NIL && !self.requests[request].unrecovered;
        if !(may && self.repair(now, (request, number), page, beyond)) {
            self.page_is_beyond(request, beyond);
        }
    }

    /// Begins to compute the page; false where that cannot be.
    fn repair(
        &mut self,
        now: Instant,
        (request, number): (RequestId, u32),
        page: Ppn,
        beyond: Beyond,
    ) -> bool {
        let unit = self.unit(request, number);
        if let Some(slot) = self.buffer.find(unit.lpn).map(|slot| self.buffer.slot(slot))
            && slot.mask & unit.mask() == unit.mask()
            && matches!(self.scheme, Scheme::ParityInPlace | Scheme::Superblock)
        {
            // The host has written it meanwhile: the newer version is at hand.
            let version = slot.stamp.version;
            self.requests[request].note_version(number, version);
            self.count_repaired(beyond);
            return true;
        }
        let rebuild = match self.scheme {
            Scheme::Superblock => self.repair_in_superblock(now, (request, number), page),
            _ => self.repair_in_place(now, (request, number)),
        };
        let Some(rebuild) = rebuild else { return false };
        self.repair_of(rebuild).of = Some(beyond);
        true
    }

    fn repair_in_place(
        &mut self,
        now: Instant,
        (request, number): (RequestId, u32),
    ) -> Option<RebuildId> {
        let lpn = self.unit(request, number).lpn;
        let (rain, stripes) = (self.rain.as_ref()?, self.ftl.stripes()?);
        let (stripe, member) = stripes.member_of(lpn);
        if rain.is_updating(stripe) || self.ftl.member_at(lpn).is_none() {
            return None;
        }
        let (data, parity) = (stripes.data(), stripes.parity(stripe));
        let (rebuild, target) = self.open_rebuild(request, lpn);
        for other in (0..data).filter(|other| *other != member) {
            if let Some(lpn) = self.ftl.stripes().map(|stripes| stripes.member(stripe, other)) {
                self.read_extra(now, request, rebuild, lpn, target.sectors);
            }
        }
        self.read_extra(now, request, rebuild, parity, target.sectors);
        Some(rebuild)
    }

    /// The superblock keeps its pages while one of them is the host's: not where it was copied, or
    /// written anew, since the read began.
    fn repair_in_superblock(
        &mut self,
        now: Instant,
        (request, number): (RequestId, u32),
        page: Ppn,
    ) -> Option<RebuildId> {
        let unit = self.unit(request, number);
        if self.ftl.mapping().physical(unit.lpn) != page || !self.is_whole(page) {
            return None;
        }
        let stripe = self.ftl.superstripes()?.stripe_of(page).next()?;
        let asked = Asked { stripe, number, page };
        let rebuild = self.open_stripe(request, asked);
        self.read_others(now, (request, rebuild), page, &[asked], unit.sectors);
        Some(rebuild)
    }

    /// The part of errors in a computation that is under way.
    fn repair_of(&mut self, rebuild: RebuildId) -> &mut Repair {
        match (&mut self.superblock, &mut self.rain) {
            (Some(superblock), _) => &mut superblock.rebuilds[rebuild].repair,
            (None, Some(rain)) => &mut rain.rebuilds[rebuild].repair,
            (None, None) => unreachable!("a page is computed from its stripe"),
        }
    }

    /// A member of a page that is computed was read in vain.
    pub(in crate::drive) fn member_is_beyond(&mut self, rebuild: RebuildId, beyond: Beyond) {
        self.repair_of(rebuild).fails.get_or_insert(beyond);
    }

    /// The page of a request could not be computed.
    pub(super) fn page_is_beyond(&mut self, request: RequestId, beyond: Beyond) {
        let is_first = !std::mem::replace(&mut self.requests[request].unrecovered, true);
        self.counters.retry.failed_reads += u64::from(is_first && beyond == Beyond::Age);
    }

    pub(super) fn count_repaired(&mut self, beyond: Beyond) {
        match (beyond, &mut self.scrub) {
            (Beyond::Age, _) => self.counters.retry.repaired += 1,
            (Beyond::BitErrors, Some(scrub)) => scrub.counters.repaired += 1,
            (Beyond::BitErrors, None) => unreachable!("bit errors are the scrubber's"),
        }
    }
}
