//! The settings of a workload, as a scenario writes them: one job, or several over shared defaults.

use super::ActSpec;
use crate::units::{Bytes, Duration};
use manx_trace::TraceSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A workload: fio-like jobs that run side by side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkloadSpec {
    /// The jobs. In a scenario file the keys of `[workload]` are the defaults of each
    /// `[[workload.jobs]]`; without any, there is one job.
    pub jobs: Vec<JobSpec>,
    /// The load of the Aerospike Certification Tool: its jobs take the place of those above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub act: Option<ActSpec>,
}

/// One job: what it asks for and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JobSpec {
    /// Replay this trace instead of generating requests.
    pub trace: Option<TraceSpec>,
    /// Share of reads, percent, 0 to 100.
    pub read_percent: f64,
    /// Block sizes and their weights: [["4KiB", 70], ["64KiB", 30]].
    pub block_sizes: Vec<(Bytes, f64)>,
    /// Block sizes of writes, where they differ.
    pub write_block_sizes: Vec<(Bytes, f64)>,
    /// Every offset is a multiple of this; 0B means of the request's own size.
    pub align: Bytes,
    /// How addresses are chosen.
    pub pattern: Pattern,
    /// `zipf`: the exponent theta, above 0.
    pub zipf_theta: f64,
    /// `tiers`: percent of the space and percent of the requests of each tier; what is left of the
    /// space gets the rest of the requests.
    pub tiers: Vec<(f64, f64)>,
    /// `tiers`: those of writes and trims, where they differ; their first pages are those of
    /// `tiers`.
    pub write_tiers: Vec<(f64, f64)>,
    /// `tiers`: so many of the first tiers are visited in a fixed order, round and round, and not
    /// at random.
    pub cyclic_tiers: u32,
    /// `tiers`: they are made of blocks of this size, in which a smaller request lies anywhere; 0B
    /// means of the smallest request.
    pub tier_block: Bytes,
    /// The pattern chooses where a run of so many bytes starts, and requests follow one another in
    /// it; 0B is no run.
    pub run: Bytes,
    /// First byte of the job's range.
    pub offset: Bytes,
    /// Length of the job's range; 0B means up to the end of the device.
    pub size: Bytes,
    /// The range is so many files, or devices, of one size, and requests go to them in turn, as
    /// fio's do where a job has several.
    #[serde(skip_serializing_if = "is_one")]
    pub files: u32,
    /// Jobs of the same number draw the same sizes and addresses in the same order, as fio's
    /// processes do (`randrepeat`); 0 is a sequence of its own.
    #[serde(skip_serializing_if = "is_zero")]
    pub sequence: u32,
    /// When requests are issued.
    pub arrival: Arrival,
    /// `closed`: requests kept outstanding; `paced`: threads.
    pub queue_depth: u32,
    /// `closed`: pause between a completion and the next request of that slot.
    pub think: Duration,
    /// `closed`: the job begins so long after the run.
    #[serde(skip_serializing_if = "none")]
    pub start: Duration,
    /// `closed`: what the host adds to each request beside its thread's work: interrupt, wake-up.
    #[serde(skip_serializing_if = "none")]
    pub host_delay: Duration,
    /// `closed`: the job's one thread works so long for each request, one after the other: no more
    /// requests a second than that allows. Latencies contain both.
    #[serde(skip_serializing_if = "none")]
    pub host_busy: Duration,
    /// `closed`: the thread works so much longer for each 4 KiB of a request behind the first:
    /// pages that it maps or copies.
    #[serde(skip_serializing_if = "none")]
    pub host_page: Duration,
    /// `poisson`, `fixed`, `bursty` (the mean), `paced` (of all threads together): requests per
    /// second.
    pub rate: f64,
    /// `bursty`: the rate in a burst over the mean rate; so the share of the time without a request
    /// is 1 - 1 / this.
    pub peak_to_mean: f64,
    /// `bursty`: how long a burst lasts on average.
    pub burst: Duration,
    /// `phases`: what a trace did piece by piece; the rate is `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<PhasesSpec>,
    /// Writes come back to what was written before, as a trace's do; `pattern` places the reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewrites: Option<RewritesSpec>,
    /// Stop after this many requests; 0 means no bound by count.
    pub requests: u64,
    /// Stop issuing at this time; 0s means no bound by time.
    pub time: Duration,
    /// Share of the writes that carry FUA, percent.
    pub fua_percent: f64,
    /// A FLUSH after every so many writes; 0 is never.
    pub flush_every: u32,
    /// Share of the requests that are TRIM, percent (taken from the writes' share).
    pub trim_percent: f64,
    /// The hint that its writes carry (`ftl.placement = "stream"`).
    pub stream: u8,
    /// The source of the hint.
    pub stream_by: StreamBy,
}

impl Default for JobSpec {
    fn default() -> Self {
        Self {
            trace: None,
            read_percent: 70.0,
            block_sizes: vec![(Bytes::kib(4), 1.0)],
            write_block_sizes: Vec::new(),
            align: Bytes::new(0),
            pattern: Pattern::Random,
            zipf_theta: 0.99,
            tiers: vec![(20.0, 80.0)],
            write_tiers: Vec::new(),
            cyclic_tiers: 0,
            tier_block: Bytes::new(0),
            run: Bytes::new(0),
            offset: Bytes::new(0),
            size: Bytes::new(0),
            files: 1,
            sequence: 0,
            arrival: Arrival::Closed,
            queue_depth: 16,
            think: Duration::ZERO,
            start: Duration::ZERO,
            host_delay: Duration::ZERO,
            host_busy: Duration::ZERO,
            host_page: Duration::ZERO,
            rate: 0.0,
            peak_to_mean: 10.0,
            burst: Duration::from_ms(100),
            phases: None,
            rewrites: None,
            requests: 0,
            time: Duration::ZERO,
            fua_percent: 0.0,
            flush_every: 0,
            trim_percent: 0.0,
            stream: 0,
            stream_by: StreamBy::Job,
        }
    }
}

/// A trace piece by piece: busy and idle, reading and writing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhasesSpec {
    /// Phases in order: [seconds, requests, percent of reads, percent of the reads that are large,
    /// percent of the writes that are]. Large is above the mean of the sizes.
    pub list: Vec<[f64; 5]>,
    /// Reads that follow one another: [length, weight].
    #[serde(default)]
    pub read_runs: Vec<(u32, f64)>,
    /// Writes that follow one another: [length, weight].
    #[serde(default)]
    pub write_runs: Vec<(u32, f64)>,
    /// Gaps over the mean of their phase: [gap, weight], from a read to a read, from a read to a
    /// write, from a write to a read, from a write to a write.
    #[serde(default)]
    pub gaps: [Vec<(f64, f64)>; 4],
}

/// How writes come back: the LRU stack model, and runs of what was written together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RewritesSpec {
    /// Extents that are written.
    pub extents: u32,
    /// Percent of the range that they cover, at its end.
    pub span: f64,
    /// Percent of the extents that lie behind the one that was written before them.
    pub sequential: f64,
    /// Weights of what a write goes to, [the oldest extent, the one that followed last time, a
    /// jump], after each of the three.
    pub after: [[f64; 3]; 3],
    /// Jumps: [depth, weight], depths in rising order; so many extents were written since, even
    /// between the depth before and this one.
    pub depths: Vec<(u32, f64)>,
}

/// A host that takes no time is not written: results are then those of a program without it.
fn none(time: &Duration) -> bool {
    time.is_zero()
}

fn is_one(files: &u32) -> bool {
    *files == 1
}

fn is_zero(sequence: &u32) -> bool {
    *sequence == 0
}

/// How addresses are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Uniformly random.
    Random,
    /// One after the other, wrapping at the end of the range.
    Sequential,
    /// Each pass visits every block once, in a new random order: fio's random map.
    Shuffle,
    /// Zipf over scattered blocks: rank r with probability proportional to r^-theta.
    Zipf,
    /// Parts of the space (scattered) that differ in how much is asked of them: hot and cold; hot,
    /// warm and cold.
    Tiers,
}

/// The sources of the hint of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StreamBy {
    /// The job: `stream`.
    Job,
    /// `tiers`: the tier that the page belongs to, from 0; what no tier names is the last one.
    Tier,
}

/// When requests are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// A fixed number outstanding: the next one is issued when one completes (and `think` has
    /// passed).
    Closed,
    /// Open loop, exponential gaps: latency counts from the intended arrival.
    Poisson,
    /// Open loop, equal gaps.
    Fixed,
    /// `queue_depth` threads with a schedule each, in lock step; each waits for its own completion
    /// and catches up.
    Paced,
    /// The same, with the starts of the threads spread evenly.
    PacedSmooth,
    /// Open loop, an interrupted Poisson process: bursts of exponential gaps, and silence between
    /// them.
    Bursty,
    /// A trace's own times, open loop.
    Trace,
    /// Open loop: the phases of a fitted profile, with the runs and gaps of each.
    Phases,
}
