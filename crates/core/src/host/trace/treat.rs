//! Addresses of a trace fitted to a device.
//!
//! First all devices of the trace are laid one after the other; then the remapping is applied; then a request that
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
        let range = lba..lba + u64::from(record.sectors);
        match &self.fit {
            Fit::AsIs if range.end > self.capacity => Placed::Beyond(lba),
            Fit::AsIs => Placed::At(lba, record.sectors),
            Fit::Modulo => self.fold(range),
            Fit::Dense(packing) => match packing.place(range) {
                Some(packed) => {
                    self.note(packed.start != lba, "address packed (dense)");
                    self.fold(packed)
                }
                None => Placed::Nowhere,
            },
            Fit::Scale { span } => {
                let grains = u128::from((self.capacity / GRAIN).max(1));
                let span = u128::from(span.div_ceil(GRAIN).max(1));
                let scaled = (u128::from(lba / GRAIN) * grains / span) as u64 * GRAIN + lba % GRAIN;
                self.note(scaled != lba, "address scaled");
                self.settle(scaled..scaled + u64::from(record.sectors))
            }
        }
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
        // The length is at most that of the record, or of the packed part of it, which is never longer.
        Placed::At(start, length as u32)
    }

    fn note(&mut self, happened: bool, reason: &'static str) {
        if happened {
            self.altered.add(reason);
        }
    }
}
