//! The dies: which waiting operation a free die serves next, and what may interrupt one.
//!
//! This room owns the lists of waiting operations.

pub(in crate::drive) mod gate;
pub(in crate::drive) mod issue;
pub(in crate::drive) mod queues;
pub(in crate::drive) mod schedule;
pub(in crate::drive) mod suspension;
pub(in crate::drive) mod whole;
