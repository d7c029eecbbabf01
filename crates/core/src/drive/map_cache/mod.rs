//! The map where it lies on flash: the cached part at work.

pub(in crate::drive) mod changes;
pub(in crate::drive) mod ended;
pub(in crate::drive) mod misses;
pub(in crate::drive) mod pages;
pub(in crate::drive) mod recovery;
