use super::*;
use manx_core::stats::{ArrayCounters, FaultCounters, OpStats, RetryReport};

fn all(texts: &[&str]) -> Result<Vec<Goal>, String> {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_string()).collect();
    Goal::parse_all(&texts).map_err(|error| error.to_string())
}

#[test]
fn a_goal_is_a_quantity_a_sign_and_a_limit() {
    let goal = Goal::parse("read.p99.99<2ms").unwrap();
    assert_eq!((goal.of, goal.measure, goal.limit), (Of::Read, Measure::Percentile(5), 2000.0));
    assert_eq!(goal.text, "read.p99.99 < 2ms");
    assert_eq!(goal.least(), 100_001);
    let goal = Goal::parse("write.p99 <= 500us").unwrap();
    assert_eq!((goal.of, goal.limit), (Of::Write, 500.0));
    assert_eq!(Goal::parse("p99_9 < 1s").unwrap().of, Of::Read);
    assert_eq!(Goal::parse("read.iops > 5000").unwrap().limit, 5000.0);
    assert_eq!(Goal::parse("waf < 2.5").unwrap().of, Of::Drive);
}

#[test]
fn wrong_and_contradictory_goals_are_refused_with_one_reason_each() {
    let cases: [(&[&str], &str); 15] = [
        (&[], "--slo is missing"),
        (&[""], "expected QUANTITY < VALUE"),
        (&["read.p99"], "expected QUANTITY < VALUE"),
        (&["read.p99 <"], "expected QUANTITY < VALUE"),
        (&["< 2ms"], "expected QUANTITY < VALUE"),
        (&["read.p99 == 2ms"], "`==`: a goal says <"),
        (&["read.p98 < 2ms"], "did you mean `p90`?"),
        (&["trim.p99 < 2ms"], "is no quantity of a goal"),
        (&["read.p99 < 2"], "`2`: "),
        (&["read.p99 < 0ms"], "a time above 0"),
        (&["read.p99 > 2ms"], "is better where it is less"),
        (&["read.iops < 100"], "is better: a goal says `read.iops > ..`"),
        (&["waf < minus"], "a number above 0"),
        (&["read.p99 < 2ms", "p99 < 3ms"], "both limit the same quantity"),
        (&["read.p99 < 5ms", "read.p99_9 < 2ms"], "can never decide"),
    ];
    for (texts, reason) in cases {
        let error = all(texts).expect_err("it is refused");
        assert!(error.contains(reason), "{texts:?}: {error}");
        assert_eq!(error.matches("--slo").count(), 1, "{error}");
    }
    assert!(all(&["read.p99 < 1ms", "read.p99_9 < 2ms", "write.p99 < 5ms"]).is_ok());
    assert!(all(&["read.max < 1ms", "read.p99 < 1ms"]).is_err());
}

#[test]
fn a_read_without_its_data_is_slower_than_any_limit() {
    let failed = |failed_reads| RunResult {
        retry: Some(RetryReport { failed_reads, ..RetryReport::default() }),
        ..reads(99_950, 50)
    };
    let judge = |text: &str, failed_reads| Goal::parse(text).unwrap().judge(&failed(failed_reads));
    // 100 of 100,000 may be slow, and some 50 are: the curve tells them to 5 %.
    assert!(judge("p99_9 < 2ms", 40).meets && !judge("p99_9 < 2ms", 60).meets);
    assert!(judge("max < 9ms", 0).meets && !judge("max < 9ms", 1).meets);
    // Of the mean they are told, not counted; writes have nothing to do with them.
    assert!(judge("mean < 2ms", 51).meets);
    assert_eq!(unread(&failed(51)), 51);
    let array = Some(ArrayCounters::default());
    assert_eq!(unread(&RunResult { array, ..failed(51) }), 0, "the drives', not the host's");
}

fn reads(fast: u64, slow: u64) -> RunResult {
    let mut stats = OpStats::default();
    (0..fast).for_each(|_| stats.record(Duration::from_us(100), 4096));
    (0..slow).for_each(|_| stats.record(Duration::from_us(5000), 4096));
    RunResult { read: stats.summary(Duration::from_s(1)), ..RunResult::default() }
}

#[test]
fn a_result_is_judged_by_its_percentile_and_by_how_much_of_it_is_slow() {
    let goal = Goal::parse("p99_9 < 2ms").unwrap();
    let met = goal.judge(&reads(99_950, 50));
    assert!(met.meets && (met.used - 0.5).abs() < 0.05, "{met:?}");
    let missed = goal.judge(&reads(99_000, 1000));
    assert!(!missed.meets && missed.used > 9.0, "{missed:?}");
    assert_eq!(missed.value, Some(5000.0));
    let cut = RunResult { outcome: Outcome::Partial, ..reads(100_000, 0) };
    assert!(!goal.judge(&cut).meets, "what comes is not known");
}

#[test]
fn a_starved_run_meets_no_goal() {
    let goal = Goal::parse("p99_9 < 2ms").unwrap();
    let starved = RunResult { outcome: Outcome::Starved, ..reads(100_000, 0) };
    let judged = goal.judge(&starved);
    assert!(!judged.meets && judged.used >= 100.0);
    let faults = FaultCounters { refused: 1, ..FaultCounters::default() };
    let full = RunResult { faults: Some(faults), ..reads(100_000, 0) };
    assert!(!goal.judge(&full).meets, "a write was refused");
}

#[test]
fn a_goal_is_a_limit_of_a_run() {
    let load = Load { reads: 1_000_000, writes: 10_000, ..Load::default() };
    let limit = |text| Goal::parse(text).unwrap().limit(&load);
    // 1,000 of a million, and what the number of reads may vary.
    let of_reads = limit("p99_9 < 2ms").unwrap();
    assert_eq!((of_reads.of_writes, of_reads.beyond_us), (false, Some(2000.0)));
    assert_eq!(of_reads.most, 1006.0);
    assert_eq!(limit("write.p99 < 2ms").unwrap().most, 106.0);
    assert_eq!(limit("read.max < 2ms").unwrap().most, 0.0);
    let of_mean = limit("read.mean < 1ms").unwrap();
    assert_eq!((of_mean.beyond_us, of_mean.most), (None, 1000.0 * 1_005_000.0));
    assert_eq!((limit("waf < 3"), limit("read.iops > 10")), (None, None));
}

#[test]
fn a_run_that_wrote_nothing_to_flash_neither_keeps_nor_breaks_a_goal_on_waf() {
    let goal = Goal::parse("waf < 1").unwrap();
    let run = |waf, programmed| {
        let mut result = reads(100, 0);
        (result.flash.waf, result.flash.pages_programmed) = (waf, programmed);
        result
    };
    // All stayed in the buffer; nothing was written, though scrubbing wrote; 0.5 were written.
    for result in [run(Some(0.0), 0), run(None, 0), run(None, 7)] {
        let judged = goal.judge(&result);
        assert!(judged.unmeasured && !judged.meets && judged.value.is_none(), "{judged:?}");
        assert_eq!(crate::advise::seen::worst(&[judged]), 0.0, "it is not far from the goal");
        let starved = RunResult { outcome: Outcome::Starved, ..result };
        let judged = goal.judge(&starved);
        assert!(!judged.unmeasured && judged.used == 100.0, "it is lost: {judged:?}");
    }
    let judged = goal.judge(&run(Some(0.5), 50));
    assert!(!judged.unmeasured && judged.meets && judged.value == Some(0.5), "{judged:?}");
}
