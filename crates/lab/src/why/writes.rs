//! Constructed tails of writes: one thing is slow on a drive, and the cause is carried through the
//! buffer to the write that waited for room.

use super::ask::{Modelled, ask};
use crate::ask::trace_overrides;
use crate::compare::{Options, compare};
use crate::load::Request;
use manx_config::Override;
use manx_core::sim::{Rng, math};
use manx_core::stats::RunResult;
use manx_core::units::Cause;
use std::fmt::Write;
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

/// A trace of writes of 4 KiB with Poisson arrivals; after every so many a flush, or a durable
/// write. Removed at its end.
struct Written(std::path::PathBuf);

impl Written {
    fn new(name: &str, (count, rate): (u64, f64), every: Option<u64>) -> Self {
        let mut rng = Rng::stream(7, name);
        let (mut text, mut now) = ("t_us,op,offset,bytes,fua\n".to_string(), 0.0);
        for number in 0..count {
            now += -math::ln(1.0 - rng.unit()) * 1e6 / rate;
            let offset = 4096 * rng.below(12_000);
            let durable = u8::from(every.is_some() && number % 20 == 7);
            let _ = writeln!(text, "{now:.3},W,{offset},4096,{durable}");
            if every.is_some_and(|every| number % every == 0) {
                let _ = writeln!(text, "{now:.3},F,0,0,0");
            }
        }
        let file = format!("manx-why-{}-{name}.csv", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    /// The share of causes that `why` names in what its slowest writes took beyond their own work.
    fn share(&self, policy: &str, sets: &[&str], causes: &[&str]) -> (f64, Modelled) {
        let of_drive = FAST.iter().filter(|set| !set.starts_with("workload."));
        let sets = of_drive.chain(sets).map(|set| Override::from_set(set).unwrap());
        let file = trace_overrides(&self.0.to_string_lossy());
        let overrides: Vec<Override> = file.into_iter().chain(sets).collect();
        let request = Request::read("quick", overrides).unwrap().with_trace_from_here();
        let stop = AtomicBool::new(false);
        let why = ask(&request, &[policy.to_string()], &Options::plain(None, &stop)).unwrap();
        let row = why.rows.into_iter().next().unwrap();
        let of = |wanted: &dyn Fn(&str) -> bool| -> f64 {
            let told = row.write_causes.iter().filter(|share| wanted(&share.name));
            told.map(|share| share.percent).sum()
        };
        let own = of(&|name| ["its own work", "the host link"].contains(&name));
        (of(&|name| causes.contains(&name)) / (100.0 - own), row)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn why_names_what_held_up_the_slowest_writes_of_a_trace() {
    let steady = Written::new("steady", (20_000, 2000.0), None);
    let calm = Written::new("calm", (6000, 300.0), None);
    let slow = Written::new("slow", (20_000, 20.0), None);
    let flushed = Written::new("flushed", (20_000, 2000.0), Some(64));
    let space = "waiting for a free block";
    let cases: [(&Written, &str, &[&str], &[&str]); 4] = [
        (&steady, "base", &["device.timing.erase_step=\"4ms\""], &["waiting behind erases"]),
        (&calm, "base", &["device.timing.read=[\"300us\"]"], &["waiting behind GC copies", space]),
        (&slow, "fast", &["device.timing.read=[\"100us\"]"], &["waiting behind merges", space]),
        (
            &flushed,
            "nogc",
            &[
                "drive.buffer=\"4MiB\"",
                "drive.power_loss_protection=false",
                "device.timing.program=[\"500us\"]",
            ],
            &["waiting behind a flush"],
        ),
    ];
    for (trace, policy, sets, causes) in cases {
        let (share, row) = trace.share(policy, sets, causes);
        println!("{causes:?}: {:.2} %", 100.0 * share);
        assert!(share >= 0.99, "{causes:?}: {share}: {:?}", row.write_causes);
    }
}
