//! Results for the eye: text, the page, pictures.

use crate::asked::Point;
use crate::error::Trouble;
use crate::run::{Played, set_of};
use manx_config::Scenario;
use manx_lab::table::{Look, render, tail_chart, warnings};
use manx_lab::{about, explain, state};
use manx_plot::{Format, Kind, Length, Op, Plot};
use manx_report::page::Page;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::Path;

/// The table of `manx compare` in so many columns, with what must be known beside it.
#[pyfunction]
pub fn results_text(runs: Vec<PyRef<'_, Played>>, width: Option<usize>, wide: bool) -> String {
    let set = set_of(&runs);
    let look = Look { width, wide, colour: false, ascii: false };
    let first = state::first_line(&set).map_or(String::new(), |line| line + "\n");
    let states: String = state::lines(&set, false).iter().map(|line| format!("{line}\n")).collect();
    let causes = explain::summary(&set);
    format!("{first}{states}\n{}{}{causes}", render(&set, &look), tail_chart(&set, &look))
}

/// The lines above a table: whether GC had a part, and the state that the drives began in.
#[pyfunction]
pub fn results_notes(runs: Vec<PyRef<'_, Played>>) -> Vec<String> {
    let set = set_of(&runs);
    state::first_line(&set).into_iter().chain(state::lines(&set, false)).collect()
}

/// The warnings of the runs, each once, with the names of those that it is about.
#[pyfunction]
pub fn results_warnings(runs: Vec<PyRef<'_, Played>>) -> Vec<String> {
    warnings(&set_of(&runs).runs)
}

/// `manx explain` of these runs; `kind`: "all", "reads" or "writes".
#[pyfunction]
pub fn results_explain(
    runs: Vec<PyRef<'_, Played>>,
    kind: &str,
    top: usize,
) -> Result<String, Trouble> {
    let kinds = match kind {
        "all" => explain::Kinds::All,
        "reads" => explain::Kinds::Reads,
        "writes" => explain::Kinds::Writes,
        _ => {
            let why = format!("kind = {kind:?} is not allowed: \"all\", \"reads\" or \"writes\"");
            return Err(Trouble::Wrong(why));
        }
    };
    explain::explain(&set_of(&runs), kinds, top).map_err(Trouble::Wrong)
}

/// The page of these runs, which stands alone.
#[pyfunction]
pub fn results_page(
    runs: Vec<PyRef<'_, Played>>,
    workload: Option<&str>,
    command: &str,
) -> Result<String, Trouble> {
    let points = || runs.iter().filter_map(|run| Some(run.point.as_ref()?.get()));
    let known: Vec<(String, Scenario)> = points().map(Point::run).collect();
    let scenarios = points().map(|point| Ok((point.policy.clone(), point.written()?)));
    let scenarios = scenarios.collect::<Result<Vec<_>, String>>().map_err(Trouble::Work)?;
    let first = known.first().map(|(_, scenario)| scenario);
    let page = Page {
        title: &first.map(|scenario| about::title(workload, scenario)).unwrap_or_default(),
        set: &set_of(&runs),
        command,
        drives: &about::drives(&known),
        workload: &first.map(|scenario| about::workload(workload, scenario)).unwrap_or_default(),
        scenarios: &scenarios,
        claims: &[],
    };
    Ok(page.html())
}

/// A picture of these runs. `kind`: cdf, time, attribution or bars; `op`: read or write; `format`:
/// svg, pdf or png.
#[pyfunction]
#[pyo3(signature = (runs, *, kind, op, format, title=None, width="160mm", height="90mm"))]
#[allow(clippy::too_many_arguments)] // It is called by name.
pub fn results_plot<'py>(
    py: Python<'py>,
    runs: Vec<PyRef<'_, Played>>,
    kind: &str,
    op: &str,
    format: &str,
    title: Option<&str>,
    width: &str,
    height: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let wrong = |what: &str, value: &str, why: String| {
        Trouble::Wrong(format!("{what} = {value:?} is not allowed: {why}"))
    };
    let plot = Plot {
        runs: &set_of(&runs).runs,
        kind: Kind::named(kind).map_err(|why| wrong("kind", kind, why))?,
        op: Op::named(op).map_err(|why| wrong("op", op, why))?,
        title,
        width: Length::parse(width).map_err(|why| wrong("width", width, why))?,
        height: Length::parse(height).map_err(|why| wrong("height", height, why))?,
    };
    let format = Format::of(Path::new(&format!("plot.{format}")))
        .map_err(|why| wrong("format", format, why))?;
    let drawn = plot.draw(format).map_err(Trouble::Wrong)?;
    Ok(PyBytes::new(py, &drawn))
}
