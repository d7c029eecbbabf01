//! Sweeps: alone on this machine, or point by point wherever the caller likes.

use crate::arrow::{Batch, Column, Field, PyTable, Table};
use crate::asked::Point;
use crate::error::Trouble;
use crate::run::{Played, cache_of};
use crate::watch::watched;
use manx_config::Override;
use manx_lab::ask::Named;
use manx_lab::sweep::pareto::Objective;
use manx_lab::sweep::plan::{Asked, Plan};
use manx_lab::sweep::run::{Options, Progress, Swept, sweep};
use manx_lab::sweep::show::front_to_json;
use manx_lab::sweep::value::{Cell, Kind};
use manx_lab::sweep::{Quantity, cells, quantities};
use pyo3::prelude::*;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// The points of a sweep.
#[pyclass(frozen, module = "manx._manx")]
pub struct Grid {
    plan: Plan,
    named: Vec<String>,
    objectives: Vec<Objective>,
    quantities: Vec<Quantity>,
}

#[pymethods]
impl Grid {
    /// `grid` and `random` as the command line takes them.
    #[new]
    #[pyo3(signature = (scenario, *, command, sets, device, workload, trace, attribution, policies,
        grid, random, points, seeds, verify, columns, pareto))]
    #[allow(clippy::too_many_arguments)] // It is called by name, from one place.
    fn new(
        scenario: &str,
        command: String,
        sets: Vec<(String, String, String)>,
        device: Option<&str>,
        workload: Option<&str>,
        trace: Option<&str>,
        attribution: bool,
        policies: Vec<String>,
        grid: Vec<String>,
        random: Vec<String>,
        points: Option<u64>,
        seeds: Option<u64>,
        verify: bool,
        columns: Vec<String>,
        pareto: Vec<String>,
    ) -> Result<Self, Trouble> {
        let sets = sets.into_iter().map(|(key, value, said)| Override::new(key, value, said));
        let named = Named { device, workload, trace, replay: Vec::new(), attribution };
        let plan = Plan::new(Asked {
            command,
            scenario: scenario.to_string(),
            overrides: named.overrides(sets.collect())?,
            trace_from_here: trace.is_some(),
            policies,
            grid,
            random,
            points,
            seeds,
            verify,
        })?;
        let objectives = pareto.iter().map(|text| Objective::parse(text));
        let objectives = objectives.collect::<Result<Vec<_>, _>>();
        let objectives = objectives.map_err(|why| Trouble::Wrong(format!("pareto: {why}")))?;
        let quantities = quantities(&columns, &objectives, verify)?;
        Ok(Self { plan, named: columns, objectives, quantities })
    }

    /// Runs of the whole sweep.
    fn __len__(&self) -> usize {
        self.plan.rows()
    }

    /// Runs of one point: its seeds.
    #[getter]
    fn seeds(&self) -> usize {
        self.plan.seeds()
    }

    /// Point of a row, from 0.
    fn point(&self, row: usize) -> PyResult<Point> {
        if row >= self.plan.rows() {
            let rows = self.plan.rows();
            return Err(Trouble::Wrong(format!("row {row}: there are {rows}, from 0")).into());
        }
        let (policy, scenario) = self.plan.point(row).map_err(|error| {
            let what = self.plan.describe(row / self.plan.seeds());
            Trouble::Wrong(format!("{what}: {error}"))
        })?;
        Ok(Point { policy, scenario, calls: None })
    }

    /// Why points cannot be run, by their number from 0, in their order.
    fn invalid(&self, py: Python<'_>) -> PyResult<Vec<(usize, String)>> {
        let stop = AtomicBool::new(false);
        let invalid = watched(py, &stop, |_| Ok(()), || self.plan.invalid(true, &stop))?;
        let told = |(at, why): (usize, String)| (at, format!("{}: {why}", self.plan.describe(at)));
        Ok(invalid.into_iter().map(told).collect())
    }

    /// The rows of these results, each with its number, as a table.
    fn table(&self, rows: Vec<(usize, PyRef<'_, Played>)>) -> PyTable {
        let columns = self.columns();
        let rows = rows.iter().map(|(row, played)| {
            let own = self.plan.cells(row / self.plan.seeds());
            own.into_iter().chain(cells(&played.result, &self.quantities)).collect()
        });
        PyTable(Arc::new(table(&columns, &rows.collect::<Vec<Vec<Cell>>>())))
    }

    /// The whole sweep on this machine, its files in `folder`: the rows, the front as JSON,
    /// remarks, points left out and why. `progress` gets how many are done, and of how many.
    #[pyo3(signature = (folder, *, jobs, cache, skip_invalid, force, progress))]
    #[allow(clippy::too_many_arguments)] // It is called by name, from one place.
    fn run(
        &self,
        py: Python<'_>,
        folder: &str,
        jobs: Option<usize>,
        cache: &str,
        skip_invalid: bool,
        force: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Outcome> {
        let (stop, cache) = (AtomicBool::new(false), cache_of(cache));
        let moment: Mutex<Option<(usize, usize)>> = Mutex::new(None);
        let tell = |at: &Progress| {
            *moment.lock().unwrap_or_else(PoisonError::into_inner) = Some((at.done, at.total));
        };
        let tick = |py: Python<'_>| {
            let told = moment.lock().unwrap_or_else(PoisonError::into_inner).take();
            match (&progress, told) {
                (Some(progress), Some(told)) => progress.call1(py, told).map(drop),
                _ => Ok(()),
            }
        };
        let swept = watched(py, &stop, tick, || {
            let options = Options {
                jobs: jobs.and_then(NonZero::new),
                elsewhere: None,
                cache: cache.as_ref(),
                columns: &self.named,
                pareto: &self.objectives,
                skip_invalid,
                force,
                rows_kept: usize::MAX,
                stop: &stop,
                progress: &tell,
                sink: None,
            };
            sweep(&self.plan, Path::new(folder), &options)
        })?;
        let swept = swept.map_err(Trouble::from)?;
        if let Some(trouble) = &swept.trouble {
            return Err(Trouble::Work(trouble.clone()).into());
        }
        Ok(outcome(&swept))
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.columns().into_iter().map(|(name, _)| name).collect()
    }
}

impl Grid {
    fn columns(&self) -> Vec<(String, Kind)> {
        let own = [("seed".to_string(), Kind::Integer), ("outcome".to_string(), Kind::Text)];
        let numbers = self.quantities.iter().map(|of| (of.name.clone(), of.kind));
        self.plan.columns().into_iter().chain(own).chain(numbers).collect()
    }
}

/// The rows, the front as JSON, remarks, points left out and why, rows from the journal.
type Outcome = (PyTable, Option<String>, Vec<String>, Vec<(usize, String)>, usize);

fn outcome(swept: &Swept) -> Outcome {
    let rows = swept.rows.as_deref().unwrap_or_default();
    let front = swept.front.as_ref().map(front_to_json);
    let table = PyTable(Arc::new(table(&swept.columns, rows)));
    (table, front, swept.remarks.clone(), swept.skipped.clone(), swept.from_journal)
}

/// Cells as a table of typed columns.
fn table(columns: &[(String, Kind)], rows: &[Vec<Cell>]) -> Table {
    let batch = |rows: &[Vec<Cell>]| Batch {
        columns: columns
            .iter()
            .enumerate()
            .map(|(at, (_, kind))| column(rows, at, *kind))
            .collect(),
        rows: rows.len(),
    };
    let fields = columns.iter().map(|(name, _)| Field::new(name.as_str())).collect();
    Table::new(fields, batch(&[]), vec![batch(rows)])
}

fn column(rows: &[Vec<Cell>], at: usize, kind: Kind) -> Column {
    let cells = rows.iter().map(|row| &row[at]);
    match kind {
        Kind::Text => {
            let text: Vec<String> = cells.map(ToString::to_string).collect();
            Column::text(text.iter().map(String::as_str))
        }
        Kind::Integer => Column::maybe_i64(cells.map(|cell| match cell {
            Cell::Integer(value) => Some(*value),
            _ => None,
        })),
        Kind::Number => Column::maybe_f64(cells.map(Cell::number)),
        Kind::Boolean => Column::bits(cells.map(|cell| matches!(cell, Cell::Boolean(true)))),
    }
}
