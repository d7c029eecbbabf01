//! Each setting moves what it should, the right way: a table of settings and outputs.

use super::{Setup, small};
use crate::drive::{PreconditionState, Scheduler};
use crate::flash::{ChannelOrder, ChannelTake};
use crate::ftl::{
    Allocation, DataPlacement, Dimension, FreeBlock, Frontiers, GcMode, GcWhen, Pace, Stripe,
    Victim, VictimUnit, Watermark,
};
use crate::host::{Arrival, Driver, JobSpec, Pattern, StreamBy};
use crate::units::{Bandwidth, Bytes, Duration};

/// A change of the setup, an output, and what it is called: the output is larger under `more` than
/// under `less`.
struct Knob {
    name: &'static str,
    less: fn(&mut Setup),
    more: fn(&mut Setup),
    output: fn(&Driver) -> f64,
}

fn read_mean(driver: &Driver) -> f64 {
    driver.measured().read.histogram.mean().expect("there are reads").as_us_f64()
}

fn write_mean(driver: &Driver) -> f64 {
    driver.measured().write.histogram.mean().expect("there are writes").as_us_f64()
}

fn read_worst(driver: &Driver) -> f64 {
    driver.measured().read.histogram.max().expect("there are reads").as_us_f64()
}

fn time(driver: &Driver) -> f64 {
    driver.now().as_ns() as f64
}

fn waf(driver: &Driver) -> f64 {
    let c = driver.drive().counters();
    (c.host_units + c.copied_units + c.padded_units) as f64 / c.host_units as f64
}

/// An open loop that leaves the drive mostly idle: what shows is what one request meets.
fn light(setup: &mut Setup) {
    setup.jobs[0] = JobSpec { arrival: Arrival::Poisson, rate: 300.0, ..setup.jobs[0].clone() };
    setup.drive.write_through = true;
}

/// Load so light that copies keep up, and space for their pace.
fn paced_at_a_third(setup: &mut Setup) {
    light(setup);
    setup.gc.soft = Watermark::Share(0.3);
}

fn closed_by_one(setup: &mut Setup) {
    setup.jobs[0].queue_depth = 1;
}

const GC: &[Knob] = &[
    Knob {
        name: "gc.pace makes copies wait for writes",
        less: paced_at_a_third,
        more: |s| {
            paced_at_a_third(s);
            s.gc.pace = Pace::Writes;
        },
        output: |driver| driver.drive().counters().pace.waits as f64,
    },
    Knob {
        name: "gc.mode preemptive waits longer than nogc",
        less: |s| s.gc.mode = GcMode::Nogc,
        more: |s| s.gc.mode = GcMode::Preemptive,
        output: read_mean,
    },
    Knob {
        name: "gc.mode base has a worse worst read than preemptive",
        less: |s| (light(s), s.gc.mode = GcMode::Preemptive).0,
        more: |s| (light(s), s.gc.mode = GcMode::Base).0,
        output: read_worst,
    },
    Knob {
        name: "gc.mode controller keeps more reads waiting than base",
        less: |s| (light(s), s.gc.mode = GcMode::Base).0,
        more: |s| (light(s), s.gc.mode = GcMode::Controller).0,
        output: |d| d.measured().gc_blocked_reads as f64,
    },
    Knob {
        name: "gc.when foreground collects before waiting host requests",
        less: |s| (s.gc.mode, s.gc.when) = (GcMode::Base, GcWhen::Foreground),
        more: |s| (s.gc.mode, s.gc.when) = (GcMode::Base, GcWhen::Background),
        output: |d| d.drive().counters().forced_collections as f64,
    },
    Knob {
        name: "gc.victim random copies more than greedy",
        less: |s| s.gc.victim = Victim::Greedy,
        more: |s| s.gc.victim = Victim::Random,
        output: waf,
    },
    Knob {
        name: "gc.victim uniform copies more than random, for it copies full blocks",
        less: |s| s.gc.victim = Victim::Random,
        more: |s| s.gc.victim = Victim::Uniform,
        output: waf,
    },
    Knob {
        name: "gc.window of one is fifo, a wide one nearly greedy",
        less: |s| (s.gc.victim, s.gc.window) = (Victim::WindowedGreedy, 24),
        more: |s| (s.gc.victim, s.gc.window) = (Victim::WindowedGreedy, 1),
        output: waf,
    },
    Knob {
        name: "gc.choices of one is random, many are nearly greedy",
        less: |s| (s.gc.victim, s.gc.choices) = (Victim::DChoices, 20),
        more: |s| (s.gc.victim, s.gc.choices) = (Victim::DChoices, 1),
        output: waf,
    },
    Knob {
        name: "gc.unit plane-group reclaims fewer and larger victims than block",
        less: |s| groups(s, VictimUnit::PlaneGroup),
        more: |s| groups(s, VictimUnit::Block),
        output: |d| d.drive().counters().collections as f64,
    },
    Knob {
        name: "gc.unit superblock reclaims fewer and larger victims than plane-group",
        less: |s| groups(s, VictimUnit::Superblock),
        more: |s| groups(s, VictimUnit::PlaneGroup),
        output: |d| d.drive().counters().collections as f64,
    },
    Knob {
        name: "gc.soft keeps space free that could have gone stale",
        less: |s| s.gc.soft = 0.10.into(),
        more: |s| s.gc.soft = 0.22.into(),
        output: waf,
    },
    Knob {
        name: "gc.soft in blocks: more erased blocks are kept, more copies",
        less: |s| s.gc.soft = Watermark::Blocks(3),
        more: |s| s.gc.soft = Watermark::Blocks(5),
        output: waf,
    },
    Knob {
        name: "gc.hard in blocks forces collections",
        less: |s| (light(s), s.gc.hard = Watermark::Blocks(0)).0,
        more: |s| (light(s), s.gc.hard = Watermark::Blocks(3)).0,
        output: |d| d.drive().counters().forced_collections as f64,
    },
    Knob {
        name: "gc.hard forces collections",
        less: |s| (light(s), s.gc.hard = 0.0.into()).0,
        more: |s| (light(s), s.gc.hard = 0.149.into()).0,
        output: |d| d.drive().counters().forced_collections as f64,
    },
    Knob {
        name: "gc.copyback spares the channel",
        less: |s| s.gc.copyback = true,
        more: |s| s.gc.copyback = false,
        output: |d| d.drive().flash().busy().1.as_s_f64(),
    },
    Knob {
        name: "device.op: less spare space, more copies",
        less: |s| s.device.op = 0.5,
        more: |s| s.device.op = 0.32,
        output: waf,
    },
];

/// Two planes, filled dynamically, so that every victim unit is allowed.
fn groups(setup: &mut Setup, unit: VictimUnit) {
    (setup.device.geometry.planes, setup.ftl.allocation, setup.gc.unit) =
        (2, Allocation::Dynamic, unit);
}

/// More dies on a channel than one that has it and one that waits.
fn many_ways(setup: &mut Setup) {
    light(setup);
    no_collection(setup);
    (setup.device.geometry.channels, setup.device.geometry.ways) = (1, 8);
    (setup.drive.buffer, setup.jobs[0].rate) = (Bytes::kib(1024), 6_000.0);
}

fn slow_link(setup: &mut Setup) {
    light(setup);
    setup.drive.link = Bandwidth::bytes_per_second(100_000_000);
}

/// Requests of two pages in a row on rows of two pages.
fn pairs(setup: &mut Setup) {
    (setup.device.geometry.planes, setup.device.feature.program_planes) = (2, 2);
    setup.jobs[0].block_sizes = vec![(Bytes::kib(8), 1.0)];
}

const FTL: &[Knob] = &[
    Knob {
        name: "ftl.allocation dynamic spreads what static stripes onto busy lanes",
        less: |s| (s.jobs[0].read_percent, s.ftl.allocation) = (0.0, Allocation::Dynamic),
        more: |s| (s.jobs[0].read_percent, s.ftl.allocation) = (0.0, Allocation::Static),
        output: time,
    },
    Knob {
        name: "ftl.order way first puts neighbours on one channel",
        less: |s| (light(s), s.jobs[0].block_sizes = vec![(Bytes::kib(8), 1.0)]).0,
        more: |s| {
            light(s);
            s.jobs[0].block_sizes = vec![(Bytes::kib(8), 1.0)];
            s.ftl.order = [Dimension::Way, Dimension::Channel, Dimension::Die, Dimension::Plane];
        },
        output: |d| d.measured().read.histogram.min().expect("there are reads").as_us_f64(),
    },
    Knob {
        name: "ftl.stripe program-unit keeps neighbours in one array read",
        less: |s| (pairs(s), s.ftl.stripe = Stripe::ProgramUnit).0,
        more: |s| (pairs(s), s.ftl.stripe = Stripe::MapUnit).0,
        output: |d| d.drive().flash().operations().reads as f64,
    },
    Knob {
        name: "ftl.static_wear_gap narrows the spread of wear",
        less: |s| (hot(s), s.ftl.static_wear_gap = 2).0,
        more: |s| (hot(s), s.ftl.static_wear_gap = 0).0,
        output: |d| f64::from(d.drive().ftl().wear().max - d.drive().ftl().wear().min),
    },
    Knob {
        name: "ftl.free_block least-worn wears blocks more evenly than fifo",
        less: |s| {
            (s.jobs[0].read_percent, s.jobs[0].requests, s.ftl.free_block) =
                (0.0, 40_000, FreeBlock::LeastWorn)
        },
        more: |s| {
            (s.jobs[0].read_percent, s.jobs[0].requests, s.ftl.free_block) =
                (0.0, 40_000, FreeBlock::Fifo)
        },
        output: |d| d.drive().ftl().wear().deviation,
    },
    Knob {
        name: "ftl.static_wear_gap narrows the deviation of wear",
        less: |s| (hot(s), s.ftl.static_wear_gap = 2).0,
        more: |s| (hot(s), s.ftl.static_wear_gap = 0).0,
        output: |d| d.drive().ftl().wear().deviation,
    },
    Knob {
        name: "ftl.placement dac copies less of skewed writes than greedy with one log",
        less: |s| {
            (skewed(s), s.ftl.placement = DataPlacement::Dac, s.gc.victim = Victim::CostBenefit).0
        },
        more: skewed,
        output: waf,
    },
    Knob {
        name: "ftl.placement sepbit copies less of skewed writes than greedy with one log",
        less: |s| {
            (
                skewed(s),
                (s.ftl.placement, s.ftl.frontiers) = (DataPlacement::Sepbit, Frontiers::Separate),
            )
                .0
        },
        more: skewed,
        output: waf,
    },
    Knob {
        name: "ftl.placement 2r copies less of skewed writes than greedy with one log",
        less: |s| {
            (
                skewed(s),
                (s.ftl.placement, s.ftl.frontiers) =
                    (DataPlacement::TwoRegions, Frontiers::Separate),
            )
                .0
        },
        more: skewed,
        output: waf,
    },
    Knob {
        name: "ftl.placement stream copies less of skewed writes than greedy with one log when the \
               host tells",
        less: |s| {
            (
                skewed(s),
                (s.ftl.placement, s.ftl.frontiers) = (DataPlacement::Stream, Frontiers::Separate),
            )
                .0
        },
        more: skewed,
        output: waf,
    },
    Knob {
        name: "workload.stream_by: one stream for all is no placement",
        less: |s| (skewed(s), s.ftl.placement = DataPlacement::Stream).0,
        more: |s| {
            (
                skewed(s),
                s.ftl.placement = DataPlacement::Stream,
                s.jobs[0].stream_by = StreamBy::Job,
            )
                .0
        },
        output: waf,
    },
    Knob {
        name: "precondition.state steady copies from the first write on",
        less: |s| s.precondition.state = PreconditionState::Empty,
        more: |s| s.precondition.state = PreconditionState::Steady,
        output: waf,
    },
];

/// Nine writes in ten go to a tenth of the pages, scattered; greedy with one log; the host can tell
/// which is which.
fn skewed(setup: &mut Setup) {
    let geometry = &mut setup.device.geometry;
    (geometry.channels, geometry.ways, geometry.blocks, geometry.pages) = (1, 2, 128, 32);
    setup.device.op = 0.2;
    (setup.gc.soft, setup.gc.hard) = (0.02.into(), 0.005.into());
    (setup.ftl.frontiers, setup.ftl.streams) = (Frontiers::Shared, 2);
    let job = &mut setup.jobs[0];
    (job.pattern, job.tiers, job.stream_by) = (Pattern::Tiers, vec![(10.0, 90.0)], StreamBy::Tier);
    (job.read_percent, job.requests) = (0.0, 60_000);
}

/// Many writes to a tenth of the space.
fn hot(setup: &mut Setup) {
    let job = &mut setup.jobs[0];
    (job.pattern, job.tiers) = (Pattern::Tiers, vec![(10.0, 100.0)]);
    (job.read_percent, job.requests) = (0.0, 20_000);
    setup.drive.write_through = true;
}

const DRIVE: &[Knob] = &[
    Knob {
        name: "drive.buffer holds more pages that are written again",
        less: |s| (zipf(s), s.drive.buffer = Bytes::kib(128)).0,
        more: |s| (zipf(s), s.drive.buffer = Bytes::kib(1024)).0,
        output: |d| d.drive().counters().buffer.write_hits as f64,
    },
    Knob {
        name: "drive.flush_above keeps pages in the buffer",
        less: |s| (zipf(s), s.drive.flush_above = 0.1).0,
        more: |s| (zipf(s), s.drive.flush_above = 0.9).0,
        output: |d| d.drive().counters().buffer.write_hits as f64,
    },
    Knob {
        name: "drive.buffer_hit is what a buffered write takes",
        less: |s| (closed_by_one(s), s.drive.buffer_hit = Duration::from_us(1)).0,
        more: |s| (closed_by_one(s), s.drive.buffer_hit = Duration::from_us(50)).0,
        output: |d| d.measured().write.histogram.min().expect("there are writes").as_us_f64(),
    },
    Knob {
        name: "drive.write_through makes writes wait for the flash",
        less: |s| (light(s), s.drive.write_through = false).0,
        more: light,
        output: write_mean,
    },
    Knob {
        name: "drive.power_loss_protection saves FUA the wait for the flash",
        less: |s| (s.jobs[0].fua_percent, s.drive.power_loss_protection) = (50.0, true),
        more: |s| (s.jobs[0].fua_percent, s.drive.power_loss_protection) = (50.0, false),
        output: |d| d.measured().write.histogram.max().expect("there are writes").as_us_f64(),
    },
    Knob {
        name: "drive.scheduler out-of-order keeps reads behind programs",
        less: |s| (no_collection(s), s.drive.scheduler = Scheduler::ReadFirst).0,
        more: |s| (no_collection(s), s.drive.scheduler = Scheduler::OutOfOrder).0,
        output: read_mean,
    },
    Knob {
        name: "drive.scheduler fifo keeps reads behind other dies' programs",
        less: |s| (no_collection(s), s.drive.scheduler = Scheduler::OutOfOrder).0,
        more: |s| (no_collection(s), s.drive.scheduler = Scheduler::Fifo).0,
        output: read_mean,
    },
    Knob {
        name: "drive.channel_order data-first keeps commands of reads behind the data of others",
        less: |s| (many_ways(s), s.drive.channel_order = ChannelOrder::FirstCome).0,
        more: |s| (many_ways(s), s.drive.channel_order = ChannelOrder::DataFirst).0,
        output: read_mean,
    },
    Knob {
        name: "drive.channel_order round-robin lets commands go before data that came earlier",
        less: |s| (many_ways(s), s.drive.channel_order = ChannelOrder::RoundRobin).0,
        more: |s| (many_ways(s), s.drive.channel_order = ChannelOrder::DataFirst).0,
        output: read_mean,
    },
    Knob {
        name: "drive.channel_take with-slot lets reads go before programs that wait for the bus",
        less: |s| (many_ways(s), s.drive.channel_take = ChannelTake::WithSlot).0,
        more: |s| (many_ways(s), s.drive.channel_take = ChannelTake::Early).0,
        output: read_mean,
    },
    Knob {
        name: "drive.link_fetch waits behind data that was read",
        less: |s| slow_link(s),
        more: |s| (slow_link(s), s.drive.link_fetch = Bytes::new(32)).0,
        output: read_mean,
    },
    Knob {
        name: "drive.link_command takes time on the link",
        less: |s| slow_link(s),
        more: |s| (slow_link(s), s.drive.link_command = Bytes::new(512)).0,
        output: write_mean,
    },
    Knob {
        name: "drive.link_completion takes time on the link",
        less: |s| slow_link(s),
        more: |s| (slow_link(s), s.drive.link_completion = Bytes::new(512)).0,
        output: read_mean,
    },
    Knob {
        name: "drive.queue_depth of one wastes the dies",
        less: |s| s.drive.queue_depth = 0,
        more: |s| s.drive.queue_depth = 1,
        output: time,
    },
    Knob {
        name: "drive.controller delays every request",
        less: |s| (light(s), s.drive.controller = Duration::ZERO).0,
        more: |s| (light(s), s.drive.controller = Duration::from_us(20)).0,
        output: read_mean,
    },
    Knob {
        name: "drive.link delays what crosses it",
        less: |s| (light(s), s.drive.link = Bandwidth::default()).0,
        more: |s| (light(s), s.drive.link = Bandwidth::bytes_per_second(100_000_000)).0,
        output: read_mean,
    },
    Knob {
        name: "device.feature.cache_read overlaps array and channel",
        less: |s| (reads_of_one_die(s), s.device.feature.cache_read = true).0,
        more: |s| (reads_of_one_die(s), s.device.feature.cache_read = false).0,
        output: time,
    },
    Knob {
        name: "device.feature.cache_program hides transfers",
        less: |s| {
            (no_collection(s), s.jobs[0].read_percent = 0.0, s.device.feature.cache_program = true)
                .0
        },
        more: |s| {
            (no_collection(s), s.jobs[0].read_percent = 0.0, s.device.feature.cache_program = false)
                .0
        },
        output: time,
    },
    Knob {
        name: "device.feature.independent_planes lets planes work side by side",
        less: |s| (s.device.geometry.planes, s.device.feature.independent_planes) = (2, true),
        more: |s| (s.device.geometry.planes, s.device.feature.independent_planes) = (2, false),
        output: time,
    },
];

fn zipf(setup: &mut Setup) {
    setup.jobs[0].pattern = Pattern::Zipf;
    no_collection(setup);
}

/// Collections that take no time, so that what shows is the drive around them.
fn no_collection(setup: &mut Setup) {
    setup.gc.mode = GcMode::Nogc;
}

fn reads_of_one_die(setup: &mut Setup) {
    (setup.device.geometry.channels, setup.device.geometry.ways) = (1, 1);
    setup.jobs[0].read_percent = 100.0;
}

fn turn(knobs: &[Knob]) {
    let mut still = Vec::new();
    for knob in knobs {
        let output = |change: fn(&mut Setup)| {
            let mut setup = small();
            setup.gc.mode = GcMode::Preemptive;
            setup.jobs[0].requests = 4_000;
            change(&mut setup);
            (knob.output)(&setup.play())
        };
        let (less, more) = (output(knob.less), output(knob.more));
        if less >= more {
            still.push(format!("{}: {less} and {more}", knob.name));
        }
    }
    assert!(still.is_empty(), "these did not move the right way:\n{}", still.join("\n"));
}

#[test]
fn every_setting_of_garbage_collection_moves_its_output() {
    turn(GC);
}

#[test]
fn every_setting_of_the_translation_layer_moves_its_output() {
    turn(FTL);
}

#[test]
fn every_setting_of_the_drive_moves_its_output() {
    turn(DRIVE);
}
