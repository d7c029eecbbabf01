//! The Aerospike Certification Tool (ACT): its load, what it records, how a device passes.
//!
//! ACT models a database on a raw device: many small reads, and for each stream of writes and its
//! defragmentation a thread of large reads and one of large writes. This is `act_storage` 6.6
//! (aerospike/act at 1e6150090572, `src/storage/`, `src/common/histogram.c`,
//! `analysis/act_latency.py`), with one device.
//!
//! Reading order: [`spec`](ActSpec) (the settings, and the jobs that they become),
//! [`recorder`](ActRecorder) (its histograms, fed by the driver), `log` (its output, which its own
//! script reads), `judge` (pass or fail).
//!
//! The traps: 131072 / 1536 is the whole number 85 here, as in the tool's code and unlike its
//! manual, so 23.529 large blocks a second at 1x; all threads start together and fire in lock step;
//! a latency counts from the issue, not from the schedule; and a bucket named "over 1 ms" holds
//! what took exactly 1 ms.
//!
//! Not modelled: several devices, the tomb raider, compressible content, the index test
//! (`act_index`).

mod judge;
mod log;
mod recorder;
mod spec;
#[cfg(test)]
mod tests;

pub use recorder::ActRecorder;
pub use spec::{ActError, ActPlan, ActSpec};
