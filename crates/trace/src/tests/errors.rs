//! Each fault of a file is named: the file, the line, the text, what should stand there.

use super::super::sniff::sniff;
use super::super::survey;
use super::*;

fn fault(text: impl Into<Vec<u8>>) -> String {
    survey(&spec(), &mut opener(text)).unwrap_err().to_string()
}

fn assert_says(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "`{part}` is missing in: {error}");
    }
}

#[test]
fn a_malformed_line_is_named() {
    let spoilt = MSR.replace("2517696512", "2.5177E+09");
    assert_says(
        &fault(spoilt),
        &[
            "t.trace:2: `128166372016382155,usr,0,Write,2.5177E+09",
            "is not an MSR line",
            "spreadsheet",
        ],
    );
    assert_says(
        &fault(ASCII.replace("160 16 0", "160 16 x")),
        &["t.trace:2: `1500 2 160 16 x` is not an MQSim/SSDsim line"],
    );
    let spoilt = BLKPARSE.replace("1000 + 8 [jbd2/sdb]", "1000 8 [jbd2/sdb]");
    assert_says(&fault(spoilt), &["t.trace:6: `", "is not a blkparse event"]);
}

#[test]
fn a_long_line_is_shortened() {
    let long = "x".repeat(200_000);
    let error = fault(format!("{ASCII}{long}\n"));
    assert_says(&error, &["t.trace:4: `xxx", "...`"]);
    assert!(error.len() < 500);
}

#[test]
fn a_cut_file_is_said_to_be_truncated() {
    for (text, line) in [(&MSR[..130], 3), (&ASCII[..ASCII.len() - 5], 3), (&BLKPARSE[..300], 5)] {
        assert_says(&fault(text), &[&format!("t.trace:{line}: the file is truncated")]);
    }
}

#[test]
fn a_binary_file_is_no_text_trace() {
    assert_says(&fault(b"\x07tae\0\0\0\x01junk\n".to_vec()), &["not a text trace"]);
    assert_says(
        &fault([ASCII.as_bytes(), b"12\0\x01 junk\n"].concat()),
        &["t.trace:4", "not a text trace"],
    );
    assert_says(&fault([BLKPARSE.as_bytes(), b"\xff\xfe junk\n"].concat()), &["not a text trace"]);
    let given = TraceSpec { format: Some(TraceFormat::Blkparse), ..spec() };
    let error = survey(&given, &mut opener(vec![0xABu8; 300_000])).unwrap_err();
    assert!(matches!(error, TraceError::NotText { .. }), "{error}");
}

#[test]
fn an_empty_file_a_pointer_and_an_unknown_format_are_named() {
    assert_says(&fault(""), &["t.trace: the trace is empty"]);
    assert_says(&fault(" \n\n"), &["empty"]);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3465301\n";
    assert_says(&fault(pointer), &["git LFS pointer", "git lfs pull"]);
    assert_says(
        &fault("when,where,what\nnow,here,this\n"),
        &["no known trace format", "`when,where"],
    );
}

#[test]
fn blkparse_without_issue_events_says_what_it_held() {
    let queued: String =
        BLKPARSE.lines().filter(|l| !l.contains("  D ")).map(|l| format!("{l}\n")).collect();
    assert_says(&fault(queued), &["holds no request", "no issue event", "1 Q event (queued)"]);
}

#[test]
fn an_implausible_pace_asks_for_the_unit() {
    let text: String = (0..200).map(|i| format!("{} 0 {} 8 1\n", i * 100, i * 8)).collect();
    assert_says(
        &fault(text.as_str()),
        &[
            "As ns this trace runs at 10050251 requests/s",
            "--time-unit",
            "us would be 10050/s",
            "ms would be 10.050/s",
            "implausible",
        ],
    );
    let given = TraceSpec { time_unit: Some(TimeUnit::Ns), ..spec() };
    assert_eq!(survey(&given, &mut opener(text)).unwrap().requests, 200);
    let given = TraceSpec { format: Some(TraceFormat::Ssdsim), ..spec() };
    let error =
        survey(&given, &mut opener("0.000 0 80 8 1\n223.412 0 8 8 0\n")).unwrap_err().to_string();
    assert_says(&error, &["decimal fraction", "--time-unit"]);
}

#[test]
fn a_unit_for_a_format_that_states_its_own_is_refused() {
    let error = sniff(&TraceSpec { time_unit: Some(TimeUnit::Us), ..spec() }, &mut opener(MSR))
        .unwrap_err();
    assert_says(&error.to_string(), &["msr", "states its own units"]);
}

#[test]
fn numbers_beyond_their_range_are_refused() {
    assert_says(&fault("1,h,0,Read,99999999999999999999999,512,1\n"), &["no known trace format"]);
    for text in
        ["1 0 140737488355328 8 1\n", "1 0 0 4294967296 1\n", "99999999999999999999 0 0 8 1\n"]
    {
        assert!(read_as(text, TraceFormat::Ssdsim, TimeUnit::Ns).is_err(), "{text}");
    }
    let far = "1,h,0,Read,0,512,1\n18446744073709551615,h,0,Read,0,512,1\n";
    assert_says(&fault(far), &["584 years"]);
}
