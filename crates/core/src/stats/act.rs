//! The report of a run of the Aerospike Certification Tool's load: slices, and whether the drive
//! passes.

use super::ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Aerospike Certification Tool's view of a run: from its first request on, whatever the
/// warm-up is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActReport {
    /// The multiplier of the load (ratio to 2000 reads and 1000 writes of records per second).
    pub multiplier: f64,
    /// Length of a slice (seconds).
    pub slice_s: f64,
    /// The complete slices, in order.
    pub slices: Vec<ActSlice>,
    /// Record reads of the whole test.
    pub reads: ActTimes,
    /// Record writes of the whole test; there are some with `commit_to_device` only.
    pub writes: ActTimes,
    /// Large reads of the whole test.
    pub large_reads: ActTimes,
    /// Large writes of the whole test.
    pub large_writes: ActTimes,
    /// Why the test was stopped before its end (a thread was too far behind); null if it was not.
    pub stopped: Option<String>,
    /// Whether the drive passes.
    pub rules: ActRules,
    /// Why not, one sentence each, with the rule in front.
    pub why: Vec<String>,
}

/// One slice of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActSlice {
    /// Its start (seconds of virtual time).
    pub start_s: f64,
    /// Record reads that completed in it (requests).
    pub reads: u64,
    /// Reads that took 1 ms or more (percent of reads); null without reads.
    pub over_1ms_percent: Option<f64>,
    /// Reads that took 8 ms or more (percent of reads); null without reads.
    pub over_8ms_percent: Option<f64>,
    /// Reads that took 64 ms or more (percent of reads); null without reads.
    pub over_64ms_percent: Option<f64>,
    /// Mean latency of the record reads (microseconds, to the nearest nanosecond).
    pub reads_mean_us: Option<f64>,
    /// Mean latency of the record writes (microseconds, to the nearest nanosecond).
    pub writes_mean_us: Option<f64>,
    /// Mean latency of the large reads (microseconds, to the nearest nanosecond).
    pub large_reads_mean_us: Option<f64>,
    /// Mean latency of the large writes (microseconds, to the nearest nanosecond).
    pub large_writes_mean_us: Option<f64>,
    /// Longest latency of a record read (microseconds).
    pub reads_max_us: Option<f64>,
}

/// The latencies of one type of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActTimes {
    /// Completed requests (requests).
    pub count: u64,
    /// Mean latency (microseconds, to the nearest nanosecond); null when there was none.
    pub mean_us: Option<f64>,
    /// Longest latency (microseconds); null when there was none.
    pub max_us: Option<f64>,
    /// One over the rate of this type of request (microseconds, to the nearest nanosecond); null
    /// when it has none.
    pub period_us: Option<f64>,
}

/// Whether the drive passes, by several rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActRules {
    /// The tool's own: in every slice less than 5 % of the reads take 1 ms or more, 1 % 8 ms, 0.1 %
    /// 64 ms.
    #[serde(rename = "act6.6")]
    pub act: ActVerdict,
    /// All four conditions of the paper on practical erase suspension (ATC '19).
    pub paper: ActVerdict,
    /// The fourth of them alone, which that paper calls the stress test.
    #[serde(rename = "paper-stress")]
    pub paper_stress: ActVerdict,
}

/// The outcome of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActVerdict {
    /// The drive passes.
    Pass,
    /// The drive fails.
    Fail,
    /// The run was interrupted, or nothing was read: there is nothing to judge.
    #[default]
    Undecided,
}

impl ActVerdict {
    /// The outcome as a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Undecided => "undecided",
        }
    }
}

impl ActReport {
    /// A share in percent, or `None` of nothing.
    pub fn percent(part: u64, whole: u64) -> Option<f64> {
        ratio::percent(part, whole)
    }

    /// The mean of `count` times that are `sum_ns` together, in microseconds.
    pub fn mean_us(sum_ns: u128, count: u64) -> Option<f64> {
        ratio::rounded(sum_ns, u128::from(count) * 1_000, 3)
    }
}
