//! The recorded requests of a trace.

use crate::open::opener;
use manx_core::drive::Op;
use manx_trace::{TraceError, TraceSpec, TraceSummary, survey_each};

/// Requests that are kept at most: those of the beginning.
pub const ROWS_MAX: usize = 20_000_000;

/// A request, as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// When it came (seconds).
    pub at_s: f64,
    /// How long it took (microseconds); 0 of a flush without a time.
    pub us: f64,
    /// Its kind.
    pub op: Op,
    /// First byte on its device.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
    /// Device of the trace.
    pub device: u32,
}

/// The requests that have a latency, and flushes, in the order in which they came.
pub fn read(spec: &TraceSpec) -> Result<(TraceSummary, Vec<Row>), TraceError> {
    let mut rows = Vec::new();
    let summary = survey_each(spec, &mut opener(&spec.file), &mut |record| {
        let is_flush = record.op == Op::Flush;
        if rows.len() < ROWS_MAX && (record.latency.is_some() || is_flush) {
            rows.push(Row {
                at_s: record.at.as_s_f64(),
                us: record.latency.map_or(0.0, |latency| latency.as_us_f64()),
                op: record.op,
                offset: record.lba.0 * 512,
                bytes: u64::from(record.sectors) * 512,
                device: record.device,
            });
        }
    })?;
    Ok((summary, rows))
}
