//! Turns of the planes of a group, and their cost.

use super::counters::counters;
use super::ratio;
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

counters! {
    /// Counters of turns.
    pub struct RotationCounters {
        /// Collections that could have started if another plane of the group had not collected.
        sum postponed: u64,
        /// For how long at most.
        max postponed_max: Duration,
        /// Times that rotation was switched off.
        sum switched_off: u64,
        /// For how long it was off, up to the last row of the host's.
        sum off: Duration,
    }
}

/// The cost of turns of the planes of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RotationReport {
    /// GC runs that could have started had no other plane of the group collected (GC runs).
    pub postponed: u64,
    /// For how long at most, warm-up included (microseconds).
    pub postponed_max_us: f64,
    /// Times that `dynamic` let every plane collect when it wants (times).
    pub switched_off: u64,
    /// For how long it did (percent of the time); null where no time passed.
    pub off_percent: Option<f64>,
}

impl RotationReport {
    pub(super) fn new(rotation: &RotationCounters, span: Duration, drives: u64) -> Self {
        Self {
            postponed: rotation.postponed,
            postponed_max_us: rotation.postponed_max.as_us_f64(),
            switched_off: rotation.switched_off,
            // Told at rows: what lies between the last one and the end of a span falls into the
            // next.
            off_percent: ratio::percent(
                rotation.off.as_ns().min(span.as_ns() * drives),
                span.as_ns() * drives,
            ),
        }
    }
}
