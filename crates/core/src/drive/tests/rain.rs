//! Parity by arithmetic, on the eight channels of eight chips of `ttflash-256g`: seven data pages
//! and a parity.

use super::{Bench, PAGE, start, ttflash_256g, write_through};
use crate::drive::parity::in_place::{mixed, unmixed};
use crate::drive::{CommandId, Drive, DriveSpec, Evict, FirmwareSpec, Op, RainSpec, Reconstruct};
use crate::flash::Layout;
use crate::ftl::timeless::Writer;
use crate::ftl::{FtlSpec, GcSpec, PageMap};
use crate::units::{Bandwidth, Bytes, Cause, Duration, Lpn};

/// Data pages in a stripe.
const DATA: u64 = 7;

fn rain() -> RainSpec {
    RainSpec { width: 8, ..RainSpec::default() }
}

fn always() -> RainSpec {
    RainSpec { reconstruct: Reconstruct::Always, ..rain() }
}

/// A drive that never collects, with the first `written` pages on flash.
fn bench(spec: DriveSpec, rain: &RainSpec, written: u32) -> Bench {
    let (device, ftl) = (ttflash_256g(4), FtlSpec::default());
    let gc = GcSpec { soft: 0.0.into(), hard: 0.0.into(), ..GcSpec::default() };
    let logical = Layout::new(&device).total_units() / 2;
    let mut map = PageMap::new(&device, &ftl, &gc, logical, 1).with_parity(&ftl, &device, 8);
    let mut writer = Writer::new(&mut map);
    (0..written).for_each(|lpn| writer.write(Lpn(lpn)).unwrap());
    writer.finish().unwrap();
    let mut drive = Drive::new(&device, &spec, &gc, map, true);
    drive.keep_parity(rain);
    drive.attribute();
    Bench { device, drive, done: Vec::new(), next_id: 0 }
}

impl Bench {
    fn write_pages(&mut self, at: crate::units::Instant, lpn: u64, pages: u32) -> CommandId {
        self.submit(at, Op::Write, lpn * u64::from(PAGE), pages * PAGE, false)
    }

    fn read_pages(&mut self, at: crate::units::Instant, lpn: u64, pages: u32) -> CommandId {
        self.submit(at, Op::Read, lpn * u64::from(PAGE), pages * PAGE, false)
    }
}

#[test]
fn what_a_page_adds_to_its_parity_can_be_taken_back_and_belongs_to_it_alone() {
    for lpn in (0..100).map(|i| Lpn(i * 77_777)) {
        for version in (0..50).chain([u32::MAX, 0x8000_0000]) {
            assert_eq!(unmixed(lpn, mixed(lpn, version)), version);
            assert_ne!(mixed(Lpn(lpn.0 + 1), version), mixed(lpn, version));
        }
    }
    // Plain versions would let this pass: two members that are both one behind.
    let stale = |a: u32, b: u32| mixed(Lpn(1), a) ^ mixed(Lpn(2), b);
    assert_ne!(stale(2, 2), stale(3, 3));
}

#[test]
fn a_partial_update_reads_old_data_and_old_parity_and_then_programs_both() {
    let mut bench = bench(write_through(), &rain(), 7 * 64);
    let times = bench.times();
    let one = bench.write(start(), 0);
    // The second write of the stripe comes while it is under update: it follows.
    let other = bench.write(start() + Duration::from_us(1), 1);
    assert_eq!(bench.end_of(one), start() + times.page_read() + times.page_program());
    assert_eq!(bench.end_of(other), start() + (times.page_read() + times.page_program()) * 2);
    let (counters, operations) = (bench.drive.counters(), bench.drive.flash().operations());
    assert_eq!((operations.reads, operations.programs), (4, 4));
    assert_eq!(
        (counters.rain.parity_reads, counters.rain.parity_units, counters.host_units),
        (4, 2, 2)
    );
    assert_eq!((counters.rain.partial_stripes, counters.rain.subtractive_stripes), (2, 2));
    bench.drive.check_parity();
}

#[test]
fn the_way_with_fewer_reads_is_taken_and_a_full_stripe_reads_nothing() {
    // Subtractive reads d + 1, additive 7 - d.
    for (dirty, reads) in (1..).zip([2, 3, 4, 3, 2, 1, 0]) {
        let mut bench = bench(write_through(), &rain(), 7 * 64);
        let times = bench.times();
        let id = bench.write_pages(start(), 14, dirty);
        let waits = if dirty <= 3 { times.page_read() } else { Duration::ZERO };
        assert_eq!(bench.end_of(id), start() + waits + times.page_program(), "{dirty} pages");
        let rain = bench.drive.counters().rain;
        assert_eq!((rain.parity_reads, rain.parity_units), (reads, 1), "{dirty} pages");
        assert_eq!(rain.subtractive_stripes, u64::from(dirty <= 3));
        assert_eq!(
            (rain.full_stripes, rain.stripe_pages),
            (u64::from(dirty == 7), u64::from(dirty))
        );
        bench.drive.check_parity();
    }
}

#[test]
fn pages_never_written_are_not_read() {
    let mut bench = bench(write_through(), &rain(), 0);
    let times = bench.times();
    let first = bench.write(start(), 0);
    assert_eq!(bench.end_of(first), start() + times.page_program());
    assert_eq!(bench.drive.counters().rain.parity_reads, 0);
    // One member on flash: additive reads that one, subtractive the parity; a tie is subtractive.
    bench.write(start() + Duration::from_ms(10), 1);
    bench.run();
    let rain = bench.drive.counters().rain;
    assert_eq!((rain.parity_reads, rain.subtractive_stripes), (1, 2));
    bench.drive.check_parity();
}

#[test]
fn part_of_a_page_is_filled_up_by_the_read_of_its_old_copy() {
    let mut bench = bench(write_through(), &rain(), 7 * 64);
    let times = bench.times();
    let id = bench.submit(start(), Op::Write, 3, 2, false);
    assert_eq!(bench.end_of(id), start() + times.page_read() + times.page_program());
    let counters = bench.drive.counters();
    assert_eq!((counters.buffer.rmw_reads, counters.rain.parity_reads), (1, 1));
    assert_eq!(bench.drive.flash().operations().reads, 2);
    bench.drive.check_parity();
}

#[test]
fn full_stripes_cost_eight_programs_for_seven_pages() {
    let spec = DriveSpec { buffer: Bytes::kib(1024), flush_above: 0.5, ..DriveSpec::default() };
    let mut bench = bench(spec, &rain(), 0);
    for stripe in 0..2_000 {
        bench.write_pages(start() + Duration::from_us(150) * stripe, stripe * DATA, DATA as u32);
    }
    bench.run();
    let counters = bench.drive.counters();
    assert!(counters.host_units > 10_000 && counters.padded_units == 0);
    assert_eq!((counters.rain.partial_stripes, counters.rain.parity_reads), (0, 0));
    assert_eq!(counters.host_units * 8, (counters.host_units + counters.rain.parity_units) * 7);
}

#[test]
fn pages_leave_with_their_stripe_or_alone_as_asked() {
    for (evict, updates) in [(Evict::Stripe, 1), (Evict::StripeLru, 1), (Evict::Page, 5)] {
        let spec = DriveSpec { power_loss_protection: false, ..DriveSpec::default() };
        let mut bench = bench(spec, &RainSpec { evict, ..rain() }, 7 * 64);
        for member in [4, 0, 2, 6, 1] {
            bench.write(start(), member);
        }
        let flush = bench.flush(start() + Duration::from_us(50));
        bench.end_of(flush);
        let rain = bench.drive.counters().rain;
        assert_eq!(
            (rain.partial_stripes, rain.stripe_pages, rain.parity_units),
            (updates, 5, updates),
            "{evict:?}"
        );
        bench.drive.check_parity();
    }
}

/// Stripe 0 is begun before stripe 1 and written again behind it.
#[test]
fn the_oldest_page_s_stripe_leaves_first_or_the_one_used_longest_ago() {
    for (evict, reads, pages) in [
        (Evict::Stripe, false, 2),
        (Evict::Stripe, true, 2),
        (Evict::StripeLru, false, 1),
        (Evict::StripeLru, true, 2),
    ] {
        let (room, dirty) = (16, 8);
        let buffer = Bytes::kib(4 * room);
        let spec = DriveSpec { buffer, flush_above: 0.5, ..DriveSpec::default() };
        let mut bench = bench(spec, &RainSpec { evict, ..rain() }, 7 * 64);
        let at = |us| start() + Duration::from_us(us);
        for (us, lpn) in [(0, 0), (10, DATA), (20, 1)] {
            bench.write(at(us), lpn);
        }
        if reads {
            bench.read_pages(at(30), DATA, 1);
        }
        for (us, stripe) in (40..).zip(2..dirty - 1) {
            bench.write(at(us), stripe * DATA);
        }
        bench.run();
        assert_eq!(bench.drive.counters().rain.partial_stripes, 0);
        bench.write(at(1_000), 20 * DATA);
        bench.run();
        let left = bench.drive.counters().rain;
        assert_eq!((left.partial_stripes, left.stripe_pages), (1, pages), "{evict:?} {reads}");
    }
}

#[test]
fn a_page_is_computed_in_the_time_of_a_read_and_a_xor() {
    let mut bench = bench(DriveSpec::default(), &always(), 7 * 64);
    let times = bench.times();
    let (one, xor) = (bench.read(start(), 3), Duration::from_us(10));
    assert_eq!(bench.end_of(one), start() + times.page_read() + xor);
    let split = bench.drive.attributed().unwrap().split;
    assert_eq!(
        (split.get(Cause::Service), split.get(Cause::Reconstruct)),
        (times.page_read(), xor)
    );
    assert_eq!(bench.drive.flash().operations().reads, 7);
    let rain = bench.drive.counters().rain;
    assert_eq!((rain.reconstructed_pages, rain.extra_reads), (1, 7));
}

/// Four pages of four stripes at one instant: the engines work on them in rounds.
#[test]
fn pages_wait_for_an_engine() {
    let xor = Duration::from_ms(1);
    for (xor_engines, rounds) in [(0, 1), (1, 4), (2, 2), (3, 2), (4, 1)] {
        let spec = RainSpec { xor, xor_engines, ..always() };
        let mut bench = bench(DriveSpec::default(), &spec, 7 * 64);
        let first = start() + bench.times().page_read() + xor * rounds;
        let reads: Vec<_> = (0..4).map(|stripe| bench.read(start(), stripe * DATA)).collect();
        let last = reads.into_iter().map(|id| bench.end_of(id)).max().unwrap_or(start());
        // Members of the later stripes come behind those of the first on their channels.
        assert!(last >= first && last < first + xor, "{xor_engines}: {last:?}, {first:?}");
        assert!(xor_engines != 1 || last == first, "one engine is at work all the time");
    }
}

/// Members that the request did not ask for cross the DRAM, in and out, before the XOR.
#[test]
fn extra_reads_cross_the_dram() {
    let spec = |rate| {
        let firmware =
            FirmwareSpec { dram: Bandwidth::bytes_per_second(rate), ..FirmwareSpec::default() };
        DriveSpec { firmware, ..DriveSpec::default() }
    };
    let mut bench = bench(spec(1_000_000_000), &always(), 7 * 64);
    let (times, one) = (bench.times(), bench.read(start(), 3));
    let page = Duration::from_ns(2 * u64::from(PAGE) * 512);
    // Seven reads end at once on their channels; the page itself goes to the host.
    let expected = times.page_read() + page * 7 + Duration::from_us(10) + page;
    assert_eq!(bench.end_of(one).since(start()), expected);
}

#[test]
fn one_page_of_a_stripe_is_computed_and_its_fellows_are_read_once() {
    let mut bench = bench(DriveSpec::default(), &always(), 7 * 64);
    let times = bench.times();
    let whole = bench.read_pages(start(), 7, 7);
    assert_eq!(bench.end_of(whole), start() + times.page_read() + Duration::from_us(10));
    let rain = bench.drive.counters().rain;
    assert_eq!(
        (rain.reconstructed_pages, rain.extra_reads, bench.drive.flash().operations().reads),
        (1, 1, 7)
    );
    // Two stripes in part: pages 12, 13 and 14.
    bench.read_pages(start() + Duration::from_ms(1), 12, 3);
    bench.run();
    let rain = bench.drive.counters().rain;
    assert_eq!(
        (rain.reconstructed_pages, rain.extra_reads, bench.drive.flash().operations().reads),
        (3, 14, 21)
    );
}

#[test]
fn fellows_asked_for_in_part_bring_what_the_computed_page_needs() {
    let mut bench = bench(DriveSpec::default(), &always(), 7 * 64);
    let times = bench.times();
    // The last four sectors of page 0 and the first two of page 1: page 1 is read with six.
    let id = bench.submit(start(), Op::Read, 4, 6, false);
    let sectors = |n: u64| bench.device.channel.rate.time_for(512 * n);
    let longest = times.command + times.read + sectors(6);
    let expected = start() + longest + Duration::from_us(10);
    assert_eq!(bench.end_of(id), expected);
}

#[test]
fn a_stripe_under_update_is_read_and_not_computed() {
    let mut bench = bench(write_through(), &always(), 7 * 64);
    let times = bench.times();
    let write = bench.write(start(), 0);
    // Between the reads and the programs of the update.
    let at = start() + times.page_read() + times.command;
    let read = bench.read(at, 1);
    assert_eq!(bench.end_of(read), at + times.page_read());
    assert_eq!(bench.drive.counters().rain.reconstructed_pages, 0);
    let at = bench.end_of(write);
    let after = bench.read(at, 1);
    assert_eq!(bench.end_of(after), at + times.page_read() + Duration::from_us(10));
}

#[test]
fn a_page_given_back_stays_in_the_parity_until_it_is_computed_anew() {
    let mut bench = bench(write_through(), &rain(), 7 * 64);
    let on_flash = |bench: &Bench| {
        (0..7).filter(|lpn| bench.drive.ftl().member_at(Lpn(*lpn)).is_some()).count()
    };
    bench.submit(start(), Op::Trim, 2 * u64::from(PAGE), PAGE, false);
    bench.run();
    assert_eq!((on_flash(&bench), bench.drive.flash().operations().reads), (7, 0));
    let at = start() + Duration::from_ms(1);
    let read = bench.read(at, 2);
    assert_eq!(
        bench.end_of(read),
        at + DriveSpec::default().buffer_hit,
        "the host sees nothing there"
    );
    bench.drive.check_parity();
    // Subtractive: the parity still holds it. Additive: it is left out, and let go.
    for (pages, left) in [(2, 7), (4, 6)] {
        let first = if pages == 2 { 0 } else { 3 };
        let at = start() + Duration::from_ms(10) * pages;
        let id = bench.write_pages(at, first, pages as u32);
        bench.end_of(id);
        bench.run();
        assert_eq!(on_flash(&bench), left);
        bench.drive.check_parity();
    }
    let at = start() + Duration::from_ms(100);
    bench.submit(at, Op::Trim, 0, 7 * PAGE, false);
    bench.run();
    assert_eq!(on_flash(&bench), 0);
    let parity = bench.drive.ftl().stripes().unwrap().parity(0);
    assert_eq!(bench.drive.ftl().member_at(parity), None);
    bench.drive.check_parity();
}
