//! The claims of an experiment, misses first.

use super::{Claim, escape, tables};
use std::fmt::Write;

/// A table of the claims, each with its source and reasons to unfold; nothing without claims.
pub(super) fn section(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let rank = |claim: &&Claim| match claim.verdict.as_deref() {
        Some("missed") => 0,
        None => 1,
        Some("consistent") => 2,
        Some(_) => 3,
    };
    let count = |rank_of: u8| claims.iter().filter(|claim| rank(claim) == rank_of).count();
    let mut sorted: Vec<&Claim> = claims.iter().collect();
    sorted.sort_by_key(rank);
    let mut rows = String::new();
    for claim in sorted {
        let (class, verdict) = match claim.verdict.as_deref() {
            Some("missed") => (" class=\"key\"", "<strong>missed</strong>"),
            Some(verdict) => ("", verdict),
            None => (" class=\"none\"", "not measured"),
        };
        let _ = write!(
            rows,
            "\n<tr><th scope=\"row\"><details><summary>{} <code>{}</code></summary>{}</details>\
             </th><td>{}</td><td>{}</td><td>{}</td><td{class}>{verdict}</td></tr>",
            escape(claim.text.trim()),
            escape(&claim.id),
            reasons(claim),
            escape(&claim.printed),
            escape(&claim.measured),
            escape(&claim.band),
        );
    }
    let heads = ["claim", "printed", "measured", "band", "verdict"];
    let head = format!(
        "{} missed, {} consistent, {} reproduced of {} claims",
        count(0),
        count(2),
        count(3),
        claims.len()
    );
    let table = tables::table(&head, &heads, &rows);
    format!(
        "<section aria-labelledby=\"h-claims\">\n\
         <h2 id=\"h-claims\">Claims</h2>\n{table}</section>\n"
    )
}

fn reasons(claim: &Claim) -> String {
    let Claim { source, blame, why, conditions, .. } = claim;
    let rows = [
        ("To blame: ", blame),
        ("Source: ", source),
        ("Why this band: ", why),
        ("Conditions: ", conditions),
    ];
    let said = rows.into_iter().filter(|(_, text)| !text.trim().is_empty());
    said.map(|(head, text)| format!("<p class=\"note\">{head}{}</p>", escape(text.trim())))
        .collect()
}
