//! A profile fitted to a generated workload has the figures that the workload was made of.

use super::*;
use crate::host::generate::Generator;
use crate::host::{PhasesSpec, Request, RequestSource, RewritesSpec};
use crate::units::Lba;
use manx_trace::Record;

fn fitter(spec: &JobSpec, capacity: u64) -> Fitter {
    let mut generator = Generator::new(spec, capacity, 1, 0).unwrap();
    let mut fitter = Fitter::default();
    let mut base = None;
    while let Some(Request { at, op, lba, sectors, fua, .. }) = generator.next_request() {
        let ns = at.as_ns();
        let at = Duration::from_ns(ns - *base.get_or_insert(ns));
        fitter.add(&Record { at, op, lba, sectors, fua, device: 0, latency: None });
    }
    fitter
}

fn near(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() <= tolerance, "{what}: {value} instead of {expected}");
}

/// 80 MiB.
const CAPACITY: u64 = 20_000 * PAGE;

fn made() -> JobSpec {
    JobSpec {
        read_percent: 40.0,
        trim_percent: 5.0,
        fua_percent: 10.0,
        flush_every: 20,
        block_sizes: vec![(Bytes::kib(4), 1.0)],
        pattern: Pattern::Tiers,
        tiers: vec![(1.0, 40.0), (9.0, 40.0)],
        arrival: Arrival::Bursty,
        rate: 2000.0,
        peak_to_mean: 8.0,
        burst: Duration::from_ms(10),
        requests: 800_000,
        ..JobSpec::default()
    }
}

#[test]
fn the_settings_of_a_generated_workload_are_found_again() {
    let spec = made();
    let job = fitter(&spec, CAPACITY).stationary().job;
    near("reads", job.read_percent, 40.0, 0.02);
    near("trims", job.trim_percent, 5.0, 0.03);
    near("FUA", job.fua_percent, 10.0, 0.03);
    assert_eq!(job.flush_every, 20);
    assert_eq!(job.block_sizes, [(Bytes::kib(4), 100.0)]);
    assert_eq!(
        (job.write_block_sizes.len(), job.align, job.run),
        (0, Bytes::kib(4), Bytes::new(0))
    );
    // All but a few in a thousand of the pages are met at all.
    near("size", job.size.get() as f64, (CAPACITY * SECTOR) as f64, 0.01);
    assert_eq!(
        (job.pattern, job.tiers.len(), job.write_tiers.len()),
        (Pattern::Tiers, 2, 0),
        "{:?}",
        job.tiers
    );
    for (found, made) in job.tiers.iter().zip(&spec.tiers) {
        near("space", found.0, made.0, 0.05);
        near("requests", found.1, made.1, 0.03);
    }
    assert_eq!(job.arrival, Arrival::Bursty);
    near("rate", job.rate, 2000.0, 0.05);
    near("peak", job.peak_to_mean, 8.0, 0.15);
    near("burst", job.burst.as_ns() as f64, 1e7, 0.2);
}

#[test]
fn sizes_of_reads_and_writes_and_runs_are_found_again() {
    let spec = JobSpec {
        block_sizes: vec![(Bytes::kib(8), 75.0), (Bytes::kib(64), 25.0)],
        write_block_sizes: vec![(Bytes::kib(16), 1.0)],
        align: Bytes::kib(4),
        run: Bytes::kib(1024),
        pattern: Pattern::Random,
        arrival: Arrival::Poisson,
        rate: 100.0,
        requests: 100_000,
        ..JobSpec::default()
    };
    let job = fitter(&spec, 1 << 24).stationary().job;
    assert_eq!(
        job.block_sizes.iter().map(|(size, _)| *size).collect::<Vec<_>>(),
        [Bytes::kib(8), Bytes::kib(64)]
    );
    near("8 KiB", job.block_sizes[0].1, 75.0, 0.02);
    assert_eq!(job.write_block_sizes, [(Bytes::kib(16), 100.0)]);
    near("run", job.run.get() as f64, f64::from(1 << 20), 0.005);
    assert_eq!((job.arrival, job.pattern), (Arrival::Poisson, Pattern::Random));
}

#[test]
fn a_profile_s_own_requests_have_the_figures_of_the_trace() {
    let first = fitter(&made(), CAPACITY);
    let fit = first.stationary();
    let again = fitter(&fit.job, CAPACITY);
    let (a, b) = (first.figures(), again.figures());
    assert_eq!(a.requests, b.requests);
    near("rate", b.rate(), a.rate(), 0.05);
    near("reads", b.read_percent(), a.read_percent(), 0.02);
    near("flushes", b.flushes as f64, a.flushes as f64, 0.02);
    near("footprint", b.footprint_pages as f64, a.footprint_pages as f64, 0.02);
    near("IDC in 10 ms", b.idc_10ms.unwrap(), a.idc_10ms.unwrap(), 0.1);
    near("IDC in 1 s", b.idc_1s.unwrap(), a.idc_1s.unwrap(), 0.3);
}

#[test]
fn a_profile_holds_no_address_and_no_name() {
    // These requests elsewhere on the device, later on the clock.
    let spec = JobSpec { requests: 50_000, flush_every: 0, ..made() };
    let here = fitter(&spec, CAPACITY).fit().to_toml(None, None);
    let shifted = JobSpec { offset: Bytes::new(CAPACITY * SECTOR), ..spec };
    let there = fitter(&shifted, 2 * CAPACITY).fit().to_toml(None, None);
    assert_eq!(here, there);
    assert!(
        fitter(&shifted, 2 * CAPACITY).fit().to_toml(Some("my \"own\""), None).contains("my own")
    );
}

#[test]
fn strange_traces_make_profiles_that_can_be() {
    let record = |op, lba, sectors, ns| Record {
        at: Duration::from_ns(ns),
        op,
        lba: crate::units::Lba(lba),
        sectors,
        fua: false,
        device: 0,
        latency: None,
    };
    let cases = [
        vec![record(Op::Flush, 0, 0, 0)],
        vec![record(Op::Trim, 0, u32::MAX, 0), record(Op::Trim, 8, 8, 1)],
        vec![record(Op::Read, 3, 1, 0)],
        vec![record(Op::Write, 0, u32::MAX, 0), record(Op::Write, 1 << 46, u32::MAX, u64::MAX / 2)],
    ];
    for records in cases {
        let mut fitter = Fitter::default();
        records.iter().for_each(|record| fitter.add(record));
        let job = fitter.stationary().job;
        let capacity = job.size.get().max(1 << 30) / SECTOR;
        let mut generator = Generator::new(&job, capacity, 1, 0)
            .unwrap_or_else(|error| panic!("{records:?}: {error}"));
        assert!(generator.next_request().is_some());
    }
}

/// Writes of 20 extents in one order, again and again, in phases that read and write apart.
#[test]
fn the_order_of_writes_and_the_phases_are_found_again() {
    let depths = vec![(1, 20.0), (4, 80.0)];
    let rewrites = RewritesSpec {
        extents: 500,
        span: 100.0,
        sequential: 0.0,
        after: [[10.0, 0.0, 90.0], [20.0, 60.0, 20.0], [30.0, 50.0, 20.0]],
        depths,
    };
    let list = (0..64).map(|i| [1.0, 500.0, if i % 2 == 0 { 90.0 } else { 10.0 }, 0.0, 0.0]);
    let runs = vec![(1, 50.0), (4, 50.0)];
    let phases = PhasesSpec {
        list: list.collect(),
        read_runs: runs.clone(),
        write_runs: runs,
        gaps: Default::default(),
    };
    let spec = JobSpec {
        arrival: Arrival::Phases,
        rate: 500.0,
        requests: 32_000,
        phases: Some(phases),
        rewrites: Some(rewrites),
        ..JobSpec::default()
    };
    let fit = fitter(&spec, CAPACITY).fit();
    let (phases, found) = (fit.job.phases.unwrap(), fit.job.rewrites.unwrap());
    assert_eq!(fit.job.arrival, Arrival::Phases);
    assert_eq!(phases.list.iter().map(|phase| phase[1]).sum::<f64>(), 32_000.0);
    assert!(phases.list.len() >= 128, "{}", phases.list.len());
    // Pieces of 128 requests: three of four lie within a phase of 500, and read much or little.
    let apart = phases.list.iter().filter(|phase| (phase[2] - 50.0).abs() > 25.0).count();
    assert!(apart * 10 > phases.list.len() * 7, "{apart} of {}", phases.list.len());
    // Each is met within the first pass or never: the oldest go round.
    assert!((450..=500).contains(&found.extents), "{}", found.extents);
    // And some jumps that met it by chance.
    near("next after next", found.after[1][1], 60.0, 0.15);
    // The oldest of a full stack comes back from as deep as all of them are.
    let most = found.depths.last().unwrap().0;
    assert!((480..=640).contains(&most), "{:?}", found.depths);
}

/// One in `flush_every` writes is followed by a flush, whatever the trace's flushes are to its
/// writes: neither reads nor writes become more or fewer.
#[test]
fn a_fit_has_the_reads_and_the_writes_of_a_trace_with_flushes() {
    for (reads, writes, flushes, every) in
        [(5, 3, 1, 3), (5, 3, 2, 2), (5, 2, 4, 1), (5, 0, 3, 0), (5, 30, 1, 30)]
    {
        let mut fitter = Fitter::default();
        let kinds = [(Op::Read, reads), (Op::Write, writes), (Op::Flush, flushes)];
        for number in 0..40_000_u64 {
            let mut left = number % (reads + writes + flushes);
            let kind = kinds.iter().find(|(_, count)| match left.checked_sub(*count) {
                Some(rest) => {
                    left = rest;
                    false
                }
                None => true,
            });
            let op = kind.unwrap().0;
            let sectors = [0, 8, 128][usize::from(op != Op::Flush) * (1 + number as usize % 2)];
            let at = Duration::from_us(number * 500);
            let lba = Lba(number * 131 % 1_000 * 128);
            fitter.add(&Record { at, op, lba, sectors, fua: false, device: 0, latency: None });
        }
        let (figures, job) = (fitter.figures(), fitter.fit().job);
        assert_eq!(job.flush_every, every);
        let mut generator = Generator::new(&job, 200_000, 1, 0).unwrap();
        let made: Vec<Request> = std::iter::from_fn(|| generator.next_request()).collect();
        let count = |op| made.iter().filter(|request| request.op == op).count() as f64;
        near("reads", count(Op::Read), figures.reads as f64, 2e-3);
        near("writes", count(Op::Write).max(1.0), figures.writes.max(1) as f64, 2e-3);
        let due = figures.writes.checked_div(u64::from(every)).unwrap_or(0).max(1);
        near("flushes", count(Op::Flush).max(1.0), due as f64, 0.01);
        near("seconds", made.last().unwrap().at.as_ns() as f64, figures.span_ns as f64, 1e-2);
    }
}
