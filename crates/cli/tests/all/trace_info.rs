//! `manx trace info`: what it prints, what it refuses.

use crate::support::{assert_refused, file, manx, stderr, stdout};

/// Two reads and a write on two disks, 100 ms apart, the write of two pages.
const TRACE: &str = "128166372003000000,hm,0,Read,8192,4096,100\n128166372004000000,hm,1,Write,4096,8192,200\n\
                     128166372005000000,hm,0,Read,12288,4096,300\n";

#[test]
fn a_trace_is_described_in_text_and_in_json() {
    let trace = file("info.csv", TRACE.as_bytes());
    let output = manx(&["trace", "info", &trace]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    for piece in ["format      msr", "devices     2", "33.3 % sequential", "pages       4 of 4 KiB", "read latency"] {
        assert!(stdout(&output).contains(piece), "`{piece}` is not in:\n{}", stdout(&output));
    }
    let output = manx(&["trace", "info", &trace, "--json"]);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&document["requests"], &document["format"]), (&3.into(), &"msr".into()));
    assert_eq!(document["statistics"]["footprint"]["written_pages"], 2);
    assert_eq!(document["statistics"]["read_latency"]["max_ns"], 30_000);
    assert_eq!(document["statistics"]["devices"][1]["name"], "hm,1");
}

#[test]
fn several_traces_have_a_row_each() {
    let (one, two) = (file("info-one.csv", TRACE.as_bytes()), file("info-two.csv", TRACE.as_bytes()));
    let output = manx(&["trace", "info", &one, &two]);
    let table = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for name in ["info-one.csv", "info-two.csv"] {
        assert_eq!(table.lines().filter(|line| line.contains(name)).count(), 1, "{table}");
    }
    let documents = stdout(&manx(&["trace", "info", &one, &two, "--json"]));
    assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&documents).unwrap().len(), 2);
}

#[test]
fn the_reading_options_choose_what_is_measured() {
    let trace = file("info-options.csv", TRACE.as_bytes());
    let requests = |options: &[&str]| {
        let output = manx(&[["trace", "info", &trace, "--json"].as_slice(), options].concat());
        let document: serde_json::Value =
            serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
        document["statistics"]["data_requests"].as_u64()
    };
    assert_eq!(requests(&[]), Some(3));
    assert_eq!(requests(&["--head", "2"]), Some(2));
    assert_eq!(requests(&["--devices", "hm,1"]), Some(1));
    assert_eq!(requests(&["--ignore", "write", "--from", "150ms"]), Some(1));
}

#[test]
fn what_is_wrong_is_one_line_and_exit_code_2() {
    let trace = file("info-bad.csv", TRACE.as_bytes());
    let torn = file("info-torn.csv", format!("{TRACE}128166372006000000,hm,0,Re").as_bytes());
    assert_refused(&["trace", "info"], &["FILE"]);
    assert_refused(&["trace", "info", "./nowhere.csv"], &["./nowhere.csv", "no such file"]);
    assert_refused(&["trace", "info", &trace, &torn], &["info-torn.csv:4", "truncated"]);
    assert_refused(&["trace", "info", &trace, "--format", "csv"], &["--format csv", "msr"]);
    assert_refused(&["trace", "info", &trace, "--time-unit", "hours"], &["--time-unit hours", "`ns`, `us`"]);
    assert_refused(&["trace", "info", &trace, "--devices", "hm,7"], &["hm,7", "hm,0"]);
    assert_refused(&["trace", "info", &trace, "--table", "--json"], &["--table", "--json"]);
    assert_refused(&["trace", "info", &file("info-empty.csv", b"")], &["info-empty.csv", "empty"]);
}
