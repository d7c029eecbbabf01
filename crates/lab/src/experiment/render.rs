//! The claims of an experiment for a person, for a page and for a program.

use super::calibrate::Solved;
use super::load::{Band, Claim, Experiment};
use super::outcome::{Measured, Outcome};
use super::verdict::{Figure, Origin, Verdict};
use manx_core::stats::RunResult;
use serde_json::{Value, json};
use std::fmt::Write;

const HEADS: [&str; 5] = ["claim", "printed", "measured", "band", "verdict"];

/// A table of the claims, and under it each that is missed or has another verdict than recorded.
pub fn table(outcome: &Outcome<'_>) -> String {
    let mut rows = vec![HEADS.map(str::to_string)];
    rows.extend(outcome.claims().map(|(claim, measured)| {
        let verdict = said(claim, measured);
        [
            format!("  {}", claim.id),
            printed(claim.origin),
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
    text += &solved(&outcome.solved);
    // The sentence first: it says what the numbers are of, and in which unit.
    let sentences =
        std::iter::once(None).chain(outcome.claims().map(|(claim, _)| Some(claim.text.trim())));
    for ([id, published, measured, band, holds], sentence) in rows.iter().zip(sentences) {
        let [a, b, c, d] = widths;
        text += &sentence.map_or(String::new(), |sentence| format!("{sentence}\n"));
        let _ = writeln!(text, "{id:<a$}  {published:>b$}  {measured:>c$}  {band:<d$}  {holds}");
    }
    let is_told = |(_, measured): &(&Claim, &Measured)| {
        !matches!(measured.verdict, Some(Verdict::Reproduced | Verdict::Consistent))
    };
    for (claim, measured) in outcome.claims().filter(is_told) {
        let _ = writeln!(text, "\n{}: {}", claim.id, said(claim, measured));
        if let Some(why) = &measured.missing {
            let _ = writeln!(text, "  because: {why}");
        }
        if let Some(miss) = &claim.missed {
            let _ = writeln!(text, "  to blame: {}", miss.blame.trim());
            let home = miss.home.as_ref().map(|home| format!("brought home by: {home}"));
            let tried = miss.tried.as_ref().map(|tried| format!("tried: {}", tried.trim()));
            for line in home.into_iter().chain(tried) {
                let _ = writeln!(text, "  {line}");
            }
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

/// The verdict, and the recorded one where it is another.
fn said(claim: &Claim, measured: &Measured) -> String {
    match (measured.verdict, claim.skip.is_some()) {
        (Some(verdict), _) if verdict != claim.recorded && !claim.is_small => {
            format!("{} (was {})", verdict.word(), claim.recorded.word())
        }
        _ => measured.word().to_string(),
    }
}

/// `3 missed, 1 consistent, 12 reproduced`.
pub fn counts(counts: [usize; 3]) -> String {
    let one = |(verdict, count): (Verdict, usize)| format!("{count} {}", verdict.word());
    Verdict::ALL.into_iter().zip(counts).map(one).collect::<Vec<_>>().join(", ")
}

/// The solved knobs, a line each.
pub fn solved(solved: &[Solved]) -> String {
    let line = |one: &Solved| {
        let Solved { id, knob, value, quantity, to, measured, is_met, trials } = one;
        let (to, measured) = (number(*to), number(*measured));
        let off = if *is_met { "" } else { ", which is not as near as asked" };
        let quantity = quantity.trim();
        format!(
            "calibrated {id}: {knob} = {value} gives {quantity} = {measured}, asked for {to} \
             ({trials} trials){off}\n"
        )
    };
    solved.iter().map(line).collect()
}

/// The solved knobs for a program.
pub fn solved_json(solved: &[Solved]) -> Value {
    let one = |one: &Solved| {
        json!({
            "id": one.id,
            "knob": one.knob,
            "value": one.value,
            "quantity": one.quantity,
            "to": one.to,
            "measured": one.measured,
            "is_met": one.is_met,
            "trials": one.trials,
        })
    };
    solved.iter().map(one).collect()
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
    text += "| claim | printed | measured | band | verdict | what is claimed | source | why \
             this band | conditions |\n";
    text += "|---|---|---|---|---|---|---|---|---|\n";
    for (claim, measured) in outcome.claims() {
        let verdict = match measured.verdict {
            Some(Verdict::Missed) => format!("**{}**", said(claim, measured)),
            _ => said(claim, measured),
        };
        let because =
            measured.missing.as_ref().map_or(String::new(), |why| format!(" ({})", cell(why)));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {verdict}{because} | {} | {} | {} | {} |",
            claim.id,
            printed(claim.origin),
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

/// A claim as a person reads it: its printed and measured numbers, and its band.
pub fn shown<'a>(
    outcome: &'a Outcome<'_>,
) -> impl Iterator<Item = (&'a Claim, &'a Measured, [String; 3])> {
    outcome.claims().map(|(claim, measured)| {
        (claim, measured, [printed(claim.origin), value(measured), band(&claim.band)])
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
            "statement": claim.statement,
            "origin": claim.origin.word(),
            "printed": ends(claim.origin),
            "low": claim.band.low,
            "high": claim.band.high,
            "measured": measured.value,
            "lowest": measured.spread.map(|(lowest, _)| lowest),
            "highest": measured.spread.map(|(_, highest)| highest),
            "verdict": measured.verdict,
            "recorded": claim.recorded,
            "blame": claim.missed.as_ref().map(|miss| miss.blame.trim()),
            "home": claim.missed.as_ref().and_then(|miss| miss.home.as_deref()),
            "what_if": claim.is_what_if,
            "reach": measured.reach.map(|(least, most)| [least, most]),
            "missing": measured.missing,
            "why": claim.why,
            "conditions": claim.conditions,
        })
    });
    claims.collect()
}

/// The document of an experiment.
pub fn json(outcome: &Outcome<'_>) -> Value {
    let Experiment { name, summary, source, asked, .. } = outcome.experiment;
    json!({
        "experiment": name,
        "summary": summary,
        "source": source,
        "quick": asked.quick,
        "what_if": asked.sets,
        "calibrated": solved_json(&outcome.solved),
        "claims": claims_json(outcome),
        "runs": runs_json(&outcome.results),
    })
}

fn runs_json(results: &[RunResult]) -> Value {
    // A result holds only numbers, text and maps keyed by text, none of which serde_json can
    // refuse.
    serde_json::to_value(results).expect("a result is plain data")
}

/// `2.52 to 7.88`, `163.2 (law)`, `ours`.
fn printed(origin: Origin) -> String {
    match origin {
        Origin::Paper(figure_of) => figure(figure_of),
        Origin::Artefact(figure_of) => format!("{} (artefact)", figure(figure_of)),
        Origin::Law(value) => format!("{} (law)", number(value)),
        Origin::Ours => "ours".to_string(),
    }
}

/// A printed figure for a person.
pub(super) fn figure(figure: Figure) -> String {
    match figure {
        Figure::Point(at) => number(at),
        Figure::Range(_) => band(&figure.band()),
    }
}

/// A printed figure for a program: `[low, high]`, null for an open end; a number; or null.
fn ends(origin: Origin) -> Value {
    match (origin, origin.figure()) {
        (Origin::Law(value), _) | (_, Some(Figure::Point(value))) => json!(value),
        (_, Some(figure)) => json!([figure.band().low, figure.band().high]),
        (_, None) => Value::Null,
    }
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
