//! Drives whose map lies on flash (DFTL): nothing is lost, nothing waits for ever, and each knob
//! moves what it should.

use super::causes::drawn_reads_behind_gc;
use super::{Setup, digest, drawn, one_of, small};
use crate::ftl::{GcMode, MapSpec, VictimUnit};
use crate::sim::Rng;
use crate::stats::MapCounters;
use crate::units::{Bytes, Cause};

/// A map of which DRAM holds `entries`, 64 in a translation page of 4 KiB.
fn cached(entries: u64) -> MapSpec {
    MapSpec { cache: Bytes::new(8 * entries), stored: Bytes::new(64), ..MapSpec::default() }
}

fn small_cached(map: MapSpec) -> Setup {
    let mut setup = small();
    setup.ftl.map = map;
    setup
}

fn map_of(map: MapSpec) -> MapCounters {
    small_cached(map).play().drive().counters().map
}

/// A drive drawn at random, with a map on flash.
pub(super) fn drawn_with_map(seed: u64) -> Setup {
    let mut rng = Rng::stream(seed, "drawn map");
    let mut setup = drawn(seed);
    let unit = setup.device.geometry.map_unit.get();
    setup.ftl.map = MapSpec {
        cache: Bytes::new(8 * one_of(&mut rng, &[1, 3, 20, 100, 2_000])),
        stored: Bytes::new(unit / one_of(&mut rng, &[32, 128])),
        protected: one_of(&mut rng, &[0.0, 0.5, 1.0]),
        batch: rng.below(3) > 0,
        lazy: rng.below(3) > 0,
        ..MapSpec::default()
    };
    setup.device.op += 0.05;
    if setup.gc.unit == VictimUnit::Block && rng.below(4) == 0 {
        (setup.gc.mode, setup.gc.copyback) = (GcMode::PlaneBlocking, true);
    }
    setup
}

#[test]
fn every_gc_mode_keeps_data_and_map() {
    for mode in GcMode::ALL {
        for entries in [1, 7, 100, 2_000] {
            let mut setup = small_cached(cached(entries));
            setup.gc.mode = mode;
            setup.gc.copyback = mode == GcMode::PlaneBlocking;
            let driver = setup.play();
            let (counters, nogc) = (driver.drive().counters(), mode == GcMode::Nogc);
            let map = counters.map;
            assert!(map.misses > 500 && map.page_reads > 0, "{mode:?} {entries}: {map:?}");
            assert_eq!(map.collection_programs > 0, !nogc, "{mode:?} {entries}: {map:?}");
            assert_eq!(map.free_updates > 0, nogc, "{mode:?} {entries}: {map:?}");
            assert!(map.lazy_updates > 0 || entries < 100, "{mode:?} {entries}: {map:?}");
            let programmed = counters.host_units + counters.copied_units + counters.padded_units;
            assert_eq!(counters.units_programmed(), programmed + map.page_programs);
        }
    }
}

#[test]
fn drives_with_a_map_on_flash_drawn_at_random_complete_every_request_and_keep_data_and_map() {
    let (mut misses, mut owed) = (0, 0);
    for seed in 0..150 {
        let setup = drawn_with_map(seed);
        let result = std::panic::catch_unwind(|| setup.play().drive().counters().map);
        let Ok(map) = result else { panic!("seed {seed}: {setup:?}") };
        misses += map.misses;
        owed += map.collection_programs;
    }
    assert!(misses > 100_000 && owed > 1_000, "{misses} {owed}");
}

/// Minutes: 8,000 drives. Every test run plays 150 of the same kind; this is the campaign that
/// closing notes report. `cargo test --release -p manx-core --lib host::tests::dftl -- --ignored`
#[test]
#[ignore = "a campaign of minutes; 150 such drives are played in every test run"]
fn many_more_drives_with_a_map_on_flash() {
    for seed in 1_000..9_000 {
        let setup = drawn_with_map(seed);
        let result = std::panic::catch_unwind(|| drop(setup.play()));
        assert!(result.is_ok(), "seed {seed}: {setup:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_with_a_map_on_flash_too() {
    for seed in [3, 14, 15] {
        let setup = drawn_with_map(seed);
        assert_eq!(digest(&setup.play()), digest(&setup.play()));
    }
}

/// Reads that joined the read of a translation page long after it had waited for garbage collection
/// were said to be blocked, and what they waited for was said to be reads.
#[test]
fn regression_reads_that_join_a_miss_wait_for_what_comes_after_they_have_joined() {
    drawn_reads_behind_gc(drawn_with_map);
}

#[test]
fn a_larger_cache_misses_less_and_costs_less() {
    let sizes = [16, 64, 256, 700].map(|entries| map_of(cached(entries)));
    for (smaller, larger) in sizes.iter().zip(&sizes[1..]) {
        assert!(larger.misses < smaller.misses, "{smaller:?} {larger:?}");
    }
    let ([small, .., large], cost) = (sizes, |map: MapCounters| map.page_reads + map.page_programs);
    assert!(cost(large) * 2 < cost(small), "{small:?} {large:?}");
}

#[test]
fn a_cache_of_the_whole_map_misses_each_entry_once_and_lets_none_go() {
    let map = map_of(cached(5_000));
    let pages = u64::from(small().drive().ftl().logical());
    // Collections move pages that nobody has looked up yet.
    assert_eq!((map.evictions, map.page_programs), (0, map.collection_programs));
    assert!(
        map.misses <= pages
            && map.page_reads <= map.misses + map.page_programs
            && map.hits > map.misses,
        "{pages} {map:?}"
    );
}

#[test]
fn batches_and_lazy_copying_save_programs() {
    let all = map_of(cached(100));
    let single = map_of(MapSpec { batch: false, ..cached(100) });
    let eager = map_of(MapSpec { lazy: false, ..cached(100) });
    assert!(single.page_programs > all.page_programs * 5 / 4, "{single:?} {all:?}");
    assert!(
        eager.collection_programs > all.collection_programs && eager.lazy_updates == 0,
        "{eager:?} {all:?}"
    );
}

#[test]
fn the_protected_share_keeps_hot_entries_from_a_scan() {
    let hits = |protected| {
        let mut setup = small_cached(MapSpec { protected, ..cached(128) });
        setup.jobs[0].pattern = crate::host::Pattern::Zipf;
        setup.play().drive().counters().map.hits
    };
    assert!(hits(0.5) > hits(0.0), "{} {}", hits(0.5), hits(0.0));
}

#[test]
fn what_reads_wait_for_their_map_is_told_by_its_causes() {
    let split = |entries| {
        let mut setup = small_cached(cached(entries));
        setup.jobs[0].read_percent = 100.0;
        setup.jobs[0].queue_depth = 1;
        let mut driver = setup.driver().with_attribution();
        driver.play_to_the_end();
        let (count, parts) = driver.measured().causes.as_ref().unwrap().read.total();
        assert_eq!(count, 6_000);
        (parts.get(Cause::Service), parts.get(Cause::Buffer))
    };
    let ((few, buffer), (many, _)) = (split(1), split(5_000));
    assert!(few > many && buffer == crate::units::Duration::ZERO, "{few} {many} {buffer}");
}
