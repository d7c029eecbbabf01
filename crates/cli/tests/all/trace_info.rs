//! `manx trace info`: what it prints, what it refuses.

use crate::support::{assert_refused, file, manx, stderr, stdout};

/// Two reads and a write on two disks, 100 ms apart, the write of two pages.
const TRACE: &str = "128166372003000000,hm,0,Read,8192,4096,100\n\
                     128166372004000000,hm,1,Write,4096,8192,200\n\
                     128166372005000000,hm,0,Read,12288,4096,300\n";

#[test]
fn a_trace_is_described_in_text_and_in_json() {
    let trace = file("info.csv", TRACE.as_bytes());
    let output = manx(&["trace", "info", &trace]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    for piece in [
        "format      msr",
        "devices     2",
        "33.3 % sequential",
        "pages       4 of 4 KiB",
        "read latency",
    ] {
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
    let (one, two) =
        (file("info-one.csv", TRACE.as_bytes()), file("info-two.csv", TRACE.as_bytes()));
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
        let document: serde_json::Value = serde_json::from_str(&stdout(&output))
            .unwrap_or_else(|_| panic!("{}", stderr(&output)));
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
    assert_refused(&["trace", "info", &torn], &["info-torn.csv:4", "truncated"]);
    assert_refused(&["trace", "info", &trace, "--format", "csv"], &["--format csv", "msr"]);
    assert_refused(
        &["trace", "info", &trace, "--time-unit", "hours"],
        &["--time-unit hours", "`ns`, `us`"],
    );
    assert_refused(&["trace", "info", &trace, "--devices", "hm,7"], &["hm,7", "hm,0"]);
    assert_refused(&["trace", "info", &trace, "--table", "--json"], &["--table", "--json"]);
    assert_refused(&["trace", "info", &file("info-empty.csv", b"")], &["info-empty.csv", "empty"]);
}

#[test]
fn of_several_files_the_good_ones_are_shown_and_each_bad_one_is_told() {
    let (one, two) =
        (file("info-good-1.csv", TRACE.as_bytes()), file("info-good-2.csv", TRACE.as_bytes()));
    let (bad, empty) = (file("info-bad-1.csv", b"a,b\n1,2\n"), file("info-bad-2.csv", b""));
    let output = manx(&["trace", "info", &one, &bad, &two, &empty]);
    assert_eq!(output.status.code(), Some(2));
    let (table, said) = (stdout(&output), stderr(&output));
    assert!(table.contains("info-good-1.csv") && table.contains("info-good-2.csv"), "{table}");
    let errors: Vec<&str> = said.lines().collect();
    assert_eq!(errors.len(), 2, "{said}");
    assert!(errors[0].starts_with("error: ") && errors[0].contains("info-bad-1.csv"), "{said}");
    assert!(errors[1].starts_with("error: ") && errors[1].contains("info-bad-2.csv"), "{said}");
}

#[test]
fn control_characters_of_names_are_escaped_and_a_last_line_without_end_is_noted() {
    let trace = file("info-\x1b[31m\n.csv", TRACE.trim_end().as_bytes());
    let output = manx(&["trace", "info", &trace]);
    let text = stdout(&output);
    assert!(text.contains("info-\\u{1b}[31m\\n.csv") && !text.contains('\x1b'), "{text}");
    assert!(
        text.contains("the last line of the file has no end: a number in it may be cut"),
        "{text}"
    );
    let bad = file("bad-\x1b[31m\n.csv", b"a,b\n");
    assert_refused(&["trace", "info", &bad], &["bad-\\u{1b}[31m\\n.csv"]);
}

#[test]
fn each_format_says_where_such_a_trace_is_from() {
    let text = stdout(&manx(&["trace", "formats"]));
    let formats = manx_trace::format::FORMATS.len();
    assert_eq!(
        text.lines().filter(|line| line.trim_start().starts_with("from: ")).count(),
        formats,
        "{text}"
    );
    for piece in
        ["blktrace -d", "--write_lat_log", "trace-cmd record", "vscsiStats", "wpr -start DiskIO"]
    {
        assert!(text.contains(piece), "`{piece}` is not in:\n{text}");
    }
}

#[test]
fn two_traces_for_one_run_are_refused() {
    let (one, two) = (file("twice-1.csv", TRACE.as_bytes()), file("twice-2.csv", TRACE.as_bytes()));
    let set = format!("workload.trace.file=\"{two}\"");
    assert_refused(
        &["run", "quick", "--trace", &one, "--set", &set],
        &["--trace", "workload.trace.file", "one of them"],
    );
}

#[test]
fn an_option_that_a_format_has_no_use_for_is_refused_with_why() {
    let rows = "t_us,op,offset,bytes\n0,R,0,4096\n10,W,4096,4096\n";
    let trace = file("info-vain.csv", rows.as_bytes());
    let events = ["event = queue", "must be issue", "only blktrace, blkparse and ftrace"];
    assert_refused(&["trace", "info", &trace, "--event", "queue"], &events);
    let seconds = ["spread = none", "must be even", "only a clock of whole seconds"];
    assert_refused(&["trace", "info", &trace, "--spread", "none"], &seconds);
    assert_refused(&["run", "quick", "--trace", &trace, "--spread", "none", "-q"], &seconds);
    // The defaults are what such a trace has.
    let said = manx(&["trace", "info", &trace, "--event", "issue", "--spread", "even"]);
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
    let text = "1538323200,0,8,0,1063\n1538323200,8,8,1,1063\n1538323201,8,8,1,1063\n";
    let whole = file("info-seconds.csv", text.as_bytes());
    let said = manx(&["trace", "info", &whole, "--format", "tencent", "--spread", "none"]);
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
}
