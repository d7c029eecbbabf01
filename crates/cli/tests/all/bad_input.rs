//! Input as it should not be: each line of these tables is refused before anything is run or
//! written, with one line that names the place, the key and the value, and exit code 2.

use crate::support::{assert_refused, file, manx, stderr};
use std::path::Path;

/// A scenario that runs, up to the job's last keys.
const SCENARIO: &str = "[device]\nname = \"femu\"\n\
                        geometry = { channels = 2, ways = 2, blocks = 64 }\nop = 0.25\n\
                        [drive]\nbuffer = \"256KiB\"\n[workload]\nrequests = 10\n";

const LINE: &str = "128166372003061629,hm,0,Read,8192,4096,100\n";

#[test]
fn a_scenario_file_is_refused_by_line_key_and_value() {
    let table: &[(&str, &[&str])] = &[
        ("rate = -1\narrival = \"poisson\"", &[":9: workload.rate = -1", "0.001 to 1e9"]),
        ("arrival = \"poisson\"", &["workload.rate = 0", "0.001 to 1e9"]),
        ("think = \"-2ms\"", &[":9: workload.think = \"-2ms\"", "not negative"]),
        ("think = \"2 parsecs\"", &[":9: workload.think = \"2 parsecs\"", "unit ns, us, ms, s"]),
        ("size = \"4TiB\"", &[":9: workload.size = 4TiB", "at most 201326592 B"]),
        ("offset = \"4TiB\"", &[":9: workload.offset = 4TiB", "host sees"]),
        ("align = \"1000B\"", &[":9: workload.align = 1000B", "512 B"]),
        ("block_sizes = []", &[":9: workload.block_sizes", "at least one"]),
        ("block_sizes = [[\"4KiB\", -1]]", &["workload.block_sizes.0.1 = -1", "above 0"]),
        ("block_sizes = [[\"1GiB\", 1]]", &["workload.block_sizes.0.0 = 1GiB", "at most"]),
        ("read_percent = nan", &["workload.read_percent = NaN", "from 0 to 100"]),
        (
            "read_percent = 60\ntrim_percent = 60",
            &[":10: workload.trim_percent = 60", "read_percent"],
        ),
        ("zipf_theta = inf\npattern = \"zipf\"", &[":9: workload.zipf_theta = inf", "at most 10"]),
        ("time = \"99999999999999d\"", &[":9: workload.time", "a time"]),
        ("queue_depth = 0", &[":9: workload.queue_depth = 0", "from 1"]),
        ("arrival = \"trace\"", &[":9: workload.arrival = \"trace\"", "workload.trace"]),
        ("jobs = [1]", &[":9: workload.jobs.0 = 1", "a table"]),
        ("requests = 11", &[":9:1: not TOML: duplicate key"]),
        (
            "zipf_theta = 99999999999999999999",
            &[":9:14: not TOML: the whole number 99999999999999999999 is too large"],
        ),
        (
            "[[workload.jobs]]\nread_percentt = 1",
            &[":10: unknown key", "did you mean workload.jobs.0.read_percent?"],
        ),
        ("think = \"2ms\"\r\nbad = 1\r", &[":10: unknown key workload.bad"]),
        (
            "[measure]\nwarmup_requests = 10",
            &[":10: measure.warmup_requests = 10", "below the 10 requests"],
        ),
        ("[workload.trace]\nfile = \"\"", &[":10: workload.trace.file = \"\"", "path"]),
        ("[workload.trace]\nfile = \"not-there.csv\"", &["not-there.csv", "no such file"]),
        ("[work", &[":9:6: not TOML: unclosed table"]),
    ];
    for (number, (keys, pieces)) in table.iter().enumerate() {
        let path =
            file(&format!("scenario-{number}.toml"), format!("{SCENARIO}{keys}\n").as_bytes());
        assert_refused(&["run", &path], pieces);
    }
}

#[test]
fn an_override_is_refused_by_key_and_value() {
    let table: &[(&str, &[&str])] = &[
        ("device.geometry.planes=0", &["at least 1"]),
        ("device.geometry.channels=-1", &["whole number"]),
        ("device.geometry.blocks=4294967295", &["fewer than 2147483648 mapping units"]),
        ("device.geometry.map_unit=3KiB", &["a power of two"]),
        ("device.timing.read=[\"-1us\"]", &["not negative"]),
        ("device.timing.read=[]", &["from 1 to 16"]),
        ("device.timing.erase_steps=0", &["from 1 to 64"]),
        ("device.channel.rate=40", &["1200MB/s"]),
        ("device.op=1", &["below 1"]),
        ("device.op=nan", &["NaN", "below 1"]),
        ("drive.buffer=1B", &["at least 32768B"]),
        ("drive.buffer=1000TiB", &["at most 16GiB"]),
        ("drive.link=1B/s", &["at least 1MB/s"]),
        ("gc.hard=0.2", &["gc.soft = 0.08"]),
        ("gc.unit=superblock", &["ftl.allocation = \"dynamic\""]),
        ("gc.soft=", &["expected a number"]),
        ("gc.soft=0.1\nb", &["expected a number"]),
        ("ftl.order=[\"way\", \"way\", \"die\", \"plane\"]", &["each exactly once"]),
        ("workload.rate=1e300", &["workload.rate = 1e300 is not allowed"]),
        ("workload.jobs.3.rate=5", &["a list of 0"]),
        ("workload.jobs.x.rate=5", &["unknown key", "did you mean workload.rate?"]),
        ("device=femu", &["a table of keys"]),
        ("seed=1.5", &["whole number"]),
        ("policies=base", &["a list"]),
        ("measure.warmup=1", &["a time such as"]),
        ("measure.warmup=99999d", &["at most 366 d"]),
        ("=3", &["key=value"]),
        ("a.b.c.d=1", &["unknown key a.b.c.d"]),
    ];
    for (set, pieces) in table {
        let key = set.split('=').next().unwrap();
        assert_refused(
            &["run", "quick", "--set", set],
            &[pieces, [key, "--set "].as_slice()].concat(),
        );
    }
}

#[test]
fn a_power_budget_that_nothing_draws_on_or_that_nothing_fits_into_is_refused() {
    let refused = |sets: &[&str], words: &[&str]| {
        let mut args = vec!["run", "quick"];
        sets.iter().for_each(|set| args.extend(["--set", set]));
        assert_refused(&args, words);
    };
    let (budget, program) = ("drive.power.budget=1W", "drive.power.program=80mW");
    refused(&[program], &["drive.power.budget = 0W", "above 0W and at most 1000W"]);
    refused(&[budget], &["drive.power.budget = 1W", "needs drive.power.program"]);
    refused(&[budget, "drive.power.erase=1001mW"], &["drive.power.erase = 1001mW", "at most"]);
    refused(&[budget, program, "drive.scheduler=fifo"], &["drive.power.budget", "read-first"]);
    let slot = "drive.channel_take=with-slot";
    refused(&[budget, program, slot], &["drive.power.budget", "\"early\""]);
    refused(&["drive.power.budget=1 hp"], &["\"1 hp\"", "mW or W"]);
}

#[test]
fn an_end_of_life_without_a_rating_is_refused() {
    let refused = |sets: &[&str], words: &[&str]| {
        let mut args = vec!["run", "quick", "--set", "faults.wear_out=true"];
        sets.iter().for_each(|set| args.extend(["--set", set]));
        assert_refused(&args, words);
    };
    refused(&[], &["faults.wear_out = true", "needs device.endurance above 0", "states none"]);
    refused(&["device.endurance=20000000"], &["device.endurance = 20000000", "from 1 to 10000000"]);
    let (rated, pslc) = ("device.endurance=3000", "ftl.placement=hot-cold");
    refused(&[rated, pslc], &["ftl.placement"]);
    let args = ["plan", "endurance", "--device", "nothing"];
    assert_refused(&args, &["nothing"]);
    assert_refused(&["plan", "endurance", "--cycles", "0"], &["--cycles 0", "above 0"]);
}

#[test]
fn a_throttle_is_refused_where_collections_take_no_time_or_writes_cause_them() {
    let throttle = ["run", "quick", "--set", "drive.firmware.throttle=20MB/s"];
    let refused = |more: &[&str], why: &str| {
        assert_refused(&[&throttle, more].concat(), &["drive.firmware.throttle = 20MB/s", why]);
    };
    refused(&["--policy", "nogc"], "another gc.mode than \"nogc\"");
    refused(&["--set", "ftl.kind=log-block"], "it needs ftl.kind = \"page\"");
}

#[test]
fn a_device_table_is_refused_by_line_and_key() {
    let femu = manx_config::builtin_device("femu").unwrap().text;
    let edited = |from: &str, to: &str| {
        assert!(femu.contains(from), "{from}");
        femu.replace(from, to)
    };
    let table: &[(&str, String, &[&str])] = &[
        (
            "device-0.toml",
            edited("channels = 8", "channels = 0"),
            &["device.geometry.channels = 0", "at least 1"],
        ),
        (
            "device-1.toml",
            edited("\"40us\"", "\"40 lightyears\""),
            &["device.timing.read.0", "lightyears", "a time"],
        ),
        (
            "device-2.toml",
            edited("channels = 8", "chanels = 8"),
            &["did you mean device.geometry.channels?"],
        ),
        ("device-3.toml", edited("channels = 8", ""), &["device.geometry.channels is missing"]),
        ("device-4.toml", "name = \"x\"\n".to_string(), &["device.", "is missing"]),
        ("device-5.toml", "version https://git-lfs".to_string(), &["not TOML"]),
    ];
    for (name, text, pieces) in table {
        let path = file(name, text.as_bytes());
        let pieces = [pieces, [*name].as_slice()].concat();
        assert_refused(&["device", "show", &path], &pieces);
        assert_refused(&["run", "oltp", "--device", &path], &pieces);
    }
}

/// Traces by name and content, and the pieces of the refusal.
type Traces<'a> = Vec<(&'a str, Vec<u8>, &'a [&'a str])>;

fn assert_traces_refused(traces: &Traces) {
    for (name, bytes, pieces) in traces {
        // A folder of its own: tests run side by side.
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("refused-{name}"));
        let out = folder.join("deep").display().to_string();
        let args =
            ["compare", "quick", "--trace", &file(name, bytes), "--remap", "none", "--out", &out];
        assert_refused(&args, &[pieces, [*name].as_slice()].concat());
        assert!(!folder.exists(), "{name} left a folder");
    }
}

#[test]
fn a_file_that_is_no_trace_is_refused_by_what_it_is() {
    let junk: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n".to_vec();
    // A zstd frame whose one raw block of 200 bytes ends early; a gzip header with nothing right
    // behind it.
    let cut = [b"\x28\xB5\x2F\xFD\x00\x58\x41\x06\x00", LINE.as_bytes()].concat();
    let gz = [b"\x1F\x8B\x08\x00\x00\x00\x00\x00\x00\x03".as_slice(), b"this is no deflate stream"]
        .concat();
    let traces: Traces = vec![
        ("t-empty.csv", vec![], &["empty"]),
        ("t-blank.csv", b"\n\r\n\n".to_vec(), &["empty"]),
        ("t-junk.csv", junk, &["binary"]),
        (
            "t-prose.csv",
            b"dear diary\n".to_vec(),
            &["no known trace format", "dear diary", "--format"],
        ),
        ("t-lfs.csv", lfs, &["git LFS pointer", "git lfs pull"]),
        ("t-cut.csv.zst", cut, &["incomplete frame"]),
        ("t-junk.csv.gz", gz, &["reading the trace failed"]),
        (
            "t-nothing.csv",
            b"128166372003061629,hm,0,Read,8192,0,1\n".to_vec(),
            &["no known trace format", "--format"],
        ),
        (
            "t-utf16.csv",
            LINE.encode_utf16()
                .fold(vec![0xff, 0xfe], |text, unit| [text, unit.to_le_bytes().to_vec()].concat()),
            &["UTF-16", "iconv"],
        ),
        ("t-zeros.csv", vec![0; 70_000], &["zeros"]),
        ("t-zip.csv", b"PK\x03\x04\x14\0\0\0".to_vec(), &["zip archive", "unpack"]),
        ("t-bz2.csv", b"BZh91".to_vec(), &["bzip2", "cut"]),
        (
            "t-nothing.bz2",
            b"BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0".to_vec(),
            &["the trace is empty"],
        ),
        ("t-cut.tar", cut_tar(), &["tar archive", "cut"]),
        (
            "t-cut.gz",
            b"\x1F\x8B\x08\x00".to_vec(),
            &["t-cut.gz: reading the trace failed: ", "cut or damaged"],
        ),
        ("t-parquet.csv", b"PAR1 and no more PAR1".to_vec(), &["Parquet"]),
    ];
    assert_traces_refused(&traces);
    let nothing = file("t-nothing-msr.csv", b"128166372003061629,hm,0,Read,8192,0,1\n");
    let args = ["compare", "quick", "--trace", &nothing, "--format", "msr", "--remap", "none"];
    assert_refused(&args, &["no request", "zero length"]);
}

#[test]
fn a_trace_is_refused_by_line_and_reason() {
    let after = |line: &str| [LINE, line].concat().into_bytes();
    let traces: Traces = vec![
        ("t-truncated.csv", after("128166372003081629,hm,0,Wri"), &[":2: the file is truncated"]),
        (
            "t-huge.csv",
            after("128166372003071629,hm,0,Write,999999999999999999999999,4096,1\n"),
            &[":2: ", "64 PiB"],
        ),
        (
            "t-negative.csv",
            after("128166372003071629,hm,0,Write,-4096,4096,1\n"),
            &[":2: ", "not an MSR line"],
        ),
        (
            "t-nan.csv",
            after("128166372003071629,hm,0,Write,NaN,4096,1\n"),
            &[":2: ", "NaN", "not an MSR line"],
        ),
        (
            "t-op.csv",
            after("128166372003071629,hm,0,Erase,4096,4096,1\r\n"),
            &[":2: ", "Read|Write"],
        ),
        (
            "t-beyond.csv",
            after("128166372003071629,hm,0,Write,900000000000000,4096,1\n"),
            &[":2: ", "--remap"],
        ),
        (
            "t-type.trace",
            b"100 0 8 8 1\n120 0 8 8 0\n130 0 8 8 1\n150 0 8 8 zz\n".to_vec(),
            &[":4: ", "type 1 for a read"],
        ),
        (
            "t-sector.trace",
            b"1 0 8 8 1\n2 0 18446744073709551615 8 1\n".to_vec(),
            &[":2: ", "below 2^47"],
        ),
        ("t-q.blkparse", b"8,0 1 1 0.000000001 10 Q R 8 + 8 [a]\n".to_vec(), &["no issue event"]),
        ("t-nul.csv", after("12\0\0\0"), &[":2: ", "`12\\0\\0\\0`", "binary"]),
    ];
    assert_traces_refused(&traces);
}

/// The header of a file of 9000 bytes, and no more than 100 of them.
fn cut_tar() -> Vec<u8> {
    let mut header = [0u8; 512];
    header[..5].copy_from_slice(b"t.csv");
    header[124..135].copy_from_slice(b"00000021450");
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum::<u32>() + 8 * u32::from(b' ');
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    [header.as_slice(), LINE.as_bytes()].concat()
}

fn assert_options_refused(scenario: &str, table: &[(&[&str], &[&str])]) {
    for (options, pieces) in table {
        assert_refused(&[["compare", scenario].as_slice(), options].concat(), pieces);
    }
}

#[test]
fn an_option_is_refused_where_it_makes_no_sense() {
    let scenario = file("o-scenario.toml", SCENARIO.as_bytes());
    let in_the_way = file("in-the-way", b"");
    let below = format!("{in_the_way}/below");
    let no_policy = file("o-none.toml", format!("policies = []\n{SCENARIO}").as_bytes());
    let table: &[(&[&str], &[&str])] = &[
        (&["--jobs", "0"], &["'0'", "--jobs"]),
        (&["--jobs", "-1"], &["'-1'", "--jobs"]),
        (&["--seed", "-1"], &["'-1'", "--seed", "a whole number from 0"]),
        (&["--seed", "1.5"], &["'1.5'", "--seed", "a whole number from 0"]),
        (&["--policies", ""], &["no policy ``", "nogc, base"]),
        (&["--policies", "base,,nogc"], &["no policy ``", "nogc, base"]),
        (&["--policies", "base, base"], &["`base` is named twice"]),
        (&["--policies", "base/nogc"], &["both decide gc"]),
        (&["--out", ""], &["--out"]),
        (&["--out", &in_the_way], &["in-the-way", "a file", "folder"]),
        (&["--out", &below], &["in-the-way", "cannot make this folder"]),
        (&["--device", ""], &["no device ``"]),
    ];
    assert_options_refused(&scenario, table);
    assert_refused(&["compare", &no_policy], &["no policy to run"]);
    assert_refused(&["run", "."], &["a directory", "scenario"]);
    assert_refused(&["run", ""], &["no scenario ``", "quick"]);
    assert_refused(&["run", "quik"], &["did you mean quick?"]);
}

#[test]
fn an_option_of_a_trace_is_refused_where_it_makes_no_sense() {
    let scenario = file("o-trace.toml", SCENARIO.as_bytes());
    let trace = file("o-trace.csv", LINE.as_bytes());
    let table: &[(&[&str], &[&str])] = &[
        (&["--time-unit", "us"], &["--trace"]),
        (&["--format", "msr"], &["--trace"]),
        (
            &["--trace", &trace, "--time-unit", "us"],
            &["o-trace.csv", "states its own units", "--time-unit"],
        ),
        (
            &["--trace", &trace, "--time-unit", "hours"],
            &["--time-unit hours", "`ns`, `us`, `ms`, `s`"],
        ),
        (&["--trace", &trace, "--set", "workload.trace.repeat=0"], &["repeat = 0", "at least 1"]),
        (
            &["--trace", &trace, "--set", "workload.trace.rate_scale=0"],
            &["rate_scale = 0", "0.000001"],
        ),
        (
            &["--trace", &trace, "--set", "workload.arrival=poisson"],
            &["poisson", "\"trace\" or \"closed\""],
        ),
        (&["--trace", ""], &["--trace"]),
        (&["--trace", &trace, "--format", "msrr"], &["--format msrr", "did you mean msr?"]),
        (
            &["--trace", &trace, "--remap", "Modulo"],
            &["--remap Modulo", "`dense`", "did you mean modulo?"],
        ),
        (
            &["--trace", &trace, "--from", "-5s"],
            &["--from -5s", "workload.trace.from", "not negative"],
        ),
        (&["--trace", &trace, "--to", "-1ms"], &["--to -1ms", "not negative"]),
        (&["--trace", &trace, "--align", "-4KiB"], &["--align -4KiB", "a size"]),
        (&["--trace", &trace, "--skip", "-1"], &["'-1'", "--skip", "a whole number from 0"]),
        (
            &["--trace", &trace, "--skip", "18446744073709551615"],
            &["--skip", "to 9223372036854775807"],
        ),
        (&["--trace", &trace, "--head", "1.5"], &["'1.5'", "--head", "a whole number from 0"]),
        (&["--trace", &trace, "--loop", "-1"], &["'-1'", "--loop", "from 1 to 4294967295"]),
        (
            &["--trace", &trace, "--rate-scale", "-2"],
            &["--rate-scale -2", "0.000001 to 1000000000"],
        ),
        (
            &["--trace", &trace, "--rate-scale", "fast"],
            &["'fast'", "--rate-scale", "0.000001 to 1000000000"],
        ),
        (&["--trace", &trace, "--skip", "5"], &["holds no request", "skipped as asked"]),
        (&["--trace", &trace, "--from", "1s"], &["holds no request", "before the window"]),
        (&["--trace", &trace, "--from", "2s", "--to", "1s"], &["--to 1s", "after trace.from = 2s"]),
        (&["--trace", &trace, "--devices", "hm"], &["no device `hm`", "`hm,0`"]),
    ];
    assert_options_refused(&scenario, table);
}

#[test]
fn torture_refuses_an_array_and_a_power_loss_at_a_time_of_its_own() {
    let pieces = ["array.members = 4", "a power loss of an array is not modelled"];
    assert_refused(&["torture", "quick", "--seeds", "1", "--set", "array.members=4"], &pieces);
    assert_refused(&["torture", "--seeds", "1", "--set", "array.members=4"], &pieces);
    assert_refused(&["torture", "ioda", "--seeds", "1"], &pieces[1..]);
    let pieces = ["recovery.cut_at = 1s", "events that each seed draws"];
    let warmup = ["--set", "measure.warmup_requests=0", "--set", "measure.warmup=0s"];
    let cut = ["torture", "quick", "--seeds", "1", "--set", "recovery.cut_at=1s"];
    assert_refused(&[cut.as_slice(), &warmup].concat(), &pieces);
    let reset = ["torture", "quick", "--seeds", "1", "--set", "host.on_timeout=reset"];
    assert_refused(&reset, &["host.on_timeout = \"reset\"", "torture needs \"end\""]);
}

#[test]
fn a_host_that_resets_its_drive_needs_one_drive_a_timeout_and_no_power_loss() {
    let refused = |sets: &[&str], pieces: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", *set]);
        let asked = ["run", "quick", "--set", "host.on_timeout=reset"].into_iter();
        assert_refused(&asked.chain(sets).collect::<Vec<_>>(), pieces);
    };
    refused(&["array.members=4"], &["array.members = 4", "which member's request is too old"]);
    refused(&["measure.timeout=0s"], &["measure.timeout = 0s", "a time above 0s"]);
    refused(&["host.retries=256"], &["host.retries = 256", "from 0 to 255 times"]);
    refused(&["host.reset=-1s"], &["host.reset"]);
    refused(&["host.on_timeout=abort"], &["host.on_timeout", "reset"]);
    let cut = ["measure.warmup_requests=0", "recovery.keep=true", "recovery.cut_at=1s"];
    refused(&cut, &["recovery.cut_at = 1s", "a reset and a recovery at once"]);
}

#[test]
fn a_run_with_a_power_loss_has_no_attribution_and_no_file_beside_it() {
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/cut-beside.parquet");
    let cut = ["run", "quick", "--no-cache", "--set", "recovery.keep=true"];
    let at = ["--set", "recovery.cut_at=50ms", "--set", "measure.warmup_requests=0"];
    let refused = |options: &[&str], pieces: &[&str]| {
        assert_refused(&[cut.as_slice(), &at, options].concat(), pieces);
    };
    let attribution = ["measure.attribution = true is not allowed", "recovery.cut_at needs false"];
    refused(&["--attribution"], &attribution);
    refused(&["--set", "measure.attribution=true"], &attribution);
    for option in ["--timeline", "--requests"] {
        refused(&[option, file], &[option, "recovery.cut_at = 50ms", "is not allowed with it"]);
    }
    assert!(!Path::new(file).exists());
}

/// A key of `--set` that nothing looks at was told, and the same key in a file was not.
#[test]
fn a_key_of_a_file_that_nothing_looks_at_is_said_to_change_nothing() {
    let told = |name: &str, array: &str, more: &[&str]| {
        let text = format!(
            "name = \"idle\"\n[device]\nname = \"femu\"\nop = 0.25\ngeometry = {{ channels = 2, \
             ways = 2, blocks = 64 }}\n[array]\n{array}\n[workload]\nrequests = 2000\n"
        );
        let path = file(name, text.as_bytes());
        let output = manx(&[&["run", &path, "-q"], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output).matches("it changes nothing").count()
    };
    assert_eq!(told("idle-one.toml", "extra_reads = 2", &[]), 1);
    let coded = "members = 4\nlevel = \"raid5\"\nparities = 4";
    assert_eq!(told("idle-four.toml", coded, &[]), 1);
    assert_eq!(told("idle-set.toml", coded, &["--set", "array.parities=5"]), 1, "told once");
    assert_eq!(
        told("idle-code.toml", &coded.replace("raid5", "ec"), &["--set", "array.members=6"]),
        0
    );
}

/// The scenario that a run leaves behind lists every key: 117 of `quick` were each said to change
/// nothing.
#[test]
fn a_scenario_that_manx_wrote_says_nothing_of_keys_that_nothing_looks_at() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("listed").display().to_string();
    let asked = ["quick", "--set", "workload.requests=2000", "-q"];
    assert!(manx(&[&["run", "--out", &folder][..], &asked].concat()).status.success());
    let path = format!("{folder}/scenario.toml");
    let said = |path: &str| stderr(&manx(&["run", path, "-q"]));
    assert!(!said(&path).contains("it changes nothing"), "{}", said(&path));
    let edited = std::fs::read_to_string(&path).unwrap().replacen("op = 0.25", "op = 0.3", 1);
    std::fs::write(&path, edited).unwrap();
    assert!(!said(&path).contains("it changes nothing"), "{}", said(&path));
    let set = manx(&["run", &path, "-q", "--set", "array.parities=5"]);
    assert_eq!(stderr(&set).matches("it changes nothing").count(), 1, "what was said is told");
    std::fs::remove_dir_all(&folder).unwrap();
}
