//! The power budget of programs and erases.

use super::counters::counters;
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

counters! {
    /// Counters of the power budget.
    pub struct PowerCounters {
        /// Times that a die waited for a share.
        sum waits: u64,
        /// For how long, added up.
        sum waited: Duration,
        /// The most that was drawn at once, in milliwatts.
        max peak: u64,
    }
}

/// Waits of dies for the power budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PowerReport {
    /// Times that a die began to wait for a share of the budget (times).
    pub waits: u64,
    /// From then until it began a program or an erase, reads meanwhile included, added up
    /// (seconds).
    pub waited_s: f64,
    /// The most that programs and erases drew at once, in the whole run (milliwatts); of an array
    /// the most of one drive.
    pub peak_mw: u64,
}

impl From<PowerCounters> for PowerReport {
    fn from(counters: PowerCounters) -> Self {
        let PowerCounters { waits, waited, peak } = counters;
        Self { waits, waited_s: waited.as_s_f64(), peak_mw: peak }
    }
}
