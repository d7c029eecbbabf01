//! The limits of a device table.

use super::{Check, require, require_operation_time, require_rate};
use crate::Scenario;
use manx_core::drive::ProgramMode;
use manx_core::flash::{Device, PageOrder, lanes, page_types, program_unit, raw_bytes};

/// The most map units a device may have: a physical page number has 32 bits, and one value of it
/// means "nowhere".
const MAP_UNITS_MAX: u128 = 1 << 31;
/// The most map units of one lane's block: valid counters have 16 bits, one of them kept for a
/// flag.
const UNITS_PER_BLOCK_MAX: u128 = 32_767;
/// The most lanes: the timers of the dies and the frontiers of the lanes are tables of this size.
const LANES_MAX: u128 = 4096;
/// More than any flash endures.
pub(super) const CYCLES_MAX: u32 = 10_000_000;
/// The most page types that a list of times tells apart.
const PAGE_TYPES_MAX: usize = 16;

/// The counts, each by itself and against the features.
pub(super) fn geometry(device: &Device) -> Check {
    let (g, feature) = (&device.geometry, &device.feature);
    let counts = [
        ("device.geometry.channels", g.channels),
        ("device.geometry.ways", g.ways),
        ("device.geometry.dies", g.dies),
        ("device.geometry.planes", g.planes),
        ("device.geometry.blocks", g.blocks),
        ("device.geometry.pages", g.pages),
        ("device.feature.program_planes", feature.program_planes),
        ("device.feature.program_pages", feature.program_pages),
    ];
    counts.iter().try_for_each(|(key, count)| require(*count > 0, key, count, "at least 1"))?;
    require(g.page.get() > 0, "device.geometry.page", g.page, "at least 1B")?;
    require(
        g.planes.is_multiple_of(feature.program_planes),
        "device.geometry.planes",
        g.planes,
        format!(
            "a multiple of device.feature.program_planes = {}: planes work in whole groups",
            feature.program_planes
        ),
    )?;
    require(
        g.pages.is_multiple_of(feature.program_pages),
        "device.geometry.pages",
        g.pages,
        format!(
            "a multiple of device.feature.program_pages = {}: word lines are whole",
            feature.program_pages
        ),
    )?;
    let lanes = lanes(device);
    let message = format!(
        "at most {LANES_MAX} lanes (channels x ways x dies x plane groups); these are {lanes}"
    );
    require(lanes <= LANES_MAX, "device.geometry.channels", g.channels, message)
}

/// The map unit against page and program unit.
pub(super) fn map_unit(device: &Device) -> Check {
    let g = &device.geometry;
    let (unit, page) = (g.map_unit.get(), g.page.get());
    let key = "device.geometry.map_unit";
    let size = unit.is_power_of_two() && (512..=32 << 10).contains(&unit);
    require(size, key, g.map_unit, "a power of two from 512B to 32KiB")?;
    let planes = device.feature.program_planes;
    let inside = page.is_multiple_of(unit)
        || (unit.is_multiple_of(page) && u64::from(planes).is_multiple_of(unit / page));
    require(
        inside,
        key,
        g.map_unit,
        format!(
            "a divisor of the page ({}), or whole pages of planes that are programmed together \
             ({planes})",
            g.page
        ),
    )?;
    let program = program_unit(device);
    let message = format!(
        "a divisor of the program unit (page x program_planes x program_pages = {program}B)"
    );
    require(program.is_multiple_of(unit.into()), key, g.map_unit, message)
}

/// The rated cycles of a block.
pub(super) fn endurance(device: &Device) -> Check {
    let (key, cycles) = ("device.endurance", device.endurance);
    let message = format!("from 1 to {CYCLES_MAX} program/erase cycles, or 0: not stated");
    require(cycles <= CYCLES_MAX, key, cycles, message)
}

/// The times.
pub(super) fn timing(device: &Device) -> Check {
    let timing = &device.timing;
    for (name, times) in [("read", &timing.read), ("program", &timing.program)] {
        let key = format!("device.timing.{name}");
        let count = times.len();
        let message = format!("from 1 to {PAGE_TYPES_MAX} times, one for each page type");
        require(
            (1..=PAGE_TYPES_MAX).contains(&count),
            &key,
            format!("a list of {count}"),
            message,
        )?;
        for (i, time) in times.iter().enumerate() {
            let key = format!("{key}.{i}");
            require(!time.is_zero(), &key, time, "longer than 0: no array operation is free")?;
            require_operation_time(*time, &key)?;
        }
    }
    let (shot, programs) = (device.feature.program_pages, timing.program.len());
    require(
        shot == 1 || programs == 1,
        "device.timing.program",
        format!("a list of {programs}"),
        format!("one time: {shot} pages of a word line are programmed in one shot"),
    )?;
    page_order(device)?;
    require_operation_time(timing.foggy, "device.timing.foggy")?;
    let message = "above 0 it needs device.feature.cache_program = false: between two passes no \
                   other program's data may go ahead";
    let holds = timing.foggy.is_zero() || !device.feature.cache_program;
    require(holds, "device.timing.foggy", timing.foggy, message)?;
    let step = timing.erase_step;
    require(
        !step.is_zero(),
        "device.timing.erase_step",
        step,
        "longer than 0: no array operation is free",
    )?;
    require_operation_time(step, "device.timing.erase_step")?;
    let steps = timing.erase_steps;
    require((1..=64).contains(&steps), "device.timing.erase_steps", steps, "from 1 to 64 steps")?;
    require_rate(device.channel.rate, "device.channel.rate")?;
    require_operation_time(device.channel.command, "device.channel.command")?;
    require_operation_time(device.channel.erase_command, "device.channel.erase_command")?;
    require_operation_time(device.channel.suspend_command, "device.channel.suspend_command")
}

/// Page types in an order of their own: whole word lines, a type a page.
fn page_order(device: &Device) -> Check {
    if device.feature.page_order == PageOrder::WordLine {
        return Ok(());
    }
    let (key, value) = ("device.feature.page_order", "\"paired\"");
    let message = "it needs device.feature.program_pages = 1: a word line in one shot has no order";
    require(device.feature.program_pages == 1, key, value, message)?;
    let (types, read) = (page_types(device), device.timing.read.len() as u32);
    let program = device.timing.program.len() as u32;
    let message = format!(
        "it needs a list of 2 page types or more in device.timing, and the other of one time or as \
         many; they are {read} and {program}"
    );
    let alike = [read, program].iter().all(|count| [1, types].contains(count));
    require(types > 1 && alike, key, value, message)?;
    let pages = device.geometry.pages;
    let message =
        format!("a multiple of the {types} page types of device.timing: whole word lines");
    require(pages.is_multiple_of(types), "device.geometry.pages", pages, message)
}

/// Programs in two passes, and what they do not go with.
pub(super) fn passes(scenario: &Scenario) -> Check {
    let Scenario { device, gc, program, .. } = scenario;
    if device.timing.foggy.is_zero() {
        return Ok(());
    }
    let (key, value) = ("device.timing.foggy", device.timing.foggy);
    let message = "above 0 it needs program.mode = \"none\": where a pass may stop is not modelled";
    require(program.mode == ProgramMode::None, key, value, message)?;
    let message = "above 0 it needs gc.copyback = false: the data of the second pass crosses the \
                   channel";
    require(!gc.copyback, key, value, message)
}

/// The limits that the tables of a translation layer set.
pub(super) fn size(device: &Device) -> Check {
    let g = &device.geometry;
    let unit = u128::from(g.map_unit.get());
    let in_block = (program_unit(device) / unit)
        .saturating_mul((g.pages / device.feature.program_pages).into());
    let message = format!(
        "at most {UNITS_PER_BLOCK_MAX} mapping units in a block of a lane; these are {in_block}"
    );
    require(in_block <= UNITS_PER_BLOCK_MAX, "device.geometry.pages", g.pages, message)?;
    let units = raw_bytes(device) / unit;
    let message =
        format!("fewer than {MAP_UNITS_MAX} mapping units in the device; these are {units}");
    require(units < MAP_UNITS_MAX, "device.geometry.blocks", g.blocks, message)
}
