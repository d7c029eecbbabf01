//! The limits of a scenario's values, and why they are. The first thing that is wrong is reported;
//! the rest can be run.

mod array;
mod bus;
mod device;
mod faults;
mod firmware;
mod fitted;
mod gc;
mod host;
pub(super) mod job;
mod log;
mod map;
mod power;
mod pslc;
mod recovery;
mod retry;
mod scrub;
mod space;

use super::Scenario;
use manx_core::drive::{
    CostRule, DriveSpec, EraseLength, EraseMode, EraseSpec, Evict, FastFail, PreconditionSpec,
    PreconditionState, ProgramMode, ProgramSpec, RainSpec, Scheduler, Update, UpdateReads,
};
use manx_core::flash::{Device, lanes, program_unit};
use manx_core::ftl::{
    Allocation, DataPlacement, Dimension, Frontiers, FtlSpec, OpenBlocks, Stripe, VictimUnit,
    WIDTH_MAX,
};
use manx_core::units::{Bandwidth, Duration};
use serde::Serialize;
use std::fmt::Display;

/// A value that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The dotted key.
    pub key: String,
    /// Its value, as text.
    pub value: String,
    /// The allowed values, and why.
    pub allowed: String,
}

/// The outcome of one check.
type Check = Result<(), Invalid>;

/// Refuses `value` at `key` unless `holds`.
fn require(holds: bool, key: &str, value: impl Display, allowed: impl Into<String>) -> Check {
    if holds {
        return Ok(());
    }
    Err(Invalid { key: key.to_string(), value: value.to_string(), allowed: allowed.into() })
}

/// A word of a closed list as a scenario has it.
fn word(value: impl Serialize) -> String {
    toml::Value::try_from(value).map_or_else(|_| String::new(), |value| value.to_string())
}

/// Longest of any time: sums of such times stay far from the end of the 64-bit clock (584 years).
const TIME_MAX: Duration = Duration::from_s(366 * 24 * 3600);

fn require_time(time: Duration, key: &str) -> Check {
    require(
        time <= TIME_MAX,
        key,
        time,
        "at most 366 d, so that no sum of times leaves the clock of a run",
    )
}

/// Longest of a flash operation: no flash takes seconds, and timers reach some hours ahead.
const OPERATION_MAX: Duration = Duration::from_s(60);

fn require_operation_time(time: Duration, key: &str) -> Check {
    require(
        time <= OPERATION_MAX,
        key,
        time,
        "at most 60s: a flash operation takes micro- to milliseconds",
    )
}

/// A slower bus than this is a slip of the unit, and its transfers could leave the clock of a run.
fn require_rate(rate: Bandwidth, key: &str) -> Check {
    require(rate.get() == 0 || rate.get() >= 1_000_000, key, rate, "`unlimited`, or at least 1MB/s")
}

fn require_percent(percent: f64, key: &str) -> Check {
    require((0.0..=100.0).contains(&percent), key, percent, "a percentage, from 0 to 100")
}

/// Checks everything about a scenario that its types do not say already.
pub fn validate(scenario: &Scenario) -> Result<(), Invalid> {
    validate_device(&scenario.device)?;
    ftl(&scenario.ftl)?;
    data_placement(&scenario.ftl)?;
    gc::all(&scenario.gc, &scenario.ftl, &scenario.device)?;
    rain(&scenario.rain, &scenario.ftl, &scenario.device)?;
    superblock_parity(scenario)?;
    erase(&scenario.erase, scenario.drive.scheduler, &scenario.device)?;
    program(&scenario.program, scenario.drive.scheduler, &scenario.device)?;
    scrub::all(&scenario.scrub, &scenario.device)?;
    device::passes(scenario)?;
    retry::all(scenario)?;
    map::all(scenario)?;
    pslc::all(scenario)?;
    drive(&scenario.drive, &scenario.device, &scenario.ftl)?;
    bus::all(scenario)?;
    firmware::all(scenario)?;
    power::all(scenario)?;
    log::all(scenario)?;
    recovery::all(scenario)?;
    space::enough(&scenario.device, &scenario.ftl, &scenario.gc, &scenario.rain)?;
    faults::all(scenario)?;
    precondition(&scenario.precondition)?;
    space::aged(&scenario.precondition, &scenario.device, &scenario.ftl, &scenario.gc)?;
    array::all(scenario)?;
    host::all(scenario)?;
    job::all(scenario)
}

/// Checks a device table: what can be said of it without a scenario around it.
pub fn validate_device(device: &Device) -> Result<(), Invalid> {
    device::geometry(device)?;
    device::map_unit(device)?;
    device::timing(device)?;
    device::endurance(device)?;
    device::size(device)?;
    pslc::device(device)?;
    require(
        device.op >= 0.0 && device.op < 1.0,
        "device.op",
        device.op,
        "a share of the raw capacity, from 0 to below 1; or \"7%\", spare over user capacity",
    )
}

fn ftl(ftl: &FtlSpec) -> Check {
    let all = [Dimension::Channel, Dimension::Way, Dimension::Die, Dimension::Plane];
    let names = ftl.order.map(|dimension| format!("{dimension:?}").to_lowercase()).join(", ");
    let once = all.iter().all(|dimension| ftl.order.contains(dimension));
    require(
        once,
        "ftl.order",
        format!("[{names}]"),
        "channel, way, die and plane, each exactly once, fastest first",
    )
}

/// Checks the keys that `ftl.placement` reads; the others are not looked at.
fn data_placement(ftl: &FtlSpec) -> Check {
    match ftl.placement {
        DataPlacement::Dac => {
            let message = format!("from 2 to {PLACES_MAX}: each has open blocks of its own");
            require(
                (2..=PLACES_MAX).contains(&ftl.dac_regions),
                "ftl.dac_regions",
                ftl.dac_regions,
                message,
            )?;
            let message = "from 0 to 1000 times the user capacity, as writes of the host; 0 leaves \
                           the age out";
            require((0.0..=1000.0).contains(&ftl.dac_age), "ftl.dac_age", ftl.dac_age, message)
        }
        DataPlacement::Stream => {
            let message = format!("from 1 to {PLACES_MAX}: each has open blocks of its own");
            require((1..=PLACES_MAX).contains(&ftl.streams), "ftl.streams", ftl.streams, message)
        }
        DataPlacement::None
        | DataPlacement::Sepbit
        | DataPlacement::TwoRegions
        | DataPlacement::TwoRegionsSecondChance
        | DataPlacement::Pslc => Ok(()),
    }
}

/// The most regions, and the most streams.
const PLACES_MAX: u32 = 8;

/// More than any controller has.
const XOR_ENGINES_MAX: u32 = 64;

fn rain(rain: &RainSpec, ftl: &FtlSpec, device: &Device) -> Check {
    let (width, channels) = (rain.width, device.geometry.channels);
    let divides = (2..=WIDTH_MAX).contains(&width) && channels.is_multiple_of(width);
    require(
        width == 0 || divides,
        "rain.width",
        width,
        format!(
            "0 for no parity, or from 2 to {WIDTH_MAX} and a divisor of device.geometry.channels = \
             {channels}: the members of a stripe are on different channels, and stripes lie side \
             by side on all of them"
        ),
    )?;
    require(
        width == 0 || ftl.allocation == Allocation::Static || rain.update == Update::Superblock,
        "rain.width",
        width,
        "with rain.update = \"in-place\" it needs ftl.allocation = \"static\": the address of a \
         page decides its stripe and its channel",
    )?;
    require_operation_time(rain.xor, "rain.xor")?;
    let (key, engines) = ("rain.xor_engines", rain.xor_engines);
    let message = format!("from 0 (one for each page) to {XOR_ENGINES_MAX}");
    require(engines <= XOR_ENGINES_MAX, key, engines, message)?;
    let message = "0: engines need rain.xor above 0s, or none is ever waited for";
    require(engines == 0 || !rain.xor.is_zero(), key, engines, message)
}

/// Parity over superblocks: stripes are rows of a superblock, so it is what is filled, and what is
/// reclaimed.
fn superblock_parity(scenario: &Scenario) -> Check {
    let Scenario { rain, ftl, gc, precondition, scrub, .. } = scenario;
    if rain.width == 0 || rain.update == Update::InPlace {
        return Ok(());
    }
    let (key, value) = ("rain.update", "\"superblock\"");
    let message = "with \"superblock\" it needs gc.unit = \"superblock\": the rows of a stripe are \
                   erased together";
    require(gc.unit == VictimUnit::Superblock, key, value, message)?;
    // That needs dynamic allocation and separate frontiers, and goes with no copyback: `gc` says
    // so.
    debug_assert!(
        ftl.allocation == Allocation::Dynamic
            && ftl.frontiers == Frontiers::Separate
            && !gc.copyback
    );
    let message = "rain.update = \"superblock\" needs \"stripe\": stripes are rows of flash, no \
                   pages belong together before";
    let evict = if rain.evict == Evict::Page { "\"page\"" } else { "\"stripe-lru\"" };
    require(rain.evict == Evict::Stripe, "rain.evict", evict, message)?;
    let message = "rain.update = \"superblock\" needs \"wait\": its parity is made of what is \
                   written, and nothing is read";
    require(
        rain.update_reads == UpdateReads::Wait,
        "rain.update_reads",
        "\"reconstruct\"",
        message,
    )?;
    let message = "rain.update = \"superblock\" needs \"estimate\": the members of a stripe are \
                   collected at once";
    require(rain.cost_rule == CostRule::Estimate, "rain.cost_rule", word(rain.cost_rule), message)?;
    let message = "rain.update = \"superblock\" needs \"empty\", \"fill\" or \"steady\": \"aged\" \
                   fills each lane by itself, and a stripe is written over all of them";
    require(
        precondition.state != PreconditionState::Aged,
        "precondition.state",
        "\"aged\"",
        message,
    )?;
    let message = "rain.update = \"superblock\" needs \"none\": a row of a stripe takes its place \
                   when its first page leaves the buffer, and where parity comes next is known of \
                   one open superblock only";
    let holds = ftl.placement == DataPlacement::None;
    require(holds, "ftl.placement", format!("\"{}\"", ftl.placement.name()), message)?;
    let message =
        "rain.update = \"superblock\" needs 0: a page that is written anew would leave its stripe";
    require(scrub.rate == 0.0, "scrub.rate", scrub.rate, message)?;
    let message = "rain.update = \"superblock\" needs false: errors of its parity are not modelled";
    require(!scrub.errors, "scrub.errors", scrub.errors, message)
}

fn erase(erase: &EraseSpec, scheduler: Scheduler, device: &Device) -> Check {
    require_time(erase.timeout, "erase.timeout")?;
    require_operation_time(erase.suspend, "erase.suspend")?;
    require_operation_time(erase.resume, "erase.resume")?;
    require_operation_time(erase.verify, "erase.verify")?;
    require_operation_time(erase.min_run, "erase.min_run")?;
    let (points, step) = (erase.safe_points, device.timing.erase_step.as_ns());
    let holds = (1..=SAFE_POINTS_MAX).contains(&points) && u64::from(points) <= step;
    let message =
        format!("from 1 to {SAFE_POINTS_MAX} in a step of {step}ns, at most one a nanosecond");
    require(holds, "erase.safe_points", points, message)?;
    let (key, growth) = ("erase.rber_per_1000", erase.rber_per_1000);
    require(
        (0.0..=1000.0).contains(&growth),
        key,
        growth,
        "a share of the error rate, from 0 to 1000",
    )?;
    require_operation_time(erase.hold, "erase.hold")?;
    require_operation_time(erase.hold_max, "erase.hold_max")?;
    let (key, victims) = ("erase.hold_victims", erase.hold_victims);
    require((1..=1000).contains(&victims), key, victims, "from 1 to 1000 victims of a pool")?;
    erase_lengths(erase, device)?;
    suspends(erase.mode != EraseMode::None, "erase.mode", erase.mode.name(), scheduler)
}

fn suspends(does: bool, key: &str, mode: &str, scheduler: Scheduler) -> Check {
    require(
        !does || scheduler == Scheduler::ReadFirst,
        key,
        format!("\"{mode}\""),
        "suspending for a read needs drive.scheduler = \"read-first\": in any other order the read \
         may stand behind a program, which what is suspended never lets pass",
    )
}

/// More loops than any program takes.
const LOOPS_MAX: u32 = 1000;

fn program(program: &ProgramSpec, scheduler: Scheduler, device: &Device) -> Check {
    require_operation_time(program.suspend, "program.suspend")?;
    require_operation_time(program.resume, "program.resume")?;
    require_operation_time(program.min_run, "program.min_run")?;
    let (loops, percent) = (program.loops, program.verify_percent);
    require(
        (1..=LOOPS_MAX).contains(&loops),
        "program.loops",
        loops,
        format!("from 1 to {LOOPS_MAX} in a program"),
    )?;
    let both = "from 1 to 99: a loop has a pulse and a verify";
    require((1..=99).contains(&percent), "program.verify_percent", percent, both)?;
    let shortest = device.timing.program.iter().map(|time| time.as_ns()).min().unwrap_or_default();
    let holds = program.mode == ProgramMode::None
        || shortest * u64::from(percent.min(100 - percent)) >= 100 * u64::from(loops);
    let message = format!(
        "so few that each pulse and verify of a program of {shortest}ns takes a nanosecond at least"
    );
    require(holds, "program.loops", loops, message)?;
    suspends(program.mode != ProgramMode::None, "program.mode", program.mode.name(), scheduler)
}

fn erase_lengths(erase: &EraseSpec, device: &Device) -> Check {
    let (least, spread) = (erase.need_least, erase.need_spread);
    let holds = least > 0.0 && least <= 1.0;
    require(holds, "erase.need_least", least, "a share of all steps, above 0 and at most 1")?;
    let message = format!("a share of all steps, from 0 to what erase.need_least = {least} leaves");
    require(spread >= 0.0 && least + spread <= 1.0, "erase.need_spread", spread, message)?;
    let (fractions, points, step) =
        (erase.fractions, erase.safe_points, device.timing.erase_step.as_ns());
    let holds = (1..=FRACTIONS_MAX).contains(&fractions);
    require(
        holds,
        "erase.fractions",
        fractions,
        format!("from 1 to {FRACTIONS_MAX} parts of a step"),
    )?;
    let holds =
        erase.length == EraseLength::Fixed || u64::from(fractions) * u64::from(points) <= step;
    let message = format!(
        "with erase.safe_points = {points} it cuts a step of {step}ns into more parts than it has \
         nanoseconds"
    );
    require(holds, "erase.fractions", fractions, message)?;
    let (key, shallow) = ("erase.shallow", erase.shallow);
    let message =
        format!("from 0 to below erase.fractions = {fractions}: it is shorter than a step");
    require(erase.length == EraseLength::Fixed || shallow < fractions, key, shallow, message)
}

/// More parts of a step than any pulse is measured in.
const FRACTIONS_MAX: u32 = 1000;

/// More parts of a step than any die has states to stop at.
const SAFE_POINTS_MAX: u32 = 1000;

/// The simulator keeps some hundred bytes for each map unit of the buffer: a slip of the unit must
/// not take all memory.
const BUFFER_MAX: u64 = 16 << 30;

fn drive(drive: &DriveSpec, device: &Device, ftl: &FtlSpec) -> Check {
    let share = (0.0..=1.0).contains(&drive.flush_above);
    require(share, "drive.flush_above", drive.flush_above, "a share of the buffer, from 0 to 1")?;
    require_time(drive.buffer_hit, "drive.buffer_hit")?;
    require_time(drive.controller, "drive.controller")?;
    require_rate(drive.link, "drive.link")?;
    require(
        drive.fast_fail == FastFail::Gc || drive.scheduler == Scheduler::ReadFirst,
        "drive.fast_fail",
        word(drive.fast_fail),
        "\"internal\" needs drive.scheduler = \"read-first\": else programs begin before reads \
         that wait, which were not failed",
    )?;
    let (unit, lanes) = (program_unit(device), lanes(device));
    let classes = u128::from(OpenBlocks::of(ftl).host);
    let each = if classes == 1 { String::new() } else { format!(" and {classes} classes of data") };
    let (needed, why) = match ftl.stripe {
        Stripe::MapUnit => {
            let why = format!(
                "2 program units of {unit} B for each of {lanes} lanes{each}, which fill side by \
                 side"
            );
            (2 * unit * lanes * classes, why)
        }
        Stripe::ProgramUnit => (2 * unit * classes, format!("2 program units of {unit} B{each}")),
    };
    let enough = u128::from(drive.buffer.get()) >= needed;
    require(enough, "drive.buffer", drive.buffer, format!("at least {needed}B: {why}"))?;
    let sane = drive.buffer.get() <= BUFFER_MAX;
    require(sane, "drive.buffer", drive.buffer, "at most 16GiB, more memory than any drive has")
}

fn precondition(precondition: &PreconditionSpec) -> Check {
    let PreconditionSpec { ratio, passes_max, settled_below, .. } = *precondition;
    let key = "precondition.ratio";
    require(
        ratio > 0.0 && ratio < 1.0,
        key,
        ratio,
        "a share of the raw pages, above 0 and below 1",
    )?;
    let key = "precondition.passes_max";
    require(
        (1..=1000).contains(&passes_max),
        key,
        passes_max,
        "from 1 to 1000 overwrites of the user capacity",
    )?;
    let key = "precondition.settled_below";
    let holds = settled_below > 0.0 && settled_below < 1.0;
    require(
        holds,
        key,
        settled_below,
        "a relative difference of two windows' WAF, above 0 and below 1",
    )
}
