//! Histograms of latencies that merge exactly, in any order.

use crate::arrow::{Batch, Column, Field, PyTable, Table};
use crate::error::Trouble;
use manx_core::stats::{Bucket, Histogram, Percentiles};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Arc, Mutex, PoisonError};

/// Latencies, counted in log-linear buckets: exact count, sum and extremes; every percentile within
/// 0.049 %. Two of them merge exactly: the merged one is the one of all requests together.
#[pyclass(frozen, name = "Histogram", module = "manx._manx")]
pub struct PyHistogram(Mutex<Histogram>);

impl PyHistogram {
    /// Of a histogram.
    pub fn of(histogram: Histogram) -> Self {
        Self(Mutex::new(histogram))
    }

    /// A copy of what it holds.
    fn held(&self) -> Histogram {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[pymethods]
impl PyHistogram {
    /// Of these latencies in nanoseconds; without any, an empty one.
    #[new]
    #[pyo3(signature = (ns=None))]
    fn new(ns: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let mut histogram = Histogram::new();
        let wrong = |why: String| {
            Trouble::Wrong(format!("ns: a list of whole nanoseconds is needed: {why}"))
        };
        let numbers = ns.map_or(Ok(Vec::new()), |ns| ns.extract::<Vec<u64>>());
        let numbers = numbers.map_err(|error| wrong(error.to_string()))?;
        numbers.into_iter().for_each(|ns| histogram.record(ns));
        Ok(Self::of(histogram))
    }

    /// Adds everything that `other` holds, as if it had been recorded here.
    fn merge(&self, other: &Self) {
        let other = other.held();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).merge(&other);
    }

    /// How many latencies were recorded.
    #[getter]
    fn count(&self) -> u64 {
        self.held().count()
    }

    /// The shortest latency (us), exactly; None of nothing.
    #[getter]
    fn min_us(&self) -> Option<f64> {
        self.held().min().map(|latency| latency.as_us_f64())
    }

    /// The longest latency (us), exactly; None of nothing.
    #[getter]
    fn max_us(&self) -> Option<f64> {
        self.held().max().map(|latency| latency.as_us_f64())
    }

    /// The mean (us); None of nothing.
    #[getter]
    fn mean_us(&self) -> Option<f64> {
        self.held().mean().map(|latency| latency.as_us_f64())
    }

    /// The latency (us) below which `percent` of the requests lie, from above 0 to 100; None of
    /// nothing. Unlike a result's percentiles it is told however few samples lie beyond.
    fn percentile(&self, percent: f64) -> PyResult<Option<f64>> {
        if !(percent > 0.0 && percent <= 100.0) {
            return Err(Trouble::Wrong(format!(
                "percent = {percent} is not allowed: above 0, and 100 at most"
            ))
            .into());
        }
        let histogram = self.held();
        let rank = (histogram.count() as f64 * percent / 100.0).ceil() as u64;
        Ok(histogram.value_at_rank(rank.max(1)).map(|latency| latency.as_us_f64()))
    }

    /// The reported percentiles with their confidence intervals, as JSON.
    fn percentiles_json(&self) -> String {
        serde_json::to_string(&Percentiles::of(&self.held())).unwrap_or_default()
    }

    /// The number of requests that took longer than `us` microseconds.
    fn beyond(&self, us: f64) -> PyResult<u64> {
        if us.is_nan() {
            return Err(Trouble::Wrong("us = NaN is not allowed: microseconds".to_string()).into());
        }
        let ns = (us * 1000.0).max(0.0) as u64;
        let held = self.held();
        Ok(held.buckets().filter(|bucket| bucket.min > ns).map(|bucket| bucket.count).sum())
    }

    /// Its buckets as a table: `count`, `min_ns`, `max_ns`.
    fn buckets(&self) -> PyTable {
        let histogram = self.held();
        let column = |of: fn(&Bucket) -> u64| {
            Column::I64(histogram.buckets().map(|bucket| of(bucket) as i64).collect())
        };
        let columns = vec![
            column(|bucket| bucket.count),
            column(|bucket| bucket.min),
            column(|bucket| bucket.max),
        ];
        let rows = histogram.buckets().count();
        let empty = || Column::I64(Vec::new());
        let fields = ["count", "min_ns", "max_ns"].map(Field::new).to_vec();
        let none = Batch { columns: vec![empty(), empty(), empty()], rows: 0 };
        PyTable(Arc::new(Table::new(fields, none, vec![Batch { columns, rows }])))
    }

    /// The histogram as bytes, the same for the same content.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let histogram = self.held();
        let mut bytes = MAGIC.to_vec();
        bytes.extend(histogram.sum_ns().to_le_bytes());
        bytes.extend(histogram.sum_of_squares().to_le_bytes());
        for bucket in histogram.buckets() {
            for number in [bucket.count, bucket.min, bucket.max] {
                bytes.extend(number.to_le_bytes());
            }
        }
        PyBytes::new(py, &bytes)
    }

    /// The histogram that `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let histogram = restored(bytes).ok_or_else(|| {
            Trouble::Wrong("these bytes are no histogram of Histogram.to_bytes".to_string())
        })?;
        Ok(Self::of(histogram))
    }

    fn __eq__(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.held() == other.held()
    }

    fn __len__(&self) -> usize {
        self.held().count() as usize
    }

    fn __repr__(&self) -> String {
        let histogram = self.held();
        let max = histogram.max().map_or("-".to_string(), |max| max.to_string());
        format!("<manx.Histogram: {} latencies up to {max}>", histogram.count())
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let class = py.get_type::<Self>();
        Ok((class.getattr("from_bytes")?, (self.to_bytes(py),)))
    }
}

const MAGIC: &[u8; 8] = b"manxhst1";

fn restored(bytes: &[u8]) -> Option<Histogram> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (sum, rest) = rest.split_first_chunk::<16>()?;
    let (squares, rest) = rest.split_first_chunk::<16>()?;
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or_default();
    let chunks = rest.chunks_exact(24);
    let whole = chunks.remainder().is_empty();
    let buckets = chunks.map(|chunk| Bucket {
        count: number(&chunk[..8]),
        min: number(&chunk[8..16]),
        max: number(&chunk[16..]),
    });
    let sums = (u128::from_le_bytes(*sum), u128::from_le_bytes(*squares));
    Histogram::restored(buckets, sums.0, sums.1).filter(|_| whole)
}
