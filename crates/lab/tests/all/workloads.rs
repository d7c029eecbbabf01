//! The library of workloads on a drive, and profiles fitted to real traces.

use manx_config::{Override, Scenario, workload_names};
use manx_core::host::fit::{Figures, Fitter};
use manx_core::host::generate::Generator;
use manx_core::host::{Request as Asked, RequestSource};
use manx_core::stats::Outcome;
use manx_core::units::{Duration, SECTOR};
use manx_lab::compare::{Options, compare};
use manx_lab::load::{Request, read_workload};
use manx_lab::open::opener;
use manx_trace::{Record, TimeUnit, TraceSpec, survey_each};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

static GO_ON: AtomicBool = AtomicBool::new(false);

/// The small scenario with a workload of the library, its jobs cut to so many requests.
fn scenario(name: &str, requests: u64) -> Scenario {
    let profile =
        Override::workload(read_workload(name).unwrap(), None, format!("--workload {name}"));
    let sets = |jobs: usize| {
        let cut = (0..jobs).map(|job| format!("workload.jobs.{job}.requests={requests}"));
        let cut =
            if jobs == 1 { vec![format!("workload.requests={requests}")] } else { cut.collect() };
        let state =
            ["precondition.state=fill".to_string(), "measure.warmup_requests=0".to_string()];
        cut.into_iter().chain(state).map(|set| Override::from_set(&set).unwrap())
    };
    let whole = Request::read("quick", vec![profile.clone()]).unwrap().plain().unwrap();
    let overrides = std::iter::once(profile).chain(sets(whole.workload.jobs.len())).collect();
    Request::read("quick", overrides).unwrap().plain().unwrap()
}

#[test]
fn every_profile_runs_on_a_small_drive_and_reads_what_was_written() {
    // ACT is bounded by time: cli/tests has it.
    let runs: Vec<_> = workload_names()
        .filter(|name| *name != "act")
        .map(|name| (name.to_string(), scenario(name, 2000)))
        .collect();
    let options = Options { jobs: NonZero::new(2), verify: true, ..Options::plain(None, &GO_ON) };
    let finished = compare(&runs, &options).unwrap();
    for ((name, scenario), run) in runs.iter().zip(&finished) {
        let result = &run.result;
        let asked: u64 = scenario.workload.jobs.iter().map(|job| job.requests).sum();
        assert_eq!((result.outcome, result.requests), (Outcome::Completed, asked), "{name}");
        let verify = result.verify.as_ref().unwrap();
        assert_eq!(verify.mismatches, 0, "{name}");
        let reads = scenario.workload.jobs.iter().any(|job| job.read_percent > 0.0);
        assert_eq!(verify.reads_checked > 0, reads, "{name}");
    }
}

fn trace(name: &str) -> Option<TraceSpec> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("MANX_TRACES").map_or_else(beside, PathBuf::from);
    let file = folder.join(name);
    if !file.exists() {
        println!("SKIPPED {name}: there is no folder {} with it", folder.display());
        return None;
    }
    Some(TraceSpec::new(file.to_string_lossy()))
}

/// Requests drawn from a profile, as a trace would hold them.
fn drawn(spec: &manx_core::host::JobSpec) -> Figures {
    let capacity = spec.size.get() / SECTOR + 8;
    let mut generator = Generator::new(spec, capacity, 1, 0).unwrap();
    let (mut fitter, mut base) = (Fitter::default(), None);
    while let Some(Asked { at, op, lba, sectors, fua, .. }) = generator.next_request() {
        let at = at.as_ns();
        let at = Duration::from_ns(at - *base.get_or_insert(at));
        fitter.add(&Record { at, op, lba, sectors, fua, device: 0, latency: None });
    }
    fitter.figures()
}

/// Rate and dispersion hang on few bursts: a trace of n requests with a dispersion of I in the long
/// run has a rate that is known to sqrt(I / n) only, and so has what is drawn. Everything else must
/// agree within a few percent.
fn check(name: &str, unit: Option<TimeUnit>) {
    let Some(spec) = trace(name) else { return };
    let spec = TraceSpec { time_unit: unit, ..spec };
    let mut fitter = Fitter::default();
    survey_each(&spec, &mut opener(&spec.file), &mut |record| fitter.add(record)).unwrap();
    let fit = fitter.stationary();
    println!("{name}\n{}", fit.to_toml(None, None));
    let (real, made) = (fit.figures, drawn(&fit.job));
    println!("{real:?}\n{made:?}");
    let near = |what: &str, value: f64, expected: f64, tolerance: f64| {
        let scale = expected.abs().max(1e-9);
        assert!(
            (value - expected).abs() <= tolerance * scale,
            "{name}, {what}: {value} instead of {expected}"
        );
    };
    let noise = (real.idc_1s.unwrap_or(1.0).max(1.0) / real.requests as f64).sqrt();
    near("rate", made.rate(), real.rate(), 4.0 * noise + 0.02);
    assert!(
        (made.read_percent() - real.read_percent()).abs() < 1.5,
        "{name}: {} % reads",
        made.read_percent()
    );
    for (what, made, real) in [
        ("read size", made.read_bytes, real.read_bytes),
        ("write size", made.write_bytes, real.write_bytes),
    ] {
        near(what, made, real, 0.06);
    }
    near("run", made.run_bytes, real.run_bytes, 0.1);
    if let (Some(made), Some(real)) = (made.idc_1s, real.idc_1s) {
        assert!(
            made / real < 2.5 && real / made < 2.5,
            "{name}: IDC in 1 s {made} instead of {real}"
        );
    }
    if let (Some(made), Some(real)) = (made.idc_10ms, real.idc_10ms) {
        assert!(
            made / real < 2.0 && real / made < 2.0,
            "{name}: IDC in 10 ms {made} instead of {real}"
        );
    }
}

#[test]
#[cfg_attr(
    not(shared_traces),
    ignore = "needs the folder of real traces: MANX_TRACES, or beside the checkout"
)]
fn a_profile_of_msr_src1_0_draws_its_figures() {
    check("src_10K.csv.zst", None);
}

#[test]
#[cfg_attr(
    not(shared_traces),
    ignore = "needs the folder of real traces: MANX_TRACES, or beside the checkout"
)]
fn a_profile_of_ycsb_on_ext4_draws_its_figures() {
    check("ycsb_ext4.blkparse.zst", None);
}

#[test]
#[cfg_attr(
    not(shared_traces),
    ignore = "needs the folder of real traces: MANX_TRACES, or beside the checkout"
)]
fn a_profile_of_dtrs_draws_its_figures() {
    check("DTRS1K.trace.zst", Some(TimeUnit::Us));
}

#[test]
#[cfg_attr(
    not(shared_traces),
    ignore = "needs the folder of real traces: MANX_TRACES, or beside the checkout"
)]
fn a_profile_of_tpcc_draws_its_figures() {
    check("tpcc-small.trace.zst", None);
}
