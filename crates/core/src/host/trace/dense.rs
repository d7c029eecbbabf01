//! The footprint of a trace, and its packing: touched extents side by side, in address order.

use std::ops::Range;

/// Sectors in the grain of packing: 4 KiB, so that alignment within a page survives.
pub(super) const GRAIN: u64 = 8;

/// Collects touched extents, each in the address space of its device. Memory follows the footprint, not the trace.
#[derive(Debug, Default)]
pub(super) struct Extents {
    /// (device, first grain, grain after the last); sorted and disjoint up to `sorted`.
    list: Vec<(u32, u64, u64)>,
    sorted: usize,
}

impl Extents {
    pub(super) fn touch(&mut self, device: u32, lba: u64, sectors: u32) {
        let (start, end) = (lba / GRAIN, (lba + u64::from(sectors)).div_ceil(GRAIN));
        if let Some(last) = self.list.last_mut().filter(|last| last.0 == device && last.1 <= start && start <= last.2) {
            last.2 = last.2.max(end);
            return;
        }
        self.list.push((device, start, end));
        // Merging when the list has doubled costs a constant number of sorts per extent.
        if self.list.len() > 2 * self.sorted + (1 << 16) {
            self.merge();
        }
    }

    fn merge(&mut self) {
        self.list.sort_unstable();
        self.list.dedup_by(|next, last| {
            let joined = last.0 == next.0 && next.1 <= last.2;
            if joined {
                last.2 = last.2.max(next.2);
            }
            joined
        });
        self.sorted = self.list.len();
    }

    /// Packs the extents of all devices, whose address spaces start at `bases`.
    pub(super) fn pack(mut self, bases: &[u64]) -> Packing {
        self.merge();
        let mut packed = 0;
        let mut extents = Vec::with_capacity(self.list.len());
        for (device, start, end) in self.list {
            let base = bases.get(device as usize).copied().unwrap_or(0) / GRAIN;
            extents.push(Extent { start: base + start, end: base + end, packed });
            packed += end - start;
        }
        Packing { extents, size: packed * GRAIN }
    }
}

#[derive(Clone, Copy, Debug)]
struct Extent {
    start: u64,
    end: u64,
    /// Where `start` comes to lie.
    packed: u64,
}

/// Where each touched sector lies when all are packed together.
#[derive(Debug)]
pub(super) struct Packing {
    extents: Vec<Extent>,
    /// The packed footprint in sectors.
    pub(super) size: u64,
}

impl Packing {
    /// The packed place of a range: the part of it that is touched, which stays in one piece since the order is kept.
    /// `None` if no part of it is.
    pub(super) fn place(&self, range: Range<u64>) -> Option<Range<u64>> {
        let start = self.position(range.start);
        let end = self.position(range.end);
        (start < end).then_some(start..end)
    }

    /// Touched sectors below `lba`.
    fn position(&self, lba: u64) -> u64 {
        let grain = lba / GRAIN;
        let after = self.extents.partition_point(|extent| extent.start <= grain);
        let Some(extent) = after.checked_sub(1).map(|index| self.extents[index]) else {
            return 0;
        };
        match grain < extent.end {
            true => (extent.packed + grain - extent.start) * GRAIN + lba % GRAIN,
            false => (extent.packed + extent.end - extent.start) * GRAIN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn touched_extents_lie_side_by_side_in_address_order() {
        let mut extents = Extents::default();
        extents.touch(0, 8000, 8);
        extents.touch(0, 80, 8);
        extents.touch(0, 83, 8); // straddles into the next grain
        let packing = extents.pack(&[0]);
        assert_eq!(packing.size, 24);
        assert_eq!(packing.place(80..88), Some(0..8));
        assert_eq!(packing.place(83..91), Some(3..11));
        assert_eq!(packing.place(8000..8008), Some(16..24));
        assert_eq!(packing.place(200..208), None);
        assert_eq!(packing.place(0..1 << 40), Some(0..24));
    }

    proptest! {
        /// Against a set of all touched grains: the packed place of a sector is the number of touched ones below it.
        #[test]
        fn packing_agrees_with_counting(touched in prop::collection::vec((0..2u32, 0..400u64, 1..40u32), 1..40)) {
            let bases = [0, 448];
            let (mut extents, mut grains) = (Extents::default(), BTreeSet::new());
            for (device, lba, sectors) in &touched {
                extents.touch(*device, *lba, *sectors);
                let base = bases[*device as usize];
                grains.extend((base + lba) / GRAIN..(base + lba + u64::from(*sectors)).div_ceil(GRAIN));
            }
            let packing = extents.pack(&bases);
            prop_assert_eq!(packing.size, grains.len() as u64 * GRAIN);
            for (device, lba, sectors) in touched {
                let lba = bases[device as usize] + lba;
                let start = grains.range(..lba / GRAIN).count() as u64 * GRAIN + lba % GRAIN;
                prop_assert_eq!(packing.place(lba..lba + u64::from(sectors)), Some(start..start + u64::from(sectors)));
            }
        }
    }
}
