//! A bijection on 0..n that looks random: frequent ranks and hot granules are spread over the
//! range, without a table.
//!
//! Rounds of "xor with the own upper half, multiply by an odd number", each a bijection on b-bit
//! numbers, make up the whole; b is the least with 2^b >= n. A result beyond n is put in again
//! ("cycle walking": Black and Rogaway 2002), which keeps it a bijection; as 2^b < 2 n, that
//! happens less than once a call on average, and never where n is a power of two.

use crate::sim::Rng;

/// A bijection on 0..n.
#[derive(Clone, Debug)]
pub(super) struct Scatter {
    n: u64,
    mask: u64,
    shift: u32,
    offset: u64,
    factors: [u64; 3],
}

impl Scatter {
    /// A bijection on 0..`n` (n at least 1), drawn from `rng`.
    pub(super) fn new(n: u64, rng: &mut Rng) -> Self {
        debug_assert!(n > 0);
        let bits = u64::BITS - (n - 1).leading_zeros();
        let mask = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
        // A shift of 0 would xor a number with itself, so 1 at least.
        let shift = bits.div_ceil(2).max(1);
        Self {
            n,
            mask,
            shift,
            offset: rng.next_u64(),
            factors: std::array::from_fn(|_| rng.next_u64() | 1),
        }
    }

    /// The place of `index`, which is below n.
    #[inline]
    pub(super) fn place(&self, index: u64) -> u64 {
        debug_assert!(index < self.n);
        let mut place = self.permute(index);
        while place >= self.n {
            place = self.permute(place);
        }
        place
    }

    /// The bijection on b-bit numbers.
    #[inline]
    fn permute(&self, index: u64) -> u64 {
        let mut x = index.wrapping_add(self.offset) & self.mask;
        for factor in self.factors {
            x ^= x >> self.shift;
            x = x.wrapping_mul(factor) & self.mask;
        }
        x ^ (x >> self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_once() {
        let mut rng = Rng::stream(1, "scatter");
        for n in (1..=130).chain([1000, 1023, 1024, 1025, 65_537, 100_000]) {
            let scatter = Scatter::new(n, &mut rng);
            let mut taken = vec![false; n as usize];
            (0..n).for_each(|index| taken[scatter.place(index) as usize] = true);
            assert!(taken.into_iter().all(|taken| taken), "{n}");
        }
    }

    #[test]
    fn the_first_hundredth_is_spread_over_the_whole_range() {
        for (seed, n) in
            [(1, 1 << 20), (2, 1_000_000), (3, 3_000_017), (4, 1 << 33), (5, (1 << 40) - 5)]
        {
            let scatter = Scatter::new(n, &mut Rng::stream(seed, "scatter"));
            let sample = 10_000;
            let mut sixteenths = [0f64; 16];
            (0..sample)
                .for_each(|index| sixteenths[(scatter.place(index) * 16 / n) as usize] += 1.0);
            let expected = sample as f64 / 16.0;
            let chi_square: f64 =
                sixteenths.iter().map(|count| (count - expected).powi(2) / expected).sum();
            // 15 degrees of freedom: 50 is exceeded by chance in 1 of 80,000 cases.
            assert!(chi_square < 50.0, "{n}: {sixteenths:?}");
        }
    }

    #[test]
    fn neighbours_are_parted() {
        let n = 1 << 20;
        let scatter = Scatter::new(n, &mut Rng::stream(1, "scatter"));
        let near = (1..n)
            .filter(|&index| scatter.place(index).abs_diff(scatter.place(index - 1)) < n / 100)
            .count();
        // Two random places are that near in 2 % of the cases.
        assert!((15_000..27_000).contains(&near), "{near}");
    }

    #[test]
    fn the_largest_range_works() {
        let scatter = Scatter::new(u64::MAX, &mut Rng::stream(1, "scatter"));
        assert_ne!(scatter.place(0), scatter.place(1));
    }
}
