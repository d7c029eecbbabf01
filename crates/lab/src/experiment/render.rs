//! The claims of an experiment for a person, for a page and for a program.

use super::load::{Band, Claim, Experiment};
use super::outcome::{Measured, Outcome};
use manx_core::stats::RunResult;
use serde_json::{Value, json};
use std::fmt::Write;

const HEADS: [&str; 5] = ["claim", "published", "measured", "band", "holds"];

/// A table of the claims, and under it each that does not hold, with why its band is what it is.
pub fn table(outcome: &Outcome<'_>) -> String {
    let mut rows = vec![HEADS.map(str::to_string)];
    rows.extend(outcome.claims().map(|(claim, measured)| {
        let verdict = measured.verdict().to_string();
        [
            format!("  {}", claim.id),
            published(claim.published),
            value(measured),
            band(&claim.band),
            verdict,
        ]
    }));
    let width = |column: usize| {
        rows.iter().map(|row: &[String; 5]| row[column].chars().count()).max().unwrap_or(0)
    };
    let widths = [0, 1, 2, 3].map(width);
    let mut text = heading(outcome.experiment);
    // The sentence first: it says what the numbers are of, and in which unit.
    let sentences =
        std::iter::once(None).chain(outcome.claims().map(|(claim, _)| Some(claim.text.trim())));
    for ([id, published, measured, band, holds], sentence) in rows.iter().zip(sentences) {
        let [a, b, c, d] = widths;
        text += &sentence.map_or(String::new(), |sentence| format!("{sentence}\n"));
        let _ = writeln!(text, "{id:<a$}  {published:>b$}  {measured:>c$}  {band:<d$}  {holds}");
    }
    for (claim, measured) in outcome.claims().filter(|(_, measured)| measured.holds != Some(true)) {
        let _ = writeln!(text, "\n{}: {}", claim.id, measured.verdict());
        if let Some(why) = &measured.missing {
            let _ = writeln!(text, "  because: {why}");
        }
        let _ = writeln!(
            text,
            "  quantity: {}\n  source: {}",
            claim.quantity.trim(),
            claim.source.trim()
        );
        let _ = writeln!(text, "  why this band: {}", claim.why.trim());
        if !claim.conditions.trim().is_empty() {
            let _ = writeln!(text, "  conditions: {}", claim.conditions.trim());
        }
    }
    text
}

fn heading(experiment: &Experiment) -> String {
    let quick = if experiment.asked.quick { " (quick)" } else { "" };
    let mut text = format!("{}{quick}: {}\n", experiment.name, experiment.summary.trim());
    for set in &experiment.asked.sets {
        let _ =
            writeln!(text, "what if: --set {set}; this is not the experiment as it was published");
    }
    text
}

/// The outcome as Markdown, with the reasons of every claim.
pub fn markdown(outcome: &Outcome<'_>) -> String {
    let experiment = outcome.experiment;
    let quick = if experiment.asked.quick { " (quick)" } else { "" };
    let mut text = format!("# {}{quick}\n\n{}\n\n", experiment.name, cell(&experiment.summary));
    let _ = writeln!(text, "Source: {}\n", cell(&experiment.source));
    for set in &experiment.asked.sets {
        let _ = writeln!(
            text,
            "**What if**: `--set {set}`; this is not the experiment as it was published.\n"
        );
    }
    text += "| claim | published | measured | band | holds | what is claimed | source | why \
             this band | conditions |\n";
    text += "|---|---|---|---|---|---|---|---|---|\n";
    for (claim, measured) in outcome.claims() {
        let holds = match measured.holds {
            Some(false) => "**NO**",
            _ => measured.verdict(),
        };
        let because =
            measured.missing.as_ref().map_or(String::new(), |why| format!(" ({})", cell(why)));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {holds}{because} | {} | {} | {} | {} |",
            claim.id,
            published(claim.published),
            value(measured),
            band(&claim.band),
            cell(&claim.text),
            cell(&claim.source),
            cell(&claim.why),
            cell(&claim.conditions),
        );
    }
    text
}

/// Text that stays in its cell.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// A claim as a person reads it: its published and measured numbers, and its band.
pub fn shown<'a>(
    outcome: &'a Outcome<'_>,
) -> impl Iterator<Item = (&'a Claim, &'a Measured, [String; 3])> {
    outcome.claims().map(|(claim, measured)| {
        (claim, measured, [published(claim.published), value(measured), band(&claim.band)])
    })
}

/// The claims alone: what `claims.json` holds.
pub fn claims_json(outcome: &Outcome<'_>) -> Value {
    let claims = outcome.claims().map(|(claim, measured)| {
        json!({
            "id": claim.id,
            "text": claim.text,
            "source": claim.source,
            "quantity": claim.quantity,
            "published": claim.published,
            "low": claim.band.low,
            "high": claim.band.high,
            "measured": measured.value,
            "lowest": measured.spread.map(|(lowest, _)| lowest),
            "highest": measured.spread.map(|(_, highest)| highest),
            "holds": measured.holds,
            "missing": measured.missing,
            "why": claim.why,
            "conditions": claim.conditions,
        })
    });
    claims.collect()
}

/// The document of an experiment: `{"experiment", "quick", "what_if", "claims", "runs"}`.
pub fn json(outcome: &Outcome<'_>) -> Value {
    let Experiment { name, summary, source, asked, .. } = outcome.experiment;
    json!({
        "experiment": name,
        "summary": summary,
        "source": source,
        "quick": asked.quick,
        "what_if": asked.sets,
        "claims": claims_json(outcome),
        "runs": runs_json(&outcome.results),
    })
}

fn runs_json(results: &[RunResult]) -> Value {
    // A result holds only numbers, text and maps keyed by text, none of which serde_json can
    // refuse.
    serde_json::to_value(results).expect("a result is plain data")
}

fn published(value: Option<f64>) -> String {
    value.map_or("-".to_string(), number)
}

fn value(measured: &Measured) -> String {
    match (measured.value, measured.spread) {
        (None, _) => "-".to_string(),
        (Some(value), None) => number(value),
        (Some(value), Some((low, high))) => {
            format!("{} ({} to {})", number(value), number(low), number(high))
        }
    }
}

fn band(band: &Band) -> String {
    match (band.low, band.high) {
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        (Some(low), None) => format!("at least {}", number(low)),
        (None, Some(high)) => format!("at most {}", number(high)),
        (None, None) => "-".to_string(),
    }
}

/// Five significant digits at least, whole numbers as they are.
pub(super) fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e9 {
        return format!("{value}");
    }
    let size = value.abs();
    let decimals = match size {
        _ if !(1e-4..1e9).contains(&size) => return format!("{value:.4e}"),
        _ if size >= 1e4 => 1,
        _ if size >= 1e3 => 2,
        _ if size >= 1e2 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}
