//! The face: commands, the ports they cross, and a request while it is in the drive.

pub(in crate::drive) mod command;
pub(in crate::drive) mod ports;
pub(in crate::drive) mod request;
