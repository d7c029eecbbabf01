//! The readers of kernel, hypervisor and cache traces against real ones, whose statistics were
//! computed independently (reference/traces.md, section 2). Where the folder of the traces is
//! absent, these tests are ignored.

use manx_core::drive::Op;
use manx_lab::open::opener;
use manx_trace::{Record, Spread, TraceFormat, TraceSpec, TraceSummary, survey_each};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The summary and the records of a trace.
fn read(name: &str) -> Option<(TraceSummary, Vec<Record>)> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let file = std::env::var_os("MANX_TRACES").map_or_else(beside, PathBuf::from).join(name);
    if !file.exists() {
        println!("SKIPPED {name}: there is no {}", file.display());
        return None;
    }
    // Of the files here those have a clock of whole seconds; others refuse it.
    let has_seconds =
        ["oracleGeneral", "cloudPhysicsIO.csv"].iter().any(|part| name.contains(part));
    let spread = if has_seconds { Spread::None } else { Spread::default() };
    let spec = TraceSpec { spread, ..TraceSpec::new(file.to_string_lossy()) };
    let mut records = Vec::new();
    let summary = survey_each(&spec, &mut opener(&file), &mut |record| records.push(*record));
    let summary = summary.unwrap_or_else(|error| panic!("{error}"));
    println!("{summary}");
    Some((summary, records))
}

/// Requests, span in ms, sectors read and written.
fn figures(summary: &TraceSummary) -> (u64, u64, u64, u64) {
    (
        summary.requests,
        summary.span_ns / 1_000_000,
        summary.read_bytes / 512,
        summary.write_bytes / 512,
    )
}

#[test]
#[cfg_attr(
    not(shared_traces),
    ignore = "needs the folder of real traces: MANX_TRACES, or beside the checkout"
)]
fn cloudphysics_is_the_same_in_vscsi_and_in_oracle_general() {
    let (Some((vscsi, commands)), Some((oracle, objects))) =
        (read("cloudPhysicsIO.vscsi.zst"), read("cloudPhysicsIO.oracleGeneral.bin.zst"))
    else {
        return;
    };
    assert_eq!((vscsi.format, oracle.format), (TraceFormat::Vscsi, TraceFormat::OracleGeneral));
    assert_eq!(
        (vscsi.requests, vscsi.reads, vscsi.span_ns / 1_000_000),
        (113_872, 46_974, 7_200_089)
    );
    assert_eq!((oracle.requests, oracle.altered.total()), (113_872, 113_872));
    // An object keeps the size of its first access.
    let mut sizes = BTreeMap::new();
    for (command, object) in commands.iter().zip(&objects) {
        let second = |record: &Record, summary: &TraceSummary| {
            (record.at.as_ns() + summary.first_time * summary.tick_ns) / 1_000_000_000
        };
        assert_eq!((command.lba, second(command, &vscsi)), (object.lba, second(object, &oracle)));
        assert_eq!(object.sectors, *sizes.entry(command.lba).or_insert(command.sectors));
        assert_eq!(object.op, Op::Read);
    }
}

#[test]
#[cfg_attr(
    not(shared_traces),
    ignore = "needs the folder of real traces: MANX_TRACES, or beside the checkout"
)]
fn cloudphysics_is_the_same_in_vscsi_and_in_csv() {
    let (Some((vscsi, commands)), Some((csv, lines))) =
        (read("cloudPhysicsIO.vscsi.zst"), read("cloudPhysicsIO.csv.zst"))
    else {
        return;
    };
    assert_eq!((csv.format, csv.requests, csv.reads), (TraceFormat::Libcachesim, 113_872, 46_974));
    assert_eq!(commands.len(), lines.len());
    for (command, line) in commands.iter().zip(&lines) {
        let second = |record: &Record, summary: &TraceSummary| {
            (record.at.as_ns() + summary.first_time * summary.tick_ns) / 1_000_000_000
        };
        let seen = |record: &Record| (record.op, record.lba, record.sectors);
        assert_eq!((seen(command), second(command, &vscsi)), (seen(line), second(line, &csv)));
    }
}

#[test]
#[cfg_attr(
    not(shared_traces),
    ignore = "needs the folder of real traces: MANX_TRACES, or beside the checkout"
)]
fn a_blktrace_file_holds_one_issue_for_each_queued_request() {
    let Some((summary, records)) = read("takeoverjp.sample.blktrace.0.zst") else { return };
    assert_eq!((summary.format, figures(&summary)), (TraceFormat::Blktrace, (963, 345, 7704, 0)));
    assert_eq!(
        (summary.skipped_lines.get("Q event (queued)"), summary.skipped_lines.total()),
        (963, 5780)
    );
    assert!(records.iter().all(|record| record.op == Op::Read && record.sectors == 8));
}

#[test]
#[cfg_attr(
    not(shared_traces),
    ignore = "needs the folder of real traces: MANX_TRACES, or beside the checkout"
)]
fn fiu_cheetah_is_as_in_the_reference_table() {
    let Some((summary, _)) = read("cheetah.fiu.10k.zst") else { return };
    assert_eq!((summary.format, summary.requests, summary.reads), (TraceFormat::Fiu, 9_997, 8_896));
    assert_eq!(
        (summary.dropped.total(), summary.skipped_lines.total(), summary.span_ns / 1_000_000),
        (1, 3, 23_566)
    );
}

#[test]
#[cfg_attr(
    not(shared_traces),
    ignore = "needs the folder of real traces: MANX_TRACES, or beside the checkout"
)]
fn blkreplay_loads_are_as_in_the_reference_table() {
    for (name, requests, ms) in [
        ("linux-mysql.load.gz", 80_794, 3_599_890),
        ("linux-webserver-2.load.gz", 269_007, 3_600_950),
        ("windows-shared-server.load.gz", 1_371, 3_597_138),
    ] {
        let Some((summary, _)) = read(name) else { continue };
        assert_eq!(
            (summary.format, summary.requests),
            (TraceFormat::Blkreplay, requests),
            "{name}"
        );
        assert!((summary.span_ns / 1_000_000).abs_diff(ms) <= 5, "{name}: {}", summary.span_ns);
    }
}

#[test]
#[cfg_attr(
    not(shared_traces),
    ignore = "needs the folder of real traces: MANX_TRACES, or beside the checkout"
)]
fn blkparse_texts_hold_as_many_issues_as_the_reference_table_says() {
    for (name, requests) in [("apress.blktrace.txt.zst", 170), ("ycsb_btrfs.blkparse.zst", 1_824)] {
        let Some((summary, _)) = read(name) else { continue };
        assert_eq!((summary.format, summary.requests), (TraceFormat::Blkparse, requests), "{name}");
    }
}
