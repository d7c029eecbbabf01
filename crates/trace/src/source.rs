//! A trace as a workload plays it: surveyed first, then read again for each repetition.

use super::dense::Extents;
use super::select::Selected;
use super::sniff::{Sniffed, sniff};
use super::survey::{measure, survey_extents};
use super::treat::{Fit, Placed, Treatment};
use super::{Opener, Record, Tally, TraceError, TraceSummary};
use crate::{Layout, Remap, TraceSpec};
use manx_base::units::{Duration, Instant, Lba, SECTOR};
use manx_base::{Request, RequestSource};

/// Rates are scaled by a whole number of these parts: 0.1 is exact, which it is not in binary.
const SCALE_PARTS: u128 = 1_000_000_000;

/// The gap between repetitions of a trace that has no mean gap (one request, or all at one time).
const DEFAULT_GAP: Duration = Duration::from_us(1);

/// The requests of a trace, fitted to a device and to the times asked for.
///
/// The survey has validated every line before the first request is given out. Should the file
/// change or become unreadable between the passes, the source ends and [`TraceSource::error`] says
/// why.
pub struct TraceSource {
    spec: TraceSpec,
    sniffed: Sniffed,
    open: Opener,
    reader: Option<Selected>,
    treatment: Treatment,
    timing: Timing,
    /// Requests of one pass, as surveyed.
    requests: u64,
    /// The one device whose requests are given out; all where `None`.
    only: Option<u32>,
    /// Requests read in this pass.
    read: u64,
    pass: u64,
    dropped: Tally,
    error: Option<TraceError>,
}

/// When requests arrive: scaled, and shifted from pass to pass.
#[derive(Clone, Copy, Debug)]
struct Timing {
    /// The multiple of the trace's own rate, in [`SCALE_PARTS`].
    rate: u128,
    passes: u64,
    /// Time of a pass, from its start, and the gap after it.
    period: u64,
}

impl TraceSource {
    /// Surveys the trace that `open` opens and makes it playable on a device of `capacity_sectors`,
    /// as `spec` says.
    pub fn new(
        spec: &TraceSpec,
        capacity_sectors: u64,
        mut open: Opener,
    ) -> Result<(TraceSource, TraceSummary), TraceError> {
        let rate = rate_parts(spec)?;
        let sniffed = sniff(spec, &mut open)?;
        let (summary, extents) = match spec.remap {
            Remap::Dense => {
                let (summary, extents) = survey_extents(spec, &sniffed, &mut open, None)?;
                (summary, Some(extents))
            }
            _ => (measure(spec, &sniffed, &mut open, &mut |_| {})?, None),
        };
        let timing = Timing::new(spec, rate, &summary)?;
        let plan = Plan { spec, capacity: capacity_sectors, sniffed, timing };
        let source = plan.source(&summary, None, extents, open)?;
        Ok((source, summary))
    }

    /// One source for each device of which requests are selected, each for a drive of its own of
    /// `capacity_sectors`; and what the trace holds. The selection, the time base and the
    /// repetition are those of the trace as a whole, so the devices keep their distances in time.
    /// `open` makes an opener for each.
    pub fn each_device(
        spec: &TraceSpec,
        capacity_sectors: u64,
        open: &mut dyn FnMut() -> Opener,
    ) -> Result<(Vec<TraceSource>, TraceSummary), TraceError> {
        let spec = &TraceSpec { layout: Layout::Separate, ..spec.clone() };
        let (rate, mut opener) = (rate_parts(spec)?, open());
        let sniffed = sniff(spec, &mut opener)?;
        let summary = measure(spec, &sniffed, &mut opener, &mut |_| {})?;
        let timing = Timing::new(spec, rate, &summary)?;
        let plan = Plan { spec, capacity: capacity_sectors, sniffed, timing };
        let mut sources = Vec::new();
        for (device, _) in (0..).zip(&summary.devices).filter(|(_, device)| device.requests > 0) {
            let mut opener = open();
            let extents = match spec.remap {
                Remap::Dense => {
                    Some(survey_extents(spec, &plan.sniffed, &mut opener, Some(device))?.1)
                }
                _ => None,
            };
            sources.push(plan.source(&summary, Some(device), extents, opener)?);
        }
        Ok((sources, summary))
    }

    /// Why the source ended before its time, if it did.
    pub fn error(&self) -> Option<&TraceError> {
        self.error.as_ref()
    }

    /// Requests given out so far otherwise than the trace states them, by reason; over all
    /// repetitions.
    pub fn altered(&self) -> &Tally {
        &self.treatment.altered
    }

    /// Requests not given out so far because of the treatment, by reason.
    pub fn dropped(&self) -> &Tally {
        &self.dropped
    }

    /// Requests in all repetitions together, before any is dropped by the treatment.
    pub fn total_requests(&self) -> u64 {
        self.requests.saturating_mul(self.timing.passes)
    }

    /// Sectors that the packed footprint takes (4 KiB grains); `None` unless the addresses are
    /// packed.
    pub fn footprint_sectors(&self) -> Option<u64> {
        match &self.treatment.fit {
            Fit::Dense(packing) => Some(packing.size),
            Fit::AsIs | Fit::Modulo | Fit::Scale { .. } => None,
        }
    }

    /// The error for a trace that does not fit: plays one pass without playing it, up to the
    /// request that is beyond. `None` if there is none, since a trim that is narrowed may end
    /// before the device does.
    fn first_beyond(&mut self) -> Option<TraceError> {
        while self.pass == 0 {
            match self.step() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => return Some(error),
            }
        }
        (self.reader, self.read, self.pass) = (None, 0, 0);
        (self.dropped, self.treatment.altered) = Default::default();
        None
    }

    fn step(&mut self) -> Result<Option<Request>, TraceError> {
        while self.pass < self.timing.passes {
            let reader = match &mut self.reader {
                Some(reader) => reader,
                none => {
                    let Sniffed { format, reading, .. } = self.sniffed;
                    let selected = Selected::open(&self.spec, format, reading, &mut self.open)?;
                    none.insert(selected.only(self.only))
                }
            };
            let Some(record) = reader.next_record()? else {
                if self.read != self.requests {
                    return Err(TraceError::Changed { place: reader.place() });
                }
                (self.reader, self.read, self.pass) = (None, 0, self.pass + 1);
                continue;
            };
            self.read += 1;
            if self.read > self.requests || record.device as usize >= self.treatment.bases.len() {
                return Err(TraceError::Changed { place: reader.place() });
            }
            match self.treatment.place(&record) {
                Placed::At(lba, sectors) => {
                    let Some(at) = self.timing.at(self.pass, record.at) else {
                        return Err(TraceError::Changed { place: reader.place() });
                    };
                    return Ok(Some(request(&record, at, lba, sectors)));
                }
                Placed::Nowhere(reason) => self.dropped.add(reason),
                Placed::Beyond(lba) => {
                    let (place, capacity) = (reader.place(), self.treatment.capacity);
                    return Err(TraceError::Beyond {
                        place,
                        lba,
                        sectors: record.sectors,
                        capacity,
                    });
                }
            }
        }
        Ok(None)
    }
}

/// Parameters that the sources of a trace have in common.
struct Plan<'a> {
    spec: &'a TraceSpec,
    capacity: u64,
    sniffed: Sniffed,
    timing: Timing,
}

impl Plan<'_> {
    /// The source of all devices, or of only one.
    fn source(
        &self,
        summary: &TraceSummary,
        only: Option<u32>,
        extents: Option<Extents>,
        open: Opener,
    ) -> Result<TraceSource, TraceError> {
        let Self { spec, capacity, .. } = *self;
        if capacity == 0 {
            return Err(setting(
                spec,
                "device capacity",
                "0 sectors".to_string(),
                "at least one sector",
            ));
        }
        let one = only.and_then(|only| summary.devices.get(only as usize));
        let requests = one.map_or(summary.requests, |device| device.requests);
        let space = one.map_or(summary.address_space_sectors, |device| device.end_lba);
        let bases: Vec<u64> = summary.devices.iter().map(|device| device.base_lba).collect();
        let fit = match (spec.remap, extents) {
            (Remap::None, _) => Fit::AsIs,
            (Remap::Dense, Some(extents)) => Fit::Dense(extents.pack(&bases)),
            (Remap::Modulo | Remap::Dense, _) => Fit::Modulo,
            (Remap::Scale, _) => Fit::Scale { span: space },
        };
        let grain = align_sectors(spec)?;
        let mut source = TraceSource {
            spec: spec.clone(),
            sniffed: self.sniffed.clone(),
            open,
            reader: None,
            treatment: Treatment { grain, fit, bases, capacity, altered: Tally::default() },
            timing: self.timing,
            requests,
            only,
            read: 0,
            pass: 0,
            dropped: Tally::default(),
            error: None,
        };
        // A widened request may reach beyond a device that holds the trace as it is.
        let may_be_beyond = spec.remap == Remap::None && space.next_multiple_of(grain) > capacity;
        match may_be_beyond.then(|| source.first_beyond()).flatten() {
            Some(error) => Err(error),
            None => Ok(source),
        }
    }
}

impl RequestSource for TraceSource {
    fn next_request(&mut self) -> Option<Request> {
        if self.error.is_some() {
            return None;
        }
        self.step().unwrap_or_else(|error| {
            self.error = Some(error);
            None
        })
    }
}

impl std::fmt::Debug for TraceSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "TraceSource({}, pass {} of {}, {} requests each)",
            self.spec.file, self.pass, self.timing.passes, self.requests
        )
    }
}

impl Timing {
    fn new(spec: &TraceSpec, rate: u128, summary: &TraceSummary) -> Result<Self, TraceError> {
        if spec.repeat == 0 {
            return Err(setting(spec, "repeat", "0".to_string(), "at least 1"));
        }
        // The mean gap, so that the seam between two passes is like any other place in the trace.
        let gap = match summary.span_ns / (summary.requests - 1).max(1) {
            0 => DEFAULT_GAP.as_ns(),
            gap => gap,
        };
        let passes = u64::from(spec.repeat);
        // Where the first request keeps its distance from the start of the trace, it does so in
        // each pass.
        let last = summary.lead_ns.saturating_add(summary.span_ns);
        let timing = Timing { rate, passes, period: last.saturating_add(gap) };
        match timing.at(passes - 1, Duration::from_ns(last)) {
            Some(_) => Ok(timing),
            None => {
                let value = format!("{} with rate_scale = {}", spec.repeat, spec.rate_scale);
                Err(setting(
                    spec,
                    "repeat",
                    value,
                    "such that the whole replay lasts less than 584 years",
                ))
            }
        }
    }

    /// The arrival of a record of a pass; `None` beyond the end of time.
    fn at(&self, pass: u64, at: Duration) -> Option<Instant> {
        let unscaled = u128::from(pass) * u128::from(self.period) + u128::from(at.as_ns());
        scaled(unscaled, self.rate).map(Instant::from_ns)
    }
}

/// Nanoseconds at a multiple of their own rate, in [`SCALE_PARTS`]; `None` beyond the end of time.
pub(super) fn scaled(ns: u128, rate: u128) -> Option<u64> {
    let scaled = ns.checked_mul(SCALE_PARTS)? / rate;
    u64::try_from(scaled).ok().filter(|ns| *ns < u64::MAX)
}

/// The rate scale as a whole number of parts, so that no float is part of the state.
pub(super) fn rate_parts(spec: &TraceSpec) -> Result<u128, TraceError> {
    if !(1e-6..=1e9).contains(&spec.rate_scale) {
        return Err(setting(
            spec,
            "rate_scale",
            spec.rate_scale.to_string(),
            "from 0.000001 to 1000000000",
        ));
    }
    Ok((spec.rate_scale * SCALE_PARTS as f64).round() as u128)
}

/// The alignment in sectors; 1 leaves requests as they are.
pub(super) fn align_sectors(spec: &TraceSpec) -> Result<u64, TraceError> {
    let sectors = spec.align.get() / SECTOR;
    if !spec.align.get().is_multiple_of(SECTOR) || sectors > 1 << 21 {
        return Err(setting(
            spec,
            "align",
            spec.align.to_string(),
            "a multiple of 512B, at most 1GiB; 0B for none",
        ));
    }
    Ok(sectors.max(1))
}

fn setting(
    spec: &TraceSpec,
    key: &'static str,
    value: String,
    allowed: &'static str,
) -> TraceError {
    TraceError::Setting { file: spec.file.as_str().into(), key, value, allowed }
}

fn request(record: &Record, at: Instant, lba: u64, sectors: u32) -> Request {
    Request { at, op: record.op, lba: Lba(lba), sectors, fua: record.fua, stream: 0 }
}
