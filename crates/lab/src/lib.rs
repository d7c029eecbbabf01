//! The laboratory around the model: files, runs, comparisons, reports. What the core may not do (clocks, threads, I/O)
//! is done here.

pub mod json;
pub mod load;
pub mod open;
pub mod table;
