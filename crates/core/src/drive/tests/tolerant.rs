//! Reads that tolerate garbage collection, and how long it is expected to keep a die: a victim of V
//! valid pages on chip 0 of channel 0 of `ttflash-256g`, whose stripes are seven data pages and a
//! parity.

use super::{Bench, LANES, PAGE, Times, start, ttflash_256g, write_through};
use crate::drive::{
    CommandId, CostRule, Drive, DriveSpec, EraseMode, EraseSpec, FullBuffer, Op, RainSpec,
    Reconstruct, UpdateReads,
};
use crate::flash::Layout;
use crate::ftl::timeless::Writer;
use crate::ftl::{FtlSpec, GcMode, GcSpec, GcWhen, PageMap, Stream};
use crate::units::{Die, Duration, Instant, Lpn, Pool};

const NS: Duration = Duration::from_ns(1);
const XOR: Duration = Duration::from_us(10);
const PAGES: u32 = 256;
const BLOCKS: u32 = 6;
/// Rows that the lanes which are to collect have less than the others.
const LESS: u32 = 4;
/// The valid pages of a victim.
const VALID: u32 = 20;

/// Page `member` of the k-th stripe of chip 0 on each channel. Its parity is on channel 7 - k mod
/// 8.
fn page(k: u64, member: u64) -> u64 {
    k * 8 * 7 + member
}

fn rain(reconstruct: Reconstruct, cost_rule: CostRule) -> RainSpec {
    RainSpec { width: 8, reconstruct, cost_rule, ..RainSpec::default() }
}

fn cost() -> RainSpec {
    rain(Reconstruct::Cost, CostRule::Estimate)
}

fn gc(mode: GcMode) -> GcSpec {
    // Chip 0 has a block and `PAGES - VALID` pages written, and `LESS` rows of padding where it is
    // to collect.
    let free = (BLOCKS - 2) * PAGES + VALID - LESS;
    GcSpec {
        mode,
        soft: ((f64::from(free) + 0.5) / f64::from(BLOCKS * PAGES)).into(),
        hard: 0.0.into(),
        ..GcSpec::default()
    }
}

/// A drive on which the next page programmed on chip 0 of `channels` starts a collection of `VALID`
/// pages each.
fn about_to_collect(gc: GcSpec, rain: &RainSpec, channels: &[u32]) -> Bench {
    let (device, ftl) = (ttflash_256g(BLOCKS), FtlSpec::default());
    let logical = Layout::new(&device).total_units() / 2;
    let mut map = PageMap::new(&device, &ftl, &gc, logical, 1).with_parity(&ftl, &device, 8);
    let mut writer = Writer::new(&mut map);
    (0..PAGES * 8 * 7).for_each(|lpn| writer.write(Lpn(lpn)).unwrap());
    for k in u64::from(VALID)..u64::from(PAGES) {
        (0..7).for_each(|member| writer.write(Lpn(page(k, member) as u32)).unwrap());
    }
    writer.finish().unwrap();
    for channel in channels {
        // Of stripe 248 the parity is on channel 7: member i is on channel i.
        let lane = map.striped_lane(Lpn(page(248, u64::from(*channel)) as u32));
        for _ in 0..LESS {
            let row = map.open_row(lane, Stream::Host).unwrap();
            map.row_programmed(row);
        }
    }
    map.check_laws();
    let mut drive = Drive::new(&device, &write_through(), &gc, map, true);
    drive.keep_parity(rain);
    drive.attribute();
    Bench { device, drive, done: Vec::new(), next_id: 0 }
}

/// The same, when the collection of channel 0 has just begun, and when that was.
fn collecting(gc: GcSpec, rain: &RainSpec) -> (Bench, Instant) {
    let mut bench = about_to_collect(gc, rain, &[0]);
    let begins = start() + bench.times().page_read() + bench.times().page_program();
    bench.write(start(), page(248, 0));
    bench.advance_to(begins + NS);
    let counters = bench.drive.counters();
    assert_eq!(
        (counters.collections, bench.drive.ftl().valid_left(Pool(0))),
        (1, VALID - 1),
        "one is being read"
    );
    (bench, begins)
}

/// Two collections: on channel 0, and `later` on channel 1, which is over so much later.
fn both_collecting(rain: &RainSpec, later: Duration) -> (Bench, Instant) {
    let mut bench = about_to_collect(gc(GcMode::Base), rain, &[0, 1]);
    let begins = start() + bench.times().page_read() + bench.times().page_program();
    bench.write(start(), page(248, 0));
    bench.write(start() + later, page(240, 1));
    bench.advance_to(begins + later + NS);
    assert_eq!(bench.drive.counters().collections, 2);
    (bench, begins)
}

fn copy_of_a_page(times: Times, copyback: bool) -> Duration {
    let array = times.command * 2 + times.read + times.program;
    if copyback { array } else { array + times.transfer * 2 }
}

/// The effects of a read on a copy of the drive: its latency, pages computed, pages read for that
/// alone, refusals.
fn what_a_read_does(
    bench: &Bench,
    at: Instant,
    lpn: u64,
    sectors: u32,
) -> (Duration, u64, u64, u64) {
    let mut copy = bench.clone();
    copy.advance_to(at);
    let before = copy.drive.counters().rain;
    let id = copy.submit(at, Op::Read, lpn * u64::from(PAGE), sectors, false);
    let latency = copy.end_of(id).since(at);
    let after = copy.drive.counters().rain;
    let computed = after.reconstructed_pages - before.reconstructed_pages;
    (
        latency,
        computed,
        after.extra_reads - before.extra_reads,
        after.refused_stripes - before.refused_stripes,
    )
}

fn pages(count: u32) -> u32 {
    count * PAGE
}

/// The page that chip 0 of channel 0 has of stripe 240, which nothing else touches.
const KEPT: u64 = 240;

#[test]
fn the_forecast_is_what_a_read_then_waits_for() {
    let modes = [GcMode::Base, GcMode::Controller, GcMode::Preemptive];
    let planes = (GcMode::PlaneBlocking, true);
    for (mode, copyback) in
        modes.into_iter().flat_map(|mode| [(mode, false), (mode, true)]).chain([planes])
    {
        let (bench, begins) = collecting(
            GcSpec { copyback, ..gc(mode) },
            &rain(Reconstruct::Never, CostRule::Estimate),
        );
        let times = bench.times();
        let copy = copy_of_a_page(times, copyback) * u64::from(VALID);
        let erase = times.erase_command + times.erase;
        for step in 1..400 {
            let at = begins + Duration::from_ns((copy + erase).as_ns() * step / 400);
            let mut copied = bench.clone();
            copied.advance_to(at);
            let keeps = copied.drive.gc_remaining(at, Die(0));
            assert_eq!(
                bench.latency_of_read(at, page(KEPT, 0)),
                keeps + times.page_read(),
                "{mode:?} {step}"
            );
            if mode != GcMode::Preemptive {
                assert_eq!(at + keeps, begins + copy + erase);
                // The next chip of the channel, and the first of another: kept by the copy alone.
                let held = (begins + copy).as_ns().saturating_sub(at.as_ns());
                let held = if mode == GcMode::PlaneBlocking { 0 } else { held };
                assert_eq!(copied.drive.gc_remaining(at, Die(1)), Duration::from_ns(held));
                let other = if mode == GcMode::Controller { held } else { 0 };
                assert_eq!(copied.drive.gc_remaining(at, Die(8)), Duration::from_ns(other));
            }
        }
        let mut over = bench.clone();
        over.run();
        assert_eq!(over.drive.gc_remaining(begins + copy + erase, Die(0)), Duration::ZERO);
    }
}

/// Two planes of a die, both urgent, copy their victims beside each other: a read waits for the
/// sum.
#[test]
fn two_collections_of_a_die_keep_it_one_after_the_other() {
    let mut device = ttflash_256g(BLOCKS);
    let geometry = &mut device.geometry;
    (geometry.channels, geometry.ways, geometry.dies, geometry.planes) = (1, 1, 1, 2);
    let free = BLOCKS * PAGES - (PAGES + PAGES - VALID);
    let mark = |free: u32| (f64::from(free) + 0.5) / f64::from(BLOCKS * PAGES);
    let gc = GcSpec {
        mode: GcMode::Preemptive,
        soft: mark(free).into(),
        // Their first copies make them urgent.
        hard: mark(free - 4).into(),
        ..GcSpec::default()
    };
    let mut bench = Bench::new(device, write_through(), gc, |map| {
        let again = 2 * VALID..2 * PAGES;
        (0..2 * PAGES).chain(again).for_each(|lpn| super::write_before_the_run(map, lpn));
    });
    let first = u64::from(3 * PAGES);
    for lpn in [first, first + 1] {
        bench.write(start(), lpn);
    }
    let (mut at, mut both, read) = (start(), 0, bench.times().page_read());
    let kept = u64::from(2 * PAGES - 1);
    for _ in 0..200 {
        at += Duration::from_us(333);
        bench.advance_to(at);
        let ftl = bench.drive.ftl();
        if (0..2).map(Pool).all(|pool| ftl.is_urgent(pool) && ftl.is_collecting(pool)) {
            both += 1;
            let keeps = bench.drive.gc_remaining(at, Die(0));
            assert_eq!(bench.latency_of_read(at, kept), keeps + read, "at {at:?}");
        }
    }
    assert!(both > 50, "{both} instants at which both are urgent");
    assert_eq!(bench.drive.counters().erases, 2);
}

#[test]
fn an_erase_that_gives_way_to_reads_keeps_nobody() {
    let (mut bench, begins) = collecting(gc(GcMode::Base), &cost());
    bench.drive.suspend_erases(&EraseSpec { mode: EraseMode::Es, ..EraseSpec::default() });
    let copy = copy_of_a_page(bench.times(), false) * u64::from(VALID);
    bench.advance_to(begins + Duration::from_ms(1));
    assert_eq!(
        bench.drive.gc_remaining(begins + Duration::from_ms(1), Die(0)),
        copy - Duration::from_ms(1)
    );
    let at = begins + copy + Duration::from_us(500);
    bench.advance_to(at);
    assert_eq!(bench.drive.gc_remaining(at, Die(0)), Duration::ZERO);
}

#[test]
fn a_kept_page_is_computed_in_the_time_of_a_read_and_a_xor() {
    let (bench, begins) = collecting(gc(GcMode::Base), &cost());
    let computed = bench.times().page_read() + XOR;
    let at = begins + Duration::from_ms(1);
    assert_eq!(what_a_read_does(&bench, at, page(KEPT, 0), pages(1)), (computed, 1, 7, 0));
    // With one fellow of the request, with two, with all: N - 1 reads, of which so many are extra.
    assert_eq!(what_a_read_does(&bench, at, page(KEPT, 0), pages(2)), (computed, 1, 6, 0));
    assert_eq!(what_a_read_does(&bench, at, page(KEPT, 0), pages(3)), (computed, 1, 5, 0));
    assert_eq!(what_a_read_does(&bench, at, page(KEPT, 0), pages(7)), (computed, 1, 1, 0));
    // Its fellows alone are read as ever.
    assert_eq!(what_a_read_does(&bench, at, page(KEPT, 1), pages(6)).1, 0);
}

/// Reads of one stripe of two pages: the whole of one is `full`, the rest waits.
#[test]
fn full_computes_in_whole_stripes_only() {
    for rule in [CostRule::Estimate, CostRule::Rotation] {
        let (bench, begins) = collecting(gc(GcMode::Base), &rain(Reconstruct::Full, rule));
        let times = bench.times();
        let at = begins + Duration::from_ms(1);
        let waits = bench.drive.gc_remaining(begins + NS, Die(0)) - at.since(begins + NS)
            + times.page_read();
        assert_eq!(
            what_a_read_does(&bench, at, page(KEPT, 0), pages(7)),
            (times.page_read() + XOR, 1, 1, 0)
        );
        for part in 1..7 {
            assert_eq!(
                what_a_read_does(&bench, at, page(KEPT, 0), pages(part)),
                (waits, 0, 0, 0),
                "{part} pages"
            );
        }
        // Even at the end of the erase: the whole costs no more reads.
        let late = at + waits - times.page_read() - NS;
        assert_eq!(what_a_read_does(&bench, late, page(KEPT, 0), pages(7)).1, 1);
    }
}

#[test]
fn cost_computes_while_the_collection_has_more_left_than_the_extra_reads_take() {
    for rule in [CostRule::Estimate, CostRule::Rotation] {
        let (bench, begins) = collecting(gc(GcMode::Base), &rain(Reconstruct::Cost, rule));
        let times = bench.times();
        let copied = begins + copy_of_a_page(times, false) * u64::from(VALID);
        let ends = copied + times.erase_command + times.erase;
        let sectors = |count: u64| bench.device.channel.rate.time_for(512 * count);
        // Pages asked for, sectors of the kept one, and what has to be read for it alone.
        for (asked, of_kept, extra) in
            [(pages(1), 8, 7), (pages(2), 8, 6), (pages(6), 8, 2), (2, 2, 7)]
        {
            let cost = (times.command + times.read + sectors(of_kept)) * extra + XOR;
            assert!(cost < times.erase, "the rule turns during the erase");
            let does = |at| {
                let (_, computed, extra, refused) =
                    what_a_read_does(&bench, at, page(KEPT, 0), asked);
                (computed, extra, refused)
            };
            assert_eq!(
                does(Instant::from_ns(ends.as_ns() - cost.as_ns())),
                (0, 0, 1),
                "{rule:?} {asked}"
            );
            assert_eq!(
                does(Instant::from_ns(ends.as_ns() - cost.as_ns() - 1)),
                (1, extra, 0),
                "{rule:?} {asked}"
            );
            assert_eq!(does(copied), (1, extra, 0));
            assert_eq!(does(ends + NS), (0, 0, 0), "nothing keeps it any more");
        }
    }
}

#[test]
fn of_two_kept_pages_the_later_one_is_computed_unless_only_the_other_is_asked_for() {
    let later = Duration::from_ms(3);
    for rule in [CostRule::Estimate, CostRule::Rotation] {
        let (bench, begins) = both_collecting(&rain(Reconstruct::Cost, rule), later);
        let (times, at) = (bench.times(), begins + later + Duration::from_ms(1));
        let of_first = begins
            + copy_of_a_page(times, false) * u64::from(VALID)
            + times.erase_command
            + times.erase;
        let (read, fast) = (times.page_read(), times.page_read() + XOR);
        // Both: the later one is computed, and waits for the first, which the request waits for
        // anyway.
        for (asked, extra) in [(pages(2), 6), (pages(7), 1)] {
            let expected = (of_first.since(at) + fast, 1, extra, 0);
            assert_eq!(what_a_read_does(&bench, at, page(KEPT, 0), asked), expected, "{rule:?}");
        }
        // The later one alone: what has to be read for it is there earlier.
        assert_eq!(
            what_a_read_does(&bench, at, page(KEPT, 1), pages(1)),
            (of_first.since(at) + fast, 1, 7, 0)
        );
        // The first one alone: the other is kept longer. The rule of rotation does not look.
        let expected = match rule {
            CostRule::Estimate => (of_first.since(at) + read, 0, 0, 1),
            _ => (of_first.since(at) + later + fast, 1, 7, 0),
        };
        assert_eq!(what_a_read_does(&bench, at, page(KEPT, 0), pages(1)), expected, "{rule:?}");
        // A whole stripe whose parity (of k = 6 mod 8) is on the later channel.
        let (_, computed, extra, refused) = what_a_read_does(&bench, at, page(246, 0), pages(7));
        let expected = if rule == CostRule::Estimate { (0, 0, 1) } else { (1, 1, 0) };
        assert_eq!((computed, extra, refused), expected, "{rule:?}");
    }
}

/// Plane-blocking copies: while the last page is programmed, the authors' code takes that program
/// for the erase, and it is shorter than seven reads.
#[test]
fn as_coded_a_victim_counts_as_copied_when_its_last_page_is_programmed() {
    for rule in [CostRule::Rotation, CostRule::RotationAsCoded] {
        let gc = GcSpec { copyback: true, ..gc(GcMode::PlaneBlocking) };
        let (bench, begins) = collecting(gc, &rain(Reconstruct::Cost, rule));
        let times = bench.times();
        let copied = begins + copy_of_a_page(times, true) * u64::from(VALID);
        let ends = copied + times.erase_command + times.erase;
        let program = times.program.as_ns();
        let before = |ns: u64| Instant::from_ns(copied.as_ns() - ns);
        let computed = (times.page_read() + XOR, 1, 7, 0);
        let refused = |at: Instant| (ends.since(at) + times.page_read(), 0, 0, 1);
        let as_coded = |at| if rule == CostRule::Rotation { computed } else { refused(at) };
        let does = |at| what_a_read_does(&bench, at, page(KEPT, 0), pages(1));
        // Its read, and the beginning, the midst and the end of its program.
        assert_eq!(does(before(program + 2_000)), computed, "{rule:?}");
        for at in [before(program - 1_000), before(program / 2), before(1)] {
            assert_eq!(does(at), as_coded(at), "{rule:?} {at:?}");
        }
        assert_eq!(does(copied + NS), computed, "{rule:?}: the erase takes longer than the reads");
    }
}

#[test]
fn two_kept_pages_closer_than_the_extra_reads_are_not_worth_it() {
    for (later, computed) in [(Duration::from_us(1_008), 0), (Duration::from_us(1_009), 1)] {
        let (bench, begins) = both_collecting(&cost(), later);
        // 7 reads of 142,575 ns and the XOR are 1,008,025 ns.
        let at = begins + later + Duration::from_ms(1);
        assert_eq!(what_a_read_does(&bench, at, page(KEPT, 1), pages(1)).1, computed, "{later}");
    }
}

#[test]
fn where_reads_pass_the_operation_under_way_is_all_that_keeps_a_page() {
    let (bench, begins) =
        collecting(GcSpec { when: GcWhen::Background, ..gc(GcMode::Preemptive) }, &cost());
    // Programs take 0.8 ms, less than seven reads; the erase takes 2 ms.
    let (times, at) = (bench.times(), begins + Duration::from_ms(1));
    assert_eq!(what_a_read_does(&bench, at, page(KEPT, 0), pages(1)).1, 0);
    let erasing = begins + copy_of_a_page(times, false) * u64::from(VALID) + times.erase_command;
    assert_eq!(
        what_a_read_does(&bench, erasing, page(KEPT, 0), pages(1)),
        (times.page_read() + XOR, 1, 7, 0)
    );
}

#[test]
fn a_parity_update_reads_round_a_collection_where_that_is_sooner() {
    // Parity on channel 0 (k = 7 mod 8): the subtractive way would read it.
    let (k, more) = (247, 4);
    for (update_reads, turns) in [(UpdateReads::Wait, false), (UpdateReads::Reconstruct, true)] {
        let (bench, begins) = collecting(
            gc(GcMode::Base),
            &RainSpec { update_reads, ..rain(Reconstruct::Never, CostRule::Estimate) },
        );
        let times = bench.times();
        let ends = begins
            + copy_of_a_page(times, false) * u64::from(VALID)
            + times.erase_command
            + times.erase;
        let cost = times.page_read() * more;
        let just_too_late = Instant::from_ns(ends.as_ns() - cost.as_ns());
        let in_time = Instant::from_ns(just_too_late.as_ns() - 1);
        for (at, turns) in
            [(begins + Duration::from_ms(1), turns), (in_time, turns), (just_too_late, false)]
        {
            let mut copy = bench.clone();
            copy.advance_to(at);
            let before = copy.drive.counters().rain;
            let write = copy.write(at, page(k, 2));
            let end = copy.end_of(write);
            let after = copy.drive.counters().rain;
            let reads = after.parity_reads - before.parity_reads;
            assert_eq!(
                (reads, after.turned_updates),
                (if turns { 6 } else { 2 }, u64::from(turns)),
                "{at:?}"
            );
            // The page itself needs no old copy when the parity is made from the others.
            let waits = if turns { Duration::ZERO } else { times.page_read() };
            assert_eq!(end, at + waits + times.page_program());
            copy.drive.check_parity();
        }
    }
}

/// Without a flush in the background the buffer fills; then a write waits for the page that makes
/// room for it.
#[test]
fn without_a_background_flush_a_write_waits_for_the_room_that_it_makes() {
    let slots = 256;
    for background_flush in [false, true] {
        let spec = DriveSpec {
            background_flush,
            flush_above: 0.0,
            write_through: false,
            ..write_through()
        };
        assert_eq!(spec.buffer.get(), slots * 4096);
        let mut bench = Bench::plain(spec.clone());
        let times = bench.times();
        for lpn in 0..slots {
            bench.write(start() + Duration::from_us(lpn), lpn);
        }
        bench.run();
        assert!(u64::from(bench.drive.buffered()) <= slots);
        assert_eq!(bench.drive.flash().operations().programs == 0, !background_flush);
        let at = start() + Duration::from_s(1);
        let ids: Vec<CommandId> = (0..3).map(|n| bench.write(at, slots + n)).collect();
        // Each evicts a page for itself; they are on different channels.
        let waits = if background_flush { Duration::ZERO } else { times.page_program() };
        for id in ids {
            assert_eq!(bench.end_of(id), at + waits + spec.buffer_hit, "{background_flush}");
        }
        assert_eq!(bench.drive.counters().buffer.stalls > 0, !background_flush);
        assert!(u64::from(bench.drive.buffered()) <= slots);
    }
}

/// Of two writes that find the buffer full the first one's page leaves for a chip with ten reads
/// before it, the second one's for an idle one.
#[test]
fn a_write_waits_for_any_room_or_for_what_left_on_its_account() {
    let slots = 256;
    for own in [false, true] {
        let full_buffer = if own { FullBuffer::Own } else { FullBuffer::Any };
        let spec = DriveSpec {
            background_flush: false,
            full_buffer,
            write_through: false,
            ..write_through()
        };
        let mut bench = Bench::new(ttflash_256g(BLOCKS), spec.clone(), GcSpec::default(), |map| {
            (0..20).for_each(|k| {
                super::write_before_the_run(map, 100 * LANES as u32 + k * LANES as u32)
            });
        });
        let times = bench.times();
        for lpn in 0..slots {
            bench.write(start() + Duration::from_us(lpn), lpn);
        }
        bench.run();
        let at = start() + Duration::from_s(1);
        for k in 100..110 {
            bench.read(at, k * LANES);
        }
        let [first, second] = [slots, slots + 1].map(|lpn| bench.write(at + NS, lpn));
        let [first, second] = [first, second].map(|id| bench.end_of(id));
        let soon = at + NS + times.page_program();
        let late = at + times.page_read() * 10 + times.page_program();
        // The second one's own page was on flash before there was room for it.
        assert_eq!(first, if own { late } else { soon + spec.buffer_hit }, "own {own}");
        assert_eq!(second, late + spec.buffer_hit, "own {own}");
    }
}
