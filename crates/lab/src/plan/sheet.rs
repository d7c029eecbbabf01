//! A calculator's sheet: its formula, each symbol with its source, what comes out, and beside it
//! what a run gives where one was asked for.

use crate::json::indented;
use crate::table::cell::three_digits;
use serde::Serialize;
use std::fmt::Write;

/// A symbol of a formula.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Symbol {
    /// Its name.
    pub symbol: &'static str,
    /// Its value.
    pub value: f64,
    /// The unit.
    pub unit: &'static str,
    /// Meaning.
    pub meaning: &'static str,
    /// Where the value is from: an option, or what was assumed.
    pub source: String,
}

/// A result of the sheet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Meaning.
    pub name: String,
    /// By the formula; null where it says nothing.
    pub value: Option<f64>,
    /// The unit.
    pub unit: &'static str,
    /// By a run; null without `--check`, or where none can tell.
    pub checked: Option<f64>,
}

/// A sheet.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sheet {
    /// The calculator.
    pub plan: &'static str,
    /// One line: what it is about.
    pub title: &'static str,
    /// The formula and where it is published.
    pub formula: &'static str,
    /// The symbols.
    pub symbols: Vec<Symbol>,
    /// The answers.
    pub answers: Vec<Answer>,
    /// Notes that a reader needs.
    pub notes: Vec<String>,
}

/// A symbol as it is printed: name, value, meaning, source.
type Row<'a> = (String, String, &'a str, &'a str);

impl Sheet {
    /// Adds a symbol.
    pub fn symbol(
        &mut self,
        symbol: &'static str,
        value: f64,
        unit: &'static str,
        meaning: &'static str,
        source: impl Into<String>,
    ) {
        self.symbols.push(Symbol { symbol, value, unit, meaning, source: source.into() });
    }

    /// Adds an answer.
    pub fn answer(&mut self, name: impl Into<String>, value: Option<f64>, unit: &'static str) {
        self.answers.push(Answer { name: name.into(), value, unit, checked: None });
    }

    /// For a person.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.title);
        let symbols: Vec<Row<'_>> = self
            .symbols
            .iter()
            .map(|symbol| {
                let value = number(symbol.value, symbol.unit);
                (symbol.symbol.to_string(), value, symbol.meaning, symbol.source.as_str())
            })
            .collect();
        let width = |of: &dyn Fn(&Row<'_>) -> usize| symbols.iter().map(of).max().unwrap_or(0);
        let (names, values, meanings) =
            (width(&|row| row.0.len()), width(&|row| row.1.len()), width(&|row| row.2.len()));
        for (name, value, meaning, source) in &symbols {
            let _ =
                writeln!(text, "{name:<names$}  {value:>values$}  {meaning:<meanings$}  {source}");
        }
        let _ = writeln!(text, "\n{}\n", self.formula);
        let is_checked = self.answers.iter().any(|answer| answer.checked.is_some());
        let names = self.answers.iter().map(|answer| answer.name.len()).max().unwrap_or(0);
        if is_checked {
            let _ = writeln!(text, "{:names$}  {:>14}  {:>14}  run/formula", "", "formula", "run");
        }
        for Answer { name, value, unit, checked } in &self.answers {
            let told = |value: Option<f64>| value.map_or("-".to_string(), |v| number(v, unit));
            let _ = write!(text, "{name:<names$}  {:>14}", told(*value));
            if is_checked {
                let ratio = checked.zip(*value).filter(|(_, value)| *value != 0.0);
                let ratio =
                    ratio.map_or("-".to_string(), |(run, value)| format!("{:.3}", run / value));
                let _ = write!(text, "  {:>14}  {ratio:>11}", told(*checked));
            }
            text.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(text, "\n- {note}");
        }
        text
    }

    /// One document. Ends in a newline.
    pub fn document(&self) -> String {
        // Numbers, text and lists, none of which serde_json can refuse.
        indented(&serde_json::to_value(self).expect("plain data"))
    }
}

fn number(value: f64, unit: &str) -> String {
    let shown = match value.abs() {
        size if size >= 1e6 || (size > 0.0 && size < 1e-6) => format!("{value:.3e}"),
        size if size >= 1000.0 => format!("{value:.0}"),
        _ => three_digits(value),
    };
    if unit.is_empty() { shown } else { format!("{shown} {unit}") }
}
