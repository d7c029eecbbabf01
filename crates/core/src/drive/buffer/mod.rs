//! The write buffer: pages in DRAM on their way to flash, and the rows in which they gather.
//!
//! `slots` holds the pages, each in its `slot`; `index` finds them, `waiters` are the requests that
//! wait for them, `rows` queues the program of a row.

mod index;
pub(in crate::drive) mod rows;
pub(in crate::drive) mod slot;
pub(in crate::drive) mod slots;
mod waiters;
