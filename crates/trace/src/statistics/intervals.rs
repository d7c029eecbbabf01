//! How long it takes until a page is written again: in page writes in between (Lim, Lee and Moon,
//! FASTer FTL, SNAPI 2010, Fig. 3) and in time.
//!
//! A table of all pages would grow with the trace. So only pages of a sample in space are followed
//! (SHARDS, of fixed size: Waldspurger et al., FAST 2015): once there are too many, the threshold
//! halves and half of them are dropped. An interval that is seen while 1 page in 2^k is followed
//! stands for 2^k intervals and is counted so.
//!
//! A page's first write ends no interval, and what a page has waited for at the trace's end is not
//! counted: intervals about as long as the trace are underrepresented, as in every measurement of
//! this kind.

use super::report::{IntervalPercentiles, WriteIntervalReport};
use super::{Pages, is_sampled};
use manx_base::latency::Histogram;
use std::collections::BTreeMap;

/// So many pages are followed at the same time.
const PAGES_MAX: usize = 1 << 16;
/// A longer write (1 GiB) is no request of a host, and looking at each of its pages would take
/// long.
const WRITE_PAGES_MAX: u64 = 1 << 18;

/// The last write of each page that is followed.
#[derive(Clone, Debug)]
pub(super) struct WriteIntervals {
    last: BTreeMap<u64, LastWrite>,
    halvings: u32,
    pages_max: usize,
    /// Page writes so far.
    written: u64,
    /// Intervals seen.
    seen: u64,
    left_out: u64,
    distances: Histogram,
    times: Histogram,
}

#[derive(Clone, Copy, Debug)]
struct LastWrite {
    /// Its number among all page writes.
    number: u64,
    at: u64,
}

impl Default for WriteIntervals {
    fn default() -> Self {
        Self::following(PAGES_MAX)
    }
}

impl WriteIntervals {
    fn following(pages_max: usize) -> Self {
        let (distances, times) = (Histogram::new(), Histogram::new());
        let last = BTreeMap::new();
        Self { last, halvings: 0, pages_max, written: 0, seen: 0, left_out: 0, distances, times }
    }

    /// A write of `pages` at `at`.
    #[inline]
    pub(super) fn record(&mut self, pages: Pages, at: u64) {
        let first_number = self.written;
        self.written = self.written.saturating_add(pages.count());
        if pages.count() > WRITE_PAGES_MAX {
            self.left_out += 1;
            return;
        }
        for page in pages.first..=pages.last {
            if is_sampled(page, self.halvings) {
                self.page(
                    page,
                    LastWrite { number: first_number.saturating_add(page - pages.first), at },
                );
            }
        }
    }

    fn page(&mut self, page: u64, write: LastWrite) {
        if let Some(before) = self.last.insert(page, write) {
            let weight = 1 << self.halvings;
            self.seen += 1;
            self.distances.record_many(write.number.saturating_sub(before.number + 1), weight);
            self.times.record_many(write.at - before.at, weight);
        } else if self.last.len() > self.pages_max && self.halvings < 32 {
            self.halvings += 1;
            let halvings = self.halvings;
            self.last.retain(|page, _| is_sampled(*page, halvings));
        }
    }

    pub(super) fn report(&self) -> Option<WriteIntervalReport> {
        (self.seen > 0).then(|| WriteIntervalReport {
            sampled_one_in: 1 << self.halvings,
            pages_followed: self.last.len() as u64,
            intervals_seen: self.seen,
            left_out_writes: self.left_out,
            page_writes_between: IntervalPercentiles::of(&self.distances),
            time_ns: IntervalPercentiles::of(&self.times),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the writes go to a tenth of the pages.
    fn skewed(writes: u64) -> impl Iterator<Item = Pages> {
        (0..writes).map(|n| {
            let drawn = splitmix64(n);
            let page =
                if drawn & 1 == 0 { (drawn >> 1) % 2_000 } else { 2_000 + (drawn >> 1) % 18_000 };
            Pages { first: page, last: page }
        })
    }

    /// The n-th number of splitmix64 (Steele, Lea, Flood, 2014).
    fn splitmix64(n: u64) -> u64 {
        let mut z = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    #[test]
    fn a_sample_finds_the_percentiles_of_all_pages() {
        let (mut all, mut sample) =
            (WriteIntervals::following(1 << 20), WriteIntervals::following(2_000));
        for (at, pages) in skewed(300_000).enumerate() {
            all.record(pages, at as u64 * 1_000);
            sample.record(pages, at as u64 * 1_000);
        }
        let (all, sample) = (all.report().unwrap(), sample.report().unwrap());
        assert_eq!((all.sampled_one_in, all.intervals_seen), (1, 300_000 - all.pages_followed));
        assert!(sample.sampled_one_in >= 8 && sample.pages_followed <= 2_000, "{sample:?}");
        let pairs = |of: fn(&IntervalPercentiles) -> u64| {
            [
                (&all.page_writes_between, &sample.page_writes_between),
                (&all.time_ns, &sample.time_ns),
            ]
            .map(|(all, sample)| (of(all), of(sample)))
        };
        for (exact, estimate) in
            [pairs(|of| of.p25), pairs(|of| of.p50), pairs(|of| of.p90)].concat()
        {
            assert!(estimate.abs_diff(exact) < exact / 8, "{estimate} for {exact}");
        }
    }

    #[test]
    fn a_write_too_long_to_be_one_is_left_out_and_counted() {
        let mut intervals = WriteIntervals::default();
        let page = Pages { first: 7, last: 7 };
        intervals.record(page, 0);
        intervals.record(Pages { first: 0, last: 1 << 30 }, 5);
        intervals.record(page, 9);
        let report = intervals.report().unwrap();
        assert_eq!((report.left_out_writes, report.intervals_seen), (1, 1));
        assert_eq!((report.page_writes_between.max, report.time_ns.max), ((1 << 30) + 1, 9));
    }
}
