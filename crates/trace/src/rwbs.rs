//! The rwbs column of the block layer's traces: what a request is, in letters (blkparse(1), kernel
//! `blk_fill_rwbs`).

use super::MAX_SECTOR;
use super::decode::{DeviceName, Entry, Line, ZERO_LENGTH};
use manx_base::units::Op;

/// A command that the host passed to the device as it is.
pub const PASS_THROUGH: &str = "pass-through command without a range";

/// A kind of request that is newer than this reader.
pub const UNKNOWN_KIND: &str = "event of a kind that is not replayed (zone management or newer)";

/// Why a write with a flush before it is not played so.
pub const PREFLUSH: &str = "flush before the write (F) not replayed";

/// Flags of the column: `[F]` preflush, one of R W D F N, then any of `F` FUA, `A` ahead, `S` sync,
/// `M` meta, `B` barrier, `E` erase.
pub struct Flags {
    /// A flush goes before it.
    pub preflush: bool,
    /// Kind of request.
    pub op: Op,
    /// Neither a read nor a write (N).
    pub dataless: bool,
    /// Force unit access.
    pub fua: bool,
}

impl Flags {
    /// Reads the column; `None` for a kind that is not known.
    pub fn read(flags: &[u8]) -> Option<Self> {
        let (preflush, rest) = match flags {
            [b'F', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let (op, dataless, rest) = match rest {
            [b'R', rest @ ..] => (Op::Read, false, rest),
            [b'W', rest @ ..] => (Op::Write, false, rest),
            [b'D', rest @ ..] => (Op::Trim, false, rest),
            [b'F', rest @ ..] => (Op::Flush, false, rest),
            [b'N', rest @ ..] if preflush => (Op::Flush, true, rest),
            [b'N', rest @ ..] => (Op::Read, true, rest),
            [] if preflush => (Op::Flush, true, rest),
            _ => return None,
        };
        // A barrier (kernels before 2.6.37) ordered and made durable; FUA is what is left of it.
        let fua = op == Op::Write && rest.iter().any(|b| matches!(b, b'F' | b'B'));
        Some(Self { preflush, op, dataless, fua })
    }

    /// The request with these flags; `None` where no device has its range.
    #[inline]
    pub fn request<'a>(
        &self,
        ticks: u64,
        device: DeviceName<'a>,
        lba: u64,
        sectors: u32,
    ) -> Option<Line<'a>> {
        let entry = Entry::flush(ticks).on(device);
        match (self.op, sectors) {
            // A flush has no range; its sector may be 2^64 - 1.
            (Op::Flush, _) => Some(Line::Request(entry)),
            (_, 0) if self.preflush => Some(Line::Request(entry)),
            (_, 0) => Some(Line::Drop(ZERO_LENGTH)),
            (_, _) if lba >= MAX_SECTOR => None,
            (_, _) if self.dataless => Some(Line::Drop("event without a direction (N)")),
            (op, _) => {
                // The block layer issues the flush before such a write as an event of its own. Of
                // what is queued, `AfterFlush` makes both.
                let altered = self.preflush.then_some(PREFLUSH);
                Some(Line::Request(Entry { op, lba, sectors, fua: self.fua, altered, ..entry }))
            }
        }
    }
}

/// Queued writes with a flush before them: one event is two requests, the flush and then the write.
#[derive(Default)]
pub struct AfterFlush {
    /// The write that waits for its flush to be taken.
    write: Option<Entry<'static>>,
}

impl AfterFlush {
    /// The flush of such a write, which then waits in [`AfterFlush::held`]; anything else as it is.
    pub fn split(&mut self, line: Line<'static>) -> Line<'static> {
        match line {
            Line::Request(entry) if entry.altered == Some(PREFLUSH) => {
                self.write = Some(Entry { altered: None, ..entry });
                Line::Request(Entry::flush(entry.ticks).on(entry.device))
            }
            line => line,
        }
    }

    /// The same, where the write is `altered`.
    pub fn split_altered(
        &mut self,
        line: Line<'static>,
        altered: Option<&'static str>,
    ) -> Line<'static> {
        let line = self.split(line);
        if let Some(write) = &mut self.write {
            write.altered = altered;
        }
        line
    }

    /// The write whose flush was given.
    pub fn held(&mut self) -> Option<Entry<'static>> {
        self.write.take()
    }
}
