//! Parity inside the drive: written with the pages or behind them, and reads that are
//! reconstructed.

pub(in crate::drive) mod ended;
pub(in crate::drive) mod in_place;
pub(in crate::drive) mod log_structured;
pub(in crate::drive) mod log_structured_read;
pub(in crate::drive) mod reconstruct;
