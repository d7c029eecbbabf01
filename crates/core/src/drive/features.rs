//! Which optional features a drive has, as far as the short ways through it depend on that: asked
//! here, once, and not on the way.

use super::Drive;
use super::dies::schedule::Dispatching;

/// How pages find their places, and with what they go there. Settings choose one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Scheme {
    /// A page map in DRAM.
    Page,
    /// A page map that lies on flash, a part of it in DRAM (`map_cache`).
    CachedMap,
    /// A page map, and stripes of logical pages with parity (`parity/in_place.rs`).
    ParityInPlace,
    /// A page map, and parity over superblocks (`parity/log_structured.rs`).
    Superblock,
    /// Log blocks (`gc/merge.rs`).
    LogBlocks,
}

impl Drive {
    /// True where no optional feature looks at single operations, so that a read may start at once
    /// (`io/direct.rs`).
    #[cold]
    pub(in crate::drive) fn is_plain(&self) -> bool {
        let page_map = self.scheme == Scheme::Page;
        let waits = self.gate.is_some() || self.predictable.is_some() || self.watches;
        let observed =
            self.flash.has_content() || (self.attribution.is_some() && self.ports.is_limited());
        page_map && !(observed || waits || self.looks_at_copies()) && self.takes_shortcuts()
    }

    /// True where a feature looks at the single operations of copies: they take the way through the
    /// lists.
    pub(in crate::drive) fn looks_at_copies(&self) -> bool {
        let observed = self.timeline.is_some() || self.kept.is_some();
        let map = matches!(self.scheme, Scheme::Superblock | Scheme::CachedMap);
        let media = self.faults.is_some() || self.scrub.is_some() || self.decoding.is_some();
        let waits = self.suspension.is_some() || self.holds.is_some() || self.pace.is_some();
        let waits = waits || self.fold.is_some() || self.power.is_some();
        let is_watched = observed || map || media || waits || !self.takes_shortcuts();
        is_watched || self.dispatching != Dispatching::AtOnce
    }

    /// Goes the long way from now on.
    #[cfg(test)]
    pub(crate) fn take_the_long_way(&mut self) {
        self.long_way = true;
    }

    /// True but in tests that compare the short ways with the long ones: through lists, into
    /// functions that find nothing to do.
    #[inline]
    pub(in crate::drive) fn takes_shortcuts(&self) -> bool {
        #[cfg(test)]
        return !self.long_way;
        #[cfg(not(test))]
        return true;
    }
}
