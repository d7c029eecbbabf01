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
use super::waiters::Waiters;
use crate::drive::face::command::Stamp;
use crate::ftl::PageMap;
use crate::sim::NIL;
use crate::units::Lpn;

/// Where a slot is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum State {
    Free,
    Dirty,
    Filling,
    Staged,
    Flying,
    Behind,
    Parked,
}

/// A page in the buffer.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Slot {
    pub lpn: Lpn,
    pub state: State,
    /// Deallocated while on its way: it must not become the page's newest version.
    pub dropped: bool,
    /// The hint of its newest write.
    pub stream: u8,
    /// Sectors that hold data.
    pub mask: u64,
    /// The version that it holds, and the one expected beneath a partial page.
    pub stamp: Stamp,
    /// Pages of the request that wrote it last; kept for log-block FTLs only.
    pub pages: u32,
    /// When it became dirty, in the order of such events: what a flush waits for.
    pub born: u64,
    /// The slot that waits behind this flying one.
    pub successor: u32,
    /// Requests that wait for it to be on flash: head of a list in [`WriteBuffer::waiters`].
    pub waiters: u32,
    /// A request waits for it and no lane could take it yet.
    pub urgent: bool,
    /// The maps that its eviction needs have been asked for.
    hinted: bool,
    /// Neighbours: in eviction order while dirty, the next of its row while staged or flying, the
    /// next free one.
    next: u32,
    previous: u32,
    /// Neighbours in the order of birth.
    younger: u32,
    elder: u32,
}

/// The buffer.
#[derive(Clone, Debug)]
pub(in crate::drive) struct WriteBuffer {
    slots: Vec<Slot>,
    free: u32,
    oldest: u32,
    newest: u32,
    /// The first in eviction order whose maps are not asked for, and how many are before it.
    unhinted: u32,
    hinted: u32,
    /// Ends of the slots in use in the order of birth.
    eldest: u32,
    youngest: u32,
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
            free: NIL,
            oldest: NIL,
            newest: NIL,
            unhinted: NIL,
            hinted: 0,
            eldest: NIL,
            youngest: NIL,
            dirty: 0,
            urgent: 0,
            occupied: 0,
            index: Index::new(slots),
            births: 0,
            full_mask: if sectors == 64 { u64::MAX } else { (1 << sectors) - 1 },
            waiters: Waiters::default(),
        };
        for number in 0..slots {
            let next = if number + 1 == slots { NIL } else { number + 1 };
            buffer.slots.push(Slot { next, ..empty_slot() });
        }
        buffer.free = if slots == 0 { NIL } else { 0 };
        buffer
    }

    /// Adds so many slots for parity, behind the host's; they are in no list and no index. The
    /// number of the first.
    pub fn add_parity_slots(&mut self, count: u32) -> u32 {
        let first = self.slots.len() as u32;
        let like = Slot { state: State::Flying, next: NIL, ..empty_slot() };
        self.slots.resize((first + count) as usize, like);
        first
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
    pub fn slots_in(&self, state: State) -> Vec<u32> {
        (0..self.slots.len() as u32)
            .filter(|slot| self.slots[*slot as usize].state == state)
            .collect()
    }

    /// How many slots there are.
    pub fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    pub fn is_full(&self) -> bool {
        self.free == NIL
    }

    /// The birth of the oldest slot in use.
    pub fn oldest_birth(&self) -> Option<u64> {
        (self.eldest != NIL).then(|| self.slots[self.eldest as usize].born)
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

    pub fn slot(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    pub fn slot_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    pub fn is_whole(&self, slot: u32) -> bool {
        self.slots[slot as usize].mask == self.full_mask
    }

    /// The slot with the newest data of `lpn`.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<u32> {
        if self.occupied == 0 { None } else { self.index.find(lpn) }
    }

    /// Takes a free slot for `lpn`, dirty and newest. The caller saw that one is free and that
    /// `lpn` is not in the index.
    #[inline(always)]
    pub fn insert(&mut self, lpn: Lpn, mask: u64, stamp: Stamp) -> u32 {
        let slot = self.take(lpn, mask, stamp);
        self.index_put(slot);
        self.make_dirty(slot);
        slot
    }

    /// Takes a free slot for a newer version of flying `before`, with what that holds beneath,
    /// waiting behind it.
    pub fn insert_behind(&mut self, before: u32, mask: u64, stamp: Stamp) -> u32 {
        let Slot { lpn, stamp: old, mask: held, .. } = *self.slot(before);
        let slot = self.take(lpn, held | mask, merge(old, mask == self.full_mask, stamp));
        self.slots[slot as usize].state = State::Behind;
        self.slots[slot as usize].previous = before;
        self.slots[before as usize].successor = slot;
        self.index_remove(before);
        self.index_put(slot);
        slot
    }

    #[inline(always)]
    fn take(&mut self, lpn: Lpn, mask: u64, stamp: Stamp) -> u32 {
        let number = self.free;
        self.births += 1;
        self.occupied += 1;
        let slot = &mut self.slots[number as usize];
        self.free = slot.next;
        (slot.lpn, slot.mask, slot.stamp, slot.born) = (lpn, mask, stamp, self.births);
        (slot.dropped, slot.successor, slot.waiters, slot.next, slot.previous) =
            (false, NIL, NIL, NIL, NIL);
        (slot.elder, slot.younger) = (self.youngest, NIL);
        match self.youngest {
            NIL => self.eldest = number,
            elder => self.slots[elder as usize].younger = number,
        }
        self.youngest = number;
        number
    }

    /// A newer write of a page that may still change.
    pub fn overwrite(&mut self, slot: u32, mask: u64, stamp: Stamp) {
        let full = mask == self.full_mask;
        let s = &mut self.slots[slot as usize];
        debug_assert!(s.state != State::Flying && s.state != State::Free);
        s.stamp = merge(s.stamp, full, stamp);
        s.mask |= mask;
        if s.state == State::Dirty {
            self.make_newest(slot);
        }
    }

    /// A slot that waits for eviction is the last to go.
    pub fn make_newest(&mut self, slot: u32) {
        self.unlink(slot);
        self.link_newest(slot);
    }

    /// The page's other sectors have been read: they hold version `beneath`.
    pub fn filled(&mut self, slot: u32, beneath: u32) {
        let full_mask = self.full_mask;
        let s = &mut self.slots[slot as usize];
        if s.mask != full_mask {
            s.stamp.version = over(s.stamp, beneath);
            s.mask = full_mask;
            // A newer write behind it lies over the same sectors.
            let successor = s.successor;
            if successor != NIL {
                self.filled(successor, beneath);
            }
        }
    }

    /// Makes a slot wait for eviction, as the most recently written.
    pub fn make_dirty(&mut self, slot: u32) {
        self.slots[slot as usize].state = State::Dirty;
        self.dirty += 1;
        self.link_newest(slot);
    }

    /// A request waits for a dirty slot that could not leave: it goes as soon as a lane can take
    /// it.
    pub fn make_urgent(&mut self, slot: u32) {
        self.leave_dirty(slot, State::Staged);
        self.make_dirty_first(slot);
        self.slots[slot as usize].urgent = true;
        self.urgent += 1;
    }

    /// Makes a slot wait for eviction, as the next to go.
    pub fn make_dirty_first(&mut self, slot: u32) {
        self.slots[slot as usize].state = State::Dirty;
        self.dirty += 1;
        let oldest = self.oldest;
        (self.slots[slot as usize].previous, self.slots[slot as usize].next) = (NIL, oldest);
        self.slots[slot as usize].hinted = true;
        self.hinted += 1;
        if oldest == NIL {
            self.newest = slot;
        } else {
            self.slots[oldest as usize].previous = slot;
        }
        self.oldest = slot;
    }

    /// The next slot to evict.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NIL).then_some(self.oldest)
    }

    /// A page that leaves soon, as the `ahead`th from now or earlier, and of which this was not
    /// said before.
    #[inline]
    pub fn leaves_soon(&mut self, ahead: u32) -> Option<Lpn> {
        if self.hinted >= ahead || self.unhinted == NIL {
            return None;
        }
        let slot = &mut self.slots[self.unhinted as usize];
        slot.hinted = true;
        (self.hinted, self.unhinted) = (self.hinted + 1, slot.next);
        Some(slot.lpn)
    }

    /// Takes a dirty slot out of the eviction order.
    #[inline]
    pub fn leave_dirty(&mut self, slot: u32, state: State) {
        debug_assert_eq!(self.slots[slot as usize].state, State::Dirty);
        self.unlink(slot);
        self.dirty -= 1;
        let s = &mut self.slots[slot as usize];
        s.state = state;
        self.urgent -= u32::from(std::mem::take(&mut s.urgent));
    }

    /// A parked slot may leave again, as the next to go; at once if it has waiters.
    pub fn unpark(&mut self, slot: u32) {
        debug_assert_eq!(self.slots[slot as usize].state, State::Parked);
        self.make_dirty_first(slot);
        if self.slots[slot as usize].waiters != NIL {
            self.slots[slot as usize].urgent = true;
            self.urgent += 1;
        }
    }

    /// The pages of a row are frozen. Their maps are asked for: the old places become stale soon.
    pub fn freeze_row(&mut self, first_slot: u32, ftl: &PageMap) {
        let mut slot = first_slot;
        while slot != NIL {
            self.freeze(slot);
            ftl.prefetch_old(self.slot(slot).lpn);
            slot = self.row_next(slot);
        }
    }

    /// The page of a slot is frozen: its data crosses the channel.
    pub fn freeze(&mut self, slot: u32) {
        self.slot_mut(slot).state = State::Flying;
    }

    /// The next slot of a row, or of a list of parked ones.
    pub fn row_next(&self, slot: u32) -> u32 {
        self.slots[slot as usize].next
    }

    /// Appends `slot` to the row whose last slot is `last`.
    pub fn link_row(&mut self, last: u32, slot: u32) {
        self.slots[slot as usize].next = NIL;
        if last != NIL {
            self.slots[last as usize].next = slot;
        }
    }

    /// Puts a parked slot before `first` in a list of such.
    pub fn link_parked(&mut self, slot: u32, first: u32) {
        self.slots[slot as usize].next = first;
    }

    /// The flying slot that a slot waits behind.
    pub fn behind(&self, slot: u32) -> u32 {
        debug_assert_eq!(self.slots[slot as usize].state, State::Behind);
        self.slots[slot as usize].previous
    }

    /// Makes `lpn`'s data unfindable: it is deallocated or superseded.
    pub fn forget(&mut self, slot: u32) {
        self.slots[slot as usize].dropped = true;
        self.index_remove(slot);
    }

    /// Gives the slot back.
    pub fn release(&mut self, slot: u32) {
        let Slot { dropped, successor, elder, younger, .. } = self.slots[slot as usize];
        if !dropped && successor == NIL {
            self.index_remove(slot);
        }
        match elder {
            NIL => self.eldest = younger,
            elder => self.slots[elder as usize].younger = younger,
        }
        match younger {
            NIL => self.youngest = elder,
            younger => self.slots[younger as usize].elder = elder,
        }
        let s = &mut self.slots[slot as usize];
        debug_assert!(s.state != State::Free && s.waiters == NIL);
        s.state = State::Free;
        s.next = self.free;
        self.free = slot;
        self.occupied -= 1;
    }

    /// `request` waits until `slot` is on flash.
    pub fn add_waiter(&mut self, slot: u32, request: u32) {
        self.waiters.add(&mut self.slots[slot as usize].waiters, request);
    }

    /// Takes one of the requests that wait for `slot`.
    #[inline]
    pub fn pop_waiter(&mut self, slot: u32) -> Option<u32> {
        self.waiters.pop(&mut self.slots[slot as usize].waiters)
    }

    fn link_newest(&mut self, slot: u32) {
        let newest = self.newest;
        (self.slots[slot as usize].previous, self.slots[slot as usize].next) = (newest, NIL);
        self.slots[slot as usize].hinted = false;
        if self.unhinted == NIL {
            self.unhinted = slot;
        }
        if newest == NIL {
            self.oldest = slot;
        } else {
            self.slots[newest as usize].next = slot;
        }
        self.newest = slot;
    }

    #[inline(always)]
    fn unlink(&mut self, slot: u32) {
        let Slot { previous, next, hinted, .. } = self.slots[slot as usize];
        self.hinted -= u32::from(hinted);
        if slot == self.unhinted {
            self.unhinted = next;
        }
        match previous {
            NIL => self.oldest = next,
            before => self.slots[before as usize].next = next,
        }
        match next {
            NIL => self.newest = previous,
            after => self.slots[after as usize].previous = previous,
        }
    }

    fn index_put(&mut self, slot: u32) {
        self.index.put(slot, self.slots[slot as usize].lpn);
    }

    fn index_remove(&mut self, slot: u32) {
        self.index.remove(slot, self.slots[slot as usize].lpn);
    }
}

fn empty_slot() -> Slot {
    Slot {
        lpn: Lpn(0),
        state: State::Free,
        dropped: false,
        stream: 0,
        mask: 0,
        stamp: Stamp::default(),
        pages: 1,
        born: 0,
        successor: NIL,
        waiters: NIL,
        urgent: false,
        hinted: false,
        next: NIL,
        previous: NIL,
        younger: NIL,
        elder: NIL,
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
