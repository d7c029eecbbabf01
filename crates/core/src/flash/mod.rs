//! Flash.
mod capacity;
mod device;
pub use capacity::Capacity;
pub(crate) use capacity::{lanes, program_unit, raw_bytes};
pub use device::{ArrayTiming, ChannelTiming, Device, Features, Geometry};
