//! Remarks beside an answer: what was assumed or left out, and where it may not be right.

use super::goal::{Measure, unread, waf};
use super::prices::Pace;
use super::question::{Minimise, Question};
use super::seen::{Seen, Standing};
use super::shots::Shots;
use manx_core::stats::RunResult;

/// A run that reclaims less for what it programs has not met its GC (ratio).
const RECLAIMED_MIN: f64 = 0.5;

/// Remarks on the question, the runs, and on what a reader of the recommendation must know.
pub fn remarks(
    question: &Question,
    shots: &Shots<'_>,
    invalid: &[(usize, String)],
    seen: &[Seen],
    best: Option<usize>,
) -> Vec<String> {
    let mut remarks = question.remarks.clone();
    remarks.extend(shots.remark());
    remarks.extend(left_out(question, invalid));
    remarks.extend(unwritten(question, seen));
    remarks.extend(other_loads(question));
    let Some(result) = best.and_then(|best| seen[best].result()) else { return remarks };
    let unread = unread(result);
    if unread > 0 {
        remarks.push(format!(
            "{unread} reads of the recommended drive ended with an error, as their page could not \
             be read: a percentile of reads counts them as slower than any limit"
        ));
    }
    remarks.extend(lacks_gc(question, result));
    remarks.extend(result.warnings.iter().map(|text| format!("the recommended drive: {text}")));
    remarks
}

/// Remark on a load that asks a faster drive for more.
pub fn on_speed(question: &Question, pace: Option<Pace>, exact: bool) -> Option<String> {
    let asked = "the load is a closed loop, so a faster drive is asked for more";
    let doubt = match exact {
        true => "",
        false => {
            ". Guesses of prices are poor there, so a cheaper setting may have been passed by \
             (docs/advise.md); --exhaustive runs all"
        }
    };
    question.is_priced_by_speed().then(|| match pace {
        Some(pace) => format!(
            "{asked}: the prices are those of {:.0} requests/s for every setting, what a drive \
             whose GC costs nothing does{doubt}",
            pace.rate_per_s()
        ),
        None => format!(
            "{asked}, wears out and is paid for sooner: there is no run of a drive whose GC costs \
             nothing, so no rate that all settings could be priced by{doubt}"
        ),
    })
}

/// A run that lives on free space says little of what GC will cost.
fn lacks_gc(question: &Question, result: &RunResult) -> Option<String> {
    let halves = result.state.reclaimed_per_written?;
    let (waf, reclaimed) = (result.flash.waf?, (halves[0] + halves[1]) / 2.0);
    (reclaimed <= RECLAIMED_MIN * waf).then(|| {
        let lived = match result.flash.pages_programmed {
            0 => "all that was written stayed in its buffer",
            _ => "it lived on free space",
        };
        let doubt = match question.minimise {
            Minimise::Waf => ", and another setting may have less of it then",
            _ => "",
        };
        format!(
            "the recommended drive reclaimed {reclaimed:.2} bytes for each byte that was written, \
             and programmed {waf:.2}: {lived}, so its WAF, wear, price and tail lack GC that comes \
             later{doubt}; more requests (workload.requests, --loop) have it"
        )
    })
}

/// How many settings have no WAF, as nothing of them reached the flash.
fn unwritten(question: &Question, seen: &[Seen]) -> Option<String> {
    let is_least = question.minimise == Minimise::Waf;
    if !is_least && !question.goals.iter().any(|goal| goal.measure == Measure::Waf) {
        return None;
    }
    let all = seen.iter().filter(|seen| seen.standing != Standing::Invalid).count();
    let whole = seen.iter().filter(|seen| seen.is_whole()).filter_map(Seen::result);
    let without: Vec<&RunResult> = whole.filter(|result| waf(result).is_none()).collect();
    let first = without.first()?;
    let stayed = without.iter().any(|result| result.flash.host_pages_written > 0);
    let (why, more) = match (stayed, first.requests) {
        (true, _) => ("all that was written stayed in the buffer", "more requests"),
        (false, 0) => ("no request was measured", "more requests"),
        (false, _) => ("nothing was written to the drive", "more writes"),
    };
    let so = match is_least {
        true => "come behind all others",
        false => "neither keep nor break the goal on it",
    };
    Some(format!(
        "of {} of {all} settings nothing was written to flash, as {why}: they have no WAF and \
         {so}; {more} (workload.requests, --loop) have one",
        without.len(),
    ))
}

/// Axes that change what is asked.
fn other_loads(question: &Question) -> Option<String> {
    let is_load = |key: &&str| ["workload.", "measure."].iter().any(|room| key.starts_with(room));
    let keys = question.plan.axes().iter().map(|axis| axis.key.as_str());
    let keys: Vec<&str> = keys.filter(is_load).collect();
    (!keys.is_empty()).then(|| {
        format!(
            "--over {} changes what is asked of the drive, not the drive: prices of settings with \
             other values of it are those of other loads, and the recommendation may be the \
             easiest of them",
            keys.join(", ")
        )
    })
}

/// How many points cannot be run, and why the first of them.
fn left_out(question: &Question, invalid: &[(usize, String)]) -> Option<String> {
    let (first, why) = invalid.first()?;
    Some(format!(
        "{} of {} settings cannot be run and are left out; the first, {}: {why}",
        invalid.len(),
        question.plan.settings(),
        question.plan.describe(*first)
    ))
}
