//! A request: a scenario with everything that lies over it, and the runs that it makes.

use crate::error::Trouble;
use crate::policy::{Calls, PyChooser, PyOnset, PySorter, PyStrategy};
use manx_config::{Override, Scenario, Source, scenario_schema, validate};
use manx_core::sim::External;
use manx_lab::ask::{Named, comparison};
use manx_lab::load::Request;
use manx_lab::{campaign, save};
use pyo3::prelude::*;
use std::sync::Arc;

/// A scenario as it was asked for, before a policy is laid over it.
#[pyclass(frozen, module = "manx._manx")]
pub struct Asked {
    request: Request,
    workload: Option<String>,
}

#[pymethods]
impl Asked {
    /// `text` is the scenario itself, else `scenario` names it. `sets` are keys, values as TOML,
    /// and how each was said.
    #[new]
    #[pyo3(signature = (scenario, text=None, *, sets=Vec::new(), device=None, workload=None,
        trace=None, attribution=false))]
    fn new(
        scenario: &str,
        text: Option<String>,
        sets: Vec<(String, String, String)>,
        device: Option<&str>,
        workload: Option<&str>,
        trace: Option<&str>,
        attribution: bool,
    ) -> Result<Self, Trouble> {
        let sets = sets.into_iter().map(|(key, value, said)| Override::new(key, value, said));
        let named = Named { device, workload, trace, replay: Vec::new(), attribution };
        let overrides = named.overrides(sets.collect())?;
        let request = match text {
            Some(text) => Request::of(Source { file: scenario.to_string(), text }, overrides)?,
            None => Request::read(scenario, overrides)?,
        };
        let request = if trace.is_some() { request.with_trace_from_here() } else { request };
        Ok(Self { request, workload: workload.map(str::to_string) })
    }

    /// The run of the scenario as it is written.
    fn plain(&self) -> Result<Point, Trouble> {
        Ok(Point::of("as-written".to_string(), self.request.plain()?))
    }

    /// The run of the scenario as it is written, under the name of the policy that is in it.
    fn named(&self, policy: String) -> Result<Point, Trouble> {
        Ok(Point::of(policy, self.request.plain()?))
    }

    /// The run under a policy.
    fn under(&self, policy: &str) -> Result<Point, Trouble> {
        Ok(Point::of(policy.to_string(), self.request.under(policy)?))
    }

    /// The runs under each of these policies; without any, under the scenario's.
    fn comparison(&self, policies: Vec<String>) -> Result<Vec<Point>, Trouble> {
        let runs = comparison(&self.request, &policies)?;
        Ok(runs.into_iter().map(|(policy, scenario)| Point::of(policy, scenario)).collect())
    }

    /// Overrides that change nothing in these runs, in words.
    fn notes(&self, points: Vec<PyRef<'_, Point>>) -> Vec<String> {
        let runs: Vec<_> = points.iter().map(|point| point.run()).collect();
        self.request.notes(&runs)
    }

    /// The workload that was named in place of the scenario's.
    #[getter]
    fn workload(&self) -> Option<String> {
        self.workload.clone()
    }
}

/// A run that can be done: a policy's name, and the scenario with it laid over.
#[pyclass(frozen, module = "manx._manx")]
pub struct Point {
    pub policy: String,
    pub scenario: Scenario,
    /// Of a policy in Python: its calls.
    pub calls: Option<Arc<Calls>>,
}

impl Point {
    fn of(policy: String, scenario: Scenario) -> Self {
        Self { policy, scenario, calls: None }
    }

    /// The scenario as a file. A policy in Python cannot be in it, and the file says so.
    pub fn written(&self) -> Result<String, String> {
        let text = save::as_run(&self.scenario)?;
        Ok(match self.scenario.brought().next() {
            None => text,
            Some(name) => format!(
                "# Not the run of {name:?}: a policy in Python is in no file. This is the scenario \
                 without it.\n{text}"
            ),
        })
    }

    /// It, as the lab takes it.
    pub fn run(&self) -> (String, Scenario) {
        (self.policy.clone(), self.scenario.clone())
    }
}

#[pymethods]
impl Point {
    /// The policy's name.
    #[getter]
    fn policy(&self) -> &str {
        &self.policy
    }

    /// Every setting, the policy merged in, as JSON.
    fn json(&self) -> String {
        serde_json::to_string(&self.scenario).unwrap_or_default()
    }

    /// It as a file that `manx run` takes.
    fn toml(&self) -> Result<String, Trouble> {
        self.written().map_err(Trouble::Work)
    }

    /// SHA-256 of everything that determines the result, in hexadecimal.
    #[pyo3(signature = (verify=false))]
    fn key(&self, verify: bool) -> Result<String, Trouble> {
        Ok(campaign::key(&self.run(), verify)?)
    }

    /// This run with a victim policy in Python: an object with `choose(blocks)`.
    fn with_victim(&self, py: Python<'_>, name: String, policy: Py<PyAny>) -> PyResult<Self> {
        let calls = Arc::new(Calls::default());
        let (told, wants) = (Arc::clone(&calls), PyChooser::wants(policy.bind(py))?);
        let make = move || PyChooser::of(&policy, wants, &told);
        let mut scenario = self.scenario.clone();
        scenario.gc.brought = External::new(name.clone(), make);
        Self::checked(name, scenario, calls)
    }

    /// This run with a rule in Python for when GC begins: an object with `next(pool)`.
    fn with_onset(&self, py: Python<'_>, name: String, policy: Py<PyAny>) -> PyResult<Self> {
        PyOnset::check(policy.bind(py))?;
        let calls = Arc::new(Calls::default());
        let told = Arc::clone(&calls);
        let mut scenario = self.scenario.clone();
        scenario.gc.onset = External::new(name.clone(), move || PyOnset::of(&policy, &told));
        Self::checked(name, scenario, calls)
    }

    /// This run with data placement in Python: an object with `sort(extents)`. Its class says how
    /// many streams there are, and where copies go.
    fn with_sorter(&self, py: Python<'_>, name: String, policy: Py<PyAny>) -> PyResult<Self> {
        let spec = PySorter::spec(policy.bind(py))?;
        let calls = Arc::new(Calls::default());
        let told = Arc::clone(&calls);
        let mut scenario = self.scenario.clone();
        spec.lay_over(&mut scenario.ftl);
        let make = move || PySorter::of(&policy, spec, &told);
        scenario.ftl.brought = External::new(name.clone(), make);
        Self::checked(name, scenario, calls)
    }

    /// This run with a strategy of reading an array in Python.
    fn with_strategy(&self, py: Python<'_>, name: String, policy: Py<PyAny>) -> PyResult<Self> {
        let calls = Arc::new(Calls::default());
        let (told, has) = (Arc::clone(&calls), PyStrategy::has(policy.bind(py))?);
        let members = self.scenario.array.members;
        let make = move || PyStrategy::of(&policy, has, members, &told);
        let mut scenario = self.scenario.clone();
        scenario.array.brought = External::new(name.clone(), make);
        Self::checked(name, scenario, calls)
    }

    /// Times that Python was called, and the seconds that it took, by all runs of this point so
    /// far.
    #[getter]
    fn calls(&self) -> Option<(u64, f64)> {
        self.calls.as_ref().map(|calls| calls.told())
    }
}

impl Point {
    fn checked(policy: String, scenario: Scenario, calls: Arc<Calls>) -> PyResult<Self> {
        validate(&scenario).map_err(|invalid| Trouble::Input(invalid.into()))?;
        Ok(Self { policy, scenario, calls: Some(calls) })
    }
}

/// The JSON schema of a scenario.
#[pyfunction]
pub fn schema_scenario() -> String {
    serde_json::to_string(&scenario_schema()).unwrap_or_default()
}

/// The JSON schema of a result.
#[pyfunction]
pub fn schema_result() -> String {
    manx_lab::json::schema_result()
}
