//! Addresses of a trace fitted to a device.
//!
//! First the devices of the trace are laid out (on multiples of the alignment) and the request is
//! widened to the alignment; then the remapping is applied, which keeps the alignment; then a
//! request that straddles the end of the device is shifted down, and one that is larger than the
//! device is cut. Every change is counted.

use super::dense::{GRAIN, Packing};
use super::{Record, Tally};
use manx_base::units::Op;
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
    /// Nowhere, and why.
    Nowhere(&'static str),
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
            return Placed::Nowhere("trim smaller than the alignment");
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
                None => Placed::Nowhere("trim of space that nothing uses"),
            },
            Fit::Scale { span } => {
                let grain = grain_of_layout(self.grain);
                let grains = u128::from((self.capacity / grain).max(1));
                let span = u128::from(span.div_ceil(grain).max(1));
                let scaled =
                    (u128::from(start / grain) * grains / span) as u64 * grain + start % grain;
                self.note(scaled != start, "address scaled");
                self.settle(scaled..scaled + (range.end - start))
            }
        }
    }

    /// The range widened to the alignment. A trim is narrowed: more than was given up must not be
    /// lost.
    fn aligned(&mut self, lba: u64, record: &Record) -> Range<u64> {
        let asked = lba..lba + u64::from(record.sectors);
        if record.op == Op::Trim {
            let start = asked.start.next_multiple_of(self.grain);
            let range = start..(asked.end / self.grain * self.grain).max(start);
            self.note(range != asked && !range.is_empty(), "trim narrowed to the alignment");
            return range;
        }
        let range = widened(asked.clone(), self.grain);
        self.note(range != asked, "widened to the alignment");
        range
    }

    fn fold(&mut self, range: Range<u64>) -> Placed {
        // Modulo whole grains, where there is one: otherwise the alignment would not survive.
        let grains = self.capacity / self.grain * self.grain;
        let start = range.start % if grains > 0 { grains } else { self.capacity };
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
        // The length is that of an aligned record, or of the packed part of it, which is never
        // longer.
        Placed::At(start, length as u32)
    }

    fn note(&mut self, happened: bool, reason: &'static str) {
        if happened {
            self.altered.add(reason);
        }
    }
}

/// A range widened to multiples of the alignment; one that no request could then hold (2 TiB) stays
/// as it is.
pub(super) fn widened(range: Range<u64>, grain: u64) -> Range<u64> {
    let wide = range.start / grain * grain..range.end.next_multiple_of(grain);
    if wide.end - wide.start > u64::from(u32::MAX) { range } else { wide }
}

/// Devices are laid out, and addresses scaled, on multiples of this, so that pages and the
/// alignment survive.
pub(super) fn grain_of_layout(align: u64) -> u64 {
    let (mut a, mut b) = (align, GRAIN);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    align / a * GRAIN
}
