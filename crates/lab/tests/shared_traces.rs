//! The readers against real traces, whose statistics were computed independently of this program (reference/traces.md,
//! section 2). The traces cannot be redistributed: where their folder (beside the repository, or named by MANX_TRACES)
//! is absent, these tests say so and pass.

use manx_core::host::trace::{TraceError, TraceSummary};
use manx_core::host::{LbaUnit, Remap, RequestSource, TimeUnit, TraceFormat, TraceSpec};
use manx_lab::open::{trace_source, trace_summary};
use std::path::{Path, PathBuf};

fn spec(name: &str, time_unit: Option<TimeUnit>) -> Option<TraceSpec> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("MANX_TRACES").map_or_else(beside, PathBuf::from);
    let file = folder.join(name);
    if !file.exists() {
        println!("SKIPPED {name}: there is no folder {} with it", folder.display());
        return None;
    }
    let file = file.to_string_lossy().into_owned();
    Some(TraceSpec { time_unit, remap: Remap::Dense, ..TraceSpec::new(file) })
}

/// A row of the reference table: requests, span in s, read percent, GB read, GB written, devices.
struct Row(u64, f64, f64, f64, f64, usize);

fn check(name: &str, unit: Option<TimeUnit>, format: TraceFormat, row: Row) -> Option<TraceSummary> {
    let summary = trace_summary(&spec(name, unit)?).unwrap_or_else(|error| panic!("{error}"));
    println!("{summary}");
    let near = |value: f64, expected: f64, rounding: f64| (value - expected).abs() <= rounding;
    let Row(requests, span, read_percent, read_gb, write_gb, devices) = row;
    assert_eq!(summary.format, format);
    assert_eq!(summary.requests, requests, "{name}: requests");
    assert!(near(summary.span_ns as f64 / 1e9, span, 0.000_6), "{name}: span {}", summary.span_ns);
    assert!(near(summary.read_percent(), read_percent, 0.051), "{name}: {} % reads", summary.read_percent());
    assert!(near(summary.read_bytes as f64 / 1e9, read_gb, 0.000_51), "{name}: read {} B", summary.read_bytes);
    assert!(near(summary.write_bytes as f64 / 1e9, write_gb, 0.000_51), "{name}: written {} B", summary.write_bytes);
    assert_eq!(summary.devices.len(), devices, "{name}: devices");
    Some(summary)
}

#[test]
fn msr_src1_0_is_as_in_the_reference_table() {
    check("src_10K.csv.zst", None, TraceFormat::Msr, Row(10_000, 8055.042, 0.0, 0.0, 0.07, 1));
}

#[test]
fn dtrs_in_microseconds_is_as_in_the_reference_table() {
    let row = Row(127_043, 300.0, 89.0, 6.437, 0.761, 1);
    check("DTRS1K.trace.zst", Some(TimeUnit::Us), TraceFormat::Ssdsim, row);
}

#[test]
fn dtrs_without_a_unit_asks_for_one() {
    let Some(spec) = spec("DTRS1K.trace.zst", None) else { return };
    let error = trace_summary(&spec).unwrap_err();
    println!("{error}");
    assert!(matches!(error, TraceError::TimeUnit { .. }), "{error}");
}

#[test]
fn tpcc_is_as_in_the_reference_table() {
    check("tpcc-small.trace.zst", None, TraceFormat::Ssdsim, Row(6_999, 0.136, 62.6, 0.036, 0.023, 16));
}

#[test]
fn websearch_and_financial_are_as_in_the_reference_table() {
    // Neither file ends its last line, which counts.
    let row = Row(24_783, 60.055, 100.0, 0.382, 0.0, 6);
    check("wsrch-small.trace.zst", None, TraceFormat::Ssdsim, row);
    check("example.ascii.zst", None, TraceFormat::Ssdsim, Row(10_000, 259.601, 40.8, 0.025, 0.03, 22));
}

#[test]
fn disksim_files_are_found_and_as_in_the_reference_table() {
    let row = Row(62_257, 490.437, 83.2, 5.236, 8.937, 1);
    check("ssd-postmark-aligned2.trace.zst", None, TraceFormat::Disksim, row);
    let row = Row(100_000, 936.449, 0.0, 0.0, 36.856, 1);
    check("ssd-iozone-aligned2-100K.trace.zst", None, TraceFormat::Disksim, row);
}

#[test]
fn replayer_files_in_bytes_are_found_and_as_in_the_reference_table() {
    for (name, row) in [
        ("rw_20_80.105", Row(10_000, 242.905, 20.2, 0.004, 0.051, 1)),
        ("rw_40_60.1370", Row(10_000, 85.915, 40.5, 0.02, 0.029, 1)),
        ("most_thpt_rand_iops.1006", Row(10_000, 1.017, 83.2, 0.036, 0.095, 1)),
    ] {
        let name = format!("msr.cut.per_10k.{name}.trace.zst");
        let Some(summary) = check(&name, None, TraceFormat::Ucare, row) else { return };
        assert_eq!((summary.time_unit, summary.lba_unit), (Some(TimeUnit::Ms), Some(LbaUnit::Bytes)));
    }
}

#[test]
fn ycsb_on_ext4_is_as_in_the_reference_table() {
    let row = Row(9_886, 810.38, 91.4, 1.047, 0.252, 1);
    let Some(summary) = check("ycsb_ext4.blkparse.zst", None, TraceFormat::Blkparse, row) else { return };
    assert_eq!(summary.dropped.total(), 1, "the event whose negative time is wrapped");
}

#[test]
fn each_trace_plays_on_a_small_device() {
    let traces = ["src_10K.csv.zst", "DTRS1K.trace.zst", "tpcc-small.trace.zst", "ycsb_ext4.blkparse.zst"];
    for name in traces {
        let unit = name.starts_with("DTRS").then_some(TimeUnit::Us);
        for remap in [Remap::Modulo, Remap::Dense, Remap::Scale] {
            let Some(spec) = spec(name, unit) else { return };
            let capacity = 100_003;
            let (mut source, summary) = trace_source(&TraceSpec { remap, repeat: 2, ..spec }, capacity).unwrap();
            let (mut count, mut last) = (0, 0);
            while let Some(request) = source.next_request() {
                assert!(request.lba.0 + u64::from(request.sectors) <= capacity);
                assert!(request.at.as_ns() >= last);
                (count, last) = (count + 1, request.at.as_ns());
            }
            assert_eq!((count, source.error()), (2 * summary.requests, None), "{name} {remap:?}");
        }
    }
}

/// The table counts reads and writes; the files hold flushes and discards besides.
fn check_with_others(name: &str, format: TraceFormat, row: Row, flushes: u64, trims: u64) {
    let Row(data, span, read_percent, read_gb, write_gb, devices) = row;
    let row = Row(data + flushes + trims, span, read_percent, read_gb, write_gb, devices);
    let Some(summary) = check(name, None, format, row) else { return };
    assert_eq!((summary.flushes, summary.trims), (flushes, trims), "{name}");
    assert_eq!(summary.dropped.total(), 0, "{name}");
}

#[test]
fn own_captures_are_as_in_the_reference_table() {
    let format = TraceFormat::Manx;
    check_with_others("own_act1x.csv.zst", format, Row(61_423, 30.018, 98.9, 0.185, 0.093, 1), 1_412, 0);
    // A flush comes 6 ms after the last request of the table's span.
    check_with_others("own_pgbench.csv.zst", format, Row(194_674, 90.115_6, 37.7, 0.767, 2.133, 1), 20_393, 9);
}

#[test]
fn a_windows_boot_is_as_in_the_reference_table() {
    let row = Row(172_287, 51.167, 90.6, 3.997, 0.322, 1);
    check_with_others("wpa.Disk_Usage.csv.bz2", TraceFormat::Wpa, row, 343, 0);
}

#[test]
fn replays_of_tencent_are_as_in_the_reference_table() {
    let format = TraceFormat::UcareLog;
    let row = Row(50_000, 54.0, 82.1, 0.359, 0.103, 1);
    check_with_others("tencent.most_rand_iops.537.trace.zst", format, row, 0, 0);
    check_with_others("tencent.rw_60_40.490.trace.zst", format, Row(50_000, 147.0, 60.0, 0.357, 0.245, 1), 0, 0);
}

#[test]
fn cloudphysics_in_csv_is_spread_over_its_seconds() {
    // 5,633,898 s to 5,641,098 s; the last second has two requests, the last of which comes half into it.
    let row = Row(113_872, 7_200.5, 41.3, 1.797, 2.409, 1);
    check_with_others("cloudPhysicsIO.csv.zst", TraceFormat::Libcachesim, row, 0, 0);
}
