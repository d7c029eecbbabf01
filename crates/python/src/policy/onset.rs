//! A rule in Python for when garbage collection begins.

use super::{Calls, copied};
use manx_core::ftl::{Onset, PoolSeen};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;

/// A pool, when the mark of its next GC run is wanted.
#[pyclass(frozen, name = "Pool", module = "manx._manx")]
pub struct PoolView(PoolSeen);

#[pymethods]
impl PoolView {
    /// Its number, from 0.
    #[getter]
    fn number(&self) -> u32 {
        self.0.pool.index() as u32
    }

    /// Mapping units of all its flash.
    #[getter]
    fn units(&self) -> u32 {
        self.0.units
    }

    /// Its free space, as a share of its flash.
    #[getter]
    fn free(&self) -> f64 {
        f64::from(self.0.free) / f64::from(self.0.units)
    }

    /// The scenario's soft mark, as a share of its flash.
    #[getter]
    fn soft(&self) -> f64 {
        f64::from(self.0.soft) / f64::from(self.0.units)
    }

    /// The hard mark, as a share of its flash.
    #[getter]
    fn hard(&self) -> f64 {
        f64::from(self.0.hard) / f64::from(self.0.units)
    }

    /// The share of the victim that is valid and will be copied; None at the start of the run.
    #[getter]
    fn valid(&self) -> Option<f64> {
        self.0.valid.map(|valid| f64::from(valid) / f64::from(self.0.victim))
    }

    /// Mapping units that the drive programmed so far.
    #[getter]
    fn programmed(&self) -> u64 {
        self.0.programmed
    }
}

/// A rule for when GC begins, in Python.
#[derive(Debug)]
pub struct PyOnset {
    policy: Py<PyAny>,
    calls: Arc<Calls>,
}

impl PyOnset {
    /// Whether it has the method that is called.
    pub fn check(policy: &Bound<'_, PyAny>) -> PyResult<()> {
        if policy.getattr("next").is_ok_and(|next| next.is_callable()) {
            return Ok(());
        }
        Err(PyTypeError::new_err("a policy of when GC begins needs a method next(self, pool)"))
    }

    /// A copy of it, for a drive.
    pub fn of(policy: &Py<PyAny>, calls: &Arc<Calls>) -> Box<dyn Onset> {
        Box::new(Self { policy: copied(policy, calls), calls: Arc::clone(calls) })
    }
}

impl Onset for PyOnset {
    fn next(&mut self, pool: &PoolSeen) -> u32 {
        let share = self.calls.call(|py| {
            let view = Bound::new(py, PoolView(*pool))?;
            let share: Option<f64> = self.policy.call_method1(py, "next", (view,))?.extract(py)?;
            match share {
                Some(share) if !(share > 0.0 && share < 1.0) => Err(PyValueError::new_err(format!(
                    "next() returned {share}, which is no share of free space: above 0 and below \
                     1, or None for the scenario's gc.soft"
                ))),
                share => Ok(share),
            }
        });
        // As the scenario's mark becomes pages: down.
        let units = |share: f64| (share * f64::from(pool.units)) as u32;
        share.flatten().map_or(pool.soft, units)
    }

    fn twin(&self) -> Box<dyn Onset> {
        Self::of(&self.policy, &self.calls)
    }
}
