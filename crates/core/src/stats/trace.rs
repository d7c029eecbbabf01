//! The trace in a result: what was read and left out, and how long the requests took where it was
//! recorded.

use super::{LatencySummary, RunSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Records read from a trace, and those left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TraceReport {
    /// Counts by name: records read, remapped, dropped by reason (records).
    pub counts: BTreeMap<String, u64>,
    /// This report for a person, one or more lines.
    pub text: String,
    /// The latencies that the trace recorded; absent where it recorded none. They are the same for
    /// every policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedReport>,
}

/// How long the requests of a trace took on the device where they were recorded: all that are
/// selected, once each, however often the trace is repeated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecordedReport {
    /// From when to when: from queue or issue to completion, or as the trace states it.
    pub span: String,
    /// Latencies of reads, as recorded.
    pub read: LatencySummary,
    /// Latencies of writes, as recorded.
    pub write: LatencySummary,
}

impl RunSet {
    /// The latencies that the trace recorded, where all runs replayed the same.
    pub fn recorded(&self) -> Option<&RecordedReport> {
        let mut all = self
            .runs
            .iter()
            .map(|run| run.trace.as_ref().and_then(|trace| trace.recorded.as_ref()));
        let first = all.next()??;
        all.all(|other| other == Some(first)).then_some(first)
    }
}
