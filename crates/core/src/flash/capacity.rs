//! placeholder until the config branch brings it
use super::Device;
/// Capacity
pub struct Capacity {
    /// raw
    pub raw: u64,
}
impl Capacity {
    /// of
    pub fn of(_d: &Device) -> Self {
        Self { raw: 0 }
    }
}
