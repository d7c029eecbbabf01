//! What the drive counts while it works: plain numbers, one addition each.
//!
//! Each counts from the drive's start. The measured part of a run is the difference to a copy taken when the warm-up
//! ended (`since`). Wear is not a difference: it is the state of the blocks at the end.

use serde::{Deserialize, Serialize};

/// What garbage collection did, and to whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GcCounters {
    /// Reads with any nanosecond of GC in their latency.
    pub blocked_reads: u64,
    /// Reads that found GC at work when they were split into flash operations (the ttFlash code's metric).
    pub blocked_at_split_reads: u64,
    /// Victims reclaimed.
    pub runs: u64,
    /// Pages copied.
    pub pages_copied: u64,
    /// Victims reclaimed at or below the critical watermark of free space, before the host's requests.
    pub forced: u64,
    /// Blocks reclaimed at no cost by the `nogc` baseline; in none of the other counters.
    pub free_reclaims: u64,
    /// Nanoseconds of the longest GC run up to its erase.
    pub copying_max_ns: u64,
    /// What the fullest pool held at its fullest, in millionths of its raw pages.
    pub used_max_millionths: u64,
}

/// What was done to the flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlashCounters {
    /// Pages written by the host, in mapping units.
    pub host_pages_written: u64,
    /// Pages programmed for whatever reason, in mapping units.
    pub pages_programmed: u64,
    /// Of those, pages without data, programmed to fill a program unit.
    pub pages_padded: u64,
    /// Of those, pages of checkpoints of the map, in mapping units.
    pub checkpoint_pages: u64,
    /// Checkpoints of the map that came to be whole.
    pub checkpoints: u64,
    /// Pages read for whatever reason, in mapping units.
    pub pages_read: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Times an erase or a program was suspended.
    pub suspensions: u64,
    /// The most suspensions that one erase suffered.
    pub suspensions_per_erase_max: u64,
    /// Nanoseconds of erase pulses that were given up and had to be repeated.
    pub aborted_pulse_ns: u64,
    /// Voltage ramps of erases beyond the one of each step.
    pub extra_ramps: u64,
    /// Of the suspensions, those of programs.
    pub program_suspensions: u64,
    /// The most suspensions that one program suffered.
    pub suspensions_per_program_max: u64,
    /// Nanoseconds of programs' phases that were given up and had to be repeated.
    pub aborted_phase_ns: u64,
    /// Erases that were held back for reads.
    pub erases_held: u64,
    /// Nanoseconds for which they were.
    pub erases_held_ns: u64,
    /// The most of one erase.
    pub erases_held_max_ns: u64,
}

/// What the write buffer did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct BufferCounters {
    /// Reads served from the buffer (pages).
    pub read_hits: u64,
    /// Writes that replaced a page still in the buffer (pages).
    pub write_hits: u64,
    /// Writes that waited for room (requests).
    pub stalls: u64,
    /// Flash pages read because a write covered only part of one (pages).
    pub rmw_reads: u64,
}

/// What parity cost and what it was used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RainCounters {
    /// Pages of data programmed, copies not counted, in mapping units.
    pub data_programs: u64,
    /// Pages of parity programmed, copies not counted, in mapping units.
    pub parity_programs: u64,
    /// Pages of parity programmed for copies, in mapping units; only parity over superblocks has such.
    pub copy_parity_programs: Option<u64>,
    /// Pages read to compute parity, and for nothing else, in mapping units.
    pub parity_reads: u64,
    /// Updates of all data pages of a stripe.
    pub full_stripes: u64,
    /// Updates of some of them.
    pub partial_stripes: u64,
    /// Of those, by way of the old copies and the old parity.
    pub subtractive_stripes: u64,
    /// Data pages that left in updates.
    pub stripe_pages: u64,
    /// Pages of reads that were computed from their stripe.
    pub reconstructed_pages: u64,
    /// Pages read for them that no request had asked for.
    pub extra_reads: u64,
    /// Reads, or parity updates, look at garbage collection; without, the counters that follow are not reported.
    pub tolerant: bool,
    /// Of the reconstructed pages, those of stripes that a request asked for as a whole.
    pub whole_stripes: u64,
    /// Stripes of reads of which a page waited for garbage collection because computing it would have taken longer.
    pub refused_stripes: u64,
    /// Updates whose parity was made the other way round because of garbage collection.
    pub turned_updates: u64,
}

/// What it cost that the planes of a group collect in turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RotationCounters {
    /// GC runs that waited for the turn of their plane.
    pub postponed: u64,
    /// Nanoseconds for which they did, at most.
    pub postponed_max_ns: u64,
    /// Times that turns were given up.
    pub switched_off: u64,
    /// Nanoseconds for which they were, up to the last program of host data.
    pub off_ns: u64,
}

/// How often the blocks were erased since the device was new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WearCounters {
    /// Blocks.
    pub blocks: u64,
    /// Erases of all blocks.
    pub erases_total: u64,
    /// The squares of the erases of each block, summed.
    pub erases_squared: u128,
    /// Erases of the least worn block.
    pub erases_min: u64,
    /// Erases of the most worn block.
    pub erases_max: u64,
}

impl GcCounters {
    /// What was counted since `earlier`, a copy of these counters.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            blocked_reads: self.blocked_reads - earlier.blocked_reads,
            blocked_at_split_reads: self.blocked_at_split_reads - earlier.blocked_at_split_reads,
            runs: self.runs - earlier.runs,
            pages_copied: self.pages_copied - earlier.pages_copied,
            forced: self.forced - earlier.forced,
            free_reclaims: self.free_reclaims - earlier.free_reclaims,
            copying_max_ns: self.copying_max_ns,
            used_max_millionths: self.used_max_millionths,
        }
    }
}

impl FlashCounters {
    /// What was counted since `earlier`, a copy of these counters. A maximum has no difference: it stays that of the
    /// whole run.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            host_pages_written: self.host_pages_written - earlier.host_pages_written,
            pages_programmed: self.pages_programmed - earlier.pages_programmed,
            pages_padded: self.pages_padded - earlier.pages_padded,
            checkpoint_pages: self.checkpoint_pages - earlier.checkpoint_pages,
            checkpoints: self.checkpoints - earlier.checkpoints,
            pages_read: self.pages_read - earlier.pages_read,
            erases: self.erases - earlier.erases,
            suspensions: self.suspensions - earlier.suspensions,
            suspensions_per_erase_max: self.suspensions_per_erase_max,
            aborted_pulse_ns: self.aborted_pulse_ns - earlier.aborted_pulse_ns,
            extra_ramps: self.extra_ramps - earlier.extra_ramps,
            program_suspensions: self.program_suspensions - earlier.program_suspensions,
            suspensions_per_program_max: self.suspensions_per_program_max,
            aborted_phase_ns: self.aborted_phase_ns - earlier.aborted_phase_ns,
            erases_held: self.erases_held - earlier.erases_held,
            erases_held_ns: self.erases_held_ns - earlier.erases_held_ns,
            erases_held_max_ns: self.erases_held_max_ns,
        }
    }
}

impl BufferCounters {
    /// What was counted since `earlier`, a copy of these counters.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            read_hits: self.read_hits - earlier.read_hits,
            write_hits: self.write_hits - earlier.write_hits,
            stalls: self.stalls - earlier.stalls,
            rmw_reads: self.rmw_reads - earlier.rmw_reads,
        }
    }
}

impl WearCounters {
    /// The wear of blocks that were erased so many times each.
    pub fn of(erases: impl IntoIterator<Item = u64>) -> Self {
        let start = Self { erases_min: u64::MAX, ..Self::default() };
        let wear = erases.into_iter().fold(start, |wear, n| Self {
            blocks: wear.blocks + 1,
            erases_total: wear.erases_total + n,
            erases_squared: wear.erases_squared + u128::from(n) * u128::from(n),
            erases_min: wear.erases_min.min(n),
            erases_max: wear.erases_max.max(n),
        });
        if wear.blocks == 0 { Self::default() } else { wear }
    }

    /// The standard deviation of erases over the blocks, with six decimals; 0 without blocks.
    pub fn stddev(&self) -> f64 {
        let (blocks, total) = (u128::from(self.blocks), u128::from(self.erases_total));
        // n^2 times the variance is an integer; of a square root IEEE says every bit.
        let variance = (blocks * self.erases_squared).saturating_sub(total * total);
        let deviation = (variance as f64).sqrt() / blocks.max(1) as f64;
        (deviation * 1e6).round() / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_before_the_warm_up_ended_is_not_measured() {
        let warm = GcCounters { runs: 3, pages_copied: 400, ..Default::default() };
        let end = GcCounters { runs: 5, pages_copied: 700, forced: 1, ..Default::default() };
        assert_eq!(end.since(&warm), GcCounters { runs: 2, pages_copied: 300, forced: 1, ..Default::default() });
        assert_eq!(end.since(&end), GcCounters::default());
    }

    #[test]
    fn the_most_suspensions_of_one_erase_stay_those_of_the_whole_run() {
        let warm = FlashCounters { erases: 10, suspensions: 20, suspensions_per_erase_max: 7, ..Default::default() };
        let end = FlashCounters { erases: 30, suspensions: 25, ..warm };
        let measured = end.since(&warm);
        assert_eq!((measured.erases, measured.suspensions, measured.suspensions_per_erase_max), (20, 5, 7));
    }

    #[test]
    fn the_wear_of_no_blocks_is_zero_and_not_the_largest_number() {
        assert_eq!(WearCounters::of([]), WearCounters::default());
        let wear = WearCounters { blocks: 3, erases_total: 12, erases_squared: 86, erases_min: 1, erases_max: 9 };
        assert_eq!(WearCounters::of([2, 9, 1]), wear);
    }
}
