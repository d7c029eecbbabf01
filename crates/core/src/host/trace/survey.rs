//! The first pass over a trace: every line is validated, everything is counted, and what the replay must know before
//! it starts (spans, footprint) is measured.

use super::dense::{Extents, GRAIN};
use super::sniff::{Sniffed, sniff};
use super::{Opener, TraceError, TraceFormat, TraceReader, TraceSummary, unit_is_open};
use crate::drive::Op;
use crate::host::TraceSpec;

/// Reads a trace from end to end and says what it holds. Nothing is played and no device is needed.
pub fn survey(spec: &TraceSpec, open: &mut Opener) -> Result<TraceSummary, TraceError> {
    let sniffed = sniff(&spec.file, spec.format, spec.time_unit, open)?;
    measure(&spec.file, &sniffed, open, &mut |_, _, _| {})
}

/// Like [`survey`], and collects the footprint.
pub(super) fn survey_extents(
    spec: &TraceSpec,
    sniffed: &Sniffed,
    open: &mut Opener,
) -> Result<(TraceSummary, Extents), TraceError> {
    let mut extents = Extents::default();
    let summary = measure(&spec.file, sniffed, open, &mut |device, lba, sectors| extents.touch(device, lba, sectors))?;
    Ok((summary, extents))
}

/// One pass; `touch` is told what is read or written. A trim is no use of a sector: it may cover a whole device.
pub(super) fn measure(
    file: &str,
    sniffed: &Sniffed,
    open: &mut Opener,
    touch: &mut dyn FnMut(u32, u64, u32),
) -> Result<TraceSummary, TraceError> {
    let mut reader = TraceReader::new(file, sniffed.format, sniffed.unit, open()?);
    let mut summary = TraceSummary::new(file, sniffed.format, sniffed.why.clone());
    summary.time_unit = unit_is_open(sniffed.format).then_some(sniffed.unit);
    summary.time_why = sniffed.time_why.clone();
    while let Some(record) = reader.next_record()? {
        summary.count(&record);
        if matches!(record.op, Op::Read | Op::Write) {
            touch(record.device, record.lba.0, record.sectors);
        }
    }
    (summary.first_time, summary.last_time) = reader.ends();
    summary.reordered = reader.reordered();
    let counts = reader.counts().clone();
    (summary.dropped, summary.altered, summary.skipped_lines) = (counts.dropped, counts.altered, counts.skipped_lines);
    if summary.requests == 0 {
        let held = held_instead(&summary);
        return Err(TraceError::NoRequests { file: file.into(), format: sniffed.format, held });
    }
    lay_out(&mut summary, reader.device_names());
    Ok(summary)
}

/// Lays the devices' address spaces one after the other, each on a page boundary.
fn lay_out(summary: &mut TraceSummary, names: &[String]) {
    let mut base = 0;
    for (device, name) in summary.devices.iter_mut().zip(names) {
        device.name.clone_from(name);
        device.base_lba = base;
        if device.end_lba > 0 {
            summary.address_space_sectors = base + device.end_lba;
        }
        base += device.end_lba.next_multiple_of(GRAIN);
    }
}

fn held_instead(summary: &TraceSummary) -> String {
    let wanted = match summary.format {
        TraceFormat::Blkparse => "no event with action D (issued), but ",
        TraceFormat::Msr | TraceFormat::Mqsim | TraceFormat::Ssdsim => "",
    };
    match (summary.skipped_lines.is_empty(), summary.dropped.is_empty()) {
        (false, true) => format!("{wanted}lines of {}", summary.skipped_lines),
        (true, false) => format!("{wanted}dropped {}", summary.dropped),
        (false, false) => format!("{wanted}lines of {}; dropped {}", summary.skipped_lines, summary.dropped),
        (true, true) => "no lines".to_string(),
    }
}
