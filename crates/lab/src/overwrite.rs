//! The pages that a workload writes, for ever: what `precondition.overwrite = "workload"` overwrites a drive with.

use crate::open::trace_source;
use crate::run::RunError;
use manx_core::config::Scenario;
use manx_core::drive::Op;
use manx_core::host::generate::Generator;
use manx_core::host::{Arrival, Hinted, JobSpec, RequestSource};
use manx_core::sim::Rng;
use manx_core::units::{Duration, Lpn, SECTOR};

/// So many of the run's own requests are passed over before the first page. The hot pages of a job hang on its seed, so
/// preconditioning draws from the run's own stream; were it to start where the run starts, the run would overwrite the
/// pages in the very order in which they lie in the blocks, and garbage collection would find empty blocks.
const SKIPPED_MAX: u64 = 1 << 24;

/// Pages in the order in which a second instance of the workload's jobs writes them.
pub(crate) struct WorkloadPages {
    sources: Vec<Box<dyn RequestSource>>,
    turn: usize,
    unit_sectors: u64,
    pages: u64,
    /// Pages of the request under way.
    current: std::ops::Range<u32>,
    /// Its placement hint.
    stream: u8,
    fallback: Rng,
    ended: bool,
}

impl WorkloadPages {
    /// The pages of `scenario`'s writes on a device of `pages` pages; `None` when its jobs write nothing.
    ///
    /// Several jobs take turns, one request each. What a generated job writes is drawn with every request a write:
    /// addresses do not depend on the operation. A trace starts again at its end.
    pub(crate) fn new(scenario: &Scenario, pages: u32) -> Result<Option<Self>, RunError> {
        let unit_sectors = scenario.device.geometry.map_unit.get() / SECTOR;
        let sectors = u64::from(pages) * unit_sectors;
        let mut sources: Vec<Box<dyn RequestSource>> = Vec::new();
        for (number, job) in scenario.workload.jobs.iter().enumerate() {
            if let Some(trace) = &job.trace {
                // The shortest times and the most repetitions: only addresses count here.
                let endless = manx_core::host::TraceSpec { rate_scale: 1e9, repeat: u32::MAX, ..trace.clone() };
                let (source, summary) = trace_source(&endless, sectors)?;
                if summary.writes > 0 {
                    sources.push(Hinted::wrap(Box::new(source), job.stream));
                }
            } else if job.read_percent + job.trim_percent < 100.0 {
                let mut source = Generator::new(&writes_without_end(job), sectors, scenario.seed, number)?;
                for _ in 0..job.requests.min(SKIPPED_MAX) {
                    source.next_request();
                }
                sources.push(Box::new(source));
            }
        }
        if sources.is_empty() {
            return Ok(None);
        }
        let fallback = Rng::stream(scenario.seed, "precondition/overwrite");
        Ok(Some(Self {
            sources,
            turn: 0,
            unit_sectors,
            pages: pages.into(),
            current: 0..0,
            stream: 0,
            fallback,
            ended: false,
        }))
    }

    /// The next page, and the hint that it is written with.
    #[inline]
    pub(crate) fn next(&mut self) -> (Lpn, u8) {
        loop {
            if let Some(page) = self.current.next() {
                return (Lpn(page), self.stream);
            }
            if self.sources.is_empty() {
                self.ended = true;
                return (Lpn(self.fallback.below(self.pages) as u32), 0);
            }
            self.turn();
        }
    }

    /// True when the sources ended all the same (a trace file that changed under way) and random pages took over.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    fn turn(&mut self) {
        self.turn = (self.turn + 1) % self.sources.len();
        match self.sources[self.turn].next_request() {
            Some(request) if request.op == Op::Write && request.sectors > 0 => {
                let first = request.lba.0 / self.unit_sectors;
                let last = (request.lba.0 + u64::from(request.sectors) - 1) / self.unit_sectors;
                self.stream = request.stream;
                self.current = first as u32..(last + 1).min(self.pages) as u32;
            }
            Some(_) => {}
            None => drop(self.sources.remove(self.turn)),
        }
        self.turn = if self.turn < self.sources.len() { self.turn } else { 0 };
    }
}

fn writes_without_end(job: &JobSpec) -> JobSpec {
    JobSpec {
        read_percent: 0.0,
        trim_percent: 0.0,
        flush_every: 0,
        arrival: Arrival::Closed,
        queue_depth: 1,
        requests: u64::MAX,
        time: Duration::ZERO,
        ..job.clone()
    }
}
