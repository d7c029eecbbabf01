use super::*;

fn reads(count: u64) -> OpStats {
    let mut stats = OpStats::default();
    (0..count).for_each(|_| stats.record(Duration::from_us(80), 4_096));
    stats
}

#[test]
fn a_run_of_nothing_has_no_number_that_json_cannot_write() {
    let result = RunTotals::default().into_result();
    assert_eq!((result.gc.blocked_reads_percent, result.flash.waf), (None, None));
    assert_eq!((result.capacity.op_percent, result.flash.wear.erases_mean), (None, 0.0));
    assert_eq!((result.read.iops, result.virtual_s), (0.0, 0.0));
    assert_eq!(result.warnings, Vec::<String>::new());
}

#[test]
fn requests_percentages_and_amplification_come_from_the_counts() {
    let totals = RunTotals {
        span: Duration::from_ms(250),
        read: reads(1_000),
        flush: reads(5),
        counters: Counters { host_units: 400, copied_units: 600, ..Default::default() },
        blocked_reads: 125,
        blocked_at_split_reads: 1,
        host_pages_written: 300,
        wear: WearCounters::of([1, 2, 2]),
        raw: Bytes::kib(128),
        user: Bytes::kib(100),
        ..Default::default()
    };
    let result = totals.into_result();
    assert_eq!((result.requests, result.read.iops, result.virtual_s), (1_005, 4_000.0, 0.25));
    assert_eq!(result.gc.blocked_reads_percent, Some(12.5));
    assert_eq!(result.gc.blocked_at_split_percent, Some(0.1));
    assert_eq!((result.flash.waf, result.flash.wear.erases_mean), (Some(3.333_333), 1.666_667));
    assert_eq!(result.capacity.op_percent, Some(28.0));
}

#[test]
fn percentiles_without_support_are_one_warning_a_run() {
    let totals = RunTotals { read: reads(10_000), write: reads(150), ..Default::default() };
    let warnings = totals.into_result().warnings;
    let expected = "fewer than 10 samples lie beyond these percentiles, so they are null: \
                    read p99.99, p99.999; write p95, p99, p99.9, p99.99, p99.999";
    assert_eq!(warnings, [expected]);
}

#[test]
fn a_clock_that_saw_no_time_pass_gives_no_rate() {
    assert_eq!(MachineReport::timed(0.0, 0.0, 1_000).requests_per_cpu_s, None);
    assert_eq!(MachineReport::timed(f64::NAN, f64::INFINITY, 1_000), MachineReport::default());
    assert_eq!(MachineReport::timed(1.0, 0.5, 1_000).requests_per_cpu_s, Some(2_000.0));
    assert_eq!(MachineReport::timed(1.0, f64::MIN_POSITIVE, u64::MAX).requests_per_cpu_s, None);
    assert_eq!(
        MachineReport::timed(1.0, 0.5, 1_000).with_flash_ops(700).flash_ops_per_cpu_s,
        Some(1_400.0)
    );
    assert_eq!(MachineReport::timed(1.0, 0.0, 1_000).with_flash_ops(700).flash_ops_per_cpu_s, None);
    let machine = MachineReport::default().with_memory(None, 100, 0);
    assert_eq!(machine.simulated_bytes_per_page, None);
}
