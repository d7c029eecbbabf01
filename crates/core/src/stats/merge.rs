//! Several drives as one result.
//!
//! Counts add up, as do capacities; latencies go into one histogram, so a percentile is that of all requests together.
//! The span is the longest: the drives ran side by side. A rate is all requests over that span.

use super::{
    Attribution, BufferCounters, FlashCounters, GcCounters, Outcome, RainCounters, RotationCounters, RunTotals,
    SLOWEST, SlowRequest, VerifyReport, WearCounters,
};
use crate::units::Bytes;

impl RunTotals {
    /// Adds what another drive of the same run measured. The trace report stays that of these totals.
    pub fn add_drive(&mut self, other: RunTotals) {
        self.drives += other.drives;
        self.outcome = worse(self.outcome, other.outcome);
        self.span = self.span.max(other.span);
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.trim.merge(&other.trim);
        self.flush.merge(&other.flush);
        self.state.add(&other.state);
        self.gc.add(&other.gc);
        self.flash.add(&other.flash);
        self.wear.add(&other.wear);
        if let (Some(stress), Some(other)) = (&mut self.stress, &other.stress) {
            stress.add(other);
        }
        self.buffer.add(&other.buffer);
        self.rain = match (self.rain, other.rain) {
            (Some(one), Some(two)) => Some(one.and(two)),
            (one, two) => one.or(two),
        };
        self.rotation = match (self.rotation, other.rotation) {
            (Some(one), Some(two)) => Some(one.and(two)),
            (one, two) => one.or(two),
        };
        self.scrub = match (self.scrub, other.scrub) {
            (Some(one), Some(two)) => Some(one.and(two)),
            (one, two) => one.or(two),
        };
        self.log = match (self.log, other.log) {
            (Some(one), Some(two)) => Some(one.and(two)),
            (one, two) => one.or(two),
        };
        // The power of all drives fails at once; each says what it made of it, and the first is shown.
        self.power_loss = self.power_loss.or(other.power_loss);
        self.map = match (self.map, other.map) {
            (Some(one), Some(two)) => Some(one.and(two)),
            (one, two) => one.or(two),
        };
        self.faults = match (self.faults, other.faults) {
            (Some(one), Some(two)) => Some(one.and(two)),
            (one, two) => one.or(two),
        };
        self.raw = Bytes::new(self.raw.get() + other.raw.get());
        self.map_ram += other.map_ram;
        self.user = Bytes::new(self.user.get() + other.user.get());
        self.verify = match (self.verify.take(), other.verify) {
            (Some(one), Some(two)) => Some(VerifyReport {
                reads_checked: one.reads_checked + two.reads_checked,
                mismatches: one.mismatches + two.mismatches,
            }),
            (one, two) => one.or(two),
        };
        self.over_time.merge(other.over_time);
        self.attribution = match (self.attribution.take(), other.attribution) {
            (Some(one), Some(two)) => Some(one.and(two)),
            (one, two) => one.or(two),
        };
        self.warmup_excluded.requests += other.warmup_excluded.requests;
        self.warnings.extend(other.warnings);
    }
}

impl Attribution {
    fn and(mut self, other: Attribution) -> Attribution {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        slowest_of(&mut self.slowest, other.slowest);
        slowest_of(&mut self.slowest_reads, other.slowest_reads);
        slowest_of(&mut self.slowest_writes, other.slowest_writes);
        self
    }
}

fn slowest_of(one: &mut Vec<SlowRequest>, two: Vec<SlowRequest>) {
    one.extend(two);
    // Stable: of equals, those of the earlier drive come first.
    one.sort_by(|one, two| two.latency_us.total_cmp(&one.latency_us));
    one.truncate(SLOWEST);
}

/// A run that was stopped is partial; of the others, a defect shows.
fn worse(one: Outcome, two: Outcome) -> Outcome {
    let rank = |outcome| match outcome {
        Outcome::Completed => 0,
        Outcome::Starved => 1,
        Outcome::Stuck => 2,
        Outcome::Partial => 3,
    };
    if rank(two) > rank(one) { two } else { one }
}

impl GcCounters {
    fn add(&mut self, other: &Self) {
        let Self { blocked_reads, blocked_at_split_reads, runs, pages_copied, forced, free_reclaims, .. } = other;
        self.blocked_reads += blocked_reads;
        self.blocked_at_split_reads += blocked_at_split_reads;
        self.runs += runs;
        self.pages_copied += pages_copied;
        self.forced += forced;
        self.free_reclaims += free_reclaims;
        self.copying_max_ns = self.copying_max_ns.max(other.copying_max_ns);
        self.used_max_millionths = self.used_max_millionths.max(other.used_max_millionths);
    }
}

impl FlashCounters {
    fn add(&mut self, other: &Self) {
        let Self { host_pages_written, pages_programmed, pages_padded, pages_read, erases, .. } = other;
        self.host_pages_written += host_pages_written;
        self.pages_programmed += pages_programmed;
        self.pages_padded += pages_padded;
        self.checkpoint_pages += other.checkpoint_pages;
        self.checkpoints += other.checkpoints;
        self.pages_read += pages_read;
        self.erases += erases;
        self.suspensions += other.suspensions;
        self.aborted_pulse_ns += other.aborted_pulse_ns;
        self.extra_ramps += other.extra_ramps;
        self.erases_held += other.erases_held;
        self.erases_held_ns += other.erases_held_ns;
        self.erases_held_max_ns = self.erases_held_max_ns.max(other.erases_held_max_ns);
        self.suspensions_per_erase_max = self.suspensions_per_erase_max.max(other.suspensions_per_erase_max);
        self.program_suspensions += other.program_suspensions;
        self.aborted_phase_ns += other.aborted_phase_ns;
        self.suspensions_per_program_max = self.suspensions_per_program_max.max(other.suspensions_per_program_max);
    }
}

impl RotationCounters {
    fn and(self, other: Self) -> Self {
        Self {
            postponed: self.postponed + other.postponed,
            postponed_max_ns: self.postponed_max_ns.max(other.postponed_max_ns),
            switched_off: self.switched_off + other.switched_off,
            off_ns: self.off_ns + other.off_ns,
        }
    }
}

impl RainCounters {
    fn and(self, other: Self) -> Self {
        Self {
            data_programs: self.data_programs + other.data_programs,
            parity_programs: self.parity_programs + other.parity_programs,
            copy_parity_programs: match (self.copy_parity_programs, other.copy_parity_programs) {
                (Some(a), Some(b)) => Some(a + b),
                (one, other) => one.or(other),
            },
            parity_reads: self.parity_reads + other.parity_reads,
            full_stripes: self.full_stripes + other.full_stripes,
            partial_stripes: self.partial_stripes + other.partial_stripes,
            subtractive_stripes: self.subtractive_stripes + other.subtractive_stripes,
            stripe_pages: self.stripe_pages + other.stripe_pages,
            reconstructed_pages: self.reconstructed_pages + other.reconstructed_pages,
            extra_reads: self.extra_reads + other.extra_reads,
            tolerant: self.tolerant || other.tolerant,
            whole_stripes: self.whole_stripes + other.whole_stripes,
            refused_stripes: self.refused_stripes + other.refused_stripes,
            turned_updates: self.turned_updates + other.turned_updates,
        }
    }
}

impl WearCounters {
    fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.erases_total += other.erases_total;
        self.erases_squared += other.erases_squared;
        self.erases_min = self.erases_min.min(other.erases_min);
        self.erases_max = self.erases_max.max(other.erases_max);
    }
}

impl BufferCounters {
    fn add(&mut self, other: &Self) {
        let Self { read_hits, write_hits, stalls, rmw_reads } = other;
        self.read_hits += read_hits;
        self.write_hits += write_hits;
        self.stalls += stalls;
        self.rmw_reads += rmw_reads;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::OpStats;
    use crate::units::Duration;

    fn drive(reads: u64, latency_us: u64, span_s: u64, wear: [u64; 3]) -> RunTotals {
        let mut read = OpStats::default();
        (0..reads).for_each(|_| read.record(Duration::from_us(latency_us), 4096));
        RunTotals {
            drives: 1,
            span: Duration::from_s(span_s),
            read,
            flash: FlashCounters { host_pages_written: 100, pages_programmed: 100 * span_s, ..Default::default() },
            gc: GcCounters { copying_max_ns: 30 * span_s, used_max_millionths: 7 * span_s, ..Default::default() },
            wear: WearCounters::of(wear),
            raw: Bytes::kib(8),
            user: Bytes::kib(6),
            verify: Some(VerifyReport { reads_checked: reads, mismatches: 0 }),
            ..Default::default()
        }
    }

    /// Of two drives the longest, the most and the fullest is that of the one which has it, whichever comes first.
    #[test]
    fn extremes_of_two_drives_are_those_of_the_worse() {
        let extremes = |scale: u64| {
            let flash = FlashCounters {
                erases_held: 2,
                erases_held_ns: 10 * scale,
                erases_held_max_ns: 9 * scale,
                suspensions_per_erase_max: 4 * scale,
                suspensions_per_program_max: 3 * scale,
                ..Default::default()
            };
            RunTotals { flash, ..drive(1, 1, scale, [0, 0, 0]) }
        };
        for (one, two) in [(1, 2), (2, 1)] {
            let mut all = extremes(one);
            all.add_drive(extremes(two));
            let (flash, gc) = (&all.flash, &all.gc);
            assert_eq!((flash.erases_held, flash.erases_held_ns, flash.erases_held_max_ns), (4, 30, 18));
            assert_eq!((flash.suspensions_per_erase_max, flash.suspensions_per_program_max), (8, 6));
            assert_eq!((gc.copying_max_ns, gc.used_max_millionths), (60, 14));
        }
    }

    #[test]
    fn two_drives_add_up_over_the_longer_span() {
        let mut all = drive(300, 10, 2, [1, 2, 3]);
        all.add_drive(RunTotals { outcome: Outcome::Starved, ..drive(100, 50, 4, [0, 9, 9]) });
        let result = all.into_result();
        assert_eq!((result.drives, result.requests, result.virtual_s), (Some(2), 400, 4.0));
        assert_eq!((result.read.mean_us, result.read.max_us, result.read.iops), (Some(20.0), Some(50.0), 100.0));
        assert_eq!(result.flash.waf, Some(3.0));
        let wear = result.flash.wear;
        assert_eq!((wear.erases_min, wear.erases_mean, wear.erases_max), (0, 4.0, 9));
        // Of all blocks of both, not the mean of two deviations.
        let apart = [1.0, 2.0, 3.0, 0.0, 9.0, 9.0].map(|erases: f64| (erases - 4.0) * (erases - 4.0));
        assert!((wear.erases_stddev - (apart.iter().sum::<f64>() / 6.0).sqrt()).abs() < 1e-6);
        assert_eq!(result.verify.map(|verify| verify.reads_checked), Some(400));
        assert_eq!(result.outcome, Outcome::Starved);
        assert_eq!(drive(1, 1, 1, [0, 0, 0]).into_result().drives, None);
    }
}
