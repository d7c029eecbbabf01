//! A recorder of latencies: integer nanoseconds, log-linear buckets, two to three nanoseconds a
//! record.
//!
//! Below 2 x [`SUB`] ns every value has its own bucket; above, each octave is cut into [`SUB`]
//! equal ones. A bucket remembers the smallest and the largest value that it holds: where they are
//! one, it is exact (a simulated drive repeats its latencies to the nanosecond), elsewhere their
//! middle is within 1 / (2 x [`SUB`]) = 0.049 % of every value between. Count, extremes, sum and
//! sum of squares are exact. Two histograms merge exactly, in any order: parallel sweeps give the
//! same bytes as serial ones.
//!
//! It does not know how values lie between the extremes of a bucket. It is our own because the
//! HdrHistogram crate is not exact where a latency repeats, and no faster
//! (reference/engine-performance.md, section 5).

use super::buckets::index_of;
use crate::units::Duration;

/// Buckets per octave.
pub const SUB: u64 = 1 << SUB_BITS;
const SUB_BITS: u32 = 10;

/// Latencies, counted in log-linear buckets that are allocated as far as the largest one needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    buckets: Vec<Bucket>,
    count: u64,
    sum: u128,
    sum_of_squares: u128,
}

/// One bucket: how many values it holds and between which they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// How many values it holds.
    pub count: u64,
    /// The smallest of them, in nanoseconds.
    pub min: u64,
    /// The largest of them, in nanoseconds.
    pub max: u64,
}

impl Bucket {
    const EMPTY: Bucket = Bucket { count: 0, min: u64::MAX, max: 0 };

    #[inline]
    fn add(&mut self, other: Bucket) {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

impl Histogram {
    /// A histogram of nothing.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one latency of `ns` nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.record_many(ns, 1);
    }

    /// Counts `count` latencies of `ns` nanoseconds each: one of a sample may stand for many.
    #[inline]
    pub fn record_many(&mut self, ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        let (index, one) = (index_of::<SUB_BITS>(ns), Bucket { count, min: ns, max: ns });
        match self.buckets.get_mut(index) {
            Some(bucket) => bucket.add(one),
            None => self.add_beyond_buckets(index, one),
        }
        self.count += count;
        // 2^64 values of 2^64 ns fit the sum. The squares could outgrow 128 bits only after 2^24
        // latencies of 52 days.
        self.sum += u128::from(ns) * u128::from(count);
        let squares = (u128::from(ns) * u128::from(ns)).saturating_mul(u128::from(count));
        self.sum_of_squares = self.sum_of_squares.saturating_add(squares);
    }

    /// Grows to the end of the octave, so that the length depends on the largest value alone and
    /// equal contents are equal.
    #[cold]
    fn add_beyond_buckets(&mut self, index: usize, one: Bucket) {
        self.buckets.resize((index | (SUB as usize - 1)) + 1, Bucket::EMPTY);
        self.buckets[index].add(one);
    }

    /// Adds everything that `other` holds, as if it had been recorded here.
    pub fn merge(&mut self, other: &Histogram) {
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), Bucket::EMPTY);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            mine.add(*theirs);
        }
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
    }

    /// How many latencies were recorded.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The smallest latency, exactly.
    pub fn min(&self) -> Option<Duration> {
        self.buckets().next().map(|bucket| Duration::from_ns(bucket.min))
    }

    /// The largest latency, exactly.
    pub fn max(&self) -> Option<Duration> {
        self.buckets().next_back().map(|bucket| Duration::from_ns(bucket.max))
    }

    /// The sum of all latencies in nanoseconds, exactly.
    #[inline]
    pub fn sum_ns(&self) -> u128 {
        self.sum
    }

    /// The sum of the squares of all latencies (ns^2), exactly where it fits.
    pub fn sum_of_squares(&self) -> u128 {
        self.sum_of_squares
    }

    /// The histogram of which these are the buckets and the sums; `None` where they are none of
    /// one histogram.
    pub fn restored(
        buckets: impl Iterator<Item = Bucket>,
        sum: u128,
        sum_of_squares: u128,
    ) -> Option<Self> {
        let mut histogram = Self { sum, sum_of_squares, ..Self::default() };
        let (mut last, mut least, mut most) = (None, 0u128, 0u128);
        for bucket in buckets {
            let Bucket { count, min, max } = bucket;
            let index = index_of::<SUB_BITS>(min);
            let is_one = count > 0 && min <= max && index_of::<SUB_BITS>(max) == index;
            if !is_one || (count == 1 && min != max) || last.is_some_and(|last| last >= index) {
                return None;
            }
            last = Some(index);
            histogram.add_beyond_buckets(index, bucket);
            histogram.count = histogram.count.checked_add(count)?;
            least = least.checked_add(u128::from(min) * u128::from(count))?;
            most = most.checked_add(u128::from(max) * u128::from(count))?;
        }
        (least..=most).contains(&sum).then_some(histogram)
    }

    /// The mean, rounded to the nearest nanosecond.
    pub fn mean(&self) -> Option<Duration> {
        let count = u128::from(self.count);
        (count > 0).then(|| Duration::from_ns(((self.sum + count / 2) / count) as u64))
    }

    /// The standard deviation of the population, rounded to the nearest nanosecond.
    ///
    /// The squares are taken about the integer part m of the mean: sum (x - m)^2 = sum x^2 - m (sum
    /// x + r), where r is the remainder of sum x / n. That is exact and cannot overflow where n *
    /// sum x^2 could. What is left is one division and one square root, both of which IEEE 754
    /// rounds alike on every machine.
    pub fn stddev(&self) -> Option<Duration> {
        if self.count == 0 {
            return None;
        }
        let count = u128::from(self.count);
        let (whole, rest) = (self.sum / count, self.sum % count);
        let about_whole = self.sum_of_squares.saturating_sub(whole.saturating_mul(self.sum + rest));
        let about_mean = about_whole.saturating_sub(rest * rest / count);
        let ns = (about_mean as f64 / count as f64).sqrt();
        Some(Duration::from_ns((ns + 0.5) as u64))
    }

    /// The value at `rank` (1 is the smallest, [`count`](Self::count) the largest): exact if it is
    /// the first or the last of its bucket or the bucket holds one value only, else the middle of
    /// the bucket's extremes.
    pub fn value_at_rank(&self, rank: u64) -> Option<Duration> {
        if rank == 0 {
            return None;
        }
        let mut to_go = rank;
        for bucket in self.buckets() {
            if to_go <= bucket.count {
                return Some(Duration::from_ns(match to_go {
                    1 => bucket.min,
                    last if last == bucket.count => bucket.max,
                    _ => bucket.min.midpoint(bucket.max),
                }));
            }
            to_go -= bucket.count;
        }
        None
    }

    /// The buckets that hold something, from the shortest latency to the longest.
    #[inline]
    pub fn buckets(&self) -> impl DoubleEndedIterator<Item = &Bucket> + '_ {
        self.buckets.iter().filter(|bucket| bucket.count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|ns| histogram.record(*ns));
        histogram
    }

    /// Values over every octave (a random number of significant bits) and, so that buckets hold
    /// several, close ones.
    fn latencies() -> impl Strategy<Value = Vec<u64>> {
        let spread = (any::<u64>(), 0u32..64).prop_map(|(bits, shift)| bits >> shift);
        prop::collection::vec(prop_oneof![spread, 1_048_576u64..1_054_000], 1..300)
    }

    #[test]
    fn a_histogram_comes_back_from_its_buckets_and_from_no_others() {
        let histogram = of(&[0, 7, 7, 142_575, 48_892_575, 48_892_999, u64::MAX]);
        let (sum, squares) = (histogram.sum_ns(), histogram.sum_of_squares());
        let buckets = || histogram.buckets().copied();
        assert_eq!(Histogram::restored(buckets(), sum, squares), Some(histogram.clone()));
        assert_eq!(Histogram::restored(buckets().rev(), sum, squares), None);
        assert_eq!(Histogram::restored(buckets(), sum * 2, squares), None);
        let wide = Bucket { count: 2, min: 1, max: 1 << 40 };
        assert_eq!(Histogram::restored([wide].into_iter(), 2, 2), None);
        assert_eq!(Histogram::restored([].into_iter(), 0, 0), Some(of(&[])));
    }

    #[test]
    fn a_constant_latency_is_reported_exactly_at_every_rank() {
        let histogram = of(&[142_575; 5_000]);
        for rank in [1, 2, 2_500, 4_999, 5_000] {
            assert_eq!(histogram.value_at_rank(rank), Some(Duration::from_ns(142_575)));
        }
        assert_eq!(histogram.mean(), Some(Duration::from_ns(142_575)));
        assert_eq!(histogram.stddev(), Some(Duration::ZERO));
    }

    #[test]
    fn latencies_that_repeat_to_the_nanosecond_are_exact_beside_others() {
        let histogram = of(&[20_000, 20_000, 20_000, 142_575, 142_575, 142_575, 48_892_575]);
        let found: Vec<u64> =
            (1..=7).map(|rank| histogram.value_at_rank(rank).unwrap().as_ns()).collect();
        assert_eq!(found, [20_000, 20_000, 20_000, 142_575, 142_575, 142_575, 48_892_575]);
    }

    #[test]
    fn nothing_recorded_has_no_value_and_no_mean() {
        let empty = Histogram::new();
        assert_eq!(
            (empty.min(), empty.max(), empty.mean(), empty.stddev()),
            (None, None, None, None)
        );
        assert_eq!(empty.value_at_rank(1), None);
        assert_eq!(of(&[7]).value_at_rank(0), None);
        assert_eq!(of(&[7]).value_at_rank(2), None);
    }

    #[test]
    fn the_deviation_of_a_textbook_example_is_two() {
        let histogram = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!(histogram.stddev(), Some(Duration::from_ns(2)));
        let far_out = of(&[2, 4, 4, 4, 5, 5, 7, 9].map(|ns| ns * 1_000 + 3_600_000_000_000));
        assert_eq!(far_out.stddev(), Some(Duration::from_us(2)));
    }

    #[test]
    fn the_longest_times_that_exist_do_not_panic() {
        let histogram = of(&[u64::MAX, u64::MAX, u64::MAX]);
        assert_eq!(histogram.max(), Some(Duration::MAX));
        assert_eq!(histogram.mean(), Some(Duration::MAX));
        assert_eq!(histogram.value_at_rank(2), Some(Duration::MAX));
        assert!(histogram.stddev().is_some());
    }

    #[test]
    fn memory_grows_with_the_largest_value_only() {
        assert_eq!(of(&[]).buckets.len(), 0);
        assert_eq!(of(&[5]).buckets.len(), 1_024);
        assert_eq!(of(&[100_000_000]).buckets.len(), 18 * 1_024);
    }

    proptest! {
        #[test]
        fn every_rank_is_within_the_bound_of_the_sorted_values(mut values in latencies()) {
            let histogram = of(&values);
            values.sort_unstable();
            for (place, exact) in values.iter().enumerate() {
                let found = histogram.value_at_rank(place as u64 + 1).unwrap().as_ns();
                prop_assert!(found.abs_diff(*exact) <= exact / (2 * SUB), "{found} for {exact}");
            }
            prop_assert_eq!(histogram.min().unwrap().as_ns(), values[0]);
            prop_assert_eq!(histogram.max().unwrap().as_ns(), values[values.len() - 1]);
        }

        #[test]
        fn merging_equals_recording_everything_in_one(a in latencies(), b in latencies()) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let together = of(&[a.clone(), b.clone()].concat());
            prop_assert_eq!(&merged, &together);
            let mut other_way = of(&b);
            other_way.merge(&of(&a));
            prop_assert_eq!(&other_way, &together);
        }

        #[test]
        fn recording_many_at_once_equals_recording_each(values in latencies(), count in 0u64..5) {
            let (mut many, mut each) = (Histogram::new(), Histogram::new());
            for ns in values {
                many.record_many(ns, count);
                (0..count).for_each(|_| each.record(ns));
            }
            prop_assert_eq!(many, each);
        }

        #[test]
        fn mean_and_deviation_are_those_of_the_values(
            values in prop::collection::vec(0u64..1_000_000_000, 1..300),
        ) {
            let n = values.len() as f64;
            let mean = values.iter().map(|v| *v as f64).sum::<f64>() / n;
            let squares = values.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>();
            let deviation = (squares / n).sqrt();
            let histogram = of(&values);
            prop_assert!((histogram.mean().unwrap().as_ns() as f64 - mean).abs() <= 0.501);
            prop_assert!((histogram.stddev().unwrap().as_ns() as f64 - deviation).abs() <= 1.0);
        }
    }
}
