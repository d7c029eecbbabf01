//! Formats that look alike are told apart by stated evidence, or refused with the candidates.

use super::super::sniff::{Sniffed, sniff};
use super::super::survey;
use super::*;
use crate::LbaUnit;
use TraceFormat::{Disksim, Mqsim, Ssdsim, Ucare};
use manx_base::units::Op;

/// So many lines of what `line` says.
fn lines(count: u64, line: impl Fn(u64) -> String) -> String {
    (0..count).map(|i| line(i) + "\n").collect()
}

/// Times in whole ns, 8 KiB off the 4 KiB boundaries, 10,000/s.
fn ssdsim() -> String {
    lines(200, |i| format!("{} 0 {} 16 {}", i * 100_000, 63 + i * 16, i % 2))
}

/// Times in ms with three decimals, 100/s.
fn disksim() -> String {
    lines(200, |i| format!("{}.{:03} 0 {} 8 {}", i * 10, i, 8 * i, i % 2))
}

/// Times in ms with three decimals, 4 KiB and more at any sector, in bytes.
fn ucare() -> String {
    lines(200, |i| {
        format!("{}.{:03} 0 {} {} {}", i * 10, i, 512 * (i * 77 % 1000), 512 * (8 + i % 3), i % 2)
    })
}

fn found(spec: &TraceSpec, text: &str) -> Sniffed {
    sniff(spec, &mut opener(text)).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(spec: &TraceSpec, text: &str) -> String {
    sniff(spec, &mut opener(text))
        .map(|sniffed| panic!("{sniffed}"))
        .unwrap_or_else(|error| error.to_string())
}

fn units(sniffed: &Sniffed) -> (TraceFormat, Option<TimeUnit>, Option<LbaUnit>) {
    (sniffed.format, sniffed.reading.time, sniffed.reading.lba)
}

fn assert_says(said: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(said.contains(part), "`{part}` is missing in: {said}"));
}

#[test]
fn each_of_the_family_is_found_by_its_evidence() {
    let sniffed = found(&spec(), &ssdsim());
    assert_eq!(units(&sniffed), (Ssdsim, Some(TimeUnit::Ns), None));
    let said = sniffed.to_string();
    assert_says(
        &said,
        &[
            "whole times",
            "assumed ns",
            "10050 requests/s and 82.331 MB/s",
            "clock steps by 100000 ns",
        ],
    );
    assert_says(&said, &["us would be 10.050/s", "--time-unit", "--format disksim|ucare"]);

    let sniffed = found(&spec(), &disksim());
    assert_eq!(units(&sniffed), (Disksim, Some(TimeUnit::Ms), None));
    assert_says(
        &sniffed.to_string(),
        &["fraction", "early UCARE", "assumed ms", "runs at 100 requests/s", "us would be"],
    );

    let sniffed = found(&spec(), &ucare());
    assert_eq!(units(&sniffed), (Ucare, Some(TimeUnit::Ms), Some(LbaUnit::Bytes)));
    assert_says(
        &sniffed.to_string(),
        &["every offset and size is a multiple of 512", "--lba-unit sectors"],
    );
}

#[test]
fn flags_beyond_one_are_disksim_whatever_else() {
    for flags in ["2", "3", "81", "0x1", "100"] {
        let text = disksim() + &format!("2000.500 0 8 8 {flags}\n");
        let sniffed = found(&spec(), &text);
        assert_eq!(units(&sniffed), (Disksim, Some(TimeUnit::Ms), None), "{flags}");
        assert_says(&sniffed.why, &["so it is flags"]);
    }
    // Whole times of 10,000 would be 0.0001/s in ms: not believed.
    let text = lines(200, |i| format!("{} 0 {} 16 3", i * 10_000_000, i * 8));
    assert_says(&refused(&spec(), &text), &["As ms", "hardly any", "ns would be 100/s"]);
    assert_says(
        &refused(&TraceSpec { lba_unit: Some(LbaUnit::Bytes), ..spec() }, &text),
        &["disksim", "--lba-unit"],
    );
}

#[test]
fn a_last_column_of_many_values_is_no_flags() {
    let text = lines(200, |i| format!("{} 0 {} 16 {}", i * 100_000, i, i * 3));
    assert_says(&refused(&spec(), &text), &["no known trace format"]);
}

#[test]
fn a_pace_that_no_unit_of_the_format_explains_is_asked_about() {
    // 64 KiB at 27,000/s in ns: more than a device of these traces moved.
    let text = lines(200, |i| format!("{} 0 {} 128 1", i * 37_000, 63 + i * 128));
    assert_says(
        &refused(&spec(), &text),
        &["As ns", "more than most devices", "us would be 27.162/s"],
    );
    // Whole times in bytes: 20/s in ms, 20,000/s in us.
    let whole = lines(200, |i| format!("{} 0 {} {} 1", i * 50, 512 * i, 512 * (1 + i % 2)));
    assert_says(
        &refused(&spec(), &whole),
        &["whole numbers", "ms would be 20.100/s", "us would be 20100/s"],
    );
    let given = TraceSpec { format: Some(Ucare), ..spec() };
    assert_eq!(units(&found(&given, &whole)), (Ucare, Some(TimeUnit::Ms), Some(LbaUnit::Bytes)));
    // This load over two devices is believed.
    let text = lines(200, |i| format!("{} {} {} 128 1", i * 37_000, i % 2, 63 + i * 128));
    assert_eq!(units(&found(&spec(), &text)), (Ssdsim, Some(TimeUnit::Ns), None));
    // Six decimals are seconds as well as milliseconds.
    let text = lines(200, |i| format!("{}.{:06} 0 {} 8 1", i / 10, i * 4999 + 1, 63 + i * 8));
    assert_says(
        &refused(&spec(), &text),
        &["more than three decimals", "ms would be", "s would be"],
    );
    let given = TraceSpec { format: Some(Disksim), ..spec() };
    assert_eq!(units(&found(&given, &text)), (Disksim, Some(TimeUnit::Ms), None));
}

#[test]
fn bytes_or_large_blocks_are_asked_about_where_the_numbers_do_not_say() {
    // One size of 512: sectors of a sequential writer of 256 KiB, or single sectors in bytes.
    let one_size = lines(200, |i| format!("{} 0 {} 512 0", i * 10_000_000, 512 * i));
    let few = lines(5, |i| format!("{}.5 0 {} {} 0", i, 512 * i, 512 * (1 + i)));
    let mixed = lines(200, |i| format!("{}.5 0 {} 4096 0", i * 10, 512 * i + u64::from(i == 7)));
    for (text, reason) in
        [(&one_size, "of one size"), (&few, "too few to judge"), (&mixed, "199 of 200 requests")]
    {
        let said = refused(&spec(), text);
        assert_says(&said, &[reason, "--lba-unit", "bytes", "sectors", "--format ssdsim|disksim"]);
        let given = |format, lba| TraceSpec {
            format,
            lba_unit: lba,
            time_unit: Some(TimeUnit::Us),
            ..spec()
        };
        let bytes = found(&given(None, Some(LbaUnit::Bytes)), text);
        assert_eq!(units(&bytes), (Ucare, Some(TimeUnit::Us), Some(LbaUnit::Bytes)));
        let sectors = found(&given(None, Some(LbaUnit::Sectors)), text);
        assert_eq!((sectors.reading.time, sectors.reading.lba), (Some(TimeUnit::Us), None));
        assert_eq!(found(&given(Some(Mqsim), None), text).format, Mqsim);
    }
    // As sectors the same would be 26 GB/s in ms: then they are bytes.
    let fast = lines(200, |i| format!("{}.{} 0 {} 512 0", i / 100, i % 100 / 10, 512 * i));
    assert_eq!(units(&found(&spec(), &fast)), (Ucare, Some(TimeUnit::Ms), Some(LbaUnit::Bytes)));
}

#[test]
fn what_the_user_gives_wins_over_all_evidence() {
    let all = [ssdsim(), disksim(), ucare()];
    for text in &all {
        for format in [Mqsim, Ssdsim, Disksim, Ucare] {
            for unit in [TimeUnit::Ns, TimeUnit::Us, TimeUnit::Ms, TimeUnit::S] {
                let given = TraceSpec { format: Some(format), time_unit: Some(unit), ..spec() };
                let sniffed = found(&given, text);
                assert_eq!((sniffed.format, sniffed.reading.time), (format, Some(unit)));
                assert_says(sniffed.units_why.as_deref().unwrap(), &["as given"]);
                for lba in [LbaUnit::Bytes, LbaUnit::Sectors] {
                    let given = TraceSpec { lba_unit: Some(lba), ..given.clone() };
                    match format {
                        Ucare => assert_eq!(found(&given, text).reading.lba, Some(lba)),
                        _ => assert_says(&refused(&given, text), &["states its own", "--lba-unit"]),
                    }
                }
            }
        }
    }
    let text = disksim();
    let given = TraceSpec { format: Some(Ssdsim), ..spec() };
    assert_says(&refused(&given, &text), &["decimal fraction", "us would be"]);
    // Bytes read as sectors because the user says ssdsim: done, and doubted.
    let given = TraceSpec { format: Some(Ssdsim), time_unit: Some(TimeUnit::Ms), ..spec() };
    assert_says(&found(&given, &ucare()).to_string(), &["as ssdsim has them", "--format ucare"]);
}

#[test]
fn a_disksim_trace_and_its_ucare_twin_hold_the_same_requests() {
    let read = |text: &str| {
        let mut all = Vec::new();
        let summary =
            super::super::survey_each(&spec(), &mut opener(text), &mut |record| all.push(*record))
                .unwrap();
        (all, summary)
    };
    let (requests, summary) = read(&disksim());
    assert_eq!((summary.reads, summary.writes, summary.read_bytes), (100, 100, 100 * 4096));
    assert_eq!((short(&requests[3]), requests[3].op), ((30_003_000, 24, 8, 0), Op::Read));
    let as_bytes: String = disksim()
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let bytes = |word: &str| word.parse::<u64>().unwrap() * 512;
            format!(
                "{} {} {} {} {}\n",
                words[0],
                words[1],
                bytes(words[2]),
                bytes(words[3]),
                words[4]
            )
        })
        .collect();
    let spec = TraceSpec { lba_unit: Some(LbaUnit::Bytes), ..spec() };
    let mut twins = Vec::new();
    super::super::survey_each(&spec, &mut opener(as_bytes), &mut |record| twins.push(*record))
        .unwrap();
    assert_eq!(requests, twins);
    assert!(survey(&spec, &mut opener("1.5 0 100 100 1\n")).unwrap().altered.total() == 1);
}
