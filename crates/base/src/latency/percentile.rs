//! Percentiles that say how far they can be trusted: the samples beyond them and a confidence
//! interval.
//!
//! A percentile is an order statistic: of n samples, the one of rank ceil(q n), that is the
//! smallest value with at least ceil(q n) samples at or below it. q is a fraction of integers, so
//! no rank depends on how 0.99999 rounds.
//!
//! The interval is the binomial one (Conover, Practical Nonparametric Statistics, 3rd ed., section
//! 3.2): the number of samples below the true percentile is binomial, so the percentile lies
//! between the ranks n q -+ 1.96 sqrt(n q (1 - q)) in 95 % of all runs. That holds for independent
//! samples. Latencies in one queue are not independent: one erase delays many reads, so read it as
//! the least uncertainty there is, and repeat the run over seeds where a claim hangs on it.

use super::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A percentile with fewer samples than this beyond it is not reported: it would be the luck of a
/// few requests.
pub const BEYOND_MIN: u64 = 10;

/// A level of a percentile, as an exact fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// How people write it: "p99.9".
    pub name: &'static str,
    numerator: u64,
    denominator: u64,
}

/// The levels that are reported, from the median up.
pub const LEVELS: [Level; 7] = [
    Level::new("p50", 1, 2),
    Level::new("p90", 9, 10),
    Level::new("p95", 19, 20),
    Level::new("p99", 99, 100),
    Level::new("p99.9", 999, 1_000),
    Level::new("p99.99", 9_999, 10_000),
    Level::new("p99.999", 99_999, 100_000),
];

/// One percentile of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentile {
    /// The latency (microseconds); null when fewer than 10 samples lie beyond it.
    pub us: Option<f64>,
    /// How many samples rank beyond it (samples).
    pub n_beyond: u64,
    /// Lower end of the 95 % confidence interval (microseconds); null when `us` is.
    pub low_us: Option<f64>,
    /// Upper end of the 95 % confidence interval (microseconds); null when `us` is.
    pub high_us: Option<f64>,
}

/// The reported percentiles, each with its samples beyond and its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// The median (microseconds inside).
    pub p50: Percentile,
    /// 90 % of all samples are at or below it (microseconds inside).
    pub p90: Percentile,
    /// 95 % of all samples are at or below it (microseconds inside).
    pub p95: Percentile,
    /// 99 % of all samples are at or below it (microseconds inside).
    pub p99: Percentile,
    /// 99.9 % of all samples are at or below it (microseconds inside).
    pub p99_9: Percentile,
    /// 99.99 % of all samples are at or below it (microseconds inside).
    pub p99_99: Percentile,
    /// 99.999 % of all samples are at or below it (microseconds inside).
    pub p99_999: Percentile,
}

impl Level {
    const fn new(name: &'static str, numerator: u64, denominator: u64) -> Self {
        Self { name, numerator, denominator }
    }

    /// The rank of this percentile among `count` samples, from 1; 0 of no samples.
    pub fn rank(self, count: u64) -> u64 {
        let (q, of) = (u128::from(self.numerator), u128::from(self.denominator));
        (u128::from(count) * q).div_ceil(of) as u64
    }

    /// The ranks of the 95 % interval among `count` samples: n q -+ 1.96 sqrt(n q (1 - q)), rounded
    /// outward, within 1 and `count`.
    ///
    /// The upper rank is one more, because a percentile with at most k samples below it lies below
    /// the sample of rank k + 1; without it the interval of a p50 of 21 samples covers 94.8 %.
    pub fn interval_ranks(self, count: u64) -> (u64, u64) {
        let (q, of, n) =
            (u128::from(self.numerator), u128::from(self.denominator), u128::from(count));
        // All in units of 1 / (100 * of) ranks, so that it is integer arithmetic; 196^2 n q (of -
        // q) stays below 2^98.
        let variance = n * q * (of - q);
        let half = (196 * 196 * variance).isqrt() + 1;
        let (centre, unit) = (100 * n * q, 100 * of);
        let low = centre.saturating_sub(half) / unit;
        let high = (centre + half).div_ceil(unit) + 1;
        (low.max(1).min(n) as u64, high.min(n) as u64)
    }

    /// This percentile of what `histogram` holds.
    pub fn of(self, histogram: &Histogram) -> Percentile {
        let count = histogram.count();
        let n_beyond = count - self.rank(count);
        if n_beyond < BEYOND_MIN {
            return Percentile { n_beyond, ..Percentile::default() };
        }
        let us_at = |rank| histogram.value_at_rank(rank).map(|latency| latency.as_us_f64());
        let (low, high) = self.interval_ranks(count);
        Percentile {
            us: us_at(self.rank(count)),
            n_beyond,
            low_us: us_at(low),
            high_us: us_at(high),
        }
    }
}

impl Percentiles {
    /// Every reported percentile of what `histogram` holds.
    pub fn of(histogram: &Histogram) -> Self {
        let [p50, p90, p95, p99, p99_9, p99_99, p99_999] = LEVELS.map(|level| level.of(histogram));
        Self { p50, p90, p95, p99, p99_9, p99_99, p99_999 }
    }

    /// The percentiles in the order of [`LEVELS`].
    pub fn all(&self) -> [Percentile; 7] {
        [self.p50, self.p90, self.p95, self.p99, self.p99_9, self.p99_99, self.p99_999]
    }

    /// The names of the levels that have too few samples beyond them.
    pub fn unsupported(&self) -> Vec<&'static str> {
        let levels = LEVELS.iter().zip(self.all());
        levels
            .filter(|(_, percentile)| percentile.us.is_none())
            .map(|(level, _)| level.name)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|ns| histogram.record(ns));
        histogram
    }

    /// The probabilities of 0 ..= n successes, by multiplication alone.
    fn binomial(n: u64, q: f64) -> Vec<f64> {
        let mut row = vec![1.0];
        for _ in 0..n {
            let mut next = vec![0.0; row.len() + 1];
            for (k, p) in row.iter().enumerate() {
                next[k] += p * (1.0 - q);
                next[k + 1] += p * q;
            }
            row = next;
        }
        row
    }

    #[test]
    fn the_median_of_a_thousand_is_the_five_hundredth() {
        let percentiles = Percentiles::of(&of(1..=1_000));
        assert_eq!(percentiles.p50.us, Some(0.5));
        assert_eq!(percentiles.p50.n_beyond, 500);
        assert_eq!(percentiles.p99.us, Some(0.99));
        assert_eq!(percentiles.p99.n_beyond, 10);
    }

    #[test]
    fn a_rank_is_exact_where_a_float_would_round_up() {
        let p99 = LEVELS[3];
        assert_eq!(p99.rank(100), 99);
        assert_eq!(p99.rank(101), 100);
        assert_eq!(LEVELS[6].rank(100_000), 99_999);
        assert_eq!(LEVELS[6].rank(100_001), 100_000);
        assert_eq!(LEVELS[6].rank(u64::MAX), 18_446_559_606_268_814_520);
        assert_eq!(p99.rank(0), 0);
    }

    #[test]
    fn ten_samples_beyond_are_enough_and_nine_are_not() {
        let enough = Percentiles::of(&of(1..=10_000));
        assert_eq!((enough.p99_9.n_beyond, enough.p99_9.us.is_some()), (10, true));
        let too_few = Percentiles::of(&of(1..=9_999));
        assert_eq!((too_few.p99_9.n_beyond, too_few.p99_9.us), (9, None));
        assert_eq!((too_few.p99_9.low_us, too_few.p99_9.high_us), (None, None));
        assert_eq!(too_few.unsupported(), ["p99.9", "p99.99", "p99.999"]);
    }

    #[test]
    fn a_constant_latency_is_every_percentile_and_both_ends_of_every_interval() {
        for percentile in Percentiles::of(&of(std::iter::repeat_n(142_575, 1_000_000))).all() {
            assert_eq!((percentile.us, percentile.low_us), (Some(142.575), Some(142.575)));
            assert_eq!(percentile.high_us, Some(142.575));
        }
    }

    #[test]
    fn nothing_recorded_has_no_percentile_at_all() {
        let percentiles = Percentiles::of(&Histogram::new());
        assert_eq!(percentiles.unsupported().len(), LEVELS.len());
        assert_eq!(percentiles.all().map(|p| p.n_beyond), [0; 7]);
    }

    /// P(low <= B < high) for B samples below the true percentile, summed over the binomial
    /// distribution.
    #[test]
    fn the_interval_covers_the_true_percentile_in_95_of_100_runs() {
        for (level, counts) in [(0, 20..200), (1, 100..300), (2, 200..400), (3, 1_000..1_010)] {
            let (level, q) = (LEVELS[level], [0.5, 0.9, 0.95, 0.99][level]);
            for count in counts {
                let (low, high) = level.interval_ranks(count);
                let covered: f64 = binomial(count, q)[low as usize..high as usize].iter().sum();
                assert!(
                    covered >= 0.95,
                    "{} of {count}: ranks {low}..{high} cover {covered}",
                    level.name
                );
                assert!(
                    covered < 0.995,
                    "{} of {count}: ranks {low}..{high} are too wide, {covered}",
                    level.name
                );
            }
        }
    }

    #[test]
    fn the_interval_of_a_p99_9_of_a_million_is_about_the_square_root_of_a_thousand() {
        let (low, high) = LEVELS[4].interval_ranks(1_000_000);
        assert_eq!((low, high), (998_938, 999_063));
    }

    proptest! {
        #[test]
        fn a_percentile_is_the_value_of_its_rank_among_the_sorted(
            mut values in prop::collection::vec(0u64..2_048, 20..2_000),
        ) {
            let histogram = of(values.iter().copied());
            values.sort_unstable();
            for level in LEVELS {
                let found = level.of(&histogram);
                let beyond = values.len() as u64 - level.rank(values.len() as u64);
                prop_assert_eq!(found.n_beyond, beyond);
                let exact = values[values.len() - 1 - beyond as usize] as f64 / 1e3;
                prop_assert_eq!(found.us, (beyond >= BEYOND_MIN).then_some(exact));
                let is_between = found.low_us <= found.us && found.us <= found.high_us;
                prop_assert!(found.us.is_none() || is_between);
            }
        }
    }
}
