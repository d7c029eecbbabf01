//! lab

pub mod open;
