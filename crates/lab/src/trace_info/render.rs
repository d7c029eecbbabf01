//! The information on traces for the terminal: everything of one, or a row for each of several.

use super::TraceInfo;
use crate::table::cell;
use crate::table::grid::Grid;
use manx_trace::statistics::report::{
    DeviceReport, FootprintReport, IntervalPercentiles, LatencyReport, SizeReport,
    WriteIntervalReport,
};
use manx_trace::{StatisticsReport, escaped};
use std::fmt::Write;

/// More devices than this are left to `--json`.
const DEVICES_MAX: usize = 32;

/// Everything about a trace: the summary of its reading, then the statistics of its reads and
/// writes.
pub fn details(info: &TraceInfo) -> String {
    let statistics = &info.statistics;
    let mut text = info.summary.to_string();
    if statistics.data_requests == 0 {
        return text + "data        no read and no write\n";
    }
    text.push('\n');
    add_lines(&mut text, statistics);
    text.push('\n');
    text.push_str(&sizes(statistics));
    if let Some(intervals) = &statistics.write_intervals {
        text.push('\n');
        text.push_str(&write_intervals(intervals));
    }
    if statistics.read_latency.is_some() || statistics.write_latency.is_some() {
        text.push('\n');
        text.push_str(&latencies(statistics));
    }
    if statistics.devices.len() > 1 {
        text.push('\n');
        text.push_str(&devices(&statistics.devices));
    }
    text
}

fn add_lines(text: &mut String, statistics: &StatisticsReport) {
    let StatisticsReport { arrivals, locality, footprint, .. } = statistics;
    let rate = statistics
        .mean_rate_per_s
        .map_or(String::new(), |rate| format!(", {rate:.1}/s on average"));
    let peak = match (arrivals.peak_per_s, arrivals.peak_to_mean) {
        (Some(peak), Some(ratio)) => {
            format!(", at most {peak} in 1 s ({} x)", cell::three_digits(ratio))
        }
        _ => String::new(),
    };
    let span = statistics.span_ns as f64 / 1e9;
    let _ = writeln!(
        text,
        "data        {} reads and writes in {span:.3} s{rate}{peak}",
        statistics.data_requests
    );
    if let (Some(median), Some(mean)) = (arrivals.median_gap_ns, arrivals.mean_gap_ns) {
        let (median, mean, cv) =
            (cell::latency(median / 1e3), cell::latency(mean / 1e3), number(arrivals.gap_cv));
        let zero = arrivals.zero_gap_percent;
        let _ =
            writeln!(text, "gaps        median {median}, mean {mean}, CV {cv}, {zero:.1} % are 0");
    }
    let (second, ten_ms) = (number(arrivals.idc_1s), number(arrivals.idc_10ms));
    let _ = writeln!(
        text,
        "bursts      IDC {second} in 1 s, {ten_ms} in 10 ms (variance / mean of counts; Poisson: 1)"
    );
    let (sequential, unaligned) = (locality.sequential_percent, locality.unaligned_percent);
    let span = gib(locality.lba_span_bytes);
    let _ = writeln!(
        text,
        "locality    {sequential:.1} % sequential, {unaligned:.1} % not on \
         4 KiB, span {span:.2} GiB"
    );
    let _ = writeln!(text, "pages       {}", pages(footprint));
    let top: Vec<String> = statistics
        .top_sizes
        .iter()
        .map(|top| format!("{} {:.1} %", size(top.bytes), top.percent))
        .collect();
    let rounded = if statistics.sizes_are_exact {
        ""
    } else {
        " (too many sizes: some are rounded down by 0.1 %)"
    };
    let _ = writeln!(text, "top sizes   {}{rounded}", top.join(", "));
}

fn pages(footprint: &FootprintReport) -> String {
    let FootprintReport { pages, read_pages, written_pages, sampled_one_in, .. } = *footprint;
    let again = footprint.writes_per_written_page.map_or(String::new(), |writes| {
        format!(", {} writes to each page written", cell::three_digits(writes))
    });
    let sample = match sampled_one_in {
        1 => String::new(),
        many => format!(" (estimated from 1 page in {many})"),
    };
    let gib = gib(pages.saturating_mul(4096));
    format!(
        "{pages} of 4 KiB ({gib:.3} GiB): {read_pages} read, {written_pages} written{again}{sample}"
    )
}

fn sizes(statistics: &StatisticsReport) -> String {
    let mut table = table(&["", "p1", "p50", "p90", "p99", "max"]);
    for (name, sizes) in
        [("read size", &statistics.read_sizes), ("write size", &statistics.write_sizes)]
    {
        let Some(sizes) = sizes else { continue };
        table.add_row(std::iter::once(name.to_string()).chain(size_cells(sizes)));
    }
    table.draw(false)
}

fn size_cells(sizes: &SizeReport) -> [String; 5] {
    [sizes.p1_bytes, sizes.p50_bytes, sizes.p90_bytes, sizes.p99_bytes, sizes.max_bytes].map(size)
}

fn write_intervals(intervals: &WriteIntervalReport) -> String {
    let mut table = table(&["", "p1", "p10", "p25", "p50", "p75", "p90", "p99", "max"]);
    let values =
        |of: &IntervalPercentiles| [of.p1, of.p10, of.p25, of.p50, of.p75, of.p90, of.p99, of.max];
    let between = values(&intervals.page_writes_between).map(|count| count.to_string());
    let times = values(&intervals.time_ns).map(|ns| cell::latency(ns as f64 / 1e3));
    for (name, shown) in
        [("page writes in between", between), ("time to next write of a page", times)]
    {
        table.add_row(std::iter::once(name.to_string()).chain(shown));
    }
    let from = match intervals.sampled_one_in {
        1 => "every page".to_string(),
        many => format!("a sample of 1 page in {many}"),
    };
    let left_out = match intervals.left_out_writes {
        0 => String::new(),
        count => format!("; {count} writes of more than 1 GiB are left out"),
    };
    format!(
        "{}from {} intervals of {from}{left_out}\n",
        table.draw(false),
        intervals.intervals_seen
    )
}

fn latencies(statistics: &StatisticsReport) -> String {
    let mut table = table(&["as recorded", "mean", "p50", "p90", "p99", "p99.9", "max"]);
    for (name, of) in
        [("read latency", &statistics.read_latency), ("write latency", &statistics.write_latency)]
    {
        let Some(LatencyReport { mean_ns, p50_ns, p90_ns, p99_ns, p99_9_ns, max_ns, .. }) = *of
        else {
            continue;
        };
        let values = [mean_ns, p50_ns, p90_ns, p99_ns, p99_9_ns, max_ns]
            .map(|ns| cell::latency(ns as f64 / 1e3));
        table.add_row(std::iter::once(name.to_string()).chain(values));
    }
    table.draw(false)
}

fn devices(all: &[DeviceReport]) -> String {
    let mut busiest: Vec<&DeviceReport> = all.iter().collect();
    busiest.sort_by_key(|device| std::cmp::Reverse(device.requests));
    let mut table = table(&["device", "requests", "read %", "read GB", "write GB", "span GiB"]);
    for device in busiest.iter().take(DEVICES_MAX) {
        table.add_row([
            device.name.clone(),
            device.requests.to_string(),
            format!("{:.1}", device.read_percent),
            gb(device.read_bytes),
            gb(device.write_bytes),
            format!("{:.2}", gib(device.span_bytes)),
        ]);
    }
    let more = match all.len().saturating_sub(DEVICES_MAX) {
        0 => String::new(),
        more => format!("and {more} devices with fewer requests; --json has all\n"),
    };
    table.draw(false) + &more
}

/// A row for each trace.
pub fn rows(infos: &[TraceInfo]) -> String {
    let mut table = table(&[
        "\ntrace",
        "\nrequests",
        "\nspan s",
        "mean\n/s",
        "read\n%",
        "read\nGB",
        "write\nGB",
        "read size KiB\np1/50/90/99/max",
        "write size KiB\np1/50/90/99/max",
        "\ndevices",
        "span\nGiB",
        "\npages",
        "pages\nread",
        "pages\nwritten",
        "writes\n/page",
        "unaligned\n%",
        "sequential\n%",
        "gap\np50",
        "gap\nCV",
        "no gap\n%",
        "peak\n/s",
        "peak\n/mean",
        "IDC\n1s",
        "IDC\n10ms",
    ]);
    for info in infos {
        table.add_row(row(info));
    }
    table.draw(false)
}

fn row(info: &TraceInfo) -> Vec<String> {
    let TraceInfo { summary, statistics } = info;
    let StatisticsReport { arrivals, locality, footprint, .. } = statistics;
    let sizes = |sizes: &Option<SizeReport>| {
        sizes.as_ref().map_or("-".to_string(), |of| size_cells(of).join("/").replace("KiB", ""))
    };
    vec![
        escaped(&summary.file),
        statistics.data_requests.to_string(),
        format!("{:.3}", statistics.span_ns as f64 / 1e9),
        statistics.mean_rate_per_s.map_or("-".to_string(), |rate| format!("{rate:.1}")),
        format!("{:.1}", summary.read_percent()),
        gb(summary.read_bytes),
        gb(summary.write_bytes),
        sizes(&statistics.read_sizes),
        sizes(&statistics.write_sizes),
        statistics.devices.len().to_string(),
        format!("{:.2}", gib(locality.lba_span_bytes)),
        footprint.pages.to_string(),
        footprint.read_pages.to_string(),
        footprint.written_pages.to_string(),
        number(footprint.writes_per_written_page),
        format!("{:.1}", locality.unaligned_percent),
        format!("{:.1}", locality.sequential_percent),
        arrivals.median_gap_ns.map_or("-".to_string(), |ns| cell::latency(ns / 1e3)),
        number(arrivals.gap_cv),
        format!("{:.1}", arrivals.zero_gap_percent),
        arrivals.peak_per_s.map_or("-".to_string(), |peak| peak.to_string()),
        number(arrivals.peak_to_mean),
        number(arrivals.idc_1s),
        number(arrivals.idc_10ms),
    ]
}

fn table(heads: &[&str]) -> Grid {
    Grid::new(heads, 3)
}

/// A number of bytes as the kibibytes that traces are full of: `0.5KiB`, `4KiB`, `1111KiB`.
fn size(bytes: u64) -> String {
    format!("{}KiB", bytes as f64 / 1024.0)
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

/// Gigabytes to the megabyte; exactly nothing is `0`.
fn gb(bytes: u64) -> String {
    if bytes == 0 { "0".to_string() } else { format!("{:.3}", bytes as f64 / 1e9) }
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_string(), cell::three_digits)
}
