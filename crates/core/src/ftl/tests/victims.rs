//! The limits of a GC run, whichever policy chose its victim.

use super::{device, fill_and_overwrite, map};
use crate::ftl::timeless::{NoMedium, Work, Writer};
use crate::ftl::{Frontiers, FtlSpec, GcSpec, PageMap, Step, Stream, Translation, Watermark};
use crate::sim::Rng;
use crate::units::{Lane, Lpn, Pool};

#[test]
fn nothing_is_collected_where_nothing_would_be_gained() {
    let mut map = map(&device(8, 4), &FtlSpec::default(), &GcSpec::default(), 20);
    assert!(!map.start_collection(Pool(0), false), "an empty drive has no closed block");
    for lpn in 0..8 {
        let row = map.open_row(Lane(0), Stream::Host).unwrap();
        map.commit(Lpn(lpn), row);
        map.row_programmed(row);
    }
    assert!(
        !map.start_collection(Pool(0), false),
        "closed blocks full of valid pages bring nothing"
    );
    map.trim(Lpn(0));
    assert!(map.start_collection(Pool(0), false), "one stale page does");
}

#[test]
fn a_reclaim_that_takes_no_time_passes_over_blocks_being_read() {
    let mut map = map(&device(8, 4), &FtlSpec::default(), &GcSpec::default(), 20);
    fill_and_overwrite(&mut map, 0, &mut Rng::stream(1, "fill"));
    let Translation::Ready(read) = map.translate(Lpn(1)) else { panic!("page 1 is written") };
    (0..4).for_each(|lpn| map.trim(Lpn(lpn)));
    map.trim(Lpn(4));
    let empty = map.layout().block_of(read);
    map.read_started(read);
    assert!(map.start_collection(Pool(0), true));
    assert_ne!(
        map.victim_block(Lane(0)),
        empty,
        "the emptiest block is being read: the next one goes"
    );
    map.check_laws();
}

#[test]
fn an_erase_waits_for_the_last_read_of_its_block() {
    let mut map = map(&device(8, 4), &FtlSpec::default(), &GcSpec::default(), 20);
    fill_and_overwrite(&mut map, 0, &mut Rng::stream(1, "fill"));
    let Translation::Ready(page) = map.translate(Lpn(0)) else { panic!("page 0 is written") };
    map.read_started(page);
    map.read_started(page);
    (0..4).for_each(|lpn| map.trim(Lpn(lpn)));
    assert!(map.start_collection(Pool(0), false));
    assert_eq!(map.step(Lane(0)), Step::Copied);
    assert!(map.lane_copied(Lane(0)));
    assert!(!map.may_erase_now(map.victim_block(Lane(0))), "reads are under way");
    assert!(!map.read_ended(page), "another read is under way");
    assert!(map.read_ended(page), "the last one lets the erase go");
    assert!(map.erased(map.victim_block(Lane(0))));
}

/// A host write between the read and the program of a copy wins, whichever of them the flash
/// finishes first.
#[test]
fn a_copy_that_a_host_write_overtook_is_dead_on_arrival() {
    let mut map = map(&device(8, 4), &FtlSpec::default(), &GcSpec::default(), 20);
    fill_and_overwrite(&mut map, 0, &mut Rng::stream(1, "fill"));
    map.trim(Lpn(0));
    assert!(map.start_collection(Pool(0), false));
    let Step::Read { page, units: 1 } = map.step(Lane(0)) else { panic!("page 1 is still valid") };
    assert_eq!(map.translate(Lpn(1)), Translation::Ready(page));
    map.read_done(Lane(0), |_| 1);
    assert_eq!(map.step(Lane(0)), Step::Program { lane: Lane(0), units: 1 });
    let (copy, host) = (
        map.open_row(Lane(0), Stream::Copy).unwrap(),
        map.open_row(Lane(0), Stream::Host).unwrap(),
    );
    map.commit(Lpn(1), host);
    map.row_programmed(host);
    assert_eq!(map.copied(Lane(0), copy, |_, _, _| {}), 0, "nothing moved");
    assert_eq!(map.translate(Lpn(1)), Translation::Ready(host));
    map.check_laws();
}

#[test]
fn the_soft_mark_starts_and_ends_collecting_and_the_hard_mark_makes_it_urgent() {
    let gc = GcSpec { soft: 0.5.into(), hard: 0.25.into(), ..GcSpec::default() };
    let mut map = map(&device(16, 8), &FtlSpec::default(), &gc, 100);
    let raw = 16 * 8;
    for programmed in 1..=raw * 3 / 4 {
        let row = map.open_row(Lane(0), Stream::Host).unwrap();
        map.row_programmed(row);
        let free = raw - programmed;
        assert_eq!(map.free_units(Pool(0)), free);
        assert_eq!(map.wants_collection(Pool(0)), free < raw / 2, "{free} free of {raw}");
        assert_eq!(map.is_urgent(Pool(0)), free <= raw / 4, "{free} free of {raw}");
    }
}

#[test]
fn marks_in_blocks_count_those_that_are_wholly_erased() {
    let (soft, hard) = (Watermark::Blocks(5), Watermark::Blocks(2));
    let gc = GcSpec { soft, hard, ..GcSpec::default() };
    let mut map = map(&device(16, 8), &FtlSpec::default(), &gc, 100);
    for programmed in 1..=14 * 8u32 {
        let row = map.open_row(Lane(0), Stream::Host).unwrap();
        map.row_programmed(row);
        let erased = 16 - programmed.div_ceil(8);
        assert_eq!(map.wants_collection(Pool(0)), erased < 5, "{erased} erased");
        assert_eq!(map.is_urgent(Pool(0)), erased <= 2, "{erased} erased");
    }
}

/// Greedy victims of uniformly random writes are a third valid or so: a share asks for one victim
/// whenever a page is missing; blocks ask when a block is opened, and then for two in a row.
#[test]
fn a_pool_in_blocks_collects_in_a_row_until_it_has_a_block_more() {
    for (soft, in_a_row) in [(Watermark::Share(3.0 / 24.0), 1..=1), (Watermark::Blocks(3), 2..=3)] {
        let gc = GcSpec { soft, hard: 0.0.into(), ..GcSpec::default() };
        let (user, rows) = (14 * 8, 8);
        let mut map = map(&device(24, rows), &FtlSpec::default(), &gc, user);
        let (mut rng, mut writer) = (Rng::stream(1, "marks"), Writer::new(&mut map));
        (0..user).for_each(|lpn| writer.write(Lpn(lpn)).expect("room"));
        let mut most = 0;
        for write in 0..40 * user {
            let before = writer.work().erased;
            writer.write(Lpn(rng.below(u64::from(user)) as u32)).expect("room");
            let victims = writer.work().erased - before;
            most = if write < 10 * user { 0 } else { most.max(victims) };
        }
        assert!(in_a_row.contains(&most), "{soft}: {most} victims at one write");
    }
}

#[test]
fn a_collection_waits_for_its_share_of_the_last_block() {
    for (soft, hard) in
        [((1.0, 7), (1.0, 7)), ((0.5, 4), (0.25, 2)), ((0.25, 2), (0.0, 0)), ((0.0, 0), (0.0, 0))]
    {
        let (last_block_soft, last_block_hard) = (soft.0, hard.0);
        let gc = GcSpec {
            soft: 0.001.into(),
            hard: 0.0.into(),
            last_block_soft,
            last_block_hard,
            ..GcSpec::default()
        };
        let mut map = map(&device(16, 8), &FtlSpec::default(), &gc, 100);
        let host = 15 * 8;
        for programmed in 1..=host {
            let row = map.open_row(Lane(0), Stream::Host).unwrap();
            map.row_programmed(row);
            let left = host - programmed;
            let due = (left <= soft.1, left <= hard.1);
            assert_eq!(
                (map.wants_collection(Pool(0)), map.is_urgent(Pool(0))),
                due,
                "{programmed} rows, {soft:?} {hard:?}"
            );
        }
        assert_eq!(map.open_row(Lane(0), Stream::Host), None, "what is left is the reserve");
    }
}

/// With shared frontiers the host leaves one block's worth of space; a collection gives it what the
/// victim held of stale pages, and no whole block has to come together first.
#[test]
fn shared_frontiers_give_the_host_the_stale_pages_of_each_victim() {
    let (blocks, rows) = (16, 8);
    let gc = GcSpec {
        soft: 0.001.into(),
        hard: 0.0.into(),
        last_block_soft: 0.0,
        last_block_hard: 0.0,
        ..GcSpec::default()
    };
    let mut map = map(
        &device(blocks, rows),
        &FtlSpec { frontiers: Frontiers::Shared, ..FtlSpec::default() },
        &gc,
        100,
    );
    let write = |map: &mut PageMap, lpn: u32| {
        let row = map.open_row(Lane(0), Stream::Host)?;
        map.commit(Lpn(lpn), row);
        map.row_programmed(row);
        Some(row)
    };
    (0..100).for_each(|lpn| assert!(write(&mut map, lpn).is_some()));
    // Every third page is overwritten: the first blocks hold two or three stale ones.
    let overwritten =
        (0..).map(|n| 3 * n).take_while(|lpn| write(&mut map, *lpn).is_some()).count();
    assert_eq!(overwritten as u32, (blocks - 1) * rows - 100);
    assert_eq!(map.free_units(Pool(0)), rows, "the host leaves one block");
    assert!(map.wants_collection(Pool(0)));
    assert_eq!(write(&mut map, 98), None, "nothing before the collection");
    assert!(map.collect_now(Pool(0), &mut NoMedium, &mut Work::default()));
    let mut taken = 0;
    while write(&mut map, 98).is_some() {
        taken += 1;
    }
    assert_eq!(taken, 3, "what the victim held of stale pages");
}
