//! The fit of a long write: spare space and victims from the WAF of its windows; the time of a
//! program and of a copy's read, the link, and what the host is throttled to, from its rate.
//!
//! WAF is scale free: it depends on shares, not on terabytes. So a small drive is simulated, of
//! some hundreds of superblocks; rates are those of all its dies together, of which a real drive
//! may have more and slower ones. One mapping unit stands for a request: a superblock of the drive
//! holds ten thousand requests and more, and of a few hundred the luckiest would be an easy victim.

use super::doubt::{Doubt, traded};
use super::journal::Journal;
use super::newton::{Ended, Errors, polish};
use super::search::{Effort, descend};
use super::space::{Parameter, Place, Space, Unit};
use super::windows::{Done, WindowFit, play};
use super::{Moment, Settings, Stage, TwinError};
use crate::load::Request;
use crate::measure::{DriveState, Measured, Window};
use crate::threads::on_threads;
use manx_core::config::{Override, Scenario, Source};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Spare space is looked for in steps of these logarithms: a row of the first, then from the best
/// one on as long as it gets better.
const COARSE: f64 = 0.12;
const ROW: i32 = 4;
const FINE: [f64; 4] = [0.05, 0.025, 0.0125, 0.006];
/// Behind that it lies within this part of what was found.
const ABOUT: f64 = 0.2;
/// Straight steps of all parameters; then points of a search around them.
const STEPS: usize = 3;
const AROUND: usize = 40;
/// An error is no larger than this.
const FAR: f64 = 3.0;
/// The rate counts so much beside the WAF.
const RATE: f64 = 0.5;

/// A way of collecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// `gc.unit`.
    pub unit: &'static str,
    /// `gc.victim`.
    pub victim: &'static str,
    /// Superblocks of the drive: how fine the space is that is reclaimed.
    pub superblocks: u32,
}

/// Those that are looked at first.
pub const WAYS: [Way; 4] = {
    const fn of(unit: &'static str, victim: &'static str) -> Way {
        Way { unit, victim, superblocks: 512 }
    }
    [
        of("superblock", "greedy"),
        of("superblock", "cost-benefit"),
        of("superblock", "fifo"),
        of("block", "greedy"),
    ]
};
/// Then the best of them with so many superblocks.
const FINENESS: [u32; 2] = [256, 1024];

/// The fit of a long write.
#[derive(Clone, Debug)]
pub struct Writes {
    /// Its number among the measurements.
    pub measurement: usize,
    /// The windows.
    pub windows: Vec<WindowFit>,
    /// How it collects.
    pub way: Way,
    /// The ways with how far their WAF, or the course of their rate, was off, the best first.
    pub ways: Vec<(Way, f64)>,
    /// The parameters.
    pub space: Space,
    /// Where the fit lies.
    pub point: Vec<f64>,
    /// The ranges of the parameters, and the pairs that trade off.
    pub doubt: Doubt,
    /// Simulated points.
    pub evaluations: usize,
}

struct Fit<'a> {
    settings: &'a Settings<'a>,
    journal: &'a Journal,
    space: Space,
    fitted: Vec<Window>,
    evaluations: AtomicUsize,
}

/// Fits the long write; `None` where there is none.
pub(super) fn fit(settings: &Settings<'_>, journal: &Journal) -> Result<Option<Writes>, TwinError> {
    let found =
        settings.measurements.iter().enumerate().find_map(
            |(number, measurement)| match &measurement.what {
                Measured::Windows(windows) => Some((number, measurement, windows)),
                Measured::Latencies(_) => None,
            },
        );
    let Some((number, measurement, windows)) = found else { return Ok(None) };
    if measurement.state != DriveState::Fresh {
        let (name, state) = (&measurement.name, measurement.state);
        let message = format!(
            "{name}: a long write is fitted from a fresh drive, where it is known what was \
             written before; it was {state}"
        );
        return Err(TwinError::Asked(message));
    }
    let until = settings.after();
    let fitted: Vec<Window> = windows.iter().copied().filter(|of| of.to <= until).collect();
    if fitted.len() < 3 || !fitted.iter().any(|window| window.collects(&fitted)) {
        let (name, fitted) = (&measurement.name, fitted.len());
        let message = format!(
            "{name}: {fitted} windows are left to be fitted, and nothing was collected in them: \
             WAF is 1, and the rate at its most, until the drive is full; hold out less, or write \
             longer"
        );
        return Err(TwinError::Asked(message));
    }
    let space = space_of(&fitted);
    let fit = Fit { settings, journal, space, fitted, evaluations: AtomicUsize::new(0) };
    fit.run(number, windows).map(Some)
}

/// The figures that tell spare space and victims.
fn told(windows: &[Window]) -> &'static str {
    match windows.iter().all(|window| window.waf.is_some()) {
        true => "the WAF of its windows",
        false => "the course of its rate",
    }
}

/// Spare space, the times of a program and of a copy's read, the link, and the throttle.
fn space_of(windows: &[Window]) -> Space {
    let rates = windows.iter().map(|window| window.bytes_per_s / 1e6);
    let most = rates.fold(1.0, f64::max);
    // The drive's dies program so much together.
    let programmed = |of: &Window| of.bytes_per_s * of.waf.unwrap_or(1.0);
    let together = windows.iter().map(programmed).fold(1.0, f64::max);
    let program = DIES * PAGE as f64 / together * 1e6;
    // From when on there was no room: what was written until then beyond the capacity.
    let collecting = || windows.iter().filter(|window| window.collects(windows));
    let full = collecting().next().map_or(1.1, |window| window.from);
    let spare = (1.0 - 1.0 / full.max(1.02)).clamp(0.02, 0.5);
    let new = |place, unit, low, high, start, base, from: &str| Parameter {
        place,
        unit,
        low,
        high,
        start,
        base,
        from: format!("from {from}"),
    };
    // The most that the host got while the drive collected.
    let held = collecting().map(|of| of.bytes_per_s / 1e6).fold(1.0, f64::max);
    let key = Place::Key;
    let parameters = vec![
        new(key("device.op"), Unit::Share, 0.02, 0.5, spare, None, told(windows)),
        new(
            Place::Program,
            Unit::Micros,
            program * 0.1,
            program * 1.2,
            program * 0.55,
            None,
            "the rate of its windows",
        ),
        new(
            Place::Read(0),
            Unit::Micros,
            program * 0.01,
            program,
            program * 0.17,
            None,
            "the rate by WAF: what a copy takes beside its program",
        ),
        new(
            key("drive.link"),
            Unit::MegaBytes,
            most * 0.95,
            most * 1.2,
            most * 1.001,
            None,
            "the rate where nothing is collected",
        ),
        new(
            key("drive.firmware.throttle"),
            Unit::MegaBytes,
            held * 0.7,
            most.max(held) * 1.3,
            held,
            None,
            "the most that the host got while the drive collected",
        ),
    ];
    Space { parameters }
}

/// Dies of the drive that is simulated, and the bytes that each programs at a time.
const DIES: f64 = 64.0;
const PAGE: u64 = 32 << 10;

const SCENARIO: &str = r#"name = "twin"
[device]
name = "tlc-enterprise"
[ftl]
allocation = "dynamic"
stripe = "program-unit"
[gc]
mode = "preemptive"
soft = "3 blocks"
hard = "2 blocks"
[drive]
buffer = "24MiB"
[precondition]
state = "empty"
[workload]
pattern = "shuffle"
read_percent = 0
queue_depth = 512
block_sizes = [["32KiB", 1]]
time = "1000000s"
"#;

/// 512 requests are 16 MiB under way.
const DRIVE: [(&str, &str); 12] = [
    ("device.geometry.channels", "8"),
    ("device.geometry.ways", "8"),
    ("device.geometry.dies", "1"),
    ("device.geometry.planes", "1"),
    ("device.geometry.pages", "24"),
    ("device.geometry.page", "32KiB"),
    ("device.geometry.map_unit", "32KiB"),
    ("device.feature.program_planes", "1"),
    ("device.feature.program_pages", "1"),
    ("device.feature.cache_program", "false"),
    ("device.feature.cache_read", "false"),
    ("device.timing.erase_step", "100us"),
];

impl Fit<'_> {
    fn scenario(&self, way: Way, point: &[f64]) -> Result<Scenario, TwinError> {
        let set = |key: &str, value: String| Override::new(key, value, "manx fit");
        let mut all: Vec<Override> =
            DRIVE.into_iter().map(|(key, value)| set(key, value.to_string())).collect();
        all.push(set("seed", self.settings.seed.to_string()));
        all.push(set("gc.unit", way.unit.to_string()));
        all.push(set("gc.victim", way.victim.to_string()));
        all.push(set("device.geometry.blocks", way.superblocks.to_string()));
        all.extend(self.space.overrides(point, ""));
        let source = Source { file: "manx fit".to_string(), text: SCENARIO.to_string() };
        Ok(Request::of(source, all)?.plain()?)
    }

    fn run(mut self, number: usize, windows: &[Window]) -> Result<Writes, TwinError> {
        let start = self.space.parameters[SPARE].start;
        let row: Vec<f64> = (-ROW..=ROW).map(|k| start * (COARSE * f64::from(k)).exp()).collect();
        let mut ways = self.ways(&WAYS, &row)?;
        let finer = FINENESS.map(|superblocks| Way { superblocks, ..ways[0].way });
        ways.extend(self.ways(&finer, &[ways[0].spare])?);
        ways.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let Ranked { way, spare, cost } = ways[0];
        if cost >= FAR && !self.settings.stop.load(Ordering::Relaxed) {
            let message = "no drive that could be built writes at these rates: is the capacity \
                           right, and the drive without a cache that fills up?";
            return Err(TwinError::Asked(message.to_string()));
        }
        let (low, high) = (spare * (1.0 - ABOUT), spare * (1.0 + ABOUT));
        let parameter = &mut self.space.parameters[SPARE];
        (parameter.start, parameter.low, parameter.high) = (spare, low, high);
        let start = self.polish(way, &self.space.start(), STEPS)?.point;
        let mut near = Vec::new();
        let (point, cost) = self.search(way, &start, &mut near)?;
        // Without a step: the ranges around that point.
        let ranges = self.polish(way, &point, 0)?.ranges;
        let (_, pairs) = traded(&point, cost, &near, 2 * self.fitted.len());
        // A fit that was stopped before has no ranges.
        let stopped = self.settings.stop.load(Ordering::Relaxed);
        let doubt = if stopped { Doubt::default() } else { Doubt { ranges, pairs } };
        let modelled = self.play(way, &point, windows)?;
        let until = self.settings.after();
        let windows = windows
            .iter()
            .zip(modelled)
            .map(|(measured, modelled)| WindowFit {
                measured: *measured,
                modelled,
                is_held_out: measured.to > until,
            })
            .collect();
        let ways = ways.into_iter().map(|of| (of.way, of.cost)).collect();
        let (space, evaluations) = (self.space, self.evaluations.into_inner());
        Ok(Writes { measurement: number, windows, way, ways, space, point, doubt, evaluations })
    }

    /// These ways, each with its best spare space, the one first whose WAF is nearest.
    fn ways(&self, ways: &[Way], row: &[f64]) -> Result<Vec<Ranked>, TwinError> {
        let found: Vec<Mutex<Option<Result<Ranked, TwinError>>>> =
            ways.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        on_threads(self.settings.threads.min(ways.len()), || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(way) = ways.get(at) else { return };
                let best = self.spare(*way, row);
                *found[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(best);
            }
        });
        let taken = found
            .into_iter()
            .filter_map(|found| found.into_inner().unwrap_or_else(PoisonError::into_inner));
        let mut all = taken.collect::<Result<Vec<Ranked>, TwinError>>()?;
        all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        Ok(all)
    }

    /// The spare space with which the WAF is nearest: the best of a row, and from there on in ever
    /// smaller steps. The other parameters hardly move it.
    fn spare(&self, way: Way, row: &[f64]) -> Result<Ranked, TwinError> {
        let parameter = &self.space.parameters[SPARE];
        let cost = |spare: f64| -> Result<Ranked, TwinError> {
            let spare = spare.clamp(parameter.low, parameter.high);
            let mut point = self.space.start();
            point[SPARE] = parameter.x(spare);
            let errors = self.errors(way, &point)?.of;
            let cost = match self.fitted.iter().all(|window| window.waf.is_some()) {
                true => mean(errors.iter().step_by(2).map(|waf| waf.abs())),
                false => self.off_course(&errors),
            };
            Ok(Ranked { way, spare, cost })
        };
        let mut best = cost(row[0])?;
        let better = |best: &mut Ranked, spare| -> Result<bool, TwinError> {
            let found = cost(spare)?;
            let is_better = found.cost < best.cost;
            if is_better {
                *best = found;
            }
            Ok(is_better)
        };
        for spare in &row[1..] {
            better(&mut best, *spare)?;
        }
        for step in FINE {
            for factor in [step.exp(), (-step).exp()] {
                let mut next = best.spare * factor;
                while better(&mut best, next)? {
                    next = best.spare * factor;
                }
            }
        }
        Ok(best)
    }

    /// How far the course of the rate is off while the drive collects, whatever its level: the
    /// times that decide that are not known yet.
    fn off_course(&self, errors: &[f64]) -> f64 {
        let rates = self.fitted.iter().zip(errors.iter().skip(1).step_by(2));
        let mut off: Vec<f64> = rates
            .filter(|(window, _)| window.collects(&self.fitted))
            .map(|(_, rate)| *rate)
            .collect();
        off.sort_by(f64::total_cmp);
        let level = off[off.len() / 2];
        // A drive that cannot be built has no course.
        if level.abs() >= FAR {
            return FAR;
        }
        mean(off.iter().map(|rate| (rate - level).abs()))
    }

    /// Straight steps from `start`, and the ranges there.
    fn polish(&self, way: Way, start: &[f64], steps: usize) -> Result<Ended, TwinError> {
        let mut failed = None;
        let figures = 2 * self.fitted.len();
        let far = || Errors { of: vec![FAR; figures], ..Errors::still(figures) };
        let ended = polish(start, steps, &mut |point| {
            if self.settings.stop.load(Ordering::Relaxed) || failed.is_some() {
                return far();
            }
            self.errors(way, point).unwrap_or_else(|error| {
                failed = Some(error);
                far()
            })
        });
        failed.map_or(Ok(ended), Err)
    }

    /// A search around a point.
    fn search(
        &self,
        way: Way,
        start: &[f64],
        near: &mut Vec<(Vec<f64>, f64)>,
    ) -> Result<(Vec<f64>, f64), TwinError> {
        let effort = Effort { evaluations: AROUND, step: 0.01, seed: self.settings.seed };
        let mut failed = None;
        let best = descend(start, effort, self.settings.stop, &mut |point| {
            let cost = self.cost(way, point).unwrap_or_else(|error| {
                failed = Some(error);
                f64::INFINITY
            });
            near.push((point.to_vec(), cost));
            cost
        });
        failed.map_or(Ok(best), Err)
    }

    /// ln(modelled / measured) of WAF and rate of each window.
    fn errors(&self, way: Way, point: &[f64]) -> Result<Errors, TwinError> {
        let done = self.play(way, point, &self.fitted)?;
        let off = |(window, done): (&Window, &Done)| {
            let rate = done.bytes_per_s / window.bytes_per_s;
            let waf = window.waf.map_or(1.0, |waf| done.waf / waf);
            [waf, rate].map(|of| of.ln().clamp(-FAR, FAR))
        };
        let of: Vec<f64> = self.fitted.iter().zip(&done).flat_map(off).collect();
        let evaluations = self.evaluations.fetch_add(1, Ordering::Relaxed) + 1;
        let distance = distance(&of);
        (self.settings.tell)(&Moment { stage: Stage::Writes, evaluations, distance });
        Ok(Errors { of, ..Errors::still(2 * self.fitted.len()) })
    }

    fn cost(&self, way: Way, point: &[f64]) -> Result<f64, TwinError> {
        Ok(distance(&self.errors(way, point)?.of))
    }

    /// The drive's work in these windows; a drive that cannot be built does nothing.
    fn play(&self, way: Way, point: &[f64], windows: &[Window]) -> Result<Vec<Done>, TwinError> {
        let scenario = match self.scenario(way, point) {
            Ok(scenario) => scenario,
            // Without room for its collections a drive is refused: far from any that was measured.
            Err(TwinError::Config(_)) => return Ok(vec![NOTHING; windows.len()]),
            Err(error) => return Err(error),
        };
        let ends: Vec<f64> = windows.iter().map(|window| window.to).collect();
        let key = Journal::key(&scenario, &format!("writes {ends:?}"));
        let known = self.journal.get(&key).filter(|known| known.len() == 2 * ends.len());
        if let Some(known) = known {
            let of = |pair: &[f64]| Done { waf: pair[0], bytes_per_s: pair[1] };
            return Ok(known.chunks_exact(2).map(of).collect());
        }
        let Some(done) = play(&scenario, &ends, self.settings.stop)? else {
            return Ok(vec![NOTHING; windows.len()]);
        };
        let flat: Vec<f64> = done.iter().flat_map(|done| [done.waf, done.bytes_per_s]).collect();
        self.journal.put(key, &flat);
        Ok(done)
    }
}

fn mean(of: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = of.len().max(1) as f64;
    of.sum::<f64>() / count
}

/// The mean distance of windows, each with the errors of its WAF and of its rate.
fn distance(errors: &[f64]) -> f64 {
    let windows = errors.chunks_exact(2).map(|of| of[0].abs() + RATE * of[1].abs());
    windows.sum::<f64>() / (errors.len() / 2) as f64
}

/// A way, its best spare space, and how far its WAF is off.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    way: Way,
    spare: f64,
    cost: f64,
}

/// Spare space among the parameters.
const SPARE: usize = 0;

/// Far from anything.
const NOTHING: Done = Done { waf: 100.0, bytes_per_s: 1.0 };

/// The keys of the device that is simulated, without `device.`.
pub(super) fn small() -> impl Iterator<Item = (&'static str, &'static str)> {
    DRIVE.into_iter().filter_map(|(key, value)| Some((key.strip_prefix("device.")?, value)))
}

/// Bytes that all its dies program at a time.
pub(super) fn row_bytes() -> f64 {
    DIES * PAGE as f64
}
