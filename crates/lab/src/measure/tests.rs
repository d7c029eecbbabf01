//! Good files are read, and each bad one gets its error.

use super::*;

/// A run of fio, cut to what is read.
const FIO: &str = r#"{
"fio version": "fio-3.35",
"global options": {"bs": "4kb", "rw": "randread", "iodepth": "16", "ioengine": "io_uring",
  "direct": "1", "norandommap": "1", "filename": "/dev/nvme0n1"},
"jobs": [{
"jobname": "1", "error": 0,
"job options": {"name": "1", "numjobs": "2"},
"read": {"io_bytes": 4096000000, "iops": 100000.0, "runtime": 10000, "total_ios": 1000000,
"clat_ns": {"mean": 300000.0, "percentile": {
"50.000000": 250000, "90.000000": 500000, "99.000000": 900000, "99.900000": 2000000}}},
"write": {"iops": 0}
}]}"#;

const CSV: &str = "capacities_written_from,capacities_written_to,waf_in_window,host_gb_per_s
0,0.5,1.0,5.2
0.5,1.1,1.0,5.2
1.1,1.2,3.0,1.6
";

fn read(text: &str) -> Result<Measurement, MeasureError> {
    Measurement::of("a.json", text, &Said::default())
}

#[test]
fn a_run_of_fio_is_read() {
    let found = read(FIO).unwrap();
    assert_eq!((found.name.as_str(), found.state), ("a", DriveState::Overwritten(2)));
    let of = found.latencies().unwrap();
    assert_eq!((of.engine.as_str(), of.is_read, of.is_sequential), ("io_uring", true, false));
    assert_eq!((of.block, of.depth, of.processes, of.drives), (4096, 16, 2, 1));
    assert!(!of.is_map);
    assert_eq!((of.iops, of.mean_us), (100_000.0, 300.0));
    assert_eq!(of.percentiles_us, [250.0, 500.0, 900.0, 2000.0]);
}

/// fio's synchronous engines have one request under way, whatever `iodepth` says.
#[test]
fn a_synchronous_engine_is_at_depth_1_and_an_escaped_colon_is_no_second_device() {
    let mut text = FIO.replace("io_uring", "psync").replace("/dev/nvme0n1", r"/dev/a\\:b");
    text = text.replace("\"mean\": 300000.0", "\"mean\": 19000.0");
    for (of_two, of_one) in [("250000,", "18000,"), ("500000,", "20000,"), ("900000,", "30000,")] {
        text = text.replace(of_two, of_one);
    }
    let found = read(&text).unwrap();
    let of = found.latencies().unwrap();
    assert_eq!((of.depth, of.processes, of.drives), (1, 2, 1));
}

#[test]
fn a_histogram_of_json_plus_goes_before_the_list_of_percentiles() {
    let bins =
        r#""clat_ns": {"bins": {"9000": 80000, "10000": 820000, "20000": 90000, "50000": 10000},"#;
    let found = read(&FIO.replace("\"clat_ns\": {", bins)).unwrap();
    assert_eq!(found.latencies().unwrap().percentiles_us, [10.0, 10.0, 20.0, 50.0]);
}

#[test]
fn windows_are_read_in_any_order_of_columns() {
    let found = Measurement::of(
        "waf.csv",
        CSV,
        &Said { state: Some(DriveState::Filled), ..Said::default() },
    )
    .unwrap();
    let Measured::Windows(windows) = &found.what else { panic!("{found:?}") };
    assert_eq!((windows.len(), found.state), (3, DriveState::Filled));
    let last = Window { from: 1.1, to: 1.2, waf: Some(3.0), bytes_per_s: 1.6e9 };
    assert_eq!(windows[2], last);
    let turned: String = CSV
        .lines()
        .map(|line| line.split(',').rev().collect::<Vec<_>>().join(",") + "\n")
        .collect();
    assert_eq!(Measurement::of("waf.csv", &turned, &Said::default()).unwrap().what, found.what);
}

#[test]
fn sizes_are_those_of_fio() {
    for (text, size) in
        [("512", 512), ("4k", 4096), ("4kb", 4096), ("16KiB", 16_000), ("1m", 1 << 20)]
    {
        assert_eq!(fio_size(text), Some(size), "{text}");
    }
    for text in ["", "k", "4kx", "4i", "4x", "0", "-4k", "4k-64k", "99999999999g"] {
        assert_eq!(fio_size(text), None, "{text}");
    }
}

/// A part of a good file, its replacement, and words of the error.
const BAD: [(&str, &str, &[&str]); 37] = [
    ("\"jobs\": [{", "\"jobs\": [{{", &["line 5", "no whole JSON"]),
    ("\"fio version\": \"fio-3.35\",", "", &["\"fio version\" is missing"]),
    ("fio-3.35", "fio-2.21", &["fio version", "fio 3 and later"]),
    ("\"jobs\"", "\"job\"", &["\"jobs\" is missing"]),
    ("\"error\": 0", "\"error\": 5", &["jobs[0].error", "ended with an error"]),
    ("\"bs\": \"4kb\", ", "", &["jobs[0]", "option bs is missing"]),
    ("\"4kb\"", "\"4k-64k\"", &["global options.bs", "\"4k-64k\"", "one size"]),
    ("\"4kb\"", "\"1000\"", &["global options.bs", "multiple of 512 B"]),
    ("\"bs\": \"4kb\"", "\"bs\": \"4k\", \"bssplit\": \"4k/50\"", &["bssplit", "not read yet"]),
    ("randread", "randrw", &["global options.rw", "\"randrw\"", "randread, write"]),
    ("\"iodepth\": \"16\"", "\"iodepth\": \"0\"", &["iodepth", "from 1 to 65536"]),
    ("\"iodepth\": \"16\"", "\"iodepth\": \"deep\"", &["iodepth", "\"deep\"", "a number"]),
    ("\"numjobs\": \"2\"", "\"numjobs\": \"1.5\"", &["job options.numjobs", "whole number"]),
    ("\"direct\": \"1\"", "\"direct\": \"0\"", &["direct", "page cache"]),
    ("\"read\": {\"io", "\"reads\": {\"io", &["jobs[0]", "\"read\" is missing"]),
    ("clat_ns", "clat", &["jobs[0].read", "\"clat_ns\" is missing"]),
    ("percentile", "percent", &["neither \"percentile\" nor \"bins\""]),
    ("\"99.900000\"", "\"99.990000\"", &["\"99.900000\" is missing", "percentile_list"]),
    ("2000000}", "200000}", &["do not rise"]),
    ("\"iops\": 100000.0", "\"iops\": 200000.0", &["iops = 200000", "contradict each other"]),
    ("\"io_bytes\": 4096", "\"io_bytes\": 8192", &["8192 B, but bs is 4096 B", "contradict"]),
    ("\"mean\": 300000.0", "\"mean\": 900000.0", &["90.0 requests under way", "are 32"]),
    ("\"mean\": 300000.0", "\"mean\": 30000.0", &["3.00 requests under way", "held the job back"]),
    ("\"bs\"", "\"rate_iops\": \"2000\", \"bs\"", &["rate_iops", "as fast as it can"]),
    ("\"bs\"", "\"thinktime\": \"435\", \"bs\"", &["thinktime", "as fast as it can"]),
    ("\"bs\"", "\"random_distribution\": \"zipf:1\", \"bs\"", &["as likely (random)"]),
    ("\"50.000000\": 250000", "\"50.000000\": 90", &["0.09 us", "within 0.5 us"]),
    ("\"direct\": \"1\", ", "", &["option direct is missing", "page cache"]),
    ("\"direct\": \"1\"", "\"buffered\": \"1\"", &["buffered", "page cache"]),
    ("\"bs\"", "\"percentage_random\": \"10\", \"bs\"", &["percentage_random", "no mix"]),
    ("\"bs\"", "\"fsync\": \"1\", \"bs\"", &["fsync", "as fast as it can"]),
    ("\"bs\"", "\"kb_base\": \"1000\", \"bs\"", &["kb_base", "k is 1024"]),
    ("\"percentile\"", "\"bins\": {\"10\": 1000000}, \"x\"", &["bins", "within 0.5 us"]),
    ("\"percentile\"", "\"bins\": {\"200000\": 5}, \"x\"", &["bins hold 5", "contradict"]),
    (
        "\"50.000000\": 250000, \"90.000000\": 500000, \"99.000000\": 900000",
        "\"50.000000\": 800000, \"90.000000\": 850000, \"99.000000\": 900000",
        &["percentiles allow 406.6 us at least", "contradict"],
    ),
    (
        "\"90.000000\": 500000, \"99.000000\": 900000, \"99.900000\": 2000000",
        "\"90.000000\": 3000000, \"99.000000\": 4000000, \"99.900000\": 5000000",
        &["percentiles allow 411.0 us at least", "contradict"],
    ),
    (
        "\"percentile\": {\n\"50.000000\": 250000, \"90.000000\": 500000, \"99.000000\": 900000, \
         \"99.900000\": 2000000}",
        "\"max\": 30000, \"percentile\": {\n\"50.000000\": 10000, \"90.000000\": 11000, \
         \"99.000000\": 12000, \"99.900000\": 13000}",
        &["allow 13.0 us at most", "contradict"],
    ),
];

#[test]
fn each_bad_run_has_one_error_that_names_place_value_and_what_is_allowed() {
    for (from, to, words) in BAD {
        assert!(FIO.contains(from), "{from}");
        let error = read(&FIO.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.starts_with("a.json: "), "{error}");
        words.iter().for_each(|word| assert!(error.contains(word), "{to}: {error}"));
    }
    let two = FIO.replace("\"write\": {\"iops\": 0}\n}]", "\"write\": {\"iops\": 0}}, {}]");
    let errors = [("", "is empty"), ("  \n", "is empty"), (two.as_str(), "2 jobs: one a file")];
    for (text, word) in errors {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn each_bad_line_of_windows_has_one_error_with_its_line() {
    let bad: [(&str, &str, &str); 8] = [
        ("waf_in_window", "waf", "line 1: there is no column waf_in_window"),
        ("0.5,1.1,1.0,5.2", "0.5,1.1,1.0", "line 3: 3 values under 4 columns"),
        ("1.1,1.2,3.0", "1.1,1.2,three", "line 4: waf_in_window = three is no number"),
        ("1.1,1.2,3.0", "1.1,1.2,0.5", "line 4: waf_in_window = 0.5 is not allowed"),
        ("1.1,1.2,3.0", "1.1,1.0,3.0", "line 4: the window ends at 1, not behind"),
        ("1.1,1.2,3.0", "1.3,1.4,3.0", "line 4: the window begins at 1.3"),
        ("3.0,1.6", "3.0,0", "line 4: host_gb_per_s = 0 is not allowed"),
        ("1.1,1.2,3.0,1.6\n", "", "2 windows: at least 3 are needed"),
    ];
    for (from, to, word) in bad {
        let text = CSV.replacen(from, to, 1);
        let error = Measurement::of("waf.csv", &text, &Said::default()).expect_err(to).to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn contradictory_and_double_measurements_are_refused() {
    let named = |name: &str, text: &str| Measurement::of(name, text, &Said::default()).unwrap();
    let slow = FIO.replace("250000,", "490000,");
    let contradict = consistent(&[named("a.json", FIO), named("b.json", &slow)]);
    let error = contradict.unwrap_err().to_string();
    assert!(error.contains("b: its median contradicts that of a"), "{error}");
    let twice = consistent(&[named("a.json", FIO), named("a.json", FIO)]).unwrap_err();
    assert!(twice.to_string().contains("given twice"), "{twice}");
    let copy = consistent(&[named("a.json", FIO), named("copy.json", FIO)]).unwrap_err();
    assert!(copy.to_string().contains("it is the same as a"), "{copy}");
    let deep = FIO.replace("\"16\"", "\"32\"").replace("250000,", "490000,");
    let deep = deep.replace("300000.0", "600000.0");
    assert!(consistent(&[named("a.json", FIO), named("b.json", &deep)]).is_ok());
}

#[test]
fn a_state_is_one_of_a_closed_list() {
    let parsed = |text: &str| text.parse::<DriveState>();
    assert_eq!(parsed("overwritten:3"), Ok(DriveState::Overwritten(3)));
    assert_eq!(
        (parsed("fresh"), parsed("filled")),
        (Ok(DriveState::Fresh), Ok(DriveState::Filled))
    );
    for bad in ["", "old", "overwritten:0", "overwritten:x"] {
        assert!(parsed(bad).unwrap_err().contains("overwritten:N"), "{bad}");
    }
}

/// Reads of 4 KiB, a thousand and one of them, at random places, under two at a time.
fn log() -> String {
    let line = |i: u64| {
        let (latency, offset) =
            (if i.is_multiple_of(100) { 900_000 } else { 80_000 + i }, i * 7_919 % 50_000 * 4096);
        format!("{}, {latency}, 0, 4096, {offset}, 0\n", 1 + i / 20)
    };
    (0..1_001).map(line).collect()
}

fn blocks() -> String {
    let mut text = String::from("noise of blkparse\n");
    for i in 0..1_000u64 {
        let (sector, at) = (i * 7_919 % 50_000 * 8, i * 100_000);
        for (action, at) in [("D", at), ("C", at + 80_000)] {
            let (s, ns) = (at / 1_000_000_000, at % 1_000_000_000);
            text += &format!("259,0 1 {i} {s:>5}.{ns:09} 4567 {action} R {sector} + 8 [fio]\n");
        }
    }
    text
}

const TOTALS: &str = "time_s,Data Units Written,Physical Media Units Written
0,0,0
10,1000000,512000000000
20,2000000,1536000000000
20.5,2000000,1536000000000
30,3000000,2560000000000
";

/// `iostat -x`: the mean since boot, five intervals, and one in whose middle the writes end.
const IOSTAT: &str = "Linux 6.1.0 (host)  11/27/2026  _x86_64_  (8 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.00    0.00    2.00    0.00    0.00   97.00

Device            r/s     rkB/s     w/s     wkB/s  w_await  %util
nvme0n1         10.00    900.00   10.00    900.00     0.10   1.00

Device            r/s     rkB/s     w/s     wkB/s  w_await  %util
nvme0n1          0.00      0.00 40000.0 5120000.00    0.10 100.00

Device            r/s     rkB/s     w/s     wkB/s  w_await  %util
nvme0n1          0.00      0.00 40000.0 5120000.00    0.10 100.00

Device            r/s     rkB/s     w/s     wkB/s  w_await  %util
nvme0n1          0.00      0.00     0.0      0.00     0.00   0.00

Device            r/s     rkB/s     w/s     wkB/s  w_await  %util
nvme0n1          0.00      4.00 20000.0 2560000.00    0.10 100.00

Device            r/s     rkB/s     w/s     wkB/s  w_await  %util
nvme0n1          0.00      0.00 20000.0 2560000.00    0.10 100.00

Device            r/s     rkB/s     w/s     wkB/s  w_await  %util
nvme0n1          0.00      0.00    10.0    1280.00    0.10   1.00

Device            r/s     rkB/s     w/s     wkB/s  w_await  %util
nvme0n1          0.00      0.00     0.0      0.00     0.00   0.00
";

fn said(text: &str) -> Said {
    Said::parse(text).unwrap()
}

#[test]
fn logs_of_single_requests_become_latencies() {
    let found = Measurement::of("r_clat.1.log", &log(), &said("filled,depth=2,engine=libaio"));
    let found = found.unwrap();
    let of = found.latencies().unwrap();
    assert_eq!((of.engine.as_str(), of.depth, of.block, of.is_read), ("libaio", 2, 4096, true));
    assert_eq!(
        (of.is_sequential, of.percentiles_us[2], found.state),
        (false, 900.0, DriveState::Filled)
    );
    assert!((of.percentiles_us[0] - 80.5).abs() < 0.1, "{of:?}");
    let found = Measurement::of("a.txt", &blocks(), &Said::default()).unwrap();
    let of = found.latencies().unwrap();
    assert_eq!((of.depth, of.percentiles_us[0], of.engine.as_str()), (1, 80.0, "device"));
    assert!((of.iops / 10_000.0 - 1.0).abs() < 0.01, "{of:?}");
}

#[test]
fn counters_that_rise_become_windows() {
    let found = Measurement::of("a.csv", TOTALS, &said("capacity=1024GB")).unwrap();
    let Measured::Windows(windows) = &found.what else { panic!("{found:?}") };
    let rates: Vec<(f64, f64, f64)> =
        windows.iter().filter_map(|of| Some((of.to, of.waf?, of.bytes_per_s / 1e9))).collect();
    assert_eq!(rates[..2], [(0.5, 1.0, 51.2), (1.0, 2.0, 51.2)]);
    assert_eq!((windows.len(), windows[2].from, windows[2].waf), (3, 1.0, Some(2.0)));
}

#[test]
fn a_series_of_rates_becomes_windows_without_a_waf() {
    // 5.12 GB (of 1024 B a kB) in the first interval of 10 s.
    let asked = said("interval=10s,capacity=500GB");
    let found = Measurement::of("a.txt", IOSTAT, &asked).unwrap();
    let Measured::Windows(windows) = &found.what else { panic!("{found:?}") };
    let (fast, slow) = (5_120_000.0 * 1024.0, 2_560_000.0 * 1024.0);
    let part = 10.0 * fast / 500e9;
    let window = |from, to, bytes_per_s| Window { from, to, waf: None, bytes_per_s };
    let expected = [
        window(0.0, part, fast),
        window(part, part + part, fast),
        window(part + part, part + part + 0.5 * part, slow),
        window(part + part + 0.5 * part, part + part + 0.5 * part + 0.5 * part, slow),
    ];
    assert_eq!(windows.as_slice(), expected);
    assert_eq!(found.state, DriveState::Fresh);
    // A word that is no time of day tells no interval.
    let odd = IOSTAT.replace("Device ", "1:9999:1\nDevice ");
    assert_eq!(Measurement::of("a.txt", &odd, &asked).map(|odd| odd.what), Ok(found.what.clone()));
    // A drive that is not full yet is slow for another reason.
    assert!(!windows.iter().any(|window| window.collects(windows, 1.0)));
    let full = Window { from: 1.0, to: 1.1, ..windows[3] };
    assert!(
        full.collects(windows, 1.0) && !Window { bytes_per_s: fast, ..full }.collects(windows, 1.0)
    );
    let disk = |kb: f64| {
        format!(r#"{{"disk": [{{"disk_device": "nvme0n1", "rkB/s": 0.0, "wkB/s": {kb}}}]}}"#)
    };
    let disks = [900.0, 5_120_000.0, 5_120_000.0, 2_560_000.0, 2_560_000.0, 1280.0].map(disk);
    let document =
        format!(r#"{{"sysstat": {{"hosts": [{{"statistics": [{}]}}]}}}}"#, disks.join(", "));
    assert_eq!(Measurement::of("a.json", &document, &asked).unwrap().what, found.what);
}

#[test]
fn each_bad_series_has_one_error() {
    let asked = said("interval=10s,capacity=500GB");
    let cut = |from: &str, to: &str| IOSTAT.replacen(from, to, 1);
    let json = r#"{"sysstat": {"hosts": [{"statistics": [{"disk": [{"disk_device": "a"}]}]}]}}"#;
    let mut second = 57;
    let heads = IOSTAT.split("Device ").skip(1).map(|report| {
        second += 1;
        format!("11/28/2026 12:{:02}:{:02} PM\nDevice {report}", second / 60, second % 60)
    });
    let timed: String = heads.collect();
    let cases: [(String, &Said, &str); 11] = [
        (IOSTAT.to_string(), &said("capacity=1TB"), "FILE@interval=1s"),
        (IOSTAT.to_string(), &said("interval=1s"), "need the drive's capacity"),
        (cut("nvme0n1          0.00", "nvme1n1          0.00"), &asked, "devices nvme0n1 and"),
        (cut("5120000.00", "5120000,00"), &asked, "line 10: 5120000,00 is no rate"),
        (cut("    0.10 100.00", ""), &asked, "line 10: 5 values under 7 columns"),
        (cut("     4.00", "900000.00"), &asked, "it read 5.9 % of what it wrote"),
        (IOSTAT.to_string(), &said("interval=1s,capacity=100TB"), "0 windows of 0.05"),
        (json.to_string(), &asked, "sysstat.hosts[0].statistics[0]: no rate of writes"),
        (json.replace("statistics", "x"), &asked, "\"statistics\" is missing"),
        (IOSTAT.to_string(), &said("interval=10s,capacity=1TB,depth=3"), "@depth has no use"),
        (timed, &asked, "its own times lie 1.0 s apart, and interval=10s was said"),
    ];
    for (text, said, words) in cases {
        let error = Measurement::of("a.txt", &text, said).expect_err(words).to_string();
        assert!(error.starts_with("a.txt") && error.contains(words), "{words}\n{error}");
    }
    assert!(Said::parse("interval=0s").unwrap_err().contains("a time such as 1s"));
}

#[test]
fn each_bad_log_has_one_error_with_its_line() {
    let (log, blocks, plain) = (log(), blocks(), Said::default());
    let deep = said("depth=4");
    let (totals, shallow, deepest) = (said("capacity=1TB"), said("depth=1"), said("depth=64"));
    let averages: String = (0..1_100).map(|i| format!("{}, 80000, 0, 4096\n", i * 100)).collect();
    let cut = |text: &str, from: &str, to: &str| text.replacen(from, to, 1);
    let cases: Vec<(&str, String, &Said, &str)> = vec![
        ("a_clat.1.log", log.clone(), &plain, "the log does not say at which depth"),
        ("a_clat.1.log", log.clone(), &totals, "@capacity has no use beside fio's log"),
        ("a_clat.1.log", log.clone(), &deepest, "something held the job back"),
        ("a_slat.1.log", log.clone(), &deep, "a log of the time up to the submission"),
        ("a_bw.1.log", log.clone(), &deep, "a log of bandwidth"),
        ("a.log", cut(&log, ", 0, 4096", ", 1, 4096"), &deep, "reads and writes in one log"),
        ("a.log", cut(&log, "80001, 0, 4096", "80001, 0, 8192"), &deep, "4096 and of 8192 B"),
        ("a.log", cut(&log, "80001, 0,", "80001, 2,"), &deep, "line 2: direction 2, a trim"),
        ("a.log", cut(&log, "80001, 0,", "80001, 7,"), &deep, "line 2: direction 7 is not allowed"),
        ("a.log", cut(&log, "80001, 0, 4096", "8x, 0, 4096"), &deep, "line 2: latency = 8x"),
        ("a.log", cut(&log, "80001, 0, 4096", "80001, 0, 0"), &deep, "line 2: bytes = 0"),
        ("a.log", log[..2_000].to_string(), &deep, "requests: at least 1000"),
        ("a.log", averages, &deep, "averages (log_avg_msec)"),
        ("a.log", log.clone(), &shallow, "they contradict each other"),
        ("a.txt", blocks.replace(" C R", " Q R"), &deep, "no pair of D and C"),
        ("a.txt", cut(&blocks, "259,0 1 3 ", "259,1 1 3 "), &deep, "devices 259,0 and 259,1"),
        ("a.txt", cut(&blocks, "D R", "D DW"), &deep, "a discard"),
        ("a.txt", blocks.replace(" R ", " DS "), &deep, "a discard"),
        ("a.csv", TOTALS.to_string(), &plain, "counters need the drive's capacity"),
        ("a.csv", cut(TOTALS, "time_s", "when"), &totals, "no column time_s or time_ms"),
        (
            "a.csv",
            cut(TOTALS, "20,2000000,1536", "20,2000000,2"),
            &totals,
            "line 4: a counter falls",
        ),
        (
            "a.csv",
            cut(TOTALS, "20,2000000", "9,2000000"),
            &totals,
            "line 4: its time is not behind",
        ),
        ("a.csv", cut(TOTALS, "20,2000000", "20,20000000"), &totals, "fewer than the host writes"),
        ("a.csv", cut(TOTALS, "20,2000000,", "20,"), &totals, "line 4: 2 values under 3 columns"),
        (
            "a.csv",
            TOTALS.lines().take(3).collect::<Vec<_>>().join("\n"),
            &totals,
            "at least 4 lines",
        ),
    ];
    for (file, text, said, words) in cases {
        let error = Measurement::of(file, &text, said).expect_err(words).to_string();
        assert!(error.starts_with(file) && error.contains(words), "{words}\n{error}");
    }
    for (text, words) in [
        ("old", "no state of a drive"),
        ("depth=0", "from 1 to 65536"),
        ("capacity=x", "a size such as"),
        ("queue=4", "depth=N, processes=N"),
    ] {
        assert!(Said::parse(text).unwrap_err().contains(words), "{text}");
    }
}
