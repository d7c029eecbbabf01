//! Latency over the time of a run, in at most 256 slices: whenever the run outgrows them, two
//! become one.
//!
//! A slice is as wide as a power of two nanoseconds, 2^20 (1.05 ms) or more, and counts the
//! requests that completed in it. Its percentile is that of a coarse histogram, eight buckets an
//! octave: within 6 % of every value between, and the maximum is exact.

use super::buckets::{bounds_of, index_of};
use crate::units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Slices at most.
const SLICES: usize = 256;
/// The first width: 2^20 ns.
const SHIFT: u32 = 20;
/// Buckets an octave.
const SUB_BITS: u32 = 3;
/// Up to 2^44 ns, which is 4.9 h; longer latencies are in the last bucket.
const BUCKETS: usize = (44 - SUB_BITS as usize) << SUB_BITS;

/// Latencies of reads and writes by the time of their completion.
#[derive(Clone, Debug)]
pub struct OverTime {
    /// A slice is 2^shift ns wide.
    shift: u32,
    kinds: [Vec<Slice>; 2],
}

#[derive(Clone, Debug)]
struct Slice {
    count: u64,
    sum: u64,
    max: u64,
    buckets: Box<[u32; BUCKETS]>,
}

/// Which requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

impl Default for OverTime {
    fn default() -> Self {
        Self { shift: SHIFT, kinds: [Vec::new(), Vec::new()] }
    }
}

impl Default for Slice {
    fn default() -> Self {
        Self { count: 0, sum: 0, max: 0, buckets: Box::new([0; BUCKETS]) }
    }
}

impl OverTime {
    /// Counts a request that completed at `at`, so long after the counted part began.
    #[inline]
    pub fn record(&mut self, kind: Kind, at: Duration, latency: Duration) {
        let slice = (at.as_ns() >> self.shift) as usize;
        match self.kinds[kind as usize].get_mut(slice) {
            Some(slice) => slice.record(latency.as_ns()),
            None => self.record_later(kind, at, latency),
        }
    }

    #[cold]
    fn record_later(&mut self, kind: Kind, at: Duration, latency: Duration) {
        while at.as_ns() >> self.shift >= SLICES as u64 {
            self.widen();
        }
        let slice = (at.as_ns() >> self.shift) as usize;
        let slices = &mut self.kinds[kind as usize];
        slices.resize_with(slice + 1, Slice::default);
        slices[slice].record(latency.as_ns());
    }

    /// Two slices become one.
    fn widen(&mut self) {
        self.shift += 1;
        for slices in &mut self.kinds {
            let halves = std::mem::take(slices);
            for (number, half) in halves.into_iter().enumerate() {
                match slices.get_mut(number / 2) {
                    Some(slice) => slice.merge(&half),
                    None => slices.push(half),
                }
            }
        }
    }

    /// The counted part begins so much earlier: slices keep their times, to the nearest slice.
    pub fn starts_earlier(&mut self, by: Duration) {
        if self.kinds.iter().all(Vec::is_empty) {
            return;
        }
        let slices = |of: &Self| {
            let before = (by.as_ns() >> (of.shift - 1)).div_ceil(2);
            (before, before + of.kinds.iter().map(Vec::len).max().unwrap_or(0) as u64)
        };
        while slices(self).1 > SLICES as u64 {
            self.widen();
        }
        let (before, _) = slices(self);
        for kind in self.kinds.iter_mut().filter(|kind| !kind.is_empty()) {
            kind.splice(0..0, (0..before).map(|_| Slice::default()));
        }
    }

    /// Adds what another drive saw in the same time.
    pub fn merge(&mut self, mut other: OverTime) {
        while self.shift < other.shift {
            self.widen();
        }
        while other.shift < self.shift {
            other.widen();
        }
        for (mine, theirs) in self.kinds.iter_mut().zip(other.kinds) {
            for (number, slice) in theirs.into_iter().enumerate() {
                match mine.get_mut(number) {
                    Some(own) => own.merge(&slice),
                    None => mine.push(slice),
                }
            }
        }
    }

    /// Its report in a result; `None` if nothing was counted.
    pub fn report(&self, since: Instant) -> Option<OverTimeReport> {
        let [read, write] = &self.kinds;
        (!read.is_empty() || !write.is_empty()).then(|| OverTimeReport {
            start_s: since.since(Instant::START).as_s_f64(),
            slice_s: Duration::from_ns(1 << self.shift).as_s_f64(),
            read: SliceTimes::of(read),
            write: SliceTimes::of(write),
        })
    }
}

#[inline]
fn bucket_of(ns: u64) -> usize {
    index_of::<SUB_BITS>(ns).min(BUCKETS - 1)
}

/// The middle of a bucket.
fn middle_of(bucket: usize) -> u64 {
    let (low, high) = bounds_of::<SUB_BITS>(bucket);
    low.midpoint(high)
}

impl Slice {
    #[inline]
    fn record(&mut self, ns: u64) {
        self.count += 1;
        self.sum += ns;
        self.max = self.max.max(ns);
        self.buckets[bucket_of(ns)] += 1;
    }

    fn merge(&mut self, other: &Slice) {
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        self.buckets
            .iter_mut()
            .zip(other.buckets.iter())
            .for_each(|(mine, theirs)| *mine += theirs);
    }

    /// The latency that one in a hundred reaches or exceeds.
    fn p99(&self) -> u64 {
        let mut beyond = 0;
        for (bucket, count) in self.buckets.iter().enumerate().rev() {
            beyond += u64::from(*count);
            if beyond * 100 >= self.count && beyond > 0 {
                return middle_of(bucket).min(self.max);
            }
        }
        0
    }
}

/// Latency over the time of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverTimeReport {
    /// When the first slice begins, in the time of the run (seconds).
    pub start_s: f64,
    /// How long each slice is (seconds).
    pub slice_s: f64,
    /// Reads.
    pub read: SliceTimes,
    /// Writes.
    pub write: SliceTimes,
}

/// One number a slice; times are null where nothing completed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SliceTimes {
    /// Requests that completed in it (requests).
    pub count: Vec<u64>,
    /// Their mean latency (microseconds).
    pub mean_us: Vec<Option<f64>>,
    /// The latency that one in a hundred of them reaches (microseconds, within 6 %).
    pub p99_us: Vec<Option<f64>>,
    /// Their longest latency (microseconds), exact.
    pub max_us: Vec<Option<f64>>,
}

impl SliceTimes {
    fn of(slices: &[Slice]) -> Self {
        let us =
            |slice: &Slice, ns: u64| (slice.count > 0).then(|| Duration::from_ns(ns).as_us_f64());
        Self {
            count: slices.iter().map(|slice| slice.count).collect(),
            mean_us: slices
                .iter()
                .map(|slice| us(slice, (slice.sum + slice.count / 2) / slice.count.max(1)))
                .collect(),
            p99_us: slices.iter().map(|slice| us(slice, slice.p99())).collect(),
            max_us: slices.iter().map(|slice| us(slice, slice.max)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_ms(ms)
    }

    #[test]
    fn every_request_is_in_the_slice_of_its_time_however_often_the_slices_were_widened() {
        let mut over = OverTime::default();
        // 1000 s in steps of 10 ms; each latency tells its time.
        (0..100_000u64)
            .for_each(|step| over.record(Kind::Read, ms(step * 10), Duration::from_us(step + 1)));
        let report = over.report(Instant::START).unwrap();
        // 2^32 ns, the smallest power of two of which 256 hold 1000 s.
        assert_eq!(report.slice_s, 4.294967296);
        assert_eq!(report.read.count.len(), 233);
        assert_eq!(report.read.count.iter().sum::<u64>(), 100_000);
        for (slice, max) in report.read.max_us.iter().enumerate() {
            let last = ((slice as u64 + 1) << 32).div_ceil(10_000_000).min(100_000);
            assert_eq!(*max, Some(last as f64), "slice {slice}");
        }
        assert_eq!(report.write, SliceTimes::default());
    }

    #[test]
    fn slices_keep_their_times_where_the_counted_part_begins_earlier() -> Result<(), &'static str> {
        let (mut late, mut early) = (OverTime::default(), OverTime::default());
        late.record(Kind::Read, ms(1), Duration::from_us(7));
        early.record(Kind::Read, ms(1), Duration::from_us(5));
        // The late one began 3 s after the other: 256 slices of 2^24 ns hold that.
        late.starts_earlier(ms(3_000));
        early.merge(late);
        let report = early.report(Instant::START).ok_or("two requests")?;
        assert_eq!(report.slice_s, f64::from(1 << 24) / 1e9);
        let counts: Vec<(usize, u64)> =
            report.read.count.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counts, [(0, 1), (179, 1)], "178.8 slices are rounded");
        let mut nothing = OverTime::default();
        nothing.starts_earlier(ms(3_000));
        assert!(nothing.report(Instant::START).is_none());
        Ok(())
    }

    #[test]
    fn a_percentile_is_within_a_bucket_of_the_truth() {
        let mut over = OverTime::default();
        (1..=10_000u64).for_each(|us| over.record(Kind::Write, ms(0), Duration::from_us(us)));
        let report = over.report(Instant::START).unwrap().write;
        assert_eq!(
            (report.count[0], report.mean_us[0], report.max_us[0]),
            (10_000, Some(5000.5), Some(10_000.0))
        );
        let p99 = report.p99_us[0].unwrap();
        assert!((p99 / 9900.0 - 1.0).abs() < 0.0626, "{p99}");
    }

    #[test]
    fn drives_of_different_spans_merge_slice_by_slice() {
        let (mut one, mut two) = (OverTime::default(), OverTime::default());
        (0..1000).for_each(|at| one.record(Kind::Read, ms(at), ms(1)));
        (0..100).for_each(|at| two.record(Kind::Read, ms(at), ms(3)));
        let expected = 1100;
        two.merge(one);
        let report = two.report(Instant::START).unwrap();
        assert_eq!(report.slice_s, 0.004194304);
        assert_eq!(report.read.count.iter().sum::<u64>(), expected);
        // 0 to 4 ms: five of each.
        assert_eq!((report.read.count[0], report.read.mean_us[0]), (10, Some(2000.0)));
        assert!(OverTime::default().report(Instant::START).is_none());
    }
}
