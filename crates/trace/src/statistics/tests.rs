//! Each statistic against the plainest way to compute it, on random requests; and what moves it,
//! and which way.

use super::*;
use manx_base::units::{Duration, Lba};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A request of `device` at `at` nanoseconds.
fn record(at: u64, device: u32, op: Op, lba: u64, sectors: u32) -> Record {
    let latency = (op == Op::Read).then(|| Duration::from_ns(at % 977 + 1));
    Record { at: Duration::from_ns(at), op, lba: Lba(lba), sectors, fua: false, device, latency }
}

/// Requests over a few seconds on three devices, some of them in sequence, some at one instant.
fn requests() -> impl Strategy<Value = Vec<Record>> {
    let gap = prop_oneof![Just(0u64), 0u64..30_000, 0u64..900_000_000];
    let op = prop_oneof![
        4 => Just(Op::Read),
        4 => Just(Op::Write),
        1 => Just(Op::Trim),
        1 => Just(Op::Flush),
    ];
    let one = (gap, 0u32..3, op, 0u64..400, prop_oneof![Just(8u32), 1u32..70], any::<bool>());
    prop::collection::vec(one, 1..120).prop_map(|list| {
        let (mut at, mut ends) = (0, [0; 3]);
        list.into_iter()
            .map(|(gap, device, op, lba, sectors, follows)| {
                at += gap;
                let lba = if follows { ends[device as usize] } else { lba };
                ends[device as usize] = lba + u64::from(sectors);
                record(at, device, op, lba, if op == Op::Flush { 0 } else { sectors })
            })
            .collect()
    })
}

fn report(records: &[Record]) -> StatisticsReport {
    let mut statistics = TraceStatistics::new();
    records.iter().for_each(|record| statistics.record(record));
    statistics.report(&["a", "b", "c"])
}

fn data(records: &[Record]) -> Vec<Record> {
    records.iter().filter(|r| matches!(r.op, Op::Read | Op::Write)).copied().collect()
}

fn near(found: Option<f64>, expected: Option<f64>) -> bool {
    match (found, expected) {
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        (found, expected) => found.is_none() && expected.is_none(),
    }
}

/// Variance over mean, the largest, and the mean of the counts in bins; `None` of one bin.
fn bins(times: &[u64], width: u64) -> Option<(f64, u64, f64)> {
    let mut counts = vec![0u64; (times.last()? / width + 1) as usize];
    times.iter().for_each(|at| counts[(at / width) as usize] += 1);
    let mean = times.len() as f64 / counts.len() as f64;
    let variance =
        counts.iter().map(|n| (*n as f64 - mean).powi(2)).sum::<f64>() / counts.len() as f64;
    (counts.len() > 1).then(|| (variance / mean, counts.iter().max().copied().unwrap_or(0), mean))
}

fn pages(record: &Record) -> impl Iterator<Item = (u32, u64)> {
    let (device, first, end) =
        (record.device, record.lba.0, record.lba.0 + u64::from(record.sectors));
    (first / 8..end.div_ceil(8)).map(move |page| (device, page))
}

proptest! {
    #[test]
    fn sizes_are_those_of_the_sorted_sizes(records in requests()) {
        let report = report(&records);
        for (op, found) in [(Op::Read, report.read_sizes), (Op::Write, report.write_sizes)] {
            let mut sizes: Vec<u64> =
                records.iter().filter(|r| r.op == op).map(|r| u64::from(r.sectors) * 512).collect();
            sizes.sort_unstable();
            let requests = (!sizes.is_empty()).then_some(sizes.len() as u64);
            prop_assert_eq!(found.map(|found| found.requests), requests);
            let Some(found) = found else { continue };
            let at = |percent: usize| sizes[(sizes.len() * percent).div_ceil(100) - 1];
            prop_assert_eq!(
                [found.p1_bytes, found.p50_bytes, found.p90_bytes, found.p99_bytes],
                [at(1), at(50), at(90), at(99)]
            );
            prop_assert_eq!(found.max_bytes, at(100));
        }
        for top in &report.top_sizes {
            let is_of = |r: &Record| u64::from(r.sectors) * 512 == top.bytes;
            prop_assert_eq!(top.requests, data(&records).into_iter().filter(is_of).count() as u64);
        }
    }

    #[test]
    fn arrivals_are_those_of_all_gaps_and_all_bins(records in requests()) {
        let report = report(&records);
        let data = data(&records);
        let times: Vec<u64> = data.iter().map(|r| r.at.as_ns() - data[0].at.as_ns()).collect();
        let mut gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        let (n, span) = (gaps.len(), times.last().copied().unwrap_or(0));
        prop_assert_eq!((report.data_requests, report.span_ns), (data.len() as u64, span));
        let rate = (span > 0).then(|| data.len() as f64 / (span as f64 / 1e9));
        prop_assert!(near(report.mean_rate_per_s, rate));
        let mean = span as f64 / n.max(1) as f64;
        let squares = gaps.iter().map(|gap| (*gap as f64 - mean).powi(2)).sum::<f64>();
        let deviation = (squares / n.max(1) as f64).sqrt();
        let cv = (span > 0).then(|| deviation / mean);
        let found = report.arrivals.gap_cv;
        prop_assert_eq!(found.is_some(), cv.is_some());
        // The root of a variance near 0 is what rounding makes of it.
        prop_assert!((found.unwrap_or(0.0) - cv.unwrap_or(0.0)).abs() < 1e-6);
        let median = (n > 0).then(|| gaps[(n - 1) / 2].midpoint(gaps[n / 2]) as f64);
        let found = report.arrivals.median_gap_ns;
        prop_assert_eq!(found.is_some(), median.is_some());
        let (found, median) = (found.unwrap_or(0.0), median.unwrap_or(0.0));
        prop_assert!((found - median).abs() <= median / 1000.0 + 0.5);
        let zero = 100.0 * gaps.iter().filter(|gap| **gap == 0).count() as f64 / n.max(1) as f64;
        prop_assert!(near(Some(report.arrivals.zero_gap_percent), Some(zero)));
        let (seconds, ten_ms) = (bins(&times, 1_000_000_000), bins(&times, 10_000_000));
        prop_assert_eq!(report.arrivals.peak_per_s, seconds.map(|(_, peak, _)| peak));
        let peak_to_mean = seconds.map(|(_, peak, mean)| peak as f64 / mean);
        prop_assert!(near(report.arrivals.peak_to_mean, peak_to_mean));
        prop_assert!(near(report.arrivals.idc_1s, seconds.map(|(idc, ..)| idc)));
        prop_assert!(near(report.arrivals.idc_10ms, ten_ms.map(|(idc, ..)| idc)));
    }

    #[test]
    fn places_and_pages_are_those_of_sets(records in requests()) {
        let report = report(&records);
        let data = data(&records);
        let percent = |count: usize| match data.len() {
            0 => Some(0.0),
            all => Some(100.0 * count as f64 / all as f64),
        };
        let is_unaligned = |r: &&Record| {
            let end = r.lba.0 + u64::from(r.sectors);
            !r.lba.0.is_multiple_of(8) || !end.is_multiple_of(8)
        };
        let unaligned = data.iter().filter(is_unaligned).count();
        let sequential = data.iter().enumerate().filter(|(n, r)| {
            let before = data[..*n].iter().rev().find(|before| before.device == r.device);
            before.is_some_and(|before| before.lba.0 + u64::from(before.sectors) == r.lba.0)
        });
        prop_assert!(near(Some(report.locality.unaligned_percent), percent(unaligned)));
        prop_assert!(near(Some(report.locality.sequential_percent), percent(sequential.count())));

        let touched = |op: Option<Op>| {
            let of = data.iter().filter(|r| op.is_none_or(|op| r.op == op));
            of.flat_map(pages).collect::<Vec<_>>()
        };
        let distinct = |op| touched(op).into_iter().collect::<BTreeSet<_>>().len() as u64;
        let found = report.footprint;
        prop_assert_eq!(found.sampled_one_in, 1);
        prop_assert_eq!(
            (found.pages, found.read_pages, found.written_pages),
            (distinct(None), distinct(Some(Op::Read)), distinct(Some(Op::Write)))
        );
        prop_assert_eq!(found.page_reads, touched(Some(Op::Read)).len() as u64);
        prop_assert_eq!(found.page_writes, touched(Some(Op::Write)).len() as u64);

        let mut spans = 0;
        for (device, name) in ["a", "b", "c"].into_iter().enumerate() {
            let of: Vec<&Record> = data.iter().filter(|r| r.device as usize == device).collect();
            let row = report.devices.iter().find(|row| row.name == name);
            prop_assert_eq!(row.map_or(0, |row| row.requests), of.len() as u64);
            let (Some(row), Some(low)) = (row, of.iter().map(|r| r.lba.0).min()) else { continue };
            let end = of.iter().map(|r| r.lba.0 + u64::from(r.sectors)).max().unwrap();
            prop_assert_eq!((row.lowest_lba, row.span_bytes), (low, (end - low) * 512));
            prop_assert_eq!(row.reads, of.iter().filter(|r| r.op == Op::Read).count() as u64);
            prop_assert_eq!(row.reads + row.writes, row.requests);
            spans += row.span_bytes;
        }
        prop_assert_eq!(report.locality.lba_span_bytes, spans);
    }

    #[test]
    fn write_intervals_are_those_of_a_table_of_all_pages(records in requests()) {
        let mut last: BTreeMap<(u32, u64), (u64, u64)> = BTreeMap::new();
        let (mut distances, mut times, mut number) = (Vec::new(), Vec::new(), 0);
        for record in records.iter().filter(|r| r.op == Op::Write) {
            for page in pages(record) {
                if let Some((before, at)) = last.insert(page, (number, record.at.as_ns())) {
                    distances.push(number - before - 1);
                    times.push(record.at.as_ns() - at);
                }
                number += 1;
            }
        }
        let report = report(&records).write_intervals;
        prop_assert_eq!(report.map_or(0, |found| found.intervals_seen), distances.len() as u64);
        let Some(found) = report else { return Ok(()) };
        prop_assert_eq!((found.sampled_one_in, found.pages_followed), (1, last.len() as u64));
        for (mut exact, found) in [(distances, found.page_writes_between), (times, found.time_ns)] {
            exact.sort_unstable();
            let at = |percent: usize| exact[(exact.len() * percent).div_ceil(100) - 1];
            let pairs = [
                (1, found.p1), (10, found.p10), (25, found.p25), (50, found.p50),
                (75, found.p75), (90, found.p90), (99, found.p99), (100, found.max),
            ];
            for (percent, found) in pairs {
                let exact = at(percent);
                prop_assert!(found.abs_diff(exact) <= exact / 2048, "{} for {}", found, exact);
            }
        }
    }
}

/// `count` single-page requests, each `gap(n)` ns after the one before, at page `page(n)`.
fn trace(
    count: u64,
    op: Op,
    gap: impl Fn(u64) -> u64,
    page: impl Fn(u64) -> u64,
) -> StatisticsReport {
    let mut at = 0;
    let records = (0..count).map(|n| {
        at += gap(n);
        record(at, 0, op, page(n) * 8, 8)
    });
    report(&records.collect::<Vec<_>>())
}

#[test]
fn a_metronome_varies_in_nothing_and_bursts_show_at_every_width() {
    let metronome = trace(10_000, Op::Read, |_| 1_000_000, |n| n).arrivals;
    assert_eq!(
        (metronome.gap_cv, metronome.idc_1s, metronome.idc_10ms),
        (Some(0.0), Some(0.0), Some(0.0))
    );
    assert_eq!((metronome.peak_per_s, metronome.peak_to_mean), (Some(1000), Some(1.0)));
    // At an equal rate, but 500 requests at once each half second.
    let bursts =
        trace(10_000, Op::Read, |n| if n % 500 == 0 { 500_000_000 } else { 0 }, |n| n).arrivals;
    assert!(bursts.idc_10ms.unwrap() > 400.0 && bursts.gap_cv.unwrap() > 20.0, "{bursts:?}");
    assert!(bursts.zero_gap_percent > 99.0, "{bursts:?}");
}

#[test]
fn a_trace_within_one_bin_has_no_dispersion() {
    let short = trace(100, Op::Read, |_| 200_000, |n| n).arrivals;
    assert_eq!((short.idc_1s, short.peak_per_s, short.peak_to_mean), (None, None, None));
    assert!(short.idc_10ms.is_some());
    let one = trace(1, Op::Write, |_| 0, |n| n);
    assert_eq!(
        (one.mean_rate_per_s, one.arrivals.median_gap_ns, one.arrivals.gap_cv),
        (None, None, None)
    );
}

#[test]
fn in_order_is_sequential_and_a_cycle_is_written_again_after_its_length() {
    let in_order = trace(1_000, Op::Write, |_| 1_000, |n| n);
    assert_eq!(in_order.locality.sequential_percent, 99.9, "all but the first");
    assert_eq!(
        (in_order.write_intervals, in_order.footprint.writes_per_written_page),
        (None, Some(1.0))
    );
    let cycle = trace(1_000, Op::Write, |_| 1_000, |n| (n * 7) % 100);
    let intervals = cycle.write_intervals.unwrap();
    assert_eq!((intervals.page_writes_between.p1, intervals.page_writes_between.max), (99, 99));
    assert_eq!((intervals.time_ns.p50, intervals.intervals_seen), (100_000, 900));
    assert_eq!((cycle.footprint.pages, cycle.footprint.writes_per_written_page), (100, Some(10.0)));
}

#[test]
fn latencies_are_kept_apart_and_absent_without_any() {
    let reads = trace(2_000, Op::Read, |_| 1_000, |n| n);
    let latency = reads.read_latency.unwrap();
    assert_eq!((latency.requests, latency.max_ns, reads.write_latency), (2_000, 977, None));
    assert!(latency.p50_ns < latency.p90_ns && latency.p90_ns < latency.p99_ns, "{latency:?}");
}

#[test]
fn the_end_of_addresses_and_times_is_no_trap() {
    let far = super::super::MAX_SECTOR - 8;
    let last = u64::MAX - 1;
    let records =
        [record(0, 65_535, Op::Write, far, 8), record(last, 65_535, Op::Write, 0, u32::MAX)];
    let report = report(&records);
    assert_eq!(report.footprint.pages, 1 + (1 << 29));
    assert!(report.arrivals.idc_10ms.is_some() && report.span_ns == last);
    assert_eq!(report.devices.len(), 1);
}

#[test]
fn the_hash_takes_a_half_of_a_half() {
    let sampled = |halvings| {
        (0..100_000u64).filter(|page| is_sampled(*page, halvings)).collect::<BTreeSet<_>>()
    };
    for halvings in 1..6 {
        let (wide, narrow) = (sampled(halvings - 1), sampled(halvings));
        assert!(narrow.is_subset(&wide));
        assert!(
            narrow.len().abs_diff(100_000 >> halvings) < 1_000,
            "{} of {halvings}",
            narrow.len()
        );
    }
}
