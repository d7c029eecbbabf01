//! The knee of a load: latency against throughput, as every data sheet has it.
//!
//! Of a curve that rises slowly and then steeply the knee is the point farthest below the straight
//! line between its ends (Kneedle: Satopää et al., ICDCS Workshops 2011), the latency taken as its
//! logarithm.

use super::value::{Cell, Kind};
use crate::table::cell;
use std::fmt::Write;

/// A curve that is no farther from a straight line has no knee (of 1).
const BEND: f64 = 0.1;

/// Quantities that a table of loads needs.
pub const COLUMNS: [&str; 6] = ["iops", "write_iops", "p50", "p99", "write_p99", "max"];

/// The place of the knee among points of throughput and latency, in the order of the load; `None`
/// where there is none.
pub fn knee(points: &[(f64, f64)]) -> Option<usize> {
    let ends = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let all = points.iter().map(of);
        (all.clone().fold(f64::MAX, f64::min), all.fold(f64::MIN, f64::max))
    };
    let log = |point: &(f64, f64)| point.1.max(1e-3).ln();
    let ((left, right), (low, high)) = (ends(&|point| point.0), ends(&log));
    if points.len() < 3 || right <= left || high <= low {
        return None;
    }
    let bend =
        |point: &(f64, f64)| (point.0 - left) / (right - left) - (log(point) - low) / (high - low);
    let (at, bend) = points
        .iter()
        .map(bend)
        .enumerate()
        .max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)))?;
    (bend > BEND).then_some(at)
}

/// A table of each setting's loads, and its knee. `key` is the swept load, and its values stand for
/// `loads`.
pub fn table(
    columns: &[(String, Kind)],
    rows: &[Vec<Cell>],
    key: &str,
    loads: &[String],
) -> String {
    let place = |name: &str| columns.iter().position(|(column, _)| column == name);
    let Some(load) = place(key) else { return String::new() };
    let own = place("seed").unwrap_or(columns.len());
    let number = |row: &Vec<Cell>, name: &str| place(name).and_then(|at| row[at].number());
    let name_of = |row: &Vec<Cell>| {
        let keys = (1..own).filter(|at| *at != load && !columns[*at].0.starts_with(key));
        let told = keys.map(|at| match columns[at].0.as_str() {
            "policy" => shown(&row[at]),
            name => format!("{name} {}", shown(&row[at])),
        });
        told.collect::<Vec<_>>().join(", ")
    };
    let mut groups: Vec<(String, Vec<&Vec<Cell>>)> = Vec::new();
    for row in rows {
        let name = name_of(row);
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((name, vec![row])),
        }
    }
    let mut text = String::new();
    for (name, rows) in groups {
        let _ = writeln!(text, "{name}\n   load  completed/s   read p50   read p99  write p99");
        let mut points = Vec::new();
        for (row, load) in rows.iter().zip(loads) {
            let sum = number(row, "iops").unwrap_or(0.0) + number(row, "write_iops").unwrap_or(0.0);
            let tail = number(row, "p99").or(number(row, "write_p99"));
            points.extend(tail.map(|tail| (sum, tail)));
            let told = |name: &str| number(row, name).map_or("-".to_string(), cell::latency);
            let _ = writeln!(
                text,
                "{load:>7}  {sum:>11.0}  {:>9}  {:>9}  {:>9}",
                told("p50"),
                told("p99"),
                told("write_p99")
            );
        }
        let knee = knee(&points).filter(|_| points.len() == rows.len());
        let _ = match knee.and_then(|at| Some((loads.get(at)?, points[at]))) {
            Some((load, (rate, tail))) => writeln!(
                text,
                "knee at load {load}: {rate:.0}/s with a p99 of {}",
                cell::latency(tail)
            ),
            None => writeln!(text, "no knee among these loads"),
        };
    }
    text
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Integer(number) => number.to_string(),
        Cell::Number(number) => number.to_string(),
        Cell::Boolean(is) => is.to_string(),
        Cell::Missing => "-".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_of_a_queue_is_where_it_begins_to_rise() {
        // M/M/1 of 1000/s: the latency is 1 / (1000 - rate).
        let rates = [500.0, 600.0, 700.0, 800.0, 900.0, 950.0, 980.0, 990.0, 999.0];
        let points: Vec<(f64, f64)> =
            rates.iter().map(|rate| (*rate, 1e6 / (1000.0 - rate))).collect();
        assert_eq!(knee(&points), Some(4));
        let straight: Vec<(f64, f64)> =
            (1..10).map(|n| (f64::from(n), f64::from(n).exp())).collect();
        assert_eq!(knee(&straight), None);
        assert_eq!(knee(&points[..2]), None);
        assert_eq!(knee(&[(1.0, 5.0); 6]), None);
    }

    #[test]
    fn a_table_has_a_row_for_each_load_and_names_the_knee() {
        let columns: Vec<(String, Kind)> =
            ["point", "policy", "workload.rate", "seed", "outcome", "iops", "p50", "p99"]
                .map(|name| (name.to_string(), Kind::Number))
                .to_vec();
        let row = |rate: f64, p99: f64| {
            vec![
                Cell::Integer(1),
                Cell::Text("base".to_string()),
                Cell::Number(rate),
                Cell::Integer(1),
                Cell::Text("completed".to_string()),
                Cell::Number(rate),
                Cell::Number(100.0),
                Cell::Number(p99),
            ]
        };
        let rows = [row(500.0, 100.0), row(800.0, 120.0), row(900.0, 150.0), row(950.0, 90_000.0)];
        let loads = ["0.5", "0.8", "0.9", "0.95"].map(str::to_string);
        let text = table(&columns, &rows, "workload.rate", &loads);
        assert!(text.contains("knee at load 0.9: 900/s with a p99 of 150.0us"), "{text}");
        assert_eq!(text.lines().count(), 7, "{text}");
    }
}
