//! Warnings of power losses and resets, of a drive that stays behind its load, and of rates that
//! leave out what the drive did for the warm-up.

use super::totals::seconds;
use manx_config::Scenario;
use manx_core::drive::Storage;
use manx_core::host::{Arrival, Driver, Outage};
use manx_core::stats::{FaultCounters, PowerLossReport, ResetCounters};
use manx_core::units::Duration;

/// A drive that answers the last requests of an open loop so much later, as a share of the time in
/// which they came, was behind; with fewer requests one GC run is as long.
const BEHIND: f64 = 0.1;
const LEAST_REQUESTS: u64 = 1_000;

/// Arrivals that wait for completions.
const CLOSED: [Arrival; 3] = [Arrival::Closed, Arrival::Paced, Arrival::PacedSmooth];

/// A rate is of the requests that count, over a time in which the drive also served those of the
/// warm-up that were under way when it began; an open loop sets its rate itself.
pub(super) fn under_way_warning<S: Storage>(
    driver: &Driver<S>,
    scenario: &Scenario,
) -> Option<String> {
    let measured = driver.measured();
    let (before, ops) = (
        measured.under_way_before,
        [&measured.read, &measured.write, &measured.trim, &measured.flush],
    );
    let counted = ops.iter().map(|stats| stats.count()).sum::<u64>();
    let is_closed = scenario.workload.jobs.iter().any(|job| CLOSED.contains(&job.arrival));
    (is_closed && counted > 0 && before * 50 > before + counted).then(|| {
        format!(
            "{before} requests of the warm-up were under way when counting began, and {counted} \
             are counted: requests per second are up to {:.0} % too few; more requests or a lower \
             workload.queue_depth mend that",
            100.0 * before as f64 / (before + counted) as f64
        )
    })
}

/// Why a drive is read-only: blocks were lost, or a GC run found no row for its copies though more
/// could be.
pub(super) fn why_read_only(faults: &FaultCounters) -> &'static str {
    match faults.spare_least > 0 {
        true => "had no row left for the copies of a GC run after failures",
        false => "ran out of spare blocks",
    }
}

/// An open loop goes on whether or not the drive can do it.
pub(super) fn behind_warning<S: Storage>(
    driver: &Driver<S>,
    scenario: &Scenario,
) -> Option<String> {
    let is_open = scenario.workload.jobs.iter().any(|job| !CLOSED.contains(&job.arrival));
    let (since, last, until) =
        (driver.measured().since, driver.last_arrival(), driver.measured().until);
    if !is_open || driver.progress().issued < LEAST_REQUESTS || last <= since || until <= last {
        return None;
    }
    let (came, behind) = (last.since(since), until.since(last));
    (behind.as_ns() as f64 > BEHIND * came.as_ns() as f64).then(|| {
        format!(
            "the last request came at {} s, and was answered by {} s: the drive stays behind this \
             load, so waits grow with the length of the run, and percentiles are as much of that \
             as of the drive",
            seconds(last),
            seconds(until)
        )
    })
}

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
