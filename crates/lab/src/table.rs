//! A comparison for the terminal: one row a policy, and the tail as a picture.
//!
//! Plain text, no space inside a cell: it reads the same in a terminal, in a pipe and in a commit
//! message, but for the colours that a terminal may have. At most [`MOST`] columns, of which those
//! leave that say nothing (the same in every row) and, on a narrow terminal, those that matter
//! least; what left is named below the table. The wide table has every column, in blocks where the
//! terminal is too narrow for one. Digits are never wrapped.

pub(crate) mod cell;
mod chart;
mod columns;
#[cfg(test)]
pub(crate) mod example;
pub(crate) mod grid;

pub use cell::{count, latency, rate, three_digits};
pub use chart::tail_chart;
pub use grid::wrap;

use columns::{COLUMNS, Column, Missing, Of, Value, WIDE};
use grid::{Cell, Grid, Paint};
use manx_config::resolve_policy;
use manx_core::stats::{BEYOND_MIN, RecordedReport, RunResult, RunSet};

/// Columns of a table that is not wide.
const MOST: usize = 9;

/// The worst of a column is marked where it is this many times the best: less is no difference to
/// act upon.
const APART: f64 = 1.02;

/// How tables and charts look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// Columns of the terminal; `None` in a pipe.
    pub width: Option<usize>,
    /// Every column.
    pub wide: bool,
    /// The best and the worst of a column in colour.
    pub colour: bool,
    /// Nothing but ASCII.
    pub ascii: bool,
}

/// The warnings, each once, headed by the policies that it is about where it is not about all.
pub fn warnings(runs: &[RunResult]) -> Vec<String> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for run in runs {
        for warning in &run.warnings {
            match all.iter_mut().find(|(text, _)| text == warning) {
                Some((_, policies)) => policies.push(&run.policy),
                None => all.push((warning, vec![&run.policy])),
            }
        }
    }
    let headed = |(warning, policies): (&str, Vec<&str>)| {
        if policies.len() == runs.len() {
            warning.to_string()
        } else {
            format!("{}: {warning}", policies.join(", "))
        }
    };
    all.into_iter().map(headed).collect()
}

/// How the latencies that a trace recorded are named beside the policies.
pub const RECORDED: &str = "recorded";

/// A run that no drive can have, a bound for the others: its collections take no time.
pub fn is_bound(run: &RunResult) -> bool {
    let named = resolve_policy(&run.policy)
        .is_ok_and(|path| path.iter().any(|part| part.policy.name == "nogc"));
    named || run.gc.free_reclaims > 0
}

/// The columns of a table, and those that it does without.
#[derive(Default)]
struct Chosen {
    shown: Vec<&'static Column>,
    /// Columns with one value in every row.
    flat: Vec<&'static Column>,
    /// No row has a value.
    empty: Vec<&'static Column>,
    /// They matter less.
    left_out: Vec<&'static Column>,
}

impl Chosen {
    fn of(of: &Of<'_>, look: &Look) -> Self {
        let mut chosen = Self::default();
        let recorded = of.set.recorded().map(as_run);
        for column in COLUMNS.iter().filter(|column| (column.applies)(of)) {
            let told = recorded.iter().filter(|_| is_recorded(of, column));
            let values: Vec<Value> =
                of.set.runs.iter().chain(told).map(|run| (column.value)(of, run)).collect();
            let place = match column.rank {
                0 | 1 => &mut chosen.shown,
                _ if look.wide => &mut chosen.shown,
                WIDE => &mut chosen.left_out,
                _ if values.iter().all(Result::is_err) => &mut chosen.empty,
                _ if values.len() > 1 && values.iter().all(|value| *value == values[0]) => {
                    &mut chosen.flat
                }
                _ => &mut chosen.shown,
            };
            place.push(column);
        }
        let too_wide =
            |chosen: &Self| look.width.is_some_and(|width| grid(of, &chosen.shown).width() > width);
        while !look.wide && (chosen.shown.len() > MOST || too_wide(&chosen)) {
            let least = chosen.shown.iter().enumerate().max_by_key(|(_, column)| column.rank);
            let Some((at, _)) = least.filter(|(_, column)| column.rank > 1) else { break };
            let column = chosen.shown.remove(at);
            chosen.left_out.push(column);
        }
        chosen.left_out.sort_by_key(|column| column.rank);
        chosen
    }
}

/// The table of a comparison.
pub fn render(set: &RunSet, look: &Look) -> String {
    let Some(of) = Of::new(set) else { return "no runs\n".to_string() };
    let chosen = Chosen::of(&of, look);
    let blocks: Vec<String> = blocks(&of, &chosen.shown, look.width)
        .iter()
        .map(|block| grid(&of, block).draw(look.colour))
        .collect();
    let notes: String =
        notes(&of, &chosen).iter().map(|note| wrap(note, look.width, 2) + "\n").collect();
    blocks.join("\n") + &notes
}

/// The columns as they fit beside one another, each block with the policies first.
fn blocks(
    of: &Of<'_>,
    columns: &[&'static Column],
    width: Option<usize>,
) -> Vec<Vec<&'static Column>> {
    let mut blocks: Vec<Vec<&'static Column>> = Vec::new();
    for column in columns {
        match blocks.last_mut() {
            None => blocks.push(vec![*column]),
            Some(block) => {
                block.push(*column);
                if block.len() > 2 && width.is_some_and(|width| grid(of, block).width() > width) {
                    block.pop();
                    blocks.push(vec![columns[0], *column]);
                }
            }
        }
    }
    blocks
}

fn grid(of: &Of<'_>, columns: &[&Column]) -> Grid {
    let text = |column: &&Column| ["policy", "outcome"].contains(&(column.head)(of).as_str());
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for run in &of.set.runs {
        let value =
            |column: &&Column| (column.value)(of, run).unwrap_or_else(|_| "-".to_string()).into();
        rows.push(columns.iter().map(value).collect());
    }
    columns.iter().enumerate().for_each(|(at, column)| paint(of, column, at, &mut rows));
    if let Some(recorded) = of.set.recorded() {
        let recorded = as_run(recorded);
        rows.push(
            columns.iter().map(|column| recorded_cell(of, column, &recorded).into()).collect(),
        );
    }
    let (heads, left) = (columns.iter().map(|column| (column.head)(of)), columns.iter().map(text));
    Grid { heads: heads.collect(), left: left.collect(), rows, gap: 2 }
}

/// The latencies that the trace recorded, as if of a run; nothing else is known of that device.
fn as_run(recorded: &RecordedReport) -> RunResult {
    RunResult {
        policy: RECORDED.to_string(),
        read: recorded.read.clone(),
        write: recorded.write.clone(),
        ..RunResult::default()
    }
}

/// The cell of what was recorded: empty in the columns that are not about latencies.
fn recorded_cell(of: &Of<'_>, column: &Column, recorded: &RunResult) -> String {
    match is_recorded(of, column) {
        true => (column.value)(of, recorded).unwrap_or_else(|_| "-".to_string()),
        false => String::new(),
    }
}

/// Whether the column is one of those that a trace can fill.
fn is_recorded(of: &Of<'_>, column: &Column) -> bool {
    let head = (column.head)(of);
    ["policy", "read\n", "write\n"].iter().any(|begin| head.starts_with(begin))
        || head.contains("\nvs ")
}

/// Marks the best and the worst of a column, where there is a difference. A bound that no drive can
/// have is neither.
fn paint(of: &Of<'_>, column: &Column, at: usize, rows: &mut [Vec<Cell>]) {
    let costs: Vec<Option<f64>> =
        of.set.runs.iter().map(|run| (column.cost)(of, run).filter(|_| !is_bound(run))).collect();
    let known = || costs.iter().copied().flatten();
    let (low, high) = (known().fold(f64::MAX, f64::min), known().fold(0.0, f64::max));
    let differs = high > low * APART;
    for ((run, cost), row) in of.set.runs.iter().zip(&costs).zip(rows) {
        row[at].paint = match cost {
            _ if of.set.runs.len() > 1 && is_bound(run) => Paint::Dim,
            Some(cost) if differs && *cost == low => Paint::Best,
            Some(cost) if differs && *cost == high => Paint::Worst,
            _ => Paint::Plain,
        };
    }
}

/// Notes on the table: what is compared with what, why a cell is `-`, which columns are not there.
fn notes(of: &Of<'_>, chosen: &Chosen) -> Vec<String> {
    let runs = &of.set.runs;
    let mut notes = Vec::new();
    let bound = "a bound that no drive can have: its GC takes no time";
    if runs.len() > 1 {
        let baseline = &of.baseline.policy;
        notes.push(match is_bound(of.baseline) {
            true => format!("baseline: {baseline}, {bound}"),
            false => format!("baseline: {baseline}"),
        });
        let others = runs[1..].iter().filter(|run| is_bound(run)).map(|run| run.policy.as_str());
        match others.collect::<Vec<_>>().join(", ") {
            others if others.is_empty() => {}
            others => notes.push(format!("{others}: {bound}")),
        }
    }
    if let Some(recorded) = of.set.recorded() {
        notes.push(format!(
            "{RECORDED}: what the trace says of the device it was taken on, {}",
            recorded.span
        ));
    }
    let name = |column: &&Column| (column.head)(of).replace("\n/", "/").replace('\n', " ");
    let names =
        |columns: &[&'static Column]| columns.iter().map(name).collect::<Vec<_>>().join(", ");
    let value = |column: &Column| (column.value)(of, of.baseline).unwrap_or_default();
    let same: Vec<String> =
        chosen.flat.iter().map(|column| format!("{} {}", name(column), value(column))).collect();
    if !same.is_empty() {
        notes.push(format!("the same for all: {}", same.join(", ")));
    }
    let values =
        chosen.shown.iter().flat_map(|column| runs.iter().map(|run| (column.value)(of, run)));
    let missing: Vec<Missing> = values.filter_map(Result::err).collect();
    let why =
        |column: &&Column, why| runs.iter().any(|run| (column.value)(of, run).err() == Some(why));
    let too_few: Vec<&Column> =
        chosen.empty.iter().copied().filter(|column| why(column, Missing::TooFewSamples)).collect();
    let beyond = format!("a percentile needs {BEYOND_MIN} beyond it");
    if !too_few.is_empty() {
        let too_few: Vec<String> = too_few.iter().map(name).collect();
        notes.push(format!("too few samples for {} ({beyond})", too_few.join(", ")));
    }
    let reasons = [
        (Missing::TooFewSamples, format!("-: too few samples ({beyond})")),
        (Missing::NoRequests, "-: no such request".to_string()),
        (Missing::NotMeasured, "-: not measured, or over zero".to_string()),
    ];
    notes.extend(
        reasons.into_iter().filter(|(reason, _)| missing.contains(reason)).map(|(_, note)| note),
    );
    if !chosen.left_out.is_empty() {
        notes.push(format!("not shown (--wide): {}", names(&chosen.left_out)));
    }
    notes
}

#[cfg(test)]
mod tests;
