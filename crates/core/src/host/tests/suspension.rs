//! Erases that give way, on whole drives: the two ends of `t-es`, what its time moves, and who
//! starves.

use super::{Setup, drawn, small};
use crate::drive::{EraseLength, EraseMode, EraseSpec, Op, ProgramMode, Scheduler};
use crate::flash::ChannelTiming;
use crate::ftl::GcMode;
use crate::host::{Arrival, Driver, JobSpec};
use crate::units::{Bandwidth, Bytes, Cause, Duration};

/// Longer than any run here.
const FOREVER: Duration = Duration::from_s(366 * 24 * 3600);

fn erase(mode: EraseMode, timeout: Duration) -> EraseSpec {
    EraseSpec { mode, timeout, ..EraseSpec::default() }
}

/// Everything that the host or a report could see.
fn digest(driver: &Driver) -> String {
    let (flash, ftl) = (driver.drive().flash(), driver.drive().ftl());
    let state = (driver.drive().counters(), flash.operations(), flash.busy(), ftl.wear());
    format!("{:?} {:?} {state:?} {:?}", driver.now(), driver.measured(), ftl.mapping().table())
}

#[test]
fn t_es_without_time_is_d_es_and_with_all_the_time_i_es() {
    let mut suspended = [0; 2];
    for seed in 0..60 {
        let mut setup = drawn(seed);
        setup.drive.scheduler = Scheduler::ReadFirst;
        let mut played = |mode, timeout| {
            let (gc_reads, safe_points) = (setup.erase.gc_reads, setup.erase.safe_points);
            setup.erase = EraseSpec { gc_reads, safe_points, ..erase(mode, timeout) };
            let driver = setup.play();
            (digest(&driver), driver.drive().counters().suspended.suspensions)
        };
        let ends = [(Duration::ZERO, EraseMode::DEs), (FOREVER, EraseMode::IEs)];
        for ((timeout, mode), sum) in ends.into_iter().zip(&mut suspended) {
            let (as_t_es, suspensions) = played(EraseMode::TEs, timeout);
            assert_eq!(as_t_es, played(mode, Duration::from_ms(64)).0, "seed {seed}: {mode:?}");
            *sum += suspensions;
        }
    }
    assert!(suspended.iter().all(|sum| *sum > 500), "{suspended:?}");
}

#[test]
fn free_suspension_is_ideal_suspension() {
    for seed in 0..30 {
        let mut setup = drawn(seed);
        setup.drive.scheduler = Scheduler::ReadFirst;
        let (suspend, resume) = (Duration::ZERO, Duration::ZERO);
        setup.device.channel.suspend_command = Duration::ZERO;
        setup.erase = EraseSpec { suspend, resume, ..erase(EraseMode::Es, FOREVER) };
        let es = setup.play();
        setup.erase.mode = EraseMode::Ideal;
        let ideal = setup.play();
        let seen = |driver: &Driver| {
            format!("{:?} {:?}", driver.measured(), driver.drive().flash().busy())
        };
        // They differ in what is counted as a ramp, and in nothing else.
        let [es, ideal] = [es, ideal].map(|driver| (seen(&driver), driver.now()));
        assert_eq!(es, ideal, "seed {seed}");
    }
}

/// Reads of all four dies, one after the other with 50 us between them, beside a writer: each die
/// reads for half of the time, and never rests for as long as it takes to suspend and resume an
/// erase.
pub(super) fn dense(mode: EraseMode, timeout: Duration) -> Setup {
    let mut setup = small();
    setup.device.channel =
        ChannelTiming { rate: Bandwidth::bytes_per_second(3_000_000_000), ..setup.device.channel };
    // Shorter than a step, so that the longest read is one that met an erase.
    setup.device.timing.program = vec![Duration::from_us(100)];
    setup.gc.mode = GcMode::Preemptive;
    setup.gc.reads_first = true;
    setup.drive.write_through = true;
    setup.erase = erase(mode, timeout);
    let time = Duration::from_s(3);
    let job = JobSpec { queue_depth: 1, requests: 0, time, ..setup.jobs[0].clone() };
    let reads = JobSpec {
        read_percent: 100.0,
        block_sizes: vec![(Bytes::kib(16), 1.0)],
        align: Bytes::kib(16),
        think: Duration::from_us(50),
        ..job.clone()
    };
    let writes = JobSpec { read_percent: 0.0, block_sizes: vec![(Bytes::kib(4), 1.0)], ..job };
    setup.jobs = vec![reads, writes];
    setup
}

/// A host that gives up after a second, and checks what it reads.
pub(super) fn played(setup: &Setup) -> Driver {
    let mut driver = setup.driver().with_attribution().with_timeout(Duration::from_s(1));
    driver.play_to_the_end();
    assert_eq!(driver.oracle().unwrap().mismatches(), 0);
    driver
}

#[test]
fn dense_reads_starve_es_and_i_es_and_no_other() {
    let ms = Duration::from_ms;
    let step = small().device.timing.erase_step;
    let whole = step * 5;
    let mut writes = Vec::new();
    for mode in [EraseMode::None, EraseMode::DEs, EraseMode::TEs, EraseMode::Es, EraseMode::IEs] {
        let driver = played(&dense(mode, ms(20)));
        let (read, write) = (&driver.measured().read.histogram, &driver.measured().write.histogram);
        let (longest, counters) = (read.max().unwrap(), driver.drive().counters());
        writes.push(write.count());
        match mode {
            EraseMode::Es | EraseMode::IEs => {
                let starved = driver.starved().expect("it starves");
                assert_eq!((starved.op, starved.age), (Op::Write, Duration::from_s(1)));
                assert!((1..=2).contains(&starved.outstanding), "the reader may just be thinking");
                assert!(longest < step, "{mode:?}: {longest}");
                assert!(counters.suspended.per_erase_max > 4_000, "{mode:?}: {counters:?}");
                let aborted = counters.suspended.aborted;
                assert_eq!(aborted > Duration::ZERO, mode == EraseMode::IEs, "{mode:?}: {aborted}");
            }
            _ => {
                assert_eq!(driver.starved(), None, "{mode:?}");
                // The first read comes soon after the erase began.
                let longer_than = if mode == EraseMode::None { whole - step } else { step };
                let but_not = if mode == EraseMode::None { whole + step } else { step * 2 };
                assert!(longest > longer_than && longest < but_not, "{mode:?}: {longest}");
            }
        }
    }
    let [none, deferred, timed, es, immediate] = writes[..] else { unreachable!() };
    assert!(
        es < none / 10 && immediate < none / 10 && deferred > none / 2 && timed > 50,
        "{writes:?}"
    );
}

#[test]
fn a_host_looks_again_after_times_without_requests() {
    let mut setup = small();
    setup.jobs[0] = JobSpec { arrival: Arrival::Poisson, rate: 100.0, ..setup.jobs[0].clone() };
    setup.drive.write_through = true;
    let longest = |driver: &Driver| {
        let measured = driver.measured();
        measured.read.histogram.max().max(measured.write.histogram.max()).unwrap()
    };
    let mut whole = setup.driver();
    whole.play_to_the_end();
    // Requests are 10 ms apart: most times that it looks nobody waits and the drive rests.
    let longest = longest(&whole);
    for (timeout, starves) in [(longest, false), (longest - Duration::from_us(1), true)] {
        let mut driver = setup.driver().with_timeout(timeout + Duration::from_ns(1));
        driver.play_to_the_end();
        assert_eq!(driver.starved().is_some(), starves, "{timeout} of {longest}");
        if let Some(starved) = driver.starved() {
            assert_eq!(starved.age, timeout + Duration::from_ns(1));
            assert!(driver.progress().completed < whole.progress().completed);
        }
    }
}

/// `erase.timeout` trades reads for writes: the longer it is, the fewer reads wait for a step, and
/// the longer writes wait.
#[test]
fn the_time_of_t_es_moves_reads_and_writes_apart() {
    let runs: Vec<_> =
        [1, 8, 64].map(|ms| (ms, played(&dense(EraseMode::TEs, Duration::from_ms(ms))))).into();
    for pair in runs.windows(2) {
        let [(few, less), (many, more)] = pair else { unreachable!() };
        let read_mean = |driver: &Driver| driver.measured().read.histogram.mean().unwrap();
        let longest_write = |driver: &Driver| driver.measured().write.histogram.max().unwrap();
        assert!(read_mean(more) < read_mean(less), "{few} and {many} ms");
        let grown = longest_write(more).as_ns() as f64 - longest_write(less).as_ns() as f64;
        let expected = (many - few) as f64 * 1e6;
        assert!((grown - expected).abs() < 6e6, "{few} and {many} ms: longer by {grown} ns");
    }
}

#[test]
fn suspension_is_a_cause_where_it_takes_time_and_none_where_it_takes_none() {
    for (mode, any) in
        [(EraseMode::None, false), (EraseMode::DEs, false), (EraseMode::Ideal, false)]
            .into_iter()
            .chain([(EraseMode::Es, true), (EraseMode::IEs, true)])
    {
        let mut setup = dense(mode, FOREVER);
        // Few reads, so that nobody starves.
        setup.jobs[0].think = Duration::from_ms(1);
        let driver = played(&setup);
        assert_eq!(driver.starved(), None, "{mode:?}");
        let causes = driver.measured().causes.as_ref().unwrap().read.total().1;
        assert_eq!(causes.get(Cause::Suspension) > Duration::ZERO, any, "{mode:?}: {causes:?}");
        let waits_for_pulses = matches!(mode, EraseMode::None | EraseMode::DEs);
        assert_eq!(
            causes.get(Cause::Erase) > Duration::ZERO,
            waits_for_pulses,
            "{mode:?}: {causes:?}"
        );
    }
}

/// A stop inside a pulse costs the block a ramp, one between two pulses nothing; what `i-es`
/// repeats is stress as well.
#[test]
fn policies_differ_in_what_they_do_to_the_blocks() {
    let total = |mode| {
        let mut setup = dense(mode, FOREVER);
        setup.jobs[0].think = Duration::from_ms(1);
        let driver = played(&setup);
        let blocks = driver.drive().flash().stress();
        let ramps: u64 = blocks.iter().map(|block| u64::from(block.extra_ramps)).sum();
        let suspensions: u64 = blocks.iter().map(|block| u64::from(block.suspensions)).sum();
        (ramps, suspensions, blocks.iter().any(|block| block.aborted > Duration::ZERO))
    };
    for mode in [EraseMode::Ideal, EraseMode::DEs] {
        let (ramps, suspensions, aborted) = total(mode);
        assert!(ramps == 0 && suspensions > 100 && !aborted, "{mode:?}: {ramps} of {suspensions}");
    }
    for mode in [EraseMode::Es, EraseMode::IEs] {
        let (ramps, suspensions, aborted) = total(mode);
        assert!(ramps > 100 && ramps <= suspensions, "{mode:?}: {ramps} of {suspensions}");
        assert_eq!(aborted, mode == EraseMode::IEs);
    }
    assert_eq!(total(EraseMode::None), (0, 0, false));
}

/// The time of a block's erases follows from one draw, the same under every policy; less than the
/// worst case, more when worn.
#[test]
fn adaptive_erases_take_what_each_block_needs_whatever_the_policy() {
    let mean = |mode, need_all_at, length| {
        let mut setup = dense(mode, FOREVER);
        setup.jobs[0].think = Duration::from_ms(1);
        setup.erase =
            EraseSpec { length, need_all_at, need_least: 0.2, need_spread: 0.6, ..setup.erase };
        let driver = played(&setup);
        let blocks = driver.drive().flash().stress().to_vec();
        assert_eq!(blocks.len(), 4 * 24);
        blocks
            .into_iter()
            .map(|b| (b.erases > 0).then(|| b.pulse.as_ns() / u64::from(b.erases)))
            .collect::<Vec<_>>()
    };
    let device = small().device;
    let whole = device.timing.erase_step.as_ns() * u64::from(device.timing.erase_steps);
    let fixed = mean(EraseMode::DEs, 0, EraseLength::Fixed);
    assert!(fixed.iter().flatten().all(|each| *each == whole));
    let new = mean(EraseMode::DEs, 0, EraseLength::Adaptive);
    let least = *new.iter().flatten().min().unwrap();
    let most = *new.iter().flatten().max().unwrap();
    // Every 35th of the worst case from 0.2 to 0.8 of it, and 100 us for the count of fail bits.
    assert!(least > whole / 5 && least < whole * 3 / 10, "{least}");
    assert!(most > whole * 7 / 10 && most <= whole * 4 / 5 + whole / 35 + 100_000, "{most}");
    for (one, other) in new.iter().zip(mean(EraseMode::IEs, 0, EraseLength::Adaptive)) {
        assert!(one.is_none() || other.is_none() || *one == other, "{one:?} and {other:?}");
    }
    let worn = mean(EraseMode::DEs, 50, EraseLength::Adaptive);
    assert!(new.iter().zip(worn).all(|(new, worn)| new.is_none() || worn.is_none() || worn > *new));
}

#[test]
fn each_setting_of_a_suspension_moves_what_it_should() {
    let sparse = |change: fn(&mut EraseSpec)| {
        let mut setup = dense(EraseMode::IEs, FOREVER);
        setup.jobs[0].think = Duration::from_ms(1);
        change(&mut setup.erase);
        played(&setup)
    };
    let longest = |driver: &Driver| driver.measured().read.histogram.max().unwrap();
    let aborted_each = |driver: &Driver| {
        let suspended = driver.drive().counters().suspended;
        suspended.aborted.as_ns() / suspended.suspensions
    };
    let (slow, quick) = (sparse(|s| s.suspend = Duration::from_us(300)), sparse(|_| {}));
    assert!(longest(&slow) >= longest(&quick) + Duration::from_us(150));
    let (one, eight) = (sparse(|_| {}), sparse(|s| s.safe_points = 8));
    assert!(aborted_each(&eight) * 4 < aborted_each(&one));
    let deferred = |points: u32| {
        let mut setup = dense(EraseMode::DEs, FOREVER);
        setup.erase.safe_points = points;
        longest(&played(&setup))
    };
    assert!(deferred(8) + Duration::from_us(200) < deferred(1));
}

/// With lanes that share a die, the reads of a collection may wait for the erase of another one.
#[test]
fn reads_of_garbage_collection_suspend_erases_where_they_may() {
    let suspensions = |gc_reads: bool| {
        let mut setup = small();
        setup.device.geometry.planes = 4;
        setup.gc.mode = GcMode::Preemptive;
        setup.jobs[0].read_percent = 0.0;
        setup.erase = EraseSpec { gc_reads, ..erase(EraseMode::IEs, FOREVER) };
        setup.play().drive().counters().suspended.suspensions
    };
    assert_eq!(suspensions(false), 0, "nobody else reads");
    assert!(suspensions(true) > 10);
}

/// Limits keep what they say, and a read waits longer for it.
#[test]
fn limits_make_suspensions_rarer_and_reads_wait() {
    let played = |change: fn(&mut Setup)| {
        let mut setup = small();
        setup.gc.mode = GcMode::Preemptive;
        (setup.erase.mode, setup.program.mode) = (EraseMode::Es, ProgramMode::Ips);
        change(&mut setup);
        let driver = setup.play();
        let mean = driver.measured().read.histogram.mean().expect("there are reads");
        (driver.drive().counters().suspended, mean)
    };
    let (free, mean) = played(|_| {});
    assert!(free.per_erase_max > 2 && free.per_program_max > 2, "{free:?}");
    let (capped, waits) = played(|setup| {
        (setup.erase.max_suspensions, setup.program.max_suspensions) = (2, 1);
    });
    assert_eq!((capped.per_erase_max, capped.per_program_max), (2, 1));
    assert!(waits > mean, "{waits} {mean}");
    let (rarer, waits) = played(|setup| setup.erase.min_run = Duration::from_us(700));
    assert!(rarer.per_erase_max <= 2_000 / 700 + 1 && waits > mean, "{rarer:?} {waits} {mean}");
    let (rarer, waits) = played(|setup| setup.program.min_run = Duration::from_us(300));
    assert!(rarer.program_suspensions < free.program_suspensions, "{rarer:?} {free:?}");
    assert!(waits > mean, "{waits} {mean}");
}
