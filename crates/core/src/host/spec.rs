//! The settings of a workload, as a scenario writes them: one job, or several over shared defaults.

use super::ActSpec;
use crate::units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A workload: fio-like jobs that run side by side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkloadSpec {
    /// The jobs. In a scenario file the keys of `[workload]` are the defaults of each `[[workload.jobs]]`; without
    /// any, there is one job.
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
    /// `tiers`: percent of the space and percent of the requests of each tier; what is left of the space gets the
    /// rest of the requests.
    pub tiers: Vec<(f64, f64)>,
    /// `tiers`: those of writes and trims, where they differ; their first pages are those of `tiers`.
    pub write_tiers: Vec<(f64, f64)>,
    /// `tiers`: so many of the first tiers are visited in a fixed order, round and round, and not at random.
    pub cyclic_tiers: u32,
    /// `tiers`: they are made of blocks of this size, in which a smaller request lies anywhere; 0B means of the
    /// smallest request.
    pub tier_block: Bytes,
    /// The pattern chooses where a run of so many bytes starts, and requests follow one another in it; 0B is no run.
    pub run: Bytes,
    /// First byte of the job's range.
    pub offset: Bytes,
    /// Length of the job's range; 0B means up to the end of the device.
    pub size: Bytes,
    /// When requests are issued.
    pub arrival: Arrival,
    /// `closed`: requests kept outstanding; `paced`: threads.
    pub queue_depth: u32,
    /// `closed`: pause between a completion and the next request of that slot.
    pub think: Duration,
    /// `poisson`, `fixed`, `bursty` (the mean), `paced` (of all threads together): requests per second.
    pub rate: f64,
    /// `bursty`: the rate in a burst over the mean rate; so the share of the time without a request is 1 - 1 / this.
    pub peak_to_mean: f64,
    /// `bursty`: how long a burst lasts on average.
    pub burst: Duration,
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
    /// What chooses the hint.
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
            arrival: Arrival::Closed,
            queue_depth: 16,
            think: Duration::ZERO,
            rate: 0.0,
            peak_to_mean: 10.0,
            burst: Duration::from_ms(100),
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

/// How addresses are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Uniformly random.
    Random,
    /// One after the other, wrapping at the end of the range.
    Sequential,
    /// Zipf over scattered blocks: rank r with probability proportional to r^-theta.
    Zipf,
    /// Parts of the space (scattered) that differ in how much is asked of them: hot and cold; hot, warm and cold.
    Tiers,
}

/// What chooses the hint of a write.
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
    /// A fixed number outstanding: the next one is issued when one completes (and `think` has passed).
    Closed,
    /// Open loop, exponential gaps: latency counts from the intended arrival.
    Poisson,
    /// Open loop, equal gaps.
    Fixed,
    /// `queue_depth` threads with a schedule each, in lock step; each waits for its own completion and catches up.
    Paced,
    /// The same, with the starts of the threads spread evenly.
    PacedSmooth,
    /// Open loop, an interrupted Poisson process: bursts of exponential gaps, and silence between them.
    Bursty,
    /// A trace's own times, open loop.
    Trace,
}

/// A trace to replay and how to treat it.
///
/// The order of the treatment, for each request of the file. First what is replayed, in this order: `to` ends the
/// reading, as does `head`; then `devices`, `ignore`, `from` and `skip` leave requests out, each counted under the
/// first reason that applies (so `skip` and `head` count requests that all else would replay). Times are rebased on the
/// first request that is left. Then how: the devices are laid out (`layout`), requests widened to `align`, fitted to
/// the device (`remap`), and times scaled (`rate_scale`). All of it is the same in each pass of `repeat`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceSpec {
    /// The file; .gz, .zst, .xz, .bz2 and members of a .tar (`a.tar:member`) are read in place.
    pub file: String,
    /// Its format; found by looking at it when absent.
    #[serde(default)]
    pub format: Option<TraceFormat>,
    /// The unit of its times, where the format leaves it open.
    #[serde(default)]
    pub time_unit: Option<TimeUnit>,
    /// The unit of its addresses and sizes, where the format leaves it open.
    #[serde(default)]
    pub lba_unit: Option<LbaUnit>,
    /// Which event of a request counts, in traces of the block layer.
    #[serde(default)]
    pub event: TraceEvent,
    /// What becomes of requests within one second, where the format's clock has whole seconds.
    #[serde(default)]
    pub spread: Spread,
    /// The devices of the trace that are replayed, by name; all when empty.
    #[serde(default)]
    pub devices: Vec<String>,
    /// How the address spaces of several devices become one.
    #[serde(default)]
    pub layout: Layout,
    /// Kinds of requests that are left out.
    #[serde(default)]
    pub ignore: Vec<TraceOp>,
    /// Start of the window, in the trace's time since its first request.
    #[serde(default)]
    pub from: Duration,
    /// End of the window (exclusive), likewise; 0s is the trace's end.
    #[serde(default)]
    pub to: Duration,
    /// Requests of the window that are skipped.
    #[serde(default)]
    pub skip: u64,
    /// Requests that are replayed at most; 0 is no bound.
    #[serde(default)]
    pub head: u64,
    /// The first request that is replayed arrives at 0; false keeps its distance from the start of the trace, in each
    /// pass of `repeat`.
    #[serde(default = "yes")]
    pub rebase: bool,
    /// Requests arrive at this multiple of the trace's own rate: 2 replays twice as fast.
    #[serde(default = "one")]
    pub rate_scale: f64,
    /// Replay the trace this many times, one after the other.
    #[serde(default = "once")]
    pub repeat: u32,
    /// Requests are widened to multiples of this, trims narrowed; 0B leaves them as they are.
    #[serde(default)]
    pub align: Bytes,
    /// What to do with addresses beyond the device.
    #[serde(default)]
    pub remap: Remap,
}

impl TraceSpec {
    /// The trace in `file`, replayed as it is.
    pub fn new(file: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            format: None,
            time_unit: None,
            lba_unit: None,
            event: TraceEvent::default(),
            spread: Spread::default(),
            devices: Vec::new(),
            layout: Layout::default(),
            ignore: Vec::new(),
            from: Duration::ZERO,
            to: Duration::ZERO,
            skip: 0,
            head: 0,
            rebase: true,
            rate_scale: 1.0,
            repeat: 1,
            align: Bytes::new(0),
            remap: Remap::default(),
        }
    }
}

fn one() -> f64 {
    1.0
}

fn once() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// The format of a trace file (`manx trace formats`; each reader's own page).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceFormat {
    /// MSR Cambridge csv.
    Msr,
    /// MQSim ascii.
    Mqsim,
    /// SSDsim ascii.
    Ssdsim,
    /// DiskSim ascii.
    Disksim,
    /// UCARE replayer ascii.
    Ucare,
    /// blkparse text.
    Blkparse,
    /// SPC, in which UMass keeps its traces.
    Spc,
    /// Microsoft's Event Tracing for Windows as csv.
    Etw,
    /// Alibaba's block traces.
    Alibaba,
    /// Tencent CBS.
    Tencent,
    /// SYSTOR '17.
    Systor,
    /// Windows Performance Analyzer, Disk Usage.
    Wpa,
    /// libCacheSim's csv of vscsi traces.
    Libcachesim,
    /// The UCARE replayer's log.
    UcareLog,
    /// Manx's own csv.
    Manx,
    /// blktrace, binary.
    Blktrace,
    /// fio's iolog, version 2.
    FioV2,
    /// fio's iolog, version 3.
    FioV3,
    /// fio's log of latencies, with offsets.
    FioLat,
    /// Block events of ftrace, as text.
    Ftrace,
    /// blkreplay's loads.
    Blkreplay,
    /// FIU IODedup text.
    Fiu,
    /// vscsiStats of VMware (CloudPhysics), binary.
    Vscsi,
    /// libCacheSim's oracleGeneral, binary.
    OracleGeneral,
    /// Manx's own binary rows, which a Parquet file is read as.
    #[serde(alias = "parquet")]
    ManxRecords,
}

/// The unit of a trace's addresses and sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LbaUnit {
    /// Bytes.
    Bytes,
    /// Sectors of 512 bytes.
    Sectors,
}

impl LbaUnit {
    /// How it is named on the command line and in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            LbaUnit::Bytes => "bytes",
            LbaUnit::Sectors => "sectors",
        }
    }

    /// Bytes in one of it.
    pub const fn bytes(self) -> u64 {
        match self {
            LbaUnit::Bytes => 1,
            LbaUnit::Sectors => crate::units::SECTOR,
        }
    }
}

/// Which of a request's events is its record, in traces of the block layer (blkparse, blktrace, ftrace).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceEvent {
    /// The request entered the block layer (Q).
    Queue,
    /// The device was asked (D).
    #[default]
    Issue,
    /// The device answered (C).
    Complete,
}

/// What becomes of requests within one second, where the format's clock has whole seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Request i of n comes i/n into the second.
    #[default]
    Even,
    /// All come at once, at the start of the second.
    None,
}

/// How the address spaces of several devices become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// One after the other.
    #[default]
    Concat,
    /// Each starts at 0: the devices are views of one.
    Overlay,
    /// Each device has a drive of its own, all with the same settings and the same starting state. Preconditioning with
    /// the workload's own pages lays them upon each other, as `overlay` does.
    Separate,
}

/// A kind of request, to leave it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceOp {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Flushes.
    Flush,
    /// Trims (discards).
    Trim,
    /// Not a request: the FUA flag of those that carry it.
    Fua,
}

/// The unit of a trace's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimeUnit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

/// What to do with addresses beyond the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Remap {
    /// Nothing: an address beyond the device is an error.
    #[default]
    None,
    /// The address modulo the device.
    Modulo,
    /// Touched extents are packed together, in address order.
    Dense,
    /// The address times device / span.
    Scale,
}
