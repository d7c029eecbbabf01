//! The parameters of reads, and of writes to a fresh drive: their bounds, and where the search
//! starts, by arithmetic.

use super::TwinError;
use super::known::Known;
use super::space::{Parameter, Place, Space, Unit};
use crate::measure::Latencies;
use manx_core::flash::Device;
use std::collections::BTreeMap;

/// The parameters of runs, each from the measurements that tell it.
pub(super) fn space_of(runs: &[(usize, &Latencies)], device: &Device) -> Space {
    let side = |is_read| runs.iter().map(|(_, of)| *of).filter(move |of| of.is_read == is_read);
    let has_reads = side(true).next().is_some();
    let median = unloaded(side(has_reads));
    let from = |what: &str| format!("from {what}");
    let mut parameters =
        if has_reads { page_types(device.timing.read.len(), median) } else { Vec::new() };
    let delays = from(if has_reads { "unloaded reads" } else { "unloaded writes" });
    let bounds = [0.0, median * 0.7];
    let controller = Place::Key("drive.controller");
    parameters.push(new(controller, Unit::Micros, bounds, median * 0.26, None, delays));
    if side(false).next().is_some() {
        parameters.extend(fresh_writes(unloaded(side(false)), device));
    }
    // It is published of no controller; at most as long as the units that were read a second allow.
    let look_up = Place::Key("drive.firmware.look_up");
    let units = |of: &Latencies| of.iops * of.block.div_ceil(UNIT) as f64;
    let most = runs.iter().map(|(_, of)| units(of)).fold(1.0, f64::max);
    let longest = (RATE_SLACK * 1e6 / most).min(3.0);
    let told = from("sizes, and depth");
    parameters.push(new(look_up, Unit::Micros, [0.0, longest], longest / 6.0, None, told));
    let rate = Some(device.channel.rate.get() as f64 / 1e6).filter(|rate| *rate > 0.0);
    let channel = Place::Key("device.channel.rate");
    let sizes = from("sizes, and depth");
    parameters.push(new(channel, Unit::MegaBytes, [200.0, 4800.0], 1200.0, rate, sizes.clone()));
    // A link is no slower than what went over it.
    let most = runs.iter().map(|(_, of)| of.iops * of.block as f64 / 1e6).fold(1.0, f64::max);
    let link = Place::Key("drive.link");
    parameters.push(new(
        link,
        Unit::MegaBytes,
        [most / RATE_SLACK, f64::max(16_000.0, 4.0 * most)],
        most * 1.05,
        None,
        sizes,
    ));
    for engine in engines(runs) {
        let of = from(&format!("runs of {}", engine.name));
        let mut add = |place: fn(String) -> Place, high, start| {
            let place = place(engine.name.to_string());
            parameters.push(new(place, Unit::Micros, [0.0, high], start, None, of.clone()));
        };
        // The delay of the fastest engine cannot be told from the controller's.
        if let Some(delay) = engine.delay {
            add(Place::Delay, 40.0, delay);
        }
        add(Place::Busy, engine.busy, engine.busy * 0.9);
        if let Some(page) = engine.page {
            add(Place::Page, page, page * 0.5);
        }
    }
    Space { parameters, known: Vec::new() }
}

/// No known number is one that these runs cannot be of. (A link and a look-up have bounds of their
/// own.)
pub(super) fn no_contradiction(
    runs: &[(usize, &Latencies)],
    all: &[Known],
) -> Result<(), TwinError> {
    let of = |is_read| runs.iter().map(|(_, of)| *of).filter(move |of| of.is_read == is_read);
    let shortest = |all: &mut dyn Iterator<Item = &Latencies>| {
        all.map(|of| of.percentiles_us[0]).fold(f64::INFINITY, f64::min)
    };
    // A page of an unloaded read crosses one channel.
    let crossed = of(true).map(|of| of.block.min(PAGE) as f64 / of.percentiles_us[0]);
    let least = crossed.fold(0.0, f64::max);
    for known in all {
        let (is_wrong, bound, word) = match known.key {
            "drive.controller" => {
                let most = shortest(&mut runs.iter().map(|(_, of)| *of));
                (known.low > most, Unit::Micros.shown(most), "most")
            }
            "drive.buffer_hit" => {
                let most = shortest(&mut of(false));
                (known.low > most, Unit::Micros.shown(most), "most")
            }
            "device.channel.rate" => (known.high < least, Unit::MegaBytes.shown(least), "least"),
            _ => continue,
        };
        if is_wrong {
            return Err(known.contradicts(&bound, word));
        }
    }
    Ok(())
}

fn new(
    place: Place,
    unit: Unit,
    bounds: [f64; 2],
    start: f64,
    base: Option<f64>,
    from: String,
) -> Parameter {
    let [low, high] = bounds;
    Parameter { place, unit, low, high, start, base, from }
}

/// The parameters that writes to a fresh drive alone tell. How large the buffer is they do not: a
/// made drive's 30 MiB came back as 15, with a short range.
fn fresh_writes(median: f64, device: &Device) -> [Parameter; 2] {
    let of = |what: &str| format!("from writes to a fresh drive, {what}");
    let hit = Place::Key("drive.buffer_hit");
    let base = device.timing.program.last().map(|program| program.as_us_f64());
    let program = base.unwrap_or(600.0);
    [
        new(hit, Unit::Micros, [0.0, median], median * 0.3, None, of("unloaded")),
        new(Place::Program, Unit::Micros, [50.0, 10_000.0], program, base, of("at depth")),
    ]
}

/// The median of the smallest unloaded requests of a page and more.
fn unloaded<'a>(all: impl Iterator<Item = &'a Latencies>) -> f64 {
    let all: Vec<&Latencies> = all.collect();
    let slots = |of: &Latencies| of.depth * of.processes;
    let least = all.iter().map(|of| slots(of)).min().unwrap_or(1);
    let calm: Vec<&Latencies> = all.into_iter().filter(|of| slots(of) == least).collect();
    let small = calm.iter().map(|of| of.block).filter(|block| *block >= PAGE).min();
    let small = small.unwrap_or_else(|| calm.iter().map(|of| of.block).min().unwrap_or(PAGE));
    let all = calm.iter().filter(|of| of.block == small);
    all.map(|of| of.percentiles_us[0]).fold(f64::INFINITY, f64::min)
}

/// tR of each page type. Their times go together: where one is undetermined, that of the search
/// stands.
fn page_types(types: usize, median: f64) -> Vec<Parameter> {
    let of = |kind| {
        let reads = "from unloaded reads, and depth".to_string();
        if kind == 0 {
            let bounds = [median * 0.15, median];
            return new(Place::Read(0), Unit::Micros, bounds, median * 0.68, None, reads);
        }
        let start = if kind + 1 == types { 0.3 } else { 0.05 };
        new(Place::Read(kind), Unit::Share, [0.0, 1.0], start, None, reads)
    };
    (0..types).map(of).collect()
}

/// How far the rate of a run may be off.
const RATE_SLACK: f64 = 1.03;
/// How much longer than all of its time a thread may seem to take, by a rate of another run.
const BUSY_SLACK: f64 = 1.06;
/// A mapping unit.
const UNIT: u64 = 4096;
/// A page as the thread of an engine maps or copies it (`workload.host_page`).
const PAGE: u64 = 4096;

/// An engine, by arithmetic on its runs.
struct Engine<'a> {
    name: &'a str,
    /// Its shortest latency.
    shortest: f64,
    /// How much longer that is than the shortest one of all engines; none for the first.
    delay: Option<f64>,
    /// The most that its thread can take of a request, and of each page behind the first.
    busy: f64,
    page: Option<f64>,
}

/// The engines, the one of the shortest latency first.
fn engines<'a>(runs: &[(usize, &'a Latencies)]) -> Vec<Engine<'a>> {
    let mut all: BTreeMap<&str, Engine<'a>> = BTreeMap::new();
    for (_, of) in runs {
        let (shortest, busy) = (f64::INFINITY, f64::INFINITY);
        let new = Engine { name: &of.engine, shortest, delay: None, busy, page: None };
        let engine = all.entry(&of.engine).or_insert(new);
        if of.is_read && (of.block >= PAGE || engine.shortest.is_infinite()) {
            engine.shortest = engine.shortest.min(of.percentiles_us[0]);
        }
        let most = BUSY_SLACK * 1e6 / (of.iops / f64::from(of.processes));
        engine.busy = engine.busy.min(most);
        let behind = of.block.saturating_sub(1) / PAGE;
        if behind > 0 {
            let page = most / behind as f64;
            engine.page = Some(engine.page.map_or(page, |least| least.min(page)));
        }
    }
    let mut order: Vec<Engine<'a>> = all.into_values().collect();
    order.sort_by(|a, b| a.shortest.total_cmp(&b.shortest));
    let least = order.first().map_or(0.0, |first| first.shortest);
    for engine in order.iter_mut().skip(1) {
        // One that only writes is like the first, as far as is known.
        let longer = Some(engine.shortest - least).filter(|of| of.is_finite()).unwrap_or(0.0);
        engine.delay = Some(longer.max(0.5));
    }
    order
}
