//! The claims of an experiment, those that do not hold first to be seen.

use super::{Claim, escape, tables};
use std::fmt::Write;

/// A table of the claims, each with its source and reasons to unfold; nothing without claims.
pub(super) fn section(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let held = claims.iter().filter(|claim| claim.holds == Some(true)).count();
    let mut rows = String::new();
    for claim in claims {
        let (class, verdict) = match claim.holds {
            Some(true) => ("", "yes"),
            Some(false) => (" class=\"key\"", "<strong>NO</strong>"),
            None => (" class=\"none\"", "not measured"),
        };
        let _ = write!(
            rows,
            "\n<tr><th scope=\"row\"><details><summary>{} <code>{}</code></summary>{}</details>\
             </th><td>{}</td><td>{}</td><td>{}</td><td{class}>{verdict}</td></tr>",
            escape(claim.text.trim()),
            escape(&claim.id),
            reasons(claim),
            escape(&claim.published),
            escape(&claim.measured),
            escape(&claim.band),
        );
    }
    let heads = ["claim", "published", "measured", "band", "holds"];
    let table = tables::table(&format!("{held} of {} claims hold", claims.len()), &heads, &rows);
    format!(
        "<section aria-labelledby=\"h-claims\">\n\
         <h2 id=\"h-claims\">Claims</h2>\n{table}</section>\n"
    )
}

fn reasons(claim: &Claim) -> String {
    let Claim { source, why, conditions, .. } = claim;
    let rows = [("Source: ", source), ("Why this band: ", why), ("Conditions: ", conditions)];
    let said = rows.into_iter().filter(|(_, text)| !text.trim().is_empty());
    said.map(|(head, text)| format!("<p class=\"note\">{head}{}</p>", escape(text.trim())))
        .collect()
}
