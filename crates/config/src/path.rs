//! The path of a run: what its settings amount to on every axis, whatever they were called.
//!
//! `sepbit` leaves collection as the scenario has it and `t-es` presumes `reads-first`: side by
//! side they differ in more than their names say. The path is read off the settings of the merged
//! scenario, so that it does not depend on which policy or key made them, in the order array, gc,
//! turns, ftl, rain, erase, buffer. What does nothing is left out (no parity, page mapping, erases
//! that nothing interrupts), but for gc, which every drive has: `base/sepbit`,
//! `reads-first/t-es(64ms)`, `raid/nogc`.
//!
//! A part is the name of a policy, and behind it in brackets are keys of its axis that the policy
//! does not set so: `pes[erase.min_run=1us]`, `rain[rain.width=4]`. The brackets, and the kinds of
//! buffers that no policy makes, are no names: `--policy` refuses them. Where all parts are names
//! of policies, the path is a policy that makes the same run, of a scenario that has the defaults
//! on the axes that the path leaves out.

use super::{Axis, Scenario, resolve_policy, tree};
use manx_core::array::{ArraySpec, ReadStrategy};
use manx_core::drive::{EraseMode, ProgramMode, Reconstruct, Update};
use manx_core::ftl::log::LogPolicy;
use manx_core::ftl::{DataPlacement, Frontiers, FtlKind, GcMode, Pace, Rotate, Victim};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use toml::{Table, Value};

/// The policy of the axis erase that sets limits.
const LIMITED: &str = "limited-pes";

/// Every axis in the order of a path.
const ORDER: [Axis; 7] =
    [Axis::Array, Axis::Gc, Axis::Turns, Axis::Ftl, Axis::Rain, Axis::Erase, Axis::Buffer];

/// The policy of a run on every axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyPath {
    /// The part of each axis, in the order of a path; `None` where the axis does nothing.
    parts: [(Axis, Option<String>); 7],
}

impl PolicyPath {
    /// The path of a scenario, with its policy merged in.
    pub fn of(scenario: &Scenario) -> Self {
        let settings = Settings(Table::try_from(scenario).unwrap_or_default());
        let parts = ORDER.map(|axis| {
            let part = match axis {
                Axis::Array => array(&scenario.array).map(Part::from),
                Axis::Gc => Some(gc(scenario)),
                Axis::Turns => turns(scenario).map(Part::from),
                Axis::Ftl => ftl(scenario),
                Axis::Rain => rain(scenario),
                Axis::Erase => erase(scenario, &settings),
                Axis::Buffer => buffer(scenario).map(Part::from),
            };
            (axis, part.map(|part| settings.text(part)))
        });
        Self { parts }
    }

    /// The part of every axis by the axis's name; what does nothing is named too.
    pub fn by_axis(&self) -> BTreeMap<String, String> {
        let nothing = |axis| match axis {
            Axis::Array => "a drive alone",
            Axis::Ftl => "page",
            Axis::Erase => "baseline",
            Axis::Buffer => "gtf",
            Axis::Gc | Axis::Turns | Axis::Rain => "none",
        };
        let parts = self.parts.iter();
        parts
            .map(|(axis, part)| {
                (axis.to_string(), part.as_deref().unwrap_or(nothing(*axis)).to_string())
            })
            .collect()
    }
}

impl fmt::Display for PolicyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<&str> = self.parts.iter().filter_map(|(_, part)| part.as_deref()).collect();
        f.write_str(&parts.join("/"))
    }
}

/// A part of a path: a policy, and the keys that matter on its axis and that it does not set.
struct Part {
    name: String,
    beside: Vec<&'static str>,
}

impl From<String> for Part {
    fn from(name: String) -> Self {
        Self { name, beside: Vec::new() }
    }
}

/// A scenario's settings, by key.
struct Settings(Table);

impl Settings {
    /// The part, and in brackets what the policy of its name does not say.
    fn text(&self, Part { name, beside }: Part) -> String {
        let beside = beside.into_iter().map(|key| key.split('.').map(str::to_string).collect());
        let keys: Vec<String> = self
            .not_as_set_by(&name)
            .into_iter()
            .chain(beside)
            .filter_map(|key: tree::Path| {
                let value = tree::get(&self.0, &key)?;
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
                Some(format!("{}={text}", key.join(".")))
            })
            .collect();
        if keys.is_empty() { name } else { format!("{name}[{}]", keys.join(" ")) }
    }

    /// The keys that the policy of this name sets, and that are set otherwise here.
    fn not_as_set_by(&self, name: &str) -> Vec<tree::Path> {
        let chosen = resolve_policy(name).unwrap_or_default();
        let overlay = chosen.iter().find(|chosen| chosen.name == name);
        let table = overlay.and_then(|chosen| chosen.overlay.parse::<Table>().ok());
        let mut keys = Vec::new();
        leaves(&table.unwrap_or_default(), &[], &mut |key, value| {
            if tree::get(&self.0, key) != Some(value) {
                keys.push(key.to_vec());
            }
        });
        keys
    }
}

/// Calls `see` with each value of a table and its key.
fn leaves(table: &Table, under: &[String], see: &mut impl FnMut(&[String], &Value)) {
    for (name, value) in table {
        let key = [under, std::slice::from_ref(name)].concat();
        match value {
            Value::Table(inner) => leaves(inner, &key, see),
            value => see(&key, value),
        }
    }
}

fn array(array: &ArraySpec) -> Option<String> {
    let name = word(&array.strategy);
    array.is_on().then(|| match array.strategy {
        _ if array.brought.name().is_some() => format!("{:?}", array.brought),
        ReadStrategy::Direct => "raid".to_string(),
        ReadStrategy::Hedged if array.hedge_after.is_zero() => name,
        ReadStrategy::Hedged => format!("{name}({})", array.hedge_after),
        ReadStrategy::Mittos => format!("{name}({})", array.slo),
        ReadStrategy::Proactive | ReadStrategy::Iod1 | ReadStrategy::Iod2 => name,
        ReadStrategy::Iod3
        | ReadStrategy::Ioda
        | ReadStrategy::IodaAdaptive
        | ReadStrategy::Harmonia
        | ReadStrategy::Rails
        | ReadStrategy::PlmRotation => format!("{name}({})", array.window),
    })
}

fn gc(scenario: &Scenario) -> Part {
    let paced = scenario.gc.pace == Pace::Writes;
    let name = match (scenario.gc.mode, scenario.gc.reads_first) {
        (GcMode::Preemptive, false) if paced => "paced",
        (GcMode::Nogc, _) => "nogc",
        (GcMode::Base, _) => "base",
        (GcMode::Controller, _) => "controller",
        (GcMode::Preemptive, false) => "preemptive",
        (GcMode::Preemptive, true) => "reads-first",
        (GcMode::ChannelPreemptive, _) => "channel-preemptive",
        (GcMode::PlaneBlocking, _) => "pb",
    };
    let beside = if paced && name != "paced" { vec!["gc.pace"] } else { Vec::new() };
    Part { name: name.to_string(), beside }
}

fn turns(scenario: &Scenario) -> Option<String> {
    match scenario.gc.rotate {
        Rotate::Off => None,
        Rotate::Static => Some("rgc(static)".to_string()),
        Rotate::Dynamic => Some("rgc".to_string()),
    }
}

fn ftl(scenario: &Scenario) -> Option<Part> {
    let (ftl, victim) = (&scenario.ftl, scenario.gc.victim);
    if ftl.kind == FtlKind::LogBlock {
        let without = ftl.log.policy == LogPolicy::Faster && ftl.log.isolation == 0.0;
        let name = word(&ftl.log.policy) + if without { "-no-isolation" } else { "" };
        return Some(name.into());
    }
    let fifo = if victim == Victim::Fifo { "(fifo)" } else { "" };
    let placed = match ftl.placement {
        DataPlacement::None => {
            let separate = victim == Victim::CostBenefit && ftl.frontiers == Frontiers::Separate;
            separate.then(|| "cost-benefit".to_string())
        }
        DataPlacement::Dac | DataPlacement::Sepbit | DataPlacement::Pslc => {
            Some(ftl.placement.name().to_string())
        }
        DataPlacement::TwoRegions | DataPlacement::TwoRegionsSecondChance => {
            Some(format!("{}{fifo}", ftl.placement.name()))
        }
        DataPlacement::Stream => {
            Some(ftl.brought.name().map_or_else(|| "streams".to_string(), str::to_string))
        }
    };
    let add = |placed: Option<String>, brought: &str| match placed {
        None => Some(brought.to_string()),
        Some(placed) => Some(format!("{placed}({brought})")),
    };
    let brought = [scenario.gc.brought.name(), scenario.gc.onset.name()];
    let placed = brought.into_iter().flatten().fold(placed, add);
    match (placed, ftl.map.is_cached()) {
        (placed, false) => placed.map(Part::from),
        (None, true) => Some(format!("dftl({})", ftl.map.cache).into()),
        // A path has one policy of an axis.
        (Some(name), true) => Some(Part { name, beside: vec!["ftl.map.cache"] }),
    }
}

fn rain(scenario: &Scenario) -> Option<Part> {
    let rain = &scenario.rain;
    let (name, is_named) = match (rain.update, rain.reconstruct) {
        (Update::InPlace, Reconstruct::Cost) => ("gtr", true),
        (Update::InPlace, reconstruct) => ("rain", reconstruct == Reconstruct::Never),
        (Update::Superblock, reconstruct) => ("rain-superblock", reconstruct == Reconstruct::Never),
    };
    let beside = if is_named { Vec::new() } else { vec!["rain.reconstruct"] };
    (rain.width > 0).then(|| Part { name: name.to_string(), beside })
}

fn erase(scenario: &Scenario, settings: &Settings) -> Option<Part> {
    let (erase, program) = (&scenario.erase, &scenario.program);
    let (erases, programs) = (erase.mode != EraseMode::None, program.mode != ProgramMode::None);
    let name = match (erase.mode, program.mode) {
        (EraseMode::None, ProgramMode::None) => return None,
        (EraseMode::Es, ProgramMode::Ips) if settings.not_as_set_by(LIMITED).is_empty() => {
            return Some(LIMITED.to_string().into());
        }
        (EraseMode::Es, ProgramMode::Ips) => "pes".to_string(),
        (EraseMode::Es, ProgramMode::Ipc) => "pes(ipc)".to_string(),
        (EraseMode::None, _) => "baseline".to_string(),
        (EraseMode::Ideal, _) => "ideal-es".to_string(),
        (EraseMode::TEs, _) => format!("t-es({})", erase.timeout),
        (other @ (EraseMode::Es | EraseMode::IEs | EraseMode::DEs), _) => other.name().to_string(),
    };
    let beside = [
        (erases && erase.max_suspensions > 0, "erase.max_suspensions"),
        (erases && !erase.min_run.is_zero(), "erase.min_run"),
        (programs && !name.starts_with("pes"), "program.mode"),
        (programs && program.max_suspensions > 0, "program.max_suspensions"),
        (programs && !program.min_run.is_zero(), "program.min_run"),
    ];
    let beside = beside.into_iter().filter(|(is_said, _)| *is_said).map(|(_, key)| key).collect();
    Some(Part { name, beside })
}

fn buffer(scenario: &Scenario) -> Option<String> {
    let drive = &scenario.drive;
    let kinds = [
        (drive.write_through, "write-through"),
        (!drive.background_flush, "foreground-flush"),
        (!drive.power_loss_protection, "volatile-buffer"),
    ];
    let kinds: Vec<&str> = kinds.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect();
    (!kinds.is_empty()).then(|| kinds.join("+"))
}

/// The name of a setting in scenarios.
fn word(setting: &impl Serialize) -> String {
    let value = toml::Value::try_from(setting).ok();
    value.as_ref().and_then(toml::Value::as_str).unwrap_or_default().to_string()
}
