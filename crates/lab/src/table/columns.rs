//! The columns of a comparison: what stands above each, how much it matters, how a run fills it.

use super::cell;
use manx_core::stats::{LatencySummary, Outcome, RunResult, RunSet};

/// Why a cell has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    TooFewSamples,
    NoRequests,
    NotMeasured,
}

pub(super) type Value = Result<String, Missing>;

/// Rank of a column that only the wide table has.
pub(super) const WIDE: u8 = u8::MAX;

/// A name longer than this would widen the column that compares with it.
const BASELINE_LETTERS: usize = 10;

/// The comparison that a column is of.
pub(super) struct Of<'a> {
    pub(super) set: &'a RunSet,
    /// The first run: the others are compared with it.
    pub(super) baseline: &'a RunResult,
    /// The requests that the table is about: reads, or writes where nothing was read.
    pub(super) op: fn(&RunResult) -> &LatencySummary,
    pub(super) name: &'static str,
}

impl<'a> Of<'a> {
    /// `None` where there is no run.
    pub(super) fn new(set: &'a RunSet) -> Option<Self> {
        let baseline = set.runs.first()?;
        let reads = set.runs.iter().any(|run| run.read.count > 0);
        let writes = set.runs.iter().any(|run| run.write.count > 0);
        let is_of_writes = writes && !reads;
        let op: fn(&RunResult) -> &LatencySummary =
            if is_of_writes { |run| &run.write } else { |run| &run.read };
        Some(Self { set, baseline, op, name: if is_of_writes { "write" } else { "read" } })
    }

    fn any(&self, is: impl Fn(&RunResult) -> bool) -> bool {
        self.set.runs.iter().any(is)
    }

    /// Writes beside the reads that the table is about.
    fn has_writes_too(&self) -> bool {
        self.name == "read" && self.any(|run| run.write.count > 0)
    }

    fn is_compared(&self) -> bool {
        (self.set.runs.len() > 1 || self.set.recorded().is_some())
            && self.any(|run| (self.op)(run).count > 0)
    }

    /// The baseline of a ratio, in a head.
    fn vs(&self, percentile: &str) -> String {
        let name = &self.baseline.policy;
        let short = name.chars().count() <= BASELINE_LETTERS;
        format!("{percentile}\nvs {}", if short { name.as_str() } else { "first" })
    }
}

/// One column.
pub(super) struct Column {
    /// Its head.
    pub(super) head: fn(&Of<'_>) -> String,
    /// The columns of the lowest ranks are shown; 0 and 1 never leave.
    pub(super) rank: u8,
    /// False where the column would say nothing about this set.
    pub(super) applies: fn(&Of<'_>) -> bool,
    /// The cell of a run.
    pub(super) value: fn(&Of<'_>, &RunResult) -> Value,
    /// The number by which runs are ranked, where less is better.
    pub(super) cost: fn(&Of<'_>, &RunResult) -> Option<f64>,
}

/// A percentile, the mean or the maximum of the requests that the table is about.
macro_rules! latency {
    ($rank:expr, $name:literal, $field:ident) => {
        latency!($rank, $name, $field, |of| of.any(|run| (of.op)(run).count > 0))
    };
    ($rank:expr, $name:literal, $field:ident, $applies:expr) => {
        Column {
            head: |of| format!(concat!("{}\n", $name), of.name),
            rank: $rank,
            applies: $applies,
            value: |of, run| time((of.op)(run), (of.op)(run).$field),
            cost: |of, run| (of.op)(run).$field,
        }
    };
}

/// A percentile of the writes beside the reads.
macro_rules! write_latency {
    ($rank:expr, $name:literal, $field:ident) => {
        Column {
            head: |_| concat!("write\n", $name).to_string(),
            rank: $rank,
            applies: |of| of.has_writes_too(),
            value: |_, run| time(&run.write, run.write.$field),
            cost: |_, run| run.write.$field,
        }
    };
}

/// How many times the baseline's percentile.
macro_rules! compared {
    ($rank:expr, $name:literal, $field:ident) => {
        Column {
            head: |of| of.vs($name),
            rank: $rank,
            applies: |of| of.is_compared(),
            value: |of, run| {
                let (own, base) = ((of.op)(run), (of.op)(of.baseline));
                ratio(known(own, own.$field)?, known(base, base.$field)?)
            },
            cost: |of, run| (of.op)(run).$field,
        }
    };
}

/// In the order in which they are shown.
pub(super) static COLUMNS: [Column; 20] = [
    Column {
        head: |_| "policy".to_string(),
        rank: 0,
        applies: |_| true,
        value: |_, run| Ok(run.policy.clone()),
        cost: |_, _| None,
    },
    Column {
        head: |_| "outcome".to_string(),
        rank: 5,
        applies: |of| of.any(|run| run.outcome != Outcome::Completed),
        value: |_, run| Ok(outcome(run).to_string()),
        cost: |_, _| None,
    },
    latency!(12, "mean", mean_us),
    latency!(9, "p50", p50_us),
    latency!(4, "p99", p99_us),
    latency!(1, "p99.9", p99_9_us),
    Column {
        head: |_| "95 % CI of\np99.9".to_string(),
        rank: WIDE,
        applies: |of| of.any(|run| (of.op)(run).p99_9_us.is_some()),
        value: |of, run| {
            let p99_9 = &(of.op)(run).percentiles.p99_9;
            let (low, high) =
                (known((of.op)(run), p99_9.low_us)?, known((of.op)(run), p99_9.high_us)?);
            Ok(format!("{}..{}", cell::latency(low), cell::latency(high)))
        },
        cost: |_, _| None,
    },
    latency!(3, "p99.99", p99_99_us),
    latency!(10, "p99.999", p99_999_us, |of| of.any(|run| (of.op)(run).p99_999_us.is_some())),
    latency!(11, "max", max_us),
    compared!(2, "p99.9", p99_9_us),
    compared!(WIDE, "p99.99", p99_99_us),
    write_latency!(WIDE, "p99", p99_us),
    write_latency!(7, "p99.9", p99_9_us),
    write_latency!(WIDE, "max", max_us),
    Column {
        head: |_| "WAF".to_string(),
        rank: 6,
        applies: |of| of.any(|run| run.write.count > 0),
        value: |_, run| run.flash.waf.map(cell::three_digits).ok_or(Missing::NoRequests),
        cost: |_, run| run.flash.waf,
    },
    Column {
        head: |_| "ramps\n/erase".to_string(),
        rank: WIDE,
        applies: |of| of.any(|run| run.stress.is_some_and(|stress| stress.extra_ramps > 0)),
        value: |_, run| extra_ramps(run).map(cell::three_digits).ok_or(Missing::NotMeasured),
        cost: |_, run| extra_ramps(run),
    },
    Column {
        head: |_| "erases".to_string(),
        rank: WIDE,
        applies: |_| true,
        value: |_, run| Ok(run.flash.erases.to_string()),
        cost: |_, run| Some(run.flash.erases as f64),
    },
    Column {
        head: |_| "GC-blocked\nreads %".to_string(),
        rank: 8,
        applies: |of| of.any(|run| run.read.count > 0),
        value: |_, run| {
            run.gc.blocked_reads_percent.map(cell::three_digits).ok_or(Missing::NoRequests)
        },
        cost: |_, run| run.gc.blocked_reads_percent,
    },
    Column {
        head: |_| "requests\n/CPU-s".to_string(),
        rank: WIDE,
        applies: |_| true,
        value: |_, run| run.machine.requests_per_cpu_s.map(cell::rate).ok_or(Missing::NotMeasured),
        cost: |_, _| None,
    },
];

fn outcome(run: &RunResult) -> &'static str {
    match run.outcome {
        Outcome::Completed => "completed",
        Outcome::Starved => "starved",
        Outcome::Stuck => "stuck",
        Outcome::Partial => "partial",
    }
}

/// Voltage ramps that suspensions cost: none where no erase can be suspended, unknown where none
/// came to its end.
fn extra_ramps(run: &RunResult) -> Option<f64> {
    run.stress.map_or(Some(0.0), |stress| stress.extra_ramps_per_erase_mean)
}

fn known(of: &LatencySummary, us: Option<f64>) -> Result<f64, Missing> {
    us.ok_or(if of.count == 0 { Missing::NoRequests } else { Missing::TooFewSamples })
}

fn time(of: &LatencySummary, us: Option<f64>) -> Value {
    known(of, us).map(cell::latency)
}

fn ratio(us: f64, baseline_us: f64) -> Value {
    if baseline_us == 0.0 {
        Err(Missing::NotMeasured)
    } else {
        Ok(cell::three_digits(us / baseline_us) + "x")
    }
}
