//! One file for each format: what a piece of it says, and what is strange about it.

pub mod ascii;
pub mod blkparse;
pub mod disksim;
pub mod msr;
pub mod ucare;
