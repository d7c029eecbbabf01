//! The write buffer: pages in DRAM on their way to flash, found by their logical number, evicted
//! least recently written first.
//!
//! A slot's life: dirty (may still change, waits for eviction), filling (a partial page reads its
//! other sectors), staged (its row gathers), flying (being programmed: frozen), free. A write to a
//! flying page goes to a new slot *behind* it, which may leave only when the first is on flash: a
//! page's versions reach the flash in their order.
//!
//! With parity (`rain`) a slot is frozen, `Flying`, from the start of its stripe's update, and a
//! dirty page of a stripe under update is parked until that is over. Parity pages on their way have
//! slots of their own behind the host's.

use super::index::Index;
use super::slot::{Slot, SlotId, State};
use super::waiters::{NodeId, Waiters};
use crate::drive::face::command::Stamp;
use crate::drive::face::request::RequestId;
use crate::ftl::PageMap;
use crate::units::Lpn;

/// The buffer.
#[derive(Clone, Debug)]
pub(in crate::drive) struct WriteBuffer {
    slots: Vec<Slot>,
    free: SlotId,
    oldest: SlotId,
    newest: SlotId,
    /// The first in eviction order whose maps are not asked for, and how many are before it.
    unhinted: SlotId,
    hinted: u32,
    /// Ends of the slots in use in the order of birth.
    eldest: SlotId,
    youngest: SlotId,
    /// Slots waiting for eviction.
    pub dirty: u32,
    /// Of these, those that a request waits for.
    pub urgent: u32,
    /// Slots in use.
    pub occupied: u32,
    index: Index,
    births: u64,
    full_mask: u64,
    waiters: Waiters,
}

impl WriteBuffer {
    /// An empty buffer of `slots` pages of `sectors` sectors.
    pub fn new(slots: u32, sectors: u32) -> Self {
        let mut buffer = Self {
            slots: Vec::with_capacity(slots as usize),
            free: SlotId::NIL,
            oldest: SlotId::NIL,
            newest: SlotId::NIL,
            unhinted: SlotId::NIL,
            hinted: 0,
            eldest: SlotId::NIL,
            youngest: SlotId::NIL,
            dirty: 0,
            urgent: 0,
            occupied: 0,
            index: Index::new(slots),
            births: 0,
            full_mask: if sectors == 64 { u64::MAX } else { (1 << sectors) - 1 },
            waiters: Waiters::default(),
        };
        for number in 1..=slots {
            let next = if number == slots { SlotId::NIL } else { SlotId(number) };
            buffer.slots.push(Slot { next, ..Slot::empty() });
        }
        buffer.free = if slots == 0 { SlotId::NIL } else { SlotId(0) };
        buffer
    }

    /// Adds so many slots for parity, behind the host's; they are in no list and no index. The
    /// number of the first.
    pub fn add_parity_slots(&mut self, count: u32) -> SlotId {
        let first = self.slots();
        let like = Slot { state: State::Flying, next: SlotId::NIL, ..Slot::empty() };
        self.slots.resize((first + count) as usize, like);
        SlotId(first)
    }

    /// Counts from now on how many pages of each group of `group` pages are in the index, up to
    /// page `end`. Call it while there is none.
    pub fn count_groups(&mut self, group: u32, end: u32) {
        debug_assert_eq!(self.occupied, 0, "the index is empty");
        self.index.count_groups(group, end);
    }

    /// True when no other page of the group of `lpn`, which is in the index, is there; known only
    /// where groups are counted.
    #[inline]
    pub fn is_alone(&self, lpn: Lpn) -> bool {
        self.index.is_alone(lpn)
    }

    /// Hints that [`WriteBuffer::is_alone`] is asked soon.
    #[inline]
    pub fn prefetch_group(&self, lpn: Lpn) {
        self.index.prefetch_group(lpn);
    }

    /// The slots in a state (slow; for descriptions).
    pub fn slots_in(&self, state: State) -> Vec<SlotId> {
        self.each_slot().filter(|slot| self.slot(*slot).state == state).collect()
    }

    /// All slots by number.
    pub fn each_slot(&self) -> impl Iterator<Item = SlotId> + use<> {
        (0..self.slots()).map(SlotId)
    }

    /// How many slots there are.
    pub fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    pub fn is_full(&self) -> bool {
        self.free == SlotId::NIL
    }

    /// The birth of the oldest slot in use.
    pub fn oldest_birth(&self) -> Option<u64> {
        (self.eldest != SlotId::NIL).then(|| self.slots[self.eldest.index()].born)
    }

    /// The latest birth: a flush waits for all slots born up to now.
    pub fn latest_birth(&self) -> u64 {
        self.births
    }

    /// The next number in the order of births, for something that is no page.
    pub fn number(&mut self) -> u64 {
        self.births += 1;
        self.births
    }

    /// Numbers go on behind this one.
    pub fn go_on_from(&mut self, number: u64) {
        self.births = number;
    }

    pub fn slot(&self, slot: SlotId) -> &Slot {
        &self.slots[slot.index()]
    }

    pub fn slot_mut(&mut self, slot: SlotId) -> &mut Slot {
        &mut self.slots[slot.index()]
    }

    pub fn is_whole(&self, slot: SlotId) -> bool {
        self.slots[slot.index()].mask == self.full_mask
    }

    /// The slot with the newest data of `lpn`.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<SlotId> {
        if self.occupied == 0 { None } else { self.index.find(lpn) }
    }

    /// Takes a free slot for `lpn`, dirty and newest. The caller saw that one is free and that
    /// `lpn` is not in the index.
    #[inline(always)]
    pub fn insert(&mut self, lpn: Lpn, mask: u64, stamp: Stamp) -> SlotId {
        let slot = self.take(lpn, mask, stamp);
        self.index_put(slot);
        self.make_dirty(slot);
        slot
    }

    /// Takes a free slot for a newer version of flying `before`, with what that holds beneath,
    /// waiting behind it.
    pub fn insert_behind(&mut self, before: SlotId, mask: u64, stamp: Stamp) -> SlotId {
        let Slot { lpn, stamp: old, mask: held, .. } = *self.slot(before);
        let slot = self.take(lpn, held | mask, merge(old, mask == self.full_mask, stamp));
        self.slots[slot.index()].state = State::Behind;
        self.slots[slot.index()].previous = before;
        self.slots[before.index()].successor = slot;
        self.index_remove(before);
        self.index_put(slot);
        slot
    }

    #[inline(always)]
    fn take(&mut self, lpn: Lpn, mask: u64, stamp: Stamp) -> SlotId {
        let number = self.free;
        self.births += 1;
        self.occupied += 1;
        let slot = &mut self.slots[number.index()];
        self.free = slot.next;
        (slot.lpn, slot.mask, slot.stamp, slot.born) = (lpn, mask, stamp, self.births);
        (slot.dropped, slot.waiters) = (false, NodeId::NIL);
        (slot.successor, slot.next, slot.previous) = (SlotId::NIL, SlotId::NIL, SlotId::NIL);
        (slot.elder, slot.younger) = (self.youngest, SlotId::NIL);
        match self.youngest {
            SlotId::NIL => self.eldest = number,
            elder => self.slots[elder.index()].younger = number,
        }
        self.youngest = number;
        number
    }

    /// A newer write of a page that may still change.
    pub fn overwrite(&mut self, slot: SlotId, mask: u64, stamp: Stamp) {
        let full = mask == self.full_mask;
        let s = &mut self.slots[slot.index()];
        debug_assert!(s.state != State::Flying && s.state != State::Free);
        s.stamp = merge(s.stamp, full, stamp);
        s.mask |= mask;
        if s.state == State::Dirty {
            self.make_newest(slot);
        }
    }

    /// A slot that waits for eviction is the last to go.
    pub fn make_newest(&mut self, slot: SlotId) {
        self.unlink(slot);
        self.link_newest(slot);
    }

    /// The page's other sectors have been read: they hold version `beneath`.
    pub fn filled(&mut self, slot: SlotId, beneath: u32) {
        let full_mask = self.full_mask;
        let s = &mut self.slots[slot.index()];
        if s.mask != full_mask {
            s.stamp.version = over(s.stamp, beneath);
            s.mask = full_mask;
            // A newer write behind it lies over the same sectors.
            let successor = s.successor;
            if successor != SlotId::NIL {
                self.filled(successor, beneath);
            }
        }
    }

    /// Makes a slot wait for eviction, as the most recently written.
    pub fn make_dirty(&mut self, slot: SlotId) {
        self.slots[slot.index()].state = State::Dirty;
        self.dirty += 1;
        self.link_newest(slot);
    }

    /// A request waits for a dirty slot that could not leave: it goes as soon as a lane can take
    /// it.
    pub fn make_urgent(&mut self, slot: SlotId) {
        self.leave_dirty(slot, State::Staged);
        self.make_dirty_first(slot);
        self.slots[slot.index()].urgent = true;
        self.urgent += 1;
    }

    /// Makes a slot wait for eviction, as the next to go.
    pub fn make_dirty_first(&mut self, slot: SlotId) {
        self.slots[slot.index()].state = State::Dirty;
        self.dirty += 1;
        let oldest = self.oldest;
        (self.slots[slot.index()].previous, self.slots[slot.index()].next) = (SlotId::NIL, oldest);
        self.slots[slot.index()].hinted = true;
        self.hinted += 1;
        if oldest == SlotId::NIL {
            self.newest = slot;
        } else {
            self.slots[oldest.index()].previous = slot;
        }
        self.oldest = slot;
    }

    /// The next slot to evict.
    pub fn oldest(&self) -> Option<SlotId> {
        self.oldest.some()
    }

    /// A page that leaves soon, as the `ahead`th from now or earlier, and of which this was not
    /// said before.
    #[inline]
    pub fn leaves_soon(&mut self, ahead: u32) -> Option<Lpn> {
        if self.hinted >= ahead || self.unhinted == SlotId::NIL {
            return None;
        }
        let slot = &mut self.slots[self.unhinted.index()];
        slot.hinted = true;
        (self.hinted, self.unhinted) = (self.hinted + 1, slot.next);
        Some(slot.lpn)
    }

    /// Takes a dirty slot out of the eviction order.
    #[inline]
    pub fn leave_dirty(&mut self, slot: SlotId, state: State) {
        debug_assert_eq!(self.slots[slot.index()].state, State::Dirty);
        self.unlink(slot);
        self.dirty -= 1;
        let s = &mut self.slots[slot.index()];
        s.state = state;
        self.urgent -= u32::from(std::mem::take(&mut s.urgent));
    }

    /// A parked slot may leave again, as the next to go; at once if it has waiters.
    pub fn unpark(&mut self, slot: SlotId) {
        debug_assert_eq!(self.slots[slot.index()].state, State::Parked);
        self.make_dirty_first(slot);
        if self.slots[slot.index()].has_waiters() {
            self.slots[slot.index()].urgent = true;
            self.urgent += 1;
        }
    }

    /// The pages of a row are frozen. Their maps are asked for: the old places become stale soon.
    pub fn freeze_row(&mut self, first_slot: SlotId, ftl: &PageMap) {
        let mut slot = first_slot;
        while slot != SlotId::NIL {
            self.freeze(slot);
            ftl.prefetch_old(self.slot(slot).lpn);
            slot = self.row_next(slot);
        }
    }

    /// The page of a slot is frozen: its data crosses the channel.
    pub fn freeze(&mut self, slot: SlotId) {
        self.slot_mut(slot).state = State::Flying;
    }

    /// The next slot of a row, or of a list of parked ones.
    pub fn row_next(&self, slot: SlotId) -> SlotId {
        self.slots[slot.index()].next
    }

    /// Appends `slot` to the row whose last slot is `last`.
    pub fn link_row(&mut self, last: SlotId, slot: SlotId) {
        self.slots[slot.index()].next = SlotId::NIL;
        if last != SlotId::NIL {
            self.slots[last.index()].next = slot;
        }
    }

    /// Puts a parked slot before `first` in a list of such.
    pub fn link_parked(&mut self, slot: SlotId, first: SlotId) {
        self.slots[slot.index()].next = first;
    }

    /// The flying slot that a slot waits behind.
    pub fn behind(&self, slot: SlotId) -> SlotId {
        debug_assert_eq!(self.slots[slot.index()].state, State::Behind);
        self.slots[slot.index()].previous
    }

    /// Makes `lpn`'s data unfindable: it is deallocated or superseded.
    pub fn forget(&mut self, slot: SlotId) {
        self.slots[slot.index()].dropped = true;
        self.index_remove(slot);
    }

    /// Gives the slot back.
    pub fn release(&mut self, slot: SlotId) {
        let Slot { dropped, successor, elder, younger, .. } = self.slots[slot.index()];
        if !dropped && successor == SlotId::NIL {
            self.index_remove(slot);
        }
        match elder {
            SlotId::NIL => self.eldest = younger,
            elder => self.slots[elder.index()].younger = younger,
        }
        match younger {
            SlotId::NIL => self.youngest = elder,
            younger => self.slots[younger.index()].elder = elder,
        }
        let s = &mut self.slots[slot.index()];
        debug_assert!(s.state != State::Free && !s.has_waiters());
        s.state = State::Free;
        s.next = self.free;
        self.free = slot;
        self.occupied -= 1;
    }

    /// `request` waits until `slot` is on flash.
    pub fn add_waiter(&mut self, slot: SlotId, request: RequestId) {
        self.waiters.add(&mut self.slots[slot.index()].waiters, request);
    }

    /// Takes one of the requests that wait for `slot`.
    #[inline]
    pub fn pop_waiter(&mut self, slot: SlotId) -> Option<RequestId> {
        self.waiters.pop(&mut self.slots[slot.index()].waiters)
    }

    fn link_newest(&mut self, slot: SlotId) {
        let newest = self.newest;
        (self.slots[slot.index()].previous, self.slots[slot.index()].next) = (newest, SlotId::NIL);
        self.slots[slot.index()].hinted = false;
        if self.unhinted == SlotId::NIL {
            self.unhinted = slot;
        }
        if newest == SlotId::NIL {
            self.oldest = slot;
        } else {
            self.slots[newest.index()].next = slot;
        }
        self.newest = slot;
    }

    #[inline(always)]
    fn unlink(&mut self, slot: SlotId) {
        let Slot { previous, next, hinted, .. } = self.slots[slot.index()];
        self.hinted -= u32::from(hinted);
        if slot == self.unhinted {
            self.unhinted = next;
        }
        match previous {
            SlotId::NIL => self.oldest = next,
            before => self.slots[before.index()].next = next,
        }
        match next {
            SlotId::NIL => self.newest = previous,
            after => self.slots[after.index()].previous = previous,
        }
    }

    fn index_put(&mut self, slot: SlotId) {
        self.index.put(slot, self.slots[slot.index()].lpn);
    }

    fn index_remove(&mut self, slot: SlotId) {
        self.index.remove(slot, self.slots[slot.index()].lpn);
    }
}

/// A newer write over older data in the same slot.
fn merge(old: Stamp, full: bool, new: Stamp) -> Stamp {
    if full {
        return new;
    }
    Stamp { version: over(new, old.version), beneath: old.beneath }
}

/// The version of a page after a partial write over a page that holds `beneath`.
pub(in crate::drive) fn over(write: Stamp, beneath: u32) -> u32 {
    if write.beneath == beneath { write.version } else { Stamp::TORN }
}
