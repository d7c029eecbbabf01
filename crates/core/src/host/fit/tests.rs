//! A profile fitted to a generated workload has the figures that the workload was made of.

use super::*;
use crate::host::generate::Generator;
use crate::host::{PhasesSpec, Request, RequestSource, RewritesSpec};
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

/// The phases have the flushes and the deallocations, and these have no size.
#[test]
fn the_phases_of_a_fit_are_all_requests_of_the_trace() {
    let block_sizes = vec![(Bytes::kib(4), 1.0), (Bytes::kib(64), 1.0)];
    let spec = JobSpec { requests: 40_000, flush_every: 3, block_sizes, ..made() };
    let fitter = fitter(&spec, CAPACITY);
    let (figures, job) = (fitter.figures(), fitter.fit().job);
    let list = job.phases.unwrap().list;
    assert_eq!(list.iter().map(|phase| phase[1]).sum::<f64>(), figures.requests as f64);
    near("seconds", list.iter().map(|phase| phase[0]).sum(), figures.span_ns as f64 / 1e9, 1e-4);
    let reads = list.iter().map(|phase| phase[1] * phase[2] / 100.0).sum::<f64>();
    near("reads", reads, figures.reads as f64, 1e-3);
    let large = list.iter().map(|phase| phase[4]).sum::<f64>() / list.len() as f64;
    near("large writes", large, 50.0, 0.03);
}
