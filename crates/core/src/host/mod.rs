//! The host: what is asked of a drive, and whether the answers are right.
//!
//! A *job* is a source of requests (a generator, a trace of `manx-trace`) and a pacing (open loop,
//! or so many outstanding). The [`Driver`] plays jobs against a drive in virtual time and records
//! latencies; the [`Oracle`] checks what every read returns.
//!
//! Reading order: `spec` (the settings), `request`, `stack`, [`generate`], [`fit`], `pace`, `job`,
//! `driver`, `handed`, `measured`, `patience`, `reset`, `oracle`, `promises`, `outage`; [`act`] is
//! a workload with rules of its own, `above` what a real host tells.

mod above;
pub mod act;
mod driver;
mod evidence;
pub mod fit;
pub mod generate;
mod handed;
mod job;
mod measured;
mod oracle;
mod outage;
mod pace;
mod patience;
mod playable;
mod promises;
mod request;
mod reset;
mod spec;
mod stack;
mod watched;

pub use above::BlockRequest;
pub use act::{ActRecorder, ActSpec};
pub use driver::{Driver, Progress};
pub use evidence::{Causes, Record, Records, Slow};
pub use job::{Host, Job, Pacing};
pub use manx_base::{Request, RequestSource};
pub use measured::Measured;
pub use oracle::Oracle;
pub use outage::Outage;
pub use patience::Starved;
pub use playable::Playable;
pub use promises::Broken;
pub use request::Hinted;
pub use reset::{HostSpec, OnTimeout};
pub use spec::{Arrival, JobSpec, Pattern, PhasesSpec, RewritesSpec, StreamBy, WorkloadSpec};

#[cfg(test)]
mod tests;
