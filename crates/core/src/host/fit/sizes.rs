//! Which sizes requests have: all of them counted, the most frequent kept, the others folded
//! together.

use crate::units::{Bytes, SECTOR};
use std::collections::BTreeMap;

/// Different sizes that are counted; beyond, a new one counts as the next power of two.
const KINDS: usize = 4096;
/// Sizes that are kept as they are, and the share of the requests that is enough.
const KEPT: usize = 16;
const ENOUGH: f64 = 0.95;

/// Requests by size in sectors.
#[derive(Clone, Debug, Default)]
pub(super) struct SizeCounts(BTreeMap<u32, u64>);

impl SizeCounts {
    /// One more request of so many sectors.
    pub(super) fn add(&mut self, sectors: u32) {
        let known = self.0.len() < KINDS || self.0.contains_key(&sectors);
        let key =
            if known { sectors } else { sectors.checked_next_power_of_two().unwrap_or(1 << 31) };
        *self.0.entry(key).or_default() += 1;
    }

    /// Sizes in rising order with their percentages of the requests: the most frequent ones that
    /// together are 95 % of the requests, at most 16 of them; the rest by its mean size, octave by
    /// octave if it is more than the other 5 %. Means are rounded to multiples of `step` sectors.
    pub(super) fn folded(&self, step: u64) -> Vec<(Bytes, f64)> {
        let total: u64 = self.0.values().sum();
        let mut by_count: Vec<(u32, u64)> =
            self.0.iter().map(|(sectors, count)| (*sectors, *count)).collect();
        by_count.sort_by_key(|(sectors, count)| (std::cmp::Reverse(*count), *sectors));
        let (mut covered, mut kept): (u64, BTreeMap<u64, u64>) = (0, BTreeMap::new());
        let mut rest = by_count.into_iter().peekable();
        while kept.len() < KEPT && (covered as f64) < ENOUGH * total as f64 {
            let Some((sectors, count)) = rest.next() else { break };
            covered += count;
            kept.insert(u64::from(sectors), count);
        }
        let by_octave = (covered as f64) < ENOUGH * total as f64;
        let mut folded: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (sectors, count) in rest {
            let sum = folded.entry(if by_octave { sectors.ilog2() } else { 0 }).or_default();
            *sum = (sum.0 + count, sum.1 + count * u64::from(sectors));
        }
        for (count, sectors) in folded.into_values() {
            let mean = (sectors + count * step / 2) / (count * step) * step;
            *kept.entry(mean.max(step)).or_default() += count;
        }
        let percent = |count| 100.0 * count as f64 / total as f64;
        kept.into_iter()
            .map(|(sectors, count)| (Bytes::new(sectors * SECTOR), percent(count)))
            .collect()
    }

    /// Mean size in bytes; 0 without any.
    pub(super) fn mean(&self) -> f64 {
        let requests: u64 = self.0.values().sum();
        let sectors: f64 =
            self.0.iter().map(|(sectors, count)| f64::from(*sectors) * *count as f64).sum();
        if requests == 0 { 0.0 } else { sectors * SECTOR as f64 / requests as f64 }
    }

    /// True without any.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_sizes_are_kept_and_the_rest_is_folded_with_its_mean() {
        let mut sizes = SizeCounts::default();
        let counts = [(8, 700), (128, 270), (16, 20), (24, 10)];
        counts.iter().for_each(|(sectors, count)| (0..*count).for_each(|_| sizes.add(*sectors)));
        // 16 and 24 sectors, 2:1, fold to 18.7, to a multiple of 8 that is 16.
        let expected = [(4096, 70.0), (8192, 3.0), (65536, 27.0)]
            .map(|(size, share)| (Bytes::new(size), share));
        assert_eq!(sizes.folded(8), expected);
        assert_eq!(sizes.folded(1)[1].0, Bytes::new(19 * 512));
    }

    #[test]
    fn a_broad_mix_keeps_its_mean() {
        let mut sizes = SizeCounts::default();
        (1..=20_000).for_each(|sectors| sizes.add(sectors));
        let folded = sizes.folded(8);
        assert!(folded.len() <= 2 * KEPT, "{folded:?}");
        let mean: f64 = folded.iter().map(|(size, share)| size.get() as f64 * share / 100.0).sum();
        // Sizes after the first 4096 kinds are counted as powers of two, a third too large.
        assert!((mean / sizes.mean() - 1.0).abs() < 0.01, "{mean} {}", sizes.mean());
        assert!((folded.iter().map(|(_, share)| share).sum::<f64>() - 100.0).abs() < 1e-9);
    }
}
