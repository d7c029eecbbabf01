//! The index of the write buffer: open addressing with linear probing, at most a quarter full, so
//! that a page that is not there is nearly always missed at once.

use super::slot::SlotId;
use crate::sim::{Divisor, prefetch};
use crate::units::Lpn;

/// Slot numbers and their pages.
#[derive(Clone, Debug)]
pub(super) struct Index {
    places: Vec<(SlotId, Lpn)>,
    shift: u32,
    /// With parity: pages here, by groups of so many; stripes lie within groups.
    by_group: Divisor,
    in_group: Vec<u32>,
}

/// A free place.
const NO_SLOT: (SlotId, Lpn) = (SlotId::NIL, Lpn(0));

impl Index {
    /// An index for so many slots.
    pub fn new(slots: u32) -> Self {
        let places = (4 * slots as usize).next_power_of_two().max(2);
        let (by_group, in_group) = (Divisor::new(1), Vec::new());
        let shift = 32 - places.trailing_zeros();
        Self { places: vec![NO_SLOT; places], shift, by_group, in_group }
    }

    /// Counts from now on how many pages of each group of `group` pages are here, up to page `end`.
    pub fn count_groups(&mut self, group: u32, end: u32) {
        self.by_group = Divisor::new(group);
        self.in_group = vec![0; end.div_ceil(group) as usize];
    }

    /// True when no other page of the group of `lpn`, which is here, is.
    #[inline]
    pub fn is_alone(&self, lpn: Lpn) -> bool {
        self.in_group.get(self.by_group.quotient(lpn.0) as usize) == Some(&1)
    }

    /// Hints that [`Index::is_alone`] is asked soon.
    #[inline]
    pub fn prefetch_group(&self, lpn: Lpn) {
        prefetch(&self.in_group, self.by_group.quotient(lpn.0) as usize);
    }

    /// The slot of a page.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<SlotId> {
        let mut at = self.home(lpn);
        loop {
            match self.places[at] {
                (SlotId::NIL, _) => return None,
                (slot, held) if held == lpn => return Some(slot),
                _ => at = (at + 1) & (self.places.len() - 1),
            }
        }
    }

    /// Adds the slot of a page that is not here.
    #[inline]
    pub fn put(&mut self, slot: SlotId, lpn: Lpn) {
        let mut at = self.home(lpn);
        while self.places[at].0 != SlotId::NIL {
            at = (at + 1) & (self.places.len() - 1);
        }
        self.places[at] = (slot, lpn);
        if !self.in_group.is_empty()
            && let Some(count) = self.in_group.get_mut(self.by_group.quotient(lpn.0) as usize)
        {
            *count += 1;
        }
    }

    /// Removes the slot of a page and closes the gap, so that probing needs no tombstones.
    pub fn remove(&mut self, slot: SlotId, lpn: Lpn) {
        let mask = self.places.len() - 1;
        let mut gap = self.home(lpn);
        while self.places[gap].0 != slot {
            debug_assert!(self.places[gap].0 != SlotId::NIL, "slot {slot} is not in the index");
            gap = (gap + 1) & mask;
        }
        let mut at = (gap + 1) & mask;
        while self.places[at].0 != SlotId::NIL {
            let home = self.home(self.places[at].1);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                self.places[gap] = self.places[at];
                gap = at;
            }
            at = (at + 1) & mask;
        }
        self.places[gap] = NO_SLOT;
        if !self.in_group.is_empty()
            && let Some(count) = self.in_group.get_mut(self.by_group.quotient(lpn.0) as usize)
        {
            *count -= 1;
        }
    }

    /// Fibonacci hashing, the high bits of the product: consecutive pages spread over the table.
    #[inline]
    fn home(&self, lpn: Lpn) -> usize {
        (lpn.0.wrapping_mul(0x9e37_79b9) >> self.shift) as usize
    }
}
