//! Reads and writes of the host: mapping units, the write buffer, eviction.

pub(in crate::drive) mod direct;
pub(in crate::drive) mod ended;
pub(in crate::drive) mod evict;
pub(in crate::drive) mod read;
pub(in crate::drive) mod units;
pub(in crate::drive) mod write;
