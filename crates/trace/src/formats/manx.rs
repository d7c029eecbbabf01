//! Manx's own csv: a header line that names the columns, in any order, then one request a line.
//!
//! `t_us` is the time in microseconds with up to three decimals. What is asked stands in
//! `op,offset,bytes` (bytes) or in `rwbs,sector,nsectors` (the block layer's letters; sectors of
//! 512 bytes). `latency_us`, `device` and `fua` may follow. An op is R, W, F (flush) or D
//! (discard), or the block layer's letters for it, such as WF for a write with FUA; where those are
//! used, the flush before a write (FW) is an event of its own and is not played twice.

use super::columns::{HEADER, Row, exactly, guess_by_header, is_named};
use crate::decode::{Decoder, DeviceName, Entry, Line, ZERO_LENGTH, sectors_of};
use crate::fields::whole;
use crate::rwbs::Flags;
use crate::sniff::{Guess, Head};
use crate::{MAX_SECTOR, TraceFormat};
use manx_base::units::Op;

/// Form of a line.
const EXPECTED: &str = "a line of Manx's csv: first a header of `t_us`, either `op,offset,bytes` \
                        or `rwbs,sector,nsectors`, and perhaps `latency_us`, `device`, `fua`, each \
                        once; then as many cells, times with at most 3 decimals, op R|W|F|D, fua \
                        0|1, offsets below 64 PiB, sizes below 2 TiB";

/// The column that no other format has.
const TIME: &str = "t_us";

/// Why a write with a flush before it is not played so.
const PREFLUSH: &str = "flush before the write (F) not replayed";

/// Reads Manx's own csv.
#[derive(Default)]
pub struct Manx {
    columns: Option<Columns>,
}

/// Where the columns stand.
#[derive(Clone, Copy, Debug)]
struct Columns {
    count: usize,
    time: usize,
    op: usize,
    start: usize,
    length: usize,
    /// Start and length are sectors, and the op is the block layer's.
    is_block: bool,
    latency: Option<usize>,
    device: Option<usize>,
    fua: Option<usize>,
}

impl Decoder for Manx {
    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> Option<Line<'a>> {
        let row = Row::cut(piece, b',')?;
        match &self.columns {
            // Files put one after the other have a header each.
            Some(columns) if !is_named(row.get(columns.time), TIME) => columns.parse(&row),
            _ => {
                self.columns = Some(Columns::of(&row)?);
                Some(Line::Skip(HEADER))
            }
        }
    }

    fn expected(&self) -> &'static str {
        EXPECTED
    }
}

/// Knows the format by its column for the time; what else is wrong with the header, the reader
/// says.
pub fn recognise(head: &Head<'_>) -> Option<Guess> {
    let row = Row::cut(head.lines.first()?, b',')?;
    row.place_of(TIME).map(|_| guess_by_header(TraceFormat::Manx))
}

impl Columns {
    fn of(row: &Row<'_>) -> Option<Self> {
        let triple = |names: [&str; 3]| {
            let [op, start, length] = names.map(|name| row.place_of(name));
            Some((op?, start?, length?))
        };
        let is_block = row.place_of("rwbs").is_some();
        let names =
            if is_block { ["rwbs", "sector", "nsectors"] } else { ["op", "offset", "bytes"] };
        let (op, start, length) = triple(names)?;
        let columns = Self {
            count: row.count(),
            time: row.place_of(TIME)?,
            op,
            start,
            length,
            is_block,
            latency: row.place_of("latency_us"),
            device: row.place_of("device"),
            fua: row.place_of("fua"),
        };
        // A misspelt, doubled or contradictory column must not be passed over.
        let known = 4 + [columns.latency, columns.device, columns.fua].iter().flatten().count();
        (known == columns.count).then_some(columns)
    }

    fn parse<'a>(&self, row: &Row<'a>) -> Option<Line<'a>> {
        if row.count() != self.count {
            return None;
        }
        let ticks = exactly(row.get(self.time), 3)?;
        let latency = match self.latency.map(|place| row.get(place)) {
            None | Some(b"") => None,
            Some(latency) => Some(exactly(latency, 3)?),
        };
        let device = match self.device.map(|place| row.get(place)) {
            None => DeviceName::Only,
            Some(b"") => return None,
            Some(name) => DeviceName::Text(name),
        };
        let fua = match self.fua.map(|place| row.get(place)) {
            None | Some(b"0") => false,
            Some(b"1") => true,
            Some(_) => return None,
        };
        let Some(flags) = self.flags(row.get(self.op))? else {
            return Some(Line::Drop(
                "request of a kind that is not replayed (zone management or newer)",
            ));
        };
        let flush = Entry { latency, ..Entry::flush(ticks).on(device) };
        let (start, length) = (row.get(self.start), row.get(self.length));
        if flags.op == Op::Flush {
            // A flush has no range; its sector may be 2^64 - 1.
            let is_blank = |cell: &[u8]| cell.is_empty() || whole(cell).is_some();
            return (is_blank(start) && is_blank(length)).then_some(Line::Request(flush));
        }
        let (start, length) = (whole(start)?, whole(length)?);
        match length {
            0 if flags.preflush => return Some(Line::Request(flush)),
            0 => return Some(Line::Drop(ZERO_LENGTH)),
            _ if flags.dataless => return Some(Line::Drop("event without a direction (N)")),
            _ => {}
        }
        let (lba, sectors, widened) = self.range(start, length)?;
        // Trims have no FUA.
        let fua = (flags.fua || fua) && flags.op != Op::Trim;
        let altered = widened.or(flags.preflush.then_some(PREFLUSH));
        Some(Line::Request(Entry { op: flags.op, lba, sectors, fua, altered, ..flush }))
    }

    /// Flags of the letters: `None` if they are none of the format's, `Some(None)` if they are some
    /// that nobody plays.
    fn flags(&self, letters: &[u8]) -> Option<Option<Flags>> {
        let flags = Flags::read(letters);
        match self.is_block {
            true => {
                (!letters.is_empty() && letters.iter().all(u8::is_ascii_uppercase)).then_some(flags)
            }
            // Words such as READ or RW are none of the letters, although they begin with one.
            false => {
                let rest = letters.get(1..).unwrap_or_default();
                let known = rest.iter().enumerate().all(|(place, letter)| match letter {
                    b'F' | b'U' | b'A' | b'S' | b'M' | b'B' => true,
                    b'W' => place == 0 && letters[0] == b'F',
                    _ => false,
                });
                let first = matches!(letters.first(), Some(b'R' | b'W' | b'F' | b'D'));
                (first && known && flags.is_some()).then_some(flags)
            }
        }
    }

    fn range(&self, start: u64, length: u64) -> Option<(u64, u32, Option<&'static str>)> {
        match self.is_block {
            true => (start < MAX_SECTOR).then_some((start, u32::try_from(length).ok()?, None)),
            false => sectors_of(start, length),
        }
    }
}

#[cfg(test)]
#[path = "manx_tests.rs"]
mod tests;
