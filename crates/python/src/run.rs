//! Runs, and what each leaves.

use crate::arrow::{PyTable, Table};
use crate::asked::Point;
use crate::error::Trouble;
use crate::histogram::PyHistogram;
use crate::policy::Calls;
use crate::tables::{self, Requests};
use crate::watch::watched;
use manx_core::drive::TimelineSpec;
use manx_core::stats::{Histogram, RunResult, RunSet};
use manx_core::units::{Duration, Instant};
use manx_lab::cache::Cache;
use manx_lab::compare::{Options, compare, defect};
use manx_lab::json::{from_json, to_json};
use manx_lab::run::{Beside, Finished, Moment, Phase, PlayedStorage, Sink, Watcher};
use pyo3::prelude::*;
use std::num::NonZero;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run that ended: its result, and what was kept beside it.
#[pyclass(frozen, module = "manx._manx")]
pub struct Played {
    pub result: RunResult,
    /// Its scenario, where it is known.
    pub point: Option<Py<Point>>,
    requests: Option<Arc<Table>>,
    timeline: Option<Arc<Table>>,
    read: Option<Histogram>,
    write: Option<Histogram>,
}

#[pymethods]
impl Played {
    /// The result of a `result.json`: all runs of it.
    #[staticmethod]
    fn from_json(text: &str) -> Result<Vec<Self>, Trouble> {
        let set = from_json(text)
            .map_err(|error| Trouble::Wrong(format!("this is no result.json: {error}")))?;
        let of = |result| Self {
            result,
            point: None,
            requests: None,
            timeline: None,
            read: None,
            write: None,
        };
        Ok(set.runs.into_iter().map(of).collect())
    }

    /// The result as JSON: one run of `result.json`.
    fn json(&self) -> String {
        serde_json::to_string(&self.result).unwrap_or_default()
    }

    /// Every request, if they were kept.
    fn requests(&self) -> Option<PyTable> {
        self.requests.clone().map(PyTable)
    }

    /// The timeline, if it was kept.
    fn timeline(&self) -> Option<PyTable> {
        self.timeline.clone().map(PyTable)
    }

    /// The inverse cumulative distribution of `read` or `write` latencies.
    fn curve(&self, writes: bool) -> PyTable {
        PyTable(Arc::new(tables::curve(&self.result, writes)))
    }

    /// The causes of latencies by band; no rows without attribution.
    fn attribution(&self) -> PyTable {
        PyTable(Arc::new(tables::attribution(&self.result)))
    }

    /// All latencies of counted reads (or writes), if the run is of this process.
    fn histogram(&self, writes: bool) -> Option<PyHistogram> {
        if writes { &self.write } else { &self.read }.clone().map(PyHistogram::of)
    }

    /// Its scenario, where the run is of this process.
    #[getter]
    fn point(&self, py: Python<'_>) -> Option<Py<Point>> {
        self.point.as_ref().map(|point| point.clone_ref(py))
    }
}

/// The set of some runs.
pub fn set_of(runs: &[PyRef<'_, Played>]) -> RunSet {
    RunSet { runs: runs.iter().map(|run| run.result.clone()).collect() }
}

/// Several results as one `result.json`.
#[pyfunction]
pub fn results_json(runs: Vec<PyRef<'_, Played>>) -> String {
    to_json(&set_of(&runs))
}

/// Everything that the runs leave, by their number.
struct Left {
    wants_requests: bool,
    timeline: Option<TimelineSpec>,
    runs: Vec<Mutex<OfRun>>,
}

#[derive(Default)]
struct OfRun {
    requests: Option<Arc<Mutex<Requests>>>,
    timeline: tables::Timeline,
    read: Histogram,
    write: Histogram,
}

impl Watcher for Left {
    fn requests(&self, run: usize, with_parts: bool) -> Option<Box<dyn Sink>> {
        self.wants_requests.then(|| {
            let requests = Arc::new(Mutex::new(Requests::new(with_parts)));
            lock(&self.runs[run]).requests = Some(Arc::clone(&requests));
            Box::new(tables::SharedRequests(requests)) as Box<dyn Sink>
        })
    }

    fn timeline(&self) -> Option<&TimelineSpec> {
        self.timeline.as_ref()
    }

    fn played(&self, run: usize, end: &PlayedStorage<'_>) {
        let mut of = lock(&self.runs[run]);
        of.read.merge(&end.measured.read.histogram);
        of.write.merge(&end.measured.write.histogram);
        if self.timeline.is_some() {
            of.timeline.add(end);
        }
    }
}

/// How far a run is: its number, its phase, the share that is done or -1, requests done.
type Told = (usize, &'static str, f64, u64);

/// Runs them, side by side; results come in their order. `cache`: the user's ("user"), none (""),
/// or a folder. `timeline`: from and to in ns, the latency in ns from which requests are kept, the
/// most records. `progress` is called about twenty times a second with what has changed.
#[pyfunction]
#[pyo3(signature = (points, *, verify=false, cache="user", jobs=None, requests=false, timeline=None,
    progress=None))]
#[allow(clippy::too_many_arguments)] // It is called by name, from one place.
pub fn play(
    py: Python<'_>,
    points: Vec<Py<Point>>,
    verify: bool,
    cache: &str,
    jobs: Option<usize>,
    requests: bool,
    timeline: Option<(u64, u64, Option<u64>, u64)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Played>> {
    let runs: Vec<_> = points.iter().map(|point| point.get().run()).collect();
    let calls: Vec<_> = points.iter().filter_map(|point| point.get().calls.clone()).collect();
    let stop = AtomicBool::new(false);
    let cache = cache_of(cache);
    let left = Left {
        wants_requests: requests,
        timeline: timeline.map(|(from, to, slow, limit)| TimelineSpec {
            from: Instant::from_ns(from),
            to: Instant::from_ns(to),
            slow: slow.map(Duration::from_ns),
            limit,
        }),
        runs: runs.iter().map(|_| Mutex::default()).collect(),
    };
    let moments: Mutex<Vec<Option<Told>>> = Mutex::new(vec![None; runs.len()]);
    let observer = |moment: &Moment<'_>| {
        let phase = match moment.phase {
            Phase::Preconditioning => "preconditioning",
            Phase::Running => "running",
            Phase::Finished => "finished",
        };
        let told = (moment.run, phase, moment.part.unwrap_or(-1.0), moment.done);
        lock(&moments)[moment.run] = Some(told);
    };
    let options = Options {
        jobs: jobs.and_then(NonZero::new),
        verify,
        beside: Beside { watcher: Some(&left), ..Beside::default() },
        observer: &observer,
        ..Options::plain(cache.as_ref(), &stop)
    };
    let tick = |py: Python<'_>| {
        Calls::check(&calls)?;
        let Some(progress) = &progress else { return Ok(()) };
        let told: Vec<Told> = lock(&moments).iter_mut().filter_map(Option::take).collect();
        if told.is_empty() { Ok(()) } else { progress.call1(py, (told,)).map(drop) }
    };
    let finished = watched(py, &stop, tick, || compare(&runs, &options))?;
    Calls::check(&calls)?;
    let finished = finished.map_err(Trouble::from)?;
    let of = finished.into_iter().zip(left.runs).zip(points);
    of.map(|((finished, left), point)| played(finished, left, point)).collect()
}

fn played(finished: Finished, left: Mutex<OfRun>, point: Py<Point>) -> PyResult<Played> {
    let result = finished.result;
    if let Some(defect) = defect(&result) {
        return Err(Trouble::Work(defect).into());
    }
    let OfRun { requests, timeline, read, write } =
        left.into_inner().unwrap_or_else(PoisonError::into_inner);
    let requests = requests.map(|requests| Arc::new(std::mem::take(&mut *lock(&requests)).table()));
    let timeline = timeline.table().map(Arc::new);
    let (read, write) = (Some(read), Some(write));
    Ok(Played { result, point: Some(point), requests, timeline, read, write })
}

/// The cache of preconditioned states that is asked for.
pub fn cache_of(cache: &str) -> Option<Cache> {
    match cache {
        "" => None,
        "user" => Cache::of_user(),
        folder => Some(Cache::at(folder)),
    }
}
