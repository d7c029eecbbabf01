//! Changes of a map that lies on flash: programs of the host's pages, deallocations, collections,
//! `nogc`.
//!
//! An entry that is cached becomes dirty, which is the paper's lazy copying where a collection does
//! it; else its translation page is owed (`dftl_pages`). In runs with content it is also kept what
//! the translation pages on flash say, as they were programmed ([`Stored`]): an entry that comes,
//! or leaves clean, must be there.

use crate::drive::Drive;
use crate::flash::{Block, Flash};
use crate::ftl::Mapping;
use crate::ftl::timeless::{Medium, Work};
use crate::units::{Instant, Lpn, Pool, Ppn};

/// Content of the translation pages on flash, kept where the run carries content: no change of the
/// map may be lost.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Stored {
    /// By page of the host: its place.
    pub places: Vec<Ppn>,
    /// Pages of which DRAM knows, outside the cache, that this is not so any more.
    pub owed: Vec<bool>,
}

impl Stored {
    /// Flash is told where a page lies.
    pub fn tell(&mut self, mapping: &Mapping, lpn: Lpn) {
        (self.places[lpn.0 as usize], self.owed[lpn.0 as usize]) = (mapping.physical(lpn), false);
    }

    /// Asserts that flash knows where a page lies: an entry comes that says so, or one goes.
    pub fn check(&self, mapping: &Mapping, lpn: Lpn) {
        let at = lpn.0 as usize;
        assert!(
            self.owed[at] || self.places[at] == mapping.physical(lpn),
            "the map on flash lost a change of {lpn:?}"
        );
    }
}

impl Drive {
    /// Asserts that no change of the map is lost: what flash does not know DRAM does. Slow; for
    /// tests.
    pub fn check_map(&self) {
        let Some(dftl) = &self.dftl else { return };
        let Some(stored) = &dftl.stored else { return };
        for lpn in (0..dftl.first).map(Lpn) {
            if dftl.cmt.find(lpn).is_none_or(|entry| !dftl.cmt.is_dirty(entry)) {
                stored.check(self.ftl.mapping(), lpn);
            }
            let page = dftl.cmt.page_of(lpn);
            assert!(
                !stored.owed[lpn.0 as usize] || dftl.pages.is_owed(page),
                "no entry owes what {lpn:?} has changed"
            );
        }
    }

    /// A page of the host lies elsewhere now, or nowhere.
    pub(super) fn mapping_changed(&mut self, now: Instant, lpn: Lpn) {
        let Some(dftl) = &mut self.dftl else { return };
        match dftl.cmt.find(lpn) {
            Some(entry) => dftl.cmt.set_dirty(entry),
            None => {
                if let Some(stored) = &mut dftl.stored {
                    stored.owed[lpn.0 as usize] = true;
                }
                let page = dftl.cmt.page_of(lpn);
                self.owe(now, page, false);
            }
        }
    }

    /// The host gives a page back.
    pub(in crate::drive) fn trim_mapped(&mut self, now: Instant, lpn: Lpn) {
        if self.ftl.member_at(lpn).is_some() {
            self.ftl.trim(lpn);
            self.mapping_changed(now, lpn);
        }
    }

    /// A collection moved the pages that are valid in a row.
    pub(in crate::drive) fn pages_moved(&mut self, pool: Pool, row: Ppn, units: u32) {
        for page in (row.0..row.0 + units).map(Ppn) {
            if let Some(owed) = self.page_moved(page)
                && let Some(dftl) = &mut self.dftl
            {
                dftl.pages.gather(pool, owed);
            }
        }
    }

    /// A collection moved a page here; the translation page that should say so, unless the cache
    /// does.
    fn page_moved(&mut self, page: Ppn) -> Option<u32> {
        let dftl = self.dftl.as_mut()?;
        if !self.ftl.mapping().is_valid(page) {
            return None;
        }
        let lpn = self.ftl.mapping().logical_of(page);
        if lpn.0 >= dftl.first {
            self.counters.map.page_copies += 1;
            return None;
        }
        if dftl.lazy
            && let Some(entry) = dftl.cmt.find(lpn)
        {
            dftl.cmt.set_dirty(entry);
            self.counters.map.lazy_updates += 1;
            return None;
        }
        if let Some(stored) = &mut dftl.stored {
            stored.owed[lpn.0 as usize] = true;
        }
        Some(dftl.cmt.page_of(lpn))
    }

    /// `nogc`: reclaims at zero cost, and updates the translation pages of what moved at zero cost.
    pub(in crate::drive) fn collect_now_with_map(&mut self, pool: Pool, work: &mut Work) -> bool {
        let Some(dftl) = &mut self.dftl else {
            return self.ftl.collect_now(pool, &mut self.flash, work);
        };
        let mut moved = std::mem::take(&mut dftl.moved);
        let mut medium = Moves { flash: &mut self.flash, moved: &mut moved };
        let collected = self.ftl.collect_now(pool, &mut medium, work);
        let mut owed = Vec::new();
        for page in &moved {
            owed.extend(self.page_moved(*page));
            let Some(dftl) = &mut self.dftl else { break };
            let lpn = self.ftl.mapping().logical_of(*page);
            if let Some(stored) = dftl.stored.as_mut().filter(|_| lpn.0 < dftl.first)
                && self.ftl.mapping().is_valid(*page)
                && stored.owed[lpn.0 as usize]
            {
                stored.tell(self.ftl.mapping(), lpn);
            }
        }
        owed.sort_unstable();
        owed.dedup();
        self.counters.map.free_updates += owed.len() as u64;
        moved.clear();
        if let Some(dftl) = &mut self.dftl {
            dftl.moved = moved;
        }
        collected
    }
}

/// A flash that remembers where pages were moved to.
struct Moves<'a> {
    flash: &'a mut Flash,
    moved: &'a mut Vec<Ppn>,
}

impl Medium for Moves<'_> {
    fn load(&self, ppn: Ppn) -> u32 {
        Medium::load(self.flash, ppn)
    }
    fn part(&self, ppn: Ppn) -> u32 {
        self.flash.part(ppn)
    }
    fn put(&mut self, ppn: Ppn, content: u32) {
        self.flash.put(ppn, content);
    }
    fn store(&mut self, from: Ppn, to: Ppn, version: u32) {
        self.moved.push(to);
        Medium::store(self.flash, from, to, version);
    }
    fn set_rows(&mut self, block: Block, rows: u32) {
        self.flash.set_rows(block, rows);
    }
}
