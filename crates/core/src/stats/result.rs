//! The result of a run: `result.json`, one object a policy. Its comments become the JSON schema, so
//! each names the unit.
//!
//! Invariant: everything outside `machine` is a function of scenario and seed and compares byte for
//! byte; `machine` is last. No number here is ever NaN or infinite (JSON has neither): over zero a
//! ratio is null, and a rate is 0.

use super::{
    ActReport, ArrayCounters, AttributionReport, BEYOND_MIN, BufferCounters, CountSummary,
    Counters, FaultCounters, LatencySummary, LogReport, MapMemory, MapReport, OpStats, OverTime,
    OverTimeReport, PowerLossReport, RainKind, RainReport, RotationReport, ScrubReport,
    SlowRequest, SplitStats, StateReport, StateTotals, StressCounters, StressReport, TraceReport,
    WearCounters, ratio,
};
use crate::units::{Bytes, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Several runs of one comparison, the first being the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSet {
    /// One result a policy, in the order in which they were asked for.
    pub runs: Vec<RunResult>,
}

/// What one run tells. Requests of the warm-up are in none of its numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// The scenario's name.
    pub scenario: String,
    /// The policy's name.
    pub policy: String,
    /// What that amounts to with what the scenario says: the path of everything that is decided,
    /// `base/sepbit`.
    #[serde(default)]
    pub path: String,
    /// The same for each axis (array, gc, turns, ftl, rain, erase, buffer), also where it does
    /// nothing.
    #[serde(default)]
    pub axes: BTreeMap<String, String>,
    /// What was run on which drive, for a title: the scenario, or the trace that takes its
    /// workload's place.
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
    /// Garbage collection.
    pub gc: GcReport,
    /// The flash.
    pub flash: FlashReport,
    /// What erase suspension did to the blocks; null where no erase can be suspended and all
    /// take the same time.
    #[serde(default)]
    pub stress: Option<StressReport>,
    /// The write buffer.
    pub buffer: BufferCounters,
    /// Parity inside the drive; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rain: Option<RainReport>,
    /// What it cost that the planes of a group collect in turn; absent where they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation: Option<RotationReport>,
    /// Bit errors and scrubbing; absent where they are not modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrub: Option<ScrubReport>,
    /// What an array of drives did; absent with a drive alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayCounters>,
    /// What a log-block FTL did; absent with page mapping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogReport>,
    /// The power loss of the run; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_loss: Option<PowerLossReport>,
    /// The map where it lies on flash; absent where DRAM holds the whole map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<MapReport>,
    /// Bad blocks; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<FaultCounters>,
    /// Capacity and over-provisioning.
    pub capacity: CapacityReport,
    /// What was read from a trace; null for a generated workload.
    pub trace: Option<TraceReport>,
    /// What the integrity oracle checked; null when it was off.
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
    /// What a reader of these numbers must know, one sentence each.
    pub warnings: Vec<String>,
    /// What depends on the machine, and only that.
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

/// What garbage collection did, and to whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GcReport {
    /// Reads with any nanosecond of GC in their latency (percent of reads); null without reads.
    pub blocked_reads_percent: Option<f64>,
    /// Reads that found GC at work when they were split, as the ttFlash code counts (percent of
    /// reads); null without reads.
    pub blocked_at_split_percent: Option<f64>,
    /// Victims reclaimed (victims).
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
    /// The least that was free in any pool, warm-up included (percent of the pool's raw pages).
    #[serde(default)]
    pub free_min_percent: f64,
}

/// What was done to the flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlashReport {
    /// Pages written by the host (pages, in mapping units).
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
}

/// Capacity and over-provisioning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityReport {
    /// What the flash holds (bytes).
    pub raw_bytes: u64,
    /// What the host can address (bytes).
    pub user_bytes: u64,
    /// Over-provisioning: (raw - user) / user (percent); null without user capacity.
    pub op_percent: Option<f64>,
    /// RAM that the drive spends on its map: 4 bytes a page with page mapping, the cache and the
    /// directory where the map lies on flash, block maps and the map of the log with log blocks
    /// (bytes).
    #[serde(default)]
    pub map_ram_bytes: u64,
}

/// What the integrity oracle checked.
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

/// What depends on the machine, and on the build. The core reads no clock: who runs it fills this
/// in, and null means "not measured".
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

/// Everything that a run has counted when it ends; becomes the [`RunResult`].
#[derive(Clone, Debug, Default)]
pub struct RunTotals {
    /// The scenario's name.
    pub scenario: String,
    /// The policy's name.
    pub policy: String,
    /// What that amounts to.
    pub path: String,
    /// The same by axis.
    pub axes: BTreeMap<String, String>,
    /// What was run on which drive.
    pub title: String,
    /// The root seed.
    pub seed: u64,
    /// How the run ended.
    pub outcome: Outcome,
    /// Drives whose numbers these are.
    pub drives: u64,
    /// The virtual time that was measured: from the end of the warm-up to the last completion.
    pub span: Duration,
    /// When it began.
    pub since: Instant,
    /// Reads.
    pub read: OpStats,
    /// Writes.
    pub write: OpStats,
    /// Trims.
    pub trim: OpStats,
    /// Flushes.
    pub flush: OpStats,
    /// The state of the drives at the start and in `span`.
    pub state: StateTotals,
    /// What the drives counted in `span`.
    pub counters: Counters,
    /// Which parts of the result they have.
    pub parts: Parts,
    /// Reads with any nanosecond of GC in their latency.
    pub blocked_reads: u64,
    /// Reads that found GC at work when they were split into flash operations (the ttFlash code's
    /// metric).
    pub blocked_at_split_reads: u64,
    /// Pages written by the host in `span`, in mapping units, rounded for each drive.
    pub host_pages_written: u64,
    /// What the fullest pool held at its fullest, in millionths of its raw pages.
    pub used_max_millionths: u64,
    /// Wear at the end.
    pub wear: WearCounters,
    /// What erase suspension did to the blocks, where it is on.
    pub stress: Option<StressCounters>,
    /// Relative growth of the error rate with 1000 extra ramps.
    pub rber_per_1000: f64,
    /// What the array did, where there is one.
    pub array: Option<ArrayCounters>,
    /// The power loss, if there was one.
    pub power_loss: Option<PowerLossReport>,
    /// Where the map lies, if that is on flash.
    pub map: Option<MapMemory>,
    /// What the flash holds.
    pub raw: Bytes,
    /// What the host can address.
    pub user: Bytes,
    /// RAM for the map (bytes).
    pub map_ram: u64,
    /// What was read from a trace.
    pub trace: Option<TraceReport>,
    /// What the oracle checked.
    pub verify: Option<VerifyReport>,
    /// The view of the Aerospike Certification Tool.
    pub act: Option<ActReport>,
    /// Latencies by their time.
    pub over_time: OverTime,
    /// The parts of latencies, if they were asked for.
    pub attribution: Option<Attribution>,
    /// The warm-up: requests that are in no number.
    pub warmup_excluded: WarmupExcluded,
    /// Warnings of the run; those about percentiles are added.
    pub warnings: Vec<String>,
}

/// Parts of a result that only some drives have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Parity, and of which kind.
    pub rain: Option<RainKind>,
    /// Turns of planes.
    pub rotation: bool,
    /// Bit errors.
    pub scrub: bool,
    /// Log blocks.
    pub log: bool,
    /// Bad blocks.
    pub faults: bool,
}

/// Requests in the list of the slowest.
pub const SLOWEST: usize = 20;

/// The parts of latencies.
#[derive(Clone, Debug, Default)]
pub struct Attribution {
    /// Of reads.
    pub read: SplitStats,
    /// Of writes.
    pub write: SplitStats,
    /// The [`SLOWEST`] requests of every kind, the slowest first; the same of reads and of writes.
    pub slowest: Vec<SlowRequest>,
    /// Of reads.
    pub slowest_reads: Vec<SlowRequest>,
    /// Of writes.
    pub slowest_writes: Vec<SlowRequest>,
}

impl Attribution {
    fn report(self) -> AttributionReport {
        let Self { read, write, slowest, slowest_reads, slowest_writes } = self;
        AttributionReport {
            read: read.bands(),
            write: write.bands(),
            slowest,
            slowest_reads,
            slowest_writes,
        }
    }
}

impl RunTotals {
    /// The result, with `machine` still empty.
    pub fn into_result(self) -> RunResult {
        let (read, write) = (self.read.summary(self.span), self.write.summary(self.span));
        let (gc, flash) = (GcReport::new(&self, read.count), FlashReport::new(&self));
        let (counters, parts, span) = (&self.counters, self.parts, self.span);
        let mut warnings = self.warnings;
        warnings.extend(percentile_warning(&read, &write));
        RunResult {
            scenario: self.scenario,
            policy: self.policy,
            path: self.path,
            axes: self.axes,
            title: self.title,
            seed: self.seed,
            outcome: self.outcome,
            drives: (self.drives > 1).then_some(self.drives),
            requests: [&self.read, &self.write, &self.trim, &self.flush]
                .map(OpStats::count)
                .iter()
                .sum(),
            state: self
                .state
                .report(flash.pages_programmed, counters.erases + counters.free_erases),
            gc,
            read,
            write,
            trim: self.trim.count_summary(),
            flush: self.flush.count_summary(),
            flash,
            stress: self.stress.map(|stress| stress.report(self.rber_per_1000)),
            buffer: counters.buffer,
            rain: parts.rain.map(|kind| RainReport::new(kind, counters)),
            rotation: parts
                .rotation
                .then(|| RotationReport::new(&counters.rotation, span, self.drives)),
            scrub: parts.scrub.then(|| counters.scrub.report(span)),
            array: self.array,
            log: parts.log.then(|| LogReport::new(&counters.log)),
            power_loss: self.power_loss,
            map: self.map.map(|memory| counters.map.report(&memory)),
            faults: parts.faults.then_some(counters.faults),
            capacity: CapacityReport::new(self.raw, self.user, self.map_ram),
            trace: self.trace,
            verify: self.verify,
            act: self.act,
            over_time: self.over_time.report(self.since),
            attribution: self.attribution.map(Attribution::report),
            virtual_s: span.as_s_f64(),
            warmup_excluded: self.warmup_excluded,
            warnings,
            machine: MachineReport::default(),
        }
    }
}

/// One sentence for all percentiles that a run could not support, or nothing. No requests of a kind
/// is no reason to warn.
fn percentile_warning(read: &LatencySummary, write: &LatencySummary) -> Option<String> {
    let kinds =
        [("read", read), ("write", write)].into_iter().filter(|(_, summary)| summary.count > 0);
    let missing: Vec<String> = kinds
        .map(|(kind, summary)| (kind, summary.percentiles.unsupported()))
        .filter(|(_, levels)| !levels.is_empty())
        .map(|(kind, levels)| format!("{kind} {}", levels.join(", ")))
        .collect();
    (!missing.is_empty()).then(|| {
        format!(
            "fewer than {} samples lie beyond these percentiles, so they are null: {}",
            BEYOND_MIN,
            missing.join("; ")
        )
    })
}

impl GcReport {
    fn new(totals: &RunTotals, reads: u64) -> Self {
        let counters = &totals.counters;
        Self {
            blocked_reads_percent: ratio::percent(totals.blocked_reads, reads),
            blocked_at_split_percent: ratio::percent(totals.blocked_at_split_reads, reads),
            runs: counters.collections,
            pages_copied: counters.copied_units,
            forced: counters.forced_collections,
            free_reclaims: counters.free_erases,
            copying_max_us: counters.copying_max.as_us_f64(),
            free_min_percent: (1_000_000 - totals.used_max_millionths) as f64 / 1e4,
        }
    }
}

pub(super) fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl FlashReport {
    fn new(totals: &RunTotals) -> Self {
        let RunTotals { counters, host_pages_written, wear, .. } = totals;
        let (pages_programmed, suspended) = (counters.units_programmed(), &counters.suspended);
        let held_ns = counters.erases_held_time.as_ns();
        let mean = ratio::rounded(u128::from(wear.erases_total), u128::from(wear.blocks), 6);
        Self {
            host_pages_written: *host_pages_written,
            pages_programmed,
            pages_padded: counters.padded_units,
            checkpoint_pages: counters.checkpoint_units,
            checkpoints: counters.checkpoints,
            pages_read: counters.units_read,
            erases: counters.erases,
            waf: ratio::rounded(u128::from(pages_programmed), u128::from(*host_pages_written), 6),
            suspensions: suspended.suspensions + suspended.program_suspensions,
            suspensions_per_erase_max: suspended.per_erase_max,
            aborted_pulse_us: suspended.aborted.as_us_f64(),
            extra_ramps: suspended.extra_ramps,
            program_suspensions: suspended.program_suspensions,
            suspensions_per_program_max: suspended.per_program_max,
            aborted_phase_us: suspended.aborted_phases.as_us_f64(),
            erases_held: counters.erases_held,
            erase_hold_mean_us: ratio::rounded(
                held_ns.into(),
                u128::from(counters.erases_held) * 1000,
                3,
            ),
            erase_hold_max_us: counters.erases_held_max.as_us_f64(),
            wear: WearReport {
                erases_min: wear.erases_min,
                erases_mean: mean.unwrap_or(0.0),
                erases_max: wear.erases_max,
                erases_stddev: wear.stddev(),
            },
        }
    }
}

impl CapacityReport {
    fn new(raw: Bytes, user: Bytes, map_ram_bytes: u64) -> Self {
        let spare = raw.get().saturating_sub(user.get());
        let op_percent = ratio::percent(spare, user.get());
        Self { raw_bytes: raw.get(), user_bytes: user.get(), op_percent, map_ram_bytes }
    }
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

    /// The same with `operations` of the flash.
    pub fn with_flash_ops(self, operations: u64) -> Self {
        Self { flash_ops_per_cpu_s: self.rate_of(operations), ..self }
    }

    fn rate_of(&self, count: u64) -> Option<f64> {
        self.cpu_s.filter(|s| *s > 0.0).map(|s| count as f64 / s).filter(|rate| rate.is_finite())
    }

    /// The same with the memory: of the whole process, and of a model of `model_bytes` that
    /// simulates `pages` pages.
    pub fn with_memory(self, peak_rss_bytes: Option<u64>, model_bytes: u64, pages: u64) -> Self {
        let per_page = ratio::rounded(u128::from(model_bytes), u128::from(pages), 3);
        Self { peak_rss_bytes, simulated_bytes_per_page: per_page, ..self }
    }
}

#[cfg(test)]
mod tests;
