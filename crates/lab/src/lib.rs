//! lab

pub mod open;
pub mod json;
pub mod table;
