//! From an experiment's file to something that can be run: scenarios made, claims read, everything
//! checked.

mod calibrations;
mod claims;

use super::calibrate::Calibration;
use super::expression::{Expression, Reference};
use super::file::{File, Miss, RunEntry};
use super::verdict::{Origin, Verdict};
use super::{grid, library};
use crate::load::{Request, read_bounded};
use crate::save::file_name;
use manx_config::{ConfigError, Override, Scenario, Source, builtin_scenario, nearest};
use manx_core::units::{Bandwidth, Bytes, Duration};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use toml::Table;

/// Runs of one experiment.
pub(super) const RUNS_MAX: usize = 10_000;
/// Characters of a run's name beside letters and digits.
const IN_NAMES: &str = "-_.+()/";

/// How an experiment is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The small version of it.
    pub quick: bool,
    /// Overrides (what if): `KEY=VALUE` for all runs, `RUN:KEY=VALUE` for one. The claims stay as
    /// they are.
    pub sets: Vec<String>,
    /// Leave out the runs that no claim asks for.
    pub claims_only: bool,
    /// Knobs that a calibration solved, each for one run.
    pub solved: Vec<Knob>,
    /// The folder that `$TRACES` stands for; where it is not said, that of `MANX_TRACES`, else
    /// `traces`.
    pub traces: Option<PathBuf>,
}

/// The word for the folder of traces in an experiment's file.
const TRACES: &str = "$TRACES/";

impl Asked {
    /// The path that a value names in the folder of traces, if it names one.
    fn traced(&self, value: &toml::Value) -> Option<toml::Value> {
        let file = value.as_str()?.strip_prefix(TRACES)?;
        let of_environment = || std::env::var_os("MANX_TRACES").map(PathBuf::from);
        let folder = self.traces.clone().or_else(of_environment).unwrap_or("traces".into());
        Some(toml::Value::String(folder.join(file).to_string_lossy().into_owned()))
    }
}

/// A solved knob of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knob {
    /// The calibration that solved it.
    pub calibration: String,
    /// The run.
    pub run: String,
    /// The key of the scenario.
    pub key: String,
    /// The value with its unit.
    pub value: String,
}

/// An experiment that can be run.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// One line: what it shows.
    pub summary: String,
    /// The paper and the section that it is from.
    pub source: String,
    /// The text of its file.
    pub text: String,
    pub(super) place: String,
    /// How it was asked for.
    pub asked: Asked,
    /// The seeds that every run is played with; without any, each scenario's own.
    pub seeds: Vec<u64>,
    /// Its runs.
    pub runs: Vec<Run>,
    /// Knobs that are solved before its runs are played.
    pub calibrations: Vec<Calibration>,
    /// Its claims.
    pub claims: Vec<Claim>,
    pub(super) definitions: BTreeMap<String, Expression>,
}

/// A named run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name.
    pub name: String,
    /// The path of its policy, if one lies over its scenario.
    pub policy: Option<String>,
    /// The scenario of each seed.
    pub scenarios: Vec<Scenario>,
    pub(super) settings: Value,
}

/// A claim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// The claim in words.
    pub text: String,
    /// Paper and figure, table or section; or `arithmetic`.
    pub source: String,
    /// The measured quantity, as it is written.
    pub quantity: String,
    /// The statement of a paper that it is evidence for.
    pub statement: Option<String>,
    /// The number that it is compared with, and whose it is.
    pub origin: Origin,
    /// The values that count as consistent.
    pub band: Band,
    /// Why that band.
    pub why: String,
    /// Differences from the source's conditions.
    pub conditions: String,
    /// Why it is not measured, where it is left out.
    pub skip: Option<String>,
    /// The recorded verdict: another one is a finding.
    pub recorded: Verdict,
    /// The band is that of a small run, which says nothing about the source's range.
    pub is_small: bool,
    /// Cause of a miss.
    pub missed: Option<Miss>,
    /// A what-if that shows what brings another claim home.
    pub is_what_if: bool,
    pub(super) expression: Expression,
}

/// A band, its ends included; one of them may be open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Its lower end.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
}

impl Band {
    /// Lies `value` in it?
    pub fn holds(&self, value: f64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.high.is_none_or(|high| value <= high)
    }
}

impl Experiment {
    /// Reads the experiment `name`, a built-in name or the path of a file, and checks all of it.
    pub fn read(name: &str, asked: Asked) -> Result<Self, ConfigError> {
        let source = if name.contains(['/', '\\']) || name.ends_with(".toml") {
            let refused =
                |error| ConfigError::file(name, format!("cannot read an experiment here: {error}"));
            let text = read_bounded(Path::new(name)).and_then(|bytes| {
                String::from_utf8(bytes)
                    .map_err(|_| io::Error::other("no UTF-8 text: an experiment is a TOML file"))
            });
            Source { file: name.to_string(), text: text.map_err(refused)? }
        } else {
            library::builtin_experiment(name)?
        };
        Self::load(source, asked)
    }

    /// The experiment in a text.
    pub fn load(source: Source, asked: Asked) -> Result<Self, ConfigError> {
        let file = File::parse(&source)?;
        let stem =
            Path::new(&source.file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = file.name.clone().or(stem).unwrap_or_default();
        let reader = Reader { file: &file, place: &source.file, name: &name, asked: &asked };
        reader.check_name("name", &name)?;
        if name.contains('/') || name.starts_with('.') {
            // Its results lie in a folder of that name.
            return Err(reader.wrong(
                "name",
                format!("`{name}` is no name of an experiment: no / and no . at first"),
            ));
        }
        let runs = reader.runs()?;
        let definitions = reader.definitions(&runs)?;
        let calibrations = reader.calibrations(&runs, &definitions)?;
        let claims = reader.claims(&runs, &definitions)?;
        let seeds = reader.seeds().to_vec();
        let File { summary, source: from, .. } = file;
        let (text, place) = (source.text, source.file);
        let is_whole = !asked.claims_only;
        let experiment = Self {
            name,
            summary,
            source: from,
            text,
            place,
            asked,
            seeds,
            runs,
            calibrations,
            claims,
            definitions,
        };
        Ok(if is_whole { experiment } else { experiment.with_claimed_runs_only() })
    }

    /// Only the runs that the claims ask for. What they measure stays.
    fn with_claimed_runs_only(mut self) -> Self {
        let mut asked = BTreeSet::new();
        for claim in self.claims.iter().filter(|claim| claim.skip.is_none()) {
            self.ask(&claim.expression, &mut asked);
        }
        self.runs.retain(|run| asked.contains(&run.name));
        self
    }

    /// The traces that its runs replay and that are not there.
    pub fn missing_traces(&self) -> BTreeSet<PathBuf> {
        let scenarios = self.runs.iter().flat_map(|run| &run.scenarios);
        let jobs = scenarios.flat_map(|scenario| &scenario.workload.jobs);
        let files = jobs.filter_map(|job| job.trace.as_ref()).map(|trace| trace.file.clone());
        files.map(PathBuf::from).filter(|file| !file.exists()).collect()
    }

    /// Puts the runs that an expression asks for into `asked`, those of its definitions too.
    pub(super) fn ask(&self, expression: &Expression, asked: &mut BTreeSet<String>) {
        for (_, reference) in expression.references() {
            match reference {
                Reference::Quantity { run, .. } | Reference::Param { run, .. } => {
                    asked.insert(run.clone());
                }
                Reference::Defined(name) => {
                    if let Some(definition) = self.definitions.get(name) {
                        self.ask(definition, asked);
                    }
                }
            }
        }
    }
}

impl Run {
    /// A setting of its scenario as a number: times in microseconds, sizes in bytes, rates in bytes
    /// per second (0 for unlimited), switches as 0 and 1.
    pub fn param(&self, path: &str) -> Option<f64> {
        let step = |value: &'_ Value, part: &str| -> Option<Value> {
            match value {
                Value::Array(items) => items.get(part.parse::<usize>().ok()?).cloned(),
                other => other.get(part).cloned(),
            }
        };
        match path.split('.').try_fold(self.settings.clone(), |value, part| step(&value, part))? {
            Value::Bool(is) => Some(f64::from(u8::from(is))),
            Value::String(text) => {
                let time = text.parse::<Duration>().map(Duration::as_us_f64).ok();
                let size = || text.parse::<Bytes>().map(|size| size.get() as f64).ok();
                let rate = || text.parse::<Bandwidth>().map(|rate| rate.get() as f64).ok();
                time.or_else(size).or_else(rate)
            }
            other => other.as_f64(),
        }
    }
}

/// Common parts of a load.
struct Reader<'a> {
    file: &'a File,
    place: &'a str,
    name: &'a str,
    asked: &'a Asked,
}

impl Reader<'_> {
    fn wrong(&self, key: &str, why: impl std::fmt::Display) -> ConfigError {
        ConfigError::file(self.place, format!("{key}: {why}"))
    }

    /// The names of a section's entries are names, and no two are the same.
    fn check_names<'n>(
        &self,
        section: &str,
        names: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<(), ConfigError> {
        let key = format!("{section}.id");
        for (at, name) in names.clone().enumerate() {
            self.check_name(&key, name)?;
            if names.clone().take(at).any(|earlier| earlier == name) {
                return Err(self.wrong(&key, format!("two of them are called `{name}`")));
            }
        }
        Ok(())
    }

    fn check_name(&self, key: &str, name: &str) -> Result<(), ConfigError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || IN_NAMES.contains(c);
        match !name.is_empty() && name.chars().all(plain) {
            true => Ok(()),
            false => Err(self.wrong(
                key,
                format!("`{name}` is no name: letters, digits and {IN_NAMES} make one"),
            )),
        }
    }

    fn seeds(&self) -> &[u64] {
        let quick = &self.file.quick.seeds;
        if self.asked.quick && !quick.is_empty() { quick } else { &self.file.seeds }
    }

    fn runs(&self) -> Result<Vec<Run>, ConfigError> {
        let mut entries = self.file.runs.clone();
        for (number, grid) in self.file.grid.iter().enumerate() {
            let wrong =
                |(key, why): (String, String)| self.wrong(&format!("grid.{number}.{key}"), why);
            entries.extend(grid::runs(grid).map_err(wrong)?);
        }
        if let Some(name) = &self.file.scenario
            && !Path::new(name).exists()
            && let Err(error) = builtin_scenario(name)
        {
            return Err(self.wrong("scenario", error));
        }
        let seeds = self.seeds();
        if let Some((_, seed)) =
            seeds.iter().enumerate().find(|(at, seed)| seeds[..*at].contains(seed))
        {
            return Err(self.wrong("seeds", format!("{seed} is there twice")));
        }
        if entries.is_empty() {
            return Err(self.wrong("runs", "there is none: an experiment has [[runs]] or [[grid]]"));
        }
        let mut files = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            self.check_name("runs.name", &entry.name)?;
            if entries[..at].iter().any(|earlier| earlier.name == entry.name) {
                return Err(
                    self.wrong("runs.name", format!("two runs are called `{}`", entry.name))
                );
            }
            if let Some(earlier) = files.insert(file_name(&entry.name), &entry.name) {
                let why = format!(
                    "the scenarios of `{earlier}` and `{}` would be the same file",
                    entry.name
                );
                return Err(self.wrong("runs.name", why));
            }
        }
        let sets = self.what_if(&entries)?;
        entries.iter().map(|entry| self.run(entry, &sets)).collect()
    }

    /// The sets of the command line, each with the run that it is for, if it is for one.
    fn what_if<'a>(
        &'a self,
        entries: &[RunEntry],
    ) -> Result<Vec<(Option<&'a str>, Override)>, ConfigError> {
        let split = |text: &'a String| {
            let colon =
                text.find(':').filter(|colon| text.find('=').is_some_and(|equals| *colon < equals));
            let Some(colon) = colon else { return Ok((None, Override::from_set(text)?)) };
            let run = text[..colon].trim();
            if !entries.iter().any(|entry| entry.name == run) {
                let names = entries.iter().map(|entry| entry.name.as_str());
                return Err(ConfigError::new(format!(
                    "--set {text}: {}",
                    unknown("run", run, names)
                )));
            }
            let (key, value) = text[colon + 1..].split_once('=').unwrap_or_default();
            Ok((Some(run), Override::new(key.trim(), value.trim(), format!("--set {text}"))))
        };
        self.asked.sets.iter().map(split).collect()
    }

    fn run(&self, entry: &RunEntry, sets: &[(Option<&str>, Override)]) -> Result<Run, ConfigError> {
        let said = |what: &str| format!("{}: run {}, {what}", self.place, entry.name);
        let mut overrides = Vec::new();
        if let Some(workload) = entry.workload.as_ref().or(self.file.workload.as_ref()) {
            let (file, parameter) = manx_config::split_parameter(workload);
            let profile =
                crate::load::read_workload(file).map_err(|error| self.wrong("workload", error))?;
            overrides.push(Override::workload(
                profile,
                parameter,
                said(&format!("workload {workload}")),
            ));
        }
        let mut add = |table: &Table, what: &str| {
            leaves(table, "", &mut |key, value| {
                let value = self.asked.traced(value).unwrap_or_else(|| value.clone());
                let place = said(&format!("{what}.{key}"));
                overrides.push(Override::new(key, value.to_string(), place));
            });
        };
        add(&self.file.set, "set");
        add(&entry.set, "set");
        if self.asked.quick {
            add(&self.file.quick.set, "quick.set");
            add(&entry.quick, "quick");
        }
        let name = format!("{}/{}", self.name, entry.name);
        overrides.push(Override::new("name", Value::from(name).to_string(), said("name")));
        let solved = self.asked.solved.iter().filter(|knob| knob.run == entry.name);
        overrides.extend(solved.map(|knob| {
            let place = said(&format!("calibrate.{}", knob.calibration));
            Override::new(&knob.key, knob.value.clone(), place)
        }));
        let mine = |(run, _): &&(Option<&str>, _)| run.is_none_or(|run| run == entry.name);
        overrides.extend(sets.iter().filter(mine).map(|(_, set)| set.clone()));

        let policy = entry.policy.as_ref().or(self.file.policy.as_ref());
        let scenario = |seed: Option<u64>| {
            let seed = seed.map(|seed| Override::new("seed", seed.to_string(), said("seeds")));
            let request = self.request([overrides.clone(), seed.into_iter().collect()].concat())?;
            match policy {
                Some(policy) => request.under(policy).map_err(|error| match error.to_string() {
                    placed if placed.starts_with(self.place) => ConfigError::new(placed),
                    unplaced => ConfigError::new(said(&unplaced)),
                }),
                None => request.plain(),
            }
        };
        let seeds = self.seeds();
        let scenarios = match seeds {
            [] => vec![scenario(None)?],
            seeds => seeds.iter().map(|seed| scenario(Some(*seed))).collect::<Result<_, _>>()?,
        };
        let settings = serde_json::to_value(&scenarios[0]).expect("a scenario is plain data");
        Ok(Run { name: entry.name.clone(), policy: policy.cloned(), scenarios, settings })
    }

    /// The scenario that the runs lie over; without one their own settings are all of it.
    fn request(&self, overrides: Vec<Override>) -> Result<Request, ConfigError> {
        match &self.file.scenario {
            Some(name) => Request::read(name, overrides),
            None => {
                Request::of(Source { file: self.place.to_string(), text: String::new() }, overrides)
            }
        }
    }
}

/// That nothing is called so, and what may have been meant.
fn unknown<'a>(kind: &str, name: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let hint = match nearest(name, names.clone()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => {
            let some: Vec<&str> = names.clone().take(12).collect();
            let more = if names.count() > some.len() { ", .." } else { "" };
            if some.is_empty() {
                String::new()
            } else {
                format!("; there are {}{more}", some.join(", "))
            }
        }
    };
    format!("no {kind} is called `{name}`{hint}")
}

/// Every value below a table that is no table itself, by its dotted path.
fn leaves(table: &Table, under: &str, tell: &mut dyn FnMut(&str, &toml::Value)) {
    for (key, value) in table {
        let path = if under.is_empty() { key.clone() } else { format!("{under}.{key}") };
        match value {
            toml::Value::Table(inner) => leaves(inner, &path, tell),
            other => tell(&path, other),
        }
    }
}
