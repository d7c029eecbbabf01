//! The distinct 4 KiB pages that a trace touches, as two bitmaps (Chambi et al., Better bitmap
//! performance with Roaring bitmaps, 2016).
//!
//! Exact while the bitmaps fit; beyond, only pages of a sample are kept, and the counts are
//! multiplied by its inverse. A bitmap of roaring 0.11 never turns a container of runs back into a
//! plain one when it is added to, so single pages are put in first wherever a range would begin a
//! new container.

use super::report::FootprintReport;
use super::{Pages, is_sampled};
use roaring::RoaringTreemap;

/// Both bitmaps together stay below this, however the pages lie: uniform writes to 3 TiB are exact.
const BYTES_MAX: u64 = 96 << 20;
/// Bytes of a container beside its content: itself, and the waste of an allocation of its own.
const CONTAINER_BYTES: u64 = 96;
/// Bytes of each 2^32 pages where there are any.
const BITMAP_BYTES: u64 = 256;
/// A container of 2^16 pages as plain bits.
const BITSET_BYTES: u64 = 8 << 10;
/// The work between two looks at the memory: so many containers may have been added.
const WORK_MAX: u64 = 1 << 18;

/// The pages of a trace.
#[derive(Clone, Debug)]
pub(super) struct Footprint {
    read: RoaringTreemap,
    written: RoaringTreemap,
    /// Pages in the sample: 1 in 2^halvings.
    halvings: u32,
    page_reads: u64,
    page_writes: u64,
    /// Containers that may have been added since the last look.
    work: u64,
    bytes_max: u64,
}

impl Default for Footprint {
    fn default() -> Self {
        Self::bounded(BYTES_MAX)
    }
}

impl Footprint {
    fn bounded(bytes_max: u64) -> Self {
        let (read, written) = (RoaringTreemap::new(), RoaringTreemap::new());
        Self { read, written, halvings: 0, page_reads: 0, page_writes: 0, work: 0, bytes_max }
    }

    #[inline]
    pub(super) fn read(&mut self, pages: Pages) {
        self.page_reads = self.page_reads.saturating_add(pages.count());
        add(&mut self.read, pages, self.halvings);
        self.check(pages);
    }

    #[inline]
    pub(super) fn written(&mut self, pages: Pages) {
        self.page_writes = self.page_writes.saturating_add(pages.count());
        add(&mut self.written, pages, self.halvings);
        self.check(pages);
    }

    #[inline]
    fn check(&mut self, pages: Pages) {
        self.work += 1 + (pages.count() >> 12);
        if self.work >= WORK_MAX.min(self.bytes_max / CONTAINER_BYTES) {
            self.thin_out();
        }
    }

    #[cold]
    fn thin_out(&mut self) {
        self.work = 0;
        while bytes(&self.read) + bytes(&self.written) > self.bytes_max && self.halvings < 32 {
            self.halvings += 1;
            for pages in [&mut self.read, &mut self.written] {
                let kept = pages.iter().filter(|page| is_sampled(*page, self.halvings));
                *pages = RoaringTreemap::from_sorted_iter(kept).expect("a bitmap is read in order");
                pages.optimize();
            }
        }
    }

    pub(super) fn report(&self) -> FootprintReport {
        let estimate = |sampled: u64| sampled.saturating_mul(1 << self.halvings);
        let written = estimate(self.written.len());
        FootprintReport {
            sampled_one_in: 1 << self.halvings,
            pages: estimate(self.read.union_len(&self.written)),
            read_pages: estimate(self.read.len()),
            written_pages: written,
            page_reads: self.page_reads,
            page_writes: self.page_writes,
            writes_per_written_page: (written > 0)
                .then(|| self.page_writes as f64 / written as f64),
        }
    }
}

#[inline]
fn add(map: &mut RoaringTreemap, pages: Pages, halvings: u32) {
    let Pages { first, last } = pages;
    if halvings > 0 {
        (first..=last).filter(|page| is_sampled(*page, halvings)).for_each(|page| {
            map.insert(page);
        });
        return;
    }
    map.insert(first);
    if last > first {
        map.insert(last);
        if last > first + 1 {
            map.insert_range(first..=last);
        }
    }
}

/// The memory of a bitmap.
fn bytes(map: &RoaringTreemap) -> u64 {
    map.bitmaps()
        .map(|(_, bitmap)| {
            let of = bitmap.statistics();
            // It counts four bytes for each place of an array, which has two, and bitsets in bits.
            let arrays = of.n_bytes_array_containers / 2;
            let bitsets = u64::from(of.n_bitset_containers) * BITSET_BYTES;
            let containers = u64::from(of.n_containers) * CONTAINER_BYTES;
            arrays + bitsets + of.n_bytes_run_containers + containers + BITMAP_BYTES
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footprint_that_does_not_fit_is_sampled_and_stays_in_its_memory() {
        let mut footprint = Footprint::bounded(256 << 10);
        // Pages far apart, each in a container of its own: the worst that can be; read twice,
        // written once.
        for page in (0..100_000u64).chain(0..50_000) {
            footprint.read(Pages { first: page << 16, last: page << 16 });
            if page < 20_000 {
                footprint.written(Pages { first: page << 16, last: (page << 16) + 1 });
            }
        }
        let report = footprint.report();
        assert!(report.sampled_one_in > 1);
        assert!(bytes(&footprint.read) + bytes(&footprint.written) < 512 << 10);
        let near = |found: u64, expected: u64| found.abs_diff(expected) < expected / 10;
        assert!(near(report.read_pages, 100_000), "{report:?}");
        assert!(near(report.written_pages, 40_000), "{report:?}");
        assert!(near(report.pages, 120_000), "{report:?}");
        assert_eq!((report.page_reads, report.page_writes), (150_000, 80_000));
    }

    #[test]
    fn a_range_over_many_containers_costs_next_to_nothing() {
        let mut footprint = Footprint::default();
        footprint.written(Pages { first: 70_000, last: 70_000 + (1 << 29) });
        assert_eq!(footprint.report().written_pages, (1 << 29) + 1);
        assert!(bytes(&footprint.written) < 2 << 20, "{}", bytes(&footprint.written));
    }

    #[test]
    fn pages_added_to_a_range_make_no_long_lists_of_runs() {
        let mut footprint = Footprint::default();
        footprint.written(Pages { first: 65_536, last: 65_556 });
        (0..30_000u64)
            .for_each(|n| footprint.written(Pages { first: 65_600 + 2 * n, last: 65_600 + 2 * n }));
        assert_eq!(footprint.report().written_pages, 30_021);
        assert!(bytes(&footprint.written) < 10_000, "{}", bytes(&footprint.written));
    }
}
