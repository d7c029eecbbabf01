//! Bad blocks: what failed, what was retired, what is left.

use super::counters::counters;
use super::seconds;
use crate::units::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

counters! {
    /// Failed operations, retired blocks, and the spares left.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[schemars(rename = "FaultReport")]
    pub struct FaultCounters {
        /// Blocks that were bad from the start (blocks).
        level factory_bad: u64,
        /// Programs that failed (programs).
        sum program_failures: u64,
        /// Erases that failed (erases).
        sum erase_failures: u64,
        /// Of those, erases of blocks that had had their rated cycles (erases); absent where there
        /// was none.
        #[serde(default, skip_serializing_if = "super::result::is_zero")]
        sum worn_out: u64,
        /// Blocks that were retired (blocks).
        sum retired: u64,
        /// Pages copied out of blocks, or groups of them, of which one had failed (pages, in
        /// mapping units).
        sum pages_moved: u64,
        /// Pages of rows whose program failed (pages, in mapping units).
        sum pages_failed: u64,
        /// Blocks, or groups of them, that the worst pool can still lose before the drive turns
        /// read-only, at the end (blocks); negative: it has fewer than it needs.
        min spare_least: i64,
        /// Writes and deallocations that the drive refused because it was read-only; they are in no
        /// latency. One that the host sent again behind a reset counts again (commands).
        sum refused: u64,
        /// Pages in the buffer at the end for which no block was left (pages, in mapping units).
        level stranded: u64,
        /// When the drive turned read-only, from the start of the run on, warm-up included
        /// (seconds); null: never.
        #[serde(rename = "read_only_at_s", with = "seconds")]
        #[schemars(with = "Option<f64>")]
        first read_only_at: Option<Instant>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;

    #[test]
    fn two_drives_add_up_and_the_worse_one_tells() {
        let at = |ms| Some(Instant::START + Duration::from_ms(ms));
        let one = FaultCounters {
            retired: 3,
            spare_least: 4,
            read_only_at: None,
            ..FaultCounters::default()
        };
        let two = FaultCounters { retired: 5, spare_least: -1, read_only_at: at(2500), ..one };
        let three = FaultCounters { read_only_at: at(1500), ..one };
        let mut both = one;
        both.add(&two);
        assert_eq!((both.retired, both.spare_least, both.read_only_at), (8, -1, at(2500)));
        both.add(&three);
        assert_eq!(both.read_only_at, at(1500));
    }
}
