//! The footprint of a trace, and its packing: touched extents side by side, in address order.
//!
//! The footprint is a set of grains, in the manner of Roaring bitmaps (Chambi et al., Better bitmap
//! performance with Roaring bitmaps, 2016): space is cut into [`CHUNK`]s, and each that is touched
//! holds its grains as runs or as bits, whichever takes less. Random writes to 1 TiB take some 36
//! MB, however many there are, and a sequential trace next to nothing. The packed place of a grain
//! is its rank, the touched grains below it: chunks, runs and lines of bits each know how many are
//! before them, so it is found by bisection and a few counts of bits.

mod grains;

use grains::Grains;
use std::collections::BTreeMap;
use std::ops::Range;

/// Sectors in the grain of packing: 4 KiB, so that alignment within a page survives.
pub(super) const GRAIN: u64 = 8;

/// Grains in a chunk: 256 MiB.
const CHUNK: u64 = 1 << 16;

/// Collects touched extents, each in the address space of its device. Memory follows the footprint,
/// not the trace.
#[derive(Debug, Default)]
pub(super) struct Extents {
    /// The extent touched without a gap just now: a sequential trace is one such extent.
    open: Span,
    /// By device and number.
    chunks: BTreeMap<(u32, u64), Grains>,
    /// Extents of whole chunks, which could be millions: sorted and disjoint up to `sorted`.
    whole: Vec<Span>,
    sorted: usize,
}

/// From `start` to before `end`, in grains or chunks of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    device: u32,
    start: u64,
    end: u64,
}

impl Extents {
    pub(super) fn touch(&mut self, device: u32, lba: u64, sectors: u32) {
        let (start, end) = (lba / GRAIN, (lba + u64::from(sectors)).div_ceil(GRAIN));
        let open = &mut self.open;
        if open.device == device && open.start <= start && start <= open.end {
            open.end = open.end.max(end);
            return;
        }
        let closed = std::mem::replace(open, Span { device, start, end });
        self.close(closed);
    }

    fn close(&mut self, Span { device, start, end }: Span) {
        let whole = Span { device, start: start.div_ceil(CHUNK), end: end / CHUNK };
        if whole.start >= whole.end {
            let middle = end.min(whole.start * CHUNK);
            self.add(device, start..middle);
            self.add(device, middle..end);
            return;
        }
        self.add(device, start..whole.start * CHUNK);
        self.add(device, whole.end * CHUNK..end);
        self.whole.push(whole);
        // Merging when the list has doubled costs a constant number of sorts per extent.
        if self.whole.len() > 2 * self.sorted + (1 << 16) {
            self.merge();
        }
    }

    /// Adds a range within a chunk.
    fn add(&mut self, device: u32, range: Range<u64>) {
        if !range.is_empty() {
            let (first, last) = ((range.start % CHUNK) as u16, ((range.end - 1) % CHUNK) as u16);
            self.chunks.entry((device, range.start / CHUNK)).or_default().add(first, last);
        }
    }

    fn merge(&mut self) {
        self.whole.sort_unstable();
        self.whole.dedup_by(|next, last| {
            let joined = last.device == next.device && next.start <= last.end;
            if joined {
                last.end = last.end.max(next.end);
            }
            joined
        });
        self.sorted = self.whole.len();
    }

    /// Packs the extents of all devices, whose address spaces start at `bases`.
    pub(super) fn pack(mut self, bases: &[u64]) -> Packing {
        self.close(self.open);
        self.merge();
        let base = |device: u32| bases.get(device as usize).copied().unwrap_or(0) / GRAIN;
        let (mut parts, mut packed) = (Vec::with_capacity(self.chunks.len() + self.whole.len()), 0);
        let mut add = |device, chunk: u64, grains, count| {
            parts.push(Part { start: base(device) + chunk * CHUNK, packed, grains });
            packed += count;
        };
        let mut whole = self.whole.into_iter().peekable();
        let mut filled = Span::default();
        for ((device, chunk), grains) in self.chunks {
            while let Some(span) =
                whole.next_if(|span| (span.device, span.start) <= (device, chunk))
            {
                add(span.device, span.start, None, (span.end - span.start) * CHUNK);
                filled = span;
            }
            if filled.device != device || chunk >= filled.end {
                let ranked = grains.ranked();
                let count = ranked.count();
                add(device, chunk, Some(ranked), count);
            }
        }
        for span in whole {
            add(span.device, span.start, None, (span.end - span.start) * CHUNK);
        }
        Packing { parts, size: packed * GRAIN }
    }
}

/// A chunk, or an extent of chunks of which every grain is touched.
#[derive(Debug)]
struct Part {
    /// Its first grain, touched or not.
    start: u64,
    /// Touched grains before it.
    packed: u64,
    /// Which grains are touched; all of them, up to where the next part comes to lie, if `None`.
    grains: Option<grains::Ranked>,
}

/// Where each touched sector lies when all are packed together.
#[derive(Debug)]
pub(super) struct Packing {
    /// In address order. A chunk may reach over the start of the next device, but its touched
    /// grains do not.
    parts: Vec<Part>,
    /// The packed footprint in sectors.
    pub(super) size: u64,
}

impl Packing {
    /// The packed place of a range: the part of it that is touched, which stays in one piece since
    /// the order is kept. `None` if no part of it is.
    pub(super) fn place(&self, range: Range<u64>) -> Option<Range<u64>> {
        let start = self.position(range.start);
        let end = self.position(range.end);
        (start < end).then_some(start..end)
    }

    /// Touched sectors below `lba`.
    fn position(&self, lba: u64) -> u64 {
        let grain = lba / GRAIN;
        let after = self.parts.partition_point(|part| part.start <= grain);
        let Some(part) = after.checked_sub(1).map(|index| &self.parts[index]) else {
            return 0;
        };
        let count =
            self.parts.get(after).map_or(self.size / GRAIN, |next| next.packed) - part.packed;
        let offset = grain - part.start;
        let (below, is_touched) = match &part.grains {
            None => (offset.min(count), offset < count),
            Some(_) if offset >= CHUNK => (count, false),
            Some(grains) => grains.rank(offset as u16),
        };
        (part.packed + below) * GRAIN + if is_touched { lba % GRAIN } else { 0 }
    }
}

#[cfg(test)]
mod tests;
