//! The totals of a run: what it has counted when it ends, and how that becomes its result.

use super::{
    ActReport, ArrayCounters, AttributionReport, BEYOND_MIN, CapacityReport, Counters, FlashReport,
    GcReport, LatencySummary, LogReport, MachineReport, MapMemory, OpStats, Outcome, OverTime,
    PowerLossReport, RainKind, RainReport, ResetCounters, RotationReport, RunResult, SlowRequest,
    SplitStats, StateTotals, StressCounters, TraceReport, VerifyReport, WarmupExcluded,
    WearCounters, WearReport, ratio,
};
use crate::units::{Bytes, Duration, Instant};
use std::collections::BTreeMap;

/// Everything that a run has counted when it ends; becomes the [`RunResult`].
#[derive(Clone, Debug, Default)]
pub struct RunTotals {
    /// The scenario's name.
    pub scenario: String,
    /// The policy's name.
    pub policy: String,
    /// The path of everything that is decided.
    pub path: String,
    /// The policy on each axis.
    pub axes: BTreeMap<String, String>,
    /// The run and its drive, for a title.
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
    /// Counters of the drives in `span`.
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
    /// Pages in use in the fullest pool at its fullest, in millionths of its raw pages.
    pub used_max_millionths: Option<u64>,
    /// Wear at the end.
    pub wear: WearCounters,
    /// Stress of the blocks by erase suspension, where it is on.
    pub stress: Option<StressCounters>,
    /// Relative growth of the error rate with 1000 extra ramps.
    pub rber_per_1000: f64,
    /// The array's counters, where there is one.
    pub array: Option<ArrayCounters>,
    /// The power loss, if there was one.
    pub power_loss: Option<PowerLossReport>,
    /// The host's resets, if it makes any.
    pub resets: Option<ResetCounters>,
    /// Where the map lies, if that is on flash.
    pub map: Option<MapMemory>,
    /// Raw capacity of the flash.
    pub raw: Bytes,
    /// Capacity that the host can address.
    pub user: Bytes,
    /// RAM for the map (bytes).
    pub map_ram: u64,
    /// The trace that was replayed.
    pub trace: Option<TraceReport>,
    /// The oracle's checks.
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
    /// Paced collections.
    pub pace: bool,
    /// Bit errors.
    pub scrub: bool,
    /// Read retry.
    pub retry: bool,
    /// A power budget.
    pub power: bool,
    /// A cache of blocks with one bit a cell.
    pub pslc: bool,
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
    fn report(self, of_array: bool) -> AttributionReport {
        let Self { read, write, slowest, slowest_reads, slowest_writes } = self;
        AttributionReport {
            read: read.bands(of_array),
            write: write.bands(of_array),
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
            pts: None,
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
            pace: parts.pace.then(|| counters.pace.into()),
            scrub: parts.scrub.then(|| counters.scrub.report(span)),
            retry: parts.retry.then(|| counters.retry.into()),
            array: self.array,
            power: parts.power.then(|| counters.power.into()),
            pslc: parts.pslc.then(|| counters.pslc.into()),
            log: parts.log.then(|| LogReport::new(&counters.log)),
            power_loss: self.power_loss,
            resets: self.resets,
            map: self.map.map(|memory| counters.map.report(&memory)),
            faults: parts.faults.then_some(counters.faults),
            capacity: CapacityReport::new(self.raw, self.user, self.map_ram),
            trace: self.trace,
            verify: self.verify,
            act: self.act,
            over_time: self.over_time.report(self.since),
            attribution: self.attribution.map(|all| all.report(self.array.is_some())),
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
            free_min_percent: totals
                .used_max_millionths
                .map(|used| (1_000_000 - used) as f64 / 1e4),
        }
    }
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
                endurance: (wear.endurance > 0).then_some(wear.endurance),
                percentage_used: wear.percentage_used(),
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

#[cfg(test)]
mod tests;
