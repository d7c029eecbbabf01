//! Drives drawn at random from everything that can be combined.

use super::{Setup, small};
use crate::drive::{
    DriveSpec, EraseLength, EraseMode, EraseSpec, PreconditionState, ProgramMode, ProgramSpec,
    Scheduler,
};
use crate::flash::{ChannelOrder, ChannelTake, Device};
use crate::ftl::{
    Allocation, Frontiers, FtlKind, GcMode, GcSpec, GcWhen, Pace, Rotate, Stripe, Victim,
    VictimUnit, Watermark,
};
use crate::host::{JobSpec, Pattern};
use crate::sim::Rng;
use crate::units::{Bandwidth, Bytes, Duration};

/// How many drives of `all` are drawn, and how often they meet what all meet `all` times: with
/// `MANX_LONG` all, otherwise a third.
pub(in crate::host) fn part(all: u64) -> u64 {
    if std::env::var_os("MANX_LONG").is_some() { all } else { all / 3 }
}

/// A drive drawn at random from everything that can be combined.
pub(in crate::host) fn drawn(seed: u64) -> Setup {
    let mut rng = Rng::stream(seed, "drawn");
    let mut setup = Setup { seed, ..small() };
    draw_device(&mut rng, &mut setup.device);
    draw_ftl(&mut rng, &mut setup);
    draw_drive(&mut rng, &mut setup);
    draw_job(&mut rng, &mut setup.jobs[0]);
    draw_erase(&mut setup);
    draw_program(&mut setup);
    draw_limits(&mut setup);
    draw_planes(&mut setup);
    preempt_by_channels(&mut setup);
    order_channels(&mut setup);
    draw_pace(&mut setup);
    draw_take(&mut setup);
    draw_marks(&mut setup);
    draw_link(&mut setup);
    draw_firmware(&mut setup);
    draw_suspend_command(&mut setup);
    setup
}

fn draw_device(rng: &mut Rng, device: &mut Device) {
    let g = &mut device.geometry;
    (g.channels, g.ways, g.dies) =
        (one_of(rng, &[1, 2, 3]), one_of(rng, &[1, 2]), one_of(rng, &[1, 2]));
    (g.planes, g.blocks, g.pages) =
        (one_of(rng, &[1, 2, 4]), one_of(rng, &[20, 24, 33]), one_of(rng, &[6, 12, 16]));
    (g.page, g.map_unit) = one_of(
        rng,
        &[(4, 4), (16, 4), (8, 8), (2, 2)].map(|(p, m)| (Bytes::kib(p), Bytes::kib(m))),
    );
    let f = &mut device.feature;
    f.program_planes = if rng.below(2) == 0 { 1 } else { g.planes };
    f.program_pages = one_of(rng, &[1, 1, 2, 3]);
    (f.cache_program, f.cache_read) = (rng.below(3) == 0, rng.below(3) == 0);
    f.independent_planes = rng.below(3) == 0;
    let us = |us: &[u64]| us.iter().map(|us| Duration::from_us(*us)).collect::<Vec<_>>();
    device.timing.read = us(one_of(rng, &[&[40][..], &[3], &[50, 70, 100]]));
    if f.program_pages == 1 {
        device.timing.program = us(one_of(rng, &[&[800][..], &[100], &[500, 2000]]));
    }
    device.channel.rate =
        one_of(rng, &[40_000_000, 1_200_000_000, 0].map(Bandwidth::bytes_per_second));
}

fn draw_ftl(rng: &mut Rng, setup: &mut Setup) {
    setup.ftl.allocation = one_of(
        rng,
        &[Allocation::Static, Allocation::Dynamic, Allocation::Dynamic, Allocation::RoundRobin],
    );
    setup.ftl.stripe = one_of(rng, &[Stripe::MapUnit, Stripe::ProgramUnit]);
    setup.ftl.static_wear_gap = one_of(rng, &[0, 0, 3]);
    let gc = &mut setup.gc;
    gc.mode = one_of(rng, &[GcMode::Nogc, GcMode::Base, GcMode::Controller, GcMode::Preemptive]);
    gc.when = one_of(rng, &[GcWhen::Background, GcWhen::Foreground]);
    gc.victim = one_of(
        rng,
        &[
            Victim::Greedy,
            Victim::CostBenefit,
            Victim::Fifo,
            Victim::WindowedGreedy,
            Victim::DChoices,
        ],
    );
    if setup.ftl.allocation == Allocation::Dynamic {
        gc.unit = one_of(rng, &[VictimUnit::Block, VictimUnit::PlaneGroup, VictimUnit::Superblock]);
    }
    gc.copyback = gc.unit == VictimUnit::Block && rng.below(2) == 0;
    if gc.unit == VictimUnit::Block {
        let shares = [(1.0, 1.0), (1.0, 0.0), (0.3, 0.3), (0.3, 0.0), (0.0, 0.0)];
        (gc.last_block_soft, gc.last_block_hard) = one_of(rng, &shares);
        setup.ftl.frontiers =
            one_of(rng, &[Frontiers::Separate, Frontiers::Separate, Frontiers::Shared]);
    }
    let marks = [(0.15, 0.08), (0.22, 0.15), (0.08, 0.0)];
    let (soft, hard): (f64, f64) = one_of(rng, &marks);
    (gc.soft, gc.hard) = (soft.into(), hard.into());
}

fn draw_drive(rng: &mut Rng, setup: &mut Setup) {
    let (g, f) = (&setup.device.geometry, &setup.device.feature);
    let drive = &mut setup.drive;
    drive.scheduler = one_of(rng, &[Scheduler::ReadFirst, Scheduler::OutOfOrder, Scheduler::Fifo]);
    drive.power_loss_protection = rng.below(2) == 0;
    drive.write_through = rng.below(4) == 0;
    drive.flush_above = one_of(rng, &[0.0, 0.5, 0.8, 1.0]);
    drive.queue_depth = one_of(rng, &[0, 0, 1, 7]);
    drive.controller = one_of(rng, &[Duration::ZERO, Duration::from_us(3)]);
    drive.link = one_of(rng, &[0, 3_200_000_000].map(Bandwidth::bytes_per_second));
    let row = g.page.get() * u64::from(f.program_planes * f.program_pages);
    let lanes = u64::from(g.channels * g.ways * g.dies * g.planes / f.program_planes);
    drive.buffer = Bytes::new(2 * row * lanes * one_of(rng, &[1, 1, 3]));
    // Few rows in a block need more spare space: reclaiming frees whole rows
    // (`validate::space` of `manx-config`).
    setup.device.op = match g.pages / f.program_pages {
        0..4 => 0.65,
        12.. if setup.gc.soft.share_of(g.blocks) < 0.1 => 0.25,
        _ => 0.4,
    };
    setup.precondition.state = one_of(
        rng,
        &[PreconditionState::Empty, PreconditionState::Fill, PreconditionState::Steady],
    );
}

fn draw_job(rng: &mut Rng, job: &mut JobSpec) {
    let sizes = [(512, 3.0), (1536, 2.0), (4096, 3.0), (24_576, 1.0), (65_536, 0.2)];
    job.requests = 1_500;
    job.read_percent = one_of(rng, &[0.0, 30.0, 70.0]);
    if rng.below(2) == 0 {
        job.block_sizes = sizes.map(|(bytes, weight)| (Bytes::new(bytes), weight)).to_vec();
        job.align = Bytes::new(512);
    }
    job.pattern =
        one_of(rng, &[Pattern::Random, Pattern::Zipf, Pattern::Tiers, Pattern::Sequential]);
    job.queue_depth = one_of(rng, &[1, 16, 64]);
    job.flush_every = one_of(rng, &[0, 20]);
    job.fua_percent = one_of(rng, &[0.0, 10.0]);
    job.trim_percent = one_of(rng, &[0.0, 5.0]);
}

/// How the drive's erases give way: from a stream of its own, so that the drives stay those that
/// were drawn before.
fn draw_erase(setup: &mut Setup) {
    let mut rng = Rng::stream(setup.seed, "drawn erase");
    let modes = [
        EraseMode::None,
        EraseMode::Ideal,
        EraseMode::Es,
        EraseMode::IEs,
        EraseMode::DEs,
        EraseMode::TEs,
    ];
    let mode = one_of(&mut rng, &modes);
    if setup.drive.scheduler == Scheduler::ReadFirst || rng.below(3) == 0 {
        setup.erase.mode = mode;
        setup.erase.timeout = one_of(&mut rng, &[0, 1, 5].map(Duration::from_ms));
        setup.erase.gc_reads = rng.below(3) == 0;
        setup.erase.safe_points = one_of(&mut rng, &[1, 1, 2, 7]);
        setup.gc.reads_first = setup.gc.mode == GcMode::Preemptive && rng.below(2) == 0;
    }
    if setup.erase.mode != EraseMode::None {
        setup.drive.scheduler = Scheduler::ReadFirst;
    }
    if rng.below(2) == 0 {
        setup.erase.hold = one_of(&mut rng, &[1, 200, 3_000].map(Duration::from_us));
        setup.erase.hold_max = one_of(&mut rng, &[0, 2, 100, 10_000].map(Duration::from_ms));
        setup.erase.hold_victims = one_of(&mut rng, &[1, 2, 4, 50]);
    }
    if rng.below(2) == 0 {
        setup.erase.length = EraseLength::Adaptive;
        (setup.erase.need_least, setup.erase.need_spread) =
            one_of(&mut rng, &[(0.01, 0.0), (0.4, 0.4), (0.0001, 0.9)]);
        setup.erase.need_all_at = one_of(&mut rng, &[0, 3, 5000]);
        (setup.erase.fractions, setup.erase.shallow) = one_of(&mut rng, &[(1, 0), (7, 2), (10, 9)]);
    }
}

/// How its programs do, from another stream.
fn draw_program(setup: &mut Setup) {
    let mut rng = Rng::stream(setup.seed, "drawn program");
    let mode = one_of(
        &mut rng,
        &[ProgramMode::None, ProgramMode::Ideal, ProgramMode::Ips, ProgramMode::Ipc],
    );
    if setup.drive.scheduler == Scheduler::ReadFirst || rng.below(3) == 0 {
        setup.program = ProgramSpec {
            mode,
            loops: one_of(&mut rng, &[1, 3, 8, 31]),
            verify_percent: one_of(&mut rng, &[1, 40, 83]),
            suspend: one_of(&mut rng, &[0, 1, 20].map(Duration::from_us)),
            resume: one_of(&mut rng, &[0, 5, 60].map(Duration::from_us)),
            gc_reads: rng.below(3) == 0,
            ..ProgramSpec::default()
        };
    }
    if setup.program.mode != ProgramMode::None {
        setup.drive.scheduler = Scheduler::ReadFirst;
    }
}

/// The limits of suspension, from a third.
fn draw_limits(setup: &mut Setup) {
    let mut rng = Rng::stream(setup.seed, "drawn limits");
    let us = [0, 0, 1, 30, 700].map(Duration::from_us);
    let most = [0, 0, 1, 3];
    (setup.erase.max_suspensions, setup.erase.min_run) =
        (one_of(&mut rng, &most), one_of(&mut rng, &us));
    (setup.program.max_suspensions, setup.program.min_run) =
        (one_of(&mut rng, &most), one_of(&mut rng, &us));
}

/// Some of what gives way hears commands.
fn draw_suspend_command(setup: &mut Setup) {
    let mut rng = Rng::stream(setup.seed, "drawn suspend command");
    setup.device.channel.suspend_command =
        one_of(&mut rng, &[0, 0, 1, 200, 30_000].map(Duration::from_ns));
}

/// Some of the drives collect plane by plane, from yet another stream.
fn draw_planes(setup: &mut Setup) {
    let mut rng = Rng::stream(setup.seed, "drawn planes");
    if rng.below(3) > 0 {
        return;
    }
    let gc = &mut setup.gc;
    (gc.mode, gc.unit, gc.copyback, gc.reads_first) =
        (GcMode::PlaneBlocking, VictimUnit::Block, true, false);
    gc.per_channel = one_of(&mut rng, &[1, 1, 2, 0]);
    gc.cut_transfers = rng.below(3) > 0;
    gc.rotate = one_of(&mut rng, &[Rotate::Off, Rotate::Static, Rotate::Dynamic]);
    gc.rotate_erases = rng.below(3) > 0;
    gc.rotate_urgent = gc.rotate == Rotate::Static && rng.below(2) == 0;
    gc.rotate_window = one_of(&mut rng, &[1, 20, 1_000].map(Duration::from_ms));
    gc.rotate_hysteresis = one_of(&mut rng, &[0.0, 0.1, 0.9]);
}

/// Half of what is preemptive. Without a draw of its own: the other drives stay as they were.
fn preempt_by_channels(setup: &mut Setup) {
    if setup.gc.mode == GcMode::Preemptive && setup.seed % 2 == 1 {
        (setup.gc.mode, setup.gc.reads_first) = (GcMode::ChannelPreemptive, false);
    }
}

/// Some drives serve their channels in an order of their own. Likewise without a draw.
fn order_channels(setup: &mut Setup) {
    let orders = [ChannelOrder::FirstCome, ChannelOrder::DataFirst, ChannelOrder::RoundRobin];
    setup.drive.channel_order = orders[setup.seed as usize / 2 % 3];
    if setup.seed % 4 == 3 {
        setup.drive.channel_take = ChannelTake::WithSlot;
    }
}

/// Takes back what goes with the rest in no scenario, after a test has changed a drawn drive.
pub(super) fn keep_allowed(
    drive: &mut DriveSpec,
    gc: &GcSpec,
    erase: &EraseSpec,
    program: &ProgramSpec,
) {
    let cuts = gc.mode == GcMode::PlaneBlocking && gc.cut_transfers;
    let suspends = erase.mode != EraseMode::None || program.mode != ProgramMode::None;
    if cuts {
        drive.channel_order = ChannelOrder::FirstCome;
    }
    if cuts || suspends || drive.scheduler == Scheduler::Fifo {
        drive.channel_take = ChannelTake::Early;
    }
}

/// Half of what is preemptive over the drive, from a stream of its own.
fn draw_pace(setup: &mut Setup) {
    if setup.gc.mode == GcMode::Preemptive && Rng::stream(setup.seed, "drawn pace").below(2) == 0 {
        setup.gc.pace = Pace::Writes;
    }
}

/// Some take their dies with a slot on the channel, which goes with no suspension and no cut:
/// a fifth, and another fifth of what is preemptive over the drive.
fn draw_take(setup: &mut Setup) {
    let mut rng = Rng::stream(setup.seed, "drawn take");
    if rng.below(5) > u64::from(setup.gc.mode == GcMode::Preemptive) {
        return;
    }
    setup.gc.cut_transfers = false;
    setup.drive.channel_take = ChannelTake::WithSlot;
    (setup.erase.mode, setup.program.mode) = (EraseMode::None, ProgramMode::None);
    if setup.drive.scheduler == Scheduler::Fifo {
        setup.drive.scheduler = Scheduler::OutOfOrder;
    }
}

/// Some marks count erased blocks: as many as the shares that were drawn. Copies are not owed block
/// by block.
fn draw_marks(setup: &mut Setup) {
    let mut rng = Rng::stream(setup.seed, "drawn marks");
    let (blocks, gc) = (setup.device.geometry.blocks, &mut setup.gc);
    if gc.pace == Pace::Writes || rng.below(2) > 0 {
        return;
    }
    let of = |mark: Watermark| (mark.share_of(blocks) * f64::from(blocks)) as u32;
    let soft = of(gc.soft).max(1);
    let hard = of(gc.hard).min(soft - 1);
    gc.soft = Watermark::Blocks(soft);
    if hard > 0 {
        gc.hard = Watermark::Blocks(hard);
    }
}

/// Bytes that cross a limited link beside data.
fn draw_link(setup: &mut Setup) {
    let mut rng = Rng::stream(setup.seed, "drawn link");
    if setup.drive.link.get() > 0 {
        let drive = &mut setup.drive;
        drive.link_fetch = one_of(&mut rng, &[0, 32, 4096].map(Bytes::new));
        drive.link_command = one_of(&mut rng, &[0, 92, 4096].map(Bytes::new));
        drive.link_completion = one_of(&mut rng, &[0, 44, 4096].map(Bytes::new));
    }
}

/// Cores, DRAM and queues in turn, of a part of the drives.
fn draw_firmware(setup: &mut Setup) {
    let mut rng = Rng::stream(setup.seed, "drawn firmware");
    if rng.below(3) > 0 {
        return;
    }
    let firmware = &mut setup.drive.firmware;
    firmware.cores = one_of(&mut rng, &[0, 1, 3]);
    if firmware.cores > 0 {
        firmware.command = one_of(&mut rng, &[0, 1_500].map(Duration::from_ns));
        firmware.look_up = one_of(&mut rng, &[100, 2_000].map(Duration::from_ns));
    }
    firmware.dram = one_of(&mut rng, &[0, 900_000_000].map(Bandwidth::bytes_per_second));
    let has_gc = setup.ftl.kind == FtlKind::Page && setup.gc.mode != GcMode::Nogc;
    if has_gc && rng.below(2) > 0 {
        firmware.throttle = Bandwidth::bytes_per_second(40_000_000);
    }
    // Queues in turn may exchange writes of one place, and the oracle expects their order.
}

/// The drives that [`Setup::drive`] plays: every pair that a scenario allows is among them.
#[test]
fn what_can_be_combined_is_combined() {
    let mut seen = std::collections::BTreeMap::<String, u32>::new();
    for seed in 0..600 {
        let Setup { mut drive, gc, erase, program, .. } = drawn(seed);
        keep_allowed(&mut drive, &gc, &erase, &program);
        let mut see = |what: String| *seen.entry(what).or_default() += 1;
        if drive.channel_take == ChannelTake::WithSlot {
            see(format!("with-slot {:?}", gc.mode));
            see(format!("with-slot pace {:?}", gc.pace));
        }
        for (mark, name) in [(gc.soft, "soft"), (gc.hard, "hard")] {
            if matches!(mark, Watermark::Blocks(_)) {
                assert_eq!(gc.pace, Pace::Off, "seed {seed}");
                see(format!("{name} {:?}", gc.mode));
            }
        }
        let bytes = [drive.link_fetch, drive.link_command, drive.link_completion];
        assert!(drive.link.get() > 0 || bytes == [Bytes::new(0); 3], "seed {seed}");
        for (bytes, name) in bytes.into_iter().zip(["fetch", "command", "completion"]) {
            see(format!("{name} {bytes}"));
        }
    }
    let of = |what: String| seen.get(&what).copied().unwrap_or(0);
    for mode in GcMode::ALL {
        for what in
            [format!("with-slot {mode:?}"), format!("soft {mode:?}"), format!("hard {mode:?}")]
        {
            assert!(of(what.clone()) >= 5, "{what}: {seen:?}");
        }
    }
    for pace in [Pace::Off, Pace::Writes] {
        assert!(of(format!("with-slot pace {pace:?}")) >= 5, "{seen:?}");
    }
    for what in ["fetch 4KiB", "fetch 32B", "command 4KiB", "command 92B", "completion 4KiB"] {
        assert!(of(what.to_string()) >= 20, "{what}: {seen:?}");
    }
}

pub(in crate::host) fn one_of<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}
