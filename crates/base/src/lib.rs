//! The ground floor: what the model (`manx-core`) and the trace readers (`manx-trace`) both stand
//! on.
//!
//! * [`units`]: times, sizes, rates and addresses and kinds of requests as types.
//! * [`Request`], [`RequestSource`]: a workload's requests, generated or read from a trace.
//! * [`latency`]: histograms, percentiles and summaries of latencies.
//! * [`ratio`]: ratios as short decimals.
//!
//! `manx-core` re-exports it as `units`, `stats` and `host`. Functions on the path of a simulated
//! request are marked `#[inline]`: a release build inlines across crates only those.

pub mod latency;
pub mod ratio;
mod request;
pub mod units;

pub use request::{Request, RequestSource, draw_each};
