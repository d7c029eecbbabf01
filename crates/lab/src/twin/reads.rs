//! The fit of steady random reads, and of writes to a fresh drive, in stages.
//!
//! 1. *Unloaded reads* give the start of tR and of the fixed delays; *depth* and *sizes* those of
//!    the thread's work and of the link: arithmetic, in [`space_of`].
//! 2. *Structure*: how many dies, and over how many planes neighbours go; each candidate gets a
//!    short search, the best of them a longer one. Writes alone tell of dies no more than what all
//!    of them program together: without reads the base device's stand.
//! 3. All parameters together, on every run.
//! 4. *Doubt*: how far each can move, and which move together (`doubt`); then each run is left out,
//!    the others are fitted again, and it is predicted.

use super::bounds::{no_contradiction, space_of};
use super::doubt::{Doubt, Range};
use super::journal::Journal;
use super::latency::{
    Base, Figures, Structure, distance, errors, figures_of, left_out, logarithms, measured,
    prepared, scenario,
};
use super::newton::{Ended, Errors, polish};
use super::search::{Effort, descend};
use super::space::Space;
use super::structures::{CANDIDATES, Ranked, variants};
use super::{Moment, Settings, Stage, TwinError};
use crate::measure::{Latencies, Measurement};
use crate::threads::on_threads;
use manx_config::Scenario;
use manx_core::flash::Device;
use manx_core::ftl::PageMap;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A run whose percentiles are off by more than this on average, or whose rate is, is not explained
/// by any parameters.
pub const EXPLAINED: f64 = 0.25;

/// Evaluations of a structure at first, of the best ones then, and of a fit without one run.
const FIRST: usize = 30;
const SECOND: usize = 40;
const WITHOUT_ONE: usize = 60;
/// Straight steps of the last stage, and the seeds of each of their points.
const STEPS: usize = 4;
pub(super) const SEEDS: u64 = 3;
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
    /// The structure of that fit, chosen without this run too.
    pub held_structure: Option<Structure>,
    /// How it lies outside the fitted runs, where it is predicted.
    pub beyond: Vec<String>,
    /// The least and the most of each figure that points predict which fit the others as well.
    pub between: Option<[Figures; 2]>,
}

impl ReadRun {
    pub(super) fn new((measurement, of): Run<'_>, modelled: Figures) -> Self {
        let (held_out, held_structure, beyond, between) = (None, None, Vec::new(), None);
        let measured = measured(of);
        Self { measurement, measured, modelled, held_out, held_structure, beyond, between }
    }

    /// Parameters explain it; of a run that is predicted: the prediction is as near.
    pub fn is_explained(&self) -> bool {
        let (percentiles, iops) = errors(&self.measured, &self.modelled);
        percentiles <= EXPLAINED && iops <= EXPLAINED
    }
}

/// The fit of the reads.
#[derive(Clone, Debug)]
pub struct Reads {
    /// The runs.
    pub runs: Vec<ReadRun>,
    /// Those that were held out by name.
    pub tested: Vec<ReadRun>,
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

/// A point of a structure, and what its runs came to.
pub(super) struct Seen {
    pub(super) structure: Structure,
    pub(super) point: Vec<f64>,
    pub(super) figures: Vec<Figures>,
}

/// The number of a measurement, and what it says.
pub(super) type Run<'a> = (usize, &'a Latencies);

/// A fit under way.
pub(super) struct Fit<'a> {
    pub(super) settings: &'a Settings<'a>,
    base: Base<'a>,
    candidates: Vec<Structure>,
    pub(super) runs: Vec<Run<'a>>,
    pub(super) space: Space,
    journal: &'a Journal,
    states: Mutex<BTreeMap<Structure, PageMap>>,
    pub(super) seen: Vec<Seen>,
    /// Up to this cost a point explains the runs as well as the best; none is known before `doubt`.
    pub(super) as_well: f64,
    evaluations: usize,
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
    let (tested, runs): (Vec<Run<'_>>, Vec<Run<'_>>) = numbers
        .filter_map(|number| Some((number, settings.measurements[number].latencies()?)))
        .partition(|(number, _)| settings.is_tested(&settings.measurements[*number].name));
    if runs.is_empty() {
        return Ok(None);
    }
    let base = Base {
        name: settings.base,
        word_line: device.feature.program_pages,
        page: device.geometry.page.get(),
        seed: settings.seed,
    };
    no_contradiction(&runs, settings.known)?;
    let space = space_of(&runs, device).knowing(settings.known)?;
    let candidates = match runs.iter().any(|(_, of)| of.is_read) {
        true => allowed(&space, CANDIDATES.into_iter()),
        false => vec![Structure::of(device)],
    };
    let states = Mutex::new(BTreeMap::new());
    let (seen, evaluations, as_well) = (Vec::new(), 0, 0.0);
    let mut fit = Fit {
        settings,
        base,
        candidates,
        runs,
        space,
        journal,
        states,
        seen,
        as_well,
        evaluations,
    };
    let mut reads = fit.run()?;
    fit.test(&mut reads, &tested)?;
    Ok(Some(reads))
}

/// The candidates on as many channels as are known.
fn allowed(space: &Space, all: impl Iterator<Item = Structure>) -> Vec<Structure> {
    let mut allowed: Vec<Structure> = Vec::new();
    for of in all.map(|of| of.on(space.channels(of.channels))) {
        if !allowed.contains(&of) {
            allowed.push(of);
        }
    }
    allowed
}

impl<'a> Fit<'a> {
    fn run(&mut self) -> Result<Reads, TwinError> {
        let all: Vec<usize> = (0..self.runs.len()).collect();
        let mut ranked = self.structures(&all)?;
        self.rivals(&mut ranked, &all)?;
        let structure = ranked[0].structure;
        // A fit that was stopped before has no ranges.
        let doubt = match self.stopped() {
            true => Doubt::default(),
            false => self.doubt(&ranked, &all)?,
        };
        let point = match self.stopped() {
            true => ranked[0].ended.point.clone(),
            false => self.settle(&ranked[0], &doubt, &all)?,
        };
        let modelled = self.figures(structure, &point, &all, self.settings.requests, 0)?;
        let structures = ranked.iter().map(|ranked| (ranked.structure, ranked.cost)).collect();
        let mut runs: Vec<ReadRun> =
            all.iter().map(|number| ReadRun::new(self.runs[*number], modelled[*number])).collect();
        let mut apart: Vec<Range> = point.iter().map(|x| Range { low: *x, high: *x }).collect();
        if self.settings.leaves_out_each() && self.runs.len() > 2 {
            for (number, run) in runs.iter_mut().enumerate() {
                if self.stopped() {
                    break;
                }
                let (structure, without, found) = self.without(number)?;
                (run.held_out, run.held_structure) = (Some(found), Some(structure));
                run.beyond = self.beyond(self.runs[number].1, number);
                for (range, x) in apart.iter_mut().zip(without) {
                    (range.low, range.high) = (range.low.min(x), range.high.max(x));
                }
            }
        }
        let (space, evaluations) = (self.space.clone(), self.evaluations);
        let tested = Vec::new();
        Ok(Reads { runs, tested, structure, structures, space, point, doubt, apart, evaluations })
    }

    /// The structures by their cost.
    fn structures(&mut self, all: &[usize]) -> Result<Vec<Ranked>, TwinError> {
        let mut found = Vec::new();
        let start = self.space.start();
        for structure in self.candidates.clone() {
            let effort = self.effort(FIRST, 0.12, 1);
            let quick = self.settings.requests / 3;
            let best = self.search_with(Stage::Structure, structure, &start, all, effort, quick)?;
            found.push((structure, best));
        }
        found.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let first = found[0].0;
        let mut variants = if self.tells_structure() { variants(first) } else { Vec::new() };
        variants.retain(|of| self.space.channels(of.channels) == of.channels);
        let finalists = (FINALISTS + variants.len()).min(found.len() + variants.len());
        for structure in variants {
            found.insert(1, (structure, found[0].1.clone()));
        }
        let mut ranked = Vec::with_capacity(found.len());
        for (number, (structure, (mut point, mut cost))) in found.into_iter().enumerate() {
            if number < finalists {
                let effort = self.effort(SECOND, 0.1, 2);
                (point, cost) = self.search(Stage::Structure, structure, &point, all, effort)?;
            }
            ranked.push(Ranked::new(structure, (point, cost)));
        }
        ranked[..finalists].sort_by(|a, b| a.cost.total_cmp(&b.cost));
        Ok(ranked)
    }

    /// The last steps of a fit, and how far its parameters may be off.
    pub(super) fn polish(
        &mut self,
        structure: Structure,
        start: &[f64],
        which: &[usize],
    ) -> Result<Ended, TwinError> {
        // Stopped, or failed: far off, so that no step goes there.
        let figures = self.figures_of(which);
        let far = || Errors { of: vec![3.0; figures], ..Errors::still(figures) };
        let mut failed = None;
        let ended = polish(start, STEPS, &mut |point| match self.stopped() || failed.is_some() {
            true => far(),
            false => self.errors(structure, point, which).unwrap_or_else(|error| {
                failed = Some(error);
                far()
            }),
        });
        let is_whole = !self.stopped();
        let ended = Ended {
            point: ended.point,
            ranges: if is_whole { ended.ranges } else { Vec::new() },
            cost: ended.cost.filter(|_| is_whole),
            slopes: ended.slopes.filter(|_| is_whole),
        };
        failed.map_or(Ok(ended), Err)
    }

    /// ln(modelled / measured) of each figure, over several seeds.
    fn errors(
        &mut self,
        structure: Structure,
        point: &[f64],
        which: &[usize],
    ) -> Result<Errors, TwinError> {
        let requests = self.settings.requests;
        let mut all: Vec<Vec<f64>> = Vec::new();
        for seed in 0..SEEDS {
            let figures = match seed {
                0 => self.simulated(Stage::Together, structure, point, which, requests)?,
                _ => self.figures(structure, point, which, requests, seed)?,
            };
            all.push(self.logarithms(which, &figures));
        }
        let seeds = all.len();
        let mean = |at: usize| all.iter().map(|of| of[at]).sum::<f64>() / seeds as f64;
        let of: Vec<f64> = (0..all[0].len()).map(mean).collect();
        let square = |at: usize| all.iter().map(|each| (each[at] - of[at]).powi(2)).sum::<f64>();
        let noise = (0..of.len()).map(|at| square(at) / (seeds - 1) as f64).collect();
        Ok(Errors { of, noise, seeds })
    }

    /// ln(modelled / measured) of each figure of these runs.
    pub(super) fn logarithms(&self, which: &[usize], figures: &[Figures]) -> Vec<f64> {
        let of = |(run, modelled): (&usize, &Figures)| {
            logarithms(&measured(self.runs[*run].1), modelled)
                .map(|off| off.clamp(-3.0, 3.0))
                .collect::<Vec<f64>>()
        };
        which.iter().zip(figures).flat_map(of).collect()
    }

    /// The fit without one run: structure and point are the best that the other runs have seen.
    fn without(&mut self, out: usize) -> Result<(Structure, Vec<f64>, Figures), TwinError> {
        let others: Vec<usize> = (0..self.runs.len()).filter(|number| *number != out).collect();
        let cost = |seen: &Seen| {
            let of =
                |number: &usize| distance(&measured(self.runs[*number].1), &seen.figures[*number]);
            others.iter().map(of).sum::<f64>()
        };
        let best = self.seen.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
        let (structure, start) = best.map_or_else(
            || (self.candidates[0], self.space.start()),
            |seen| (seen.structure, seen.point.clone()),
        );
        let effort = self.effort(WITHOUT_ONE, 0.04, 10 + out as u64);
        let (point, _) = self.search(Stage::Without(out), structure, &start, &others, effort)?;
        let found = self.figures(structure, &point, &[out], self.settings.requests, 0)?;
        Ok((structure, point, found[0]))
    }

    /// Figures that were measured, of all these runs.
    pub(super) fn figures_of(&self, which: &[usize]) -> usize {
        let of = |run: &usize| measured(self.runs[*run].1).into_iter().filter(|of| of.is_finite());
        which.iter().flat_map(of).count()
    }

    pub(super) fn effort(&self, evaluations: usize, step: f64, salt: u64) -> Effort {
        Effort {
            evaluations,
            step,
            seed: self.settings.seed.wrapping_mul(1_000).wrapping_add(salt),
        }
    }

    /// There are reads: they tell how the drive is built.
    pub(super) fn tells_structure(&self) -> bool {
        self.candidates.len() > 1
    }

    pub(super) fn stopped(&self) -> bool {
        self.settings.stop.load(Ordering::Relaxed)
    }

    pub(super) fn search(
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
            let figures = self.simulated(stage, structure, point, which, requests);
            figures.map(|figures| self.mean(which, &figures)).unwrap_or_else(|error| {
                failed = Some(error);
                f64::INFINITY
            })
        });
        failed.map_or(Ok(best), Err)
    }

    /// The figures of these runs at a point that the search looks at: it is kept, and told.
    pub(super) fn simulated(
        &mut self,
        stage: Stage,
        structure: Structure,
        point: &[f64],
        which: &[usize],
        requests: u64,
    ) -> Result<Vec<Figures>, TwinError> {
        let figures = self.figures(structure, point, which, requests, 0)?;
        self.evaluations += 1;
        let distance = self.mean(which, &figures);
        if which.len() == self.runs.len() && requests == self.settings.requests {
            let (point, figures) = (point.to_vec(), figures.clone());
            self.seen.push(Seen { structure, point, figures });
        }
        (self.settings.tell)(&Moment { stage, evaluations: self.evaluations, distance });
        Ok(figures)
    }

    pub(super) fn mean(&self, which: &[usize], figures: &[Figures]) -> f64 {
        let of = |(number, figures): (&usize, &Figures)| {
            distance(&measured(self.runs[*number].1), figures)
        };
        which.iter().zip(figures).map(of).sum::<f64>() / which.len() as f64
    }

    /// The figures of these runs at a point, from the journal or simulated, on all cores.
    pub(super) fn figures(
        &self,
        structure: Structure,
        point: &[f64],
        which: &[usize],
        requests: u64,
        seed: u64,
    ) -> Result<Vec<Figures>, TwinError> {
        let found: Vec<Mutex<Option<Result<Figures, TwinError>>>> =
            which.iter().map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(at) =
                Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < found.len())
            {
                let figures = self.one(structure, point, which[at], requests, seed);
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
        seed: u64,
    ) -> Result<Figures, TwinError> {
        let of = self.runs[run].1;
        let base = Base { seed: self.base.seed.wrapping_add(seed), ..self.base };
        let scenario =
            |longer| scenario(&base, structure, &self.space, point, of, (requests, longer));
        let key = Journal::key(&scenario(1)?, "reads");
        if let Some(Ok(known)) = self.journal.get(&key).map(Figures::try_from) {
            return Ok(known);
        }
        let state = |scenario: &Scenario| -> Result<PageMap, TwinError> {
            if !of.is_read {
                // An empty drive, and how large it is depends on the load.
                return Ok(prepared(scenario)?);
            }
            let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(match states.get(&structure) {
                Some(map) => map.clone(),
                None => states.entry(structure).or_insert(prepared(scenario)?).clone(),
            })
        };
        let figures = figures_of(&scenario, of.is_read, &state)?;
        self.journal.put(key, &figures);
        Ok(figures)
    }
}
