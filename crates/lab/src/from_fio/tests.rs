//! Job files, and what becomes of them.

use super::*;
use manx_core::config::{Source, load_profile};
use manx_core::host::{Arrival, JobSpec, Pattern};
use manx_core::units::{Bytes, Duration};

const MIX: &str = "
[global]
ioengine=io_uring
direct=1
bs=4k
time_based
runtime=10m
ramp_time=30s
zoned_thing=7

[reader]
rw=randread
iodepth=1
norandommap
; a comment
[writers]
rw=randwrite
iodepth=128
numjobs=2
rate_iops=5000
fsync=32
";

fn jobs(text: &str) -> Vec<JobSpec> {
    let found = from_fio("a.fio", text).unwrap_or_else(|error| panic!("{error}"));
    let source = Source { file: "a.toml".to_string(), text: found.toml };
    let profile = load_profile(&source, None).unwrap_or_else(|error| panic!("{error}"));
    profile.workload.jobs
}

#[test]
fn sections_become_jobs_with_what_is_global_in_each() {
    let jobs = jobs(MIX);
    let [reader, writer, again] = jobs.as_slice() else { panic!("{jobs:?}") };
    assert_eq!((reader.read_percent, reader.queue_depth), (100.0, 1));
    assert_eq!((reader.pattern, reader.arrival), (Pattern::Random, Arrival::Closed));
    assert_eq!(reader.time, Duration::from_s(630));
    assert_eq!((writer.read_percent, writer.queue_depth), (0.0, 128));
    assert_eq!((writer.pattern, writer.arrival), (Pattern::Shuffle, Arrival::Paced));
    assert_eq!((writer.rate, writer.flush_every), (5000.0, 32));
    assert_eq!(writer, again);
    let remarks = from_fio("a.fio", MIX).unwrap().remarks.join("\n");
    assert!(remarks.contains("line 9: zoned_thing=7: left out, Manx does not know it"));
    assert!(remarks.contains("--set measure.warmup=30000ms"), "{remarks}");
}

#[test]
fn sizes_ranges_and_bounds_are_taken_over() {
    let text = "[a]\nrw=randrw\nrwmixread=70\nbs=4k,16k\noffset=1m\nsize=64m\nba=8k\n[b]\n\
                rw=write\nbssplit=4k/25:64k/75\nnumber_ios=500\nsync=dsync\n[c]\nrw=randread\n\
                random_distribution=zipf:1.1\nnumber_ios=10\nthinktime=50\n";
    let jobs = jobs(text);
    assert_eq!((jobs[0].read_percent, jobs[0].offset), (70.0, Bytes::kib(1024)));
    assert_eq!(jobs[0].block_sizes, [(Bytes::kib(4), 1.0)]);
    assert_eq!(jobs[0].write_block_sizes, [(Bytes::kib(16), 1.0)]);
    assert_eq!((jobs[0].requests, jobs[0].align), (6553, Bytes::kib(8)));
    assert_eq!(jobs[1].block_sizes, [(Bytes::kib(4), 25.0), (Bytes::kib(64), 75.0)]);
    assert_eq!((jobs[1].requests, jobs[1].fua_percent), (500, 100.0));
    assert_eq!((jobs[2].pattern, jobs[2].zipf_theta), (Pattern::Zipf, 1.1));
    assert_eq!(jobs[2].think, Duration::from_us(50));
}

#[test]
fn each_bad_line_is_named() {
    let bad = [
        ("", "a.fio:1: there is no job"),
        ("rw=read\n", "a.fio:1: rw=read stands before the first section"),
        ("[a\n", "a.fio:1: [a is no section"),
        ("[a]\nrw=randread\n", "a.fio:1: [a] has no end"),
        ("[a]\nrw=backwards\nruntime=1\n", "a.fio:2: rw=backwards is not allowed: read"),
        ("[a]\nbs=1000\nruntime=1\n", "a.fio:2: bs=1000 is not allowed: sizes"),
        ("[a]\nbssplit=4k\nruntime=1\n", "a.fio:2: bssplit=4k is not allowed: SIZE"),
        ("[a]\niodepth=x\nruntime=1\n", "a.fio:2: iodepth=x is not allowed"),
        ("[a]\nruntime=soon\n", "a.fio:2: runtime=soon is not allowed: a time"),
        ("[a]\nruntime=1\nnumjobs=0\n", "a.fio:3: numjobs=0 is not allowed: 1 to 256"),
        ("[a]\nruntime=1\nsize=50%\n", "a.fio:3: size=50% is not allowed: 100%"),
        ("[a]\nruntime=1\nstonewall\n", "a.fio:3: stonewall: jobs one after the other"),
        ("[a]\niodepth=0\nruntime=1\n", "a.fio:2: iodepth=0 is not allowed"),
        ("[a]\nruntime=1\nrate_iops=inf\n", "a.fio:3: rate_iops=inf is not allowed"),
        ("[a]\nrate_iops=5\nstartdelay=1\nruntime=1\n", "a.fio:3: startdelay=1 is not"),
        ("[a]\nrw=randread\nrandom_distribution=pareto:1\nruntime=1\n", "random or zipf"),
        ("[a]\nruntime=1\nrate_iops=fast\n", "a.fio:3: rate_iops=fast is not allowed"),
        ("[a]\ninclude other.fio\n", "a.fio:2: include other.fio"),
    ];
    for (text, words) in bad {
        let error = from_fio("a.fio", text).expect_err(words).to_string();
        assert!(error.contains(words), "{error}\n{words}");
    }
}

/// fio: a synchronous engine, and psync is its own, has one request under way; a limit is that of
/// each side, and the mix holds back the other.
#[test]
fn depths_and_rates_are_those_that_fio_has() -> Result<(), JobFileError> {
    for engine in ["ioengine=psync\n", "ioengine=sync\n", ""] {
        let text = format!("[a]\nrw=randread\n{engine}iodepth=32\nruntime=1\n");
        assert_eq!(jobs(&text)[0].queue_depth, 1, "{engine}");
        assert!(from_fio("a.fio", &text)?.toml.contains("one request at a time"));
    }
    let rate = |mix: &str, limit: &str| {
        let text = format!("[a]\nrw=randrw\nrwmixread={mix}\nrate_iops={limit}\nruntime=1\n");
        jobs(&text)[0].rate
    };
    assert!((rate("70", "1000") - 1000.0 / 0.7).abs() < 0.01);
    assert!((rate("50", "1000") - 2000.0).abs() < 0.01);
    assert!((rate("70", "1000,150") - 500.0).abs() < 0.01);
    let text = "[a]\nrw=randread\nfilename=/dev/a\\:b\nruntime=1\n";
    assert_eq!(jobs(text)[0].files, 1);
    Ok(())
}

#[test]
fn several_devices_are_asked_in_turn_and_a_start_is_kept() {
    let text = "[a]\nrw=randread\nfilename=/dev/a:/dev/b:/dev/c\nruntime=1\n";
    assert_eq!((jobs(text)[0].pattern, jobs(text)[0].files), (Pattern::Shuffle, 3));
    let late = &jobs("[a]\nstartdelay=2\nruntime=1\n")[0];
    assert_eq!((late.files, late.start.as_ns()), (1, 2_000_000_000));
    let remarks = from_fio("a.fio", text).unwrap().remarks;
    assert!(remarks[0].contains("array.members = 3"), "{remarks:?}");
}
