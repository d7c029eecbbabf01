//! Parity over superblocks by arithmetic, on the eight channels of eight chips of `ttflash-256g`:
//! seven rows of data and one of parity.

use super::{Bench, PAGE, start, ttflash_256g, write_through};
use crate::drive::{Drive, DriveSpec, Op, RainSpec, Reconstruct, ScrubSpec, Status, Update};
use crate::flash::{Features, Layout};
use crate::ftl::{Allocation, FtlSpec, GcSpec, PageMap, VictimUnit};
use crate::units::{Bytes, Duration, Lpn, Ppn};

/// Rows of data of one number on the 64 lanes.
const DATA_ROWS: u32 = 56;

fn rain(reconstruct: Reconstruct) -> RainSpec {
    RainSpec { width: 8, update: Update::Superblock, reconstruct, ..RainSpec::default() }
}

/// An empty drive that never collects.
fn bench(spec: DriveSpec, features: Features, rain: &RainSpec) -> Bench {
    let mut device = ttflash_256g(8);
    device.geometry.planes = features.program_planes.max(device.geometry.planes);
    device.feature = features;
    let ftl = FtlSpec { allocation: Allocation::Dynamic, ..FtlSpec::default() };
    let gc = GcSpec {
        unit: VictimUnit::Superblock,
        soft: 0.0.into(),
        hard: 0.0.into(),
        ..GcSpec::default()
    };
    let logical = Layout::new(&device).total_units() / 2;
    let map = PageMap::new(&device, &ftl, &gc, logical, 1)
        .with_superblock_parity(&ftl, &device, rain.width);
    let mut drive = Drive::new(&device, &spec, &gc, map, true);
    drive.keep_parity(rain);
    drive.attribute();
    Bench { device, drive, done: Vec::new(), next_id: 0 }
}

fn wide() -> Features {
    Features { program_planes: 2, program_pages: 2, ..Features::default() }
}

#[test]
fn full_rows_program_one_of_parity_for_seven_of_data_and_read_nothing() {
    for features in [Features::default(), wide()] {
        for rows in [1, 3, 16] {
            // Pages leave as soon as a lane can take them.
            let spec =
                DriveSpec { buffer: Bytes::kib(32_768), flush_above: 0.0, ..DriveSpec::default() };
            let mut bench = bench(spec, features.clone(), &rain(Reconstruct::Never));
            let row = bench.drive.flash().layout.units_per_row;
            let pages = rows * DATA_ROWS * row;
            bench.submit(start(), Op::Write, 0, pages * PAGE, false);
            bench.run();
            let (counters, operations) = (bench.drive.counters(), bench.drive.flash().operations());
            assert_eq!((operations.reads, operations.programs), (0, u64::from(rows) * 64));
            assert_eq!((counters.host_units, counters.padded_units), (pages.into(), 0));
            assert_eq!(counters.rain.parity_units, u64::from(rows * 8 * row));
            assert_eq!(
                (counters.rain.full_stripes, counters.rain.stripe_pages),
                (u64::from(rows * 8 * row), pages.into())
            );
            assert_eq!(counters.units_programmed(), u64::from(rows * 64 * row));
            assert_eq!(
                (
                    counters.rain.parity_reads,
                    counters.rain.copy_parity_units,
                    counters.buffer.rmw_reads
                ),
                (0, 0, 0)
            );
            bench.drive.check_parity();
        }
    }
}

/// Seven writes of a page close a stripe; its parity is programmed once, when the last of them is
/// on its way.
#[test]
fn parity_follows_the_last_page_of_its_stripe() {
    let mut bench = bench(write_through(), Features::default(), &rain(Reconstruct::Never));
    let times = bench.times();
    for lpn in 0..7 {
        let id = bench.write(start() + Duration::from_ms(lpn * 10), lpn);
        assert_eq!(
            bench.end_of(id).since(start() + Duration::from_ms(lpn * 10)),
            times.page_program()
        );
        let parity = bench.drive.counters().rain.parity_units;
        assert_eq!(parity, u64::from(lpn == 6), "after page {lpn}");
        bench.drive.check_parity();
    }
    assert_eq!(bench.drive.flash().operations().programs, 8);
    // The stripe holds all seven, on the other channels of one place.
    let (ftl, layout) = (bench.drive.ftl(), &bench.drive.flash().layout);
    let page = |lpn: u32| ftl.mapping().physical(Lpn(lpn));
    let stripe: Vec<_> = ftl.superstripes().unwrap().stripe_of(page(0)).collect();
    assert!((0..7).all(|lpn| stripe.contains(&page(lpn))));
    let channels = stripe
        .iter()
        .map(|page| layout.channel_of(layout.die_of(layout.lane_of(layout.block_of(*page)))));
    assert_eq!(channels.collect::<Vec<_>>(), (0..8).map(crate::units::Channel).collect::<Vec<_>>());
}

/// The reads that compute a page: the other six of its stripe and the parity; none of it while the
/// stripe is open.
#[test]
fn a_computed_page_costs_the_reads_of_its_stripe_and_the_xor() {
    let mut bench = bench(write_through(), Features::default(), &rain(Reconstruct::Always));
    let times = bench.times();
    for lpn in 0..7 {
        let open = bench.drive.counters().rain.reconstructed_pages;
        let id = bench.write(start() + Duration::from_ms(lpn * 20), lpn);
        bench.end_of(id);
        let at = start() + Duration::from_ms(lpn * 20 + 10);
        let id = bench.read(at, 0);
        let (end, computed) =
            (bench.end_of(id), bench.drive.counters().rain.reconstructed_pages - open);
        let xor = Duration::from_us(10);
        let expected = if lpn < 6 { (0, Duration::ZERO) } else { (1, xor) };
        assert_eq!(
            (computed, end.since(at)),
            (expected.0, times.page_read() + expected.1),
            "after page {lpn}"
        );
    }
    let rain = bench.drive.counters().rain;
    assert_eq!((rain.reconstructed_pages, rain.extra_reads, rain.whole_stripes), (1, 7, 0));
    // A request for all seven reads six of them and the parity.
    let reads = bench.drive.flash().operations().reads;
    bench.submit(start() + Duration::from_s(1), Op::Read, 0, 7 * PAGE, false);
    bench.run();
    let rain = bench.drive.counters().rain;
    assert_eq!((rain.reconstructed_pages, rain.extra_reads, rain.whole_stripes), (2, 8, 1));
    assert_eq!(bench.drive.flash().operations().reads - reads, 7);
}

/// Overwritten and deallocated members stay where they are, and stay in the parity.
#[test]
fn stale_members_are_read_as_they_lie() {
    let mut bench = bench(write_through(), Features::default(), &rain(Reconstruct::Always));
    (0..7).for_each(|lpn| _ = bench.write(start() + Duration::from_ms(lpn), lpn));
    bench.run();
    bench.write(start() + Duration::from_ms(100), 3);
    bench.submit(start() + Duration::from_ms(110), Op::Trim, 5 * u64::from(PAGE), PAGE, false);
    bench.run();
    let at = start() + Duration::from_ms(200);
    bench.read(at, 0);
    bench.run();
    assert_eq!(bench.drive.counters().rain.extra_reads, 7);
    bench.drive.check_parity();
}

/// Page 0 of a stripe is computed, after page 1 was read: the request ends with the computed page,
/// and an uncorrectable page of the others is the request's.
#[test]
fn a_read_that_ends_with_a_computed_page_tells_an_uncorrectable_page_before_it() {
    // 29 bits in a codeword on average, 40 are corrected: 2 % of the codewords are lost.
    let noisy = ScrubSpec { errors: true, rber: 3.5e-3, ..ScrubSpec::default() };
    let mut bench = bench(write_through(), Features::default(), &rain(Reconstruct::Always));
    bench.drive.scrub(&noisy, 1);
    let mut at = start();
    for lpn in 0..7 * 32 {
        bench.write(at, lpn);
        at += Duration::from_ms(2);
    }
    let (mut by_the_read, mut by_others, mut failed) = (0, 0, 0);
    for stripe in 0..32 {
        let (ftl, flash) = (bench.drive.ftl(), bench.drive.flash());
        let page = |lpn: u32| ftl.mapping().physical(Lpn(lpn));
        let (computed, read) = (page(7 * stripe), page(7 * stripe + 1));
        let is_lost = |page: Ppn| flash.bit_errors().unwrap().found_in(page).worst > 40;
        let others = ftl.superstripes().unwrap().stripe_of(computed);
        let others = others.filter(|page| *page != computed && *page != read).any(is_lost);
        let lost = is_lost(read) || others;
        (by_the_read, by_others) =
            (by_the_read + u32::from(is_lost(read) && !others), by_others + u32::from(others));
        failed += u64::from(lost);
        let first = u64::from(7 * stripe * PAGE);
        let id = bench.submit(at, Op::Read, first, 2 * PAGE, false);
        at += Duration::from_ms(2);
        bench.advance_to(at);
        let status = bench.done.iter().find(|completion| completion.id == id).unwrap().status;
        let expected = if lost { Status::UnrecoveredRead } else { Status::Success };
        assert_eq!(status, expected, "stripe {stripe}");
    }
    assert_eq!(bench.drive.counters().rain.reconstructed_pages, 32);
    assert_eq!(bench.drive.counters().scrub.failed_reads, failed);
    assert!(by_the_read > 0 && by_others > 0 && failed < 32, "{by_the_read}, {by_others}");
}
