//! Flash.
mod device;
pub use device::{ArrayTiming, ChannelTiming, Device, Features, Geometry};
