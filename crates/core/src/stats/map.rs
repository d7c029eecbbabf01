//! Counters of a map that lies on flash with a part of it in DRAM (DFTL).

use super::counters::counters;
use super::ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

counters! {
    /// Counters of the map; pages are mapping units.
    pub struct MapCounters {
        /// Pages looked up whose entry DRAM held.
        sum hits: u64,
        /// Pages looked up whose entry it did not hold.
        sum misses: u64,
        /// Entries that left for others.
        sum evictions: u64,
        /// Of those, entries that flash did not know.
        sum dirty_evictions: u64,
        /// Translation pages read.
        sum page_reads: u64,
        /// Of those, for collections only.
        sum collection_reads: u64,
        /// Translation pages programmed, copies not counted.
        sum page_programs: u64,
        /// Of those, for collections only.
        sum collection_programs: u64,
        /// Translation pages copied by collections.
        sum page_copies: u64,
        /// Entries of copied pages that only changed in the cache.
        sum lazy_updates: u64,
        /// Translation pages that `nogc` changed at zero cost (not read, not programmed).
        sum free_updates: u64,
    }
}

counters! {
    /// Where the map lies; nothing of it is counted.
    pub struct MapMemory {
        /// Entries that the cache holds.
        level cached_entries: u64,
        /// Bytes of the cache.
        level cache_bytes: u64,
        /// Bytes of the directory of the translation pages.
        level directory_bytes: u64,
        /// Bytes of the whole map, were it in DRAM.
        level whole_map_bytes: u64,
    }
}

/// A map that lies on flash, with a part of it in DRAM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MapReport {
    /// Pages of requests whose entry DRAM held when they were looked up (pages).
    pub hits: u64,
    /// Pages of requests that had to wait for their entry, or whose translation page was never
    /// written (pages).
    pub misses: u64,
    /// Hits in all look-ups (percent); null where nothing was looked up.
    pub hit_percent: Option<f64>,
    /// Entries that left the cache for others (entries).
    pub evictions: u64,
    /// Of those, entries that flash did not know: their translation page was read and programmed
    /// (entries).
    pub dirty_evictions: u64,
    /// Translation pages read (pages, in mapping units).
    pub pages_read: u64,
    /// Of those, only because GC runs had moved pages whose entries were not cached (pages, in
    /// mapping units).
    pub pages_read_for_gc: u64,
    /// Translation pages programmed, copies not counted; the WAF counts them (pages, in mapping
    /// units).
    pub pages_programmed: u64,
    /// Of those, only because GC runs had moved pages whose entries were not cached (pages, in
    /// mapping units).
    pub pages_programmed_for_gc: u64,
    /// Translation pages that GC runs copied; among `gc.pages_copied` (pages, in mapping units).
    pub pages_copied: u64,
    /// Entries that GC runs changed in the cache only, to be written later (entries).
    pub lazy_updates: u64,
    /// Translation pages that `nogc` changed at no cost; in none of the other counters (pages).
    pub free_updates: u64,
    /// Entries that the cache holds (entries).
    pub cached_entries: u64,
    /// DRAM of the cache (bytes).
    pub cache_bytes: u64,
    /// DRAM of the directory that finds the translation pages (bytes).
    pub directory_bytes: u64,
    /// DRAM of the map: cache and directory (bytes).
    pub memory_bytes: u64,
    /// DRAM that the whole map would take, as page mapping holds it (bytes).
    pub whole_map_bytes: u64,
}

impl MapCounters {
    /// Its report in a result.
    pub(super) fn report(&self, memory: &MapMemory) -> MapReport {
        MapReport {
            hits: self.hits,
            misses: self.misses,
            hit_percent: ratio::percent(self.hits, self.hits + self.misses),
            evictions: self.evictions,
            dirty_evictions: self.dirty_evictions,
            pages_read: self.page_reads,
            pages_read_for_gc: self.collection_reads,
            pages_programmed: self.page_programs,
            pages_programmed_for_gc: self.collection_programs,
            pages_copied: self.page_copies,
            lazy_updates: self.lazy_updates,
            free_updates: self.free_updates,
            cached_entries: memory.cached_entries,
            cache_bytes: memory.cache_bytes,
            directory_bytes: memory.directory_bytes,
            memory_bytes: memory.cache_bytes + memory.directory_bytes,
            whole_map_bytes: memory.whole_map_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_add_up_and_shares_are_those_of_all() {
        let mut all = MapCounters { hits: 3, misses: 1, ..Default::default() };
        all.add(&MapCounters { misses: 4, page_reads: 2, ..Default::default() });
        let mut memory = MapMemory { cache_bytes: 64, directory_bytes: 8, ..Default::default() };
        memory.add(&MapMemory { whole_map_bytes: 400, ..Default::default() });
        let all = all.report(&memory);
        assert_eq!((all.hits, all.misses, all.hit_percent), (3, 5, Some(37.5)));
        assert_eq!((all.memory_bytes, all.whole_map_bytes, all.pages_read), (72, 400, 2));
        assert_eq!(MapCounters::default().report(&memory).hit_percent, None);
    }
}
