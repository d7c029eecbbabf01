//! Erases held back for reads, by arithmetic: when the die has been quiet for long enough, to the
//! nanosecond.

use super::{Bench, LANES, start, ttflash_256g, write_before_the_run, write_through};
use crate::drive::EraseSpec;
use crate::ftl::{GcMode, GcSpec};
use crate::units::{Duration, Instant, Pool};

const NS: Duration = Duration::from_ns(1);
const PAGES: u32 = 256;
const BLOCKS: u32 = 10;
/// Free pages of the chip before the first write.
const FREE: u32 = (BLOCKS - 4) * PAGES;
/// Its first victims have no valid page; this page is on none of them.
const SAME_CHIP: u64 = 255 * LANES;
const HOLD: Duration = Duration::from_us(300);

fn mark(free: u32) -> f64 {
    (f64::from(free) + 0.5) / f64::from(BLOCKS * PAGES)
}

fn spec(hold_max: Duration) -> EraseSpec {
    EraseSpec { hold: HOLD, hold_max, ..EraseSpec::default() }
}

/// A drive whose chip 0 finds `victims` to collect when its first write is done, a read waiting
/// behind that write. Two of its blocks hold nothing valid, two are full. Returns when the write is
/// done.
fn about_to_erase(victims: u32, mode: GcMode, hard: f64, spec: &EraseSpec) -> (Bench, Instant) {
    let soft = mark(FREE + (victims - 1) * PAGES);
    let gc = GcSpec { mode, soft: soft.into(), hard: hard.into(), ..GcSpec::default() };
    about_to_erase_with(gc, spec)
}

/// The drive with these marks.
fn about_to_erase_with(gc: GcSpec, spec: &EraseSpec) -> (Bench, Instant) {
    let lanes = LANES as u32;
    let mut bench = Bench::new(ttflash_256g(BLOCKS), write_through(), gc, |map| {
        (0..2).for_each(|_| (0..2 * PAGES).for_each(|k| write_before_the_run(map, k * lanes)));
        assert_eq!(map.free_units(Pool(0)), FREE);
    });
    bench.drive.suspend_erases(spec);
    bench.drive.hold_erases(spec);
    let written = start() + bench.times().page_program();
    bench.write(start(), 600 * LANES);
    (bench, written)
}

/// When each erase of the chip ends.
fn ends(mut bench: Bench) -> Vec<Instant> {
    let mut ends = Vec::new();
    while bench.drive.next_event_at() < Instant::NEVER {
        let at = bench.drive.next_event_at();
        bench.advance_to(at + NS);
        let erased = bench.drive.flash().operations().erases as usize;
        if erased > ends.len() {
            ends.push(at);
        }
    }
    ends
}

fn whole(bench: &Bench) -> Duration {
    bench.times().erase_command + bench.times().erase
}

#[test]
fn an_erase_starts_when_its_die_has_had_no_read_for_so_long() {
    for mode in [GcMode::Preemptive, GcMode::Base, GcMode::Controller] {
        let (bench, written) = about_to_erase(1, mode, 0.0, &spec(Duration::from_s(1)));
        let read = bench.times().page_read();
        // Nobody reads: it starts at once.
        let erased = ends(bench.clone());
        assert_eq!(erased.len(), 1, "{mode:?}");
        if mode == GcMode::Preemptive {
            assert_eq!(erased, [written + whole(&bench)]);
        }
        let mut one = bench.clone();
        one.read(start() + NS, SAME_CHIP);
        // Where the read comes late, the collection has passed before it.
        let (served, erased) = (written + read, ends(one.clone()));
        assert_eq!(erased, [served + HOLD + whole(&one)], "{mode:?}");
        let quiet = served + HOLD;
        for at in [served + NS, quiet - NS, quiet] {
            let mut two = one.clone();
            let id = two.read(at, SAME_CHIP);
            assert_eq!(ends(two.clone()), [at + read + HOLD + whole(&two)], "{mode:?}");
            assert_eq!(two.end_of(id), at + read, "it meets no erase");
        }
        let mut late = one.clone();
        let id = late.read(quiet + NS, SAME_CHIP);
        assert_eq!(ends(late.clone()), [quiet + whole(&late)]);
        assert_eq!(late.end_of(id), quiet + whole(&bench) + read, "it meets the erase");
    }
}

#[test]
fn an_erase_held_back_for_the_longest_time_starts_whatever_the_reads_do() {
    let longest = Duration::from_us(2_050);
    let (mut bench, written) = about_to_erase(1, GcMode::Preemptive, 0.0, &spec(longest));
    let read = bench.times().page_read();
    bench.read(start() + NS, SAME_CHIP);
    // One every 200 us: the die is never quiet for 300.
    for k in 1..=10 {
        bench.read(written + Duration::from_us(200) * k, SAME_CHIP);
    }
    let erased = ends(bench.clone());
    // The read of 2000 us is under way then.
    let begins = written + Duration::from_us(2_000) + read;
    assert_eq!(erased, [begins + whole(&bench)]);
    bench.run();
    let counters = bench.drive.counters();
    assert_eq!(
        (counters.erases_held, counters.erases_held_time, counters.erases_held_max),
        (1, longest, longest)
    );
}

#[test]
fn an_urgent_pool_holds_no_erase_back() {
    for (hard, held) in [(FREE - 1, false), (FREE - 2, true)] {
        let (mut bench, written) =
            about_to_erase(1, GcMode::Preemptive, mark(hard), &spec(Duration::from_s(1)));
        let read = bench.times().page_read();
        bench.read(start() + NS, SAME_CHIP);
        // Urgent, the erase goes before the read.
        let begins = if held { written + read + HOLD } else { written };
        assert_eq!(ends(bench.clone()), [begins + whole(&bench)]);
        bench.run();
        assert_eq!(bench.drive.counters().erases_held, u64::from(held));
    }
    // It becomes urgent while it is held: the program of the page that makes it so lets the erase
    // go.
    let (mut bench, written) =
        about_to_erase(1, GcMode::Preemptive, mark(FREE - 2), &spec(Duration::from_s(1)));
    let (read, program) = (bench.times().page_read(), bench.times().page_program());
    bench.read(start() + NS, SAME_CHIP);
    bench.write(written + read + NS, 601 * LANES);
    let becomes = written + read + NS + program;
    // Reads wait behind that program and come later than the erase, which is urgent now.
    bench.read(written + read + NS * 2, SAME_CHIP);
    assert!(becomes > written + read + HOLD, "the program kept the die for longer than the hold");
    assert_eq!(ends(bench.clone()), [becomes + whole(&bench)]);
}

#[test]
fn a_backlog_is_erased_one_after_the_other_and_a_read_between_them_holds_the_rest() {
    for (victims, at_once) in [(1, 1), (2, 2), (4, 2)] {
        let spec = EraseSpec { hold_victims: victims, ..spec(Duration::from_s(1)) };
        let (mut bench, written) = about_to_erase(2, GcMode::Preemptive, 0.0, &spec);
        let read = bench.times().page_read();
        bench.read(start() + NS, SAME_CHIP);
        bench.advance_to(written + NS);
        assert_eq!(
            bench.drive.counters().collections,
            at_once,
            "{victims}: victims copied before an erase"
        );
        bench.drive.ftl().check_laws();
        let first = written + read + HOLD + whole(&bench);
        assert_eq!(ends(bench.clone()), [first, first + whole(&bench)]);
        let mut between = bench.clone();
        let id = between.read(first - NS, SAME_CHIP);
        assert_eq!(ends(between.clone()), [first, first + read + HOLD + whole(&bench)]);
        assert_eq!(between.end_of(id), first + read);
        bench.run();
        bench.drive.ftl().check_laws();
        assert_eq!(bench.drive.ftl().free_units(Pool(0)), FREE - 1 + 2 * PAGES);
    }
}

/// Of a backlog, all are let go when the pool is urgent, and were held until then; the second one,
/// the pool not being urgent any more, goes behind the read that waits.
#[test]
fn an_urgent_pool_lets_all_its_erases_go() {
    let spec = EraseSpec { hold_victims: 2, ..spec(Duration::from_s(1)) };
    let (mut bench, written) = about_to_erase(2, GcMode::Preemptive, mark(FREE - 2), &spec);
    let (read, program) = (bench.times().page_read(), bench.times().page_program());
    bench.read(start() + NS, SAME_CHIP);
    bench.write(written + read + NS, 601 * LANES);
    let becomes = written + read + NS + program;
    bench.read(written + read + NS * 2, SAME_CHIP);
    let first = becomes + whole(&bench);
    assert_eq!(ends(bench.clone()), [first, first + read + whole(&bench)]);
    bench.run();
    let (counters, held) = (bench.drive.counters(), becomes.since(written));
    assert_eq!(
        (counters.erases_held, counters.erases_held_time, counters.erases_held_max),
        (2, held * 2, held)
    );
}

/// Two erases are held back, the second one since later; the first one's time counts.
#[test]
fn the_longest_time_is_that_of_the_erase_that_waits_longest() {
    let longest = Duration::from_us(4_050);
    let spec = EraseSpec { hold_victims: 2, ..spec(longest) };
    let gc = GcSpec {
        mode: GcMode::Preemptive,
        soft: mark(FREE - 1 + PAGES).into(),
        hard: 0.0.into(),
        ..GcSpec::default()
    };
    let (mut bench, written) = about_to_erase_with(gc, &spec);
    let read = bench.times().page_read();
    bench.read(start() + NS, SAME_CHIP);
    bench.write(written + NS, 601 * LANES);
    let second = written + read + bench.times().page_program();
    // Reads that waited behind the second write are served before the time is over; from then on
    // one every 200 us.
    for k in 1..=20 {
        bench.read(written + Duration::from_us(200) * k, SAME_CHIP);
    }
    bench.advance_to(second + NS);
    assert_eq!(bench.drive.counters().collections, 2);
    let begins = written + Duration::from_us(4_000) + read;
    assert!(begins > written + longest && begins < second + longest);
    assert_eq!(ends(bench.clone()), [begins + whole(&bench), begins + whole(&bench) * 2]);
}
