//! Where pages go, and how evenly the blocks wear.

use super::{device, fill_and_overwrite, map};
use crate::flash::{Device, Geometry};
use crate::ftl::timeless::Writer;
use crate::ftl::{Allocation, Dimension, FreeBlock, FtlSpec, GcSpec, PageMap, Stripe, Wear};
use crate::sim::Rng;
use crate::units::{Lane, Lpn, Pool};

const DIMENSIONS: [Dimension; 4] =
    [Dimension::Channel, Dimension::Way, Dimension::Die, Dimension::Plane];

/// 3 channels x 2 chips x 2 dies x 2 planes: every dimension shows.
fn wide() -> Device {
    let narrow = device(8, 8);
    let geometry = Geometry { channels: 3, ways: 2, dies: 2, planes: 2, ..narrow.geometry };
    Device { geometry, ..narrow }
}

fn orders() -> Vec<[Dimension; 4]> {
    let mut orders = Vec::new();
    for number in 0..256usize {
        let order =
            [number & 3, number >> 2 & 3, number >> 4 & 3, number >> 6 & 3].map(|d| DIMENSIONS[d]);
        if DIMENSIONS.iter().all(|d| order.contains(d)) {
            orders.push(order);
        }
    }
    orders
}

fn size(d: Dimension, g: &Geometry) -> u32 {
    [g.channels, g.ways, g.dies, g.planes][d as usize]
}

/// Lanes between neighbours in a dimension: lanes are numbered channel by channel, chip by chip,
/// die by die, plane by plane.
fn stride(d: Dimension, g: &Geometry) -> u32 {
    [g.ways * g.dies * g.planes, g.dies * g.planes, g.planes, 1][d as usize]
}

#[test]
fn every_order_of_dimensions_visits_every_lane_once_and_the_first_one_fastest() {
    let device = wide();
    assert_eq!(orders().len(), 24);
    for order in orders() {
        let map = map(&device, &FtlSpec { order, ..FtlSpec::default() }, &GcSpec::default(), 1_000);
        let lanes = map.layout().lanes;
        let visited: Vec<Lane> = (0..lanes).map(|lpn| map.striped_lane(Lpn(lpn))).collect();
        let mut sorted = visited.clone();
        sorted.sort_unstable();
        assert_eq!(
            sorted,
            map.layout().each_lane().collect::<Vec<_>>(),
            "{order:?} is a permutation"
        );
        let mut repeat = 1;
        for d in order {
            let g = &device.geometry;
            let expected = (1..size(d, g)).map(|k| Lane(k * stride(d, g)));
            let at = (1..size(d, g)).map(|k| visited[(k * repeat) as usize]);
            assert!(at.eq(expected), "{order:?}: {d:?} changes every {repeat} pages: {visited:?}");
            repeat *= size(d, g);
        }
        assert_eq!(map.striped_lane(Lpn(lanes)), visited[0], "and round again");
    }
}

#[test]
fn a_stripe_of_program_units_keeps_its_pages_on_one_lane() {
    let mut device = wide();
    device.feature.program_planes = 2;
    device.feature.program_pages = 2;
    let lane_of = |stripe, lpn: u32| {
        let map =
            map(&device, &FtlSpec { stripe, ..FtlSpec::default() }, &GcSpec::default(), 1_000);
        map.striped_lane(Lpn(lpn))
    };
    let row = 4;
    assert_eq!(
        map(&device, &FtlSpec::default(), &GcSpec::default(), 9).layout().units_per_row,
        row
    );
    for lpn in 0..60 {
        assert_eq!(
            lane_of(Stripe::ProgramUnit, lpn),
            lane_of(Stripe::MapUnit, lpn / row),
            "page {lpn}"
        );
    }
}

#[test]
fn dynamic_allocation_goes_round_and_passes_over_busy_lanes() {
    let ftl = FtlSpec { allocation: Allocation::Dynamic, ..FtlSpec::default() };
    let mut map = map(&wide(), &ftl, &GcSpec::default(), 1_000);
    let lanes = map.layout().lanes;
    let first: Vec<_> = (0..lanes).map(|_| map.place(Lpn(5), 0, |_| 0).unwrap()).collect();
    assert_eq!(
        first,
        (0..lanes).map(|lpn| map.striped_lane(Lpn(lpn))).collect::<Vec<_>>(),
        "whatever the address"
    );
    let busy = first[0];
    map.set_taking(busy, false);
    for _ in 0..3 * lanes {
        assert_ne!(map.place(Lpn(5), 0, |_| 0), Some(busy));
    }
    map.layout().each_lane().for_each(|lane| map.set_taking(lane, false));
    assert_eq!(map.place(Lpn(5), 0, |_| 0), None, "every lane is busy");
    map.set_taking(busy, true);
    assert_eq!(map.place(Lpn(5), 0, |_| 0), Some(busy));
}

/// Wear after hot writes to a tenth of the pages over cold data, the worst case for dynamic
/// levelling alone.
fn wear(free_block: FreeBlock, static_wear_gap: u32) -> Wear {
    let ftl = FtlSpec { free_block, static_wear_gap, ..FtlSpec::default() };
    let gc = GcSpec { soft: 0.08.into(), hard: 0.0.into(), ..GcSpec::default() };
    let mut map = map(&device(64, 16), &ftl, &gc, 64 * 16 * 8 / 10);
    fill_and_overwrite(&mut map, 0, &mut Rng::stream(1, "wear"));
    hot_writes(&mut map, 60_000);
    map.check_laws();
    map.wear()
}

fn hot_writes(map: &mut PageMap, writes: u32) {
    let (hot, mut rng) = (u64::from(map.logical()) / 10, Rng::stream(2, "hot"));
    let mut writer = Writer::new(map);
    (0..writes).for_each(|_| writer.write(Lpn(rng.below(hot) as u32)).expect("room"));
}

#[test]
fn static_wear_levelling_bounds_the_gap_and_a_smaller_gap_bounds_it_tighter() {
    let spread = |gap| {
        let wear = wear(FreeBlock::LeastWorn, gap);
        wear.max - wear.min
    };
    let (off, wide, narrow) = (spread(0), spread(32), spread(4));
    assert!(off > 100, "cold blocks stay behind without it: {off}");
    assert!(wide < off && narrow < wide, "{off} {wide} {narrow}");
    // One block is moved in sixteen erases of the most worn; the others lag while they wait for
    // their turn.
    assert!(narrow <= 4 + 64, "{narrow}");
}

/// No block of this map was ever erased, so the most worn block's erases are the lag of all.
#[test]
fn a_block_moves_when_it_lags_by_more_than_the_gap_and_not_before() {
    let ftl = FtlSpec { static_wear_gap: 7, ..FtlSpec::default() };
    let gc = GcSpec { soft: 0.08.into(), hard: 0.0.into(), ..GcSpec::default() };
    let mut map = map(&device(64, 16), &ftl, &gc, 64 * 16 * 8 / 10);
    fill_and_overwrite(&mut map, 0, &mut Rng::stream(1, "wear"));
    for (erases, is_moved) in [(7, false), (8, true)] {
        // One in sixteen looks.
        (0..15).for_each(|_| map.level_wear(Pool(0), erases));
        assert_eq!(map.pools[0].wear_victim, None);
        map.level_wear(Pool(0), erases);
        assert_eq!(map.pools[0].wear_victim.is_some(), is_moved, "{erases} erases");
    }
}

#[test]
fn static_wear_levelling_costs_copies() {
    let erases = |gap| wear(FreeBlock::LeastWorn, gap).mean;
    assert!(erases(4) > erases(0));
}

#[test]
fn least_worn_first_wears_more_evenly_than_first_freed_first() {
    let spread = |free_block| {
        let gc = GcSpec { soft: 0.3.into(), hard: 0.0.into(), ..GcSpec::default() };
        let ftl = FtlSpec { free_block, ..FtlSpec::default() };
        let mut map = map(&device(64, 16), &ftl, &gc, 64 * 16 / 2);
        let mut rng = Rng::stream(1, "wear");
        fill_and_overwrite(&mut map, 40_000, &mut rng);
        let erases: Vec<f64> = map.blocks.all_erases().iter().map(|e| f64::from(*e)).collect();
        let mean = map.wear().mean;
        erases.iter().map(|e| (e - mean) * (e - mean)).sum::<f64>() / erases.len() as f64
    };
    let (least_worn, fifo) = (spread(FreeBlock::LeastWorn), spread(FreeBlock::Fifo));
    assert!(least_worn < fifo, "variance of wear: {least_worn} and {fifo}");
}

/// Strict round robin visits the lanes in order, also those that take no rows; dynamic allocation
/// passes over them.
#[test]
fn strict_round_robin_passes_over_no_lane() {
    let device = wide();
    for (allocation, visits_busy) in [(Allocation::RoundRobin, true), (Allocation::Dynamic, false)]
    {
        let spec = FtlSpec { allocation, stripe: Stripe::MapUnit, ..FtlSpec::default() };
        let mut map = map(&device, &spec, &GcSpec::default(), 1_000);
        let lanes = map.layout().lanes;
        let order: Vec<Lane> = (0..lanes).map(|lpn| map.striped_lane(Lpn(lpn))).collect();
        map.set_taking(order[1], false);
        let placed: Vec<Lane> =
            (0..2 * lanes).map(|lpn| map.place(Lpn(lpn % 7), 0, |_| 0).unwrap()).collect();
        let expected: Vec<Lane> = (0..4 * lanes as usize)
            .map(|n| order[n % lanes as usize])
            .filter(|l| visits_busy || *l != order[1])
            .collect();
        assert_eq!(placed, expected[..2 * lanes as usize], "{allocation:?}");
    }
}
