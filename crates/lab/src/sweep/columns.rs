//! Which numbers of a result a row holds, and their types.

use super::pareto::Objective;
use super::schema::{self, Leaf};
use super::value::{Cell, Kind};
use crate::quantity::{Missing, Quantities, SHORT, path_of};
use manx_config::ConfigError;
use manx_core::stats::{Outcome, RunResult};

/// A number of a result: what it is called in the table, and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// A short name or a path in `result.json`.
    pub name: String,
    /// Its type.
    pub kind: Kind,
}

/// The quantities of the rows: those that are named, else every short name; then those of the
/// front.
///
/// Wrong reads are counted only where reads are checked. No short name depends on the machine.
pub fn quantities(
    named: &[String],
    objectives: &[Objective],
    verify: bool,
) -> Result<Vec<Quantity>, ConfigError> {
    let mut all: Vec<Quantity> = Vec::new();
    for name in named.iter().map(|name| name.trim()) {
        if all.iter().any(|other| other.name == name) {
            return Err(ConfigError::new(format!("--columns: `{name}` is named twice")));
        }
        all.push(quantity("--columns", name)?);
    }
    if named.is_empty() {
        let names =
            SHORT.iter().map(|(short, ..)| *short).filter(|short| verify || *short != "mismatches");
        all = names.map(|name| quantity("--columns", name)).collect::<Result<_, _>>()?;
    }
    for (at, Objective { name, .. }) in objectives.iter().enumerate() {
        if objectives[..at].iter().any(|other| other.name == *name) {
            return Err(ConfigError::new(format!("--pareto: `{name}` is named twice")));
        }
        let quantity = quantity(ASKED, name)?;
        if !all.contains(&quantity) {
            all.push(quantity);
        }
    }
    Ok(all)
}

/// Options that ask for a quantity beside `--columns`.
pub const ASKED: &str = "--pareto, --where, --minimise";

/// The quantity called `name`, where `option` says it.
pub fn quantity(option: &str, name: &str) -> Result<Quantity, ConfigError> {
    let kind = match schema::of_field(path_of(name)) {
        Some(Leaf::Integer) => Some(Kind::Integer),
        Some(Leaf::Number) => Some(Kind::Number),
        Some(Leaf::Boolean) => Some(Kind::Boolean),
        _ => None,
    };
    match (kind, name) {
        (_, "seed") => Err(ConfigError::new(format!("{option}: `seed` is a column of its own"))),
        (Some(kind), name) => Ok(Quantity { name: name.to_string(), kind }),
        (None, name) => {
            let missing = match Quantities::every().get(name) {
                Err(missing @ Missing::Unknown { .. }) => missing.to_string(),
                Err(Missing::Null) => {
                    Missing::Unknown { name: name.to_string(), nearest: None }.to_string()
                }
                _ => format!("`{name}` is no number"),
            };
            Err(ConfigError::new(format!("{option}: {missing}")))
        }
    }
}

/// The cells of a result: its seed, how it ended, the quantities.
pub fn cells<'a>(
    result: &RunResult,
    quantities: &'a [Quantity],
) -> impl Iterator<Item = Cell> + use<'a> {
    let outcome = match result.outcome {
        Outcome::Completed => "completed",
        Outcome::Starved => "starved",
        Outcome::Stuck => "stuck",
        Outcome::Partial => "partial",
    };
    let seed = i64::try_from(result.seed).map_or(Cell::Missing, Cell::Integer);
    let numbers = Quantities::of(result);
    let number = move |quantity: &Quantity| {
        numbers
            .value(&quantity.name)
            .map_or(Cell::Missing, |value| Cell::of_json(value, quantity.kind))
    };
    [seed, Cell::Text(outcome.to_string())].into_iter().chain(quantities.iter().map(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::example;

    fn named(names: &[&str], pareto: &[&str]) -> Result<Vec<Quantity>, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_string()).collect();
        let objectives: Vec<_> =
            pareto.iter().map(|text| Objective::parse(text).unwrap()).collect();
        quantities(&names, &objectives, false).map_err(|error| error.to_string())
    }

    #[test]
    fn a_row_holds_what_was_named_with_its_type() {
        let quantities =
            named(&["erases", "write.p99_us", "drives"], &["max:iops", "erases"]).unwrap();
        let kinds: Vec<_> =
            quantities.iter().map(|quantity| (quantity.name.as_str(), quantity.kind)).collect();
        let number = Kind::Number;
        assert_eq!(
            kinds,
            [
                ("erases", Kind::Integer),
                ("write.p99_us", number),
                ("drives", Kind::Integer),
                ("iops", number)
            ]
        );
        let result = &example::three_policies().runs[1];
        let cells: Vec<Cell> = cells(result, &quantities).collect();
        assert_eq!(
            cells[..2],
            [Cell::Integer(result.seed as i64), Cell::Text("completed".to_string())]
        );
        assert_eq!(cells[2], Cell::Integer(result.flash.erases as i64));
        assert_eq!(cells[3], Cell::Number(result.write.p99_us.unwrap()));
        assert_eq!(cells[4..], [Cell::Missing, Cell::Number(result.read.iops)]);
    }

    #[test]
    fn without_names_a_row_holds_every_short_name_and_wrong_reads_only_where_they_are_checked() {
        let all = named(&[], &[]).unwrap();
        assert_eq!(all.len(), SHORT.len() - 1);
        assert!(SHORT.iter().all(|(_, path, _)| !path.starts_with("machine.")));
        assert_eq!(quantities(&[], &[], true).unwrap().len(), SHORT.len());
    }

    #[test]
    fn a_quantity_that_is_not_there_is_refused() {
        for (names, pareto, reason) in [
            (
                &["p99_8"] as &[&str],
                &[] as &[&str],
                "--columns: no quantity is called `p99_8`; did you mean `p99_9`?",
            ),
            (
                &[],
                &["waff"],
                "--pareto, --where, --minimise: no quantity is called `waff`; did you mean `waf`?",
            ),
            (&["act.nothing"], &[], "no quantity is called `act.nothing`"),
            (&["scenario"], &[], "`scenario` is no number"),
            (&["read"], &[], "`read` is no number"),
            (&["waf", "waf"], &[], "named twice"),
            (&[], &["waf", "max:waf"], "named twice"),
            (&["seed"], &[], "a column of its own"),
            (&[""], &[], "no quantity is called"),
        ] {
            let error = named(names, pareto).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
