//! Constructed tails of writes: one thing is slow on a drive, and the cause is carried through the
//! buffer to the write that waited for room.

use crate::compare::{Options, compare};
use crate::load::Request;
use manx_core::config::Override;
use manx_core::stats::RunResult;
use manx_core::units::Cause;
use std::sync::atomic::AtomicBool;

/// A drive on which everything takes a microsecond, but for what the case says.
const FAST: [&str; 14] = [
    "device.geometry.channels=1",
    "device.geometry.ways=2",
    "device.geometry.pages=256",
    "device.geometry.blocks=40",
    "device.timing.read=[\"1us\"]",
    "device.timing.program=[\"1us\"]",
    "device.timing.erase_step=\"1us\"",
    "drive.buffer=\"64KiB\"",
    "drive.buffer_hit=\"0s\"",
    "workload.read_percent=0.0",
    "workload.requests=20000",
    "workload.rate=2000.0",
    "measure.warmup_requests=0",
    "measure.attribution=true",
];

fn played(policy: &str, sets: &[&str]) -> RunResult {
    let overrides = FAST
        .iter()
        .chain(sets)
        .map(|set| Override::from_set(set).unwrap_or_else(|error| panic!("{set}: {error}")))
        .collect();
    let scenario = Request::read("quick", overrides).unwrap().under(policy).unwrap();
    let stop = AtomicBool::new(false);
    let runs = [(policy.to_string(), scenario)];
    compare(&runs, &Options::plain(None, &stop)).unwrap().remove(0).result
}

/// The share that causes have of what writes took beyond their own work.
fn share(result: &RunResult, causes: &[Cause]) -> f64 {
    let all = &result.attribution.as_ref().unwrap().write[0].mean_us;
    let own = [Cause::Service, Cause::Link];
    let of = |wanted: &dyn Fn(Cause) -> bool| -> f64 {
        all.all().iter().filter(|(cause, _)| wanted(*cause)).map(|(_, us)| us).sum()
    };
    let excess = of(&|cause| !own.contains(&cause));
    assert!(excess > 0.0, "no request waited: {all:?}");
    of(&|cause| causes.contains(&cause)) / excess
}

#[test]
fn writes_behind_erases_are_told_as_that() {
    let result = played("base", &["device.timing.erase_step=\"4ms\""]);
    let share = share(&result, &[Cause::Erase]);
    assert!(share >= 0.99, "{share}: {:?}", result.attribution.unwrap().write[0]);
}

#[test]
fn writes_behind_a_full_buffer_behind_a_collection_are_told_as_that() {
    let sets = ["device.timing.read=[\"300us\"]", "workload.rate=300.0"];
    let result = played("base", &sets);
    assert!(result.buffer.stalls > 0, "the buffer was full");
    let share = share(&result, &[Cause::GcCopy, Cause::Space]);
    assert!(share >= 0.99, "{share}: {:?}", result.attribution.unwrap().write[0]);
}

#[test]
fn writes_behind_merges_are_told_as_that() {
    let sets = ["device.timing.read=[\"100us\"]", "workload.rate=20.0", "workload.requests=3000"];
    let result = played("fast", &sets);
    assert!(result.log.is_some(), "its GC runs are merges");
    let share = share(&result, &[Cause::GcCopy, Cause::Space]);
    assert!(share >= 0.99, "{share}: {:?}", result.attribution.unwrap().write[0]);
    let told = crate::advise::causes::shares(&result.attribution.as_ref().unwrap().write[0], true);
    let merges = told.iter().any(|share| share.name == "waiting behind merges");
    assert!(merges, "{told:?}");
}

#[test]
fn durable_writes_behind_a_flush_are_told_as_that() {
    let jobs = "workload.jobs=[{ requests = 20000, rate = 2000.0, flush_every = 64 }, \
                { requests = 1000, rate = 100.0, fua_percent = 100.0 }]";
    let sets = [
        jobs,
        "drive.buffer=\"4MiB\"",
        "drive.power_loss_protection=false",
        "device.timing.program=[\"500us\"]",
    ];
    let result = played("nogc", &sets);
    let share = share(&result, &[Cause::Flush]);
    assert!(share >= 0.99, "{share}: {:?}", result.attribution.unwrap().write[0]);
}
