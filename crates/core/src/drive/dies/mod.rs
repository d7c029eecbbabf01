//! The dies: which waiting operation a free die serves next, and what may interrupt one.
//!
//! `queues` are the lists of waiting operations, `schedule` chooses, `issue` starts, `suspension`
//! lets reads interrupt erases and programs, `gate` holds GC operations against a window, `power`
//! programs and erases against a budget, `whole` fuses copies.

pub(in crate::drive) mod gate;
pub(in crate::drive) mod issue;
pub(in crate::drive) mod power;
pub(in crate::drive) mod queues;
pub(in crate::drive) mod schedule;
pub(in crate::drive) mod suspension;
pub(in crate::drive) mod whole;
