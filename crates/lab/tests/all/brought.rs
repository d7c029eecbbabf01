//! Policies that a program brings along: where they choose as the core's do, the run is the same
//! bytes; what they do not go with is refused, and nothing that keeps results by name takes them.

use manx_config::{Override, Scenario, validate};
use manx_core::array::Strategy;
use manx_core::ftl::victim::{Candidates, Chooser};
use manx_core::sim::External;
use manx_core::stats::RunSet;
use manx_lab::campaign::key;
use manx_lab::compare::{Options, compare};
use manx_lab::json::{strip_machine, to_json};
use manx_lab::load::Request;
use std::sync::atomic::AtomicBool;

/// Greedy, or the block of the highest number, which is not.
#[derive(Clone, Debug)]
struct Mine {
    fewest: bool,
}

impl Chooser for Mine {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<u32> {
        let all = (0..candidates.count()).filter_map(|at| Some((candidates.valid(at)?, at)));
        let chosen = if self.fewest { all.min() } else { all.max_by_key(|(_, at)| *at) };
        chosen.map(|(_, at)| at)
    }

    fn twin(&self) -> Box<dyn Chooser> {
        Box::new(self.clone())
    }
}

/// The strategy `direct`: every default.
#[derive(Clone, Debug)]
struct Plain;

impl Strategy for Plain {}

fn scenario(policy: &str, keys: &[(&str, &str)]) -> Scenario {
    let keys = [&[("workload.requests", "4000")], keys].concat();
    let sets = keys.iter().map(|(key, value)| Override::new(*key, *value, "test"));
    Request::read("quick", sets.collect()).unwrap().under(policy).unwrap()
}

fn choosing(mut scenario: Scenario, fewest: bool) -> Scenario {
    scenario.gc.brought = External::new("mine", move || Box::new(Mine { fewest }) as Box<_>);
    scenario
}

/// The results of these runs, side by side, without the names of what was brought along.
fn played(runs: Vec<Scenario>) -> Vec<String> {
    static GO_ON: AtomicBool = AtomicBool::new(false);
    let runs: Vec<_> = runs.into_iter().map(|run| ("one".to_string(), run)).collect();
    let finished = compare(&runs, &Options::plain(None, &GO_ON)).unwrap();
    let told = |mut run: manx_core::stats::RunResult| {
        (run.path, run.axes) = (String::new(), std::collections::BTreeMap::new());
        strip_machine(&to_json(&RunSet { runs: vec![run] })).unwrap()
    };
    finished.into_iter().map(|run| told(run.result)).collect()
}

#[test]
fn a_victim_policy_of_the_programs_own_takes_the_place_of_the_cores() {
    for policy in ["base", "preemptive", "sepbit", "2r", "dftl"] {
        let native = scenario(policy, &[("gc.victim", "greedy")]);
        let mine = [true, false].map(|fewest| choosing(native.clone(), fewest));
        // Beside each other: neither takes the other's preconditioned state.
        let results = played([vec![native], mine.to_vec()].concat());
        assert_eq!(results[0], results[1], "{policy}");
        assert_ne!(results[0], results[2], "{policy}");
    }
}

#[test]
fn a_strategy_of_the_programs_own_takes_the_place_of_the_cores() {
    let native = scenario("raid", &[("array.members", "4")]);
    let mut mine = native.clone();
    mine.array.brought = External::new("mine", || Box::new(Plain) as Box<_>);
    validate(&mine).unwrap();
    let results = played(vec![native, mine.clone()]);
    assert_eq!(results[0], results[1]);
    mine.array.members = 1;
    assert!(validate(&mine).is_err(), "a drive alone has nothing to choose");
}

#[test]
fn no_journal_and_no_log_block_takes_a_policy_of_the_programs_own() {
    let mine = choosing(scenario("base", &[]), true);
    validate(&mine).unwrap();
    let error = key(&("base".to_string(), mine), false).unwrap_err().to_string();
    assert!(error.contains("mine is a policy of the program's own"), "{error}");
    assert!(key(&("base".to_string(), scenario("base", &[])), false).is_ok());
    let invalid = validate(&choosing(scenario("faster", &[]), true)).unwrap_err();
    assert!(invalid.allowed.contains("needs ftl.kind"), "{invalid:?}");
}
