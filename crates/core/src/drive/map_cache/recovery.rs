//! A map on flash after a power loss: which translation pages are out of date.
//!
//! The cache is empty then. Translation pages share blocks with the host's pages, so the directory
//! that finds them comes from the same scan of spare areas that finds the host's pages; and what
//! the scan says of these is newer than any translation page: entries that were dirty in the cache,
//! or owed, are known again. Which they are is not: so each translation page is read and compared
//! (`repair`). One that is out of date is owed when the drive is back: it is read and programmed
//! like any other that owes, beside the host's commands; until then DRAM holds what it must say. A
//! power loss meanwhile changes nothing: the next scan finds the same.
//!
//! In a run without content it is not kept what translation pages say: then all are taken to be out
//! of date.

use crate::drive::Drive;
use crate::drive::map_cache::misses::Dftl;
use crate::units::{Instant, Lpn, Ppn};

/// Content of the translation pages on flash when the power fails.
#[derive(Clone, Debug)]
pub(in crate::drive) struct MapLeft {
    /// By page of the host: its place; nothing where that is not kept.
    places: Vec<Ppn>,
    /// Translation pages that were being programmed: what is on flash is the one before.
    torn: Vec<u32>,
}

impl Dftl {
    /// The part of the map on flash that a power loss leaves.
    pub fn left(&self) -> MapLeft {
        let places = self.stored.as_ref().map_or(Vec::new(), |stored| stored.places.clone());
        MapLeft { places, torn: self.pages.flying() }
    }
}

impl Drive {
    /// Holds what translation pages say against where the pages lie; how many are out of date.
    pub(in crate::drive) fn compare_map(&mut self, left: MapLeft) -> u64 {
        let mapping = self.ftl.mapping();
        let Some(dftl) = &mut self.dftl else { return 0 };
        for page in 0..self.ftl.translation_pages() {
            let span = || dftl.cmt.span_of(page, dftl.first).map(Lpn);
            let differs =
                |lpn: Lpn| left.places.get(lpn.0 as usize) != Some(&mapping.physical(lpn));
            if !left.torn.contains(&page) && !span().any(differs) {
                continue;
            }
            dftl.stale.push(page);
            if let Some(stored) = &mut dftl.stored {
                span().for_each(|lpn| stored.owed[lpn.0 as usize] = true);
            }
        }
        dftl.stale.len() as u64
    }

    /// The drive is back: translation pages that are out of date are owed.
    pub(in crate::drive) fn owe_stale(&mut self, now: Instant) {
        let stale = self.dftl.as_mut().map_or(Vec::new(), |dftl| std::mem::take(&mut dftl.stale));
        stale.into_iter().for_each(|page| self.owe(now, page, false));
    }
}
