//! Pass or fail, by the tool's rule and by the paper's.
//!
//! *act6.6* (the tool's README, "Passing a Performance Test"): in any slice fewer than 5 % of the
//! reads fail to complete in 1 ms, fewer than 1 % in 8 ms, fewer than 0.1 % in 64 ms. Only the
//! record reads are judged, and only complete slices. The counts are compared, not the percentages
//! of the script's table, which have two decimals.
//!
//! *paper* (Kim et al., "Practical Erase Suspension for Modern Low-latency SSDs", USENIX ATC 2019,
//! section 4): i) 95 % of the transactions finish in 1 ms, ii) 99 % in 8 ms, iii) 99.9 % in 64 ms,
//! over the whole test, and iv) the average transaction time of each type of requests is smaller
//! than the workload's request period. Our reading: transactions are the record reads, as in the
//! tool; the period of a type is one over its rate, since that paper has one thread for each type,
//! which then is exactly what lets the thread keep its rate. A test with several service threads
//! keeps its rate with a longer mean: period times threads.

use super::recorder::{OVER_MS, Windows};
use crate::stats::{ActReport, ActRules, ActTimes, ActVerdict};

/// So many of 1000 reads may take 1, 8 and 64 ms or more.
const ALLOWED_OF_1000: [u64; 3] = [50, 10, 1];

/// Completes the report with the verdicts, and with what speaks against a pass.
pub(super) fn judge(
    mut report: ActReport,
    slices: &[Windows],
    whole: &Windows,
    interrupted: bool,
) -> ActReport {
    let mut why = Vec::new();
    let act = verdict(
        act(&report, slices, &mut why),
        interrupted || slices.is_empty() || whole[0].count == 0,
    );
    let periods = periods(&report, &mut why);
    let shares = paper_shares(whole, &mut why);
    let stress = verdict(periods, interrupted);
    let paper = verdict(periods && shares, interrupted || whole[0].count == 0);
    report.rules = ActRules { act, paper, paper_stress: stress };
    report.why = why;
    report
}

/// A failed rule stays failed; one that holds so far may still fail.
fn verdict(holds: bool, undecided: bool) -> ActVerdict {
    match (holds, undecided) {
        (false, _) => ActVerdict::Fail,
        (true, true) => ActVerdict::Undecided,
        (true, false) => ActVerdict::Pass,
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    ActReport::percent(part, whole).unwrap_or(0.0)
}

/// The tool's own rule; a test that was stopped is no pass.
fn act(report: &ActReport, slices: &[Windows], why: &mut Vec<String>) -> bool {
    if let Some(stopped) = &report.stopped {
        why.push(format!("act6.6: the test was stopped {stopped}"));
    }
    let mut holds = report.stopped.is_none();
    for ((number, limit), allowed) in OVER_MS.iter().enumerate().zip(ALLOWED_OF_1000) {
        let fails = |slice: &&Windows| {
            slice[0].over[number] * 1000 >= allowed * slice[0].count && slice[0].count > 0
        };
        let failed = slices.iter().filter(fails).count();
        if failed > 0 {
            let most = slices
                .iter()
                .map(|slice| percent(slice[0].over[number], slice[0].count))
                .fold(0.0, f64::max);
            let (of, share) = (slices.len(), allowed as f64 / 10.0);
            why.push(format!(
                "act6.6: {failed} of {of} slices have {share} % or more of their reads over \
                 {limit} ms, up to {most} %"
            ));
            holds = false;
        }
    }
    let silent = slices.iter().filter(|slice| slice[0].count == 0).count();
    if silent > 0 && report.reads.count > 0 {
        why.push(format!("act6.6: no read completed in {silent} of {} slices", slices.len()));
        holds = false;
    }
    holds
}

/// Conditions i to iii of the paper.
fn paper_shares(whole: &Windows, why: &mut Vec<String>) -> bool {
    let reads = &whole[0];
    let mut holds = true;
    for ((number, limit), allowed) in OVER_MS.iter().enumerate().zip(ALLOWED_OF_1000) {
        if reads.over[number] * 1000 > allowed * reads.count {
            let (over, allowed) = (percent(reads.over[number], reads.count), allowed as f64 / 10.0);
            why.push(format!(
                "paper: {over} % of the reads took {limit} ms or more, above {allowed} %"
            ));
            holds = false;
        }
    }
    holds
}

/// Condition iv; a test that was stopped did not keep its rate either.
fn periods(report: &ActReport, why: &mut Vec<String>) -> bool {
    let types = [
        ("record reads", &report.reads),
        ("record writes", &report.writes),
        ("large reads", &report.large_reads),
        ("large writes", &report.large_writes),
    ];
    let mut holds = report.stopped.is_none();
    for (name, ActTimes { mean_us, period_us, .. }) in types {
        if let (Some(mean), Some(period)) = (mean_us, period_us)
            && mean >= period
        {
            why.push(format!(
                "paper: {name} take {mean} us on average, their period is {period} us"
            ));
            holds = false;
        }
    }
    if let Some(stopped) = &report.stopped {
        why.push(format!("paper: the test was stopped {stopped}"));
    }
    holds
}
