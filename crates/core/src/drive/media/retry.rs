//! Read retry as the drive sees it: decoding takes time, and a page that no decoder brings back is
//! computed from its stripe, or the read fails. What a read costs on its die is `flash/retry.rs`.
//!
//! **Decoding.** The hard decoding of what does decode is a delay of `retry.decode` behind the last
//! operation of a host read: the die and the channel serve others meanwhile, and there are as many
//! decoders as are needed. Reads that the drive does for itself, a collection's copies too, are
//! retried on their dies like any other; the decoding of their last sense is taken to be hidden.
//!
//! **Lost pages** are found at the end of the read: a page is lost when its wrong bits at the best
//! voltages are beyond both decoders, which wear alone decides, or the retry table ends before
//! these and there is no soft decoder. Copies and partial pages of lost pages go on as if they
//! were right, as with bit errors (`scrub`).

use crate::drive::Drive;
use crate::flash::{AgeingSpec, RetrySpec};
use crate::stats::RetryCounters;

impl Drive {
    /// Reads are retried as `spec` says, on flash of that age. Call it before the first command.
    pub(in crate::drive) fn retry_reads(&mut self, spec: &RetrySpec, age: &AgeingSpec, seed: u64) {
        if spec.is_on() {
            self.decoding = Some(spec.decode);
            self.flash.retry_reads(spec, age, seed);
        }
    }

    /// Read retry, as the drive and its flash have counted it.
    pub(in crate::drive) fn retry_counters(&self) -> RetryCounters {
        let (drive, flash) = (self.counters.retry, self.flash.retry_counters());
        RetryCounters {
            lost_pages: drive.lost_pages,
            repaired: drive.repaired,
            failed_reads: drive.failed_reads,
            refreshed_blocks: drive.refreshed_blocks,
            refreshed_units: drive.refreshed_units,
            ..flash
        }
    }
}
