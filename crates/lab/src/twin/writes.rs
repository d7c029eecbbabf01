//! The fit of a long write: spare space and victims from the WAF of its windows; the time of a
//! program and of a copy's read, the link, and what the host is throttled to, from its rate.
//!
//! A rate that falls before every block was written is the cliff of a pseudo-SLC cache: then its
//! share of the blocks, the time of a program in it and when it is folded are looked for too.
//!
//! WAF is scale free: it depends on shares, not on terabytes. So a small drive is simulated, of
//! some hundreds of superblocks; rates are those of all its dies together, of which a real drive
//! may have more and slower ones. One mapping unit stands for a request: a superblock of the drive
//! holds ten thousand requests and more, and of a few hundred the luckiest would be an easy victim.

use super::cliff::Cliff;
use super::device::chosen;
use super::doubt::{Doubt, Range, most, traded};
use super::journal::Journal;
use super::newton::{Ended, Errors, polish};
use super::search::{Effort, descend};
use super::settle::PARTS;
use super::small::{BITS, COPY, FINENESS, FOLDS, PROGRAM, SPARE, WAYS, Way, row_bytes, scenario};
use super::space::{Parameter, Place, Space, Unit};
use super::windows::{Done, WindowFit, play};
use super::{Moment, Settings, Stage, TwinError};
use crate::measure::{DriveState, Measured, Window};
use crate::threads::on_threads;
use manx_core::flash::Device;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
/// So many capacities a fit that was stopped still simulates, for its report.
const SHORT: f64 = 10.0;
/// The rate counts so much beside the WAF.
const RATE: f64 = 0.5;

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
    /// Bits of a cell, for a cache of blocks with one.
    pub bits: u32,
    /// Simulated points.
    pub evaluations: usize,
}

impl Writes {
    /// The time of a copy's read, in microseconds.
    pub(super) fn copy_read(&self) -> f64 {
        self.space.values(&self.point)[COPY]
    }

    /// The lines of a scenario that make its cache, of `[ftl]` and of `[ftl.pslc]`.
    pub(super) fn cache(&self) -> Option<(String, String)> {
        let fold = self.way.fold?;
        let number = self.space.at(&Place::Cache)?;
        let range = self.doubt.ranges.get(number).copied();
        let (share, source) = chosen(&self.space, &self.point, range, number);
        let blocks = self.way.blocks_of(share);
        let pslc = format!(
            "\n[ftl.pslc]\n# {source}; of all blocks.\ndynamic_blocks = {blocks}\n# The best of {} \
             compared.\nfold = {fold:?}\n",
            FOLDS.len()
        );
        Some(("placement = \"pslc\"\n".to_string(), pslc))
    }
}

struct Fit<'a> {
    settings: &'a Settings<'a>,
    journal: &'a Journal,
    space: Space,
    fitted: Vec<Window>,
    cliff: Option<Cliff>,
    bits: u32,
    evaluations: AtomicUsize,
}

/// Fits the long write; `None` where there is none.
pub(super) fn fit(
    settings: &Settings<'_>,
    device: &Device,
    journal: &Journal,
) -> Result<Option<Writes>, TwinError> {
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
    let cliff = Cliff::of(&fitted);
    if fitted.len() < 3 || collecting(&fitted, cliff).is_empty() {
        let (name, fitted) = (&measurement.name, fitted.len());
        let message = format!(
            "{name}: {fitted} windows are left to be fitted, and nothing was collected in them: \
             WAF is 1, and the rate at its most, until the drive is full; hold out less, or write \
             longer"
        );
        return Err(TwinError::Asked(message));
    }
    let bits = device.slc.as_ref().map_or(BITS, |slc| slc.bits);
    let space = space_of(&fitted, cliff, bits).knowing(settings.known)?;
    let evaluations = AtomicUsize::new(0);
    let fit = Fit { settings, journal, space, fitted, cliff, bits, evaluations };
    fit.run(number, windows).map(Some)
}

/// The windows behind the cliff in which the drive collected.
fn collecting(windows: &[Window], cliff: Option<Cliff>) -> Vec<Window> {
    let (behind, since) = cliff.map_or((0, 1.0), |cliff| (cliff.behind, cliff.at));
    let behind = &windows[behind..];
    behind.iter().copied().filter(|window| window.collects(behind, since)).collect()
}

/// The figures that tell spare space and victims.
fn told(windows: &[Window]) -> &'static str {
    match windows.iter().all(|window| window.waf.is_some()) {
        true => "the WAF of its windows",
        false => "the course of its rate",
    }
}

/// Spare space, the times of a program and of a copy's read, the link, the throttle, and those of
/// a cache.
fn space_of(windows: &[Window], cliff: Option<Cliff>, bits: u32) -> Space {
    let rates = windows.iter().map(|window| window.bytes_per_s / 1e6);
    let most = rates.fold(1.0, f64::max);
    // The drive's dies program so much together.
    let programmed = |of: &Window| of.bytes_per_s * of.waf.unwrap_or(1.0);
    let behind = &windows[cliff.map_or(0, |cliff| cliff.behind)..];
    let together = behind.iter().map(programmed).fold(1.0, f64::max);
    let program = row_bytes() / together * 1e6;
    // From when on there was no room: what was written until then beyond the capacity. A cache
    // takes `bits` times the room.
    let collecting = collecting(windows, cliff);
    let taken = cliff.map_or(0.0, |cliff| f64::from(bits - 1) * cliff.at);
    let full = collecting.first().map_or(1.1, |window| window.from) + taken;
    let spare = (1.0 - 1.0 / full.max(1.02)).clamp(0.02, 0.5);
    let new = |place, unit, [low, high, start]: [f64; 3], from: &str| Parameter {
        place,
        unit,
        low,
        high,
        start,
        base: None,
        from: format!("from {from}"),
    };
    // The most that the host got while the drive collected.
    let held = collecting.iter().map(|of| of.bytes_per_s / 1e6).fold(1.0, f64::max);
    let (key, micros, rate) = (Place::Key, Unit::Micros, Unit::MegaBytes);
    let times = |of: f64, [low, high, start]: [f64; 3]| [of * low, of * high, of * start];
    let copies = "the rate by WAF: what a copy takes beside its program";
    let calm = "the rate where nothing is collected";
    let throttle = [held * 0.7, most.max(held) * 1.3, held];
    let throttled = "the most that the host got while the drive collected";
    let mut parameters = vec![
        new(key("device.op"), Unit::Share, [0.02, 0.5, spare], told(windows)),
        new(Place::Program, micros, times(program, [0.1, 1.2, 0.55]), "the rate of its windows"),
        new(Place::Read(0), micros, times(program, [0.01, 1.0, 0.17]), copies),
        new(key("drive.link"), rate, times(most, [0.95, 1.2, 1.001]), calm),
        new(key("drive.firmware.throttle"), rate, throttle, throttled),
    ];
    if let Some(cliff) = cliff {
        // Behind the cliff the drive programs as fast as it goes, and does not collect yet.
        parameters[PROGRAM].start = program * 0.95;
        let fast = row_bytes() / cliff.fast * 1e6;
        let (slc, cached) = (key("device.slc.program"), "the rate before the cliff");
        parameters.push(new(slc, micros, times(fast, [0.2, 1.1, 0.95]), cached));
        let share = cliff.share_of_blocks(bits, spare);
        let bounds = [share * 0.4, (share * 2.0).min(0.98), share];
        parameters.push(new(Place::Cache, Unit::Share, bounds, "the place of the cliff"));
    }
    Space { parameters, known: Vec::new() }
}

impl Fit<'_> {
    fn run(mut self, number: usize, windows: &[Window]) -> Result<Writes, TwinError> {
        let start = self.space.parameters[SPARE].start;
        let row: Vec<f64> = (-ROW..=ROW).map(|k| start * (COARSE * f64::from(k)).exp()).collect();
        let mut ways = match self.cliff {
            None => self.ways(&WAYS, &row)?,
            Some(_) => {
                let of = |fold| Way { fold: Some(fold), ..WAYS[0] };
                let mut ways = self.ways(&FOLDS.map(of), &row)?;
                let of = |way: &Way| Way { fold: ways[0].way.fold, ..*way };
                let others: Vec<Way> = WAYS[1..].iter().map(of).collect();
                ways.extend(self.ways(&others, &[ways[0].spare])?);
                ways.sort_by(|a, b| a.cost.total_cmp(&b.cost));
                ways
            }
        };
        let finer = FINENESS.map(|superblocks| Way { superblocks, ..ways[0].way });
        ways.extend(self.ways(&finer, &[ways[0].spare])?);
        ways.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let Ranked { way, spare, cost } = ways[0];
        if cost >= FAR && !self.settings.stop.load(Ordering::Relaxed) {
            let message =
                "no drive that could be built writes at these rates: is the capacity right?";
            return Err(TwinError::Asked(message.to_string()));
        }
        let (low, high) = (spare * (1.0 - ABOUT), spare * (1.0 + ABOUT));
        let parameter = &mut self.space.parameters[SPARE];
        (parameter.start, parameter.low, parameter.high) = (spare, low, high);
        if let Some((number, share)) = self.cache_of(spare) {
            self.space.parameters[number].start = share;
        }
        let start = self.polish(way, &self.space.start(), STEPS)?.point;
        let mut near = Vec::new();
        let (point, cost) = self.search(way, &start, &mut near)?;
        // Without a step: the ranges around that point.
        let ranges = self.polish(way, &point, 0)?.ranges;
        let (point, cost) = self.settle(way, (point, cost), &ranges)?;
        let pairs = traded(&near, most(cost, 2 * self.fitted.len()));
        // A fit that was stopped before has no ranges.
        let stopped = self.settings.stop.load(Ordering::Relaxed);
        let doubt = if stopped { Doubt::default() } else { Doubt { ranges, pairs } };
        // One that was stopped, too, tells of a drive that was simulated, but not for long.
        let is_short = |of: &&Window| !stopped || of.to <= SHORT;
        let shown = windows.iter().position(|of| !is_short(&of)).unwrap_or(windows.len());
        let windows = &windows[..shown];
        let modelled = self.play(way, &point, windows, &AtomicBool::new(false))?;
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
        ways.retain(|of| !stopped || of.cost < FAR || of.way == way);
        let ways = ways.into_iter().map(|of| (of.way, of.cost)).collect();
        let (bits, space, evaluations) = (self.bits, self.space, self.evaluations.into_inner());
        let measurement = number;
        Ok(Writes { measurement, windows, way, ways, space, point, doubt, bits, evaluations })
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
            if let Some((number, share)) = self.cache_of(spare) {
                point[number] = self.space.parameters[number].x(share);
            }
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

    /// The parameter of the cache, and how large it is with so much spare space: the cliff stays
    /// where it is.
    fn cache_of(&self, spare: f64) -> Option<(usize, f64)> {
        let number = self.space.at(&Place::Cache)?;
        Some((number, self.cliff?.share_of_blocks(self.bits, spare)))
    }

    /// How far the course of the rate is off while the drive collects, whatever its level: the
    /// times that decide that are not known yet.
    fn off_course(&self, errors: &[f64]) -> f64 {
        let rates = self.fitted.iter().zip(errors.iter().skip(1).step_by(2));
        let collecting = collecting(&self.fitted, self.cliff);
        let mut off: Vec<f64> = rates
            .filter(|(window, _)| collecting.contains(window))
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

    /// Limits that are undetermined go to the middle of what does as well (`settle`).
    fn settle(
        &self,
        way: Way,
        (mut point, mut cost): (Vec<f64>, f64),
        ranges: &[Range],
    ) -> Result<(Vec<f64>, f64), TwinError> {
        let limit = most(cost, 2 * self.fitted.len());
        for (number, range) in ranges.iter().enumerate() {
            let is_open = range.is_flat() && self.space.parameters[number].place.is_limit();
            for part in PARTS.into_iter().filter(|_| is_open) {
                let mut moved = point.clone();
                moved[number] += (range.middle() - moved[number]) * part;
                let found = self.cost(way, &moved)?;
                if found <= limit {
                    (point, cost) = (moved, found);
                    break;
                }
            }
        }
        Ok((point, cost))
    }

    /// ln(modelled / measured) of WAF and rate of each window.
    fn errors(&self, way: Way, point: &[f64]) -> Result<Errors, TwinError> {
        let done = self.play(way, point, &self.fitted, self.settings.stop)?;
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
    fn play(
        &self,
        way: Way,
        point: &[f64],
        windows: &[Window],
        stop: &AtomicBool,
    ) -> Result<Vec<Done>, TwinError> {
        let scenario = match scenario(way, &self.space, point, self.bits, self.settings.seed) {
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
        let Some(done) = play(&scenario, &ends, stop)? else {
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

/// Far from anything.
const NOTHING: Done = Done { waf: 100.0, bytes_per_s: 1.0 };
