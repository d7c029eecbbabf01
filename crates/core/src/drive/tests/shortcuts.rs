//! Shortcuts change nothing: an operation that starts without going through a list, a die, a domain
//! or a buffer that is not asked because it has nothing to do, pages of a stripe that are not
//! looked for because their group is alone.

use super::super::precondition::precondition;
use super::*;
use crate::drive::{
    CostRule, PreconditionSpec, PreconditionState, RainSpec, Reconstruct, Scheduler, UpdateReads,
};
use crate::flash::ChannelOrder;
use crate::ftl::{Allocation, GcMode, GcWhen, Rotate};
use crate::sim::Rng;
use crate::units::Split;

/// A full drive of sixteen dies on eight channels, with parity or without.
fn full(gc: &GcSpec, rain: Option<&RainSpec>, spec: DriveSpec) -> Drive {
    full_of(1, gc, rain, spec)
}

/// The drive with so many map units in a row.
fn full_of(units: u64, gc: &GcSpec, rain: Option<&RainSpec>, spec: DriveSpec) -> Drive {
    full_with((units, true), gc, rain, spec)
}

/// The device with so many map units in a row.
fn device_of(units: u64) -> Device {
    let mut device = ttflash_256g(24);
    (device.geometry.channels, device.geometry.ways) = (8, 2);
    device.geometry.pages = 16 / units as u32;
    device.geometry.page = Bytes::new(device.geometry.map_unit.get() * units);
    device
}

/// The drive whose pages carry their versions, or not: then commands of one unit go directly.
fn full_with(
    (units, with_content): (u64, bool),
    gc: &GcSpec,
    rain: Option<&RainSpec>,
    spec: DriveSpec,
) -> Drive {
    full_on(device_of(units), with_content, gc, rain, spec)
}

/// The drive of a device.
fn full_on(
    device: Device,
    with_content: bool,
    gc: &GcSpec,
    rain: Option<&RainSpec>,
    spec: DriveSpec,
) -> Drive {
    let allocation = if rain.is_some() { Allocation::Static } else { Allocation::Dynamic };
    let ftl = FtlSpec { allocation, ..FtlSpec::default() };
    let width = rain.map_or(0, |rain| rain.width);
    let logical = Layout::new(&device).total_units() / 21 * 14;
    let logical = if rain.is_some() { logical / 8 * 7 / 56 * 56 } else { logical };
    let mut map = PageMap::new(&device, &ftl, gc, logical, 1).with_parity(&ftl, &device, width);
    let state = PreconditionSpec { state: PreconditionState::Fill, ..PreconditionSpec::default() };
    precondition(&mut map, &state, 1, None, &mut |_| true).expect("room");
    map.begin_run(&ftl, gc, &device, 1);
    let mut drive = Drive::new(&device, &spec, gc, map, with_content);
    rain.into_iter().for_each(|rain| drive.keep_parity(rain));
    drive
}

/// Reads, writes, deallocations and flushes, mostly of few pages and in a part of the drive, so
/// that stripes meet. Deallocations come late: from the first one on no copies are fused.
fn command(rng: &mut Rng, drive: &Drive, id: u32) -> Command {
    let pages = drive.sectors() / u64::from(PAGE);
    let op = match rng.below(24) {
        0 => Op::Flush,
        1 if id >= 2_000 => Op::Trim,
        2..8 => Op::Read,
        _ => Op::Write,
    };
    let count = 1 + if rng.below(5) == 0 { rng.below(9) } else { 0 };
    let part = if rng.below(2) == 0 { pages } else { 300 };
    let page = rng.below(part).min(pages - count);
    let torn = u64::from(op == Op::Write && rng.below(6) == 0);
    let sectors = (count * u64::from(PAGE) - torn) as u32;
    let fua = op == Op::Write && rng.below(8) == 0;
    let (lba, predictable, payload) =
        (Lba(page * u64::from(PAGE) + torn), PredictableLatency::Off, None);
    Command {
        id: id.into(),
        op,
        lba,
        sectors: if op == Op::Flush { 0 } else { sectors },
        fua,
        predictable,
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

/// Plays the same on a drive that takes shortcuts and on one that does not.
fn compare(gc: &GcSpec, rain: Option<&RainSpec>, spec: DriveSpec, seed: u64) {
    compare_with(full(gc, rain, spec), gc, rain, seed, |long| long.take_the_long_way());
}

/// Plays the same on a drive, and on one that was made `other`.
fn compare_with(
    mut short: Drive,
    gc: &GcSpec,
    rain: Option<&RainSpec>,
    seed: u64,
    other: fn(&mut Drive),
) {
    let (mut rng, mut now) = (Rng::stream(seed, "shortcuts"), Instant::START);
    let mut long = short.clone();
    other(&mut long);
    for id in 0..4_000 {
        now += Duration::from_ns(rng.below(if id % 800 < 600 { 150_000 } else { 4_000_000 }));
        assert_eq!(advance(&mut short, now), advance(&mut long, now), "{gc:?} {rain:?} at {now:?}");
        assert_eq!(short.counters(), long.counters(), "{gc:?} {rain:?} at {now:?}");
        if short.outstanding() < 96 {
            let command = command(&mut rng, &short, id);
            short.submit(now, command.clone());
            long.submit(now, command);
        }
    }
    assert_eq!(advance(&mut short, Instant::NEVER), advance(&mut long, Instant::NEVER));
    assert!(short.counters() == long.counters() && short.ftl.mapping() == long.ftl.mapping());
    assert!(
        short.counters().collections > 100 || gc.mode == GcMode::Nogc,
        "{} collections",
        short.counters().collections
    );
    if rain.is_some() {
        short.check_parity();
    }
}

/// Channels that keep a line serve it in the order of asking as those that are a next-free time,
/// where copies are one event, too.
#[test]
fn a_line_in_the_order_of_asking_is_a_next_free_time() {
    let lines: fn(&mut Drive) = |long| long.flash.serve_in_order(ChannelOrder::FirstCome);
    let (soft, hard) = (0.15.into(), 0.08.into());
    for mode in [GcMode::Base, GcMode::Controller, GcMode::Preemptive, GcMode::PlaneBlocking] {
        let copyback = mode == GcMode::PlaneBlocking;
        let gc = GcSpec { mode, copyback, cut_transfers: false, soft, hard, ..GcSpec::default() };
        for rain in [None, Some(&RainSpec { width: 8, ..RainSpec::default() })] {
            compare_with(full(&gc, rain, write_through()), &gc, rain, 3, lines);
        }
    }
}

#[test]
fn what_takes_a_shortcut_does_what_it_would_do_otherwise() {
    let rain = RainSpec { width: 8, ..RainSpec::default() };
    let tolerant = RainSpec {
        reconstruct: Reconstruct::Cost,
        cost_rule: CostRule::Rotation,
        width: 8,
        ..RainSpec::default()
    };
    let turning = RainSpec { update_reads: UpdateReads::Reconstruct, ..tolerant.clone() };
    for mode in GcMode::ALL {
        let planes = mode == GcMode::PlaneBlocking;
        let rotate = if planes { Rotate::Dynamic } else { Rotate::Off };
        let gc = GcSpec {
            mode,
            rotate,
            copyback: planes,
            soft: 0.15.into(),
            hard: 0.08.into(),
            ..GcSpec::default()
        };
        for rain in [None, Some(&rain), Some(&tolerant), Some(&turning)] {
            for scheduler in [Scheduler::ReadFirst, Scheduler::OutOfOrder, Scheduler::Fifo] {
                let spec = DriveSpec { buffer: Bytes::kib(512), scheduler, ..DriveSpec::default() };
                compare(&gc, rain, spec, 7);
            }
        }
        let reads_first = mode == GcMode::Preemptive;
        let spec = DriveSpec { buffer: Bytes::kib(512), ..DriveSpec::default() };
        compare(&GcSpec { reads_first, ..gc }, None, spec, 8);
    }
}

/// Commands of one mapping unit, which have no request, between those that have one.
#[test]
fn a_command_that_goes_directly_does_what_it_would_do_with_a_request() {
    for (mode, seed) in GcMode::ALL.into_iter().flat_map(|mode| (0..3).map(move |at| (mode, at))) {
        let (soft, hard) = (0.15.into(), 0.08.into());
        let copyback = mode == GcMode::PlaneBlocking;
        let gc = GcSpec { mode, copyback, soft, hard, ..GcSpec::default() };
        let spec =
            DriveSpec { buffer: Bytes::kib([64, 512][seed as usize % 2]), ..DriveSpec::default() };
        let drive = full_with((1 + seed, false), &gc, None, spec);
        assert!(drive.clone().is_direct(), "{mode:?}");
        compare_with(drive, &gc, None, seed, |long| long.take_the_long_way());
    }
}

/// Reads that go directly are under way when the first read comes that may be failed fast: from
/// then on none goes directly. The parts of those that did add up as if they never had.
#[test]
fn regression_reads_under_way_when_the_direct_way_ends_keep_their_parts() {
    let gc = GcSpec { soft: 0.15.into(), hard: 0.08.into(), ..GcSpec::default() };
    let mut short = full_with((1, false), &gc, None, DriveSpec::default());
    short.attribute();
    let mut long = short.clone();
    assert!(short.is_direct());
    long.take_the_long_way();
    let pages = short.sectors() / u64::from(PAGE);
    let parts = |mut drive: Drive| {
        let mut rng = Rng::stream(5, "the direct way ends");
        let (mut comes, mut all) = (Vec::new(), Vec::new());
        for id in 0..2_000_u32 {
            let now = start() + Duration::from_us(3) * u64::from(id);
            let may_fail = id >= 1_000 && id % 7 == 0;
            all.extend(split(&mut drive, now));
            comes.push(now);
            let predictable =
                if may_fail { PredictableLatency::On } else { PredictableLatency::Off };
            let lba = Lba(rng.below(pages) * u64::from(PAGE));
            drive.submit(now, Command { predictable, ..Command::new(id, Op::Read, lba, PAGE) });
        }
        all.extend(split(&mut drive, Instant::NEVER));
        assert!(drive.counters().predictable.reads > 100 && !drive.direct.is_possible());
        for (id, at, split) in &all {
            assert_eq!(split.total(), at.since(comes[id.index()]), "{id:?} at {at:?}: {split:?}");
        }
        all
    };
    let (short, long) = (parts(short), parts(long));
    assert_eq!((short.len(), &short), (2_000, &long));
}

/// Completions before `limit`, with the parts of each.
fn split(drive: &mut Drive, limit: Instant) -> Vec<(CommandId, Instant, Split)> {
    std::iter::from_fn(|| {
        let done = drive.advance_before(limit)?;
        let parts = drive.attributed().expect("the drive attributes").split;
        Some((done.id, done.at, parts))
    })
    .collect()
}

/// Rows of several pages are copied from read to read and from row to row, with pages left over.
#[test]
fn a_chain_that_copies_rows_goes_on_as_it_would_through_the_lists() {
    for (mode, seed) in GcMode::ALL.into_iter().flat_map(|mode| (0..3).map(move |at| (mode, at))) {
        let scheduler = [Scheduler::ReadFirst, Scheduler::OutOfOrder][seed as usize % 2];
        let copyback = mode == GcMode::PlaneBlocking;
        let (soft, hard) = (0.15.into(), [0.08, 0.12][seed as usize % 2].into());
        let gc = GcSpec { mode, copyback, soft, hard, ..GcSpec::default() };
        let spec = DriveSpec { buffer: Bytes::kib(512), scheduler, ..DriveSpec::default() };
        let drive = full_of(2 + seed, &gc, None, spec);
        compare_with(drive, &gc, None, seed, |long| long.take_the_long_way());
    }
}

/// Copies of one page, of planes that share their die: the other plane's operation may wait.
#[test]
fn copies_of_two_planes_of_a_die_go_as_they_would_through_the_lists() {
    for (mode, seed) in GcMode::ALL.into_iter().flat_map(|mode| (0..2).map(move |at| (mode, at))) {
        let mut device = device_of(1);
        (device.geometry.ways, device.geometry.planes) = (1, 2);
        let (scheduler, copyback) = (
            [Scheduler::ReadFirst, Scheduler::OutOfOrder][seed as usize],
            mode == GcMode::PlaneBlocking,
        );
        let (soft, hard) = (0.15.into(), [0.08, 0.12][seed as usize].into());
        let gc = GcSpec { mode, copyback, soft, hard, ..GcSpec::default() };
        let spec = DriveSpec { buffer: Bytes::kib(512), scheduler, ..DriveSpec::default() };
        let drive = full_on(device, true, &gc, None, spec);
        assert!(drive.ftl.copies_singly() && drive.flash.layout.lanes_per_die == 2);
        compare_with(drive, &gc, None, seed, |long| long.take_the_long_way());
    }
}

/// Planes wait for their die, their channel, an idle moment, their turn. In debug builds each look
/// that is left out is checked on the spot, too.
#[test]
fn a_plane_that_waits_is_not_looked_at_in_vain_and_begins_when_it_may() {
    let mut rng = Rng::stream(1, "planes that wait");
    let mut draw = |count: u64| rng.below(count) as usize;
    for seed in 0..80 {
        let gc = GcSpec {
            mode: GcMode::PlaneBlocking,
            rotate: [Rotate::Off, Rotate::Static, Rotate::Dynamic][draw(3)],
            when: [GcWhen::Background, GcWhen::Foreground][draw(2)],
            per_channel: [1, 1, 2, 0][draw(4)],
            copyback: draw(4) > 0,
            rotate_erases: draw(2) > 0,
            rotate_urgent: draw(2) > 0,
            rotate_window: Duration::from_ms(5),
            soft: 0.15.into(),
            hard: [0.08, 0.12][draw(2)].into(),
            ..GcSpec::default()
        };
        let gc = GcSpec { cut_transfers: gc.copyback && draw(2) > 0, ..gc };
        let rain = RainSpec {
            width: 8,
            reconstruct: [Reconstruct::Never, Reconstruct::Cost][draw(2)],
            ..RainSpec::default()
        };
        let spec = DriveSpec { buffer: Bytes::kib(512), ..DriveSpec::default() };
        compare(&gc, Some(&rain).filter(|_| draw(4) > 0), spec, seed);
    }
}
