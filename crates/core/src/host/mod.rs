//! Host.
pub mod generate;
mod request;
mod spec;
pub mod trace;
pub use request::{Request, RequestSource};
pub use spec::{Arrival, JobSpec, Pattern, Remap, TimeUnit, TraceFormat, TraceSpec, WorkloadSpec};
