//! A grid: a run for each combination of the values of its axes, the last axis turning fastest.

use super::file::{Axis, Grid, RunEntry};
use toml::Value;

/// The runs of a grid in their order, or the key that is wrong and why.
pub(super) fn runs(grid: &Grid) -> Result<Vec<RunEntry>, (String, String)> {
    for axis in &grid.axes {
        check(axis, &grid.name)?;
    }
    let Grid { name, policy, workload, set, quick, .. } = grid;
    let (name, policy, workload) = (name.clone(), policy.clone(), workload.clone());
    let start = RunEntry { name, policy, workload, set: set.clone(), quick: quick.clone() };
    let mut runs = vec![start];
    for axis in &grid.axes {
        // Before they are made: a few long axes are more than fits in memory.
        if runs.len() * axis.values.len() > super::load::RUNS_MAX {
            return Err(("axes".to_string(), format!("more than {} runs", super::load::RUNS_MAX)));
        }
        let mut next = Vec::with_capacity(runs.len() * axis.values.len());
        for run in &runs {
            for (at, value) in axis.values.iter().enumerate() {
                next.push(with(run, axis, at, value)?);
            }
        }
        runs = next;
    }
    Ok(runs)
}

fn check(axis: &Axis, template: &str) -> Result<(), (String, String)> {
    let wrong = |key: &str, why: String| Err((format!("axes.{}.{key}", axis.name), why));
    if !template.contains(&format!("{{{}}}", axis.name)) {
        let why = format!("`{template}` has no {{{}}}, so runs would share a name", axis.name);
        return Err(("name".to_string(), why));
    }
    if axis.values.is_empty() {
        return wrong("values", "an axis needs a value at least".to_string());
    }
    if !axis.labels.is_empty() && axis.labels.len() != axis.values.len() {
        let (labels, values) = (axis.labels.len(), axis.values.len());
        return wrong("labels", format!("{labels} labels for {values} values"));
    }
    Ok(())
}

fn with(
    run: &RunEntry,
    axis: &Axis,
    at: usize,
    value: &Value,
) -> Result<RunEntry, (String, String)> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let label = axis.labels.get(at).unwrap_or(&text);
    let mut run = run.clone();
    run.name = run.name.replace(&format!("{{{}}}", axis.name), label);
    match axis.key.as_str() {
        "policy" | "workload" if !value.is_str() => {
            return Err((format!("axes.{}.values", axis.name), format!("{value} is no name")));
        }
        "policy" => run.policy = Some(text),
        "workload" => run.workload = Some(text),
        key => drop(run.set.insert(key.to_string(), value.clone())),
    }
    Ok(run)
}
