//! Calibrations of an experiment's file: their runs are there, their ends and targets are numbers.

use super::{Reader, Run, unknown};
use crate::experiment::calibrate::Calibration;
use crate::experiment::expression::{Expression, Reference};
use crate::experiment::file::CalibrateEntry;
use crate::experiment::statements;
use manx_config::ConfigError;
use std::collections::BTreeMap;

impl Reader<'_> {
    pub(super) fn calibrations(
        &self,
        runs: &[Run],
        definitions: &BTreeMap<String, Expression>,
    ) -> Result<Vec<Calibration>, ConfigError> {
        let entries = &self.file.calibrate;
        self.check_names("calibrate", entries.iter().map(|entry| &*entry.id))?;
        let mut calibrations: Vec<Calibration> = Vec::new();
        for entry in entries {
            let calibration = self.calibration(entry, runs, definitions)?;
            let sets_it = |other: &&Calibration| {
                other.knob == calibration.knob
                    && other.runs.iter().any(|run| calibration.runs.contains(run))
            };
            if let Some(other) = calibrations.iter().find(sets_it) {
                let why = format!("`{}` solves {} of the same run", other.id, other.knob);
                return Err(self.wrong(&format!("calibrate.{}.runs", entry.id), why));
            }
            calibrations.push(calibration);
        }
        Ok(calibrations)
    }

    fn calibration(
        &self,
        entry: &CalibrateEntry,
        runs: &[Run],
        definitions: &BTreeMap<String, Expression>,
    ) -> Result<Calibration, ConfigError> {
        let key = |field: &str| format!("calibrate.{}.{field}", entry.id);
        let expression = self.expression(&key("quantity"), &entry.quantity, runs, definitions)?;
        let [low, high] = entry.between;
        if !(low > 0.0 && low < high && high.is_finite()) {
            let why = format!("[{low}, {high}] are no ends: 0 < low < high");
            return Err(self.wrong(&key("between"), why));
        }
        if !(entry.to.is_finite() && entry.to != 0.0) {
            return Err(self.wrong(&key("to"), "a target is a finite number, and not 0"));
        }
        if !(entry.within > 0.0 && entry.within < 1.0) {
            return Err(self.wrong(&key("within"), "a share between 0 and 1"));
        }
        if let Some(id) = &entry.statement
            && statements::statement(id).is_none()
        {
            let ids = statements::papers().iter().flat_map(|paper| &paper.statements);
            let why = unknown("statement", id, ids.map(|other| other.id.as_str()));
            return Err(self.wrong(&key("statement"), why));
        }
        if entry.source.trim().is_empty() {
            return Err(self.wrong(&key("source"), "it is missing: who published the target?"));
        }
        let names = || runs.iter().map(|run| run.name.as_str());
        let mut mine = Vec::new();
        for pattern in &entry.runs {
            let fits = |name: &&str| match pattern.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning),
                None => *name == pattern,
            };
            let found: Vec<String> = names().filter(fits).map(str::to_string).collect();
            if found.is_empty() {
                return Err(self.wrong(&key("runs"), unknown("run", pattern, names())));
            }
            mine.extend(found.into_iter().filter(|name| !mine.contains(name)).collect::<Vec<_>>());
        }
        if self.runs_of(&expression, definitions, false).is_empty() {
            return Err(self.wrong(&key("quantity"), "it asks for nothing of a run"));
        }
        Ok(Calibration {
            id: entry.id.clone(),
            knob: entry.knob.clone(),
            unit: entry.unit.clone(),
            between: entry.between,
            runs: mine,
            quantity: entry.quantity.clone(),
            to: entry.to,
            within: entry.within,
            statement: entry.statement.clone(),
            source: entry.source.clone(),
            observed: self.runs_of(&expression, definitions, false),
            looks_at: self.runs_of(&expression, definitions, true),
            expression,
        })
    }

    /// The runs that an expression asks for a result of, by itself or by a definition; with
    /// `settings`, those too of which it asks for a setting.
    fn runs_of(
        &self,
        expression: &Expression,
        definitions: &BTreeMap<String, Expression>,
        settings: bool,
    ) -> Vec<String> {
        let mut runs: Vec<String> = Vec::new();
        for (_, reference) in expression.references() {
            let more = match reference {
                Reference::Quantity { run, .. } => vec![run.clone()],
                Reference::Param { run, .. } if settings => vec![run.clone()],
                Reference::Param { .. } => Vec::new(),
                Reference::Defined(name) => self.runs_of(&definitions[name], definitions, settings),
            };
            runs.extend(more.into_iter().filter(|run| !runs.contains(run)).collect::<Vec<_>>());
        }
        runs
    }
}
