//! Runs of an answer: short ones and whole ones, by way of a journal, each a function of the
//! question alone.

use super::question::{Load, Question};
use crate::campaign::{Campaign, Point};
use crate::compare::Options;
use crate::run::RunError;
use manx_core::config::{ConfigError, Scenario};
use manx_core::stats::RunResult;

/// Requests below which a run says nothing.
const LEAST: u64 = 2_000;

/// A run of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shot {
    /// The setting of the plan.
    pub setting: usize,
    /// Requests.
    pub length: u64,
    /// Added to the seed.
    pub seed: u64,
    /// Latencies are split into causes.
    pub split: bool,
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

impl<'a> Shots<'a> {
    /// Runs that are kept in `campaign`.
    pub fn new(question: &'a Question, campaign: Campaign, options: Options<'a>) -> Self {
        Self { question, campaign, options, runs: 0, requests: 0 }
    }

    /// Lengths of the runs of a setting, the whole one last.
    pub fn rungs(&self) -> Vec<u64> {
        let (whole, base) = (self.question.load.requests, &self.question.base);
        let warm = base.measure.warmup_requests
            + (base.measure.warmup.as_s_f64() * self.question.load.rate_per_s.unwrap_or(0.0))
                as u64;
        let least = LEAST.max(4 * warm);
        let mut rungs: Vec<u64> =
            [whole / 64, whole / 8].into_iter().filter(|length| *length >= least).collect();
        if rungs.is_empty() && whole / 3 >= least {
            rungs.push(least.max(whole / 16));
        }
        rungs.push(whole);
        rungs
    }

    /// Plays the shots; their results, in their order.
    pub fn play(&mut self, shots: &[Shot]) -> Result<Vec<RunResult>, Stop> {
        let plan = &self.question.plan;
        let mut points = Vec::with_capacity(shots.len());
        for shot in shots {
            let (policy, mut scenario) = plan.point(shot.setting)?;
            shape(&mut scenario, &self.question.load, shot);
            points.push((policy, scenario));
        }
        self.play_points(&points)
    }

    /// Plays whatever these are.
    pub fn play_points(&mut self, points: &[Point]) -> Result<Vec<RunResult>, Stop> {
        let done = self.campaign.run(points, &self.options, &mut |_, _| Ok(()))?;
        let results: Option<Vec<RunResult>> = done.results.into_iter().collect();
        let results = results.ok_or(Stop::Asked)?;
        self.runs += results.len();
        let requests = |result: &RunResult| result.requests + result.warmup_excluded.requests;
        self.requests += results.iter().map(requests).sum::<u64>();
        Ok(results)
    }

    /// Remark on the journal.
    pub fn remark(&self) -> Option<String> {
        self.campaign.remark()
    }
}

/// Makes a scenario so long.
pub fn shape(scenario: &mut Scenario, load: &Load, shot: &Shot) {
    scenario.seed += shot.seed;
    scenario.measure.attribution = shot.split;
    let pass = load.requests / load.passes.max(1);
    let Some(job) = scenario.workload.jobs.first_mut() else { return };
    match &mut job.trace {
        None => job.requests = shot.length,
        Some(trace) if shot.length < pass => {
            (trace.head, trace.repeat) = (shot.length, 1);
        }
        Some(trace) => trace.repeat = shot.length.div_ceil(pass.max(1)) as u32,
    }
}
