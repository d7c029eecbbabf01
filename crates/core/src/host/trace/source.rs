//! A trace as a workload plays it: surveyed first, then read again for each repetition.

use super::error::Place;
use super::sniff::{Sniffed, sniff};
use super::survey::{measure, survey_extents};
use super::treat::{Fit, Placed, Treatment};
use super::{Opener, Record, Tally, TraceError, TraceReader, TraceSummary};
use crate::host::{Remap, Request, RequestSource, TraceSpec};
use crate::units::{Duration, Instant, Lba};

/// Times are scaled by a whole number of these parts: 0.1 is exact, which it is not in binary.
const SCALE_PARTS: u128 = 1_000_000_000_000;

/// The gap between repetitions of a trace that has no mean gap (one request, or all at one time).
const DEFAULT_GAP: Duration = Duration::from_us(1);

/// The requests of a trace, fitted to a device and to the times asked for.
///
/// The survey has validated every line before the first request is given out. Should the file change or become
/// unreadable between the passes, the source ends and [`TraceSource::error`] says why.
pub struct TraceSource {
    file: String,
    sniffed: Sniffed,
    open: Opener,
    reader: Option<TraceReader>,
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
    /// The scale in [`SCALE_PARTS`].
    scale: u128,
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
        let scale = scale_parts(spec)?;
        let sniffed = sniff(&spec.file, spec.format, spec.time_unit, &mut open)?;
        let (summary, extents) = match spec.remap {
            Remap::Dense => {
                let (summary, extents) = survey_extents(spec, &sniffed, &mut open)?;
                (summary, Some(extents))
            }
            _ => (measure(&spec.file, &sniffed, &mut open, &mut |_, _, _| {})?, None),
        };
        let timing = Timing::new(spec, scale, &summary)?;
        let bases: Vec<u64> = summary.devices.iter().map(|device| device.base_lba).collect();
        let fit = match (spec.remap, extents) {
            (Remap::None, _) => Fit::AsIs,
            (Remap::Dense, Some(extents)) => Fit::Dense(extents.pack(&bases)),
            (Remap::Modulo | Remap::Dense, _) => Fit::Modulo,
            (Remap::Scale, _) => Fit::Scale { span: summary.address_space_sectors },
        };
        let beyond = summary.address_space_sectors > capacity_sectors;
        let treatment = Treatment { fit, bases, capacity: capacity_sectors, altered: Tally::default() };
        let mut source = TraceSource {
            file: spec.file.clone(),
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
                Ok(None) => return TraceError::Changed { place: Place { file: self.file.as_str().into(), line: 0 } },
                Err(error) => return error,
            }
        }
    }

    fn step(&mut self) -> Result<Option<Request>, TraceError> {
        while self.pass < self.timing.passes {
            let reader = match &mut self.reader {
                Some(reader) => reader,
                none => {
                    none.insert(TraceReader::new(&self.file, self.sniffed.format, self.sniffed.unit, (self.open)()?))
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
            self.file, self.pass, self.timing.passes, self.requests
        )
    }
}

impl Timing {
    fn new(spec: &TraceSpec, scale: u128, summary: &TraceSummary) -> Result<Self, TraceError> {
        if spec.repeat == 0 {
            return Err(setting(spec, "repeat", "0".to_string(), "at least 1"));
        }
        // The mean gap, so that the seam between two passes is like any other place in the trace.
        let gap = match summary.span_ns / (summary.requests - 1).max(1) {
            0 => DEFAULT_GAP.as_ns(),
            gap => gap,
        };
        let passes = u64::from(spec.repeat);
        let timing = Timing { scale, passes, period: summary.span_ns.saturating_add(gap) };
        match timing.at(passes - 1, Duration::from_ns(summary.span_ns)) {
            Some(_) => Ok(timing),
            None => {
                let value = format!("{} with time_scale = {}", spec.repeat, spec.time_scale);
                Err(setting(spec, "repeat", value, "such that the whole replay lasts less than 584 years"))
            }
        }
    }

    /// The arrival of a record of a pass; `None` beyond the end of time.
    fn at(&self, pass: u64, at: Duration) -> Option<Instant> {
        let unscaled = u128::from(pass) * u128::from(self.period) + u128::from(at.as_ns());
        let scaled = unscaled.checked_mul(self.scale)? / SCALE_PARTS;
        u64::try_from(scaled).ok().filter(|ns| *ns < u64::MAX).map(Instant::from_ns)
    }
}

/// The time scale as a whole number of parts, so that no float is part of the state.
fn scale_parts(spec: &TraceSpec) -> Result<u128, TraceError> {
    if !(1e-9..=1e6).contains(&spec.time_scale) {
        return Err(setting(spec, "time_scale", spec.time_scale.to_string(), "from 0.000000001 to 1000000"));
    }
    Ok((spec.time_scale * SCALE_PARTS as f64).round() as u128)
}

fn setting(spec: &TraceSpec, key: &'static str, value: String, allowed: &'static str) -> TraceError {
    TraceError::Setting { file: spec.file.as_str().into(), key, value, allowed }
}

fn request(record: &Record, at: Instant, lba: u64, sectors: u32) -> Request {
    Request { at, op: record.op, lba: Lba(lba), sectors, fua: record.fua }
}
