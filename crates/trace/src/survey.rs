//! The first pass over a trace: every line is validated, everything is counted, and what the replay
//! must know before it starts (spans, footprint) is measured.

use super::dense::Extents;
use super::doubts::refuse_disorder;
use super::select::Selected;
use super::sniff::{Sniffed, sniff};
use super::source::align_sectors;
use super::summary::recorded_span;
use super::treat::{grain_of_layout, widened};
use super::{Opener, Record, TraceError, TraceSummary};
use crate::{Layout, TraceSpec};
use manx_base::units::Op;

/// Reads what is selected of a trace from end to end and says what it holds. Nothing is played, no
/// device is needed.
pub fn survey(spec: &TraceSpec, open: &mut Opener) -> Result<TraceSummary, TraceError> {
    survey_each(spec, open, &mut |_| {})
}

/// Like [`survey`], and shows each request that is selected, in order.
pub fn survey_each(
    spec: &TraceSpec,
    open: &mut Opener,
    each: &mut dyn FnMut(&Record),
) -> Result<TraceSummary, TraceError> {
    let sniffed = sniff(spec, open)?;
    measure(spec, &sniffed, open, each)
}

/// Like [`survey`], and collects the footprint: of all devices, or `only` of one.
pub(super) fn survey_extents(
    spec: &TraceSpec,
    sniffed: &Sniffed,
    open: &mut Opener,
    only: Option<u32>,
) -> Result<(TraceSummary, Extents), TraceError> {
    let mut extents = Extents::default();
    let grain = align_sectors(spec)?;
    // A trim is no use of a sector: it may cover a whole device.
    let summary = measure(spec, sniffed, open, &mut |record| {
        if matches!(record.op, Op::Read | Op::Write)
            && only.is_none_or(|only| only == record.device)
        {
            let range = widened(record.lba.0..record.lba.0 + u64::from(record.sectors), grain);
            let device = if spec.layout == Layout::Concat { record.device } else { 0 };
            extents.touch(device, range.start, (range.end - range.start) as u32);
        }
    })?;
    Ok((summary, extents))
}

/// One pass.
pub(super) fn measure(
    spec: &TraceSpec,
    sniffed: &Sniffed,
    open: &mut Opener,
    each: &mut dyn FnMut(&Record),
) -> Result<TraceSummary, TraceError> {
    let mut selected = Selected::open(spec, sniffed.format, sniffed.reading, open)?;
    let mut summary = TraceSummary::new(&spec.file, sniffed);
    summary.layout = spec.layout;
    while let Some(record) = selected.next_record()? {
        summary.count(&record);
        each(&record);
    }
    let reader = &selected.reader;
    (summary.first_time, summary.last_time, summary.tick_ns) = reader.ends();
    summary.reordered = reader.reordered();
    let counts = reader.counts().clone();
    (summary.dropped, summary.skipped_lines) = (counts.dropped, counts.skipped_lines);
    summary.dropped.merge(&selected.dropped);
    summary.altered.merge(&selected.altered);
    summary.is_cut = selected.is_cut();
    summary.unpaired = reader.unpaired();
    summary.recorded_span =
        (summary.recorded.count() > 0).then(|| recorded_span(sniffed.format, spec.event));
    let missing = selected.missing_devices();
    // Where the selection ends before the file does, a device may come later, so it is only noted.
    if !missing.is_empty() && (!summary.is_cut || summary.requests == 0) {
        let known = reader.device_names().to_vec();
        return Err(TraceError::NoSuchDevice { file: spec.file.as_str().into(), missing, known });
    }
    if summary.requests == 0 {
        let (file, held) = (spec.file.as_str().into(), held_instead(&summary, spec));
        return Err(TraceError::NoRequests { file, format: sniffed.format, held });
    }
    refuse_disorder(&summary, reader)?;
    summary.devices_not_met = missing;
    lay_out(
        &mut summary,
        reader.device_names(),
        spec.layout,
        grain_of_layout(align_sectors(spec)?),
    );
    Ok(summary)
}

/// Lays the devices' address spaces one after the other, each on a boundary of pages and of the
/// alignment, or upon each other.
fn lay_out(summary: &mut TraceSummary, names: &[String], layout: Layout, grain: u64) {
    let mut base = 0;
    summary.devices.resize_with(names.len().max(summary.devices.len()), Default::default);
    for (device, name) in summary.devices.iter_mut().zip(names) {
        device.name.clone_from(name);
        device.base_lba = base;
        if device.end_lba > 0 {
            summary.address_space_sectors =
                summary.address_space_sectors.max(base + device.end_lba);
        }
        if layout == Layout::Concat {
            base += device.end_lba.next_multiple_of(grain);
        }
    }
}

fn held_instead(summary: &TraceSummary, spec: &TraceSpec) -> String {
    let wanted = match summary.format.info().has_events {
        true => format!("no {} event (`--event` chooses another), but ", spec.event.name()),
        false => String::new(),
    };
    match (summary.skipped_lines.is_empty(), summary.dropped.is_empty()) {
        (false, true) => format!("{wanted}lines of {}", summary.skipped_lines),
        (true, false) => format!("{wanted}dropped {}", summary.dropped),
        (false, false) => {
            format!("{wanted}lines of {}; dropped {}", summary.skipped_lines, summary.dropped)
        }
        (true, true) => "nothing inside the window that was asked for".to_string(),
    }
}
