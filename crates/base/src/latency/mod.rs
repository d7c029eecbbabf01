//! Latencies: counted, ordered, summarised.
//!
//! [`Histogram`] takes each latency, [`OpStats`] one kind of request, [`Percentiles`] say how far
//! they can be trusted, [`Curve`] is the tail as a line. Nothing here knows who measured.

pub mod buckets;
mod curve;
mod histogram;
mod op_stats;
mod percentile;

pub use curve::Curve;
pub use histogram::{Bucket, Histogram, SUB};
pub use op_stats::{CountSummary, LatencySummary, OpStats};
pub use percentile::{BEYOND_MIN, LEVELS, Level, Percentile, Percentiles};
