//! The iologs that we write, replayed by fio itself: it must ask for the same, in the same order,
//! at the same times. And fio's own latency logs, read as fio counts them. Where fio is not
//! installed (`make deps` does it) these tests say so and pass.

use manx_lab::convert::{Conversion, convert};
use manx_lab::open::trace_summary;
use manx_trace::convert::{About, Target, text_encoder};
use manx_trace::{TraceFormat, TraceSpec};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Larger than every address of the trace.
const FILE_BYTES: u64 = 64 << 20;

/// A request to fio: 1 for a write, offset, bytes.
type Request = (u64, u64, u64);

/// An MSR trace over `span_us`, its requests, and the folder that it is in.
fn trace(name: &str, count: u64, span_us: u64) -> (PathBuf, Vec<Request>) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fio-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let (mut text, mut requests) = (String::new(), Vec::new());
    for number in 0..count {
        let is_write = number % 3 == 1;
        let bytes = [4096, 512, 65_536, 8192][number as usize % 4];
        let offset = number * 7_919 * 512 % (FILE_BYTES - 65_536);
        let ticks = 128_166_372_003_061_629 + span_us * 10 * number / (count - 1);
        let kind = if is_write { "Write" } else { "Read" };
        writeln!(text, "{ticks},usr,0,{kind},{offset},{bytes},100").unwrap();
        requests.push((u64::from(is_write), offset, bytes));
    }
    std::fs::write(folder.join("trace.csv"), text).unwrap();
    std::fs::File::create(folder.join("disk")).unwrap().set_len(FILE_BYTES).unwrap();
    (folder, requests)
}

/// Converts the trace and has fio replay it; what fio did, from its own log, and how long it took.
/// `None` without fio.
fn replay(folder: &Path, options: &[&str]) -> Option<(Vec<Request>, Duration)> {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("SKIPPED: fio is not installed");
        return None;
    }
    let spec = TraceSpec::new(folder.join("trace.csv").to_string_lossy());
    let disk = folder.join("disk").to_string_lossy().into_owned();
    let encoder = |about: &About| text_encoder(Target::FioV3, about, Some(&disk)).unwrap();
    let (out, stop) = (folder.join("trace.fio"), AtomicBool::new(false));
    let conversion = Conversion {
        spec: &spec,
        out: &out,
        force: false,
        encoder: &encoder,
        progress: &|_, _| {},
        stop: &stop,
    };
    convert(&conversion).unwrap();
    let start = Instant::now();
    let fio = Command::new("fio")
        .args([
            "--name=x",
            "--read_iolog=trace.fio",
            "--ioengine=psync",
            "--direct=0",
            "--log_offset=1",
        ])
        .args(["--write_lat_log=log", "--output=report.txt"])
        .args(options)
        .current_dir(folder)
        .output()
        .unwrap();
    let took = start.elapsed();
    assert!(fio.status.success(), "{}", String::from_utf8_lossy(&fio.stderr));
    // A line: time in ms, latency, direction, bytes, offset, priority. (fio ignores --write_iolog
    // while it replays.)
    let log = std::fs::read_to_string(folder.join("log_lat.1.log")).unwrap();
    let requests = log.lines().map(|line| {
        let fields: Vec<u64> =
            line.split(", ").take(5).map(|field| field.parse().unwrap()).collect();
        (fields[2], fields[4], fields[3])
    });
    Some((requests.collect(), took))
}

#[test]
fn fio_does_what_the_trace_did_in_its_order() {
    let (folder, requests) = trace("order", 300, 3_000_000);
    let Some((done, _)) = replay(&folder, &["--replay_no_stall=1"]) else { return };
    assert_eq!(done, requests);
}

#[test]
fn fio_takes_the_times_for_microseconds() {
    let (folder, requests) = trace("times", 30, 300_000);
    let Some((done, took)) = replay(&folder, &[]) else { return };
    assert_eq!(done, requests);
    // In nanoseconds it would be over at once. In milliseconds it would take five minutes, which
    // needs no assertion.
    assert!(took >= Duration::from_millis(250), "{took:?}");
}

#[test]
fn an_excerpt_of_a_latency_log_of_fio_is_read_for_what_it_is() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fio-3.33_clat.1.log");
    let text = std::fs::read_to_string(&file).unwrap();
    let of = |direction: &str| -> Vec<u64> {
        let lines = text.lines().map(|line| line.split(", ").collect::<Vec<_>>());
        lines.filter(|cells| cells[2] == direction).map(|cells| cells[1].parse().unwrap()).collect()
    };
    let summary = trace_summary(&TraceSpec::new(file.to_string_lossy())).unwrap();
    assert_eq!(summary.format, TraceFormat::FioLat);
    let (reads, writes) = (of("0"), of("1"));
    assert_eq!((summary.reads, summary.writes), (reads.len() as u64, writes.len() as u64));
    assert_eq!(
        summary.recorded.read.histogram.max().map(|max| max.as_ns()),
        reads.iter().max().copied()
    );
    assert_eq!(
        summary.recorded.write.histogram.max().map(|max| max.as_ns()),
        writes.iter().max().copied()
    );
}

#[test]
fn a_latency_log_of_this_fio_holds_the_reads_and_latencies_that_fio_reports() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio-latency-log");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let fio = Command::new("fio")
        .args([
            "--name=j",
            "--filename=disk",
            "--size=4m",
            "--rw=randrw",
            "--bssplit=4k/50:8k/50",
            "--ioengine=psync",
        ])
        .args([
            "--number_ios=300",
            "--write_lat_log=j",
            "--log_offset=1",
            "--output-format=json",
            "--output=out.json",
        ])
        .current_dir(&folder)
        .output();
    if fio.is_err() {
        println!("SKIPPED: fio is not installed; the excerpt of a log is read all the same");
        return;
    }
    let report = std::fs::read_to_string(folder.join("out.json")).unwrap();
    let report: serde_json::Value =
        serde_json::from_str(&report[report.find('{').unwrap()..]).unwrap();
    let summary =
        trace_summary(&TraceSpec::new(folder.join("j_clat.1.log").to_string_lossy())).unwrap();
    assert_eq!(summary.format, TraceFormat::FioLat, "{summary}");
    let ours = [(summary.reads, &summary.recorded.read), (summary.writes, &summary.recorded.write)];
    for (name, (count, latencies)) in ["read", "write"].into_iter().zip(ours) {
        let theirs = &report["jobs"][0][name];
        assert_eq!(theirs["total_ios"], count, "{name}");
        assert_eq!(
            theirs["clat_ns"]["max"].as_u64(),
            latencies.histogram.max().map(|max| max.as_ns()),
            "{name}"
        );
    }
    let bandwidth = Command::new("fio")
        .args([
            "--name=j",
            "--filename=disk",
            "--size=4m",
            "--rw=randread",
            "--ioengine=psync",
            "--number_ios=30",
        ])
        .args(["--write_bw_log=j", "--log_offset=1", "--output=out.txt"])
        .current_dir(&folder)
        .status();
    assert!(bandwidth.unwrap().success());
    let error =
        trace_summary(&TraceSpec::new(folder.join("j_bw.1.log").to_string_lossy())).unwrap_err();
    assert!(error.to_string().contains("bandwidth or IOPS"), "{error}");
}
