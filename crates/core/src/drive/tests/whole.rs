//! Copies that are one event are the same as those that are a read and a program: at every instant,
//! and when they are parted at any.

use super::super::precondition::precondition;
use super::*;
use crate::drive::{PreconditionSpec, PreconditionState};
use crate::ftl::{GcMode, Rotate};
use crate::sim::Rng;
use crate::units::Die;

/// A full drive of eight dies on two channels. Pages read and rows are programmed in two times
/// each, so that a forecast and the inside of a copy depend on which.
fn full(gc: &GcSpec, two_times: bool) -> Drive {
    let mut device = ttflash_256g(20);
    (device.geometry.channels, device.geometry.ways, device.geometry.pages) = (2, 4, 32);
    if two_times {
        let (read, program) = (device.timing.read[0], device.timing.program[0]);
        device.timing.read.push(read * 2);
        device.timing.program.push(program * 2);
    }
    let ftl = FtlSpec::default();
    let logical = Layout::new(&device).total_units() / 4 * 3;
    let mut map = PageMap::new(&device, &ftl, gc, logical, 1);
    let state = PreconditionSpec { state: PreconditionState::Fill, ..PreconditionSpec::default() };
    precondition(&mut map, &state, 1, None, &mut |_| true).expect("room");
    map.begin_run(&ftl, gc, &device, 1);
    Drive::new(
        &device,
        &DriveSpec { buffer: Bytes::kib(256), ..DriveSpec::default() },
        gc,
        map,
        true,
    )
}

fn gc(mode: GcMode, copyback: bool) -> GcSpec {
    GcSpec { mode, copyback, soft: 0.15.into(), hard: 0.08.into(), ..GcSpec::default() }
}

fn command(rng: &mut Rng, drive: &Drive, id: u32) -> Command {
    let op = if rng.below(4) == 0 { Op::Read } else { Op::Write };
    let lba = Lba(rng.below(drive.sectors() / u64::from(PAGE)) * u64::from(PAGE));
    let payload = None;
    Command {
        id: id.into(),
        op,
        lba,
        sectors: PAGE,
        fua: false,
        predictable: PredictableLatency::Off,
        stream: 0,
        queue: 0,
        payload,
    }
}

fn advance(drive: &mut Drive, limit: Instant) -> Vec<String> {
    std::iter::from_fn(|| drive.advance_before(limit))
        .map(|completion| format!("{completion:?}"))
        .collect()
}

fn copies_whole(drive: &Drive) -> bool {
    drive.flash.layout.each_die().any(|die| drive.flash.is_copying_whole(die))
}

fn assert_alike(now: Instant, whole: &Drive, parted: &Drive) {
    assert_eq!(whole.counters(), parted.counters(), "at {now:?}");
    assert_eq!(whole.flash.operations(), parted.flash.operations(), "at {now:?}");
    assert_eq!(whole.ftl.least_free_millionths(), parted.ftl.least_free_millionths(), "at {now:?}");
    for die in whole.flash.layout.each_die() {
        assert_eq!(whole.gc_time(now, die), parted.gc_time(now, die), "die {die} at {now:?}");
        assert_eq!(
            whole.gc_remaining(now, die),
            parted.gc_remaining(now, die),
            "die {die} at {now:?}"
        );
    }
}

/// Maps are alike once the drive with whole copies was told of those that are over.
fn assert_mapped_alike(now: Instant, whole: &mut Drive, parted: &Drive) {
    whole.flash.layout.each_die().for_each(|die| whole.settle_copies(now, die));
    assert!(whole.ftl.mapping() == parted.ftl.mapping(), "maps at {now:?}");
    assert_alike(now, whole, parted);
}

impl Drive {
    fn gc_time(&self, now: Instant, die: Die) -> Duration {
        self.flash.gc_time(die, now)
    }
}

/// Plays the same on a drive with whole copies and on one without, and from time to time parts a
/// clone of the first.
fn compare(gc: &GcSpec, two_times: bool, seed: u64) {
    compare_with(full(gc, two_times), seed);
}

/// The same; on how many occasions there was a train of copies.
fn compare_with(mut whole: Drive, seed: u64) -> u32 {
    let mut rng = Rng::stream(seed, "whole");
    let mut trains = 0;
    let mut parted = whole.clone();
    parted.split_copies(Instant::START);
    let (mut now, mut seen, mut clones) = (Instant::START, 0, 0);
    for id in 0..12_000 {
        now += Duration::from_ns(rng.below(160_000));
        let pace = rng.below(60) == 0;
        if pace {
            now += Duration::from_ms(rng.below(30));
        }
        assert_eq!(advance(&mut whole, now), advance(&mut parted, now));
        assert_alike(now, &whole, &parted);
        if rng.below(16) == 0 {
            assert_mapped_alike(now, &mut whole, &parted);
        }
        assert!(!copies_whole(&parted));
        seen += u32::from(copies_whole(&whole));
        trains += u32::from(whole.flash.layout.each_die().any(|die| whole.flash.has_train(die)));
        if copies_whole(&whole) && rng.below(20) == 0 {
            let (mut from_now, mut other) = (whole.clone(), whole.clone());
            from_now.split_copies(now);
            assert!(!copies_whole(&from_now));
            let mut at = now;
            for _ in 0..12 {
                at += Duration::from_ns(rng.below(700_000));
                assert_eq!(advance(&mut from_now, at), advance(&mut other, at));
                assert_alike(at, &other, &from_now);
            }
            assert_mapped_alike(at, &mut other, &from_now);
            clones += 1;
        }
        if whole.outstanding() < 48 {
            let command = command(&mut rng, &whole, id);
            whole.submit(now, command.clone());
            parted.submit(now, command);
        }
    }
    assert_eq!(advance(&mut whole, Instant::NEVER), advance(&mut parted, Instant::NEVER));
    assert_eq!(whole.flash.busy(), parted.flash.busy(), "dies and channels, once all is over");
    assert!(whole.counters() == parted.counters() && whole.ftl.mapping() == parted.ftl.mapping());
    whole.ftl.check_laws();
    assert!(seen > 1_000 && clones > 50, "{seen} looks met a whole copy, {clones} were parted");
    trains
}

#[test]
fn copies_that_follow_one_another_are_one_event_unless_others_act_between_events() {
    let drive = full(&gc(GcMode::Base, false), false);
    let mut beside = drive.clone();
    beside.set_shared_clock();
    let trains = (2..6).map(|seed| compare_with(drive.clone(), seed)).min();
    assert!(trains > Some(1_000), "{trains:?} looks met a train");
    assert_eq!(compare_with(beside, 2), 0);
}

#[test]
fn a_copy_that_is_one_event_is_what_its_read_and_its_program_are_at_every_instant() {
    for (mode, copyback) in
        [(GcMode::Base, false), (GcMode::Base, true), (GcMode::Controller, false)]
    {
        for two_times in [false, true] {
            compare(&gc(mode, copyback), two_times, 1);
        }
    }
}

#[test]
fn a_copy_inside_a_plane_is_its_read_and_its_program_whatever_the_host_does_on_the_channel() {
    for cut_transfers in [false, true] {
        for rotate in [Rotate::Off, Rotate::Static, Rotate::Dynamic] {
            let gc = GcSpec { cut_transfers, rotate, ..gc(GcMode::PlaneBlocking, true) };
            (1..4).for_each(|seed| compare(&gc, seed % 2 == 0, seed));
        }
    }
}
