//! The folder of an experiment: `result.json`, `claims.json`, `claims.md`, and the scenario of each
//! run.
//!
//! The seam for the HTML report is [`Outcome::run_set`]: a comparison whose labels are the names of
//! the runs.

use super::outcome::Outcome;
use super::render::{claims_json, json, markdown};
use crate::json::indented;
use manx_core::stats::RunSet;
use serde_json::json;

/// The files, names and texts. `result.json` is a comparison as `manx compare --out` writes it.
pub fn documents(outcome: &Outcome<'_>) -> Result<Vec<(String, String)>, String> {
    let set: RunSet = outcome.run_set();
    let mut files = crate::save::documents(&set, &outcome.experiment.points())?;
    let whole = json(outcome);
    let claims = json!({
        "experiment": whole["experiment"],
        "quick": whole["quick"],
        "what_if": whole["what_if"],
        "calibrated": whole["calibrated"],
        "claims": claims_json(outcome),
    });
    files.push(("claims.json".to_string(), indented(&claims)));
    files.push(("claims.md".to_string(), markdown(outcome)));
    Ok(files)
}
