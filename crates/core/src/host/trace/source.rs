//! A trace as a workload plays it: surveyed first, then read again for each repetition.

use super::error::Place;
use super::select::Selected;
use super::sniff::{Sniffed, sniff};
use super::survey::{measure, survey_extents};
use super::treat::{Fit, Placed, Treatment};
use super::{Opener, Record, Tally, TraceError, TraceSummary};
use crate::host::{Remap, Request, RequestSource, TraceSpec};
use crate::units::{Duration, Instant, Lba, SECTOR};

/// Rates are scaled by a whole number of these parts: 0.1 is exact, which it is not in binary.
const SCALE_PARTS: u128 = 1_000_000_000;

/// The gap between repetitions of a trace that has no mean gap (one request, or all at one time).
const DEFAULT_GAP: Duration = Duration::from_us(1);

/// The requests of a trace, fitted to a device and to the times asked for.
///
/// The survey has validated every line before the first request is given out. Should the file change or become
/// unreadable between the passes, the source ends and [`TraceSource::error`] says why.
pub struct TraceSource {
    spec: TraceSpec,
    sniffed: Sniffed,
    open: Opener,
    reader: Option<Selected>,
    treatment: Treatment,
    timing: Timing,
    /// Requests of one pass, as surveyed.
    requests: u64,
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
    /// Span of a pass and the gap after it.
    period: u64,
}

impl TraceSource {
    /// Surveys the trace that `open` opens and makes it playable on a device of `capacity_sectors`, as `spec` says.
    pub fn new(
        spec: &TraceSpec,
        capacity_sectors: u64,
        mut open: Opener,
    ) -> Result<(TraceSource, TraceSummary), TraceError> {
        if capacity_sectors == 0 {
            return Err(setting(spec, "device capacity", "0 sectors".to_string(), "at least one sector"));
        }
        let rate = rate_parts(spec)?;
        let sniffed = sniff(spec, &mut open)?;
        let (summary, extents) = match spec.remap {
            Remap::Dense => {
                let (summary, extents) = survey_extents(spec, &sniffed, &mut open)?;
                (summary, Some(extents))
            }
            _ => (measure(spec, &sniffed, &mut open, &mut |_| {})?, None),
        };
        let timing = Timing::new(spec, rate, &summary)?;
        let bases: Vec<u64> = summary.devices.iter().map(|device| device.base_lba).collect();
        let fit = match (spec.remap, extents) {
            (Remap::None, _) => Fit::AsIs,
            (Remap::Dense, Some(extents)) => Fit::Dense(extents.pack(&bases)),
            (Remap::Modulo | Remap::Dense, _) => Fit::Modulo,
            (Remap::Scale, _) => Fit::Scale { span: summary.address_space_sectors },
        };
        let beyond = summary.address_space_sectors > capacity_sectors;
        let grain = align_sectors(spec)?;
        let treatment = Treatment { grain, fit, bases, capacity: capacity_sectors, altered: Tally::default() };
        let mut source = TraceSource {
            spec: spec.clone(),
            sniffed,
            open,
            reader: None,
            treatment,
            timing,
            requests: summary.requests,
            read: 0,
            pass: 0,
            dropped: Tally::default(),
            error: None,
        };
        if beyond && spec.remap == Remap::None {
            return Err(source.first_beyond());
        }
        Ok((source, summary))
    }

    /// Why the source ended before its time, if it did.
    pub fn error(&self) -> Option<&TraceError> {
        self.error.as_ref()
    }

    /// Requests given out so far otherwise than the trace states them, by reason; over all repetitions.
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

    /// Sectors that the packed footprint takes (4 KiB grains); `None` unless the addresses are packed.
    pub fn footprint_sectors(&self) -> Option<u64> {
        match &self.treatment.fit {
            Fit::Dense(packing) => Some(packing.size),
            Fit::AsIs | Fit::Modulo | Fit::Scale { .. } => None,
        }
    }

    /// The error for a trace that does not fit: plays it without playing it, up to the request that is beyond.
    fn first_beyond(&mut self) -> TraceError {
        loop {
            match self.step() {
                Ok(Some(_)) => {}
                Ok(None) => {
                    return TraceError::Changed {
                        place: Place { file: self.spec.file.as_str().into(), line: 0, is_record: false },
                    };
                }
                Err(error) => return error,
            }
        }
    }

    fn step(&mut self) -> Result<Option<Request>, TraceError> {
        while self.pass < self.timing.passes {
            let reader = match &mut self.reader {
                Some(reader) => reader,
                none => {
                    let Sniffed { format, reading, .. } = self.sniffed;
                    none.insert(Selected::open(&self.spec, format, reading, &mut self.open)?)
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
                Placed::Nowhere => self.dropped.add("trim of space that nothing uses"),
                Placed::Beyond(lba) => {
                    let (place, capacity) = (reader.place(), self.treatment.capacity);
                    return Err(TraceError::Beyond { place, lba, sectors: record.sectors, capacity });
                }
            }
        }
        Ok(None)
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
        let timing = Timing { rate, passes, period: summary.span_ns.saturating_add(gap) };
        match timing.at(passes - 1, Duration::from_ns(summary.span_ns)) {
            Some(_) => Ok(timing),
            None => {
                let value = format!("{} with rate_scale = {}", spec.repeat, spec.rate_scale);
                Err(setting(spec, "repeat", value, "such that the whole replay lasts less than 584 years"))
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
        return Err(setting(spec, "rate_scale", spec.rate_scale.to_string(), "from 0.000001 to 1000000000"));
    }
    Ok((spec.rate_scale * SCALE_PARTS as f64).round() as u128)
}

/// The alignment in sectors; 1 leaves requests as they are.
fn align_sectors(spec: &TraceSpec) -> Result<u64, TraceError> {
    let sectors = spec.align.get() / SECTOR;
    if !spec.align.get().is_multiple_of(SECTOR) || sectors > 1 << 21 {
        return Err(setting(spec, "align", spec.align.to_string(), "a multiple of 512B, at most 1GiB; 0B for none"));
    }
    Ok(sectors.max(1))
}

fn setting(spec: &TraceSpec, key: &'static str, value: String, allowed: &'static str) -> TraceError {
    TraceError::Setting { file: spec.file.as_str().into(), key, value, allowed }
}

fn request(record: &Record, at: Instant, lba: u64, sectors: u32) -> Request {
    Request { at, op: record.op, lba: Lba(lba), sectors, fua: record.fua }
}
