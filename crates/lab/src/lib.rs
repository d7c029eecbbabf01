//! lab
pub mod load;
