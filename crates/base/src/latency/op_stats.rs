//! The latencies of one kind of request, and what a result says of them.

use super::{Curve, Histogram, Percentiles};
use crate::ratio;
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything measured of one kind of request (reads, say); the driver fills it at each completion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpStats {
    /// The latencies.
    pub histogram: Histogram,
    /// Bytes moved.
    pub bytes: u64,
}

/// Latencies of reads or of writes in a result. Times are null when there was no such request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    /// Completed requests (requests).
    pub count: u64,
    /// Bytes moved (bytes).
    pub bytes: u64,
    /// Completed requests per second of virtual time (1/s), with three decimals.
    pub iops: f64,
    /// Mean latency (microseconds, to the nearest nanosecond).
    pub mean_us: Option<f64>,
    /// Standard deviation of the latency (microseconds, to the nearest nanosecond).
    pub stddev_us: Option<f64>,
    /// Median latency (microseconds); null when fewer than 10 samples lie beyond it.
    pub p50_us: Option<f64>,
    /// 90th percentile of the latency (microseconds); null when fewer than 10 samples lie beyond
    /// it.
    pub p90_us: Option<f64>,
    /// 95th percentile of the latency (microseconds); null when fewer than 10 samples lie beyond
    /// it.
    pub p95_us: Option<f64>,
    /// 99th percentile of the latency (microseconds); null when fewer than 10 samples lie beyond
    /// it.
    pub p99_us: Option<f64>,
    /// 99.9th percentile of the latency (microseconds); null when fewer than 10 samples lie beyond
    /// it.
    pub p99_9_us: Option<f64>,
    /// 99.99th percentile of the latency (microseconds); null when fewer than 10 samples lie beyond
    /// it.
    pub p99_99_us: Option<f64>,
    /// 99.999th percentile of the latency (microseconds); null when fewer than 10 samples lie
    /// beyond it.
    pub p99_999_us: Option<f64>,
    /// Longest latency (microseconds), exact.
    pub max_us: Option<f64>,
    /// Percentiles with the samples beyond each and its 95 % confidence interval (microseconds).
    pub percentiles: Percentiles,
    /// The whole distribution as a line.
    #[serde(default)]
    pub curve: Curve,
}

/// Counts of rare requests in a result: trims and flushes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CountSummary {
    /// Completed requests (requests).
    pub count: u64,
    /// Mean latency (microseconds, to the nearest nanosecond); null when there was none.
    pub mean_us: Option<f64>,
}

impl OpStats {
    /// Counts one completed request: how long it took and how many bytes it moved.
    #[inline]
    pub fn record(&mut self, latency: Duration, bytes: u64) {
        self.histogram.record(latency.as_ns());
        self.bytes += bytes;
    }

    /// Adds everything that `other` measured.
    pub fn merge(&mut self, other: &OpStats) {
        self.histogram.merge(&other.histogram);
        self.bytes += other.bytes;
    }

    /// How many requests were counted.
    #[inline]
    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// The summary over `virtual_span`, the virtual time in which these requests completed.
    pub fn summary(&self, virtual_span: Duration) -> LatencySummary {
        let percentiles = Percentiles::of(&self.histogram);
        let [p50_us, p90_us, p95_us, p99_us, p99_9_us, p99_99_us, p99_999_us] =
            percentiles.all().map(|p| p.us);
        LatencySummary {
            count: self.count(),
            bytes: self.bytes,
            iops: ratio::per_second(self.count(), virtual_span.as_ns()),
            mean_us: self.histogram.mean().map(Duration::as_us_f64),
            stddev_us: self.histogram.stddev().map(Duration::as_us_f64),
            p50_us,
            p90_us,
            p95_us,
            p99_us,
            p99_9_us,
            p99_99_us,
            p99_999_us,
            max_us: self.histogram.max().map(Duration::as_us_f64),
            percentiles,
            curve: Curve::of(&self.histogram),
        }
    }

    /// Count and mean alone.
    pub fn count_summary(&self) -> CountSummary {
        CountSummary {
            count: self.count(),
            mean_us: self.histogram.mean().map(Duration::as_us_f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_of_a_constant_latency_says_it_everywhere() {
        let mut reads = OpStats::default();
        (0..1_000_000).for_each(|_| reads.record(Duration::from_ns(142_575), 4_096));
        let summary = reads.summary(Duration::from_ms(500));
        assert_eq!((summary.count, summary.bytes, summary.iops), (1_000_000, 4_096_000_000, 2e6));
        let times =
            [summary.mean_us, summary.p50_us, summary.p99_9_us, summary.p99_999_us, summary.max_us];
        assert_eq!(times, [Some(142.575); 5]);
        assert_eq!(summary.stddev_us, Some(0.0));
    }

    #[test]
    fn a_summary_of_nothing_has_counts_of_zero_and_no_times() {
        let summary = OpStats::default().summary(Duration::ZERO);
        assert_eq!(summary, LatencySummary::default());
        assert_eq!(OpStats::default().count_summary(), CountSummary::default());
    }

    #[test]
    fn merged_jobs_count_all_requests_and_bytes() {
        let (mut one, mut other) = (OpStats::default(), OpStats::default());
        one.record(Duration::from_us(10), 512);
        other.record(Duration::from_us(30), 4_096);
        one.merge(&other);
        assert_eq!((one.count(), one.bytes), (2, 4_608));
        assert_eq!(one.count_summary().mean_us, Some(20.0));
    }
}
