//! The fit of steady random reads, in stages.
//!
//! 1. *Unloaded reads* give the start of tR and of the fixed delays; *depth* and *sizes* those of
//!    the thread's work and of the link: arithmetic, in [`space_of`].
//! 2. *Structure*: how many dies, and over how many planes neighbours go; each candidate gets a
//!    short search, the best of them a longer one.
//! 3. All parameters together, on every run.
//! 4. *Doubt*: how far each can move, and which move together (`doubt`); then each run is left out,
//!    the others are fitted again, and it is predicted.

use super::doubt::{Doubt, Range, doubts};
use super::journal::Journal;
use super::latency::{
    Base, Figures, Structure, distance, errors, measured, play, prepared, scenario,
};
use super::search::{Effort, descend};
use super::space::{Parameter, Place, Space, Unit};
use super::{Moment, Settings, Stage, TwinError};
use crate::measure::{Latencies, Measurement};
use crate::threads::on_threads;
use manx_core::flash::Device;
use manx_core::ftl::PageMap;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A run whose percentiles are off by more than this on average is not explained by any parameters.
pub const EXPLAINED: f64 = 0.25;

/// Evaluations of a structure at first, of the best ones then, and of a fit without one run.
const FIRST: usize = 30;
const SECOND: usize = 90;
const WITHOUT_ONE: usize = 60;
/// Structures that are looked at a second time.
const FINALISTS: usize = 2;

/// A run of the fit.
#[derive(Clone, Debug)]
pub struct ReadRun {
    /// Its number among the measurements.
    pub measurement: usize,
    /// The measured figures.
    pub measured: Figures,
    /// The modelled ones, fitted on all runs.
    pub modelled: Figures,
    /// Those of a fit without this run.
    pub held_out: Option<Figures>,
}

impl ReadRun {
    /// Parameters explain it.
    pub fn is_explained(&self) -> bool {
        errors(&self.measured, &self.modelled).0 <= EXPLAINED
    }
}

/// The fit of the reads.
#[derive(Clone, Debug)]
pub struct Reads {
    /// The runs.
    pub runs: Vec<ReadRun>,
    /// How the drive is built.
    pub structure: Structure,
    /// The structures that were looked at, with their mean distance, the best first.
    pub structures: Vec<(Structure, f64)>,
    /// The parameters.
    pub space: Space,
    /// Where the fit lies.
    pub point: Vec<f64>,
    /// The ranges of the parameters, and the pairs that trade off.
    pub doubt: Doubt,
    /// The parameters of the fits without one run each: how far they lie apart.
    pub apart: Vec<Range>,
    /// Simulated points.
    pub evaluations: usize,
}

/// Structures by their cost.
type Ranked = Vec<(Structure, f64)>;

/// A point of a structure, and what its runs came to.
struct Seen {
    structure: Structure,
    point: Vec<f64>,
    figures: Vec<Figures>,
}

struct Fit<'a> {
    settings: &'a Settings<'a>,
    base: Base<'a>,
    runs: Vec<(usize, &'a Latencies)>,
    space: Space,
    journal: &'a Journal,
    states: Mutex<BTreeMap<Structure, PageMap>>,
    seen: Vec<Seen>,
    evaluations: usize,
}

/// Why a measurement is not among the runs of a fit, if it is not.
pub fn left_out(measurement: &Measurement) -> Option<&'static str> {
    let of = measurement.latencies()?;
    match of {
        _ if !of.is_read => Some("writes beside reads are not fitted yet"),
        _ if of.drives > 1 => Some("measured over several drives at once: not simulated yet"),
        _ if of.is_sequential => Some("sequential reads: read-ahead is not modelled"),
        _ if of.processes > 256 => Some("more than 256 processes"),
        _ => None,
    }
}

/// Fits the reads; `None` where the measurements have none.
pub fn fit(
    settings: &Settings<'_>,
    device: &Device,
    journal: &Journal,
) -> Result<Option<Reads>, TwinError> {
    let usable = |(number, measurement): (usize, &'_ Measurement)| {
        left_out(measurement).is_none().then_some(number)
    };
    let numbers = settings.measurements.iter().enumerate().filter_map(usable);
    let runs: Vec<(usize, &Latencies)> = numbers
        .filter_map(|number| Some((number, settings.measurements[number].latencies()?)))
        .collect();
    if runs.is_empty() {
        return Ok(None);
    }
    let base =
        Base { name: settings.base, word_line: device.feature.program_pages, seed: settings.seed };
    let space = space_of(&runs, device);
    let states = Mutex::new(BTreeMap::new());
    let mut fit =
        Fit { settings, base, runs, space, journal, states, seen: Vec::new(), evaluations: 0 };
    fit.run().map(Some)
}

impl Fit<'_> {
    fn run(&mut self) -> Result<Reads, TwinError> {
        let all: Vec<usize> = (0..self.runs.len()).collect();
        let (structures, start) = self.structures(&all)?;
        let structure = structures[0].0;
        let effort = self.effort(self.settings.evaluations, 0.08, 3);
        let (point, _) = self.search(Stage::Together, structure, &start, &all, effort)?;
        let modelled = self.figures(structure, &point, &all, self.settings.requests)?;
        // A fit that was stopped before has no ranges.
        let doubt = match self.stopped() {
            true => Doubt::default(),
            false => self.doubt(structure, &point, &all)?,
        };
        let mut runs: Vec<ReadRun> = all
            .iter()
            .map(|number| ReadRun {
                measurement: self.runs[*number].0,
                measured: measured(self.runs[*number].1),
                modelled: modelled[*number],
                held_out: None,
            })
            .collect();
        let mut apart: Vec<Range> = point.iter().map(|x| Range { low: *x, high: *x }).collect();
        if self.settings.leaves_out_each() && self.runs.len() > 2 {
            for (number, run) in runs.iter_mut().enumerate() {
                if self.stopped() {
                    break;
                }
                let (without, found) = self.without(structure, number)?;
                run.held_out = Some(found);
                for (range, x) in apart.iter_mut().zip(without) {
                    (range.low, range.high) = (range.low.min(x), range.high.max(x));
                }
            }
        }
        let (space, evaluations) = (self.space.clone(), self.evaluations);
        Ok(Reads { runs, structure, structures, space, point, doubt, apart, evaluations })
    }

    /// The structures by their cost, and the best point of the best one.
    fn structures(&mut self, all: &[usize]) -> Result<(Ranked, Vec<f64>), TwinError> {
        let mut found = Vec::new();
        let start = self.space.start();
        for structure in CANDIDATES {
            let effort = self.effort(FIRST, 0.12, 1);
            let quick = self.settings.requests / 3;
            let best = self.search_with(Stage::Structure, structure, &start, all, effort, quick)?;
            found.push((structure, best));
        }
        found.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let first = found[0].0;
        let variants = variants(first);
        let finalists = FINALISTS + variants.len();
        for structure in variants {
            found.insert(1, (structure, found[0].1.clone()));
        }
        for (structure, best) in found.iter_mut().take(finalists) {
            let effort = self.effort(SECOND, 0.1, 2);
            *best = self.search(Stage::Structure, *structure, &best.0, all, effort)?;
        }
        found[..finalists].sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let start = found[0].1.0.clone();
        Ok((found.into_iter().map(|(structure, (_, cost))| (structure, cost)).collect(), start))
    }

    /// The fit without one run: from the best point that the other runs have seen.
    fn without(
        &mut self,
        structure: Structure,
        out: usize,
    ) -> Result<(Vec<f64>, Figures), TwinError> {
        let others: Vec<usize> = (0..self.runs.len()).filter(|number| *number != out).collect();
        let cost = |seen: &Seen| {
            let of =
                |number: &usize| distance(&measured(self.runs[*number].1), &seen.figures[*number]);
            others.iter().map(of).sum::<f64>()
        };
        let seen = self.seen.iter().filter(|seen| seen.structure == structure);
        let best = seen.min_by(|a, b| cost(a).total_cmp(&cost(b)));
        let start = best.map_or_else(|| self.space.start(), |seen| seen.point.clone());
        let effort = self.effort(WITHOUT_ONE, 0.04, 10 + out as u64);
        let (point, _) = self.search(Stage::Without(out), structure, &start, &others, effort)?;
        let found = self.figures(structure, &point, &[out], self.settings.requests)?;
        Ok((point, found[0]))
    }

    fn doubt(
        &mut self,
        structure: Structure,
        point: &[f64],
        all: &[usize],
    ) -> Result<Doubt, TwinError> {
        let near: Vec<(Vec<f64>, f64)> = self
            .seen
            .iter()
            .filter(|seen| seen.structure == structure)
            .map(|seen| (seen.point.clone(), self.mean(all, &seen.figures)))
            .collect();
        let mut failed = None;
        let doubt = doubts(point, &near, 5 * all.len(), &mut |point| {
            self.cost(Stage::Doubt, structure, point, all, self.settings.requests).unwrap_or_else(
                |error| {
                    failed = Some(error);
                    f64::INFINITY
                },
            )
        });
        failed.map_or(Ok(doubt), Err)
    }

    fn effort(&self, evaluations: usize, step: f64, salt: u64) -> Effort {
        Effort {
            evaluations,
            step,
            seed: self.settings.seed.wrapping_mul(1_000).wrapping_add(salt),
        }
    }

    fn stopped(&self) -> bool {
        self.settings.stop.load(Ordering::Relaxed)
    }

    fn search(
        &mut self,
        stage: Stage,
        structure: Structure,
        start: &[f64],
        which: &[usize],
        effort: Effort,
    ) -> Result<(Vec<f64>, f64), TwinError> {
        self.search_with(stage, structure, start, which, effort, self.settings.requests)
    }

    fn search_with(
        &mut self,
        stage: Stage,
        structure: Structure,
        start: &[f64],
        which: &[usize],
        effort: Effort,
        requests: u64,
    ) -> Result<(Vec<f64>, f64), TwinError> {
        let (mut failed, stop) = (None, self.settings.stop);
        let best = descend(start, effort, stop, &mut |point| {
            self.cost(stage, structure, point, which, requests).unwrap_or_else(|error| {
                failed = Some(error);
                f64::INFINITY
            })
        });
        failed.map_or(Ok(best), Err)
    }

    /// The mean distance of these runs at a point.
    fn cost(
        &mut self,
        stage: Stage,
        structure: Structure,
        point: &[f64],
        which: &[usize],
        requests: u64,
    ) -> Result<f64, TwinError> {
        let figures = self.figures(structure, point, which, requests)?;
        self.evaluations += 1;
        let cost = self.mean(which, &figures);
        if which.len() == self.runs.len() && requests == self.settings.requests {
            self.seen.push(Seen { structure, point: point.to_vec(), figures });
        }
        (self.settings.tell)(&Moment { stage, evaluations: self.evaluations, distance: cost });
        Ok(cost)
    }

    fn mean(&self, which: &[usize], figures: &[Figures]) -> f64 {
        let of = |(number, figures): (&usize, &Figures)| {
            distance(&measured(self.runs[*number].1), figures)
        };
        which.iter().zip(figures).map(of).sum::<f64>() / which.len() as f64
    }

    /// The figures of these runs at a point, from the journal or simulated, on all cores.
    fn figures(
        &self,
        structure: Structure,
        point: &[f64],
        which: &[usize],
        requests: u64,
    ) -> Result<Vec<Figures>, TwinError> {
        let found: Vec<Mutex<Option<Result<Figures, TwinError>>>> =
            which.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(at) =
                Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < found.len())
            {
                let figures = self.one(structure, point, which[at], requests);
                *found[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(figures);
            }
        };
        on_threads(self.settings.threads.min(which.len()), work);
        let taken = found
            .into_iter()
            .filter_map(|found| found.into_inner().unwrap_or_else(PoisonError::into_inner));
        taken.collect()
    }

    fn one(
        &self,
        structure: Structure,
        point: &[f64],
        run: usize,
        requests: u64,
    ) -> Result<Figures, TwinError> {
        let of = self.runs[run].1;
        let scenario = scenario(&self.base, structure, &self.space, point, of, requests)?;
        let key = Journal::key(&scenario, "reads");
        if let Some(Ok(known)) = self.journal.get(&key).map(Figures::try_from) {
            return Ok(known);
        }
        let map = {
            let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
            match states.get(&structure) {
                Some(map) => map.clone(),
                None => states.entry(structure).or_insert(prepared(&scenario)?).clone(),
            }
        };
        let figures = play(&scenario, map)?;
        self.journal.put(key, &figures);
        Ok(figures)
    }
}

/// Structures with as many dies: other channels, beside their rate, and neighbours over the dies
/// of a channel.
fn variants(first: Structure) -> Vec<Structure> {
    let mut variants = vec![Structure { ways_first: true, ..first }];
    for channels in [first.channels / 2, first.channels * 2] {
        let ways = first.dies() / channels.max(1);
        if channels > 0 && ways > 0 {
            for ways_first in [false, true] {
                variants.push(Structure { channels, ways, ways_first, ..first });
            }
        }
    }
    variants
}

/// The structures that are looked at first.
const CANDIDATES: [Structure; 11] = {
    const fn of(channels: u32, ways: u32, planes: u32) -> Structure {
        Structure { channels, ways, planes, ways_first: false }
    }
    [
        of(8, 4, 2),
        of(8, 4, 1),
        of(8, 4, 4),
        of(8, 2, 2),
        of(8, 2, 1),
        of(8, 2, 4),
        of(8, 8, 2),
        of(8, 8, 1),
        of(8, 8, 4),
        of(4, 2, 2),
        of(16, 8, 2),
    ]
};

/// The parameters of reads, each from the measurements that tell it.
fn space_of(runs: &[(usize, &Latencies)], device: &Device) -> Space {
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
        *busy = busy.min(1e6 / (of.iops / f64::from(of.processes)));
    }
    let mut order: Vec<(&str, (f64, f64))> = all.into_iter().collect();
    order.sort_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let least = order.first().map_or(0.0, |first| first.1.0);
    for (number, (engine, (shortest, busy))) in order.into_iter().enumerate() {
        each(engine, number == 0, (shortest - least).max(0.5), busy);
    }
}
