//! The scenarios of ttFlash against arithmetic: an unloaded read, a collection of Base by the
//! authors' rules and with pages that cross the channel, what parity takes, and that every policy
//! of the scenario runs beside an oracle.

use manx_config::{Override, Scenario};
use manx_core::stats::RunResult;
use manx_lab::compare::{Options, compare};
use manx_lab::load::Request;
use std::num::NonZero;
use std::sync::atomic::AtomicBool;

static GO_ON: AtomicBool = AtomicBool::new(false);

/// A 32nd of the drive and of its addresses.
const SMALL: [&str; 4] = [
    "device.geometry.blocks=128",
    "workload.size=1792MiB",
    "drive.buffer=4MiB",
    "measure.warmup=0s",
];

fn runs(scenario: &str, policies: &[&str], sets: &[&str]) -> Vec<RunResult> {
    let overrides = SMALL.iter().chain(sets).map(|set| Override::from_set(set).unwrap()).collect();
    let request = Request::read(scenario, overrides).unwrap();
    let runs: Vec<(String, Scenario)> = policies
        .iter()
        .map(|policy| (policy.to_string(), request.under(policy).unwrap()))
        .collect();
    let options = Options { jobs: NonZero::new(2), verify: true, ..Options::plain(None, &GO_ON) };
    compare(&runs, &options).unwrap().into_iter().map(|run| run.result).collect()
}

#[test]
fn an_unloaded_read_takes_command_array_and_transfer() {
    let alone = [
        "workload.read_percent=100",
        "workload.block_sizes=[[\"4KiB\", 1]]",
        "workload.arrival=fixed",
    ];
    for scenario in ["ttflash", "ssdsim"] {
        let sets = [&alone[..], &["workload.rate=100", "workload.requests=2000"]].concat();
        for run in runs(scenario, &["nogc", "pb+gtr"], &sets) {
            // 175 ns, 40 us, 4096 x 25 ns.
            assert_eq!(
                (run.read.count, run.read.max_us),
                (2000, Some(142.575)),
                "{scenario} {}",
                run.policy
            );
            assert_eq!(run.read.mean_us, Some(142.575));
        }
    }
}

/// Ageing leaves 256 - ceil(0.7 x 256 + 1) = 75 valid pages in each block; no victim holds more.
#[test]
fn a_collection_of_base_takes_what_its_pages_take() {
    let sets = ["workload.requests=8000"];
    let [authors, ours] =
        ["ssdsim", "ttflash"].map(|scenario| runs(scenario, &["base"], &sets).remove(0));
    assert!(authors.gc.runs > 20 && ours.gc.runs > 20);
    let near = |measured: f64, page: f64| (measured - 75.0 * page).abs() < 1e-6;
    // 2 x 175 ns + 40 us + 800 us inside the chip; 2 x 102.4 us more across the channel.
    assert!(near(authors.gc.copying_max_us, 840.35), "{}", authors.gc.copying_max_us);
    assert!(near(ours.gc.copying_max_us, 1045.15), "{}", ours.gc.copying_max_us);
    for run in [authors, ours] {
        assert_eq!(run.verify.unwrap().mismatches, 0);
        // No GC run copied more than 75 pages, and free space never fell to the mark at which no GC
        // run can be postponed.
        assert!(run.gc.pages_copied <= run.gc.runs * 75 && run.gc.free_min_percent > Some(29.0));
    }
}

#[test]
fn every_policy_of_the_scenario_keeps_the_data_and_each_step_blocks_fewer_reads() {
    let policies =
        ["nogc+rain", "base", "base+rain", "pb+rain", "pb+gtr", "ttflash", "ttflash/t-es(4ms)"];
    let runs = runs("ttflash", &policies, &["workload.requests=40000"]);
    for run in &runs {
        let verify = run.verify.as_ref().unwrap();
        assert!(
            verify.mismatches == 0 && verify.reads_checked > 20_000,
            "{}: {verify:?}",
            run.policy
        );
        let parity = run.rain.as_ref().map_or(1.0, |rain| rain.parity_factor.unwrap());
        assert!(
            if run.policy == "base" { parity == 1.0 } else { (1.5..1.6).contains(&parity) },
            "{parity}"
        );
    }
    let blocked: Vec<f64> =
        runs.iter().map(|run| run.gc.blocked_at_split_percent.unwrap()).collect();
    assert_eq!(blocked[0], 0.0);
    // Base writes no parity; with it the ladder goes down.
    assert!(blocked[1] > 2.0 && blocked[2] > blocked[1], "{blocked:?}");
    assert!(blocked[3] < blocked[2] / 3.0 && blocked[4] < blocked[3] / 3.0, "{blocked:?}");
    assert!(blocked[5] <= blocked[4] && blocked[6] <= blocked[4], "{blocked:?}");
    // Reads of the erasing plane are computed, except in the last millisecond: few are there to
    // suspend an erase.
    let (suspended, erases) = (runs[6].flash.suspensions, runs[6].flash.erases);
    assert!(erases > 50 && suspended < erases / 4, "{suspended} of {erases}");
}
