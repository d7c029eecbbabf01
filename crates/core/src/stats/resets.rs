//! A host that resets its drive.

use super::counters::counters;
use super::seconds;
use crate::units::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

counters! {
    /// Requests that waited longer than the host's timeout, and what the host did.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[schemars(rename = "ResetReport")]
    pub struct ResetCounters {
        /// Aborts sent, none of which the drive heeds (commands).
        sum aborts: u64,
        /// Resets of the drive (resets).
        sum resets: u64,
        /// Commands that were sent again after a reset (commands).
        sum sent_again: u64,
        /// Commands that a reset took and that were sent again too often: they ended with an error,
        /// and are in no latency (commands).
        sum failed: u64,
        /// Answers to commands that a reset had taken, which come too late for the host (commands).
        sum late: u64,
        /// When the first reset was, the warm-up included, from the start of the run on (seconds);
        /// null without one.
        #[serde(rename = "first_at_s", with = "seconds")]
        #[schemars(with = "Option<f64>")]
        first first_at: Option<Instant>,
    }
}
