//! Reads and writes of the host.
//!
//! `read` splits a read into `units`; `direct` is the short way of a read that waits for nothing.
//! `write` takes pages into the buffer, `evict` sends them on their way; `ended` acts on the end of
//! an operation.

pub(in crate::drive) mod direct;
pub(in crate::drive) mod ended;
pub(in crate::drive) mod evict;
pub(in crate::drive) mod read;
pub(in crate::drive) mod units;
pub(in crate::drive) mod write;
