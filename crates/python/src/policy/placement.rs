//! Data placement in Python: which stream each extent of addresses belongs to.

use super::{Calls, copied};
use manx_core::ftl::{DataPlacement, FtlSpec, Sorter, StreamCopies};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

/// The extents of a drive, when their streams are wanted.
#[pyclass(frozen, module = "manx._manx")]
pub struct Extents {
    writes: Vec<u32>,
    streams: Vec<u8>,
}

#[pymethods]
impl Extents {
    /// Of each extent: mapping units that the host wrote in it since the last decision.
    #[getter]
    fn writes(&self) -> Vec<u32> {
        self.writes.clone()
    }

    /// These counts as native 32-bit numbers: for `numpy.frombuffer(.., "uint32")`.
    #[getter]
    fn writes_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes: Vec<u8> = self.writes.iter().flat_map(|count| count.to_ne_bytes()).collect();
        PyBytes::new(py, &bytes)
    }

    /// Of each extent: its stream, as decided last; 0 at the start.
    #[getter]
    fn streams<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.streams)
    }

    fn __len__(&self) -> usize {
        self.writes.len()
    }
}

/// Numbers that a class says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    streams: u32,
    extent: u32,
    period: u64,
    copies: StreamCopies,
}

impl Spec {
    /// The drive keeps so many streams apart.
    pub fn lay_over(self, ftl: &mut FtlSpec) {
        ftl.placement = DataPlacement::Stream;
        (ftl.streams, ftl.stream_copies) = (self.streams, self.copies);
    }
}

/// Data placement in Python.
#[derive(Debug)]
pub struct PySorter {
    policy: Py<PyAny>,
    spec: Spec,
    calls: Arc<Calls>,
}

impl PySorter {
    /// Numbers that the class of `policy` says.
    pub fn spec(policy: &Bound<'_, PyAny>) -> PyResult<Spec> {
        if !policy.getattr("sort").is_ok_and(|sort| sort.is_callable()) {
            return Err(PyTypeError::new_err(
                "a policy of data placement needs a method sort(self, extents)",
            ));
        }
        let number = |name: &str, most: u64| {
            let value = policy.getattr(name)?;
            let number = value.extract::<u64>().ok().filter(|number| (1..=most).contains(number));
            number.ok_or_else(|| {
                PyValueError::new_err(format!(
                    "{name} = {value} is not allowed: a whole number from 1 to {most}"
                ))
            })
        };
        let copies = match policy.getattr("copies")?.to_string().as_str() {
            "own" => StreamCopies::Own,
            "shared" => StreamCopies::Shared,
            other => {
                let why = format!("copies = {other:?} is not allowed: \"own\" or \"shared\"");
                return Err(PyValueError::new_err(why));
            }
        };
        Ok(Spec {
            streams: number("streams", u64::from(u8::MAX))? as u32,
            extent: number("extent", u64::from(u32::MAX))? as u32,
            period: number("period", u64::MAX / 2)?,
            copies,
        })
    }

    /// A copy of it, for a drive.
    pub fn of(policy: &Py<PyAny>, spec: Spec, calls: &Arc<Calls>) -> Box<dyn Sorter> {
        Box::new(Self { policy: copied(policy, calls), spec, calls: Arc::clone(calls) })
    }
}

impl Sorter for PySorter {
    fn extent(&self) -> u32 {
        self.spec.extent
    }

    fn period(&self) -> u64 {
        self.spec.period
    }

    fn sort(&mut self, writes: &[u32], streams: &mut [u8]) {
        let extents = Extents { writes: writes.to_vec(), streams: streams.to_vec() };
        let wanted = streams.len();
        let decided = self.calls.call(|py| {
            let answer = self.policy.call_method1(py, "sort", (Bound::new(py, extents)?,))?;
            let answer = answer.bind(py);
            if answer.is_none() {
                return Ok(None);
            }
            // Any numbers, those of numpy too.
            let numbers = answer.try_iter()?.map(|number| number?.extract::<u64>());
            let answer = numbers.collect::<PyResult<Vec<_>>>()?;
            let most = u64::from(self.spec.streams) - 1;
            if answer.len() != wanted {
                return Err(PyValueError::new_err(format!(
                    "sort() returned {} streams and there are {wanted} extents: one for each, or \
                     None to change nothing",
                    answer.len()
                )));
            }
            match answer.iter().find(|stream| **stream > most) {
                Some(stream) => Err(PyValueError::new_err(format!(
                    "sort() returned stream {stream}, which is not allowed: from 0 to {most}"
                ))),
                None => Ok(Some(answer)),
            }
        });
        let Some(decided) = decided.flatten() else { return };
        for (stream, decided) in streams.iter_mut().zip(decided) {
            *stream = decided as u8;
        }
    }

    fn twin(&self) -> Box<dyn Sorter> {
        Self::of(&self.policy, self.spec, &self.calls)
    }
}
