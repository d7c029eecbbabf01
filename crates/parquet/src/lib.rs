//! Manx's traces as Parquet: columns that pandas, DuckDB and the like read as they are.
//!
//! | column | type | what |
//! |---|---|---|
//! | `t_us` | DOUBLE (or INT64) | us since the first request; exact to 1 ns for 101 days |
//! | `op` | BYTE_ARRAY, UTF-8 | `R`, `W`, `F` (flush) or `D` (discard) |
//! | `offset`, `bytes` | INT64 | the range, in bytes; 0 for a flush |
//! | `latency_us` | DOUBLE (or INT64), optional | how long it took where it was recorded |
//! | `device` | BYTE_ARRAY, UTF-8, optional | the device's name |
//! | `fua` | BOOLEAN, optional | force unit access |
//!
//! [`write`](mod@write) is an encoder of `manx-trace`'s converter. [`read`] gives the rows of
//! anybody's file with these columns as the byte stream `manx-records`, which `manx-trace` decodes;
//! so neither it nor the lab knows Parquet, and a program without this crate is the smaller by it.
//! What that costs: the stream numbers the devices in the order in which they appear, and their
//! names stay behind.
//!
//! [`requests`] writes every request of a run.
//! [`table`] writes any other table (a sweep).
//!
//! Not read: nested columns, encrypted files, and columns compressed otherwise than with Snappy or
//! Zstandard.

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod read;
pub mod requests;
pub mod table;
pub mod write;

pub use read::open;
pub use write::Encoder;

#[cfg(test)]
mod tests;
