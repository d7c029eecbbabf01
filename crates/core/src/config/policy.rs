//! Policies as data: each is an overlay over the scenario, on one of five axes.
//!
//! A name is a path of parts, `ioda/ttflash/t-es`, at most one for each axis, or an alias for such a path. A new policy
//! is a new entry here; what it switches on lives where the mechanism lives.

use super::error::ConfigError;
use super::nearest;
use std::fmt;

/// What a policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Axis {
    /// Translation and placement.
    Ftl,
    /// Garbage collection.
    Gc,
    /// Parity inside the drive.
    Rain,
    /// How an erase gives way.
    Erase,
    /// The host's array.
    Array,
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Axis::Ftl => "ftl",
            Axis::Gc => "gc",
            Axis::Rain => "rain",
            Axis::Erase => "erase",
            Axis::Array => "array",
        })
    }
}

/// One part of a policy's name and what it lays over a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The name, as the papers have it.
    pub name: &'static str,
    /// What it decides; a path has one part an axis.
    pub axis: Axis,
    /// One line: what it does.
    pub summary: &'static str,
    /// The paper and section it is from.
    pub source: &'static str,
    /// The overlay, as TOML.
    pub overlay: &'static str,
}

/// A paper's name for a path of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name.
    pub name: &'static str,
    /// What it stands for.
    pub path: &'static str,
}

/// Every policy, in the order they are listed.
pub const POLICIES: &[Policy] = &[
    Policy {
        name: "nogc",
        axis: Axis::Gc,
        summary: "space is reclaimed in no time and blocks nothing: a baseline that no drive can have",
        source: "ttFlash, FAST '17, the NoGC line of the evaluation's figures",
        overlay: "[gc]\nmode = \"nogc\"\n",
    },
    Policy {
        name: "base",
        axis: Axis::Gc,
        summary: "a collection holds its channel for the whole copy, then its die for the erase",
        source: "ttFlash, FAST '17, section 3 (channel-blocking GC)",
        overlay: "[gc]\nmode = \"base\"\n",
    },
    Policy {
        name: "controller",
        axis: Axis::Gc,
        summary: "a collection holds the whole drive for the whole copy, then its die for the erase",
        source: "ttFlash, FAST '17, section 3 (controller-blocking GC)",
        overlay: "[gc]\nmode = \"controller\"\n",
    },
    Policy {
        name: "preemptive",
        axis: Axis::Gc,
        summary: "host requests go first between the page operations of a collection, except at or below gc.hard",
        source: "Lee et al., A Semi-Preemptive Garbage Collector for Solid State Drives, ISPASS '11",
        overlay: "[gc]\nmode = \"preemptive\"\nwhen = \"background\"\n",
    },
];

/// Every alias; the papers' own names arrive with their mechanisms.
pub const ALIASES: &[Alias] = &[Alias { name: "semi-preemptive", path: "preemptive" }];

/// The policies that `name` stands for, in the order they are laid over a scenario.
pub fn resolve_policy(name: &str) -> Result<Vec<&'static Policy>, ConfigError> {
    let path = ALIASES.iter().find(|alias| alias.name == name).map_or(name, |alias| alias.path);
    let parts = path.split('/').map(part).collect::<Result<Vec<_>, _>>()?;
    for (i, later) in parts.iter().enumerate() {
        if let Some(earlier) = parts[..i].iter().find(|earlier| earlier.axis == later.axis) {
            let (a, b, axis) = (earlier.name, later.name, later.axis);
            return Err(ConfigError::new(format!(
                "policy `{name}`: {a} and {b} both decide {axis}; a path has at most one part for each axis"
            )));
        }
    }
    Ok(parts)
}

fn part(name: &str) -> Result<&'static Policy, ConfigError> {
    if let Some(policy) = POLICIES.iter().find(|policy| policy.name == name) {
        return Ok(policy);
    }
    let names: Vec<&str> = POLICIES.iter().map(|policy| policy.name).collect();
    let aliases = ALIASES.iter().map(|alias| alias.name);
    let near = nearest(name, names.iter().copied().chain(aliases));
    let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
    Err(ConfigError::new(format!("there is no policy `{name}`: there are {}{hint}", names.join(", "))))
}
