//! Definitions and claims of an experiment's file: their expressions ask for nothing that is not
//! there, their bands are bands.

use super::{Band, Claim, Reader, Run, unknown};
use crate::experiment::expression::{Expression, Reference};
use crate::experiment::file::ClaimEntry;
use crate::quantity::{Missing, Quantities};
use manx_core::config::ConfigError;
use std::collections::BTreeMap;

impl Reader<'_> {
    pub(super) fn definitions(
        &self,
        runs: &[Run],
    ) -> Result<BTreeMap<String, Expression>, ConfigError> {
        let mut definitions = BTreeMap::new();
        for (name, value) in &self.file.define {
            let key = format!("define.{name}");
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if !name.chars().all(plain) || name.starts_with(|c: char| c.is_ascii_digit()) {
                return Err(self
                    .wrong(&key, "a definition's name has letters, digits and _, no digit first"));
            }
            let text = value
                .as_str()
                .ok_or_else(|| self.wrong(&key, "expected an expression in quotes"))?;
            // It may use those before it, so that none can go round in a circle.
            let expression = self.expression(&key, text, runs, &definitions)?;
            definitions.insert(name.clone(), expression);
        }
        Ok(definitions)
    }

    pub(super) fn claims(
        &self,
        runs: &[Run],
        definitions: &BTreeMap<String, Expression>,
    ) -> Result<Vec<Claim>, ConfigError> {
        let entries = &self.file.claims;
        for (at, entry) in entries.iter().enumerate() {
            self.check_name("claims.id", &entry.id)?;
            if entries[..at].iter().any(|earlier| earlier.id == entry.id) {
                return Err(
                    self.wrong("claims.id", format!("two claims are called `{}`", entry.id))
                );
            }
        }
        entries.iter().map(|entry| self.claim(entry, runs, definitions)).collect()
    }

    fn claim(
        &self,
        entry: &ClaimEntry,
        runs: &[Run],
        definitions: &BTreeMap<String, Expression>,
    ) -> Result<Claim, ConfigError> {
        let key = |field: &str| format!("claims.{}.{field}", entry.id);
        let expression = self.expression(&key("quantity"), &entry.quantity, runs, definitions)?;
        for (field, text) in [("text", &entry.text), ("source", &entry.source), ("why", &entry.why)]
        {
            if text.trim().is_empty() {
                return Err(self.wrong(&key(field), "it is missing: every claim has one"));
            }
        }
        let full = Band { low: entry.low, high: entry.high };
        let quick = &entry.quick;
        let other = Band { low: quick.low, high: quick.high };
        let has_other = quick.low.is_some() || quick.high.is_some();
        for (field, band, is_said) in [("low", full, true), ("quick.low", other, has_other)] {
            match (band.low, band.high) {
                _ if !is_said => {}
                (None, None) => {
                    return Err(
                        self.wrong(&key(field), "a band has a low end, a high end, or both")
                    );
                }
                (Some(low), Some(high)) if low > high => {
                    return Err(self.wrong(
                        &key(field),
                        format!("{low} is above the band's high end, {high}"),
                    ));
                }
                (low, high) if [low, high].into_iter().flatten().any(|end| !end.is_finite()) => {
                    return Err(
                        self.wrong(&key(field), "an end of a band is a finite number, or absent")
                    );
                }
                _ => {}
            }
        }
        if has_other && quick.why.trim().is_empty() {
            return Err(
                self.wrong(&key("quick.why"), "it is missing: another band has another reason")
            );
        }
        let (band, why) = match self.asked.quick && has_other {
            true => (other, quick.why.clone()),
            false => (full, entry.why.clone()),
        };
        let skip =
            Some(quick.skip.clone()).filter(|why| self.asked.quick && !why.trim().is_empty());
        let ClaimEntry { id, text, source, quantity, published, conditions, .. } = entry;
        let (id, text, source) = (id.clone(), text.clone(), source.clone());
        let (quantity, published, conditions) = (quantity.clone(), *published, conditions.clone());
        Ok(Claim { id, text, source, quantity, published, band, why, conditions, skip, expression })
    }

    /// Reads an expression; everything that it asks for is there.
    fn expression(
        &self,
        key: &str,
        text: &str,
        runs: &[Run],
        definitions: &BTreeMap<String, Expression>,
    ) -> Result<Expression, ConfigError> {
        let parsed = Expression::parse(text).map_err(|error| self.wrong(key, error))?;
        let empty = Quantities::every();
        for (column, reference) in parsed.references() {
            let wrong = |why: String| self.wrong(key, format!("column {column}: {why}"));
            let find = |name: &str| {
                let names = runs.iter().map(|run| run.name.as_str());
                runs.iter()
                    .find(|run| run.name == name)
                    .ok_or_else(|| wrong(unknown("run", name, names)))
            };
            match reference {
                Reference::Quantity { name, run } => {
                    find(run)?;
                    if let Err(missing @ (Missing::Unknown { .. } | Missing::NoNumber)) =
                        empty.get(name)
                    {
                        return Err(wrong(missing.to_string()));
                    }
                }
                Reference::Param { path, run } => {
                    if find(run)?.param(path).is_none() {
                        return Err(wrong(format!(
                            "the scenario of {run} has no number at `{path}`"
                        )));
                    }
                }
                Reference::Defined(name) if definitions.contains_key(name) => {}
                Reference::Defined(name) => {
                    let names = definitions.keys().map(String::as_str);
                    return Err(wrong(unknown("definition", name, names)));
                }
            }
        }
        Ok(parsed)
    }
}
