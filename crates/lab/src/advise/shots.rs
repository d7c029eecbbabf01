//! Runs of an answer: whole ones, and those that are given up on the way, by way of a journal, each
//! a function of the question alone.
//!
//! A short run is the beginning of a whole one, request by request and from the same state: it
//! differs in where it ends ([`crate::run::Limits`]). Latencies are always split into causes, so
//! that no run need be repeated to say what broke it.

use super::question::{Load, Question};
use crate::campaign::{Campaign, Point};
use crate::compare::Options;
use crate::run::{Counted, Limit, Limits, RunError};
use manx_config::{ConfigError, Scenario};
use manx_core::stats::RunResult;

/// Equal parts of a run, after each of which it may be given up.
pub const SEGMENTS: u64 = 64;

/// Segments of the short runs that tell prices and order the families.
const PROBE: u64 = 1;

/// A run of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shot {
    /// The setting of the plan.
    pub setting: usize,
    /// Added to the seed.
    pub seed: u64,
}

/// A run and how far it went.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// Its result.
    pub result: RunResult,
    /// Counts beside its limits; `None` where it has none.
    pub counted: Option<Counted>,
}

impl Played {
    /// It was not given up.
    pub fn is_whole(&self) -> bool {
        self.counted.as_ref().is_none_or(|counted| counted.ended.is_none())
    }
}

/// Why an answer is not there.
#[derive(Debug)]
pub enum Stop {
    /// A run failed.
    Run(RunError),
    /// The asker stopped it.
    Asked,
}

impl From<RunError> for Stop {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<ConfigError> for Stop {
    fn from(error: ConfigError) -> Self {
        Self::Run(RunError::Config(error))
    }
}

/// The runs, and what they came to.
pub struct Shots<'a> {
    question: &'a Question,
    campaign: Campaign,
    options: Options<'a>,
    /// Runs so far.
    pub runs: usize,
    /// Their requests.
    pub requests: u64,
}

/// How far runs go.
#[derive(Clone, Copy, Debug)]
pub enum Until<'a> {
    /// To the end.
    End,
    /// To the end, unless a goal is lost.
    Lost {
        /// Counts of a reference, which say so earlier.
        beside: Option<&'a Counted>,
        /// A percentile must be within its goal by its interval.
        clearly: bool,
    },
    /// So many segments, unless a goal is lost.
    Segments(usize),
}

impl<'a> Shots<'a> {
    /// Runs that are kept in `campaign`.
    pub fn new(question: &'a Question, campaign: Campaign, options: Options<'a>) -> Self {
        Self { question, campaign, options, runs: 0, requests: 0 }
    }

    /// The limits of runs; `None` where they go to their end and nothing is counted.
    fn limits(&self, until: Until<'_>) -> Option<Limits> {
        let question = self.question;
        if question.exhaustive {
            return None;
        }
        let mut of: Vec<_> =
            question.goals.iter().filter_map(|goal| goal.limit(&question.load)).collect();
        let segments = match until {
            Until::End => {
                of.iter_mut().for_each(|limit| limit.most = f64::MAX);
                0
            }
            Until::Lost { beside, clearly } => {
                let counts = beside.map_or(&[][..], |counted| &counted.counts);
                of.iter_mut().zip(counts).for_each(|(limit, counts)| {
                    limit.beside.clone_from(counts);
                });
                of.iter_mut().filter(|_| clearly).for_each(Limit::by_its_interval);
                0
            }
            Until::Segments(segments) => segments,
        };
        Some(Limits { step: self.step(), segments, of })
    }

    /// A short run: what comes behind the warm-up.
    pub fn probe(&self) -> usize {
        let (base, load) = (&self.question.base, &self.question.load);
        let timed = base.measure.warmup.as_s_f64() * load.rate_per_s.unwrap_or(0.0);
        let warm = base.measure.warmup_requests + timed as u64;
        (PROBE + warm.div_ceil(self.step())) as usize
    }

    fn step(&self) -> u64 {
        self.question.load.requests.div_ceil(SEGMENTS).max(1)
    }

    /// Plays the shots; what they came to, in their order.
    pub fn play(&mut self, shots: &[Shot], until: Until<'_>) -> Result<Vec<Played>, Stop> {
        let plan = &self.question.plan;
        let mut points = Vec::with_capacity(shots.len());
        for shot in shots {
            let (policy, mut scenario) = plan.point(shot.setting)?;
            shape(&mut scenario, &self.question.load, shot.seed);
            points.push((policy, scenario));
        }
        self.play_points(&points, until)
    }

    /// Plays whatever these are.
    pub fn play_points(&mut self, points: &[Point], until: Until<'_>) -> Result<Vec<Played>, Stop> {
        let limits = self.limits(until);
        let options = Options { limits: limits.as_ref(), ..self.options };
        let done = self.campaign.run(points, &options, &mut |_, _| Ok(()))?;
        let results: Option<Vec<RunResult>> = done.results.into_iter().collect();
        let results = results.ok_or(Stop::Asked)?;
        self.runs += results.len();
        let requests = |result: &RunResult| result.requests + result.warmup_excluded.requests;
        self.requests += results.iter().map(requests).sum::<u64>();
        let pairs = results.into_iter().zip(done.counted);
        Ok(pairs.map(|(result, counted)| Played { result, counted }).collect())
    }

    /// Remark on the journal.
    pub fn remark(&self) -> Option<String> {
        self.campaign.remark()
    }
}

/// Makes a scenario one of the question's runs.
pub fn shape(scenario: &mut Scenario, load: &Load, seed: u64) {
    scenario.seed += seed;
    scenario.measure.attribution = true;
    if let Some(trace) = scenario.workload.jobs.first_mut().and_then(|job| job.trace.as_mut()) {
        trace.repeat = load.passes.max(1) as u32;
    }
}
