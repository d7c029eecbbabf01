//! The path of a run: what its settings amount to on every axis, whatever they were called.
//!
//! `sepbit` leaves collection as the scenario has it and `t-es` presumes `reads-first`: side by
//! side they differ in more than their names say. The path is read off the settings of the merged
//! scenario, so that it does not depend on which policy or key made them, in the order array, gc,
//! turns, ftl, rain, erase, buffer. What does nothing is left out (no parity, page mapping, erases
//! that nothing interrupts), but for gc, which every drive has: `base/sepbit`,
//! `reads-first/t-es(64ms)`, `raid/nogc`. Where all of it has names of policies, the path is a
//! policy that makes the same run.

use super::{Axis, Scenario};
use crate::array::{ArraySpec, ReadStrategy};
use crate::drive::{EraseMode, ProgramMode, Reconstruct, Update};
use crate::ftl::log::LogPolicy;
use crate::ftl::{DataPlacement, Frontiers, FtlKind, GcMode, Pace, Rotate, Victim};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

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
        let parts = ORDER.map(|axis| {
            let part = match axis {
                Axis::Array => array(&scenario.array),
                Axis::Gc => Some(gc(scenario)),
                Axis::Turns => turns(scenario),
                Axis::Ftl => ftl(scenario),
                Axis::Rain => rain(scenario),
                Axis::Erase => erase(scenario),
                Axis::Buffer => buffer(scenario),
            };
            (axis, part)
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

fn array(array: &ArraySpec) -> Option<String> {
    let name = word(&array.strategy);
    array.is_on().then(|| match array.strategy {
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

fn gc(scenario: &Scenario) -> String {
    let paced = scenario.gc.pace == Pace::Writes;
    let name = match (scenario.gc.mode, scenario.gc.reads_first) {
        (GcMode::Preemptive, false) if paced => "paced",
        (GcMode::Preemptive, true) if paced => "reads-first(paced)",
        (GcMode::Nogc, _) => "nogc",
        (GcMode::Base, _) => "base",
        (GcMode::Controller, _) => "controller",
        (GcMode::Preemptive, false) => "preemptive",
        (GcMode::Preemptive, true) => "reads-first",
        (GcMode::ChannelPreemptive, _) => "channel-preemptive",
        (GcMode::PlaneBlocking, _) => "pb",
    };
    name.to_string()
}

fn turns(scenario: &Scenario) -> Option<String> {
    match scenario.gc.rotate {
        Rotate::Off => None,
        Rotate::Static => Some("rgc(static)".to_string()),
        Rotate::Dynamic => Some("rgc".to_string()),
    }
}

fn ftl(scenario: &Scenario) -> Option<String> {
    let (ftl, victim) = (&scenario.ftl, scenario.gc.victim);
    if ftl.kind == FtlKind::LogBlock {
        let without = ftl.log.policy == LogPolicy::Faster && ftl.log.isolation == 0.0;
        return Some(word(&ftl.log.policy) + if without { "-no-isolation" } else { "" });
    }
    let fifo = if victim == Victim::Fifo { "(fifo)" } else { "" };
    let placed = match ftl.placement {
        DataPlacement::None => {
            let separate = victim == Victim::CostBenefit && ftl.frontiers == Frontiers::Separate;
            separate.then(|| "cost-benefit".to_string())
        }
        DataPlacement::Dac | DataPlacement::Sepbit => Some(ftl.placement.name().to_string()),
        DataPlacement::TwoRegions | DataPlacement::TwoRegionsSecondChance => {
            Some(format!("{}{fifo}", ftl.placement.name()))
        }
        DataPlacement::Stream => Some("streams".to_string()),
    };
    let cached = ftl.map.is_cached().then(|| format!("dftl({})", ftl.map.cache));
    let parts: Vec<String> = placed.into_iter().chain(cached).collect();
    (!parts.is_empty()).then(|| parts.join("+"))
}

fn rain(scenario: &Scenario) -> Option<String> {
    let rain = &scenario.rain;
    let name = match (rain.update, rain.reconstruct) {
        (Update::InPlace, Reconstruct::Never) => "rain".to_string(),
        (Update::InPlace, Reconstruct::Cost) => "gtr".to_string(),
        (Update::Superblock, Reconstruct::Never) => "rain-superblock".to_string(),
        (Update::InPlace, other) => format!("rain({})", word(&other)),
        (Update::Superblock, other) => format!("rain-superblock({})", word(&other)),
    };
    (rain.width > 0).then_some(name)
}

fn erase(scenario: &Scenario) -> Option<String> {
    let erase = match scenario.erase.mode {
        EraseMode::None => None,
        EraseMode::Ideal => Some("ideal-es".to_string()),
        EraseMode::TEs => Some(format!("t-es({})", scenario.erase.timeout)),
        other @ (EraseMode::Es | EraseMode::IEs | EraseMode::DEs) => Some(other.name().to_string()),
    };
    let (of_erases, of_programs) = (&scenario.erase, &scenario.program);
    let has_limits = (erase.is_some()
        && (of_erases.max_suspensions > 0 || !of_erases.min_run.is_zero()))
        || (of_programs.mode != ProgramMode::None
            && (of_programs.max_suspensions > 0 || !of_programs.min_run.is_zero()));
    let name = match (scenario.erase.mode, scenario.program.mode) {
        (_, ProgramMode::None) => erase,
        (EraseMode::Es, ProgramMode::Ips) => Some("pes".to_string()),
        (EraseMode::Es, ProgramMode::Ipc) => Some("pes(ipc)".to_string()),
        (_, program) => Some(
            erase
                .into_iter()
                .chain([format!("program-{}", program.name())])
                .collect::<Vec<_>>()
                .join("+"),
        ),
    };
    if has_limits { name.map(|name| format!("limited-{name}")) } else { name }
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
