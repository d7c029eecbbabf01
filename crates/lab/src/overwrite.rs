//! The pages that a workload writes, for ever: what `precondition.overwrite = "workload"`
//! overwrites a drive with.

use crate::open::trace_source;
use crate::run::RunError;
use manx_config::Scenario;
use manx_core::drive::Op;
use manx_core::host::generate::Generator;
use manx_core::host::{Arrival, JobSpec, Request, RequestSource};
use manx_core::sim::Rng;
use manx_core::units::{Duration, Lpn, SECTOR};
use manx_trace::{TraceSource, TraceSpec};

/// So many of the run's own requests are passed over before the first page. The hot pages of a job
/// hang on its seed, so preconditioning draws from the run's own stream; were it to start where the
/// run starts, the run would overwrite the pages in the very order in which they lie in the blocks,
/// and garbage collection would find empty blocks.
const SKIPPED_MAX: u64 = 1 << 24;

/// Requests of a trace that are kept at most: 128 MiB. A longer trace is read again in each pass.
const KEPT_MAX: usize = 1 << 24;

/// Pages in the order in which a second instance of the workload's jobs writes them.
pub(crate) struct WorkloadPages {
    sources: Vec<Source>,
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

/// Whose turn it is to write.
enum Source {
    Drawn(Box<dyn RequestSource>),
    Replayed(Box<Replayed>),
}

/// The writes of a trace, again and again. The file is read once; then its page ranges come from
/// memory.
struct Replayed {
    spec: TraceSpec,
    sectors: u64,
    stream: u8,
    /// The pass under way; none once all its ranges are kept.
    source: Option<TraceSource>,
    /// First page and pages of each request; 0 pages stand for requests that write nothing, the
    /// first number of them.
    kept: Vec<(u32, u32)>,
    /// The place in `kept`, and the requests of it that are done where it stands for several.
    next: (usize, u32),
    is_kept: bool,
}

/// The outcome of a source's turn.
enum Turn {
    Writes(std::ops::Range<u32>, u8),
    Nothing,
    Ended,
}

impl WorkloadPages {
    /// The pages of `scenario`'s writes on a device of `pages` pages; `None` when its jobs write
    /// nothing.
    ///
    /// Several jobs take turns, one request each. What a generated job writes is drawn with every
    /// request a write: addresses do not depend on the operation. A trace starts again at its end.
    pub(crate) fn new(scenario: &Scenario, pages: u32) -> Result<Option<Self>, RunError> {
        let unit_sectors = scenario.device.geometry.map_unit.get() / SECTOR;
        let sectors = u64::from(pages) * unit_sectors;
        let mut sources = Vec::new();
        for (number, job) in scenario.workload.jobs.iter().enumerate() {
            if let Some(trace) = &job.trace {
                let spec = TraceSpec { rate_scale: 1.0, repeat: 1, ..trace.clone() };
                let replayed = Replayed::new(spec, sectors, job.stream)?;
                sources.extend(replayed.map(|replayed| Source::Replayed(Box::new(replayed))));
            } else if job.read_percent + job.trim_percent < 100.0 {
                let mut source =
                    Generator::new(&writes_without_end(job), sectors, scenario.seed, number)?;
                for _ in 0..job.requests.min(SKIPPED_MAX) {
                    source.next_request();
                }
                sources.push(Source::Drawn(Box::new(source)));
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

    /// True when the sources ended all the same (a trace file that changed under way) and random
    /// pages took over.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// True when a trace was too long to be kept, and read again in each pass.
    pub(crate) fn reread(&self) -> bool {
        self.sources
            .iter()
            .any(|source| matches!(source, Source::Replayed(replayed) if !replayed.is_kept))
    }

    fn turn(&mut self) {
        self.turn = (self.turn + 1) % self.sources.len();
        let (unit_sectors, pages) = (self.unit_sectors, self.pages);
        let written = |request: &Request| written(request, unit_sectors, pages);
        let turn = match &mut self.sources[self.turn] {
            Source::Drawn(source) => match source.next_request() {
                Some(request) => match written(&request) {
                    Some(range) => Turn::Writes(range, request.stream),
                    None => Turn::Nothing,
                },
                None => Turn::Ended,
            },
            Source::Replayed(replayed) => replayed.turn(&written),
        };
        match turn {
            Turn::Writes(range, stream) => (self.current, self.stream) = (range, stream),
            Turn::Nothing => {}
            Turn::Ended => drop(self.sources.remove(self.turn)),
        }
        self.turn = if self.turn < self.sources.len() { self.turn } else { 0 };
    }
}

/// The pages that a request writes; `None` where it writes none.
fn written(request: &Request, unit_sectors: u64, pages: u64) -> Option<std::ops::Range<u32>> {
    if request.op != Op::Write || request.sectors == 0 {
        return None;
    }
    let first = request.lba.0 / unit_sectors;
    let last = (request.lba.0 + u64::from(request.sectors) - 1) / unit_sectors;
    Some(first as u32..(last + 1).min(pages) as u32)
}

impl Replayed {
    /// The writes of the trace of `spec`; `None` where it has none.
    fn new(spec: TraceSpec, sectors: u64, stream: u8) -> Result<Option<Self>, RunError> {
        let (source, summary) = trace_source(&spec, sectors)?;
        let (kept, source) = (Vec::new(), Some(source));
        let replayed = Self { spec, sectors, stream, source, kept, next: (0, 0), is_kept: true };
        Ok((summary.writes > 0).then_some(replayed))
    }

    fn turn(&mut self, written: &dyn Fn(&Request) -> Option<std::ops::Range<u32>>) -> Turn {
        let Some(source) = &mut self.source else { return self.again() };
        let Some(request) = source.next_request() else {
            return if self.end_of_pass() { self.turn(written) } else { Turn::Ended };
        };
        let range = written(&request);
        if self.is_kept {
            self.keep(range.as_ref());
        }
        range.map_or(Turn::Nothing, |range| Turn::Writes(range, self.stream))
    }

    fn keep(&mut self, range: Option<&std::ops::Range<u32>>) {
        match (range.filter(|range| !range.is_empty()), self.kept.last_mut()) {
            (None, Some((idle, 0))) if *idle < u32::MAX => *idle += 1,
            (None, _) => self.kept.push((1, 0)),
            (Some(range), _) => self.kept.push((range.start, range.end - range.start)),
        }
        if self.kept.len() > KEPT_MAX {
            (self.kept, self.is_kept) = (Vec::new(), false);
        }
    }

    /// The file is read to its end: what is kept takes its place, or it is opened again. False
    /// where neither can be.
    fn end_of_pass(&mut self) -> bool {
        let whole = self.source.take().is_some_and(|source| source.error().is_none());
        if whole && self.is_kept {
            self.kept.shrink_to_fit();
            return !self.kept.is_empty();
        }
        (self.kept, self.is_kept) = (Vec::new(), false);
        self.source = whole
            .then(|| trace_source(&self.spec, self.sectors).ok())
            .flatten()
            .map(|(source, _)| source);
        self.source.is_some()
    }

    /// The next request of those that are kept.
    fn again(&mut self) -> Turn {
        let (place, done) = self.next;
        let Some((first, pages)) = self.kept.get(place).copied() else {
            return Turn::Ended;
        };
        let more = pages == 0 && done + 1 < first;
        let following = if place + 1 < self.kept.len() { place + 1 } else { 0 };
        self.next = if more { (place, done + 1) } else { (following, 0) };
        if pages == 0 { Turn::Nothing } else { Turn::Writes(first..first + pages, self.stream) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;
    use crate::prepare::logical_pages;
    use manx_config::Override;

    /// 40 writes of one or two pages, each third request a read.
    fn trace(name: &str) -> std::path::PathBuf {
        let file =
            std::env::temp_dir().join(format!("manx-overwrite-{}-{name}.csv", std::process::id()));
        let line = |n: u64| match n % 3 {
            0 => format!("{},R,0,4096\n", n * 100),
            _ => format!("{},W,{},{}\n", n * 100, n * 7 % 50 * 4096, 4096 * (1 + n % 2)),
        };
        let text: String = (0..60).map(line).collect();
        std::fs::write(&file, format!("t_us,op,offset,bytes\n{text}")).unwrap();
        file
    }

    fn scenario(sets: &[String]) -> Scenario {
        let overrides = sets.iter().map(|set| Override::from_set(set).unwrap()).collect();
        load::Request::read("quick", overrides).unwrap().plain().unwrap()
    }

    #[test]
    fn the_second_pass_needs_no_file_and_writes_what_the_first_wrote() {
        let file = trace("alone");
        let arrival = "workload.arrival=\"trace\"".to_string();
        let scenario = scenario(&[format!("workload.trace.file=\"{}\"", file.display()), arrival]);
        let pages = logical_pages(&scenario);
        let mut expected = Vec::new();
        for n in (0..60).filter(|n| n % 3 != 0) {
            expected.extend((0..1 + n % 2).map(|page| (Lpn(n * 7 % 50 + page), 0)));
        }
        let mut all = WorkloadPages::new(&scenario, pages).unwrap().unwrap();
        let first: Vec<_> = expected.iter().map(|_| all.next()).collect();
        assert_eq!(first, expected);
        // One more, so that the end of the file was seen.
        assert_eq!(all.next(), expected[0]);
        std::fs::remove_file(&file).unwrap();
        for pass in 0..3 {
            let again: Vec<_> =
                expected[1..].iter().chain(&expected[..1]).map(|_| all.next()).collect();
            assert_eq!(again, [&expected[1..], &expected[..1]].concat(), "pass {pass}");
        }
        assert!(!all.ended());
    }

    #[test]
    fn beside_another_job_a_read_of_the_trace_still_takes_a_turn() {
        let file = trace("beside");
        let jobs = format!(
            "workload.jobs=[{{ arrival = \"trace\", trace = {{ file = \"{}\" }} }}, \
             {{ read_percent = 0.0, requests = 1 }}]",
            file.display()
        );
        let scenario = scenario(&[jobs]);
        let (pages, sectors) = (logical_pages(&scenario), u64::from(logical_pages(&scenario)) * 8);
        let specs = &scenario.workload.jobs;
        let endless =
            TraceSpec { rate_scale: 1e9, repeat: u32::MAX, ..specs[0].trace.clone().unwrap() };
        let mut generated =
            Generator::new(&writes_without_end(&specs[1]), sectors, scenario.seed, 1).unwrap();
        generated.next_request();
        let mut both: [Box<dyn RequestSource>; 2] =
            [Box::new(trace_source(&endless, sectors).unwrap().0), Box::new(generated)];
        let mut expected = Vec::new();
        for turn in 1..1_000 {
            let request = both[turn % 2].next_request().unwrap();
            expected.extend(
                written(&request, 8, pages.into()).unwrap_or_default().map(|page| (Lpn(page), 0)),
            );
        }
        let mut all = WorkloadPages::new(&scenario, pages).unwrap().unwrap();
        let found: Vec<_> = expected.iter().map(|_| all.next()).collect();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(found, expected);
    }
}
