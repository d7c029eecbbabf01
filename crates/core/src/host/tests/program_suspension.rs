//! Programs that give way, on whole drives: what changes where nobody reads, who starves, where the
//! time goes, and what each setting moves.

use super::suspension::played;
use super::{Setup, drawn, small};
use crate::drive::{Op, ProgramMode, ProgramSpec, Scheduler};
use crate::flash::{ChannelTake, ChannelTiming};
use crate::ftl::GcMode;
use crate::host::{Driver, JobSpec};
use crate::units::{Bandwidth, Bytes, Cause, Duration};

const ALL: [ProgramMode; 3] = [ProgramMode::Ideal, ProgramMode::Ips, ProgramMode::Ipc];

/// Everything that the host or a report could see.
fn digest(driver: &Driver) -> String {
    let (flash, ftl) = (driver.drive().flash(), driver.drive().ftl());
    let state = (driver.drive().counters(), flash.operations(), flash.busy(), ftl.wear());
    format!("{:?} {:?} {state:?} {:?}", driver.now(), driver.measured(), ftl.mapping().table())
}

#[test]
fn where_nobody_reads_every_mode_is_the_drive_without_suspension() {
    for seed in 0..40 {
        let mut setup = drawn(seed);
        setup.drive.scheduler = Scheduler::ReadFirst;
        setup.jobs[0].read_percent = 0.0;
        // Where programs may be suspended none is preloaded.
        setup.device.feature.cache_program = false;
        setup.program.gc_reads = false;
        setup.program.mode = ProgramMode::None;
        // A read that may suspend takes its die at once.
        setup.drive.channel_take = ChannelTake::Early;
        let none = digest(&setup.play());
        for mode in ALL {
            setup.program.mode = mode;
            assert_eq!(digest(&setup.play()), none, "seed {seed}: {mode:?}");
        }
    }
}

#[test]
fn a_mode_of_none_asks_for_nothing_whatever_its_times_are() {
    for seed in 0..20 {
        let mut setup = drawn(seed);
        setup.program = ProgramSpec::default();
        let plain = digest(&setup.play());
        let (suspend, resume) = (Duration::from_s(1), Duration::from_s(2));
        setup.program = ProgramSpec {
            loops: 99,
            verify_percent: 1,
            suspend,
            resume,
            gc_reads: true,
            ..setup.program
        };
        assert_eq!(digest(&setup.play()), plain, "seed {seed}");
    }
}

/// Between reads: no multiple or part of what a program takes.
const NOW_AND_THEN: Duration = Duration::from_ns(517_333);

/// Reads of all four dies, one after the other with `think` between them, beside a writer whose
/// writes end on flash. Nothing is collected in any time.
fn beside_writes(mode: ProgramMode, think: Duration) -> Setup {
    let mut setup = small();
    setup.device.channel =
        ChannelTiming { rate: Bandwidth::bytes_per_second(3_000_000_000), ..setup.device.channel };
    setup.gc.mode = GcMode::Nogc;
    setup.drive.write_through = true;
    setup.program.mode = mode;
    let job =
        JobSpec { queue_depth: 1, requests: 0, time: Duration::from_s(2), ..setup.jobs[0].clone() };
    let (size, page) = (Bytes::kib(16), Bytes::kib(4));
    let reads = JobSpec {
        read_percent: 100.0,
        block_sizes: vec![(size, 1.0)],
        align: size,
        think,
        ..job.clone()
    };
    let writes = JobSpec { read_percent: 0.0, block_sizes: vec![(page, 1.0)], align: page, ..job };
    setup.jobs = vec![reads, writes];
    setup
}

fn longest_and_mean_read(driver: &Driver) -> (Duration, Duration) {
    let reads = &driver.measured().read.histogram;
    (reads.max().unwrap(), reads.mean().unwrap())
}

#[test]
fn a_read_beside_writes_waits_for_a_phase_and_not_for_a_program() {
    let program = small().device.timing.program[0];
    let [none, ideal, ips, ipc] =
        [ProgramMode::None, ProgramMode::Ideal, ProgramMode::Ips, ProgramMode::Ipc]
            .map(|mode| longest_and_mean_read(&played(&beside_writes(mode, NOW_AND_THEN))));
    // A pulse is 60 % of one of eight loops.
    let pulse = Duration::from_ns(program.as_ns() * 60 / 800);
    let spec = ProgramSpec::default();
    // The command and data of the program may be on their way, and the transfers of four reads
    // meet.
    let slack = Duration::from_us(10);
    // The one who reads waits for whole programs, and then keeps step with the writer.
    assert!(none.0 * 2 > program && none.0 < program + ideal.0 + slack, "{none:?} {ideal:?}");
    assert!(
        ips.0 * 2 > ideal.0 * 2 + pulse && ips.0 <= ideal.0 + pulse + spec.resume + slack,
        "{ips:?} {ideal:?}"
    );
    assert!(
        ipc.0 * 2 > ideal.0 * 2 + spec.suspend && ipc.0 <= ideal.0 + spec.suspend + slack,
        "{ipc:?} {ideal:?}"
    );
    assert!(
        ideal.1 < ipc.1 && ipc.1 < ips.1 && ips.1 < none.1,
        "{ideal:?} {ipc:?} {ips:?} {none:?}"
    );
}

#[test]
fn dense_reads_starve_ipc_where_a_phase_is_longer_than_their_gaps_and_never_ips() {
    for mode in [ProgramMode::None, ProgramMode::Ips, ProgramMode::Ipc] {
        let mut setup = beside_writes(mode, Duration::from_us(50));
        setup.program.loops = 1;
        let driver = played(&setup);
        let counters = driver.drive().counters().suspended;
        if mode == ProgramMode::Ipc {
            let starved = driver.starved().expect("it starves");
            assert_eq!((starved.op, starved.age), (Op::Write, Duration::from_s(1)));
            assert!(
                counters.per_program_max > 4_000
                    && counters.aborted_phases > Duration::from_ms(100)
            );
        } else {
            assert_eq!(driver.starved(), None, "{mode:?}");
            assert!(driver.measured().write.histogram.count() > 1_000, "{mode:?}");
            // Before each of its two phases.
            assert!(
                counters.per_program_max <= 2 && counters.aborted_phases.is_zero(),
                "{counters:?}"
            );
        }
    }
}

/// The time that reads took from a program is no service of the write that waits for it.
#[test]
fn a_write_serves_for_its_own_program_and_waits_for_the_reads_in_between() {
    for mode in [ProgramMode::None].into_iter().chain(ALL) {
        let setup = beside_writes(mode, NOW_AND_THEN);
        let mut driver = setup.driver().with_attribution().with_records();
        driver.play_to_the_end();
        let (timing, channel) = (&setup.device.timing, &setup.device.channel);
        let own = setup.drive.controller
            + channel.command
            + channel.rate.time_for(4096)
            + timing.program[0];
        let records = driver.take_records().unwrap();
        let mut seen = [Duration::ZERO; 2];
        for (record, split) in
            records.requests.iter().zip(&records.splits).filter(|(r, _)| r.op == Op::Write)
        {
            assert_eq!(split.get(Cause::Service), own, "{mode:?}: {record:?} {split:?}");
            seen = [seen[0] + split.get(Cause::Reads), seen[1] + split.get(Cause::Suspension)];
        }
        let counters = driver.drive().counters().suspended;
        let [reads, suspension] = seen;
        // Ideal suspension costs nothing but the reads; without it a write waits for reads only
        // before its program.
        let costs = matches!(mode, ProgramMode::Ips | ProgramMode::Ipc);
        assert_eq!(suspension > Duration::ZERO, costs, "{mode:?}");
        let reads_in_between = timing.read[0] * counters.program_suspensions;
        assert!(reads >= reads_in_between, "{mode:?}: {reads} {reads_in_between}");
        assert_eq!(
            counters.program_suspensions > 500,
            mode != ProgramMode::None,
            "{mode:?}: {counters:?}"
        );
        if costs {
            // Each went on once; `ipc` also stopped, and did again what it gave up. Two may lack at
            // the end of a run.
            let each = if mode == ProgramMode::Ips { setup.program.resume } else { Duration::ZERO };
            let most = setup.program.resume + setup.program.suspend;
            let stops = counters.program_suspensions;
            assert!(
                suspension + most * 2 >= each * stops + counters.aborted_phases,
                "{mode:?}: {suspension}"
            );
            assert!(suspension <= most * stops + counters.aborted_phases, "{mode:?}: {suspension}");
        }
    }
}

#[test]
fn a_read_waits_for_the_program_of_a_collection_as_for_garbage_collection() {
    let causes = |mode| {
        let mut setup = beside_writes(mode, NOW_AND_THEN);
        setup.gc.mode = GcMode::Preemptive;
        setup.gc.reads_first = true;
        // Hardly an erase: its waits are another story.
        setup.device.timing.erase_step = Duration::from_us(1);
        let driver = played(&setup);
        assert!(driver.drive().counters().copied_units > 300, "{mode:?}");
        let total = driver.measured().causes.as_ref().unwrap().read.total().1;
        [Cause::GcCopy, Cause::Program, Cause::Suspension].map(|cause| total.get(cause))
    };
    let [none, ideal, ips, ipc] =
        [ProgramMode::None, ProgramMode::Ideal, ProgramMode::Ips, ProgramMode::Ipc].map(causes);
    for part in 0..2 {
        let [none, ips, ipc, ideal] = [none, ips, ipc, ideal].map(|parts| parts[part]);
        assert!(
            none > ips * 3 && ips > ipc * 2 && ips > ideal * 2,
            "{part}: {none} {ips} {ipc} {ideal}"
        );
    }
    assert_eq!([none[2], ideal[2]], [Duration::ZERO; 2]);
    assert!(ipc[2] > ips[2], "it stops in a phase for 20 us: {ipc:?} {ips:?}");
}

#[test]
fn each_setting_of_a_program_suspension_moves_what_it_should() {
    let run = |mode, change: fn(&mut ProgramSpec)| {
        let mut setup = beside_writes(mode, NOW_AND_THEN);
        change(&mut setup.program);
        played(&setup)
    };
    let longest = |driver: &Driver| longest_and_mean_read(driver).0;
    let mean_write = |driver: &Driver| driver.measured().write.histogram.mean().unwrap();
    let (ips, ipc) = (run(ProgramMode::Ips, |_| {}), run(ProgramMode::Ipc, |_| {}));
    let slow = run(ProgramMode::Ipc, |p| p.suspend = Duration::from_us(120));
    let later = longest(&slow).as_ns().abs_diff(longest(&ipc).as_ns());
    assert!(later.abs_diff(100_000) < 5_000, "{later}");
    // One read comes in about a program.
    let slow = run(ProgramMode::Ips, |p| p.resume = Duration::from_us(105));
    assert!(
        mean_write(&slow) > mean_write(&ips) + Duration::from_us(50),
        "{} {}",
        mean_write(&slow),
        mean_write(&ips)
    );
    let fine = run(ProgramMode::Ips, |p| p.loops = 64);
    assert!(longest(&fine) + Duration::from_us(30) < longest(&ips));
    let coarse = run(ProgramMode::Ips, |p| p.verify_percent = 95);
    assert!(longest(&coarse) > longest(&ips) + Duration::from_us(20));
    let gives_up = |driver: &Driver| {
        let counters = driver.drive().counters().suspended;
        counters.aborted_phases.as_ns() / counters.program_suspensions
    };
    let fine = run(ProgramMode::Ipc, |p| p.loops = 64);
    assert!(gives_up(&fine) * 2 < gives_up(&ipc), "{} {}", gives_up(&fine), gives_up(&ipc));
}

/// With lanes that share a die, the reads of a collection may wait for a program of another lane.
#[test]
fn reads_of_garbage_collection_suspend_programs_where_they_may() {
    let suspensions = |gc_reads: bool| {
        let mut setup = small();
        setup.device.geometry.planes = 4;
        setup.gc.mode = GcMode::Preemptive;
        setup.jobs[0].read_percent = 0.0;
        setup.program = ProgramSpec { mode: ProgramMode::Ips, gc_reads, ..ProgramSpec::default() };
        setup.play().drive().counters().suspended.program_suspensions
    };
    assert_eq!(suspensions(false), 0, "nobody else reads");
    assert!(suspensions(true) > 100);
}

/// The cache register takes the data of reads, so no program is loaded ahead; a drive without the
/// feature is the same.
#[test]
fn a_drive_that_suspends_programs_preloads_none() {
    let mut setup = small();
    setup.program.mode = ProgramMode::Ips;
    let plain = digest(&setup.play());
    setup.device.feature.cache_program = true;
    assert_eq!(digest(&setup.play()), plain);
    setup.program.mode = ProgramMode::None;
    let cached = digest(&setup.play());
    setup.device.feature.cache_program = false;
    assert_ne!(digest(&setup.play()), cached);
}
