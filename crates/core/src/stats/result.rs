//! The result of a run: `result.json`, one object a policy. Its comments become the JSON schema, so
//! each names the unit.
//!
//! Invariant: everything outside `machine` is a function of scenario and seed and compares byte for
//! byte; `machine` is last. No number here is ever NaN or infinite (JSON has neither): over zero a
//! ratio is null, and a rate is 0.

use super::{
    ActReport, ArrayCounters, AttributionReport, BufferCounters, CountSummary, FaultCounters,
    LatencySummary, LogReport, MapReport, OverTimeReport, PaceReport, PowerLossReport, PowerReport,
    PslcReport, PtsReport, RainReport, ResetCounters, RetryReport, RotationReport, ScrubReport,
    StateReport, StressReport, TraceReport, ratio,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Several runs of one comparison, the first being the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSet {
    /// One result a policy, in the order in which they were asked for.
    pub runs: Vec<RunResult>,
}

/// The result of one run. Requests of the warm-up are in none of its numbers, but what a drive
/// still did of them when the counted part began is in its counters, and `verify`, `faults` and
/// what says so are of the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// The scenario's name.
    pub scenario: String,
    /// The policy's name.
    pub policy: String,
    /// The policy and the scenario's own settings as one path of everything that is decided,
    /// `base/sepbit`.
    #[serde(default)]
    pub path: String,
    /// The policy on each axis (array, gc, turns, ftl, rain, erase, buffer), also where it does
    /// nothing.
    #[serde(default)]
    pub axes: BTreeMap<String, String>,
    /// The run and its drive, for a title: the scenario, or the trace that takes its workload's
    /// place.
    #[serde(default)]
    pub title: String,
    /// The root seed of every random stream.
    pub seed: u64,
    /// How the run ended.
    pub outcome: Outcome,
    /// Drives that ran side by side, one for each device of the trace, and whose numbers are added
    /// up here (drives); absent where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drives: Option<u64>,
    /// Completed requests of every kind (requests).
    pub requests: u64,
    /// Reads.
    pub read: LatencySummary,
    /// Writes.
    pub write: LatencySummary,
    /// Trims (deallocations).
    pub trim: CountSummary,
    /// Flushes.
    pub flush: CountSummary,
    /// The state that the drive began in, and whether what was measured was steady.
    #[serde(default)]
    pub state: StateReport,
    /// Whether the drive was steady as SNIA's PTS judges; absent unless it was asked for (`--pts`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pts: Option<PtsReport>,
    /// Garbage collection.
    pub gc: GcReport,
    /// The flash.
    pub flash: FlashReport,
    /// Stress of the blocks by erase suspension; null where no erase can be suspended and all take
    /// the same time.
    #[serde(default)]
    pub stress: Option<StressReport>,
    /// The write buffer.
    pub buffer: BufferCounters,
    /// Parity inside the drive; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rain: Option<RainReport>,
    /// Turns of the planes of a group, and their cost; absent where planes take no turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation: Option<RotationReport>,
    /// GC runs paced against the host's writes; absent where they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<PaceReport>,
    /// Bit errors and scrubbing; absent where they are not modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrub: Option<ScrubReport>,
    /// Read retry; absent where every read decodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryReport>,
    /// The power budget of programs and erases; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerReport>,
    /// The cache of blocks with one bit a cell; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pslc: Option<PslcReport>,
    /// The array of drives; absent with a drive alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayCounters>,
    /// The log-block FTL; absent with page mapping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogReport>,
    /// The power loss of the run; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_loss: Option<PowerLossReport>,
    /// Requests that waited too long, and a host that reset the drive (`host.on_timeout`); absent
    /// where a host does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets: Option<ResetCounters>,
    /// The map where it lies on flash; absent where DRAM holds the whole map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<MapReport>,
    /// Bad blocks; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<FaultCounters>,
    /// Capacity and over-provisioning.
    pub capacity: CapacityReport,
    /// The trace that was replayed; null for a generated workload.
    pub trace: Option<TraceReport>,
    /// The integrity oracle's checks; null when it was off.
    pub verify: Option<VerifyReport>,
    /// The Aerospike Certification Tool's slices and verdicts; null unless that was the load.
    pub act: Option<ActReport>,
    /// Latency over the time of the run; null when no read and no write was counted.
    #[serde(default)]
    pub over_time: Option<OverTimeReport>,
    /// Where the time of requests went; null when it was not asked for.
    #[serde(default)]
    pub attribution: Option<AttributionReport>,
    /// Virtual time that was measured (seconds, in whole nanoseconds).
    pub virtual_s: f64,
    /// The warm-up: requests that are in no number.
    pub warmup_excluded: WarmupExcluded,
    /// Warnings that a reader of these numbers must know, one sentence each.
    pub warnings: Vec<String>,
    /// Figures that depend on the machine, and only those.
    pub machine: MachineReport,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every request of the workload was completed.
    #[default]
    Completed,
    /// A request waited longer than `measure.timeout`, as a host would not: the numbers are those
    /// until then, and the requests that still waited are in none of them.
    Starved,
    /// Requests were left that the drive never completed: a defect of the model, never a property
    /// of a drive.
    Stuck,
    /// The run was stopped before its end; the numbers are those until then.
    Partial,
}

/// Garbage collection, and the reads that it blocked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GcReport {
    /// Reads with any nanosecond of GC in their latency (percent of reads); null without reads.
    pub blocked_reads_percent: Option<f64>,
    /// Reads that found GC at work when they were split, as the ttFlash code counts (percent of
    /// reads); null without reads.
    pub blocked_at_split_percent: Option<f64>,
    /// GC runs begun, each with a victim (runs).
    pub runs: u64,
    /// Pages copied; those that the `nogc` baseline moves at no cost are not counted (pages, in
    /// mapping units).
    pub pages_copied: u64,
    /// Victims reclaimed at or below the critical watermark of free space, before the host's
    /// requests (victims).
    pub forced: u64,
    /// Blocks reclaimed at no cost by the `nogc` baseline, in neither `runs` nor `erases` nor the
    /// WAF (blocks).
    pub free_reclaims: u64,
    /// The longest that a GC run took from its start until its last page was copied, before its
    /// erase, warm-up included (microseconds).
    #[serde(default)]
    pub copying_max_us: f64,
    /// The least that was free in any pool, warm-up included (percent of the pool's raw pages);
    /// null with log blocks.
    #[serde(default)]
    pub free_min_percent: Option<f64>,
}

/// Operations of the flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlashReport {
    /// Pages written by the host; by an array all that it wrote to its drives, parity and a rebuild
    /// included (pages, in mapping units).
    pub host_pages_written: u64,
    /// Pages programmed for whatever reason (pages, in mapping units).
    pub pages_programmed: u64,
    /// Of those, pages without data that fill a program unit (pages, in mapping units).
    pub pages_padded: u64,
    /// Of those, pages of checkpoints of the map (pages, in mapping units).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checkpoint_pages: u64,
    /// Checkpoints of the map that came to be whole (checkpoints).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checkpoints: u64,
    /// Pages read for whatever reason (pages, in mapping units).
    pub pages_read: u64,
    /// Blocks erased (blocks).
    pub erases: u64,
    /// Write amplification: pages programmed per page written by the host (ratio); null without
    /// host writes. Below 1 where the buffer took several writes of a page, or still holds the last
    /// ones.
    pub waf: Option<f64>,
    /// Times an erase or a program was suspended (suspensions).
    pub suspensions: u64,
    /// The most suspensions that one erase suffered, warm-up included (suspensions).
    pub suspensions_per_erase_max: u64,
    /// Erase pulses that were given up for reads and had to be repeated: stress without progress
    /// (microseconds).
    #[serde(default)]
    pub aborted_pulse_us: f64,
    /// Voltage ramps of erases beyond the one of each step, each a resumption of a pulse, also one
    /// that was cut short (ramps).
    #[serde(default)]
    pub extra_ramps: u64,
    /// Of the suspensions, those of programs (suspensions).
    #[serde(default)]
    pub program_suspensions: u64,
    /// The most suspensions that one program suffered, warm-up included (suspensions).
    #[serde(default)]
    pub suspensions_per_program_max: u64,
    /// Pulses and verifies of programs that were given up for reads and had to be repeated
    /// (microseconds).
    #[serde(default)]
    pub aborted_phase_us: f64,
    /// Erases that were held back while their die served reads (erases).
    #[serde(default)]
    pub erases_held: u64,
    /// For how long on average (microseconds); null where none was.
    #[serde(default)]
    pub erase_hold_mean_us: Option<f64>,
    /// For how long at most, warm-up included (microseconds).
    #[serde(default)]
    pub erase_hold_max_us: f64,
    /// Erases per block since the device was new.
    pub wear: WearReport,
}

/// How often the blocks were erased since the device was new, preconditioning and warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WearReport {
    /// Erases of the least worn block (erases).
    pub erases_min: u64,
    /// Erases of a block on average (erases).
    pub erases_mean: f64,
    /// Erases of the most worn block (erases).
    pub erases_max: u64,
    /// The standard deviation of erases over all blocks (erases).
    #[serde(default)]
    pub erases_stddev: f64,
    /// P/E cycles for which a block is rated (cycles); absent where the device states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endurance: Option<u64>,
    /// Those of them that a block has used on average, `ageing.pe_cycles` included (percent), above
    /// 100 behind the rating; absent where the device states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentage_used: Option<f64>,
}

/// Capacity and over-provisioning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityReport {
    /// Raw capacity of the flash (bytes).
    pub raw_bytes: u64,
    /// Capacity that the host can address (bytes).
    pub user_bytes: u64,
    /// Over-provisioning: (raw - user) / user (percent); null without user capacity.
    pub op_percent: Option<f64>,
    /// RAM that the drive spends on its map: 4 bytes a page with page mapping, the cache and the
    /// directory where the map lies on flash, block maps and the map of the log with log blocks
    /// (bytes).
    #[serde(default)]
    pub map_ram_bytes: u64,
}

/// The integrity oracle's checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyReport {
    /// Completed reads compared with the newest acknowledged write (reads).
    pub reads_checked: u64,
    /// Reads that returned anything else (reads).
    pub mismatches: u64,
}

/// The warm-up: requests that are in no number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WarmupExcluded {
    /// The rule, as a sentence.
    pub rule: String,
    /// Requests left out by it (requests).
    pub requests: u64,
}

/// Counts up when a field of `result.json` is taken away or means something else; a new field
/// changes nothing.
pub const SCHEMA_VERSION: u32 = 1;

/// The program that computed a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// Its version.
    pub version: String,
    /// The commit that it was built from, with `-dirty` behind it when files differed; null where
    /// that was not known.
    pub commit: Option<String>,
    /// Version of this document's schema (a number that grows when a field goes or changes its
    /// meaning).
    pub schema: u32,
}

/// Figures that depend on the machine, and on the build. The core reads no clock: the program that
/// runs it fills this in, and null means "not measured".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MachineReport {
    /// CPU time of the preconditioning (seconds).
    pub precondition_cpu_s: Option<f64>,
    /// CPU time of the simulated part alone (seconds).
    pub cpu_s: Option<f64>,
    /// Requests, warm-up included, per second of `cpu_s` (1/s); null when the clock saw no time
    /// pass.
    pub requests_per_cpu_s: Option<f64>,
    /// Array reads, programs of rows and erases, for whatever reason, per second of `cpu_s` (1/s).
    pub flash_ops_per_cpu_s: Option<f64>,
    /// Largest resident set of the process (bytes).
    pub peak_rss_bytes: Option<u64>,
    /// Memory of the model per simulated page (bytes per page, in mapping units).
    pub simulated_bytes_per_page: Option<f64>,
    /// True if the preconditioned state was read from the cache.
    pub precondition_from_cache: bool,
    /// The program that computed this; null in results of 0.1.
    pub program: Option<Program>,
}

pub(super) fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl MachineReport {
    /// The CPU times of a run of `requests` requests, warm-up included. A time that is no number is
    /// "not measured".
    pub fn timed(precondition_cpu_s: f64, cpu_s: f64, requests: u64) -> Self {
        let measured = |s: f64| (s.is_finite() && s >= 0.0).then_some(s);
        let (precondition_cpu_s, cpu_s) = (measured(precondition_cpu_s), measured(cpu_s));
        let timed = Self { precondition_cpu_s, cpu_s, ..Self::default() };
        Self { requests_per_cpu_s: timed.rate_of(requests), ..timed }
    }

    /// This report with `operations` of the flash.
    pub fn with_flash_ops(self, operations: u64) -> Self {
        Self { flash_ops_per_cpu_s: self.rate_of(operations), ..self }
    }

    fn rate_of(&self, count: u64) -> Option<f64> {
        self.cpu_s.filter(|s| *s > 0.0).map(|s| count as f64 / s).filter(|rate| rate.is_finite())
    }

    /// This report with the memory: of the whole process, and of a model of `model_bytes` that
    /// simulates `pages` pages.
    pub fn with_memory(self, peak_rss_bytes: Option<u64>, model_bytes: u64, pages: u64) -> Self {
        let per_page = ratio::rounded(u128::from(model_bytes), u128::from(pages), 3);
        Self { peak_rss_bytes, simulated_bytes_per_page: per_page, ..self }
    }
}
