//! Attribution: the parts add up to each latency, a read's own part is what the device's table
//! says, and a drive in which only one thing can be waited for puts the waiting there.

use super::{Setup, drawn, small};
use crate::drive::{Op, ProgramMode};
use crate::flash::ChannelTiming;
use crate::ftl::{GcMode, GcWhen};
use crate::host::{Driver, JobSpec, Pattern};
use crate::stats::{CauseTimes, SplitStats};
use crate::units::{Bandwidth, Bytes, Cause, Duration, Split};

fn played(setup: &Setup) -> Driver {
    let mut driver = setup.driver().with_attribution();
    driver.play_to_the_end();
    assert_eq!(driver.oracle().unwrap().mismatches(), 0);
    driver
}

/// A channel that costs nothing.
const FREE: ChannelTiming = ChannelTiming {
    rate: Bandwidth::bytes_per_second(0),
    command: Duration::ZERO,
    erase_command: Duration::ZERO,
    suspend_command: Duration::ZERO,
};

/// Everything beyond a read's own work, and the share of it that one cause has.
fn excess(stats: &SplitStats, cause: Cause) -> (Duration, f64) {
    let all: Split = stats.total().1;
    let excess = all.total() - all.get(Cause::Service) - all.get(Cause::Link);
    (excess, all.get(cause).as_ns() as f64 / excess.as_ns() as f64)
}

/// The driver asserts it of every request; here it is asked of their sums, for a million requests
/// that GC disturbs.
#[test]
fn the_parts_of_a_million_requests_add_up_to_their_latencies() {
    for mode in [GcMode::Base, GcMode::Preemptive] {
        let mut setup = small();
        setup.gc.mode = mode;
        setup.jobs[0].requests = 500_000;
        setup.jobs[0].queue_depth = 8;
        let driver = played(&setup);
        let (measured, counters) = (driver.measured(), driver.drive().counters());
        assert!(counters.copied_units > 100_000, "{counters:?}");
        let causes = measured.causes.as_ref().unwrap();
        for (stats, split) in [(&measured.read, &causes.read), (&measured.write, &causes.write)] {
            let (count, total) = split.total();
            assert_eq!(count, stats.count());
            assert_eq!(u128::from(total.total().as_ns()), stats.histogram.sum_ns());
            assert!(count > 200_000);
        }
        assert!(causes.read.total().1.get(Cause::GcCopy) > Duration::from_s(1));
        assert_eq!(causes.slowest.len(), 20);
        assert!(causes.slowest.is_sorted_by(|one, two| one.record.latency >= two.record.latency));
        let longest = measured.read.histogram.max().max(measured.write.histogram.max());
        assert_eq!(Some(causes.slowest[0].record.latency), longest);
        for (list, op, stats) in [
            (&causes.slowest_reads, Op::Read, &measured.read),
            (&causes.slowest_writes, Op::Write, &measured.write),
        ] {
            assert_eq!((list.len(), Some(list[0].record.latency)), (20, stats.histogram.max()));
            assert!(list.iter().all(|slow| slow.record.op == op));
            let both = causes.slowest.iter().filter(|slow| slow.record.op == op);
            assert!(
                both.zip(list).all(|(one, other)| one == other),
                "the list of all holds the first of each"
            );
        }
    }
}

/// Whatever a read of one page waits for, its own work is a command, tR, and its data on the
/// channel.
#[test]
fn a_read_s_own_work_is_what_the_device_table_says() {
    let mut setup = small();
    setup.jobs[0] =
        JobSpec { requests: 20_000, queue_depth: 8, read_percent: 60.0, ..setup.jobs[0].clone() };
    let mut driver = setup.driver().with_attribution().with_records();
    driver.play_to_the_end();
    let records = driver.take_records().unwrap();
    let (timing, channel) = (&setup.device.timing, &setup.device.channel);
    let own = channel.command + timing.read[0] + channel.rate.time_for(4096);
    let hit = setup.drive.controller + setup.drive.buffer_hit;
    let (mut waited, mut reads) = (0, 0);
    for (record, split) in records.requests.iter().zip(&records.splits) {
        assert_eq!(split.total(), record.latency);
        if record.op == Op::Read {
            let service = split.get(Cause::Service);
            assert!(
                service == setup.drive.controller + own || service == hit,
                "{record:?} {split:?}"
            );
            reads += 1;
            waited += u64::from(record.latency > service);
        }
    }
    assert!(reads > 11_000 && waited > reads / 2, "{waited} of {reads}");
}

/// Sequential overwriting leaves nothing to copy: victims are erased as they are.
#[test]
fn only_erases_put_the_waiting_into_erase() {
    let mut setup = small();
    setup.gc.mode = GcMode::Preemptive;
    setup.device.channel = FREE;
    setup.device.timing.program = vec![Duration::from_ns(1)];
    let writer = JobSpec {
        pattern: Pattern::Sequential,
        read_percent: 0.0,
        think: Duration::from_us(100),
        requests: 20_000,
        ..JobSpec::default()
    };
    let reader = JobSpec { read_percent: 100.0, requests: 20_000, ..JobSpec::default() };
    setup.jobs = [writer, reader].map(|job| JobSpec { queue_depth: 1, ..job }).to_vec();
    let driver = played(&setup);
    let counters = driver.drive().counters();
    assert_eq!(counters.copied_units, 0);
    assert!(counters.erases > 100, "{counters:?}");
    let causes = driver.measured().causes.as_ref().unwrap();
    let (excess, share) = excess(&causes.read, Cause::Erase);
    assert!(share > 0.99 && excess > Duration::from_ms(50), "{excess} {share}");
    let slow = &causes.slowest[0];
    assert_eq!((slow.record.op, slow.story.unwrap().met.keeper.name()), (Op::Read, "erase"));
}

/// As many readers as dies, each on a die of its own: they meet on the channel only.
#[test]
fn only_transfers_put_the_waiting_into_channel() {
    let mut setup = small();
    (setup.device.geometry.channels, setup.device.geometry.ways) = (1, 4);
    setup.device.geometry.dies = 1;
    setup.device.channel.rate = Bandwidth::bytes_per_second(40_000_000);
    let job = JobSpec {
        pattern: Pattern::Sequential,
        read_percent: 100.0,
        queue_depth: 4,
        ..JobSpec::default()
    };
    setup.jobs = vec![JobSpec { requests: 20_000, ..job }];
    let driver = played(&setup);
    let causes = driver.measured().causes.as_ref().unwrap();
    let (excess, share) = excess(&causes.read, Cause::Channel);
    assert!(share > 0.99 && excess > Duration::from_s(1), "{excess} {share}");
}

/// A copy takes a tR and nearly nothing else, and the only reader meets no other.
#[test]
fn only_copies_put_the_waiting_into_gc_copy() {
    for (mode, when) in
        [(GcMode::Preemptive, GcWhen::Foreground), (GcMode::Base, GcWhen::Background)]
    {
        let mut setup = small();
        (setup.gc.mode, setup.gc.when) = (mode, when);
        setup.device.channel = FREE;
        let short = Duration::from_ns(1);
        setup.device.timing.program = vec![short];
        (setup.device.timing.erase_step, setup.device.timing.erase_steps) = (short, 1);
        let writer = JobSpec {
            read_percent: 0.0,
            think: Duration::from_us(300),
            requests: 20_000,
            ..JobSpec::default()
        };
        let reader = JobSpec { read_percent: 100.0, requests: 20_000, ..JobSpec::default() };
        setup.jobs = [writer, reader].map(|job| JobSpec { queue_depth: 1, ..job }).to_vec();
        setup.drive.buffer = Bytes::kib(64);
        let driver = played(&setup);
        assert!(driver.drive().counters().copied_units > 5_000);
        let causes = driver.measured().causes.as_ref().unwrap();
        let (excess, share) = excess(&causes.read, Cause::GcCopy);
        assert!(share > 0.99 && excess > Duration::from_ms(5), "{mode:?}: {excess} {share}");
    }
}

/// Reads of one page of a drive, blocked by garbage collection and not: each has a part behind it
/// exactly where the drive, which keeps other books for that, says that it was blocked.
pub(super) fn reads_behind_gc(setup: &Setup) -> [u64; 2] {
    let (seed, mut reads) = (setup.seed, [0; 2]);
    let unit = setup.device.geometry.map_unit.get() / 512;
    let mut driver = setup.driver().with_attribution().with_records();
    driver.play_to_the_end();
    let records = driver.take_records().unwrap_or_default();
    let one_page = |lba: u64, sectors: u32| lba / unit == (lba + u64::from(sectors) - 1) / unit;
    for (record, split) in records.requests.iter().zip(&records.splits) {
        if record.op != Op::Read || !one_page(record.lba.0, record.sectors) {
            continue;
        }
        let behind_gc = split.get(Cause::GcCopy) + split.get(Cause::Erase);
        let suspension = split.get(Cause::Suspension);
        if suspension.is_zero() || setup.program.mode == ProgramMode::None {
            let behind_gc = behind_gc + suspension;
            assert_eq!(
                record.gc_blocked,
                !behind_gc.is_zero(),
                "seed {seed}: {record:?} {split:?}"
            );
        } else {
            // The suspended operation may have been a program of host data.
            assert!(record.gc_blocked || behind_gc.is_zero(), "seed {seed}: {record:?} {split:?}");
        }
        assert!(
            split.get(Cause::Buffer).is_zero() || setup.ftl.map.is_cached(),
            "no read waits for the buffer: {record:?} {split:?}"
        );
        reads[usize::from(!record.gc_blocked)] += 1;
    }
    reads
}

/// Drives drawn at random, but for two kinds. `controller`: a read that waits for its channels to
/// drain is not blocked if the victim holds nothing, and a hold may begin and end while a program
/// keeps the die. `base` with a held erase: such a victim's erase does not follow at once.
pub(super) fn drawn_reads_behind_gc(drawn: fn(u64) -> Setup) {
    let (mut blocked, mut others) = (0, 0);
    for setup in (0..60).map(drawn) {
        let held_back = setup.gc.mode == GcMode::Base && !setup.erase.hold.is_zero();
        if setup.gc.mode == GcMode::Controller || held_back {
            continue;
        }
        let reads = reads_behind_gc(&setup);
        (blocked, others) = (blocked + reads[0], others + reads[1]);
    }
    assert!(blocked > 500 && others > 5_000, "{blocked} {others}");
}

#[test]
fn a_read_has_a_part_behind_gc_where_the_drive_says_it_was_blocked() {
    drawn_reads_behind_gc(drawn);
}

/// A write of part of a page that completes on flash reads the rest of the page first. What that
/// read waited for was said to be the write buffer, in which there was room.
#[test]
fn regression_filling_up_a_page_waits_for_what_its_die_does() {
    let mut setup = small();
    setup.gc.mode = GcMode::Preemptive;
    setup.drive.write_through = true;
    setup.jobs[0] = JobSpec {
        read_percent: 0.0,
        queue_depth: 1,
        requests: 20_000,
        block_sizes: vec![(Bytes::new(512), 1.0)],
        ..setup.jobs[0].clone()
    };
    let mut driver = setup.driver().with_attribution().with_records();
    driver.play_to_the_end();
    let counters = driver.drive().counters();
    assert!(counters.buffer.rmw_reads > 19_000 && counters.buffer.stalls == 0, "{counters:?}");
    let all = driver.measured().causes.as_ref().unwrap().write.total().1;
    assert_eq!(all.get(Cause::Buffer), Duration::ZERO, "{all:?}");
    assert!(all.get(Cause::Erase) > Duration::from_ms(10), "{all:?}");
    let (timing, channel) = (&setup.device.timing, &setup.device.channel);
    let page = channel.command + channel.rate.time_for(4096);
    let own = setup.drive.controller + page + timing.read[0] + page + timing.program[0];
    let records = driver.take_records().unwrap();
    assert!(
        records.splits.iter().all(|split| split.get(Cause::Service) == own),
        "a read, and a program"
    );
}

/// Every kind of drive drawn at random: the parts of every request add up to its latency (the
/// driver asserts it), the observed drive does what the other does, and what writes wait for is
/// told by its causes: hardly anything is left for the buffer itself.
#[test]
fn writes_of_every_kind_of_drive_wait_for_causes_and_hardly_for_the_buffer() {
    use super::{dftl, merges, rain, superblock};
    use crate::sim::Rng;
    type Drawn = fn(u64) -> Setup;
    let kinds: [(&str, Drawn); 5] = [
        ("page map", drawn),
        ("map on flash", dftl::drawn_with_map),
        ("parity in place", rain::drawn_with_parity),
        ("parity over superblocks", superblock::drawn_with_parity),
        ("log blocks", |seed| merges::any(&mut Rng::stream(seed, "causes of writes"), seed)),
    ];
    let (mut all, mut shares) = (Split::NONE, Vec::new());
    for (kind, drawn) in kinds {
        let mut sum = Split::NONE;
        for seed in 1000..1030 {
            let mut setup = drawn(seed);
            setup.jobs[0].read_percent = 30.0;
            let play = |mut driver: Driver| {
                driver.play_to_the_end();
                (driver.now(), driver.take_records().unwrap(), driver.measured().causes.clone())
            };
            let bare = play(setup.driver_of(setup.bare_drive()).with_records());
            let (end, records, causes) = play(setup.driver().with_attribution().with_records());
            assert_eq!((bare.0, bare.1.requests), (end, records.requests), "{kind}, seed {seed}");
            sum += causes.unwrap().write.total().1;
        }
        let waits =
            sum.total() - sum.get(Cause::Service) - sum.get(Cause::Link) - sum.get(Cause::Queue);
        let share = sum.get(Cause::Buffer).as_ns() as f64 / waits.as_ns() as f64;
        assert!(waits > Duration::from_s(1), "{kind}: {sum:?}");
        shares.push((kind, share));
        all += sum;
    }
    // Reads of the map that the host's reads asked for nobody's row led to.
    let most = |kind: &str| if kind == "map on flash" { 0.06 } else { 0.01 };
    assert!(shares.iter().all(|(kind, share)| *share < most(kind)), "{shares:?}");
    use Cause::{Channel, Erase, GcCopy, Program, Reads, Space, Suspension};
    for cause in [Erase, GcCopy, Program, Reads, Channel, Suspension, Space] {
        assert!(all.get(cause) > Duration::from_ms(1), "{cause:?}: {all:?}");
    }
}

/// A result has the driver's own parts of a request.
#[test]
fn a_result_has_the_parts_of_its_slowest_request() {
    let mut setup = small();
    setup.gc.mode = GcMode::Base;
    let driver = played(&setup);
    let slow = &driver.measured().causes.as_ref().unwrap().slowest[0];
    let parts = CauseTimes::of(&slow.split);
    let sum: f64 = parts.all().iter().map(|(_, us)| us).sum();
    assert!((sum - slow.record.latency.as_us_f64()).abs() < 1e-6);
}
