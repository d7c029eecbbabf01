//! When requests come: the gaps between them, and how many come in each second and in each 10 ms.
//!
//! The index of dispersion for counts (IDC) is the variance of the counts in bins of one width over
//! their mean: 1 for Poisson arrivals at any width, growing with the width where arrivals are
//! bursty over long times (Gusella, 1991). Bins start at the first request, and the last one is
//! that of the last request; empty ones count. The variance is that of the population.

use super::percent;
use super::report::ArrivalReport;
use manx_base::latency::Histogram;

const SECOND: u64 = 1_000_000_000;
const TEN_MS: u64 = 10_000_000;

/// The arrivals of a trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    first: Option<u64>,
    /// Since the first.
    last: u64,
    count: u64,
    gaps: Histogram,
    no_gap: u64,
    /// The sum of the squares of all gaps: at most the square of their sum, which fits 64 bits.
    squares: u128,
    seconds: Bins<SECOND>,
    ten_ms: Bins<TEN_MS>,
}

impl Arrivals {
    /// A request at `at`; returns its time since the first.
    #[inline]
    pub(super) fn record(&mut self, at: u64) -> u64 {
        let first = *self.first.get_or_insert(at);
        let at = (at - first).max(self.last);
        if self.count > 0 {
            let gap = at - self.last;
            self.gaps.record(gap);
            self.no_gap += u64::from(gap == 0);
            self.squares += u128::from(gap) * u128::from(gap);
        }
        self.count += 1;
        self.last = at;
        self.seconds.record(at);
        self.ten_ms.record(at);
        at
    }

    pub(super) fn span(&self) -> u64 {
        self.last
    }

    /// Requests per second over the span.
    pub(super) fn mean_rate(&self) -> Option<f64> {
        (self.last > 0).then(|| self.count as f64 * 1e9 / self.last as f64)
    }

    pub(super) fn report(&self) -> ArrivalReport {
        let gaps = self.gaps.count();
        ArrivalReport {
            median_gap_ns: self.median_gap(),
            mean_gap_ns: (gaps > 0).then(|| self.last as f64 / gaps as f64),
            gap_cv: self.variation(),
            zero_gap_percent: percent(self.no_gap, gaps),
            peak_per_s: self.seconds.are_many().then(|| self.seconds.peak()),
            peak_to_mean: self.seconds.peak_to_mean(),
            idc_1s: self.seconds.dispersion(),
            idc_10ms: self.ten_ms.dispersion(),
        }
    }

    /// The middle gap; of an even number, the middle between the two in the middle.
    fn median_gap(&self) -> Option<f64> {
        let gaps = self.gaps.count();
        let low = self.gaps.value_at_rank(gaps.div_ceil(2))?.as_ns();
        let high = self.gaps.value_at_rank(gaps / 2 + 1)?.as_ns();
        Some((low as f64 + high as f64) / 2.0)
    }

    /// Standard deviation over mean of the gaps: sqrt(n sum(x^2) / sum(x)^2 - 1).
    fn variation(&self) -> Option<f64> {
        let (gaps, sum) = (u128::from(self.gaps.count()), u128::from(self.last));
        if sum == 0 {
            return None;
        }
        let squared = match gaps.checked_mul(self.squares) {
            Some(product) => (product - sum * sum) as f64 / (sum * sum) as f64,
            None => (gaps as f64 * self.squares as f64 / (sum * sum) as f64 - 1.0).max(0.0),
        };
        Some(squared.sqrt())
    }
}

/// Requests counted in bins of `WIDTH` nanoseconds; only sums are kept.
#[derive(Clone, Debug, Default)]
struct Bins<const WIDTH: u64> {
    /// The bin that is being filled.
    bin: u64,
    in_bin: u64,
    count: u64,
    /// Of the bins before.
    peak: u64,
    squares: u128,
}

impl<const WIDTH: u64> Bins<WIDTH> {
    #[inline]
    fn record(&mut self, at: u64) {
        let bin = at / WIDTH;
        if bin != self.bin {
            self.squares = self.all_squares();
            self.peak = self.peak();
            (self.bin, self.in_bin) = (bin, 0);
        }
        self.in_bin += 1;
        self.count += 1;
    }

    fn peak(&self) -> u64 {
        self.peak.max(self.in_bin)
    }

    fn all_squares(&self) -> u128 {
        self.squares + u128::from(self.in_bin) * u128::from(self.in_bin)
    }

    fn bins(&self) -> u64 {
        self.bin + 1
    }

    /// A single bin says nothing of how counts vary.
    fn are_many(&self) -> bool {
        self.bin > 0
    }

    fn peak_to_mean(&self) -> Option<f64> {
        self.are_many().then(|| self.peak() as f64 * self.bins() as f64 / self.count as f64)
    }

    /// (sum(x^2) / b - (n / b)^2) / (n / b), for b bins with n requests, is (b sum(x^2) - n^2) / (n
    /// b).
    fn dispersion(&self) -> Option<f64> {
        let (bins, count) = (u128::from(self.bins()), u128::from(self.count));
        // Below 2^43 bins of 10 ms and 2^40 requests of a trace that anybody can hold, this stays
        // below 2^123.
        let above = bins.checked_mul(self.all_squares())?.checked_sub(count * count)?;
        self.are_many().then(|| above as f64 / (count * bins) as f64)
    }
}
