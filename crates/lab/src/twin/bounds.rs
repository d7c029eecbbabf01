//! The parameters of reads: their bounds, and where the search starts, by arithmetic.

use super::space::{Parameter, Place, Space, Unit};
use crate::measure::Latencies;
use manx_core::flash::Device;
use std::collections::BTreeMap;

/// The parameters of reads, each from the measurements that tell it.
pub(super) fn space_of(runs: &[(usize, &Latencies)], device: &Device) -> Space {
    let slots = |of: &Latencies| of.depth * of.processes;
    let least = runs.iter().map(|(_, of)| slots(of)).min().unwrap_or(1);
    let calm: Vec<&Latencies> =
        runs.iter().map(|(_, of)| *of).filter(|of| slots(of) == least).collect();
    let small = calm.iter().map(|of| of.block).filter(|block| *block >= 4096).min();
    let small = small.unwrap_or_else(|| calm.iter().map(|of| of.block).min().unwrap_or(4096));
    let unloaded = |of: &&&Latencies| of.block == small;
    let median =
        calm.iter().filter(unloaded).map(|of| of.percentiles_us[0]).fold(f64::INFINITY, f64::min);
    let (t_read, fixed) = (median * 0.68, median * 0.26);
    let from = |what: &str| format!("from {what}");
    let new = |place, unit, bounds: [f64; 2], start, base, from: String| Parameter {
        place,
        unit,
        low: bounds[0],
        high: bounds[1],
        start,
        base,
        from,
    };
    let table: Vec<f64> = device.timing.read.iter().map(|time| time.as_us_f64()).collect();
    let mut parameters = Vec::new();
    for (kind, base) in table.iter().enumerate() {
        let reads = from("unloaded reads, and depth");
        parameters.push(match kind {
            0 => {
                let bounds = [median * 0.15, median];
                new(Place::Read(0), Unit::Micros, bounds, t_read, Some(*base), reads)
            }
            _ => {
                let before = base / table[kind - 1] - 1.0;
                let start = if kind + 1 == table.len() { 0.3 } else { 0.05 };
                new(Place::Read(kind), Unit::Share, [0.0, 1.0], start, Some(before), reads)
            }
        });
    }
    let delays = from("unloaded reads");
    let bounds = [0.0, median * 0.7];
    let controller = Place::Key("drive.controller");
    parameters.push(new(controller, Unit::Micros, bounds, fixed, None, delays));
    // It is published of no controller; at its bound a core would look up 333,000 units a second.
    let look_up = Place::Key("drive.firmware.look_up");
    parameters.push(new(look_up, Unit::Micros, [0.0, 3.0], 0.5, None, from("sizes, and depth")));
    let rate = Some(device.channel.rate.get() as f64 / 1e6).filter(|rate| *rate > 0.0);
    let channel = Place::Key("device.channel.rate");
    let sizes = from("sizes, and depth");
    parameters.push(new(channel, Unit::MegaBytes, [200.0, 4800.0], 1200.0, rate, sizes.clone()));
    let most = runs.iter().map(|(_, of)| of.iops * of.block as f64 / 1e6).fold(1.0, f64::max);
    let link = Place::Key("drive.link");
    parameters.push(new(link, Unit::MegaBytes, [most * 0.85, 16_000.0], most * 1.05, None, sizes));
    engines(runs, &mut |engine, is_first, delay, busy| {
        let of = from(&format!("runs of {engine}"));
        if !is_first {
            let place = Place::Delay(engine.to_string());
            parameters.push(new(place, Unit::Micros, [0.0, 40.0], delay, None, of.clone()));
        }
        let place = Place::Busy(engine.to_string());
        parameters.push(new(place, Unit::Micros, [0.0, busy], busy * 0.9, None, of));
    });
    Space { parameters }
}

/// See `engines`: how far a measured rate may be too high.
const BUSY_SLACK: f64 = 1.06;

/// The engines, the one of the shortest latency first: its delay cannot be told from the
/// controller's. Of each: how much longer its shortest latency is, and the most that its thread can
/// take of a request.
fn engines(runs: &[(usize, &Latencies)], each: &mut dyn FnMut(&str, bool, f64, f64)) {
    let mut all: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (_, of) in runs {
        let (shortest, busy) = all.entry(&of.engine).or_insert((f64::INFINITY, f64::INFINITY));
        if of.block >= 4096 || shortest.is_infinite() {
            *shortest = shortest.min(of.percentiles_us[0]);
        }
        // A rate is measured to some percent: its thread may take a little longer than it says.
        *busy = busy.min(BUSY_SLACK * 1e6 / (of.iops / f64::from(of.processes)));
    }
    let mut order: Vec<(&str, (f64, f64))> = all.into_iter().collect();
    order.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let least = order.first().map_or(0.0, |first| first.1.0);
    for (number, (engine, (shortest, busy))) in order.into_iter().enumerate() {
        each(engine, number == 0, (shortest - least).max(0.5), busy);
    }
}
