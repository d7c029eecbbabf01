//! Observers: where the time of each command went, timelines. They change nothing.

pub(in crate::drive) mod attribution;
pub(in crate::drive) mod booking;
pub(in crate::drive) mod critical;
mod direct;
pub(in crate::drive) mod glance;
pub(in crate::drive) mod timeline;
