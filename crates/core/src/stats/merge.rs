//! Several drives as one result.
//!
//! Counts add up, as do capacities; latencies go into one histogram, so a percentile is that of all
//! requests together. The drives ran side by side: the span is from the first counted request of
//! any of them to the last end. A rate is all requests over that span.

use super::{Attribution, Outcome, RunTotals, SLOWEST, SlowRequest, VerifyReport};
use crate::units::Bytes;

/// Said of a warm-up of several drives.
const OF_EACH: &str = ", of each drive";

impl RunTotals {
    /// Adds what another drive of the same run measured. The trace report stays that of these
    /// totals.
    pub fn add_drive(&mut self, mut other: RunTotals) {
        self.drives += other.drives;
        self.outcome = worse(self.outcome, other.outcome);
        self.join_time(&mut other);
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.trim.merge(&other.trim);
        self.flush.merge(&other.flush);
        self.state.add(&other.state);
        self.counters.add(&other.counters);
        self.blocked_reads += other.blocked_reads;
        self.blocked_at_split_reads += other.blocked_at_split_reads;
        self.host_pages_written += other.host_pages_written;
        // `None` is below any number.
        self.used_max_millionths = self.used_max_millionths.max(other.used_max_millionths);
        self.wear.add(&other.wear);
        if let (Some(stress), Some(other)) = (&mut self.stress, &other.stress) {
            stress.add(other);
        }
        if let (Some(map), Some(other)) = (&mut self.map, &other.map) {
            map.add(other);
        }
        if let (Some(resets), Some(other)) = (&mut self.resets, &other.resets) {
            resets.add(other);
        }
        // The power of all drives fails at once.
        self.power_loss = match (self.power_loss, other.power_loss) {
            (Some(one), Some(two)) => Some(one.and(&two)),
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
        let warmup = &mut self.warmup_excluded;
        warmup.requests += other.warmup_excluded.requests;
        if other.warmup_excluded.requests > 0 && !warmup.rule.ends_with(OF_EACH) {
            warmup.rule += OF_EACH;
        }
        self.warnings.extend(other.warnings);
    }

    /// The time of both, and slices that begin at one instant. A drive whose requests were not
    /// counted, or are another's, has no time of its own.
    fn join_time(&mut self, other: &mut RunTotals) {
        if !other.counts_requests() {
            return;
        }
        if !self.counts_requests() {
            (self.since, self.span) = (other.since, other.span);
            return;
        }
        let since = self.since.min(other.since);
        let until = (self.since + self.span).max(other.since + other.span);
        self.over_time.starts_earlier(self.since.since(since));
        other.over_time.starts_earlier(other.since.since(since));
        (self.since, self.span) = (since, until.since(since));
    }

    fn counts_requests(&self) -> bool {
        [&self.read, &self.write, &self.trim, &self.flush].iter().any(|of| of.count() > 0)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::PowerLossReport;
    use crate::stats::{
        Counters, Kind, MapMemory, OpStats, StateTotals, StressCounters, SuspensionCounters,
        WarmupExcluded, WearCounters, Written,
    };
    use crate::units::{Duration, Instant};

    fn drive(reads: u64, latency_us: u64, span_s: u64, wear: [u64; 3]) -> RunTotals {
        let mut read = OpStats::default();
        (0..reads).for_each(|_| read.record(Duration::from_us(latency_us), 4096));
        RunTotals {
            drives: 1,
            span: Duration::from_s(span_s),
            read,
            counters: Counters {
                host_units: 100 * span_s,
                copying_max: Duration::from_us(30 * span_s),
                ..Default::default()
            },
            host_pages_written: 100,
            used_max_millionths: Some(70_000 * span_s),
            wear: WearCounters::of(wear),
            raw: Bytes::kib(8),
            user: Bytes::kib(6),
            verify: Some(VerifyReport { reads_checked: reads, mismatches: 0 }),
            ..Default::default()
        }
    }

    /// Of two drives the longest, the most and the fullest is that of the one which has it,
    /// whichever comes first.
    #[test]
    fn extremes_of_two_drives_are_those_of_the_worse() {
        let extremes = |scale: u64| {
            let RunTotals { counters, .. } = drive(1, 1, scale, [0, 0, 0]);
            let suspended = SuspensionCounters {
                per_erase_max: 4 * scale,
                per_program_max: 3 * scale,
                ..Default::default()
            };
            let counters = Counters {
                erases_held: 2,
                erases_held_time: Duration::from_us(10 * scale),
                erases_held_max: Duration::from_us(9 * scale),
                suspended,
                ..counters
            };
            RunTotals { counters, ..drive(1, 1, scale, [0, 0, 0]) }
        };
        for (one, two) in [(1, 2), (2, 1)] {
            let mut all = extremes(one);
            all.add_drive(extremes(two));
            let result = all.into_result();
            let (flash, gc) = (&result.flash, &result.gc);
            // 30 us of four erases.
            assert_eq!(
                (flash.erases_held, flash.erase_hold_mean_us, flash.erase_hold_max_us),
                (4, Some(7.5), 18.0)
            );
            assert_eq!(
                (flash.suspensions_per_erase_max, flash.suspensions_per_program_max),
                (8, 6)
            );
            assert_eq!((gc.copying_max_us, gc.free_min_percent), (60.0, Some(86.0)));
        }
    }

    /// A drive of which every number that drives add up, or compare, is a multiple of `scale`.
    fn scaled(scale: u64) -> RunTotals {
        let mut all = drive(1, 1, scale, [scale, 2 * scale, 3 * scale]);
        let count = |stats: &mut OpStats, times: u64| {
            *stats = OpStats::default();
            (0..times * scale).for_each(|_| stats.record(Duration::from_us(1), 512));
        };
        count(&mut all.read, 2);
        count(&mut all.write, 3);
        count(&mut all.trim, 5);
        count(&mut all.flush, 7);
        let half = |times: u64| Written { host_bytes: times * scale, reclaimed: 2 * times * scale };
        all.state = StateTotals {
            free_bytes: Some(9 * scale),
            halves: [half(10), half(11)],
            ..StateTotals::default()
        };
        (all.blocked_reads, all.blocked_at_split_reads) = (12 * scale, 13 * scale);
        all.host_pages_written = 14 * scale;
        all.stress = Some(StressCounters { blocks: 15 * scale, ..Default::default() });
        all.map = Some(MapMemory { cached_entries: 16 * scale, ..Default::default() });
        (all.raw, all.user, all.map_ram) =
            (Bytes::new(17 * scale), Bytes::new(18 * scale), 19 * scale);
        all.verify = Some(VerifyReport { reads_checked: 20 * scale, mismatches: 21 * scale });
        all.over_time.record(Kind::Read, Duration::ZERO, Duration::from_us(scale));
        let mut split = Attribution::default();
        (0..scale).for_each(|_| split.slowest.push(SlowRequest { lba: scale, ..slow(scale) }));
        (split.slowest_reads, split.slowest_writes) = (vec![slow(22 * scale)], vec![slow(scale)]);
        all.attribution = Some(split);
        all.warmup_excluded = WarmupExcluded { requests: 23 * scale, ..Default::default() };
        all.warnings = vec![format!("drive {scale}")];
        all
    }

    fn slow(latency: u64) -> SlowRequest {
        SlowRequest { latency_us: latency as f64, ..SlowRequest::default() }
    }

    /// Every field of one drive is unequal to that of the other, so that none can be left out or
    /// taken from one of them alone.
    #[test]
    fn no_field_of_two_unequal_drives_is_left_out() {
        for (one, two) in [(1, 2), (2, 1)] {
            let mut all = scaled(one);
            all.add_drive(scaled(two));
            assert_eq!((all.drives, all.span), (2, Duration::from_s(2)));
            let counts = [&all.read, &all.write, &all.trim, &all.flush].map(OpStats::count);
            assert_eq!(counts, [6, 9, 15, 21]);
            assert_eq!(all.state.free_bytes, Some(27));
            let half = |host_bytes: u64| Written { host_bytes, reclaimed: 2 * host_bytes };
            assert_eq!(all.state.halves, [half(30), half(33)]);
            let Counters { host_units, copying_max, .. } = all.counters;
            assert_eq!((host_units, copying_max), (300, Duration::from_us(60)));
            assert_eq!((all.blocked_reads, all.blocked_at_split_reads), (36, 39));
            assert_eq!((all.host_pages_written, all.used_max_millionths), (42, Some(140_000)));
            let WearCounters { erases_total, erases_min, erases_max, .. } = all.wear;
            assert_eq!((erases_total, erases_min, erases_max), (18, 1, 6));
            assert_eq!(all.stress.map(|stress| stress.blocks), Some(45));
            assert_eq!(all.map.map(|map| map.cached_entries), Some(48));
            assert_eq!((all.raw, all.user, all.map_ram), (Bytes::new(51), Bytes::new(54), 57));
            let verify = all.verify.map(|verify| (verify.reads_checked, verify.mismatches));
            assert_eq!(verify, Some((60, 63)));
            let slices = all.over_time.report(all.since).unwrap().read;
            assert_eq!((slices.count, slices.max_us), (vec![2], vec![Some(2.0)]));
            let split = all.attribution.unwrap();
            let latencies =
                |of: &[SlowRequest]| of.iter().map(|r| r.latency_us).collect::<Vec<_>>();
            assert_eq!(latencies(&split.slowest), [2.0, 2.0, 1.0]);
            assert_eq!(latencies(&split.slowest_reads), [44.0, 22.0]);
            assert_eq!(latencies(&split.slowest_writes), [2.0, 1.0]);
            assert_eq!(all.warmup_excluded.requests, 69);
            assert_eq!(all.warnings, [format!("drive {one}"), format!("drive {two}")]);
        }
    }

    #[test]
    fn two_drives_add_up_over_the_longer_span() {
        let mut all = drive(300, 10, 2, [1, 2, 3]);
        all.add_drive(RunTotals { outcome: Outcome::Starved, ..drive(100, 50, 4, [0, 9, 9]) });
        let result = all.into_result();
        assert_eq!((result.drives, result.requests, result.virtual_s), (Some(2), 400, 4.0));
        assert_eq!(
            (result.read.mean_us, result.read.max_us, result.read.iops),
            (Some(20.0), Some(50.0), 100.0)
        );
        assert_eq!(result.flash.waf, Some(3.0));
        let wear = result.flash.wear;
        assert_eq!((wear.erases_min, wear.erases_mean, wear.erases_max), (0, 4.0, 9));
        // Of all blocks of both, not the mean of two deviations.
        let apart =
            [1.0, 2.0, 3.0, 0.0, 9.0, 9.0].map(|erases: f64| (erases - 4.0) * (erases - 4.0));
        assert!((wear.erases_stddev - (apart.iter().sum::<f64>() / 6.0).sqrt()).abs() < 1e-6);
        assert_eq!(result.verify.map(|verify| verify.reads_checked), Some(400));
        assert_eq!(result.outcome, Outcome::Starved);
        assert_eq!(drive(1, 1, 1, [0, 0, 0]).into_result().drives, None);
    }

    /// Two drives of one trace, the second of which is asked 3 s later: both once a second.
    #[test]
    fn the_time_is_from_the_first_request_of_any_drive_to_the_last_end() {
        let from = |since_s: u64| RunTotals {
            since: Instant::START + Duration::from_s(since_s),
            ..drive(2, 5, 1, [1, 1, 1])
        };
        for (first, second) in [(0, 3), (3, 0)] {
            let mut both = from(first);
            both.add_drive(from(second));
            assert_eq!((both.since, both.span), (Instant::START, Duration::from_s(4)));
        }
        // The members of an array have no requests of their own.
        let mut array = from(3);
        array.add_drive(RunTotals { drives: 1, ..RunTotals::default() });
        assert_eq!((array.since, array.span), (from(3).since, Duration::from_s(1)));
        let warmed = |requests| WarmupExcluded { rule: "the first 2".to_string(), requests };
        let mut both = RunTotals { warmup_excluded: warmed(2), ..from(0) };
        both.add_drive(RunTotals { warmup_excluded: warmed(2), ..from(0) });
        assert_eq!(both.warmup_excluded.rule, "the first 2, of each drive");
        assert_eq!(both.warmup_excluded.requests, 4);
    }

    #[test]
    fn a_power_loss_of_two_drives_is_what_both_lost_until_the_later_is_back() {
        let of = |pages_lost, recovery_us| PowerLossReport {
            pages_lost,
            recovery_us,
            scan_us: recovery_us / 2,
            ..PowerLossReport::default()
        };
        let both = of(51, 10).and(&of(40, 30));
        assert_eq!((both.pages_lost, both.recovery_us, both.scan_us), (91, 30, 15));
    }
}
