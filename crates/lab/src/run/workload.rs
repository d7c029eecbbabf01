//! The workload of a run: the jobs of each drive, and where they end.

use super::{Run, RunError};
use crate::prepare::host_sectors;
use crate::replay::Replays;
use manx_core::host::generate::Generator;
use manx_core::host::{Hinted, JobSpec, Pacing, RequestSource};
use manx_core::units::{Duration, Instant};
use manx_trace::Layout;

/// The request sources of a drive, each with its arrival process.
pub(super) type Sources = Vec<(Box<dyn RequestSource>, Pacing)>;

/// The workload as it is played.
pub(super) struct Workload {
    /// The jobs of each drive; all but one drive only where each device of a trace has its own.
    pub(super) drives: Vec<Sources>,
    /// The trace's device that each drive stands for, where they stand for one.
    pub(super) names: Vec<String>,
    pub(super) end: End,
}

/// Where a run ends, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct End {
    /// Requests in all.
    requests: Option<u64>,
    /// The time at which the last job stops to issue requests.
    time: Option<Duration>,
}

impl End {
    /// The share that is done: of whichever bound is nearer.
    pub(super) fn part(self, requests: u64, now: Instant) -> Option<f64> {
        let share = |done: u64, of: u64| (of > 0).then(|| (done as f64 / of as f64).min(1.0));
        let by_requests = self.requests.and_then(|of| share(requests, of));
        let by_time = self.time.and_then(|of| share(now.as_ns(), of.as_ns()));
        [by_requests, by_time].into_iter().flatten().reduce(f64::max)
    }
}

impl Run<'_> {
    /// The sources of each drive, and how many requests they make where that is known.
    pub(super) fn workload(&self, replays: &Replays) -> Result<Workload, RunError> {
        let specs = &self.scenario.workload.jobs;
        let sectors = host_sectors(self.scenario);
        let is_separate = |job: &JobSpec| {
            job.trace.as_ref().is_some_and(|trace| trace.layout == Layout::Separate)
        };
        if let [JobSpec { trace: Some(trace), .. }] = specs.as_slice()
            && trace.layout == Layout::Separate
        {
            let (sources, names, requests) = replays.each_device(trace, sectors)?;
            let stream = specs[0].stream;
            let drive = |source| vec![(Hinted::wrap(source, stream), Pacing::of(&specs[0]))];
            let drives = sources.into_iter().map(drive).collect();
            return Ok(Workload {
                drives,
                names,
                end: End { requests: Some(requests), time: None },
            });
        }
        if specs.iter().any(is_separate) {
            return Err(RunError::NotAlone(specs.len()));
        }
        let (mut sources, mut total) = (Vec::new(), Some(0u64));
        for (number, spec) in specs.iter().enumerate() {
            let (source, requests) = match &spec.trace {
                Some(trace) => {
                    let (source, requests) = replays.source(trace, sectors)?;
                    (Hinted::wrap(source, spec.stream), requests)
                }
                None => {
                    let source = Generator::new(spec, sectors, self.scenario.seed, number)?;
                    (Box::new(source) as Box<_>, spec.requests)
                }
            };
            total = total.filter(|_| requests > 0).map(|total| total.saturating_add(requests));
            sources.push((source, Pacing::of(spec)));
        }
        let is_timed = specs.iter().all(|spec| !spec.time.is_zero());
        let time = specs.iter().map(|spec| spec.time).max().filter(|_| is_timed);
        Ok(Workload {
            drives: vec![sources],
            names: Vec::new(),
            end: End { requests: total, time },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_ends_by_its_time_has_a_share_too() {
        let (at, hour) = (|s| Instant::START + Duration::from_s(s), Duration::from_s(3600));
        let by_time = End { requests: None, time: Some(hour) };
        assert_eq!(by_time.part(123_456, at(900)), Some(0.25));
        assert_eq!(by_time.part(123_456, at(3601)), Some(1.0), "the last requests complete later");
        let by_both = End { requests: Some(1000), time: Some(hour) };
        assert_eq!(
            (by_both.part(500, at(900)), by_both.part(100, at(900))),
            (Some(0.5), Some(0.25))
        );
        assert_eq!(End::default().part(5, at(5)), None);
    }
}
