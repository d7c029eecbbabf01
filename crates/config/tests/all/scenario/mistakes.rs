//! Mistakes in a scenario, a device table or an override: each answer names place, key, value and
//! what is allowed.

use super::{GOOD, assert_says, load_with, refusal};
use manx_config::{Override, builtin_device, builtin_scenario, load_device};

/// Each mistake: what replaces a part of the good scenario, and the pieces of the answer.
type Mistake<'a> = (&'a str, &'a str, &'a [&'a str]);

#[track_caller]
fn assert_refused(mistakes: &[Mistake<'_>]) {
    for (good, bad, pieces) in mistakes {
        let message = refusal(&GOOD.replacen(good, bad, 1));
        assert_says(&message, pieces);
        assert!(message.starts_with("scenarios/x.toml"), "no file in: {message}");
    }
}

#[test]
fn a_mistake_about_gc_and_drive_is_answered_with_file_line_key_value_and_what_is_allowed() {
    assert_refused(&[
        ("soft = 0.08", "sofft = 0.08", &[":5:", "unknown key gc.sofft", "did you mean gc.soft?"]),
        ("soft = 0.08", "soft = 1.5", &[":5:", "gc.soft = 1.5", "above 0 and below 1"]),
        ("soft = 0.08", "soft = nan", &[":5:", "gc.soft = NaN", "above 0"]),
        ("soft = 0.08", "soft = \"much\"", &[":5:", "gc.soft = \"much\"", "a number"]),
        ("soft = 0.08", "mode = \"fast\"", &[":5:", "gc.mode = \"fast\"", "`nogc`, `base`"]),
        ("soft = 0.08", "hard = 0.2", &[":5:", "gc.hard = 0.2", "below gc.soft = 0.05"]),
        (
            "soft = 0.08",
            "soft = \"2 blocks\"\nhard = \"2 blocks\"",
            &[":6:", "gc.hard = 2 blocks", "to below gc.soft = 2 blocks"],
        ),
        ("soft = 0.08", "copyback = 1", &[":5:", "gc.copyback = 1", "true or false"]),
        ("soft = 0.08", "window = 0", &[":5:", "gc.window = 0", "at least 1"]),
        (
            "soft = 0.08",
            "soft = 0.245",
            &[":5:", "gc.soft = 0.245", "can reach", "65536", "device.op"],
        ),
        ("soft = 0.08", "soft 0.08", &[":5:6:", "not TOML"]),
        ("name = \"good\"\n", "gc = 5\n", &[":4:", "not TOML"]),
        ("[gc]\nsoft", "[gc]\nunit = 5\nsoft", &[":5:", "gc.unit = 5"]),
        (
            "[gc]",
            "[ftl]\norder = [\"die\", \"die\", \"way\", \"plane\"]\n[gc]",
            &[":5:", "ftl.order", "exactly once"],
        ),
        ("[gc]", "[ftl]\norder = [\"die\", \"way\"]\n[gc]", &[":5:", "ftl.order", "length"]),
        (
            "[gc]",
            "[gc]\nunit = \"superblock\"",
            &[":5:", "gc.unit = \"superblock\"", "dynamic", "pile up"],
        ),
        (
            "[gc]",
            "[gc]\nmode = \"preemptive\"\nwhen = \"foreground\"",
            &[":6:", "gc.when = \"foreground\""],
        ),
        (
            "[gc]",
            "[drive]\nbuffer = \"64KiB\"\n[gc]",
            &[":5:", "drive.buffer = 64KiB", "524288B", "64 lanes"],
        ),
        ("[gc]", "[drive]\nflush_above = 2\n[gc]", &[":5:", "drive.flush_above = 2", "0 to 1"]),
        (
            "[gc]",
            "[precondition]\nratio = 1.0\n[gc]",
            &[":5:", "precondition.ratio = 1", "below 1"],
        ),
        (
            "[gc]",
            "[precondition]\nstate = \"aged\"\nratio = 0.999\n[gc]",
            &[":6:", "ratio = 0.999", "3 are needed"],
        ),
        (
            "[gc]",
            "[measure]\nwarmup_requests = 1000\n[gc]",
            &[":5:", "warmup_requests = 1000", "nothing is measured"],
        ),
        ("[gc]", "[gcc]\n[gc]", &[":4:", "unknown key gcc", "did you mean gc?"]),
        ("[gc]", "[gc]\n[gc]", &[":5:", "not TOML", "duplicate"]),
    ]);
}

#[test]
fn a_mistake_about_the_workload_is_answered_with_file_line_key_value_and_what_is_allowed() {
    const R: &str = "requests = 1000";
    let sizes = "block_sizes = [[\"100B\", 1]]\nrequests = 9";
    assert_refused(&[
        (R, "requests = -1", &[":7:", "workload.requests = -1", "whole number"]),
        (R, "time = \"-3s\"", &[":7:", "workload.time = \"-3s\"", "not negative", "ms"]),
        (R, "think = \"3 parsecs\"", &[":7:", "\"3 parsecs\"", "a time"]),
        (R, "think = 3", &[":7:", "workload.think = 3", "a time"]),
        (R, "", &["scenarios/x.toml: workload.requests = 0", "a bound"]),
        (
            R,
            "arrival = \"poisson\"\nrequests = 9",
            &["x.toml: workload.rate = 0", "requests per second"],
        ),
        (R, "queue_depth = 0\nrequests = 9", &[":7:", "workload.queue_depth = 0", "from 1"]),
        (R, "read_percent = 130\nrequests = 9", &[":7:", "workload.read_percent = 130", "100"]),
        (R, "block_sizes = []\nrequests = 9", &[":7:", "block_sizes = []", "at least one"]),
        (R, sizes, &[":7:", "block_sizes.0.0 = 100B", "512"]),
        (
            R,
            "block_sizes = [[\"4KiB\", 0]]\nrequests = 9",
            &[":7:", "block_sizes.0.1 = 0", "weight"],
        ),
        (R, "block_sizes = [\"4KiB\"]\nrequests = 9", &[":7:", "block_sizes.0", "weight"]),
        (R, "offset = \"1TiB\"\nrequests = 9", &[":7:", "workload.offset = 1TiB", "host sees"]),
        (R, "size = \"1TiB\"\nrequests = 9", &[":7:", "workload.size = 1TiB", "at most"]),
        (R, "arrival = \"trace\"", &[":7:", "workload.arrival = \"trace\"", "workload.trace"]),
        (
            R,
            "trim_percent = 40\nrequests = 9",
            &[":7:", "workload.trim_percent = 40", "read_percent"],
        ),
        (
            R,
            "trace = { file = \"a\", remap = \"wrap\" }",
            &[":7:", "workload.trace.remap = \"wrap\"", "`modulo`"],
        ),
        (R, "trace = { format = \"msr\" }", &[":7:", "workload.trace.file is missing"]),
        (R, "jobs = 3", &[":7:", "workload.jobs = 3", "a list"]),
        (
            "[workload]",
            "[[workload.jobs]]\nrate = -1\narrival = \"fixed\"",
            &[":7:", "workload.jobs.0.rate = -1", "1e9"],
        ),
    ]);
}

#[test]
fn a_mistake_about_the_device_is_answered_with_file_line_key_value_and_what_is_allowed() {
    const N: &str = "name = \"femu\"";
    let with = |line: &str| format!("{N}\n{line}");
    assert_refused(&[
        ("\"femu\"", "\"femu2\"", &[":3:", "`femu2`", "ttflash-256g", "did you mean femu?"]),
        (N, "", &["device.name is missing", "device list"]),
        (N, &with("geometry = 5"), &[":4:", "device.geometry = 5", "table"]),
        (N, &with("geometry.planes = 0"), &[":4:", "device.geometry.planes = 0", "at least 1"]),
        (
            N,
            &with("geometry.planes = -1"),
            &[":4:", "device.geometry.planes = -1", "a whole number from 0"],
        ),
        (N, &with("op = 1.0"), &[":4:", "device.op = 1", "below 1"]),
        (
            N,
            &with("op = 0.02"),
            &[":4:", "device.op = 0.02", "host sees 64", "of 65536", "5.12 blocks", "gc needs"],
        ),
        (N, &with("timing.read = []"), &[":4:", "device.timing.read", "from 1 to 16"]),
        (N, &with("timing.read = \"40us\""), &[":4:", "device.timing.read = \"40us\"", "a list"]),
        (N, &with("timing.erase_steps = 65"), &[":4:", "erase_steps = 65", "64"]),
        (N, &with("timing.erase_step = \"1 year\""), &[":4:", "erase_step = \"1 year\"", "a time"]),
        (N, &with("channel.rate = \"0MB/s\""), &[":4:", "channel.rate = \"0MB/s\"", "above zero"]),
        (
            N,
            &with("channel.rate = \"1KB/s\""),
            &[":4:", "channel.rate = 1000B/s", "at least 1MB/s"],
        ),
        (N, &with("geometry.page = \"4us\""), &[":4:", "geometry.page = \"4us\"", "a size"]),
        (N, &with("geometry.map_unit = \"3KiB\""), &[":4:", "map_unit = 3KiB", "power of two"]),
        (N, &with("geometry.map_unit = \"8KiB\""), &[":4:", "map_unit = 8KiB", "planes"]),
        (
            N,
            &with("geometry.blocks = 4000000000"),
            &[":4:", "geometry.blocks = 4000000000", "mapping units"],
        ),
        (N, &with("geometry.channels = 1000"), &[":4:", "channels = 1000", "4096 lanes"]),
    ]);
}

#[test]
fn a_mistake_in_an_override_is_answered_with_the_override() {
    let mistakes: &[(&str, &[&str])] = &[
        ("gc.sofft=0.1", &["--set gc.sofft=0.1:", "unknown key gc.sofft", "did you mean gc.soft?"]),
        ("soft=0.1", &["--set soft=0.1:", "unknown key soft", "did you mean gc.soft?"]),
        ("drive.link_fetch=32B", &["drive.link_fetch = 32B", "it needs drive.link"]),
        ("drive.link_command=5KiB", &["drive.link_command = 5KiB", "at most 4096B"]),
        ("drive.channel_order=last", &["drive.channel_order = \"last\"", "`data-first`"]),
        ("gc.soft=2", &["--set gc.soft=2:", "gc.soft = 2", "below 1"]),
        ("gc.soft.x=2", &["--set gc.soft.x=2:", "unknown key gc.soft.x"]),
        ("gc=2", &["--set gc=2:", "gc = 2", "table"]),
        ("workload.jobs.5.rate=1", &["workload.jobs.5.rate", "element"]),
        ("workload.think=-2ms", &["--set workload.think=-2ms:", "\"-2ms\"", "not negative"]),
        ("device.op=0.02", &["--set device.op=0.02:", "gc needs"]),
        ("device.geometry.page=0B", &["--set device.geometry.page=0B:", "page = 0B"]),
        ("device.name=fmu", &["`fmu`", "did you mean femu?"]),
        ("seed=1.5", &["--set seed=1.5:", "seed = 1.5", "whole number"]),
        ("a..b=1", &["unknown key a..b"]),
    ];
    for (set, pieces) in mistakes {
        assert_says(&load_with(GOOD, &[set]).expect_err(set).to_string(), pieces);
    }
    assert!(Override::from_set("gc.soft").unwrap_err().to_string().contains("key=value"));
    assert!(Override::from_set("=3").is_err());
}

#[test]
fn a_mistake_in_a_device_table_is_answered_with_its_line() {
    let broken = |from: &str, to: &str| {
        let mut table = builtin_device("tlc-enterprise").unwrap();
        table.text = table.text.replacen(from, to, 1);
        load_device(&table).unwrap_err().to_string()
    };
    let said = broken("program = [\"1228.8us\"]", "program = [\"1ms\", \"2ms\"]");
    assert_says(
        &said,
        &["devices/tlc-enterprise.toml:", "device.timing.program", "one time", "one shot"],
    );
    assert_says(
        &broken("pages = 1944", "pages = 1945"),
        &["device.geometry.pages = 1945", "multiple of", "= 3"],
    );
    assert_says(&broken("pages = 1944", "pages = 3000"), &["pages = 3000", "32767", "48000"]);
    assert_says(&broken("planes = 4", "planes = 6"), &["device.geometry.planes = 6", "multiple"]);
    assert_says(&broken("pages = 1944\n", "\n"), &["device.geometry.pages is missing"]);
    assert_says(
        &broken("geometry", "geometri"),
        &["unknown key device.geometri", "did you mean device.geometry?"],
    );
}

#[test]
fn no_cut_text_and_no_absurd_value_makes_it_panic() {
    let text = builtin_scenario("oltp").unwrap().text;
    for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)).step_by(7) {
        let _ = load_with(&text[..cut], &[]);
    }
    let huge = [
        "geometry.planes",
        "geometry.dies",
        "geometry.pages",
        "feature.program_planes",
        "feature.program_pages",
    ];
    let huge = huge.map(|key| format!("device.{key}=4294967295"));
    let mut sets: Vec<&str> = huge.iter().map(String::as_str).collect();
    sets.push("device.geometry.page=16777215TiB");
    for skipped in 0..sets.len() {
        let sets: Vec<&str> =
            (0..sets.len()).filter(|set| *set != skipped).map(|set| sets[set]).collect();
        load_with(GOOD, &sets).unwrap_err();
    }
    load_with(GOOD, &sets).unwrap_err();
    let keys = [
        "device.geometry",
        "device.op",
        "workload.block_sizes",
        "gc.soft",
        "workload.jobs",
        "policies",
        "name",
    ];
    for key in keys {
        for value in [
            "0",
            "-1",
            "1e300",
            "inf",
            "[]",
            "{}",
            "[[]]",
            "1979-05-27",
            "''",
            "99999999999999999999",
        ] {
            let _ = load_with(GOOD, &[&format!("{key}={value}")]);
        }
    }
}
