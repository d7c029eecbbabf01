//! Stripes: the closed form of the ttFlash code, its properties on other geometries, and the state
//! that is left by preconditioning.

use super::device;
use crate::drive::precondition::{AgedLane, precondition};
use crate::drive::{PreconditionSpec, PreconditionState};
use crate::flash::{Capacity, Device, Features};
use crate::ftl::timeless::Writer;
use crate::ftl::{FtlSpec, GcSpec, PageMap, Stripe};
use crate::sim::Rng;
use crate::units::{Lane, Lpn};
use std::collections::BTreeSet;

/// A map of what `device.op` leaves of the device, one page in `width` being parity.
fn guarded(device: &Device, ftl: &FtlSpec, width: u32) -> PageMap {
    let pages = Capacity::of(device).user.get() / device.geometry.map_unit.get();
    PageMap::new(device, ftl, &GcSpec::default(), pages as u32, 1).with_parity(ftl, device, width)
}

/// The reference's own numbers: eight channels of eight chips, seven data pages and a parity.
#[test]
fn a_million_pages_live_where_the_closed_form_of_ttflash_says() {
    let mut device = device(256, 256);
    (device.geometry.channels, device.geometry.ways, device.op) = (8, 8, 0.1);
    let map = guarded(&device, &FtlSpec::default(), 8);
    let stripes = map.stripes().unwrap();
    assert!(map.logical() > 1_000_000 && map.logical() == stripes.count() * 7);
    let lane = |channel: i64, chip: i64| Lane((channel * 8 + chip) as u32);
    for lpn in 0..1_000_000i64 {
        let (stripe, i) = (lpn / 7, lpn % 7);
        let chip = stripe % 8;
        let parity = (7 - chip - stripe / 8).rem_euclid(8);
        let channel = if i < parity { i } else { i + 1 };
        assert_eq!(map.striped_lane(Lpn(lpn as u32)), lane(channel, chip), "page {lpn}");
        assert_eq!(stripes.member_of(Lpn(lpn as u32)), (stripe as u32, i as u32));
        if i == 0 {
            assert_eq!(
                map.striped_lane(stripes.parity(stripe as u32)),
                lane(parity, chip),
                "stripe {stripe}"
            );
        }
    }
}

/// The example of the slides: four channels, the parities P012, P345 and P678. It holds with one
/// chip on each channel, or three and more. With two, the closed form of the authors' code begins a
/// second round with the third stripe, whose parity is then on channel 2.
#[test]
fn with_four_channels_the_first_three_parities_are_on_channels_three_two_and_one() {
    for ways in [1, 3, 4, 8] {
        let mut device = device(64, 64);
        (device.geometry.channels, device.geometry.ways, device.op) = (4, ways, 0.1);
        let map = guarded(&device, &FtlSpec::default(), 4);
        let stripes = map.stripes().unwrap();
        let channel = |lpn: Lpn| map.striped_lane(lpn).0 / ways;
        let parities = [0, 1, 2].map(|stripe| channel(stripes.parity(stripe)));
        assert_eq!(parities, [3, 2, 1], "{ways} chips a channel");
        let data = [0, 1, 2].map(|page| channel(Lpn(page)));
        assert_eq!(data, [0, 1, 2], "the data of the first stripe, {ways} chips a channel");
    }
}

fn geometries() -> Vec<(Device, FtlSpec, u32)> {
    let mut all = Vec::new();
    for (channels, width) in [(2, 2), (3, 3), (4, 2), (4, 4), (6, 3), (6, 2), (8, 4), (5, 5)] {
        for (planes, together, stripe) in [
            (1, 1, Stripe::MapUnit),
            (2, 1, Stripe::MapUnit),
            (2, 2, Stripe::MapUnit),
            (2, 2, Stripe::ProgramUnit),
        ] {
            let mut device = device(32, 12);
            (device.geometry.channels, device.geometry.ways, device.geometry.planes) =
                (channels, 2, planes);
            device.feature =
                Features { program_planes: together, program_pages: 2, ..Features::default() };
            device.op = 0.35;
            all.push((device, FtlSpec { stripe, ..FtlSpec::default() }, width));
        }
    }
    all
}

#[test]
fn members_of_a_stripe_are_on_different_channels_and_parity_goes_round_evenly() {
    for (device, ftl, width) in geometries() {
        let map = guarded(&device, &ftl, width);
        let (stripes, layout) = (map.stripes().unwrap(), map.layout());
        let mut pages = vec![0; layout.lanes as usize];
        let mut parities = vec![0; layout.lanes as usize];
        let mut seen = BTreeSet::new();
        for stripe in 0..stripes.count() {
            let data: Vec<Lpn> =
                (0..width - 1).map(|member| stripes.member(stripe, member)).collect();
            for (member, lpn) in (0..).zip(&data) {
                assert_eq!(stripes.member_of(*lpn), (stripe, member));
                assert!(seen.insert(lpn.0) && lpn.0 < map.logical());
            }
            let all = data.iter().copied().chain([stripes.parity(stripe)]);
            let lanes: Vec<Lane> = all.map(|lpn| map.striped_lane(lpn)).collect();
            let channels: BTreeSet<_> =
                lanes.iter().map(|lane| layout.channel_of(layout.die_of(*lane))).collect();
            assert_eq!(channels.len() as u32, width, "stripe {stripe} of {width}: {lanes:?}");
            lanes.iter().for_each(|lane| pages[lane.index()] += 1);
            parities[lanes[width as usize - 1].index()] += 1;
        }
        assert_eq!(seen.len() as u32, map.logical());
        assert!(
            pages.iter().all(|count| *count == pages[0]),
            "every lane has the same share: {pages:?}"
        );
        // A turn is one stripe unit in each of `width` rounds; the end of the address space may cut
        // one short.
        let (least, most) = (parities.iter().min().unwrap(), parities.iter().max().unwrap());
        assert!(most - least <= stripes.unit(), "{width}: {parities:?}");
    }
}

/// A stripe has parity if and only if something of it was written.
fn check_parity_of(map: &PageMap) {
    let stripes = map.stripes().unwrap();
    for stripe in 0..stripes.count() {
        let any = (0..stripes.data())
            .any(|member| map.member_at(stripes.member(stripe, member)).is_some());
        assert_eq!(map.member_at(stripes.parity(stripe)).is_some(), any, "stripe {stripe}");
    }
}

#[test]
fn filling_writes_one_parity_page_for_each_full_stripe_and_nothing_more() {
    for (device, ftl, width) in geometries() {
        let mut map = guarded(&device, &ftl, width);
        let mut writer = Writer::new(&mut map);
        (0..writer.map().logical()).for_each(|lpn| writer.write(Lpn(lpn)).unwrap());
        writer.finish().unwrap();
        let work = writer.work();
        assert_eq!((work.copied, work.written), (0, u64::from(map.logical())));
        assert_eq!(work.parity * u64::from(width - 1), work.written);
        map.check_laws();
        check_parity_of(&map);
    }
}

#[test]
fn a_random_overwrite_writes_its_parity_too_and_a_run_of_pages_shares_it() {
    for (device, ftl, width) in geometries() {
        let mut map = guarded(&device, &ftl, width);
        let spec =
            PreconditionSpec { state: PreconditionState::Fill, ..PreconditionSpec::default() };
        precondition(&mut map, &spec, 1, None, &mut |_| true).unwrap();
        let (pages, mut rng) = (u64::from(map.logical()), Rng::stream(5, "overwrite"));
        let mut writer = Writer::new(&mut map);
        let mut last = u32::MAX;
        let mut updates = 0;
        for _ in 0..2_000 {
            let lpn = Lpn(rng.below(pages) as u32);
            let stripe = writer.map().stripes().unwrap().member_of(lpn).0;
            let unit = writer.map().stripes().unwrap().unit();
            updates += u64::from(unit == 1 && stripe != last);
            last = stripe;
            writer.write(lpn).unwrap();
        }
        writer.finish().unwrap();
        let work = writer.work();
        assert_eq!(work.written, 2_000);
        if map.stripes().unwrap().unit() == 1 {
            assert_eq!(work.parity, updates);
        }
        map.check_laws();
        check_parity_of(&map);
    }
}

/// Read off a run of the ttFlash authors' simulator, which prints 314,507 free pages a plane.
#[test]
fn a_plane_of_the_reference_is_aged_to_the_page() {
    let plane = AgedLane::of(4096 * 256, (256, 1), 0.70);
    assert_eq!(plane, AgedLane { half: 367_001, stale_rows: 181, stale: 367_068 });
    assert_eq!(4096 * 256 - plane.half - plane.stale, 314_507);
    let whole = AgedLane::of(1000, (100, 1), 0.5);
    assert_eq!(whole, AgedLane { half: 250, stale_rows: 51, stale: 255 });
}

#[test]
fn an_aged_drive_has_parity_and_as_much_valid_data_on_every_lane() {
    for (device, ftl, width) in geometries() {
        let mut map = guarded(&device, &ftl, width);
        let spec = PreconditionSpec {
            state: PreconditionState::Aged,
            ratio: 0.6,
            ..PreconditionSpec::default()
        };
        precondition(&mut map, &spec, 1, None, &mut |_| true).unwrap();
        map.check_laws();
        check_parity_of(&map);
        let layout = map.layout();
        let units = layout.units_per_lane();
        let valid = |lane: Lane| map.mapping().count_valid(lane.0 * units, (lane.0 + 1) * units);
        let aged = AgedLane::of(units, (layout.rows, layout.units_per_row), 0.6);
        assert_eq!(aged.half, (f64::from(units) * 0.3) as u32);
        assert!(layout.each_lane().all(|lane| valid(lane) == aged.half), "{aged:?}");
        // The block with which half is stale has all of its stale rows.
        let blocks = |lane| (0..layout.blocks).map(move |index| layout.block(lane, index));
        let rows = |lane| blocks(lane).map(|block| map.rows_programmed(block)).sum::<u32>();
        let used = (aged.half + aged.stale).div_ceil(layout.units_per_row);
        assert!(layout.each_lane().all(|lane| rows(lane) == used), "{aged:?}");
    }
}
