//! Bad blocks: what failed, what was retired, what is left.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What failed, what was retired, what is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FaultReport {
    /// Blocks that were bad from the start (blocks).
    pub factory_bad: u64,
    /// Programs that failed (programs).
    pub program_failures: u64,
    /// Erases that failed (erases).
    pub erase_failures: u64,
    /// Blocks that were retired (blocks).
    pub retired: u64,
    /// Pages copied out of blocks, or groups of them, of which one had failed (pages, in mapping units).
    pub pages_moved: u64,
    /// Pages of rows whose program failed (pages, in mapping units).
    pub pages_failed: u64,
    /// Blocks, or groups of them, that the worst pool can still lose before the drive turns read-only, at the end
    /// (blocks); negative: it has fewer than it needs.
    pub spare_least: i64,
    /// Writes and deallocations that the drive refused because it was read-only; they are in no latency (requests).
    pub refused: u64,
    /// Pages in the buffer at the end for which no block was left (pages, in mapping units).
    pub stranded: u64,
    /// When the drive turned read-only, from the start of the run on, warm-up included (seconds); null: never.
    pub read_only_at_s: Option<f64>,
}

impl FaultReport {
    /// Both drives together: counts add up; the least spare and the earliest time.
    pub(super) fn and(self, other: Self) -> Self {
        let earliest = match (self.read_only_at_s, other.read_only_at_s) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Self {
            factory_bad: self.factory_bad + other.factory_bad,
            program_failures: self.program_failures + other.program_failures,
            erase_failures: self.erase_failures + other.erase_failures,
            retired: self.retired + other.retired,
            pages_moved: self.pages_moved + other.pages_moved,
            pages_failed: self.pages_failed + other.pages_failed,
            spare_least: self.spare_least.min(other.spare_least),
            refused: self.refused + other.refused,
            stranded: self.stranded + other.stranded,
            read_only_at_s: earliest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_drives_add_up_and_the_worse_one_tells() {
        let one = FaultReport { retired: 3, spare_least: 4, read_only_at_s: None, ..FaultReport::default() };
        let two = FaultReport { retired: 5, spare_least: -1, read_only_at_s: Some(2.5), ..one };
        let three = FaultReport { read_only_at_s: Some(1.5), ..one };
        let both = one.and(two);
        assert_eq!((both.retired, both.spare_least, both.read_only_at_s), (8, -1, Some(2.5)));
        assert_eq!(both.and(three).read_only_at_s, Some(1.5));
    }
}
