//! Manx for Python: the native half of the package `manx`, whose other half is in `python/manx`.
//!
//! Nothing is decided here: arguments become what `manx_lab` takes, its results become objects.
//! Reading order: [`asked`] is a scenario and the runs that it makes, [`run`] does them, [`tables`]
//! and [`arrow`] hand on what they leave, [`output`] draws it; [`sweep`], [`lab`], [`fit`] and
//! [`trace`] are the other families; [`drive`] is a drive to submit to, [`policy`] are policies in
//! Python. [`watch`] keeps the interpreter free meanwhile, [`error`] tells what is wrong.

mod arrow;
mod asked;
mod drive;
mod error;
mod fit;
mod histogram;
mod lab;
mod output;
mod policy;
mod run;
mod sweep;
mod tables;
mod trace;
mod watch;

use pyo3::prelude::*;
use std::path::PathBuf;

/// Which file this module is: states and results are kept by the program that made them.
#[pyfunction]
fn set_file(file: PathBuf) {
    manx_lab::stamp::set_file(file);
}

/// Which build this is, as JSON.
#[pyfunction]
fn program() -> String {
    serde_json::to_string(&manx_lab::stamp::program()).unwrap_or_default()
}

/// The native half of `manx`.
#[pymodule]
fn _manx(module: &Bound<'_, PyModule>) -> PyResult<()> {
    manx_lab::open::set_parquet_opener(|path| Ok(Box::new(manx_parquet::open(path)?)));
    manx_lab::stamp::set_commit(option_env!("MANX_COMMIT").unwrap_or_default());
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<arrow::PyTable>()?;
    module.add_class::<asked::Asked>()?;
    module.add_class::<asked::Point>()?;
    module.add_class::<drive::Device>()?;
    module.add_class::<histogram::PyHistogram>()?;
    module.add_class::<policy::Blocks>()?;
    module.add_class::<policy::placement::Extents>()?;
    module.add_class::<policy::onset::PoolView>()?;
    module.add_class::<run::Played>()?;
    module.add_class::<sweep::Grid>()?;
    for function in [
        wrap_pyfunction!(set_file, module)?,
        wrap_pyfunction!(program, module)?,
        wrap_pyfunction!(asked::schema_scenario, module)?,
        wrap_pyfunction!(asked::schema_result, module)?,
        wrap_pyfunction!(run::play, module)?,
        wrap_pyfunction!(run::results_json, module)?,
        wrap_pyfunction!(output::results_text, module)?,
        wrap_pyfunction!(output::results_notes, module)?,
        wrap_pyfunction!(output::results_explain, module)?,
        wrap_pyfunction!(output::results_warnings, module)?,
        wrap_pyfunction!(output::results_page, module)?,
        wrap_pyfunction!(output::results_plot, module)?,
        wrap_pyfunction!(fit::fit, module)?,
        wrap_pyfunction!(lab::library, module)?,
        wrap_pyfunction!(lab::scenario_text, module)?,
        wrap_pyfunction!(lab::experiment, module)?,
        wrap_pyfunction!(lab::plan_tw, module)?,
        wrap_pyfunction!(lab::plan_timeout, module)?,
        wrap_pyfunction!(trace::trace_about, module)?,
        wrap_pyfunction!(trace::trace_requests, module)?,
        wrap_pyfunction!(trace::trace_formats, module)?,
        wrap_pyfunction!(trace::trace_registry, module)?,
        wrap_pyfunction!(trace::trace_file, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
