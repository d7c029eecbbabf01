//! The limits of a cache of blocks with one bit a cell, and what it does not go with.

use super::{Check, require, require_operation_time, require_time, word};
use crate::Scenario;
use manx_core::flash::Device;
use manx_core::ftl::{DataPlacement, FoldWhen, Frontiers, VictimUnit, WhenFull};

/// More bits than any cell holds.
const BITS_MAX: u32 = 8;

/// Checks the times of blocks with one bit a cell.
pub(super) fn device(device: &Device) -> Check {
    let Some(slc) = &device.slc else { return Ok(()) };
    let message = format!("from 2 to {BITS_MAX} bits of a cell");
    require((2..=BITS_MAX).contains(&slc.bits), "device.slc.bits", slc.bits, message)?;
    let rows = device.geometry.pages / device.feature.program_pages;
    let message = format!("at most the {rows} program units of a block: one of them is left");
    require(slc.rows(rows) > 0, "device.slc.bits", slc.bits, message)?;
    for (key, time) in [("device.slc.read", slc.read), ("device.slc.program", slc.program)] {
        require(!time.is_zero(), key, time, "longer than 0: no array operation is free")?;
        require_operation_time(time, key)?;
    }
    Ok(())
}

/// Checks everything under `ftl.pslc`.
pub(super) fn all(scenario: &Scenario) -> Check {
    let Scenario { device, ftl, gc, scrub, .. } = scenario;
    if ftl.placement != DataPlacement::Pslc {
        return Ok(());
    }
    let (key, value) = ("ftl.placement", "\"pslc\"");
    let message = "it needs [device.slc] with bits, read and program: the times of a block with \
                   one bit a cell";
    require(device.slc.is_some(), key, value, message)?;
    let message = "ftl.placement = \"pslc\" needs \"separate\": copies go to no block of the cache";
    let holds = ftl.frontiers == Frontiers::Separate;
    require(holds, "ftl.frontiers", word(ftl.frontiers), message)?;
    let (spec, blocks) = (&ftl.pslc, device.geometry.blocks);
    let (statics, dynamic) = (spec.static_blocks, spec.dynamic_blocks);
    let message = format!("from 0 to below the {blocks} blocks of a lane");
    require(statics < blocks, "ftl.pslc.static_blocks", statics, message.as_str())?;
    require(dynamic < blocks, "ftl.pslc.dynamic_blocks", dynamic, message)?;
    let message = "above 0, or ftl.pslc.dynamic_blocks is: the cache has a block";
    require(statics + dynamic > 0, "ftl.pslc.static_blocks", statics, message)?;
    require(!spec.idle.is_zero(), "ftl.pslc.idle", spec.idle, "above 0")?;
    require_time(spec.idle, "ftl.pslc.idle")?;
    if spec.full == WhenFull::Wait {
        let (key, value) = ("ftl.pslc.full", "\"wait\"");
        let message = "it needs ftl.pslc.static_blocks above 0: a cache that lives on spare space \
                       may get no further block";
        require(statics > 0, key, value, message)?;
        let message = "it needs gc.unit = \"block\": a lane that is ahead of others of its group \
                       would wait for them, and not for a fold";
        require(gc.unit == VictimUnit::Block, key, value, message)?;
        let message = "it needs ftl.pslc.fold = \"pressure\": while writes wait no drive is idle";
        require(spec.fold == FoldWhen::Pressure, key, value, message)?;
    }
    let message = "it needs gc.unit = \"block\": a copyback stays inside its plane, a wider \
                   victim's pages go to other planes";
    let holds = !spec.copyback || gc.unit == VictimUnit::Block;
    require(holds, "ftl.pslc.copyback", spec.copyback, message)?;
    let message = "it needs device.timing.foggy = 0: the data of the second pass crosses the \
                   channel";
    let holds = !spec.copyback || device.timing.foggy.is_zero();
    require(holds, "ftl.pslc.copyback", spec.copyback, message)?;
    let message = "with ftl.placement = \"pslc\" it needs false: errors of blocks with one bit a \
                   cell are not modelled";
    require(!scrub.errors, "scrub.errors", scrub.errors, message)?;
    let message = "with ftl.placement = \"pslc\" it needs 0: errors of blocks with one bit a cell \
                   are not modelled";
    require(scrub.rate == 0.0, "scrub.rate", scrub.rate, message)
}
