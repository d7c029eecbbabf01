//! The requests of a trace one after the other, as a converter takes them.

use super::super::select::Selected;
use super::super::sniff::sniff;
use super::super::source::{rate_parts, scaled};
use super::super::survey::measure;
use super::super::{Opener, Record, TraceError, TraceSummary};
use crate::{TraceFormat, TraceSpec};
use manx_base::units::Duration;

/// Facts of a trace that a converter must know before its first request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The names of the trace's devices, by number.
    pub names: Vec<String>,
    /// Which of them have requests.
    pub used: Vec<bool>,
    /// Requests in all.
    pub requests: u64,
    /// Some request has FUA.
    pub has_fua: bool,
    /// Some request has a latency.
    pub has_latency: bool,
    /// The FILETIME of time 0, where the trace states one.
    pub filetime: Option<u64>,
}

/// Reads the requests that a spec selects, their times scaled; addresses stay the trace's own,
/// device by device.
pub struct Records {
    selected: Selected,
    rate: u128,
    /// Requests that the survey found and that are still to come.
    left: u64,
    devices: usize,
}

impl About {
    /// Reads a trace from end to end.
    pub fn survey(
        spec: &TraceSpec,
        open: &mut Opener,
    ) -> Result<(About, TraceSummary), TraceError> {
        let sniffed = sniff(spec, open)?;
        let (mut about, mut first) = (About::default(), None);
        let unmoved = TraceSpec { rebase: false, ..spec.clone() };
        let mut summary = measure(&unmoved, &sniffed, open, &mut |record| {
            first.get_or_insert(record.at.as_ns());
            about.has_fua |= record.fua;
            about.has_latency |= record.latency.is_some();
        })?;
        let base = if spec.rebase { first.unwrap_or(0) } else { 0 };
        summary.lead_ns -= base;
        about.filetime = (summary.format == TraceFormat::Msr)
            .then_some(summary.first_time + base / summary.tick_ns);
        about.names = summary.devices.iter().map(|device| device.name.clone()).collect();
        about.used = summary.devices.iter().map(|device| device.requests > 0).collect();
        about.requests = summary.requests;
        Ok((about, summary))
    }

    /// Devices with requests.
    pub fn devices(&self) -> usize {
        self.used.iter().filter(|used| **used).count()
    }
}

impl Records {
    /// Opens the trace for its second pass; `about` is what the survey found.
    pub fn open(spec: &TraceSpec, about: &About, open: &mut Opener) -> Result<Self, TraceError> {
        let rate = rate_parts(spec)?;
        let sniffed = sniff(spec, open)?;
        let selected = Selected::open(spec, sniffed.format, sniffed.reading, open)?;
        Ok(Self { selected, rate, left: about.requests, devices: about.names.len() })
    }

    /// The next request; `None` at the end. A trace that is no longer what the survey found is an
    /// error.
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        let record = self.selected.next_record()?;
        let known = record.is_none_or(|record| (record.device as usize) < self.devices);
        if record.is_some() != (self.left > 0) || !known {
            return Err(TraceError::Changed { place: self.selected.place() });
        }
        let Some(record) = record else { return Ok(None) };
        self.left -= 1;
        match scaled(record.at.as_ns().into(), self.rate) {
            Some(ns) => Ok(Some(Record { at: Duration::from_ns(ns), ..record })),
            None => Err(TraceError::Line {
                place: self.selected.place(),
                text: format!("{} ns after the first request", record.at.as_ns()),
                expected: "a time that is, scaled, within 584 years of the trace's first",
            }),
        }
    }
}
