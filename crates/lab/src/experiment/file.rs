//! An experiment's file as it is written; what it means is checked in `load`.

use super::verdict::{Figure, Verdict};
use manx_config::{ConfigError, Source};
use serde::Deserialize;
use toml::{Table, Value};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// The name; the file's where it is absent.
    pub(super) name: Option<String>,
    pub(super) summary: String,
    pub(super) source: String,
    /// A built-in scenario or the path of one; without it `set` is the scenario.
    pub(super) scenario: Option<String>,
    pub(super) policy: Option<String>,
    pub(super) workload: Option<String>,
    #[serde(default)]
    pub(super) set: Table,
    #[serde(default)]
    pub(super) seeds: Vec<u64>,
    #[serde(default)]
    pub(super) quick: Quick,
    /// Expressions by name.
    #[serde(default)]
    pub(super) define: Table,
    #[serde(default)]
    pub(super) runs: Vec<RunEntry>,
    #[serde(default)]
    pub(super) grid: Vec<Grid>,
    #[serde(default)]
    pub(super) calibrate: Vec<CalibrateEntry>,
    #[serde(default)]
    pub(super) claims: Vec<ClaimEntry>,
}

/// Changes of `--quick` to every run.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Quick {
    pub(super) seeds: Vec<u64>,
    pub(super) set: Table,
}

/// A run by its name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunEntry {
    pub(super) name: String,
    pub(super) policy: Option<String>,
    pub(super) workload: Option<String>,
    #[serde(default)]
    pub(super) set: Table,
    /// Settings of `--quick` for this run.
    #[serde(default)]
    pub(super) quick: Table,
}

/// Runs for every combination of values.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Grid {
    /// The names of its runs, with each axis in braces: `{profile}-{mode}`.
    pub(super) name: String,
    pub(super) policy: Option<String>,
    pub(super) workload: Option<String>,
    #[serde(default)]
    pub(super) set: Table,
    #[serde(default)]
    pub(super) quick: Table,
    pub(super) axes: Vec<Axis>,
}

/// The values of a key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Axis {
    pub(super) name: String,
    /// A key of the scenario, or `policy`, or `workload`.
    pub(super) key: String,
    pub(super) values: Vec<Value>,
    /// Labels of the values in names; the values themselves where they are absent.
    #[serde(default)]
    pub(super) labels: Vec<String>,
}

/// A knob that is solved before the runs are played.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CalibrateEntry {
    pub(super) id: String,
    /// A key of the scenario.
    pub(super) knob: String,
    /// The ends between which the knob is looked for.
    pub(super) between: [f64; 2],
    /// Unit behind the number of the knob: `us`, `MB/s`; nothing where it has none.
    #[serde(default)]
    pub(super) unit: String,
    /// The runs that get the value: names, or beginnings of names before a `*`.
    pub(super) runs: Vec<String>,
    /// An expression over those runs.
    pub(super) quantity: String,
    /// Target of the quantity.
    pub(super) to: f64,
    /// Share of `to` by which the quantity may be off.
    #[serde(default = "five_percent")]
    pub(super) within: f64,
    /// The statement that publishes the target.
    pub(super) statement: Option<String>,
    pub(super) source: String,
}

fn five_percent() -> f64 {
    0.05
}

/// A claim.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimEntry {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) source: String,
    pub(super) quantity: String,
    /// The statement that it is evidence for.
    pub(super) statement: Option<String>,
    /// The range, or the number, that a paper prints.
    pub(super) paper: Option<Figure>,
    /// The range, or the number, that the authors' code or data give.
    pub(super) artefact: Option<Figure>,
    /// The value of a formula.
    pub(super) law: Option<f64>,
    /// A key of old, refused with what took its place.
    pub(super) published: Option<Value>,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    #[serde(default)]
    pub(super) why: String,
    /// The verdict of a full run, as it is recorded.
    pub(super) verdict: Option<Verdict>,
    pub(super) missed: Option<Miss>,
    /// A what-if: it shows what brings another claim home, and counts for no statement.
    #[serde(default)]
    pub(super) what_if: bool,
    #[serde(default)]
    pub(super) conditions: String,
    #[serde(default)]
    pub(super) quick: QuickClaim,
}

/// Cause of a miss.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Miss {
    /// The mechanism or the assumption that is to blame.
    pub blame: String,
    /// The claim of this experiment that measures the what-if which brings it home.
    pub home: Option<String>,
    /// The what-ifs that did not bring it home.
    pub tried: Option<String>,
}

/// Another band under `--quick`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct QuickClaim {
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    pub(super) why: String,
    /// Why it is not measured then.
    pub(super) skip: String,
    /// The verdict of a small run: `missed`, or the band holds.
    pub(super) verdict: Option<Verdict>,
}

impl File {
    pub(super) fn parse(source: &Source) -> Result<Self, ConfigError> {
        toml::from_str(&source.text).map_err(|error| {
            let line = error.span().map(|span| 1 + source.text[..span.start].matches('\n').count());
            let place = line.map_or(source.file.clone(), |line| format!("{}:{line}", source.file));
            ConfigError::file(place, error.message().trim().replace('\n', "; "))
        })
    }
}
