//! Whether what a reader makes of a head is block I/O, or numbers of something else that happen to
//! fit its columns.
//!
//! Sensor logs, prices and counters have as many columns as traces. What sets requests apart: their
//! offsets and sizes are multiples of 512 bytes; of 4 KiB, or all off it by the same, where they
//! are counted in sectors; few sizes occur; addresses reach far and go back and forth; times do not
//! go back. A file that lacks this is refused with the reason, and read all the same where its
//! format is named.

use super::super::decode::{Entry, WIDENED};
use std::collections::{BTreeMap, BTreeSet};

/// How a format's lines can be told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Words or hashes that no other file has.
    Unmistakable,
    /// Offsets or sizes are bytes.
    Bytes,
    /// Both are sectors, which any number may be.
    Sectors,
}

/// Below so many requests, multiples are all that can be asked for.
const FEW: u64 = 10;

/// Sectors over which the addresses of more requests than that are spread at least.
const REACH: u64 = 1024;

/// And at least, where they are on no common boundary.
const FAR: u64 = 1 << 17;

/// The properties that the requests of a head share.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    requests: u64,
    /// Those that are not on whole sectors.
    widened: u64,
    /// Steps back in time, and in the addresses.
    back: [u64; 2],
    last: Option<(u128, u64)>,
    /// Requests by their place within 4 KiB.
    residues: [u64; 8],
    /// Requests whose start or size is a multiple of 4 KiB.
    round: u64,
    /// Requests by size.
    sizes: BTreeMap<u64, u64>,
    ends: Option<(u64, u64)>,
    /// Different addresses, up to [`FEW`].
    addresses: BTreeSet<u64>,
}

impl Evidence {
    pub(super) fn add_entry(&mut self, entry: &Entry<'_>) {
        self.widened += u64::from(entry.altered == Some(WIDENED));
        self.add(u128::from(entry.ticks), entry.lba, u64::from(entry.sectors));
    }

    pub(super) fn add(&mut self, time: u128, address: u64, size: u64) {
        self.requests += 1;
        if let Some((last_time, last_address)) = self.last {
            self.back[0] += u64::from(time < last_time);
            self.back[1] += u64::from(address < last_address);
        }
        self.last = Some((time, address));
        self.residues[(address % 8) as usize] += 1;
        self.round += u64::from(size > 0 && (address.is_multiple_of(8) || size.is_multiple_of(8)));
        *self.sizes.entry(size).or_default() += 1;
        let (low, high) = self.ends.unwrap_or((address, address));
        self.ends = Some((low.min(address), high.max(address)));
        if self.addresses.len() < FEW as usize {
            self.addresses.insert(address);
        }
    }

    /// Why this is hardly block I/O, if so.
    pub(super) fn doubt(&self, look: Look) -> Option<String> {
        match look {
            Look::Unmistakable => None,
            Look::Bytes => self.doubt_of_bytes(),
            Look::Sectors => self.doubt_of_sectors(),
        }
    }

    fn doubt_of_bytes(&self) -> Option<String> {
        let (odd, all) = (self.widened, self.requests);
        (odd * 2 > all).then(|| format!("{odd} of {all} offsets and sizes are no multiples of 512"))
    }

    fn doubt_of_sectors(&self) -> Option<String> {
        let all = self.requests;
        let [time_back, address_back] = self.back;
        if time_back * 4 > all {
            return Some(format!("the times go back {time_back} times in {all} lines"));
        }
        if all < FEW {
            let odd = all - self.round;
            return (odd * 2 >= all)
                .then(|| format!("{odd} of {all} lines are on no multiple of 8 sectors"));
        }
        let (low, high) = self.ends.unwrap_or_default();
        let common = self.residues.iter().copied().max().unwrap_or(0);
        let is_whole = |size: u64| size.is_multiple_of(8) || size.is_power_of_two();
        let whole: u64 = self
            .sizes
            .iter()
            .filter(|(size, _)| **size > 0 && is_whole(**size))
            .map(|(_, count)| count)
            .sum();
        let mut counts: Vec<u64> = self.sizes.values().copied().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let usual: u64 = counts.iter().take(8).sum();
        let aligned = common * 10 >= all * 6
            && whole * 10 >= all * 8
            && self.addresses.len() > 2
            && high - low >= REACH;
        let scattered = high - low >= FAR && usual * 10 >= all * 6 && address_back * 20 >= all;
        let reach = high - low;
        (!aligned && !scattered).then(|| {
            format!(
                "as sectors, {} of {all} starts are off the boundary of the others, {} \
                 of {all} sizes are neither a multiple of 8 nor a power of 2, and all \
                 lie within {reach} sectors",
                all - common,
                all - whole
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubts(lines: impl Iterator<Item = (u64, u64, u64)>) -> Option<String> {
        let mut evidence = Evidence::default();
        lines.for_each(|(time, address, size)| evidence.add(time.into(), address, size));
        evidence.doubt(Look::Sectors)
    }

    #[test]
    fn requests_on_one_boundary_or_scattered_ones_of_few_sizes_are_believed() {
        // 4 KiB behind a partition that starts at sector 63.
        assert_eq!(doubts((0..200).map(|i| (i, 63 + i * 8_000, 8 << (i % 3)))), None);
        // Financial1: at any sector, of 1 to 16 sectors.
        assert_eq!(doubts((0..200).map(|i| (i, i * 777_777 % 1_000_003, 1 + i % 7))), None);
    }

    #[test]
    fn sensors_counters_and_shuffled_lines_are_not() {
        // Temperature and humidity; a counter that only grows; air pressure and a constant.
        assert!(doubts((0..200).map(|i| (i, 20 + i % 7, 40 + i % 11))).is_some());
        assert!(doubts((0..200).map(|i| (i, 1_000_000 + i * 4_001, 1 + i % 3))).is_some());
        assert!(doubts((0..200).map(|i| (i, 1_013 + i % 3, 40))).is_some());
        assert!(doubts((0..200).map(|i| (i * 77 % 200, i * 8_000, 8))).is_some());
        assert!(doubts([(1, 2, 3), (2, 3, 4)].into_iter()).is_some());
        assert!(doubts([(1, 80, 8), (2, 160, 16)].into_iter()).is_none());
    }
}
