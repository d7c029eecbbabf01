//! The needs of a log-block FTL: of the device, and of the other settings.

use super::{Check, require, word};
use crate::Scenario;
use manx_core::drive::PreconditionState;
use manx_core::flash::{Layout, program_unit};
use manx_core::ftl::log::LogPolicy;
use manx_core::ftl::{Allocation, DataPlacement, FtlKind, GcMode, VictimUnit};

/// Checks a scenario whose FTL has log blocks.
pub(super) fn all(scenario: &Scenario) -> Check {
    if scenario.ftl.kind != FtlKind::LogBlock {
        return Ok(());
    }
    translation(scenario)?;
    collection_and_parity(scenario)?;
    shape(scenario)
}

const NEEDS: &str = "ftl.kind = \"log-block\" needs";

fn translation(scenario: &Scenario) -> Check {
    let Scenario { ftl, device, .. } = scenario;
    let unit = device.geometry.map_unit.get();
    let row = program_unit(device);
    let message = format!(
        "{NEEDS} {row} B, what one program writes: its log blocks hold whole programs; a program \
         unit that no mapping unit can have (above 32 KiB, or no power of two) needs \
         device.feature.program_planes = 1 or program_pages = 1"
    );
    require(
        u128::from(unit) == row,
        "device.geometry.map_unit",
        device.geometry.map_unit,
        message,
    )?;
    let message = format!("{NEEDS} \"static\": the address of a page decides its data block");
    require(ftl.allocation == Allocation::Static, "ftl.allocation", word(ftl.allocation), message)?;
    let message = format!("{NEEDS} \"none\": its log blocks say what lies together");
    let placement = format!("\"{}\"", ftl.placement.name());
    require(ftl.placement == DataPlacement::None, "ftl.placement", placement, message)?;
    let message = "with ftl.log.policy = \"superblock\" or \"page-mapping\" it needs 0: they have \
                   no data block that could move as it is";
    let moves = !matches!(ftl.log.policy, LogPolicy::Superblock | LogPolicy::PageMapping);
    require(ftl.static_wear_gap == 0 || moves, "ftl.static_wear_gap", ftl.static_wear_gap, message)
}

fn collection_and_parity(scenario: &Scenario) -> Check {
    let Scenario { gc, rain, scrub, erase, precondition, .. } = scenario;
    let message = format!(
        "{NEEDS} \"nogc\", \"base\", \"controller\" or \"preemptive\": its lanes merge, one at a \
         time"
    );
    let refused = match gc.mode {
        GcMode::PlaneBlocking => Some("\"plane-blocking\""),
        GcMode::ChannelPreemptive => Some("\"channel-preemptive\""),
        GcMode::Nogc | GcMode::Base | GcMode::Controller | GcMode::Preemptive => None,
    };
    require(refused.is_none(), "gc.mode", refused.unwrap_or_default(), message)?;
    let message = format!("{NEEDS} \"block\": a merge is about one logical block");
    require(gc.unit == VictimUnit::Block, "gc.unit", "a group of blocks", message)?;
    require(
        rain.width == 0,
        "rain.width",
        rain.width,
        format!("{NEEDS} 0: parity is made for page mapping only"),
    )?;
    let message = format!("{NEEDS} 0: pages are not written anew outside of merges");
    require(scrub.rate == 0.0, "scrub.rate", scrub.rate, message)?;
    let message = format!("{NEEDS} false: bit errors are modelled for page mapping only");
    require(!scrub.errors, "scrub.errors", scrub.errors, message)?;
    let message = format!("{NEEDS} 0: a merge waits for its erase");
    require(erase.hold.is_zero(), "erase.hold", erase.hold, message)?;
    let message = format!(
        "{NEEDS} \"empty\", \"fill\" or \"steady\": \"aged\" places pages as page mapping does"
    );
    require(
        precondition.state != PreconditionState::Aged,
        "precondition.state",
        "\"aged\"",
        message,
    )
}

/// Data and log blocks fit in a lane.
fn shape(scenario: &Scenario) -> Check {
    let Scenario { ftl, device, .. } = scenario;
    let layout = Layout::new(device);
    let unit = device.geometry.map_unit.get();
    let logical = (scenario.capacity().user.get() / unit) as u32;
    let logical = logical.div_ceil(layout.lanes);
    let spec = ftl.log.fitted(logical, layout.rows, layout.blocks);
    spec.shape_within(logical, layout.rows, layout.blocks).map(drop).map_err(|error| {
        let (key, rest) = error.split_once(" = ").unwrap_or(("policy", error.as_str()));
        let (value, allowed) = rest.split_once(": ").unwrap_or(("", rest));
        super::Invalid {
            key: format!("ftl.log.{key}"),
            value: value.to_string(),
            allowed: allowed.to_string(),
        }
    })
}
