//! Counters of a drive at work, from its start on: plain numbers, one addition each.

use super::counters::counters;
use super::{
    FaultCounters, LogCounters, MapCounters, PaceCounters, PowerCounters, PslcCounters,
    RainCounters, RetryCounters, RotationCounters, ScrubCounters,
};
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

counters! {
    /// Counters of a drive.
    pub struct Counters {
        /// Bytes that the host wrote: of units that the buffer has taken.
        sum host_bytes_written: u64,
        /// Map units of host data programmed.
        sum host_units: u64,
        /// Map units that garbage collection programmed.
        sum copied_units: u64,
        /// Map units of padding in rows.
        sum padded_units: u64,
        /// Map units read from flash, for whatever reason.
        sum units_read: u64,
        /// Collections started.
        sum collections: u64,
        /// Of those, at or below the hard mark.
        sum forced_collections: u64,
        /// The longest from the start of a collection until its last page was copied.
        max copying_max: Duration,
        /// Map units moved by `nogc` at zero cost (not programmed, not in the WAF).
        sum free_copies: u64,
        /// Blocks erased by `nogc` at zero cost.
        sum free_erases: u64,
        /// Erases that were held back for reads and let go.
        sum erases_held: u64,
        /// For how long, added up.
        sum erases_held_time: Duration,
        /// For how long at most.
        max erases_held_max: Duration,
        /// The write buffer.
        group buffer: BufferCounters,
        /// Pages of reads that were never written.
        sum unwritten_reads: u64,
        /// Blocks erased.
        sum erases: u64,
        /// Suspensions of erases and programs, and their cost.
        group suspended: SuspensionCounters,
        /// Parity inside the drive.
        group rain: RainCounters,
        /// Turns of planes.
        group rotation: RotationCounters,
        /// Collections paced against the host's writes.
        group pace: PaceCounters,
        /// Bit errors and scrubbing.
        group scrub: ScrubCounters,
        /// Read retry.
        group retry: RetryCounters,
        /// The power budget of programs and erases.
        group power: PowerCounters,
        /// A cache of blocks with one bit a cell.
        group pslc: PslcCounters,
        /// A log-block FTL.
        group log: LogCounters,
        /// Pages of the journal of deallocations programmed.
        sum journal_pages: u64,
        /// Map units of checkpoints programmed.
        sum checkpoint_units: u64,
        /// Checkpoints that are whole.
        sum checkpoints: u64,
        /// The map, where it lies on flash.
        group map: MapCounters,
        /// Failed operations and bad blocks.
        group faults: FaultCounters,
        /// Predictable latency.
        group predictable: PredictableCounters,
    }
}

impl Counters {
    /// Map units programmed, for whatever reason.
    pub fn units_programmed(&self) -> u64 {
        let parity = self.rain.parity_units + self.rain.copy_parity_units;
        let maps = self.map.page_programs + self.checkpoint_units;
        let written = self.host_units + parity + maps + self.faults.pages_failed;
        written + self.copied_units + self.scrub.rewrites + self.padded_units
    }
}

counters! {
    /// Counters of the write buffer.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    pub struct BufferCounters {
        /// Reads served from the buffer (pages).
        sum read_hits: u64,
        /// Writes that replaced a page still in the buffer (pages).
        sum write_hits: u64,
        /// Writes that waited for room (requests).
        sum stalls: u64,
        /// Flash pages read because a write covered only part of one (pages).
        sum rmw_reads: u64,
    }
}

counters! {
    /// Suspensions, and their cost.
    pub struct SuspensionCounters {
        /// Times an erase was suspended, at whatever point.
        sum suspensions: u64,
        /// The most that one erase suffered.
        max per_erase_max: u64,
        /// Pulse time that was given up and had to be repeated.
        sum aborted: Duration,
        /// Ramps beyond the one of each step.
        sum extra_ramps: u64,
        /// Times a program was suspended, at whatever point.
        sum program_suspensions: u64,
        /// The most that one program suffered.
        max per_program_max: u64,
        /// Time of programs' phases that was given up and had to be repeated.
        sum aborted_phases: Duration,
    }
}

counters! {
    /// Counters of predictable latency.
    pub struct PredictableCounters {
        /// Reads that may be failed fast.
        sum reads: u64,
        /// Of those, failed.
        sum fast_fails: u64,
        /// Of those, after they had begun: garbage collection came before them.
        sum fast_fails_late: u64,
        /// Of those that failed, before an operation that is none of garbage collection.
        sum fast_fails_other: u64,
        /// Steps of collections that began where windows let them, and were expected to end there.
        sum steps_in_window: u64,
        /// Steps that were forced at or below the hard mark, and did not lie inside a window.
        sum violations: u64,
        /// The time of these, added up.
        sum violation_time: Duration,
        /// Steps that were not forced and ended after their window. Only what gives way to reads
        /// may.
        sum overruns: u64,
        /// Windows of this drive's in which a step began.
        sum windows: u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_before_the_warm_up_ended_is_not_measured() {
        let warm = Counters { collections: 3, copied_units: 400, ..Default::default() };
        let end = Counters {
            collections: 5,
            copied_units: 700,
            forced_collections: 1,
            ..Default::default()
        };
        let measured = Counters {
            collections: 2,
            copied_units: 300,
            forced_collections: 1,
            ..Default::default()
        };
        assert_eq!(end.since(&warm), measured);
        assert_eq!(end.since(&end), Counters::default());
    }

    #[test]
    fn the_most_suspensions_of_one_erase_stay_those_of_the_whole_run() {
        let suspended =
            SuspensionCounters { suspensions: 20, per_erase_max: 7, ..Default::default() };
        let warm = Counters { erases: 10, suspended, ..Default::default() };
        let suspended = SuspensionCounters { suspensions: 25, ..suspended };
        let measured = Counters { erases: 30, suspended, ..warm }.since(&warm);
        assert_eq!(
            (measured.erases, measured.suspended.suspensions, measured.suspended.per_erase_max),
            (20, 5, 7)
        );
    }
}
