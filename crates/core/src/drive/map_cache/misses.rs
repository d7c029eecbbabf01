//! DFTL at work: what a page costs whose entry of the map is not in DRAM.
//!
//! Gupta et al., DFTL, ASPLOS 2009, section 3. The map lies on flash in translation pages;
//! `ftl/cmt.rs` says which entries DRAM holds. [`PageMap`](crate::ftl::PageMap) stays the
//! simulator's authority on where pages lie, so nothing here decides what is read; it decides when.
//! Translation pages and their programs are in `dftl_pages`, what changes the map in
//! `dftl_changes`.
//!
//! **A miss.** A read looks each page up when it is split, a write when its page leaves the buffer.
//! A page that is not cached waits: first for room (the least recently used entry leaves; if flash
//! does not know it, its translation page is read and programmed with every such entry of that
//! page), then for its own translation page to be read. What misses the same entry waits with it,
//! what misses another one of the same translation page shares the read. A translation page that
//! was never written, or that DRAM holds on its way to flash, is not read.
//!
//! **A change.** A host page on flash, a deallocation, a copy of garbage collection: the entry
//! becomes dirty where it is cached. Where it is not (a tiny cache let it go between the lookup and
//! the program, say), its translation page is owed: it is read and programmed. What a collection
//! owes is gathered until its victim is copied out and is one read and one program a translation
//! page then; the erase does not wait for these.
//!
//! **Nothing waits in a circle.** Reads of translation pages never stand behind programs. Programs
//! wait for their lane's collection, which waits for reads under way only. With every entry of the
//! cache on its way in, a miss waits for one of them, reads before writes.

use crate::drive::buffer::slot::State;
use crate::drive::features::Scheme;
use crate::drive::map_cache::changes::Stored;
use crate::drive::{Drive, OpId, RequestId, SlotId};
use crate::ftl::{Cmt, EntryId, MapSpec, MissId, Room};
use crate::sim::{NIL, Slab};
use crate::units::{Die, Duration, Instant, Lpn, Ppn};
use std::collections::VecDeque;

/// A read or a page of the buffer that waits for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::drive) enum Who {
    /// Page `number` of a read.
    Read { request: RequestId, number: u32 },
    /// A page that leaves the buffer.
    Write { slot: SlotId },
}

crate::id! {
    /// A waiter: its place among those of all misses.
    pub(in crate::drive) WaiterId, or NIL
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) who: Who,
    pub(super) next: WaiterId,
    /// The drive's number of operations when it began to wait for what its miss waits for.
    pub(super) since: u64,
    /// Garbage collection's time then, on the die of the operation that the miss waited for.
    pub(super) gc_before: Duration,
}

/// An entry on its way into the cache.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Miss {
    pub lpn: Lpn,
    entry: EntryId,
    /// A read waits: its operations go with the host's reads.
    pub urgent: bool,
    pub(super) waiters: WaiterId,
    last_waiter: WaiterId,
    /// The translation page whose read or program it waits for; `NIL` where it waits for room.
    awaits: u32,
    /// The next one that waits for the same thing.
    next: MissId,
}

/// Misses that wait for the same thing, in their order.
#[derive(Clone, Copy, Debug)]
pub(in crate::drive) struct Misses {
    pub first: MissId,
    last: MissId,
}

impl Default for Misses {
    fn default() -> Self {
        Self { first: MissId::NIL, last: MissId::NIL }
    }
}

impl Misses {
    pub fn is_empty(self) -> bool {
        self.first == MissId::NIL
    }

    pub fn push(&mut self, misses: &mut Slab<MissId, Miss>, miss: MissId) {
        misses[miss].next = MissId::NIL;
        match self.last {
            MissId::NIL => self.first = miss,
            last => misses[last].next = miss,
        }
        self.last = miss;
    }

    pub fn pop(&mut self, misses: &Slab<MissId, Miss>) -> Option<MissId> {
        let first = self.first.some()?;
        self.first = misses[first].next;
        if self.first == MissId::NIL {
            self.last = MissId::NIL;
        }
        Some(first)
    }

    /// Those in the list, in their order.
    pub fn iter(self, misses: &Slab<MissId, Miss>) -> impl Iterator<Item = MissId> + use<'_> {
        std::iter::successors(self.first.some(), move |miss| misses[*miss].next.some())
    }
}

/// The state of a map that lies on flash.
#[derive(Clone, Debug)]
pub(in crate::drive) struct Dftl {
    pub batch: bool,
    pub lazy: bool,
    pub cmt: Cmt,
    /// The first translation page's logical number: how many pages the host sees.
    pub first: u32,
    pub misses: Slab<MissId, Miss>,
    pub(super) waiters: Slab<WaiterId, Waiter>,
    /// Misses of reads, and of writes only, for which the cache has no room.
    pub(super) no_room: [VecDeque<MissId>; 2],
    /// By slot of the buffer: its page has been looked up.
    translated: Vec<bool>,
    /// An entry that came is being told to its waiters: they do not look it up again.
    pub(super) telling: bool,
    /// The operation that the next page of a read told so may join.
    pub(super) open: Option<OpId>,
    pub pages: crate::drive::map_cache::pages::Pages,
    /// Pages that `nogc` just moved.
    pub moved: Vec<Ppn>,
    /// After a power loss, until the drive is back: translation pages that are out of date.
    pub stale: Vec<u32>,
    /// In a run with content: what flash holds of the map.
    pub stored: Option<Box<Stored>>,
}

impl Dftl {
    /// Adds a waiter to a miss and says which.
    fn wait(&mut self, miss: MissId, who: Who) -> WaiterId {
        let (since, gc_before) = (0, Duration::ZERO);
        let waiter = self.waiters.insert(Waiter { who, next: WaiterId::NIL, since, gc_before });
        self.append(miss, waiter);
        waiter
    }

    pub(super) fn append(&mut self, miss: MissId, waiter: WaiterId) {
        let last = std::mem::replace(&mut self.misses[miss].last_waiter, waiter);
        match last {
            WaiterId::NIL => self.misses[miss].waiters = waiter,
            last => self.waiters[last].next = waiter,
        }
        self.misses[miss].urgent |= matches!(self.waiters[waiter].who, Who::Read { .. });
    }

    /// Those who wait for a miss, in their order.
    pub(super) fn waiters_of(&self, miss: MissId) -> impl Iterator<Item = WaiterId> + '_ {
        std::iter::successors(self.misses[miss].waiters.some(), move |waiter| {
            self.waiters[*waiter].next.some()
        })
    }
}

impl Drive {
    /// The map lies on flash and DRAM holds a part of it, as `spec` says; the layer was made with
    /// translation pages.
    ///
    pub(in crate::drive) fn keep_map_on_flash(&mut self, spec: &MapSpec) {
        let pages = self.ftl.translation_pages();
        if !spec.is_cached() || pages == 0 {
            return;
        }
        let entries = spec.entries().min(u64::from(self.ftl.logical())) as u32;
        let shift = (u64::from(self.flash.layout.unit_bytes) / spec.stored.get()).trailing_zeros();
        let mapping = self.ftl.mapping();
        let places =
            || (0..self.ftl.logical()).map(|lpn| mapping.physical(Lpn(lpn))).collect::<Vec<_>>();
        let stored = self.flash.has_content().then(|| {
            let places = places();
            Box::new(Stored { owed: vec![false; places.len()], places })
        });
        let first_slot = self.buffer.add_parity_slots(pages);
        for page in 0..pages {
            self.buffer.slot_mut(SlotId(first_slot.0 + page)).lpn = self.ftl.translation_page(page);
        }
        assert_eq!(self.scheme, Scheme::Page, "settings choose one scheme");
        self.scheme = Scheme::CachedMap;
        self.dftl = Some(Box::new(Dftl {
            batch: spec.batch,
            lazy: spec.lazy,
            cmt: Cmt::new(entries, spec.protected, pages, shift),
            first: self.ftl.logical(),
            misses: Slab::default(),
            waiters: Slab::default(),
            no_room: [VecDeque::new(), VecDeque::new()],
            translated: vec![false; first_slot.index()],
            telling: false,
            open: None,
            pages: crate::drive::map_cache::pages::Pages::new(
                pages,
                first_slot,
                self.flash.layout.lanes,
                self.ftl.pools(),
            ),
            moved: Vec::new(),
            stale: Vec::new(),
            stored,
        }));
    }

    /// True when the entry of a page that a read needs is known; else the read waits for it.
    #[inline]
    pub(in crate::drive) fn is_known(
        &mut self,
        now: Instant,
        request: RequestId,
        number: u32,
        lpn: Lpn,
    ) -> bool {
        let told = self.dftl.as_ref().is_none_or(|dftl| dftl.telling);
        if told || self.look_up(now, lpn, Who::Read { request, number }) {
            return true;
        }
        self.requests[request].remaining += 1;
        false
    }

    /// True when a page that should leave the buffer waits for its entry: then it is on its way, or
    /// was.
    pub(in crate::drive) fn awaits_entry(&mut self, now: Instant, slot: SlotId) -> bool {
        let is_known = self.dftl.as_ref().is_none_or(|dftl| dftl.translated[slot.index()]);
        if is_known {
            return false;
        }
        let lpn = self.buffer.slot(slot).lpn;
        let is_known = self.look_up(now, lpn, Who::Write { slot });
        if is_known {
            self.set_translated(slot, true);
        } else {
            self.leaves(slot, State::Filling);
            self.writes.leaving += 1;
        }
        !is_known
    }

    /// A slot of the buffer holds a page that has been looked up, or another one.
    #[inline]
    pub(in crate::drive) fn set_translated(&mut self, slot: SlotId, translated: bool) {
        if let Some(dftl) = &mut self.dftl
            && let Some(entry) = dftl.translated.get_mut(slot.index())
        {
            *entry = translated;
        }
    }

    /// True when the entry of `lpn` is in DRAM; else `who` waits for it.
    fn look_up(&mut self, now: Instant, lpn: Lpn, who: Who) -> bool {
        let Some(dftl) = &mut self.dftl else { return true };
        let counters = &mut self.counters.map;
        let urgent = matches!(who, Who::Read { .. });
        if let Some(entry) = dftl.cmt.find(lpn) {
            let Some(miss) = dftl.cmt.loading(entry) else {
                counters.hits += 1;
                dftl.cmt.touch(entry);
                return true;
            };
            counters.misses += 1;
            let waiter = dftl.wait(miss, who);
            self.book_entry(now, waiter);
            self.joins(now, waiter, miss);
            if urgent {
                self.hasten(now, lpn);
            }
            return false;
        }
        counters.misses += 1;
        let miss = Miss {
            lpn,
            entry: EntryId::NIL,
            urgent,
            waiters: WaiterId::NIL,
            last_waiter: WaiterId::NIL,
            awaits: NIL,
            next: MissId::NIL,
        };
        let miss = dftl.misses.insert(miss);
        if !dftl.no_room[usize::from(!urgent)].is_empty() || !dftl.cmt.has_room() {
            let waiter = dftl.wait(miss, who);
            dftl.no_room[usize::from(!urgent)].push_back(miss);
            self.book_entry(now, waiter);
            return false;
        }
        if self.begin_miss(now, miss) {
            self.take_in(miss);
            return true;
        }
        if let Some(waiter) = self.dftl.as_mut().map(|dftl| dftl.wait(miss, who)) {
            self.book_entry(now, waiter);
            self.joins(now, waiter, miss);
        }
        false
    }

    /// A waiter waits from now on for what its miss waits for: perhaps for an operation under way,
    /// whose past does not delay it.
    pub(super) fn joins(&mut self, now: Instant, waiter: WaiterId, miss: MissId) {
        let (die, since) = (self.die_awaited(miss), self.next_sequence);
        let gc_before = die.map_or(Duration::ZERO, |die| self.flash.gc_time(die, now));
        if let Some(dftl) = &mut self.dftl {
            let waiter = &mut dftl.waiters[waiter];
            (waiter.since, waiter.gc_before) = (since, gc_before);
        }
        if let Some(die) = die {
            self.book_joined(now, waiter, die);
        }
    }

    /// A miss waits for another translation page, and all its waiters with it.
    pub(super) fn awaits_page(&mut self, now: Instant, miss: MissId, page: u32) {
        let Some(dftl) = &mut self.dftl else { return };
        dftl.misses[miss].awaits = page;
        let mut at = dftl.misses[miss].waiters;
        while at != WaiterId::NIL {
            self.joins(now, at, miss);
            at = self.dftl.as_ref().map_or(WaiterId::NIL, |dftl| dftl.waiters[at].next);
        }
    }

    /// The die of the operation on a translation page that a miss waits for.
    fn die_awaited(&self, miss: MissId) -> Option<Die> {
        let dftl = self.dftl.as_ref()?;
        let page = dftl.pages.all.get(dftl.misses[miss].awaits as usize)?;
        let lane = page.lane_of_its_operation(&self.ops)?;
        Some(self.flash.layout.die_of(lane))
    }

    /// Makes room in the cache, which has some to make, and asks for the entry; true when it is
    /// known at once.
    pub(super) fn begin_miss(&mut self, now: Instant, miss: MissId) -> bool {
        let Some(dftl) = &mut self.dftl else { return true };
        let Miss { lpn, urgent, .. } = dftl.misses[miss];
        let room = dftl.cmt.make_room();
        debug_assert_ne!(room, Room::None);
        dftl.misses[miss].entry = dftl.cmt.insert(lpn, miss);
        self.counters.map.evictions += u64::from(room != Room::Free);
        match room {
            Room::Free | Room::None => {}
            Room::Clean(old) => {
                if let Some(stored) = &dftl.stored {
                    stored.check(self.ftl.mapping(), old);
                }
            }
            Room::Dirty(old) => {
                self.counters.map.dirty_evictions += 1;
                if let Some(stored) = &mut dftl.stored {
                    stored.owed[old.0 as usize] = true;
                }
                let page = dftl.cmt.page_of(old);
                self.owe_to(now, page, miss, urgent);
                return false;
            }
        }
        self.load(now, miss)
    }

    /// The entry is known: it is on probation from now on. Its waiters are left.
    pub(super) fn take_in(&mut self, miss: MissId) {
        let Some(dftl) = &mut self.dftl else { return };
        let Miss { lpn, entry, .. } = dftl.misses[miss];
        dftl.cmt.loaded(entry);
        if !dftl.cmt.is_dirty(entry)
            && let Some(stored) = &dftl.stored
        {
            stored.check(self.ftl.mapping(), lpn);
        }
        dftl.misses.release(miss);
    }
}
