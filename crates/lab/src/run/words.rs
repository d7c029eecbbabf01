//! Warnings of power losses and resets.

use super::totals::seconds;
use manx_core::host::Outage;
use manx_core::stats::{PowerLossReport, ResetCounters};
use manx_core::units::Duration;

pub(super) fn resets_in_words(counters: &ResetCounters) -> Option<String> {
    let ResetCounters { aborts, resets, sent_again, failed, .. } = *counters;
    if aborts == 0 && resets == 0 {
        return None;
    }
    let first = counters.first_at.map(|at| format!(", the first time after {} s", seconds(at)));
    let first = first.unwrap_or_default();
    Some(format!(
        "requests waited longer than measure.timeout: in the whole run the host sent {aborts} \
         aborts and reset the drive {resets} times{first}; {sent_again} commands were sent again, \
         {failed} ended with an error and are in no latency"
    ))
}

pub(super) fn power_loss_in_words(outage: &Outage) -> Vec<String> {
    let PowerLossReport { cut_ns, recovery_us, scan_us, reads, torn_rows, .. } = outage.report;
    let PowerLossReport { pages_lost, trims_lost, pages_saved, commands_lost, .. } = outage.report;
    let PowerLossReport { checkpoint_reads, checkpoint_us, .. } = outage.report;
    let checkpoint = match checkpoint_reads {
        0 => String::new(),
        reads => {
            format!("; {} to read a checkpoint by {reads} reads", Duration::from_us(checkpoint_us))
        }
    };
    let (cut, recovery, scan) =
        (Duration::from_ns(cut_ns), Duration::from_us(recovery_us), Duration::from_us(scan_us));
    let mut words = vec![format!(
        "the power failed at {cut}: recovery took {recovery} ({scan} of it a scan of {reads} \
         reads, {torn_rows} torn rows{checkpoint}); lost: {pages_lost} pages of the write buffer, \
         {trims_lost} deallocations, {commands_lost} commands under way; saved by the capacitor: \
         {pages_saved} pages; suspensions and the flash's own counts begin anew there"
    )];
    words.extend(outage.broken.first().map(|first| {
        format!(
            "{} promises were broken, a defect of the model; the first: {first}",
            outage.broken.len()
        )
    }));
    words
}
