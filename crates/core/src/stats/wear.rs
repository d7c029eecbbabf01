//! How often the blocks were erased since the device was new. No difference: it is the state of the
//! blocks at the end.

use super::counters::counters;

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
        });
        if wear.blocks == 0 { Self::default() } else { wear }
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
        };
        assert_eq!(WearCounters::of([2, 9, 1]), wear);
    }
}
