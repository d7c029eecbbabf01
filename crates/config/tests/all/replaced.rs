//! Options that replace a part of a scenario: the scenario's own words about that part, and the
//! path that a run is on after all of it.

use manx_config::{
    ALIASES, ConfigError, Input, Overlaid, Override, POLICIES, PolicyPath, Scenario, Source,
    builtin_device, builtin_scenario, device_names, load, load_device, overlaid,
};
use manx_core::drive::{EraseMode, Overwrite, ProgramMode};
use manx_core::flash::Capacity;
use manx_core::ftl::Watermark;
use manx_trace::Remap;

/// A trace in place of a workload.
const TRACE: [&str; 2] = ["workload.trace.file=a.csv", "workload.arrival=trace"];

fn overrides(sets: &[&str]) -> Vec<Override> {
    sets.iter().map(|set| Override::from_set(set).unwrap()).collect()
}

fn under(scenario: &Source, policy: Option<&str>, sets: &[&str]) -> Result<Scenario, ConfigError> {
    load(&Input { scenario, device: None, policy, overrides: &overrides(sets) })
}

fn oltp(sets: &[&str]) -> Scenario {
    under(&builtin_scenario("oltp").unwrap(), None, sets).unwrap()
}

fn file(text: &str) -> Source {
    Source { file: "x.toml".to_string(), text: text.to_string() }
}

/// `--device X` was drive X cut to the blocks and the spare space of the scenario's own: 4 TiB
/// became 486 GiB.
#[test]
fn another_device_keeps_its_own_numbers() {
    for name in device_names() {
        let table = load_device(&builtin_device(name).unwrap()).unwrap();
        assert_eq!(oltp(&[&format!("device.name={name}")]).device, table);
    }
    let cut = oltp(&["device.name=femu", "device.geometry.blocks=64", "device.op=0.3"]).device;
    assert_eq!((cut.geometry.blocks, cut.op), (64, 0.3), "what is asked for beside it holds");
    assert_eq!(oltp(&[]).device.geometry.blocks, 128, "the scenario's own drive is as it says");
}

#[test]
fn the_numbers_of_a_table_that_a_scenario_lies_over_are_told() {
    let scenario = builtin_scenario("oltp").unwrap();
    let told = |sets: &[&str]| {
        overlaid(&Input {
            scenario: &scenario,
            device: None,
            policy: None,
            overrides: &overrides(sets),
        })
        .unwrap()
    };
    let table = load_device(&builtin_device("ttflash-256g").unwrap()).unwrap();
    let expected = [
        ("device.geometry.blocks", "128", table.geometry.blocks.to_string()),
        ("device.op", "0.25", table.op.to_string()),
    ];
    let expected = expected.map(|(key, value, table)| Overlaid {
        key: key.into(),
        value: value.into(),
        table: Some(table),
    });
    assert_eq!(told(&[]), expected);
    assert_eq!(
        told(&["device.name=femu"]),
        [],
        "nothing of the scenario's lies over another device"
    );
}

/// A replayed trace hid its garbage collection: the drive had been overwritten with the trace's own
/// few pages.
#[test]
fn a_trace_in_place_of_a_workload_finds_a_drive_in_the_steady_state_of_random_overwrites() {
    let [trace, arrival] = TRACE;
    assert_eq!(oltp(&[]).precondition.overwrite, Overwrite::Workload);
    assert_eq!(oltp(&[trace, arrival]).precondition.overwrite, Overwrite::Random);
    let said = oltp(&[trace, arrival, "precondition.overwrite=workload"]);
    assert_eq!(said.precondition.overwrite, Overwrite::Workload, "who asks for it gets it");
}

#[test]
fn a_trace_that_a_scenario_names_itself_keeps_what_the_scenario_says_of_it() {
    let own = "[device]\nname = \"femu\"\n[precondition]\noverwrite = \"workload\"\n\
               [workload.trace]\nfile = \"a.csv\"\n";
    let scenario = under(&file(own), None, &["workload.trace.file=b.csv"]).unwrap();
    assert_eq!(scenario.precondition.overwrite, Overwrite::Workload);
    let remap = |scenario: &Scenario| scenario.workload.jobs[0].trace.as_ref().unwrap().remap;
    assert_eq!(remap(&scenario), Remap::None);
    assert_eq!(remap(&oltp(&TRACE)), Remap::Modulo, "no drive of it was made for the trace");
    assert_eq!(remap(&oltp(&[TRACE[0], TRACE[1], "workload.trace.remap=none"])), Remap::None);
}

#[test]
fn a_percentage_is_a_share_and_of_over_provisioning_what_a_data_sheet_says() {
    let scenario = oltp(&["device.op=28%", "gc.soft=6%", "gc.hard=1.5%", "drive.flush_above=50%"]);
    assert_eq!(
        (scenario.device.op, scenario.gc.soft, scenario.gc.hard),
        (0.28 / 1.28, 0.06.into(), 0.015.into())
    );
    assert_eq!(scenario.drive.flush_above, 0.5);
    let blocks = oltp(&["gc.soft=9 blocks", "gc.hard=1 block"]).gc;
    assert_eq!((blocks.soft, blocks.hard), (Watermark::Blocks(9), Watermark::Blocks(1)));
    let text = toml::to_string(&blocks).unwrap();
    assert!(text.contains("soft = \"9 blocks\"\nhard = \"1 block\"\n"), "{text}");
    // Rounded down to whole stripe rounds, the user sees a little less.
    let of_user = Capacity::of(&scenario.device).op_of_user();
    assert!((0.28..0.281).contains(&of_user), "{of_user}");
    assert_eq!(oltp(&["device.op=25% of raw"]).device, oltp(&[]).device);
    let refused =
        |set| under(&builtin_scenario("oltp").unwrap(), None, &[set]).unwrap_err().to_string();
    for (set, pieces) in [
        ("device.op=7 percent", ["device.op = \"7 percent\"", "7% of user"]),
        ("device.op=true", ["device.op = true", "6.5% of raw"]),
        ("device.op=7", ["device.op = 7", "from 0 to below 1"]),
        ("gc.soft=5 %%", ["gc.soft = \"5 %%\"", "a percentage such as \"5%\""]),
        ("gc.soft=500%", ["gc.soft", "below 1"]),
        ("gc.soft=1.5 blocks", ["gc.soft = \"1.5 blocks\"", "a whole number of blocks"]),
        ("gc.soft=0 blocks", ["gc.soft = 0 blocks", "above 0"]),
        ("gc.soft=9999 blocks", ["gc.soft = 9999 blocks", "below 1, or erased blocks"]),
    ] {
        let message = refused(set);
        assert!(
            pieces.iter().all(|piece| message.contains(piece)) && !message.contains('\n'),
            "{set}: {message}"
        );
    }
}

/// Undoes a setting that no policy stands for: a drive without a buffer for writes.
const BUFFERED: [&str; 1] = ["drive.write_through=false"];

#[test]
fn the_path_of_a_policy_is_a_policy_that_makes_the_same_run() {
    let ioda = builtin_scenario("ioda").unwrap();
    let names =
        POLICIES.iter().map(|policy| policy.name).chain(ALIASES.iter().map(|alias| alias.name));
    let (mut tried, mut all) = (0, 0);
    for name in names {
        all += 1;
        for scenario in
            [&builtin_scenario("quick").unwrap(), &builtin_scenario("oltp").unwrap(), &ioda]
        {
            // Not every policy goes with every drive.
            let Ok(run) = under(scenario, Some(name), &BUFFERED) else { continue };
            let path = PolicyPath::of(&run).to_string();
            let again = under(scenario, Some(&path), &BUFFERED)
                .unwrap_or_else(|error| panic!("{name}: {path}: {error}"));
            assert_eq!(again, run, "{name}: {path}");
            assert_eq!(PolicyPath::of(&again).to_string(), path);
            tried += 1;
        }
    }
    assert!(tried > all, "{tried} of {all}");
}

#[test]
fn what_policies_leave_to_the_scenario_stands_in_their_paths() {
    let quick = builtin_scenario("quick").unwrap();
    let path =
        |policy: &str, sets: &[&str]| PolicyPath::of(&under(&quick, Some(policy), sets).unwrap());
    let shown = |policy| path(policy, &[]).to_string();
    assert_eq!(shown("base"), "base");
    assert_eq!(shown("sepbit"), "base/sepbit", "the scenario's collection");
    assert_eq!(shown("t-es"), "reads-first/t-es(64ms)", "the collection of its paper");
    assert_eq!(shown("preemptive/dftl"), "preemptive/dftl(64KiB)");
    assert_eq!(shown("faster-no-isolation"), "base/faster-no-isolation");
    assert_eq!(
        path("t-es", &["drive.write_through=true"]).to_string(),
        "reads-first/t-es(64ms)/write-through"
    );
    let (sepbit, erase) = (path("sepbit", &[]).by_axis(), path("t-es", &[]).by_axis());
    let differ: Vec<&String> = sepbit.keys().filter(|axis| sepbit[*axis] != erase[*axis]).collect();
    assert_eq!(differ, ["erase", "ftl", "gc"]);
}

/// Decisions of the keys of the test below, but for those that nothing reads: limits of erases that
/// nothing suspends.
fn decided(scenario: &Scenario) -> String {
    let Scenario { gc, rain, ftl, erase, program, .. } = scenario;
    let gc = (gc.mode, gc.reads_first, gc.pace, gc.copyback, gc.rotate);
    let rain = (rain.width > 0).then_some((rain.width, rain.update, rain.reconstruct));
    let erase = (erase.mode != EraseMode::None).then_some((
        erase.mode,
        erase.timeout,
        erase.max_suspensions,
        erase.min_run,
    ));
    let program = (program.mode != ProgramMode::None).then_some((
        program.mode,
        program.max_suspensions,
        program.min_run,
    ));
    format!("{gc:?} {rain:?} {} {erase:?} {program:?}", ftl.map.cache)
}

/// Keys that decide what a path says, one after the other and in pairs, under policies that they go
/// with: a path whose parts are all policies makes the same run, and any other is refused.
#[test]
fn a_path_that_names_policies_makes_the_same_run_whatever_was_set_beside_them() {
    let keys = [
        "erase.min_run=1us",
        "erase.max_suspensions=8",
        "program.max_suspensions=4",
        "program.min_run=50us",
        "erase.mode=d-es",
        "program.mode=ips",
        "program.mode=ideal",
        "gc.pace=writes",
        "gc.reads_first=true",
        "gc.copyback=false",
        "rain.width=2",
        "rain.reconstruct=always",
        "ftl.map.cache=64KiB",
        "gc.rotate=static",
    ];
    let policies =
        ["pes", "es", "t-es", "limited-pes", "modern", "paced", "sepbit", "2r", "rgc", "gtr"];
    let scenario = builtin_scenario("quick").unwrap();
    let (mut same, mut refused) = (0, 0);
    for policy in policies {
        for (at, first) in keys.iter().enumerate() {
            for second in &keys[at..] {
                let sets = [BUFFERED[0], "drive.scheduler=read-first", first, second];
                let Ok(run) = under(&scenario, Some(policy), &sets) else { continue };
                let path = PolicyPath::of(&run).to_string();
                match under(&scenario, Some(&path), &sets[..2]) {
                    Ok(again) => assert_eq!(decided(&again), decided(&run), "{sets:?}: {path}"),
                    Err(error) => {
                        assert!(path.contains('['), "{policy} {sets:?}: {path}: {error}");
                        refused += 1;
                        continue;
                    }
                }
                same += 1;
            }
        }
    }
    assert!(same > 100 && refused > 100, "{same} {refused}");
    let path = |policy: &str, sets: &[&str]| {
        PolicyPath::of(&under(&scenario, Some(policy), sets).unwrap()).to_string()
    };
    assert_eq!(path("limited-pes", &[]), "reads-first/limited-pes");
    assert_eq!(path("pes", &["erase.min_run=1us"]), "reads-first/pes[erase.min_run=1us]");
    assert_eq!(path("es", &["erase.max_suspensions=8"]), "reads-first/es[erase.max_suspensions=8]");
    assert_eq!(path("t-es", &["gc.pace=writes"]), "reads-first[gc.pace=writes]/t-es(64ms)");
    assert_eq!(
        path("d-es", &["program.mode=ips", "program.min_run=1us"]),
        "reads-first/d-es[program.mode=ips program.min_run=1us]"
    );
    assert_eq!(
        path("cost-benefit", &["ftl.map.cache=64KiB"]),
        "base/cost-benefit[ftl.map.cache=64KiB]"
    );
}
