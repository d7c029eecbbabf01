//! The map: logical to physical, physical to logical, and which physical pages are valid.
//!
//! Eight bytes and a bit for each 4 KiB page. The bitmap makes a row's valid pages one word
//! operation; the counters of valid pages live with the blocks.

use crate::sim::prefetch;
use crate::units::{Lpn, Ppn};

/// The maps of a page-mapped drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    to_physical: Vec<u32>,
    to_logical: Vec<u32>,
    valid: Vec<u64>,
}

impl Mapping {
    /// Nothing mapped.
    pub fn new(logical: u32, physical: u32) -> Self {
        Self {
            to_physical: vec![Ppn::NONE.0; logical as usize],
            to_logical: vec![u32::MAX; physical as usize],
            valid: vec![0; (physical as usize).div_ceil(64)],
        }
    }

    /// Logical pages.
    pub fn logical(&self) -> u32 {
        self.to_physical.len() as u32
    }

    /// Bytes of the maps.
    pub fn bytes(&self) -> usize {
        4 * self.to_physical.len() + 4 * self.to_logical.len() + 8 * self.valid.len()
    }

    /// Where `lpn` lies, or [`Ppn::NONE`].
    #[inline]
    pub fn physical(&self, lpn: Lpn) -> Ppn {
        Ppn(self.to_physical[lpn.0 as usize])
    }

    /// The logical page last put at `ppn`.
    #[inline]
    pub fn logical_of(&self, ppn: Ppn) -> Lpn {
        Lpn(self.to_logical[ppn.0 as usize])
    }

    /// True when `ppn` holds the newest version of its logical page.
    #[inline]
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        self.valid[(ppn.0 / 64) as usize] >> (ppn.0 % 64) & 1 == 1
    }

    /// Puts `lpn` at `ppn`, which holds nothing.
    #[inline]
    pub fn put(&mut self, lpn: Lpn, ppn: Ppn) {
        debug_assert!(!self.is_valid(ppn), "{ppn:?} is taken");
        self.to_physical[lpn.0 as usize] = ppn.0;
        self.to_logical[ppn.0 as usize] = lpn.0;
        self.valid[(ppn.0 / 64) as usize] |= 1 << (ppn.0 % 64);
    }

    /// Declares that `ppn` no longer holds the newest version.
    #[inline]
    pub fn invalidate(&mut self, ppn: Ppn) {
        debug_assert!(self.is_valid(ppn), "{ppn:?} is invalid already");
        self.valid[(ppn.0 / 64) as usize] &= !(1 << (ppn.0 % 64));
    }

    /// A valid page was copied from one place to another.
    #[inline]
    pub fn move_page(&mut self, from: Ppn, to: Ppn) {
        let lpn = self.logical_of(from);
        debug_assert!(self.physical(lpn) == from, "{from:?} went stale");
        self.invalidate(from);
        self.put(lpn, to);
    }

    /// Forgets `lpn`.
    #[inline]
    pub fn forget(&mut self, lpn: Lpn) {
        self.to_physical[lpn.0 as usize] = Ppn::NONE.0;
    }

    /// The first valid page in `from..end`.
    #[inline(always)]
    pub fn next_valid(&self, from: u32, end: u32) -> Option<u32> {
        let mut at = from;
        while at < end {
            let word = self.valid[(at / 64) as usize] >> (at % 64);
            if word != 0 {
                let found = at + word.trailing_zeros();
                return (found < end).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// Valid pages in `from..end`, counted from the bitmap.
    pub fn count_valid(&self, from: u32, end: u32) -> u32 {
        if from >= end {
            return 0;
        }
        let (first, last) = ((from / 64) as usize, ((end - 1) / 64) as usize);
        let head = !0u64 << (from % 64);
        let tail = !0u64 >> (63 - (end - 1) % 64);
        if first == last {
            return (self.valid[first] & head & tail).count_ones();
        }
        let middle: u32 = self.valid[first + 1..last].iter().map(|word| word.count_ones()).sum();
        (self.valid[first] & head).count_ones() + middle + (self.valid[last] & tail).count_ones()
    }

    /// Hints that `lpn`'s entry is needed soon.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.to_physical, lpn.0 as usize);
    }

    /// Hints that the logical number of `ppn` is needed soon.
    #[inline]
    pub fn prefetch_logical(&self, ppn: Ppn) {
        prefetch(&self.to_logical, ppn.0 as usize);
    }

    /// Hints that the validity of `ppn` is needed soon.
    #[inline]
    pub fn prefetch_valid(&self, ppn: Ppn) {
        prefetch(&self.valid, (ppn.0 / 64) as usize);
    }

    /// The logical-to-physical table, from which the others follow (for a snapshot).
    pub fn table(&self) -> &[u32] {
        &self.to_physical
    }

    /// Rebuilds every map from a logical-to-physical table; `None` when it names a page twice or
    /// one that does not exist.
    pub fn from_table(table: Vec<u32>, physical: u32) -> Option<Self> {
        let mut maps = Self::new(0, physical);
        for (lpn, ppn) in table.iter().enumerate().filter(|(_, ppn)| **ppn != Ppn::NONE.0) {
            if *ppn >= physical || maps.is_valid(Ppn(*ppn)) {
                return None;
            }
            maps.to_logical[*ppn as usize] = lpn as u32;
            maps.valid[(*ppn / 64) as usize] |= 1 << (*ppn % 64);
        }
        maps.to_physical = table;
        Some(maps)
    }
}
