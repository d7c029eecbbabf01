//! The small drive that stands for one that was written for long: how it is built, how it collects,
//! and the scenario of a point.

use super::TwinError;
use super::space::{Place, Space, Unit};
use crate::load::Request;
use manx_config::{Override, Scenario, Source};

/// A way of collecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// `gc.unit`.
    pub unit: &'static str,
    /// `gc.victim`.
    pub victim: &'static str,
    /// Superblocks of the drive: how fine the space is that is reclaimed.
    pub superblocks: u32,
    /// `ftl.pslc.fold`, where the drive has a cache of blocks with one bit a cell.
    pub fold: Option<&'static str>,
}

impl Way {
    /// So large a share of its blocks, and one at least.
    pub(super) fn blocks_of(self, share: f64) -> u32 {
        (share * f64::from(self.superblocks)).round().max(1.0) as u32
    }
}

/// Those that are looked at first.
pub(super) const WAYS: [Way; 4] = {
    const fn of(unit: &'static str, victim: &'static str) -> Way {
        Way { unit, victim, superblocks: 512, fold: None }
    }
    [
        of("superblock", "greedy"),
        of("superblock", "cost-benefit"),
        of("superblock", "fifo"),
        of("block", "greedy"),
    ]
};
/// When a cache is folded: looked at before all else, where there is one.
pub(super) const FOLDS: [&str; 3] = ["idle", "worth", "pressure"];
/// Bits of a cell, where the base device does not say.
pub(super) const BITS: u32 = 3;
/// Then the best of them with so many superblocks.
pub(super) const FINENESS: [u32; 2] = [256, 1024];

/// Dies of the drive that is simulated, and the bytes that each programs at a time.
const DIES: f64 = 64.0;
const PAGE: u64 = 32 << 10;

/// The keys that all of its scenarios have.
pub(super) const SCENARIO: &str = r#"name = "twin"
[device]
name = "tlc-enterprise"
[ftl]
allocation = "dynamic"
stripe = "program-unit"
[gc]
mode = "preemptive"
soft = "3 blocks"
hard = "2 blocks"
[drive]
buffer = "24MiB"
[precondition]
state = "empty"
[workload]
pattern = "shuffle"
read_percent = 0
queue_depth = 512
block_sizes = [["32KiB", 1]]
time = "1000000s"
"#;

/// 512 requests are 16 MiB under way.
const DRIVE: [(&str, &str); 12] = [
    ("device.geometry.channels", "8"),
    ("device.geometry.ways", "8"),
    ("device.geometry.dies", "1"),
    ("device.geometry.planes", "1"),
    ("device.geometry.pages", "24"),
    ("device.geometry.page", "32KiB"),
    ("device.geometry.map_unit", "32KiB"),
    ("device.feature.program_planes", "1"),
    ("device.feature.program_pages", "1"),
    ("device.feature.cache_program", "false"),
    ("device.feature.cache_read", "false"),
    ("device.timing.erase_step", "100us"),
];

/// Spare space, the time of a program and that of a copy's read among the parameters.
pub(super) const SPARE: usize = 0;
pub(super) const PROGRAM: usize = 1;
pub(super) const COPY: usize = 2;

/// The scenario of a point.
pub(super) fn scenario(
    way: Way,
    space: &Space,
    point: &[f64],
    bits: u32,
    seed: u64,
) -> Result<Scenario, TwinError> {
    let set = |key: &str, value: String| Override::new(key, value, "manx fit");
    let mut all: Vec<Override> =
        DRIVE.into_iter().map(|(key, value)| set(key, value.to_string())).collect();
    all.push(set("seed", seed.to_string()));
    all.push(set("gc.unit", way.unit.to_string()));
    all.push(set("gc.victim", way.victim.to_string()));
    all.push(set("device.geometry.blocks", way.superblocks.to_string()));
    all.extend(space.overrides(point, ""));
    if let Some(fold) = way.fold {
        let values = space.values(point);
        let cache = space.at(&Place::Cache);
        let blocks = way.blocks_of(cache.map_or(0.0, |number| values[number]));
        all.push(set("ftl.placement", "pslc".to_string()));
        all.push(set("ftl.pslc.dynamic_blocks", blocks.to_string()));
        all.push(set("ftl.pslc.fold", fold.to_string()));
        all.push(set("device.slc.bits", bits.to_string()));
        // A copy out of the cache is read as long as any other.
        all.push(set("device.slc.read", Unit::Micros.written(values[COPY])));
    }
    let source = Source { file: "manx fit".to_string(), text: SCENARIO.to_string() };
    Ok(Request::of(source, all)?.plain()?)
}

/// The keys of the device that is simulated, without `device.`.
pub(super) fn keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    DRIVE.into_iter().filter_map(|(key, value)| Some((key.strip_prefix("device.")?, value)))
}

/// Bytes that all its dies program at a time.
pub(super) fn row_bytes() -> f64 {
    DIES * PAGE as f64
}
