//! Policies in Python: objects that are asked where a decision is rare. The rest is native.
//!
//! Each drive, or array, has a deep copy of the object that was given, so that they share no
//! state and a run does not depend on another. What a method raises ends the run, and goes on to
//! the caller; until the run has ended the native default decides.

mod kept;
pub mod onset;
pub mod placement;

pub use onset::PyOnset;
pub use placement::PySorter;

use manx_core::array::Strategy;
use manx_core::drive::{CommandId, PredictableLatency};
use manx_core::ftl::victim::{Candidates, Chooser};
use manx_core::units::{Duration, Instant, Member};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time;

/// The calls of a policy: how many, how long they took, and what one of them raised.
#[derive(Debug, Default)]
pub struct Calls {
    failed: AtomicBool,
    error: Mutex<Option<PyErr>>,
    count: AtomicU64,
    ns: AtomicU64,
}

impl Calls {
    /// Calls `what` with the interpreter's lock; `None` where it raised, now or before.
    fn call<T>(&self, what: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.failed.load(Ordering::Relaxed) {
            return None;
        }
        let begun = time::Instant::now();
        kept::keep();
        let outcome = Python::attach(what);
        let ns = begun.elapsed().as_nanos();
        self.count.fetch_add(1, Ordering::Relaxed);
        self.ns.fetch_add(u64::try_from(ns).unwrap_or(u64::MAX), Ordering::Relaxed);
        outcome.map_err(|error| self.fail(error)).ok()
    }

    fn fail(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.failed.store(true, Ordering::Relaxed);
    }

    /// How many calls there were, and the seconds that they took.
    pub fn told(&self) -> (u64, f64) {
        let seconds = self.ns.load(Ordering::Relaxed) as f64 / 1e9;
        (self.count.load(Ordering::Relaxed), seconds)
    }

    /// The exception of a call, if one raised.
    pub fn check(all: &[Arc<Self>]) -> PyResult<()> {
        for calls in all.iter().filter(|calls| calls.failed.load(Ordering::Relaxed)) {
            let error = calls.error.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(error) = error {
                return Err(error);
            }
        }
        Ok(())
    }
}

fn copied(policy: &Py<PyAny>, calls: &Calls) -> Py<PyAny> {
    Python::attach(|py| {
        let copy = py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (policy,)));
        copy.map(Bound::unbind).unwrap_or_else(|error| {
            calls.fail(error);
            policy.clone_ref(py)
        })
    })
}

/// The blocks of a pool, when a victim is wanted.
#[pyclass(frozen, module = "manx._manx")]
pub struct Blocks {
    valid: Vec<u32>,
    ages: Vec<u64>,
    order: Vec<u32>,
    units: u32,
}

/// No candidate: it is open, being reclaimed, or bad.
const NO_CANDIDATE: u32 = u32::MAX;

impl Blocks {
    fn of(candidates: &Candidates<'_>, wants: Wants) -> Self {
        let count = candidates.count();
        let valid = (0..count).map(|index| candidates.valid(index).unwrap_or(NO_CANDIDATE));
        let ages = (0..count).map(|index| candidates.age(index));
        Self {
            valid: valid.collect(),
            ages: if wants.ages { ages.collect() } else { Vec::new() },
            order: if wants.order { candidates.in_closing_order().collect() } else { Vec::new() },
            units: candidates.units(),
        }
    }
}

#[pymethods]
impl Blocks {
    /// Numbers of the blocks that may be chosen, ascending.
    #[getter]
    fn candidates(&self) -> Vec<u32> {
        let all = self.valid.iter().enumerate();
        all.filter(|(_, valid)| **valid != NO_CANDIDATE).map(|(index, _)| index as u32).collect()
    }

    /// Valid mapping units of block `index`; None where it is no candidate.
    fn valid(&self, index: usize) -> PyResult<Option<u32>> {
        let valid = self.valid.get(index).copied();
        let valid = valid.ok_or_else(|| none(index, self.valid.len()))?;
        Ok((valid != NO_CANDIDATE).then_some(valid))
    }

    /// Mapping units that the drive programmed since block `index` last changed. Only for a policy
    /// whose class says `needs_ages = True`.
    fn age(&self, index: usize) -> PyResult<u64> {
        if self.ages.is_empty() {
            return Err(PyValueError::new_err(
                "ages are known where the class says needs_ages = True",
            ));
        }
        self.ages.get(index).copied().ok_or_else(|| none(index, self.ages.len()))
    }

    /// Candidates, the one closed first in front. Only for a policy whose class says `needs_order
    /// = True`.
    #[getter]
    fn in_closing_order(&self) -> Vec<u32> {
        self.order.clone()
    }

    /// Valid units of every block as native 32-bit numbers, 2^32 - 1 for no candidate: for
    /// `numpy.frombuffer(.., "uint32")`.
    #[getter]
    fn valid_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes: Vec<u8> = self.valid.iter().flat_map(|valid| valid.to_ne_bytes()).collect();
        PyBytes::new(py, &bytes)
    }

    /// Mapping units of data that a block holds at most.
    #[getter]
    fn units(&self) -> u32 {
        self.units
    }

    fn __len__(&self) -> usize {
        self.valid.len()
    }
}

fn none(index: usize, count: usize) -> PyErr {
    PyValueError::new_err(format!("there is no block {index}: the pool has {count}, from 0"))
}

/// Things that a victim policy looks at beyond validity.
#[derive(Clone, Copy, Debug)]
pub struct Wants {
    ages: bool,
    order: bool,
}

/// A victim policy in Python.
#[derive(Debug)]
pub struct PyChooser {
    policy: Py<PyAny>,
    wants: Wants,
    calls: Arc<Calls>,
}

impl PyChooser {
    /// Things that the class of `policy` says that it looks at.
    pub fn wants(policy: &Bound<'_, PyAny>) -> PyResult<Wants> {
        let says = |name: &str| match policy.getattr_opt(name)? {
            Some(says) => says.is_truthy(),
            None => Ok(false),
        };
        if !policy.getattr("choose").is_ok_and(|choose| choose.is_callable()) {
            return Err(PyTypeError::new_err(
                "a victim policy needs a method choose(self, blocks)",
            ));
        }
        Ok(Wants { ages: says("needs_ages")?, order: says("needs_order")? })
    }

    /// A copy of it, for a drive.
    pub fn of(policy: &Py<PyAny>, wants: Wants, calls: &Arc<Calls>) -> Box<dyn Chooser> {
        Box::new(Self { policy: copied(policy, calls), wants, calls: Arc::clone(calls) })
    }
}

impl Chooser for PyChooser {
    fn choose(&mut self, candidates: &Candidates<'_>) -> Option<u32> {
        let blocks = Blocks::of(candidates, self.wants);
        let count = candidates.count();
        let chosen = self.calls.call(|py| {
            let chosen: Option<i64> =
                self.policy.call_method1(py, "choose", (Bound::new(py, blocks)?,))?.extract(py)?;
            let Some(chosen) = chosen else { return Ok(None) };
            let index = u32::try_from(chosen).ok().filter(|index| *index < count);
            match index.filter(|index| candidates.valid(*index).is_some()) {
                Some(index) => Ok(Some(index)),
                None => Err(PyValueError::new_err(format!(
                    "choose() returned {chosen}, which is no candidate: return one of \
                     blocks.candidates, or None"
                ))),
            }
        });
        // After a failure anything will do until the run has ended, as long as it can go on.
        let least = || (0..count).filter_map(|at| Some((candidates.valid(at)?, at))).min();
        chosen.unwrap_or_else(|| least().map(|(_, at)| at))
    }

    fn twin(&self) -> Box<dyn Chooser> {
        Self::of(&self.policy, self.wants, &self.calls)
    }
}

/// Methods of a strategy that a class has made its own: the others are never called.
#[derive(Clone, Copy, Debug, Default)]
pub struct Has {
    avoids: bool,
    hedges_after: bool,
    computes: bool,
    writes_at: bool,
    submitted: bool,
    completed: bool,
    wrote: bool,
    asks_all: bool,
    fails_fast: bool,
}

/// A strategy of reading an array in Python.
#[derive(Debug)]
pub struct PyStrategy {
    policy: Py<PyAny>,
    has: Has,
    calls: Arc<Calls>,
}

impl PyStrategy {
    /// The methods that the class of `policy` has made its own.
    pub fn has(policy: &Bound<'_, PyAny>) -> PyResult<Has> {
        let base = policy.py().import("manx.policies")?.getattr("ArrayStrategy")?;
        if !policy.is_instance(&base)? {
            return Err(PyTypeError::new_err(
                "a strategy is an object of a class of ArrayStrategy",
            ));
        }
        let class = policy.get_type();
        let own = |name: &str| PyResult::Ok(!class.getattr(name)?.is(&base.getattr(name)?));
        let says = |name: &str| policy.getattr(name)?.is_truthy();
        Ok(Has {
            avoids: own("avoids")?,
            hedges_after: own("hedges_after")?,
            computes: own("computes")?,
            writes_at: own("writes_at")?,
            submitted: own("submitted")?,
            completed: own("completed")?,
            wrote: own("wrote")?,
            asks_all: says("asks_all")?,
            fails_fast: says("fails_fast")?,
        })
    }

    /// A copy of it, for an array of so many members.
    pub fn of(policy: &Py<PyAny>, has: Has, members: u32, calls: &Arc<Calls>) -> Box<dyn Strategy> {
        let policy = copied(policy, calls);
        calls.call(|py| policy.call_method1(py, "begin", (members,)));
        Box::new(Self { policy, has, calls: Arc::clone(calls) })
    }

    fn ask<'py, T, Args>(&self, name: &str, args: Args) -> Option<T>
    where
        T: for<'a> FromPyObject<'a, 'a, Error: Into<PyErr>>,
        Args: for<'a> pyo3::call::PyCallArgs<'a>,
    {
        self.calls.call(|py| {
            let answer = self.policy.bind(py).call_method1(name, args)?;
            answer.extract::<T>().map_err(Into::into)
        })
    }
}

impl Clone for PyStrategy {
    fn clone(&self) -> Self {
        let policy = copied(&self.policy, &self.calls);
        Self { policy, has: self.has, calls: Arc::clone(&self.calls) }
    }
}

impl Strategy for PyStrategy {
    fn flag(&self) -> PredictableLatency {
        if self.has.fails_fast { PredictableLatency::On } else { PredictableLatency::Off }
    }

    fn flag_of_pre_reads(&self) -> PredictableLatency {
        self.flag()
    }

    fn asks_all(&self) -> bool {
        self.has.asks_all
    }

    fn avoids(&self, now: Instant, member: Member) -> Option<Duration> {
        let asked = self.has.avoids.then(|| (now.as_ns(), member.0));
        asked.and_then(|args| self.ask::<Option<u64>, _>("avoids", args)?).map(Duration::from_ns)
    }

    fn hedges_after(&self) -> Option<Duration> {
        let asked = self.has.hedges_after.then_some(());
        asked.and_then(|()| self.ask::<Option<u64>, _>("hedges_after", ())?).map(Duration::from_ns)
    }

    fn computes(&mut self, own: u64, other: u64) -> bool {
        let asked = self.has.computes.then(|| self.ask("computes", (own, other)));
        asked.flatten().unwrap_or(own >= other)
    }

    fn writes_at(&self, now: Instant, member: Member) -> Instant {
        let asked = self.has.writes_at.then(|| (now.as_ns(), member.0));
        let at = asked.and_then(|args| self.ask::<u64, _>("writes_at", args));
        at.map_or(now, |at| Instant::from_ns(at).max(now))
    }

    fn submitted(&mut self, now: Instant, member: Member, io: CommandId) {
        if self.has.submitted {
            let _: Option<()> = self.calls.call(|py| {
                let args = (now.as_ns(), member.0, io.0);
                self.policy.call_method1(py, "submitted", args).map(drop)
            });
        }
    }

    fn completed(&mut self, member: Member, io: CommandId, latency: Duration) {
        if self.has.completed {
            let _: Option<()> = self.calls.call(|py| {
                let args = (member.0, io.0, latency.as_ns());
                self.policy.call_method1(py, "completed", args).map(drop)
            });
        }
    }

    fn wrote(&mut self, bytes: u64) {
        if self.has.wrote {
            self.calls.call(|py| self.policy.call_method1(py, "wrote", (bytes,)).map(drop));
        }
    }
}
