//! Records that each reader makes of its format.

use super::super::sniff::sniff;
use super::super::survey;
use super::*;
use manx_base::units::Op;

#[test]
fn an_msr_record_counts_from_the_first_tick_and_keeps_its_latency() {
    let records = read(MSR).unwrap();
    assert_eq!(
        records.iter().map(short).collect::<Vec<_>>(),
        [(0, 13_700_410, 48, 0), (1_332_052_600, 4_917_376, 8, 0), (1_332_052_600, 1, 2, 1)]
    );
    assert_eq!(records.iter().map(|r| r.op).collect::<Vec<_>>(), [Op::Read, Op::Write, Op::Read]);
    assert_eq!(records[0].latency, Some(Duration::from_ns(4_128_600)));
}

#[test]
fn an_msr_request_off_the_sectors_is_widened_and_counted() {
    let text = "1,h,0,Write,1000,100,1\r\n2,h,0,Write,1024,0,1\r\n";
    // Named, since no recogniser is sure of a file all of whose requests are off the sectors.
    let named = TraceSpec { format: Some(TraceFormat::Msr), ..spec() };
    let records = records(text, TraceFormat::Msr, Reading::default()).unwrap();
    assert_eq!(records.iter().map(short).collect::<Vec<_>>(), [(0, 1, 2, 0)]);
    let summary = survey(&named, &mut opener(text)).unwrap();
    assert!(
        sniff(&spec(), &mut opener(text))
            .unwrap_err()
            .to_string()
            .contains("not taken for a trace")
    );
    assert_eq!((summary.altered.total(), summary.dropped.get("request of zero length")), (1, 1));
}

#[test]
fn an_msr_header_and_a_byte_order_mark_are_skipped() {
    let text =
        format!("\u{feff}Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{MSR}");
    assert_eq!(read(text).unwrap(), read(MSR).unwrap());
}

#[test]
fn ascii_reads_one_as_a_read() {
    let records = read(ASCII).unwrap();
    assert_eq!(
        records.iter().map(short).collect::<Vec<_>>(),
        [(0, 80, 8, 0), (500, 160, 16, 1), (1500, 88, 8, 0)]
    );
    assert_eq!(records.iter().map(|r| r.op).collect::<Vec<_>>(), [Op::Read, Op::Write, Op::Read]);
}

#[test]
fn ascii_times_have_the_unit_given_exactly() {
    let at = |text: &str, unit| {
        read_as(text, TraceFormat::Ssdsim, unit).map(|records| records[1].at.as_ns())
    };
    assert_eq!(at(ASCII, TimeUnit::Us), Ok(500_000));
    assert_eq!(at("0.000 0 80 8 1\n223.412 0 8 8 0\n", TimeUnit::Ms), Ok(223_412_000));
    assert!(at("0 0 80 8 1\n223.412 0 8 8 0\n", TimeUnit::Ns).is_err());
    assert_eq!(at("0 0 80 8 1\n223.400 0 8 8 0\n", TimeUnit::Us), Ok(223_400));
}

#[test]
fn a_last_line_without_an_end_counts_if_it_is_whole() {
    assert_eq!(read(ASCII.trim_end()).unwrap(), read(ASCII).unwrap());
}

#[test]
fn blkparse_takes_issue_events_only_and_knows_their_flags() {
    let records = read(BLKPARSE).unwrap();
    let what: Vec<_> = records.iter().map(|r| (r.op, short(r), r.fua)).collect();
    assert_eq!(
        what,
        [
            (Op::Read, (0, 4_938_888, 256, 0), false),
            (Op::Flush, (2_579, 0, 0, 0), false), // stood one line later in the file
            (Op::Write, (3_579, 1000, 8, 0), true),
            (Op::Flush, (4_579, 0, 0, 0), false),
            (Op::Trim, (5_579, 2048, 4096, 0), false),
        ]
    );
}

#[test]
fn blkparse_completions_give_latencies_and_are_counted_where_they_do_not() {
    let latencies: Vec<_> =
        read(BLKPARSE).unwrap().iter().map(|r| r.latency.map(Duration::as_ns)).collect();
    assert_eq!(latencies, [Some(1_795_683 - 26_421), None, None, None, None]);
    let summary = survey(&spec(), &mut opener(BLKPARSE)).unwrap();
    assert_eq!((summary.recorded.read.count(), summary.recorded.write.count()), (1, 0));
    assert_eq!(
        (
            summary.unpaired.get("request without a completion in the trace"),
            summary.unpaired.total()
        ),
        (4, 4)
    );
    assert_eq!(summary.recorded_span, Some("from issue to completion (D2C)"));
    // From the queue: the read was queued 26.421 us earlier.
    let reading = Reading { event: crate::TraceEvent::Queue, ..Reading::default() };
    let queued = records(BLKPARSE, TraceFormat::Blkparse, reading).unwrap();
    assert_eq!(queued[0].latency.map(Duration::as_ns), Some(1_795_683));
}

#[test]
fn a_queued_write_with_a_flush_before_it_is_both_in_texts_too() {
    let blkparse =
        "8,16 0 1 0.000001000 9 Q FWFS 1000 + 8 [jbd2]\n8,17 0 2 0.000002000 9 Q R 8 + 8 [dd]\n";
    let ftrace = "jbd2-9 [000] d..1.  0.000001: block_bio_queue: 8,16 FWFS 1000 + 8 [jbd2]\n\
                  dd-9 [000] d..1.  0.000002: block_bio_queue: 8,17 R 8 + 8 [dd]\n";
    let reading = Reading { event: crate::TraceEvent::Queue, ..Reading::default() };
    for (text, format) in [(blkparse, TraceFormat::Blkparse), (ftrace, TraceFormat::Ftrace)] {
        let records = records(text, format, reading).unwrap();
        let what: Vec<_> = records.iter().map(|r| (r.op, short(r), r.fua)).collect();
        let write = (Op::Write, (0, 1000, 8, 0), true);
        assert_eq!(
            what,
            [(Op::Flush, (0, 0, 0, 0), false), write, (Op::Read, (1000, 8, 8, 1), false)],
            "{format:?}"
        );
    }
}

#[test]
fn blkparse_counts_what_it_passes_over() {
    let summary = survey(&spec(), &mut opener(BLKPARSE)).unwrap();
    assert_eq!((summary.requests, summary.flushes, summary.trims, summary.reordered), (5, 2, 1, 1));
    for reason in
        ["Q event (queued)", "C event (completed)", "A event (remapped)", "m event (message)"]
    {
        assert_eq!(summary.skipped_lines.get(reason), 1, "{reason}");
    }
    assert_eq!(summary.skipped_lines.get("P, U or UT event (plugging)"), 2);
    assert_eq!(summary.skipped_lines.get("text that is no event (summary)"), 5);
    assert_eq!(summary.skipped_lines.get("blank line"), 1);
    assert_eq!(
        summary.dropped.get("event from before the trace's start (its time is negative)"),
        1
    );
    assert_eq!(summary.dropped.get("pass-through command without a range"), 1);
    assert_eq!(summary.dropped.get("request of zero length"), 1);
}

#[test]
fn the_sniffer_says_what_it_found_and_why() {
    let found = |text: &str| sniff(&spec(), &mut opener(text)).unwrap();
    assert_eq!(
        found(MSR).to_string(),
        "msr: 3 of the first 3 lines are `ticks,host,disk,Read|Write,offset,size,response`"
    );
    assert_eq!(found(ASCII).format, TraceFormat::Ssdsim);
    assert!(found(ASCII).to_string().contains("assumed ns (too few requests"), "{}", found(ASCII));
    assert_eq!(found(BLKPARSE).format, TraceFormat::Blkparse);
}

#[test]
fn a_trace_of_the_right_pace_is_believed_to_be_in_ns() {
    let text: String = (0..200).map(|i| format!("{} 0 {} 8 1\n", i * 10_000, i * 8)).collect();
    let why = sniff(&spec(), &mut opener(text)).unwrap().units_why.unwrap();
    assert!(why.contains("100502 requests/s") && why.contains("us would be 100/s"), "{why}");
}

#[test]
fn a_time_far_back_is_clamped_and_counted() {
    let mut text: String = (1000..2000).map(|i| format!("{i} 0 {i} 8 1\n")).collect();
    text.push_str("5 0 0 8 1\n3000 0 0 8 1\n");
    let summary = survey(&spec_with_unit(TimeUnit::Us), &mut opener(text)).unwrap();
    assert_eq!(summary.altered.get("time went back: clamped to the one before"), 1);
    assert_eq!(
        (summary.first_time, summary.last_time, summary.span_ns),
        (1_000_000, 3_000_000, 2_000_000)
    );
}

/// Two disks one after the other, as `cat` puts them: sorting is up to the user, since bursts that
/// the trace never had would be played without it.
#[test]
fn a_trace_out_of_the_order_of_time_is_refused_and_a_few_late_requests_are_doubts() {
    let disk = |name: char| {
        (0..1000u64).map(move |i| format!("{},h,{name},Read,{},4096,500\n", i * 20_000, i * 4096))
    };
    let text: String = disk('0').chain(disk('1')).collect();
    let error = survey(&spec(), &mut opener(text)).unwrap_err().to_string();
    assert!(error.starts_with("t.trace:1001: the trace is not in the order of time"), "{error}");
    assert!(error.contains("488 of 2000 requests") && error.contains("by up to 976ms"), "{error}");

    let late = "1000,h,0,Read,0,4096,500\n".to_string();
    let text: String = disk('0').chain([late]).collect();
    let summary = survey(&spec(), &mut opener(text)).unwrap();
    let doubts = summary.doubts();
    assert!(doubts[0].starts_with("1 of 1001 requests") && doubts.len() == 1, "{doubts:?}");
    assert!(summary.to_string().contains("doubt       1 of 1001 requests"), "{summary}");
}

#[test]
fn a_rate_that_no_drive_serves_is_a_doubt_where_the_format_states_its_unit() {
    let disk = |ticks: u64| -> String {
        (0..1000).map(|i| format!("{},h,0,Read,{},4096,500\n", i * ticks, i * 4096)).collect()
    };
    let doubts = |ticks| survey(&spec(), &mut opener(disk(ticks))).unwrap().doubts();
    assert_eq!(doubts(20), Vec::<String>::new());
    let told = doubts(2);
    assert!(told[0].contains("come at 5005005/s and 20500 MB/s"), "{told:?}");
    assert!(told[0].contains("(msr, ticks of 100ns)"), "{told:?}");
}

fn spec_with_unit(unit: TimeUnit) -> TraceSpec {
    TraceSpec { time_unit: Some(unit), ..spec() }
}

#[test]
fn a_summary_reads_well() {
    let shown = survey(&spec(), &mut opener(MSR)).unwrap().to_string();
    let expected = "\
trace       t.trace
format      msr: 3 of the first 3 lines are `ticks,host,disk,Read|Write,offset,size,response`
requests    3 in 1.332 s, 2.3/s on average
times       128166372003061629 to 128166372016382155 x 100 ns since 1601
reads       2 (66.7 %), 0.000 GB
writes      1, 0.000 GB
sectors     1 to 13700457; a device of 6.53 GiB holds the trace as it is
devices     2, their address spaces laid one after the other
recorded    3 latencies of reads and writes, as the trace states it
";
    assert_eq!(shown, expected);
}
