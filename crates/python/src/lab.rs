//! Experiments, calculators, the lists of what is built in.

use crate::error::Trouble;
use crate::run::cache_of;
use crate::watch::watched;
use manx_config::{
    ALIASES, Override, POLICIES, builtin_scenario, device_names, scenario_names, workload_names,
};
use manx_core::units::{Bandwidth, Bytes, Duration, QuantityError, parse_over_provisioning};
use manx_lab::campaign::Campaign;
use manx_lab::compare::Options;
use manx_lab::experiment::{Asked, Calibrated, Experiment, Outcome, experiment_names, render};
use manx_lab::json::indented;
use manx_lab::plan::timeout::Timeout;
use manx_lab::plan::tw::GcUnit;
use manx_lab::plan::{Question, show};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::num::NonZero;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

/// Everything of a kind that is built in, as JSON: names, and a line about each.
#[pyfunction]
pub fn library(kind: &str) -> Result<String, Trouble> {
    let named = |names: Vec<&str>| Value::from(names);
    let list = match kind {
        "scenarios" => named(scenario_names().collect()),
        "devices" => named(device_names().collect()),
        "workloads" => named(workload_names().collect()),
        "experiments" => named(experiment_names().collect()),
        "policies" => POLICIES
            .iter()
            .map(|policy| {
                let (name, does) = (policy.name, policy.summary);
                json!({ "name": name, "axis": policy.axis.to_string(), "summary": does })
            })
            .chain(ALIASES.iter().map(|alias| json!({ "name": alias.name, "path": alias.path })))
            .collect(),
        _ => {
            let why = "scenarios, devices, workloads, policies or experiments";
            return Err(Trouble::Wrong(format!("kind = {kind:?} is not allowed: {why}")));
        }
    };
    Ok(list.to_string())
}

/// The text of a built-in scenario.
#[pyfunction]
pub fn scenario_text(name: &str) -> Result<String, Trouble> {
    Ok(builtin_scenario(name)?.text)
}

/// Runs an experiment, and judges its claims; a journal in `folder` remembers what was run.
#[pyfunction]
#[pyo3(signature = (name, *, folder, quick=false, sets=Vec::new(), traces=None, jobs=None,
    cache="user"))]
#[allow(clippy::too_many_arguments)] // It is called by name.
pub fn experiment(
    py: Python<'_>,
    name: &str,
    folder: &str,
    quick: bool,
    sets: Vec<String>,
    traces: Option<String>,
    jobs: Option<usize>,
    cache: &str,
) -> PyResult<(String, String)> {
    let traces = traces.map(Into::into);
    let asked = Asked { quick, sets, claims_only: false, traces, solved: Vec::new() };
    let mut experiment = Experiment::read(name, asked).map_err(Trouble::from)?;
    if let Some(first) = experiment.missing_traces().first() {
        let (name, first) = (&experiment.name, first.display());
        let why = format!("{name}: {first} is not there; traces=DIR names the folder");
        return Err(Trouble::Wrong(why).into());
    }
    let (stop, cache) = (AtomicBool::new(false), cache_of(cache));
    let journal = Path::new(folder).join("journal.jsonl");
    let jobs = jobs.and_then(NonZero::new);
    let options = Options { jobs, ..Options::plain(cache.as_ref(), &stop) };
    watched(py, &stop, |_| Ok(()), || judged(&mut experiment, &journal, &options))?
        .map_err(PyErr::from)
}

fn judged(
    experiment: &mut Experiment,
    journal: &Path,
    options: &Options<'_>,
) -> Result<(String, String), Trouble> {
    let stopped = || Trouble::Work("interrupted; the same call does the rest".to_string());
    let mut campaign = Campaign::open(journal).map_err(Trouble::Work)?;
    let mut solved = Vec::new();
    if !experiment.calibrations.is_empty() {
        match experiment.calibrate(&mut campaign, options)? {
            Calibrated::Ready(ready, found) => (*experiment, solved) = (*ready, found),
            Calibrated::Stopped(_) => return Err(stopped()),
        }
    }
    let (_, outcome) = experiment.run(&mut campaign, options)?;
    let outcome = Outcome { solved, ..outcome.ok_or_else(stopped)? };
    if let Some(run) = outcome.stuck() {
        let why = "requests were left that the drive never completed";
        return Err(Trouble::Work(format!("{run}: {why}")));
    }
    Ok((indented(&render::json(&outcome)), render::table(&outcome)))
}

/// An option of a calculator, read as the command line reads it.
fn option<T: FromStr<Err = QuantityError>>(
    options: &Bound<'_, PyDict>,
    name: &str,
) -> PyResult<Option<T>> {
    let Some(said) = options.get_item(name)?.filter(|said| !said.is_none()) else {
        return Ok(None);
    };
    let text = said.str()?.to_string();
    let read = text
        .parse()
        .map_err(|why| Trouble::Wrong(format!("{name} = {text} is not allowed: {why}")))?;
    Ok(Some(read))
}

fn plain<'py, T>(options: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    let said = options.get_item(name)?.filter(|said| !said.is_none());
    let read = said.map(|said| said.extract().map_err(Into::into));
    read.transpose()
}

/// `manx plan tw --json`, and its text.
#[pyfunction]
pub fn plan_tw(
    options: &Bound<'_, PyDict>,
    sets: Vec<(String, String, String)>,
) -> PyResult<(String, String)> {
    let op: Option<String> = match options.get_item("op")?.filter(|said| !said.is_none()) {
        Some(said) => Some(said.str()?.to_string()),
        None => None,
    };
    let op = op.map(|text| {
        parse_over_provisioning(&text)
            .map_err(|why| Trouble::Wrong(format!("op = {text} is not allowed: {why}")))
    });
    let unit: Option<String> = plain(options, "gc_unit")?;
    let unit = unit.map(|unit| match unit.as_str() {
        "block" => Ok(GcUnit::Block),
        "channel" => Ok(GcUnit::Channel),
        "plane-group" => Ok(GcUnit::PlaneGroup),
        "superblock" => Ok(GcUnit::Superblock),
        _ => Err(Trouble::Wrong(format!(
            "gc_unit = {unit} is not allowed: block, channel, plane-group or superblock"
        ))),
    });
    let sets = sets.into_iter().map(|(key, value, said)| Override::new(key, value, said));
    let question = Question {
        device: plain(options, "device")?,
        scenario: plain(options, "scenario")?,
        sets: sets.collect(),
        drives: plain(options, "n")?,
        dwpd: plain(options, "dwpd")?,
        op: op.transpose()?,
        valid: plain(options, "valid")?,
        link: option::<Bandwidth>(options, "link")?,
        burst: option::<Bandwidth>(options, "burst")?,
        reserve: option::<Bytes>(options, "reserve")?,
        unit: unit.transpose()?,
        guard: option::<Duration>(options, "guard")?,
        raid5_writes: option::<Bandwidth>(options, "raid5_writes")?,
    };
    let plan = question.answer().map_err(Trouble::from)?;
    Ok((show::document(&plan, None), show::text(&plan)))
}

/// `manx plan timeout --json`, and its text.
#[pyfunction]
pub fn plan_timeout(options: &Bound<'_, PyDict>) -> PyResult<(String, String)> {
    let missing = |name: &str| Trouble::Wrong(format!("{name} is missing: a time, such as 35ms"));
    let question = Timeout {
        gc: option(options, "gc")?.ok_or_else(|| missing("gc"))?,
        below: option(options, "writes_below")?.ok_or_else(|| missing("writes_below"))?,
    };
    let answer = question.answer().map_err(Trouble::from)?;
    Ok((question.document(&answer, None), question.text(&answer)))
}
