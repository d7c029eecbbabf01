//! A device fitted to measurements.

use crate::error::Trouble;
use crate::watch::watched;
use manx_core::units::Bytes;
use manx_lab::measure::{DriveState, Measurement};
use manx_lab::twin::{
    self, Journal, Known, Moment, Settings, Stage, TwinError, capacity_is_allowed, document, files,
    text,
};
use pyo3::prelude::*;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

impl From<TwinError> for Trouble {
    fn from(error: TwinError) -> Self {
        match error {
            TwinError::Config(error) => Self::Input(error),
            TwinError::Run(error) => error.into(),
            error => Self::Wrong(error.to_string()),
        }
    }
}

/// The table of the device, its scenario, the report as JSON and as text, and whether it was
/// stopped before its end.
type Fitted = (String, String, String, String, bool);

/// How a fit is asked for: one field for each option of `manx fit`.
#[derive(FromPyObject)]
pub struct Options {
    name: String,
    base: String,
    state: Option<String>,
    hold_out: String,
    known: Vec<String>,
    capacity: Option<String>,
    seed: u64,
    requests: u64,
    evaluations: usize,
    jobs: Option<usize>,
}

/// Fits a device to the measurements of `measured`; the journal at `journal` remembers what was
/// simulated. `progress` gets points simulated, and a few words.
#[pyfunction]
#[pyo3(signature = (measured, options, journal, progress=None))]
pub fn fit(
    py: Python<'_>,
    measured: Vec<String>,
    options: Options,
    journal: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Fitted> {
    let wrong = |key: &'static str, said: &str, why: String| {
        Trouble::Wrong(format!("{key} = {said:?} is not allowed: {why}"))
    };
    let name = twin::named(&options.name).map_err(|why| wrong("name", &options.name, why))?;
    let of = options.hold_out.parse();
    let hold_out = of.map_err(|why| wrong("hold_out", &options.hold_out, why))?;
    let known: Vec<Known> = options
        .known
        .iter()
        .map(|said| said.parse().map_err(|why| wrong("known", said, why)))
        .collect::<Result<_, _>>()?;
    let state = |said: &String| said.parse::<DriveState>().map_err(|why| wrong("state", said, why));
    let state = options.state.as_ref().map(state).transpose()?;
    let capacity = |said: &String| {
        said.parse::<Bytes>().map_err(|error| wrong("capacity", said, error.to_string()))
    };
    let capacity = options.capacity.as_ref().map(capacity).transpose()?;
    capacity.map_or(Ok(()), capacity_is_allowed).map_err(Trouble::from)?;
    let read = |file: &String| Measurement::read(file, state);
    let measurements: Vec<_> = measured
        .iter()
        .map(read)
        .collect::<Result<_, _>>()
        .map_err(|error| Trouble::from(TwinError::from(error)))?;
    let journal = Journal::open(Path::new(journal)).map_err(Trouble::Work)?;
    let stop = AtomicBool::new(false);
    let moment: Mutex<Option<(usize, Stage)>> = Mutex::new(None);
    let lock = || moment.lock().unwrap_or_else(PoisonError::into_inner);
    let tell = |at: &Moment| *lock() = Some((at.evaluations, at.stage));
    let tick = |py: Python<'_>| match (&progress, lock().take()) {
        (Some(progress), Some((done, stage))) => {
            progress.call1(py, (done, stage.to_string())).map(drop)
        }
        _ => Ok(()),
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let settings = Settings {
        measurements: &measurements,
        name: &name,
        base: &options.base,
        seed: options.seed,
        requests: options.requests,
        evaluations: options.evaluations,
        hold_out: &hold_out,
        known: &known,
        threads: options.jobs.unwrap_or(cores),
        stop: &stop,
        tell: &tell,
    };
    let twin = watched(py, &stop, tick, || twin::fit(&settings, &journal))?;
    let twin = twin.map_err(Trouble::from)?;
    let file = |path: &String| {
        Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned()
    };
    let names: Vec<String> = measured.iter().map(file).collect();
    let made = files(&twin, capacity, &names).map_err(Trouble::from)?;
    let (report, told) = (document(&twin, &measurements), text(&twin, &measurements));
    Ok((made.device, made.scenario, report, told, twin.is_partial))
}
