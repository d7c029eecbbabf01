//! Contents and demands of a trace, from one pass over it: `manx trace info`.

mod render;

pub use render::{details, rows};

use crate::open::opener;
use manx_trace::{
    StatisticsReport, TraceError, TraceSpec, TraceStatistics, TraceSummary, survey_each,
};
use serde::Serialize;

/// So many requests pass between two calls that say how far it is.
const STEP: u64 = 1 << 16;

/// Everything that is known of a trace: what was read of the file, and the statistics of its data
/// requests.
#[derive(Clone, Debug, Serialize)]
pub struct TraceInfo {
    /// Contents of the file: format, counts, times, devices, what was dropped or altered.
    #[serde(flatten)]
    pub summary: TraceSummary,
    /// Demands of its reads and writes on a drive.
    pub statistics: StatisticsReport,
}

/// Reads the trace of `spec` once (and its head once more, for the format); `progress` is told the
/// requests so far.
pub fn trace_info(
    spec: &TraceSpec,
    progress: &mut dyn FnMut(u64),
) -> Result<TraceInfo, TraceError> {
    let mut statistics = TraceStatistics::new();
    let mut requests = 0u64;
    let summary = survey_each(spec, &mut opener(&spec.file), &mut |record| {
        statistics.record(record);
        requests += 1;
        if requests.is_multiple_of(STEP) {
            progress(requests);
        }
    })?;
    let names: Vec<&str> = summary.devices.iter().map(|device| device.name.as_str()).collect();
    Ok(TraceInfo { statistics: statistics.report(&names), summary })
}

/// One document: the information on one trace, or a list of several. Ends in a newline.
pub fn to_json(infos: &[TraceInfo]) -> String {
    let text = match infos {
        [info] => serde_json::to_string_pretty(info),
        infos => serde_json::to_string_pretty(infos),
    };
    // Numbers, text and maps keyed by text, none of which serde_json can refuse.
    text.expect("plain data") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(name: &str, lines: impl Iterator<Item = String>) -> TraceInfo {
        let path = std::env::temp_dir().join(format!("manx-info-{}-{name}", std::process::id()));
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        let info = trace_info(&TraceSpec::new(path.to_string_lossy().into_owned()), &mut |_| {});
        std::fs::remove_file(&path).unwrap();
        info.unwrap_or_else(|error| panic!("{error}"))
    }

    /// 300 requests on two disks, 2 ms apart: every third a write of 8 KiB to one of ten places,
    /// else a 4 KiB read.
    fn two_disks() -> TraceInfo {
        info(
            "two-disks.csv",
            (0..300u64).map(|n| match n % 3 {
                0 => format!(
                    "{},h,1,Write,{},8192,500\n",
                    10_000_000 + n * 20_000,
                    (n / 3 % 10) * 8192
                ),
                _ => format!("{},h,0,Read,{},4096,1000\n", 10_000_000 + n * 20_000, n * 1_048_576),
            }),
        )
    }

    #[test]
    fn the_document_holds_summary_and_statistics_with_units() {
        let info = two_disks();
        let document: serde_json::Value =
            serde_json::from_str(&to_json(std::slice::from_ref(&info))).unwrap();
        assert_eq!(document["format"], "msr");
        assert_eq!(document["requests"], 300);
        let statistics = &document["statistics"];
        assert_eq!(statistics["span_ns"], 299 * 2_000_000u64);
        assert_eq!(statistics["write_sizes"]["p50_bytes"], 8192);
        assert_eq!(statistics["footprint"]["written_pages"], 20);
        assert_eq!(statistics["footprint"]["writes_per_written_page"], 10.0);
        assert_eq!(statistics["write_intervals"]["time_ns"]["p50"], 60_000_000);
        assert_eq!(statistics["read_latency"]["p99_ns"], 100_000);
        assert_eq!(statistics["arrivals"]["idc_1s"], serde_json::Value::Null);
        assert_eq!(statistics["devices"][0]["name"], "h,1");
        let two = to_json(&[info.clone(), info]);
        assert_eq!(serde_json::from_str::<Vec<serde_json::Value>>(&two).unwrap().len(), 2);
    }

    #[test]
    fn the_details_name_every_statistic() {
        let text = details(&two_disks());
        println!("{text}");
        for piece in [
            "data        300 reads and writes in 0.598 s, 501.7/s on average",
            "gaps        median 2.000ms, mean 2.000ms, CV 0, 0.0 % are 0",
            "bursts      IDC - in 1 s, 0 in 10 ms",
            "locality    30.0 % sequential, 0.0 % not on 4 KiB, span 0.29 GiB",
            "pages       220 of 4 KiB (0.001 GiB): 200 read, 20 written, 10.0 \
             writes to each page written",
            "top sizes   4KiB 66.7 %, 8KiB 33.3 %",
        ] {
            assert!(text.contains(piece), "`{piece}` is not in:\n{text}");
        }
        let row = |head: &str| {
            text.lines().find(|line| line.starts_with(head)).map(|line| {
                line[head.len()..].split_whitespace().map(str::to_string).collect::<Vec<_>>()
            })
        };
        assert_eq!(row("write size").unwrap(), ["8KiB"; 5]);
        assert_eq!(row("time to next write of a page").unwrap(), ["60.00ms"; 8]);
        assert_eq!(row("page writes in between").unwrap(), ["19"; 8]);
        assert_eq!(row("read latency").unwrap(), ["100.0us"; 6]);
        assert_eq!(row("h,0").unwrap(), ["200", "100.0", "0.001", "0", "0.29"]);
    }

    #[test]
    fn a_table_has_a_row_for_each_trace() {
        let one =
            info("one.trace", ["0 0 8 8 1\n", "1000 0 16 8 1\n"].map(str::to_string).into_iter());
        let table = rows(&[two_disks(), one]);
        println!("{table}");
        let cells: Vec<Vec<&str>> =
            table.lines().map(|line| line.split_whitespace().collect()).collect();
        let (first, second) = (&cells[cells.len() - 2], &cells[cells.len() - 1]);
        assert!(first[0].ends_with("two-disks.csv") && second[0].ends_with("one.trace"), "{table}");
        assert_eq!(&first[1..4], ["300", "0.598", "501.7"]);
        assert_eq!(first.len(), second.len(), "an empty cell is `-`");
    }
}
