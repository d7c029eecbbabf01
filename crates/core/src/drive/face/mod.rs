//! The face: commands, the queues in which they wait, the ports they cross, the controller's
//! limits, and a request while it is in the drive.

pub(in crate::drive) mod command;
mod fetch;
mod heat;
pub(in crate::drive) mod limits;
pub(in crate::drive) mod ports;
pub(in crate::drive) mod request;
pub(in crate::drive) mod spec;
mod throttle;
pub(in crate::drive) mod waiting;
