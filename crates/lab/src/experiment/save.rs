//! The folder of an experiment: `result.json`, `claims.json`, `claims.md`, and the scenario of each run.
//!
//! The seam for the HTML report is [`Outcome::run_set`]: a comparison whose labels are the names of the runs.

use super::outcome::Outcome;
use super::render::{claims_json, json, markdown};
use crate::json::indented;
use crate::save::write;
use manx_core::stats::RunSet;
use serde_json::json;
use std::path::Path;

/// Writes everything into `folder`, which is there. `result.json` is a comparison as `manx compare --out` writes it.
pub fn save(folder: &Path, outcome: &Outcome<'_>) -> Result<(), String> {
    let set: RunSet = outcome.run_set();
    crate::save::save(folder, &set, &outcome.experiment.points())?;
    let whole = json(outcome);
    let claims = json!({
        "experiment": whole["experiment"],
        "quick": whole["quick"],
        "what_if": whole["what_if"],
        "claims": claims_json(outcome),
    });
    write(&folder.join("claims.json"), indented(&claims))?;
    write(&folder.join("claims.md"), markdown(outcome))
}
