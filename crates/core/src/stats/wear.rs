//! How often the blocks were erased since the device was new. No difference: it is the state of the
//! blocks at the end.

use super::counters::counters;
use super::ratio;

counters! {
    /// How often the blocks were erased since the device was new.
    pub struct WearCounters {
        /// Blocks.
        level blocks: u64,
        /// Erases of all blocks.
        level erases_total: u64,
        /// The squares of the erases of each block, summed.
        level erases_squared: u128,
        /// Erases of the least worn block.
        min erases_min: u64,
        /// Erases of the most worn block.
        max erases_max: u64,
        /// Rated P/E cycles of a block; 0: not stated.
        max endurance: u64,
        /// P/E cycles that all blocks had before.
        level cycles_before: u64,
    }
}

impl WearCounters {
    /// The wear of blocks that were erased so many times each.
    pub fn of(erases: impl IntoIterator<Item = u64>) -> Self {
        let start = Self { erases_min: u64::MAX, ..Self::default() };
        let wear = erases.into_iter().fold(start, |wear, n| Self {
            blocks: wear.blocks + 1,
            erases_total: wear.erases_total + n,
            erases_squared: wear.erases_squared + u128::from(n) * u128::from(n),
            erases_min: wear.erases_min.min(n),
            erases_max: wear.erases_max.max(n),
            ..wear
        });
        if wear.blocks == 0 { Self::default() } else { wear }
    }

    /// This wear of blocks that are rated for `endurance` cycles and had `before` each.
    pub fn rated(self, endurance: u32, before: u32) -> Self {
        let (endurance, cycles_before) = (endurance.into(), self.blocks * u64::from(before));
        Self { endurance, cycles_before, ..self }
    }

    /// Percent of the rated cycles that the blocks have used on average, as NVMe means it: above
    /// 100 behind the rating; `None` where none is stated.
    pub fn percentage_used(&self) -> Option<f64> {
        let used = u128::from(self.erases_total) + u128::from(self.cycles_before);
        let rated = u128::from(self.blocks) * u128::from(self.endurance);
        ratio::rounded(100 * used, rated, 6)
    }

    /// The standard deviation of erases over the blocks, with six decimals; 0 without blocks.
    pub fn stddev(&self) -> f64 {
        let (blocks, total) = (u128::from(self.blocks), u128::from(self.erases_total));
        // n^2 times the variance is an integer; of a square root IEEE says every bit.
        let variance = (blocks * self.erases_squared).saturating_sub(total * total);
        let deviation = (variance as f64).sqrt() / blocks.max(1) as f64;
        (deviation * 1e6).round() / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wear_of_no_blocks_is_zero_and_not_the_largest_number() {
        assert_eq!(WearCounters::of([]), WearCounters::default());
        let wear = WearCounters {
            blocks: 3,
            erases_total: 12,
            erases_squared: 86,
            erases_min: 1,
            erases_max: 9,
            ..WearCounters::default()
        };
        assert_eq!(WearCounters::of([2, 9, 1]), wear);
    }

    #[test]
    fn percent_used_is_the_mean_of_the_blocks_over_their_rating_and_none_without_one() {
        let wear = WearCounters::of([2, 9, 1]);
        assert_eq!((wear.percentage_used(), WearCounters::of([]).percentage_used()), (None, None));
        // 12 erases, and 10 cycles of before in each, of 3 x 40.
        let mut rated = wear.rated(40, 10);
        assert_eq!(rated.percentage_used(), Some(35.0));
        assert_eq!(wear.rated(3, 0).percentage_used(), Some(133.333_333));
        // Another drive whose two blocks are at their end: (42 + 80) of 5 x 40.
        rated.add(&WearCounters::of([40, 40]).rated(40, 0));
        assert_eq!(rated.percentage_used(), Some(61.0));
    }
}
