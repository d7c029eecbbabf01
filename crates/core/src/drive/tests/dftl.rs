//! A map on flash by arithmetic, and beside a naive model: plain lists, no time, one thing after
//! the other. What other simulators got wrong (reference notes on PSU's and Bjorling's dftl) is a
//! test each.

mod naive;

use super::{Bench, LANES, PAGE, start, ttflash_256g, write_before_the_run, write_through};
use crate::drive::{Drive, DriveSpec};
use crate::flash::Layout;
use crate::ftl::{Cmt, FtlSpec, GcSpec, MapSpec, MissId, PageMap, Room};
use crate::sim::Rng;
use crate::stats::MapCounters;
use crate::units::{Bytes, Duration, Lpn, Pool};

/// Entries in a translation page of `ttflash-256g`.
const SPAN: u64 = 1024;

fn cached(entries: u64) -> MapSpec {
    MapSpec { cache: Bytes::new(8 * entries), ..MapSpec::default() }
}

fn with_map(
    device: crate::flash::Device,
    gc: GcSpec,
    map: &MapSpec,
    logical: u32,
    written: &[u32],
) -> Bench {
    let ftl = FtlSpec::default();
    let mut pages = PageMap::new(&device, &ftl, &gc, logical, 1).with_translation_pages(map);
    let translation = (0..pages.translation_pages())
        .map(|page| pages.translation_page(page).0)
        .collect::<Vec<_>>();
    written.iter().chain(&translation).for_each(|lpn| write_before_the_run(&mut pages, *lpn));
    let mut drive = Drive::new(&device, &write_through(), &gc, pages, true);
    drive.keep_map_on_flash(map);
    drive.attribute();
    Bench { device, drive, done: Vec::new(), next_id: 0 }
}

/// The first pages of two translation pages on flash; nothing is collected. Translation page `n` is
/// on lane `n`.
fn timed(map: &MapSpec) -> Bench {
    let gc = GcSpec { soft: 0.0.into(), hard: 0.0.into(), ..GcSpec::default() };
    let device = ttflash_256g(4);
    let logical = Layout::new(&device).total_units() / 2;
    assert!(u64::from(logical).is_multiple_of(LANES));
    let written: Vec<u32> = (0..128).chain(1024..1152).collect();
    with_map(device, gc, map, logical, &written)
}

impl Bench {
    fn map(&self) -> MapCounters {
        self.drive.counters().map
    }

    /// How long a read alone takes, on this drive and not on a copy.
    fn reads_in(&mut self, lpn: u64) -> Duration {
        let at = self.idle();
        let id = self.read(at, lpn);
        self.end_of(id).since(at)
    }

    fn writes_in(&mut self, lpn: u64) -> Duration {
        let at = self.idle();
        let id = self.write(at, lpn);
        self.end_of(id).since(at)
    }

    /// Long after everything that was asked so far.
    fn idle(&mut self) -> crate::units::Instant {
        self.run();
        let last = self.done.iter().map(|completion| completion.at).max().unwrap_or(start());
        last + Duration::from_s(1)
    }
}

#[test]
fn a_miss_costs_the_read_of_a_translation_page_and_a_hit_nothing() {
    let mut bench = timed(&cached(16));
    let times = bench.times();
    assert_eq!(bench.reads_in(1), times.page_read() * 2, "translation page 0, then the page");
    assert_eq!(bench.reads_in(1), times.page_read(), "cached");
    assert_eq!(
        bench.reads_in(2),
        times.page_read() * 2,
        "another entry of the same translation page"
    );
    let map = bench.map();
    assert_eq!(
        (map.hits, map.misses, map.page_reads, map.page_programs, map.evictions),
        (1, 2, 2, 0, 0)
    );
    // A write looks up before it is programmed.
    assert_eq!(bench.writes_in(3), times.page_read() + times.page_program());
    assert_eq!(bench.writes_in(3), times.page_program());
}

#[test]
fn with_the_whole_map_cached_drives_are_as_fast_as_page_mapping() {
    let mut bench = timed(&MapSpec { cache: Bytes::kib(64 << 10), ..MapSpec::default() });
    let times = bench.times();
    for lpn in (0..128).chain(1024..1152) {
        bench.reads_in(lpn);
    }
    let warm = bench.map();
    for lpn in (0..128).chain(1024..1152) {
        assert_eq!(bench.reads_in(lpn), times.page_read());
        assert_eq!(bench.writes_in(lpn), times.page_program());
    }
    let map = bench.map();
    assert_eq!((map.misses, map.page_reads, map.page_programs), (warm.misses, warm.page_reads, 0));
}

#[test]
fn bjorlings_eviction_lacks_the_read_of_the_translation_page_and_here_it_costs_it() {
    let mut bench = timed(&cached(1));
    let times = bench.times();
    bench.writes_in(1);
    // The clean entry of page 1024 costs nothing to let go, the dirty one of page 1 a read and a
    // program.
    let dirty = times.page_read() + times.page_program();
    assert_eq!(bench.reads_in(SPAN), dirty + times.page_read() * 2);
    assert_eq!(bench.reads_in(SPAN + 1), times.page_read() * 2, "a clean one");
    bench.writes_in(SPAN + 2);
    // Its translation page is in DRAM already.
    assert_eq!(bench.reads_in(SPAN + 3), dirty + times.page_read());
    let map = bench.map();
    assert_eq!((map.evictions, map.dirty_evictions, map.page_programs), (5 - 1, 2, 2));
}

#[test]
fn requests_that_miss_on_one_translation_page_share_its_read() {
    let mut bench = timed(&cached(16));
    let times = bench.times();
    // On three channels; the third asks while the translation page is on its way.
    let early = [1, 2].map(|lpn| bench.read(start(), lpn));
    let late = bench.read(start() + Duration::from_us(5), 3);
    for id in [early[0], early[1], late] {
        assert_eq!(bench.end_of(id).since(start()), times.page_read() * 2);
    }
    assert_eq!((bench.map().misses, bench.map().page_reads), (3, 1));
    // Two requests for one entry are two misses and one entry.
    let both = bench.idle();
    let ids = [SPAN, SPAN].map(|lpn| bench.read(both, lpn));
    assert_eq!(bench.end_of(ids[0]).since(both), times.page_read() * 2);
    assert_eq!((bench.map().misses, bench.map().page_reads, bench.map().evictions), (5, 2, 0));
}

#[test]
fn a_read_that_joins_the_read_of_a_write_goes_with_the_reads() {
    // Programs keep the die of translation page 0 (lane 0); a write's lookup waits for it, then a
    // host read's.
    let mut bench = timed(&cached(16));
    let times = bench.times();
    bench.reads_in(64);
    bench.reads_in(0);
    let at = bench.idle();
    for lpn in [0, 64] {
        bench.write(at, lpn);
    }
    let write = bench.write(at + Duration::from_us(1), 9);
    let read = bench.read(at + Duration::from_us(2), 10);
    // The first program, the translation page, the read; the second program comes after the
    // translation page.
    assert_eq!(bench.end_of(read).since(at), times.page_program() + times.page_read() * 2);
    assert_eq!(bench.end_of(write).since(at), times.page_program() * 2 + times.page_read());
}

#[test]
fn what_was_never_written_needs_no_translation_page() {
    let (gc, device) =
        (GcSpec { soft: 0.0.into(), hard: 0.0.into(), ..GcSpec::default() }, ttflash_256g(4));
    let (logical, spec) =
        (Layout::new(&device).total_units() / 2, MapSpec { protected: 0.0, ..cached(2) });
    let map =
        PageMap::new(&device, &FtlSpec::default(), &gc, logical, 1).with_translation_pages(&spec);
    let mut drive = Drive::new(&device, &write_through(), &gc, map, true);
    drive.keep_map_on_flash(&spec);
    let mut bench = Bench { device, drive, done: Vec::new(), next_id: 0 };
    let (times, spec) = (bench.times(), DriveSpec::default());
    assert_eq!(bench.reads_in(5), spec.buffer_hit);
    assert_eq!(bench.writes_in(5), times.page_program());
    assert_eq!(bench.map().page_reads, 0);
    // Two more entries: the dirty one leaves, and its page is programmed for the first time,
    // without a read.
    bench.reads_in(6);
    assert_eq!(bench.reads_in(7 + SPAN), times.page_program() + spec.buffer_hit);
    assert_eq!((bench.map().page_reads, bench.map().page_programs), (0, 1));
}

#[test]
fn psu_evicts_without_batching_and_here_one_program_takes_all_entries_of_its_page() {
    let programs = |batch| {
        let mut bench = timed(&MapSpec { batch, ..cached(8) });
        // Eight dirty entries of one translation page leave for eight of another.
        for lpn in 0..8 {
            bench.writes_in(lpn);
        }
        for lpn in SPAN..SPAN + 8 {
            bench.reads_in(lpn);
        }
        bench.run();
        bench.drive.check_map();
        let map = bench.map();
        assert_eq!(map.evictions, 8);
        assert_eq!(map.page_programs, map.dirty_evictions);
        (map.page_programs, map.page_reads)
    };
    assert_eq!(programs(true), (1, 8 + 1 + 8));
    assert_eq!(programs(false), (8, 8 + 8 + 8));
}

#[test]
fn bjorlings_translation_writes_are_no_ops_at_page_0_and_here_they_take_space() {
    let mut bench = timed(&cached(1));
    let place = |bench: &Bench| bench.drive.ftl().member_at(bench.drive.ftl().translation_page(0));
    let (free, before) = (bench.drive.ftl().free_units(Pool(0)), place(&bench));
    bench.writes_in(1);
    bench.reads_in(SPAN);
    assert_ne!(place(&bench), before);
    assert_eq!(bench.drive.ftl().free_units(Pool(0)), free - 1, "lane 0 holds translation page 0");
    let counters = bench.drive.counters();
    assert_eq!((counters.host_units, counters.units_programmed()), (1, 2));
    bench.drive.ftl().check_laws();
}

#[test]
fn psu_rounds_the_directory_down_and_here_the_last_entry_has_a_page() {
    let map = cached(1);
    assert_eq!([1, 1023, 1024, 1025, 2048].map(|pages| map.pages(pages, 4096)), [1, 1, 1, 2, 2]);
    assert_eq!(MapSpec::default().pages(1025, 4096), 0, "in DRAM");
}

#[test]
fn psus_age_counts_hits_and_here_what_was_used_long_ago_leaves_however_often_it_was() {
    let mut cmt = Cmt::new(4, 0.5, 1, 10);
    let enter = |cmt: &mut Cmt, lpn| {
        let room = cmt.make_room();
        let entry = cmt.insert(Lpn(lpn), MissId(0));
        cmt.loaded(entry);
        room
    };
    (0..4).for_each(|lpn| assert_eq!(enter(&mut cmt, lpn), Room::Free));
    let use_it = |cmt: &mut Cmt, lpn| cmt.find(Lpn(lpn)).map(|entry| cmt.touch(entry)).unwrap();
    (0..10).for_each(|_| use_it(&mut cmt, 0));
    // Two others are used once again: page 0 is on probation again, behind page 3, which never was
    // used.
    use_it(&mut cmt, 1);
    use_it(&mut cmt, 2);
    assert_eq!(enter(&mut cmt, 4), Room::Clean(Lpn(3)));
    assert_eq!(enter(&mut cmt, 5), Room::Clean(Lpn(0)));
    assert_eq!(enter(&mut cmt, 6), Room::Clean(Lpn(4)));
    assert!(cmt.find(Lpn(1)).is_some() && cmt.find(Lpn(2)).is_some());
}

#[test]
fn psus_search_for_a_victim_leaves_the_array_at_its_holes_and_here_there_is_none_or_the_right_one()
{
    let mut cmt = Cmt::new(2, 1.0, 1, 10);
    let entries = [3, 5].map(|lpn| {
        assert_eq!(cmt.make_room(), Room::Free);
        cmt.insert(Lpn(lpn), MissId(lpn))
    });
    assert_eq!((cmt.make_room(), cmt.has_room()), (Room::None, false), "both are on their way in");
    assert_eq!(entries.map(|entry| cmt.loading(entry)), [3, 5].map(|miss| Some(MissId(miss))));
    cmt.loaded(entries[1]);
    cmt.touch(entries[1]);
    cmt.set_dirty(entries[1]);
    assert_eq!(cmt.make_room(), Room::Dirty(Lpn(5)), "protected, but the only one");
    assert_eq!((cmt.find(Lpn(5)), cmt.find(Lpn(3))), (None, Some(entries[0])));
}

#[test]
fn psu_searches_all_entries_and_here_the_size_of_the_cache_does_not_matter() {
    // Quadratic, this would be a million times a million steps.
    let mut cmt = Cmt::new(1 << 20, 0.5, 1 << 12, 10);
    let mut rng = Rng::stream(1, "large cache");
    for _ in 0..3_000_000 {
        let lpn = Lpn(rng.below(1 << 22) as u32);
        match cmt.find(lpn) {
            Some(entry) => cmt.touch(entry),
            None => {
                cmt.make_room();
                let entry = cmt.insert(lpn, MissId(0));
                cmt.loaded(entry);
                cmt.set_dirty(entry);
            }
        }
    }
}
