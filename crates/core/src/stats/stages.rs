//! The stages of an array's requests, as a result tells them.

use super::ratio;
use crate::units::{STAGES, Stage, Stages};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time by stage of an array's request (microseconds); the parts add up to the latency, as those by
/// cause do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageTimes {
    /// Reading the page from its own drive (microseconds).
    pub read: f64,
    /// On a drive's command that brought nothing: it failed fast, its drive died, or it was waited
    /// for in vain (microseconds).
    pub retry: f64,
    /// Reading the rest of the row from other drives, to compute the page (microseconds).
    pub reconstruct: f64,
    /// Computing it (microseconds).
    pub xor: f64,
    /// Reading old pages for the parity of a write (microseconds).
    pub pre_read: f64,
    /// Writing data and parity (microseconds).
    pub write: f64,
    /// Flushing the drives (microseconds).
    pub flush: f64,
    /// For its row, behind another update of it or reads of the whole row (microseconds).
    pub stripe: f64,
    /// For room in the array's memory (microseconds).
    pub cache: f64,
}

impl StageTimes {
    /// The stages of `count` requests, for one of them, to the nearest nanosecond.
    pub(super) fn mean(stages: &Stages, count: u64) -> Self {
        let part = |stage| {
            let ns = u128::from(stages.get(stage).as_ns());
            ratio::rounded(ns, u128::from(count) * 1000, 3).unwrap_or(0.0)
        };
        Self {
            read: part(Stage::Read),
            retry: part(Stage::Retry),
            reconstruct: part(Stage::Reconstruct),
            xor: part(Stage::Xor),
            pre_read: part(Stage::PreRead),
            write: part(Stage::Write),
            flush: part(Stage::Flush),
            stripe: part(Stage::Stripe),
            cache: part(Stage::Cache),
        }
    }

    /// The times with their stages, in the order of [`Stage::ALL`].
    pub fn all(&self) -> [(Stage, f64); STAGES] {
        Stage::ALL.map(|stage| (stage, self.get(stage)))
    }

    /// The time of one stage.
    pub fn get(&self, stage: Stage) -> f64 {
        match stage {
            Stage::Read => self.read,
            Stage::Retry => self.retry,
            Stage::Reconstruct => self.reconstruct,
            Stage::Xor => self.xor,
            Stage::PreRead => self.pre_read,
            Stage::Write => self.write,
            Stage::Flush => self.flush,
            Stage::Stripe => self.stripe,
            Stage::Cache => self.cache,
        }
    }
}
