//! Interface of a format's reader: a decoder of one piece of the file at a time.
//!
//! Contract: a decoder keeps what it must know from piece to piece (a header's columns, the time so
//! far) in bounded memory, never panics whatever the bytes, and counts nothing itself: the
//! [`Line`]s that it returns say what was dropped, skipped or altered, and [`super::TraceReader`]
//! counts them.

use super::{LbaUnit, Spread, TimeUnit, TraceEvent};
use manx_base::units::Op;

/// How a stream is cut into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Lines of text.
    Lines,
    /// Binary records of so many bytes; [`Decoder::payload`] may follow each.
    Records(usize),
}

/// Choices that a format leaves open, as the user gave or the sniffer found them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The unit of the times; the format's own where `None`.
    pub time: Option<TimeUnit>,
    /// The unit of addresses and sizes; the format's own where `None`.
    pub lba: Option<LbaUnit>,
    /// Which of a request's events is its record, in traces of the block layer.
    pub event: TraceEvent,
    /// Treatment of requests within a tick of a clock of whole seconds.
    pub spread: Spread,
}

/// Reads the pieces of one format.
pub trait Decoder: Send {
    /// How the stream is cut; asked once.
    fn framing(&self) -> Framing {
        Framing::Lines
    }

    /// Bytes at the beginning of the file that are passed over: the header of a file of records.
    fn preamble(&self) -> usize {
        0
    }

    /// Nanoseconds in one of [`Entry::ticks`].
    fn tick(&self) -> u64 {
        1
    }

    /// Ticks in which the format's clock stands still (0: it never does), such as the second of a
    /// clock that has whole seconds. Requests of one such span are spread evenly over it.
    fn granularity(&self) -> u64 {
        0
    }

    /// True if requests get their latencies from the completions among the pieces
    /// ([`Line::Completion`]).
    fn has_completions(&self) -> bool {
        false
    }

    /// How many records may pass between the place of a record in the file and its place in time.
    fn window(&self) -> usize {
        512
    }

    /// Meaning of one piece; `None` if it is none of this format.
    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>>;

    /// Bytes after the record just decoded that belong to it and are passed over.
    fn payload(&self) -> usize {
        0
    }

    /// A request that the decoder held back until now, such as a write after the flush before it.
    /// Asked before every piece until there is none, and at the end of the file.
    fn held(&mut self) -> Option<Entry<'_>> {
        None
    }

    /// Form of a piece, for the error that shows one that has another.
    fn expected(&self) -> &'static str;
}

/// A request, before its device is numbered and its time counted from the first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Time in the decoder's [`Decoder::tick`].
    pub ticks: u64,
    /// Its kind.
    pub op: Op,
    /// First sector.
    pub lba: u64,
    /// Number of sectors; 0 for a flush, and only for a flush.
    pub sectors: u32,
    /// Force unit access.
    pub fua: bool,
    /// The device.
    pub device: DeviceName<'a>,
    /// How long it took where it was recorded, in nanoseconds.
    pub latency: Option<u64>,
    /// Why the request is not exactly what the piece says, if so.
    pub altered: Option<&'static str>,
}

/// The name of a device, in the form that costs the format least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceName<'a> {
    /// The file is of one device and does not name it.
    Only,
    /// As text.
    Text(&'a [u8]),
    /// A number.
    Number(u64),
    /// A device number of Linux: major << 20 | minor.
    Node(u32),
}

/// Meaning of one piece of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    /// A request.
    Request(Entry<'a>),
    /// A request that [`Decoder::held`] will give, once more is known of it.
    Held,
    /// The end of a request of the same device, operation and range; counted as skipped, of this
    /// kind.
    Completion(Entry<'a>, &'static str),
    /// A request that is not played, and why.
    Drop(&'static str),
    /// Not a request, as the format foresees: which kind of piece.
    Skip(&'static str),
}

/// A request that starts or ends within a sector.
pub const WIDENED: &str = "not on 512-byte sectors: widened to whole ones";

/// A request without a byte.
pub const ZERO_LENGTH: &str = "request of zero length";

/// A range of bytes as whole sectors: first sector, sectors, and why it is not exactly the range if
/// it is not. `None` where no device has such a range (see [`super::MAX_SECTOR`]), or it is empty.
pub fn sectors_of(offset: u64, bytes: u64) -> Option<(u64, u32, Option<&'static str>)> {
    use manx_base::units::SECTOR;
    let lba = offset / SECTOR;
    if lba >= super::MAX_SECTOR || bytes == 0 {
        return None;
    }
    let end = offset.checked_add(bytes)?.div_ceil(SECTOR);
    let sectors = u32::try_from(end - lba).ok()?;
    Some((lba, sectors, (!(offset | bytes).is_multiple_of(SECTOR)).then_some(WIDENED)))
}

impl<'a> Entry<'a> {
    /// A request with a range, without FUA and a latency, on the file's only device.
    pub fn new(ticks: u64, op: Op, lba: u64, sectors: u32) -> Self {
        Self {
            ticks,
            op,
            lba,
            sectors,
            fua: false,
            device: DeviceName::Only,
            latency: None,
            altered: None,
        }
    }

    /// A flush, on the file's only device.
    pub fn flush(ticks: u64) -> Self {
        Self::new(ticks, Op::Flush, 0, 0)
    }

    /// This request on another device.
    pub fn on(self, device: DeviceName<'a>) -> Self {
        Self { device, ..self }
    }
}
