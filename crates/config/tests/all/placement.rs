//! Data placement as a user meets it: policies, keys, and what each mistake is answered with.

use manx_config::{Input, Override, Scenario, Source, load, resolve_policy};
use manx_core::ftl::{DataPlacement, Frontiers, StreamCopies, Victim};
use manx_core::host::StreamBy;

const GOOD: &str = r#"name = "good"
[device]
name = "femu"
[gc]
soft = 0.08
[workload]
requests = 1000
"#;

fn loaded(policy: Option<&str>, sets: &[&str]) -> Result<Scenario, String> {
    let scenario = Source { file: "x.toml".to_string(), text: GOOD.to_string() };
    let overrides: Vec<Override> =
        sets.iter().map(|set| Override::from_set(set).unwrap()).collect();
    load(&Input { scenario: &scenario, device: None, policy, overrides: &overrides })
        .map_err(|error| error.to_string())
}

#[track_caller]
fn refused(sets: &[&str], pieces: &[&str]) {
    let message = loaded(None, sets).unwrap_err();
    assert!(!message.contains('\n'), "more than one line: {message}");
    for piece in pieces {
        assert!(message.contains(piece), "`{piece}` is not in: {message}");
    }
}

#[test]
fn policies_set_placement_frontiers_and_victims() {
    use DataPlacement::{Dac, Sepbit, Stream, TwoRegions, TwoRegionsSecondChance};
    use Frontiers::{Separate, Shared};
    let of = |name| {
        let Scenario { ftl, gc, .. } =
            loaded(Some(name), &["ftl.placement=none", "ftl.frontiers=shared"]).unwrap();
        (ftl.placement, ftl.frontiers, gc.victim)
    };
    // A `--set` lies over a policy; so the keys are left alone below.
    assert_eq!(of("dac"), (DataPlacement::None, Shared, Victim::CostBenefit));
    let of = |name| {
        let Scenario { ftl, gc, .. } = loaded(Some(name), &[]).unwrap();
        (ftl.placement, ftl.frontiers, gc.victim)
    };
    assert_eq!(of("dac"), (Dac, Shared, Victim::CostBenefit));
    assert_eq!(of("cost-benefit"), (DataPlacement::None, Separate, Victim::CostBenefit));
    assert_eq!(of("sepbit"), (Sepbit, Separate, Victim::Greedy));
    assert_eq!(of("2r"), (TwoRegions, Separate, Victim::Greedy));
    assert_eq!(of("2r(fifo)"), (TwoRegions, Separate, Victim::Fifo));
    assert_eq!(of("2r++"), (TwoRegionsSecondChance, Separate, Victim::Greedy));
    assert_eq!(of("preemptive+2r++"), (TwoRegionsSecondChance, Separate, Victim::Greedy));
    assert_eq!(of("2r++/t-es(4ms)"), (TwoRegionsSecondChance, Separate, Victim::Greedy));
    assert_eq!(of("streams"), (Stream, Separate, Victim::Greedy));
    let names = |path| {
        resolve_policy(path)
            .map(|parts| parts.into_iter().map(|part| part.name).collect::<Vec<_>>())
    };
    assert_eq!(names("base/2r-second-chance(fifo)").unwrap(), ["base", "2r-second-chance(fifo)"]);
    assert!(names("dac/sepbit").unwrap_err().to_string().contains("both decide ftl"));
    assert!(names("2r(random)").unwrap_err().to_string().contains("it is one of greedy, fifo"));
}

#[test]
fn keys_of_a_rule_are_checked_where_the_rule_reads_them() {
    refused(&["ftl.placement=hot"], &["ftl.placement", "`sepbit`", "`2r-second-chance`"]);
    refused(&["ftl.placement=dac", "ftl.dac_regions=1"], &["ftl.dac_regions = 1", "from 2 to 8"]);
    refused(&["ftl.placement=dac", "ftl.dac_regions=9"], &["ftl.dac_regions = 9", "from 2 to 8"]);
    refused(&["ftl.placement=dac", "ftl.dac_age=-1"], &["ftl.dac_age = -1", "from 0 to 1000"]);
    refused(&["ftl.placement=stream", "ftl.streams=0"], &["ftl.streams = 0", "from 1 to 8"]);
    refused(&["ftl.placement=stream", "ftl.streams=9"], &["ftl.streams = 9", "from 1 to 8"]);
    refused(&["ftl.stream_copies=none"], &["ftl.stream_copies", "`own`"]);
    assert!(loaded(None, &["ftl.dac_regions=1", "ftl.streams=0", "workload.stream=200"]).is_ok());
    let streams = ["ftl.placement=stream", "ftl.stream_copies=shared", "workload.stream=3"];
    let scenario = loaded(None, &streams).unwrap();
    assert_eq!(
        (scenario.ftl.stream_copies, scenario.workload.jobs[0].stream),
        (StreamCopies::Shared, 3)
    );
}

#[test]
fn hints_stay_within_the_streams() {
    let stream = "ftl.placement=stream";
    refused(&[stream, "workload.stream=4"], &["stream = 4", "below ftl.streams = 4"]);
    refused(&["workload.stream=256"], &["stream"]);
    refused(&["workload.stream_by=page"], &["stream_by", "`tier`"]);
    let tiers = [stream, "workload.pattern=tiers", "workload.stream_by=tier", "ftl.streams=2"];
    assert_eq!(loaded(None, &tiers).unwrap().workload.jobs[0].stream_by, StreamBy::Tier);
    let three = [&tiers[..], &["workload.tiers=[[10,50],[20,30]]"]].concat();
    refused(&three, &["stream_by = \"tier\"", "at most ftl.streams = 2 tiers", "there are 3"]);
    // Nothing is left of the space for a third.
    let all = [&tiers[..], &["workload.tiers=[[10,50],[90,50]]"]].concat();
    assert!(loaded(None, &all).is_ok());
}

#[test]
fn classes_need_spare_blocks_room_in_the_buffer_and_no_parity_over_superblocks() {
    let small = ["device.geometry.blocks=32", "device.op=0.25", "gc.soft=0.04", "gc.hard=0.0"];
    assert!(loaded(None, &small).is_ok());
    // 8 blocks are spare; sepbit has 2 + 4 open and keeps 4 free.
    let sepbit = [&small[..], &["ftl.placement=sepbit"]].concat();
    refused(
        &sepbit,
        &[
            "device.op = 0.25",
            "6 open blocks and a reserve of 4",
            "ftl.placement = \"sepbit\"",
            "raise it",
        ],
    );
    assert!(loaded(None, &[&sepbit[..], &["device.op=0.4"]].concat()).is_ok());
    // Half-filled open blocks count as free pages, but not as what collecting can reach.
    let soft =
        ["device.geometry.blocks=32", "device.op=0.4", "gc.soft=0.3", "ftl.placement=sepbit"];
    refused(&soft, &["gc.soft = 0.3", "6 open blocks"]);
    let scenario = loaded(None, &[]).unwrap();
    let lanes = u64::from(scenario.device.geometry.channels * scenario.device.geometry.ways);
    let least = 2 * lanes * scenario.device.geometry.page.get();
    let buffer = format!("drive.buffer={least}B");
    assert!(loaded(None, &[&buffer]).is_ok(), "{least}");
    refused(&[&buffer, "ftl.placement=sepbit"], &["drive.buffer", "and 2 classes of data"]);
    let superblock =
        ["rain.width=8", "rain.update=superblock", "gc.unit=superblock", "ftl.allocation=dynamic"];
    assert!(loaded(None, &superblock).is_ok());
    let placed = [&superblock[..], &["ftl.placement=2r"]].concat();
    refused(&placed, &["ftl.placement = \"2r\"", "rain.update = \"superblock\" needs \"none\""]);
    assert!(loaded(Some("base/rain"), &["ftl.placement=dac"]).is_ok());
}
