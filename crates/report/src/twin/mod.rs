//! How near twins are: the report of `manx twin report`, for the terminal and as a page that stands
//! alone.
//!
//! Both are made of the documents that `manx fit` writes (`NAME-fit.json`), and say the same: which
//! drive, fitted on what, tested on what, what error, and what is not explained.

mod page;
mod read;
#[cfg(test)]
mod tests;

pub use page::page;
pub use read::{Figure, Fit, Long, Run, Window};

use std::fmt::Write;

/// A share as a percentage with one digit.
fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_string(), |share| format!("{:.1} %", 100.0 * share))
}

/// The report for a terminal.
pub fn text(fits: &[Fit]) -> String {
    let mut text = String::new();
    for (number, fit) in fits.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        let _ = writeln!(text, "{}{}", fit.name, summary(fit));
        for (what, said) in facts(fit) {
            let _ = writeln!(text, "  {what:<10} {said}");
        }
        if !fit.runs.is_empty() {
            runs(fit, &mut text);
        }
        if let Some(long) = &fit.long {
            let _ = writeln!(text, "\n  windows of {}: WAF and rate off by", long.name);
            for part in &long.parts {
                let (waf, rate) = (percent(part.waf), percent(part.rate));
                let _ =
                    writeln!(text, "    {:>3} {:<34} {waf:>7} {rate:>7}", part.windows, part.of);
            }
        }
    }
    text
}

fn summary(fit: &Fit) -> String {
    match (&fit.summary, fit.is_partial) {
        (_, true) => " (stopped before its end: the best so far)".to_string(),
        (Some(summary), false) => format!(": {summary}"),
        (None, false) => String::new(),
    }
}

/// The facts of a fit, in a line each.
fn facts(fit: &Fit) -> Vec<(&'static str, String)> {
    let mut facts = vec![("fitted on", fit.fitted_on()), ("tested on", fit.tested_on())];
    if let Some(error) = &fit.error {
        let (of, iops) = (percent(error.percentiles), percent(error.iops));
        facts.push(("in sample", format!("percentiles {of} off, IOPS {iops}")));
        if error.held_percentiles.is_some() {
            let (of, iops) = (percent(error.held_percentiles), percent(error.held_iops));
            facts.push(("left out", format!("percentiles {of} off, IOPS {iops}")));
        }
    }
    let missed = fit.unexplained();
    if !missed.is_empty() {
        facts.push(("missed", format!("not explained by any parameters: {}", missed.join(", "))));
    }
    facts.extend(fit.contradictions.iter().map(|said| ("suspect", said.clone())));
    if !fit.undetermined.is_empty() {
        facts.push(("open", format!("not determined: {}", fit.undetermined.join(", "))));
    }
    if !fit.outside.is_empty() {
        facts.push(("not fitted", fit.outside.join("; ")));
    }
    facts
}

fn runs(fit: &Fit, text: &mut String) {
    let width = fit.runs.iter().map(|run| run.name.len()).max().unwrap_or(0).max(4);
    let _ = writeln!(
        text,
        "\n  {:width$} {:>13} {:>13} {:>13} {:>13} {:>15} {:>7} {:>8}",
        "measured > modelled",
        "p50 us",
        "p90 us",
        "p99 us",
        "p99.9 us",
        "kIOPS",
        "error",
        "left out"
    );
    for run in &fit.runs {
        let _ = write!(text, "  {:width$}", run.name);
        for figure in &run.percentiles {
            let cell = format!("{:.0}>{:.0}", figure.measured, figure.modelled);
            let _ = write!(text, " {cell:>13}");
        }
        let cell = format!("{:.1}>{:.1}", run.iops.measured / 1e3, run.iops.modelled / 1e3);
        let (error, held) = (percent(Some(run.error)), percent(run.held_out));
        let missed = if run.is_explained { "" } else { "  not explained" };
        let _ = writeln!(text, " {cell:>15} {error:>7} {held:>8}{missed}");
    }
}
