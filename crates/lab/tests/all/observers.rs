//! Observers change nothing: a result is the same byte for byte with attribution, a timeline, the
//! oracle or a file of every request beside it, whatever the translation layer, alone and in
//! arrays.

use manx_config::{Override, Scenario, Source};
use manx_core::drive::TimelineSpec;
use manx_core::host::Records;
use manx_core::stats::RunSet;
use manx_core::units::Instant;
use manx_lab::compare::{Options, compare};
use manx_lab::json::{strip_machine, to_json};
use manx_lab::load::Request;
use manx_lab::run::{Beside, Sink};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Eight dies on channels of their own, small enough to collect all the time.
const TINY: &str = r#"
name = "tiny"
[device]
name = "femu"
geometry = { channels = 8, ways = 1, dies = 1, planes = 1, blocks = 24, pages = 16 }
op = 0.4
[gc]
soft = 0.12
hard = 0.05
[drive]
buffer = "256KiB"
[precondition]
state = "fill"
[workload]
read_percent = 60.0
block_sizes = [["4KiB", 3], ["16KiB", 1]]
pattern = "zipf"
zipf_theta = 0.9
arrival = "closed"
queue_depth = 8
requests = 1500
trim_percent = 5.0
fua_percent = 5.0
flush_every = 50
"#;

/// Translation layers, and ways to collect that make one event of what others do in many.
const FTLS: [&str; 10] = [
    "base",
    "preemptive",
    "pb",
    "cost-benefit",
    "dftl",
    "bast",
    "fast",
    "faster",
    "superblock",
    "last",
];

const ARRAYS: [&str; 3] = ["raid", "ioda", "hedged"];

fn scenario(policy: &str, members: u32, planes: u32, seed: u64) -> (String, Scenario) {
    let sets = [
        format!("array.members={members}"),
        format!("device.geometry.planes={planes}"),
        format!("seed={seed}"),
        "ftl.map.cache=8KiB".to_string(),
    ];
    let sets = &sets[..if policy.starts_with("dftl") { 4 } else { 3 }];
    let overrides = sets.iter().map(|set| Override::from_set(set).unwrap()).collect();
    let source = Source { file: "tiny.toml".to_string(), text: TINY.to_string() };
    let scenario = Request::of(source, overrides).unwrap().under(policy).unwrap();
    (format!("{}-{members}-{planes}-{seed}", policy.replace('/', "-")), scenario)
}

/// Takes requests and forgets them.
struct Nowhere;

impl Sink for Nowhere {
    fn take(&mut self, _: &Records) -> Result<(), String> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

fn nowhere(_: &Path, _: bool) -> Result<Box<dyn Sink>, String> {
    Ok(Box::new(Nowhere))
}

/// Results of the runs, without what only an observer can tell.
fn played(runs: &[(String, Scenario)], verify: bool, beside: Beside<'_>) -> Vec<String> {
    static GO_ON: AtomicBool = AtomicBool::new(false);
    let options = Options { jobs: NonZero::new(2), verify, beside, ..Options::plain(None, &GO_ON) };
    let told = |mut run: manx_core::stats::RunResult| {
        (run.attribution, run.verify) = (None, None);
        strip_machine(&to_json(&RunSet { runs: vec![run] })).unwrap()
    };
    compare(runs, &options).unwrap().into_iter().map(|run| told(run.result)).collect()
}

#[test]
fn no_observer_changes_a_byte_of_a_result() {
    let mut runs = Vec::new();
    for (ftl, seed) in FTLS.into_iter().zip(1..) {
        for planes in [1, 2] {
            runs.push(scenario(ftl, 1, planes, seed));
            runs.extend(ARRAYS.map(|array| scenario(&format!("{ftl}/{array}"), 4, planes, seed)));
        }
    }
    let alone = played(&runs, false, Beside::default());
    let timelines = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("observers.pftrace");
    let spec = TimelineSpec { from: Instant::START, to: Instant::NEVER, slow: None, limit: 50 };
    let mut attributed = runs.clone();
    attributed.iter_mut().for_each(|(_, scenario)| scenario.measure.attribution = true);
    let with_timeline = Beside { timeline: Some((&timelines, spec)), ..Beside::default() };
    let with_requests = Beside { requests: Some((&timelines, nowhere)), ..Beside::default() };
    for (observer, observed) in [
        ("attribution", played(&attributed, false, Beside::default())),
        ("timeline", played(&runs, false, with_timeline)),
        ("verify", played(&runs, true, Beside::default())),
        ("requests", played(&runs, false, with_requests)),
    ] {
        let differ: Vec<&str> = (0..runs.len())
            .filter(|at| alone[*at] != observed[*at])
            .map(|at| runs[at].0.as_str())
            .collect();
        assert!(
            differ.is_empty(),
            "{observer} changes {} of {}: {differ:?}",
            differ.len(),
            runs.len()
        );
    }
}
