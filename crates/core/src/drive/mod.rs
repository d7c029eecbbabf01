//! Drive.
mod command;
mod spec;
pub use command::{Command, Completion, Op, PredictableLatency, Stamp, Status};
pub use spec::{DriveSpec, Overwrite, PreconditionSpec, PreconditionState, Scheduler};
