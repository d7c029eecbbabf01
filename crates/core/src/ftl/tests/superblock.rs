//! Stripes over superblocks: where their members are, the order in which lanes take rows, and that
//! nothing waits for ever.

use super::device;
use crate::flash::{Device, Features};
use crate::ftl::timeless::Writer;
use crate::ftl::{Allocation, FtlSpec, GcSpec, PageMap, Stream, VictimUnit};
use crate::sim::Rng;
use crate::units::{Lpn, Ppn};

fn ftl() -> FtlSpec {
    FtlSpec { allocation: Allocation::Dynamic, ..FtlSpec::default() }
}

/// A drive of which data and parity take 60 %.
fn guarded(device: &Device, width: u32) -> PageMap {
    let gc = GcSpec { unit: VictimUnit::Superblock, soft: 0.1, hard: 0.05, ..GcSpec::default() };
    let layout = crate::flash::Layout::new(device);
    let round = layout.lanes * layout.units_per_row;
    let logical = layout.total_units() / 5 * 3 / round * round;
    PageMap::new(device, &ftl(), &gc, logical, 1).with_superblock_parity(&ftl(), device, width)
}

/// Channels, width, ways, planes, planes programmed together, pages of a block.
fn geometries() -> Vec<(Device, u32)> {
    let shapes = [
        (2, 2, 1, 1, 1, 16),
        (3, 3, 2, 1, 1, 16),
        (4, 2, 1, 2, 1, 12),
        (4, 4, 1, 2, 2, 16),
        (6, 3, 2, 2, 1, 20),
        (5, 5, 1, 1, 1, 18),
        (8, 8, 1, 1, 1, 6),
        (8, 4, 1, 1, 1, 10),
    ];
    let all = shapes.into_iter().map(|(channels, width, ways, planes, together, pages)| {
        let mut device = device(30, pages);
        (device.geometry.channels, device.geometry.ways, device.geometry.planes) =
            (channels, ways, planes);
        device.feature =
            Features { program_planes: together, program_pages: 2, ..Features::default() };
        (device, width)
    });
    all.collect()
}

#[test]
fn a_stripe_is_a_row_of_a_lane_at_one_place_of_each_channel_and_its_parity_goes_round() {
    for (device, width) in geometries() {
        let map = guarded(&device, width);
        let (layout, stripes) = (map.layout(), map.superstripes().unwrap());
        let channel = |lane| layout.channel_of(layout.die_of(lane));
        let per_channel = layout.lanes / layout.channels;
        for lane in 0..layout.lanes {
            // Lanes are numbered channel by channel: the set is the lane's place, on `width`
            // channels side by side.
            let (first, place) = (channel(lane) / width * width, lane % per_channel);
            let expected: Vec<u32> =
                (first..first + width).map(|channel| channel * per_channel + place).collect();
            assert_eq!(stripes.set_of(lane).collect::<Vec<_>>(), expected, "{device:?}");
            for row in 0..layout.rows {
                let holders: Vec<u32> =
                    expected.iter().copied().filter(|lane| stripes.is_parity(*lane, row)).collect();
                assert_eq!(holders, [stripes.parity_lane(lane, row)]);
                let page =
                    Ppn(layout.row_start(layout.block(lane, 7), row).0 + layout.units_per_row - 1);
                for (fellow, on) in stripes.stripe_of(page).zip(&expected) {
                    let block = layout.block_of(fellow);
                    assert_eq!((layout.lane_of(block), layout.index_of(block)), (*on, 7));
                    assert_eq!(layout.slot_of(fellow), (row, layout.units_per_row - 1));
                    assert_eq!(stripes.fellow(page, *on), fellow);
                    assert_eq!(map.is_parity_page(fellow), holders == [*on]);
                }
            }
            // In `width` rows each lane of a set holds the parity once.
            let rows = 0..layout.rows / width * width;
            let held = rows.clone().filter(|row| stripes.is_parity(lane, *row)).count() as u32;
            assert_eq!(held * width, rows.end);
        }
        // Sets that lie side by side do not have their parity on the same place in one row.
        let mut of_row: Vec<u32> =
            (0..layout.lanes).filter(|lane| stripes.is_parity(*lane, 0)).collect();
        of_row.sort_unstable_by_key(|lane| channel(*lane));
        assert_eq!(of_row.len() as u32, layout.lanes / width);
        let data = layout.lanes * layout.rows / width * (width - 1);
        assert_eq!((map.data_rows(0), map.logical() % (width - 1)), (data, 0));
    }
}

/// Lanes seal full and half-full rows in any order: a row of parity is opened the instant that the
/// rest of its stripe is sealed, never before, and until everything is full some lane takes data.
#[test]
fn some_lane_always_takes_data_until_the_open_superblocks_are_full() {
    let (mut parity_rows, mut waits) = (0, 0);
    for (number, (device, width)) in geometries().into_iter().enumerate() {
        for seed in 0..20 {
            let (mut map, mut rng) = (guarded(&device, width), Rng::stream(seed, "lanes"));
            let (lanes, rows) = (map.layout().lanes as usize, u64::from(map.layout().rows));
            // By lane: the kinds of its rows, parity or not, and whether the last one gathers.
            let (mut opened, mut gathers) = (vec![Vec::new(); lanes], vec![false; lanes]);
            let sets: Vec<Vec<usize>> = (0..lanes as u32)
                .map(|lane| {
                    map.superstripes().unwrap().set_of(lane).map(|lane| lane as usize).collect()
                })
                .collect();
            let is_parity = |map: &PageMap, lane: usize, row: usize| {
                map.superstripes().unwrap().is_parity(lane as u32, (row as u64 % rows) as u32)
            };
            for step in 0..4_000 {
                // Busy lanes are passed over; sometimes all but one.
                let busy = |lane: u32| (step / 50 + u64::from(lane)) % 3 == 0;
                (0..lanes as u32).for_each(|lane| map.refresh_taking(lane, busy(lane)));
                let place = map.place_in_stripe().or_else(|| {
                    waits += 1;
                    (0..lanes as u32).for_each(|lane| map.refresh_taking(lane, false));
                    map.place_in_stripe()
                });
                let Some((lane, row)) = place else { break };
                let lane = lane as usize;
                assert_eq!(row.is_some(), !gathers[lane]);
                if row.is_some() {
                    assert!(
                        !is_parity(&map, lane, opened[lane].len()),
                        "{number}, {seed}: data on a row of parity"
                    );
                    opened[lane].push(false);
                    gathers[lane] = true;
                }
                if rng.below(3) > 0 {
                    continue;
                }
                map.row_sealed(lane as u32);
                gathers[lane] = false;
                while let Some(to) = map.due_parity(lane as u32, Stream::Host) {
                    let at = opened[to as usize].len();
                    assert!(is_parity(&map, to as usize, at));
                    let sealed = |lane: &usize| opened[*lane].len() - usize::from(gathers[*lane]);
                    assert!(
                        sets[lane].iter().all(|other| *other == to as usize || sealed(other) > at)
                    );
                    map.open_row(to, Stream::Host).expect("its stripe is open");
                    opened[to as usize].push(true);
                    parity_rows += 1;
                }
                for set in &sets {
                    let sealed = |lane: &usize| opened[*lane].len() - usize::from(gathers[*lane]);
                    for lane in set {
                        let at = opened[*lane].len();
                        let due = !gathers[*lane]
                            && is_parity(&map, *lane, at)
                            && set.iter().all(|other| other == lane || sealed(other) > at);
                        assert!(
                            !due,
                            "{number}, {seed}: the parity of row {at} of lane {lane} was forgotten"
                        );
                    }
                    let most = set.iter().map(|lane| opened[*lane].len()).max().unwrap();
                    let least = set.iter().map(|lane| opened[*lane].len()).min().unwrap();
                    assert!(
                        most - least <= 2 * width as usize,
                        "{number}, {seed}: {most} rows against {least}"
                    );
                }
            }
            // Nothing was programmed, so nothing was closed: two superblocks are full, to the last
            // row.
            for (lane, opened) in opened.iter().enumerate() {
                assert_eq!(opened.len() as u64, 2 * rows, "{number}, {seed}: lane {lane} is stuck");
            }
            let parity: usize = opened.iter().flatten().filter(|parity| **parity).count();
            assert_eq!(parity * width as usize, 2 * rows as usize * lanes);
        }
    }
    assert!(parity_rows > 5_000 && waits > 1_000, "{parity_rows} {waits}");
}

/// Filled in order, each row of parity follows its data; copies take theirs, too.
#[test]
fn preconditioning_programs_one_row_in_so_many_as_parity() {
    for (device, width) in geometries() {
        let mut map = guarded(&device, width);
        let (lanes, row) = (map.layout().lanes, map.layout().units_per_row);
        let round = lanes / width * (width - 1) * row;
        let pages = map.logical() / round * round;
        let mut writer = Writer::new(&mut map);
        (0..pages).for_each(|lpn| writer.write(Lpn(lpn)).expect("room"));
        writer.finish().expect("room");
        let work = writer.work();
        assert_eq!((work.copied, work.padded, work.written), (0, 0, u64::from(pages)));
        assert_eq!(work.parity * u64::from(width - 1), work.written, "{device:?}");
        let (logical, mut rng) = (u64::from(map.logical()), Rng::stream(1, "over"));
        let mut writer = Writer::new(&mut map);
        (0..6 * logical).for_each(|_| writer.write(Lpn(rng.below(logical) as u32)).expect("room"));
        writer.finish().expect("room");
        let work = writer.work();
        assert!(work.copied > 0 && work.erased > 0);
        // All rows but those of stripes that are open still.
        let rows = |units: u64| units.div_ceil(row.into());
        let data = rows(work.written + work.copied + work.padded);
        let open = u64::from(4 * width * lanes);
        assert!(rows(work.parity) * u64::from(width - 1) <= data + open, "{work:?}");
        assert!(rows(work.parity) * u64::from(width - 1) + open >= data, "{work:?}");
        map.check_laws();
        (0..map.logical()).map(|lpn| map.mapping().physical(Lpn(lpn))).for_each(|ppn| {
            assert!(!ppn.is_some() || !map.is_parity_page(ppn), "parity is nobody's data");
        });
    }
}
