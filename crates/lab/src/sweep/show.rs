//! A sweep for people (tables) and for programs (JSON).

use super::run::Swept;
use super::standing::Front;
use super::value::{Cell, Kind};
use crate::json::indented;
use crate::quantity::{SHORT, path_of};
use crate::table::cell;
use crate::table::grid::Grid;
use serde_json::{Map, Value, json};

/// Columns of a table of rows where none were named.
const USUAL: [&str; 8] = ["mean", "p99", "p99_9", "p99_99", "iops", "write_p99", "waf", "blocked"];

/// The document `{"rows": [..], "front": [..]}`; `null` for a front that was not asked for, or rows
/// that were not looked at.
pub fn to_json(swept: &Swept) -> String {
    let names: Vec<String> = swept.columns.iter().map(|(name, _)| name.clone()).collect();
    let rows = swept.rows.as_ref().map(|rows| objects(&names, rows));
    let mut document = json!({ "rows": rows, "front": swept.front.as_ref().map(front_json) });
    if !swept.skipped.is_empty() {
        let list = swept
            .skipped
            .iter()
            .map(|(setting, why)| json!({ "point": setting + 1, "error": why }));
        document["skipped"] = list.collect();
    }
    indented(&document)
}

/// The document of a front alone.
pub fn front_to_json(front: &Front) -> String {
    indented(&json!({ "rows": null, "front": front_json(front) }))
}

fn front_json(front: &Front) -> Value {
    objects(&front.columns, &front.rows)
}

fn objects(names: &[String], rows: &[Vec<Cell>]) -> Value {
    let object = |row: &Vec<Cell>| -> Value {
        Value::Object(
            names.iter().cloned().zip(row.iter().map(Cell::to_json)).collect::<Map<_, _>>(),
        )
    };
    rows.iter().map(object).collect()
}

/// A table of rows: the point, its keys, and the quantities; of all short names the usual ones.
pub fn rows_table(columns: &[(String, Kind)], rows: &[Vec<Cell>], all: bool) -> String {
    let own = columns.iter().position(|(name, _)| name == "seed").unwrap_or(0);
    let changes = |at: usize| rows.iter().any(|row| row[at] != rows[0][at]);
    let is_shown = |at: &usize| match (columns[*at].0.as_str(), *at) {
        ("seed", _) => changes(own),
        ("outcome", at) => rows.iter().any(|row| row[at] != Cell::Text("completed".to_string())),
        (_, at) if at < own => !is_second(columns.iter().map(|(name, _)| name.as_str()), at),
        (name, at) => {
            all || (USUAL.contains(&name) && rows.iter().any(|row| row[at] != Cell::Missing))
        }
    };
    let shown: Vec<usize> = (0..columns.len()).filter(is_shown).collect();
    let names = shown.iter().map(|at| columns[*at].0.as_str()).collect::<Vec<_>>();
    let rows = rows.iter().map(|row| shown.iter().map(|at| &row[*at]).collect());
    draw(&names, shown.iter().position(|at| *at > own), rows) + two_definitions(&names)
}

/// A table of the front, and what it was made of.
pub fn front_table(front: &Front) -> String {
    let names: Vec<&str> = front.columns.iter().map(String::as_str).collect();
    let shown: Vec<usize> =
        (0..names.len()).filter(|at| !is_second(names.iter().copied(), *at)).collect();
    let picked = shown.iter().map(|at| names[*at]).collect::<Vec<_>>();
    let quantities = front.columns.len() - front.quantities;
    let from = shown.iter().position(|at| *at >= quantities);
    let mut text = draw(
        &picked,
        from,
        front.rows.iter().map(|row| shown.iter().map(|at| &row[*at]).collect()),
    );
    text += two_definitions(&picked);
    let (points, compared) = (front.rows.len(), front.compared);
    text += &format!(
        "front: {points} of {compared} points, no other being as good in all and better in one\n"
    );
    if front.seeds > 1 {
        text += &format!("each number is the mean over {} seeds\n", front.seeds);
    }
    if front.beyond > 0 {
        text += &format!("beyond a bound: {} points\n", front.beyond);
    }
    if front.left_out > 0 {
        text += &format!("left out: {} points that lack one of the quantities\n", front.left_out);
    }
    text
}

/// Note on a quantity that one table holds by two definitions.
fn two_definitions(names: &[&str]) -> &'static str {
    match ["device.op", "capacity.op_percent"].iter().all(|name| names.contains(name)) {
        true => {
            "device.op: spare of the raw capacity; capacity.op_percent: \
             over the user capacity, as data sheets say\n"
        }
        false => "",
    }
}

/// A time, size or rate as a number, beside the column that has it as text.
fn is_second<'a>(mut names: impl Iterator<Item = &'a str> + Clone, at: usize) -> bool {
    let name = names.clone().nth(at).unwrap_or_default();
    let key = ["_us", "_bytes", "_bytes_per_s"].iter().filter_map(|unit| name.strip_suffix(unit));
    key.into_iter().any(|key| names.any(|other| other == key))
}

/// `quantities` is the first column that is a quantity and not a key.
fn draw<'a>(
    names: &[&str],
    quantities: Option<usize>,
    rows: impl Iterator<Item = Vec<&'a Cell>>,
) -> String {
    let is_quantity = |at: usize| quantities.is_some_and(|from| at >= from);
    let mut table = Grid::new(names, 2);
    let mut is_text = vec![false; names.len()];
    for row in rows {
        let cells = row.iter().enumerate().map(|(at, value)| {
            is_text[at] |= matches!(value, Cell::Text(_));
            if is_quantity(at) { short(names[at], value) } else { value.to_string() }
        });
        table.add_row(cells);
    }
    table.left = is_text;
    table.draw(false)
}

/// A number with the digits that a person reads.
fn short(name: &str, value: &Cell) -> String {
    let unit = SHORT.iter().find(|(short, ..)| *short == name).map_or("", |(_, _, unit)| unit);
    match value {
        Cell::Missing => "-".to_string(),
        Cell::Number(us) if path_of(name).ends_with("_us") => cell::latency(*us),
        Cell::Number(rate) if unit == "1/s" => cell::rate(*rate),
        Cell::Number(number) => cell::three_digits(*number),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Cell {
        Cell::Text(text.to_string())
    }

    #[test]
    fn a_table_shows_the_keys_and_the_usual_quantities_once() {
        let columns = [
            ("point", Kind::Integer),
            ("policy", Kind::Text),
            ("drive.buffer", Kind::Text),
            ("drive.buffer_bytes", Kind::Integer),
            ("seed", Kind::Integer),
            ("outcome", Kind::Text),
            ("p50", Kind::Number),
            ("p99", Kind::Number),
            ("p99_99", Kind::Number),
            ("iops", Kind::Number),
            ("waf", Kind::Number),
        ]
        .map(|(name, kind)| (name.to_string(), kind));
        let row = |point: i64, p99: f64| {
            let size = Cell::Integer(point * 65536);
            let first = [
                Cell::Integer(point),
                text("base"),
                text("64KiB"),
                size,
                Cell::Integer(1),
                text("completed"),
            ];
            let last = [
                Cell::Number(40.0),
                Cell::Number(p99),
                Cell::Missing,
                Cell::Number(4000.0),
                Cell::Number(2.5),
            ];
            first.into_iter().chain(last).collect::<Vec<_>>()
        };
        let drawn = rows_table(&columns, &[row(1, 1_234.5), row(12, 99.0)], false);
        let expected = "
point  policy  drive.buffer      p99   iops   waf
-------------------------------------------------
    1  base    64KiB         1.234ms  4.00k  2.50
   12  base    64KiB         99.00us  4.00k  2.50
";
        assert_eq!(format!("\n{drawn}"), expected, "\n{drawn}");
        let all = rows_table(&columns, &[row(1, 1.0)], true);
        assert!(
            all.contains("p50")
                && all.contains("p99_99")
                && all.contains(" - ")
                && !all.contains("seed"),
            "{all}"
        );
    }
}
