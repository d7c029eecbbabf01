//! The load as the device sees it, the log as its reader sees it, and the verdicts at their limits.

use super::recorder::Role;
use super::*;
use crate::drive::Op;
use crate::ftl::GcMode;
use crate::host::tests::{Setup, small};
use crate::host::{Arrival, Request};
use crate::stats::{ActReport, ActVerdict};
use crate::units::{Bandwidth, Bytes, Duration, Instant};
use std::collections::BTreeMap;

const USER: Bytes = Bytes::new(1 << 30);

fn spec() -> ActSpec {
    ActSpec { slice: Duration::from_s(10), ..ActSpec::default() }
}

/// The numbers that the tool prints as its derived configuration.
fn derived(spec: &ActSpec) -> (u32, u32, String, String, u32) {
    let plan = spec.plan(USER).unwrap();
    let shown = |rate: f64| format!("{rate:.3}");
    let (reads, writes) = (shown(plan.large_reads), shown(plan.large_writes));
    (plan.internal_reads, plan.internal_writes, reads, writes, plan.thread_rate)
}

#[test]
fn act_1_reads_2000_records_and_reads_and_writes_23_and_a_half_large_blocks() {
    assert_eq!(derived(&spec()), (2000, 0, "23.529".into(), "23.529".into(), 200));
    let plan = spec().plan(USER).unwrap();
    assert_eq!((plan.stored, plan.large_blocks), ((1536, 1536), 8192));
    let jobs = spec().jobs(&plan);
    let said: Vec<_> =
        jobs.iter().map(|job| (job.rate, job.queue_depth, job.read_percent, job.arrival)).collect();
    let large = 2_000.0 / 85.0;
    let paced = Arrival::Paced;
    assert_eq!(
        said,
        [(2000.0, 10, 100.0, paced), (large, 1, 100.0, paced), (large, 1, 0.0, paced)]
    );
    assert_eq!(
        derived(&ActSpec { multiplier: 32.0, ..spec() }),
        (64_000, 0, "752.941".into(), "752.941".into(), 6400)
    );
}

/// Each knob by the arithmetic of the tool's configuration, computed by hand.
#[test]
fn every_knob_moves_the_rates_as_in_the_tool() {
    let of = |change: fn(&mut ActSpec)| {
        let mut spec = spec();
        change(&mut spec);
        derived(&spec)
    };
    // 1000 / 85 x 2.5; x 100 / (100 - 25).
    assert_eq!(of(|spec| spec.defrag_lwm_pct = 60).2, "29.412");
    assert_eq!(of(|spec| spec.defrag_lwm_pct = 25).3, "15.686");
    assert_eq!(of(|spec| spec.replication_factor = 2).3, "47.059");
    assert_eq!(of(|spec| spec.update_pct = 25), (2250, 0, "23.529".into(), "23.529".into(), 225));
    assert_eq!(
        of(|spec| spec.no_defrag_reads = true),
        (2000, 0, "0.000".into(), "23.529".into(), 200)
    );
    // Defragmentation alone: 11.765 large writes; the records are written by themselves.
    assert_eq!(
        of(|spec| spec.commit_to_device = true),
        (2000, 1000, "23.529".into(), "11.765".into(), 300)
    );
    // 2005 / 10 is 200 a thread: five requests a second are lost, as in the tool.
    assert_eq!(of(|spec| spec.read_reqs_per_sec = Some(2005)).4, 200);
    // 1500 is stored as 1504: 131072 / 1504 is 87 whole records.
    assert_eq!(of(|spec| spec.record_bytes = 1500).2, "22.989");
    // (1536 + 4096) / 2 = 2816: 46 records.
    assert_eq!(of(|spec| spec.record_bytes_range_max = 4096).2, "43.478");
    assert_eq!(of(|spec| spec.large_block_kbytes = 1024).2, "2.933");
}

#[test]
fn a_range_of_records_has_every_size_and_a_4k_device_reads_4_kib() {
    let sizes = |spec: &ActSpec| {
        let jobs = spec.jobs(&spec.plan(USER).unwrap());
        jobs[0].block_sizes.iter().map(|(size, _)| size.get()).collect::<Vec<_>>()
    };
    assert_eq!(
        sizes(&ActSpec { record_bytes_range_max: 3000, ..spec() }),
        [1536, 2048, 2560, 3072]
    );
    assert_eq!(sizes(&ActSpec { min_op: Bytes::kib(4), ..spec() }), [4096]);
}

#[test]
fn records_are_written_by_the_service_threads_with_their_share() {
    let commit = ActSpec { commit_to_device: true, ..spec() };
    let jobs = commit.jobs(&commit.plan(USER).unwrap());
    // 2^20 x 2000 / 3000, cut to a whole number.
    assert_eq!(jobs[0].read_percent, 699_050.0 / 1_048_576.0 * 100.0);
    assert!(jobs.iter().all(|job| job.fua_percent == 100.0));
    let lazy = ActSpec { disable_odsync: true, ..spec() };
    assert!(lazy.jobs(&lazy.plan(USER).unwrap()).iter().all(|job| job.fua_percent == 0.0));
}

#[test]
fn each_type_of_request_may_have_a_single_thread() {
    let act = ActSpec { service_threads: 1, ..spec() };
    let jobs = act.jobs(&act.plan(USER).unwrap());
    assert_eq!(jobs.iter().map(|job| job.queue_depth).collect::<Vec<_>>(), [1; 3]);
}

/// A drive that answers at once, as far as a load of a few thousand requests a second can tell.
fn fast(act: &ActSpec) -> Setup {
    let mut setup = small();
    setup.device.timing.read = vec![Duration::from_us(3)];
    setup.device.timing.program = vec![Duration::from_us(10)];
    setup.device.channel.rate = Bandwidth::bytes_per_second(0);
    setup.gc.mode = GcMode::Nogc;
    let user = user(&setup);
    setup.jobs = act.jobs(&act.plan(user).unwrap());
    setup
}

fn user(setup: &Setup) -> Bytes {
    Bytes::new(setup.drive().sectors() * 512)
}

/// Every issue of the test, and what its recorder says.
fn play(act: &ActSpec, setup: &Setup) -> (Vec<(Instant, u32, Request)>, ActReport) {
    let recorder = ActRecorder::new(act, user(setup), "fast").unwrap();
    let mut driver = setup.driver().with_act(recorder);
    driver.play_to_the_end();
    let now = driver.now();
    let recorder = driver.act().unwrap();
    recorder.finish(now, false);
    let report = recorder.result(false);
    (driver.issues, report)
}

/// The structure measured of act_storage 6.6 with ten threads on a loop device: 5,753 of 6,100
/// bursts are exactly 10 reads, 5 ms apart; 60,010 small reads and 706 large reads and writes in 30
/// s; 98.9 % are reads.
#[test]
fn act_1_is_bursts_of_ten_reads_every_5_ms_and_large_blocks_in_lock_step() {
    let act = ActSpec { time: Duration::from_s(30), ..spec() };
    let (issues, report) = play(&act, &fast(&act));
    let micros = |job: u32| {
        issues.iter().filter(move |issue| issue.1 == job).map(|issue| issue.0.as_ns() / 1_000)
    };
    let small: Vec<u64> = micros(0).collect();
    assert_eq!(small.len(), 60_000);
    let bursts: Vec<&[u64]> = small.chunk_by(|one, next| next - one < 1_000).collect();
    assert!(
        bursts.iter().all(|burst| burst.len() == 10),
        "{:?}",
        bursts.iter().find(|burst| burst.len() != 10)
    );
    assert!(bursts.windows(2).all(|pair| pair[1][0] - pair[0][0] == 5_000));
    let (reads, writes): (Vec<u64>, Vec<u64>) = (micros(1).collect(), micros(2).collect());
    assert_eq!((reads.len(), &reads), (706, &writes), "large reads and writes fire together");
    assert!(reads.windows(2).all(|pair| (42_499..=42_501).contains(&(pair[1] - pair[0]))));
    let share = |of: &dyn Fn(&Request) -> bool| {
        issues.iter().filter(|issue| of(&issue.2)).count() as f64 / issues.len() as f64
    };
    assert_eq!((share(&|request| request.op == Op::Read) * 1e3).round(), 989.0);
    assert_eq!((share(&|request| request.sectors == 3) * 1e3).round(), 977.0);
    assert_eq!(
        share(&|request| request.sectors == 3) + share(&|request| request.sectors == 256),
        1.0
    );
    assert!(issues.iter().all(|(.., request)| request.sectors == 3 || request.lba.0 % 256 == 0));
    assert!(issues.iter().all(|(.., request)| request.fua == (request.op == Op::Write)));
    let odd = share(&|request| request.sectors == 3 && request.lba.0 % 8 > 5);
    assert!(
        (odd / 0.977 - 0.25).abs() < 0.01,
        "a quarter of the reads straddles two pages of 4 KiB: {odd}"
    );
    assert_eq!(
        (report.rules.act, report.rules.paper),
        (ActVerdict::Pass, ActVerdict::Pass),
        "{report:?}"
    );
    assert_eq!(report.slices.iter().map(|slice| slice.reads).collect::<Vec<_>>(), [20_000; 3]);
    assert_eq!((report.large_reads.count, report.large_writes.count), (706, 706));
}

#[test]
fn smooth_threads_spread_over_their_period() {
    let act = ActSpec { smooth: true, ..spec() };
    let (issues, _) = play(&act, &fast(&act));
    let small: Vec<u64> =
        issues.iter().filter(|issue| issue.1 == 0).map(|issue| issue.0.as_ns()).collect();
    assert_eq!(small.len(), 20_000);
    assert!(small.windows(2).all(|pair| pair[1] - pair[0] == 500_000), "2000 a second, evenly");
}

/// One die that needs 20 ms for a read: two service threads of 100 reads a second are ever further
/// behind.
#[test]
fn a_drive_that_is_too_slow_is_asked_back_to_back_until_the_test_is_stopped() {
    let mut act = ActSpec {
        service_threads: 2,
        read_reqs_per_sec: Some(200),
        write_reqs_per_sec: Some(0),
        ..spec()
    };
    (act.slice, act.max_lag) = (Duration::from_s(4), Duration::from_s(1));
    let mut setup = fast(&act);
    setup.device.timing.read = vec![Duration::from_ms(20)];
    (setup.device.geometry.channels, setup.device.geometry.ways) = (1, 1);
    setup.device.geometry.dies = 1;
    setup.jobs = act.jobs(&act.plan(user(&setup)).unwrap());
    let (issues, report) = play(&act, &setup);
    // A read that straddles two pages takes two array reads, so between 40 and 80 ms for a turn of
    // both threads.
    let behind = issues
        .windows(3)
        .filter(|three| three[2].0.since(three[0].0) < Duration::from_ms(20))
        .count();
    assert!(behind <= 1, "no thread has two requests under way: {behind}");
    let last = issues.last().unwrap().0;
    assert!(
        last > Instant::START + Duration::from_s(1)
            && last < Instant::START + Duration::from_ms(1_700),
        "{last:?}"
    );
    let stopped = report.stopped.as_deref().unwrap();
    assert!(stopped.ends_with("service thread can't keep up"), "{stopped}");
    assert_eq!((report.rules.act, report.slices.len()), (ActVerdict::Fail, 0));
    assert_eq!(report.rules.paper_stress, ActVerdict::Fail);
    act.max_lag = Duration::ZERO;
    let (issues, report) = play(&act, &setup);
    assert!(
        report.stopped.is_none()
            && issues.last().unwrap().0 > Instant::START + Duration::from_ms(3_900)
    );
    assert!(report.why.iter().any(|why| why.contains("record reads take")), "{:?}", report.why);
}

/// Feeds record reads of these latencies (ns) into a recorder, one each millisecond.
fn fed(act: &ActSpec, latencies: impl Iterator<Item = u64>) -> ActRecorder {
    let mut recorder = ActRecorder::new(act, USER, "a drive").unwrap().with_log(USER);
    for (number, latency) in latencies.enumerate() {
        let at = Instant::START + Duration::from_ms(number as u64);
        assert!(!recorder.record(0, Op::Read, Duration::from_ns(latency), at, Duration::ZERO));
    }
    recorder.finish(Instant::NEVER, false);
    recorder
}

#[test]
fn the_rules_count_exact_milliseconds_as_over_and_differ_at_equality() {
    let verdicts = |slow: u64, latency: u64| {
        let all = (0..10_000).map(|number| if number < slow { latency } else { 300_000 });
        let rules = fed(&spec(), all).result(false).rules;
        (rules.act == ActVerdict::Pass, rules.paper == ActVerdict::Pass)
    };
    // Of 10,000: fewer than 500, 100 and 10 pass the tool, at most so many the paper.
    for (allowed, limit) in [(500, 1_000_000), (100, 8_000_000), (10, 64_000_000)] {
        assert_eq!(verdicts(allowed - 1, limit), (true, true), "{limit}");
        assert_eq!(verdicts(allowed, limit), (false, true), "{limit}");
        assert_eq!(verdicts(allowed + 1, limit), (false, false), "{limit}");
        let below = if limit == 1_000_000 { (true, true) } else { verdicts(allowed, limit / 8) };
        assert_eq!(
            verdicts(allowed, limit - 1),
            below,
            "{limit}: one nanosecond less counts at the limit before"
        );
    }
}

#[test]
fn one_bad_slice_fails_the_tool_and_not_the_paper() {
    let act = ActSpec { time: Duration::from_s(30), ..spec() };
    let report = fed(
        &act,
        (0..30_000).map(|number| if (10_000..10_600).contains(&number) { 2_000_000 } else { 9 }),
    );
    let report = report.result(false);
    assert_eq!((report.rules.act, report.rules.paper), (ActVerdict::Fail, ActVerdict::Pass));
    let over: Vec<_> = report.slices.iter().map(|slice| slice.over_1ms_percent).collect();
    assert_eq!(over, [Some(0.0), Some(6.0), Some(0.0)]);
    assert_eq!(report.why.len(), 1, "{:?}", report.why);
    assert!(
        report.why[0].contains("1 of 3 slices") && report.why[0].contains("up to 6 %"),
        "{:?}",
        report.why
    );
}

#[test]
fn the_fourth_condition_holds_each_types_mean_against_its_period() {
    let mean = |latency: u64| fed(&spec(), (0..10_000).map(|_| latency)).result(false);
    // 2000 reads a second: 500 us.
    let (below, at) = (mean(499_999), mean(500_000));
    assert_eq!((below.rules.paper, below.rules.paper_stress), (ActVerdict::Pass, ActVerdict::Pass));
    assert_eq!((at.rules.act, at.rules.paper_stress), (ActVerdict::Pass, ActVerdict::Fail));
    assert_eq!(at.reads.period_us, Some(500.0));
    assert_eq!(at.large_writes.period_us, Some(42_500.0));
    // One read in 16 takes 2 ms, their mean is 133 us: stress passes, performance does not.
    let tailed = (0..10_000).map(|read| if read % 16 == 0 { 2_000_000 } else { 9_000 });
    let tailed = fed(&spec(), tailed).result(false).rules;
    assert_eq!((tailed.paper, tailed.paper_stress), (ActVerdict::Fail, ActVerdict::Pass));
}

#[test]
fn an_interrupted_test_passes_nothing() {
    let mut recorder = ActRecorder::new(&spec(), USER, "a drive").unwrap();
    recorder.record(0, Op::Read, Duration::from_us(80), Instant::START, Duration::ZERO);
    recorder.finish(Instant::START + Duration::from_s(3), true);
    let report = recorder.result(true);
    assert_eq!((report.slices.len(), report.rules.act, report.rules.paper), {
        (0, ActVerdict::Undecided, ActVerdict::Undecided)
    });
}

/// One report: name of the histogram, its total, its buckets.
type Report = BTreeMap<String, (u64, BTreeMap<usize, u64>)>;

/// Reads a log by the description of its format (reference: traces, 4.3), not by the code that
/// writes it.
fn parse(log: &str) -> BTreeMap<u64, Report> {
    let mut reports = BTreeMap::new();
    let mut blocks = log.split("\n\n").skip_while(|block| !block.starts_with("HISTOGRAM NAMES"));
    let names: Vec<&str> = blocks.next().unwrap().lines().skip(1).collect();
    for block in blocks.filter(|block| block.contains("after ")) {
        let mut lines = block.lines().skip_while(|line| !line.starts_with("after "));
        let after =
            lines.next().unwrap().strip_prefix("after ").unwrap().strip_suffix(" sec:").unwrap();
        let (mut report, mut name) = (Report::new(), String::new());
        for line in lines {
            if let Some(buckets) = line.strip_prefix(" (") {
                let cells: Vec<&str> = buckets.trim_end_matches(')').split(") (").collect();
                assert!(cells.len() <= 4, "{line}");
                for (bucket, count) in cells.iter().map(|cell| cell.split_once(": ").unwrap()) {
                    assert_eq!((bucket.len(), count.len()), (2, 10), "{line}");
                    let old = report
                        .get_mut(&name)
                        .unwrap()
                        .1
                        .insert(bucket.parse().unwrap(), count.parse().unwrap());
                    assert!(old.is_none() && count.parse::<u64>().unwrap() > 0, "{line}");
                }
            } else {
                let (said, total) = line.strip_suffix(" total)").unwrap().split_once(" (").unwrap();
                name = said.to_string();
                report.insert(name.clone(), (total.parse().unwrap(), BTreeMap::new()));
            }
        }
        assert_eq!(report.keys().map(String::as_str).collect::<Vec<_>>(), {
            let mut names = names.clone();
            names.sort_unstable();
            names
        });
        assert!(report.values().all(|(total, buckets)| *total == buckets.values().sum::<u64>()));
        reports.insert(after.parse().unwrap(), report);
    }
    reports
}

/// Latencies from below a microsecond to above a minute, one each millisecond.
fn wide(number: u64) -> u64 {
    (number * 7919 % 1_000 + 1) * [1, 900, 50_000, 70_000_000][(number % 4) as usize]
}

#[test]
fn the_log_holds_the_histograms_of_every_report_in_both_units() {
    for (microseconds, unit) in [(false, 1_000_000), (true, 1_000)] {
        let act = ActSpec { microsecond_histograms: microseconds, ..spec() };
        let log = fed(&act, (0..10_000).map(wide)).take_log().unwrap();
        let reports = parse(&log);
        assert_eq!(reports.keys().copied().collect::<Vec<_>>(), (1..=10).collect::<Vec<u64>>());
        for (after, report) in reports {
            let mut expected = BTreeMap::new();
            for number in 0..after * 1_000 {
                // [0,1), [1,2), [2,4), [4,8) ..
                let (units, mut bucket) = (wide(number) / unit, 0);
                while units >= 1 << bucket {
                    bucket += 1;
                }
                *expected.entry(bucket).or_insert(0u64) += 1;
            }
            let expected = (after * 1_000, expected);
            assert_eq!(report["reads"], expected, "after {after} s");
            assert_eq!(report["/dev/a-drive-reads"], expected);
            assert_eq!(report["large-block-writes"], (0, BTreeMap::new()));
        }
        let said = if microseconds {
            "\nmicrosecond-histograms: yes\n"
        } else {
            "\nmicrosecond-histograms: no\n"
        };
        assert!(
            log.contains(said) && log.contains("\nlarge-block-reads-per-sec: 23.53\n"),
            "{log}"
        );
    }
}

#[test]
fn the_logs_differences_are_the_slices() {
    let act =
        ActSpec { time: Duration::from_s(27), report_interval: Duration::from_s(4), ..spec() };
    let mut recorder = fed(&act, (0..27_000).map(wide));
    let (log, report) = (recorder.take_log().unwrap(), recorder.result(false));
    let reports = parse(&log);
    // Slices of 10 s become slices of three reports; the last report ends after the test.
    assert_eq!((report.slice_s, report.slices.len()), (12.0, 2));
    assert_eq!(reports.keys().copied().collect::<Vec<_>>(), [4, 8, 12, 16, 20, 24, 28]);
    let none = (0, BTreeMap::new());
    for (number, slice) in report.slices.iter().enumerate() {
        let (start, end) = (12 * number as u64, 12 * (number as u64 + 1));
        let before = reports.get(&start).map_or(&none, |report| &report["reads"]);
        let after = &reports[&end]["reads"];
        let total = after.0 - before.0;
        let percent = |bucket: usize| {
            let below = |of: &(u64, BTreeMap<usize, u64>)| {
                of.1.range(..=bucket).map(|(_, count)| count).sum::<u64>()
            };
            100.0 * (total - (below(after) - below(before))) as f64 / total as f64
        };
        assert_eq!((slice.start_s, slice.reads), (start as f64, total));
        let ours = [slice.over_1ms_percent, slice.over_8ms_percent, slice.over_64ms_percent];
        for (ours, bucket) in ours.into_iter().zip([0, 3, 6]) {
            assert!(
                (ours.unwrap() - percent(bucket)).abs() < 1e-6,
                "slice {number}, bucket {bucket}"
            );
        }
    }
}

#[test]
fn a_stopped_test_says_so_in_its_log_and_makes_the_report_that_was_due() {
    let mut recorder = ActRecorder::new(&spec(), USER, "d").unwrap().with_log(USER);
    let at = |ms| Instant::START + Duration::from_ms(ms);
    let latency = Duration::from_us(1);
    assert!(!recorder.record(1, Op::Read, latency, at(2_100), Duration::from_s(10)));
    assert!(recorder.record(2, Op::Write, latency, at(2_200), Duration::from_ns(10_000_000_001)));
    assert!(
        !recorder.record(2, Op::Write, latency, at(5_000), Duration::from_s(11)),
        "it stops once"
    );
    recorder.finish(at(5_000), false);
    let log = recorder.take_log().unwrap();
    let error = log.find("ERROR: large block writes can't keep up\n").unwrap();
    assert!(
        log.find("after 2 sec:").unwrap() < error && error < log.find("after 3 sec:").unwrap(),
        "{log}"
    );
    assert!(!log.contains("after 4 sec:"));
    let report = recorder.result(false);
    assert_eq!(report.stopped.as_deref(), Some("after 2.2s large block writes can't keep up"));
    assert_eq!(report.rules.act, ActVerdict::Fail);
}

#[test]
fn settings_that_the_tool_refuses_are_refused_here() {
    let refused = |change: fn(&mut ActSpec), key: &str| {
        let mut spec = spec();
        change(&mut spec);
        let error = spec.plan(USER).unwrap_err();
        assert_eq!(error.key, key, "{error}");
    };
    refused(|spec| spec.multiplier = 0.0, "multiplier");
    refused(|spec| spec.multiplier = f64::NAN, "multiplier");
    refused(|spec| spec.multiplier = 1e-5, "multiplier");
    refused(
        |spec| (spec.read_reqs_per_sec, spec.write_reqs_per_sec) = (Some(0), Some(0)),
        "read_reqs_per_sec",
    );
    refused(|spec| spec.service_threads = 0, "service_threads");
    refused(|spec| spec.service_threads = 2001, "service_threads");
    refused(|spec| spec.record_bytes = 0, "record_bytes");
    refused(|spec| (spec.record_bytes, spec.large_block_kbytes) = (9000, 8), "record_bytes");
    refused(|spec| spec.record_bytes_range_max = 1536, "record_bytes_range_max");
    refused(|spec| spec.large_block_kbytes = 96, "large_block_kbytes");
    refused(|spec| spec.large_block_kbytes = 16_384, "large_block_kbytes");
    refused(|spec| spec.replication_factor = 0, "replication_factor");
    refused(|spec| spec.update_pct = 101, "update_pct");
    refused(|spec| spec.defrag_lwm_pct = 100, "defrag_lwm_pct");
    refused(|spec| (spec.disable_odsync, spec.commit_to_device) = (true, true), "disable_odsync");
    refused(|spec| spec.min_op = Bytes::new(1536), "min_op");
    refused(|spec| spec.report_interval = Duration::ZERO, "report_interval");
    refused(|spec| spec.slice = Duration::from_ms(1500), "slice");
    refused(|spec| spec.time = Duration::from_s(9), "time");
    refused(|spec| (spec.multiplier, spec.replication_factor) = (1e5, 1000), "multiplier");
    let tiny = spec().plan(Bytes::kib(127)).unwrap_err();
    assert_eq!(tiny.key, "large_block_kbytes");
    let nothing = ActSpec { write_reqs_per_sec: Some(0), ..spec() };
    assert_eq!(nothing.plan(USER).unwrap().roles, [Role::Service]);
}
