//! Comparisons from scenario to result: what must not change them, and what must.

use manx_config::{Override, Scenario};
use manx_core::stats::{Outcome, RunSet};
use manx_lab::cache::Cache;
use manx_lab::compare::{Options, compare};
use manx_lab::json::{strip_machine, to_json};
use manx_lab::load::Request;
use manx_lab::run::{Beside, Finished, Moment, Phase};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The built-in small scenario with some keys changed, under these policies.
fn runs(policies: &[&str], sets: &[&str]) -> Vec<(String, Scenario)> {
    let overrides = sets.iter().map(|set| Override::from_set(set).unwrap()).collect();
    let request = Request::read("quick", overrides).unwrap();
    policies.iter().map(|policy| (policy.to_string(), request.under(policy).unwrap())).collect()
}

const POLICIES: [&str; 3] = ["nogc", "base", "preemptive"];
const SHORT: &str = "workload.requests=5000";

static GO_ON: AtomicBool = AtomicBool::new(false);

fn options(jobs: usize, cache: Option<&Cache>) -> Options<'_> {
    Options {
        jobs: NonZero::new(jobs),
        verify: false,
        cache,
        beside: Beside::default(),
        stop: &GO_ON,
        observer: &|_| {},
        finished: None,
        limits: None,
    }
}

fn document(finished: &[Finished]) -> String {
    let set = RunSet { runs: finished.iter().map(|run| run.result.clone()).collect() };
    strip_machine(&to_json(&set)).unwrap()
}

/// A folder of this test's own, empty.
fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_comparison_is_the_same_bytes_again_and_on_any_number_of_threads() {
    let runs = runs(&POLICIES, &[SHORT]);
    let one = compare(&runs, &options(1, None)).unwrap();
    let two = compare(&runs, &options(2, None)).unwrap();
    assert_eq!(document(&one), document(&two));
    assert_eq!(document(&one), document(&compare(&runs, &options(3, None)).unwrap()));
    let policies: Vec<&str> = one.iter().map(|run| run.result.policy.as_str()).collect();
    assert_eq!(policies, POLICIES, "in the order asked for");
    for run in &one {
        let result = &run.result;
        assert_eq!(
            (result.outcome, result.requests, result.warmup_excluded.requests),
            (Outcome::Completed, 4_000, 1_000)
        );
        assert!(
            result.machine.cpu_s.is_some() && result.flash.host_pages_written > 1_000,
            "{result:?}"
        );
    }
    let gc: Vec<bool> = one.iter().map(|run| run.result.flash.waf > Some(1.1)).collect();
    assert_eq!(gc, [false, true, true]);
    assert!(one[0].result.gc.free_reclaims > 0 && one[0].result.flash.erases == 0);
}

#[test]
fn a_shared_state_gives_what_a_state_of_its_own_gives() {
    let together = compare(&runs(&POLICIES, &[SHORT]), &options(1, None)).unwrap();
    let alone: Vec<Finished> = POLICIES
        .iter()
        .flat_map(|policy| compare(&runs(&[policy], &[SHORT]), &options(1, None)).unwrap())
        .collect();
    assert_eq!(document(&together), document(&alone));
}

#[test]
fn a_state_from_the_cache_gives_what_a_fresh_one_gives() {
    let variants: [&[&str]; 5] = [
        &[SHORT],
        &[
            SHORT,
            "precondition.overwrite=workload",
            "workload.pattern=zipf",
            "ftl.static_wear_gap=4",
        ],
        &[SHORT, "ftl.allocation=dynamic", "gc.unit=superblock", "gc.victim=cost-benefit"],
        &[SHORT, "ftl.allocation=dynamic", "gc.victim=d-choices", "ftl.free_block=fifo"],
        &[SHORT, "precondition.state=aged", "gc.victim=windowed-greedy"],
    ];
    for (number, sets) in variants.into_iter().enumerate() {
        let folder = scratch(&format!("cache-{number}"));
        let cache = Cache::at(&folder).keeping_all();
        let runs = runs(&["base"], sets);
        let [made, found] =
            [(); 2].map(|()| compare(&runs, &options(1, Some(&cache))).unwrap().remove(0));
        assert_eq!(
            (made.preparation.from_cache, found.preparation.from_cache),
            (false, true),
            "{sets:?}"
        );
        assert!(found.result.machine.precondition_from_cache);
        assert_eq!(document(std::slice::from_ref(&made)), document(&[found]), "{sets:?}");
        assert_eq!(
            document(&[made]),
            document(&compare(&runs, &options(1, None)).unwrap()),
            "{sets:?}"
        );
    }
}

#[test]
fn a_state_is_found_by_what_determines_it_and_by_nothing_else() {
    let folder = scratch("cache-keys");
    let cache = Cache::at(&folder).keeping_all();
    let found = |policy: &str, sets: &[&str]| {
        compare(&runs(&[policy], sets), &options(1, Some(&cache))).unwrap()[0]
            .preparation
            .from_cache
    };
    assert!(!found("base", &[SHORT]));
    assert!(found("nogc", &[SHORT]), "the mode of a collection takes time, not space");
    assert!(found(
        "base",
        &[SHORT, "workload.rate=3000.0", "device.timing.read=[\"50us\"]", "drive.buffer=1MiB"]
    ));
    assert!(!found("base", &[SHORT, "seed=2"]));
    assert!(!found("base", &[SHORT, "gc.soft=0.09"]));
    assert!(!found("base", &[SHORT, "device.op=0.3"]));
    assert!(!found("base", &[SHORT, "precondition.overwrite=workload"]));
    assert!(!found("base", &[SHORT, "precondition.overwrite=workload", "workload.pattern=zipf"]));
}

#[test]
fn a_damaged_state_is_made_anew_and_replaced_and_a_bad_folder_is_only_a_remark() {
    let folder = scratch("cache-damaged");
    let cache = Cache::at(&folder).keeping_all();
    let runs = runs(&["base"], &[SHORT]);
    let fresh = document(&compare(&runs, &options(1, Some(&cache))).unwrap());
    let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&file, &bytes).unwrap();
    let again = compare(&runs, &options(1, Some(&cache))).unwrap();
    assert!(!again[0].preparation.from_cache);
    assert_eq!(document(&again), fresh);
    assert!(
        compare(&runs, &options(1, Some(&cache))).unwrap()[0].preparation.from_cache,
        "it was replaced"
    );

    let in_the_way = folder.join("a-file");
    std::fs::write(&in_the_way, "").unwrap();
    let cache = Cache::at(in_the_way.join("cache")).keeping_all();
    let run = compare(&runs, &options(1, Some(&cache))).unwrap();
    assert!(
        run[0]
            .preparation
            .trouble
            .as_deref()
            .is_some_and(|trouble| trouble.contains("cannot keep"))
    );
    assert_eq!(document(&run), fresh);
}

#[test]
fn verify_checks_every_read_and_changes_nothing_else() {
    let runs = runs(&POLICIES, &[SHORT]);
    let plain = compare(&runs, &options(2, None)).unwrap();
    let checked = compare(&runs, &Options { verify: true, ..options(2, None) }).unwrap();
    for (mut checked, plain) in checked.into_iter().zip(plain) {
        let verify = checked.result.verify.take().unwrap();
        // The oracle also checks the warm-up.
        assert!(verify.reads_checked > checked.result.read.count, "{verify:?}");
        assert_eq!(verify.mismatches, 0);
        assert_eq!(document(&[checked]), document(&[plain]));
    }
}

/// 2000 requests of 4 KiB over 1 GiB, every third one a read, a millisecond apart; one is not on a
/// sector.
fn msr_trace() -> String {
    (0..2_000u64).fold(String::new(), |text, n| {
        let kind = if n % 3 == 0 { "Read" } else { "Write" };
        let offset = n * 7_919 % (1 << 18) * 4096 + u64::from(n == 10);
        text + &format!(
            "{},host,0,{kind},{offset},4096,100\n",
            128_166_372_000_000_000 + n * 10_000
        )
    })
}

#[test]
fn a_trace_is_replayed_and_its_summary_says_what_was_altered() {
    let file = scratch("trace").join("small.csv");
    std::fs::write(&file, msr_trace()).unwrap();
    let named = format!("workload.trace.file={:?}", file.display().to_string());
    let sets = |remap| {
        vec!["workload.arrival=trace", "workload.requests=0", "measure.warmup_requests=0", remap]
    };
    for overwrite in ["precondition.overwrite=random", "precondition.overwrite=workload"] {
        let sets = [sets("workload.trace.remap=modulo"), vec![named.as_str(), overwrite]].concat();
        // `trace.file` before the other keys of the trace.
        let sets: Vec<&str> = [&sets[4..], &sets[..4]].concat();
        let result = compare(&runs(&["base"], &sets), &options(1, None)).unwrap().remove(0).result;
        assert_eq!(
            (result.outcome, result.requests, result.read.count),
            (Outcome::Completed, 2_000, 667)
        );
        let trace = result.trace.unwrap();
        assert_eq!(
            (trace.counts["requests"], trace.counts["reads"], trace.counts["dropped"]),
            (2_000, 667, 0)
        );
        assert_eq!(trace.counts["altered"], 1, "{}", trace.text);
        assert!(
            trace.counts["altered in the replay: address folded modulo the device"] > 1_000,
            "{}",
            trace.text
        );
        assert!(trace.text.contains(" in the replay\n"), "{}", trace.text);
    }
    let sets = [vec![named.as_str()], sets("workload.trace.remap=none")].concat();
    let error = compare(&runs(&POLICIES, &sets), &options(2, None)).unwrap_err().to_string();
    assert!(error.contains("small.csv:") && error.contains("beyond the device"), "{error}");
}

#[test]
fn a_trace_beside_its_scenario_is_found_from_anywhere() {
    let folder = scratch("beside");
    std::fs::write(folder.join("small.csv"), msr_trace()).unwrap();
    let scenario = "[device]\nname = \"femu\"\ngeometry.blocks = 64\nop = 0.25\n[gc]\nsoft = 0.1\n\
                    [workload.trace]\nfile = \"small.csv\"\n";
    let file = folder.join("beside.toml");
    std::fs::write(&file, scenario).unwrap();
    let read = |request: Request| {
        request.under("base").unwrap().workload.jobs[0].trace.clone().unwrap().file
    };
    let name = file.display().to_string();
    let beside = folder.join("small.csv").display().to_string();
    assert_eq!(read(Request::read(&name, Vec::new()).unwrap()), beside);
    let from_here = Override::from_set("workload.trace.file=other.csv").unwrap();
    assert_eq!(read(Request::read(&name, vec![from_here]).unwrap()), "other.csv");
    let same_name = Override::from_set("workload.trace.file=small.csv").unwrap();
    assert_eq!(
        read(Request::read(&name, vec![same_name]).unwrap().with_trace_from_here()),
        "small.csv"
    );
}

#[test]
fn a_workload_that_writes_nothing_is_overwritten_at_random_and_says_so() {
    let sets = [SHORT, "precondition.overwrite=workload", "workload.read_percent=100.0"];
    let result = compare(&runs(&["base"], &sets), &options(1, None)).unwrap().remove(0).result;
    assert!(
        result.warnings.iter().any(|warning| warning.contains("writes nothing")),
        "{:?}",
        result.warnings
    );
    assert_eq!((result.write.count, result.flash.waf), (0, None));
}

#[test]
fn a_stopped_comparison_is_partial_with_what_it_saw() {
    let stop = AtomicBool::new(false);
    let seen = AtomicU64::new(0);
    let observer = |moment: &Moment<'_>| {
        if moment.phase == Phase::Running {
            seen.store(moment.done, Ordering::Relaxed);
            stop.store(true, Ordering::Relaxed);
        }
    };
    let runs = runs(&["base", "nogc"], &["workload.requests=100_000_000"]);
    let finished =
        compare(&runs, &Options { stop: &stop, observer: &observer, ..options(1, None) }).unwrap();
    let results: Vec<_> =
        finished.iter().map(|run| (run.result.outcome, run.result.requests > 0)).collect();
    assert_eq!(results, [(Outcome::Partial, true), (Outcome::Partial, false)]);
    assert_eq!(seen.load(Ordering::Relaxed), finished[0].result.requests + 1_000);
}

#[test]
fn a_warm_up_without_end_measures_nothing_and_says_so() {
    let result = compare(&runs(&["base"], &[SHORT, "measure.warmup=1000s"]), &options(1, None))
        .unwrap()
        .remove(0)
        .result;
    assert_eq!((result.requests, result.flash.pages_programmed, result.virtual_s), (0, 0, 0.0));
    assert!(
        result.warnings.iter().any(|warning| warning.contains("nothing was measured")),
        "{:?}",
        result.warnings
    );
}
