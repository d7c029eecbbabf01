//! The judgement of SNIA's Solid State Storage Performance Test Specification (PTS 2.0.2, section
//! 2.1.24), as a part of a result. The lab computes it: nothing of it is known before a run ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Steady state by SNIA's PTS 2.0.2, section 2.1.24: of the last five rounds of up to 25 the
/// spread and the excursion of the fitted line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PtsReport {
    /// Quantity that was tracked: `write_rate`, `read_rate` (completed requests in a round), or
    /// where the host sets the rate (open loop) `write_mean`, `read_mean` (microseconds).
    pub tracked: String,
    /// That quantity in each round, equal parts of the measured time (requests or microseconds); a
    /// mean latency is null where nothing was counted.
    pub rounds: Vec<Option<f64>>,
    /// Its mean over the last five rounds (requests or microseconds); null where there are fewer,
    /// or nothing was counted.
    pub mean: Option<f64>,
    /// Largest less smallest of them, over the mean (percent); at most 20 is steady.
    pub range_percent: Option<f64>,
    /// Rise of the straight line fitted to them, over the mean (percent); at most 10 up or down is
    /// steady.
    pub slope_percent: Option<f64>,
    /// Both hold in the last five rounds, and the number moved at all: a mean latency that is the
    /// write buffer's in every round tells nothing.
    pub steady: bool,
    /// The first round of the first window in which both held (number, counted from 1); null where
    /// there was none.
    pub first_steady_round: Option<u64>,
    /// All of it in a sentence.
    pub text: String,
}
