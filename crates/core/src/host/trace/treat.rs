//! Addresses of a trace fitted to a device.
//!
//! First the devices of the trace are laid out and the request is widened to the alignment; then the remapping is
//! applied; then a request that
//! straddles the end of the device is shifted down, and one that is larger than the device is cut. Every change is
//! counted.

use super::dense::{GRAIN, Packing};
use super::{Record, Tally};
use crate::drive::Op;
use std::ops::Range;

/// How addresses are fitted.
#[derive(Debug)]
pub(super) enum Fit {
    /// They fit as they are.
    AsIs,
    /// Modulo the device.
    Modulo,
    /// Touched extents packed together; modulo the device where they still exceed it.
    Dense(Packing),
    /// Stretched or shrunk from a span of so many sectors, in grains so that alignment survives.
    Scale { span: u64 },
}

/// Where a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// Here: first sector, sectors.
    At(u64, u32),
    /// Nowhere: a trim of space that nothing uses.
    Nowhere,
    /// Beyond the device, at this sector, and nothing may be changed.
    Beyond(u64),
}

/// Fits requests to a device.
#[derive(Debug)]
pub(super) struct Treatment {
    /// Sectors of the alignment; 1 is none.
    pub(super) grain: u64,
    pub(super) fit: Fit,
    /// Where each device of the trace starts.
    pub(super) bases: Vec<u64>,
    /// The device's sectors.
    pub(super) capacity: u64,
    pub(super) altered: Tally,
}

impl Treatment {
    /// The place of a record on the device; `record.device` must be one of `bases`.
    pub(super) fn place(&mut self, record: &Record) -> Placed {
        if record.op == Op::Flush {
            return Placed::At(0, 0);
        }
        let lba = record.lba.0 + self.bases[record.device as usize];
        let range = self.aligned(lba, record);
        if range.is_empty() {
            return Placed::Nowhere;
        }
        let start = range.start;
        match &self.fit {
            Fit::AsIs if range.end > self.capacity => Placed::Beyond(range.start),
            Fit::AsIs => self.settle(range),
            Fit::Modulo => self.fold(range),
            Fit::Dense(packing) => match packing.place(range) {
                Some(packed) => {
                    self.note(packed.start != start, "address packed (dense)");
                    self.fold(packed)
                }
                None => Placed::Nowhere,
            },
            Fit::Scale { span } => {
                let grains = u128::from((self.capacity / GRAIN).max(1));
                let span = u128::from(span.div_ceil(GRAIN).max(1));
                let scaled = (u128::from(start / GRAIN) * grains / span) as u64 * GRAIN + start % GRAIN;
                self.note(scaled != start, "address scaled");
                self.settle(scaled..scaled + (range.end - start))
            }
        }
    }

    /// The range widened to the alignment. A trim is narrowed: more than was given up must not be lost.
    fn aligned(&mut self, lba: u64, record: &Record) -> Range<u64> {
        let end = lba + u64::from(record.sectors);
        if (lba | end).is_multiple_of(self.grain) {
            return lba..end;
        }
        let (down, up) = (lba / self.grain * self.grain, end.next_multiple_of(self.grain));
        if record.op == Op::Trim {
            self.note(true, "trim narrowed to the alignment");
            let start = lba.next_multiple_of(self.grain);
            return start..(end / self.grain * self.grain).max(start);
        }
        self.note(true, "widened to the alignment");
        // A request of 2 TiB less a sector stays one.
        down..if up - down > u64::from(u32::MAX) { end } else { up }
    }

    fn fold(&mut self, range: Range<u64>) -> Placed {
        let start = range.start % self.capacity;
        self.note(start != range.start, "address folded modulo the device");
        self.settle(start..start + (range.end - range.start))
    }

    /// Makes a range fit before the end of the device.
    fn settle(&mut self, range: Range<u64>) -> Placed {
        let wanted = range.end - range.start;
        let length = wanted.min(self.capacity);
        self.note(length < wanted, "larger than the device: cut");
        let start = range.start.min(self.capacity - length);
        self.note(start != range.start, "shifted down from across the device's end");
        // The length is that of an aligned record, or of the packed part of it, which is never longer.
        Placed::At(start, length as u32)
    }

    fn note(&mut self, happened: bool, reason: &'static str) {
        if happened {
            self.altered.add(reason);
        }
    }
}
