//! Sections of a scenario and the policies over them: what they switch on, and what does not fit
//! together.

use super::{GOOD, assert_says, load_with, refusal, source};
use manx_config::{ConfigError, Input, PolicyPath, Scenario, load, resolve_policy, why_unread};
use manx_core::drive::{CostRule, EraseMode, ProgramMode, Reconstruct, Update};
use manx_core::flash::Capacity;
use manx_core::ftl::{Allocation, GcMode, Pace, Rotate, VictimUnit};
use manx_core::units::Duration;

#[test]
fn a_policy_may_have_a_time_in_parentheses_and_erases_presume_a_collection() {
    let under = |policy: &str| {
        load(&Input { scenario: &source(GOOD), device: None, policy: Some(policy), overrides: &[] })
            .unwrap()
    };
    let alone = under("t-es(16ms)");
    assert_eq!((alone.erase.mode, alone.erase.timeout), (EraseMode::TEs, Duration::from_ms(16)));
    assert_eq!((alone.gc.mode, alone.gc.reads_first), (GcMode::Preemptive, true));
    assert_eq!(under("t-es").erase.timeout, Duration::from_ms(64));
    let path = under("preemptive/t-es( 1.5us )");
    assert_eq!((path.gc.mode, path.gc.reads_first), (GcMode::Preemptive, false));
    assert_eq!(path.erase.timeout, Duration::from_ns(1500));
    assert_eq!(
        (under("base/d-es").gc.mode, under("base/d-es").erase.mode),
        (GcMode::Base, EraseMode::DEs)
    );
    assert_eq!(
        (under("baseline").gc.reads_first, under("baseline").erase.mode),
        (true, EraseMode::None)
    );

    let said = |name: &str| resolve_policy(name).unwrap_err().to_string();
    assert_says(&said("t-es(soon)"), &["t-es(soon)", "timeout", "`soon`", "us, ms"]);
    assert_says(&said("t-es("), &["no policy `t-es(`"]);
    assert_says(&said("d-es(1ms)"), &["d-es has no parameter"]);
    assert_says(&said("es/t-es(1ms)"), &["es and t-es(1ms) both decide erase"]);
    assert_says(&said("t-se(1ms)"), &["did you mean t-es"]);
}

#[test]
fn erases_give_way_only_where_reads_go_first() {
    let scenario = source(&format!("{GOOD}[drive]\nscheduler = \"fifo\"\n"));
    let refused = |policy| {
        load(&Input { scenario: &scenario, device: None, policy: Some(policy), overrides: &[] })
            .unwrap_err()
            .to_string()
    };
    assert_says(&refused("t-es"), &["erase.mode", "\"t-es\"", "read-first"]);
    let refuse = |lines: &str| refusal(&format!("{GOOD}{lines}"));
    let based = load_with(GOOD, &["gc.mode=base", "gc.reads_first=true"]).unwrap_err().to_string();
    assert_says(&based, &["gc.reads_first", "preemptive"]);
    assert_says(&refuse("[erase]\nsafe_points = 0\n"), &["erase.safe_points", "from 1 to 1000"]);
    assert_says(&refuse("[erase]\nverify = \"2min\"\n"), &["erase.verify", "at most 60s"]);
    assert_says(&refuse("[erase]\nmode = \"tes\"\n"), &["erase.mode", "tes", "t-es"]);
}

#[test]
fn modern_is_paced_and_suspends_within_limits_and_goes_with_what_else_a_path_says() {
    let under = |policy: &str| {
        load(&Input { scenario: &source(GOOD), device: None, policy: Some(policy), overrides: &[] })
    };
    for (path, is) in [
        ("modern", "paced/limited-pes"),
        ("paced", "paced"),
        ("modern/dftl", "paced/dftl(64KiB)/limited-pes"),
        ("modern+sepbit", "paced/sepbit/limited-pes"),
    ] {
        let scenario = under(path).unwrap();
        assert_eq!((scenario.gc.mode, scenario.gc.pace), (GcMode::Preemptive, Pace::Writes));
        assert_eq!(PolicyPath::of(&scenario).to_string(), format!("{is}{}", buffer_of(&scenario)));
    }
    let modern = under("modern").unwrap();
    assert_eq!((modern.erase.mode, modern.program.mode), (EraseMode::Es, ProgramMode::Ips));
    assert_eq!((modern.erase.max_suspensions, modern.program.max_suspensions), (8, 4));
    assert_eq!(modern.erase.min_run, Duration::from_us(300));
    let said = |sets: &[&str]| load_with(GOOD, sets).unwrap_err().to_string();
    assert_says(&said(&["gc.pace=writes", "gc.mode=base"]), &["gc.pace", "writes", "preemptive"]);
    let log = ["gc.pace=writes", "gc.mode=preemptive", "ftl.kind=log-block"];
    assert_says(&said(&log), &["gc.pace", "ftl.kind"]);
    let blocks = ["gc.pace=writes", "gc.mode=preemptive", "gc.soft=3 blocks", "gc.hard=0"];
    assert_says(&said(&blocks), &["gc.soft", "3 blocks", "gc.pace"]);
    assert_says(&said(&["erase.min_run=2min"]), &["erase.min_run", "at most 60s"]);
    assert_says(&said(&["program.min_run=2min"]), &["program.min_run", "at most 60s"]);
    let command = "device.channel.suspend_command";
    assert_says(&said(&[&format!("{command}=2min")]), &[command, "2min", "at most 60s"]);
    assert_says(&said(&[&format!("{command}=fast")]), &[command, "fast"]);
    let commanded = load_with(GOOD, &[&format!("{command}=200ns")]).unwrap();
    assert_eq!(commanded.device.channel.suspend_command, Duration::from_ns(200));
}

/// The part of the axis buffer, which the scenario decides.
fn buffer_of(scenario: &Scenario) -> String {
    let part = &PolicyPath::of(scenario).by_axis()["buffer"];
    if part == "gtf" { String::new() } else { format!("/{part}") }
}

#[test]
fn bad_blocks_are_shares_and_the_drive_must_be_able_to_begin() {
    let faults = |sets: &[&str]| load_with(GOOD, sets).map(|scenario| scenario.faults);
    assert!(!faults(&["faults.growth_per_1000=5"]).unwrap().is_on());
    assert!(faults(&["faults.factory_bad=0.01", "faults.erase_fail=1e-4"]).unwrap().fails());
    let says =
        |set: &str, parts: &[&str]| assert_says(&faults(&[set]).unwrap_err().to_string(), parts);
    says("faults.program_fail=0.6", &["faults.program_fail = 0.6", "from 0 to 0.5"]);
    says("faults.growth_per_1000=-1", &["faults.growth_per_1000", "from 0 to 1000000"]);
    says("faults.factory_bad=0.5", &["faults.factory_bad = 0.5", "bad from the start"]);
}

#[test]
fn wear_out_needs_an_endurance_which_is_bounded_and_makes_cycles_of_before_count() {
    let rated_as = |sets: &[&str]| load_with(GOOD, sets);
    let says = |sets: &[&str], parts: &[&str]| {
        assert_says(&rated_as(sets).unwrap_err().to_string(), parts)
    };
    let wears_out = "faults.wear_out=true";
    says(&[wears_out], &["faults.wear_out = true", "device.endurance above 0", "states none"]);
    says(&[wears_out, "device.endurance=0"], &["faults.wear_out = true", "device.endurance"]);
    says(&["device.endurance=10000001"], &["device.endurance = 10000001", "from 1 to 10000000"]);
    says(&["device.endurance=-1"], &["device.endurance"]);
    says(&["faults.wear_out=1"], &["faults.wear_out"]);
    let log = ["ftl.kind=log-block", "ftl.log.policy=superblock"];
    let rated = [wears_out, "device.endurance=3000"];
    says(&[&rated[..], &log[..]].concat(), &["ftl.log.policy", "[faults]"]);
    let stripes =
        ["rain.width=4", "rain.update=superblock", "gc.unit=superblock", "ftl.allocation=dynamic"];
    assert!(rated_as(&[&rated[..], &stripes[..]].concat()).is_ok());
    let scenario = rated_as(&rated).unwrap();
    assert!(scenario.faults.fails() && scenario.device.endurance == 3000);
    let unread = |sets: &[&str]| why_unread(&rated_as(sets).unwrap(), "ageing.pe_cycles");
    assert!(unread(&[]).is_some_and(|why| why.contains("device.endurance")));
    assert_eq!(unread(&["device.endurance=3000"]), None);
    assert!(why_unread(&rated_as(&rated).unwrap(), "ageing.reads").is_some());
}

#[test]
fn a_key_that_nothing_looks_at_is_said_to_change_nothing() -> Result<(), ConfigError> {
    for (key, without, with) in [
        ("erase.suspend", "erase.mode=none", "erase.mode=es"),
        ("erase.need_least", "erase.length=fixed", "erase.length=adaptive"),
        ("program.loops", "program.mode=none", "program.mode=ips"),
        ("device.channel.suspend_command", "erase.mode=ideal", "erase.mode=d-es"),
        ("device.channel.suspend_command", "program.mode=ideal", "program.mode=ipc"),
        ("ftl.dac_regions", "ftl.placement=none", "ftl.placement=dac"),
        ("ftl.map.batch", "ftl.map.cache=0B", "ftl.map.cache=64KiB"),
        ("recovery.read", "recovery.keep=false", "recovery.keep=true"),
        ("drive.full_buffer", "drive.background_flush=true", "drive.background_flush=false"),
        ("ftl.stream_copies", "ftl.placement=none", "ftl.placement=stream"),
        ("workload.stream", "ftl.placement=sepbit", "ftl.placement=stream"),
        ("workload.jobs.0.stream_by", "ftl.placement=none", "ftl.placement=stream"),
        ("array.window", "array.strategy=iod2", "array.strategy=iod3"),
        ("scrub.correctable", "scrub.errors=false", "scrub.errors=true"),
        ("ftl.log.isolation", "ftl.log.policy=fast", "ftl.log.policy=faster"),
        ("ftl.log.last_epoch", "ftl.log.policy=bast", "ftl.log.policy=last"),
    ] {
        let kinds = [("ftl.log.", "ftl.kind=log-block"), ("array.", "array.members=4")];
        let kind = kinds.iter().find(|(of, _)| key.starts_with(of)).map_or("seed=1", |kind| kind.1);
        let why =
            |set: &str| load_with(GOOD, &[kind, set]).map(|scenario| why_unread(&scenario, key));
        assert!(why(without)?.is_some_and(|why| why.contains("has no use for it")), "{key}");
        assert_eq!(why(with)?, None, "{key}");
    }
    assert_eq!(why_unread(&load_with(GOOD, &[])?, "ftl.map.cache"), None);
    for (reconstruct, is_idle) in
        [("never", true), ("always", true), ("full", false), ("cost", false)]
    {
        let sets = ["rain.width=4", "ftl.allocation=static"];
        let with =
            load_with(GOOD, &[&sets[..], &[&format!("rain.reconstruct={reconstruct}")]].concat())?;
        let why = why_unread(&with, "rain.cost_rule");
        assert_eq!(why.is_some_and(|why| why.contains(reconstruct)), is_idle, "{reconstruct}");
    }
    Ok(())
}

#[test]
fn reads_decode_at_once_until_retries_are_asked_for_and_what_they_need_is_said() {
    let retry = |sets: &[&str]| load_with(GOOD, sets).map(|scenario| scenario.retry);
    assert!(!retry(&[]).unwrap().is_on());
    let plain = "retry.mode=plain";
    assert!(retry(&[plain, "retry.start=block", "ageing.retention=90d"]).unwrap().is_on());
    let says = |set: &str, what: &[&str]| {
        assert_says(&retry(&[plain, set]).unwrap_err().to_string(), what);
    };
    says("retry.mode=fast", &["retry.mode", "plain", "on-die"]);
    says("retry.entries=0", &["retry.entries = 0", "from 1 to 254"]);
    says("retry.entries=255", &["retry.entries = 255", "from 1 to 254"]);
    says("retry.correctable=0", &["retry.correctable = 0", "from 1"]);
    says("retry.soft_reads=65", &["retry.soft_reads = 65", "to 64"]);
    says("retry.soft_correctable=71", &["retry.soft_correctable = 71", "retry.correctable = 72"]);
    says("retry.shorten=0.95", &["retry.shorten = 0.95", "to 0.9"]);
    says("retry.refresh_at=41", &["retry.refresh_at = 41", "retry.entries = 40"]);
    says("retry.decode=2min", &["retry.decode"]);
    says("retry.mode=pipelined", &["retry.mode", "device.feature.cache_read = true"]);
    says("ageing.retention=400d", &["ageing.retention", "366 d"]);
    says("ageing.pe_cycles=20000000", &["ageing.pe_cycles = 20000000", "10000000"]);
    says("ageing.reads=2000000000", &["ageing.reads", "1000000000"]);
    says("ageing.drift=-1", &["ageing.drift = -1", "from 0 to 1000"]);
    says("ageing.drift=nan", &["ageing.drift"]);
    says("ageing.floor=0", &["ageing.floor = 0", "above 0"]);
    says("ageing.slope=0", &["ageing.slope = 0", "above 0"]);
    says("ageing.spread=1.5", &["ageing.spread = 1.5", "from 0 to 1"]);
    says("ageing.page_types=[]", &["ageing.page_types", "a list of 0"]);
    says("ageing.page_types=[1.0, 0.0]", &["ageing.page_types.1 = 0"]);
    says("ageing.years=1", &["ageing.years"]);
    let refused = |sets: &[&str]| load_with(GOOD, sets).unwrap_err().to_string();
    let pipelined = ["retry.mode=pipelined", "device.feature.cache_read=true"];
    let ordered = [&pipelined[..], &["drive.channel_order=data-first"]].concat();
    assert_says(&refused(&ordered), &["drive.channel_order", "first-come"]);
    let cut = [&pipelined[..], &["gc.mode=plane-blocking", "gc.copyback=true"]].concat();
    assert_says(&refused(&cut), &["retry.mode", "gc.cut_transfers = false"]);
    assert_says(&refused(&[plain, "recovery.keep=true"]), &["recovery.keep = true", "retry.mode"]);
    let unsoft = [plain, "retry.soft_reads=0", "retry.soft_correctable=1"];
    assert!(retry(&unsoft).is_ok(), "there is no soft decoder");
}

#[test]
fn orders_of_pages_and_two_passes_say_what_they_need() {
    let says = |sets: &[&str], what: &[&str]| {
        assert_says(&load_with(GOOD, sets).unwrap_err().to_string(), what);
    };
    let (paired, foggy) = ("device.feature.page_order=paired", "device.timing.foggy=600us");
    let two = r#"device.timing.read=["40us","60us"]"#;
    says(&[paired], &["device.feature.page_order", "2 page types or more"]);
    says(&[paired, two, "device.geometry.pages=255"], &["device.geometry.pages = 255", "2 page"]);
    let three = r#"device.timing.program=["1ms","2ms","3ms"]"#;
    says(&[paired, two, three], &["device.feature.page_order", "they are 2 and 3"]);
    let shot = "device.feature.program_pages=2";
    says(&[paired, two, shot], &["device.feature.page_order", "program_pages = 1"]);
    assert!(load_with(GOOD, &[paired, two]).is_ok());
    says(&[foggy, "device.feature.cache_program=true"], &["device.timing.foggy", "cache_program"]);
    says(&[foggy, "gc.copyback=true"], &["device.timing.foggy = 600us", "gc.copyback = false"]);
    says(&[foggy, "program.mode=ips"], &["device.timing.foggy = 600us", "program.mode"]);
    says(&["device.timing.foggy=2min"], &["device.timing.foggy"]);
    assert!(load_with(GOOD, &[foggy]).is_ok());
}

#[test]
fn scrubbing_is_off_until_it_is_asked_for_and_its_code_must_fit() {
    let scrub = |sets: &[&str]| load_with(GOOD, sets).map(|scenario| scenario.scrub);
    assert!(!scrub(&[]).unwrap().is_on());
    assert!(
        scrub(&["scrub.rate=100"]).unwrap().is_on()
            && scrub(&["scrub.errors=true"]).unwrap().is_on()
    );
    assert_eq!(scrub(&["scrub.rate=100.5", "scrub.rewrite_at=7"]).unwrap().rate, 100.5);
    let refused = |sets: &[&str]| scrub(sets).unwrap_err().to_string();
    assert_says(
        &refused(&["scrub.rber=0.2"]),
        &["scrub.rber = 0.2", "from 0 to 0.0620: 254 of the 4096"],
    );
    assert_says(&refused(&["scrub.rber=-1e-9"]), &["scrub.rber", "from 0 to 0.0620"]);
    assert_says(&refused(&["scrub.rber=nan"]), &["scrub.rber"]);
    // The end of the range can be had.
    let most = ["scrub.rber=0.062", "scrub.errors=true", "scrub.correctable=254"];
    assert!(scrub(&[&most[..], &["scrub.codeword=\"512B\""]].concat()).is_ok());
    assert!(scrub(&["scrub.rber=0.0621"]).is_err(), "nothing has it");
    // 8192 bits: 81.9 of them are wrong.
    assert_says(
        &refused(&["scrub.rber=0.01", "scrub.errors=true"]),
        &["scrub.rber = 0.01", "81.9", "correctable = 40"],
    );
    assert!(scrub(&["scrub.rber=0.01"]).is_ok(), "it is off");
    assert!(scrub(&["scrub.rber=0.01", "scrub.errors=true", "scrub.correctable=100"]).is_ok());
    assert_says(
        &refused(&["scrub.correctable=255"]),
        &["scrub.correctable = 255", "from 1 to 254"],
    );
    assert_says(&refused(&["scrub.rate=-1"]), &["scrub.rate", "pages per second"]);
    assert_says(&refused(&["scrub.rate=1e9"]), &["scrub.rate", "pages per second"]);
    assert_says(
        &refused(&["scrub.rewrite_at=41"]),
        &["scrub.rewrite_at = 41", "scrub.correctable = 40"],
    );
    for codeword in ["1000B", "3KiB", "64KiB", "0B"] {
        let sets = [&format!("scrub.codeword={codeword}"), "scrub.errors=true"];
        assert_says(&refused(&sets), &["scrub.codeword", "divisor of device.geometry.map_unit"]);
    }
    assert_says(&refused(&["scrub.period=1s"]), &["scrub.period"]);
}

#[test]
fn parity_takes_its_share_of_the_capacity_and_fits_the_channels_or_is_refused() {
    let scenario = source(GOOD);
    let under = |policy| {
        load(&Input { scenario: &scenario, device: None, policy, overrides: &[] }).unwrap()
    };
    let (plain, guarded) = (under(Some("base")), under(Some("base/rain")));
    assert_eq!((plain.rain.width, guarded.rain.width), (0, 8));
    assert_eq!(guarded.gc.mode, GcMode::Base);
    assert_eq!(guarded.capacity().user.get() * 8, plain.capacity().user.get() * 7);
    assert_eq!(plain.capacity(), Capacity::of(&plain.device));
    let refuse = |lines: &str| refusal(&format!("{GOOD}{lines}"));
    assert_says(&refuse("[rain]\nwidth = 3\n"), &["rain.width = 3", "channels = 8", "divisor"]);
    assert_says(&refuse("[rain]\nwidth = 1\n"), &["rain.width = 1", "from 2 to 64"]);
    assert_says(&refuse("[rain]\nwidth = 16\n"), &["rain.width = 16", "channels = 8"]);
    assert_says(&refuse("[rain]\nxor = \"2min\"\n"), &["rain.xor", "at most 60s"]);
    assert_says(&refuse("[rain]\nreconstruct = \"perhaps\"\n"), &["rain.reconstruct", "`never`"]);
    assert_says(
        &refuse("[rain]\ncost_rule = \"guess\"\n"),
        &["rain.cost_rule", "`estimate`", "`rotation`"],
    );
    assert_says(
        &refuse("[rain]\nupdate_reads = \"skip\"\n"),
        &["rain.update_reads", "`wait`", "`reconstruct`"],
    );
    let tolerant = under(Some("preemptive/gtr"));
    assert_eq!((tolerant.rain.width, tolerant.rain.reconstruct), (8, Reconstruct::Cost));
    assert_eq!(
        (tolerant.gc.mode, tolerant.rain.cost_rule),
        (GcMode::Preemptive, CostRule::Estimate)
    );
    // A comparison sets it over policies with parity and without.
    assert!(load_with(GOOD, &["rain.reconstruct=always"]).is_ok());
    assert_says(&refuse("[rain]\nevict = \"chip\"\n"), &["rain.evict", "`stripe`"]);
    let dynamic =
        load_with(GOOD, &["rain.width=4", "ftl.allocation=dynamic"]).unwrap_err().to_string();
    assert_says(&dynamic, &["rain.width", "ftl.allocation = \"static\""]);
    // Data and parity need the same room as data alone did.
    let full = load_with(GOOD, &["rain.width=8", "gc.soft=0.245"]).unwrap_err().to_string();
    assert_says(&full, &["gc.soft = 0.245", "65536", "data and parity take"]);
    let offset = format!("workload.offset={}B", guarded.capacity().user.get());
    assert!(load_with(GOOD, &[&offset]).is_ok());
    let offset = load_with(GOOD, &["rain.width=8", &offset]).unwrap_err().to_string();
    assert_says(&offset, &["workload.offset", "that the host sees"]);
}

#[test]
fn parity_over_superblocks_takes_the_same_share_and_needs_superblocks() {
    let scenario = source(GOOD);
    let under = |policy| {
        load(&Input { scenario: &scenario, device: None, policy: Some(policy), overrides: &[] })
    };
    let (place, superblock) = (under("base/rain").unwrap(), under("base/rain-superblock").unwrap());
    assert_eq!((superblock.rain.width, superblock.rain.update), (8, Update::Superblock));
    assert_eq!(
        (superblock.gc.unit, superblock.ftl.allocation),
        (VictimUnit::Superblock, Allocation::Dynamic)
    );
    assert_eq!(superblock.capacity(), place.capacity());
    assert_eq!(under("preemptive/rain-superblock").unwrap().gc.mode, GcMode::Preemptive);
    let refused = |policy| under(policy).unwrap_err().to_string();
    assert_says(&refused("pb/rain-superblock"), &["gc.copyback", "gc.unit = \"block\""]);
    assert_says(&refused("base/rain/rain-superblock"), &["both decide rain"]);
    let with = |more: &[&str]| {
        let all = [
            &[
                "rain.width=8",
                "rain.update=superblock",
                "gc.unit=superblock",
                "ftl.allocation=dynamic",
            ],
            more,
        ];
        load_with(GOOD, &all.concat())
    };
    assert!(with(&[]).is_ok() && with(&["rain.reconstruct=cost", "rain.width=4"]).is_ok());
    let says =
        |more: &[&str], parts: &[&str]| assert_says(&with(more).unwrap_err().to_string(), parts);
    says(&["gc.unit=block"], &["rain.update", "gc.unit = \"superblock\"", "erased together"]);
    says(&["gc.unit=plane-group"], &["rain.update", "gc.unit = \"superblock\""]);
    says(&["ftl.allocation=static"], &["gc.unit", "ftl.allocation = \"dynamic\""]);
    says(&["ftl.allocation=round-robin"], &["gc.unit", "ftl.allocation = \"dynamic\""]);
    says(&["ftl.frontiers=shared"], &["ftl.frontiers", "\"separate\""]);
    says(&["rain.evict=page"], &["rain.evict = \"page\"", "\"stripe\""]);
    says(&["rain.evict=stripe-lru"], &["rain.evict = \"stripe-lru\"", "\"stripe\""]);
    says(&["rain.update_reads=reconstruct"], &["rain.update_reads", "\"wait\""]);
    says(&["rain.cost_rule=rotation"], &["rain.cost_rule", "\"estimate\""]);
    says(&["precondition.state=aged"], &["precondition.state", "\"aged\"", "\"steady\""]);
    says(&["rain.width=3"], &["rain.width", "divisor"]);
    says(&["scrub.rate=100"], &["scrub.rate = 100", "leave its stripe"]);
    says(&["scrub.errors=true"], &["scrub.errors = true", "not modelled"]);
    says(&["faults.program_fail=1e-4"], &["faults.program_fail = 0.0001", "leave its stripe"]);
    // It is of no account without parity.
    assert!(load_with(GOOD, &["rain.update=superblock"]).is_ok());
    assert_says(
        &refusal(&format!("{GOOD}[rain]\nupdate = \"row\"\n")),
        &["rain.update", "`superblock`"],
    );
}

#[test]
fn pes_suspends_programs_and_erases_over_any_collection() {
    let under = |policy: &str| {
        load(&Input { scenario: &source(GOOD), device: None, policy: Some(policy), overrides: &[] })
            .unwrap()
    };
    let modes = |policy: &str| {
        let loaded = under(policy);
        (loaded.gc.mode, loaded.gc.reads_first, loaded.erase.mode, loaded.program.mode)
    };
    assert_eq!(modes("pes"), (GcMode::Preemptive, true, EraseMode::Es, ProgramMode::Ips));
    assert_eq!(modes("pes(ips)"), modes("pes"));
    assert_eq!(modes("pes(ipc)"), (GcMode::Preemptive, true, EraseMode::Es, ProgramMode::Ipc));
    assert_eq!(
        modes("preemptive/pes"),
        (GcMode::Preemptive, false, EraseMode::Es, ProgramMode::Ips)
    );
    assert_eq!(modes("base/pes( ipc )"), (GcMode::Base, false, EraseMode::Es, ProgramMode::Ipc));
    assert_eq!(modes("es").3, ProgramMode::None);
    let mixed = load_with(GOOD, &["program.mode=ipc", "erase.mode=d-es"]).unwrap();
    assert_eq!((mixed.erase.mode, mixed.program.mode), (EraseMode::DEs, ProgramMode::Ipc));
    let said = |name: &str| resolve_policy(name).unwrap_err().to_string();
    assert_says(&said("pes(1ms)"), &["pes(1ms)", "`1ms`", "mode", "ips, ipc"]);
    assert_says(&said("pes(none)"), &["`none`", "ips, ipc"]);
    assert_says(&said("pes()"), &["``", "ips, ipc"]);
    assert_says(&said("es/pes"), &["es and pes both decide erase"]);
}

#[test]
fn a_program_is_cut_into_phases_that_a_chip_could_have() {
    let refuse = |lines: &str| refusal(&format!("{GOOD}[program]\n{lines}\n"));
    assert_says(&refuse("mode = \"ipz\""), &["program.mode", "ipz", "ips"]);
    assert_says(&refuse("loops = 0"), &["program.loops = 0", "from 1 to 1000"]);
    assert_says(&refuse("loops = 1001"), &["program.loops = 1001", "from 1 to 1000"]);
    assert_says(&refuse("verify_percent = 0"), &["program.verify_percent = 0", "from 1 to 99"]);
    assert_says(&refuse("verify_percent = 100"), &["program.verify_percent = 100", "from 1 to 99"]);
    assert_says(&refuse("suspend = \"2min\""), &["program.suspend", "at most 60s"]);
    assert_says(&refuse("resume = \"2min\""), &["program.resume", "at most 60s"]);
    // 2 % of a loop of a thousandth of 49999 ns are less than a nanosecond.
    let short = |ns: u32| {
        let time = format!("device.timing.program=[\"{ns}ns\"]");
        let cut = ["program.loops=1000", "program.verify_percent=98"];
        load_with(GOOD, &[&time, cut[0], cut[1]]).unwrap();
        load_with(GOOD, &[&time, cut[0], cut[1], "program.mode=ips"])
    };
    assert_says(&short(49_999).unwrap_err().to_string(), &["program.loops", "a nanosecond"]);
    short(50_000).unwrap();
    let fifo =
        load_with(GOOD, &["program.mode=ips", "drive.scheduler=fifo"]).unwrap_err().to_string();
    assert_says(&fifo, &["program.mode", "\"ips\"", "read-first"]);
}

#[test]
fn planes_collect_alone_and_in_turn_where_that_fits_together() {
    let scenario = source(GOOD);
    let under = |policy| {
        load(&Input { scenario: &scenario, device: None, policy: Some(policy), overrides: &[] })
    };
    let modes = |policy| {
        let loaded = under(policy).unwrap();
        (loaded.gc.mode, loaded.gc.copyback, loaded.gc.rotate, loaded.rain.width)
    };
    let pb = GcMode::PlaneBlocking;
    assert_eq!(modes("pb"), (pb, true, Rotate::Off, 0));
    assert_eq!(modes("pb/rain"), (pb, true, Rotate::Off, 8));
    assert_eq!(modes("pb+rain"), modes("pb/rain"));
    assert_eq!(modes("pb+rain+rgc"), (pb, true, Rotate::Dynamic, 8));
    assert_eq!(modes("rgc(static)"), (pb, true, Rotate::Static, 0));
    assert_eq!(modes("rgc/t-es").0, pb);
    assert_eq!(modes("base+rain"), (GcMode::Base, false, Rotate::Off, 8));
    assert_eq!(modes("nogc+rain").0, GcMode::Nogc);
    let tiny = under("ttflash").unwrap();
    assert_eq!(tiny, under("pb+gtr+rgc+gtf").unwrap());
    assert_eq!(modes("ttflash"), (pb, true, Rotate::Dynamic, 8));
    assert_eq!(
        (tiny.rain.reconstruct, tiny.rain.cost_rule),
        (Reconstruct::Cost, CostRule::Rotation)
    );
    assert_eq!(under("pb+gtr").unwrap().rain.cost_rule, CostRule::Estimate);
    let suspended = under("ttflash/t-es(16ms)").unwrap();
    assert_eq!((suspended.erase.mode, suspended.gc.mode), (EraseMode::TEs, pb));
    let said = |policy| under(policy).unwrap_err().to_string();
    assert_says(&said("ttflash/base"), &["pb (part of ttflash) and base both decide gc"]);
    assert_says(&said("base+rgc"), &["gc.rotate = \"dynamic\"", "plane-blocking"]);
    assert_says(&said("pb+base"), &["pb and base both decide gc"]);
    assert_says(&said("rgc(fast)"), &["`fast`", "dynamic, static"]);
    let refuse = |sets: &[&str]| load_with(GOOD, sets).unwrap_err().to_string();
    assert_says(&refuse(&["gc.mode=plane-blocking"]), &["gc.copyback = false", "plane-blocking"]);
    let pb = ["gc.mode=plane-blocking", "gc.copyback=true"];
    let refuse = |set: &str| refuse(&[pb[0], pb[1], "gc.rotate=dynamic", set]);
    assert_says(&refuse("gc.rotate_urgent=true"), &["gc.rotate_urgent = true", "dynamic"]);
    assert_says(&refuse("gc.rotate_window=0s"), &["gc.rotate_window", "above 0"]);
    assert_says(&refuse("gc.rotate_window=2min"), &["gc.rotate_window", "at most 60s"]);
    assert_says(&refuse("gc.rotate_hysteresis=1"), &["gc.rotate_hysteresis = 1", "below 1"]);
    assert_says(&refuse("gc.rotate=always"), &["gc.rotate", "`static`"]);
    assert_says(&refuse("gc.unit=superblock"), &["gc.unit"]);
    assert!(load_with(GOOD, &[pb[0], pb[1], "gc.rotate=static", "gc.rotate_urgent=true"]).is_ok());
}

#[test]
fn channels_with_an_arbiter_go_with_what_waits_its_turn() {
    let planes = ["gc.mode=plane-blocking", "gc.copyback=true"];
    for (setting, also, says) in [
        ("drive.channel_order=data-first", &planes[..], "gc.cut_transfers = false"),
        ("drive.channel_take=with-slot", &planes[..], "gc.cut_transfers = false"),
        ("drive.channel_take=with-slot", &["drive.scheduler=fifo"][..], "strict order"),
        ("drive.channel_take=with-slot", &["erase.mode=es"][..], "takes its die at once"),
    ] {
        let (key, _) = setting.split_once('=').unwrap();
        let refused = load_with(GOOD, &[also, &[setting]].concat()).unwrap_err().to_string();
        assert_says(&refused, &[key, says]);
        load_with(GOOD, &[setting]).unwrap();
    }
    load_with(
        GOOD,
        &[&planes[..], &["gc.cut_transfers=false", "drive.channel_order=round-robin"]].concat(),
    )
    .unwrap();
}
