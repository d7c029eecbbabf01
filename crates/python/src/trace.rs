//! Block traces: contents and demands, and their requests as a table.

use crate::arrow::{Batch, Column, Field, PyTable, Table};
use crate::error::Trouble;
use crate::tables::{OPS, op_word};
use crate::watch::watched;
use manx_config::Override;
use manx_core::units::SECTOR;
use manx_lab::ask::{trace_overrides, trace_spec};
use manx_lab::open::opener;
use manx_lab::registry::{GetError, Registry, folder};
use manx_lab::trace_info::{to_json, trace_info};
use manx_trace::format::FORMATS;
use manx_trace::{TraceSpec, survey_each};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Rows of a batch.
const BATCH: usize = 1 << 20;

/// A trace's file and how it is read: `sets` are keys of `workload.trace`, values as TOML.
fn spec(file: &str, sets: Vec<(String, String, String)>) -> Result<TraceSpec, Trouble> {
    let mut overrides = trace_overrides(file);
    overrides.extend(sets.into_iter().map(|(key, value, said)| Override::new(key, value, said)));
    Ok(trace_spec(overrides)?)
}

/// `manx trace info --json`.
#[pyfunction]
pub fn trace_about(
    py: Python<'_>,
    file: &str,
    sets: Vec<(String, String, String)>,
) -> PyResult<String> {
    let spec = spec(file, sets)?;
    let stop = AtomicBool::new(false);
    let info = watched(py, &stop, |_| Ok(()), || trace_info(&spec, &mut |_| {}))?;
    let info = info.map_err(|error| Trouble::Wrong(error.to_string()))?;
    Ok(to_json(&[info]))
}

/// The requests of a trace, as they stand in it.
#[pyfunction]
pub fn trace_requests(
    py: Python<'_>,
    file: &str,
    sets: Vec<(String, String, String)>,
) -> PyResult<PyTable> {
    let spec = spec(file, sets)?;
    let stop = AtomicBool::new(false);
    let read = watched(
        py,
        &stop,
        |_| Ok(()),
        || {
            let (mut batches, mut rows) = (Vec::new(), Rows::default());
            survey_each(&spec, &mut opener(&spec.file), &mut |record| {
                rows.t_us.push(record.at.as_us_f64());
                rows.op.push(op_word(record.op));
                rows.offset.push((record.lba.0 * SECTOR) as i64);
                rows.bytes.push((u64::from(record.sectors) * SECTOR) as i64);
                rows.latency_us.push(record.latency.map(|latency| latency.as_us_f64()));
                rows.device.push(record.device as i32);
                if rows.op.len() == BATCH {
                    batches.push(std::mem::take(&mut rows).batch());
                }
            })
            .map(|_| {
                batches.push(rows.batch());
                batches
            })
        },
    )?;
    let batches = read.map_err(|error| Trouble::Wrong(error.to_string()))?;
    let mut fields = vec![Field::new("t_us"), Field::of_words("op", OPS.to_vec())];
    fields.extend(["offset", "bytes", "latency_us", "device"].map(Field::new));
    Ok(PyTable(Arc::new(Table::new(fields, Rows::default().batch(), batches))))
}

#[derive(Default)]
struct Rows {
    t_us: Vec<f64>,
    op: Vec<u8>,
    offset: Vec<i64>,
    bytes: Vec<i64>,
    latency_us: Vec<Option<f64>>,
    device: Vec<i32>,
}

impl Rows {
    fn batch(self) -> Batch {
        let rows = self.op.len();
        let columns = vec![
            Column::F64(self.t_us),
            Column::Word(self.op),
            Column::I64(self.offset),
            Column::I64(self.bytes),
            Column::maybe_f64(self.latency_us.iter().copied()),
            Column::I32(self.device),
        ];
        Batch { columns, rows }
    }
}

/// The formats of traces that are read, and what a trace of each is.
#[pyfunction]
pub fn trace_formats() -> Vec<(String, String)> {
    FORMATS.iter().map(|format| (format.name.to_string(), format.title.to_string())).collect()
}

fn registry(path: Option<&Path>) -> Result<Registry, GetError> {
    path.map_or_else(|| Ok(Registry::shipped()), Registry::read)
}

/// The registry of public traces as JSON; `path`: another one.
#[pyfunction]
#[pyo3(signature = (path=None))]
pub fn trace_registry(path: Option<PathBuf>) -> PyResult<String> {
    let listed = registry(path.as_deref()).map_err(Trouble::from)?;
    serde_json::to_string(&listed).map_err(|error| Trouble::Work(error.to_string()).into())
}

/// The whole, verified file of the trace `name`, in the folder `cache`, else the user's.
/// `download(url, path)` brings what is not there.
#[pyfunction]
#[pyo3(signature = (name, path, cache, download))]
pub fn trace_file(
    name: &str,
    path: Option<PathBuf>,
    cache: Option<PathBuf>,
    download: &Bound<'_, PyAny>,
) -> PyResult<PathBuf> {
    let registry = registry(path.as_deref()).map_err(Trouble::from)?;
    let entry = registry.named(name).map_err(Trouble::from)?;
    let folder = cache.or_else(folder).ok_or_else(|| {
        Trouble::Wrong("no folder to keep it in: set MANX_CACHE, or give cache=".to_string())
    })?;
    let mut raised = None;
    let file = entry.get(name, &folder, &mut |url, to| {
        let told = download.call1((url, to));
        told.map(drop).map_err(|error| {
            raised = Some(error);
            GetError::Stopped
        })
    });
    file.map_err(|error| raised.take().unwrap_or_else(|| Trouble::from(error).into()))
}
