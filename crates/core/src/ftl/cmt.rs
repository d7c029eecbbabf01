//! The cached mapping table of DFTL: the entries of the logical-to-physical map that DRAM holds.
//!
//! Gupta et al., DFTL, ASPLOS 2009, section 3: the map lies on flash in *translation pages*; a
//! small cache (CMT) holds entries, found by page, replaced by a segmented LRU: a new entry is on
//! probation, one that is used again is protected, and what the protected segment has no room for
//! goes back on probation. The least recently used on probation leaves first. Where the pages lie
//! is [`PageMap`](super::PageMap)'s; here is only which entries are cached and which of them flash
//! does not know yet (*dirty*).
//!
//! Every step is O(1): a hash table with chains finds an entry, the segments are lists through the
//! entries, and so are the dirty entries of each translation page, which one program writes
//! together. Nothing is allocated once it is made. **Trap:** an entry whose translation page is
//! still being read is there already (it may become dirty meanwhile), but cannot leave.

use super::{Mapping, PageMap};
use crate::units::{Bytes, Lpn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of an entry of the directory that finds the translation pages: a physical page number.
pub const DIRECTORY_ENTRY: u64 = 4;

/// The part of the map that DRAM holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MapSpec {
    /// DRAM for cached entries of the map, the rest being on flash (DFTL); 0 is the whole map in
    /// DRAM.
    pub cache: Bytes,
    /// DRAM that a cached entry takes.
    pub entry: Bytes,
    /// Flash that an entry takes in a translation page.
    pub stored: Bytes,
    /// Share of the cached entries that is protected: used again since they came.
    pub protected: f64,
    /// An entry that leaves takes the others of its translation page with it to flash; otherwise
    /// each goes alone.
    pub batch: bool,
    /// Entries that garbage collection changes are only changed in the cache, where they are
    /// cached.
    pub lazy: bool,
}

impl Default for MapSpec {
    fn default() -> Self {
        // As in the paper: 8 bytes in the cache (logical and physical page), 4 on flash (512 in a
        // page of 2 KiB). The share is assumed: the paper names none.
        let (entry, stored) = (Bytes::new(8), Bytes::new(4));
        Self { cache: Bytes::new(0), entry, stored, protected: 0.5, batch: true, lazy: true }
    }
}

impl MapSpec {
    /// True when the map lies on flash.
    pub fn is_cached(&self) -> bool {
        self.cache.get() > 0
    }

    /// Entries that the cache holds.
    pub fn entries(&self) -> u64 {
        self.cache.get() / self.entry.get().max(1)
    }

    /// Translation pages that the map of `logical` pages takes in pages of `unit` bytes; none where
    /// it is in DRAM.
    pub fn pages(&self, logical: u64, unit: u64) -> u64 {
        if self.is_cached() {
            logical.div_ceil((unit / self.stored.get().max(1)).max(1))
        } else {
            0
        }
    }
}

/// The segments; an entry that is being loaded is in none.
const PROBATION: u8 = 0;
const PROTECTED: u8 = 1;
const LOADING: u8 = 2;

crate::id! {
    /// An entry of the cache.
    pub EntryId, or NIL
}

crate::id! {
    /// A miss: the cache has no entry, and one is being loaded.
    pub MissId, or NIL
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    lpn: u32,
    /// Neighbours in its segment; while it is loaded, `next` is the number of its miss. The next
    /// free one.
    next: EntryId,
    previous: EntryId,
    /// The next one in its chain of the hash table.
    chain: EntryId,
    /// Neighbours among the dirty entries of its translation page; `previous_dirty` is itself when
    /// it is the first.
    next_dirty: EntryId,
    previous_dirty: EntryId,
    segment: u8,
    dirty: bool,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    newest: EntryId,
    oldest: EntryId,
    entries: u32,
}

/// Whether an entry more fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// It does.
    Free,
    /// It does: this page's entry, which flash knows, has left.
    Clean(Lpn),
    /// It does: this page's entry has left, and flash does not know it yet.
    Dirty(Lpn),
    /// It does not: every entry is being loaded.
    None,
}

/// The cached mapping table.
#[derive(Clone, Debug)]
pub struct Cmt {
    entries: Vec<Entry>,
    free: EntryId,
    /// First of each chain.
    buckets: Vec<EntryId>,
    bucket_shift: u32,
    segments: [Segment; 2],
    protected_max: u32,
    /// By translation page: the first of its dirty entries.
    dirty_of: Vec<EntryId>,
    /// Log2 of the entries of a translation page.
    page_shift: u32,
}

impl Cmt {
    /// An empty cache of `entries`, of which a share may be protected, over `pages` translation
    /// pages of `1 << page_shift` entries.
    pub fn new(entries: u32, protected: f64, pages: u32, page_shift: u32) -> Self {
        let buckets = entries.next_power_of_two().max(2);
        let none = Entry {
            lpn: 0,
            next: EntryId::NIL,
            previous: EntryId::NIL,
            chain: EntryId::NIL,
            next_dirty: EntryId::NIL,
            previous_dirty: EntryId::NIL,
            segment: LOADING,
            dirty: false,
        };
        let mut all = vec![none; entries as usize];
        (1..).zip(&mut all).for_each(|(next, entry)| {
            entry.next = if next == entries { EntryId::NIL } else { EntryId(next) }
        });
        Self {
            entries: all,
            free: if entries == 0 { EntryId::NIL } else { EntryId(0) },
            buckets: vec![EntryId::NIL; buckets as usize],
            bucket_shift: 32 - buckets.trailing_zeros(),
            segments: [Segment { newest: EntryId::NIL, oldest: EntryId::NIL, entries: 0 }; 2],
            protected_max: (f64::from(entries) * protected) as u32,
            dirty_of: vec![EntryId::NIL; pages as usize],
            page_shift,
        }
    }

    /// Entries that it can hold.
    pub fn capacity(&self) -> u32 {
        self.entries.len() as u32
    }

    /// The translation page that holds the entry of `lpn`.
    #[inline]
    pub fn page_of(&self, lpn: Lpn) -> u32 {
        lpn.0 >> self.page_shift
    }

    /// The pages whose entries a translation page holds, of `logical` in all.
    pub fn span_of(&self, page: u32, logical: u32) -> std::ops::Range<u32> {
        (page << self.page_shift)..((page + 1) << self.page_shift).min(logical)
    }

    /// The entry of `lpn`, loaded or not.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<EntryId> {
        let mut at = self.buckets[self.bucket(lpn.0)];
        while at != EntryId::NIL {
            let entry = &self.entries[at.index()];
            if entry.lpn == lpn.0 {
                return Some(at);
            }
            at = entry.chain;
        }
        None
    }

    /// True when flash does not know what the entry says.
    #[inline]
    pub fn is_dirty(&self, entry: EntryId) -> bool {
        self.entries[entry.index()].dirty
    }

    /// The miss of an entry that is being loaded.
    #[inline]
    pub fn loading(&self, entry: EntryId) -> Option<MissId> {
        let entry = &self.entries[entry.index()];
        (entry.segment == LOADING).then_some(MissId(entry.next.0))
    }

    /// The entry is used.
    #[inline]
    pub fn touch(&mut self, entry: EntryId) {
        let segment = self.entries[entry.index()].segment;
        if segment == LOADING {
            return;
        }
        self.unlink(entry);
        if segment == PROBATION && self.protected_max == 0 {
            return self.link(entry, PROBATION);
        }
        self.link(entry, PROTECTED);
        let protected = self.segments[PROTECTED as usize];
        if protected.entries > self.protected_max {
            self.unlink(protected.oldest);
            self.link(protected.oldest, PROBATION);
        }
    }

    /// Sees to it that one more entry fits: the least recently used on probation leaves, or the
    /// least recently used.
    pub fn make_room(&mut self) -> Room {
        if self.free != EntryId::NIL {
            return Room::Free;
        }
        let oldest = match self.segments.map(|segment| segment.oldest) {
            [EntryId::NIL, EntryId::NIL] => return Room::None,
            [EntryId::NIL, oldest] | [oldest, _] => oldest,
        };
        let Entry { lpn, dirty, .. } = self.entries[oldest.index()];
        self.clean(oldest);
        self.unlink(oldest);
        self.unchain(oldest);
        self.entries[oldest.index()].next = self.free;
        self.free = oldest;
        if dirty { Room::Dirty(Lpn(lpn)) } else { Room::Clean(Lpn(lpn)) }
    }

    /// True when [`Cmt::make_room`] would find some.
    pub fn has_room(&self) -> bool {
        self.free != EntryId::NIL
            || self.segments.iter().any(|segment| segment.oldest != EntryId::NIL)
    }

    /// A new entry for `lpn`, which has none, being loaded; there is room for it.
    pub fn insert(&mut self, lpn: Lpn, miss: MissId) -> EntryId {
        let (at, bucket) = (self.free, self.bucket(lpn.0));
        let entry = &mut self.entries[at.index()];
        self.free = entry.next;
        (entry.lpn, entry.segment, entry.next, entry.previous) =
            (lpn.0, LOADING, EntryId(miss.0), EntryId::NIL);
        entry.chain = self.buckets[bucket];
        self.buckets[bucket] = at;
        at
    }

    /// The entry is loaded: it is on probation from now on.
    pub fn loaded(&mut self, entry: EntryId) {
        self.link(entry, PROBATION);
    }

    /// Marks the entry as changed.
    #[inline]
    pub fn set_dirty(&mut self, entry: EntryId) {
        let page = self.page_of(Lpn(self.entries[entry.index()].lpn)) as usize;
        let e = &mut self.entries[entry.index()];
        if e.dirty {
            return;
        }
        let first = std::mem::replace(&mut self.dirty_of[page], entry);
        (e.dirty, e.next_dirty, e.previous_dirty) = (true, first, entry);
        if first != EntryId::NIL {
            self.entries[first.index()].previous_dirty = entry;
        }
    }

    /// Flash is told the dirty entries of a translation page: each page is given to `told`.
    pub fn clean_page(&mut self, page: u32, mut told: impl FnMut(Lpn)) {
        let mut at = std::mem::replace(&mut self.dirty_of[page as usize], EntryId::NIL);
        while at != EntryId::NIL {
            let entry = &mut self.entries[at.index()];
            told(Lpn(entry.lpn));
            entry.dirty = false;
            at = entry.next_dirty;
        }
    }

    /// Takes the entry out of the dirty ones of its page.
    fn clean(&mut self, entry: EntryId) {
        let Entry { lpn, next_dirty, previous_dirty, dirty, .. } = self.entries[entry.index()];
        if !dirty {
            return;
        }
        self.entries[entry.index()].dirty = false;
        let is_first = previous_dirty == entry;
        if is_first {
            let page = self.page_of(Lpn(lpn)) as usize;
            self.dirty_of[page] = next_dirty;
        } else {
            self.entries[previous_dirty.index()].next_dirty = next_dirty;
        }
        if next_dirty != EntryId::NIL {
            self.entries[next_dirty.index()].previous_dirty =
                if is_first { next_dirty } else { previous_dirty };
        }
    }

    fn link(&mut self, entry: EntryId, segment: u8) {
        let s = &mut self.segments[segment as usize];
        let newest = std::mem::replace(&mut s.newest, entry);
        s.entries += 1;
        match newest {
            EntryId::NIL => s.oldest = entry,
            newest => self.entries[newest.index()].previous = entry,
        }
        let e = &mut self.entries[entry.index()];
        (e.next, e.previous, e.segment) = (newest, EntryId::NIL, segment);
    }

    fn unlink(&mut self, entry: EntryId) {
        let Entry { next, previous, segment, .. } = self.entries[entry.index()];
        let s = &mut self.segments[segment as usize];
        s.entries -= 1;
        match previous {
            EntryId::NIL => s.newest = next,
            before => self.entries[before.index()].next = next,
        }
        match next {
            EntryId::NIL => self.segments[segment as usize].oldest = previous,
            after => self.entries[after.index()].previous = previous,
        }
    }

    fn unchain(&mut self, entry: EntryId) {
        let Entry { lpn, chain, .. } = self.entries[entry.index()];
        let bucket = self.bucket(lpn);
        let mut at = self.buckets[bucket];
        if at == entry {
            self.buckets[bucket] = chain;
            return;
        }
        while self.entries[at.index()].chain != entry {
            at = self.entries[at.index()].chain;
        }
        self.entries[at.index()].chain = chain;
    }

    #[inline]
    fn bucket(&self, lpn: u32) -> usize {
        // Fibonacci hashing: the high bits of the product.
        (lpn.wrapping_mul(0x9e37_79b9) >> self.bucket_shift) as usize
    }
}

impl PageMap {
    /// This empty map with translation pages behind the host's pages, as many as hold it; `spec`
    /// says if any.
    pub fn with_translation_pages(mut self, spec: &MapSpec) -> Self {
        let pages = spec.pages(u64::from(self.user), u64::from(self.layout.unit_bytes)) as u32;
        if pages > 0 {
            self.mapping = Mapping::new(self.user + pages, self.layout.total_units());
        }
        self
    }

    /// Translation pages: logical pages behind the host's. None where the map is in DRAM.
    pub fn translation_pages(&self) -> u32 {
        let is_of_parity = self.stripes().is_some() || self.superstripes.is_some();
        if is_of_parity { 0 } else { self.mapping.logical() - self.user }
    }

    /// The logical page of translation page `page`.
    pub fn translation_page(&self, page: u32) -> Lpn {
        Lpn(self.user + page)
    }
}
