//! Counts: histograms, percentiles, the result of a run.
//!
//! Beside the data path, not on it: the drive and the driver fill these structures, nothing here
//! reads the model. In the order of a run: [`Histogram`] takes each latency, [`OpStats`] one kind
//! of request, [`Counters`] what the drive did; [`RunTotals`] holds them all and becomes a
//! [`RunResult`], which is `result.json`.
//!
//! [`SplitStats`] adds up what requests waited for, [`OverTime`] when they did, [`Curve`] is the
//! tail as a line.
//!
//! Not done here: printing (crate `manx-lab`), the wall clock. Figures that depend on the machine
//! arrive from outside in [`MachineReport`].

mod act;
mod array;
mod attribution;
mod counters;
mod drive;
mod faults;
mod log;
mod map;
mod merge;
mod over_time;
mod pace;
mod parity;
mod power;
mod power_loss;
mod pslc;
mod pts;
mod resets;
mod result;
mod retry;
mod rotation;
mod scrub;
mod seconds;
mod stages;
mod state;
mod stress;
mod totals;
mod trace;
mod wear;

use manx_base::latency::buckets;
use manx_base::ratio;

pub use act::{ActReport, ActRules, ActSlice, ActTimes, ActVerdict};
pub use array::ArrayCounters;
pub use attribution::{
    AttributionBand, AttributionReport, CauseTimes, SlowFlash, SlowRequest, SlowStep, SplitStats,
};
pub use drive::{BufferCounters, Counters, PredictableCounters, SuspensionCounters};
pub use faults::FaultCounters;
pub use log::{LogCounters, LogReport};
pub use manx_base::latency::{
    BEYOND_MIN, Bucket, CountSummary, Curve, Histogram, LEVELS, LatencySummary, Level, OpStats,
    Percentile, Percentiles, SUB,
};
pub use map::{MapCounters, MapMemory, MapReport};
pub use over_time::{Kind, OverTime, OverTimeReport, SliceTimes};
pub use pace::{PaceCounters, PaceReport};
pub use parity::{RainCounters, RainKind, RainReport, TolerantReport};
pub use power::{PowerCounters, PowerReport};
pub use power_loss::PowerLossReport;
pub use pslc::{PslcCounters, PslcReport};
pub use pts::PtsReport;
pub use resets::ResetCounters;
pub use result::{
    CapacityReport, FlashReport, GcReport, MachineReport, Outcome, Program, RunResult, RunSet,
    SCHEMA_VERSION, VerifyReport, WarmupExcluded, WearReport,
};
pub use retry::{RetryCounters, RetryReport};
pub use rotation::{RotationCounters, RotationReport};
pub use scrub::{ScrubCounters, ScrubReport};
pub use stages::StageTimes;
pub use state::{
    Began, Moments, RECLAIMS_LEAST, STEADY_WITHIN_PERCENT, StateReport, StateTotals, Written,
};
pub use stress::{StressCounters, StressReport};
pub use totals::{Attribution, Parts, RunTotals, SLOWEST};
pub use trace::{RecordedReport, TraceReport};
pub use wear::WearCounters;
