//! How often each size was asked for.

use super::percent;
use super::report::{SizeReport, TopSize};
use manx_base::units::SECTOR;
use std::collections::BTreeMap;

/// So many different sizes are counted each for itself. Real traces have a few hundred.
const EXACT_MAX: usize = 1 << 14;
/// How many of the most frequent sizes are named.
const TOP: usize = 4;

/// Requests by size.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    /// Requests of each size in sectors.
    counts: BTreeMap<u32, u64>,
    count: u64,
    max: u32,
    /// Sizes were rounded, because there were too many.
    rounded: bool,
}

impl Sizes {
    #[inline]
    pub(super) fn record(&mut self, sectors: u32) {
        match self.counts.get_mut(&sectors) {
            Some(count) => *count += 1,
            None => self.add_new(sectors, 1),
        }
        self.count += 1;
        self.max = self.max.max(sectors);
    }

    /// Too many different sizes: a new one is rounded down to its upper eleven bits (0.05 %), of
    /// which there are few.
    #[cold]
    fn add_new(&mut self, sectors: u32, count: u64) {
        let kept = if self.counts.len() < EXACT_MAX { sectors } else { upper_bits(sectors) };
        self.rounded |= kept != sectors;
        *self.counts.entry(kept).or_default() += count;
    }

    pub(super) fn merged(&self, other: &Sizes) -> Sizes {
        let mut all = self.clone();
        for (sectors, count) in &other.counts {
            all.add_new(*sectors, *count);
        }
        all.count += other.count;
        all.max = all.max.max(other.max);
        all.rounded |= other.rounded;
        all
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn is_exact(&self) -> bool {
        !self.rounded
    }

    /// The smallest size with at least `percent` percent of the requests at or below it.
    fn percentile(&self, percent: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100) as u64;
        let mut below = 0;
        let found = self.counts.iter().find(|(_, count)| {
            below += **count;
            below >= rank
        });
        found.map_or(0, |(sectors, _)| u64::from(*sectors) * SECTOR)
    }

    pub(super) fn report(&self) -> Option<SizeReport> {
        (self.count > 0).then(|| SizeReport {
            requests: self.count,
            p1_bytes: self.percentile(1),
            p50_bytes: self.percentile(50),
            p90_bytes: self.percentile(90),
            p99_bytes: self.percentile(99),
            max_bytes: u64::from(self.max) * SECTOR,
        })
    }

    /// The most frequent sizes; of equally frequent ones, the smallest first.
    pub(super) fn top(&self) -> Vec<TopSize> {
        let mut by_count: Vec<(u32, u64)> =
            self.counts.iter().map(|(sectors, count)| (*sectors, *count)).collect();
        by_count.sort_by_key(|(sectors, count)| (std::cmp::Reverse(*count), *sectors));
        let top = by_count.into_iter().take(TOP);
        top.map(|(sectors, requests)| TopSize {
            bytes: u64::from(sectors) * SECTOR,
            requests,
            percent: percent(requests, self.count),
        })
        .collect()
    }
}

fn upper_bits(sectors: u32) -> u32 {
    let beyond = (u32::BITS - sectors.leading_zeros()).saturating_sub(11);
    sectors >> beyond << beyond
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_without_end_are_rounded_and_bounded() {
        let mut sizes = Sizes::default();
        (1..400_000).for_each(|sectors| sizes.record(sectors));
        assert!(!sizes.is_exact());
        assert!(sizes.counts.len() < EXACT_MAX + 22 * 1024, "{}", sizes.counts.len());
        let report = sizes.report().unwrap();
        assert_eq!((report.requests, report.max_bytes), (399_999, 399_999 * 512));
        assert!(
            report.p50_bytes.abs_diff(200_000 * 512) <= 200_000 * 512 / 1024,
            "{}",
            report.p50_bytes
        );
        assert_eq!(report.p1_bytes, 4_000 * 512, "small sizes came first and stay exact");
    }

    #[test]
    fn equally_frequent_sizes_are_named_from_the_smallest() {
        let mut sizes = Sizes::default();
        [8, 16, 16, 1, 64, 64, 2, 3].into_iter().for_each(|sectors| sizes.record(sectors));
        assert_eq!(
            sizes.top().iter().map(|top| top.bytes / 512).collect::<Vec<_>>(),
            [16, 64, 1, 2]
        );
    }
}
