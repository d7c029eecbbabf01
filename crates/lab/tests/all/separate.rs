//! A drive for each device of a trace: what they measured together is what each measures alone.

use manx_config::Override;
use manx_core::stats::{RunResult, RunSet};
use manx_lab::compare::{Options, compare};
use manx_lab::json::{strip_machine, to_json};
use manx_lab::load::Request;
use std::fmt::Write;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

static GO_ON: AtomicBool = AtomicBool::new(false);

/// A trace of so many devices, which take turns in no regular order, mostly writing: so that drives
/// collect garbage.
fn trace(name: &str, devices: u64) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let (mut text, mut state) = (String::new(), 7u64);
    for number in 0..6_000u64 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (draw, device) = (state >> 33, if number == 0 { 0 } else { (state >> 60) % devices });
        let (lba, sectors) = (draw % 8_000 * 8 + 1, 8 + draw % 3 * 8);
        writeln!(text, "{} {device} {lba} {sectors} {}", number * 40_000, u64::from(draw % 3 == 0))
            .unwrap();
    }
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

fn play(file: &str, sets: &[&str]) -> Result<RunResult, String> {
    let named = format!("workload.trace.file={file:?}");
    let arrival = if sets.iter().any(|set| set.contains("arrival")) {
        None
    } else {
        Some("workload.arrival=trace")
    };
    let usual = ["workload.requests=0", "measure.warmup_requests=0", "workload.trace.remap=modulo"];
    let sets = [named.as_str()].into_iter().chain(usual).chain(arrival).chain(sets.iter().copied());
    let overrides = sets.map(|set| Override::from_set(set).unwrap()).collect();
    let scenario = Request::read("quick", overrides).unwrap().under("base").unwrap();
    let options = Options { jobs: NonZero::new(1), verify: true, ..Options::plain(None, &GO_ON) };
    let runs =
        compare(&[("base".to_string(), scenario)], &options).map_err(|error| error.to_string())?;
    Ok(runs[0].result.clone())
}

fn document(run: RunResult) -> String {
    strip_machine(&to_json(&RunSet { runs: vec![run] })).unwrap()
}

#[test]
fn two_drives_measure_together_what_each_measures_alone() {
    let file = trace("two.trace", 2);
    let both = play(&file, &["workload.trace.layout=separate"]).unwrap();
    let alone = ["0", "1"].map(|device| {
        let devices = format!("workload.trace.devices=[\"{device}\"]");
        play(&file, &[&devices, "workload.trace.rebase=false"]).unwrap()
    });
    let sum = |of: fn(&RunResult) -> u64| alone.iter().map(of).sum::<u64>();
    assert_eq!(both.drives, Some(2));
    assert!(alone.iter().all(|run| run.drives.is_none() && run.requests > 2_000));
    assert_eq!((both.requests, both.read.count), (6_000, sum(|run| run.read.count)));
    assert_eq!(both.write.bytes, sum(|run| run.write.bytes));
    assert_eq!(both.gc.runs, sum(|run| run.gc.runs));
    assert!(both.gc.runs > 0, "the drives collect garbage");
    assert_eq!(both.flash.pages_programmed, sum(|run| run.flash.pages_programmed));
    assert_eq!(both.buffer.write_hits, sum(|run| run.buffer.write_hits));
    assert_eq!(both.verify.unwrap().reads_checked, sum(|run| run.verify.unwrap().reads_checked));
    assert_eq!(both.verify.unwrap().mismatches, 0);
    assert_eq!(both.virtual_s, alone[0].virtual_s.max(alone[1].virtual_s));
    for of in
        [|run: &RunResult| run.read.max_us.unwrap(), |run: &RunResult| run.write.max_us.unwrap()]
    {
        assert_eq!(of(&both), of(&alone[0]).max(of(&alone[1])));
    }
    let total = |run: &RunResult| run.read.mean_us.unwrap() * run.read.count as f64;
    let mean = alone.iter().map(total).sum::<f64>() / both.read.count as f64;
    assert!((both.read.mean_us.unwrap() - mean).abs() < 0.002, "{mean} {:?}", both.read.mean_us);
    let trace = both.trace.unwrap();
    assert_eq!(
        (trace.counts["requests"], trace.text.matches("each with a drive of its own").count()),
        (6_000, 1)
    );
    let folded = |run: &RunResult| {
        run.trace
            .as_ref()
            .unwrap()
            .counts
            .get("altered in the replay: address folded modulo the device")
            .copied()
    };
    assert_eq!(
        trace
            .counts
            .get("altered in the replay: address folded modulo the device")
            .copied()
            .unwrap_or(0),
        alone.iter().filter_map(folded).sum::<u64>()
    );
}

#[test]
fn a_drive_of_its_own_for_the_only_device_changes_nothing() {
    let file = trace("one.trace", 1);
    let [separate, concat] = ["separate", "concat"].map(|layout| {
        let layout = format!("workload.trace.layout={layout}");
        play(&file, &[&layout]).unwrap()
    });
    assert_eq!(document(separate), document(concat));
}

#[test]
fn each_drive_has_a_closed_loop_of_its_own() {
    let file = trace("closed.trace", 2);
    let closed = ["workload.arrival=closed", "workload.queue_depth=2"];
    let both = play(&file, &[&closed[..], &["workload.trace.layout=separate"]].concat()).unwrap();
    let alone = ["0", "1"].map(|device| {
        let devices = format!("workload.trace.devices=[\"{device}\"]");
        play(&file, &[&closed[..], &[devices.as_str()]].concat()).unwrap()
    });
    assert_eq!((both.requests, both.drives), (6_000, Some(2)));
    assert_eq!(both.virtual_s, alone[0].virtual_s.max(alone[1].virtual_s));
}

#[test]
fn a_separate_trace_is_the_only_job_or_refused() {
    let file = trace("jobs.trace", 2);
    let jobs = "workload.jobs=[{}, {}]";
    let error = play(&file, &["workload.trace.layout=separate", jobs]).unwrap_err();
    assert!(error.contains("the only job, not one of 2") && error.contains("overlay"), "{error}");
}
