//! Definitions and claims of an experiment's file: their expressions ask for nothing that is not
//! there, their bands are bands.

use super::{Band, Claim, Reader, Run, unknown};
use crate::experiment::expression::{Expression, Reference};
use crate::experiment::file::{ClaimEntry, Miss};
use crate::experiment::verdict::{Figure, Origin, Verdict};
use crate::experiment::{render, statements};
use crate::quantity::{Missing, Quantities};
use manx_config::ConfigError;
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
        self.check_names("claims", entries.iter().map(|entry| &*entry.id))?;
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
        let (full, other) = self.bands(entry)?;
        let (quick, has_other) = (&entry.quick, other.is_some());
        let other = other.unwrap_or(full);
        let (band, why) = match self.asked.quick && has_other {
            true => (other, quick.why.clone()),
            false => (full, entry.why.clone()),
        };
        let skip =
            Some(quick.skip.clone()).filter(|why| self.asked.quick && !why.trim().is_empty());
        let origin = self.origin(entry)?;
        let (missed, full_verdict) = self.recorded(entry, origin)?;
        let is_small = self.asked.quick && has_other;
        let recorded = match is_small {
            true => quick.verdict.unwrap_or(Verdict::Consistent),
            false => full_verdict,
        };
        let ClaimEntry { id, text, source, quantity, statement, conditions, .. } = entry;
        Ok(Claim {
            id: id.clone(),
            text: text.clone(),
            source: source.clone(),
            quantity: quantity.clone(),
            statement: statement.clone(),
            origin,
            band,
            why,
            conditions: conditions.clone(),
            skip,
            recorded,
            is_small,
            missed,
            is_what_if: entry.what_if,
            expression,
        })
    }

    /// The band of a full run, and that of a small one where it has another.
    fn bands(&self, entry: &ClaimEntry) -> Result<(Band, Option<Band>), ConfigError> {
        let key = |field: &str| format!("claims.{}.{field}", entry.id);
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
        Ok((full, has_other.then_some(other)))
    }

    /// The number that the claim is compared with, and whose it is.
    fn origin(&self, entry: &ClaimEntry) -> Result<Origin, ConfigError> {
        let key = |field: &str| format!("claims.{}.{field}", entry.id);
        if entry.published.is_some() {
            let why = "who published it? `paper = [low, high]` is what a paper prints, `artefact = \
                       [low, high]` what its authors' code gives, `law = x` what a formula gives; \
                       an expectation of our own has none of them";
            return Err(self.wrong(&key("published"), why));
        }
        let said = [
            entry.paper.map(Origin::Paper),
            entry.artefact.map(Origin::Artefact),
            entry.law.map(Origin::Law),
        ];
        let mut said = said.into_iter().flatten();
        let (origin, more) = (said.next().unwrap_or(Origin::Ours), said.next());
        if let Some(more) = more {
            let why = format!("it has `{}` already: a claim has one source", origin.word());
            return Err(self.wrong(&key(more.word()), why));
        }
        if let Some(why) = origin.figure().and_then(Figure::wrong) {
            return Err(self.wrong(&key(origin.word()), why));
        }
        let statement = entry.statement.as_deref();
        match (statement.map(|id| (id, statements::statement(id))), origin.figure()) {
            (Some((id, None)), _) => {
                let ids = statements::papers().iter().flat_map(|paper| &paper.statements);
                let known = unknown("statement", id, ids.map(|other| other.id.as_str()));
                Err(self.wrong(&key("statement"), known))
            }
            (None, Some(_)) => {
                let why = format!(
                    "it is missing: `{}` is a number that a statement of a paper prints \
                     (experiments/statements)",
                    origin.word()
                );
                Err(self.wrong(&key("statement"), why))
            }
            (Some((id, Some(statement))), Some(figure)) => match statement.range {
                Some(range) if entry.paper.is_some() && !figure.is_within(range) => {
                    let why = format!("statement {id} prints {}", render::figure(range));
                    Err(self.wrong(&key("paper"), why))
                }
                _ => Ok(origin),
            },
            _ => Ok(origin),
        }
    }

    /// The recorded verdict of a full run, and why it is a miss if it is one.
    fn recorded(
        &self,
        entry: &ClaimEntry,
        origin: Origin,
    ) -> Result<(Option<Miss>, Verdict), ConfigError> {
        let key = |field: &str| format!("claims.{}.{field}", entry.id);
        let usual = match origin {
            Origin::Ours => Verdict::Consistent,
            _ => Verdict::Reproduced,
        };
        let verdict = entry.verdict.unwrap_or(usual);
        match (origin, verdict) {
            (Origin::Ours, Verdict::Reproduced) => {
                let why = "it has no printed number: `consistent` or `missed`";
                return Err(self.wrong(&key("verdict"), why));
            }
            (Origin::Law(_), Verdict::Consistent) => {
                let why = "a law is held in its band: `reproduced` or `missed`";
                return Err(self.wrong(&key("verdict"), why));
            }
            _ => {}
        }
        let Some(miss) = &entry.missed else {
            return match verdict {
                Verdict::Missed => {
                    let why = "it is missing: a miss has `{ blame, home }`, or `{ blame, tried }`";
                    Err(self.wrong(&key("missed"), why))
                }
                _ => Ok((None, verdict)),
            };
        };
        if verdict != Verdict::Missed {
            let word = verdict.word();
            let why = format!("the verdict is {word}: only `verdict = \"missed\"` has a cause");
            return Err(self.wrong(&key("missed"), why));
        }
        if miss.blame.trim().is_empty() {
            return Err(self.wrong(&key("missed.blame"), "it is missing: who or what is to blame?"));
        }
        if let Some(home) = &miss.home {
            let is_what_if = |other: &&ClaimEntry| other.id == *home && other.what_if;
            if !self.file.claims.iter().any(|other| is_what_if(&other)) {
                let why = format!("no claim with `what_if = true` is called `{home}`");
                return Err(self.wrong(&key("missed.home"), why));
            }
        } else if miss.tried.as_ref().is_none_or(|tried| tried.trim().is_empty()) {
            let why = "it is missing: the what-if that brings it home, or `tried`";
            return Err(self.wrong(&key("missed.home"), why));
        }
        Ok((Some(miss.clone()), verdict))
    }

    /// Reads an expression; everything that it asks for is there.
    pub(super) fn expression(
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
