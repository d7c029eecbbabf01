//! Exact Zipf over n ranks: rank r (from 1) with a probability proportional to r^-theta, for any
//! theta above 0.
//!
//! Ranks lie in log-linear buckets: single up to 64, then 32 to an octave. A bucket is picked by an
//! alias table as if all its ranks were as likely as its first. A rank of it is then kept with the
//! probability that is true of it, `(r / first)^-theta`, or the whole draw is repeated (about 1 in
//! 100 at theta = 1). So the result is exact though no sum over n ranks is ever made: 2^26 ranks
//! are about 700 buckets. The curve `r^-theta` lies above its tangent and below its chord, and all
//! but a few draws are decided by these two without raising to a power ("squeeze"; Devroye 1986,
//! II.3.6).

use super::alias::AliasTable;
use crate::sim::Rng;
use crate::sim::math::pow;

/// log2 of the buckets in an octave.
const OCTAVE_SHIFT: u32 = 5;

/// A Zipf distribution over 0..n.
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    theta: f64,
    table: AliasTable,
    buckets: Box<[Bucket]>,
}

/// Neighbouring ranks, and the slopes of (r / first)^-theta over r - first.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    first: u64,
    ranks: u64,
    tangent: f64,
    chord: f64,
}

impl Zipf {
    /// The distribution over `ranks` ranks (at least 1) with exponent `theta` (above 0, finite).
    pub(super) fn new(ranks: u64, theta: f64) -> Self {
        debug_assert!(
            ranks > 0 && theta > 0.0 && theta.is_finite(),
            "{ranks} ranks, theta {theta}"
        );
        let mut buckets = Vec::new();
        let mut first = 1;
        while first <= ranks {
            let width = 1u64 << first.ilog2().saturating_sub(OCTAVE_SHIFT);
            buckets.push(Bucket::new(first, width.min(ranks - first + 1), theta));
            first += width;
        }
        let weight = |bucket: &Bucket| bucket.ranks as f64 * pow(bucket.first as f64, -theta);
        let table = AliasTable::new(&buckets.iter().map(weight).collect::<Vec<_>>());
        Self { theta, table, buckets: buckets.into() }
    }

    /// A rank counted from 0, which is the most frequent one.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let bucket = &self.buckets[self.table.pick(rng.next_u64())];
            // One draw gives both the rank (the high part) and the height to hold against the curve
            // (the rest).
            let product = u128::from(rng.next_u64()) * u128::from(bucket.ranks);
            let offset = (product >> 64) as u64;
            let height = (product as u64 >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
            if bucket.keeps(offset, height, self.theta) {
                return bucket.first - 1 + offset;
            }
        }
    }
}

impl Bucket {
    fn new(first: u64, ranks: u64, theta: f64) -> Self {
        let drop = 1.0 - pow((first + ranks - 1) as f64 / first as f64, -theta);
        let chord = if ranks == 1 { 0.0 } else { drop / (ranks - 1) as f64 };
        Self { first, ranks, tangent: theta / first as f64, chord }
    }

    /// Is `height`, uniform in [0, 1), below the curve at `offset`?
    #[inline]
    fn keeps(&self, offset: u64, height: f64, theta: f64) -> bool {
        let distance = offset as i64 as f64;
        if height < 1.0 - self.tangent * distance {
            return true;
        }
        height <= 1.0 - self.chord * distance && self.keeps_exactly(distance, height, theta)
    }

    #[cold]
    fn keeps_exactly(&self, distance: f64, height: f64, theta: f64) -> bool {
        height < pow(1.0 + distance / self.first as f64, -theta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws and holds the counts of groups of ranks against the exact sums: chi-square, in
    /// standard deviations from its mean.
    fn chi_square_deviation(
        ranks: u64,
        theta: f64,
        draws: u32,
        group: impl Fn(u64) -> usize,
    ) -> f64 {
        let groups = group(ranks - 1) + 1;
        let (mut shares, mut counts) = (vec![0.0; groups], vec![0u32; groups]);
        (0..ranks).rev().for_each(|rank| shares[group(rank)] += pow((rank + 1) as f64, -theta));
        let total: f64 = shares.iter().sum();
        let zipf = Zipf::new(ranks, theta);
        let mut rng = Rng::stream(7, "zipf");
        (0..draws).for_each(|_| counts[group(zipf.draw(&mut rng))] += 1);
        let expected = |share: f64| share / total * f64::from(draws);
        let squares = counts.iter().zip(&shares).map(|(&count, &share)| {
            let difference = f64::from(count) - expected(share);
            difference * difference / expected(share)
        });
        let freedom = groups as f64 - 1.0;
        (squares.sum::<f64>() - freedom) / (2.0 * freedom).sqrt()
    }

    #[test]
    fn every_rank_has_its_exact_probability() {
        for theta in [0.5, 0.99, 1.0, 1.2] {
            let deviation = chi_square_deviation(1000, theta, 2_000_000, |rank| rank as usize);
            assert!(deviation.abs() < 4.0, "theta {theta}: {deviation}");
        }
    }

    #[test]
    fn every_octave_of_a_million_ranks_has_its_exact_probability() {
        for theta in [0.5, 0.99, 1.0, 1.2, 3.0] {
            // At theta = 3 an octave beyond rank 128 expects too few draws for chi-square; they
            // count as one.
            let last = if theta > 2.0 { 7 } else { 20 };
            let octave = |rank: u64| (rank + 1).ilog2().min(last) as usize;
            let deviation = chi_square_deviation(1_000_000, theta, 2_000_000, octave);
            assert!(deviation.abs() < 4.0, "theta {theta}: {deviation}");
        }
    }

    #[test]
    fn inside_a_wide_bucket_the_curve_falls_as_it_should() {
        // The four quarters of each bucket of the last octave: their weights differ by about 2 %,
        // which 5e6 draws see.
        let quarter =
            |rank: u64| if rank + 1 < 512 { 0 } else { 1 + ((rank + 1) / 4 % 4) as usize };
        for theta in [0.5, 0.99, 1.2] {
            let deviation = chi_square_deviation(1023, theta, 5_000_000, quarter);
            assert!(deviation.abs() < 4.0, "theta {theta}: {deviation}");
        }
    }

    #[test]
    fn extreme_shapes_stay_in_range() {
        let mut rng = Rng::stream(3, "zipf");
        for (ranks, theta) in
            [(1, 0.99), (2, 1e-9), (65, 900.0), (u64::MAX >> 9, 0.01), (1 << 40, 50.0)]
        {
            let zipf = Zipf::new(ranks, theta);
            assert!(
                (0..10_000).all(|_| zipf.draw(&mut rng) < ranks),
                "{ranks} ranks, theta {theta}"
            );
        }
    }
}
