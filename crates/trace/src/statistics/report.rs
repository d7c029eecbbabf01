//! The statistics of a trace, to print: every field names its unit.

use manx_base::latency::Histogram;
use serde::Serialize;

/// Demands of a trace on a drive. *Data requests* are reads and writes; flushes and trims are in no
/// number here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatisticsReport {
    /// Reads and writes.
    pub data_requests: u64,
    /// From the first data request to the last (nanoseconds).
    pub span_ns: u64,
    /// Data requests per second of the span; null without a span.
    pub mean_rate_per_s: Option<f64>,
    /// Sizes of the reads; null without any.
    pub read_sizes: Option<SizeReport>,
    /// Sizes of the writes; null without any.
    pub write_sizes: Option<SizeReport>,
    /// The most frequent sizes, reads and writes together.
    pub top_sizes: Vec<TopSize>,
    /// False where there were too many different sizes: some are rounded down by at most 0.1 %.
    pub sizes_are_exact: bool,
    /// When the requests come.
    pub arrivals: ArrivalReport,
    /// Where they go.
    pub locality: LocalityReport,
    /// The 4 KiB pages they touch.
    pub footprint: FootprintReport,
    /// How long until a 4 KiB page is written again; null where none is.
    pub write_intervals: Option<WriteIntervalReport>,
    /// Latencies of the reads where the trace was recorded; null where the format has none.
    pub read_latency: Option<LatencyReport>,
    /// Latencies of the writes, likewise.
    pub write_latency: Option<LatencyReport>,
    /// The devices with data requests, in the order in which they appear.
    pub devices: Vec<DeviceReport>,
}

/// Request sizes. A percentile is the smallest size with that share of the requests at or below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SizeReport {
    /// How many requests.
    pub requests: u64,
    /// 1 % of the requests are at or below it (bytes).
    pub p1_bytes: u64,
    /// The median (bytes).
    pub p50_bytes: u64,
    /// 90 % of the requests are at or below it (bytes).
    pub p90_bytes: u64,
    /// 99 % of the requests are at or below it (bytes).
    pub p99_bytes: u64,
    /// The largest (bytes).
    pub max_bytes: u64,
}

/// A frequent size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TopSize {
    /// The size (bytes).
    pub bytes: u64,
    /// How many requests have it.
    pub requests: u64,
    /// Their share of all data requests (percent).
    pub percent: f64,
}

/// When requests come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ArrivalReport {
    /// The median of the gaps between a request and the next (nanoseconds); null below two
    /// requests.
    pub median_gap_ns: Option<f64>,
    /// Their mean (nanoseconds).
    pub mean_gap_ns: Option<f64>,
    /// Their standard deviation over their mean: 1 for Poisson arrivals; null where all are 0.
    pub gap_cv: Option<f64>,
    /// Gaps of exactly 0 (percent).
    pub zero_gap_percent: f64,
    /// The most requests in one of the seconds since the first request; null where the trace ends
    /// in the first.
    pub peak_per_s: Option<u64>,
    /// That over the mean of all those seconds, the last one included, though it may be cut short.
    pub peak_to_mean: Option<f64>,
    /// Variance over mean of the requests in bins of 1 s, empty ones included: 1 for Poisson; null
    /// below 2 bins.
    pub idc_1s: Option<f64>,
    /// Variance over mean of the requests in bins of 10 ms, empty ones included; null below 2
    /// bins.
    pub idc_10ms: Option<f64>,
}

/// Where requests go.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LocalityReport {
    /// Requests that start where the one before on the same device ended (percent).
    pub sequential_percent: f64,
    /// Requests that do not start or do not end on a boundary of 4 KiB (percent).
    pub unaligned_percent: f64,
    /// From the lowest sector to the highest, of each device, summed (bytes).
    pub lba_span_bytes: u64,
}

/// Distinct pages of 4 KiB; a page that is touched in part counts whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FootprintReport {
    /// 1 where the numbers of distinct pages are exact; else they are estimates from 1 page in so
    /// many.
    pub sampled_one_in: u64,
    /// Distinct pages read or written.
    pub pages: u64,
    /// Distinct pages read.
    pub read_pages: u64,
    /// Distinct pages written.
    pub written_pages: u64,
    /// Pages read, each time counted.
    pub page_reads: u64,
    /// Pages written, each time counted.
    pub page_writes: u64,
    /// Page writes over distinct pages written; null without writes.
    pub writes_per_written_page: Option<f64>,
}

/// How long until a page is written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WriteIntervalReport {
    /// At the end 1 page in so many was followed; 1 is every page.
    pub sampled_one_in: u64,
    /// Pages followed at the end.
    pub pages_followed: u64,
    /// Intervals seen, each the time between two writes of a page that follow each other.
    pub intervals_seen: u64,
    /// Writes of more than 1 GiB, which are left out.
    pub left_out_writes: u64,
    /// Page writes (anywhere) between the two.
    pub page_writes_between: IntervalPercentiles,
    /// Time between the two (nanoseconds).
    pub time_ns: IntervalPercentiles,
}

/// A distribution of intervals; within 0.05 %. A percentile is the smallest with that share at or
/// below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct IntervalPercentiles {
    /// 1 % are at or below it.
    pub p1: u64,
    /// 10 % are at or below it.
    pub p10: u64,
    /// 25 % are at or below it.
    pub p25: u64,
    /// The median.
    pub p50: u64,
    /// 75 % are at or below it.
    pub p75: u64,
    /// 90 % are at or below it.
    pub p90: u64,
    /// 99 % are at or below it.
    pub p99: u64,
    /// The longest seen.
    pub max: u64,
}

/// Latencies as the trace recorded them: of the device that was traced, not of a simulated one.
/// Within 0.05 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LatencyReport {
    /// Requests with a latency.
    pub requests: u64,
    /// The mean (nanoseconds).
    pub mean_ns: u64,
    /// The median (nanoseconds).
    pub p50_ns: u64,
    /// 90 % are at or below it (nanoseconds).
    pub p90_ns: u64,
    /// 99 % are at or below it (nanoseconds).
    pub p99_ns: u64,
    /// 99.9 % are at or below it (nanoseconds).
    pub p99_9_ns: u64,
    /// The longest (nanoseconds).
    pub max_ns: u64,
}

/// One device of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceReport {
    /// Its name in the trace.
    pub name: String,
    /// Reads and writes.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Reads among both (percent).
    pub read_percent: f64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// The lowest sector (of 512 B).
    pub lowest_lba: u64,
    /// From the lowest sector to the highest (bytes).
    pub span_bytes: u64,
}

impl IntervalPercentiles {
    pub(super) fn of(histogram: &Histogram) -> Self {
        let [p1, p10, p25, p50, p75, p90, p99] =
            [10, 100, 250, 500, 750, 900, 990].map(|q| per_mille(histogram, q));
        Self { p1, p10, p25, p50, p75, p90, p99, max: per_mille(histogram, 1000) }
    }
}

impl LatencyReport {
    pub(super) fn of(histogram: &Histogram) -> Option<Self> {
        let mean_ns = histogram.mean()?.as_ns();
        let [p50_ns, p90_ns, p99_ns, p99_9_ns, max_ns] =
            [500, 900, 990, 999, 1000].map(|q| per_mille(histogram, q));
        Some(Self {
            requests: histogram.count(),
            mean_ns,
            p50_ns,
            p90_ns,
            p99_ns,
            p99_9_ns,
            max_ns,
        })
    }
}

/// The smallest value with at least so many thousandths of all at or below it; 0 of nothing.
fn per_mille(histogram: &Histogram, q: u64) -> u64 {
    let rank = (u128::from(histogram.count()) * u128::from(q)).div_ceil(1000) as u64;
    histogram.value_at_rank(rank.max(1)).map_or(0, |value| value.as_ns())
}
