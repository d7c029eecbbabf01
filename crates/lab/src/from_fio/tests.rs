//! Job files, and what becomes of them.

use super::*;
use manx_config::{Source, load_profile};
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
    assert_eq!((writer.pattern, writer.arrival), (Pattern::Shuffle, Arrival::PacedSmooth));
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
    // 7 of 10 are 4 KiB, 3 are 16 KiB.
    assert_eq!((jobs[0].requests, jobs[0].align), (8623, Bytes::kib(8)));
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
        ("[a]\nruntime=1\nkb_base=1000\n", "a.fio:3: kb_base=1000 is not allowed: 1024"),
        ("[a]\nruntime=1\nrw=rw\nrwmixwrite=150\n", "rwmixwrite=150 is not allowed: 0 to 100"),
        ("[a]\nrw=randread\nrandom_distribution=zipf:nan\nruntime=1\n", "zipf:THETA"),
        ("[a]\nruntime=1\nthinktime=5\nthinktime_blocks=8\n", "thinktime_blocks=8 is not"),
        ("[a]\nrw=rw\nruntime=1\nrate_iops=5,\n", "a limit of reads and one of writes"),
        ("[a]\nruntime=1\nfilename=/dev/a:/dev/b\nsize=64m\n", "a.fio:4: size=64m is not"),
        (
            "[a]\nruntime=1\nfilename=/dev/a\n[b]\nruntime=1\nfilename=/dev/b\n",
            "a.fio:6: filename=/dev/b: [b] is for another device than [a]",
        ),
    ];
    for (text, words) in bad {
        let error = from_fio("a.fio", text).expect_err(words).to_string();
        assert!(error.contains(words), "{error}\n{words}");
    }
}

/// fio: a synchronous engine, and psync is its own, has one request under way; a limit is that of
/// each side, and the mix follows from them.
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
    assert!((rate("70", "1000") - 2000.0).abs() < 0.01);
    assert!((rate("50", "1000") - 2000.0).abs() < 0.01);
    assert!((rate("70", "1000,150") - 1150.0).abs() < 0.01);
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

/// Each as fio 3.33 does it (a run of it beside the first version of these, which did otherwise).
#[test]
fn pauses_starts_aliases_and_sizes_are_those_that_fio_has() -> Result<(), JobFileError> {
    // fio stops the job, and not a slot of its queue; a pause longer than the gaps is kept.
    let of = |text: &str| jobs(&format!("[a]\nioengine=libaio\n{text}"));
    let think = &of("rw=randread\niodepth=16\nthinktime=1000\nruntime=1\n")[0];
    assert_eq!((think.queue_depth, think.think), (1, Duration::from_ms(1)));
    let think = &of("rate_iops=5000\nthinktime=1000\nruntime=1\n")[0];
    assert_eq!((think.arrival, think.think), (Arrival::Closed, Duration::from_ms(1)));
    let paced = &of("rate_iops=500\nthinktime=1000\nruntime=1\n")[0];
    assert_eq!((paced.arrival, paced.rate), (Arrival::PacedSmooth, 500.0));
    // The run of a job is counted from its start.
    let late = &of("startdelay=3\nruntime=1\n")[0];
    assert_eq!((late.start, late.time), (Duration::from_s(3), Duration::from_s(4)));
    // Sizes and limits are those of what is asked.
    let reads = &of("rw=randread\nbs=4k,64k\nrate=4m\nsize=68m\n")[0];
    assert_eq!((reads.rate, reads.requests), (1024.0, 17_408));
    let trims = &of("rw=randtrim\nbs=4k,8k,64k\nnumber_ios=9\n")[0];
    assert_eq!(trims.block_sizes, [(Bytes::kib(64), 1.0)]);
    assert_eq!(of("bs=,8k\nrw=randwrite\nruntime=1\n")[0].block_sizes[0].0, Bytes::kib(8));
    assert_eq!(of("bs=64Ki\nsize=640Ki\n")[0].requests, 10, "of 64,000 B");
    assert_eq!(of("size=4m\nnumber_ios=100000\n")[0].requests, 1024);
    // The last word counts, under whatever name.
    let text = "[global]\nbs=4k\nrw=randread\n[j]\nblocksize=64k\nreadwrite=randwrite\nruntime=1\n";
    assert_eq!(jobs(text)[0].block_sizes[0].0, Bytes::kib(64));
    assert_eq!(jobs(text)[0].read_percent, 0.0);
    assert_eq!(of("rw=randrw\nrwmixread=30\nrwmixwrite=40\nruntime=1\n")[0].read_percent, 60.0);
    // Jobs without a file's name have a file each.
    let files = of("rw=randread\nsize=64m\nnumjobs=3\n");
    let offsets: Vec<u64> = files.iter().map(|job| job.offset.get() >> 20).collect();
    assert_eq!(offsets, [0, 64, 128]);
    let said = from_fio("a.fio", "[a]\nrw=randread\nbssplit=4k/50:8k/50\nsize=4m\n")?.remarks;
    assert!(said.iter().any(|remark| remark.contains("may come back to a place")), "{said:?}");
    Ok(())
}
