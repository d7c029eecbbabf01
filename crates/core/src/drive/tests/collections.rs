//! A GC run blocks its scope, and for how long: one victim of V valid pages on one chip, and reads
//! at chosen instants.

use super::{
    Bench, LANES, OTHER_CHANNEL, OTHER_CHIP, PAGE, Times, start, ttflash_256g,
    write_before_the_run, write_through,
};
use crate::drive::{DriveSpec, EraseSpec, Op};
use crate::ftl::{GcMode, GcSpec, GcWhen};
use crate::sim::Rng;
use crate::units::{Die, Duration, Instant, Lpn, Pool};

const NS: Duration = Duration::from_ns(1);
const PAGES: u32 = 256;
const BLOCKS: u32 = 6;
/// A page of the collecting chip that is not on the victim.
const SAME_CHIP: u64 = 255 * LANES;

/// The share of a lane's pages that `free` pages are, and half a page more: the mark lies at
/// `free`, whatever the rounding.
pub(super) fn mark(free: u32) -> f64 {
    (f64::from(free) + 0.5) / f64::from(BLOCKS * PAGES)
}

/// The free pages of chip 0 before the first write: four blocks.
pub(super) const FREE: u32 = 4 * PAGES;

fn gc(mode: GcMode) -> GcSpec {
    GcSpec { mode, soft: mark(FREE).into(), hard: 0.0.into(), ..GcSpec::default() }
}

/// A drive whose first write to chip 0 makes it collect a victim of `valid` pages.
///
/// Block 0 of the chip was filled, all but `valid` of its pages written again to block 1, and that
/// filled up. The next page programmed leaves one page less than the soft mark asks for; one victim
/// brings it back.
pub(super) fn about_to_collect(valid: u32, gc: GcSpec) -> Bench {
    about_to_collect_with(valid, gc, write_through())
}

pub(super) fn about_to_collect_with(valid: u32, gc: GcSpec, spec: DriveSpec) -> Bench {
    Bench::new(ttflash_256g(BLOCKS), spec, gc, |map| {
        let lanes = LANES as u32;
        let again = (valid..PAGES).chain(PAGES..PAGES + valid);
        (0..PAGES).chain(again).for_each(|k| write_before_the_run(map, k * lanes));
        (1..lanes).for_each(|lpn| write_before_the_run(map, lpn));
        assert_eq!(map.free_units(Pool(0)), FREE);
    })
}

/// That drive at the instant when the collection began.
pub(super) fn collecting(valid: u32, gc: GcSpec, erase: &EraseSpec) -> (Bench, Instant) {
    let mut bench = about_to_collect(valid, gc);
    bench.drive.suspend_erases(erase);
    bench.drive.vary_erases(erase, 1);
    bench.drive.hold_erases(erase);
    let begins = start() + bench.times().page_program();
    let write = bench.write(start(), 600 * LANES);
    bench.advance_to(begins + NS);
    assert_eq!(bench.done.last().map(|done| (done.id, done.at)), Some((write, begins)));
    (bench, begins)
}

/// The copy of one page across the channel, or inside the plane.
pub(super) fn copy_of_a_page(times: Times, copyback: bool) -> Duration {
    let array = times.command * 2 + times.read + times.program;
    if copyback { array } else { array + times.transfer * 2 }
}

#[test]
fn a_page_copy_takes_1_045_150_ns_over_the_channel_and_840_350_inside_the_plane() {
    let times = Times::of(&ttflash_256g(1));
    assert_eq!(copy_of_a_page(times, false), Duration::from_ns(1_045_150));
    assert_eq!(copy_of_a_page(times, true), Duration::from_ns(840_350));
    assert_eq!(times.erase_command + times.erase, Duration::from_ns(125 + 2_000_000));
}

#[test]
fn base_holds_the_channel_for_the_copy_and_then_only_the_chip_for_the_erase() {
    for copyback in [false, true] {
        for valid in [1, 7, 86] {
            let (bench, begins) =
                collecting(valid, GcSpec { copyback, ..gc(GcMode::Base) }, &EraseSpec::default());
            let (times, read) = (bench.times(), bench.times().page_read());
            let released = begins + copy_of_a_page(times, copyback) * u64::from(valid);
            let erased = released + times.erase_command + times.erase;
            for at in [begins + NS, begins + Duration::from_us(321), released - NS] {
                // The erase command is the first thing on the released channel.
                let channel = released + times.erase_command + read;
                assert_eq!(
                    at + bench.latency_of_read(at, OTHER_CHIP),
                    channel,
                    "{valid} pages, at {at:?}"
                );
                assert_eq!(
                    at + bench.latency_of_read(at, SAME_CHIP),
                    erased + read,
                    "{valid} pages, at {at:?}"
                );
                assert_eq!(
                    bench.latency_of_read(at, OTHER_CHANNEL),
                    read,
                    "{valid} pages, at {at:?}"
                );
            }
            for at in [released + times.erase_command, erased - NS] {
                assert_eq!(
                    bench.latency_of_read(at, OTHER_CHIP),
                    read,
                    "the erase leaves the channel alone"
                );
                assert_eq!(at + bench.latency_of_read(at, SAME_CHIP), erased + read);
            }
            assert_eq!(bench.latency_of_read(erased, SAME_CHIP), read);
            let mut bench = bench;
            bench.run();
            let counters = bench.drive.counters();
            assert_eq!(
                (counters.collections, counters.copied_units, counters.erases),
                (1, u64::from(valid), 1)
            );
        }
    }
}

#[test]
fn a_victim_without_valid_pages_costs_an_erase_and_no_hold() {
    let (bench, begins) = collecting(0, gc(GcMode::Base), &EraseSpec::default());
    let (times, at) = (bench.times(), begins + NS);
    assert_eq!(
        at + bench.latency_of_read(at, OTHER_CHIP),
        begins + times.erase_command + times.page_read()
    );
    let erased = begins + times.erase_command + times.erase;
    assert_eq!(at + bench.latency_of_read(at, SAME_CHIP), erased + times.page_read());
}

#[test]
fn controller_holds_every_channel_for_the_copy() {
    let valid = 7;
    let (bench, begins) = collecting(valid, gc(GcMode::Controller), &EraseSpec::default());
    let (times, read) = (bench.times(), bench.times().page_read());
    let released = begins + copy_of_a_page(times, false) * u64::from(valid);
    for at in [begins + NS, released - NS] {
        assert_eq!(at + bench.latency_of_read(at, OTHER_CHANNEL), released + read);
        assert_eq!(
            at + bench.latency_of_read(at, OTHER_CHIP),
            released + times.erase_command + read
        );
    }
    assert_eq!(
        bench.latency_of_read(released, OTHER_CHANNEL),
        read,
        "the erase keeps only its chip"
    );
    let erased = released + times.erase_command + times.erase;
    assert_eq!(released + bench.latency_of_read(released, SAME_CHIP), erased + read);
}

#[test]
fn nogc_keeps_no_read_waiting() {
    let (bench, begins) = collecting(86, gc(GcMode::Nogc), &EraseSpec::default());
    assert_eq!((bench.drive.counters().free_copies, bench.drive.counters().free_erases), (86, 1));
    for at in [begins + NS, begins + Duration::from_us(321), begins + Duration::from_ms(20)] {
        for lpn in [SAME_CHIP, OTHER_CHIP, OTHER_CHANNEL] {
            assert_eq!(bench.latency_of_read(at, lpn), bench.times().page_read());
        }
    }
}

/// Between page operations the host goes first: a read waits at most for the one under way.
#[test]
fn a_preemptive_collection_keeps_a_read_waiting_for_one_operation_at_most() {
    let valid = 12;
    let (bench, begins) = collecting(valid, gc(GcMode::Preemptive), &EraseSpec::default());
    let times = bench.times();
    let longest =
        times.page_read().max(times.page_program()).max(times.erase_command + times.erase);
    let whole = copy_of_a_page(times, false) * u64::from(valid) + times.erase_command + times.erase;
    let (mut rng, mut waited, mut worst) = (Rng::stream(1, "instants"), 0, Duration::ZERO);
    for _ in 0..300 {
        let at = begins + NS + Duration::from_ns(rng.below(whole.as_ns()));
        let wait = bench.latency_of_read(at, SAME_CHIP) - times.page_read();
        assert!(wait <= longest, "{wait} at {at:?}, {longest} at most");
        (waited, worst) = (waited + u32::from(!wait.is_zero()), worst.max(wait));
        // Another chip meets the collection only on the channel: its command and its data behind
        // one transfer each.
        let beside = bench.latency_of_read(at, OTHER_CHIP) - times.page_read();
        assert!(beside <= (times.command + times.transfer) * 2, "{beside} at {at:?}");
        assert_eq!(bench.latency_of_read(at, OTHER_CHANNEL), times.page_read());
    }
    assert!(waited > 250, "the chip is busy all the time: {waited} of 300 waited");
    assert!(worst > times.program, "some wait for nearly a whole operation: {worst}");
}

/// Alone on its channel it is preempted by reads; while a program of the host waits on another chip
/// of the channel, its operations go first.
#[test]
fn a_channel_preemptive_collection_yields_to_a_read_unless_a_write_waits_on_the_channel() {
    let valid = 12;
    let (bench, begins) = collecting(valid, gc(GcMode::ChannelPreemptive), &EraseSpec::default());
    let times = bench.times();
    let longest =
        times.page_read().max(times.page_program()).max(times.erase_command + times.erase);
    let copy = copy_of_a_page(times, false);
    let mut rng = Rng::stream(1, "instants");
    let mut longest_behind = Duration::ZERO;
    for _ in 0..200 {
        let at = begins + NS + Duration::from_ns(rng.below((copy * u64::from(valid)).as_ns()));
        let wait = bench.latency_of_read(at, SAME_CHIP) - times.page_read();
        assert!(wait <= longest, "{wait} at {at:?}, {longest} at most");
        // Two programs on the other chip: the second waits for as long as the first is under way.
        let mut writes = bench.clone();
        for lpn in [OTHER_CHIP + 600 * LANES, OTHER_CHIP + 601 * LANES] {
            writes.write(at, lpn);
        }
        let behind = writes.latency_of_read(at + NS, SAME_CHIP) - times.page_read();
        let left = times.program.min((begins + copy * u64::from(valid)).since(at + NS));
        assert!(behind + longest >= left, "{behind} at {at:?}: the GC run goes on for {left}");
        if at + copy * 2 < begins + copy * u64::from(valid) {
            longest_behind = longest_behind.max(behind);
        }
    }
    // Amid the copies: more than the operation under way, of which a program is the longest.
    assert!(longest_behind > times.page_program() + times.page_read(), "{longest_behind}");
    let mut bench = bench;
    bench.run();
    assert_eq!(bench.drive.counters().forced_collections, 0);
}

/// Two chips of a channel want to collect at once, and a chip of another channel.
#[test]
fn a_channel_preemptive_drive_copies_one_victim_of_a_channel_at_a_time() {
    for (mode, of_two) in [(GcMode::ChannelPreemptive, 1), (GcMode::Preemptive, 2)] {
        for (other, begun) in [(OTHER_CHIP, of_two), (OTHER_CHANNEL, 2)] {
            let mut bench = Bench::new(ttflash_256g(BLOCKS), write_through(), gc(mode), |map| {
                let (lanes, valid) = (LANES as u32, 12);
                let again = || (valid..PAGES).chain(PAGES..PAGES + valid);
                for chip in [0, other as u32] {
                    (0..PAGES)
                        .chain(again())
                        .for_each(|k| write_before_the_run(map, k * lanes + chip));
                }
            });
            let begins = start() + bench.times().page_program();
            bench.write(start(), 600 * LANES);
            bench.write(start(), 600 * LANES + other);
            bench.advance_to(begins + bench.times().page_program());
            assert_eq!(bench.drive.counters().collections, begun, "{mode:?}, {other}");
            bench.run();
            assert_eq!(
                (bench.drive.counters().collections, bench.drive.counters().erases),
                (2, 2),
                "{mode:?}, {other}"
            );
        }
    }
}

#[test]
fn at_the_hard_mark_a_preemptive_collection_goes_first() {
    let valid = 12;
    let (bench, begins) = collecting(
        valid,
        GcSpec { hard: mark(FREE).into(), ..gc(GcMode::Preemptive) },
        &EraseSpec::default(),
    );
    let times = bench.times();
    let erased =
        begins + copy_of_a_page(times, false) * valid.into() + times.erase_command + times.erase;
    for at in [begins + NS, begins + Duration::from_ms(3), erased - NS] {
        assert_eq!(
            at + bench.latency_of_read(at, SAME_CHIP),
            erased + times.page_read(),
            "at {at:?}"
        );
    }
    let mut bench = bench;
    bench.run();
    assert_eq!(bench.drive.counters().forced_collections, 1);
}

/// `gc.reads_first`: reads go between its operations there, too, and programs do not.
#[test]
fn at_the_hard_mark_reads_may_go_first_and_writes_may_not() {
    let valid = 12;
    let urgent = GcSpec { hard: mark(FREE).into(), reads_first: true, ..gc(GcMode::Preemptive) };
    let (mut bench, begins) = collecting(valid, urgent, &EraseSpec::default());
    let times = bench.times();
    let erased =
        begins + copy_of_a_page(times, false) * valid.into() + times.erase_command + times.erase;
    let wait = bench.latency_of_read(begins + NS, SAME_CHIP) - times.page_read();
    assert!(wait <= times.page_program(), "a read waits for one operation: {wait}");
    let write = bench.write(begins + NS, 601 * LANES);
    assert_eq!(bench.end_of(write), erased + times.page_program());
}

/// A read of the same channel is under way when the space runs short. In the background the
/// collection waits for a moment without host operations and lets another read in; in the
/// foreground it only lets the first one bring out its data.
#[test]
fn a_background_collection_waits_for_silence_and_a_foreground_one_does_not() {
    for (when, hard) in
        [(GcWhen::Background, 0.0), (GcWhen::Foreground, 0.0), (GcWhen::Background, mark(FREE))]
    {
        let valid = 7;
        let mut bench = Bench::new(
            ttflash_256g(BLOCKS),
            write_through(),
            GcSpec { when, hard: hard.into(), ..gc(GcMode::Base) },
            |map| {
                let lanes = LANES as u32;
                let again = (valid..PAGES).chain(PAGES..PAGES + valid);
                (0..PAGES).chain(again).for_each(|k| write_before_the_run(map, k * lanes));
                (1..lanes).for_each(|lpn| write_before_the_run(map, lpn));
            },
        );
        let (times, read) = (bench.times(), bench.times().page_read());
        let begins = start() + times.page_program();
        bench.write(start(), 600 * LANES);
        let first_at = begins - Duration::from_us(1);
        let first = bench.read(first_at, OTHER_CHIP);
        let second_at = begins + Duration::from_us(1);
        let second = bench.read(second_at, 2 * OTHER_CHIP);
        assert_eq!(bench.end_of(first), first_at + read, "{when:?}");
        let expected = if when == GcWhen::Background && hard == 0.0 {
            // Its data comes behind the first read's.
            first_at + read + times.transfer
        } else {
            let released = first_at + read + copy_of_a_page(times, false) * valid.into();
            released + times.erase_command + read
        };
        assert_eq!(bench.end_of(second), expected, "{when:?}, hard {hard}");
    }
}

/// Two GC runs, the longer of which comes first: trims leave the second victim few pages.
#[test]
fn the_longest_copy_of_a_victim_is_kept() {
    let (first, second) = (12, 5);
    let mut bench = about_to_collect(first, gc(GcMode::Base));
    bench.write(start(), 600 * LANES);
    bench.run();
    let mut at = bench.done.last().expect("it was written").at;
    let mut next = || {
        at += Duration::from_ms(20);
        at
    };
    for page in u64::from(first + second)..u64::from(first + PAGES) {
        bench.submit(next(), Op::Trim, page * LANES * u64::from(PAGE), PAGE, false);
    }
    let mut page = 300;
    while bench.drive.counters().collections < 2 {
        bench.write(next(), page * LANES);
        page += 1;
    }
    bench.run();
    let counters = bench.drive.counters();
    assert_eq!((counters.collections, counters.copied_units), (2, u64::from(first + second)));
    assert_eq!(counters.copying_max, copy_of_a_page(bench.times(), false) * u64::from(first));
}

/// While chip 0 holds the channel, two more of its chips come to want a collection.
#[test]
fn pools_that_wait_for_a_channel_collect_in_the_order_in_which_they_asked() {
    let (valid, chips) = (7, [0, OTHER_CHIP, 2 * OTHER_CHIP]);
    let mut bench = Bench::new(ttflash_256g(BLOCKS), write_through(), gc(GcMode::Base), |map| {
        let again = || (valid..PAGES).chain(PAGES..PAGES + valid);
        for page in (0..PAGES).chain(again()) {
            chips
                .iter()
                .for_each(|chip| write_before_the_run(map, page * LANES as u32 + *chip as u32));
        }
    });
    let times = bench.times();
    chips.iter().for_each(|chip| _ = bench.write(start(), 600 * LANES + chip));
    let pools = chips.map(|chip| {
        let ftl = bench.drive.ftl();
        ftl.pool_of(ftl.striped_lane(Lpn(chip as u32)))
    });
    let copy = copy_of_a_page(times, false) * u64::from(valid);
    let mut at = start() + times.page_program() + copy_of_a_page(times, false);
    for turn in 0..3 {
        bench.advance_to(at);
        for (order, pool) in pools.iter().enumerate() {
            let copies =
                bench.drive.ftl().lanes_of(*pool).any(|lane| bench.drive.ftl().is_copying(lane));
            assert_eq!(copies, order == turn, "turn {turn}: the pool that asked as number {order}");
        }
        // Its successor waits for the command of the erase on the channel.
        at += copy + times.erase_command;
    }
}

/// While a channel drains, the forecast is the whole copy, and the release the drain before it.
#[test]
fn a_domain_that_drains_is_foreseen_with_the_copy_that_it_has_not_begun() {
    let valid = 7;
    let foreground = GcSpec { when: GcWhen::Foreground, ..gc(GcMode::Base) };
    let mut bench = about_to_collect(valid, foreground);
    let (times, read) = (bench.times(), bench.times().page_read());
    let begins = start() + times.page_program();
    bench.write(start(), 600 * LANES);
    let first_at = begins - Duration::from_us(1);
    bench.read(first_at, OTHER_CHIP);
    let now = begins + Duration::from_us(1);
    bench.advance_to(now);
    let copy = copy_of_a_page(times, false) * u64::from(valid);
    let drive = &bench.drive;
    assert_eq!(drive.gc_remaining(now, Die(2)), copy);
    let page = drive.ftl().mapping().physical(Lpn(2 * OTHER_CHIP as u32));
    assert_eq!(now + drive.gc_release(now, page), first_at + read + copy);
}

/// Chip 0 gives the channel back, and a program starts on the chip that collects next.
#[test]
fn a_domain_that_drains_waits_for_the_program_of_its_victim_s_chip() {
    let (valid, lanes) = (7, LANES as u32);
    let foreground = GcSpec { when: GcWhen::Foreground, ..gc(GcMode::Base) };
    let mut bench = Bench::new(ttflash_256g(BLOCKS), write_through(), foreground, |map| {
        let again = || (valid..PAGES).chain(PAGES..PAGES + valid);
        for page in (0..PAGES).chain(again()) {
            [0, OTHER_CHIP as u32]
                .iter()
                .for_each(|chip| write_before_the_run(map, page * lanes + chip));
        }
        write_before_the_run(map, 2 * OTHER_CHIP as u32);
    });
    let times = bench.times();
    let copy = copy_of_a_page(times, false) * u64::from(valid);
    [0, OTHER_CHIP].iter().for_each(|chip| _ = bench.write(start(), 600 * LANES + chip));
    let released = start() + times.page_program() + copy;
    // It waits for the channel.
    bench.write(released - Duration::from_us(1), 601 * LANES + OTHER_CHIP);
    let now = released + Duration::from_us(1);
    bench.advance_to(now);
    let drained = released + times.erase_command + times.page_program();
    let page = bench.drive.ftl().mapping().physical(Lpn(2 * OTHER_CHIP as u32));
    assert_eq!(now + bench.drive.gc_release(now, page), drained + copy);
    let read = bench.read(now, 2 * OTHER_CHIP);
    let served = drained + copy + times.erase_command + times.page_read();
    assert_eq!(bench.end_of(read), served);
}

#[test]
fn a_read_says_whether_it_waited_for_a_collection() {
    for (mode, channel, other) in [
        (GcMode::Base, true, false),
        (GcMode::Controller, true, true),
        (GcMode::Nogc, false, false),
    ] {
        let (bench, begins) = collecting(7, gc(mode), &EraseSpec::default());
        let blocked = |lpn| {
            let mut copy = bench.clone();
            let id = copy.read(begins + Duration::from_us(10), lpn);
            let done = copy.completion(id);
            assert_eq!(
                done.gc_blocked, done.gc_blocked_at_split,
                "{mode:?}: it came in the middle of the copy"
            );
            done.gc_blocked
        };
        assert_eq!((blocked(OTHER_CHIP), blocked(OTHER_CHANNEL)), (channel, other), "{mode:?}");
    }
}
