//! Stripes over superblocks: where their members are, the order in which lanes take rows, and that
//! nothing waits for ever.

use super::device;
use crate::flash::{Device, Features};
use crate::ftl::timeless::Writer;
use crate::ftl::{Allocation, FtlSpec, GcSpec, PageMap, Stream, VictimUnit};
use crate::sim::Rng;
use crate::units::{Lane, Lpn, Pool, Ppn};

fn ftl() -> FtlSpec {
    FtlSpec { allocation: Allocation::Dynamic, ..FtlSpec::default() }
}

/// A drive of which data and parity take 60 %.
fn guarded(device: &Device, width: u32) -> PageMap {
    let gc = GcSpec {
        unit: VictimUnit::Superblock,
        soft: 0.1.into(),
        hard: 0.05.into(),
        ..GcSpec::default()
    };
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
        for lane in layout.each_lane() {
            // Lanes are numbered channel by channel: the set is the lane's place, on `width`
            // channels side by side.
            let (first, place) = (channel(lane).0 / width * width, lane.0 % per_channel);
            let expected: Vec<Lane> =
                (first..first + width).map(|channel| Lane(channel * per_channel + place)).collect();
            assert_eq!(stripes.set_of(lane).collect::<Vec<_>>(), expected, "{device:?}");
            for row in 0..layout.rows {
                let holders: Vec<Lane> =
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
        let mut of_row: Vec<Lane> =
            layout.each_lane().filter(|lane| stripes.is_parity(*lane, 0)).collect();
        of_row.sort_unstable_by_key(|lane| channel(*lane));
        assert_eq!(of_row.len() as u32, layout.lanes / width);
        let data = layout.lanes * layout.rows / width * (width - 1);
        assert_eq!((map.data_rows(Pool(0)), map.logical() % (width - 1)), (data, 0));
    }
}

/// Lanes seal full and half-full rows in any order: a row of parity is opened the instant that the
/// rest of its stripe is sealed, never before, and until everything is full some lane takes data.
#[test]
fn some_lane_always_takes_data_until_the_open_superblocks_are_full() {
    let (mut parity_rows, mut waits) = (0, 0);
    for (number, (device, width)) in geometries().into_iter().enumerate() {
        for seed in 0..20 {
            let mut rng = Rng::stream(seed, "lanes");
            let mut side = SideBySide::new(guarded(&device, width), format!("{number}, {seed}"));
            for step in 0..4_000 {
                let Some(lane) = side.place(step, &mut waits) else { break };
                if rng.below(3) > 0 {
                    continue;
                }
                parity_rows += side.seal(lane);
                side.check_parity_is_due_nowhere(width);
            }
            side.check_everything_is_full(width);
        }
    }
    assert!(parity_rows > 5_000 && waits > 1_000, "{parity_rows} {waits}");
}

/// The lanes of a drive that fill side by side. Nothing is programmed.
struct SideBySide {
    map: PageMap,
    sets: Vec<Vec<usize>>,
    /// By lane: the kinds of its rows, parity or not, and whether the last one gathers.
    opened: Vec<Vec<bool>>,
    gathers: Vec<bool>,
    name: String,
}

impl SideBySide {
    fn new(map: PageMap, name: String) -> Self {
        let lanes = map.layout().lanes as usize;
        let set_of = |lane| map.superstripes().unwrap().set_of(lane).map(Lane::index).collect();
        let sets = map.layout().each_lane().map(set_of).collect();
        Self { map, sets, opened: vec![Vec::new(); lanes], gathers: vec![false; lanes], name }
    }

    fn is_parity(&self, lane: usize, row: usize) -> bool {
        let rows = u64::from(self.map.layout().rows);
        self.map.superstripes().unwrap().is_parity(Lane(lane as u32), (row as u64 % rows) as u32)
    }

    /// Rows of a lane that gather no more.
    fn sealed(&self, lane: usize) -> usize {
        self.opened[lane].len() - usize::from(self.gathers[lane])
    }

    /// The lane of the next page; `None` when no lane takes it even if all are free.
    fn place(&mut self, step: u64, waits: &mut u64) -> Option<usize> {
        // Busy lanes are passed over; sometimes all but one.
        let busy = |lane: Lane| (step / 50 + u64::from(lane.0)).is_multiple_of(3);
        let lanes = self.map.layout().each_lane();
        lanes.clone().for_each(|lane| self.map.refresh_taking(lane, busy(lane)));
        let place = self.map.place_in_stripe().or_else(|| {
            *waits += 1;
            lanes.for_each(|lane| self.map.refresh_taking(lane, false));
            self.map.place_in_stripe()
        });
        let (lane, row) = place?;
        let lane = lane.index();
        assert_eq!(row.is_some(), !self.gathers[lane]);
        if row.is_some() {
            let is_parity = self.is_parity(lane, self.opened[lane].len());
            assert!(!is_parity, "{}: data on a row of parity", self.name);
            self.opened[lane].push(false);
            self.gathers[lane] = true;
        }
        Some(lane)
    }

    /// Seals the row that a lane gathers; returns the rows of parity that this opens.
    fn seal(&mut self, lane: usize) -> u64 {
        let mut parity_rows = 0;
        self.map.row_sealed(Lane(lane as u32));
        self.gathers[lane] = false;
        while let Some(to) = self.map.due_parity(Lane(lane as u32), Stream::Host) {
            let at = self.opened[to.index()].len();
            assert!(self.is_parity(to.index(), at));
            let is_sealed = |other: &usize| *other == to.index() || self.sealed(*other) > at;
            assert!(self.sets[lane].iter().all(is_sealed));
            self.map.open_row(to, Stream::Host).expect("its stripe is open");
            self.opened[to.index()].push(true);
            parity_rows += 1;
        }
        parity_rows
    }

    fn check_parity_is_due_nowhere(&self, width: u32) {
        let name = &self.name;
        for set in &self.sets {
            for lane in set {
                let at = self.opened[*lane].len();
                let due = !self.gathers[*lane]
                    && self.is_parity(*lane, at)
                    && set.iter().all(|other| other == lane || self.sealed(*other) > at);
                assert!(!due, "{name}: the parity of row {at} of lane {lane} was forgotten");
            }
            let most = set.iter().map(|lane| self.opened[*lane].len()).max().unwrap();
            let least = set.iter().map(|lane| self.opened[*lane].len()).min().unwrap();
            assert!(most - least <= 2 * width as usize, "{name}: {most} rows against {least}");
        }
    }

    /// Nothing was programmed, so nothing was closed: two superblocks are full, to the last row.
    fn check_everything_is_full(&self, width: u32) {
        let rows = 2 * self.map.layout().rows as usize;
        for (lane, opened) in self.opened.iter().enumerate() {
            assert_eq!(opened.len(), rows, "{}: lane {lane} is stuck", self.name);
        }
        let parity: usize = self.opened.iter().flatten().filter(|parity| **parity).count();
        assert_eq!(parity * width as usize, rows * self.opened.len());
    }
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
