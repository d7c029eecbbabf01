//! The readers and the statistics against real traces, whose table was computed independently of
//! this program (reference/traces.md, section 2; here reference/traces.txt). The traces cannot be
//! redistributed: where their folder (beside the repository, or named by MANX_TRACES) is absent,
//! these tests are ignored.
//!
//! Where the table and `manx trace info` mean different things:
//! * The table has data requests only, as the statistics have; so a row's requests are the
//!   summary's reads and writes.
//! * It has no IDC of 10 ms for traces of a week: its program did not try. Ours needs no memory for
//!   empty bins.
//! * It has no peak for a trace of less than a second, and neither have we.
//! * Its percentile of n sizes is the one of rank floor(q (n - 1)) + 1, ours that of rank ceil(q
//!   n), as everywhere in Manx. They differ in one cell: of 848 writes of ycsb-ext4 the 763rd has
//!   832 KiB, the 764th 852 KiB. Likewise the p99 of the reads of msr-ssd-postmark, 1896 KiB by its
//!   rank and 1900 KiB by ours.
//! * It counts the bytes of the two Tencent logs as sectors: their spans are not compared, and
//!   their pages and share of sequential requests here are those of bytes, computed by another
//!   script (the table has 22737 and 30356 pages).
//! * It counts read-ahead (`RA`) in the blkreplay loads as writes: 344 requests of
//!   linux-webserver-2, one of linux-mysql. Here they are reads, with figures of the same script.

use manx_core::host::RequestSource;
use manx_lab::open::{trace_source, trace_summary};
use manx_lab::trace_info::{TraceInfo, details, trace_info};
use manx_trace::statistics::report::SizeReport;
use manx_trace::{Remap, TimeUnit, TraceError, TraceSpec, TraceSummary};
use std::path::{Path, PathBuf};

const TABLE: &str = include_str!("../reference/traces.txt");

/// The one row whose write sizes differ in a cell, and what they are here: see above.
const WRITE_SIZES: (&str, &str) = ("ycsb-ext4", "4/152/852/1280/1280");

/// The path of a trace; says so where it is not there.
fn path(name: &str) -> Option<String> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("MANX_TRACES").map_or_else(beside, PathBuf::from);
    let file = folder.join(name);
    if !file.exists() {
        println!("SKIPPED {name}: there is no folder {} with it", folder.display());
        return None;
    }
    Some(file.to_string_lossy().into_owned())
}

fn spec(name: &str, time_unit: Option<TimeUnit>) -> Option<TraceSpec> {
    Some(TraceSpec { time_unit, remap: Remap::Dense, ..TraceSpec::new(path(name)?) })
}

/// A row of the reference table, as it is printed there: how a cell is rounded says how near a
/// value must be.
struct Row {
    name: &'static str,
    file: &'static str,
    format: &'static str,
    /// Keys of `workload.trace`, `key=value`.
    options: &'static str,
    requests: u64,
    span_s: Cell,
    mean_per_s: Cell,
    read_percent: Cell,
    read_gb: Cell,
    write_gb: Cell,
    /// p1, p50, p90, p99 and the largest in KiB.
    read_sizes: Option<[f64; 5]>,
    write_sizes: Option<[f64; 5]>,
    /// KiB and percent.
    top_sizes: Vec<(f64, Cell)>,
    devices: usize,
    span_gib: Cell,
    /// Read or written, read, written.
    pages: [u64; 3],
    writes_per_page: Cell,
    unaligned_percent: Cell,
    sequential_percent: Cell,
    gap_p50_us: Cell,
    gap_cv: Cell,
    zero_gap_percent: Cell,
    peak_to_mean: Cell,
    peak_per_s: Cell,
    idc_1s: Cell,
    idc_10ms: Cell,
}

/// A printed number; `None` where there is `-`.
#[derive(Clone, Copy)]
struct Cell {
    value: Option<f64>,
    /// Half a unit of the last digit printed.
    rounding: f64,
}

impl Cell {
    /// `decimals` are those of the column: the table leaves out trailing zeros.
    fn new(text: &str, decimals: i32) -> Self {
        let value =
            (text != "-").then(|| text.parse().unwrap_or_else(|_| panic!("{text} is no number")));
        Self { value, rounding: 0.501 * 10f64.powi(-decimals) }
    }
}

impl Row {
    fn new(line: &'static str) -> Self {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let cell = |number: usize, decimals| Cell::new(cells[number], decimals);
        let pair = |number: usize| {
            cells[number].split_once('/').unwrap_or_else(|| panic!("{}", cells[number]))
        };
        let number = |text: &str| -> u64 {
            text.trim().parse().unwrap_or_else(|_| panic!("{text} is no number"))
        };
        let (read_gb, write_gb) = pair(8);
        let (pages, of) = cells[14].split_once('(').expect("pages");
        let (read, written) = of.trim_end_matches(')').split_once('/').expect("pages");
        let (idc_1s, idc_10ms) = pair(23);
        Self {
            name: cells[0],
            file: cells[1],
            format: cells[2],
            options: cells[3].trim_matches('-'),
            requests: number(cells[4]),
            span_s: cell(5, 3),
            mean_per_s: cell(6, 1),
            read_percent: cell(7, 1),
            read_gb: Cell::new(read_gb, 3),
            write_gb: Cell::new(write_gb, 3),
            read_sizes: sizes(cells[9]),
            write_sizes: sizes(if cells[0] == WRITE_SIZES.0 { WRITE_SIZES.1 } else { cells[10] }),
            top_sizes: cells[11].split_whitespace().map(top_size).collect(),
            devices: number(cells[12]) as usize,
            span_gib: cell(13, 2),
            pages: [number(pages), number(read), number(written)],
            writes_per_page: cell(15, 2),
            unaligned_percent: cell(16, 1),
            sequential_percent: cell(17, 1),
            gap_p50_us: cell(18, 1),
            gap_cv: cell(19, 2),
            zero_gap_percent: cell(20, 1),
            peak_to_mean: cell(21, 1),
            peak_per_s: cell(22, 0),
            idc_1s: Cell::new(idc_1s.trim(), 1),
            idc_10ms: Cell::new(idc_10ms.trim(), 1),
        }
    }

    fn info(&self) -> Option<TraceInfo> {
        let mut keys = serde_json::json!({ "file": path(self.file)? });
        for (key, value) in
            self.options.split_whitespace().filter_map(|option| option.split_once('='))
        {
            keys[key] = value.into();
        }
        let spec: TraceSpec =
            serde_json::from_value(keys).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        Some(trace_info(&spec, &mut |_| {}).unwrap_or_else(|error| panic!("{error}")))
    }

    /// Every cell that `info` does not agree with.
    fn disagreements(&self, info: &TraceInfo) -> Vec<String> {
        let TraceInfo { summary, statistics } = info;
        let (arrivals, locality) = (&statistics.arrivals, &statistics.locality);
        let footprint = &statistics.footprint;
        let mut wrong = Vec::new();
        let mut near = |what: &str, found: Option<f64>, cell: Cell| {
            let agrees = match (found, cell.value) {
                (Some(found), Some(value)) => (found - value).abs() <= cell.rounding,
                // A week in bins of 10 ms: see above.
                (_, None) => what == "IDC 10ms" || found.is_none(),
                (None, Some(_)) => false,
            };
            if !agrees {
                wrong.push(format!("{}: {what}: found {found:?}, not {:?}", self.name, cell.value));
            }
        };
        near("span", Some(statistics.span_ns as f64 / 1e9), self.span_s);
        near("mean rate", statistics.mean_rate_per_s, self.mean_per_s);
        near("read %", Some(summary.read_percent()), self.read_percent);
        near("GB read", Some(summary.read_bytes as f64 / 1e9), self.read_gb);
        near("GB written", Some(summary.write_bytes as f64 / 1e9), self.write_gb);
        if self.format != "ucare-log" {
            near(
                "LBA span",
                Some(locality.lba_span_bytes as f64 / (1u64 << 30) as f64),
                self.span_gib,
            );
        }
        near("writes per page", footprint.writes_per_written_page, self.writes_per_page);
        near("unaligned %", Some(locality.unaligned_percent), self.unaligned_percent);
        near("sequential %", Some(locality.sequential_percent), self.sequential_percent);
        // Gaps are counted in buckets that are 0.05 % wide on either side.
        let gap = self.gap_p50_us;
        let wider = Cell { rounding: gap.rounding + gap.value.unwrap_or(0.0) / 2000.0, ..gap };
        near("gap p50", arrivals.median_gap_ns.map(|ns| ns / 1e3), wider);
        near("gap CV", arrivals.gap_cv, self.gap_cv);
        near("zero-gap %", Some(arrivals.zero_gap_percent), self.zero_gap_percent);
        near("peak / mean", arrivals.peak_to_mean, self.peak_to_mean);
        near("peak", arrivals.peak_per_s.map(|peak| peak as f64), self.peak_per_s);
        near("IDC 1s", arrivals.idc_1s, self.idc_1s);
        near("IDC 10ms", arrivals.idc_10ms, self.idc_10ms);
        for (at, (kib, percent)) in self.top_sizes.iter().enumerate() {
            // The last one may tie with sizes that are not named; then the table takes the first in
            // the file.
            let is_last = at + 1 == self.top_sizes.len();
            let top = statistics
                .top_sizes
                .get(at)
                .filter(|top| is_last || top.bytes as f64 == kib * 1024.0);
            near(&format!("top size {kib} KiB"), top.map(|top| top.percent), *percent);
        }
        wrong.extend(self.exact_disagreements(info));
        wrong
    }

    /// Those of the cells that allow no rounding.
    fn exact_disagreements(&self, info: &TraceInfo) -> Vec<String> {
        let TraceInfo { summary, statistics } = info;
        let footprint = &statistics.footprint;
        let exact = [
            (summary.format.name() == self.format, format!("format {}", summary.format.name())),
            (
                statistics.data_requests == self.requests,
                format!("{} requests", statistics.data_requests),
            ),
            (summary.reads + summary.writes == self.requests, "reads and writes".to_string()),
            (
                statistics.devices.len() == self.devices,
                format!("{} devices", statistics.devices.len()),
            ),
            (
                self.pages == [footprint.pages, footprint.read_pages, footprint.written_pages],
                format!("{footprint:?}"),
            ),
            (
                self.read_sizes == statistics.read_sizes.map(kib),
                format!("{:?}", statistics.read_sizes),
            ),
            (
                self.write_sizes == statistics.write_sizes.map(kib),
                format!("{:?}", statistics.write_sizes),
            ),
        ];
        let differing = exact.into_iter().filter(|(agrees, _)| !agrees);
        differing.map(|(_, found)| format!("{}: {found}", self.name)).collect()
    }
}

/// `8/8/32/32/1111`; `-` where there is none.
fn sizes(text: &str) -> Option<[f64; 5]> {
    let numbers: Vec<f64> = text.split('/').filter_map(|number| number.parse().ok()).collect();
    numbers.try_into().ok()
}

/// `8K:60%`.
fn top_size(text: &str) -> (f64, Cell) {
    let (kib, percent) = text.split_once("K:").expect("a size and a share");
    (kib.parse().expect("KiB"), Cell::new(percent.trim_end_matches('%'), 0))
}

fn kib(sizes: SizeReport) -> [f64; 5] {
    [sizes.p1_bytes, sizes.p50_bytes, sizes.p90_bytes, sizes.p99_bytes, sizes.max_bytes]
        .map(|b| b as f64 / 1024.0)
}

#[test]
#[cfg_attr(
    not(shared_traces),
    ignore = "needs the folder of real traces: MANX_TRACES, or beside the checkout"
)]
fn every_trace_is_as_in_the_reference_table() {
    let rows: Vec<Row> =
        TABLE.lines().filter(|line| !line.starts_with('#')).map(Row::new).collect();
    assert_eq!(rows.len(), 26);
    let mut wrong = Vec::new();
    for row in &rows {
        let Some(info) = row.info() else { continue };
        println!("{}", details(&info));
        wrong.extend(row.disagreements(&info));
    }
    assert!(wrong.is_empty(), "{} cells differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
#[cfg_attr(
    not(shared_traces),
    ignore = "needs the folder of real traces: MANX_TRACES, or beside the checkout"
)]
fn dtrs_without_a_unit_asks_for_one() {
    let Some(spec) = spec("DTRS1K.trace.zst", None) else { return };
    let error = trace_summary(&spec).unwrap_err();
    println!("{error}");
    assert!(matches!(error, TraceError::TimeUnit { .. }), "{error}");
}

#[test]
#[cfg_attr(
    not(shared_traces),
    ignore = "needs the folder of real traces: MANX_TRACES, or beside the checkout"
)]
fn the_wrapped_time_of_ycsb_on_ext4_is_dropped_and_counted() {
    let Some(spec) = spec("ycsb_ext4.blkparse.zst", None) else { return };
    let summary: TraceSummary = trace_summary(&spec).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(summary.dropped.total(), 1, "the event whose negative time is wrapped");
}

#[test]
#[cfg_attr(
    not(shared_traces),
    ignore = "needs the folder of real traces: MANX_TRACES, or beside the checkout"
)]
fn each_trace_plays_on_a_small_device() {
    let traces =
        ["src_10K.csv.zst", "DTRS1K.trace.zst", "tpcc-small.trace.zst", "ycsb_ext4.blkparse.zst"];
    for name in traces {
        let unit = name.starts_with("DTRS").then_some(TimeUnit::Us);
        for remap in [Remap::Modulo, Remap::Dense, Remap::Scale] {
            let Some(spec) = spec(name, unit) else { return };
            let capacity = 100_003;
            let (mut source, summary) =
                trace_source(&TraceSpec { remap, repeat: 2, ..spec }, capacity).unwrap();
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
