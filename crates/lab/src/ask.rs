//! The door of the library: what a user asks for in words becomes overrides of keys, and runs.
//!
//! The command line and the Python module come in here. What is said by name (a device, a workload,
//! a trace) comes first, single keys over it; each override remembers how it was said.

use crate::load::{Request, read_workload};
use manx_config::{ConfigError, Override, Scenario, split_parameter};
use manx_trace::{TimeUnit, TraceError, TraceSpec, unit_name};

/// An option that stands for a key: what it is called, the key, its value as TOML if it was given.
pub type NamedKey = (&'static str, &'static str, Option<String>);

/// Parts of a run that are asked for by name.
#[derive(Clone, Debug, Default)]
pub struct Named<'a> {
    /// Another device, whole: a built-in name or the path of a table.
    pub device: Option<&'a str>,
    /// Another workload: a built-in name, `name(X)`, or the path of a profile.
    pub workload: Option<&'a str>,
    /// A trace in place of the workload: its path.
    pub trace: Option<&'a str>,
    /// How that trace is read and replayed.
    pub replay: Vec<NamedKey>,
    /// Split every latency into its causes.
    pub attribution: bool,
}

impl Named<'_> {
    /// The overrides, `sets` over what is named.
    ///
    /// # Errors
    /// A workload cannot be read; the trace is named twice; something says how a trace is read, and
    /// there is none.
    pub fn overrides(&self, sets: Vec<Override>) -> Result<Vec<Override>, ConfigError> {
        let mut overrides = Vec::new();
        if let Some(workload) = self.workload {
            let (name, parameter) = split_parameter(workload);
            let said = format!("--workload {workload}");
            overrides.push(Override::workload(read_workload(name)?, parameter, said));
        }
        overrides.extend(self.trace.into_iter().flat_map(trace_overrides));
        overrides.extend(said([("--device", "device.name", self.device.map(quoted))]));
        let given = self.replay.iter().find(|(_, _, value)| value.is_some());
        if let (None, Some((option, ..))) = (self.trace, given) {
            return Err(ConfigError::new(format!(
                "{option} says how a trace is read or replayed: it needs --trace FILE"
            )));
        }
        overrides.extend(said(self.replay.iter().cloned()));
        if self.attribution {
            overrides.push(Override::new("measure.attribution", "true", "--attribution"));
        }
        let names_one = ["workload.trace.file", "workload.jobs.0.trace.file"];
        if let Some(trace) = self.trace
            && let Some(set) = sets.iter().find(|set| names_one.contains(&set.key()))
        {
            let key = set.key();
            return Err(ConfigError::new(format!(
                "--trace {trace} and --set {key} both name a trace: give one of them"
            )));
        }
        overrides.extend(sets);
        Ok(overrides)
    }
}

/// A trace takes the place of the whole workload: of its jobs, its bounds, its part of the device
/// and its warm-up.
pub fn trace_overrides(file: &str) -> Vec<Override> {
    let said = format!("--trace {file}");
    let keys = [
        ("workload.jobs", "[]".to_string()),
        ("workload.trace.file", quoted(file)),
        ("workload.arrival", quoted("trace")),
        ("workload.requests", "0".to_string()),
        ("workload.time", quoted("0s")),
        ("workload.offset", quoted("0B")),
        ("workload.size", quoted("0B")),
        ("measure.warmup", quoted("0s")),
        ("measure.warmup_requests", "0".to_string()),
    ];
    keys.into_iter().map(|(key, value)| Override::new(key, value, said.clone())).collect()
}

/// A trace and how it is read, from overrides of which [`trace_overrides`] are the first: checked,
/// and refused, as a scenario's.
///
/// # Errors
/// A key is wrong.
pub fn trace_spec(overrides: Vec<Override>) -> Result<TraceSpec, ConfigError> {
    let scenario = Request::read("quick", overrides)?.with_trace_from_here().plain()?;
    let spec = scenario.workload.jobs.into_iter().find_map(|job| job.trace);
    spec.ok_or_else(|| ConfigError::new("no trace is named"))
}

/// The unit that is assumed of a trace that does not say in which its times are: the finest in
/// which it has an ordinary rate.
#[derive(Clone, Debug)]
pub struct Assumed {
    /// The unit.
    pub unit: TimeUnit,
    /// The override that says so.
    pub set: Override,
    /// The remark that must be told with every answer.
    pub remark: String,
}

impl Assumed {
    /// Of the error that asks for the unit; `None` of any other, and where no unit is ordinary.
    pub fn of(error: &TraceError) -> Option<Self> {
        let TraceError::TimeUnit { likely: Some(unit), .. } = error else { return None };
        let (unit, name) = (*unit, unit_name(*unit));
        let said = format!("--time-unit {name}");
        Some(Self {
            unit,
            set: Override::new("workload.trace.time_unit", quoted(name), said),
            remark: format!(
                "the trace does not say in which unit its times are: ASSUMED {name}, the finest \
                 in which its rate is ordinary; another unit is another load (--time-unit)"
            ),
        })
    }
}

/// The options that were given, as overrides.
pub fn said(keys: impl IntoIterator<Item = NamedKey>) -> impl Iterator<Item = Override> {
    keys.into_iter().filter_map(|(option, key, value)| {
        let value = value?;
        Some(Override::new(key, value.clone(), format!("{option} {}", value.trim_matches('"'))))
    })
}

/// A TOML string, so that a name such as `1` stays one.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The runs of a comparison: each policy laid over the request, the first being the baseline. Those
/// that the scenario names, where `named` has none.
///
/// # Errors
/// There is no policy, one has no name, is named twice, is unknown, or does not go with the
/// scenario.
pub fn comparison(
    request: &Request,
    named: &[String],
) -> Result<Vec<(String, Scenario)>, ConfigError> {
    let own = if named.is_empty() { request.plain()?.policies } else { Vec::new() };
    let policies: Vec<&str> =
        (if named.is_empty() { &own } else { named }).iter().map(|policy| policy.trim()).collect();
    if policies.is_empty() {
        return Err(ConfigError::new(
            "no policy to run: name some with --policies, or in the scenario's `policies`",
        ));
    }
    // An empty name (`--policies base,,nogc`) is told as one, however often it is there.
    if policies.contains(&"") {
        request.under("")?;
    }
    let twice = policies.iter().enumerate().find(|(at, policy)| policies[..*at].contains(policy));
    if let Some((_, policy)) = twice {
        let message = format!("policy `{policy}` is named twice: each can be compared once");
        return Err(ConfigError::new(message));
    }
    policies.iter().map(|policy| Ok((policy.to_string(), request.under(policy)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_named_once_and_ways_of_reading_one_need_it() {
        let replay = vec![("--remap", "workload.trace.remap", Some(quoted("modulo")))];
        let error = Named { replay, ..Named::default() }.overrides(Vec::new()).unwrap_err();
        assert!(error.to_string().contains("--remap says how a trace is read"), "{error}");
        let named = Named { trace: Some("a.csv"), ..Named::default() };
        let twice = vec![Override::new("workload.trace.file", "b.csv", "--set ..")];
        let error = named.overrides(twice).unwrap_err();
        assert!(error.to_string().contains("both name a trace"), "{error}");
    }

    #[test]
    fn a_comparison_takes_the_policies_of_its_scenario_and_each_once() {
        let request = Request::read("quick", Vec::new()).unwrap();
        let names = |named: &[&str]| {
            let named: Vec<String> = named.iter().map(|name| (*name).to_string()).collect();
            let runs = comparison(&request, &named).map_err(|error| error.to_string());
            runs.map(|runs| runs.into_iter().map(|(policy, _)| policy).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap(), request.plain().unwrap().policies);
        assert_eq!(names(&[" base", "nogc "]).unwrap(), ["base", "nogc"]);
        assert!(names(&["base", "base "]).unwrap_err().contains("named twice"));
        assert!(names(&["base", ""]).is_err());
        assert!(names(&["bas"]).unwrap_err().contains("bas"));
    }
}
