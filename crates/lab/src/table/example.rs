//! Results to draw in tests, recorded request by request as the driver would.

use manx_core::stats::{
    Counters, MachineReport, OpStats, Outcome, RunResult, RunSet, RunTotals, WearCounters,
};
use manx_core::units::{Bytes, Duration};

/// `count` latencies: `usual`, but every `every`-th waits up to `wait` longer, in forty steps.
fn latencies(count: u64, usual: Duration, every: u64, wait: Duration) -> OpStats {
    let mut stats = OpStats::default();
    for i in 0..count {
        let late = if i % every == 0 { wait.as_ns() / 40 * (1 + i / every % 40) } else { 0 };
        stats.record(Duration::from_ns(usual.as_ns() + late), 4_096);
    }
    stats
}

fn run(policy: &str, read: OpStats, write: OpStats, blocked_reads: u64, cpu_s: f64) -> RunResult {
    let requests = read.count() + write.count();
    let totals = RunTotals {
        scenario: "example".to_string(),
        policy: policy.to_string(),
        seed: 1,
        span: Duration::from_s(10),
        counters: Counters {
            collections: 900,
            erases: 900,
            host_units: write.count(),
            copied_units: 120_000,
            ..Default::default()
        },
        blocked_reads,
        host_pages_written: write.count(),
        wear: WearCounters::of([3, 4, 5]),
        raw: Bytes::kib(128),
        user: Bytes::kib(100),
        read,
        write,
        ..Default::default()
    };
    let machine =
        MachineReport::timed(0.5, cpu_s, requests).with_memory(Some(40 << 20), 1_200, 100);
    RunResult { machine, ..totals.into_result() }
}

/// No collection, a collection that blocks for 50 ms, and one that yields after 2 ms and had too
/// few requests for its tail.
pub fn three_policies() -> RunSet {
    let usual = Duration::from_ns(142_575);
    let writes = |wait| latencies(80_000, Duration::from_us(20), 500, Duration::from_ms(wait));
    let mut short = run(
        "preemptive",
        latencies(50_000, usual, 40, Duration::from_ms(2)),
        writes(4),
        1_250,
        0.02,
    );
    short.outcome = Outcome::Partial;
    RunSet {
        runs: vec![
            run(
                "nogc",
                latencies(1_000_000, usual, 500, Duration::from_us(80)),
                writes(1),
                0,
                0.25,
            ),
            run(
                "base",
                latencies(1_000_000, usual, 40, Duration::from_ms(50)),
                writes(60),
                25_000,
                0.31,
            ),
            short,
        ],
    }
}

/// One policy that only reads and takes 142.575 us for each.
pub fn constant() -> RunSet {
    let read = latencies(10_000, Duration::from_ns(142_575), u64::MAX, Duration::ZERO);
    RunSet { runs: vec![run("constant", read, OpStats::default(), 0, 0.0)] }
}
