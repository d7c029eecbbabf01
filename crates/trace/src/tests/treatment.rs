//! Treatment of a trace in a replay: selection, layout, alignment, rate, repetition. Each thing
//! left out or changed is counted under its reason.

use super::super::{TraceSource, TraceSummary, survey};
use super::*;
use crate::{Layout, Remap, TraceOp};
use manx_base::units::{Bytes, Op};
use manx_base::{Request, RequestSource};

/// Two devices, reads and writes; a request every 10 us.
const TWO: &str = "\
1000000 4 80 8 1
1010000 7 160 16 0
1020000 4 88 8 0
1030000 7 8 8 1
1040000 4 0 8 1
";

fn play(spec: &TraceSpec, capacity: u64, text: &str) -> (Vec<Request>, TraceSource, TraceSummary) {
    let (mut source, summary) =
        TraceSource::new(spec, capacity, opener(text)).unwrap_or_else(|e| panic!("{e}"));
    let requests = std::iter::from_fn(|| source.next_request()).collect();
    assert_eq!(source.error(), None);
    (requests, source, summary)
}

/// (time in us, first sector, sectors) of each request.
fn what(requests: &[Request]) -> Vec<(u64, u64, u32)> {
    requests.iter().map(|r| (r.at.as_ns() / 1000, r.lba.0, r.sectors)).collect()
}

fn overlaid() -> TraceSpec {
    TraceSpec { layout: Layout::Overlay, ..spec() }
}

fn us(us: u64) -> Duration {
    Duration::from_us(us)
}

fn drops(summary: &TraceSummary) -> Vec<(&'static str, u64)> {
    summary.dropped.iter().collect()
}

#[test]
fn a_device_is_played_alone_and_the_others_are_counted() {
    let chosen = TraceSpec { devices: vec!["7".to_string()], ..spec() };
    let (requests, _, summary) = play(&chosen, 176, TWO);
    // Rebased on the first request that is left; of one device, so laid out at 0.
    assert_eq!(what(&requests), [(0, 160, 16), (20, 8, 8)]);
    assert_eq!(drops(&summary), [("of a device that is not selected", 3)]);
    assert_eq!((summary.requests, summary.span_ns, summary.lead_ns), (2, 20_000, 0));
    assert_eq!((summary.devices[0].requests, summary.devices[1].requests), (0, 2));
}

#[test]
fn an_unknown_device_is_named_with_those_that_there_are() {
    let chosen = |devices: &[&str]| TraceSpec {
        devices: devices.iter().map(|d| d.to_string()).collect(),
        ..spec()
    };
    for devices in [&["8"][..], &["4", "8"]] {
        let error = survey(&chosen(devices), &mut opener(TWO)).unwrap_err().to_string();
        assert!(error.contains("no device `8`; it has `4`, `7`"), "{error}");
    }
    // Where the reading ends early, a device may only come later: it is said, and an error only if
    // nothing is left.
    let cut = TraceSpec { to: us(10), ..chosen(&["4", "7"]) };
    let summary = survey(&cut, &mut opener(TWO)).unwrap();
    assert_eq!((summary.requests, summary.is_cut), (1, true));
    let cut = TraceSpec { head: 1, ..chosen(&["4", "8"]) };
    let summary = survey(&cut, &mut opener(TWO)).unwrap();
    assert_eq!(summary.devices_not_met, ["8"]);
    assert!(summary.to_string().contains("not met     `8`"), "{summary}");
    let error = survey(&TraceSpec { to: us(10), ..chosen(&["8"]) }, &mut opener(TWO)).unwrap_err();
    assert!(error.to_string().contains("no device `8`; it has `4`"), "{error}");
}

#[test]
fn kinds_are_left_out_and_counted() {
    let without = |ignore: &[TraceOp]| TraceSpec { ignore: ignore.to_vec(), ..spec() };
    let (requests, _, summary) = play(&without(&[TraceOp::Read]), 1000, TWO);
    assert!(requests.iter().all(|r| r.op == Op::Write));
    assert_eq!((requests.len(), drops(&summary)), (2, vec![("read, ignored as asked", 3)]));
    let all = &[TraceOp::Write, TraceOp::Flush, TraceOp::Trim];
    let summary = survey(&without(all), &mut opener(BLKPARSE)).unwrap();
    let ignored = |kind: &str| summary.dropped.get(&format!("{kind}, ignored as asked"));
    assert_eq!(
        (ignored("write"), ignored("flush"), ignored("trim"), summary.requests),
        (1, 2, 1, 1)
    );
    let (requests, _, summary) = play(&without(&[TraceOp::Fua]), 1 << 40, BLKPARSE);
    assert!(requests.iter().all(|r| !r.fua));
    assert_eq!((summary.requests, summary.altered.get("FUA left out as asked")), (5, 1));
    let error = survey(&without(&[TraceOp::Read, TraceOp::Write]), &mut opener(TWO))
        .unwrap_err()
        .to_string();
    assert!(error.contains("no request: dropped 3 read, ignored as asked, 2 write"), "{error}");
}

#[test]
fn a_window_counts_from_the_first_request_of_the_trace() {
    let window = TraceSpec { from: us(10), to: us(40), ..overlaid() };
    let (requests, _, summary) = play(&window, 1000, TWO);
    assert_eq!(what(&requests), [(0, 160, 16), (10, 88, 8), (20, 8, 8)]);
    assert_eq!((drops(&summary), summary.is_cut), (vec![("before the window (from)", 1)], true));
    assert_eq!((summary.span_ns, summary.lead_ns), (20_000, 0));

    let (requests, _, summary) = play(&TraceSpec { rebase: false, ..window.clone() }, 1000, TWO);
    assert_eq!(what(&requests), [(10, 160, 16), (20, 88, 8), (30, 8, 8)]);
    assert_eq!(
        (summary.span_ns, summary.lead_ns, summary.mean_rate()),
        (20_000, 10_000, Some(150_000.0))
    );

    for (from, to) in [(us(10), us(10)), (us(20), us(5))] {
        let error =
            survey(&TraceSpec { from, to, ..spec() }, &mut opener(TWO)).unwrap_err().to_string();
        assert!(error.contains("to = ") && error.contains("later than `from`"), "{error}");
    }
    let error =
        survey(&TraceSpec { from: us(50), ..spec() }, &mut opener(TWO)).unwrap_err().to_string();
    assert!(error.contains("dropped 5 before the window"), "{error}");
}

#[test]
fn skip_and_head_count_what_all_else_would_play() {
    let some = TraceSpec { skip: 1, head: 2, ignore: vec![TraceOp::Write], ..overlaid() };
    let (requests, _, summary) = play(&some, 1000, TWO);
    assert_eq!(what(&requests), [(0, 8, 8), (10, 0, 8)]);
    assert_eq!(drops(&summary), [("skipped as asked (skip)", 1), ("write, ignored as asked", 2)]);
    assert!(!summary.is_cut, "the file ended with the last of them");
    let (requests, _, summary) = play(&TraceSpec { head: 2, ..overlaid() }, 1000, TWO);
    assert_eq!((requests.len(), summary.is_cut), (2, true));
}

#[test]
fn the_first_reason_that_applies_is_the_one_that_counts() {
    let all = TraceSpec {
        devices: vec!["4".to_string()],
        ignore: vec![TraceOp::Write],
        from: us(10),
        skip: 1,
        ..spec()
    };
    let error = survey(&all, &mut opener(TWO)).unwrap_err().to_string();
    for part in
        ["1 before the window", "2 of a device that", "1 skipped as asked", "1 write, ignored"]
    {
        assert!(error.contains(part), "`{part}` is missing in: {error}");
    }
}

#[test]
fn a_repetition_repeats_the_window_and_its_lead() {
    let twice = TraceSpec { from: us(10), to: us(40), repeat: 2, ..overlaid() };
    let (requests, source, _) = play(&twice, 1000, TWO);
    // A span of 20 us and three requests: a gap of 10 us.
    assert_eq!(what(&requests).iter().map(|r| r.0).collect::<Vec<_>>(), [0, 10, 20, 30, 40, 50]);
    assert_eq!(source.total_requests(), 6);
    let (requests, ..) = play(&TraceSpec { rebase: false, ..twice.clone() }, 1000, TWO);
    // Each pass takes 10 us of lead, 20 of span and 10 of gap.
    assert_eq!(what(&requests).iter().map(|r| r.0).collect::<Vec<_>>(), [10, 20, 30, 50, 60, 70]);
    let (requests, ..) = play(&TraceSpec { rebase: false, rate_scale: 0.5, ..twice }, 1000, TWO);
    assert_eq!(
        what(&requests).iter().map(|r| r.0).collect::<Vec<_>>(),
        [20, 40, 60, 100, 120, 140]
    );
}

#[test]
fn devices_lie_one_after_the_other_or_upon_each_other() {
    let (requests, _, summary) = play(&spec(), 96 + 176, TWO);
    assert_eq!(what(&requests)[..2], [(0, 80, 8), (10, 96 + 160, 16)]);
    assert_eq!(summary.address_space_sectors, 96 + 176);
    assert!(summary.to_string().contains("2, their address spaces laid one after the other"));
    let (requests, _, summary) = play(&overlaid(), 176, TWO);
    assert_eq!(what(&requests)[..2], [(0, 80, 8), (10, 160, 16)]);
    assert_eq!(summary.address_space_sectors, 176);
    assert!(summary.to_string().contains("2, their address spaces laid upon each other"));
}

#[test]
fn an_address_beyond_is_found_among_what_is_selected_only() {
    // Device 7 reaches to sector 176 and is not played.
    let chosen = TraceSpec { devices: vec!["4".to_string()], ..spec() };
    assert_eq!(play(&chosen, 96, TWO).0.len(), 3);
    let error =
        TraceSource::new(&TraceSpec { rate_scale: 2.0, repeat: 3, ..chosen }, 95, opener(TWO))
            .err()
            .unwrap();
    assert!(
        error.to_string().contains("t.trace:3") && error.to_string().contains("LBA 88"),
        "{error}"
    );
}

#[test]
fn requests_are_widened_to_the_alignment_within_their_device() {
    let aligned = TraceSpec { align: Bytes::kib(64), ..spec() };
    let (requests, source, _) = play(&aligned, 128 + 256, TWO);
    // Device 4 takes one piece of 128 sectors, so device 7 starts at 128.
    assert_eq!(
        what(&requests),
        [(0, 0, 128), (10, 256, 128), (20, 0, 128), (30, 128, 128), (40, 0, 128)]
    );
    assert_eq!(source.altered().iter().collect::<Vec<_>>(), [("widened to the alignment", 5)]);
    // A device that holds the trace as it is does not hold it widened.
    let error = TraceSource::new(&aligned, 128 + 200, opener(TWO)).err().unwrap().to_string();
    assert!(error.contains("t.trace:2") && error.contains("LBA 256"), "{error}");
    for (remap, capacity) in [(Remap::Modulo, 300), (Remap::Dense, 300), (Remap::Scale, 300)] {
        let (requests, ..) = play(&TraceSpec { remap, ..aligned.clone() }, capacity, TWO);
        assert!(
            requests.iter().all(|r| r.lba.0 % 128 == 0 && r.sectors == 128),
            "{remap:?} {:?}",
            what(&requests)
        );
    }
    let odd = TraceSpec { align: Bytes::new(1000), ..spec() };
    let error = TraceSource::new(&odd, 1000, opener(TWO)).err().unwrap().to_string();
    assert!(error.contains("align = ") && error.contains("a multiple of 512B"), "{error}");
}

#[test]
fn trims_are_narrowed_to_the_alignment_or_left_out() {
    let trace = "\
8,0 0 1 0.000000000 1 D W 0 + 8 [p]
8,0 0 2 0.000001000 1 D D 12 + 24 [p]
8,0 0 3 0.000002000 1 D D 12 + 8 [p]
8,0 0 4 0.000003000 1 D D 16 + 16 [p]
8,0 0 5 0.000004000 1 D D 30 + 14 [p]
";
    // In pieces of 16 sectors. The last trim holds none of them, so it does not matter that the
    // device ends before.
    let aligned = TraceSpec { align: Bytes::kib(8), ..spec() };
    let (requests, source, _) = play(&aligned, 40, trace);
    assert_eq!(what(&requests), [(0, 0, 16), (1, 16, 16), (3, 16, 16)]);
    let altered = [("trim narrowed to the alignment", 1), ("widened to the alignment", 1)];
    assert_eq!(source.altered().iter().collect::<Vec<_>>(), altered);
    assert_eq!(
        source.dropped().iter().collect::<Vec<_>>(),
        [("trim smaller than the alignment", 2)]
    );
}

#[test]
fn the_largest_request_survives_the_alignment() {
    let aligned = TraceSpec {
        align: Bytes::kib(4),
        remap: Remap::Modulo,
        time_unit: Some(TimeUnit::Ns),
        ..spec()
    };
    let text = format!("0 0 3 {} 0\n1 0 16 {} 1\n", u32::MAX, u32::MAX - 7);
    let (requests, source, _) = play(&aligned, 1 << 40, &text);
    assert_eq!(what(&requests), [(0, 3, u32::MAX), (0, 16, u32::MAX - 7)]);
    assert!(source.altered().is_empty());
}

#[test]
fn each_device_alone_keeps_its_place_in_time() {
    let all = TraceSpec { layout: Layout::Separate, repeat: 2, ..spec() };
    let (mut sources, summary) = TraceSource::each_device(&all, 176, &mut || opener(TWO)).unwrap();
    let played: Vec<_> = sources
        .iter_mut()
        .map(|source| what(&std::iter::from_fn(|| source.next_request()).collect::<Vec<_>>()))
        .collect();
    // The trace spans 40 us with five requests: a pass takes 50 us on both.
    let four = [(0, 80, 8), (20, 88, 8), (40, 0, 8), (50, 80, 8), (70, 88, 8), (90, 0, 8)];
    assert_eq!(played, [four.to_vec(), vec![(10, 160, 16), (30, 8, 8), (60, 160, 16), (80, 8, 8)]]);
    assert_eq!(sources.iter().map(TraceSource::total_requests).collect::<Vec<_>>(), [6, 4]);
    assert!(sources.iter().all(|source| source.error().is_none()));
    assert_eq!((summary.requests, summary.address_space_sectors), (5, 176));
    assert!(summary.to_string().contains("each with a drive of its own"), "{summary}");

    // The selection is that of the whole trace, also where it counts.
    let some = TraceSpec { skip: 1, head: 2, remap: Remap::Dense, ..all };
    let (mut sources, _) = TraceSource::each_device(&some, 176, &mut || opener(TWO)).unwrap();
    let mut play =
        |at: usize| what(&std::iter::from_fn(|| sources[at].next_request()).collect::<Vec<_>>());
    // Device 4 is the first in the file, though its request is the second that is played.
    assert_eq!((play(0), play(1)), (vec![(10, 0, 8), (30, 0, 8)], vec![(0, 0, 16), (20, 0, 16)]));
    let error =
        TraceSource::each_device(&spec(), 100, &mut || opener(TWO)).err().unwrap().to_string();
    assert!(error.contains("t.trace:2") && error.contains("LBA 160"), "{error}");
}

#[test]
fn an_alteration_counts_only_where_the_request_is_played() {
    // Every request is widened; two of each three are of device 0.
    let text: String = (0..300)
        .map(|n| format!("{},h,{},Read,{},100,1\n", n * 10, n % 3 / 2, n * 4096 + 1))
        .collect();
    let spec = || TraceSpec { format: Some(TraceFormat::Msr), ..spec() };
    let widened =
        |spec: TraceSpec| survey(&spec, &mut opener(text.clone())).unwrap().altered.total();
    assert_eq!(widened(spec()), 300);
    assert_eq!(widened(TraceSpec { head: 7, ..spec() }), 7);
    assert_eq!(widened(TraceSpec { devices: vec!["h,1".to_string()], ..spec() }), 100);
    assert_eq!(widened(TraceSpec { from: us(100), to: us(200), ..spec() }), 100);
}

#[test]
fn a_clamped_or_spread_time_counts_only_where_the_request_is_played() {
    // Three requests in each second, of which the first keeps its time.
    let text: String =
        (0..300).map(|n| format!("{},{},8,0,1063\n", 1_538_323_200 + n / 3, n * 8)).collect();
    let spread = |head: u64| {
        survey(&TraceSpec { head, ..spec() }, &mut opener(text.clone())).unwrap().altered
    };
    assert_eq!((spread(0).total(), spread(9).total()), (200, 6));
    // One record far behind its time, after 1000 others.
    let mut text: String = (1000..2000).map(|n| format!("{n} 0 {n} 8 1\n")).collect();
    text.push_str("5 0 0 8 1\n3000 1 0 8 1\n");
    let clamped =
        |spec: TraceSpec| survey(&spec, &mut opener(text.clone())).unwrap().altered.total();
    let in_us = TraceSpec { time_unit: Some(TimeUnit::Us), ..spec() };
    assert_eq!(clamped(in_us.clone()), 1);
    assert_eq!(clamped(TraceSpec { devices: vec!["1".to_string()], ..in_us }), 0);
}
