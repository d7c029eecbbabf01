//! Any format as a stream of records: pieces are decoded, devices numbered, times counted from the
//! first record.
//!
//! ```text
//! part ── pieces ── decoder ── spread ── reorder ┐
//! part ── ...                                    ├ merge by time ── pairs ── clock ── Record
//! ```

use super::decode::{Decoder, DeviceName, Entry, Framing, Line, Reading};
use super::devices::Devices;
use super::doubts::WENT_BACK;
use super::error::shorten;
use super::fields::is_binary;
use super::format::DECODER_HEAD;
use super::pairs::Pairs;
use super::pieces::Pieces;
use super::reorder::{Pending, Reorder};
use super::spread::{SPREAD, Spreading};
use super::{Part, Place, Record, Spread, Tally, TraceError, TraceFormat};
use manx_base::units::{Duration, Lba};
use std::sync::Arc;

/// Reads a trace record by record, in constant memory.
///
/// Records come in the order of time: what is a little out of order is sorted within a window, and
/// a time that still goes back is clamped to the one before it and counted, so that [`Record::at`]
/// never decreases ([`survey`](super::survey) refuses a trace with many such). Several parts (such
/// as the files of each CPU) are merged by time.
pub struct TraceReader {
    format: TraceFormat,
    feeds: Vec<Feed>,
    /// The next record of each feed, where there are several.
    heads: Vec<Option<Pending>>,
    /// Requests that wait for their completions, in a format that has those.
    pairs: Option<Pairs>,
    shared: Shared,
    clock: Clock,
    /// Where the record last returned stands.
    last: (usize, u64),
    /// Why it is not exactly what the file states: at most one reason of its decoder, of `spread`
    /// and of the clock.
    altered: [Option<&'static str>; 3],
}

/// State that all parts of a trace share.
#[derive(Default)]
struct Shared {
    devices: Devices,
    counts: ReadCounts,
}

/// Lines that a reader met besides records, as far as it looked ahead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadCounts {
    pub(super) dropped: Tally,
    pub(super) skipped_lines: Tally,
}

/// Expectation of a piece whose device is one too many.
const TOO_MANY_DEVICES: &str = "of a trace of at most 65536 devices (is the format right?)";

/// A line that may be cut within its last number, which nobody can know.
const NO_END: &str = "the last line of the file has no end: a number in it may be cut";

impl TraceReader {
    /// A reader of `parts`, all of one format, read as `reading` says.
    pub fn new(
        format: TraceFormat,
        reading: Reading,
        parts: Vec<Part>,
    ) -> Result<Self, TraceError> {
        let feeds = parts
            .into_iter()
            .map(|part| Feed::new(format, reading, part))
            .collect::<Result<Vec<_>, _>>()?;
        let tick = feeds.first().map_or(1, |feed| feed.decoder.tick());
        let has_completions = feeds.first().is_some_and(|feed| feed.decoder.has_completions());
        let clock = Clock { tick, first: None, last: 0, at: Duration::ZERO, back: None };
        Ok(Self {
            format,
            feeds,
            heads: Vec::new(),
            pairs: has_completions.then(|| Pairs::new(tick)),
            shared: Shared::default(),
            clock,
            last: (0, 0),
            altered: [None; 3],
        })
    }

    /// The next record, or `None` at the end of the trace. After an error the reader is of no more
    /// use.
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        let Some((part, pending)) = self.paired()? else { return Ok(None) };
        self.last = (part, pending.line);
        let Some((at, clamped)) = self.clock.read(pending.ticks, self.last) else {
            let (place, text) = (self.place(), pending.ticks.to_string());
            return Err(TraceError::Line {
                place,
                text,
                expected: "a time within 584 years of the trace's first",
            });
        };
        let clamped = clamped.then_some(WENT_BACK);
        self.altered = [pending.altered, pending.is_spread.then_some(SPREAD), clamped];
        Ok(Some(Record { at, ..pending.record }))
    }

    /// The next request in the order of time, with its latency where its completion gives that.
    #[inline]
    fn paired(&mut self) -> Result<Option<(usize, Pending)>, TraceError> {
        loop {
            if let Some(next) = self.pairs.as_mut().and_then(|pairs| pairs.pop(false)) {
                return Ok(Some(next));
            }
            let next = match self.feeds.as_mut_slice() {
                [feed] => feed.next(&mut self.shared)?.map(|pending| (0, pending)),
                _ => self.merge()?,
            };
            match (&mut self.pairs, next) {
                (None, next) => return Ok(next),
                (Some(pairs), Some((part, pending))) => pairs.push(part, pending),
                (Some(pairs), None) => return Ok(pairs.pop(true)),
            }
        }
    }

    /// The earliest of the parts' next records; of equal ones, that of the first part.
    fn merge(&mut self) -> Result<Option<(usize, Pending)>, TraceError> {
        if self.heads.is_empty() {
            for feed in &mut self.feeds {
                self.heads.push(feed.next(&mut self.shared)?);
            }
        }
        let heads = self
            .heads
            .iter()
            .enumerate()
            .filter_map(|(part, head)| Some((head.as_ref()?.ticks, part)));
        let Some((_, part)) = heads.min() else { return Ok(None) };
        let next = self.feeds[part].next(&mut self.shared)?;
        let head = std::mem::replace(&mut self.heads[part], next);
        Ok(head.map(|pending| (part, pending)))
    }

    /// The number of the line (or record) of the record last returned, from 1.
    pub fn line(&self) -> u64 {
        self.last.1
    }

    /// The place of the record last returned.
    pub(super) fn place(&self) -> Place {
        let (part, line) = self.last;
        self.feeds
            .get(part)
            .map_or(Place { file: "".into(), line, is_record: false }, |feed| feed.place(line))
    }

    /// Why the record last returned is not exactly what the file states.
    pub(super) fn altered(&self) -> impl Iterator<Item = &'static str> {
        self.altered.into_iter().flatten()
    }

    /// Records that the file holds out of time order and that were put in order, so far.
    pub fn reordered(&self) -> u64 {
        self.feeds.iter().map(|feed| feed.reorder.moved).sum()
    }

    /// The place of the first record whose time went back and was clamped, and how far the one that
    /// was farthest back lay, so far.
    pub(super) fn went_back(&self) -> Option<(Place, Duration)> {
        let ((part, line), ticks) = self.clock.back?;
        let farthest = Duration::from_ns(ticks.saturating_mul(self.clock.tick));
        Some((self.feeds.get(part)?.place(line), farthest))
    }

    /// The names of the devices met so far; a record's `device` is a place in this list.
    pub fn device_names(&self) -> &[String] {
        &self.shared.devices.names
    }

    /// The first and last time met, as the file states them, and the nanoseconds in one of it.
    pub(super) fn ends(&self) -> (u64, u64, u64) {
        (self.clock.first.unwrap_or(0), self.clock.last, self.clock.tick)
    }

    /// Requests and completions that did not find each other, by reason.
    pub(super) fn unpaired(&self) -> Tally {
        self.pairs.as_ref().map(Pairs::unpaired).unwrap_or_default()
    }

    pub(super) fn counts(&self) -> &ReadCounts {
        &self.shared.counts
    }
}

impl std::fmt::Debug for TraceReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TraceReader({}, at {})", self.format.name(), self.place())
    }
}

/// One part of a trace, decoded and in order.
struct Feed {
    file: Arc<str>,
    pieces: Pieces,
    framing: Framing,
    decoder: Box<dyn Decoder>,
    spreading: Option<Spreading>,
    reorder: Reorder,
    /// The part is read to its end; the window may still hold records.
    ended: bool,
}

impl Feed {
    fn new(format: TraceFormat, reading: Reading, part: Part) -> Result<Self, TraceError> {
        let Part { file, stream } = part;
        let mut pieces = Pieces::new(stream);
        let head = pieces.peek(DECODER_HEAD).map_err(|error| TraceError::Read {
            place: Place { file: file.clone(), line: 0, is_record: false },
            reason: error.to_string(),
        })?;
        let decoder = (format.info().decoder)(head, reading);
        // A file that ends in its header holds no record; that is found where the first is asked
        // for.
        pieces.skip(decoder.preamble()).map_err(|error| TraceError::Read {
            place: Place { file: file.clone(), line: 0, is_record: true },
            reason: error.to_string(),
        })?;
        let granularity = if reading.spread == Spread::Even { decoder.granularity() } else { 0 };
        Ok(Self {
            file,
            pieces,
            framing: decoder.framing(),
            spreading: (granularity > 0).then(|| Spreading::new(granularity)),
            reorder: Reorder::new(decoder.window()),
            decoder,
            ended: false,
        })
    }

    /// The next record in the order of time, as far as the window reaches.
    fn next(&mut self, shared: &mut Shared) -> Result<Option<Pending>, TraceError> {
        while !self.ended && !self.reorder.is_full() {
            match self.spread(shared)? {
                Some(pending) => self.reorder.push(pending),
                None => self.ended = true,
            }
        }
        Ok(self.reorder.pop())
    }

    /// The next record of the file, at its own time within its clock's tick.
    fn spread(&mut self, shared: &mut Shared) -> Result<Option<Pending>, TraceError> {
        let Some(mut spreading) = self.spreading.take() else { return self.decode(shared) };
        while spreading.wants() {
            let next = self.decode(shared)?;
            spreading.push(next);
        }
        let next = spreading.pop();
        self.spreading = Some(spreading);
        Ok(next)
    }

    /// The next request of the file, in the file's order.
    fn decode(&mut self, shared: &mut Shared) -> Result<Option<Pending>, TraceError> {
        loop {
            let line = self.pieces.number;
            if let Some(entry) = self.decoder.held() {
                return shared.pending(&entry, line).map(Some).ok_or_else(|| self.too_many(line));
            }
            let piece = match self.framing {
                Framing::Lines => self.pieces.line(),
                Framing::Records(bytes) => self.pieces.record(bytes),
            };
            let piece = match piece {
                Ok(Some(piece)) => piece,
                Ok(None) => return Ok(None),
                Err(error) => {
                    return Err(TraceError::Read {
                        place: self.place(line),
                        reason: error.to_string(),
                    });
                }
            };
            let cut = !piece.whole && (self.framing != Framing::Lines || piece.too_long);
            let decoded = if cut { None } else { self.decoder.decode(piece.bytes) };
            let request = match decoded {
                Some(Line::Request(entry)) => match shared.pending(&entry, line + 1) {
                    Some(pending) if !piece.whole => {
                        Some(Pending { altered: pending.altered.or(Some(NO_END)), ..pending })
                    }
                    Some(pending) => Some(pending),
                    None => return Err(self.too_many(line + 1)),
                },
                Some(Line::Held) => None,
                Some(Line::Completion(entry, kind)) => {
                    shared.counts.skipped_lines.add(kind);
                    Some(completion(&entry, line + 1))
                }
                Some(Line::Drop(reason)) => {
                    shared.counts.dropped.add(reason);
                    None
                }
                Some(Line::Skip(reason)) => {
                    shared.counts.skipped_lines.add(reason);
                    None
                }
                None if self.framing == Framing::Lines && piece.bytes.trim_ascii().is_empty() => {
                    shared.counts.skipped_lines.add("blank line");
                    None
                }
                None => {
                    let (bytes, whole) = (piece.bytes.to_vec(), piece.whole || piece.too_long);
                    return Err(self.malformed(&bytes, whole));
                }
            };
            if self.framing != Framing::Lines {
                self.pass_payload(line + 1)?;
            }
            if request.is_some() {
                return Ok(request);
            }
        }
    }

    fn pass_payload(&mut self, line: u64) -> Result<(), TraceError> {
        let payload = self.decoder.payload();
        match self.pieces.skip(payload) {
            Ok(true) => Ok(()),
            Ok(false) => Err(TraceError::Truncated {
                place: self.place(line),
                text: format!("a record with {payload} bytes of payload"),
                expected: "followed by all of them",
            }),
            Err(error) => {
                Err(TraceError::Read { place: self.place(line), reason: error.to_string() })
            }
        }
    }

    fn place(&self, line: u64) -> Place {
        Place { file: self.file.clone(), line, is_record: self.framing != Framing::Lines }
    }

    #[cold]
    fn too_many(&self, line: u64) -> TraceError {
        TraceError::Line {
            place: self.place(line),
            text: "one more device".into(),
            expected: TOO_MANY_DEVICES,
        }
    }

    #[cold]
    fn malformed(&self, piece: &[u8], whole: bool) -> TraceError {
        let (place, expected) = (self.place(self.pieces.number), self.decoder.expected());
        let is_text = self.framing == Framing::Lines;
        let text = if is_text { shorten(piece) } else { hexadecimal(piece) };
        match () {
            () if is_text && is_binary(piece) => TraceError::NotText { place, text },
            () if !whole => TraceError::Truncated { place, text, expected },
            () => TraceError::Line { place, text, expected },
        }
    }
}

impl Shared {
    /// The entry as a record of a numbered device, its time still open; `None` if there are too
    /// many devices.
    #[inline]
    fn pending(&mut self, entry: &Entry<'_>, line: u64) -> Option<Pending> {
        let device = self.devices.number(entry.device)?;
        let record = Record {
            at: Duration::ZERO,
            op: entry.op,
            lba: Lba(entry.lba),
            sectors: entry.sectors,
            fua: entry.fua,
            device,
            latency: entry.latency.map(Duration::from_ns),
        };
        let node = node(entry);
        let (ticks, altered) = (entry.ticks, entry.altered);
        Some(Pending { ticks, line, record, node, is_completion: false, altered, is_spread: false })
    }
}

/// The end of a request. Its device is not numbered: no request may be of it.
fn completion(entry: &Entry<'_>, line: u64) -> Pending {
    let Entry { ticks, op, lba, sectors, .. } = *entry;
    let record = Record {
        at: Duration::ZERO,
        op,
        lba: Lba(lba),
        sectors,
        fua: false,
        device: 0,
        latency: None,
    };
    Pending {
        ticks,
        line,
        record,
        node: node(entry),
        is_completion: true,
        altered: None,
        is_spread: false,
    }
}

fn node(entry: &Entry<'_>) -> u32 {
    match entry.device {
        DeviceName::Node(node) => node,
        DeviceName::Only | DeviceName::Text(_) | DeviceName::Number(_) => 0,
    }
}

/// A binary record as an error shows it.
fn hexadecimal(bytes: &[u8]) -> String {
    let shown =
        bytes.iter().take(24).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    if bytes.len() > 24 { shown + " ..." } else { shown }
}

/// Counts times from the first record.
struct Clock {
    /// Nanoseconds in a tick.
    tick: u64,
    first: Option<u64>,
    last: u64,
    at: Duration,
    /// Where a time went back first, and the farthest that one did, in ticks.
    back: Option<((usize, u64), u64)>,
}

impl Clock {
    /// The time since the first record and whether it had to be clamped; `None` if it does not fit.
    fn read(&mut self, ticks: u64, place: (usize, u64)) -> Option<(Duration, bool)> {
        // Subtract before converting: a FILETIME in nanoseconds leaves a signed 64-bit number.
        let first = *self.first.get_or_insert_with(|| {
            self.last = ticks;
            ticks
        });
        if ticks < self.last {
            let (_, farthest) = self.back.get_or_insert((place, 0));
            *farthest = (*farthest).max(self.last - ticks);
            return Some((self.at, true));
        }
        self.at = Duration::from_ns((ticks - first).checked_mul(self.tick)?);
        self.last = ticks;
        Some((self.at, false))
    }
}
