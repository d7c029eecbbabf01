//! Collections that are paced against the host's writes.

use super::counters::counters;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

counters! {
    /// Counters of paced collections.
    pub struct PaceCounters {
        /// Rows of copies that were begun.
        sum rows: u64,
        /// Those of a pool at or below the hard mark.
        sum forced_rows: u64,
        /// Times that a chain waited for writes.
        sum waits: u64,
    }
}

/// How GC runs kept to the pace of the host's writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PaceReport {
    /// Rows of copies that GC runs began (rows).
    pub rows: u64,
    /// Those of a pool at or below the critical watermark, which wait for no writes (rows).
    pub forced_rows: u64,
    /// Times that a chain of copies waited for writes (times).
    pub waits: u64,
}

impl From<PaceCounters> for PaceReport {
    fn from(counters: PaceCounters) -> Self {
        let PaceCounters { rows, forced_rows, waits } = counters;
        Self { rows, forced_rows, waits }
    }
}
