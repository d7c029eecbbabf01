//! Settings of a served drive that may change while it works.

use manx_config::{Override, Scenario};
use manx_core::drive::{EraseLength, EraseMode, ProgramMode};
use manx_lab::load::Request;
use manx_serve::control::{Change, KEYS};
use serde_json::{Map, Value};

/// The scenario, and what was changed since.
pub struct Knobs {
    request: Request,
    policy: Option<String>,
    scenario: Scenario,
    sets: Vec<Override>,
    /// Before the last change.
    before: Option<(Scenario, usize)>,
}

impl Knobs {
    /// Of a drive as the scenario says it.
    pub fn new(request: Request, policy: Option<String>, scenario: Scenario) -> Self {
        Self { request, policy, scenario, sets: Vec::new(), before: None }
    }

    /// Changes settings.
    ///
    /// # Errors
    /// A key that may not change, or a value that the scenario refuses; nothing is changed.
    pub fn change(&mut self, sets: &[String]) -> Result<Change, String> {
        let mut all = self.sets.clone();
        for set in sets {
            let key = set.split_once('=').map_or(set.as_str(), |(key, _)| key).trim();
            if !KEYS.contains(&key) {
                return Err(format!("{set}: a drive at work takes {}", KEYS.join(", ")));
            }
            if key.starts_with("device.") && !self.has_times() {
                let why =
                    "where erases or programs are suspended, or erases differ, times are fixed";
                return Err(format!("{set}: {why}"));
            }
            all.push(Override::from_set(&self.listed(set)).map_err(|error| error.to_string())?);
        }
        let request = self.request.with(all.clone());
        let scenario = match &self.policy {
            Some(policy) => request.under(policy),
            None => request.plain(),
        };
        let scenario = scenario.map_err(|error| error.to_string())?;
        let before = std::mem::replace(&mut self.scenario, scenario);
        self.before = Some((before, self.sets.len()));
        self.sets = all;
        Ok(Change {
            device: self.scenario.device.clone(),
            gc: self.scenario.gc.clone(),
            is_paused: false,
        })
    }

    /// Its operations take the times of the table, whole.
    fn has_times(&self) -> bool {
        let Scenario { erase, program, .. } = &self.scenario;
        let is_whole = erase.mode == EraseMode::None && program.mode == ProgramMode::None;
        is_whole && erase.length == EraseLength::Fixed
    }

    /// One time for all page types, where the key has a list of them.
    fn listed(&self, set: &str) -> String {
        let is_list = |key: &str| self.told()[key].as_str().is_some_and(|now| now.starts_with('['));
        match set.split_once('=') {
            Some((key, value)) if is_list(key.trim()) && !value.trim_start().starts_with('[') => {
                format!("{key}=[\"{}\"]", value.trim())
            }
            _ => set.to_string(),
        }
    }

    /// The drive refused the last change.
    pub fn take_back(&mut self) {
        if let Some((scenario, sets)) = self.before.take() {
            self.scenario = scenario;
            self.sets.truncate(sets);
        }
    }

    /// The scenario as it is now.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Keys with their values as texts.
    pub fn told(&self) -> Value {
        let (device, gc) = (&self.scenario.device, &self.scenario.gc);
        let whole = serde_json::json!({ "device": device, "gc": gc });
        let value = |key: &str| {
            let found = key.split('.').fold(&whole, |value, part| &value[part]);
            found.as_str().map_or_else(|| found.to_string(), str::to_string)
        };
        let told: Map<String, Value> =
            KEYS.iter().map(|key| (key.to_string(), value(key).into())).collect();
        Value::Object(told)
    }
}
