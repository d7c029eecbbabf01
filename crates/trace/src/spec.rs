//! The settings of a replay, as a scenario writes them: the file, its units, what of it is played
//! and how.

use manx_base::units::{Bytes, Duration, SECTOR};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A trace to replay and how to treat it.
///
/// The order of the treatment, for each request of the file. First what is replayed, in this order:
/// `to` ends the reading, as does `head`; then `devices`, `ignore`, `from` and `skip` leave
/// requests out, each counted under the first reason that applies (so `skip` and `head` count
/// requests that all else would replay). Times are rebased on the first request that is left. Then
/// how: the devices are laid out (`layout`), requests widened to `align`, fitted to the device
/// (`remap`), and times scaled (`rate_scale`). All of it is the same in each pass of `repeat`.
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
    /// Treatment of requests within one second, where the format's clock has whole seconds.
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
    /// The first request that is replayed arrives at 0; false keeps its distance from the start of
    /// the trace, in each pass of `repeat`.
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
    /// Treatment of addresses beyond the device.
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
            LbaUnit::Sectors => SECTOR,
        }
    }
}

/// Which of a request's events is its record, in traces of the block layer (blkparse, blktrace,
/// ftrace).
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

/// Treatment of requests within one second, where the format's clock has whole seconds.
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
    /// Each device has a drive of its own, all with the same settings and the same starting state.
    /// Preconditioning with the workload's own pages lays them upon each other, as `overlay` does.
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

/// Treatment of addresses beyond the device.
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
