//! The front of a folder's rows, without running anything.

use super::SweepError;
use super::columns::{ASKED, quantity};
use super::csv;
use super::pareto::Objective;
use super::question::{FILE, Question};
use super::standing::{Front, Standings};
use super::value::{Cell, Kind};
use std::path::Path;

/// The front of `folder/sweep.csv`, and how many rows of how many lie there; points that were left
/// out are not missing.
pub fn front_of(
    folder: &Path,
    objectives: &[Objective],
) -> Result<(Front, usize, u64), SweepError> {
    let question = Question::read(folder).map_err(SweepError::Input)?.ok_or_else(|| {
        SweepError::Input(format!(
            "--out {}: no sweep lies there: there is no {FILE} in it",
            folder.display()
        ))
    })?;
    let path = folder.join("sweep.csv");
    let wrong = |why: String| SweepError::Input(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(&path)
        .map_err(|error| wrong(format!("cannot read it: {error}")))?;
    let mut rows = csv::read(&text).into_iter();
    let head: Vec<String> =
        rows.next().unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect();
    let rows: Vec<Vec<Option<String>>> = rows.collect();
    // The cells before the seed are the point: its number, its policy, its keys.
    let seed = head
        .iter()
        .position(|name| name == "seed")
        .filter(|_| head.first().is_some_and(|name| name == "point"));
    let Some(seed) = seed.filter(|_| rows.iter().all(|row| row.len() == head.len())) else {
        return Err(wrong("these are not the rows of a sweep".to_string()));
    };
    let numbers = &head[(seed + 2).min(head.len())..];
    let place = |objective: &Objective| {
        let name = objective.name.as_str();
        let at = numbers.iter().position(|other| other == name);
        if let Some(at) = at {
            return Ok(at + seed + 2);
        }
        quantity(ASKED, name).map_err(|error| SweepError::Input(error.to_string()))?;
        Err(wrong(format!(
            "no column is called `{name}`: the same sweep with --columns \
             {name} adds it without a run"
        )))
    };
    let places = objectives.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    let kind = |at: usize| {
        let kinds =
            rows.iter().filter_map(|row| row[at].as_deref()).map(|text| Cell::of_toml(text).kind());
        kinds.reduce(Kind::and).unwrap_or(Kind::Text)
    };
    let kinds: Vec<Kind> = (0..head.len()).map(kind).collect();
    let cell = |row: usize, at: usize| match &rows[row][at] {
        None => Cell::Missing,
        Some(text) => Cell::of_toml(text).into_kind(kinds[at], text),
    };
    let seeds = question.seeds.max(1) as usize;
    let mut standings = Standings::new(objectives.to_vec(), seeds);
    let mut first = 0;
    for row in 0..rows.len() {
        // A setting is known by its first row.
        if rows[row][0] != rows[first][0] {
            first = row;
        }
        let completed = rows[row][seed + 1].as_deref() == Some("completed");
        standings.add(first, completed, places.iter().map(|at| cell(row, *at).number()));
    }
    let names = head[..seed].to_vec();
    let of: Vec<Kind> = places.iter().map(|at| kinds[*at]).collect();
    let front = standings.front(names, &of, |row| (0..seed).map(|at| cell(row, at)).collect());
    let skipped =
        std::fs::read_to_string(folder.join("skipped.txt")).map_or(0, |text| text.lines().count());
    Ok((front, rows.len(), question.rows.saturating_sub((skipped * seeds) as u64)))
}
