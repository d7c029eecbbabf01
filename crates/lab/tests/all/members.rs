//! Arrays whose members fail or fill: no wrong data is read, no acknowledged write is lost, and
//! what fails is told of every member.

use manx_config::{Override, Source};
use manx_core::stats::{ArrayCounters, Outcome, RunResult};
use manx_lab::compare::{Options, compare};
use manx_lab::load::Request;
use std::num::NonZero;
use std::sync::atomic::AtomicBool;

/// Small drives that collect all the time, and wear out where programs fail.
const TINY: &str = r#"
name = "tiny"
[device]
name = "femu"
geometry = { channels = 8, ways = 1, dies = 1, planes = 2, blocks = 24, pages = 8 }
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
block_sizes = [["4KiB", 3], ["16KiB", 1], ["2KiB", 1]]
pattern = "zipf"
zipf_theta = 0.9
arrival = "closed"
queue_depth = 8
requests = 6000
trim_percent = 5.0
fua_percent = 5.0
flush_every = 50
"#;

fn request(sets: &[&str]) -> Request {
    let overrides = sets.iter().map(|set| Override::from_set(set).unwrap()).collect();
    Request::of(Source { file: "tiny.toml".to_string(), text: TINY.to_string() }, overrides)
        .unwrap()
}

/// Plays the array with every read checked.
fn play(policy: &str, sets: &[&str]) -> RunResult {
    static GO_ON: AtomicBool = AtomicBool::new(false);
    let options = Options { jobs: NonZero::new(1), verify: true, ..Options::plain(None, &GO_ON) };
    let scenario =
        request(sets).under(policy).unwrap_or_else(|error| panic!("{policy} {sets:?}: {error}"));
    let result = compare(&[(policy.to_string(), scenario)], &options).unwrap().remove(0).result;
    let verify = result.verify.expect("it was asked for");
    assert_eq!(verify.mismatches, 0, "{policy} {sets:?}: {:?}", result.warnings);
    assert!(verify.reads_checked > 300, "{policy} {sets:?}: {verify:?}");
    assert_eq!(result.outcome, Outcome::Completed, "{policy} {sets:?}: {:?}", result.warnings);
    result
}

fn array(result: &RunResult) -> ArrayCounters {
    result.array.expect("it is an array")
}

fn warns(result: &RunResult, piece: &str) -> bool {
    result.warnings.iter().any(|warning| warning.contains(piece))
}

const FAILS: &str = "faults.program_fail=0.02";

#[test]
fn what_an_array_acknowledged_from_its_memory_is_there_when_a_member_turns_read_only() {
    for policy in ["base/raid", "base/rails", "base/ioda"] {
        for level in ["raid1", "raid5", "raid6"] {
            let level = format!("array.level={level}");
            let result = play(policy, &[FAILS, "array.members=5", "array.cache=256KiB", &level]);
            let array = array(&result);
            assert!(array.refusing_members > 0, "{policy} {level}: {array:?}");
            assert_eq!(array.failed_members, array.refusing_members);
        }
    }
}

/// Rows that no member takes end as they begin: the one behind begins in the same loop, not in the
/// end of the one before.
#[test]
fn thousands_of_rows_that_no_member_takes_end_one_after_the_other() {
    let sets = [
        "device.geometry.channels=2",
        "device.geometry.ways=2",
        "device.geometry.blocks=48",
        "measure.warmup=0s",
        "workload.requests=5000",
        "workload.rate=20000",
        "workload.read_percent=0",
        "workload.block_sizes=[[\"64KiB\",1]]",
        "array.level=ec",
        "array.parities=3",
        "array.members=6",
        "array.cache=32MiB",
        "faults.program_fail=1e-2",
    ];
    let overrides = sets.iter().map(|set| Override::from_set(set).unwrap()).collect();
    let scenario = Request::read("ioda", overrides).unwrap().under("raid").unwrap();
    static GO_ON: AtomicBool = AtomicBool::new(false);
    let options = Options { jobs: NonZero::new(1), ..Options::plain(None, &GO_ON) };
    let result = compare(&[("raid".to_string(), scenario)], &options).unwrap().remove(0).result;
    assert_eq!(result.outcome, Outcome::Completed);
    assert_eq!(array(&result).refusing_members, 6);
}

#[test]
fn no_strategy_computes_from_a_row_of_which_a_write_was_refused() {
    for policy in
        ["proactive", "hedged", "iod1", "iod2", "ioda", "ioda-adaptive", "mittos", "harmonia"]
    {
        for seed in 1..=3 {
            let seed = format!("seed={seed}");
            let result = play(&format!("base/{policy}"), &[FAILS, "array.members=5", &seed]);
            assert!(array(&result).refusing_members > 0, "{policy} {seed}");
        }
    }
}

/// RAID-5 bears one member that refuses, and no request ends with an error; of the second one it is
/// told.
#[test]
fn one_member_that_refuses_costs_no_request_and_the_array_says_who_it_was() {
    let mut borne = 0;
    for seed in 1..=12 {
        let seed = format!("seed={seed}");
        let result = play("base/raid", &["faults.program_fail=0.01", "array.members=4", &seed]);
        let refused = array(&result).refusing_members;
        let told = result
            .warnings
            .iter()
            .filter(|warning| warning.contains(" refused a write after "))
            .count();
        assert_eq!(told as u64, refused, "{:?}", result.warnings);
        if refused <= 1 {
            assert!(!warns(&result, "completed with an error"), "{:?}", result.warnings);
            borne += refused;
        } else {
            assert!(array(&result).refused_pages > 0 && warns(&result, "no member could keep "));
        }
    }
    assert!(borne > 1, "{borne} arrays bore a failure");
}

/// Nobody else has what a drive of RAID-0 holds: it is read on, and its pages stay in memory or
/// their writes fail.
#[test]
fn without_redundancy_a_member_that_refuses_is_read_on_and_its_pages_are_refused_or_kept() {
    let raid0 = ["array.level=raid0", "array.members=3", "faults.program_fail=0.03"];
    let result = play("base/raid", &raid0);
    let report = array(&result);
    assert!(
        report.failed_members == 0 && report.refused_pages > 0 && report.kept_pages == 0,
        "{report:?}"
    );
    assert!(
        warns(&result, "is read on") && warns(&result, "completed with an error"),
        "{:?}",
        result.warnings
    );
    let result = play("base/raid", &[&raid0[..], &["array.cache=64KiB"]].concat());
    let report = array(&result);
    assert!(report.kept_pages > 0 && report.refused_pages > 0, "{report:?}");
    assert!(warns(&result, "acknowledged pages found no member"), "{:?}", result.warnings);
    // The last drive of a mirror is such a one, too.
    let result =
        play("base/raid", &["array.level=raid1", "array.members=2", "faults.program_fail=0.01"]);
    assert_eq!(array(&result).failed_members, 1);
    assert!(warns(&result, "is read on"), "{:?}", result.warnings);
}

#[test]
fn a_spare_takes_the_place_of_a_member_that_refused_a_write() {
    let mut restored = 0;
    for seed in 1..=6 {
        let seed = format!("seed={seed}");
        let sets =
            ["faults.program_fail=0.008", "array.members=4", "array.replace_after=1ms", &seed];
        for policy in ["base/raid", "base/ioda"] {
            let report = array(&play(policy, &sets));
            assert!(report.failed_members >= u64::from(report.restored_rows > 0));
            restored += report.restored_rows;
        }
    }
    assert!(restored > 500, "{restored} rows");
}

/// A page that a drive computes from its own parity is the page it holds, whatever the array's
/// parity in it.
#[test]
fn parity_inside_of_members_is_made_of_what_they_hold() {
    for (level, members) in
        [("raid5", 3), ("raid5", 4), ("raid5", 5), ("raid6", 4), ("raid6", 5), ("raid1", 3)]
    {
        let (level, members) = (format!("array.level={level}"), format!("array.members={members}"));
        let small = ["workload.requests=1500", "device.geometry.pages=32"];
        for policy in ["gtr/raid", "base/rain/raid", "base/gtr/ioda", "ttflash/raid"] {
            let sets = [&small[..], &[&level, &members, "rain.reconstruct=always"]].concat();
            let result = play(policy, &sets);
            let computed = result.rain.expect("there is parity").reconstructed_reads;
            assert!(computed > 100, "{policy} {level} {members}: {computed}");
        }
    }
}

#[test]
fn every_member_has_blocks_enough_or_the_scenario_is_refused_with_its_number() {
    let bad = ["faults.factory_bad=0.05", "device.op=0.35"];
    let (mut members, mut spares) = (0, 0);
    for seed in 1..60 {
        let seed = format!("seed={seed}");
        let alone = request(&[&bad[..], &[&seed]].concat()).under("base").is_ok();
        let array = [&bad[..], &[&seed, "array.members=5"]].concat();
        match request(&array).under("base/raid") {
            Ok(_) => {
                assert!(alone);
                let with_spare = [&array[..], &["array.replace_after=1s"]].concat();
                if let Err(error) = request(&with_spare).under("base/raid") {
                    assert!(
                        error.to_string().contains("of the worst lane of the spare drive are bad"),
                        "{error}"
                    );
                    spares += 1;
                }
                let result = play("base/raid", &[&array[..], &["workload.requests=1200"]].concat());
                assert!(!warns(&result, "with an error"), "{seed}: {:?}", result.warnings);
            }
            Err(error) => {
                let said = error.to_string();
                assert!(said.contains("blocks of the worst lane of member "), "{said}");
                members += u32::from(alone);
            }
        }
    }
    assert!(
        members > 3 && spares > 0,
        "{members} refused for another member than the first, {spares} for the spare"
    );
}

/// Pages beyond correction, beside a member that fails and a spare that is restored from the
/// others: what cannot be known ends with an error, and the run ends.
#[test]
fn what_no_member_can_read_ends_with_an_error_and_is_not_made_up() {
    let errors =
        ["scrub.errors=true", "scrub.rber=7e-4", "scrub.correctable=10", "scrub.rewrite_at=0"];
    let fails = ["array.fail_at=5ms", "array.replace_after=1ms", "workload.requests=1500"];
    let mut could_not = 0;
    for (level, members) in [("raid0", 3), ("raid1", 2), ("raid5", 3), ("raid6", 4)] {
        let (level, members) = (format!("array.level={level}"), format!("array.members={members}"));
        for seed in 1..=5 {
            let (seed, pages) = (format!("seed={seed}"), "device.geometry.pages=32");
            let fails = if level.ends_with('0') { &fails[2..] } else { &fails[..] };
            let result = play(
                "base/raid",
                &[&errors[..], fails, &[&level, &members, &seed, pages]].concat(),
            );
            could_not += u32::from(warns(&result, "could not read what an update needed"));
        }
    }
    assert!(could_not > 3, "{could_not} arrays failed a member that could not read");
}

/// Members of one array are written alike, and reach their end one soon after the other.
#[test]
fn members_that_wear_out_are_refused_one_by_one_and_nothing_acknowledged_is_lost() {
    for policy in ["base/raid", "base/ioda"] {
        let (wears, rated) = ("faults.wear_out=true", "device.endurance=2");
        let sets = [wears, rated, "array.members=4", "workload.requests=20000"];
        let result = play(policy, &sets);
        let (array, faults) = (array(&result), result.faults.unwrap());
        assert!(array.refusing_members > 0 && faults.worn_out > 0, "{policy} {array:?} {faults:?}");
        assert_eq!(faults.worn_out, faults.erase_failures);
        let wear = result.flash.wear;
        assert_eq!(wear.endurance, Some(2));
        let used = 100.0 * wear.erases_mean / 2.0;
        assert!(wear.percentage_used.is_some_and(|percent| (percent - used).abs() < 1e-3));
    }
    let plain = play("base/raid", &["array.members=4"]).flash.wear;
    assert_eq!((plain.endurance, plain.percentage_used), (None, None));
}

/// A closed loop goes on in virtual time where every answer is an error at once, and such answers
/// are no latency.
#[test]
fn a_closed_loop_over_lost_members_ends() {
    let sets = ["array.members=4", "workload.requests=0", "workload.time=\"2s\""];
    let wears = ["faults.erase_fail=0.5", "workload.trim_percent=0.0", "workload.flush_every=0"];
    let result = play("raid/preemptive", &[&sets[..], &wears].concat());
    let counters = array(&result);
    assert!(counters.lost_reads > 1_000 && counters.refused_pages > 1_000, "{counters:?}");
    assert!(result.read.count < counters.lost_reads, "{} reads count", result.read.count);
    assert!(result.warnings.iter().any(|text| text.contains("too few members")));
}
